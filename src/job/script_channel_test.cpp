#include "job/script_channel.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(ScriptChannel, AnOrderIsALine) {
  EXPECT_EQ(to_line({.size = 4}), "4 - -");
  EXPECT_EQ(to_line({.size = 3, .cpus = *parse_node_set("0-2 7"), .hosts = parse_hosts("a:2,b:4")}),
            "3 0-2,7 a:2,b:1");
}

TEST(ScriptChannel, AnAnswerIsASizeOrAWord) {
  EXPECT_EQ(parse_script_word(" 4\r")->size, 4U);
  EXPECT_FALSE(parse_script_word("ok")->size);
  EXPECT_FALSE(parse_script_word("ok")->refuses);
  EXPECT_TRUE(parse_script_word("refuse")->refuses);
  EXPECT_EQ(parse_script_word("refuse a phase is not over")->why, "a phase is not over");
  for (const char* line : {"", "0", "-1", "4 5", "32769", "yes", "OK", "refused"}) {
    EXPECT_FALSE(parse_script_word(line)) << line;
  }
}

TEST(ScriptChannel, SpeaksWithTheProgram) {
  std::string folder = ::testing::TempDir() + "script-channel-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto file = [&] {
    std::ifstream in(folder + "/size");
    std::string line;
    std::getline(in, line);
    return line;
  };
  {
    ScriptChannel channel(folder, {.size = 2});
    EXPECT_EQ(file(), "2 - -");
    std::vector<std::string> said;
    const auto wait = [&] {
      Poller poller;
      channel.add_to(poller, [&](const ScriptWord& word) -> std::string {
        said.push_back(word.refuses ? "refuses " + word.why
                                    : std::to_string(word.size.value_or(0)));
        return {};
      });
      poller.wait(std::chrono::milliseconds(100));
    };
    channel.tell({.size = 5});
    EXPECT_EQ(file(), "5 - -");
    std::array<char, 16> bytes{};
    EXPECT_EQ(read(channel.of_program().get(), bytes.data(), bytes.size()), 6);
    EXPECT_STREQ(bytes.data(), "5 - -\n");
    // What is nonsense is told in the log.
    constexpr std::string_view kWords = "5\nmany\nrefuse no\nok\n";
    EXPECT_EQ(write(channel.of_program().get(), kWords.data(), kWords.size()),
              static_cast<ssize_t>(kWords.size()));
    wait();
    EXPECT_EQ(said, (std::vector<std::string>{"5", "refuses no", "0"}));
    // A program that reads nothing finds the last one in the file.
    for (std::uint32_t size = 1; size < 30'000; ++size) channel.tell({.size = size});
    EXPECT_EQ(file(), "29999 - -");
    channel.let_go();
    wait();
    channel.tell({.size = 7});
    EXPECT_EQ(file(), "7 - -");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ductile
