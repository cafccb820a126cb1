#include "model/contention.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/complaint.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;

TEST(Contention, IsNothingIfNothingIsSaid) {
  const Contention off;
  EXPECT_TRUE(off.is_off());
  EXPECT_EQ(off.of(Bound::memory, Bound::memory), 1000);
  EXPECT_EQ(parse_contention("off"), off);
  EXPECT_EQ(parse_contention("1"), off);
  EXPECT_EQ(parse_contention("1.000"), off);
  EXPECT_EQ(to_text(off), "off");
}

TEST(Contention, OneNumberIsTheTableFilledWithIt) {
  const Contention all = parse_contention("0.875");
  for (const Bound job : {Bound::compute, Bound::memory, Bound::mixed}) {
    for (const Bound beside : {Bound::compute, Bound::memory, Bound::mixed}) {
      EXPECT_EQ(all.of(job, beside), 875);
    }
  }
  EXPECT_FALSE(all.is_off());
  EXPECT_EQ(to_text(all), "0.875");
}

TEST(Contention, OfPairsMemoryBesideMemoryLosesMost) {
  const Contention pairs = parse_contention("pairs");
  for (const Contention::Row& row : pairs.per_mille) {
    for (const std::uint16_t its : row) {
      EXPECT_GE(its, pairs.of(Bound::memory, Bound::memory));
      EXPECT_LE(its, kPerMille);
      EXPECT_EQ(its % 50, 0);  // rounded to 0.05
    }
  }
  EXPECT_EQ(pairs.of(Bound::compute, Bound::compute), kPerMille);
  EXPECT_GE(pairs.of(Bound::compute, Bound::memory), 950);
}

TEST(Contention, ATableIsByTheJobThenByTheOther) {
  const Contention table = parse_contention("1:0.95:0.9:0.85:0.8:0.75:0.7:0.65:0.001");
  EXPECT_EQ(table.of(Bound::compute, Bound::memory), 950);
  EXPECT_EQ(table.of(Bound::memory, Bound::compute), 850);
  EXPECT_EQ(table.of(Bound::mixed, Bound::mixed), 1);
  EXPECT_EQ(to_text(table), "1:0.95:0.9:0.85:0.8:0.75:0.7:0.65:0.001");
  for (const Contention& each : {table, contention_of_pairs(), contention_of(1)}) {
    EXPECT_EQ(parse_contention(to_text(each)), each) << to_text(each);
  }
}

TEST(Contention, WhatIsNoneIsRefused) {
  for (const char* const text :
       {"", "0", "0.0", "-0.5", "1.001", "0.9995", "0.0005", "x", "0.9 ", "nan", "1e9", "0.9x"}) {
    EXPECT_THAT(testing::complaint([&] { parse_contention(text, {.field = "--contention"}); }),
                HasSubstr("--contention: '" + std::string(text) + "' is no number above 0"))
        << text;
  }
  for (const char* const text :
       {"1:1", "1:1:1:1:1:1:1:1", "1:1:1:1:1:1:1:1:1:1", "1:1:1:1:1:1:1:1:1:"}) {
    EXPECT_THAT(testing::complaint([&] { parse_contention(text); }), HasSubstr("nine numbers"))
        << text;
  }
}

}  // namespace
}  // namespace ductile
