// A scheduler made for Batsim, in a process of its own, decides in a simulation:
// docs/guide/batsim.md.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "batsim/protocol.hpp"
#include "outside/scheduler.hpp"

namespace ductile {

/// Is Batsim for a scheduler. Jobs are called "w0!NUMBER" there, and "w0!NUMBER#N" when they wait
/// again for the Nth time; of jobs that adapt it knows the preferred size.
class BatsimScheduler final : public OutsideScheduler {
 public:
  void on_event(Time now, const Event& event, bool taken, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_close(Time now, const Core& core) override;

 private:
  struct Known {
    enum class Where : std::uint8_t { nowhere, waits, runs, over };
    Where where = Where::nowhere;
    std::uint32_t lives = 0;  // before this one
  };
  /// Jobs that are killed together; they are told of when all are over.
  struct Killing {
    std::vector<std::string> jobs;
    std::set<JobId> open;
    std::string progress;  // of those that really were, as members of an object
  };

  std::string id_of(JobId id, const JobSpec& job) const;
  JobId find(const std::string& id) const;
  void submit(Time now, JobId id, const Core& core);
  void exchange(Time now);
  void prepare() override;
  void greet(const Core& core) override;
  void work(Pass& pass) override;
  void part(Time now) override;
  /// Time of the next order or call; kNever: none.
  Time next() const;
  void carry_out(Pass& pass, const BatsimOrder& order);
  void execute(Pass& pass, const BatsimOrder& order);
  void kill(Pass& pass, const BatsimOrder& order);
  void tell_killed(Time now, const Killing& killing);
  std::string why_not(const Pass& pass, JobId id, const NodeSet& nodes) const;

  std::unordered_map<std::uint64_t, Duration> runtimes_;  // true ones, by name
  std::unordered_map<std::string, JobId> ids_;
  std::vector<Known> known_;
  std::uint32_t came_ = 0;  // jobs, so far
  Nodes nodes_ = 0;
  bool says_power_ = false;

  BatsimWriter news_;
  std::deque<BatsimOrder> orders_;  // by time
  std::priority_queue<Time, std::vector<Time>, std::greater<>> calls_;
  std::vector<Killing> killings_;
  Time ready_{};       // it can be asked again
  double joules_ = 0;  // used up to `joules_at_`
  Time joules_at_{};
  double watts_ = 0;  // from then on
};

/// The policy `batsim`: such a scheduler.
class BatsimPolicy final : public OutsidePolicy {
 public:
  explicit BatsimPolicy(const Parameters& parameters);
};

/// Its row in the table of policies.
PolicyInfo batsim_policy();

}  // namespace ductile
