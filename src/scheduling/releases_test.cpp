#include "scheduling/releases.hpp"

#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

using Rows = std::map<std::pair<Time, ReleaseTag>, std::int64_t>;

Time second(std::int64_t s) { return Time{whole_seconds(s)}; }

/// What is released after `now`, up to `time`; late rows come at now + 1 s.
std::int64_t naive_until(const Rows& rows, Time now, Time time) {
  std::int64_t sum = 0;
  for (const auto& [key, nodes] : rows) {
    const Time at = key.first <= now ? now + whole_seconds(1) : key.first;
    if (at <= time) sum += nodes;
  }
  return sum;
}

/// The first time from `from` on, before `end`, at which so many are released.
Time naive_reach(const Rows& rows, Time now, Time from, std::int64_t nodes, Time end) {
  if (naive_until(rows, now, from) >= nodes) return from;
  Time first = kNever;
  for (const auto& [key, count] : rows) {
    const Time at = key.first <= now ? now + whole_seconds(1) : key.first;
    if (at > from && at < end && naive_until(rows, now, at) >= nodes) first = std::min(first, at);
  }
  return first;
}

TEST(Releases, CursorAgreesWithTheSum) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draws draws(seed, Stream::test, 0);
    Releases releases;
    Rows rows;
    const auto count = draws.below(seed % 3 == 0 ? 400 : 40);
    for (std::uint64_t n = 0; n < count; ++n) {
      const Time at = second(static_cast<std::int64_t>(draws.below(100)));
      const ReleaseTag who = ReleaseTag::of(JobId{static_cast<std::uint32_t>(n)});
      const auto nodes = static_cast<std::int64_t>(draws.below(10));
      releases.insert(at, who, nodes);
      rows[{at, who}] = nodes;
    }
    while (!rows.empty() && draws.chance(0.9)) {
      auto row = rows.begin();
      std::advance(row, draws.below(rows.size()));
      releases.erase(row->first.first, row->first.second);
      rows.erase(row);
    }
    ASSERT_EQ(releases.size(), rows.size());

    for (int n = 0; n < 20; ++n) {
      // Now and then in the middle of a second, so that now + 1 s lies between two rows.
      const Time now = second(static_cast<std::int64_t>(draws.below(100))) +
                       Duration{draws.chance(0.5) ? 500'000 : 0};
      Releases::Cursor cursor(releases, now);
      Time time = now;
      for (int step = 0; step < 8; ++step) {
        if (draws.chance(0.5)) {
          time += Duration{static_cast<std::int64_t>(draws.below(15)) * 500'000};
          ASSERT_EQ(cursor.until(time), naive_until(rows, now, time)) << "seed " << seed;
        } else {
          const auto nodes = static_cast<std::int64_t>(draws.below(count * 5 + 1));
          const Time end =
              draws.chance(0.5)
                  ? kNever
                  : time + Duration{static_cast<std::int64_t>(draws.below(40)) * 500'000};
          const Time expected = naive_reach(rows, now, time, nodes, end);
          const Time found = cursor.reach(nodes, end);
          ASSERT_EQ(found, expected) << "seed " << seed;
          if (found == kNever) break;  // it may stand anywhere before the end
          time = found;
        }
      }
    }
  }
}

TEST(Releases, WhatIsLateComesInASecond) {
  Releases releases;
  releases.insert(second(5), ReleaseTag::of(JobId{0}), 3);
  releases.insert(second(10), ReleaseTag::of(JobId{1}), 4);
  EXPECT_EQ(Releases::Cursor(releases, second(5)).until(second(5)), 0);
  EXPECT_EQ(Releases::Cursor(releases, second(5)).until(second(6)), 3);
  EXPECT_EQ(Releases::Cursor(releases, second(20)).reach(7), second(21));
  EXPECT_EQ(Releases::Cursor(releases, second(20)).reach(8), kNever);
  // Nothing is stored: asked earlier, it comes when it should.
  EXPECT_EQ(Releases::Cursor(releases, second(4)).reach(3), second(5));
}

TEST(Releases, TagsTellWhoReleases) {
  EXPECT_EQ(ReleaseTag::of(JobId{7}).kind(), ReleaseTag::Kind::job);
  EXPECT_EQ(ReleaseTag::of(JobId{7}).id(), 7u);
  EXPECT_EQ(ReleaseTag::of(ClaimId{3}).kind(), ReleaseTag::Kind::claim);
  EXPECT_EQ(ReleaseTag::incoming(JobId{7}).kind(), ReleaseTag::Kind::incoming);
  EXPECT_EQ(ReleaseTag::boot(2).kind(), ReleaseTag::Kind::boot);
  EXPECT_NE(ReleaseTag::of(JobId{7}), ReleaseTag::incoming(JobId{7}));
}

}  // namespace
}  // namespace ductile
