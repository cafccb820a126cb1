#include "live/policy_messages.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduling/record.hpp"

namespace ductile {
namespace {

using Kind = PolicyAnswer::Kind;

TEST(PolicyMessages, AnAnswerIsThereWhenItsLastByteHasCome) {
  const std::string whole = to_policy_answer("calls", 7, "one\ntwo\n");
  EXPECT_EQ(whole, "calls 7 8\none\ntwo\n");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(first_policy_answer(whole.substr(0, size), 7)) << size;
  }
  const auto its = first_policy_answer(whole + "more", 7);
  ASSERT_TRUE(its);
  EXPECT_EQ(its->kind, Kind::calls);
  EXPECT_EQ(its->text, "one\ntwo\n");
  EXPECT_EQ(its->size, whole.size());
}

TEST(PolicyMessages, AReasonMayHaveLinesAndOneWhoIsLoadedSaysItsTraits) {
  const auto failed = first_policy_answer(to_policy_answer("failed", 0, "why\n\nwhere"), 0);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, Kind::failed);
  EXPECT_EQ(failed->text, "why\n\nwhere");
  const auto ready = first_policy_answer("ready the traits\ncalls", 0);
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->kind, Kind::ready);
  EXPECT_EQ(ready->text, "the traits");
  EXPECT_EQ(ready->size, 17U);
}

TEST(PolicyMessages, WhatNobodyCouldSayIsNonsense) {
  for (const char* const said :
       {"\n", "call 7 0\n", "calls 6 0\n", "calls 7\n", "calls 7 \n", "calls 7 -1\n",
        "calls 7 1 2\n", "calls 7 67108865\n", "failed 8 0\n", "calls  7 0\n", "hello\n"}) {
    const auto its = first_policy_answer(said, 7);
    ASSERT_TRUE(its) << said;
    EXPECT_EQ(its->kind, Kind::nonsense) << said;
  }
  // A line that does not end.
  EXPECT_TRUE(first_policy_answer(std::string(1 << 20, 'x'), 7));
  EXPECT_FALSE(first_policy_answer("calls 7 67108864\n", 7));
}

TEST(PolicyMessages, CallsAreReadAsTheyWereWritten) {
  const PenCall start{.verb = PenCall::Verb::start, .job = JobId{3}, .size = {2, 4}};
  const PenCall wait{.verb = PenCall::Verb::wake_by, .time = Time{whole_seconds(9)}};
  const std::string text = to_record(start) + '\n' + to_record(wait) + '\n';
  EXPECT_THAT(calls_in(text), testing::ElementsAre(start, wait));
  EXPECT_TRUE(calls_in("").empty());
  EXPECT_THROW(calls_in(text + "launch 3\n"), RecordError);
}

}  // namespace
}  // namespace ductile
