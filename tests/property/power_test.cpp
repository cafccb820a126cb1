// Backfilling under a power budget against the same plan with the whole queue walked job by job,
// and nothing remembered from pass to pass: what skips blocks of the queue and whole passes decides
// nothing.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/core.hpp"
#include "scheduling/invariants.hpp"
#include "scheduling/policy.hpp"
#include "support/seeds.hpp"

namespace ductile {
namespace {

class JobByJob final : public Policy {
 public:
  JobByJob(Traits traits, std::uint32_t depth) : Policy(std::move(traits)), depth_(depth) {}

  void schedule(Pass& pass) const override {
    start_in_order(pass);
    if (pass.pending() == 0) return;
    pass.forget_memo();
    const Backfill options{.reservation_depth = depth_};
    Timeline plan = timeline_for(pass, options);
    JobId last = start_or_reserve(pass, plan, options).last;
    if (last == JobId::none) return;
    FreeProfile free;
    plan.from_now(free);
    free.nodes.limit(pass.idle());
    while ((last = pass.next_pending(last)) != JobId::none) {
      const Queue::Need need = pass.start_need(last);
      const Demand demand = pass.demand(last, need.nodes);
      if (!free.fits(demand, need.walltime)) continue;
      if (pass.start(last, exactly(need.nodes), {Why::backfilled})) {
        free.take(demand, need.walltime);
      }
    }
  }

 private:
  std::uint32_t depth_;
};

struct Counts {
  int bound = 0;   // jobs that had nodes, but no power
  int behind = 0;  // jobs backfilled under a budget
  int kept = 0;    // passes under a budget that left a memo
};

/// A cluster of 12 nodes whose jobs say or show their power, and whose budget comes, changes and
/// goes.
Counts compare(const std::string& settings, std::uint32_t depth, std::uint64_t seed) {
  Draws draws(seed, Stream::test, 0);
  const auto policy = make_policy(settings);
  const JobByJob naive(policy->traits, depth);
  const Platform platform{.nodes = 12, .idle_w = 50, .busy_w = 200};
  Core fast(platform, {}, {}, policy->traits), slow(platform, {}, {}, policy->traits);
  Counts counts;
  std::vector<Event> events;
  Time now{};
  for (int n = 0; n < 250; ++n) {
    now += whole_seconds(static_cast<std::int64_t>(draws.below(15)));
    events.clear();
    const State& state = fast.state();
    for (const JobId id : state.running) {
      const bool is_over = (state.jobs[id].limit <= now && draws.chance(0.8)) || draws.chance(0.1);
      if (is_over) events.push_back(event::Ended{id, EndState::completed, false});
    }
    for (auto more = draws.below(5); more > 0; --more) {
      const Nodes nodes = static_cast<Nodes>(1 + draws.below(7));
      event::Submitted job{
          {.walltime = whole_seconds(1 + static_cast<std::int64_t>(draws.below(60))),
           .size = exactly(nodes),
           .preferred = nodes},
          {}};
      if (draws.chance(0.7)) {
        job.adaptive.emplace().watts_per_node = draws.uniform(20, 400);
      }
      events.push_back(job);
    }
    if (draws.chance(0.1) && state.jobs.size() > 0) {
      const JobId id{static_cast<std::uint32_t>(draws.below(state.jobs.size()))};
      const bool is_over = !state.jobs.contains(id) || state.jobs[id].status == Status::over ||
                           std::ranges::find(state.running, id) != state.running.end();
      if (!is_over) {
        event::Believed believed{id, draws.uniform(20, 400), -1, -1};
        events.push_back(believed);
      }
    }
    if (draws.chance(0.08)) {
      const double high =
          draws.chance(0.2) ? std::numeric_limits<double>::infinity() : draws.uniform(300, 2400);
      events.push_back(event::CorridorChanged{0, high});
    }
    for (const Event& event : events) {
      EXPECT_EQ(fast.apply(now, event), slow.apply(now, event));
    }
    const std::span<const Decision> decided = fast.close(now, *policy);
    const std::span<const Decision> expected = slow.close(now, naive);
    const bool is_same = std::ranges::equal(decided, expected);
    EXPECT_TRUE(is_same) << settings << ", seed " << seed << ", step " << n;
    if (!is_same) return counts;
    check_invariants(fast.state());
    if (state.budget_mw == State::kNoBudget) continue;
    counts.kept += state.memo.changes == state.changes;
    for (const Decision& decision : decided)
      counts.behind += decision.reason.why == Why::backfilled;
    for (std::uint32_t i = 0; i < state.jobs.size(); ++i) {
      if (!state.jobs.contains(JobId{i})) continue;
      const Job& job = state.jobs[JobId{i}];
      counts.bound += job.status == Status::pending && job.spec.preferred <= state.idle.count() &&
                      !state.fits_power(job, job.spec.preferred);
    }
  }
  return counts;
}

class PowerBudget : public ::testing::TestWithParam<const char*> {};

TEST_P(PowerBudget, BackfillsAsIfEachJobWereLookedAt) {
  const std::string order = GetParam();
  Counts all;
  const std::uint64_t runs =
      testing::for_seeds({.usual = 10, .share = 20}, [&](std::uint64_t seed) {
        for (const std::uint32_t depth : {1u, 3u, Backfill::kUnlimited}) {
          const Counts counts =
              compare("backfill:depth=" + std::to_string(depth) + ",order=" + order, depth, seed);
          all.bound += counts.bound;
          all.behind += counts.behind;
          all.kept += counts.kept;
          if (HasFailure()) return;
        }
      });
  if (runs == 0) return;
  EXPECT_GT(all.bound, 1'500);
  EXPECT_GT(all.behind, 150);
  if (order != "wfp3") EXPECT_GT(all.kept, 150);
}

INSTANTIATE_TEST_SUITE_P(Orders, PowerBudget, ::testing::Values("fcfs", "sjf", "wfp3"),
                         [](const auto& order) { return std::string(order.param); });

}  // namespace
}  // namespace ductile
