// What jobs lose by each other on shared nodes, in the simulated world, against a naive book: after
// each instant the speed of every running job is found out anew, node by node, from who holds what,
// and its work goes on at that until the next one. It must be done when the world says that the job
// has ended.
//
// DUCTILE_CASES: how many random runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/seeds.hpp"

namespace ductile {
namespace {

using testing::for_seeds;

constexpr Nodes kNodes = 12;
constexpr std::uint32_t kCores = 8;

/// Malleable jobs that come faster than they can run, so that they share nodes.
Workload crowd(Draws& draws) {
  Workload workload;
  Time at{};
  for (std::uint64_t name = 1; name <= 60; ++name) {
    at += Duration{static_cast<std::int64_t>(draws.below(8'000'000))};
    WorkloadJob job;
    job.name = name;
    job.submit = at;
    job.nodes = static_cast<Nodes>(1 + draws.below(draws.chance(0.3) ? 6 : 2));
    job.walltime = whole_seconds(static_cast<std::int64_t>(5 + draws.below(100)));
    const double share = draws.chance(0.3) ? 1 : draws.uniform(0.3, 1);
    job.runtime =
        Duration{static_cast<std::int64_t>(share * static_cast<double>(job.walltime.count()))};
    job.cores = static_cast<std::uint16_t>(draws.chance(0.5) ? kCores : 1 + draws.below(kCores));
    job.bound = static_cast<Bound>(draws.below(kBoundWords.size()));
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    AdaptiveJob more;
    more.size = exactly(job.nodes);
    workload.adaptive.push_back(std::move(more));
    workload.jobs.push_back(job);
  }
  return workload;
}

class NaiveBook final : public Observer {
 public:
  NaiveBook(const Workload& workload, const SimulationSettings& settings)
      : workload_(workload), settings_(settings), done_(workload.jobs.size(), 0) {}

  double worst_s = 0;          // so far an end was from the naive one
  std::uint64_t killed = 0;    // at their limits
  std::uint64_t ended = 0;     // jobs,
  std::uint64_t slowed = 0;    //   of these such as lost something by others
  std::uint64_t uneven = 0;    // instants in which a job had more cores of one node than of another
  std::uint64_t resizing = 0;  // instants in which a sharer was about to have other cores
  std::uint64_t mixed_pairs = 0;  // instants in which a job had neighbours of different bounds

  void on_close(Time now, const Core& core) override {
    go_on(now);
    rates_.clear();
    const State& state = core.state();
    for (const JobId id : state.running) rates_[id] = rate(state, id);
  }
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool,
              const Core&) override {
    go_on(now);
    const double work = to_seconds(job.runtime) * job.nodes * job.cores;
    const double left_s = std::abs(work - done_[index(id)]) / rates_.at(id);
    worst_s = std::max(worst_s, left_s);
    killed += state != EndState::completed ? 1 : 0;
    ++ended;
    slowed += lost_.contains(id) ? 1 : 0;
  }

 private:
  void go_on(Time now) {
    for (const auto& [id, rate] : rates_) done_[index(id)] += rate * to_seconds(now - at_);
    at_ = now;
  }
  const WorkloadJob& truth(JobId id) const { return workload_.jobs[index(id)]; }

  static std::uint32_t cores_on(const Holding& has, std::uint32_t node) {
    for (const Part& part : has.parts) {
      if (part.nodes.contains(node)) return part.has.cores;
    }
    return kCores;
  }
  /// Cores a second.
  double rate(const State& state, JobId id) {
    const Holding& has = state.settled(state.jobs[id]);
    const double uses = truth(id).cores;
    double sum = 0, least = uses;
    std::uint32_t most_cores = 0, least_cores = kCores;
    std::vector<Bound> bounds;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      if (!has.nodes.contains(node)) continue;
      double left = 1;
      for (const JobId other : state.running) {
        if (other == id || !state.jobs[other].holding.nodes.contains(node)) continue;
        const Bound beside = truth(other).bound;
        left = std::min(left, settings_.contention.of(truth(id).bound, beside) / 1000.0);
        if (std::ranges::find(bounds, beside) == bounds.end()) bounds.push_back(beside);
      }
      if (left < 1) lost_[id] = true;
      const std::uint32_t cores = cores_on(has, node);
      most_cores = std::max(most_cores, cores);
      least_cores = std::min(least_cores, cores);
      const double its = std::min<double>(cores, uses) * left;
      sum += its;
      least = std::min(least, its);
    }
    uneven += most_cores > least_cores ? 1 : 0;
    mixed_pairs += bounds.size() > 1 ? 1 : 0;
    resizing += !bounds.empty() && state.jobs[id].doing == Doing::resizing ? 1 : 0;
    return settings_.share == ShareModel::worst ? least * has.nodes.count() : sum;
  }

  const Workload& workload_;
  const SimulationSettings& settings_;
  std::vector<double> done_;  // core-seconds
  std::map<JobId, double> rates_;
  std::map<JobId, bool> lost_;
  Time at_{};
};

Contention some_contention(Draws& draws) {
  if (draws.chance(0.2)) return contention_of_pairs();
  Contention table;
  for (Contention::Row& row : table.per_mille) {
    for (std::uint16_t& each : row) each = static_cast<std::uint16_t>(300 + draws.below(701));
  }
  return table;
}

TEST(Contention, JobsEndWhenANaiveBookSaysSo) {
  std::uint64_t slowed = 0, uneven = 0, resizing = 0, mixed_pairs = 0;
  const std::uint64_t cases = for_seeds(400, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 9);
    const Workload workload = crowd(draws);
    SimulationSettings settings;
    settings.platform = {.nodes = kNodes, .cores_per_node = kCores, .sockets_per_node = 2};
    settings.policy = make_policy("sd:mates=3,max_slowdown=inf,free_nodes=on,guests=" +
                                  std::to_string(1 + draws.below(3)));
    settings.share = draws.chance(0.5) ? ShareModel::worst : ShareModel::ideal;
    settings.contention = some_contention(draws);
    settings.rules.identities = settings.rules.check = true;
    settings.rules.share = draws.chance(0.5) ? ShareModel::worst : ShareModel::ideal;
    // It knows all, nothing, or something else.
    const std::uint64_t knows = draws.below(3);
    if (knows == 0) settings.rules.contention = settings.contention;
    if (knows == 1) settings.rules.contention = some_contention(draws);
    // Who knows all gives each job the time that it needs, to the microsecond.
    settings.kill_overrun = knows == 0 && settings.share == settings.rules.share;
    if (draws.chance(0.4)) {
      settings.resize.delay.a = whole_seconds(1);
      settings.resize.refuse = draws.chance(0.5) ? 0.2 : 0;
    }
    NaiveBook book(workload, settings);
    Observer* const observers[] = {&book};
    simulate(workload, settings, observers);
    EXPECT_EQ(book.ended, workload.jobs.size());
    EXPECT_EQ(book.killed, 0u);
    // Work is rounded to core-microseconds when a speed changes, times to microseconds.
    EXPECT_LT(book.worst_s, 1e-3);
    slowed += book.slowed;
    uneven += book.uneven;
    resizing += book.resizing;
    mixed_pairs += book.mixed_pairs;
  });
  if (cases == 0) return;
  EXPECT_GT(slowed, 5 * cases);
  EXPECT_GT(uneven, cases);
  EXPECT_GT(resizing, cases / 2);
  EXPECT_GT(mixed_pairs, cases);
}

/// What is believed at the end.
class LastBelief final : public Observer {
 public:
  Contention contention;
  std::uint64_t learned = 0;  // so often something else was

  void on_close(Time, const Core& core) override {
    learned += core.state().rules.contention == contention ? 0 : 1;
    contention = core.state().rules.contention;
  }
};

// Of each pair it is what was believed before, or the truth to the thousandth: nothing else slows
// these jobs down.
TEST(Contention, IsLearnedAsItIs) {
  std::uint64_t known = 0, nobody_lost = 0;
  const std::uint64_t cases = for_seeds(200, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 10);
    const Workload workload = crowd(draws);
    SimulationSettings settings;
    settings.platform = {.nodes = kNodes, .cores_per_node = kCores, .sockets_per_node = 2};
    settings.policy = make_policy("lend:learn=on,weight=0,margin=0.5,mates=3,guests=" +
                                  std::to_string(1 + draws.below(3)));
    settings.share = draws.chance(0.5) ? ShareModel::worst : ShareModel::ideal;
    if (draws.chance(0.9)) settings.contention = some_contention(draws);
    settings.rules.identities = settings.rules.check = true;
    const Contention before = draws.chance(0.5) ? Contention{} : some_contention(draws);
    settings.rules.contention = before;
    if (draws.chance(0.4)) {
      settings.resize.delay.a = whole_seconds(1);
      settings.resize.refuse = draws.chance(0.5) ? 0.2 : 0;
    }
    LastBelief last;
    Observer* const observers[] = {&last};
    simulate(workload, settings, observers);
    for (std::size_t job = 0; job < kBoundWords.size(); ++job) {
      for (std::size_t beside = 0; beside < kBoundWords.size(); ++beside) {
        const std::uint16_t its = last.contention.per_mille[job][beside];
        if (its == before.per_mille[job][beside]) continue;
        EXPECT_EQ(its, settings.contention.per_mille[job][beside]) << job << " beside " << beside;
        ++known;
        nobody_lost += its == kPerMille ? 1 : 0;
      }
    }
  });
  if (cases == 0) return;
  EXPECT_GT(known, cases);
  EXPECT_GT(nobody_lost, cases / 20);
}

}  // namespace
}  // namespace ductile
