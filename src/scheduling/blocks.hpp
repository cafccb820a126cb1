// Building blocks that policies are composed from.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/function_ref.hpp"
#include "base/size_range.hpp"
#include "scheduling/event.hpp"
#include "scheduling/pass.hpp"
#include "scheduling/queue.hpp"

namespace ductile {

struct InOrder {
  bool strict =
      false;  // stop at a claim of higher priority: nothing passes a job that is due first
  std::function<bool(JobId)> may{};  // start; asked of who fits. None: all
  /// No job behind so many of the first waiting ones is looked at.
  std::uint32_t jobs = std::numeric_limits<std::uint32_t>::max();
};

/// Starts jobs in queue order, at the size at which the policy starts jobs
/// (`Traits::start_size`), while the first one fits. Where there are several lanes: a job takes
/// nothing of a cell for which one before it waits.
void start_in_order(Pass& pass, InOrder options = {});

/// Which cells somebody waits for, and so which lanes have to wait as well: a job takes nothing of
/// a cell for which one before it waits, and no power if one before it lacks some.
class LanesInTurn {
 public:
  explicit LanesInTurn(const Pass& pass) : open_(pass.reaches(), true) {}
  /// The next job, of lanes that need not wait.
  JobId next(const Pass& pass, JobId last) const { return pass.next_pending(last, open_); }
  /// Those of these cells that nobody waits for.
  Cells free(Cells cells) const { return cells & ~waited_for_; }
  bool is_free(Cells cells) const { return (cells & waited_for_) == 0; }
  /// Is there power for a job, which none before it lacks?
  bool has_power(const Pass& pass, JobId id) const;
  /// Does one before lack it?
  bool lacks_power() const { return power_; }
  /// At a lower frequency, unless one before waits for its cells, or power.
  bool start_slower(Pass& pass, JobId id) const;
  /// A job waits for these.
  void waits(const Pass& pass, Cells cells);
  /// A job that is not started waits for its cells, and for power if it lacks it.
  void waits(const Pass& pass, JobId id);

 private:
  Cells waited_for_ = 0;
  bool power_ = false;
  std::vector<bool> open_;
};

/// Idle nodes of these cells, in the order in which they are taken; nothing if there are too few.
/// Where there is one cell it does not say which.
std::optional<Spread> place_idle(const Pass& pass, Cells cells, Nodes n);

struct Backfill {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();
  /// In each partition. A job that may be in several reserves while one of them has depth left, and
  /// counts in all of them.
  std::uint32_t reservation_depth = 1;
  /// In the plan, what running malleable jobs hold beyond their smallest size (`Pass::extra`) is
  /// free from now on (Prabhakaran et al. 2015). A job that would need such nodes now is reserved
  /// from now on. Starts take idle nodes only.
  bool extra_is_free = false;
  // As Slurm's sched/backfill plans:
  std::uint32_t jobs = kUnlimited;  // so many of the first waiting ones are looked at
  /// Who can only start later than this from now on is not planned. 0: all are.
  Duration window{};
  /// A job is planned as if it ended at the next multiple of this after its end. 0: when it ends.
  Duration resolution{};
  bool is_slurms() const {
    return jobs != kUnlimited || window > Duration{} || resolution > Duration{};
  }
};

/// A job that waits is started at the highest lower frequency at which it can be now in the plan,
/// which knows that of it, if it is believed to end no later so than at `done`, when it would end
/// at full frequency. It takes nodes of these cells. Only where the rules slow jobs for power.
bool start_slower(Pass& pass, Timeline& plan, JobId id, Why why, Time done,
                  Cells among = kEveryCell);
/// The same of one whose turn it is: nobody before it waits for these cells, or for power.
bool start_slower(Pass& pass, JobId id, Cells among = kEveryCell);

/// What is believed to be free from now on, to plan on.
Timeline timeline_for(const Pass& pass, Backfill options);

/// A waiting job's place in a plan.
struct Reservation {
  JobId job = JobId::none;
  Time at{};
};

/// The earliest time at which a waiting job fits into the plan; reserves it there.
Time reserve_earliest(const Pass& pass, Timeline& plan, JobId id);

/// Behind whom in the queue no job was planned.
struct Behind {
  /// Who has the last reservation there may be; `none`: the queue ended before.
  JobId last = JobId::none;
  /// With several lanes, for each of them; nothing where its jobs were all planned.
  std::vector<std::optional<JobId>> lanes{};

  bool anybody() const { return last != JobId::none; }
};

/// How many reservations a plan has, and who may have another one: up to the depth that the policy
/// wants in each partition, and no more than the rules allow. All plans of a pass may have as many,
/// so that a second one reserves for whom the first one did.
class PlanDepth {
 public:
  PlanDepth(const Pass& pass, std::uint32_t wanted)
      : wanted_(wanted), depth_(std::min(wanted, pass.most_reservations())) {
    if (!pass.in_one_lane()) open_lanes(pass);
  }
  bool has_room() const { return reservations_ < depth_; }
  /// The next job that may have one; `none` if there is none.
  JobId next(const Pass& pass, JobId last) const {
    if (!has_room()) return JobId::none;
    if (by_lane_) return pass.next_pending(last, by_lane_->open);
    return last == JobId::none ? pass.first_pending() : pass.next_pending(last);
  }
  /// It has one.
  void made(const Pass& pass, JobId id) {
    ++reservations_;
    if (by_lane_) count(pass, id);
  }
  std::uint32_t reservations() const { return reservations_; }
  /// The plan is over. If the rules ended it while a job still waited for a place in it, the pass
  /// is cut short.
  void end(Pass& pass) const { end(pass, wanted_, reservations_); }
  /// The same of a plan that a memo remembers, with those who wait now.
  static void end(Pass& pass, std::uint32_t wanted, std::uint32_t reservations) {
    const std::uint32_t most = pass.most_reservations();
    if (most < wanted && reservations >= most && pass.pending() > reservations) pass.cut_short();
  }
  Behind behind(JobId last) const;

 private:
  void open_lanes(const Pass& pass);
  void count(const Pass& pass, JobId id);

  std::uint32_t wanted_, depth_;
  std::uint32_t reservations_ = 0;
  struct ByLane {
    std::vector<bool> open;                       // which have a partition with depth left,
    std::vector<std::optional<JobId>> closed_at;  // and behind whom the others have not
    std::vector<std::uint32_t> made;              // by partition
  };
  std::optional<ByLane> by_lane_{};  // with several lanes
};

/// Goes through the queue. A job that fits now for its whole walltime, without disturbing a
/// reservation made so far, starts; else it is reserved in `plan` at its earliest time. Leaves out
/// jobs whose partitions have all `options.reservation_depth` reservations, stops when the rules
/// allow no more, and returns behind whom it stopped. The pass's memo has it, too: forget that of
/// the pass before, as `backfill` does. `made`: where to add the reservations, in the queue's
/// order.
///
/// So no start makes a reservation of a job before it in the queue later; and nobody without a
/// reservation delays one, be it of a job behind him.
///
/// `instead(id, at)`: what else can be done for a job that could start only `at` a later time. If
/// it was done (true) this plan is none any more, and it stops: make it anew.
using Instead = FunctionRef<bool(JobId, Time)>;
Behind start_or_reserve(Pass& pass, Timeline& plan, Backfill options,
                        std::vector<Reservation>* made = nullptr,
                        std::optional<Instead> instead = std::nullopt);

/// Starts jobs that were not planned and fit into what a plan leaves, and takes it from there.
/// O(Q / 64) per started job.
void start_behind(Pass& pass, const Behind& behind, FreeCells& free);

/// All those behind, in order: starts those that fit into what the plan leaves, and tells the plan;
/// else `instead` for those of `others`, which are in order.
void start_behind(Pass& pass, Timeline& plan, const Behind& behind, std::span<const JobId> others,
                  Instead instead);

/// Those behind that fit, in order.
FitSearch fits_behind(const Pass& pass, const Behind& behind);

/// Where a job can have nodes of `there`, so many of each cell, from now on for so long as `plan`
/// sees it; nothing if they are too few. The plan may count nodes as free that are not idle, of
/// another cell than those that are. With several cells.
std::optional<Spread> place_now(const Pass& pass, Timeline& plan, const Demand& demand,
                                Duration length, FunctionRef<Nodes(std::uint32_t)> there);

/// The idle nodes, for however long.
FreeCells idle_cells(const Pass& pass);
/// Are there enough of them for any waiting job? Power is not looked at. O(Q / 64).
bool anybody_fits(const Pass& pass);
/// No more than the idle nodes can be taken now.
void limit_to_idle(const Pass& pass, FreeCells& free);

/// If nothing changed since the last backfilling but that jobs were submitted behind those that
/// hold reservations, only these can start: starts those that fit. Else false: plan anew.
bool backfill_submitted(Pass& pass, LaneMemo& memo, Backfill options);
inline bool backfill_submitted(Pass& pass, Backfill options) {
  LaneMemo* const memo = pass.valid_memo();
  return memo && memo->depth == options.reservation_depth && !options.is_slurms() &&
         backfill_submitted(pass, *memo, options);
}

/// Backfilling at the size at which the policy starts jobs. `start_or_reserve`; after that jobs may
/// only start now, without disturbing a reservation.
///
/// Depth 1 is EASY (Lifka 1995; Mu'alem and Feitelson 2001), unlimited depth conservative
/// backfilling. Cost: O(depth log R + Q / 64 per started job); unlimited: see docs/performance.md.
void backfill(Pass& pass, Backfill options);

/// `start_in_order`, then `backfill`, which starts the first ones itself where it looks at some
/// jobs only. While only those that were submitted need a look, who is first could not start and
/// still cannot.
void start_and_backfill(Pass& pass, Backfill options);

/// If the rules switch nodes (`Rules::node_off_after`): while nobody waits, off go those that were
/// idle for so long; if the first waiting job lacks nodes, as many come on as it lacks. None goes
/// off that the lower bound of the power corridor needs, and those come on that it lacks.
void switch_nodes(Pass& pass);

/// Running jobs that were slowed for power get the highest frequency for which some is left beside
/// what those who wait with a reservation need, and the first who waits: who began first first.
void raise_frequencies(Pass& pass);

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
/// Those of them that this job can use.
inline Nodes free_nodes(const Pass& pass, JobId id) {
  return id == JobId::none ? free_nodes(pass) : pass.idle(id) + pass.incoming(id);
}

/// The first multiple of `period`, which is not 0, after a time.
Time next_multiple(Time time, Duration period);
/// Wakes the policy at the next multiple of `period` while a job waits or runs; 0: never.
void tick(Pass& pass, Duration period);

/// What a plan leaves to jobs without a reservation, as of its making.
class Left {
 public:
  Left() = default;
  explicit Left(Timeline& plan);
  explicit Left(FreeCells free) : free_(std::move(free)) {}
  /// How many nodes of this job, up to `n`, disturb no reservation from now on for so long? Does
  /// not ask for idle nodes.
  Nodes during(const Pass& pass, JobId id, Nodes n, Duration length) const;
  /// Of which cells these may be, as far as they are idle: up to `n` of them. Nothing where there
  /// is one cell.
  Spread idle(const Pass& pass, JobId id, Nodes n, Duration length) const;
  /// It takes them, those of `in` first.
  void take(const Pass& pass, JobId id, Nodes n, Duration length, const Spread& in = {});

 private:
  FreeCells free_;
};

/// A plan of this moment: the first waiting jobs are reserved at their earliest times.
Left left_by_reservations(Pass& pass, Backfill options);

/// The first waiting job of each partition, in order. With one lane the first of all.
struct Heads {
  explicit Heads(const Pass& pass);

  /// Calls `start(id, shadow)`, which says whether it did, for all but the first: the reservations
  /// in the shadow, of `need(head)` nodes, are those of the heads before it. Who starts is no head
  /// any more, and another job may be one.
  template <class NeedOf, class Start>
  static Heads after_starts(Pass& pass, NeedOf need, Start start);

  std::vector<JobId> jobs;
  Behind behind;  // where the others begin
};

/// What became of a job whose turn it was. Who is refused shall not start now, at no frequency.
enum class Turn : std::uint8_t { lacks, started, refused };

/// Calls `start(id)`, which says what became of it, or just whether it did, for waiting jobs in
/// order: until one does not, or with several lanes, for all that share no cell with one before
/// them that did not, and need no power that it lacks. Who lacks some may start at a lower
/// frequency, if he cannot otherwise.
template <class Start>
void start_in_turn(Pass& pass, Start start) {
  if (pass.in_one_lane()) {
    for (JobId id = pass.first_pending(); id != JobId::none; id = pass.first_pending()) {
      const Turn turn{start(id)};
      if (turn == Turn::refused || (turn == Turn::lacks && !start_slower(pass, id))) return;
    }
    return;
  }
  LanesInTurn lanes(pass);
  for (JobId id = JobId::none; (id = lanes.next(pass, id)) != JobId::none;) {
    const bool may = lanes.is_free(pass.cells_now(id)) && lanes.has_power(pass, id);
    const Turn turn = may ? Turn{start(id)} : Turn::lacks;
    if (turn == Turn::started || (turn == Turn::lacks && lanes.start_slower(pass, id))) continue;
    lanes.waits(pass, id);
  }
}

/// EASY's reservation for the first waiting job of each partition, as of its making, and what it
/// leaves to others: what ends by the shadow time, or uses no more than the extra nodes. For
/// policies that resize: they count what comes back now themselves (`free_nodes`). Who only starts
/// jobs and wants just the plan of `easy` uses `timeline_for`, `start_or_reserve` and `Left`.
class Shadow {
 public:
  /// Reserves `need(id)` nodes for each of these.
  template <class NeedOf>
  Shadow(Pass& pass, std::span<const JobId> heads, NeedOf need) : Shadow(pass) {
    for (const JobId head : heads) reserve(pass, head, need(head));
    left_ = Left(plan_);
  }
  Shadow(Pass& pass, JobId head, Nodes need)
      : Shadow(pass, std::span(&head, 1), [&](JobId) { return need; }) {}
  /// Would a job that starts now at `n` nodes not delay the head? Does not ask for idle nodes.
  bool allows(const Pass& pass, JobId id, Nodes n) const;
  /// Of which cells its idle ones may be then.
  Spread idle(const Pass& pass, JobId id, Nodes n) const;
  /// It was started.
  void took(const Pass& pass, JobId id, Nodes n, const Spread& in = {});

 private:
  explicit Shadow(Pass& pass) : plan_(pass.timeline()) {}
  void reserve(Pass& pass, JobId head, Nodes need);

  Timeline plan_;
  Left left_;
};

/// At which size a job starts with so many idle nodes; 0: they are too few.
using SizeWith = FunctionRef<Nodes(const Pass& pass, JobId id, Nodes idle)>;

/// Starts a job at the size that idle nodes allow, if that disturbs no reservation; where there are
/// several cells, at the size that these leave of them. In which? Nothing if it did not start.
std::optional<Spread> backfill_one(Pass& pass, JobId id, Shadow& shadow, SizeWith size);
/// The same for all behind the heads, in order, for whom the reservations are made at the smallest
/// sizes. Tries `try_depth` jobs for which the idle nodes suffice; 0: all. Did any start?
bool backfill_behind(Pass& pass, const Heads& heads, SizeWith size, std::uint32_t try_depth = 0);

template <class NeedOf, class Start>
Heads Heads::after_starts(Pass& pass, NeedOf need, Start start) {
  for (;;) {
    Heads heads(pass);
    bool any = false;
    for (std::size_t i = 1; i < heads.jobs.size() && !any; ++i) {
      if (pass.idle(heads.jobs[i]) < need(heads.jobs[i])) continue;
      Shadow before(pass, std::span(heads.jobs).first(i), need);
      any = start(heads.jobs[i], before);
    }
    if (!any) return heads;
  }
}

}  // namespace ductile
