#include "live/config.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

std::string file_with(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/config.toml";
  std::ofstream(path) << text;
  return path;
}

std::string error_in(const std::string& text) {
  const std::string path = file_with(text);
  try {
    ServeSettings settings;
    read_configuration(path, Registry(), settings);
  } catch (const InputError& error) {
    return std::string(error.what()).substr(path.size());
  }
  return "";
}

TEST(Config, ReadsAllSettings) {
  ServeSettings c;
  read_configuration(file_with(R"(
local = "4x2"
policy = "mebf:tick=5"
state = "/tmp/state"
socket = "/tmp/socket"
default_time = "0:30"
power_cap_w = 1500
corridor = "800..1200"
watts_from = "/w/%j/%n"
retry_s = 5
patience_s = 0.5
measure_s = 2
idle_s = 3
models = "guessed"
operators = ["root"]
max_jobs = 9
max_jobs_per_user = 8
max_running_jobs_per_user = 7
max_running_nodes_per_user = 6
max_priority = -5
shares = { root = 2.5 }
cgroups = false
default_memory = "2G"
max_processes_per_node = 100
)"),
                     Registry(), c);
  EXPECT_EQ(c.platform.nodes, 4u);
  EXPECT_EQ(c.platform.cores_per_node, 2u);
  EXPECT_EQ(c.policy, "mebf:tick=5");
  EXPECT_EQ(c.state, "/tmp/state");
  EXPECT_EQ(c.socket, "/tmp/socket");
  EXPECT_EQ(c.default_time, whole_seconds(30));
  EXPECT_EQ(c.power_cap.value_or(SaidPowerCap{}).watts, 1500);
  EXPECT_EQ(c.corridor.value_or(SaidCorridor{}).lines.at(0).high_w, 1200);
  EXPECT_EQ(c.watts_from, "/w/%j/%n");
  EXPECT_EQ(c.retry, whole_seconds(5));
  EXPECT_EQ(c.patience, seconds(0.5));
  EXPECT_EQ(c.idle, whole_seconds(3));
  EXPECT_EQ(c.measure, whole_seconds(2));
  EXPECT_EQ(c.models, Models::guessed);
  EXPECT_EQ(c.max_jobs, 9u);
  EXPECT_EQ(c.max_jobs_per_user, 8u);
  EXPECT_EQ(c.max_running_jobs_per_user, 7u);
  EXPECT_EQ(c.max_running_nodes_per_user, 6u);
  EXPECT_EQ(c.max_priority, -5);
  EXPECT_EQ(c.shares, (std::vector<UserShare>{{0, 2.5}}));
  EXPECT_EQ(c.cgroups, false);
  EXPECT_EQ(c.default_memory, std::uint64_t{2} << 30);
  EXPECT_EQ(c.max_processes_per_node, 100u);
  EXPECT_EQ(c.operators, std::vector<std::uint32_t>{0});
}

constexpr std::string_view kUnknown = ":2: locals: there is no such setting; use one of local, ";

TEST(Config, TheSampleOfTheDocumentationHasAllSettings) {
  std::ifstream page(DUCTILE_SOURCE_DIR "/docs/commands/serve.md");
  const std::string text{std::istreambuf_iterator<char>(page), std::istreambuf_iterator<char>()};
  const std::size_t begin = text.find("```toml\nlocal") + 8;
  std::string sample = text.substr(begin, text.find("```\n", begin) - begin);
  std::string error = error_in("\nlocals = 1");
  for (std::string_view names = std::string_view(error).substr(kUnknown.size()); !names.empty();) {
    const std::string name(next_part(names, ','));
    names.remove_prefix(names.empty() ? 0 : 1);
    EXPECT_NE(sample.find("\n" + name + " = "), std::string::npos) << name;
  }
  // Users who are here as well.
  using Users = std::pair<std::string, std::string>;
  for (const auto& [user, here] : {Users("ada", "root"), Users("grace", "daemon")}) {
    for (std::size_t at = 0; (at = sample.find(user)) != std::string::npos;) {
      sample.replace(at, user.size(), here);
    }
  }
  EXPECT_EQ(error_in(sample), "");
}

TEST(Config, WhatAFileDoesNotNameStays) {
  ServeSettings c;
  c.policy = "fcfs";
  read_configuration(file_with("max_jobs = 3"), Registry(), c);
  EXPECT_EQ(c.policy, "fcfs");
  EXPECT_EQ(c.max_jobs, 3u);
}

TEST(Config, SharesBecomeAParameterOfThePolicy) {
  EXPECT_EQ(with_shares("easy", {}), "easy");
  EXPECT_EQ(with_shares("easy", {{7, 2}}), "easy:shares=7:2");
  EXPECT_EQ(with_shares("easy:order=fairshare", {{7, 2}, {9, 0.5}}),
            "easy:order=fairshare,shares=7:2+9:0.5");
}

TEST(Config, SaysWhereAndWhatIsWrong) {
  EXPECT_TRUE(error_in("\nlocals = 1").starts_with(kUnknown)) << error_in("\nlocals = 1");
  EXPECT_EQ(error_in("local = 4"), ":1: local: is no text; put it in quotes");
  EXPECT_EQ(error_in("local = \"4x\""),
            ":1: local: '4x' is not NODESxCORES; write it like 4x2, each number from 1 to 4096");
  EXPECT_NE(error_in("policy = \"best\"").find(":1: policy: there is no policy 'best'"),
            std::string::npos);
  EXPECT_EQ(error_in("retry_s = 0"), ":1: retry_s: is no time; write 0.1 to 1000000 seconds");
  EXPECT_EQ(error_in("power_cap_w = \"none\""), "");
  EXPECT_EQ(error_in("power_cap_w = -2"),
            ":1: power_cap_w: '-2' is no power; write watts from 0 to 1e9, or none");
  EXPECT_EQ(error_in("power_cap_w = true"),
            ":1: power_cap_w: is no power; write watts from 0 to 1e9, or \"none\"");
  EXPECT_EQ(error_in("corridor = \"none\""), "");
  EXPECT_EQ(error_in("corridor = \"9..3\""),
            ":1: corridor: the lower bound, 9 W, is above the upper one, 3 W; write the lower one "
            "first");
  EXPECT_EQ(error_in("watts_from = \"w/%n\""),
            ":1: watts_from: 'w/%n' does not begin with '/'; write the whole path, like "
            "/run/watts/%j/%n");
  EXPECT_EQ(error_in("measure_s = 0.1"), ":1: measure_s: is no time; write 0.5 to 1000000 seconds");
  EXPECT_EQ(error_in("models = \"x\""),
            ":1: models: there are no models 'x'; use declared, learned, guessed");
  EXPECT_EQ(error_in("operators = [\"no such user\"]"),
            ":1: operators: there is no user 'no such user'");
  EXPECT_EQ(error_in("max_jobs = 0"), ":1: max_jobs: is no number above 0");
  EXPECT_EQ(error_in("max_priority = 1.5"),
            ":1: max_priority: is no priority; write a number from -1000000 to 1000000");
  EXPECT_EQ(error_in("shares = { root = 0 }"), ":1: shares: is no share; write a number above 0");
  EXPECT_EQ(error_in("shares = { nobody-here = 1 }"), ":1: shares: there is no user 'nobody-here'");
  EXPECT_EQ(error_in("default_memory = \"2X\""),
            ":1: default_memory: mem: '2X' is no size of memory; write megabytes, or a number with "
            "K, M, G or T");
  EXPECT_EQ(error_in("cgroups = 1"), ":1: cgroups: is neither true nor false");
  EXPECT_NE(error_in("local = "), "");
}

TEST(Config, OfAFolderIsNone) {
  ServeSettings settings;
  try {
    read_configuration(::testing::TempDir(), Registry(), settings);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("Is a directory"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ductile
