#include "simulation/failures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"

namespace ductile {
namespace {

Time at_s(double time) { return Time{seconds(time)}; }

// --- From a file ---------------------------------------------------------------------------------

std::vector<NodeEvent> read_text(const std::string& text, Nodes nodes = 8) {
  const std::string path = ::testing::TempDir() + "/failures.txt";
  std::ofstream(path) << text;
  return read_failures(path, nodes);
}

// What is said about the text, after the name of the file.
std::string complaint(const std::string& text) {
  try {
    read_text(text);
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("failures.txt") + 12);
  }
  return "";
}

TEST(FailuresFile, IsReadInOrderOfTime) {
  const auto events = read_text(
      "# node by node\n"
      "\n"
      "20 up 0-3 7   # repaired\r\n"
      "  10.5\tdown  0-3,7\n"
      "20 draining 5");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].at, at_s(10.5));
  EXPECT_EQ(events[0].health, Health::down);
  EXPECT_EQ(to_string(events[0].nodes), "0-3 7");
  EXPECT_EQ(events[1].at, at_s(20));
  EXPECT_EQ(events[1].health, Health::up);
  EXPECT_EQ(to_string(events[1].nodes), "0-3 7");
  EXPECT_EQ(events[2].health, Health::draining);
  EXPECT_EQ(to_string(events[2].nodes), "5");
}

TEST(FailuresFile, MayBeEmpty) {
  EXPECT_TRUE(read_text("").empty());
  EXPECT_TRUE(read_text("# nothing fails\n").empty());
}

TEST(FailuresFile, ErrorsNameLineAndField) {
  EXPECT_EQ(complaint("1 down 0\nsoon down 0\n"),
            ":2: time: 'soon' is not possible; write seconds from 0 to 1e12");
  EXPECT_EQ(complaint("-1 down 0\n"),
            ":1: time: '-1' is not possible; write seconds from 0 to 1e12");
  for (const char* time : {"1e13", "nan", "inf", "1s", "0x1"}) {
    EXPECT_NE(complaint(std::string(time) + " down 0").find(":1: time: "), std::string::npos);
  }
  EXPECT_EQ(complaint("1 broken 0\n"),
            ":1: state: 'broken' is not possible; write up, down or draining");
  EXPECT_EQ(complaint("1\n"), ":1: state: is missing; write up, down or draining");
  EXPECT_EQ(complaint("# a\n\n1 down\n"),
            ":3: nodes: is missing; write node numbers such as 0-3,7");
  for (const char* nodes : {"x", "3-1", "1-", ",", "0;1", "-1", "99999999999"}) {
    EXPECT_NE(complaint("1 up " + std::string(nodes)).find(":1: nodes: "), std::string::npos)
        << nodes;
  }
  EXPECT_EQ(complaint("1 down 0-8\n"),
            ":1: nodes: the machine has no node 8; its nodes are 0 to 7");
}

TEST(FailuresFile, ThatIsNotThereIsAnError) {
  EXPECT_THROW(read_failures(::testing::TempDir() + "/none.txt", 8), InputError);
}

TEST(FailuresFile, ThatCannotBeReadIsAnError) {
  // Opening a folder succeeds, reading does not.
  EXPECT_ANY_THROW(read_failures(::testing::TempDir(), 8));
}

// --- From the model ------------------------------------------------------------------------------

const FailureModel kModel{whole_seconds(1000), whole_seconds(50)};

std::vector<NodeEvent> of_node(const std::vector<NodeEvent>& events, std::uint32_t node) {
  std::vector<NodeEvent> its;
  for (const NodeEvent& event : events) {
    if (event.nodes.contains(node)) its.push_back(event);
  }
  return its;
}

void expect_same(const std::vector<NodeEvent>& a, const std::vector<NodeEvent>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].at, b[i].at);
    EXPECT_EQ(a[i].nodes, b[i].nodes);
    EXPECT_EQ(a[i].health, b[i].health);
  }
}

TEST(FailureModel, IsSortedAndRepairsFollowFailures) {
  const Time begin = at_s(100), end = at_s(20'000);
  const auto events = generate_failures(kModel, 16, begin, end, 1);
  ASSERT_FALSE(events.empty());
  for (std::size_t i = 1; i < events.size(); ++i) EXPECT_LE(events[i - 1].at, events[i].at);
  for (std::uint32_t node = 0; node < 16; ++node) {
    const auto its = of_node(events, node);
    EXPECT_EQ(its.size() % 2, 0u) << "a failure without a repair";
    for (std::size_t i = 0; i < its.size(); ++i) {
      EXPECT_EQ(its[i].nodes.count(), 1u);
      EXPECT_EQ(its[i].health, i % 2 == 0 ? Health::down : Health::up);
      EXPECT_GT(its[i].at, i == 0 ? begin : its[i - 1].at);
      EXPECT_TRUE(i % 2 == 1 || its[i].at < end);
    }
  }
}

TEST(FailureModel, KeepsItsMeanTimes) {
  double up_s = 0, down_s = 0;
  std::size_t failures = 0;
  const auto events = generate_failures(kModel, 200, Time{}, at_s(100'000), 1);
  for (std::uint32_t node = 0; node < 200; ++node) {
    Time since{};
    for (const NodeEvent& event : of_node(events, node)) {
      const bool fails = event.health == Health::down;
      (fails ? up_s : down_s) += to_seconds(event.at - since);
      failures += fails ? 1 : 0;
      since = event.at;
    }
  }
  // About 19,000 failures. Both means are within 5 standard errors; the last time up of each node,
  // which the end cut off, is missing in one of them: 1 %.
  const auto n = static_cast<double>(failures);
  EXPECT_NEAR(n, 200 * 100'000 / 1050.0, 5 * std::sqrt(n));
  EXPECT_NEAR(up_s / n, 1000, 5 * 1000 / std::sqrt(n) + 10);
  EXPECT_NEAR(down_s / n, 50, 5 * 50 / std::sqrt(n));
}

TEST(FailureModel, OfANodeDependsOnNothingElse) {
  const auto events = generate_failures(kModel, 8, Time{}, at_s(20'000), 7);
  // Other nodes.
  const auto more = generate_failures(kModel, 100, Time{}, at_s(20'000), 7);
  for (std::uint32_t node = 0; node < 8; ++node) {
    expect_same(of_node(events, node), of_node(more, node));
  }
  // The end: what was before it stays, but for repairs beyond it.
  auto longer = generate_failures(kModel, 8, Time{}, at_s(40'000), 7);
  for (std::uint32_t node = 0; node < 8; ++node) {
    const auto its = of_node(events, node);
    auto its_longer = of_node(longer, node);
    ASSERT_GE(its_longer.size(), its.size());
    its_longer.resize(its.size());
    expect_same(its, its_longer);
  }
}

TEST(FailureModel, IsAFunctionOfTheSeed) {
  const auto events = generate_failures(kModel, 8, Time{}, at_s(20'000), 7);
  expect_same(events, generate_failures(kModel, 8, Time{}, at_s(20'000), 7));
  const auto other = generate_failures(kModel, 8, Time{}, at_s(20'000), 8);
  ASSERT_FALSE(other.empty());
  EXPECT_NE(events.front().at, other.front().at);
  EXPECT_NE(of_node(events, 0).front().at, of_node(events, 1).front().at);
}

TEST(FailureModel, WithoutTimeOrNodesIsEmpty) {
  EXPECT_TRUE(generate_failures(kModel, 8, at_s(5), at_s(5), 1).empty());
  EXPECT_TRUE(generate_failures(kModel, 0, at_s(0), at_s(5'000), 1).empty());
}

// --- Foreseen ------------------------------------------------------------------------------------

// "0 draining 1-2\n5 down 1": what happens when.
std::string text_of(const std::vector<NodeEvent>& events) {
  std::string text;
  for (const NodeEvent& event : events) {
    text += std::to_string((event.at - Time{}) / whole_seconds(1)) + ' ';
    text += kHealthWords[static_cast<std::size_t>(event.health)];
    text += ' ' + to_string(event.nodes) + '\n';
  }
  return text;
}

std::string warned(const std::string& text, double warn_s) {
  return text_of(with_warnings(read_text(text), seconds(warn_s), Time{}));
}

TEST(ForeseenFailures, DrainTheirNodesBefore) {
  EXPECT_EQ(warned("100 down 0-1,3\n150 up 0-1,3\n", 40),
            "60 draining 0-1 3\n100 down 0-1 3\n150 up 0-1 3\n");
  EXPECT_EQ(warned("100 down 0\n", 0), "100 down 0\n");
  // One does not wait for the other.
  EXPECT_EQ(warned("100 down 0\n110 down 1\n", 40),
            "60 draining 0\n70 draining 1\n100 down 0\n110 down 1\n");
}

TEST(ForeseenFailures, AreKnownFromTheBeginningAndFromTheRepair) {
  EXPECT_EQ(warned("30 down 0\n", 40), "0 draining 0\n30 down 0\n");
  EXPECT_EQ(warned("30 down 0\n50 up 0\n70 down 0\n", 25),
            "5 draining 0\n30 down 0\n50 up 0\n50 draining 0\n70 down 0\n");
  // Down all the time between them.
  EXPECT_EQ(warned("30 down 0\n50 down 0\n", 25), "5 draining 0\n30 down 0\n50 down 0\n");
}

TEST(ForeseenFailures, LeaveNodesThatDrainAnyway) {
  EXPECT_EQ(warned("20 draining 0\n30 down 0\n", 5), "20 draining 0\n30 down 0\n");
  EXPECT_EQ(warned("20 draining 0\n30 down 0\n", 15), "15 draining 0\n20 draining 0\n30 down 0\n");
  // What somebody uses again drains again.
  EXPECT_EQ(warned("20 draining 0\n25 up 0\n30 down 0\n", 8),
            "20 draining 0\n25 up 0\n25 draining 0\n30 down 0\n");
}

// Against what it means: a node drains if it would be up and fails within the time.
TEST(ForeseenFailures, AreThoseOfTheNaiveModel) {
  constexpr std::int64_t kEnd = 60;
  constexpr std::uint32_t kNodes = 4;
  const auto states = [](const std::vector<NodeEvent>& events, std::uint32_t node) {
    std::vector<Health> at(kEnd + 1, Health::up);
    for (const NodeEvent& event : events) {
      if (!event.nodes.contains(node)) continue;
      std::fill(at.begin() + (event.at - Time{}) / whole_seconds(1), at.end(), event.health);
    }
    return at;
  };
  std::uint64_t drained = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Draws draws(seed, Stream::test, 0);
    std::vector<NodeEvent> events;
    for (std::uint64_t i = draws.below(12); i > 0; --i) {
      const auto first = static_cast<std::uint32_t>(draws.below(kNodes));
      const auto last = static_cast<std::uint32_t>(first + draws.below(kNodes - first));
      const Health to[] = {Health::up, Health::up, Health::draining, Health::down, Health::down};
      events.push_back({Time(whole_seconds(static_cast<std::int64_t>(draws.below(kEnd)))),
                        NodeSet{{{first, last}}}, to[draws.below(5)]});
    }
    std::ranges::stable_sort(events, {}, &NodeEvent::at);
    const auto warn_s = static_cast<std::int64_t>(draws.below(30));
    const auto foreseen = with_warnings(events, whole_seconds(warn_s), Time{});
    EXPECT_TRUE(std::ranges::is_sorted(foreseen, {}, &NodeEvent::at));
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      const auto before = states(events, node), after = states(foreseen, node);
      for (std::int64_t t = 0; t <= kEnd; ++t) {
        const auto fails = [&](const NodeEvent& event) {
          const std::int64_t at = (event.at - Time{}) / whole_seconds(1);
          return event.health == Health::down && event.nodes.contains(node) && at > t &&
                 at <= t + warn_s;
        };
        const auto place = static_cast<std::size_t>(t);
        const bool drains = before[place] == Health::up && std::ranges::any_of(events, fails);
        EXPECT_EQ(after[place], drains ? Health::draining : before[place])
            << "seed " << seed << ", node " << node << " at " << t << ", warned " << warn_s
            << " s before\n"
            << text_of(events);
        drained += drains ? 1 : 0;
      }
    }
  }
  EXPECT_GT(drained, 5'000u);
}

}  // namespace
}  // namespace ductile
