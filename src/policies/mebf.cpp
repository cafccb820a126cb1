// MEBF, malleable EASY backfilling: waiting jobs may start below their preferred size; with jobs
// waiting and nothing free, the least scalable jobs give nodes up; with nobody waiting, the most
// scalable ones take what is free; each only where the job gains from it or can bear it.
// "Performance-driven scheduling for malleable workloads", J. Supercomputing 2024 (paper 000). Its
// listings are not public: what is made up here is a parameter (docs/policies.md).
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

enum class MebfExpand : std::uint8_t { handoff, spare, intensive };
constexpr std::array<std::string_view, 3> kMebfExpandWords{"handoff", "spare", "intensive"};
enum class Gap : std::uint8_t { basic, shrink, expand };
constexpr std::array<std::string_view, 3> kGapWords{"basic", "shrink+", "expand+"};
enum class Scope : std::uint8_t { until_head_fits, one, all };
constexpr std::array<std::string_view, 3> kScopeWords{"until_head_fits", "one", "all"};
enum class Commit : std::uint8_t { each, only_if_head_fits };
constexpr std::array<std::string_view, 2> kCommitWords{"each", "only_if_head_fits"};
enum class Counts : std::uint8_t { all, shrinks };
constexpr std::array<std::string_view, 2> kCountsWords{"all", "shrinks"};
enum class FeasibleTime : std::uint8_t { total, full };
constexpr std::array<std::string_view, 2> kTimeWords{"total", "full"};
enum class Reserve : std::uint8_t { ratio, none };
constexpr std::array<std::string_view, 2> kReserveWords{"ratio", "none"};

// How badly the job scales at its size: rho of the power law T(n) ~ n^(rho-1) through its times at
// n and 2 n. 0: linear.
double rho(const Speedup& speedup, Nodes n, Nodes preferred) {
  using Kind = Speedup::Kind;
  if (speedup.kind == Kind::linear) return 0;
  if (speedup.kind == Kind::powerlaw) return speedup.parameter;
  // The same curve in another unit, through more points or from another preferred size scales
  // alike: the last bits of what is computed must not tell them apart.
  constexpr double kSteps = 0x1p30;
  const Nodes reference = speedup.kind == Kind::overhead ? preferred : n;
  const double ratio =
      speedup.relative_time(2 * n, reference) / speedup.relative_time(n, reference);
  return std::round((1 + std::log2(ratio)) * kSteps) / kSteps;
}

// A running job that may be resized.
struct Candidate {
  JobId id = JobId::none;
  double rho = 0;
  Nodes size = 0;
};

class Mebf final : public Policy {
 public:
  explicit Mebf(const Parameters& p)
      : Policy(
            {.wakes = kAllButAnswers, .answers_requests = true, .start_size = StartSize::smallest}),
        share_factor_(p.decimal("share_factor")),
        theta_(p.decimal("theta")),
        gamma_(p.decimal("gamma")),
        spare_ratio_(p.decimal("spare_ratio")),
        expand_(chosen<MebfExpand>(p, "expand", kMebfExpandWords)),
        gap_(chosen<Gap>(p, "gap", kGapWords)),
        scope_(chosen<Scope>(p, "shrink_scope", kScopeWords)),
        commit_(chosen<Commit>(p, "shrink_commit", kCommitWords)),
        counts_(chosen<Counts>(p, "reconf_counts", kCountsWords)),
        max_for_shrink_(static_cast<std::uint32_t>(p.number("max_reconf_for_shrink"))),
        max_for_expand_(static_cast<std::uint32_t>(p.number("max_reconf_for_expand"))),
        theta_for_expands_(chosen<Counts>(p, "theta_for", kCountsWords) == Counts::all),
        time_(chosen<FeasibleTime>(p, "feasible_time", kTimeWords)),
        benefit_(expand_benefit(p)),
        reserve_(chosen<Reserve>(p, "spare_reserve", kReserveWords)),
        tick_(seconds(p.number("tick"))),
        try_depth_(static_cast<std::uint32_t>(p.number("try_depth"))) {}

  // Algorithm 1. Free nodes are idle, or on their way back and promised to nobody.
  void schedule(Pass& pass) const override {
    grant_from_idle(pass);
    serve(pass);
    const auto least = [&](JobId head) { return start_sizes(pass, head).min; };
    const Heads heads = Heads::after_starts(pass, least, [&](JobId id, Shadow& before) {
      return backfill_one(pass, id, before, kFitting).has_value();
    });
    if (heads.jobs.empty()) expand(pass);
    // With one lane one: for a head without a free node others give; else there may be a gap.
    const auto is_full = [&](JobId head) { return free_nodes(pass, head) == 0; };
    std::vector<JobId> full, gap;
    for (const JobId head : heads.jobs) (is_full(head) ? full : gap).push_back(head);
    // Others may use nodes of which a head has none.
    const bool may_fit = !gap.empty() || (pass.cell_count() > 1 && pass.idle() > 0);
    if (may_fit && !backfill(pass, heads)) {
      for (const JobId head : gap) {
        if (gap_ == Gap::shrink) shrink(pass, head);
      }
      if (gap_ == Gap::expand) expand(pass);
    }
    for (const JobId head : full) shrink(pass, head);
    tick(pass, tick_);
  }

 private:
  // In queue order, at the preferred size or at what there is.
  static void serve(Pass& pass) {
    start_in_turn(pass, [&](JobId id) {
      const Nodes least = start_sizes(pass, id).min,
                  most = fitting_size(pass, id, free_nodes(pass, id));
      return most != 0 && pass.start(id, {least, most}, {Why::in_order}, {.incoming = true});
    });
  }

  // The others, where they do not delay a head. Did any start?
  bool backfill(Pass& pass, const Heads& heads) const {
    return backfill_behind(pass, heads, kFitting, try_depth_);
  }
  static constexpr auto kFitting = [](const Pass& pass, JobId id, Nodes free) {
    return fitting_size(pass, id, free);
  };

  // Algorithm 2, and the queue once more with the nodes it gives.
  void shrink(Pass& pass, JobId head) const {
    // It may have been started by what another one's cuts gave.
    const Job& its = pass.job(head);
    const bool waits = its.status == Status::pending && its.claim == ClaimId::none;
    if (!waits || pass.now() < its.not_before) return;
    const Nodes need = start_sizes(pass, head).min;
    Nodes free = free_nodes(pass, head);
    std::vector<Cut> cuts;
    if (free < need || scope_ == Scope::all) {
      std::vector<Candidate> victims =
          candidates(pass, [&](JobId id) { return may_give(pass, id); });
      std::ranges::sort(victims, [](const Candidate& a, const Candidate& b) {
        return std::tuple(b.rho, b.size, a.id) < std::tuple(a.rho, a.size, b.id);
      });
      for (const Candidate& victim : victims) {
        const Nodes to = shrunk(pass, victim.id);
        if (!feasible(pass, victim.id, to)) continue;
        const Nodes gives =
            pass.cell_count() == 1 ? victim.size - to : pass.adds({victim.id, to}, head);
        if (gives == 0) continue;
        cuts.push_back({victim.id, to});
        free += gives;
        if (scope_ == Scope::one || (scope_ == Scope::until_head_fits && free >= need)) break;
      }
    }
    if (cuts.empty() || (commit_ == Commit::only_if_head_fits && free < need)) return;
    for (const Cut& cut : cuts) pass.resize(cut.victim, cut.to, {Why::shrunk_for, head});
    serve(pass);
  }

  // Algorithms 4 to 6.
  void expand(Pass& pass) const {
    if (free_nodes(pass) == 0) return;
    std::vector<Candidate> takers = candidates(pass, [&](JobId id) { return may_take(pass, id); });
    std::ranges::sort(takers, [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.rho, a.size, a.id) < std::tuple(b.rho, b.size, b.id);
    });
    for (const Candidate& taker : takers) {
      if (free_nodes(pass) == 0) return;
      const Nodes to = expanded(pass, taker.id);
      if (to > taker.size && feasible(pass, taker.id, to)) {
        pass.resize(taker.id, to, {Why::hand_out}, {.incoming = true});
      }
    }
  }

  template <class May>
  static std::vector<Candidate> candidates(const Pass& pass, May may) {
    std::vector<Candidate> list;
    for (const JobId id : pass.running_malleable()) {
      if (!pass.resizable(id) || !may(id)) continue;
      const Job& job = pass.job(id);
      list.push_back({id, rho(pass.speedup(id), job.size(), job.spec.preferred), job.size()});
    }
    return list;
  }

  // The cheap tests come first: most jobs fail one of them.
  bool may_give(const Pass& pass, JobId id) const {
    const Job& job = pass.job(id);
    return (max_for_shrink_ == 0 || resizes(job) < max_for_shrink_) &&
           shrunk(pass, id) < job.size() && enough_left(pass, id);
  }
  bool may_take(const Pass& pass, JobId id) const {
    const Job& job = pass.job(id);
    return (max_for_expand_ == 0 || resizes(job) < max_for_expand_) &&
           expanded(pass, id) > job.size() && (!theta_for_expands_ || enough_left(pass, id));
  }
  std::uint32_t resizes(const Job& job) const {
    return job.shrinks + (counts_ == Counts::all ? job.expands : 0u);
  }

  // The size after giving its share; its own if there is none to give.
  Nodes shrunk(const Pass& pass, JobId id) const {
    const Nodes size = pass.job(id).size(), least = pass.smallest(id);
    const auto share = static_cast<Nodes>(share_factor_.floor_of(size));
    if (size <= least) return size;
    return std::min(size, pass.sizes(id).at_least(size - std::min(share, size - least)));
  }

  // The size after taking what its expand policy lets it take of the free nodes; its own if
  // nothing.
  Nodes expanded(const Pass& pass, JobId id) const {
    const Job& job = pass.job(id);
    const SizeConstraint sizes = pass.sizes(id);
    const Nodes size = job.size(), free = free_nodes(pass, id);
    if (size >= job.spec.size.max) return size;
    const Nodes most = sizes.at_most(std::min(job.spec.size.max, size + free));
    if (most <= size) return size;
    switch (expand_) {
      case MebfExpand::handoff:
        return most - size > size ? most : size;
      case MebfExpand::spare: {
        const Wide kept = reserve_ == Reserve::ratio ? spare_ratio_.ceil_of(size) : 0;
        if (most - size <= spare_ratio_.floor_of(size) || free <= kept) return size;
        return std::clamp(sizes.at_most(size + free - static_cast<Nodes>(kept)), size, most);
      }
      case MebfExpand::intensive:
        return most;
    }
    return size;
  }

  // Algorithm 3. Durations in whole microseconds; equality passes.
  bool feasible(const Pass& pass, JobId id, Nodes to) const {
    const Job& job = pass.job(id);
    const Duration cost = pass.expected_cost(id, to);
    const Duration with = time_ == FeasibleTime::total
                              ? pass.expected_end(id, to) - job.started + cost
                              : pass.estimate(id, to) + cost;
    const Duration fixed = pass.estimate(id, job.first_size);
    if (with.count() > gamma_.floor_of(fixed.count())) return false;
    return to < job.size() || may_expand(pass, id, to, benefit_, {.incoming = true});
  }
  bool enough_left(const Pass& pass, JobId id) const {
    const Duration whole = pass.estimate(id, pass.job(id).first_size);
    return (pass.expected_end(id) - pass.now()).count() >= theta_.ceil_of(whole.count());
  }

  Decimal share_factor_, theta_, gamma_, spare_ratio_;
  MebfExpand expand_;
  Gap gap_;
  Scope scope_;
  Commit commit_;
  Counts counts_;
  std::uint32_t max_for_shrink_, max_for_expand_;
  bool theta_for_expands_;
  FeasibleTime time_;
  Benefit benefit_;
  Reserve reserve_;
  Duration tick_;
  std::uint32_t try_depth_;
};

}  // namespace

PolicyInfo mebf() {
  const std::string paper = "J. Supercomputing 2024, doi 10.1007/s11227-023-05882-0";
  return {
      .name = "mebf",
      .summary =
          "malleable EASY backfilling: shrinks the least scalable jobs when nothing is free, "
          "expands the most scalable ones when nobody waits",
      .source = paper,
      .parameters =
          {choice_parameter("expand", kMebfExpandWords, "handoff",
                            "a job is expanded if it can take more than it has (handoff), more "
                            "than spare_ratio of that, leaving some idle (spare), or anything "
                            "(intensive)",
                            paper),
           choice_parameter("gap", kGapWords, "basic",
                            "when jobs wait, nodes are idle and nothing can be backfilled: "
                            "nothing, shrink, or expand",
                            paper),
           {.name = "share_factor",
            .fallback = "0.4",
            .min = 0,
            .max = 1,
            .summary = "share of its nodes that a shrunk job gives",
            .source = paper},
           {.name = "theta",
            .fallback = "0.5",
            .min = 0,
            .max = 1,
            .summary = "a job is resized only while at least this share of its whole time is left",
            .source = paper},
           {.name = "gamma",
            .fallback = "2",
            .min = 0,
            .max = 1e6,
            .summary = "a resized job takes at most so many times as long as unresized",
            .source = paper},
           {.name = "spare_ratio",
            .fallback = "0.5",
            .min = 0,
            .max = 1e6,
            .summary = "expand=spare: the share of a job's nodes",
            .source = paper},
           choice_parameter("spare_reserve", kReserveWords, "ratio",
                            "expand=spare: idle nodes left for arrivals: spare_ratio of the job's, "
                            "or none"),
           choice_parameter("shrink_scope", kScopeWords, "until_head_fits",
                            "how many jobs a pass shrinks: until the first waiting job fits, one, "
                            "or all that can bear it"),
           choice_parameter("shrink_commit", kCommitWords, "each",
                            "shrinks are made one by one, or only if the first waiting job then "
                            "fits"),
           choice_parameter("reconf_counts", kCountsWords, "all",
                            "what the two limits below count: all resizes of a job, or shrinks"),
           {.name = "max_reconf_for_shrink",
            .type = ParameterType::integer,
            .fallback = "1",
            .min = 0,
            .max = 65535,
            .unit = "resizes",
            .summary = "a job with so many resizes is not shrunk; 0: no limit",
            .source = paper},
           {.name = "max_reconf_for_expand",
            .type = ParameterType::integer,
            .fallback = "0",
            .min = 0,
            .max = 65535,
            .unit = "resizes",
            .summary = "a job with so many resizes is not expanded; 0: no limit"},
           choice_parameter("theta_for", kCountsWords, "all", "which resizes theta binds"),
           choice_parameter("feasible_time", kTimeWords, "total",
                            "what gamma limits: the time so far and to come, or the whole time at "
                            "the new size"),
           expand_benefit_parameter(),
           tick_parameter("30"),
           {.name = "try_depth",
            .type = ParameterType::integer,
            .fallback = "0",
            .min = 0,
            .max = 1e9,
            .unit = "jobs",
            .summary =
                "how many waiting jobs, of those that the idle nodes suffice for, backfilling "
                "tries; 0: all"}},
      .make = make_policy<Mebf>};
}

}  // namespace ductile
