// One pass: the view of an instant, and the pen that writes decisions into it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/random.hpp"
#include "base/time.hpp"
#include "base/wide.hpp"
#include "scheduling/decision.hpp"
#include "scheduling/state.hpp"
#include "scheduling/timeline.hpp"

namespace ductile {

/// Where the nodes of a start or an expansion come from. Idle nodes are always the first source.
struct Sources {
  // Then running jobs that shrink, in order. Also one whose nodes are not needed is waited for.
  std::span<const Cut> cuts{};
  bool incoming = false;  // then nodes that come and are promised to nobody
  /// Of which cells the idle ones are: no more of each than this. Null: of any that the job may
  /// use, by the rules of `place`.
  const Spread* in = nullptr;
  /// All that the job is to hold, exactly: there is no other source then. What it does not hold yet
  /// is idle. A running job may give nodes up for others. Needs identities.
  const NodeSet* on = nullptr;
  /// A start from idle nodes: at this step of frequency (`Platform::steps`, from 1; 0: the full
  /// one), where the rules slow jobs for power (`Rules::slow_for_power`).
  std::uint8_t step = 0;
};

/// What a policy sees and does. Everything the pen writes is seen at once by the view.
class Pass {
 public:
  explicit Pass(State& state) : state_(state) {}

  // --- The view
  // ------------------------------------------------------------------------------------

  Time now() const { return state_.now; }
  /// Did an event of this kind come since the last pass? `woken_by<event::Submitted>()`.
  template <class E>
  bool woken_by() const {
    return (state_.woken & kind_of<E>()) != 0;
  }
  /// And none of another kind?
  template <class E>
  bool woken_only_by() const {
    return state_.woken == kind_of<E>();
  }
  const Platform& platform() const { return state_.platform; }
  /// All of them; and those that this job can use, now that it waits or as it runs.
  Nodes idle() const { return state_.idle.count(); }
  Nodes idle(JobId id, const Spread* in = nullptr) const { return state_.idle_for(job(id), in); }
  /// Nodes that running shrinks will give back and that are promised to nobody; that this job can
  /// use.
  Nodes incoming() const { return state_.incoming(); }
  Nodes incoming(JobId id) const;
  Spread incoming_by_cell() const { return incoming_by_cell(false); }
  /// Those of them that are believed to come at this very instant, and power likewise.
  Demand incoming_now() const;
  Spread incoming_now_by_cell() const { return incoming_by_cell(true); }
  bool any_resizing() const;
  /// Nodes that jobs or claims have or have been promised: none of those on their way back to
  /// nobody.
  Nodes in_use() const { return state_.held + state_.claimed - incoming(); }
  /// These, those on their way back, and the idle ones: all that are up, or held though they are
  /// not.
  Nodes in_service() const { return state_.held + state_.claimed + idle(); }
  /// Nodes that are switched on and do not serve yet; and those that are off and are not.
  Nodes booting() const;
  Nodes off() const;
  /// How many of the idle nodes that would go off next, at most `n`, can without less being drawn
  /// than the corridor's lower bound; and how many of those that are off would have to come on for
  /// that. None of either while jobs are resized.
  Nodes can_go_off(Nodes n) const;
  Nodes needed_on() const;
  Duration node_off_after() const { return state_.rules.node_off_after; }
  /// More and more nodes, that have been idle since later and later; while nodes are switched.
  std::span<const IdleSince> idle_since() const { return state_.idle_since; }
  /// What is drawn, as believed, and the corridor's bounds.
  double power_w() const { return static_cast<double>(state_.power_mw()) / 1000; }
  std::int64_t power_mw() const { return state_.power_mw(); }
  std::int64_t corridor_low_mw() const { return std::llround(state_.corridor_low_w * 1000); }
  std::int64_t corridor_high_mw() const { return state_.budget_mw; }  // `State::kNoBudget`: any
  /// The bounds that come next, by time, as far as they are known.
  std::span<const ComingCorridor> coming_corridors() const { return state_.coming_corridors; }
  /// From an order to a running job to its next scheduling point, as far as known.
  Duration resize_delay(JobId id) const {
    const AdaptiveSpec* const spec = state_.adaptive_spec(job(id));
    return spec != nullptr ? spec->resize_delay : Duration{};
  }
  /// What is drawn of it by nodes that are on as if all were idle.
  std::int64_t idle_draw_mw() const { return state_.on_mw; }
  /// Milliwatts of a node of a job above those of an idle one, at least and at most: as measured
  /// while it runs, both, or else as its user says; of the cheapest and the dearest class that it
  /// may use.
  struct NodePower {
    std::int64_t least_mw = 0, most_mw = 0;
  };
  NodePower node_power(JobId id) const;
  /// The same, always as its user says.
  NodePower said_power(JobId id) const;

  /// Cells: the nodes that nobody who waits tells apart. Where there is one, all do.
  std::size_t cell_count() const { return state_.cells.size(); }
  /// Those that jobs of a reach may use, and the partitions in which they may.
  Cells cells_of(ReachId reach) const { return state_.cells.of(reach); }
  std::uint64_t partitions_of(ReachId reach) const { return state_.cells.partitions_of(reach); }
  ReachId reach_of(JobId id) const { return state_.cells.reach_of(job(id).spec.lane); }
  /// Those in which this job may get nodes: if it runs, none slower than the slowest it holds.
  Cells cells_of(JobId id) const { return state_.usable_cells(job(id)); }
  /// Those of them of which it can have nodes now, as long as it needs them: nobody has booked
  /// them; and those of which a job could that is short enough.
  Cells open_cells(JobId id) const { return state_.open_cells(job(id)); }
  Cells cells_now(JobId id) const { return state_.open_cells(job(id), now() + kTick); }
  bool has_bookings() const { return !state_.bookings.empty(); }
  Nodes idle_of(std::uint32_t cell) const { return state_.idle.of(cell); }
  /// Does it not matter to a plan of which cells nodes are? It counts them together then.
  bool plans_together() const { return state_.cells.are_alike(); }
  /// In which order nodes are taken.
  std::span<const std::uint32_t> cells_in_order() const { return state_.cells.in_order(); }
  /// What is expected to come free of a cell.
  const Releases& releases_of(std::uint32_t cell) const { return state_.releases_in(cell); }

  /// Waiting jobs without a claim, first in the queue's order.
  JobId first_pending() const { return state_.queue.front(); }
  /// What it takes, as `start_need` says.
  Queue::Need first_need() const { return state_.queue.front_need(); }
  /// The next one; `id` may have left the queue meanwhile. `none` at the end.
  JobId next_pending(JobId id) const { return state_.queue.after(id, job(id).spec); }
  /// All of them in order: cheaper than one after the other.
  std::vector<JobId> all_pending() const;
  /// All of them by what they have in common for who shares nodes.
  const Queue::Kinds& pending_kinds() const { return state_.queue.kinds(state_.jobs); }
  /// What a waiting job takes when it is started at the size at which this policy starts jobs.
  Queue::Need start_need(JobId id) const { return state_.start_need(job(id)); }
  /// The first one after `id` (`none`: from the front) whose need then fits into `free`.
  JobId first_fit(JobId id, const FreeProfile& free) const {
    return state_.queue.first_fit(id, id == JobId::none ? nullptr : &job(id).spec, free);
  }
  /// The next one after `id` (`none`: the first one) whose reach is open.
  JobId next_pending(JobId id, const std::vector<bool>& open) const {
    return state_.queue.after(id, id == JobId::none ? nullptr : &job(id).spec, open);
  }
  /// Those that fit, in order; `behind` for each reach (`FitSearch`).
  FitSearch fits_behind(std::span<const std::optional<JobId>> behind) const;
  std::size_t pending() const { return state_.queue.size(); }
  /// The first of them in the order of submission; the one behind `id`; `none` if there is none.
  JobId oldest_pending() const { return state_.queue.submitted_from(JobId{}); }
  JobId next_oldest(JobId id) const { return state_.queue.submitted_from(JobId{index(id) + 1}); }
  /// What there is to do, in time: `State::backlog`. O(running jobs).
  Duration backlog() const { return state_.backlog(); }
  /// Have all who wait reach 0? Else there are some up to this one.
  bool in_one_lane() const { return state_.queue.in_one_lane(); }
  std::size_t reaches() const { return state_.queue.reaches(); }
  /// Does `a` go before `b` in the queue's order?
  bool before(JobId a, JobId b) const {
    return state_.queue.before(a, job(a).spec, b, job(b).spec);
  }
  /// All running jobs, in no particular order.
  std::span<const JobId> running() const { return state_.running; }
  /// Those of them whose size may change while they run.
  std::span<const JobId> running_malleable() const {
    return running().first(state_.running_malleable);
  }
  /// Jobs that this pass started and that hold their nodes, in that order.
  std::vector<JobId> started() const;
  /// Claims, oldest first.
  std::span<const Claim> claims() const { return state_.claims; }
  /// Evolving requests of jobs that are running and doing nothing, in order of arrival.
  std::vector<Request> requests() const;
  /// Are there any, also of jobs that are busy?
  bool has_requests() const { return !state_.requests.empty(); }
  const Job& job(JobId id) const { return state_.jobs[id]; }
  /// Is the job not over? Ask before following a tag.
  bool knows(JobId id) const { return state_.jobs.knows(id); }

  /// Could it start at `n` nodes now: waiting, not to be left alone, idle nodes and power suffice?
  bool fits(JobId id, Nodes n) const;
  /// Steps of frequency below the full one at which jobs may start: none without a power budget,
  /// and none where the rules do not slow jobs for power.
  std::uint8_t frequency_steps() const {
    const bool any = state_.rules.slow_for_power && state_.budget_mw != State::kNoBudget;
    return any ? static_cast<std::uint8_t>(platform().steps.size()) : std::uint8_t{0};
  }
  /// How long a job that waits takes at `n` nodes at such a step, and what it needs of the budget.
  struct Slowed {
    Duration length{};
    std::int64_t power_mw = 0;
  };
  Slowed slowed(JobId id, Nodes n, std::uint8_t step) const;
  /// Running, doing nothing, no claim, no order, all of its nodes to itself, and the world can.
  bool resizable(JobId id) const { return state_.resizable(id); }
  /// Can a running job be told to leave cores of its nodes to a guest (`Cut::each`)?
  bool can_share(JobId id) const {
    return job(id).status == Status::running && state_.budget_mw == State::kNoBudget &&
           job(id).started < now() && state_.can_share(job(id));
  }
  /// Has a running job all of its nodes whole, and is nobody to join it there?
  bool is_alone(JobId id) const { return state_.is_alone(job(id)); }
  /// Is a running job on nodes that others held before it?
  bool is_guest(JobId id) const { return state_.counted(job(id)) < job(id).size(); }
  /// The nodes of a running job that it shares, or of which it has a part.
  NodeSet not_alone(JobId id) const;
  /// Can it be moved off them now, as far as it is up to it?
  bool can_move_on(JobId id) const { return state_.can_leave_shared(id); }
  /// Running jobs that hold parts of nodes.
  std::span<const JobId> parted() const { return state_.parted; }
  /// Who else is on the nodes of a running job (`State::guests_of`).
  std::optional<std::vector<JobId>> guests_of(JobId id) const { return state_.guests_of(id); }
  /// What jobs that share nodes are believed to lose by each other.
  const Contention& contention() const { return state_.rules.contention; }
  /// Invariants are checked: what is remembered may be compared with what is found anew.
  bool checks() const { return state_.rules.check; }
  /// All that there is of a node.
  Slice whole(std::uint32_t node) const { return state_.whole(node); }
  /// What a job needs of each of its nodes.
  const Slice& asked(JobId id) const { return state_.lanes[index(job(id).spec.lane)].where.each; }
  SizeConstraint sizes(JobId id) const { return state_.constraint(job(id)); }
  /// The performance model, as believed; linear where none is known.
  const Speedup& speedup(JobId id) const { return state_.speedup(job(id)); }
  /// The smallest size that the scheduler may choose for it; if it chooses none, the preferred one.
  Nodes smallest(JobId id) const { return state_.smallest(job(id)); }
  /// Can it be cut: resizable, or being cut by this very pass, which may cut it further?
  bool cuttable(JobId id) const;
  /// Can it be given nodes: resizable, or started or grown by this very pass, also if its start
  /// waits for nodes?
  bool growable(JobId id) const;
  /// Healthy nodes that a malleable job holds beyond its smallest size, once what is under way is
  /// done (a start that waits for nodes, too): what could be taken from it, now or later.
  Nodes extra(JobId id) const;
  /// Those of them that another job can use.
  Nodes extra(JobId id, JobId beneficiary) const;
  /// How many nodes a cut would give that another job can use, and that are promised to nobody.
  Nodes gives(const Cut& cut, JobId beneficiary) const;
  /// Power that a cut would give back, above that of idle nodes, and that is promised to nobody; 0
  /// without a budget.
  std::int64_t gives_mw(const Cut& cut, JobId beneficiary) const;
  /// Power that a waiting job lacks to start at `n` nodes, or a running one to grow by so many, in
  /// what is free and what comes and is promised to nobody; 0 without a budget.
  std::int64_t lacks_mw(JobId id, Nodes n) const;
  /// How many more than by the cut that this very pass has decided.
  Nodes adds(const Cut& cut, JobId beneficiary) const {
    return gives(cut, beneficiary) - gives({cut.victim, job(cut.victim).size()}, beneficiary);
  }

  /// Of which cells the nodes are that a cut gives, chosen for another job or for nobody; those
  /// that a malleable job could give (`extra`); and all that a running job holds.
  Spread gives_by_cell(const Cut& cut, JobId beneficiary = JobId::none) const;
  Spread extra_by_cell(JobId id) const;
  Cells holds(JobId id) const { return state_.cells.spread(job(id).holding.nodes).cells(); }

  /// Believed end at the present size; past ones read as now + 1 s. Under `limit = fixed` the
  /// deadline. Of a job whose start waits for nodes: as if they come when they are expected.
  Time expected_end(JobId id) const;
  /// Believed end if it ran at `n` from now on; the cost of the change is not in it.
  Time expected_end(JobId id, Nodes n) const;
  /// Believed end if the pass brings it to `to` with nodes from there; at its present size, as
  /// things stand in this pass. Also under `limit = fixed` the work that is left tells. A job at 2
  /// nodes has 100 s left; 2 more come in 10 s, it is ready for them at once, and a resize costs 5
  /// s: it computes for 10 s, pauses for 5 s, and does the other 90 s in 45: it ends in 60 s. All
  /// that a pass does to a job is one resize, from the size before the pass; a job that the pass
  /// starts pays nothing.
  Time expected_end_after(JobId id, Nodes to, const Sources& sources = {}) const;
  /// Do believed ends move when sizes change (`limit = scaled`)?
  bool ends_move() const { return state_.rules.limit == Rules::Limit::scaled; }
  /// Believed end if it had all of its nodes alone from now on, with what it costs to move there.
  Time end_alone(JobId id) const;
  /// Whole believed run time at constant size `n`.
  Duration estimate(JobId id, Nodes n) const { return state_.estimate(job(id), n); }
  /// When it would release nodes if it were cut now.
  Time expected_release(JobId id) const;
  Duration expected_cost(JobId id, Nodes to) const;
  /// What is left of the work, as believed, and all of it; of a rigid job the same in time.
  struct WorkLeft {
    Wide left = 1, whole = 1;
  };
  WorkLeft work_left(JobId id) const;
  /// MPI time over compute time, as measured since the last resize; 0: not known.
  double mtct(JobId id) const;
  const Fairness& fairness() const { return state_.rules.fairness; }
  /// Delay that grants planned for the jobs of a user, group or account, faded, and for this job.
  Duration delay_of(const Party& party) const;
  Duration delay_of(JobId id) const { return job(id).delayed; }

  /// What is believed to be free from now on. Stays true while this pass starts jobs if it is told
  /// (`Timeline::took`); any other pen call ends its use.
  Timeline timeline() const { return timeline(true); }
  /// Of the nodes that are idle now alone.
  Timeline idle_timeline() const { return timeline(false); }
  /// What the job needs at `n` nodes, for the timeline.
  Demand demand(JobId id, Nodes n) const {
    if (state_.cells.is_one()) return {n, state_.budgeted_mw(job(id), n)};
    return {n, state_.budgeted_mw(job(id), n), cells_of(id),
            state_.cells.booking_of(job(id).spec.lane)};
  }
  /// For how many more nodes of it, up to `n`, power is free; `n` without a budget.
  Nodes powered(JobId id, Nodes n) const {
    std::int64_t free_mw = state_.free_power_mw();
    if (has_bookings()) free_mw -= state_.booked_power_mw(state_.believed_end(job(id)));
    return state_.powered(job(id), n, free_mw);
  }
  /// The memo of the last backfilling, or null if more happened since than that jobs were
  /// submitted, or there are several lanes where there was one.
  LaneMemo* valid_memo() {
    LaneMemo& memo = state_.memo;
    const bool same = memo.changes == state_.changes && !state_.releases.any_late(now()) &&
                      in_one_lane() == memo.lanes.empty();
    return same ? &memo : nullptr;
  }
  /// Where to write one: void it (`forget_memo`), fill it in, and then `keep_memo` says that it
  /// holds as of now.
  LaneMemo& memo() { return state_.memo; }
  void keep_memo();
  void forget_memo() { state_.memo.changes = 0; }
  /// How many reservations a plan may have at most (`Rules::reservations_per_plan`).
  std::uint32_t most_reservations() const {
    const std::uint32_t most = state_.rules.reservations_per_plan;
    return most == 0 ? std::numeric_limits<std::uint32_t>::max() : most;
  }
  /// A job has no plan because of that (`Core::was_cut_short`).
  void cut_short() { state_.cut_short = true; }
  /// Sizes of jobs that keep the power corridor were looked for (`Core::found_sizes`).
  void found_sizes(bool any) { state_.found_sizes = any; }
  /// A search for mates was ended before it had seen all sets (`Core::cut_searches`).
  void note_cut_search() { ++state_.cut_searches; }
  /// Jobs are numbered from 0 in order of submission.
  std::uint32_t submitted() const { return state_.jobs.size(); }
  /// A random number of this pass: a function of seed, pass and how many were drawn.
  std::uint64_t random() { return draws().bits(); }

  // --- The pen
  // ------------------------------------------------------------------------------------- False:
  // not possible now, and nothing changed. Decisions about one job in one pass merge into one if
  // they have the same direction; in opposite directions the second one is not possible.

  /// Starts a waiting job with as many nodes of the range as there are; if nodes have to be waited
  /// for, the core makes a claim and starts the job when all of them have come.
  bool start(JobId id, SizeRange range, Reason reason, const Sources& sources = {});
  /// Resizes a resizable job. A growth may have sources, and a range: it goes as far as there are
  /// nodes, and power. A shrink gives its nodes to nobody, and is to one size. A job that this pass
  /// started is started larger: at once from idle nodes; if its start waits for nodes, with what
  /// there will be of the sources. Else what has to be waited for is a resize of its own.
  bool resize(JobId id, SizeRange to, Reason reason, const Sources& sources = {});
  bool resize(JobId id, Nodes to, Reason reason, const Sources& sources = {}) {
    return resize(id, exactly(to), reason, sources);
  }
  /// Grants an evolving request, as a resize of its job. `delays`: what it does to others. A growth
  /// keeps to the job's largest size; a shrink may go below its smallest: the application asked.
  /// `on` certain nodes they are the answer, however many it asked for.
  bool grant(RequestId id, Reason reason, const Sources& sources = {},
             std::span<const Delay> delays = {});
  bool deny(RequestId id, Reason reason);
  /// Several starts, growths and grants, all or nothing: running jobs are cut, idle nodes and those
  /// are dealt out, to each job its least first, in this order, then up to its most, with power
  /// where there is a budget. What has to be waited for makes all of them claims of a group: when
  /// nobody who was cut owes an answer all become decisions; if one does not get its least, ends,
  /// is held or withdrawn, all are dissolved. Nothing moves between them. A growth is of a
  /// resizable job. One gain alone is a start, a resize or a grant.
  ///
  /// A gain `on` nodes that others hold is alone in its call, and the start of a malleable job: a
  /// guest. The cuts are of cores, each of a job (`can_share`) all of whose nodes are among these,
  /// no node of two of them. The guest has what is left of those nodes, at least a core of each and
  /// the memory and things that it asks for; besides it takes whole idle ones. From now on the view
  /// has it there, and those cut as slow as they will be. It starts when all of them have answered;
  /// if one keeps its cores, the claim is dissolved. If one ends before, its nodes are the guest's.
  bool carry_out(std::span<const Cut> cuts, std::span<const Gain> gains, Reason reason,
                 bool incoming = false);
  /// A running job, about which nothing is under way, leaves all its nodes: it is over, or it waits
  /// again, to begin anew (`requeue`) or to go on (`suspend`, if the world can) with as many nodes
  /// as it may have. They come when the world has answered; until then they are `incoming`.
  bool stop(JobId id, Stop how, Reason reason);
  /// Can it be stopped like this now?
  bool stoppable(JobId id, Stop how) const {
    return knows(id) && state_.is_free(job(id)) && state_.world_can_stop(job(id), how);
  }
  /// A waiting job without a claim is over: it is never started.
  bool reject(JobId id, Reason reason);
  /// Gives a claim, with its group, up: its nodes become idle, those still to come incoming.
  bool withdraw(ClaimId id, Reason reason);
  /// Says when a waiting job is planned to start, until another pass plans; kNever: it is no
  /// longer. Explains, has no effect.
  bool reserve(JobId id, Time planned, Reason reason);
  /// A pass that reserves anybody has made the plan anew: who was reserved by an earlier one and
  /// not by this holds no reservation any more. `Policy` does that after each pass.
  void drop_old_reservations();
  /// A policy's memory about a job.
  bool tag(JobId id, JobId value);
  /// Wakes the policy at `time` at the latest.
  bool wake_by(Time time);
  /// A running job about which nothing is under way computes at a higher frequency, if there is
  /// power for it.
  bool raise_frequency(JobId id, std::uint8_t step, Reason reason);
  /// Which jobs run at a lower one, those that began first first; and by how much more of the power
  /// they draw at a step than now.
  std::vector<JobId> slowed_jobs() const;
  std::int64_t raise_mw(JobId id, std::uint8_t step) const;
  /// What is free of the power now until a running job is believed to end, without what those who
  /// wait with a reservation, and the first one, need.
  std::int64_t spare_power_mw(JobId id) const;
  /// Switches the `n` highest idle nodes off, or the `n` lowest that are off on.
  bool power_off(Nodes n, Reason reason);
  bool power_on(Nodes n, Reason reason);

  /// A running job that holds parts of nodes leaves all that it does not have alone for idle ones,
  /// of these cells, and has its number of nodes whole then; who shared them with it gets its
  /// cores. It is a resize `on` those nodes, and recorded as one. Needs identities, and a world
  /// that moves jobs.
  bool move_on(JobId id, Reason reason, const Spread* in = nullptr);
  /// Makes a recorded call.
  bool call(const PenCall& call);

 private:
  /// Waiting, and not to be left alone.
  bool startable(JobId id) const;
  bool can_start_with(JobId id, SizeRange range) const;
  bool can_grant(const Request& request) const;
  /// How many nodes more; none: more than its job may have.
  std::optional<SizeRange> growth_of(const Request& request) const;
  struct Plan;    // where the nodes of one job come from
  struct Supply;  // all that one call can take from
  struct Member;

  Draws& draws();
  Spread incoming_by_cell(bool now_only) const;
  Timeline timeline(bool with_releases) const;
  Timeline timeline_of_releases(bool with_releases) const;
  void book(Timeline& plan, bool with_releases) const;
  /// When a job is believed to end that starts, or runs and grows, at a size of these; does not
  /// matter where nothing is booked.
  Time end_at(const Job& its, SizeRange size) const {
    if (!has_bookings()) return now();
    return std::max(state_.end_at(its, size.min), state_.end_at(its, size.max));
  }
  /// Nodes that are off and do not boot.
  NodeSet switched_off() const;
  /// Where it can have nodes until then; anywhere, where there is one cell.
  Cells room(const Job& its, Time end) const {
    return cell_count() == 1 ? kEveryCell : state_.open_cells(its, end);
  }
  /// Who is to be cut, if he can be and is not `spared`, and what comes besides if that is asked
  /// for. What is cut is chosen for the first of those spared.
  std::optional<Supply> supply(std::span<const JobId> spared, const Sources& sources) const;
  /// How many nodes of it a job can use, of these cells.
  Nodes available(const Supply& from, Cells where, const Spread* in) const;
  /// So many nodes and their power come from there: what is idle and free, then the others in
  /// order.
  void draw(Supply& from, JobId id, Cells where, Nodes n, bool waits_for_cuts, Plan& plan,
            const Spread* in) const;
  std::optional<Plan> plan(JobId id, SizeRange add, const Sources& sources) const;
  std::optional<Plan> plan_growth(JobId id, SizeRange add, const Sources& sources,
                                  RequestId request) const;
  std::optional<Member> member(const Gain& gain) const;
  /// At a lower frequency.
  bool start_slowed(JobId id, Nodes n, Reason reason, const Sources& sources);
  bool start_on(JobId id, const NodeSet& nodes, SizeRange range, Reason reason);
  /// Are these idle, and so many, that this job can have until then?
  bool can_take(const Job& its, const NodeSet& nodes, Nodes size, Nodes base, Time end) const;
  bool resize_on(JobId id, const NodeSet& nodes, Reason reason, RequestId request);
  /// Is that a move of a job that holds parts of nodes, off all of these?
  bool leaves_shared(JobId id, const NodeSet& on) const;
  bool start_inside(std::span<const Cut> cuts, const Gain& gain, Reason reason);
  /// Such a cut of cores gives these parts of the victim's nodes; none: it is not possible.
  std::vector<Part> kept_by(const Cut& cut) const;
  /// What a guest can have of each of the nodes, once those are cut; none: of one of them nothing.
  std::vector<Part> left_by(std::span<const Cut> cuts, const Gain& gain) const;
  /// Each gets its plan; false: there is too little.
  bool share(Supply from, std::span<Member> group) const;
  /// So many nodes of idle ones, of several cells those that the plan names.
  Holding take(const Plan& plan, JobId id);
  /// Idle nodes that the job can use until then, of these cells.
  Nodes idle(const Job& its, Time end, const Spread* in) const {
    return cell_count() == 1 ? state_.idle_for(its)
                             : state_.idle_in(state_.open_cells(its, end), in);
  }
  NodeSet nodes_given(const Cut& cut, JobId beneficiary) const;
  void cut(const Cut& cut, JobId beneficiary, Reason reason);
  void make_claim(const Plan& plan, JobId id, RequestId request, bool start, SizeRange add,
                  Reason reason, ClaimId group = ClaimId::none, Time expected = Time::min());
  /// The plan's nodes go to the claim: those that idle now, the others when they come.
  void promise(Claim& claim, const Plan& plan);
  bool can_cut(const Cut& cut) const;
  /// Cut, started or grown by this very pass: a further step in the same direction merges into it.
  bool cut_in_pass(const Job& its) const;
  bool grown_in_pass(const Job& its) const;
  /// Malleable, started by this very pass, and it runs already: it may wait for more nodes.
  bool fresh(JobId id) const;
  /// The start that this very pass decided and that waits for nodes, or null.
  Claim* waiting_start(const Job& its) const;
  bool expand(JobId id, SizeRange add, Reason reason, const Sources& sources, RequestId request);
  bool start_larger(JobId id, Claim& claim, SizeRange add, Reason reason, const Sources& sources);
  template <class Make>
  bool wrote(Make make);

  State& state_;
  std::optional<Draws> random_;
};

}  // namespace ductile
