#include "workload/toml_file.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_toml(text, "f");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(TomlFile, IsRead) {
  EXPECT_EQ(parse_toml("x = 3", "f")["x"].value<int>(), 3);
  const std::string path = ::testing::TempDir() + "/f.toml";
  std::ofstream(path) << "x = 4";
  EXPECT_EQ(read_toml(path, "")["x"].value<int>(), 4);
}

TEST(TomlFile, HasAnyTextInStringsAndComments) {
  EXPECT_EQ(error_of("\xef\xbb\xbfx = 'é' # é '\n'é' = \"\\\"é\"\n"
                     "y = \"\"\"é\n\\\"\"\" é\"\"\"\nz = '''\\é\n'é'''\n"),
            "");
}

TEST(TomlFile, IsRefusedIfItIsNone) {
  EXPECT_EQ(error_of("x = 'a'\ny = [{z = 1}΄}]").substr(0, 4), "f:2:");
  EXPECT_EQ(error_of("\nx = 3 4").substr(0, 4), "f:2:");
  EXPECT_NE(error_of("x = [}"), "");
  EXPECT_THROW(read_toml(::testing::TempDir(), "give a file"), InputError);
  EXPECT_THROW(read_toml(::testing::TempDir() + "/none", "give a file"), InputError);
}

}  // namespace
}  // namespace ductile
