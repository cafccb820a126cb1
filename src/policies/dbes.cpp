// Dependency-based expand/shrink: rigid, moldable, malleable and evolving jobs together.
// Prabhakaran, Neumann, Rinke, Wolf, Gupta and Kale, IPDPS 2015 (paper 001), Algorithm 2.
//
// The first jobs of the queue that cannot start ("StartLater") hold reservations. Running malleable
// jobs are expanded first where such a job waits for nothing but their end, and so starts earlier;
// only nodes that nobody can use otherwise are spread over the others. Each expanded job remembers
// for whom (`Pass::tag`), and gives its nodes back first for that job, or for evolving requests.
//
// With R running jobs and k reservations a pass costs O(k R), and each plan in it O(R log R +
// k log R). One plan is for the waiting jobs, one is made anew when step 3 has started any. Further
// ones: for step 3, around those before the job that it tries; two for each evolving request, under
// rules of fairness; and one if idle nodes are handed to moldable jobs that start while others wait
// (`HandOut::plan`). If nothing but submissions happened and no node is idle, there is none.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/expanding.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

enum class Asked : std::uint8_t { after, before };
constexpr std::array<std::string_view, 2> kAskedWords{"after", "before"};
enum class Loop : std::uint8_t { once, repeat };
constexpr std::array<std::string_view, 2> kLoopWords{"once", "repeat"};

/// A waiting job that holds a reservation, and the running jobs whose end it waits for if all of
/// them are malleable: the faster these are, the earlier it starts.
struct StartLater {
  Reservation reserved;
  std::vector<JobId> dependency;  // by id

  bool depends_on(JobId id) const { return std::ranges::binary_search(dependency, id); }
};

/// The plan of a moment, and what it leaves to jobs without a reservation.
struct Plan {
  std::vector<StartLater> later;  // in the queue's order
  Behind behind;                  // the others
  Nodes extra = 0;                // what all that can be cut could give
  bool moves_with_time = false;   // a reservation that begins now, a job that waits to be resized

  const StartLater* of(JobId id) const {
    const auto at =
        std::ranges::find_if(later, [&](const StartLater& its) { return its.reserved.job == id; });
    return at == later.end() ? nullptr : &*at;
  }
};

class Dbes final : public Policy {
 public:
  explicit Dbes(const Parameters& parameters)
      : Policy(
            {.wakes = kAllButAnswers, .answers_requests = true, .start_size = StartSize::smallest}),
        backfill_(planned_with(parameters)),
        shrink_first_(chosen<Asked>(parameters, "fairness", kAskedWords) == Asked::after),
        repeat_(chosen<Loop>(parameters, "loop", kLoopWords) == Loop::repeat),
        benefit_(expand_benefit(parameters)),
        tick_(seconds(parameters.number("tick"))) {}

  void schedule(Pass& pass) const override {
    if (pass.idle() > 0 || !backfill_submitted(pass, backfill_)) iterate(pass);
    tick(pass, tick_);
  }

 private:
  void iterate(Pass& pass) const {
    pass.forget_memo();
    answer_requests(pass);
    if (pass.pending() == 0) return hand_out(pass, {});
    Plan plan = start_or_plan(pass);
    bool resized = false;
    while (start_by_shrinking(pass, plan)) {
      resized = true;
      plan = start_or_plan(pass);
      if (!repeat_) break;
    }
    resized |= expand_dependencies(pass, plan);
    if (plan.behind.anybody()) {
      FreeCells& free = pass.memo().free;
      limit_to_idle(pass, free);
      const std::size_t waiting = pass.pending();
      start_behind(pass, plan.behind, free);
      // Who was resized, or started after the dependencies were found, may be in one now.
      const bool stays = !plan.moves_with_time && !resized && pass.pending() == waiting;
      if (stays && pass.in_one_lane()) pass.keep_memo();
    }
    hand_out(pass, plan);
    // When a reservation begins. Not that of a job whose nodes are late: they come when they come.
    for (const StartLater& its : plan.later) {
      const Time at = its.reserved.at;
      if (at != kNever && at > pass.now() + whole_seconds(1)) pass.wake_by(at);
    }
  }

  // --- The plan

  /// Starts what the plan has now, and finds what the others depend on.
  Plan start_or_plan(Pass& pass) const {
    Timeline timeline = timeline_for(pass, backfill_);
    std::vector<Reservation> reservations;
    Plan plan;
    plan.behind = start_or_reserve(pass, timeline, backfill_, &reservations);
    plan.moves_with_time = timeline.begins_now();
    timeline.from_now(pass.memo().free);
    plan.later.reserve(reservations.size());
    for (const Reservation& reserved : reservations) plan.later.push_back({reserved, {}});
    find_dependencies(pass, plan);
    return plan;
  }

  /// The earliest start of a StartLater job is the deadline of the running jobs after whose end all
  /// it needs is free, those included whose start waits for nodes; or the end of a reservation.
  static void find_dependencies(Pass& pass, Plan& plan) {
    std::vector<bool> rigid(plan.later.size());
    const auto look = [&](JobId id) {
      const Time deadline = pass.expected_end(id);
      for (std::size_t i = 0; i < plan.later.size(); ++i) {
        const Reservation& its = plan.later[i].reserved;
        if (its.at != deadline || !gives_to(pass, id, its.job)) continue;
        plan.later[i].dependency.push_back(id);
        if (!sizes_while_running(pass.job(id).spec.type)) rigid[i] = true;
      }
    };
    std::ranges::for_each(pass.running(), look);
    for (const Claim& claim : pass.claims()) {
      if (claim.start) look(claim.job);
    }
    for (std::size_t i = 0; i < plan.later.size(); ++i) {
      if (rigid[i]) plan.later[i].dependency.clear();
      std::ranges::sort(plan.later[i].dependency);
    }
    for (const JobId id : pass.running_malleable()) {
      const Job& job = pass.job(id);
      if (job.not_before > pass.now()) plan.moves_with_time = true;
      const Nodes extra = pass.extra(id);
      if (extra > 0 && pass.cuttable(id)) plan.extra += extra;
      if (job.tag == JobId::none) continue;
      const StartLater* its = plan.of(job.tag);
      if (!its || !its->depends_on(id) || extra == 0) pass.tag(id, JobId::none);
    }
  }

  /// Are there nodes among its own, or those it waits for, that `whom` can use?
  static bool gives_to(const Pass& pass, JobId id, JobId whom) {
    if (pass.cell_count() == 1) return true;
    const Job& job = pass.job(id);
    const Cells its = job.status == Status::running ? pass.holds(id) : pass.cells_of(id);
    return (its & pass.cells_of(whom)) != 0;
  }

  /// The waiting job for which this one was expanded, if it still waits.
  static JobId expanded_for(const Pass& pass, JobId id) {
    const JobId whom = pass.job(id).tag;
    const bool waits = whom != JobId::none && pass.knows(whom) &&
                       pass.job(whom).status == Status::pending &&
                       pass.job(whom).claim == ClaimId::none;
    return waits ? whom : JobId::none;
  }

  /// Running jobs that can be cut for `taker`: the smallest group first; in it those that were
  /// expanded for the job of the lowest priority, then the largest extra, the latest start, the
  /// smallest id. `group(id, whom)` says the group; negative: spared.
  template <class Group>
  static Victims victims(const Pass& pass, Nodes need, JobId taker, Group group) {
    return victims(pass, need, free_nodes(pass, taker), group,
                   [&](JobId id) { return extra_for(pass, id, taker); });
  }
  /// The same for several takers, where `free` nodes are theirs, and what `extra_of` says.
  template <class Group, class ExtraOf>
  static Victims victims(const Pass& pass, Nodes need, Nodes free, Group group, ExtraOf extra_of) {
    struct Victim {
      int group;
      JobId whom;
      Nodes extra;
      Time started;
      JobId id;
    };
    Victims found;
    found.missing = need - std::min(need, free);
    found.enough = found.missing == 0;
    if (found.enough) return found;
    std::vector<Victim> all;
    Nodes together = 0;
    for (const JobId id : pass.running_malleable()) {
      const Nodes extra = extra_of(id);
      if (extra == 0 || !pass.cuttable(id)) continue;
      const JobId whom = expanded_for(pass, id);
      const int its = group(id, whom);
      if (its < 0) continue;
      all.push_back({its, whom, extra, pass.job(id).started, id});
      together += extra;
    }
    found.enough = together >= found.missing;
    std::ranges::sort(all, [&](const Victim& a, const Victim& b) {
      if (a.group != b.group) return a.group < b.group;
      if (a.whom != b.whom) return pass.before(b.whom, a.whom);
      if (a.extra != b.extra) return a.extra > b.extra;
      if (a.started != b.started) return a.started > b.started;
      return a.id < b.id;
    });
    found.jobs.reserve(all.size());
    for (const Victim& victim : all) found.jobs.push_back(victim.id);
    return found;
  }

  // --- The steps, by their numbers in docs/policies.md

  /// 1. Evolving requests: idle nodes, else those of jobs that were expanded for nobody, else those
  /// of the others.
  void answer_requests(Pass& pass) const {
    ductile::answer_requests(pass, [&](const Request& request, Nodes nodes) {
      const Victims from = victims(pass, nodes, request.job, [&](JobId id, JobId whom) {
        return id == request.job ? -1 : whom == JobId::none ? 0 : 1;
      });
      Grant result = Grant::lacking;
      with_cuts(pass, from, Share::in_turn, request.job, [&](const Sources& sources) {
        if (shrink_first_ && pass.fairness().policy != Fairness::Policy::none) {
          for (const Cut& cut : sources.cuts) {
            pass.resize(cut.victim, cut.to, {Why::shrunk_for, request.job});
          }
        }
        result = grant_fairly(pass, request, backfill_, sources);
        return result == Grant::done;
      });
      return result;
    });
  }

  /// 3. A StartLater job starts now on the nodes of expanded jobs, if that delays nobody before it:
  /// first of jobs that were expanded for it, then for nobody, then for jobs behind it.
  bool start_by_shrinking(Pass& pass, const Plan& plan) const {
    bool started = false;
    std::optional<Timeline> around;  // with the reservations of those before it
    std::size_t held = 0;
    Nodes most = free_nodes(pass) + plan.extra;
    for (const StartLater& its : plan.later) {
      const JobId job = its.reserved.job;
      const Queue::Need need = pass.start_need(job);
      if (need.nodes > most) continue;
      const Victims from = victims(pass, need.nodes, job, [&](JobId, JobId whom) {
        return whom == job ? 0 : whom == JobId::none ? 1 : pass.before(job, whom) ? 2 : -1;
      });
      if (!from.enough) continue;
      if (!around) {
        around.emplace(timeline_for(pass, backfill_));
        held = 0;
      }
      for (; plan.later[held].reserved.job != job; ++held) hold(pass, *around, plan.later[held]);
      const bool starts = with_cuts(pass, from, Share::in_turn, job, [&](const Sources& sources) {
        Time at = pass.now();
        for (const Cut& cut : sources.cuts) {
          at = std::max(at, pass.expected_release(cut.victim));
          if (backfill_.extra_is_free) continue;
          const Time end = pass.expected_end(cut.victim);
          if (pass.cell_count() == 1) {
            around->add(pass.now(), end, pass.job(cut.victim).size() - cut.to);
          } else {
            around->add(pass.now(), end, pass.gives_by_cell(cut, job), 1);
          }
        }
        const Why why = &its == &plan.later.front() ? Why::in_order : Why::backfilled;
        Spread in;
        const Demand demand = pass.demand(job, need.nodes);
        if (around->earliest(demand, need.walltime, at, in) != at) return false;
        if (pass.cell_count() > 1 && at == pass.now()) {
          // The plan may have nodes that others could give.
          Spread comes = pass.incoming_by_cell();
          for (const Cut& cut : sources.cuts) comes.add(pass.gives_by_cell(cut, job));
          const auto there = [&](std::uint32_t cell) {
            return pass.idle_of(cell) + comes.of(cell);
          };
          auto now = place_now(pass, *around, demand, need.walltime, there);
          if (!now) return false;
          in = *std::move(now);
        }
        Sources there = sources;
        if (!in.empty()) there.in = &in;
        return pass.start(job, exactly(need.nodes), {why}, there);
      });
      started |= starts;
      if (starts) most -= need.nodes;
      if (starts || !backfill_.extra_is_free) around.reset();
    }
    return started;
  }

  /// Reserves for a job, if it still waits.
  static bool hold(const Pass& pass, Timeline& plan, const StartLater& its) {
    const JobId id = its.reserved.job;
    if (pass.job(id).status != Status::pending || pass.job(id).claim != ClaimId::none) return false;
    reserve_earliest(pass, plan, id);
    return true;
  }

  /// Jobs that went below their smallest size by themselves hold in the plan what they have: nodes
  /// they were given would be missing there.
  static bool may_grow(const Pass& pass, JobId id) {
    return pass.growable(id) && pass.job(id).size() >= pass.smallest(id);
  }

  /// 5. Whoever a StartLater job waits for is expanded, also with nodes of jobs that were expanded
  /// for nobody or for jobs behind it. Was anybody? What one is denied is offered to the others.
  bool expand_dependencies(Pass& pass, const Plan& plan) const {
    bool any = false;
    for (std::size_t i = 0; i < plan.later.size(); ++i) {
      std::vector<JobId> able = plan.later[i].dependency;
      while (spread(pass, plan, i, able, any)) {
      }
    }
    return any;
  }

  /// Evens out over `able` what the i-th StartLater job may take. Who is denied is taken out of
  /// them; was anybody?
  bool spread(Pass& pass, const Plan& plan, std::size_t i, std::vector<JobId>& able,
              bool& any) const {
    const JobId job = plan.later[i].reserved.job;
    std::erase_if(able, [&](JobId id) {
      return pass.job(id).size() >= pass.job(id).spec.size.max || !may_grow(pass, id);
    });
    std::vector<Vessel> vessels;
    Nodes room = 0;
    Cells cells = 0;
    const JobId taker = able.size() == 1 ? able.front() : JobId::none;
    for (const JobId id : able) {
      const Job& its = pass.job(id);
      vessels.push_back({pass.extra(id), its.spec.size.max - its.size(), pass.cells_of(id)});
      room += vessels.back().room;
      cells |= vessels.back().cells;
    }
    if (room == 0) return false;
    const auto group = [&](JobId id, JobId whom) {
      for (std::size_t h = 0; h <= i; ++h) {
        if (plan.later[h].depends_on(id)) return -1;
      }
      return whom == JobId::none ? 0 : pass.before(job, whom) ? 1 : -1;
    };
    const bool by_cell = pass.cell_count() > 1 && taker == JobId::none;
    const auto usable = [&](const Spread& spread) {
      Nodes sum = 0;
      for (const auto& [cell, count] : spread.parts) sum += (cells >> cell & 1) != 0 ? count : 0;
      return sum;
    };
    Victims from;
    Nodes amount = 0;
    Spread there;
    if (!by_cell) {
      from = victims(pass, room, taker, group);
      amount = taker == JobId::none ? pass.idle() : pass.idle(taker);
      for (const JobId id : from.jobs) amount += extra_for(pass, id, taker);
    } else {
      const auto extra_of = [&](JobId id) { return usable(pass.extra_by_cell(id)); };
      const Spread comes = pass.incoming_by_cell();
      for_each_cell(cells, [&](std::uint32_t cell) { there.add(cell, pass.idle_of(cell)); });
      from = victims(pass, room, there.count() + usable(comes), group, extra_of);
      for (const JobId id : from.jobs) there.add(pass.extra_by_cell(id));
    }
    // One alone gets the amount, of wherever it is.
    Shares gets;
    if (by_cell) {
      gets = shares(pass, vessels, 0, [&](std::uint32_t cell) { return there.of(cell); });
    } else {
      gets.gets = water_fill(vessels, std::min(amount, room));
    }
    std::vector<JobId> others;
    for (std::size_t k = 0; k < able.size(); ++k) {
      const Offer its = expand(pass, able[k], gets.gets[k], gets.in(k), job, from.jobs);
      if (its != Offer::denied) others.push_back(able[k]);
      any |= its == Offer::taken;
    }
    const bool again = others.size() < able.size();
    able = std::move(others);
    return again;
  }

  /// `in`: of which cells idle nodes may be.
  Offer expand(Pass& pass, JobId id, Nodes nodes, const Spread* in, JobId whom,
               std::span<const JobId> victims) const {
    const Job& its = pass.job(id);
    const Nodes before = its.size();
    const Nodes to = pass.sizes(id).after_getting(before, nodes, its.spec.size);
    const Nodes more = to - before;
    if (more == 0) return Offer::too_small;
    std::vector<Cut> cuts;
    const Nodes idle = pass.idle(id, in);
    if (more > idle) cuts = cuts_for(pass, victims, more - idle, Share::in_turn, id);
    const Sources from{.cuts = cuts, .in = in};
    if (!may_expand(pass, id, to, benefit_, from) ||
        !pass.resize(id, to, {Why::dependency_expand, whom}, from)) {
      return Offer::denied;
    }
    const JobId other = expanded_for(pass, id);
    if (other == JobId::none || pass.before(whom, other)) pass.tag(id, whom);
    if (!backfill_.extra_is_free) {
      FreeCells& free = pass.memo().free;
      const Duration length = pass.expected_end(id) - pass.now();
      const Demand demand = pass.demand(id, more);
      free.take(demand, free.place(demand, length), length);
    }
    return Offer::taken;
  }

  /// 7. What is idle still is spread over malleable jobs that nobody waits for, and moldable ones
  /// that start now.
  void hand_out(Pass& pass, const Plan& plan) const {
    if (pass.idle() == 0) return;
    std::vector<JobId> jobs = growable_jobs(pass);
    const std::vector<JobId> moldable = moldable_starts(pass);
    jobs.insert(jobs.end(), moldable.begin(), moldable.end());
    std::erase_if(jobs, [&](JobId id) {
      return !may_grow(pass, id) || std::ranges::any_of(plan.later, [&](const StartLater& its) {
        return its.depends_on(id);
      });
    });
    std::ranges::sort(jobs);
    hand_out_idle(pass, jobs, {.share = Share::level, .benefit = benefit_, .plan = backfill_});
  }

  Backfill backfill_;
  bool shrink_first_;
  bool repeat_;
  Benefit benefit_;
  Duration tick_;
};

}  // namespace

PolicyInfo dbes() {
  return {
      .name = "dbes",
      .summary =
          "expands running jobs whose end waiting ones depend on, then backfills, then evens "
          "out what running jobs hold beyond their smallest size",
      .source = "Prabhakaran et al. 2015",
      .parameters = {depth_parameter(), profile_parameter(),
                     choice_parameter("fairness", kAskedWords, "after",
                                      "the rules of fairness are asked after others were shrunk "
                                      "for an evolving request, or before"),
                     choice_parameter("loop", kLoopWords, "once",
                                      "shrinking for waiting jobs and planning anew: once, or "
                                      "until no job starts by it"),
                     expand_benefit_parameter(), tick_parameter("0")},
      .make = make_policy<Dbes>};
}

}  // namespace ductile
