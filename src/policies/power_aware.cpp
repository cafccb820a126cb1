// Keeps the machine's power within a corridor: while it is outside, running elastic jobs get other
// sizes, and waiting jobs start, such that it is inside again and as few nodes as possible idle;
// while it is inside, jobs start in order of arrival up to the upper bound. Chadha, John and
// Gerndt, HiPC 2020 (paper 003), Algorithm 2 and equation 1.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/corridor_pass.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

/// What is tried first: waiting jobs, or running ones alone.
enum class First : std::uint8_t { waiting, running };
constexpr std::array<std::string_view, 2> kFirstWords{"waiting", "running"};
/// What happens below the corridor if no sizes keep it.
enum class Infeasible : std::uint8_t { start, wait };
constexpr std::array<std::string_view, 2> kInfeasibleWords{"start", "wait"};
/// Who starts inside the corridor.
enum class Inside : std::uint8_t { stop, pass };
constexpr std::array<std::string_view, 2> kInsideWords{"break", "pass"};
enum class Estimate : std::uint8_t { measured, user };
constexpr std::array<std::string_view, 2> kEstimateWords{"measured", "user"};
constexpr std::array<std::string_view, 2> kGrowWords{"no", "yes"};

class PowerAware final : public Policy {
 public:
  explicit PowerAware(const Parameters& p)
      : Policy({.wakes = kAllButAnswers}, {.corridor = true}),
        waiting_(static_cast<std::size_t>(p.number("waiting"))),
        try_depth_(static_cast<std::size_t>(p.number("try_depth"))),
        first_(chosen<First>(p, "first", kFirstWords)),
        infeasible_(chosen<Infeasible>(p, "infeasible", kInfeasibleWords)),
        inside_(chosen<Inside>(p, "inside", kInsideWords)),
        grows_(p.choice("grow") == "yes"),
        estimate_(chosen<Estimate>(p, "power_estimate", kEstimateWords)),
        method_(chosen<CorridorMethod>(p, "solver", kCorridorMethodWords)),
        benefit_(expand_benefit(p)),
        tick_(seconds(p.number("tick"))) {}

  void schedule(Pass& pass) const override {
    if (!pass.any_resizing()) keep(pass);
    tick(pass, tick_);
  }

 private:
  /// A pass tries as many sets of waiting jobs as make so many sizes of running ones together, but
  /// at least so many.
  static constexpr std::size_t kMostSizes = 5'000, kFewestSets = 2;

  void keep(Pass& pass) const {
    const bool is_above = pass.power_mw() > pass.corridor_high_mw();
    const bool is_outside = is_above || pass.power_mw() < pass.corridor_low_mw();
    if (is_outside && !pass.running_malleable().empty()) {
      const bool is_solved = come_inside(pass);
      pass.found_sizes(is_solved);
      if (is_solved) return;
      if (is_above || infeasible_ == Infeasible::wait) return;
    }
    start(pass);
    if (grows_) grow(pass);
  }

  /// Other sizes, with waiting jobs that start or without.
  bool come_inside(Pass& pass) const {
    const std::vector<JobId> running = running_by_id(pass);
    const std::optional<CorridorSolver> solver = solver_for(pass, running);
    if (!solver) return false;
    std::optional<SizeChanges> not_possible;
    const std::size_t tries = std::max(kFewestSets, kMostSizes / running.size());
    const auto come = [&](const std::vector<JobId>& starts) {
      const CorridorSolution found = solver->solve(described(pass, starts));
      if (!found.feasible || (starts.empty() && found.changed == 0)) return false;
      SizeChanges changes = changes_to(pass, running, found.sizes, starts);
      if (carry_out(pass, changes)) return true;
      if (!not_possible) not_possible = std::move(changes);
      return false;
    };
    if (first_ == First::running && come({})) return true;
    if (come_inside_with_starts(pass, tries, come)) return true;
    if (first_ == First::waiting && come({})) return true;
    if (not_possible) carry_out_in_part(pass, *not_possible, bounds_now(pass));
    return false;
  }

  /// With one of the waiting jobs, in queue order; then with two of them; so many sets.
  template <class Come>
  bool come_inside_with_starts(const Pass& pass, std::size_t tries, Come come) const {
    std::vector<JobId> jobs;
    for (JobId id = pass.first_pending(); id != JobId::none && jobs.size() < try_depth_;
         id = pass.next_pending(id)) {
      jobs.push_back(id);
    }
    if (waiting_ == 0) jobs.clear();
    for (const JobId id : jobs) {
      if (tries-- == 0) return false;
      if (come({id})) return true;
    }
    for (std::size_t i = 0; i < jobs.size() && waiting_ > 1; ++i) {
      for (std::size_t k = i + 1; k < jobs.size(); ++k) {
        if (tries-- == 0) return false;
        if (come({jobs[i], jobs[k]})) return true;
      }
    }
    return false;
  }

  /// For all that runs. Nothing if idle nodes alone draw more than the upper bound.
  std::optional<CorridorSolver> solver_for(const Pass& pass,
                                           const std::vector<JobId>& running) const {
    std::optional<CorridorProblem> problem = corridor_problem(pass, bounds_now(pass));
    if (!problem) return std::nullopt;
    const Reachable reachable(pass);
    for (std::size_t i = 0; i < running.size(); ++i) {
      const JobId id = running[i];
      problem->running.push_back(in_corridor(pass, i, id, reachable.most(id), power_of(pass, id)));
    }
    return CorridorSolver(std::move(*problem), method_);
  }

  std::vector<WaitingForCorridor> described(const Pass& pass,
                                            const std::vector<JobId>& starts) const {
    std::vector<WaitingForCorridor> jobs;
    for (const JobId id : starts) {
      const auto [least, most] = power_of(pass, id);
      jobs.push_back({index(id), pass.job(id).spec.preferred, least, most});
    }
    return jobs;
  }

  Pass::NodePower power_of(const Pass& pass, JobId id) const {
    return estimate_ == Estimate::user ? pass.said_power(id) : pass.node_power(id);
  }

  /// In order of arrival, up to the upper bound. Who fits under no line keeps nobody waiting.
  void start(Pass& pass) const {
    start_in_order(pass);
    for (JobId id = pass.first_pending(); id != JobId::none; id = pass.next_pending(id)) {
      const Nodes n = pass.job(id).spec.preferred;
      if (pass.start(id, exactly(n), {Why::backfilled})) continue;
      if (inside_ == Inside::stop && !fits_no_line(pass, id, n)) return;
    }
  }

  /// Who started first is expanded first, as far as nodes and power go.
  void grow(Pass& pass) const {
    hand_out_idle(pass, growable_jobs(pass), {.benefit = benefit_},
                  [&](JobId id) { return pass.job(id).started.time_since_epoch().count(); });
  }

  std::size_t waiting_, try_depth_;
  First first_;
  Infeasible infeasible_;
  Inside inside_;
  bool grows_;
  Estimate estimate_;
  CorridorMethod method_;
  Benefit benefit_;
  Duration tick_;
};

}  // namespace

PolicyInfo power_aware() {
  return {.name = "power_aware",
          .summary =
              "keeps a power corridor: outside of it running jobs get other sizes and "
              "waiting ones start, so that few nodes idle; inside first come, first served",
          .source = "Chadha et al. 2020",
          .parameters =
              {{.name = "waiting",
                .type = ParameterType::integer,
                .fallback = "2",
                .max = 2,
                .unit = "jobs",
                .summary = "so many waiting jobs may start together to come inside the corridor",
                .source = "Chadha et al. 2020"},
               {.name = "try_depth",
                .type = ParameterType::integer,
                .fallback = "16",
                .min = 1,
                .max = 1000,
                .unit = "jobs",
                .summary = "of so many waiting jobs, the first ones",
                .source = "Chadha et al. 2020"},
               choice_parameter("first", kFirstWords, "waiting",
                                "what is tried first: to start waiting jobs, or other sizes of "
                                "running ones alone"),
               choice_parameter("infeasible", kInfeasibleWords, "start",
                                "below the corridor, if no sizes keep it: jobs start as inside, or "
                                "all wait"),
               choice_parameter("inside", kInsideWords, "break",
                                "inside, behind a job that does not fit: nobody starts, or who "
                                "fits"),
               choice_parameter("grow", kGrowWords, "no",
                                "inside, are jobs expanded up to the upper bound?"),
               choice_parameter("power_estimate", kEstimateWords, "measured",
                                "what a job draws: as measured once it is, or always as its user "
                                "says"),
               choice_parameter("solver", kCorridorMethodWords, "automatic",
                                "how sizes are found: exactly (dp; lp where its table is too "
                                "large), by a linear program and "
                                "rounding (lp), or greedily; automatic: dp where that is small"),
               expand_benefit_parameter(),
               tick_parameter("30")},
          .make = make_policy<PowerAware>};
}

}  // namespace ductile
