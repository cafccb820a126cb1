#include "job/affinity.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Affinity, OnlyTheKernelKnowsWhichProcessorsThereAre) {
  const NodeSet own = own_cpus();
  ASSERT_FALSE(own.empty());
  NodeSet first, none;
  first.append(own.parts.front().first, own.parts.front().first);
  none.append(1000, 1023);
  const NodeSet both = united(first, none);
  EXPECT_EQ(allowed_cpus(first), first);
  EXPECT_EQ(allowed_cpus(both), first);
  EXPECT_TRUE(allowed_cpus(none).empty());
  EXPECT_TRUE(allowed_cpus({}).empty());
  EXPECT_EQ(own_cpus(), own);  // another thread has asked
}

}  // namespace
}  // namespace ductile
