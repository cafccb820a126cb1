// tide, liquid backfilling: a node belongs where it buys the most work, the queue is served
// smallest work first, and nobody is passed over for longer than the backlog explains. A policy of
// this project's own: docs/tide.md has the idea, and what each of its rules brings.
//
// With R running jobs and Q waiting ones a pass costs O(R) and O(log Q) for each start, O(R log R)
// and a plan of at most three reservations for each partition for each start by cuts, and O(J S)
// for S steps of handing out nodes to J jobs that could have more (scheduling/by_value.hpp);
// `start_worth` and `lend` also cost O(Q).
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "policies/lending.hpp"
#include "policies/registry.hpp"
#include "policies/sharing.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/by_value.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

constexpr std::array<std::string_view, 3> kHandOutWords{"all", "unreserved", "none"};
enum class HandsOut : std::uint8_t { all, unreserved, none };

class Tide final : public Policy {
 public:
  explicit Tide(const Parameters& p)
      : Policy(
            {.wakes = kAllButAnswers, .answers_requests = true, .start_size = StartSize::smallest}),
        value_{.exponent = p.number("exponent"),
               .step = p.decimal("step"),
               .gain = p.number("gain") / 100,
               .pays = p.number("pays"),
               .least_cost_s = p.number("least_cost")},
        benefit_(expand_benefit(p)),
        cuts_(is_on(p, "cuts")),
        plan_{.extra_is_free = is_on(p, "extra_is_free")},
        oldest_(static_cast<std::uint32_t>(p.number("oldest"))),
        oldest_share_(p.decimal("oldest_share")),
        wait_for_(p.decimal("wait_for")),
        cut_worth_(p.number("cut_worth")),
        start_worth_(p.number("start_worth")),
        scarce_(p.decimal("scarce")),
        hands_out_(chosen<HandsOut>(p, "hand_out", kHandOutWords)),
        grow_starts_(is_on(p, "grow_starts")),
        moldable_(p.number("moldable")),
        moves_(static_cast<std::uint32_t>(p.number("moves"))),
        lends_(is_on(p, "lend")),
        tick_(seconds(p.number("tick"))) {
    traits.needs.parts = lends_;
  }

  void schedule(Pass& pass) const override {
    Worths worths(pass, value_);
    answer(pass, worths);
    if (!serve(pass, worths)) {  // running jobs first
      hand_out(pass, worths, nullptr);
      start_in_order(pass);
    }
    Left left = reserve_and_backfill(pass);
    const bool any_left = pass.idle() > 0;
    if (lends_) lend(pass);
    hand_out(pass, worths, pass.pending() > 0 ? &left : nullptr);
    if (any_left && pass.woken_by<event::Ended>()) rebalance(pass, worths, moves_, benefit_);
    tick(pass, tick_);
  }

 private:
  static bool is_on(const Parameters& p, const std::string& name) { return p.choice(name) == "on"; }

  /// Calls `take(Sources)` with free nodes, and with cuts for what is missing: of the jobs that
  /// lose the least by it.
  template <class Take>
  bool with_cheapest_cuts(const Pass& pass, Worths& worths, Nodes need, JobId whom,
                          Take take) const {
    Victims victims = victims_for(pass, need, whom);
    if (!victims.enough || (!cuts_ && victims.missing > 0)) return false;
    rank_by_loss(pass, victims.jobs, victims.missing, worths);
    return with_cuts(pass, victims, Share::in_turn, whom, take);
  }

  /// 1. Evolving requests, as far as that is fair.
  void answer(Pass& pass, Worths& worths) const {
    answer_requests(pass, [&](const Request& request, Nodes nodes) {
      Grant result = Grant::lacking;
      with_cheapest_cuts(pass, worths, nodes, request.job, [&](const Sources& sources) {
        result = grant_fairly(pass, request, plan_, sources);
        return result == Grant::done;
      });
      return result;
    });
  }

  /// 2. In order, at the smallest size: on idle nodes, or those on their way, or those that cuts
  /// give; unless the job would start without cuts before these have paid, or the nodes are worth
  /// more to running jobs. False: somebody waits since these shall have idle nodes first, at no
  /// frequency. Where cuts alone are not worth it a job may start slower: that takes none.
  bool serve(Pass& pass, Worths& worths) const {
    const bool by_worth = start_worth_ > 0 && is_scarce(pass);
    if (!by_worth) start_in_order(pass);
    bool outbid = false;
    start_in_turn(pass, [&](JobId id) {
      const Nodes need = pass.start_need(id).nodes;
      const bool starts = with_cheapest_cuts(pass, worths, need, id, [&](const Sources& sources) {
        const Duration cost = cost_of_cuts(pass, sources.cuts);
        constexpr Wide kMost = Duration::max().count() / 4;
        const Wide within_us = std::min(wait_for_.floor_of(cost.count()), kMost);
        const Duration within{static_cast<std::int64_t>(within_us)};
        if (starts_soon_anyway(pass, id, need, within)) return false;
        const auto its = [&] { return Worth(pass, id, value_).of_start(need); };
        const SizeRange& sizes = pass.job(id).spec.size;
        const bool has_to_win = by_worth && sizes.min < sizes.max && !is_overdue(pass, id);
        if (sources.cuts.empty()) {
          if (has_to_win && is_outbid(pass, worths, id, need, its() / start_worth_)) {
            outbid = true;
            return false;
          }
          return pass.start(id, exactly(need), {Why::in_order, id}, sources);
        }
        const double least = has_to_win ? std::max(cut_worth_, start_worth_) : cut_worth_;
        if (least > 0 && its() < least * loss_by_cuts(pass, sources.cuts, worths)) return false;
        return pass.start(id, exactly(need), {Why::shrunk_for, id}, sources);
      });
      return outbid ? Turn::refused : Turn{starts};
    });
    return !outbid;
  }

  /// Do those who wait need more than a part of what is idle or can be cut?
  bool is_scarce(const Pass& pass) const {
    std::int64_t room = pass.idle();
    for (const JobId id : pass.running_malleable()) room += pass.extra(id);
    const Wide enough = scarce_.floor_of(room);
    Wide need = 0;
    for (JobId id = pass.first_pending(); id != JobId::none && need <= enough;
         id = pass.next_pending(id)) {
      need += pass.start_need(id).nodes;
    }
    return need > enough;
  }

  /// Has it waited for longer than the backlog of now explains, in any order?
  bool is_overdue(const Pass& pass, JobId id) const {
    const Duration waited = pass.now() - pass.job(id).spec.submitted - traits.overdue.grace;
    return waited > Duration{} &&
           waited.count() > Decimal(traits.overdue.slack).floor_of(pass.backlog().count());
  }

  /// Would running jobs take so many idle nodes, each for more than `value`, that it lacks some?
  static bool is_outbid(const Pass& pass, Worths& worths, JobId id, Nodes need, double value) {
    return wanted_above(pass, worths, value, pass.idle(id)) + need > free_nodes(pass, id);
  }

  /// 3. and 4. The first waiting job of each partition is reserved, and the oldest ones; the others
  /// may start now on idle nodes where that disturbs none of these. What is left then.
  Left reserve_and_backfill(Pass& pass) const {
    if (pass.pending() == 0 || pass.idle() == 0) return {};
    const Heads heads(pass);
    Timeline plan = timeline_for(pass, plan_);
    for (const JobId id : heads.jobs) reserve(pass, plan, id);
    for (const JobId id : oldest(pass, heads.jobs)) {
      if (!start_now(pass, plan, id)) reserve(pass, plan, id);
    }
    FreeCells free;
    plan.from_now(free);
    limit_to_idle(pass, free);
    start_behind(pass, heads.behind, free);
    return Left(std::move(free));
  }

  static void reserve(Pass& pass, Timeline& plan, JobId id) {
    pass.reserve(id, reserve_earliest(pass, plan, id), {Why::resources});
  }

  /// Starts it on idle nodes, if that disturbs none that was reserved before it: else its own
  /// reservation, from now on, would keep it waiting.
  static bool start_now(Pass& pass, Timeline& plan, JobId id) {
    const Queue::Need need = pass.start_need(id);
    if (need.nodes > pass.idle(id)) return false;
    const Demand demand = pass.demand(id, need.nodes);
    const auto in = place_now(pass, plan, demand, need.walltime,
                              [&](std::uint32_t cell) { return pass.idle_of(cell); });
    const Sources from{.in = in && pass.cell_count() > 1 ? &*in : nullptr};
    if (!in || !pass.start(id, exactly(need.nodes), {Why::backfilled}, from)) return false;
    plan.took(demand, *in);
    return true;
  }

  /// Those that have waited longer than a part of what there is to do explains.
  std::vector<JobId> oldest(const Pass& pass, const std::vector<JobId>& heads) const {
    std::vector<JobId> found;
    if (oldest_ == 0) return found;
    const Wide bound = oldest_share_.floor_of(pass.backlog().count());
    for (JobId id = pass.oldest_pending(); id != JobId::none && found.size() < oldest_;
         id = pass.next_oldest(id)) {
      if ((pass.now() - pass.job(id).spec.submitted).count() <= bound) break;
      if (std::ranges::find(heads, id) == heads.end()) found.push_back(id);
    }
    return found;
  }

  /// Who waits still starts inside of running jobs where that gains more than it costs, and keeps
  /// the reservations of the first one of each partition.
  void lend(Pass& pass) const {
    for (bool any = true; any && pass.pending() > 0;) {
      MateFinder finder(pass, lending_.sharing);
      if (finder.empty()) return;
      const Heads heads(pass);
      Timeline plan = timeline_for(pass, plan_);
      const auto starts = [&](JobId id) {
        return lending_.start_inside(pass, finder, plan, id, kNever);
      };
      any = std::ranges::any_of(heads.jobs, [&](JobId id) {
        if (starts(id)) return true;
        reserve_earliest(pass, plan, id);
        return false;
      });
      for (JobId id = pass.first_pending(); id != JobId::none && !any; id = pass.next_pending(id)) {
        any = std::ranges::find(heads.jobs, id) == heads.jobs.end() && starts(id);
      }
    }
  }

  /// 5. What is idle still goes where it is worth the most.
  void hand_out(Pass& pass, Worths& worths, Left* left) const {
    if (hands_out_ == HandsOut::none) return;
    hand_out_by_value(pass, worths,
                      {.benefit = benefit_,
                       .to_starts = grow_starts_,
                       .left = left,
                       .reserved = hands_out_ == HandsOut::unreserved,
                       .moldable = moldable_});
  }

  NodeValue value_;
  Benefit benefit_;
  bool cuts_;
  Backfill plan_;
  std::uint32_t oldest_;
  Decimal oldest_share_;
  Decimal wait_for_;
  double cut_worth_;
  double start_worth_;
  Decimal scarce_;
  HandsOut hands_out_;
  bool grow_starts_;
  double moldable_;
  std::uint32_t moves_;
  bool lends_;
  Lending lending_;
  Duration tick_;
};

}  // namespace

PolicyInfo tide() {
  const auto number = [](const char* name, const char* fallback, double max, const char* unit,
                         const char* summary) {
    return ParameterInfo{
        .name = name, .fallback = fallback, .min = 0, .max = max, .unit = unit, .summary = summary};
  };
  const auto count = [](const char* name, const char* fallback, const char* unit,
                        const char* summary) {
    return ParameterInfo{.name = name,
                         .type = ParameterType::integer,
                         .fallback = fallback,
                         .min = 0,
                         .max = 1e6,
                         .unit = unit,
                         .summary = summary};
  };
  return {
      .name = "tide",
      .summary =
          "nodes go where they buy the most work; smallest work first, until a job is "
          "overdue",
      .source = "",
      .parameters =
          {choice_parameter("cuts", kSwitchWords, "on",
                            "running jobs are cut for waiting ones and evolving requests"),
           number("wait_for", "3", 1e6, "costs",
                  "nobody is cut for a job that starts without it within so many times the "
                  "cost of the cuts"),
           number("cut_worth", "0", 1e6, "losses",
                  "nobody is cut for a job to which the nodes are worth less than so many "
                  "times what they are to those who would give them"),
           number("start_worth", "0", 1e6, "losses",
                  "where nodes are scarce no job that could grow starts, unless it is overdue, if "
                  "they are worth less to it than so many times what they are to running jobs; 0: "
                  "all do"),
           number("scarce", "0.3", 1e6, "nodes",
                  "with start_worth: nodes are scarce if those who wait need more than that part "
                  "of what is idle or can be cut"),
           choice_parameter("extra_is_free", kSwitchWords, "on",
                            "in plans, what running jobs hold beyond their smallest size is "
                            "free"),
           count("oldest", "0", "jobs", "so many of those that have waited longest are reserved"),
           number("oldest_share", "0.4", 1e6, "backlogs", "if they have waited longer than that"),
           choice_parameter("hand_out", kHandOutWords, "all",
                            "which idle nodes malleable jobs get: all, what reservations "
                            "leave, or none"),
           choice_parameter("grow_starts", kSwitchWords, "on",
                            "jobs may grow in the pass that starts them"),
           number("moldable", "2", 1e6, "sizes",
                  "a moldable job starts at no more than so many times its preferred size"),
           number("step", "2", 1e6, "sizes", "a job grows by at least that part of its size"),
           number("gain", "5", 1e6, "%", "if each step makes it so much faster"),
           number("exponent", "0.7", 10, "",
                  "a node is worth less to a job that has longer to run, by what is left to "
                  "this power"),
           number("pays", "10", 1e6, "costs",
                  "a resize of a running job has to win more than so many times its cost"),
           ParameterInfo{.name = "least_cost",
                         .type = ParameterType::duration,
                         .fallback = "20",
                         .min = 0,
                         .max = 1e9,
                         .unit = "s",
                         .summary = "what a resize is taken to cost at least"},
           count("moves", "4", "moves", "so many times a pass moves nodes between running jobs"),
           choice_parameter("lend", kSwitchWords, "off",
                            "who waits still starts inside of running jobs, as under lend"),
           expand_benefit_parameter(),
           tick_parameter("0")},
      .make = make_policy<Tide>,
      .defaults = {{"order", "area"}}};
}

}  // namespace ductile
