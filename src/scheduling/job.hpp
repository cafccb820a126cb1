// A job as the core knows it, and the table of all jobs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "model/speedup.hpp"
#include "scheduling/decision.hpp"

namespace ductile {

enum class Status : std::uint8_t { held, pending, running, over };
/// What a running job is doing that the world has not answered yet.
enum class Doing : std::uint8_t { nothing, starting, resizing, stopping };

/// One job: what is known, where it stands, what it holds.
struct Job {
  static constexpr std::uint32_t kNoRow = ~0u;
  static constexpr std::uint32_t kNoKeep = ~0u;

  JobSpec spec;
  std::uint32_t adaptive = kNoRow;  // row of the table of adaptive jobs
  Status status = Status::pending;
  Doing doing = Doing::nothing;
  bool leaves = false;                     // is it in `State::leaving`?
  bool goes_on = false;                    // it was suspended: what it did before counts
  std::uint8_t power_class = 0;            // of the nodes for which `power_mw` holds
  std::uint8_t step = 0;                   // of frequency, while it runs; 0: the full one
  bool is_power_measured = false;          // `power_mw` was, while it ran
  DecisionId decision = DecisionId::none;  // the last one about it; unanswered unless doing nothing
  Holding holding;                // from a decision to its answer: the union of before and after
  Nodes target = 0;               // its size once the unanswered decision is done
  ClaimId claim = ClaimId::none;  // this job waits for these nodes
  std::uint32_t keep = kNoKeep;   // the node that must stay
  Time started{};
  Time limit{};            // believed end; the world may kill it then
  Time not_before{};       // no start or resize before
  Time release{};          // the time under which its nodes stand in the releases
  Time reserved = kNever;  // planned start, while it holds a reservation
  Pace pace{};             // by its parts of nodes, as believed
  Work work_left = 0;      // believed, at `work_at`; while it waits, if it goes on
  Time work_at{};
  std::uint32_t power_mw = 0;    // believed, per node of `power_class`
  std::uint32_t running_at = 0;  // place in the list of running jobs
  std::uint32_t planned_at = 0;  // place in the list of those that hold a reservation
  std::uint16_t expands = 0, shrinks = 0, restarts = 0;
  std::uint16_t refusals = 0;  // of resizes, in a row; as many as count
  std::int32_t gain = 0;       // nodes it was given minus nodes taken from it, by resizes
  Nodes first_size = 0;
  Nodes ordered = 0;        // an operator's order; 0: none
  JobId tag = JobId::none;  // a policy's memory
  Duration delayed{};       // by evolving grants

  /// Its size in a policy's eyes: once the unanswered decision is done.
  Nodes size() const { return target; }
};

/// All jobs, by dense id, in pages that are freed when all their jobs are over.
class JobTable {
 public:
  JobTable() = default;
  JobTable(const JobTable& other);
  JobTable& operator=(const JobTable& other);
  JobTable(JobTable&&) = default;
  JobTable& operator=(JobTable&&) = default;

  /// All of these jobs are over.
  explicit JobTable(std::uint32_t size);

  /// A new job, pending, with the next id.
  JobId add();
  /// The job is over and will not come back; its record may vanish.
  void retire(JobId id);
  /// A job that is over is none: a row to fill in.
  Job& revive(JobId id);

  std::uint32_t size() const { return size_; }
  /// Is there still a record? Jobs that are long over have none.
  bool contains(JobId id) const {
    return index(id) < size_ && pages_[index(id) / kPage] != nullptr;
  }
  /// Is it not over? Says the same whatever records there still are.
  bool knows(JobId id) const { return contains(id) && (*this)[id].status != Status::over; }
  /// Calls `visit(JobId)` for all jobs that are not over, by id.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t page = 0; page < pages_.size(); ++page) {
      if (!pages_[page]) continue;
      const std::uint32_t end = std::min(size_ - page * kPage, kPage);
      for (std::uint32_t i = 0; i < end; ++i) {
        if (pages_[page]->jobs[i].status != Status::over) visit(JobId{page * kPage + i});
      }
    }
  }
  Job& operator[](JobId id) { return pages_[index(id) / kPage]->jobs[index(id) % kPage]; }
  const Job& operator[](JobId id) const {
    return pages_[index(id) / kPage]->jobs[index(id) % kPage];
  }

 private:
  static constexpr std::uint32_t kPage = 1024;
  struct Page {
    std::uint32_t over = 0;
    std::array<Job, kPage> jobs;
  };

  static std::unique_ptr<Page> page_of_the_past();

  std::uint32_t size_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
  std::unique_ptr<Page> spare_;  // the last page freed, to be used again
};

}  // namespace ductile
