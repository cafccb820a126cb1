#include "simulation/transfers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ductile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr JobId kA{1}, kB{2}, kC{3};

TEST(Transfers, TellWhoIsSlowerOrFaster) {
  const std::vector<double> links{40};
  const std::vector<Flow> two{{2, 20, {{0}}}}, other{{2, 20, {{0, 1}}}}, slow{{1, 5, {{0}}}};
  Transfers transfers(links);
  transfers.set(kA, two);
  EXPECT_THAT(transfers.settle(), IsEmpty());  // alone
  transfers.set(kB, slow);
  EXPECT_THAT(transfers.settle(), ElementsAre(Pair(kA, 0.875)));
  transfers.set(kC, two);
  EXPECT_THAT(transfers.settle(), ElementsAre(Pair(kA, 0.4375), Pair(kC, 0.4375)));
  EXPECT_THAT(transfers.settle(), IsEmpty());
  transfers.set(kA, other);  // the same
  EXPECT_THAT(transfers.settle(), IsEmpty());
  transfers.set(kA, {});
  EXPECT_THAT(transfers.settle(), ElementsAre(Pair(kA, 1), Pair(kC, 0.875)));
  transfers.set(kB, {});
  EXPECT_THAT(transfers.settle(), ElementsAre(Pair(kC, 1)));
}

TEST(Transfers, OfOtherLinksAreLeftAlone) {
  const std::vector<double> links{10, 10, 10};
  const std::vector<Flow> first{{1, 10, {{0}}}}, both{{1, 10, {{0}, {1}}}}, third{{1, 10, {{2}}}};
  Transfers transfers(links);
  transfers.set(kA, first);
  transfers.set(kC, third);
  EXPECT_THAT(transfers.settle(), IsEmpty());
  transfers.set(kB, both);
  EXPECT_THAT(transfers.settle(), ElementsAre(Pair(kA, 0.5), Pair(kB, 0.5)));
  transfers.set(kC, {});
  EXPECT_THAT(transfers.settle(), IsEmpty());
}

TEST(Transfers, AJobIsAsSlowAsItsSlowestFlow) {
  const std::vector<double> links{10, 10};
  const std::vector<Flow> here{{1, 10, {{0}}}}, there{{3, 10, {{1}}}};
  const std::vector<Flow> both{{1, 10, {{0}}}, {1, 10, {{1}}}};
  Transfers transfers(links);
  transfers.set(kA, here);
  transfers.set(kB, there);
  transfers.set(kC, both);
  EXPECT_THAT(transfers.settle(), ElementsAre(Pair(kA, 0.5), Pair(kB, 0.25), Pair(kC, 0.25)));
}

TEST(Transfers, OneThatEndsAndBeginsAtOnceIsToldOf) {
  const std::vector<double> links{10};
  const std::vector<Flow> flow{{1, 10, {{0}}}}, slower{{1, 5, {{0}}}};
  Transfers transfers(links);
  transfers.set(kA, flow);
  transfers.set(kB, flow);
  transfers.settle();
  transfers.set(kB, {});
  transfers.set(kB, slower);
  EXPECT_THAT(transfers.settle(), ElementsAre(Pair(kB, 1)));
}

}  // namespace
}  // namespace ductile
