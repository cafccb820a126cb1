// Policies that decide through Batsim's protocol: what they start, when and where, is what they
// start without it.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "batsim/scheduler.hpp"
#include "batsim/server.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/random_jobs.hpp"
#include "support/random_parameters.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

// The other end of the protocol, without the sockets.
class InProcess final : public OutsideChannel {
 public:
  explicit InProcess(const std::shared_ptr<const Policy>& policy) : server_(policy, "the server") {}
  std::string ask(const std::string& text) override { return server_.answer(text); }

 private:
  BatsimServer server_;
};

struct Started final : Observer {
  void on_decision(Time now, const Decision& decision, const Core&) override {
    if (decision.kind == Decision::Kind::start) {
      of[decision.job] = {now, to_string(decision.after.nodes)};
    }
  }
  std::map<JobId, std::pair<Time, std::string>> of;
};

bool only_starts(const std::string& policy) {
  try {
    const BatsimServer server(make_policy(policy), "the server");
    return true;
  } catch (const InputError&) {
    return false;  // it needs more
  }
}

std::vector<std::string> that_only_start() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : built_in_policies()) {
    if (only_starts(info.name)) names.push_back(info.name);
  }
  return names;
}

class OnlyStarts : public ::testing::TestWithParam<std::string> {};

TEST_P(OnlyStarts, AndStartsTheSameThroughTheProtocol) {
  const auto infos = built_in_policies();
  const PolicyInfo& info = *std::ranges::find(infos, GetParam(), &PolicyInfo::name);
  Registry registry;
  registry.policies.push_back(batsim_policy());
  for_seeds(2'000 / that_only_start().size() + 1, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 11);
    SimulationSettings settings;
    settings.platform.nodes = 1 + static_cast<Nodes>(draws.below(40));
    settings.rules.identities = true;
    settings.kill_overrun = draws.chance(0.5);
    Workload workload;
    workload.jobs = random_jobs(seed, 1 + draws.below(80), settings.platform.nodes,
                                draws.chance(0.5) ? 1 : 30'000'000);
    // Jobs without users: of those the protocol says nothing but the number.
    std::string text = random_parameters(info, draws);
    while (!only_starts(text)) text = random_parameters(info, draws);

    settings.policy = registry.make(text);
    Started direct;
    std::vector<Observer*> one{&direct};
    const SimulationCounts counts = simulate(workload, settings, one);

    const auto outside = registry.make("batsim");
    OutsideScheduler& scheduler = dynamic_cast<const BatsimPolicy&>(*outside).scheduler();
    const std::atomic<bool> stop = false;
    scheduler.begin(
        text, [&] { return std::make_unique<InProcess>(registry.make(text)); },
        std::make_shared<Workload>(workload), stop);
    settings.policy = outside;
    settings.stop = &scheduler.stop();
    settings.rules.check = true;
    Started through;
    std::vector<Observer*> both{&scheduler, &through};
    const SimulationCounts again = simulate(workload, settings, both);
    scheduler.rethrow();
    ASSERT_EQ(through.of, direct.of) << text << ", seed " << seed;
    ASSERT_EQ(again.jobs_over, counts.jobs_over);
    ASSERT_EQ(again.last_end, counts.last_end);
  });
}

INSTANTIATE_TEST_SUITE_P(All, OnlyStarts, ::testing::ValuesIn(that_only_start()),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace ductile::testing
