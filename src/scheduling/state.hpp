// The state of the core: a regular value of plain rows. Events change it (core.cpp), the pen
// changes it (pass.cpp); what both need is here. The rules: docs/architecture.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/time.hpp"
#include "model/contention.hpp"
#include "model/fairness.hpp"
#include "model/job_spec.hpp"
#include "model/platform.hpp"
#include "scheduling/booking.hpp"
#include "scheduling/cells.hpp"
#include "scheduling/decision.hpp"
#include "scheduling/event.hpp"
#include "scheduling/fair_share.hpp"
#include "scheduling/idle_nodes.hpp"
#include "scheduling/job.hpp"
#include "scheduling/parts.hpp"
#include "scheduling/queue.hpp"
#include "scheduling/releases.hpp"
#include "scheduling/timeline.hpp"
#include "scheduling/traits.hpp"

namespace ductile {

/// What the one budget that all jobs share is a bound of: the milliwatts that the machine draws, or
/// the bandwidth of the links that jobs share, of which a "watt" is a millionth. The core adds up
/// what jobs take of it, and does not look at what it is.
enum class Budget : std::uint8_t { power, bandwidth };
constexpr std::array<std::string_view, 2> kBudgetWords{"power", "bandwidth"};

/// What holds for a whole run, whatever the policy.
struct Rules {
  /// The believed end, and when a job may be killed, under resizes: `fixed` at the start, or
  /// `scaled` to when the believed work is used up at the present size.
  enum class Limit : std::uint8_t { fixed, scaled };

  Limit limit = Limit::scaled;
  /// A claim that waits for nodes of running jobs takes idle ones in their place, if they make it
  /// due; what the running jobs then give is promised to nobody.
  bool claims_take_idle = true;
  /// So many refusals of a job in a row count: after each but the first it is left alone twice as
  /// long, and jobs that have none are asked to shrink first. 0: they do not count.
  std::uint32_t counted_refusals = 0;
  /// A plan of a pass has at most so many reservations, whatever its depth; 0: any number. With
  /// 2000 and 10,000 waiting jobs `conservative` plans the first 2000 and lets the others start now
  /// where they disturb none of these.
  std::uint32_t reservations_per_plan = 0;
  /// Nodes that were idle for so long are switched off while nobody waits, and on again when the
  /// first waiting job lacks some (`switch_nodes`); 0: never. Needs identities.
  Duration node_off_after{};
  /// A job that lacks nothing but power starts at a lower frequency if it ends sooner so
  /// (`start_slower`), where the platform has steps.
  bool slow_for_power = false;
  /// How fast jobs that share nodes are believed to be.
  ShareModel share = ShareModel::worst;
  /// And what they are believed to lose by each other.
  Contention contention{};
  /// What the budget is a bound of, and jobs take of it: `AdaptiveSpec::watts_per_node`.
  Budget budget = Budget::power;
  /// Which nodes starts and growths take and shrinks give back. Needs identities.
  Placement placement = Placement::first;
  bool identities = false;  // which nodes, not only how many
  bool record = false;      // keep the pen calls of each instant
  /// Keep what users have used, also under orders that do not ask: the policy may change. Not
  /// written in records, which may have such a change.
  bool counts_uses = true;
  bool check =  // check the invariants after every event and pen call
#ifdef DUCTILE_CHECK_INVARIANTS
      true;
#else
      false;
#endif
  std::uint64_t seed = 1;
  Fairness fairness;
};
constexpr std::array<std::string_view, 2> kLimitWords{"fixed", "scaled"};

/// Bounds of power that hold from a time on.
struct ComingCorridor {
  Time at{};
  std::int64_t low_mw = 0;
  std::int64_t high_mw = std::numeric_limits<std::int64_t>::max();  // any
  bool operator==(const ComingCorridor&) const = default;
};

/// At least so many nodes have been idle at the end of each instant since then.
struct IdleSince {
  Time since{};
  Nodes idle = 0;
  bool operator==(const IdleSince&) const = default;
};

/// A running job that shrinks owes so many of its nodes to a claim: of 5 that it gives back 3 may
/// be for one claim and 2 for another. The same holds for its power, while there is a budget.
/// Nothing of both: a barrier, the claim waits for the answer all the same.
struct Pledge {
  JobId victim = JobId::none;
  DecisionId shrink = DecisionId::none;
  Nodes count = 0;
  std::int64_t power_mw = 0;
  NodeSet nodes{};   // which ones, where there are several cells: such as its job may use
  NodeSet inside{};  // of these nodes, which the victim keeps, it gives cores
  bool is_barrier() const { return count == 0 && power_mw == 0; }
  bool operator==(const Pledge&) const = default;
};

/// Nodes, and power while there is a budget, kept and promised for one start or expansion until all
/// promises are settled.
struct Claim {
  ClaimId id = ClaimId::none;
  /// Of claims that become decisions together, or are dissolved together: the first one of them.
  /// They have numbers one after the other.
  ClaimId group = ClaimId::none;
  JobId job = JobId::none;              // the beneficiary
  RequestId request = RequestId::none;  // a claim that grants this
  bool start = false;                   // a start; else an expansion
  SizeRange add;                        // how many nodes its job starts with, or gets
  Nodes grown = 0;  // of a start: by so many the pass that made it has raised `add.max` since
  std::uint64_t pass = 0;  // the number of that pass
  Holding held;
  std::int64_t held_mw = 0;  // power, above that of idle nodes
  std::vector<Pledge> pledges;
  /// Of a start on nodes that others hold as well: what it will have of them. It is there, or it is
  /// pledged.
  std::vector<Part> inside{};
  Reason reason;
  Time made{};
  Time expected{};  // when the last pledge is expected
  Time release{};   // when the beneficiary is expected to release them

  Nodes pledged() const {
    Nodes sum = 0;
    for (const Pledge& pledge : pledges) sum += pledge.count;
    return sum;
  }
  std::int64_t pledged_mw() const {
    std::int64_t sum = 0;
    for (const Pledge& pledge : pledges) sum += pledge.power_mw;
    return sum;
  }
  Nodes inside_count() const { return inside.empty() ? 0 : nodes_in(inside).count(); }
  /// Which of them have cores that a victim has not given yet.
  NodeSet awaited() const {
    NodeSet nodes;
    for (const Pledge& pledge : pledges) nodes.insert(pledge.inside);
    return nodes;
  }
};

/// A decision that the world has not answered.
struct Unanswered {
  Decision decision;
  Holding before;                // resize: what the job held when it was decided
  Nodes releases = 0;            // shrink: healthy nodes it will give back,
  Nodes pledged = 0;             //         of these promised to claims; the rest is incoming
  std::int64_t releases_mw = 0;  //         with a budget: power it will give back,
  std::int64_t pledged_mw = 0;   //         and of that promised
  Time expected{};               //         when
  Time decided{};
  /// What the claims' pledges name.
  NodeSet promised{};
  /// Stop: which of its nodes others hold as well. They do not come.
  NodeSet stays{};
};

/// An evolving request that is open.
struct Request {
  RequestId id = RequestId::none;
  JobId job = JobId::none;
  std::int32_t delta = 0;
  Nodes at_least = 0;  // of a growth
};

/// How long a job has run on so many nodes, weighed with its rate.
struct TimeHad {
  Nodes nodes = 0;
  Duration time{};
  bool operator==(const TimeHad&) const = default;
};

/// What is known of a job besides its specification. Rigid jobs have no such row.
struct Adaptive {
  AdaptiveSpec spec;
  double mtct = 0;                // measured MPI time over compute time; 0: not known
  double rate = 1;                // progress against the declared model
  std::vector<TimeHad> had = {};  // of the running job up to `work_at`: each size once
};

/// What grants did to the jobs of a user, a group or an account, and what its own requests did.
struct Delays {
  Party party;
  std::int64_t interval = 0;
  double sum_s = 0;  // planned at the grants, fading by whole intervals
  // Of the whole run:
  std::uint64_t jobs = 0;  // of its, that a grant delayed by plan,
  double planned_s = 0;    //   by so much,
  double suffered_s = 0;   //   of which so much came
  double caused_s = 0;     // what came to others of the delays that its requests planned
};

/// A grant made the planned start of a waiting job later. Kept until that starts, to see how much
/// of it came.
struct PlannedDelay {
  JobId job = JobId::none;
  RequestId request = RequestId::none;
  std::array<Party, kPartyWords.size()> by;  // who asked
  Time from{}, to{};                         // the job's start without the grant, and with it
  // How much of it the limits count, and since which `Fairness::interval`. Not `to` - `from`:
  // the plan of a later grant may know better, and makes `to` earlier.
  Duration counted{};
  std::int64_t interval = 0;
};

/// Nodes that were switched on and are not up yet.
struct Boot {
  std::uint32_t batch = 0;
  NodeSet nodes;
  Time ready{};
};

/// What the last backfilling found out: all that waited then and did not start, does not fit. As
/// long as nothing happens but that jobs are submitted, only these need a look. With 2 nodes free
/// behind the reservation of the first job, a new job of 3 nodes is not even planned.
/// Saves work, never changes a decision.
struct LaneMemo {
  std::uint64_t changes = 0;     // `State::changes` then; 0: nothing is known
  std::uint32_t depth = 0;       // how many reservations there may be,
  JobId reserved = JobId::none;  // and the last job that held one,
  // With several reaches: for each of them behind whom no job was planned; nothing where more of
  // its jobs would be.
  std::vector<std::optional<JobId>> lanes{};
  std::uint32_t reservations = 0;  // and how many there were
  std::uint32_t jobs = 0;          // how many jobs had been submitted by then
  Time at{};                       // when
  FreeCells free;                  // for the jobs without a reservation
  std::vector<JobId> fresh;        // of one backfilling; here for its memory
};

/// A running job is to leave these nodes for idle ones, by an operator's order.
struct MoveOrder {
  JobId job = JobId::none;
  NodeSet off;
};

/// What takes so long at speed 1, on nodes of another speed.
Duration at_another_speed(Duration time, double speed);
inline Duration at_speed(Duration time, double speed) {
  return speed == 1 ? time : at_another_speed(time, speed);
}
/// What takes so long at full pace, at another one: rounded half up.
Duration at_pace(Duration time, const Pace& pace);

/// A running job is to leave all its nodes, by an operator's order.
struct StopOrder {
  JobId job = JobId::none;
  Stop how = Stop::cancel;
};

/// Of a job that waits to go on so much is left at least.
inline Work least_work(const JobSpec& spec) { return spec.work_of(kTick); }

/// All that there is of a node.
Slice whole_of(const Platform& platform, const CellTable& cells, std::uint32_t node);

/// What must survive: it cannot be found out again. scheduling/snapshot.cpp has a table of it.
struct Facts {
  static constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();

  Platform platform;
  Capabilities capabilities;
  Rules rules;
  Traits traits{};  // of the policy

  Time now{};
  std::vector<Lane> lanes{
      Lane{}};  // by id; who has no jobs is the default one again, and is reused
  JobTable jobs;
  std::vector<Adaptive> adaptive{};        // side table; rows are reused,
  std::vector<std::uint32_t> free_rows{};  //   which are these
  Sorting sorting{};                       // of the queue
  Uses uses{};                             // of users, if they are counted
  // Those whose size may change while they run first, else in no particular order.
  std::vector<JobId> running{};
  std::vector<Health> health{};  // with identities
  std::vector<Claim> claims{};   // oldest first
  std::uint32_t next_claim = 0;
  std::vector<Unanswered> unanswered{};  // by decision
  std::vector<Request> requests{};       // in order of arrival
  std::vector<JobId> ordered{};          // jobs with an operator's order of a size
  std::vector<MoveOrder> moves{};        // by job, each once
  std::vector<StopOrder> stops{};        // likewise
  std::vector<Delays> delays{};
  std::vector<PlannedDelay> planned_delays{};  // of jobs that have not started since
  std::vector<Boot> boots{};
  std::uint32_t next_boot = 0;
  std::vector<Booking> bookings{};  // by id
  std::uint32_t next_booking = 0;
  /// While idle nodes are switched off: more and more nodes, idle since later and later.
  std::vector<IdleSince> idle_since{};
  double corridor_low_w = 0;
  std::int64_t budget_mw = kNoBudget;              // the corridor's upper bound
  std::vector<ComingCorridor> coming_corridors{};  // by time, as far as they are known
  Time timer = kNever;                             // the policy's
  std::vector<Time> retries{};  // future times at which something may be tried again; sorted
  std::uint64_t passes = 0;
  std::uint64_t next_decision = 1;
  std::uint64_t asked = 0;  // decisions that want an answer
  std::uint64_t stale = 0;  // events that came too late or twice
  EventKinds woken = 0;     // by events since the last pass
  bool idle_grew = false;   // since claims last looked at idle nodes

  // --- Questions that they answer alone

  const AdaptiveSpec* adaptive_spec(const Job& job) const {
    return job.adaptive == Job::kNoRow ? nullptr : &adaptive[job.adaptive].spec;
  }
  /// The size constraint of the application.
  SizeConstraint constraint(const Job& job) const {
    const AdaptiveSpec* spec = adaptive_spec(job);
    return spec ? spec->constraint : SizeConstraint{};
  }
  /// May the job have this size?
  bool allows(const Job& job, Nodes n) const {
    return job.spec.size.contains(n) && constraint(job).allows(n);
  }
  /// Does its walltime hold whatever its size?
  bool has_walltime_of_any_size(const Job& job) const {
    const AdaptiveSpec* spec = adaptive_spec(job);
    return job.spec.type == JobType::rigid || (spec && spec->walltime_for == WalltimeFor::any_size);
  }
  /// Does its limit follow its size?
  bool scales_limit(const Job& job) const {
    return rules.limit == Rules::Limit::scaled && !has_walltime_of_any_size(job);
  }
  /// How its run time depends on its size, as believed; linear where nothing is known.
  const Speedup& speedup(const Job& job) const {
    static const Speedup linear;
    const AdaptiveSpec* spec = adaptive_spec(job);
    return spec ? spec->speedup : linear;
  }
  /// At n whole nodes; at the pace that it has.
  static Crew crew(const Job& job, Nodes n, Pace pace = {}) {
    return {n, std::max<std::uint32_t>(job.spec.cores, 1), pace};
  }
  /// How long so much of its work takes at n nodes.
  Duration time_for_work(const Job& job, Work work, Nodes n) const {
    return time_for(speedup(job), job.spec.preferred, crew(job, n), work);
  }
  /// Work of a job that waits to go on, if it becomes one of another specification: so much less of
  /// its walltime is needed as before.
  Work work_left_of(const Job& job, const JobSpec& other) const;
  /// Has a running job been told to give nodes back?
  bool gives(const Job& job) const {
    return (job.doing == Doing::resizing || job.doing == Doing::stopping) &&
           job.target < job.holding.count;
  }
  /// What a running job computes on: what it holds; while a resize is under way, what it held when
  /// that was decided.
  const Holding& settled(const Job& job) const {
    return job.doing == Doing::resizing ? find(job.decision)->before : job.holding;
  }
  /// The whole run time, as believed, at constant size n: the walltime, scaled by the model unless
  /// it holds at any size; on the slowest nodes that it may use. Of a job that goes on, what is
  /// left of that.
  Duration estimate(const Job& job, Nodes n) const {
    const Duration full = at_speed(estimate_at_speed_1(job, n), lanes[index(job.spec.lane)].speed);
    return job.step == 0 ? full : at_pace(full, frequency(job));
  }
  /// How fast it is at its step of frequency.
  Pace frequency(const Job& job) const;
  Duration estimate_at_speed_1(const Job& job, Nodes n) const {
    return n == job.spec.preferred && !job.goes_on ? job.spec.walltime : estimate_of_work(job, n);
  }
  Duration estimate_of_work(const Job& job, Nodes n) const;
  /// What it takes at the size at which the policy starts it; that it plans with, if it has two.
  Queue::Need start_need(const Job& job) const {
    const bool is_as_asked = !job.goes_on && traits.start_size != StartSize::smallest &&
                             budget_mw == kNoBudget && lanes[index(job.spec.lane)].speed == 1;
    return is_as_asked ? Queue::Need{job.spec.preferred, 0, job.spec.walltime}
                       : believed_start_need(job);
  }
  Queue::Need believed_start_need(const Job& job) const;
  Queue::Need smallest_need(const Job& job) const;
  Queue::Need need_at(const Job& job, Nodes n, Duration walltime) const {
    return {n, budget_mw == kNoBudget ? 0 : power_units(job, n), walltime};
  }
  std::uint32_t power_units(const Job& job, Nodes n) const;
  /// The smallest size the scheduler may choose for it; if it chooses none, the preferred one.
  Nodes smallest(const Job& job) const;
  /// The smallest size at which the policy may start it.
  Nodes smallest_start(const Job& job) const;
  std::int64_t off_mw(std::size_t cls) const {
    return std::llround((has_classes() ? platform.classes[cls].off_w : platform.off_w) * 1000);
  }
  /// What a node of the job draws at least, as its user says, or what was measured, once it was:
  /// then both are that. At most: `Job::power_mw`. Both are of one class (`Job::power_class`).
  std::int64_t least_power_mw(const Job& job) const;

  /// Power of n nodes of the job above that of n idle nodes, of the dearest class that it may use.
  /// Never less: what runs is believed to draw no less than what idles, so that free power only
  /// grows when jobs end.
  std::int64_t extra_power_mw(const Job& job, Nodes n) const {
    return std::int64_t{n} * (has_classes() ? dearest_mw(job) : above_idle_mw(job));
  }
  /// Of one node, of the cheapest class that it may use.
  std::int64_t least_extra_power_mw(const Job& job) const {
    return has_classes() ? cheapest_mw(job) : above_idle_mw(job);
  }
  /// What these take of the budget; 0 if there is none.
  std::int64_t budgeted_mw(const Job& job, Nodes n) const {
    return budget_mw == kNoBudget ? 0 : extra_power_mw(job, n);
  }
  /// Of one node of a class. What is believed holds for one class; on another that is scaled by
  /// what idle nodes of both draw less than busy ones, unless one of these differs in nothing.
  std::int64_t extra_power_on_mw(const Job& job, std::size_t cls) const {
    return has_classes() ? at_step_mw(job, scaled_power_mw(job, cls)) : above_idle_mw(job);
  }
  bool has_classes() const { return platform.classes.size() > 1; }
  /// Cores of a node of a class, and how many of them a job keeps busy that has them all.
  std::uint32_t cores_of(std::size_t cls) const;
  std::uint32_t used_cores(const Job& job, std::size_t cls) const;
  Booking* find(BookingId id);
  const Booking* find(BookingId id) const { return const_cast<Facts*>(this)->find(id); }
  /// Does its booking begin later? Then it is not in the queue.
  bool awaits_booking(const Job& job) const {
    return !bookings.empty() && awaits_booking(lanes[index(job.spec.lane)].where);
  }
  bool awaits_booking(const Where& where) const {
    const Booking* const its = find(where.booking);
    return its != nullptr && !its->has_begun;
  }
  bool any_booking_has_begun() const;
  /// These nodes, and those of bookings that have begun and are not its own: it is to leave them.
  NodeSet to_leave(const Job& job, const NodeSet& draining) const;
  Claim* find(ClaimId id);
  const Claim* find(ClaimId id) const { return const_cast<Facts*>(this)->find(id); }
  Unanswered* find(DecisionId id);
  const Unanswered* find(DecisionId id) const { return const_cast<Facts*>(this)->find(id); }
  /// Which of these nodes a running job holds and can leave: none if its size never changes, and
  /// never the one that must stay.
  NodeSet can_leave(const Job& job, const NodeSet& nodes) const;
  /// The largest size that it can have then, without as many nodes; 0 if it has none so small.
  Nodes size_without(const Job& job, Nodes nodes) const;
  /// Can it ever leave them, now or later?
  bool may_leave(const Job& job, const NodeSet& nodes) const;
  std::int64_t idle_mw() const { return static_cast<std::int64_t>(platform.idle_w * 1000 + 0.5); }
  std::int64_t idle_mw(std::size_t cls) const {
    return has_classes() ? static_cast<std::int64_t>(platform.classes[cls].idle_w * 1000 + 0.5)
                         : idle_mw();
  }

 private:
  std::int64_t above_idle_mw(const Job& job) const {
    return at_step_mw(job, std::max<std::int64_t>(job.power_mw - idle_mw(), 0));
  }
  /// So much above idle is drawn at full frequency: what it is at that of the job.
  std::int64_t at_step_mw(const Job& job, std::int64_t full_mw) const {
    return job.step == 0 ? full_mw : slowed_mw(job, full_mw);
  }
  std::int64_t slowed_mw(const Job& job, std::int64_t full_mw) const;
  std::int64_t dearest_mw(const Job& job) const;
  std::int64_t cheapest_mw(const Job& job) const;
  std::int64_t scaled_power_mw(const Job& job, std::size_t cls) const;
};

constexpr std::uint32_t milliwatts(double watts) {
  return static_cast<std::uint32_t>(watts * 1000 + 0.5);
}

/// Nodes of the holding that are not among these.
inline Nodes healthy(const Holding& holding, const NodeSet& not_up) {
  return not_up.empty() ? holding.count
                        : holding.count - intersection(holding.nodes, not_up).count();
}

/// What follows from the facts, and is kept because it is asked for often.
struct Indices {
  CellTable cells;
  Queue queue;                          // pending jobs without a claim
  std::uint32_t running_malleable = 0;  // how many jobs that run can change their size
  Placer placer;
  IdleNodes idle;
  Nodes held = 0;            // by jobs
  Nodes claimed = 0;         // by claims
  Nodes out_of_service = 0;  // nobody's, and not up
  // What all draw if they are idle, but for nobody's that are down, and those that are off.
  std::int64_t on_mw = 0;
  NodeSet not_up{};
  NodeSet draining{};
  NodeSet switched_off{};
  /// Running jobs that do nothing and hold draining nodes that they can leave. Here may be others
  /// as well: they are taken out when they are looked at.
  std::vector<JobId> leaving{};
  Releases releases;                    // of nodes
  std::vector<Releases> releases_of{};  // by cell, if there are several
  Releases power_releases;              // of milliwatts; kept while there is a budget
  std::int64_t jobs_mw = 0;             // of running jobs, above that of idle nodes, where they are
  std::int64_t claimed_mw = 0;          // by claims, likewise
  std::uint64_t answered = 0;           // of the decisions that want an answer
  /// Who holds a node that several do: first the one who counts it, last those whose claims wait.
  std::map<std::uint32_t, std::vector<JobId>> sharers{};
  std::vector<JobId> parted{};  // running jobs that hold parts of nodes, by id
};

/// What follows from them. What is kept is equal to it, but for the borders of blocks and what
/// `leaving` may hold besides.
Indices index(const Facts& facts);

/// What the job draws on these nodes above that of idle ones.
std::int64_t drawn_by_node_mw(const Facts& facts, const CellTable& cells, const Job& job,
                              const Holding& on);
inline std::int64_t drawn_mw(const Facts& facts, const CellTable& cells, const Job& job,
                             const Holding& on) {
  return !cells.draws_differ() && on.parts.empty()
             ? std::int64_t{on.count} * facts.extra_power_on_mw(job, cells[0].cls)
             : drawn_by_node_mw(facts, cells, job, on);
}
/// What these nodes draw if they are on and idle.
std::int64_t idle_draw_mw(const Facts& facts, const CellTable& cells, const Holding& nodes);
/// The same of nodes that are switched off.
std::int64_t off_draw_mw(const Facts& facts, const CellTable& cells, const NodeSet& nodes);
/// By so much less it draws once what was decided is done; 0 without a budget.
std::int64_t releases_mw(const Facts& facts, const CellTable& cells, const Job& job,
                         const Holding& after);

/// All the core knows. Copying it is copying arrays. What is in neither part ends with the instant,
/// or is a memo, which saves work and can be dropped at any time.
class State : public Facts, public Indices {
 public:
  State(const Platform& platform, const Capabilities& capabilities, const Rules& rules,
        const Traits& traits);
  /// With its indices, those in the rows of jobs as well.
  explicit State(Facts facts);

  bool must_wake = false;           // what the policy did not foresee; a time came
  Wide work_beside = 0;             // node-microseconds of the backlog that no job here stands for
  std::uint64_t pass_first = 0;     // number of the first decision of this pass
  std::vector<Decision> decisions;  // of this instant
  bool handed_out = false;          // and the world has them
  bool was_asked = false;           // the policy, by the last close
  std::vector<PenCall> calls;       // of this instant, while recording
  std::optional<bool> found_sizes;  // of this instant, that keep the power corridor
  std::uint64_t cut_searches = 0;   // for mates, of this instant
  bool cut_short = false;     // of this instant: a plan of its pass might have no more reservations
  std::uint64_t changes = 1;  // of anything but the queue's end
  LaneMemo memo;
  std::vector<JobId> reserving{};        // who holds a reservation, in no particular order
  std::vector<JobId> reserved{};         // by this pass; here for its memory
  std::uint64_t until_check = 0;         // so many changes until the invariants are looked at again
  NodeSet spare_nodes{};                 // where there may be spare cores
  std::uint64_t companies = 0;           // so often somebody came to shared nodes, or left some
  std::uint64_t companies_followed = 0;  // up to these the paces of those who share nodes are right
  std::vector<JobId> unforeseen{};       // of this instant: who has another pace since others left

  // --- Questions
  // -----------------------------------------------------------------------------------

  /// What is left now of the work of a running job that is not rigid, as believed.
  Work work_left(const Job& job) const {
    return work_left_after(job, settled(job).count, now - job.work_at);
  }
  /// The believed end at the present size; past ones read as now + 1 s.
  Time expected_end(const Job& job) const {
    return job.limit > now ? job.limit : now + whole_seconds(1);
  }
  /// The believed end of a running job if it were believed to need `walltime` at its preferred
  /// size.
  Time end_with(const Job& job, Duration walltime) const;
  Nodes healthy(const Holding& holding) const { return ductile::healthy(holding, not_up); }
  /// What the cluster draws, as believed.
  std::int64_t power_mw() const;
  /// What is neither drawn nor held by a claim; `kNoBudget` without a budget. Less than nothing if
  /// jobs draw more than was believed when they started, or the budget was lowered: then nothing
  /// fits, and nobody is ended.
  std::int64_t free_power_mw() const;
  /// What a running job draws of the budget on these nodes; 0 if there is none.
  std::int64_t drawn_mw(const Job& job, const Holding& on) const {
    return budget_mw == kNoBudget ? 0 : ductile::drawn_mw(*this, cells, job, on);
  }
  /// By so much less if it holds that.
  std::int64_t releases_mw(const Job& job, const Holding& after) const {
    return ductile::releases_mw(*this, cells, job, after);
  }
  /// What it will draw once what was decided is done.
  std::int64_t drawn_later_mw(const Job& job) const {
    const std::int64_t now_mw = drawn_mw(job, job.holding);
    if (job.target == job.holding.count) return now_mw;
    return now_mw - releases_mw(job, find(job.decision)->decision.after);
  }
  bool fits_power(const Job& job, Nodes n) const {
    return budget_mw == kNoBudget ||
           extra_power_mw(job, n) <=
               free_power_mw() - (bookings.empty() ? 0 : booked_power_mw(end_at(job, n)));
  }
  /// What the budget leaves at most for what a job draws above idle nodes: if it runs alone, and no
  /// booking keeps any of it.
  std::int64_t power_alone_mw() const { return budget_mw - on_mw; }
  /// What the smallest start of it draws above idle nodes, at the lowest frequency at which it may
  /// start.
  std::int64_t least_start_mw(const Job& job) const;
  /// Does that need more than that? Then none fits the budget, ever.
  bool exceeds_budget(const Job& job) const {
    return budget_mw != kNoBudget && least_start_mw(job) > power_alone_mw();
  }
  /// Are there nodes for its start, and no power?
  bool lacks_power_alone(const Job& job) const {
    if (budget_mw == kNoBudget) return false;
    const Nodes n = start_need(job).nodes;
    return n <= idle_for(job) && !fits_power(job, n);
  }
  /// What bookings keep of the power that is free now from a job that ends then.
  std::int64_t booked_power_mw(Time end) const {
    return bookings.empty() || budget_mw == kNoBudget ? 0 : power_booked_by(end);
  }
  /// What may be drawn now: the budget, without what bookings that have begun keep of it.
  std::int64_t power_cap_mw() const {
    return budget_mw == kNoBudget ? kNoBudget : budget_mw - booked_power_mw(now);
  }
  /// The latest time at which a job is believed to end that starts now with so many nodes, or runs,
  /// and grows to so many.
  Time end_at(const Job& job, Nodes n) const {
    if (job.status != Status::running) return later(now, estimate(job, n));
    const Time end = expected_end(job);
    return scales_limit(job) ? std::max(end, later(now, time_left(job, work_left(job), n))) : end;
  }
  /// As `end_at`, of a job that waits at the size at which the policy starts it.
  Time believed_end(const Job& job) const {
    return job.status == Status::running ? expected_end(job) : later(now, start_need(job).walltime);
  }
  /// For how many nodes of the job, up to `n`, so much power suffices.
  Nodes powered(const Job& job, Nodes n, std::int64_t power_mw) const {
    return budget_mw == kNoBudget ? n : powered_by(job, n, power_mw);
  }
  /// The largest size up to `most` that the application can have, and more than its `base` nodes; 0
  /// if there is none. An application that asked (`request`), and one whose size the scheduler does
  /// not choose, is bound by no constraint: it knows what it can use.
  Nodes usable(const Job& job, Nodes most, Nodes base, RequestId request = RequestId::none) const {
    return base == 0 ? largest_start(job, most) : usable_growth(job, most, base, request);
  }
  /// The smallest one from `least` on; beyond all sizes if there is none.
  Nodes least_usable(const Job& job, Nodes least, Nodes base,
                     RequestId request = RequestId::none) const;
  /// The largest that has power as well for what it adds, in what is free and what its claim holds.
  Nodes largest(const Job& job, Nodes most, Nodes base, RequestId request = RequestId::none,
                std::int64_t held_mw = 0) const {
    const bool any = budget_mw != kNoBudget;
    if (any) most = base + powered_by(job, most - base, free_power_mw() + held_mw);
    return usable(job, most, base, request);
  }
  /// The largest size up to `most` at which the job can start: one that its constraint allows, or
  /// the preferred one, which is always legal. The next resize moves into the constraint.
  Nodes largest_start(const Job& job, Nodes most) const {
    return sizes_at_start(job.spec.type) ? largest_chosen(job, most) : most;
  }
  Nodes incoming() const;
  /// What there is to do, in the time that the nodes in service need for it: n r of all who wait
  /// (`waiting_work`), and the nodes of all who run, and of claims, until their believed ends. So a
  /// job would wait about so long if all came in turn. At most a fourth of all time. O(running
  /// jobs).
  Duration backlog() const;

  // --- Cells
  // ---------------------------------------------------------------------------------------

  /// Where a job may get nodes: that its lane may use; of one that runs none slower than the
  /// slowest it holds.
  Cells usable_cells(const Job& job) const { return usable_cells(job, cells); }
  Cells usable_cells(const Job& job, const CellTable& table) const;
  /// Those of them of which it can have nodes now until `end`: that nobody else has booked for
  /// then.
  Cells open_cells(const Job& job, Time end) const {
    const Cells its = usable_cells(job);
    return bookings.empty() ? its : its & unbooked_cells(job, end);
  }
  Cells open_cells(const Job& job) const {
    return bookings.empty() ? usable_cells(job) : open_cells(job, believed_end(job));
  }
  /// Of `nodes`, those of such cells; all of them where there is one cell.
  NodeSet open(const Job& job, const NodeSet& nodes) const {
    return cells.is_one() ? nodes : intersection(nodes, cells.nodes(open_cells(job)));
  }
  /// Does one of these nodes belong to somebody else's booking before then?
  bool runs_into_booking(const Job& job, const NodeSet& nodes, Time end) const {
    return !bookings.empty() && !cells.nodes(unbooked_cells(job, end)).contains(nodes);
  }
  /// Idle nodes that the job can use now.
  Nodes idle_for(const Job& job, const Spread* in = nullptr) const {
    if (cells.is_one()) return cells.of(job.spec.lane) == 0 ? 0 : idle.count();
    if (cells.are_alike() && !in) return idle.count();
    return idle_in(open_cells(job), in);
  }
  /// No more of each cell than `in` says, unless it is null.
  Nodes idle_in(Cells where, const Spread* in) const;
  /// The most nodes that a job of a lane may have: all that it may use, or as many as are allowed.
  Nodes nodes_of(LaneId lane) const {
    return std::min(cells.nodes_of(lane), most_nodes(platform, lanes[index(lane)].where));
  }
  /// Of `nodes`, those of the job's cells; all of them where there is one cell.
  NodeSet usable(const Job& job, const NodeSet& nodes) const;
  const Releases& releases_in(std::uint32_t cell) const {
    return cells.is_one() ? releases : releases_of[cell];
  }
  /// The speed of the slowest node that it computes on.
  double node_speed(const Job& job) const {
    return cells.speeds_differ() ? slowest_held(job) : cells[0].speed;
  }
  double slowest_held(const Job& job) const;
  /// The same, and by how much of them it has.
  double speed(const Job& job) const { return node_speed(job) * job.pace.share(); }
  /// How long so much work of a running job takes at n nodes of this speed, and at this pace.
  Duration time_left(const Job& job, Work work, Nodes n, const Pace& pace) const {
    return at_speed(time_for(speedup(job), job.spec.preferred, crew(job, n, pace), work),
                    node_speed(job));
  }
  Duration time_left(const Job& job, Work work, Nodes n) const {
    return time_left(job, work, n, job.pace);
  }
  /// `estimate` on the nodes that a running job has.
  Duration estimate_held(const Job& job, Nodes n) const {
    return at_speed(at_pace(estimate_at_speed_1(job, n), job.pace), node_speed(job));
  }
  /// `estimate` of a job that waits, on these nodes.
  Duration estimate_on(const Job& job, const Holding& nodes) const {
    const double speed = cells.speeds_differ() ? cells.slowest(nodes.nodes) : cells[0].speed;
    const Pace pace = pace_of(job, nodes);
    return at_speed(at_pace(estimate_at_speed_1(job, nodes.count), pace), speed);
  }
  /// Does it matter at once which nodes a decision names? Else only when the world is told.
  bool by_name() const { return !cells.is_one() || capabilities.parts || !sharers.empty(); }
  /// What a shrink or a move gives back, sick nodes as well.
  static NodeSet given(const Unanswered& open) {
    return difference(difference(open.before.nodes, open.decision.after.nodes), open.stays);
  }
  /// Those of them that are up and that nobody was promised, with several cells.
  NodeSet unpromised(const Unanswered& open) const;

  // --- Shared nodes
  // --------------------------------------------------------------------------------

  /// All that there is of a node.
  Slice whole(std::uint32_t node) const;
  /// Of which of these nodes there is something that nobody holds or is promised, and how much.
  /// Each slice has a core.
  std::vector<Part> spare(const NodeSet& nodes) const;
  /// There may be spare cores where somebody had parts.
  void note_spare(const std::vector<Part>& parts) { spare_nodes.insert(nodes_in(parts)); }
  /// Do jobs hold more of one of these nodes than there is?
  bool is_over(const NodeSet& nodes) const;
  /// Does this job count on the nodes that it shares with others?
  using IsThere = FunctionRef<bool(JobId)>;
  /// How fast a job is with this, by how much it has of its nodes, and by what it loses by the
  /// others who run there.
  Pace pace_of(const Job& job, const Holding& holding, ShareModel model,
               const Contention& contention) const {
    return pace_beside(job, holding, model, contention, [this](JobId id) { return runs(id); });
  }
  /// What is believed of that.
  Pace pace_of(const Job& job, const Holding& holding) const {
    return pace_of(job, holding, rules.share, rules.contention);
  }
  /// What is believed of a running job: while it is ordered to have more or fewer cores, the less.
  Pace believed_pace(const Job& job) const {
    return believed_pace(job, [this](JobId id) { return runs(id); });
  }
  Pace believed_pace(const Job& job, IsThere is_there) const;
  bool runs(JobId id) const { return jobs[id].status == Status::running; }
  /// Has the running job all of its nodes whole, and is nobody to join it there?
  bool is_alone(const Job& job) const;
  /// Who else is on the nodes of a running job that holds all of them first: its guests. Nothing if
  /// somebody holds one of them before it, or is to join it there.
  std::optional<std::vector<JobId>> guests_of(JobId id) const;
  /// May a running job be told to keep fewer cores, or be given some?
  bool can_share(const Job& job) const {
    return capabilities.parts && is_free(job) && sizes_while_running(job.spec.type);
  }
  /// Where cores change instantly nobody is to be left alone.
  bool can_be_given_cores(const Job& job) const {
    if (!capabilities.instant_cores) return can_share(job);
    return capabilities.parts && job.doing == Doing::nothing && sizes_while_running(job.spec.type);
  }
  /// Which nodes of a running job others hold as well.
  NodeSet shared_of(const Job& job) const;
  /// How many nodes of a running job count for it: those of which it is the first holder.
  Nodes counted(const Job& job) const {
    return sharers.empty() ? job.holding.count : counted_of_shared(job);
  }

  /// How a job leaves nodes: the size that it has then, and how many idle nodes that takes.
  struct Way {
    Nodes size = 0;  // 0: it cannot now
    Nodes fresh = 0;
  };
  /// With other nodes in their place, as far as there are idle ones that it is not ordered off, and
  /// power for them; else, if it may, at the largest size that it can have without them.
  Way way_off(const Job& job, const NodeSet& nodes, bool may_shrink) const;
  /// Running, nothing under way about it, and the world can: it may leave nodes for others.
  bool movable(const Job& job) const {
    return capabilities.moves && is_free(job) && sizes_while_running(job.spec.type) &&
           is_alone(job);
  }
  /// Running, nothing under way about it, and the world can: a policy may cut or grow it.
  bool resizable(JobId id) const;
  /// The same of one that holds parts of nodes: may it leave all that it shares for others?
  bool can_leave_shared(JobId id) const;
  /// Running, nothing under way about it, and not to be left alone.
  bool is_free(const Job& job) const;
  /// Can the world make it leave its nodes like this?
  bool world_can_stop(const Job& job, Stop how) const {
    return how != Stop::suspend || capabilities.suspends == Suspends::all ||
           (capabilities.suspends == Suspends::malleable && sizes_while_running(job.spec.type));
  }
  /// Has an operator ordered that?
  bool is_to_be_suspended(JobId id) const {
    const auto order = std::ranges::lower_bound(stops, id, {}, &StopOrder::job);
    return order != stops.end() && order->job == id && order->how == Stop::suspend;
  }
  /// Has the world a resize left for it?
  bool world_can_resize(const Job& job) const {
    return std::uint32_t{job.expands} + job.shrinks < capabilities.resizes_per_job;
  }
  /// Did the present pass decide something about it?
  bool in_pass(const Job& job) const { return index(job.decision) >= pass_first; }

  // --- Changes
  // -------------------------------------------------------------------------------------

  /// What the instant before this one decided is with the world, if it was handed out.
  void begin_instant() {
    if (!handed_out) return;
    decisions.clear();
    calls.clear();
    cut_short = handed_out = false;
    found_sizes.reset();
    cut_searches = 0;
  }
  /// Another job may run there: its lane. None if no such jobs can be told apart from the others.
  std::optional<LaneId> join_lane(const Where& where);
  /// Are there cells for such a job? Only a list that no other job has can lack some. Bookings take
  /// what they need: while that leaves too few, jobs of the last lanes do without cells of which
  /// they may use a part, and no other list is taken. `most`: so many cells with it; who takes jobs
  /// of users asks before. The core itself takes as many as there can be.
  bool has_room(const Where& where, std::size_t most = kMostCellsWithLists) const;
  /// One that asks for nothing: of lane 0.
  LaneId join_lane() {
    if (lanes[0].jobs++ == 0) want(LaneId{});
    return LaneId{};
  }
  void leave_lane(LaneId id) {
    if (--lanes[index(id)].jobs == 0) forget_lane(id);
  }
  /// `n` idle nodes, which there are, for a job: by the rules of `place`, or of each cell what `in`
  /// says, which it must have.
  Holding take_idle(const Job& job, Nodes n, const Spread* in = nullptr) {
    return take_idle(job, cells.is_one() ? kEveryCell : open_cells(job), n, in);
  }
  Holding take_idle(const Job& job, Cells among, Nodes n, const Spread* in = nullptr) {
    return cells.is_one() ? idle.take(n, job.holding.nodes) : take_idle_by_cell(job, among, n, in);
  }
  /// A job waits from now on; none that awaits its booking is in the queue.
  void enqueue(JobId id, const Job& job) {
    if (!awaits_booking(job)) queue.add(id, job.spec, start_need(job));
  }
  /// And no more.
  void dequeue(JobId id, const Job& job) {
    if (!awaits_booking(job)) queue.remove(id, job.spec);
  }
  /// A booking that is possible is made, or is another one, or is over (`to` is not after now).
  void book(const Booking& booking);
  /// Bookings begin and end. Did any?
  bool turn_bookings();
  /// What the policy's order goes by of what users have used, if it does.
  std::vector<Standing> standings() const;
  /// Sorts the queue as the policy wants it; no job is overdue yet.
  void resort();
  /// The policy's order, which changes with time, as of now.
  void refresh_order();
  /// A decision of this instant, with the next number. Good until the next one.
  Decision& decide(Decision::Kind kind, JobId job, Reason reason,
                   RequestId request = RequestId::none);
  Decision& decision_of_pass(DecisionId id);
  /// The job runs from now on, on `nodes`, as far as its own row goes.
  void run(JobId id, Holding&& nodes);
  /// Idle nodes to a job that starts now.
  void start(JobId id, Holding&& nodes, Reason reason);
  /// A running job gets more nodes, which leave idle or a claim.
  void grow(JobId id, const Holding& more, Reason reason, RequestId request = RequestId::none);
  /// A running job shall shrink; called again in one pass it shrinks further.
  void shrink(JobId id, Nodes to, Reason reason, RequestId request = RequestId::none);
  /// A running job shall leave all its nodes.
  void stop(JobId id, Stop how, Reason reason);
  /// A running job is suspended: what is left of it, as believed, is what it needs from now on.
  void keep_work(Job& job, Duration paused);
  /// A running job leaves these nodes, for other idle ones as far as `way` has them.
  void leave(JobId id, const NodeSet& nodes, const Way& way, Reason reason);
  /// A running job shall hold exactly these nodes: those that it has not yet are idle.
  void resettle(JobId id, const NodeSet& nodes, Reason reason, RequestId request);
  /// These, and those that the running job is ordered off.
  NodeSet avoided(const Job& job, const NodeSet& nodes) const;
  /// Enough of a job's nodes go, by the rules of placement: what it keeps.
  Holding kept(const Job& job, Nodes to, JobId beneficiary = JobId::none) const;
  /// A running job shall have such parts of the nodes that it holds: of none more than it has, or
  /// of none less. If its end moves with its work, `foresee` it then.
  void change_cores(JobId id, std::vector<Part>&& parts, bool more, Reason reason);
  /// A running job that does nothing else computes at another step of frequency.
  void change_frequency(JobId id, std::uint8_t step, Reason reason);
  /// What is believed of a job's end, and of those of all who share nodes with it: the first of
  /// them to end, at the paces of now, leaves its cores to the others, who go on faster; and so on.
  void foresee(JobId id);
  /// Who shares nodes with others than before has another pace, if they lose by each other. Whose
  /// end moves with his work is to be foreseen then.
  std::vector<JobId> follow_companies();
  /// The same where something else is believed of what they lose from now on.
  std::vector<JobId> believe_contention(const Contention& contention);
  /// The bound of those who run beside a job, on each of its nodes somebody; nothing if there is
  /// nobody on one of them, or they are bound by different things.
  std::optional<Bound> bound_beside(const Job& job) const;
  /// It holds such parts now, or none.
  void note_parts(JobId id);
  /// A job holds these nodes from now on, or will, besides those who do.
  void join(JobId id, const NodeSet& nodes);
  /// A running job, which counts nowhere just now, holds these nodes no more. Those that others
  /// hold are theirs, also if they only wait for cores; which ones are nobody's?
  NodeSet give_up(JobId id, const NodeSet& nodes);
  /// A claim is to have these nodes no more, which others hold.
  void forget_inside(Claim& claim, const NodeSet& nodes);
  /// What claims were to have inside and is not there, though nobody owes it any more, they lose.
  void drop_lost_inside();
  /// Nodes and power come free: first to the claims they were pledged to, the rest to nobody.
  void release(JobId from, const Holding& nodes, std::int64_t power_mw) {
    claims.empty() ? free_nodes(nodes) : release_to_claims(from, nodes, power_mw);
  }
  /// Nobody's nodes, which are not up, go out of service, or are back from there. Those of them
  /// that do not drain draw nothing there.
  void put_out(const NodeSet& nodes, int sign);
  /// To idle, or out of service if they are not up.
  void free_nodes(const Holding& nodes) {
    idle_grew = true;
    not_up.empty() ? idle.give(nodes) : free_sound_nodes(nodes);
  }
  /// The world gave these nodes to a job: they leave idle, a claim, or are out of service.
  void seize(const Holding& nodes);
  /// When a waiting job is planned to start; kNever: it holds no reservation. The only way.
  void plan_start(JobId id, Time at);
  /// A job leaves the list of running jobs, and its nodes are released.
  void vacate(JobId id);
  /// The job will not come back.
  void retire(JobId id);
  /// Another machine, with no fewer nodes: the new ones are up and idle.
  void change_machine(const Platform& machine, const Capabilities& can);
  /// Nodes become up, draining, down or off, whoever owns them. The only way.
  void change_health(const NodeSet& nodes, Health health);
  /// What running jobs still owe the claim is promised to nobody.
  void free_pledges(const Claim& claim);
  /// The claims of its group, or itself, oldest first.
  std::span<Claim> group_of(Claim& claim);
  /// Does neither it nor its group wait for anything?
  bool is_due(Claim& claim);
  /// Claims, the oldest first, that idle nodes and free power can make due take them in place of
  /// what they are owed; of a group all or none. Not those with a barrier, which wait for more than
  /// that. Was there one?
  bool feed_claims();
  /// A claim, and its group, ends without a decision; who was to have nodes is what he was before.
  void dissolve(ClaimId id);
  void remove_claim(ClaimId id);
  /// A shrink releases fewer healthy nodes, or less power, than it promised: the newest claims get
  /// less.
  void trim_pledges(Unanswered& shrink);
  void answer(DecisionId id);
  /// Progress up to now, but for a pause, and it is remembered, so that another model can tell what
  /// was done.
  void note_progress(Job& job, Nodes size, Duration paused = {});
  /// After a change of size: the limit, where the rule scales it.
  void scale_limit(Job& job, Reason reason);
  /// A running job computes on nodes of another speed than before: what is left of its limit is
  /// longer or shorter by that, unless limits are fixed. Its progress until now was noted.
  void follow_speed(Job& job, double before, Reason reason);
  void set_limit(Job& job, Time limit, Reason reason);
  /// From now on each node of the job is believed to draw so much.
  void believe_power(JobId id, double watts_per_node);
  /// From now on the job is believed to need so long at its preferred size. When the world may kill
  /// it is not touched by that.
  void believe_walltime(JobId id, Duration walltime);
  /// From now on an adaptive job is believed to depend on its size like this, and to have done so
  /// all the time. When the world may kill it is not touched by that.
  void believe_model(JobId id, const Speedup& model);
  void retry(Time at);
  /// An evolving request that the policy can answer now: its job runs and does nothing.
  bool is_visible(const Request& request) const;
  /// A grant delays a job: it and those whose it is remember. The newest plan is the true one: an
  /// older delay that goes beyond its beginning was not to come that far.
  void delay(const Delay& delay, const Request& request);
  /// The request got no nodes after all: the delays it planned for jobs that still wait do not
  /// come, and do not count.
  void forget_delays(RequestId request);
  /// The job has started: what of its planned delays came?
  void settle_delays(JobId id);
  Delays& delays_of(const Party& party);
  /// A sum in seconds, faded to the present interval.
  double faded(const Delays& delays) const;

  /// A running job's row in the releases, at its limit, comes and goes.
  void list(Job& job, JobId id);
  void unlist(const Job& job, JobId id);
  /// Around a change that matters to the row (limit, nodes, size to come, health, power). Nothing
  /// may read the releases in between, nor list a claim, since that looks at the rows of mates.
  void before_change(const Job& job);
  void after_change(Job& job, JobId id);
  void list(Claim& claim);
  void unlist(const Claim& claim);
  void list_incoming(const Unanswered& shrink);
  void unlist_incoming(const Unanswered& shrink);
  void list(const Boot& boot);
  void unlist(const Boot& boot);

  /// Power may have come free: claims look at it.
  void power_grew() { idle_grew |= budget_mw != kNoBudget; }
  /// An instant ends with so many idle nodes as there are.
  void note_idle();
  /// The bounds of the corridor; the upper one is the budget. What claims hold and are owed of it
  /// stays while there is one. They have nothing of one that comes later.
  void budget(double low_w, double high_w);

 private:
  Nodes powered_by(const Job& job, Nodes n, std::int64_t power_mw) const;
  Nodes largest_chosen(const Job& job, Nodes most) const;
  Nodes usable_growth(const Job& job, Nodes most, Nodes base, RequestId request) const;
  void release_to_claims(JobId from, const Holding& nodes, std::int64_t power_mw);
  void free_sound_nodes(const Holding& nodes);
  bool can_take_idle(std::span<const Claim> group) const;
  /// What the shrink gives is promised anew, by name: to the oldest claim first.
  void deal_pledges(Unanswered& shrink);
  /// It has its first job: nodes may be taken in another order.
  void want(LaneId id) {
    if (cells.is_one()) return;
    cells.want(id, true);
    ++changes;
  }
  /// It is another one, without waiting jobs.
  void put_lane(LaneId id, const Lane& lane);
  Holding take_idle_by_cell(const Job& job, Cells among, Nodes n, const Spread* in);
  Cells unbooked_cells(const Job& job, Time end) const;
  std::int64_t power_booked_by(Time end) const;
  Duration backlog_of(Wide node_us) const;
  Wide waiting_work() const { return queue.area() + work_beside; }
  /// Under the order `area`: all jobs before this one are overdue.
  JobId overdue_before() const;
  /// Other nodes are told apart, or other jobs wait: all that is kept is made anew.
  void reindex();
  /// The cells, and what hangs on them but is no index.
  void tell_cells_apart();
  void index_anew();
  /// Nobody is in it any more.
  void forget_lane(LaneId id);
  /// Claims of nodes that their jobs may not use where these are told apart.
  void dissolve_claims_outside(const CellTable& table);
  void replace_bookings(std::vector<Booking> next);
  /// Other nodes are told apart than before.
  void change_cells(CellTable table);
  /// Which of these nodes, that are up, each of a victim's pledges gets, in their order.
  std::vector<NodeSet> dealt(JobId victim, NodeSet nodes) const;
  void take_idle(Claim& claim);
  void dissolve_alone(Claim& claim);
  /// What a job needs changes, which may wait.
  template <class Change>
  void change_need(JobId id, const Change& change);
  /// What is left after it has `worked` at this size since `work_at`; less than nothing, if what
  /// was counted before was a pause.
  Work work_left_after(const Job& job, Nodes size, Duration worked) const {
    return left_after(job, job.work_left, size, job.pace, worked);
  }
  Work left_after(const Job& job, Work left, Nodes size, const Pace& pace, Duration worked) const;
  /// What it does in `span` at this size and pace, times `rate`.
  Work work_in(const Job& job, Nodes size, const Pace& pace, Duration span, double rate) const;
  Pace pace_beside(const Job& job, const Holding& holding, ShareModel model,
                   const Contention& contention, IsThere is_there) const;
  /// The least efficiency of a job on a node beside one of those who are there, per mille.
  std::uint16_t efficiency_on(std::uint32_t node, const Job& job, const Contention& contention,
                              IsThere is_there) const;
  /// The paces of those who have parts of nodes, found out anew; who has another one.
  std::vector<JobId> find_paces();
  /// It holds other nodes now, or others drain.
  void look_for_draining(Job& job, JobId id) {
    if (!draining.empty() || !bookings.empty()) look_for_leaving(job, id);
  }
  void look_for_leaving(Job& job, JobId id);
  /// What running jobs hold and draw together, with this one or without.
  void count(const Job& job, int sign) {
    count_nodes(job, sign);
    jobs_mw += sign * ductile::drawn_mw(*this, cells, job, job.holding);
  }
  void count_nodes(const Job& job, int sign);
  Nodes counted_of_shared(const Job& job) const;
  /// Rows of the releases of those who share nodes with it, which depend on its end.
  void refresh_mates(JobId id, const NodeSet& nodes) {
    if (!sharers.empty()) refresh_mates_on(id, nodes);
  }
  void refresh_mates_on(JobId id, const NodeSet& nodes);
  void refresh_row(JobId id);
  /// `list`, `after_change`, without that.
  void list_row(const Claim& claim);
  void list_row(Job& job, JobId id);
  void change_row(Job& job, JobId id);
  /// What there is of these nodes beyond what jobs hold and claims are promised.
  struct Room {
    Slice left{};
    bool is_over = false;  // that is more than there is
  };
  std::map<std::uint32_t, Room> rooms(const NodeSet& nodes, bool promised = true) const;
  void leave_inside(JobId id, const NodeSet& nodes);
  /// Of what others leave of nodes so much goes to one who holds parts of them. Does any?
  bool take_given(Holding& holding, std::vector<Part>& given) const;
  /// Healthy nodes that it gives back at its end.
  Nodes sound_release(const Job& job) const {
    const bool is_all = sharers.empty() && not_up.empty() && !gives(job);
    return is_all ? job.holding.count : sound_release_of(job);
  }
  Nodes sound_release_of(const Job& job) const;
  void put_running(JobId id, std::size_t place);
  /// What rows of jobs have of the indices.
  void index_jobs();
};

}  // namespace ductile
