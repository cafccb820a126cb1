#include "scheduling/traits.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Traits, WhatAWorldLacksIsSaidInWords) {
  EXPECT_EQ(lacking({.resizes_per_job = 0}, {}), "");
  EXPECT_EQ(lacking({.resizes_per_job = 1}, {.resizes_per_job = 1}), "");
  EXPECT_EQ(lacking({.resizes_per_job = 1}, {.resizes_per_job = 2}), "resizes: 1 of a job, not 2");
  EXPECT_EQ(lacking({}, {.power_control = true}), "nodes that can be switched on and off");
  EXPECT_EQ(lacking({.power_control = true}, {.power_control = true}), "");
  EXPECT_EQ(lacking({}, {.suspends = true}), "jobs that can be suspended");
  EXPECT_EQ(lacking({.suspends = Suspends::malleable}, {.suspends = true}), "");
}

}  // namespace
}  // namespace ductile
