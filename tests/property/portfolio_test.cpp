// A portfolio in random runs in which everything goes wrong: one of one member decides as that
// member does, and what one of several decided is decided again without looking ahead.
//
// DUCTILE_CASES: how many random runs.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/recording.hpp"
#include "simulation/replay.hpp"
#include "simulation/simulation.hpp"
#include "support/random_parameters.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"

namespace ductile::testing {
namespace {

/// The log of a run, and what was chosen in it.
struct Course final : Observer {
  Course(Trouble t, const std::string& policy) {
    const std::string path =
        ::testing::TempDir() + "/portfolio-" + std::to_string(getpid()) + ".log";
    t.settings.policy = make_policy(policy);
    t.settings.rules.record = true;
    Recorder recorder(path);
    Observer* const observers[] = {this, &recorder};
    simulate(t.workload, t.settings, observers);
    std::ifstream file(path, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    log = all.str();
    std::filesystem::remove(path);
  }
  void on_policy(Time, const event::ConfigChanged& changed, const Core& core) override {
    ASSERT_EQ(core.traits(), changed.traits);
    ASSERT_TRUE(changed.choice);
    const Choice& its = *changed.choice;
    ASSERT_EQ(its.members[its.chosen].settings, changed.traits.settings);
    changes += its.chosen == its.ruled ? 0 : 1;
    ++choices;
  }

  std::string log;
  std::uint64_t choices = 0, changes = 0;
};

/// Without the line that names the policy, and the last one, which sums it up.
std::string without_names(std::string_view log) {
  std::string text;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n') + 1);
    log.remove_prefix(line.size());
    if (!line.starts_with("policy ") && !line.starts_with("end ")) text += line;
  }
  return text;
}

TEST(Portfolio, OfOneDecidesAsItsMember) {
  std::vector<std::string> names;
  for (const PolicyInfo& info : policies()) {
    if (info.name != "portfolio") names.push_back(info.name);
  }
  for_seeds(300, [&](std::uint64_t seed) {
    const std::string name = names[seed % names.size()];
    SCOPED_TRACE(name);
    const Trouble t = random_trouble(seed);
    const Course alone(t, name + ":order=sjf");
    const Course portfolio(t, "portfolio:of=" + name + "+sjf,every=5,check=0");
    ASSERT_EQ(without_names(portfolio.log), without_names(alone.log));
    ASSERT_EQ(portfolio.choices, 0u);
  });
}

/// Whoever ruled, and however often that changed.
TEST(Portfolio, WhatItDecidedIsDecidedAgain) {
  std::uint64_t choices = 0, changes = 0;
  const PolicyInfo& info = *std::ranges::find(policies(), "portfolio", &PolicyInfo::name);
  const std::uint64_t runs = for_seeds(600, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 77);
    const std::string policy = random_parameters(info, draws);
    SCOPED_TRACE(policy);
    const Course run(random_trouble(seed), policy);
    choices += run.choices;
    changes += run.changes;
    std::istringstream log(run.log);
    const Replayed again = replay(log, "run.log", Registry().maker());
    ASSERT_EQ(again.policy, policy);
    // The same run once more is the same to the last byte.
    if (seed % 10 == 0) {
      const Course second(random_trouble(seed), policy);
      ASSERT_EQ(second.log, run.log);
    }
  });
  if (runs > 0) {
    EXPECT_GT(choices, runs);
    EXPECT_GT(changes, 0u);
  }
}

}  // namespace
}  // namespace ductile::testing
