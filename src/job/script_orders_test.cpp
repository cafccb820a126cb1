#include "job/script_orders.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using State = ScriptOrders::State;

const ScriptOrders::Clock::time_point kBegin{100h};

TEST(ScriptOrders, AnAnswerWithoutASizeTakesAll) {
  ScriptOrders orders(2, 10s);
  orders.ask(5, kBegin);
  EXPECT_EQ(orders.deadline(), kBegin + 10s);
  EXPECT_EQ(orders.on_size(std::nullopt, kBegin + 1s), "");
  const auto outcome = orders.take_outcome();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->is_done);
  EXPECT_EQ(outcome->from, 2U);
  EXPECT_EQ(outcome->size, 5U);
  EXPECT_EQ(outcome->time, 1s);
  EXPECT_EQ(orders.size(), 5U);
  EXPECT_EQ(orders.deadline(), ScriptOrders::Clock::time_point::max());
  EXPECT_FALSE(orders.take_outcome());
}

TEST(ScriptOrders, APartIsASizeBetweenBoth) {
  ScriptOrders orders(6, 10s);
  orders.ask(2, kBegin);
  EXPECT_NE(orders.on_size(1, kBegin), "");
  EXPECT_NE(orders.on_size(7, kBegin), "");
  EXPECT_EQ(orders.state(), State::asked);
  EXPECT_EQ(orders.on_size(4, kBegin), "");
  EXPECT_TRUE(orders.take_outcome()->is_done);
  EXPECT_EQ(orders.size(), 4U);
}

TEST(ScriptOrders, TheOldSizeIsARefusal) {
  ScriptOrders orders(2, 10s);
  orders.ask(3, kBegin);
  EXPECT_EQ(orders.on_size(2, kBegin), "");
  EXPECT_FALSE(orders.take_outcome()->is_done);
  orders.ask(3, kBegin);
  EXPECT_EQ(orders.on_refusal("not now", kBegin), "");
  EXPECT_EQ(orders.take_outcome()->error, "the program refuses: not now");
  EXPECT_EQ(orders.size(), 2U);
}

TEST(ScriptOrders, OtherPlacesAtTheSameSizeAreTaken) {
  ScriptOrders orders(2, 10s);
  orders.ask(2, kBegin);
  EXPECT_EQ(orders.on_size(2, kBegin), "");
  EXPECT_TRUE(orders.take_outcome()->is_done);
}

TEST(ScriptOrders, WhatIsGivenUpIsOverWhenTheProgramKnows) {
  ScriptOrders orders(2, 10s);
  orders.ask(4, kBegin);
  orders.recall("no answer", kBegin + 10s);
  EXPECT_EQ(orders.take_outcome()->error, "no answer");
  EXPECT_EQ(orders.state(), State::recalled);
  EXPECT_NE(orders.on_size(4, kBegin + 11s), "");  // late
  EXPECT_NE(orders.on_size(std::nullopt, kBegin + 11s), "");
  EXPECT_NE(orders.on_refusal("no", kBegin + 11s), "");
  EXPECT_EQ(orders.state(), State::recalled);
  EXPECT_EQ(orders.on_size(2, kBegin + 12s), "");
  EXPECT_EQ(orders.state(), State::settled);
  EXPECT_FALSE(orders.take_outcome());
}

TEST(ScriptOrders, WithoutAnOrderNothingChanges) {
  ScriptOrders orders(2, 10s);
  EXPECT_EQ(orders.on_size(2, kBegin), "");
  EXPECT_NE(orders.on_size(3, kBegin), "");
  orders.recall("it was withdrawn", kBegin);
  EXPECT_EQ(orders.state(), State::settled);
  orders.end("the job has ended", kBegin);
  EXPECT_FALSE(orders.take_outcome());
  orders.ask(3, kBegin);
  orders.end("the job has ended", kBegin);
  EXPECT_FALSE(orders.take_outcome()->is_done);
  EXPECT_EQ(orders.state(), State::settled);
}

}  // namespace
}  // namespace ductile
