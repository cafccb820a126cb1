// Limits that are decimals, against whole numbers: a parameter p of k digits behind the point is
// the whole number p 10^k over 10^k, and what passes a limit, and what does not, is one microsecond
// or one node apart.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/wide.hpp"
#include "support/seeds.hpp"
#include "support/world.hpp"
#include "workload/transform.hpp"
#include "workload/transform_text.hpp"

namespace ductile::testing {
namespace {

/// A decimal as it is written, and the whole numbers that it is.
struct Written {
  std::int64_t number = 0, unit = 1;

  std::string text() const {
    std::string digits;
    for (std::int64_t place = unit / 10, rest = number % unit; place > 0; place /= 10) {
      digits += static_cast<char>('0' + rest / place % 10);
    }
    return fmt::format("{}{}{}", number / unit, digits.empty() ? "" : ".", digits);
  }
  std::int64_t down(std::int64_t count) const {
    return static_cast<std::int64_t>(Wide{count} * number / unit);
  }
  std::int64_t up(std::int64_t count) const {
    return static_cast<std::int64_t>((Wide{count} * number + unit - 1) / unit);
  }
};

/// From 0 to `most`, with up to ten digits behind the point, two as often as all others.
Written draw(Draws& draws, std::int64_t most) {
  std::int64_t unit = 100;
  if (draws.chance(0.5)) {
    unit = std::array<std::int64_t, 5>{1, 10, 1'000, 10'000, 10'000'000'000}[draws.below(5)];
  }
  return {static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(most * unit + 1))),
          unit};
}

/// Counts what is wrong, and says what the first such case was.
class Tally {
 public:
  ~Tally() {
    EXPECT_GT(checked_, 0u);
    EXPECT_EQ(wrong_, 0u) << "of " << checked_ << ", first " << first_;
  }
  template <class... Words>
  void expect(bool right, fmt::format_string<Words...> text, Words&&... words) {
    ++checked_;
    if (!right && ++wrong_ == 1) first_ = fmt::format(text, std::forward<Words>(words)...);
  }

 private:
  std::uint64_t checked_ = 0, wrong_ = 0;
  std::string first_;
};

constexpr Duration kLong = whole_seconds(1'000'000);
constexpr JobId kFirst{0}, kSecond{1};

JobSpec with_walltime(JobSpec spec, Duration walltime) {
  spec.walltime = walltime;
  return spec;
}

/// How many nodes a job has that holds the whole machine, `preferred` of `least` to all of them,
/// once another one comes after `elapsed` and needs `need`.
Nodes left_after(const std::string& policy, SizeRange size, Nodes preferred, Duration walltime,
                 Duration elapsed, Nodes need, Nodes machine = 0) {
  SmallWorld world(machine == 0 ? preferred : machine, policy);
  world.submit(with_walltime(malleable(size, preferred), walltime));
  world.close();
  world.now = Time{elapsed};
  world.submit(with_walltime(rigid(need, 1), kLong));
  world.close();
  return world.size(kFirst);
}

// ---- mebf ---------------------------------------------------------------------------------------

/// Feasible asks for theta of the whole time: the job may be shrunk up to the last microsecond at
/// which so much is left.
TEST(MebfLimits, ThetaIsExact) {
  Tally tally;
  const auto check = [&](const Written& theta, std::int64_t walltime) {
    const std::string policy = "mebf:tick=0,gamma=1000,theta=" + theta.text();
    const std::int64_t least = theta.up(walltime);
    for (const std::int64_t left : {least, least - 1}) {
      if (left <= 0 || left >= walltime) continue;
      const Nodes size =
          left_after(policy, {1, 10}, 10, Duration{walltime}, Duration{walltime - left}, 1);
      tally.expect((size < 10) == (left == least), "{}: {} of {} us left", policy, left, walltime);
    }
  };
  for (std::int64_t percent = 1; percent < 100; ++percent) check({percent, 100}, 100'000'000'000);
  for_seeds(200, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 1);
    check(draw(draws, 1), 1 + static_cast<std::int64_t>(draws.below(1'000'000'000'000)));
  });
}

/// With half of its nodes from t on, a linear job of walltime w takes 2 w - t in all, which may be
/// up to gamma w.
TEST(MebfLimits, GammaIsExact) {
  Tally tally;
  const auto check = [&](const Written& gamma, std::int64_t walltime) {
    const std::string policy = "mebf:tick=0,theta=0,share_factor=0.5,gamma=" + gamma.text();
    const std::int64_t first = 2 * walltime - gamma.down(walltime);
    for (const std::int64_t elapsed : {first, first - 1}) {
      if (elapsed <= 0 || elapsed >= walltime) continue;
      const Nodes size = left_after(policy, {1, 10}, 10, Duration{walltime}, Duration{elapsed}, 1);
      tally.expect((size < 10) == (elapsed == first), "{}: after {} of {} us", policy, elapsed,
                   walltime);
    }
  };
  for (std::int64_t percent = 101; percent < 200; ++percent) check({percent, 100}, 100'000'000'000);
  for_seeds(200, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 2);
    const Written gamma = draw(draws, 1);
    check({gamma.unit + gamma.number, gamma.unit},
          1 + static_cast<std::int64_t>(draws.below(1'000'000'000'000)));
  });
}

TEST(MebfLimits, TheShareIsExact) {
  Tally tally;
  const auto check = [&](const Written& share, Nodes nodes) {
    const std::string policy = "mebf:tick=0,theta=0,gamma=1000000,share_factor=" + share.text();
    const auto gives = std::min(static_cast<Nodes>(share.down(nodes)), nodes - 1);
    const Nodes size =
        left_after(policy, {1, nodes}, nodes, whole_seconds(100), whole_seconds(1), 1);
    tally.expect(size == nodes - gives, "{} of {}", policy, nodes);
  };
  for (std::int64_t percent = 1; percent <= 100; ++percent) check({percent, 100}, 100);
  // Hardly less than a whole number of nodes is not that number.
  constexpr std::int64_t kUnit = 10'000'000'000;
  for (Nodes nodes = 2; nodes <= 20; ++nodes) {
    for (Nodes part = 1; part < nodes; ++part) check({kUnit / nodes * part, kUnit}, nodes);
  }
  for_seeds(500, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 3);
    const auto bits = draws.below(20);
    check(draw(draws, 1), static_cast<Nodes>(2 + draws.below(std::uint64_t{1} << bits)));
  });
}

/// A job takes what is free if that is more than spare_ratio of what it has, and so much stays
/// idle.
TEST(MebfLimits, TheSpareRatioIsExact) {
  Tally tally;
  const auto check = [&](const Written& ratio, Nodes nodes, Nodes free) {
    const std::string policy =
        "mebf:tick=0,theta=0,gamma=1000000,expand=spare,spare_ratio=" + ratio.text();
    SmallWorld world(nodes + free, policy);
    world.submit(malleable({1, nodes + free}, nodes, 100));
    world.submit(rigid(free, 1));
    world.close();
    world.at(1);
    world.end(kSecond);
    world.close();
    const bool takes = std::int64_t{free} * ratio.unit > nodes * ratio.number;
    const std::int64_t gets = takes ? std::max<std::int64_t>(free - ratio.up(nodes), 0) : 0;
    tally.expect(world.size(kFirst) == nodes + gets, "{}: {} nodes, {} free", policy, nodes, free);
  };
  for (std::int64_t percent = 1; percent <= 200; ++percent) {
    const Written ratio{percent, 100};
    for (const std::int64_t more : {0, 1, 2}) {
      check(ratio, 100, static_cast<Nodes>(ratio.up(100) + more));
    }
  }
  for_seeds(500, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 4);
    const Written ratio = draw(draws, 3);
    const auto nodes = static_cast<Nodes>(1 + draws.below(std::uint64_t{1} << draws.below(20)));
    check(ratio, nodes, static_cast<Nodes>(ratio.up(nodes) + 1 + draws.below(3)));
  });
}

/// Of two jobs whose curves are the same, in other units or from other sizes asked for, the one
/// with the smaller number is shrunk first.
TEST(MebfTies, EqualCurvesAreEquallyScalable) {
  Tally tally;
  const auto check = [&](Nodes size, Nodes preferred, const std::string& one,
                         const std::string& other) {
    SmallWorld world(2 * size, "mebf:tick=0,theta=0,gamma=1000000,share_factor=1");
    world.submit(malleable({1, preferred}, size, 1000), {.speedup = parse_speedup(one)});
    // There are no more nodes for it.
    world.submit(malleable({1, preferred}, preferred, 1000), {.speedup = parse_speedup(other)});
    world.close();
    ASSERT_EQ(world.size(kSecond), size);
    world.at(1);
    world.submit(rigid(1, 10));
    world.close();
    tally.expect(world.size(kFirst) == 1 && world.size(kSecond) == size, "{} and {} at {} of {}",
                 one, other, size, preferred);
  };
  for_seeds(500, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 5);
    const auto between = [&](std::uint64_t low, std::uint64_t high) {
      return static_cast<std::int64_t>(low + draws.below(high - low + 1));
    };
    const auto size = static_cast<Nodes>(between(2, 16));
    const auto preferred = static_cast<Nodes>(between(size, 2 * size));
    std::vector<std::pair<std::string, std::string>> same;
    const std::string amdahl = "amdahl:" + draw(draws, 1).text();
    same.emplace_back(amdahl, amdahl);
    const std::string downey = fmt::format("downey:{}:{}", between(1, 64), draw(draws, 2).text());
    same.emplace_back(downey, downey);
    // In tenths and in other units.
    std::string table = "table", scaled = "table", powers = "table", fewer = "table";
    const std::int64_t factor = between(2, 20);
    std::int64_t time = between(1'000, 100'000);
    auto nodes = static_cast<Nodes>(between(1, 4));
    for (int i = 0; i < 4; ++i) {
      table += fmt::format(":{}={}", nodes, Written{time, 10}.text());
      scaled += fmt::format(":{}={}", nodes, Written{time * factor, 10}.text());
      nodes += static_cast<Nodes>(between(1, nodes));
      time = std::max<std::int64_t>(time * between(5, 9) / 10, 1);
    }
    same.emplace_back(table, scaled);
    // With and without points that lie on the curve between others.
    time = 1;
    const std::int64_t base = between(2, 3), all = 6;
    for (std::int64_t i = 0; i < all; ++i) time *= base + 1;
    for (std::int64_t i = 0; i <= all; ++i) {
      const std::string point = fmt::format(":{}={}", 1 << i, time);
      powers += point;
      if (i == 0 || i == all || draws.chance(0.5)) fewer += point;
      time = time / (base + 1) * base;
    }
    same.emplace_back(powers, fewer);
    same.emplace_back("table:1=64:64=1", "linear");
    for (const auto& [one, other] : same) {
      check(size, preferred, one, other);
      check(size, preferred, other, one);
    }
  });
}

// ---- elastic ------------------------------------------------------------------------------------

/// Nobody is shrunk who has done x percent of its work.
TEST(ElasticLimits, XIsExact) {
  Tally tally;
  const auto check = [&](const Written& x, std::int64_t walltime) {
    const std::string policy = "elastic:algorithm=application,t=0,x=" + x.text();
    const std::int64_t first = Written{x.number, 100 * x.unit}.up(walltime);
    for (const std::int64_t done : {first - 1, first}) {
      if (done <= 0 || done >= walltime) continue;
      const Nodes size = left_after(policy, {1, 10}, 10, Duration{walltime}, Duration{done}, 1);
      tally.expect((size < 10) == (done < first), "{}: {} of {} us done", policy, done, walltime);
    }
  };
  for (std::int64_t percent = 1; percent < 100; ++percent) check({percent, 1}, 100'000'000'000);
  for_seeds(200, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 6);
    check(draw(draws, 100), 1 + static_cast<std::int64_t>(draws.below(1'000'000'000'000)));
  });
}

/// Nobody is shrunk while more than u percent of the nodes are in use.
TEST(ElasticLimits, UIsExact) {
  Tally tally;
  const auto check = [&](const Written& u, Nodes machine) {
    const auto most = static_cast<Nodes>(Written{u.number, 100 * u.unit}.down(machine));
    for (const Nodes used : {most, most + 1}) {
      if (used < 2 || used >= machine) continue;
      const Nodes size = left_after("elastic:algorithm=system,u=" + u.text(), {1, used}, used,
                                    kLong, whole_seconds(1), machine - used + 1, machine);
      tally.expect((size < used) == (used == most), "{} % of {}: {}", u.text(), machine, used);
    }
  };
  for (std::int64_t permille = 1; permille < 1000; ++permille) check({permille, 10}, 1000);
  for_seeds(200, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 7);
    check(draw(draws, 100),
          static_cast<Nodes>(1 + draws.below(std::uint64_t{1} << draws.below(20))));
  });
}

// ---- Changes of workloads -----------------------------------------------------------------------

/// Sizes that are factors of the size asked for: the smallest one rounded up, the largest one down.
TEST(Changes, FactorsOfSizesAreExact) {
  Tally tally;
  const auto check = [&](const Written& min, const Written& max, Nodes nodes) {
    Workload workload;
    workload.jobs.push_back({.name = 1, .runtime = kLong, .walltime = kLong, .nodes = nodes});
    Transform changes;
    const std::string text = fmt::format("1:min={},max={}", min.text(), max.text());
    changes.malleable = parse_share("--malleable", text);
    transform(workload, changes, 0, 1);
    const SizeRange size = workload.adaptive.at(0).size;
    const SizeRange expected{static_cast<Nodes>(std::max<std::int64_t>(min.up(nodes), 1)),
                             static_cast<Nodes>(max.down(nodes))};
    tally.expect(size == expected, "{} of {}", text, nodes);
  };
  for (std::int64_t percent = 1; percent <= 100; ++percent) {
    check({percent, 100}, {100 + percent, 100}, 100);
    check({percent, 100}, {100 + percent, 100}, 300'000'000);
  }
  for_seeds(2'000, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 8);
    const Written min = draw(draws, 1);
    Written max = draw(draws, 3);
    max.number += max.unit;
    check(min, max, static_cast<Nodes>(1 + draws.below(std::uint64_t{1} << draws.below(29))));
  });
}

/// The largest change that evolving jobs ask for is a factor of their sizes, rounded down.
TEST(Changes, TheLargestRequestIsExact) {
  Tally tally;
  for (std::int64_t percent = 1; percent <= 100; ++percent) {
    Workload workload;
    for (std::uint64_t name = 1; name <= 500; ++name) {
      workload.jobs.push_back({.name = name, .runtime = kLong, .walltime = kLong, .nodes = 100});
    }
    Transform changes;
    const std::string text =
        "1:max=1000,count=4,expand=1,delta_max=" + Written{percent, 100}.text();
    changes.evolving = parse_evolving("--evolving", text, changes.requests);
    transform(workload, changes, 0, 1);
    std::int32_t most = 0;
    for (const AdaptiveJob& more : workload.adaptive) {
      for (const EvolvingStep& step : more.steps) most = std::max(most, step.delta);
    }
    tally.expect(most == percent, "{} of 100: {}", text, most);
  }
}

/// To the nearest microsecond, half up.
TEST(Changes, FactorsOfTimesAreExact) {
  Tally tally;
  for_seeds(2'000, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 9);
    Written factor = draw(draws, 3);
    factor.number = std::max<std::int64_t>(factor.number, 1);
    const auto time = [&] {
      return static_cast<std::int64_t>(1 + draws.below(std::uint64_t{1} << draws.below(59)));
    };
    const Duration gap{time()}, runtime{time()};
    Workload workload;
    workload.jobs.push_back({.name = 1, .runtime = runtime, .walltime = runtime, .nodes = 1});
    workload.jobs.push_back(
        {.name = 2, .submit = Time{gap}, .runtime = runtime, .walltime = runtime, .nodes = 1});
    const Decimal read = Decimal::parse(factor.text()).value();
    transform(workload, {.arrival_scale = read, .speed_factor = read}, 1, 1);
    const auto scaled = [&](Duration from) {
      const Wide twice = Wide{2} * from.count() * factor.number + factor.unit;
      return Duration{static_cast<std::int64_t>(twice / (2 * factor.unit))};
    };
    const WorkloadJob& job = workload.jobs[1];
    tally.expect(job.submit == Time{scaled(gap)}, "{} of {} us", factor.text(), gap.count());
    tally.expect(job.runtime == std::max(scaled(runtime), kTick), "{} of {} us", factor.text(),
                 runtime.count());
  });
}

}  // namespace
}  // namespace ductile::testing
