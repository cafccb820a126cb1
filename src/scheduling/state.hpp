// The state of the core: a regular value of plain rows. Events change it (core.cpp), the pen
// changes it (pass.cpp); what both need is here. The rules: docs/architecture.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/time.hpp"
#include "model/fairness.hpp"
#include "model/job_spec.hpp"
#include "model/platform.hpp"
#include "scheduling/decision.hpp"
#include "scheduling/event.hpp"
#include "scheduling/fair_share.hpp"
#include "scheduling/idle_nodes.hpp"
#include "scheduling/job.hpp"
#include "scheduling/queue.hpp"
#include "scheduling/releases.hpp"
#include "scheduling/timeline.hpp"
#include "scheduling/traits.hpp"

namespace ductile {

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

/// A running job that shrinks owes so many of its nodes to a claim: of 5 that it gives back 3 may
/// be for one claim and 2 for another. None: a barrier, the claim waits for the answer all the
/// same.
struct Pledge {
  JobId victim = JobId::none;
  DecisionId shrink = DecisionId::none;
  Nodes count = 0;
  bool operator==(const Pledge&) const = default;
};

/// Nodes kept and promised for one start or expansion until all promises are settled.
struct Claim {
  ClaimId id = ClaimId::none;
  JobId job = JobId::none;              // the beneficiary
  RequestId request = RequestId::none;  // a claim that grants this
  bool start = false;                   // a start; else an expansion
  SizeRange add;                        // how many nodes its job starts with, or gets
  Nodes grown = 0;  // of a start: by so many the pass that made it has raised `add.max` since
  std::uint64_t pass = 0;  // the number of that pass
  Holding held;
  std::vector<Pledge> pledges;
  Reason reason;
  Time made{};
  Time expected{};  // when the last pledge is expected
  Time release{};   // when the beneficiary is expected to release them

  Nodes pledged() const {
    Nodes sum = 0;
    for (const Pledge& pledge : pledges) sum += pledge.count;
    return sum;
  }
};

/// A decision that the world has not answered.
struct Unanswered {
  Decision decision;
  Holding before;      // resize: what the job held when it was decided
  Nodes releases = 0;  // shrink: healthy nodes it will give back,
  Nodes pledged = 0;   //         of these promised to claims; the rest is incoming
  Time expected{};     //         when
  Time decided{};
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
  std::uint64_t changes = 0;       // `State::changes` then; 0: nothing is known
  std::uint32_t depth = 0;         // how many reservations there may be,
  JobId reserved = JobId::none;    // and the last job that held one,
  std::uint32_t reservations = 0;  // and how many there were
  std::uint32_t jobs = 0;          // how many jobs had been submitted by then
  Time at{};                       // when
  FreeProfile free;                // for the jobs without a reservation
};

/// What must survive: it cannot be found out again. scheduling/snapshot.cpp has a table of it.
struct Facts {
  static constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();

  Platform platform;
  Capabilities capabilities;
  Rules rules;
  Traits traits{};  // of the policy

  Time now{};
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
  std::vector<JobId> ordered{};          // jobs with an operator's order
  std::vector<Delays> delays{};
  std::vector<PlannedDelay> planned_delays{};  // of jobs that have not started since
  std::vector<Boot> boots{};
  std::uint32_t next_boot = 0;
  double corridor_low_w = 0;
  std::int64_t budget_mw = kNoBudget;  // the corridor's upper bound
  Time timer = kNever;                 // the policy's
  std::vector<Time> retries{};         // future times at which something may be tried again; sorted
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
  /// How long so much of its work takes at n nodes.
  Duration time_for_work(const Job& job, Work work, Nodes n) const {
    return time_for(speedup(job), job.spec.preferred, n, work);
  }
  /// What a running job computes on: what it holds; while a resize is under way, what it held when
  /// that was decided.
  const Holding& settled(const Job& job) const {
    return job.doing == Doing::resizing ? find(job.decision)->before : job.holding;
  }
  /// The whole run time, as believed, at constant size n: the walltime, scaled by the model unless
  /// it holds at any size.
  Duration estimate(const Job& job, Nodes n) const;
  /// What it takes at the size at which the policy starts it.
  Queue::Need start_need(const Job& job) const {
    return traits.start_size == StartSize::smallest && sizes_at_start(job.spec.type)
               ? smallest_need(job)
               : need_at(job, job.spec.preferred, job.spec.walltime);
  }
  Queue::Need smallest_need(const Job& job) const {
    const Nodes n = smallest(job);
    return need_at(job, n, estimate(job, n));
  }
  Queue::Need need_at(const Job& job, Nodes n, Duration walltime) const {
    const bool is_bound = budget_mw != kNoBudget;
    return {n, is_bound ? Queue::Need::units(extra_power_mw(job, n)) : 0, walltime};
  }
  /// The smallest size the scheduler may choose for it; if it chooses none, the preferred one.
  Nodes smallest(const Job& job) const;
  /// Power of n nodes of the job above that of n idle nodes. Never less: what runs is believed to
  /// draw no less than what idles, so that free power only grows when jobs end.
  std::int64_t extra_power_mw(const Job& job, Nodes n) const {
    return std::int64_t{n} * std::max<std::int64_t>(job.power_mw - idle_mw(), 0);
  }
  Claim* find(ClaimId id);
  const Claim* find(ClaimId id) const { return const_cast<Facts*>(this)->find(id); }
  Unanswered* find(DecisionId id);
  const Unanswered* find(DecisionId id) const { return const_cast<Facts*>(this)->find(id); }
  /// The largest size at which the running job holds none of these nodes that it can give up; 0 if
  /// it has none of them, or cannot be so small, or keeps its size.
  Nodes size_off(const Job& job, const NodeSet& nodes) const;
  std::int64_t idle_mw() const { return static_cast<std::int64_t>(platform.idle_w * 1000 + 0.5); }
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
  Queue queue;                          // pending jobs without a claim
  std::uint32_t running_malleable = 0;  // how many jobs that run can change their size
  IdleNodes idle;
  Nodes held = 0;            // by jobs
  Nodes claimed = 0;         // by claims
  Nodes out_of_service = 0;  // nobody's, and not up
  NodeSet not_up{};
  NodeSet draining{};
  /// Running jobs that do nothing and may leave draining nodes. Here may be others as well: they
  /// are taken out when they are looked at.
  std::vector<JobId> leaving{};
  Releases releases;           // of nodes
  Releases power_releases;     // of milliwatts; kept while there is a budget
  std::int64_t jobs_mw = 0;    // of running jobs, above that of idle nodes
  std::uint64_t answered = 0;  // of the decisions that want an answer
};

/// What follows from them. What is kept is equal to it, but for the borders of blocks and what
/// `leaving` may hold besides.
Indices index(const Facts& facts);

/// All the core knows. Copying it is copying arrays. What is in neither part ends with the instant,
/// or is a memo, which saves work and can be dropped at any time.
class State : public Facts, public Indices {
 public:
  State(const Platform& platform, const Capabilities& capabilities, const Rules& rules,
        const Traits& traits);
  /// With its indices, those in the rows of jobs as well.
  explicit State(Facts facts);

  bool must_wake = false;           // what the policy did not foresee; a time came
  std::uint64_t pass_first = 0;     // number of the first decision of this pass
  std::vector<Decision> decisions;  // of this instant
  bool handed_out = false;          // and the world has them
  bool was_asked = false;           // the policy, by the last close
  std::vector<PenCall> calls;       // of this instant, while recording
  bool cut_short = false;     // of this instant: a plan of its pass might have no more reservations
  std::uint64_t changes = 1;  // of anything but the queue's end
  LaneMemo memo;
  std::uint64_t until_check = 0;  // so many changes until the invariants are looked at again

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
  /// What may still be drawn; `kNoBudget` without a budget.
  std::int64_t free_power_mw() const {
    return budget_mw == kNoBudget ? kNoBudget : budget_mw - power_mw();
  }
  bool fits_power(const Job& job, Nodes n) const {
    return budget_mw == kNoBudget || extra_power_mw(job, n) <= free_power_mw();
  }
  /// The largest size up to `most` that the application can have and that has power for what it
  /// adds to its `base` nodes; 0 if there is none. An application that asked (`request`), and one
  /// whose size the scheduler does not choose, is bound by no constraint: it knows what it can use.
  Nodes largest(const Job& job, Nodes most, Nodes base, RequestId request = RequestId::none) const;
  /// The largest size up to `most` at which the job can start: one that its constraint allows, or
  /// the preferred one, which is always legal. The next resize moves into the constraint.
  Nodes largest_start(const Job& job, Nodes most) const;
  Nodes incoming() const;
  Nodes size_off_draining(const Job& job) const { return size_off(job, draining); }
  /// Running, nothing under way about it, and the world can: a policy may cut or grow it.
  bool resizable(JobId id) const;
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
  }
  /// A job waits from now on.
  void enqueue(JobId id, const Job& job) { queue.add(id, job.spec, start_need(job)); }
  /// Sorts the queue as the policy wants it.
  void resort();
  /// The policy's order, which changes with time, as of now.
  void refresh_order();
  /// A decision of this instant, with the next number. Good until the next one.
  Decision& decide(Decision::Kind kind, JobId job, Reason reason,
                   RequestId request = RequestId::none);
  Decision& decision_of_pass(DecisionId id);
  /// The job runs from now on, on `nodes`, as far as its own row goes.
  void run(JobId id, Holding nodes);
  /// Idle nodes to a job that starts now.
  void start(JobId id, Holding nodes, Reason reason);
  /// A running job gets more nodes, which leave idle or a claim.
  void grow(JobId id, const Holding& more, Reason reason, RequestId request = RequestId::none);
  /// A running job shall shrink; called again in one pass it shrinks further.
  void shrink(JobId id, Nodes to, Reason reason, RequestId request = RequestId::none);
  /// Enough of a job's nodes go, by the rules of placement: what it keeps.
  Holding kept(const Job& job, Nodes to) const;
  /// Nodes come free: first to the claims they were pledged to, the rest to idle.
  void release(JobId from, const Holding& nodes);
  /// To idle, or out of service if they are not up.
  void free_nodes(const Holding& nodes);
  /// The world gave these nodes to a job: they leave idle, a claim, or are out of service.
  void seize(const Holding& nodes);
  /// A job leaves the list of running jobs, and its nodes are released.
  void vacate(JobId id);
  /// The job will not come back.
  void retire(JobId id);
  /// Nodes become up, draining, down or off, whoever owns them. The only way.
  void change_health(const NodeSet& nodes, Health health);
  /// What running jobs still owe the claim is promised to nobody.
  void free_pledges(const Claim& claim);
  /// Claims, the oldest first, that idle nodes can make due take them in place of what they are
  /// owed. Not those with a barrier, which wait for more than nodes. Was there one?
  bool feed_claims();
  /// A claim ends without a decision; its beneficiary is what it was before.
  void dissolve(ClaimId id);
  void remove_claim(ClaimId id);
  /// A shrink releases fewer healthy nodes than it promised: the newest claims get less.
  void trim_pledges(Unanswered& shrink);
  void answer(DecisionId id);
  /// Progress up to now, but for a pause, and it is remembered, so that another model can tell what
  /// was done.
  void note_progress(Job& job, Nodes size, Duration paused = {});
  /// After a change of size: the limit, where the rule scales it.
  void scale_limit(Job& job, Reason reason);
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
  /// may read the releases in between.
  void before_change(const Job& job);
  void after_change(Job& job, JobId id);
  void list(Claim& claim);
  void unlist(const Claim& claim);
  void list_incoming(const Unanswered& shrink);
  void unlist_incoming(const Unanswered& shrink);

  void budget(double low_w, double high_w);

 private:
  /// What a job needs changes, which may wait.
  template <class Change>
  void change_need(JobId id, const Change& change);
  /// What is left after it has `worked` at this size since `work_at`; less than nothing, if what
  /// was counted before was a pause.
  Work work_left_after(const Job& job, Nodes size, Duration worked) const;
  /// It holds other nodes now, or others drain.
  void look_for_draining(Job& job, JobId id);
  /// What running jobs hold and draw together, with this one or without.
  void count(const Job& job, int sign);
  /// Healthy nodes that it gives back at its end.
  Nodes sound_release(const Job& job) const;
  void put_running(JobId id, std::size_t place);
};

}  // namespace ductile
