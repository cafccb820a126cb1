#include "base/index_set.hpp"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

using Plain = std::set<std::uint32_t>;

std::uint32_t next_of(const Plain& set, std::uint32_t from) {
  const auto at = set.lower_bound(from);
  return at == set.end() ? IndexSet::kNone : *at;
}

TEST(IndexSet, OfNothingHasNothing) {
  IndexSet set;
  for (const std::uint32_t i : {0U, 63U, 64U, 1U << 20, IndexSet::kNone}) {
    EXPECT_EQ(set.next(i), IndexSet::kNone);
    set.erase(i);  // was not there
  }
}

// The first number of a level and the last one of it, where words and levels end.
TEST(IndexSet, FindsWhatIsAtTheEdges) {
  for (const std::uint32_t at :
       {0U, 1U, 63U, 64U, 65U, 4095U, 4096U, 4097U, 262'143U, 262'144U, 5'000'000U}) {
    IndexSet set;
    set.insert(at);
    EXPECT_EQ(set.next(0), at);
    EXPECT_EQ(set.next(at), at);
    EXPECT_EQ(set.next(at + 1), IndexSet::kNone);
    set.insert(at + 70);
    EXPECT_EQ(set.next(at + 1), at + 70);
    set.erase(at);
    EXPECT_EQ(set.next(0), at + 70);
    set.erase(at + 70);
    EXPECT_EQ(set.next(0), IndexSet::kNone);
  }
}

// Numbers up to `most`, most of them near each other for a while; as jobs come and go, too, in
// order. Also those that are there already, or no longer, are added and removed.
TEST(IndexSet, IsThatOfTheLibrary) {
  int found = 0, none = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draws draws(seed, Stream::test, 0);
    const std::uint64_t most = std::uint64_t{1} << (1 + draws.below(20));
    IndexSet set;
    Plain plain;
    std::uint64_t near = 0;
    for (int n = 0; n < 3'000; ++n) {
      if (draws.chance(0.02)) near = draws.below(most);
      const auto any = [&] {
        return static_cast<std::uint32_t>(draws.chance(0.5) ? draws.below(most)
                                                            : near + draws.below(130));
      };
      const std::uint32_t i = any();
      if (draws.chance(n / 500 % 2 == 0 ? 0.7 : 0.2)) {
        set.insert(i);
        plain.insert(i);
      } else if (draws.chance(0.5) || plain.empty()) {
        set.erase(i);
        plain.erase(i);
      } else {
        set.erase(*plain.begin());
        plain.erase(plain.begin());
      }
      const std::uint32_t from = any();
      ASSERT_EQ(set.next(from), next_of(plain, from)) << "seed " << seed << ", step " << n;
      ++(set.next(from) == IndexSet::kNone ? none : found);
      ASSERT_EQ(set.next(0), next_of(plain, 0)) << "seed " << seed << ", step " << n;
    }
    const IndexSet copy = set;
    std::uint32_t last = 0;
    for (const std::uint32_t each : plain) {
      ASSERT_EQ(copy.next(last), each);
      last = each + 1;
    }
    ASSERT_EQ(copy.next(last), IndexSet::kNone);
  }
  EXPECT_GT(found, 10'000);
  EXPECT_GT(none, 5'000);
}

}  // namespace
}  // namespace ductile
