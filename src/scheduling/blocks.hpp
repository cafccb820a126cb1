// Building blocks that policies are composed from.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/size_range.hpp"
#include "scheduling/event.hpp"
#include "scheduling/pass.hpp"
#include "scheduling/queue.hpp"

namespace ductile {

struct InOrder {
  bool strict =
      false;  // stop at a claim of higher priority: nothing passes a job that is due first
};

/// Starts jobs in queue order, at the size at which the policy starts jobs
/// (`Traits::start_size`), while the first one fits.
void start_in_order(Pass& pass, InOrder options = {});

struct Backfill {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t reservation_depth = 1;
  /// In the plan, what running malleable jobs hold beyond their smallest size (`Pass::extra`) is
  /// free from now on (Prabhakaran et al. 2015). A job that would need such nodes now is reserved
  /// from now on. Starts take idle nodes only.
  bool extra_is_free = false;
};

/// What is believed to be free from now on, to plan on.
Timeline timeline_for(const Pass& pass, Backfill options);

/// A waiting job's place in a plan.
struct Reservation {
  JobId job = JobId::none;
  Time at{};
};

/// The earliest time at which a waiting job fits into the plan; reserves it there.
Time reserve_earliest(const Pass& pass, Timeline& plan, JobId id);

/// How many reservations a plan has, and whether it may have another one: up to the depth that the
/// policy wants, and no more than the rules allow. All plans of a pass may have as many, so that a
/// second one reserves for whom the first one did.
class PlanDepth {
 public:
  PlanDepth(const Pass& pass, std::uint32_t wanted)
      : wanted_(wanted), depth_(std::min(wanted, pass.most_reservations())) {}
  bool has_room() const { return reservations_ < depth_; }
  /// So many were made, now or by the plan that a memo remembers.
  void made(std::uint32_t reservations = 1) { reservations_ += reservations; }
  std::uint32_t reservations() const { return reservations_; }
  /// The plan is over. If the rules ended it while a job still waited for a place in it, the pass
  /// is cut short.
  void end(Pass& pass) const {
    if (!has_room() && depth_ < wanted_ && pass.pending() > reservations_) pass.cut_short();
  }

 private:
  std::uint32_t wanted_, depth_;
  std::uint32_t reservations_ = 0;
};

/// Goes through the queue. A job that fits now for its whole walltime, without disturbing a
/// reservation made so far, starts; else it is reserved in `plan` at its earliest time. Stops right
/// after the last of `options.reservation_depth` reservations, or of as many as the rules allow,
/// and returns who holds the last one; `none` if the queue ended before. The pass's memo has it,
/// too: forget that of the pass before, as `backfill` does. `made`: where to add the reservations,
/// in the queue's order.
JobId start_or_reserve(Pass& pass, Timeline& plan, Backfill options,
                       std::vector<Reservation>* made = nullptr);

/// Starts jobs behind `last` in the queue that fit into what a plan leaves, and takes it from
/// there. O(Q / 64) per started job.
void start_behind(Pass& pass, JobId last, FreeProfile& free);

/// If nothing changed since the last backfilling but that jobs were submitted behind those that
/// hold reservations, only these can start: starts those that fit. Else false: plan anew.
bool backfill_submitted(Pass& pass, Backfill options);

/// Backfilling at the size at which the policy starts jobs. `start_or_reserve`; after that jobs may
/// only start now, without disturbing a reservation.
///
/// Depth 1 is EASY (Lifka 1995; Mu'alem and Feitelson 2001), unlimited depth conservative
/// backfilling. Cost: O(depth log R + Q / 64 per started job); unlimited: see docs/performance.md.
void backfill(Pass& pass, Backfill options);

// --- For policies that resize
// --------------------------------------------------------------------------

/// Every event but the answers to starts and resizes. What wakes the policies of papers 000 to 002:
/// what their own shrinks give they have given away in the pass that decided them
/// (`Sources::incoming`).
inline constexpr EventKinds kAllButAnswers =
    kEveryEvent & ~(kind_of<event::Started>() | kind_of<event::Resized>());

/// Where a waiting job may start: from its smallest size up to the preferred one; or only there if
/// the scheduler does not choose.
SizeRange start_sizes(const Pass& pass, JobId id);
/// The largest of these sizes that `free` nodes suffice for; 0 if there is none.
Nodes fitting_size(const Pass& pass, JobId id, Nodes free);

/// Nodes that are idle, or on their way back and promised to nobody: what `Sources::incoming`
/// gives.
inline Nodes free_nodes(const Pass& pass) { return pass.idle() + pass.incoming(); }

/// Wakes the policy at the next multiple of `period` while a job waits or runs; 0: never.
void tick(Pass& pass, Duration period);

/// What a plan leaves to jobs without a reservation, as of its making.
class Left {
 public:
  Left() = default;
  explicit Left(Timeline& plan);
  /// How many nodes of this job, up to `n`, disturb no reservation from now on for so long? Does
  /// not ask for idle nodes.
  Nodes during(const Pass& pass, JobId id, Nodes n, Duration length) const;
  void take(const Pass& pass, JobId id, Nodes n, Duration length);

 private:
  FreeProfile free_;
};

/// A plan of this moment: the first waiting jobs are reserved at their earliest times.
Left left_by_reservations(Pass& pass, Backfill options);

/// EASY's reservation for the first waiting job, as of its making, and what it leaves to others:
/// what ends by the shadow time, or uses no more than the extra nodes. For policies that resize:
/// they count what comes back now themselves (`free_nodes`). Who only starts jobs and wants just
/// the plan of `easy` uses `timeline_for`, `start_or_reserve` and `Left`.
class Shadow {
 public:
  /// Reserves `need` nodes for `head`.
  Shadow(Pass& pass, JobId head, Nodes need);
  /// Would a job that starts now at `n` nodes delay the head? Does not ask for idle nodes.
  bool allows(const Pass& pass, JobId id, Nodes n) const;
  /// It was started.
  void took(const Pass& pass, JobId id, Nodes n);

 private:
  Left left_;
};

}  // namespace ductile
