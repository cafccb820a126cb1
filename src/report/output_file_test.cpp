#include "report/output_file.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder(const char* name) {
  fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  make_folder(folder);
  return folder;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(OutputFile, AppearsWhenItIsComplete) {
  const fs::path path = fresh_folder("complete") / "a.txt";
  {
    OutputFile file(path);
    for (int i = 0; i < 100'000; ++i) {
      file.text() += "0123456789";
      file.appended();
    }
    EXPECT_FALSE(fs::exists(path));
    file.commit();
  }
  EXPECT_EQ(fs::file_size(path), 1'000'000u);
  EXPECT_FALSE(fs::exists(path.string() + ".part"));
}

TEST(OutputFile, NothingIsLeftWithoutCommit) {
  const fs::path folder = fresh_folder("nothing");
  { OutputFile(folder / "a.txt").text() = "half"; }
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(OutputFile, TakesThePlaceOfAnOlderOne) {
  const fs::path path = fresh_folder("older") / "a.txt";
  for (const char* text : {"old and long", "new"}) {
    OutputFile file(path);
    file.text() = text;
    file.commit();
  }
  EXPECT_EQ(content(path), "new");
}

TEST(OutputFile, AFullDiskIsARunError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const fs::path folder = fresh_folder("full");
  fs::create_symlink("/dev/full", folder / "a.txt.part");
  OutputFile file(folder / "a.txt");
  file.text() = "text";
  EXPECT_THROW(file.commit(), RunError);
}

TEST(OutputFile, AFolderThatIsAFileIsAnInputError) {
  const fs::path folder = fresh_folder("is_file");
  { std::ofstream(folder / "f") << "x"; }
  EXPECT_THROW(make_folder(folder / "f"), InputError);
  EXPECT_THROW(make_folder(folder / "f" / "g"), InputError);
}

TEST(OutputFile, FieldsOfCsv) {
  const auto field = [](const char* text) {
    std::string result;
    append_field(result, text);
    return result;
  };
  EXPECT_EQ(field("plain name"), "plain name");
  EXPECT_EQ(field("a,b"), "\"a,b\"");
  EXPECT_EQ(field("say \"x\""), "\"say \"\"x\"\"\"");
}

}  // namespace
}  // namespace ductile
