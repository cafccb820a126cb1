#include "job/generation.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace ductile {
namespace {

ProgramSizes even_from_2_to_8() {
  return {.range = {2, 8}, .constraint = parse_constraint("even")};
}

TEST(ProgramSizes, AreAsTheProgramSays) {
  const ProgramSizes sizes = even_from_2_to_8();
  EXPECT_TRUE(sizes.allow(8));
  EXPECT_FALSE(sizes.allow(7));
  EXPECT_FALSE(sizes.allow(10));
  EXPECT_EQ(sizes.objection(7), "the program cannot have 7 processes, but 2 to 8, even");
  EXPECT_EQ((ProgramSizes{.range = {3, wire::kMaxProcesses}}.objection(1)),
            "the program cannot have 1 processes, but 3 or more");
}

TEST(ProgramSizes, AreNotMoreThanThereIsRoomFor) {
  EXPECT_EQ(even_from_2_to_8().at_most(7), 6u);
  EXPECT_EQ(even_from_2_to_8().at_most(100), 8u);
  EXPECT_EQ(even_from_2_to_8().at_most(1), 0u);
}

TEST(ProgramSizes, AreOthersThanNow) {
  EXPECT_EQ(even_from_2_to_8().near(5, 6), 4u);
  EXPECT_EQ(even_from_2_to_8().near(5, 4), 6u);  // the next one, as it has the one below
  EXPECT_EQ(even_from_2_to_8().near(1, 4), 2u);
}

TEST(Generation, IsOverWhenItsPipesAreClosedToo) {
  Generation generation;
  EXPECT_FALSE(generation.is_gone());
  generation.status = 0;
  generation.process.err = Descriptor(dup(STDERR_FILENO));
  EXPECT_TRUE(generation.is_gone());
  EXPECT_FALSE(generation.is_over());
  generation.process.err.reset();
  EXPECT_TRUE(generation.is_over());
}

// What could not be held is told of the job's generations alone.
TEST(Generation, IsHeardWhenAllIsTold) {
  Generation generation;
  EXPECT_TRUE(generation.has_been_heard());
  generation.lost = 1;
  EXPECT_FALSE(generation.has_been_heard());
  generation.is_discarded = true;
  EXPECT_TRUE(generation.has_been_heard());
}

}  // namespace
}  // namespace ductile
