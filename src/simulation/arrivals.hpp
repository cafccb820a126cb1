// When jobs come to the scheduler that wait for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/dependency.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// A job comes at its submit time, and if it has precedences (`Workload::precedences`) when the
/// last of them was fulfilled and their think times have passed, if that is later. Those that set
/// its submission take the place of its submit time. Jobs are named by their places in the workload
/// as it was read, until they have come; then by the number they got, 0, 1, 2, ... in their order.
class Arrivals {
 public:
  /// Puts the jobs of `workload` in the order in which they come, each when it comes: so the job
  /// of a number is where the number says. What is behind those that have come is in no order.
  explicit Arrivals(Workload& workload);

  /// When the next one comes; never, as far as is known.
  Time next() const;
  /// It comes, and gets the next number.
  void come();

  /// What happened to the job of this number. It began, also for the second time; it is over.
  void begun(JobId id, Time now) { reach(places_[index(id)], Dependency::Stage::runs, now); }
  void over(JobId id, bool succeeded, Time now) {
    using Stage = Dependency::Stage;
    reach(places_[index(id)], succeeded ? Stage::succeeded : Stage::failed, now);
  }

  /// The number of the job at this place; none if it has not come.
  JobId number(JobId place) const;
  /// Jobs with a dependency that can never be fulfilled any more: they never come.
  std::uint64_t never() const { return never_; }

 private:
  using Place = std::uint32_t;
  struct Waiting {
    Time submit{};           // by its user, as far as is known
    Time from{};             // not before
    std::uint32_t open = 0;  // precedences
    Dependency::Stage stage = Dependency::Stage::waits;
    bool is_never = false;
  };
  void reach(Place job, Dependency::Stage stage, Time now);
  void come_at(Place job, Time at) { due_.emplace(at, job); }

  Workload& workload_;
  std::vector<Waiting> jobs_;           // by place
  std::vector<Precedence> dependents_;  // by who they wait for
  std::vector<std::uint32_t> first_;    // of each job in these
  std::vector<Place> places_;           // of where a job stands now
  std::vector<std::uint32_t> stands_;   // the other way round
  std::uint32_t come_ = 0;              // so many
  using Due = std::pair<Time, Place>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t never_ = 0;
};

}  // namespace ductile
