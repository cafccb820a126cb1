// tide against a naive one, job by job, on random workloads of rigid, moldable and malleable jobs
// that are resized at once, for nothing or for what only decides.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.

#include "support/naive_tide.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/job_times.hpp"
#include "support/random_jobs.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

using naive::JobTimes;
using naive::TideOptions;

class TimesAndResizes final : public Times {
 public:
  using Times::Times;
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    Times::on_decision(now, decision, core);
    if (decision.kind == Decision::Kind::resize) ++resizes;
  }
  std::uint64_t resizes = 0;
};

enum class Kind : std::uint8_t { linear, models, costs };

Workload random_workload(Draws& draws, std::uint64_t seed, Nodes nodes, Kind kind) {
  Workload workload;
  workload.jobs =
      random_jobs(seed, 5 + draws.below(50), nodes, draws.chance(0.7) ? 1'000'000 : 10'000'000);
  const double share = draws.uniform(0.3, 1), moldable = draws.chance(0.5) ? draws.uniform() : 0;
  const double cost_s = draws.uniform(0, 2);
  for (WorkloadJob& job : workload.jobs) {
    job.walltime = std::max(job.walltime, job.runtime);
    if (!draws.chance(share)) continue;
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    AdaptiveJob& more = workload.adaptive.emplace_back();
    more.type = draws.chance(moldable) ? JobType::moldable : JobType::malleable;
    more.size = {static_cast<Nodes>(draws.chance(0.3) ? job.nodes : 1 + draws.below(job.nodes)),
                 static_cast<Nodes>(job.nodes + draws.below(nodes))};
    if (kind == Kind::models) {
      more.speedup = more.believed.speedup = random_speedup(draws, 2 * nodes);
    }
    if (kind == Kind::costs) more.believed.cost.fixed_s = draws.uniform(0, cost_s);
  }
  return workload;
}

/// As options, and as the settings of the policy.
TideOptions random_options(Draws& draws, std::string& settings) {
  using HandOut = TideOptions::HandOut;
  TideOptions options;
  char separator = ':';
  const auto say = [&](const char* name, const std::string& value) {
    settings += separator + std::string(name) + "=" + value;
    separator = ',';
    return value;
  };
  const auto one_of = [&](const char* name, std::initializer_list<const char*> values) {
    return say(name, *(values.begin() + draws.below(values.size())));
  };
  const auto number = [](const std::string& text) { return *Decimal::parse(text); };
  const auto real = [&](const std::string& text) { return static_cast<double>(number(text)); };
  options.cuts = one_of("cuts", {"on", "on", "on", "off"}) == "on";
  options.wait_for = number(one_of("wait_for", {"3", "0", "10"}));
  options.cut_worth = real(one_of("cut_worth", {"0", "0", "0.5", "2"}));
  options.start_worth = real(one_of("start_worth", {"0", "0", "0.5", "1", "3"}));
  options.scarce = number(one_of("scarce", {"0.3", "0", "1"}));
  options.extra_is_free = one_of("extra_is_free", {"on", "on", "off"}) == "on";
  options.oldest = std::stoul(one_of("oldest", {"0", "1", "2", "5"}));
  options.oldest_share = number(one_of("oldest_share", {"0", "0.1", "0.4"}));
  const std::string hand_out = one_of("hand_out", {"all", "all", "unreserved", "none"});
  options.hand_out = hand_out == "all"    ? HandOut::all
                     : hand_out == "none" ? HandOut::none
                                          : HandOut::unreserved;
  options.grow_starts = one_of("grow_starts", {"on", "on", "off"}) == "on";
  options.moldable = real(one_of("moldable", {"2", "1.5", "0", "100"}));
  options.step = number(one_of("step", {"2", "0.34", "0", "0.5"}));
  options.gain = real(one_of("gain", {"5", "2", "20"})) / 100;
  options.exponent = real(one_of("exponent", {"0.7", "0", "1"}));
  options.pays = real(one_of("pays", {"10", "1", "3"}));
  options.least_cost_s = real(one_of("least_cost", {"0", "0.5", "20"}));
  options.moves = std::stoul(one_of("moves", {"4", "0", "1", "100"}));
  options.slack = number(one_of("slack", {"6", "0.5", "0"}));
  options.grace = whole_seconds(std::stol(one_of("grace", {"14400", "60", "0"})));
  return options;
}

class NaiveTide : public ::testing::TestWithParam<Kind> {};

TEST_P(NaiveTide, StartsAndEndsEveryJobAtTheSameTime) {
  std::uint64_t resizes = 0;
  const std::uint64_t runs = for_seeds(1'000, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 12);
    const auto nodes = static_cast<Nodes>(2 + draws.below(40));
    const Workload workload = random_workload(draws, seed, nodes, GetParam());
    std::string policy = "tide";
    TideOptions options = random_options(draws, policy);
    options.scaled = draws.chance(0.5);
    SimulationSettings settings;
    settings.platform.nodes = nodes;
    settings.policy = make_policy(policy);
    settings.rules.limit = options.scaled ? Rules::Limit::scaled : Rules::Limit::fixed;
    TimesAndResizes ours(workload.jobs.size());
    Observer* const observers[] = {&ours};
    simulate(workload, settings, observers);
    const naive::TideRun naive = naive::tide(workload, nodes, options);
    for (std::size_t i = 0; i < naive.jobs.size(); ++i) {
      ASSERT_TRUE(ours.runs[i] == naive.jobs[i])
          << policy << (options.scaled ? ", scaled" : ", fixed") << ", job " << i + 1 << " of "
          << naive.jobs.size() << " runs from " << to_seconds(ours.runs[i].start) << " to "
          << to_seconds(ours.runs[i].end) << " s instead of " << to_seconds(naive.jobs[i].start)
          << " to " << to_seconds(naive.jobs[i].end);
    }
    ASSERT_EQ(ours.resizes, naive.resizes) << policy;
    resizes += naive.resizes;
  });
  if (runs > 0) {
    EXPECT_GT(resizes, 5 * runs);
  }
}

INSTANTIATE_TEST_SUITE_P(Tide, NaiveTide,
                         ::testing::Values(Kind::linear, Kind::models, Kind::costs),
                         [](const auto& its) {
                           return std::string(its.param == Kind::linear   ? "linear"
                                              : its.param == Kind::models ? "models"
                                                                          : "costs");
                         });

}  // namespace
}  // namespace ductile::testing
