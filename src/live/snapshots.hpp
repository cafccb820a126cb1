// Snapshots of the core beside the journal, so that a controller that begins again folds only what
// came after the last one. Format of the files: docs/formats/snapshot.md; when they are made and
// used: docs/formats/journal.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "live/background_queries.hpp"
#include "live/journal.hpp"
#include "scheduling/core.hpp"

namespace ductile {

/// What a controller counts of the events of its core, and has to know when it begins again.
struct EventCounts {
  std::uint32_t requests = 0;               // the next number of one
  std::map<JobId, std::uint32_t> raised{};  // how often what is predicted of a job was
  /// That the core has taken.
  void heard(const Event& event);
};

/// A core as it was at the last commit.
struct Recovered {
  Core core;
  EventCounts counts{};
  std::vector<Snapshot> useless{};  // newer ones that nobody can use; one that cannot be read stays
};
/// From the newest snapshot in the journal's folder that can be used and the records after it;
/// without one from all records. Says with which, which were passed over, and why. Throws
/// InputError where these records are damaged, or have another meaning to this version; if a sound
/// snapshot was of another version, what of it this one does not know.
Recovered recover_core(const Journal& journal, const std::string& folder);

/// Makes them when it is time, in a child of the controller.
class Snapshots {
 public:
  Snapshots(Journal& journal, std::string folder);

  /// Removes those that the journal does not know of: were not finished, or are of another day. Not
  /// before it is certain that this journal is gone on with.
  void clean_up() const;
  /// Between two instants: begins one if enough was recorded since the last.
  void look(const Core& core, const EventCounts& counts, BackgroundQueries& queries);
  /// Makes one now if anything was recorded since the last: at the end. What fails is said.
  void make(const Core& core, const EventCounts& counts);

 private:
  void written(const Snapshot& snapshot);
  void failed(const std::string& why);

  Journal& journal_;
  std::string folder_;
  std::uint64_t next_ = 0;  // not before this record
  bool is_under_way_ = false;
};

/// Recovers, makes a snapshot, and ends: what another version can begin with. There must be no
/// controller. Throws InputError and RunError.
void settle(const std::string& folder);

/// Is the file of a snapshot there, and as it was written? Else what is wrong with it.
std::string damage_of(const Snapshot& snapshot, const std::string& folder);

}  // namespace ductile
