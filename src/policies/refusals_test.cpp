// A job that refuses again and again, beside one that is willing: whatever the policy, the willing
// one is not shrunk, and grown back, each time that the other could be asked again.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "scheduling/core.hpp"

namespace ductile {
namespace {

constexpr Duration kRetry = whole_seconds(10);
constexpr int kRounds = 1000;

/// Two malleable jobs have all 8 nodes, one that waits needs some of both. The first refuses each
/// resize. How often is the second one resized?
int resizes_of_the_willing(const std::string& settings, std::uint32_t counted_refusals) {
  const auto policy = make_policy(settings);
  Core core({.nodes = 8}, {.instant_start = false}, {.counted_refusals = counted_refusals},
            policy->traits);
  const auto submit = [&](const JobSpec& spec) {
    core.apply(core.state().now, event::Submitted{spec, AdaptiveSpec{}});
  };
  const JobSpec both{.type = JobType::malleable,
                     .walltime = whole_seconds(10'000'000),
                     .size = {1, 4},
                     .preferred = 4};
  submit(both);
  submit(both);
  const JobId refuses{0}, willing{1};
  int resizes = 0;
  Time now = core.state().now;
  const auto answer = [&] {
    for (int i = 0; i < 100; ++i) {
      const auto span = core.close(now, *policy);
      const std::vector<Decision> decisions(span.begin(), span.end());
      if (decisions.empty()) return;
      for (const Decision& each : decisions) {
        if (each.kind == Decision::Kind::start) {
          core.apply(now, event::Started{each.job, each.id, {}, std::nullopt});
        } else if (each.kind == Decision::Kind::resize && each.job == refuses) {
          const Nodes before = core.state().find(each.id)->before.count;
          core.apply(now, event::Resized{each.job, each.id, {before, {}}, now + kRetry});
        } else if (each.kind == Decision::Kind::resize) {
          resizes += each.job == willing;
          core.apply(now, event::Resized{each.job, each.id, each.after, now});
        }
      }
    }
  };
  answer();
  now += whole_seconds(1);
  submit({.walltime = whole_seconds(1000), .size = exactly(6), .preferred = 6});
  answer();
  for (const Time end = now + kRounds * kRetry; now < end;) {
    now = core.next_wake() == kNever ? end : std::max(core.next_wake(), now + kTick);
    core.apply(now, event::TimerFired{});
    answer();
  }
  return resizes;
}

class Refusals : public ::testing::TestWithParam<const char*> {};

TEST_P(Refusals, HarmNoWillingJob) {
  const int resizes = resizes_of_the_willing(GetParam(), 7);
  // Asked after 10, 20, ... 640 s and then every 640 s, out and back.
  EXPECT_LE(resizes, 60) << "and without the rule " << resizes_of_the_willing(GetParam(), 0);
}

INSTANTIATE_TEST_SUITE_P(Policy, Refusals,
                         ::testing::Values("equipartition", "esf", "edf", "ldf", "equigrow", "mebf",
                                           "elastic", "fpsma", "dbes", "wagomu", "keeppref"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RefusalsTest, TheRuleIsNeeded) { EXPECT_GT(resizes_of_the_willing("equipartition", 0), 1000); }

}  // namespace
}  // namespace ductile
