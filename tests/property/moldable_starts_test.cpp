// Moldable jobs under the policies that start jobs at their smallest sizes: after each pass none
// that it started is smaller than it could be beside nodes that idle and nobody waits for; and none
// was started larger where that disturbs a reservation. Random workloads of jobs of all types and
// models.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "simulation/simulation.hpp"
#include "support/random_jobs.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

struct Counts {
  std::uint64_t started = 0, larger = 0, larger_while_others_wait = 0, small = 0, disturbed = 0;
};

/// Looks at what each pass of a policy leaves.
class Watched final : public Policy {
 public:
  Watched(std::shared_ptr<const Policy> policy, Backfill plan, bool benefit, Counts& counts)
      : Policy(policy->traits),
        its_(std::move(policy)),
        plan_(plan),
        benefit_(benefit),
        counts_(counts) {}
  void schedule(Pass& pass) const override {
    its_->schedule(pass);
    std::vector<JobId> grown;
    for (const JobId id : pass.started()) {
      if (pass.job(id).spec.type != JobType::moldable) continue;
      ++counts_.started;
      if (pass.job(id).size() > pass.smallest(id)) grown.push_back(id);
      if (pass.pending() == 0 && could_be_larger(pass, id)) ++counts_.small;
    }
    counts_.larger += grown.size();
    if (pass.pending() == 0 || grown.empty()) return;
    counts_.larger_while_others_wait += grown.size();
    look_at_reservations(pass, grown);
  }

 private:
  bool could_be_larger(const Pass& pass, JobId id) const {
    const Nodes size = pass.job(id).size();
    Nodes to = 0;  // the largest size it could have
    for (Nodes n = size + 1; n <= pass.job(id).spec.size.max && n <= size + pass.idle(); ++n) {
      if (pass.sizes(id).allows(n)) to = n;
    }
    return to > 0 && (!benefit_ || pass.estimate(id, to) < pass.estimate(id, size));
  }

  /// Those that there would be without the growth fit with it, too.
  void look_at_reservations(const Pass& pass, const std::vector<JobId>& grown) const {
    Timeline without = timeline_for(pass, plan_), with = without;
    for (const JobId id : grown) {
      const Nodes least = pass.smallest(id);
      const Time end = pass.expected_end(id), would = pass.now() + pass.estimate(id, least);
      without.add(pass.now(), end, pass.job(id).size() - least);
      without.add(end, std::max(end, would), -std::int64_t{least});
    }
    std::uint32_t left = plan_.reservation_depth;
    for (JobId id = pass.first_pending(); id != JobId::none && left > 0;
         id = pass.next_pending(id), --left) {
      const Time at = reserve_earliest(pass, without, id);
      if (at == kNever) continue;
      const auto [nodes, power, walltime] = pass.start_need(id);
      const Demand demand = pass.demand(id, nodes);
      counts_.disturbed += with.earliest(demand, walltime, at) != at;
      with.reserve(at, later(at, walltime), demand);
    }
  }

  std::shared_ptr<const Policy> its_;
  Backfill plan_;
  bool benefit_;
  Counts& counts_;
};

Workload random_workload(Draws& draws, std::uint64_t seed, Nodes nodes) {
  Workload workload;
  workload.jobs = random_jobs(seed, 5 + draws.below(30), nodes, draws.chance(0.5) ? 1 : 1'000'000);
  const double moldable = draws.uniform(0.2, 1);
  for (WorkloadJob& job : workload.jobs) {
    job.walltime = std::max(job.walltime, job.runtime);
    if (draws.chance(0.2)) continue;
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    AdaptiveJob& more = workload.adaptive.emplace_back();
    more.type = draws.chance(moldable) ? JobType::moldable : JobType::malleable;
    more.size = {static_cast<Nodes>(1 + draws.below(job.nodes)),
                 static_cast<Nodes>(job.nodes + draws.below(nodes))};
    if (draws.chance(0.5)) more.speedup = more.believed.speedup = random_speedup(draws, nodes);
    if (job.nodes % 2 == 0 && draws.chance(0.3)) {
      more.believed.constraint.kind = SizeConstraint::Kind::even;
    }
  }
  return workload;
}

class MoldableStarts : public ::testing::TestWithParam<const char*> {};

TEST_P(MoldableStarts, AreAsLargeAsIdleNodesAndReservationsLetThem) {
  Counts counts;
  const std::uint64_t runs = for_seeds(500, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 13);
    const auto nodes = static_cast<Nodes>(2 + draws.below(30));
    const Workload workload = random_workload(draws, seed, nodes);
    const Backfill plan{.reservation_depth = static_cast<std::uint32_t>(1 + draws.below(6)),
                        .extra_is_free = draws.chance(0.7)};
    const bool benefit = draws.chance(0.7), first = draws.chance(0.5);
    const bool dbes = GetParam() == std::string("dbes");
    const std::string policy = GetParam() + (":depth=" + std::to_string(plan.reservation_depth)) +
                               (plan.extra_is_free ? "" : ",profile=n") +
                               (benefit ? "" : ",expand_benefit=off") +
                               (first && !dbes ? ",backfill=first" : "");
    SCOPED_TRACE(policy);
    SimulationSettings settings;
    settings.platform.nodes = nodes;
    settings.policy = std::make_shared<Watched>(make_policy(policy), plan, benefit, counts);
    settings.rules.limit = draws.chance(0.5) ? Rules::Limit::fixed : Rules::Limit::scaled;
    if (draws.chance(0.3)) {
      settings.resize.delay = {RandomDuration::Kind::uniform, {}, whole_seconds(6)};
    }
    if (draws.chance(0.3)) settings.start_delay.a = whole_seconds(2);
    simulate(workload, settings, {});
    ASSERT_EQ(counts.small, 0u);
    ASSERT_EQ(counts.disturbed, 0u);
  });
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("%s: of %llu starts %llu are larger, %llu of these while others wait\n", GetParam(),
              number(counts.started), number(counts.larger),
              number(counts.larger_while_others_wait));
  if (runs == 0) return;
  EXPECT_GT(counts.larger, counts.started / 10);
  EXPECT_GT(counts.larger_while_others_wait, 10u);
}

INSTANTIATE_TEST_SUITE_P(Policies, MoldableStarts,
                         ::testing::Values("dbes", "equipartition", "equigrow", "esf", "edf",
                                           "ldf"),
                         [](const auto& its) { return std::string(its.param); });

}  // namespace
}  // namespace ductile::testing
