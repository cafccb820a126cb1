#include "scheduling/timeline.hpp"

#include <algorithm>
#include <map>
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
    Timeline timeline(Profile(nodes, free_nodes, now), Profile(power, free_power, now), now);
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

}  // namespace
}  // namespace ductile
