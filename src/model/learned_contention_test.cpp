#include "model/learned_contention.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(LearnedContention, IsWhatWasBelievedBeforeWhereNothingWasSeen) {
  EXPECT_TRUE(LearnedContention().model().is_off());
  EXPECT_EQ(LearnedContention(contention_of_pairs()).model(), contention_of_pairs());
}

TEST(LearnedContention, KnowsAPairThatWasSeenForAMinute) {
  LearnedContention learned(contention_of(900));
  learned.add(Bound::memory, Bound::compute, whole_seconds(20), whole_seconds(40));
  EXPECT_EQ(learned.model(), contention_of(900));
  learned.add(Bound::memory, Bound::compute, whole_seconds(10), whole_seconds(20));
  Contention expected = contention_of(900);
  expected.per_mille[1][0] = 500;
  EXPECT_EQ(learned.model(), expected);
}

TEST(LearnedContention, ALongTimeCountsMoreThanAShortOne) {
  LearnedContention learned;
  learned.add(Bound::mixed, Bound::mixed, whole_seconds(90), whole_seconds(100));
  learned.add(Bound::mixed, Bound::mixed, whole_seconds(540), whole_seconds(900));
  EXPECT_EQ(learned.model().of(Bound::mixed, Bound::mixed), 630);
}

TEST(LearnedContention, RoundsToThousandthsAndLeavesSomethingOfAll) {
  const auto seen = [](std::int64_t alone_us) {
    LearnedContention learned;
    learned.add(Bound::compute, Bound::compute, Duration{alone_us}, whole_seconds(60));
    return learned.model().of(Bound::compute, Bound::compute);
  };
  EXPECT_EQ(seen(39'029'999), 650);
  EXPECT_EQ(seen(39'030'000), 651);
  EXPECT_EQ(seen(0), 1);
  EXPECT_EQ(seen(-5), 1);
  EXPECT_EQ(seen(60'000'001), 1000);  // times are rounded
}

TEST(LearnedContention, NoTimeSaysNothing) {
  LearnedContention learned;
  learned.add(Bound::compute, Bound::compute, whole_seconds(600), Duration{});
  EXPECT_TRUE(learned.model().is_off());
}

}  // namespace
}  // namespace ductile
