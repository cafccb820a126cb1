#include "job/watt_files.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace ductile {
namespace {

using Nodes = std::vector<std::string>;

std::string folder() {
  const std::string path = ::testing::TempDir() + "watts/";
  std::filesystem::create_directories(path);
  return path;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(WattFiles, HaveOneNumber) {
  EXPECT_EQ(watts_of_text("250"), 250);
  EXPECT_EQ(watts_of_text(" 250.5\r\n"), 250.5);
  EXPECT_EQ(watts_of_text("2.5e2"), 250);
  EXPECT_EQ(watts_of_text("0"), 0);
  EXPECT_EQ(watts_of_text("1e6"), 1e6);
  for (const char* text : {"", " \n", "much", "-1", "nan", "NaN", "inf", "-inf", "1e7", "1e999",
                           "250 W", "250 300", "250,5", "0x10", "250\n300\n", "+250", "."}) {
    EXPECT_FALSE(watts_of_text(text)) << text;
  }
  EXPECT_FALSE(watts_of_text(std::string_view("250\0", 4)));
}

TEST(WattFiles, NeverHaveWhatIsNoDraw) {
  std::mt19937 random(7);
  constexpr std::string_view kLetters = "0123456789.-+eE \n\tnaif%\0x";
  int known = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left) text += kLetters[random() % kLetters.size()];
    if (i % 5 == 0) {
      for (char& c : text) c = static_cast<char>(random());
    }
    const auto watts = watts_of_text(text);
    if (!watts) continue;
    ++known;
    EXPECT_TRUE(std::isfinite(*watts) && *watts >= 0 && *watts <= 1e6) << text;
  }
  EXPECT_GT(known, 1000);
}

TEST(WattFiles, AreNamedByTheNode) {
  EXPECT_EQ(WattFiles("/w/7/%n").file_of("3"), "/w/7/3");
  EXPECT_EQ(WattFiles("/w/%%n-%n.w%").file_of("h1"), "/w/%n-h1.w%");
  EXPECT_EQ(WattFiles("/w/%j/all").file_of("3"), "/w/%j/all");
}

TEST(WattFiles, AreSummedOverAllNodes) {
  const std::string in = folder();
  WattFiles files(in + "%n");
  write(in + "0", "100\n");
  write(in + "1", "50.5");
  EXPECT_EQ(files.read({"0", "1"}), 150.5);
  EXPECT_EQ(files.why(), "");
  EXPECT_FALSE(files.read({"0", "1", "2"}));
  EXPECT_EQ(files.why(), "'" + in + "2' cannot be read: No such file or directory");
  EXPECT_EQ(files.read({"1"}), 50.5);
  EXPECT_EQ(files.why(), "");
  write(in + "2", "a lot\x1b\n");
  EXPECT_FALSE(files.read({"0", "2"}));
  EXPECT_EQ(files.why().rfind("'" + in + "2' has no watts from 0 to 1e6: 'a lot", 0), 0u)
      << files.why();
  EXPECT_EQ(files.why().find('\x1b'), std::string::npos);
  write(in + "2", "1" + std::string(70, ' '));
  EXPECT_FALSE(files.read({"2"}));
  EXPECT_FALSE(files.read({}));
}

TEST(WattFiles, AreNotWaitedFor) {
  const std::string in = folder();
  WattFiles files(in + "%n");
  std::filesystem::create_directories(in + "folder");
  EXPECT_FALSE(files.read({"folder"}));
  EXPECT_EQ(files.why(), "'" + in + "folder' is no file");
  if (mkfifo((in + "pipe").c_str(), 0600) != 0) GTEST_SKIP() << "no pipe can be made";
  EXPECT_FALSE(files.read({"pipe"}));
  EXPECT_EQ(files.why(), "'" + in + "pipe' is no file");
}

TEST(WattFiles, AreReadElsewhereIfTheyAreNotHere) {
  const std::string here = folder() + "elsewhere-";
  WattFiles files(here + "%n");
  write(here + "h1", "100\n");
  const auto with = [&](const std::optional<std::string>& text) {
    return files.read(Nodes{"h1", "h2"}, [&](const std::string& node, const std::string& path) {
      EXPECT_EQ(node, "h2");
      EXPECT_EQ(path, here + "h2");
      return text;
    });
  };
  EXPECT_EQ(with("150 "), 250);
  EXPECT_EQ(files.why(), "");
  EXPECT_FALSE(with("much "));
  EXPECT_EQ(files.why(), "'" + here + "h2' on h2 has no watts from 0 to 1e6: 'much'");
  EXPECT_FALSE(with(std::nullopt));
  EXPECT_EQ(files.why(), "h2 has not said yet what it draws");
  EXPECT_FALSE(files.read(Nodes{"h1", "h2"}));
  EXPECT_EQ(files.why(), "'" + here + "h2' cannot be read: No such file or directory");
}

}  // namespace
}  // namespace ductile
