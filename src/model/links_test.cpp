#include "model/links.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

using ::testing::ElementsAre;

std::vector<double> shares(const std::vector<Flow>& flows, const std::vector<double>& links) {
  std::vector<const Flow*> all;
  for (const Flow& flow : flows) all.push_back(&flow);
  return fair_shares(all, links);
}

TEST(FairShares, EachMemberHasTheSame) {
  EXPECT_THAT(shares({{1, 100, {{0}}}, {3, 100, {{0}}}}, {40}), ElementsAre(10, 10));
}

TEST(FairShares, WhatOneCannotTakeOthersHave) {
  EXPECT_THAT(shares({{1, 4, {{0}}}, {2, 100, {{0}}}, {1, 15, {{0}}}}, {40}),
              ElementsAre(4, 12, 12));
  EXPECT_THAT(shares({{1, 4, {{0}}}, {2, 5, {{0}}}}, {40}), ElementsAre(4, 5));
}

TEST(FairShares, AFlowIsAsSlowAsOnItsFullestLink) {
  // The line of three links of which one flow takes all, and three one each.
  EXPECT_THAT(shares({{1, 99, {{0}, {1}, {2}}}, {1, 99, {{0}}}, {1, 99, {{1}}}, {1, 99, {{2}}}},
                     {10, 4, 20}),
              ElementsAre(2, 8, 2, 18));
}

TEST(FairShares, PartsOfAFlowGoOverSeveralLinks) {
  // Halves over two hosts, the second of which is slower.
  EXPECT_THAT(shares({{2, 99, {{0, 0.5}, {1, 0.5}}}}, {10, 4}), ElementsAre(4));
  EXPECT_THAT(shares({{1, 7, {}}}, {}), ElementsAre(7));
  EXPECT_TRUE(shares({}, {1}).empty());
}

// What max-min fair means, for any flows: a link is never overfull; who is slower than it could be
// by itself is on a link that is full, and nobody there is faster.
TEST(FairShares, EachFlowHasABottleneck) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Draws draws(seed, Stream::test, 1);
    const std::size_t count = 1 + draws.below(5);
    std::vector<double> links;
    for (std::size_t i = 0; i < count; ++i) links.push_back(draws.uniform(1, 100));
    std::vector<Flow> flows(draws.below(20));
    for (Flow& flow : flows) {
      flow.members = static_cast<double>(1 + draws.below(16));
      flow.most = draws.uniform(0.1, 30);
      for (std::uint32_t i = 0; i < count; ++i) {
        if (draws.chance(0.4))
          flow.uses.push_back({i, draws.chance(0.5) ? 1 : draws.uniform(0.1, 1)});
      }
    }
    const std::vector<double> rates = shares(flows, links);
    std::vector<double> used(count, 0), fastest(count, 0);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      for (const LinkUse& use : flows[i].uses) {
        used[use.link] += flows[i].members * use.share * rates[i];
        fastest[use.link] = std::max(fastest[use.link], rates[i]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) EXPECT_LE(used[i], links[i] * (1 + 1e-9)) << seed;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      EXPECT_LE(rates[i], flows[i].most);
      if (rates[i] == flows[i].most) continue;
      EXPECT_TRUE(std::ranges::any_of(flows[i].uses, [&](const LinkUse& use) {
        return used[use.link] > links[use.link] * (1 - 1e-9) &&
               fastest[use.link] <= rates[i] * (1 + 1e-9);
      })) << seed;
    }
  }
}

}  // namespace
}  // namespace ductile
