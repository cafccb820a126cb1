// What DBES and the rules of fairness promise, on random mixes of all types of jobs.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "simulation/simulation.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"
#include "workload/generate.hpp"
#include "workload/transform.hpp"
#include "workload/transform_text.hpp"

namespace ductile::testing {
namespace {

/// Plans anew after each pass of a policy.
class PlannedAgain final : public Policy {
 public:
  PlannedAgain(std::shared_ptr<const Policy> policy, Backfill plan)
      : Policy(policy->traits), its_(std::move(policy)), plan_(plan) {}
  void schedule(Pass& pass) const override {
    its_->schedule(pass);
    if (!pass.claims().empty()) return;  // nodes on their way are neither here nor there
    Timeline plan = timeline_for(pass, plan_);
    std::uint32_t reserved = 0;
    for (JobId id = pass.first_pending(); id != JobId::none && reserved < plan_.reservation_depth;
         id = pass.next_pending(id), ++reserved) {
      const Time at = reserve_earliest(pass, plan, id);
      ASSERT_LE(at, std::max(pass.job(id).reserved, pass.now())) << "job " << index(id);
      ++checked;
    }
  }

  mutable std::uint64_t checked = 0;

 private:
  std::shared_ptr<const Policy> its_;
  Backfill plan_;
};

/// Neither expansions, nor backfilling, nor what is spread in the end make a StartLater job wait
/// longer than it was planned to. (Where deadlines move with sizes one that comes earlier may push
/// those behind it back.)
TEST(Dbes, NoReservationMovesLaterWithinAPass) {
  std::uint64_t checked = 0;
  const std::uint64_t runs = for_seeds(600, [&](std::uint64_t seed) {
    const Trouble t = random_trouble(seed);
    SimulationSettings settings;  // no trouble
    settings.platform = t.settings.platform;
    settings.rules = t.settings.rules;
    settings.rules.limit = Rules::Limit::fixed;
    const auto depth = static_cast<std::uint32_t>(1 + seed % 6);
    const auto policy =
        std::make_shared<PlannedAgain>(make_policy("dbes:depth=" + std::to_string(depth)),
                                       Backfill{.reservation_depth = depth, .extra_is_free = true});
    settings.policy = policy;
    simulate(t.workload, settings, {});
    checked += policy->checked;
  });
  if (runs > 0) EXPECT_GT(checked, 0u);
}

/// Adds up the delays of all grants by itself, from what the policy wrote.
class Ledger final : public Observer {
 public:
  Ledger(const Fairness& rules, Duration limit) : rules_(rules), limit_(limit) {}

  void on_decision(Time now, const Decision& decision, const Core&) override {
    unfair += decision.kind == Decision::Kind::deny && decision.reason.why == Why::fairness;
    if (decision.kind != Decision::Kind::start) return;
    // From the newest plan back: each counts up to where a newer one begins.
    Time end = now;
    auto& plans = plans_[decision.job];
    for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
      const Duration part = std::min(end, plan->from + plan->by) - plan->from;
      came_s += to_seconds(std::max(part, Duration{}));
      end = std::min(end, plan->from);
    }
    plans_.erase(decision.job);
  }
  void on_close(Time now, const Core& core) override {
    for (const PenCall& call : core.state().calls) {
      if (call.verb != PenCall::Verb::grant) continue;
      ++granted;
      for (const Delay& delay : call.delays) {
        Row& row = users_[core.job(delay.job).spec.user];
        for (const auto interval = now.time_since_epoch() / rules_.interval;
             row.interval < interval; ++row.interval) {
          row.sum_s *= rules_.decay;
        }
        row.sum_s += to_seconds(delay.by);
        delayed |= delay.by > Duration{};
        planned_s += to_seconds(delay.by);
        plans_[delay.job].push_back(delay);
        ASSERT_LE(row.sum_s, to_seconds(limit_) + 1e-6);
      }
    }
  }

  std::uint64_t granted = 0, unfair = 0;
  bool delayed = false;
  double planned_s = 0, came_s = 0;

  void on_finish(Time, const Core& core) override {
    for (const Delays& its : core.state().delays) {
      if (its.party.kind != Party::Kind::user) continue;
      of_core.planned_s += its.planned_s;
      of_core.suffered_s += its.suffered_s;
      of_core.caused_s += its.caused_s;
    }
  }
  Delays of_core{};  // of all users together

 private:
  struct Row {
    std::int64_t interval = 0;
    double sum_s = 0;
  };
  Fairness rules_;
  Duration limit_;
  std::map<std::uint32_t, Row> users_;
  std::map<JobId, std::vector<Delay>> plans_;  // of jobs that wait
};

class FairYear : public ::testing::TestWithParam<const char*> {};

TEST_P(FairYear, NobodyIsDelayedMoreThanAllowed) {
  Transform changes;
  changes.malleable = parse_share("malleable", "0.3:min=1,max=4");
  changes.evolving = parse_share("evolving", "0.2:min=1,max=4");
  changes.requests.expand = 1;
  for_seeds({.usual = 2, .first = 1}, [&](std::uint64_t seed) {
    const RigidModel model{.jobs = 16'000, .nodes = 32, .max_size = 32, .load = 0.75};
    Workload workload = generate_rigid(model, seed);
    ASSERT_GT(workload.jobs.back().submit - workload.jobs.front().submit,
              whole_seconds(365 * 86'400));
    transform(workload, changes, 32, seed);
    SimulationSettings settings;
    settings.platform.nodes = 32;
    settings.policy = make_policy(GetParam());
    settings.rules.limit = Rules::Limit::fixed;
    settings.rules.check = false;
    settings.rules.seed = seed;
    settings.rules.fairness = parse_fairness("target,target=1800,interval=7200,decay=0.5");
    settings.rules.record = true;
    Ledger ledger(settings.rules.fairness, whole_seconds(1800));
    Observer* const observers[] = {&ledger};
    simulate(workload, settings, observers);
    EXPECT_TRUE(ledger.delayed);
    EXPECT_GT(ledger.granted, 0u);
    EXPECT_GT(ledger.unfair, 0u);
    EXPECT_NEAR(ledger.of_core.planned_s, ledger.planned_s, 1e-3);
    EXPECT_NEAR(ledger.of_core.suffered_s, ledger.came_s, 1e-3);
    EXPECT_NEAR(ledger.of_core.caused_s, ledger.came_s, 1e-3);
    // Those that look at one reservation grant little that delays: nothing of it comes here.
    const std::string policy = GetParam();
    if (policy != "elastic" && policy != "mebf") {
      EXPECT_GT(ledger.came_s, 0);
    }
    EXPECT_LT(ledger.came_s, 0.9 * ledger.planned_s);
  });
}

INSTANTIATE_TEST_SUITE_P(Policies, FairYear,
                         ::testing::Values("dbes", "dbes:fairness=before", "equipartition",
                                           "elastic", "mebf"),
                         [](const auto& its) {
                           std::string name = its.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace ductile::testing
