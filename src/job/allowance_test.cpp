#include "job/allowance.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

const Allowance::Clock::time_point kStart{100h};

int taken(Allowance& allowance, Allowance::Clock::time_point now, int tries) {
  int taken = 0;
  for (int i = 0; i < tries; ++i) taken += allowance.take(now) ? 1 : 0;
  return taken;
}

TEST(Allowance, SoManyAtOnceAndThenOneForEachInterval) {
  Allowance allowance(10, 1s);
  EXPECT_EQ(taken(allowance, kStart, 1000), 10);
  EXPECT_EQ(taken(allowance, kStart + 999ms, 1000), 0);
  EXPECT_EQ(taken(allowance, kStart + 1s, 1000), 1);
  EXPECT_EQ(taken(allowance, kStart + 4500ms, 1000), 3);
  // What was not used does not come together beyond that.
  EXPECT_EQ(taken(allowance, kStart + 1h, 1000), 10);
}

TEST(Allowance, AskedAllTheTimeItGivesOneForEachInterval) {
  Allowance allowance(10, 1s);
  int all = 0;
  for (int ms = 0; ms < 60000; ++ms) all += taken(allowance, kStart + ms * 1ms, 1);
  EXPECT_EQ(all, 10 + 59);
}

TEST(Allowance, WhatWasTakenAtOnceIsMissingLater) {
  Allowance allowance(10, 1s);
  EXPECT_TRUE(allowance.take(kStart, 9));
  EXPECT_TRUE(allowance.take(kStart, 4));  // there is one
  EXPECT_FALSE(allowance.take(kStart + 3s));
  EXPECT_TRUE(allowance.take(kStart + 4s));
}

TEST(Allowance, WhoAsksSlowlyIsNeverRefused) {
  Allowance allowance(1, 1s);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(allowance.take(kStart + i * 1s));
}

}  // namespace
}  // namespace ductile
