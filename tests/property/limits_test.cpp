// Limits and believed ends of jobs that are resized, where resizes take time: the time for which
// they stop a job is no work.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/random_parameters.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"

namespace ductile::testing {
namespace {

/// Random jobs whose models and costs are as believed, and that need no more than they asked for.
Trouble honest_trouble(std::uint64_t seed) {
  Trouble t = random_trouble(seed);
  Draws draws(seed, Stream::test, 10);
  for (WorkloadJob& job : t.workload.jobs) job.walltime = std::max(job.walltime, job.runtime);
  for (AdaptiveJob& job : t.workload.adaptive) {
    using Kind = Speedup::Kind;
    const auto kind =
        std::array{Kind::linear, Kind::powerlaw, Kind::amdahl, Kind::overhead}[draws.below(4)];
    job.speedup = {.kind = kind, .parameter = kind == Kind::linear ? 0 : draws.uniform(0, 0.3)};
    job.cost = {.alpha_s = draws.uniform(0, 0.5),
                .beta_s = draws.uniform(0, 2),
                .b_s = draws.uniform(0, 0.5),
                .fixed_s = draws.chance(0.5) ? draws.uniform(0, 5) : 0,
                .scale = draws.uniform(0, 2)};
    job.believed.speedup = job.speedup;
    job.believed.cost = job.cost;
  }
  t.settings.rules.limit = Rules::Limit::scaled;
  t.settings.kill_overrun = true;
  return t;
}

/// How much of its time a job has left, at its preferred size, the simple way: in seconds, from the
/// sizes that it had and what each change of them costs.
class Ledger final : public Observer {
 public:
  explicit Ledger(const Workload& workload) : workload_(workload) {}

  std::uint64_t timeouts = 0, changes = 0;
  std::string wrong;  // the first limit that is

  bool wants_events() const override { return true; }
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (decision.kind == Decision::Kind::start && core.state().capabilities.instant_start) {
      begin(now, decision.job, core);
    }
  }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    const auto* started = std::get_if<event::Started>(&event);
    if (started != nullptr && taken) begin(now, started->job, core);
    if (const auto* suspended = std::get_if<event::Suspended>(&event); suspended && taken) {
      const auto at = rows_.find(suspended->job);
      if (at != rows_.end()) work(at->second, now, to_seconds(suspended->paused), at->first);
      return;
    }
    const auto* resized = std::get_if<event::Resized>(&event);
    if (resized == nullptr || !taken || !rows_.contains(resized->job)) return;
    const JobId id = resized->job;
    Row& row = rows_.at(id);
    const Nodes after = resized->now.count;
    const WorkloadJob& job = workload_.jobs[index(id)];
    const AdaptiveJob& more = workload_.adaptive[job.adaptive];
    // A resize that was carried out has stopped the job for what it costs. One that was ended by
    // the failure of a node has stopped it for a part of what it would have cost.
    const double told_s = to_seconds(resized->paused);
    const double stopped_s = told_s > 0 ? cost_s(more.cost, row.size, after) : 0;
    if (std::abs(stopped_s - told_s) > 2e-6) row.known = false;
    if (after == row.size) return;
    work(row, now, stopped_s, id);
    row.size = after;
    row.since = now;
    ++changes;
    const double end_s = row.left_s * more.speedup.relative_time(after, job.nodes);
    const double limit_s = to_seconds(core.job(id).limit - now);
    if (row.known && wrong.empty() && std::abs(end_s - limit_s) > 1e-4) {
      wrong = "job " + std::to_string(job.name) + " at " +
              std::to_string(to_seconds(now - Time{})) + " s: " + std::to_string(limit_s) +
              " s to its limit, and " + std::to_string(end_s) + " s of work";
    }
  }
  void on_end(Time, JobId id, const WorkloadJob&, EndState state, bool, const Core&) override {
    timeouts += state == EndState::timeout ? 1 : 0;
    rows_.erase(id);
  }

 private:
  struct Row {
    double left_s = 0;
    Nodes size = 0;
    Time since{};
    bool known = true;  // what its resizes cost: not of one that a failure ended
  };

  static double cost_s(const ReconfigurationCost& cost, Nodes from, Nodes to) {
    const double difference = from < to ? to - from : from - to;
    const double sum = double{1} * from + to;
    return cost.fixed_s + cost.scale * ((cost.alpha_s + cost.b_s) * difference + cost.beta_s / sum);
  }
  // It has worked since its last change, but for the time that it was stopped.
  void work(Row& row, Time now, double stopped_s, JobId id) const {
    const WorkloadJob& job = workload_.jobs[index(id)];
    const Speedup& speedup = workload_.adaptive[job.adaptive].speedup;
    const double worked_s = to_seconds(now - row.since) - stopped_s;
    row.left_s -= worked_s / speedup.relative_time(row.size, job.nodes);
  }
  void begin(Time now, JobId id, const Core& core) {
    const WorkloadJob& job = workload_.jobs[index(id)];
    if (job.adaptive == WorkloadJob::kRigid) return;
    if (core.job(id).goes_on && rows_.contains(id)) {
      rows_[id].size = core.job(id).holding.count;
      rows_[id].since = now;
      return;
    }
    rows_[id] = {
        .left_s = to_seconds(job.walltime), .size = core.job(id).holding.count, .since = now};
  }

  const Workload& workload_;
  std::map<JobId, Row> rows_;
};

TEST(Limits, KillNobodyWhoNeedsNoMoreThanHeAskedFor) {
  std::uint64_t bad = 0, killed = 0, changes = 0;
  std::string first;
  const std::uint64_t runs = for_seeds({.usual = 6'000, .enough = 1'000}, [&](std::uint64_t seed) {
    Trouble t = honest_trouble(seed);
    Draws draws(seed, Stream::test, 11);
    const std::string policy = random_parameters(policies()[draws.below(policies().size())], draws);
    SCOPED_TRACE(policy);
    t.settings.policy = make_policy(policy);
    Ledger ledger(t.workload);
    Observer* const observers[] = {&ledger};
    simulate(t.workload, t.settings, observers);
    killed += ledger.timeouts;
    changes += ledger.changes;
    if (ledger.timeouts == 0 && ledger.wrong.empty()) return;
    if (++bad == 1) first = "seed " + std::to_string(seed) + ", " + policy + ": " + ledger.wrong;
  });
  EXPECT_EQ(bad, 0u) << killed << " jobs killed; " << first;
  if (runs > 0) EXPECT_GT(changes, runs);
}

}  // namespace
}  // namespace ductile::testing
