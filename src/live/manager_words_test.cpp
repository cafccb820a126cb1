#include "live/manager_words.hpp"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

TEST(ManagerWords, OfCountsNothingIsTakenThatCannotBe) {
  const Json json = {{"size", 8U}, {"negative", -1}, {"text", "8"}, {"large", 1U << 25}};
  EXPECT_EQ(count_in(json, "size"), 8U);
  for (const char* field : {"negative", "text", "large", "none"}) {
    EXPECT_EQ(count_in(json, field), 0U) << field;
  }
}

TEST(ManagerWords, MeasuresAreWithinTheirBounds) {
  const Json json = {{"pause_s", 0.5}, {"long", 1e9}, {"negative", -0.1}, {"text", "1"}};
  EXPECT_EQ(measure_in(json, "pause_s", 10), 0.5);
  for (const char* field : {"long", "negative", "text", "none"}) {
    EXPECT_EQ(measure_in(json, field, 10), 0) << field;
  }
}

TEST(ManagerWords, TextsForPeopleAreShortAndPrintable) {
  const Json json = {{"error", "a\x1b[31mb" + std::string(2000, 'x')}, {"count", 3}};
  const std::string words = words_in(json, "error");
  EXPECT_LT(words.size(), 1100U);
  EXPECT_EQ(words.find('\x1b'), std::string::npos);
  EXPECT_EQ(words_in(json, "count"), "");
}

TEST(ManagerWords, WhatWasSeenIsWhatCanHaveBeen) {
  const Observed seen =
      seen_in({{"iterations", 4U}, {"iteration_s", 0.25}, {"looks", 100U}, {"in_mpi", 20U}});
  EXPECT_EQ(seen.iterations, 4U);
  EXPECT_EQ(seen.iteration_time, whole_seconds(1));
  EXPECT_EQ(seen.looks, 100U);
  EXPECT_EQ(seen.in_mpi, 20U);
  EXPECT_EQ(seen_in({{"iterations", 4U}}).iterations, 0U);
  EXPECT_EQ(seen_in({{"looks", 1U}, {"in_mpi", 2U}}).looks, 0U);
}

}  // namespace
}  // namespace ductile
