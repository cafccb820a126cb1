// What was seen of programs at the sizes they have run at, and what is therefore believed of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "live/submission.hpp"
#include "model/learned_speedup.hpp"

namespace ductile {

/// What was seen of a program on so many nodes.
struct Observed {
  std::uint64_t runs = 0;        // that completed, and had no other size
  Duration run_time{};           // of all of them
  std::uint64_t iterations = 0;  // of all processes
  Duration iteration_time{};     // of all of them
  std::uint64_t looks = 0;       // of libductile-measure,
  std::uint64_t in_mpi = 0;      // and how many of them found a process in MPI

  bool operator==(const Observed&) const = default;
  Observed& operator+=(const Observed& more);
  /// MPI time over compute time (paper 003); nothing before it is known to some percent.
  std::optional<double> mtct() const;
};

/// By the number of nodes.
using ObservedAt = std::map<Nodes, Observed>;

/// What is believed of a program with so many processes on each node: from its iterations if some
/// of two sizes were seen, else from whole runs, else, if that is wanted, from its time in MPI
/// (`speedup_of_mtct`). Nothing if there is too little.
std::optional<Speedup> model_of(const ObservedAt& seen, std::uint32_t per_node, bool guesses);

/// Jobs of a user that run the same program or script with the same arguments are runs of one
/// application. A journal keeps the same.
class Applications {
 public:
  /// The user, and a hash of the rest: scripts and arguments may be long. Who makes two of his
  /// own the same has himself to blame; he cannot touch those of others.
  using Key = std::pair<std::uint32_t, std::uint64_t>;
  static std::uint64_t hash_of(const Submission& what);

  /// What was seen of it; nothing, if nothing was.
  ObservedAt seen(const Key& key) const;
  /// There is more. Returns the application that is forgotten for it, if there are too many: the
  /// oldest one of the user who has most, so that nobody makes others forget theirs.
  std::optional<Key> add(const Key& key, Nodes nodes, const Observed& more);

 private:
  std::map<Key, ObservedAt> known_;
  std::map<std::uint32_t, std::deque<std::uint64_t>> order_;  // of a user's, as they became known
};

/// What running jobs are measured to do. It counts when it was written to the journal, so that a
/// controller that is started again believes the same; and it is to be written when a size has seen
/// a tenth more than before, so that a job that runs for long writes little.
class Measurements {
 public:
  /// Measured; counts not yet. Wanted: it is to be written however little it is.
  void add(JobId id, Nodes nodes, const Observed& more, bool is_wanted = false);
  /// It was written before.
  void restore(JobId id, Nodes nodes, const Observed& seen) { jobs_[id].known[nodes] = seen; }
  /// Is there something to be written?
  bool has_news() const { return !news_.empty(); }
  /// That counts from now on: the jobs, and the sizes of which more is known.
  std::map<JobId, std::vector<Nodes>> take();
  /// What counts.
  ObservedAt of(JobId id) const;
  /// Everything; nothing is known of it from now on.
  ObservedAt end(JobId id);

 private:
  struct Its {
    ObservedAt known{}, fresh{};
  };
  std::map<JobId, Its> jobs_{};
  std::set<JobId> news_{};
};

}  // namespace ductile
