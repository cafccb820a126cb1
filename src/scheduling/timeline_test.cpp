#include "scheduling/timeline.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

Time second(std::int64_t s) { return Time{whole_seconds(s)}; }

/// A step function as a list of changes: slow and plain.
class Naive {
 public:
  explicit Naive(std::int64_t free, Time now) : now_(now) { changes_[now] = free; }

  void change(Time at, std::int64_t by) { changes_[std::max(at, now_)] += by; }
  void release(Time at, std::int64_t nodes) {
    changes_[at <= now_ ? now_ + whole_seconds(1) : at] += nodes;
  }
  void add(Time from, Time to, std::int64_t amount) {
    if (from >= to || to <= now_) return;
    change(from, amount);
    if (to < kNever) change(to, -amount);
  }
  std::int64_t at(Time time) const {
    std::int64_t sum = 0;
    for (const auto& [from, by] : changes_) {
      if (from <= time) sum += by;
    }
    return sum;
  }
  std::int64_t least(Time from, Time to) const {
    std::int64_t sum = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (auto it = changes_.begin(); it != changes_.end(); ++it) {
      if (it->first >= to) break;
      sum += it->second;
      const auto next = std::next(it);
      if (next == changes_.end() || next->first > from) least = std::min(least, sum);
    }
    return least;
  }
  Time earliest(std::int64_t need, Duration length, Time not_before) const {
    const Time begin = std::max(not_before, now_);
    if (least(begin, later(begin, length)) >= need) return begin;
    for (const auto& [from, by] : changes_) {
      if (from > begin && least(from, later(from, length)) >= need) return from;
    }
    return kNever;
  }

 private:
  Time now_;
  std::map<Time, std::int64_t> changes_;
};

TEST(Overlay, IsAStepFunction) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws draws(seed, Stream::test, 1);
    Overlay overlay;
    Naive naive(0, Time{});
    const auto count = draws.below(seed % 4 == 0 ? 300 : 30);
    for (std::uint64_t n = 0; n < count; ++n) {
      const Time from = second(static_cast<std::int64_t>(draws.below(200)));
      const Time to = draws.chance(0.1)
                          ? kNever
                          : from + whole_seconds(static_cast<std::int64_t>(draws.below(100)));
      const auto amount = static_cast<std::int64_t>(draws.below(9)) - 6;
      overlay.add(from, to, amount);
      naive.add(from, to, amount);
    }
    Time last = Time::min();
    std::int64_t most = 0;
    for (std::size_t b = 0; b < overlay.blocks(); ++b) {
      const Overlay::Block& block = overlay.block(b);
      std::int64_t least_in = block.step(0).level, most_in = block.step(0).level;
      for (std::uint32_t i = 0; i < block.size(); ++i) {
        ASSERT_LT(last, block.step(i).from);
        last = block.step(i).from;
        ASSERT_EQ(block.step(i).level, naive.at(last)) << "seed " << seed;
        least_in = std::min(least_in, block.step(i).level);
        most_in = std::max(most_in, block.step(i).level);
      }
      ASSERT_EQ(block.least(), least_in);
      ASSERT_EQ(block.most(), most_in);
      most = std::max(most, most_in);
    }
    ASSERT_GE(overlay.most(), most);  // an upper bound: it does not fall
    for (int n = 0; n < 20 && !overlay.empty(); ++n) {
      const Time time = second(static_cast<std::int64_t>(draws.below(300)));
      const Overlay::Block& block = overlay.block(overlay.block_at(time));
      ASSERT_TRUE(block.from() <= time || overlay.block_at(time) == 0);
    }
  }
}

/// One plan: reservations where they fit, now and then a real start or an imagined grant.
void plan_at_random(std::uint64_t seed, std::uint64_t jobs, bool grants) {
  Draws draws(seed, Stream::test, 2);
  const Time now = second(50) + Duration{draws.chance(0.5) ? 300'000 : 0};
  const auto free = static_cast<std::int64_t>(draws.below(30));
  Releases releases;
  Naive naive(free, now);
  std::uint32_t next = 0;
  std::int64_t total = free;
  for (auto n = draws.below(draws.chance(0.2) ? 200 : 20); n > 0; --n) {
    const Time at = second(static_cast<std::int64_t>(draws.below(300)));
    const auto nodes = static_cast<std::int64_t>(draws.below(12));
    releases.insert(at, ReleaseTag::of(JobId{next++}), nodes);
    naive.release(at, nodes);
    total += nodes;
  }
  Profile profile(releases, free, now);
  const std::uint64_t largest = static_cast<std::uint64_t>(total) + 2;
  for (std::uint64_t n = 0; n < jobs; ++n) {
    const auto need =
        static_cast<std::int64_t>(draws.below(draws.chance(0.8) ? largest / 3 + 1 : largest));
    const Duration length =
        draws.chance(0.03) ? Duration::max()
                           : Duration{static_cast<std::int64_t>(1 + draws.below(80)) * 500'000};
    const Time not_before =
        draws.chance(0.2) ? second(static_cast<std::int64_t>(draws.below(400))) : now;
    const Time at = profile.earliest(need, length, not_before);
    ASSERT_EQ(at, naive.earliest(need, length, not_before))
        << "seed " << seed << ", job " << n << " needs " << need << " for " << to_seconds(length);
    if (at == kNever) continue;
    if (at == now && draws.chance(0.3)) {
      // It really starts: it stands in the releases from now on.
      releases.insert(later(now, length), ReleaseTag::of(JobId{next++}), need);
      profile.took(need);
      naive.change(now, -need);
      if (later(now, length) < kNever) naive.change(later(now, length), need);
    } else if (draws.chance(0.9)) {
      profile.add(at, later(at, length), -need);
      naive.add(at, later(at, length), -need);
    }
    if (grants && draws.chance(0.1)) {
      const Time from = second(static_cast<std::int64_t>(draws.below(300)));
      const Time to = from + whole_seconds(static_cast<std::int64_t>(draws.below(60)));
      const auto amount = static_cast<std::int64_t>(draws.below(6));
      profile.add(from, to, amount);
      naive.add(from, to, amount);
    }
    if (n % 16 == 0) {
      FreeSteps from_now;
      profile.from_now(from_now);
      for (const std::int64_t half : {1, 7, 30, 111, 400}) {
        const Duration window{half * 500'000};
        ASSERT_EQ(from_now.during(window), naive.least(now, now + window)) << "seed " << seed;
      }
    }
  }
}

TEST(Profile, FindsTheEarliestTimeOfFewReservations) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    ASSERT_NO_FATAL_FAILURE(plan_at_random(seed, 12, seed % 3 == 0));
  }
}

TEST(Profile, FindsTheEarliestTimeOfMany) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    ASSERT_NO_FATAL_FAILURE(plan_at_random(10'000 + seed, 250, seed % 3 == 0));
  }
}

TEST(Profile, WhatNeedsNothingOrGivesFitsAtOnce) {
  // A job may draw less than idle nodes do: its need of power is negative.
  Releases releases;
  releases.insert(second(100), ReleaseTag::of(JobId{0}), 10);
  Profile profile(releases, 2, second(0));
  for (int n = 0; n < 40; ++n) {
    const Time at = profile.earliest(5, whole_seconds(10), second(0));
    profile.add(at, at + whole_seconds(10), -5);
  }
  EXPECT_EQ(profile.earliest(0, whole_seconds(40), second(0)), second(0));
  EXPECT_EQ(profile.earliest(-3, whole_seconds(40), second(0)), second(0));
  EXPECT_EQ(profile.earliest(2, whole_seconds(40), second(0)), second(0));
}

TEST(Profile, AGrantMakesRoomAgain) {
  Releases releases;
  releases.insert(second(1000), ReleaseTag::of(JobId{0}), 10);
  Profile profile(releases, 0, second(0));
  for (int n = 0; n < 40; ++n)
    EXPECT_EQ(profile.earliest(5, whole_seconds(10), second(0)), second(1000));
  profile.add(second(20), second(40), 5);
  EXPECT_EQ(profile.earliest(5, whole_seconds(10), second(0)), second(20));
  EXPECT_EQ(profile.earliest(5, whole_seconds(21), second(0)), second(1000));
  EXPECT_EQ(profile.earliest(5, whole_seconds(10), kNever), kNever);
}

// Not more than without any reservation, and still more than when the hint was found.
TEST(Profile, AGrantThatUndoesAReservationMakesRoomAgain) {
  const Releases releases;
  Profile profile(releases, 4, second(0));
  profile.add(second(0), second(1000), -4);
  const Duration length{1 << 24};
  for (int n = 0; n < 40; ++n) EXPECT_EQ(profile.earliest(4, length, second(0)), second(1000));
  profile.add(second(20), second(60), 4);
  EXPECT_EQ(profile.earliest(4, length, second(0)), second(20));
}

TEST(Timeline, SuitsNodesAndPower) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Draws draws(seed, Stream::test, 3);
    const Time now = second(10);
    Releases nodes, power;
    const auto free_nodes = static_cast<std::int64_t>(draws.below(10));
    const auto free_power = static_cast<std::int64_t>(draws.below(10));
    Naive naive_nodes(free_nodes, now), naive_power(free_power, now);
    for (std::uint32_t n = 0; n < 15; ++n) {
      const Time at = second(static_cast<std::int64_t>(draws.below(80)));
      const auto count = static_cast<std::int64_t>(draws.below(4));
      const auto watts = static_cast<std::int64_t>(draws.below(4));
      nodes.insert(at, ReleaseTag::of(JobId{n}), count);
      power.insert(at, ReleaseTag::of(JobId{n}), watts);
      naive_nodes.release(at, count);
      naive_power.release(at, watts);
    }
    Timeline timeline(nodes, free_nodes, Profile(power, free_power, now), now);
    FreeProfile free;
    timeline.from_now(free);
    ASSERT_EQ(free.nodes.during(kTick), naive_nodes.least(now, now + kTick));
    ASSERT_EQ(free.power.during(kTick), naive_power.least(now, now + kTick));
    for (int n = 0; n < 20; ++n) {
      const Demand need{static_cast<Nodes>(draws.below(8)),
                        static_cast<std::int64_t>(draws.below(9)) - 1};
      const Duration length = whole_seconds(static_cast<std::int64_t>(1 + draws.below(20)));
      // The fixed point of the two.
      Time expected = now;
      for (Time last = Time::min(); last != expected && expected != kNever;) {
        last = expected;
        expected = naive_nodes.earliest(need.nodes, length, expected);
        if (expected != kNever) expected = naive_power.earliest(need.power_mw, length, expected);
      }
      const Time at = timeline.earliest(need, length, now);
      ASSERT_EQ(at, expected) << "seed " << seed;
      if (at == kNever) continue;
      timeline.reserve(at, at + length, need);
      naive_nodes.add(at, at + length, -std::int64_t{need.nodes});
      naive_power.add(at, at + length, -need.power_mw);
    }
  }
}

// --- Several cells

/// Cells second by second, up to a horizon: what is free during [t, t + 1 s).
class NaiveCells {
 public:
  static constexpr std::int64_t kSeconds = 1'200;

  NaiveCells(std::size_t cells, std::int64_t now)
      : now_(now), free_(cells + 1, std::vector<std::int64_t>(kSeconds, 0)) {}

  std::size_t cells() const { return free_.size() - 1; }
  std::size_t power() const { return free_.size() - 1; }  // the last one
  void add(std::size_t cell, std::int64_t from, std::int64_t to, std::int64_t amount) {
    for (std::int64_t t = std::max(from, now_); t < std::min(to, kSeconds); ++t) {
      free_[cell][static_cast<std::size_t>(t)] += amount;
    }
  }
  void release(std::size_t cell, std::int64_t at, std::int64_t amount) {
    add(cell, at <= now_ ? now_ + 1 : at, kSeconds, amount);
  }
  std::int64_t least(std::size_t cell, std::int64_t from, std::int64_t length) const {
    std::int64_t least = free_[cell][static_cast<std::size_t>(from)];
    for (std::int64_t t = from; t < std::min(from + length, kSeconds); ++t) {
      least = std::min(least, free_[cell][static_cast<std::size_t>(t)]);
    }
    return least;
  }
  std::int64_t sum(Cells cells, std::int64_t from, std::int64_t length) const {
    std::int64_t sum = 0;
    for_each_cell(cells & ((Cells{1} << this->cells()) - 1), [&](std::uint32_t cell) {
      sum += std::max<std::int64_t>(least(cell, from, length), 0);
    });
    return sum;
  }
  bool fits(const Demand& need, std::int64_t from, std::int64_t length, bool has_power) const {
    return sum(need.cells, from, length) >= need.nodes &&
           (!has_power || least(power(), from, length) >= need.power_mw);
  }
  /// -1: never.
  std::int64_t earliest(const Demand& need, std::int64_t length, std::int64_t from,
                        bool has_power) const {
    for (std::int64_t t = std::max(from, now_); t < kSeconds; ++t) {
      if (fits(need, t, length, has_power)) return t;
    }
    return -1;
  }

 private:
  std::int64_t now_;
  std::vector<std::vector<std::int64_t>> free_;
};

/// One plan over several cells, with power or without, against the model.
void plan_cells_at_random(std::uint64_t seed, std::uint64_t jobs, std::size_t count) {
  Draws draws(seed, Stream::test, 4);
  const std::int64_t now = 50;
  const bool has_power = draws.chance(0.4);
  NaiveCells naive(count, now);
  std::vector<Releases> releases(count + 1);
  Releases together;
  std::vector<std::int64_t> free(count + 1);
  std::uint32_t next = 0;
  for (std::size_t cell = 0; cell <= count; ++cell) {
    free[cell] = static_cast<std::int64_t>(draws.below(8));
    naive.add(cell, now, NaiveCells::kSeconds, free[cell]);
    for (auto n = draws.below(draws.chance(0.2) ? 80 : 8); n > 0; --n) {
      const auto at = static_cast<std::int64_t>(draws.below(300));
      const auto nodes = static_cast<std::int64_t>(draws.below(5));
      releases[cell].insert(second(at), ReleaseTag::of(JobId{next}), nodes);
      if (cell < count) together.insert(second(at), ReleaseTag::of(JobId{next}), nodes);
      ++next;
      naive.release(cell, at, nodes);
    }
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t cell = 0; cell < count; ++cell) {
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(draws.below(cell + 1)), cell);
  }
  std::vector<Profile> cells;
  for (std::size_t cell = 0; cell < count; ++cell) {
    cells.emplace_back(releases[cell], free[cell], second(now));
  }
  std::optional<Profile> power;
  if (has_power) power.emplace(releases[count], free[count], second(now));
  Timeline timeline(std::move(cells), order, draws.chance(0.5) ? &together : nullptr, power,
                    second(now));
  const Cells every = (Cells{1} << count) - 1;
  for (std::uint64_t n = draws.chance(0.3) ? 1 + draws.below(3) : 0; n > 0; --n) {  // bookings
    const auto cell = static_cast<std::uint32_t>(draws.below(count));
    const auto begin = now + static_cast<std::int64_t>(draws.below(60));
    const auto end = begin + static_cast<std::int64_t>(1 + draws.below(60));
    Spread booked;
    booked.add(cell, 1);
    timeline.add(second(begin), second(end), booked, -1);
    naive.add(cell, begin, end, -1);
  }
  if (draws.chance(0.3)) {
    const auto cell = static_cast<std::uint32_t>(draws.below(count));
    std::vector<Overlay::Step> extras;
    for (int n = 0; n < 4; ++n) {
      const auto until = now + static_cast<std::int64_t>(1 + draws.below(90));
      extras.push_back({second(until), static_cast<std::int64_t>(draws.below(3))});
      naive.add(cell, now, until, extras.back().level);
    }
    timeline.free_until(cell, extras);
  }
  bool begins_now = false;
  for (std::uint64_t n = 0; n < jobs; ++n) {
    Demand need;
    need.cells = draws.chance(0.3) ? kEveryCell : 1 + draws.below(every);
    need.nodes = static_cast<Nodes>(1 + draws.below(draws.chance(0.7) ? 10 : 40));
    need.power_mw = static_cast<std::int64_t>(draws.below(6));
    const auto length = static_cast<std::int64_t>(1 + draws.below(40));
    const auto from = draws.chance(0.2) ? static_cast<std::int64_t>(draws.below(200)) : now;
    Spread in;
    const Time at = timeline.earliest(need, whole_seconds(length), second(from), in);
    const std::int64_t expected = naive.earliest(need, length, from, has_power);
    ASSERT_EQ(at, expected < 0 ? kNever : second(expected)) << "seed " << seed << ", job " << n;
    if (expected < 0) continue;
    // It has just what it needs, of its cells, in the order in which they are taken.
    ASSERT_EQ(in.count(), need.nodes);
    ASSERT_EQ(in.cells() & ~need.cells, 0u);
    std::int64_t left = need.nodes;
    for (const std::uint32_t cell : order) {
      if ((need.cells >> cell & 1) == 0) continue;
      const std::int64_t there = std::max<std::int64_t>(naive.least(cell, expected, length), 0);
      ASSERT_EQ(in.of(cell), std::min(there, left)) << "seed " << seed << ", cell " << cell;
      left -= in.of(cell);
    }
    if (expected == now && draws.chance(0.3)) {
      for (const Spread::Part& part : in.parts) {
        const JobId id{next++};
        releases[part.cell].insert(second(now + length), ReleaseTag::of(id), part.count);
        together.insert(second(now + length), ReleaseTag::of(id), part.count);
        naive.add(part.cell, now, now + length, -std::int64_t{part.count});
      }
      if (has_power) {
        releases[count].insert(second(now + length), ReleaseTag::of(JobId{next++}), need.power_mw);
        naive.add(count, now, now + length, -need.power_mw);
      }
      timeline.took(need, in);
    } else {
      timeline.reserve(second(expected), second(expected + length), need, in);
      begins_now |= expected == now;
      for (const Spread::Part& part : in.parts) {
        naive.add(part.cell, expected, expected + length, -std::int64_t{part.count});
      }
      naive.add(count, expected, expected + length, has_power ? -need.power_mw : 0);
    }
    ASSERT_EQ(timeline.begins_now(), begins_now);
    if (draws.chance(0.05)) {
      Spread more;
      more.add(static_cast<std::uint32_t>(draws.below(count)), 2);
      const int sign = draws.chance(0.7) ? 1 : -1;
      const auto begin =
          static_cast<std::int64_t>(now + static_cast<std::int64_t>(draws.below(99)));
      timeline.add(second(begin), second(begin + 30), more, sign);
      naive.add(more.parts[0].cell, begin, begin + 30, 2 * sign);
    }
    if (n % 8 != 0) continue;
    FreeCells free_now;
    timeline.from_now(free_now);
    ASSERT_EQ(free_now.cells.size(), count);
    for (int k = 0; k < 5; ++k) {
      const auto window = static_cast<std::int64_t>(1 + draws.below(150));
      const Demand asked{static_cast<Nodes>(draws.below(20)),
                         static_cast<std::int64_t>(draws.below(8)), 1 + draws.below(every)};
      ASSERT_EQ(free_now.during(asked.cells, whole_seconds(window)),
                naive.sum(asked.cells, now, window));
      ASSERT_EQ(free_now.fits(asked, whole_seconds(window)),
                naive.fits(asked, now, window, has_power));
      FreeProfile lane;
      free_now.of(asked.cells, 0, lane);
      ASSERT_EQ(lane.nodes.during(whole_seconds(window)), naive.sum(asked.cells, now, window));
      if (!free_now.fits(asked, whole_seconds(window))) continue;
      const Spread its = free_now.place(asked, whole_seconds(window));
      ASSERT_EQ(its.count(), asked.nodes);
      ASSERT_EQ(its.cells() & ~asked.cells, 0u);
      for (const Spread::Part& part : its.parts) {
        ASSERT_LE(part.count, naive.least(part.cell, now, window));
      }
    }
  }
}

TEST(Timeline, PlansOverCellsAndPower) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    ASSERT_NO_FATAL_FAILURE(plan_cells_at_random(seed, 14, 2 + seed % 5));
  }
}

TEST(Timeline, PlansManyJobsOverCells) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    ASSERT_NO_FATAL_FAILURE(plan_cells_at_random(1'000 + seed, 150, 2 + seed % 3));
  }
}

// 4 in one cell up to 10 s, and 4 in the other one from 10 s on: a job of 4 that begins now would
// have to change its nodes.
TEST(Timeline, AJobKeepsItsNodes) {
  Releases first, second_cell;
  second_cell.insert(second(10), ReleaseTag::of(JobId{0}), 4);
  const std::vector<std::uint32_t> order{0, 1};
  std::vector<Profile> cells{Profile(first, 4, second(0)), Profile(second_cell, 0, second(0))};
  Timeline timeline(cells, order, nullptr, std::nullopt, second(0));
  const Demand four{4};
  timeline.reserve(second(10), kNever, four, Spread{{{0, 4}}});
  Spread in;
  EXPECT_EQ(timeline.earliest(four, whole_seconds(10), second(0), in), second(0));
  EXPECT_EQ(in, (Spread{{{0, 4}}}));
  EXPECT_EQ(timeline.earliest(four, whole_seconds(11), second(0), in), second(10));
  EXPECT_EQ(in, (Spread{{{1, 4}}}));
  EXPECT_EQ(timeline.earliest({5}, whole_seconds(11), second(0), in), kNever);
  EXPECT_EQ(timeline.earliest({1, 0, 0}, whole_seconds(1), second(0), in), kNever);  // nowhere
}

}  // namespace
}  // namespace ductile
