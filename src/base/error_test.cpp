#include "base/error.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(InputError, SaysWhereWhatAndTheRemedy) {
  EXPECT_STREQ(
      InputError({"a.swf", 7, "run time (field 4)"}, "is not a number", "correct it").what(),
      "a.swf:7: run time (field 4): is not a number; correct it");
}

TEST(InputError, PartsOfThePlaceMayBeMissing) {
  EXPECT_STREQ(InputError("no jobs", "give some").what(), "no jobs; give some");
  EXPECT_STREQ(InputError("no jobs", "").what(), "no jobs");
  EXPECT_STREQ(InputError({.file = "a.swf"}, "is empty", "").what(), "a.swf: is empty");
  EXPECT_STREQ(InputError({.file = "a.swf", .line = 3}, "is empty", "").what(),
               "a.swf:3: is empty");
  EXPECT_STREQ(InputError({.field = "nodes"}, "is 0", "give one").what(), "nodes: is 0; give one");
}

TEST(Errors, AreTwoKinds) {
  EXPECT_THROW(throw RunError("the disk is full"), std::runtime_error);
  EXPECT_THROW(throw InputError("bad", "mend it"), std::runtime_error);
}

}  // namespace
}  // namespace ductile
