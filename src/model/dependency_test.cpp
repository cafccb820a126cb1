#include "model/dependency.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(Dependencies, AreReadAsSlurmDoes) {
  const auto read = parse_dependencies("afterok:12:13,afterany:4,after:1,afternotok:2");
  ASSERT_EQ(read.size(), 5u);
  EXPECT_EQ(read[1], (Dependency{Dependency::Kind::afterok, 13}));
  EXPECT_EQ(to_text(read), "afterok:12:13,afterany:4,after:1,afternotok:2");
  EXPECT_EQ(parse_dependencies(to_text(read)), read);
  for (const char* text : {"", "afterok", "afterok:", "afterok:0", "afterok:x", "afterok:1,",
                           "before:1", "afterok:1?afterany:2", "afterok::1"}) {
    EXPECT_THROW(parse_dependencies(text), InputError) << text;
  }
}

TEST(Dependencies, AreFulfilledOrNeverWillBe) {
  using Kind = Dependency::Kind;
  using Stage = Dependency::Stage;
  const auto all = [](Kind kind) {
    std::string text;
    for (const Stage stage : {Stage::waits, Stage::runs, Stage::succeeded, Stage::failed}) {
      text += "y.n"[static_cast<int>(fulfilled(kind, stage))];
    }
    return text;
  };
  EXPECT_EQ(all(Kind::after), ".yyy");
  EXPECT_EQ(all(Kind::afterany), "..yy");
  EXPECT_EQ(all(Kind::afterok), "..yn");
  EXPECT_EQ(all(Kind::afternotok), "..ny");
}

}  // namespace
}  // namespace ductile
