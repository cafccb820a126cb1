#include "scheduling/mates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/scripted.hpp"

namespace ductile::testing {
namespace {

/// All sets of candidates, one by one: the best by sum of penalties, size, and places.
std::vector<JobId> tried_one_by_one(const std::vector<Mate>& candidates, Nodes least, Nodes most,
                                    std::size_t mates) {
  using Value = std::tuple<double, std::size_t, std::vector<std::size_t>>;
  std::vector<Value> all;
  for (std::uint32_t set = 1; set < (1u << candidates.size()); ++set) {
    double sum = 0;
    Nodes nodes = 0;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      sum += candidates[i].penalty;
      nodes += candidates[i].nodes;
      places.push_back(i);
    }
    if (places.size() <= mates && nodes >= least && nodes <= most) {
      all.emplace_back(sum, places.size(), places);
    }
  }
  std::vector<JobId> best;
  if (all.empty()) return best;
  for (const std::size_t place : std::get<2>(*std::ranges::min_element(all))) {
    best.push_back(candidates[place].job);
  }
  return best;
}

Contention some_contention(Draws& draws) {
  Contention table;
  if (draws.chance(0.5)) return table;
  for (Contention::Row& row : table.per_mille) {
    for (std::uint16_t& each : row) each = static_cast<std::uint16_t>(1000 - 100 * draws.below(6));
  }
  return table;
}

Bound some_bound(Draws& draws) { return static_cast<Bound>(draws.below(kBoundWords.size())); }

// Of microseconds, rounded half up.
Duration quotient(std::int64_t dividend, std::int64_t divisor) {
  return Duration{(2 * dividend + divisor) / (2 * divisor)};
}

TEST(Mates, AreTheBestOfAllSets) {
  int found = 0, several = 0, of_some = 0, passed_by = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Draws draws(seed, Stream::test, 3);
    Stage::Setup setup;
    setup.platform = {.nodes = 40, .cores_per_node = 8, .sockets_per_node = 2};
    setup.can.parts = setup.can.instant_cores = true;
    setup.rules.record = false;
    const Contention table = setup.rules.contention = some_contention(draws);
    Stage stage(setup);
    const auto job = [&](Nodes size, std::int64_t walltime_s) {
      JobSpec spec = malleable(exactly(size), size, walltime_s);
      spec.bound = some_bound(draws);
      return spec;
    };
    std::vector<JobId> running;
    for (Nodes used = 0;;) {
      const auto size = static_cast<Nodes>(1 + draws.below(8));
      if (used + size > 40 || running.size() == 10) break;
      used += size;
      const auto walltime = static_cast<std::int64_t>(50 + draws.below(4) * 100);
      running.push_back(stage.run(job(size, walltime)));
    }
    stage.at(10);
    const auto wanted = static_cast<Nodes>(1 + draws.below(14));
    const JobId waits = stage.submit(job(wanted, 60));
    const auto idle = static_cast<Nodes>(draws.below(3));
    const auto mates = static_cast<std::uint32_t>(1 + draws.below(4));
    stage.pass([&](Pass& pass) {
      // Some may not end later, or not much later, and some do not even do so without a guest.
      const auto latest_end = [&](JobId id) {
        constexpr std::array<std::int64_t, 4> kLater{-1, 20, 70, 0};
        const std::int64_t later = kLater[(seed + index(id)) % kLater.size()];
        return later == 0 ? kNever : pass.job(id).limit + whole_seconds(later);
      };
      MateFinder finder(pass, {.mates = mates}, latest_end);
      const Bound bound = pass.job(waits).spec.bound;
      // Few values, so that there are ties, and no penalty for some: these are none.
      const auto penalty = [&](const Mate& mate) -> std::optional<double> {
        const std::uint32_t its = index(mate.job) * 7 % 5;
        if (its == 4 || mate.end > latest_end(mate.job)) return std::nullopt;
        return its + 1.5;
      };
      passed_by += finder.waiting_that_may(idle).empty();
      std::uint16_t last = kPerMille + 1;
      for (const std::uint16_t efficiency : finder.efficiencies(waits)) {
        ASSERT_LT(efficiency, last);
        last = efficiency;
        const Guest guest = finder.guest(waits, efficiency);
        ASSERT_EQ(guest.cores, 4u);
        ASSERT_EQ(guest.shared, quotient(std::int64_t{120'000'000} * 1000, efficiency));
        std::vector<Mate> candidates;
        std::size_t all = 0;
        for (const JobId id : running) {
          const Job& its = pass.job(id);
          if (table.of(bound, its.spec.bound) < efficiency) continue;
          ++all;
          // In 2000ths: it has half of its cores, and does so much of its work on each.
          const std::int64_t rest = (its.limit - pass.now()).count() * 2000 -
                                    guest.shared.count() * table.of(its.spec.bound, bound);
          if (its.size() > wanted || rest < 0) continue;
          Mate mate{.job = id, .nodes = its.size()};
          mate.end = pass.now() + guest.shared + quotient(rest, 2000);
          const std::optional<double> value = penalty(mate);
          if (!value) continue;
          mate.penalty = *value;
          candidates.push_back(mate);
        }
        std::ranges::sort(candidates, [](const Mate& a, const Mate& b) {
          return std::tuple(a.penalty, b.end, a.job) < std::tuple(b.penalty, a.end, b.job);
        });
        const Nodes least = wanted > idle ? wanted - idle : 1;
        const auto expected = tried_one_by_one(candidates, least, wanted, mates);
        const auto chosen = finder.choose(guest, idle, penalty);
        ASSERT_EQ(chosen.mates.empty(), expected.empty()) << "seed " << seed;
        if (chosen.mates.empty()) continue;
        EXPECT_TRUE(finder.may_have_mates(guest, idle));
        EXPECT_EQ(finder.waiting_that_may(idle), std::vector{waits});
        std::vector<JobId> its;
        double sum = 0;
        for (const Mate& mate : chosen.mates) {
          its.push_back(mate.job);
          sum += mate.penalty;
          const auto as = std::ranges::find(candidates, mate.job, &Mate::job);
          ASSERT_NE(as, candidates.end());
          EXPECT_EQ(mate.end, as->end);
          EXPECT_EQ(mate.loss, mate.end - pass.job(mate.job).limit);
        }
        EXPECT_EQ(its, expected) << "seed " << seed;
        EXPECT_EQ(chosen.penalty, sum);
        EXPECT_FALSE(chosen.was_cut);
        ++found;
        several += its.size() > 1;
        of_some += all < running.size();
        if (chosen.nodes < wanted || !table.is_off()) continue;
        EXPECT_TRUE(finder.start(pass, {guest, chosen}));
        EXPECT_EQ(pass.job(waits).status, Status::running);
        for (const Mate& mate : chosen.mates) EXPECT_EQ(pass.job(mate.job).limit, mate.end);
        return;
      }
    });
  }
  EXPECT_GT(found, 80);
  EXPECT_GT(several, 30);
  EXPECT_GT(of_some, 20);
  EXPECT_GT(passed_by, 20);
}

// What the finder believes of a guest and of its mates is what the core believes when it has
// started, if all its mates are such as it is judged by.
TEST(Mates, EndWhenTheFinderSaysSo) {
  int started = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(seed, Stream::test, 4);
    Stage::Setup setup;
    setup.platform = {.nodes = 8, .cores_per_node = 8, .sockets_per_node = 2};
    setup.can.parts = setup.can.instant_cores = true;
    setup.rules.contention = some_contention(draws);
    Stage stage(setup);
    const auto job = [&](Nodes size, std::int64_t walltime_s) {
      JobSpec spec = malleable(exactly(size), size, walltime_s);
      spec.cores = 8;
      spec.bound = some_bound(draws);
      return spec;
    };
    std::vector<JobId> running;
    for (int i = 0; i < 4; ++i) {
      running.push_back(stage.run(job(2, static_cast<std::int64_t>(300 + draws.below(200)))));
    }
    stage.at(10);
    const JobId waits = stage.submit(job(2, static_cast<std::int64_t>(20 + draws.below(30))));
    stage.pass([&](Pass& pass) {
      MateFinder finder(pass, {.mates = 1});
      const Guest guest = finder.guest(waits, finder.efficiencies(waits).front());
      const auto penalty = [](const Mate&) -> std::optional<double> { return 1; };
      const auto chosen = finder.choose(guest, 0, penalty);
      if (chosen.mates.empty() || !finder.start(pass, {guest, chosen})) return;
      ++started;
      const Duration tick{1};
      EXPECT_LE(abs(pass.job(waits).limit - (pass.now() + guest.shared)), tick);
      const Mate& mate = chosen.mates.front();
      EXPECT_LE(abs(pass.job(mate.job).limit - mate.end), tick) << "seed " << seed;
    });
  }
  EXPECT_GT(started, 150);
}

// Of all numbers of cores that a guest could be given, one by one, the one with which it and its
// mates lose the least, each over what it asked for, is among the few that are tried.
TEST(Mates, NoSplitLosesLessThanTheOneOfTheLeastLoss) {
  int found = 0, fewer = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Draws draws(seed, Stream::test, 5);
    Stage::Setup setup;
    setup.platform = {.nodes = 8, .cores_per_node = 8, .sockets_per_node = 2};
    setup.can.parts = setup.can.instant_cores = true;
    setup.rules.contention = some_contention(draws);
    Stage stage(setup);
    const auto job = [&](Nodes size, std::int64_t walltime_s) {
      JobSpec spec = malleable(exactly(size), size, walltime_s);
      spec.cores = static_cast<std::uint16_t>(1 + draws.below(8));
      spec.bound = some_bound(draws);
      return spec;
    };
    for (int i = 0; i < 6; ++i) {
      stage.run(job(1, static_cast<std::int64_t>(500 + draws.below(100))));
    }
    stage.at(10);
    const JobId waits = stage.submit(job(3, static_cast<std::int64_t>(50 + draws.below(250))));
    stage.pass([&](Pass& pass) {
      const auto over = [&](JobId id, Duration time) {
        return to_seconds(time) / to_seconds(pass.job(id).spec.walltime);
      };
      const auto lost = [&](const Mate& mate) -> std::optional<double> {
        return over(mate.job, mate.loss);
      };
      MateFinder finder(pass, {.factor = Decimal(0.75),
                               .mates = 3,
                               .whole_sockets = false,
                               .split = Split::least_loss});
      const auto mates_for = [&](const Guest& guest) {
        ChosenMates chosen = finder.choose(guest, 0, lost);
        chosen.guests = over(waits, guest.shared);
        return chosen;
      };
      const Match best = finder.best(waits, 0, mates_for);
      double least = std::numeric_limits<double>::infinity();
      for (const std::uint16_t efficiency : finder.efficiencies(waits)) {
        for (std::uint32_t cores = 1; cores <= 6; ++cores) {
          const ChosenMates chosen = mates_for(finder.guest(waits, efficiency, 8, cores));
          if (!chosen.mates.empty()) least = std::min(least, chosen.sum());
        }
      }
      ASSERT_EQ(best.empty(), std::isinf(least)) << "seed " << seed;
      if (best.empty()) return;
      EXPECT_NEAR(best.chosen.sum(), least, 1e-6 * least) << "seed " << seed;
      ++found;
      const std::uint32_t uses = pass.job(waits).spec.cores;
      fewer += best.guest.cores < std::min(uses, 6U) ? 1 : 0;
    });
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(fewer, 10);
}

// Who has mates is never passed by for his length, however nodes are shared; and who is alike has
// the same ones.
TEST(Mates, NobodyWhoHasSomeIsPassedBy) {
  int found = 0, passed_by = 0, beside_guests = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws(seed, Stream::test, 6);
    Stage::Setup setup;
    setup.platform = {.nodes = 30, .cores_per_node = 8, .sockets_per_node = 2};
    setup.can.parts = setup.can.instant_cores = true;
    setup.rules.record = false;
    setup.rules.contention = some_contention(draws);
    Stage stage(setup);
    const auto job = [&](Nodes size, std::int64_t walltime_s) {
      JobSpec spec = malleable(exactly(size), size, walltime_s);
      spec.cores = static_cast<std::uint16_t>(2 * draws.below(5));
      spec.ranks = static_cast<std::uint16_t>(1 + draws.below(2));
      spec.bound = some_bound(draws);
      return spec;
    };
    const Sharing sharing{.factor = Decimal(draws.chance(0.5) ? 0.5 : 0.75),
                          .mates = static_cast<std::uint32_t>(1 + draws.below(4)),
                          .guests = static_cast<std::uint32_t>(1 + draws.below(2)),
                          .inside = draws.chance(0.8),
                          .whole_sockets = draws.chance(0.5),
                          .split = draws.chance(0.5) ? Split::most : Split::least_loss};
    const bool are_bound = draws.chance(0.7);
    for (Nodes used = 0, size = 1; used + size <= 30;
         size = static_cast<Nodes>(1 + draws.below(5))) {
      used += size;
      stage.run(job(size, static_cast<std::int64_t>(100 + draws.below(400))));
    }
    stage.at(10);
    for (int i = 0; i < 12; ++i) {
      const auto size = static_cast<Nodes>(1 + draws.below(6));
      stage.submit(job(size, static_cast<std::int64_t>(20 + 20 * draws.below(15))));
    }
    const auto look = [&](Pass& pass) {
      const auto latest_end = [&](JobId id) {
        if (!are_bound || index(id) % 3 == 0) return kNever;
        return pass.job(id).limit + whole_seconds(index(id) % 7 * 10);
      };
      const auto penalty = [&](const Mate& mate) -> std::optional<double> {
        if (mate.end > latest_end(mate.job)) return std::nullopt;
        return to_seconds(mate.loss);
      };
      std::optional<MateFinder> finder(std::in_place, pass, sharing, latest_end);
      for (JobId id = pass.first_pending(); id != JobId::none; id = pass.next_pending(id)) {
        const auto idle = static_cast<Nodes>((seed + index(id)) % 3);
        const std::vector<JobId> those = finder->waiting_that_may(idle);
        const bool may = std::ranges::find(those, id) != those.end();
        EXPECT_TRUE(
            std::ranges::is_sorted(those, [&](JobId a, JobId b) { return pass.before(a, b); }));
        const Match match = finder->best(id, idle, [&](const Guest& guest) {
          const ChosenMates chosen = finder->choose(guest, idle, penalty);
          EXPECT_EQ(finder->choose_once(guest, idle, penalty), chosen) << "seed " << seed;
          return chosen;
        });
        passed_by += !may;
        if (match.empty()) continue;
        EXPECT_TRUE(may) << "seed " << seed << ", job " << index(id);
        ++found;
        const bool is_whole = match.chosen.nodes == match.guest.nodes;
        for (const Mate& mate : match.chosen.mates) {
          beside_guests += pass.job(mate.job).holding.parts.empty() ? 0 : 1;
        }
        // So that others have guests already.
        if (is_whole && finder->start(pass, match)) finder.emplace(pass, sharing, latest_end);
      }
    };
    stage.pass(look);
    stage.at(20);  // those that have started since may have guests, or be beside them
    stage.pass(look);
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(passed_by, 500);
  EXPECT_GT(beside_guests, 50);
}

/// 64 nodes of 8 cores, with jobs of one node each, which all run as long.
Stage many_small(std::uint32_t count) {
  Stage::Setup setup;
  setup.platform = {.nodes = 64, .cores_per_node = 8};
  setup.can.parts = setup.can.instant_cores = true;
  setup.rules.record = false;
  Stage stage(setup);
  for (std::uint32_t i = 0; i < count; ++i) stage.run(malleable(exactly(1), 1, 1000));
  stage.at(10);
  return stage;
}

// There are more sets of eight of 60 jobs than are tried.
TEST(Mates, ALongSearchIsEndedAndThatIsTold) {
  Stage stage = many_small(60);
  const JobId waits = stage.submit(malleable(exactly(8), 8, 60));
  stage.pass([&](Pass& pass) {
    MateFinder finder(pass, {.mates = 8});
    const Guest guest = finder.guest(waits, kPerMille);
    // Each one is worth having, so that no sum is the least before all were tried.
    const ChosenMates of_all = finder.choose(guest, 0, [](const Mate&) { return -1.0; });
    EXPECT_EQ(of_all.mates.size(), 8u);
    EXPECT_TRUE(of_all.was_cut);
    const ChosenMates of_few =
        MateFinder(pass, {.mates = 8, .candidates = 10}).choose(guest, 0, [](const Mate&) {
          return -1.0;
        });
    EXPECT_EQ(of_few.mates.size(), 8u);
    EXPECT_FALSE(of_few.was_cut);
  });
}

TEST(Mates, AGuestThatMayOutliveThemFindsMore) {
  Stage stage = many_small(1);
  const JobId waits = stage.submit(malleable(exactly(1), 1, 1000));  // 2000 s on half of the cores
  stage.pass([&](Pass& pass) {
    const auto none = [](const Mate&) { return 0.0; };
    MateFinder inside(pass, {.mates = 1});
    const Guest guest = inside.guest(waits, kPerMille);
    EXPECT_FALSE(inside.may_have_mates(guest, 0));
    EXPECT_TRUE(inside.choose(guest, 0, none).mates.empty());
    MateFinder any(pass, {.mates = 1, .inside = false});
    EXPECT_TRUE(any.may_have_mates(guest, 0));
    const ChosenMates chosen = any.choose(guest, 0, none);
    ASSERT_EQ(chosen.mates.size(), 1u);
    // 990 s are left of it, at half of its speed, which it has until it ends.
    EXPECT_EQ(chosen.mates[0].end, at_s(10 + 2 * 990));
    EXPECT_EQ(chosen.mates[0].loss, whole_seconds(990));
  });
}

}  // namespace
}  // namespace ductile::testing
