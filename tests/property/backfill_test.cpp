// The simulator and its backfilling on thousands of random workloads: against the naive
// implementations, and for what the policies promise. And the simulated world with a policy without
// sense, for what any run promises.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "simulation/simulation.hpp"
#include "support/naive_backfill.hpp"
#include "support/random_jobs.hpp"
#include "support/random_parameters.hpp"
#include "support/random_policy.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"
#include "support/work_books.hpp"

namespace ductile {
namespace {

using testing::for_seeds;
using testing::random_jobs;
// ---- Rigid jobs
// -----------------------------------------------------------------------------------

using testing::random_trouble;
using testing::Trouble;
using testing::WorkBooks;

constexpr std::array<std::uint64_t, 3> kGrains_us = {1, 1'000'000, 10'000'000};
constexpr std::array<std::uint32_t, 5> kDepths = {1, 2, 3, 5, Backfill::kUnlimited};

struct Order {
  QueueOrder order;
  naive::Before before;
};
const std::array<Order, 5> kOrders = {{{QueueOrder::fcfs, naive::fcfs_order},
                                       {QueueOrder::sjf, naive::sjf_order},
                                       {QueueOrder::ljf, naive::ljf_order},
                                       {QueueOrder::smallest, naive::smallest_order},
                                       {QueueOrder::largest, naive::largest_order}}};

/// The registered policies' backfilling; or the same without its memo.
class Plain final : public Policy {
 public:
  Plain(std::uint32_t depth, QueueOrder chosen, bool remembers)
      : Policy({.settings = "plain", .order = chosen, .multifactor = kWeights}),
        depth_(depth),
        remembers_(remembers) {}
  void schedule(Pass& pass) const override {
    if (!remembers_) pass.forget_memo();
    start_in_order(pass);
    backfill(pass, {.reservation_depth = depth_});
  }

 private:
  static constexpr Multifactor kWeights{.weight_age = 1000,
                                        .weight_fairshare = 800,
                                        .weight_size = 600,
                                        .weight_partition = 400,
                                        .max_age = whole_seconds(100)};

  std::uint32_t depth_;
  bool remembers_;
};

std::shared_ptr<const Policy> registered(std::uint32_t depth, QueueOrder order) {
  const std::string by = "order=" + std::string(kQueueOrderWords[static_cast<std::size_t>(order)]);
  if (depth == 1) return make_policy("easy:" + by);
  if (depth == Backfill::kUnlimited) return make_policy("conservative:" + by);
  return make_policy("backfill:depth=" + std::to_string(depth) + "," + by);
}

/// Every decision and every reservation, in order.
class Record final : public Observer {
 public:
  struct Entry {
    Time at;
    JobId job;
    int what;  // a kind of decision; -1: an end, -2: a reservation for `until`
    Why why;
    Time until;
    NodeSet nodes{};
    bool operator==(const Entry&) const = default;
  };

  void on_decision(Time now, const Decision& decision, const Core&) override {
    entries.push_back({now, decision.job, static_cast<int>(decision.kind), decision.reason.why,
                       decision.limit, decision.after.nodes});
  }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState, bool, const Core&) override {
    entries.push_back({now, id, -1, Why::in_order, {}});
  }
  void on_close(Time now, const Core& core) override {
    const LaneMemo& memo = core.state().memo;
    remembers_lanes += memo.changes == core.state().changes && !memo.lanes.empty();
    for (const PenCall& call : core.pen_calls()) {
      if (call.verb != PenCall::Verb::reserve) continue;
      entries.push_back({now, call.job, -2, call.reason.why, call.time});
    }
  }

  std::vector<Time> starts(std::size_t jobs) const {
    std::vector<Time> times(jobs, kNever);
    for (const Entry& entry : entries) {
      if (entry.what == static_cast<int>(Decision::Kind::start)) times[index(entry.job)] = entry.at;
    }
    return times;
  }
  /// The reservations of each job, in order.
  std::map<JobId, std::vector<Time>> reservations() const {
    std::map<JobId, std::vector<Time>> all;
    for (const Entry& entry : entries) {
      if (entry.what == -2) all[entry.job].push_back(entry.until);
    }
    return all;
  }

  std::vector<Entry> entries;
  std::uint64_t remembers_lanes = 0;  // closes that left something to remember of several lanes
};

struct Case {
  Workload workload;
  SimulationSettings settings;
  std::uint32_t depth = 1;
  Order order;
  std::uint64_t bits = 0;  // for further choices
};

Case random_case(std::uint64_t seed, bool exact = false) {
  Case c;
  c.bits = mixed(seed);
  const auto choose = [&](std::uint64_t n) {
    const std::uint64_t chosen = c.bits % n;
    c.bits = mixed(c.bits);
    return chosen;
  };
  const auto nodes = static_cast<Nodes>(1 + choose(40));
  c.settings.platform.nodes = nodes;
  c.settings.rules.identities = choose(2) == 0;
  c.settings.rules.check = choose(4) == 0;
  c.settings.rules.record = true;
  c.settings.kill_overrun = choose(3) == 0;
  c.depth = kDepths[choose(kDepths.size())];
  c.order = kOrders[choose(kOrders.size())];
  const std::uint64_t grain_us = kGrains_us[choose(kGrains_us.size())];
  c.workload.jobs = random_jobs(seed, 10 + choose(110), nodes, grain_us);
  const std::uint64_t crowd = 1 + choose(4);  // jobs come so many times faster
  for (WorkloadJob& job : c.workload.jobs) {
    job.submit = Time{job.submit.time_since_epoch() / static_cast<std::int64_t>(crowd * grain_us) *
                      static_cast<std::int64_t>(grain_us)};
    if (exact) job.walltime = job.runtime;
    if (!c.settings.kill_overrun) job.walltime = std::max(job.walltime, job.runtime);
  }
  return c;
}

NodeSet some_nodes(Draws& draws, Nodes nodes) {
  const auto first = static_cast<std::uint32_t>(draws.below(nodes));
  return {{{first, first + static_cast<std::uint32_t>(draws.below(nodes - first))}}};
}

/// Classes, of one speed or of several.
void divide(Case& c, Draws& draws, bool same_speed) {
  Platform& platform = c.settings.platform;
  c.settings.rules.identities = true;
  for (std::uint32_t first = 0; first < platform.nodes;) {
    const auto last = static_cast<std::uint32_t>(first + draws.below(platform.nodes - first));
    NodeClass its{.name = "class" + std::to_string(first)};
    its.nodes.insert(first, last);
    its.has = {.cores = 1, .memory_mb = static_cast<std::uint32_t>(1000 * draws.below(3))};
    its.weight = static_cast<std::uint32_t>(draws.below(3));
    if (!same_speed && draws.chance(0.3)) its.speed = 0.5;
    platform.classes.push_back(std::move(its));
    first = last + 1;
  }
}

/// Partitions, which may overlap, as well, and jobs that ask for some of them.
void tell_apart(Case& c, std::uint64_t seed) {
  Draws draws(seed, Stream::test, 4);
  const Nodes nodes = c.settings.platform.nodes;
  if (draws.chance(0.7)) divide(c, draws, draws.chance(0.5));
  const std::uint64_t partitions = draws.below(4);
  for (std::uint64_t i = 0; i < partitions; ++i) {
    c.settings.platform.partitions.push_back(
        {"part" + std::to_string(i), some_nodes(draws, nodes)});
  }
  c.settings.rules.identities = true;
  for (std::uint64_t n = 1 + draws.below(4); n > 0; --n) {
    Where& where = c.workload.where.emplace_back();
    where.partitions = draws.below(8);
    if (draws.chance(0.3)) where.each.memory_mb = static_cast<std::uint32_t>(draws.below(2500));
    if (draws.chance(0.2)) where.only = some_nodes(draws, nodes);
  }
  for (WorkloadJob& job : c.workload.jobs) {
    job.where = static_cast<std::uint32_t>(draws.below(c.workload.where.size() + 1));
    if (draws.chance(0.7)) job.nodes = 1 + job.nodes % (1 + nodes / 4);
  }
}

Record run(const Case& c, std::shared_ptr<const Policy> policy) {
  SimulationSettings settings = c.settings;
  settings.policy = std::move(policy);
  Record record;
  Observer* const observers[] = {&record};
  const SimulationCounts counts = simulate(c.workload, settings, observers);
  EXPECT_EQ(counts.jobs_left, 0u);
  EXPECT_EQ(counts.stale, 0u);
  return record;
}

TEST(Backfilling, StartsEveryJobWhenTheNaiveOneDoes) {
  for_seeds(2'500, [](std::uint64_t seed) {
    const Case c = random_case(seed);
    const naive::Options options{c.order.before, c.settings.kill_overrun};
    const auto expected =
        naive::backfill(c.workload.jobs, c.settings.platform.nodes,
                        c.depth == Backfill::kUnlimited ? naive::kUnlimited : c.depth, options);
    const auto starts = run(c, registered(c.depth, c.order.order)).starts(expected.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      ASSERT_EQ(starts[i], expected[i].start) << "job " << i + 1;
    }
  });
}

TEST(Backfilling, FcfsStartsEveryJobWhenTheNaiveOneDoes) {
  for_seeds(1'000, [](std::uint64_t seed) {
    const Case c = random_case(seed);
    const auto expected = naive::fcfs(c.workload.jobs, c.settings.platform.nodes,
                                      {c.order.before, c.settings.kill_overrun});
    const std::string word(kQueueOrderWords[static_cast<std::size_t>(c.order.order)]);
    const auto starts = run(c, make_policy("fcfs:order=" + word)).starts(expected.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      ASSERT_EQ(starts[i], expected[i].start) << "job " << i + 1;
    }
  });
}

/// Long queues and many running jobs: several blocks of all the structures.
TEST(Backfilling, DeepQueues) {
  for (const std::uint32_t depth : {std::uint32_t{1}, std::uint32_t{5}, Backfill::kUnlimited}) {
    Case c;
    const std::size_t count = depth == Backfill::kUnlimited ? 500 : 2'000;
    c.settings.platform.nodes = 300;
    c.settings.rules.check = false;
    c.workload.jobs = random_jobs(depth, count, 300, depth == 1 ? 1 : 1'000'000);
    for (WorkloadJob& job : c.workload.jobs) {
      job.submit = Time{job.submit.time_since_epoch() / 400};
      if (job.name % 40 != 0) job.nodes = 1 + job.nodes % 4;
      job.walltime = std::max(job.walltime, job.runtime);
    }
    const auto expected = naive::backfill(
        c.workload.jobs, 300, depth == Backfill::kUnlimited ? naive::kUnlimited : depth);
    const auto starts = run(c, registered(depth, QueueOrder::fcfs)).starts(count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(starts[i], expected[i].start) << "depth " << depth << ", job " << i + 1;
    }
  }
}

/// Small machines and long queues: plans of many steps, at times that coincide.
TEST(Backfilling, LongPlans) {
  for_seeds(30, [](std::uint64_t seed) {
    Case c;
    const auto nodes = static_cast<Nodes>(5 + seed % 20);
    c.settings.platform.nodes = nodes;
    c.settings.rules.check = false;
    c.workload.jobs = random_jobs(seed, 120, nodes, seed % 2 == 0 ? 10'000'000 : 1'000'000);
    for (WorkloadJob& job : c.workload.jobs) {
      job.submit = {};
      if (job.name % 3 == 0) {  // as long as many others together
        job.nodes = 1;
        job.walltime *= 8;
      }
      job.walltime = std::max(job.walltime, job.runtime);
    }
    const auto expected = naive::backfill(c.workload.jobs, nodes, naive::kUnlimited);
    const auto starts = run(c, make_policy("conservative")).starts(expected.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      ASSERT_EQ(starts[i], expected[i].start) << "job " << i + 1;
    }
  });
}

/// A plan of many steps has room for exactly what each stretch of it has room for: no border
/// between its blocks is off by one.
TEST(Backfilling, EveryStretchOfAPlanIsFound) {
  constexpr std::int64_t kSteps = 200, kFree = 50;
  const auto at = [](std::int64_t step) { return Time{whole_seconds(10 + step)}; };
  for_seeds(4, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 3);
    const Releases none;
    Profile profile(none, kFree, Time{});
    std::vector<std::int64_t> free;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const auto taken = static_cast<std::int64_t>(draws.below(seed % 2 == 0 ? 4 : 40));
      profile.add(at(i), at(i + 1), -taken);
      free.push_back(kFree - taken);
    }
    for (std::int64_t i = 0; i < kSteps; ++i) {
      std::int64_t least = kFree;
      for (std::int64_t j = i; j < kSteps; ++j) {
        least = std::min(least, free[static_cast<std::size_t>(j)]);
        ASSERT_EQ(profile.earliest(least, at(j + 1) - at(i), at(i)), at(i))
            << "steps " << i << " to " << j;
      }
    }
  });
}

TEST(Backfilling, ConservativeKeepsTheFirstReservationIfEstimatesAreExact) {
  std::size_t waited = 0;
  const std::uint64_t runs = for_seeds(500, [&](std::uint64_t seed) {
    const Case c = random_case(seed, true);
    const Record record = run(c, make_policy("conservative"));
    const auto starts = record.starts(c.workload.jobs.size());
    for (const auto& [job, times] : record.reservations()) {
      ++waited;
      ASSERT_LE(starts[index(job)], times.front()) << "job " << index(job) + 1;
    }
  });
  if (runs > 0) EXPECT_GT(waited, 0u);
}

TEST(Backfilling, TheHeadsReservationNeverMovesLaterIfEstimatesAreExact) {
  for_seeds(500, [](std::uint64_t seed) {
    const Case c = random_case(seed, true);
    const Record record = run(c, make_policy("easy"));
    const auto starts = record.starts(c.workload.jobs.size());
    for (const auto& [job, times] : record.reservations()) {
      ASSERT_TRUE(std::is_sorted(times.rbegin(), times.rend())) << "job " << index(job) + 1;
      ASSERT_LE(starts[index(job)], times.back()) << "job " << index(job) + 1;
    }
  });
}

TEST(Backfilling, TheNoteOfWhatWasTriedChangesNothing) {
  std::uint64_t of_lanes = 0;
  const std::uint64_t runs = for_seeds(3'000, [&](std::uint64_t seed) {
    Case c = random_case(seed);
    if (seed % 7 > 2) tell_apart(c, seed);
    if (seed % 3 == 0) {  // starts that take time, and fail
      c.settings.start_delay = {RandomDuration::Kind::uniform, {}, whole_seconds(5)};
      c.settings.start_failure = 0.2;
      c.settings.start_retry = whole_seconds(7);
    }
    if (seed % 4 == 0) {  // nodes that fail
      c.settings.rules.identities = true;
      const Nodes last = c.settings.platform.nodes - 1;
      for (std::int64_t at = 20; at < 400; at += 40) {
        c.settings.node_events.push_back({Time{whole_seconds(at)}, {{{last, last}}}, Health::down});
        c.settings.node_events.push_back(
            {Time{whole_seconds(at + 15)}, {{{last, last}}}, Health::up});
      }
    }
    if (seed % 5 < 2) c.settings.rules.reservations_per_plan = 1 + seed % 7;
    // Those that change, too.
    const auto order = static_cast<QueueOrder>(c.bits % kQueueOrderWords.size());
    const Record with = run(c, std::make_shared<Plain>(c.depth, order, true));
    const Record without = run(c, std::make_shared<Plain>(c.depth, order, false));
    ASSERT_EQ(with.entries.size(), without.entries.size());
    ASSERT_TRUE(with.entries == without.entries);
    of_lanes += with.remembers_lanes;
  });
  if (runs > 0) EXPECT_GT(of_lanes, runs);
}

/// Nodes that nobody who is there tells apart are planned together: jobs start when they would on a
/// machine of one class.
TEST(Backfilling, ClassesThatNobodyAsksForChangeNoTime) {
  for_seeds(700, [](std::uint64_t seed) {
    Case c = random_case(seed);
    Draws draws(seed, Stream::test, 5);
    const auto policy = registered(c.depth, c.order.order);
    const auto starts = run(c, policy).starts(c.workload.jobs.size());
    divide(c, draws, true);
    ASSERT_EQ(run(c, policy).starts(c.workload.jobs.size()), starts);
  });
}

TEST(Backfilling, TheMostReservationsAreADepth) {
  std::uint64_t cut_short = 0;
  const std::uint64_t runs = for_seeds(1'000, [&](std::uint64_t seed) {
    Case c = random_case(seed);
    const Record all = run(c, registered(Backfill::kUnlimited, c.order.order));
    const auto most = static_cast<std::uint32_t>(1 + seed % 4);
    const Record deep = run(c, registered(most, c.order.order));
    c.settings.rules.reservations_per_plan = most;
    const Record bounded = run(c, registered(Backfill::kUnlimited, c.order.order));
    ASSERT_TRUE(bounded.entries == deep.entries);
    cut_short += bounded.entries == all.entries ? 0 : 1;
    c.settings.rules.reservations_per_plan = 1'000;
    ASSERT_TRUE(run(c, registered(Backfill::kUnlimited, c.order.order)).entries == all.entries);
  });
  if (runs > 0) EXPECT_GT(cut_short, runs / 10);
}

/// A policy that forgets what the last pass remembered.
class Forgetful final : public Policy {
 public:
  explicit Forgetful(std::shared_ptr<const Policy> inner)
      : Policy(inner->traits, inner->wants), inner_(std::move(inner)) {}
  void schedule(Pass& pass) const override {
    pass.forget_memo();
    inner_->schedule(pass);
  }

 private:
  std::shared_ptr<const Policy> inner_;
};

/// All policies, all kinds of jobs, all kinds of trouble: nothing hangs on what is remembered, and
/// a bound that no plan reaches changes nothing.
TEST(Backfilling, WithABoundWhatIsRememberedChangesNothing) {
  std::uint64_t spent = 0;
  const std::uint64_t runs = for_seeds(700, [&](std::uint64_t seed) {
    Trouble t = random_trouble(seed);
    const PolicyInfo& info = testing::policies()[seed % testing::policies().size()];
    if (info.name == "portfolio") return;  // `Forgetful` would hide that it is one
    const bool deep =
        std::ranges::find(info.parameters, "depth", &ParameterInfo::name) != info.parameters.end();
    const auto policy = make_policy(info.name + (deep ? ":depth=20" : ""));
    const auto digest = [&](std::uint32_t most, bool remembers) {
      t.settings.rules.reservations_per_plan = most;
      t.settings.policy = remembers ? policy : std::make_shared<Forgetful>(policy);
      WorkBooks books(t.workload);
      Observer* const observers[] = {&books};
      simulate(t.workload, t.settings, observers);
      return books.digest;
    };
    const auto most = static_cast<std::uint32_t>(1 + seed % 5);
    const auto with = digest(most, true), unlimited = digest(0, true);
    ASSERT_EQ(with, digest(most, false)) << info.name;
    ASSERT_EQ(unlimited, digest(1'000'000, true)) << info.name;
    spent += with == unlimited ? 0 : 1;
  });
  if (runs > 0) EXPECT_GT(spent, 20u);
}

TEST(Backfilling, TheSameRunGivesTheSameDecisions) {
  for_seeds(100, [](std::uint64_t seed) {
    const Case c = random_case(seed);
    const auto policy = registered(c.depth, c.order.order);
    ASSERT_TRUE(run(c, policy).entries == run(c, policy).entries);
  });
}

// ---- All kinds of jobs, a world full of trouble, a policy without sense
// ---------------------------

TEST(SimulatedWorld, KeepsItsPromisesWhateverThePolicyDoes) {
  std::uint64_t checked = 0, left = 0, jobs = 0, decisions = 0;
  for_seeds(2'500, [&](std::uint64_t seed) {
    Trouble t = random_trouble(seed);
    testing::RandomPolicy::Settings scribble;
    scribble.calls = static_cast<std::uint32_t>(1 + seed % 8);
    t.settings.policy = std::make_shared<testing::RandomPolicy>(scribble);
    WorkBooks books(t.workload);
    books.watched = seed % 10 == 0;
    Observer* const observers[] = {&books};
    const SimulationCounts counts = simulate(t.workload, t.settings, observers);
    ASSERT_EQ(counts.jobs_over + counts.jobs_left, t.workload.jobs.size());
    ASSERT_TRUE(books.refused.empty() || t.settings.resize.repeat > 0)
        << "kind of event: " << books.refused.front().index();
    if (seed % 20 == 0) {  // and again
      WorkBooks again(t.workload);
      Observer* const second[] = {&again};
      simulate(t.workload, t.settings, second);
      ASSERT_EQ(again.digest, books.digest);
    }
    checked += books.checked;
    left += counts.jobs_left;
    jobs += t.workload.jobs.size();
    decisions += books.decisions;
  });
  std::printf("%llu jobs, %llu completed, %llu left, %llu decisions\n",
              static_cast<unsigned long long>(jobs), static_cast<unsigned long long>(checked),
              static_cast<unsigned long long>(left), static_cast<unsigned long long>(decisions));
}

/// With a policy that does its best, every job gets its turn as soon as the trouble is over.
TEST(SimulatedWorld, EveryJobEndsWithAPlainPolicy) {
  for_seeds(1'000, [](std::uint64_t seed) {
    Trouble t = random_trouble(seed);
    t.settings.policy = registered(kDepths[seed % kDepths.size()], kOrders[seed % 4].order);
    WorkBooks books(t.workload);
    Observer* const observers[] = {&books};
    const SimulationCounts counts = simulate(t.workload, t.settings, observers);
    ASSERT_EQ(counts.jobs_left, 0u);
    // Answers to evolving requests that were granted come twice.
    ASSERT_TRUE(books.refused.empty() || t.settings.resize.repeat > 0);
  });
}

}  // namespace
}  // namespace ductile
