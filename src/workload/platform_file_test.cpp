#include "workload/platform_file.hpp"

#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

NodeSet nodes(const char* text) { return *parse_node_set(text); }

PlatformFile read(const std::string& text) { return parse_platform_file(text, "f.toml"); }

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PlatformFile, SaysClassesAndPartitions) {
  const PlatformFile file = read(R"(
[[class]]
name = "std"
count = 4
cores = 16
sockets = 2
memory = "64G"
idle_w = 90
busy_w = 300.5
boot_time_s = 120

[[class]]
name = "gpu"
nodes = "0,5-6"
cores = 32
memory = "256G"
gres = { gpu = 4, fpga = 1 }
speed = 1.5
weight = 10

[[partition]]
name = "batch"
classes = ["std"]

[[partition]]
name = "short"
classes = ["gpu"]
nodes = "1-2"
max_time = "1:00:00"
number = 7
priority = 50

[[partition]]
name = "all"
)");
  const Platform& is = file.platform;
  EXPECT_EQ(is.nodes, 7u);
  EXPECT_EQ(is.cores_per_node, 16u);
  EXPECT_EQ(is.idle_w, 90);
  EXPECT_EQ(is.busy_w, 300.5);
  EXPECT_EQ(is.boot_time, whole_seconds(120));
  ASSERT_EQ(is.classes.size(), 2u);
  EXPECT_EQ(is.things.size(), 2u);
  EXPECT_EQ(is.classes[0], (NodeClass{.name = "std",
                                      .nodes = nodes("1-4"),
                                      .has = {16, {}, 65'536},
                                      .sockets = 2,
                                      .idle_w = 90,
                                      .busy_w = 300.5,
                                      .boot_time = whole_seconds(120)}));
  EXPECT_EQ(is.classes[1].nodes, nodes("0,5-6"));
  EXPECT_EQ(is.classes[1].has.cores, 32);
  EXPECT_EQ(is.classes[1].speed, 1.5);
  EXPECT_EQ(is.classes[1].weight, 10u);
  const std::size_t gpu = is.things[0] == "gpu" ? 0 : 1;
  EXPECT_EQ(is.classes[1].has.things[gpu], 4);
  EXPECT_EQ(is.classes[1].has.things[1 - gpu], 1);
  ASSERT_EQ(is.partitions.size(), 3u);
  EXPECT_EQ(is.partitions[0], (Partition{.name = "batch", .nodes = nodes("1-4")}));
  EXPECT_EQ(is.partitions[1], (Partition{.name = "short",
                                         .nodes = nodes("0-2,5-6"),
                                         .max_walltime = whole_seconds(3600),
                                         .priority = 50}));
  EXPECT_EQ(is.partitions[2].nodes, nodes("0-6"));
  EXPECT_EQ(file.numbers, (std::vector<std::int64_t>{1, 7, 3}));
}

TEST(PlatformFile, HasDefaults) {
  const PlatformFile file = read("class = [{ name = 'n', count = 3 }]");
  EXPECT_EQ(file.platform.nodes, 3u);
  EXPECT_EQ(file.platform.cores_per_node, 1u);
  EXPECT_EQ(file.platform.classes.front().has, (Slice{1, {}, 0}));
  EXPECT_EQ(file.platform.classes.front().speed, 1);
  EXPECT_TRUE(file.platform.partitions.empty());
  EXPECT_TRUE(file.numbers.empty());
}

TEST(PlatformFile, IsRefusedWithItsPlace) {
  EXPECT_EQ(error_of(""), "f.toml: it has no nodes; write [[class]] with name and count");
  EXPECT_EQ(error_of("x ="),
            "f.toml:1: Error while parsing key-value pair: encountered "
            "end-of-file; write TOML");
  EXPECT_EQ(error_of("\nnode = 3"),
            "f.toml:2: node: a platform has no such field; it has [[class]], [[partition]], "
            "[[qos]], [[switch]], [[reservation]] and [[step]]");
  EXPECT_EQ(error_of("class = 3"), "f.toml:1: class: is no list of tables; write [[class]]");
  const auto of_class = [](const std::string& more) {
    return error_of("[[class]]\nname = 'n'\n" + more);
  };
  const std::pair<const char*, const char*> wrong[] = {
      {"", "f.toml:1: class: has no nodes; write count, or nodes with their numbers"},
      {"count = 2\nnodes = '0-1'",
       "f.toml:1: class: has both count and nodes; write count, or "
       "nodes with their numbers"},
      {"count = 0",
       "f.toml:3: count: is no whole number that is possible; write one from 1 to "
       "16777216"},
      {"count = '2'",
       "f.toml:3: count: is no whole number that is possible; write one from 1 to "
       "16777216"},
      {"count = 2\nmemory = 64", "f.toml:4: memory: is no text; put it in quotes"},
      {"count = 2\nmemory = '64X'",
       "f.toml:4: memory: '64X' is not possible; write it like "
       "\"64G\", with K, M, G or T"},
      {"count = 2\nmemory = '4K'",
       "f.toml:4: memory: is no size of memory that a node may have; "
       "write it like \"64G\", with K, M, G or T"},
      {"count = 2\ncores = 70000",
       "f.toml:4: cores: is no whole number that is possible; write "
       "one from 1 to 65535"},
      {"count = 2\nsockets = 2",
       "f.toml:1: sockets: 2 are more than the cores; each has a core at "
       "least"},
      {"count = 2\nspeed = 0",
       "f.toml:4: speed: is no number that is possible; write one from "
       "0.001 to 1000"},
      {"count = 2\nspeed = nan",
       "f.toml:4: speed: is no number that is possible; write one from "
       "0.001 to 1000"},
      {"count = 2\nidle_w = 3",
       "f.toml:1: busy_w: is less than idle_w; say what a node draws that "
       "computes"},
      {"count = 2\ngres = 'gpu:2'", "f.toml:4: gres: is no table; write it like { gpu = 2 }"},
      {"count = 2\ngres = { 'a b' = 2 }",
       "f.toml:4: gres: 'a b' is no name; use up to 63 letters, "
       "digits and _-.+"},
      {"count = 2\ngres = { a = 1, b = 1, c = 1, d = 1, e = 1 }",
       "f.toml:4: gres: there are more than 4 things; leave out those that nobody asks for"},
      {"count = 2\ngpus = 2",
       "f.toml:4: gpus: a class has no such field; it has name, count or "
       "nodes, cores, sockets, memory, gres, features, speed, idle_w, busy_w, "
       "off_w, boot_time_s and weight"},
      {"nodes = '1-2'",
       "f.toml:1: nodes: there is a node 2, and 2 nodes in all; number them from 0 "
       "without a gap"},
      {"nodes = '2-1'", "f.toml:3: nodes: '2-1' are no nodes; write their numbers like \"0-3,7\""},
      {"nodes = '16777216'",
       "f.toml:3: nodes: 16777216 is no number of a node; write numbers "
       "below 16777216"},
      {"nodes = '0-1'\n[[class]]\nname = 'm'\nnodes = '1-2'",
       "f.toml:4: nodes: 1 are of another class already; each node is of one class"},
      {"count = 2\n[[class]]\nname = 'n'\ncount = 2",
       "f.toml:4: class: 'n' is there twice; give each a name of its own"},
      {"count = 9999999\n[[class]]\nname = 'm'\ncount = 9999999",
       "f.toml:4: count: there are more than 16777216 nodes; have fewer"},
  };
  for (const auto& [text, error] : wrong) EXPECT_EQ(of_class(text), error) << text;
  EXPECT_EQ(error_of("class = [{ count = 2 }]"),
            "f.toml:1: class: has no name; write name = \"...\"");
  EXPECT_EQ(error_of("class = [{ name = 'a,b', count = 2 }]"),
            "f.toml:1: name: 'a,b' is no name; use up to 63 letters, digits and _-.+");
}

TEST(PlatformFile, RefusesPartitionsWithTheirPlace) {
  const auto error = [](const std::string& more) {
    return error_of("class = [{ name = 'n', count = 2 }]\n[[partition]]\nname = 'p'\n" + more);
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error("classes = ['m']"), "f.toml:4: classes: there is no class 'm'; use one of n");
  EXPECT_EQ(error("classes = 'n'"),
            "f.toml:4: classes: is no list; write it like [\"std\", \"big\"]");
  EXPECT_EQ(error("nodes = '1-2'"), "f.toml:4: nodes: there is no node 2; there are 0 to 1");
  EXPECT_EQ(error("max_time = 60"), "f.toml:4: max_time: is no text; put it in quotes");
  EXPECT_EQ(error("max_time = 'long'"),
            "f.toml:4: max_time: 'long' is not possible; write minutes, H:M:S or D-H:M:S, in "
            "quotes");
  EXPECT_EQ(error("limit = 3"),
            "f.toml:4: limit: a partition has no such field; it has name, classes, nodes, "
            "max_time, max_nodes, users, number, priority and default");
  EXPECT_EQ(error("[[partition]]\nname = 'p'"),
            "f.toml:4: partition: 'p' is there twice; give each a name of its own");
  EXPECT_EQ(error("priority = 65536"),
            "f.toml:4: priority: is no whole number that is possible; write one from 0 to 65535");
  EXPECT_EQ(error("[[partition]]\nname = 'q'\nnumber = 1"),
            "f.toml:4: number: 1 is that of another one; give each a number of its own");
  EXPECT_EQ(error("[[partition]]\n"), "f.toml:4: partition: has no name; write name = \"...\"");
  std::string many;
  for (int i = 0; i < 32; ++i) many += "[[partition]]\nname = 'p" + std::to_string(i) + "'\n";
  EXPECT_EQ(error(many), "f.toml:66: partition: there are more than 32; put some together");
}

TEST(PlatformFile, SaysSwitchesInAnyOrder) {
  const std::string machine = "[[class]]\nname = \"std\"\ncount = 8\n";
  const PlatformFile file = read(machine + R"(
[[switch]]
name = "top"
switches = ["right", "left"]
[[switch]]
name = "left"
nodes = "0-3"
[[switch]]
name = "right"
nodes = "4-6"
)");
  const std::vector<Switch> expected{{.name = "left", .nodes = nodes("0-3"), .above = 2},
                                     {.name = "right", .nodes = nodes("4-6"), .above = 2},
                                     {.name = "top", .nodes = {}, .above = kNoSwitch}};
  EXPECT_EQ(file.platform.switches, expected);

  const auto refused = [&](const char* more) { return error_of(machine + more); };
  EXPECT_EQ(refused("[[switch]]\nname = \"a\"\nnodes = \"0-8\"\n"),
            "f.toml:6: nodes: there is no node 8; there are 0 to 7");
  EXPECT_EQ(refused("[[switch]]\nname = \"a\"\n"),
            "f.toml:4: switch: has nothing below it; write nodes with their numbers, or switches "
            "with their names");
  EXPECT_EQ(refused("[[switch]]\nname = \"a\"\nnodes = \"0-3\"\n"
                    "[[switch]]\nname = \"b\"\nnodes = \"3\"\n"),
            "f.toml:7: nodes: node 3 is on a already; each node is on one switch at most");
  EXPECT_EQ(refused("[[switch]]\nname = \"a\"\nswitches = [\"b\"]\n"
                    "[[switch]]\nname = \"b\"\nswitches = [\"a\"]\n"),
            "f.toml:4: switches: 'a' is below itself; let switches be a tree");
  EXPECT_EQ(refused("[[switch]]\nname = \"a\"\nswitches = [\"c\"]\n"),
            "f.toml:6: switches: there is no switch 'c'; write a [[switch]] of that name");
}

TEST(PlatformFile, SaysStepsOfFrequency) {
  const auto steps = [](const std::string& text) {
    return read("[[class]]\nname = \"a\"\ncount = 4\n" + text).platform.steps;
  };
  const auto refused = [](const std::string& text) {
    return error_of("[[class]]\nname = \"a\"\ncount = 4\n" + text);
  };
  EXPECT_TRUE(steps("").empty());
  EXPECT_EQ(steps("[[step]]\nspeed = 0.8\npower = 0.5\n[[step]]\npower = 0\nspeed = 0.001\n"),
            (std::vector<FrequencyStep>{{0.8, 0.5}, {0.001, 0}}));
  EXPECT_EQ(refused("[[step]]\nspeed = 0.8\n"),
            "f.toml:4: power: is missing; say what they draw above idle at it, of 1");
  EXPECT_EQ(refused("[[step]]\npower = 0.8\n"),
            "f.toml:4: speed: is missing; say how fast nodes are at it, of 1");
  EXPECT_EQ(refused("[[step]]\nspeed = 1.5\npower = 0.8\n"),
            "f.toml:5: speed: is no number that is possible; write one from 0.001 to 1");
  EXPECT_EQ(refused("[[step]]\nspeed = 1\npower = 0.8\n"),
            "f.toml:4: speed: is no lower than that of the step before, or 1; let each step be "
            "slower than the one before");
  EXPECT_EQ(refused("[[step]]\nspeed = 0.8\npower = 0.8\n[[step]]\nspeed = 0.7\npower = 0.8\n"),
            "f.toml:7: power: is no lower than that of the step before, or 1; leave out steps that "
            "save nothing");
  EXPECT_EQ(refused("[[step]]\nwatts = 8\n"),
            "f.toml:5: watts: a step has no such field; it has speed and power");
}

TEST(PlatformFile, HasNotTooManyKindsOfNodes) {
  std::string text = "class = [{ name = 'n', count = 256 }]\n";
  for (int i = 0; i < 7; ++i) {
    std::string part = "[[partition]]\nname = 'p" + std::to_string(i) + "'\nnodes = '";
    for (int node = 0; node < 256; ++node) {
      if ((node >> i & 1) != 0) part += std::to_string(node) + ",";
    }
    text += part + "'\n";
    const bool is_too_much = i == 6;  // 128 kinds
    EXPECT_EQ(error_of(text).empty(), !is_too_much) << i;
  }
  EXPECT_EQ(error_of(text),
            "f.toml:20: partition: classes and partitions make more than 64 kinds of nodes; have "
            "fewer of them, or let their borders be the same");
}

TEST(PlatformFile, SaysReservations) {
  const std::string machine = "class = [{ name = 'n', count = 8 }]\n";
  const PlatformFile file = read(machine + R"(
[[reservation]]
name = "repair"
from_s = 10
to_s = 20.5
nodes = "0-3"
watts = 100

[[reservation]]
name = "course"
from_s = 20.5
count = 2
jobs = "4-7,12"
)");
  ASSERT_EQ(file.reservations.size(), 2u);
  const FileReservation repair{.name = "repair",
                               .from = Time(whole_seconds(10)),
                               .to = Time(seconds(20.5)),
                               .nodes = nodes("0-3"),
                               .watts = 100,
                               .line = 3};
  EXPECT_EQ(file.reservations[0], repair);
  const FileReservation course{.name = "course",
                               .from = Time(seconds(20.5)),
                               .count = 2,
                               .jobs = nodes("4-7,12"),
                               .line = 10};
  EXPECT_EQ(file.reservations[1], course);
  // In the order in which they are made.
  std::vector<std::string> names;
  for (const auto& its :
       read(machine +
            "reservation = [{ name = 'a', from_s = 7, count = 1 }, { name = 'b', "
            "from_s = 9, nodes = '7' },\n"
            "{ name = 'c', from_s = 1, count = 2 }, { name = 'd', from_s = 8, watts = 1 }]")
           .reservations) {
    names.push_back(its.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"b", "d", "c", "a"}));
  const auto error = [&](const std::string& fields) {
    return error_of(machine + "[[reservation]]\nname = 'r'\n" + fields);
  };
  EXPECT_EQ(error("nodes = '1'"), "f.toml:2: from_s: is missing; say when it begins, in seconds");
  EXPECT_EQ(error("from_s = 5"),
            "f.toml:2: reservation: reserves nothing; write nodes, count or watts");
  EXPECT_EQ(error("from_s = 5\nto_s = 5\ncount = 1"),
            "f.toml:2: to_s: is not after from_s; let it end later");
  EXPECT_EQ(error("from_s = 5\nnodes = '8'"),
            "f.toml:5: nodes: there is no node 8; there are 0 to 7");
  EXPECT_EQ(error("from_s = 5\nnodes = '1'\ncount = 1"),
            "f.toml:2: count: has both count and nodes; write one of them");
  EXPECT_EQ(error("from_s = 5\nwatts = 1\njobs = '1'"),
            "f.toml:2: jobs: power is reserved for nobody; reserve nodes for jobs, and watts in "
            "another one");
  EXPECT_EQ(
      error("from_s = 5\nnodes = '1'\n[[reservation]]\nname = 's'\nfrom_s = 9\nnodes = '1-2'"),
      "f.toml:6: nodes: 1 are reserved as r then; a node is in one reservation at a time");
  EXPECT_EQ(error("until = 5"),
            "f.toml:4: until: a reservation has no such field; it has name, from_s, to_s, nodes or "
            "count, watts and jobs");
}

TEST(PlatformFile, IsAFile) {
  const std::string path = ::testing::TempDir() + "/platform.toml";
  std::ofstream(path) << "class = [{ name = 'n', count = 3 }]";
  EXPECT_EQ(read_platform_file(path).platform.nodes, 3u);
  EXPECT_THROW(read_platform_file(::testing::TempDir()), InputError);
  EXPECT_THROW(read_platform_file(path + ".none"), InputError);
  EXPECT_EQ(read_platform_to_serve(path).nodes, 3u);
  const std::string slow = path + ".slow";
  std::ofstream(slow)
      << "class = [{ name = 'n', count = 3 }]\n[[step]]\nspeed = 0.5\npower = 0.2\n";
  EXPECT_EQ(read_platform_file(slow).platform.steps.size(), 1u);
  try {
    read_platform_to_serve(slow);
    ADD_FAILURE() << "steps are served";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(".slow: step: "), std::string::npos) << error.what();
  }
  std::ofstream(path, std::ios::app) << "\n[[reservation]]\nname = 'r'\nfrom_s = 5\ncount = 1\n";
  EXPECT_THROW(read_platform_to_serve(path), InputError);
}

}  // namespace
}  // namespace ductile
