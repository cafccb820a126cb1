#include "live/node_health.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

NodeSet nodes(std::uint32_t first, std::uint32_t last) { return {{{first, last}}}; }

TEST(NodeHealth, IsTheWorseOfWhatTheTwoSay) {
  NodeHealth health;
  EXPECT_EQ(health.of(3), Health::up);
  health.set_by_operators(nodes(0, 3), Health::draining);
  health.set_by_world(nodes(2, 5), Health::down);
  EXPECT_EQ(health.of(1), Health::draining);
  EXPECT_EQ(health.of(3), Health::down);
  EXPECT_EQ(health.of(5), Health::down);
  // Neither speaks for the other.
  health.set_by_operators(nodes(0, 5), Health::up);
  EXPECT_EQ(health.of(1), Health::up);
  EXPECT_EQ(health.of(3), Health::down);
  health.set_by_operators(nodes(3, 3), Health::draining);
  health.set_by_world(nodes(0, 5), Health::up);
  EXPECT_EQ(health.of(3), Health::draining);
  EXPECT_EQ(health.of(4), Health::up);
}

TEST(NodeHealth, ANodeIsTheStrangersUntilTheLastOneHasGone) {
  NodeHealth health;
  health.set_by_operators(nodes(4, 4), Health::draining);
  EXPECT_EQ(health.set({.name = "one", .nodes = nodes(2, 4), .what = "job 1 of another journal"}),
            nodes(2, 4));
  health.set({.name = "two", .nodes = nodes(4, 4), .what = "job 2"});
  ASSERT_NE(health.stranger_on(2), nullptr);
  EXPECT_EQ(health.stranger_on(2)->what, "job 1 of another journal");
  EXPECT_EQ(health.of(2), Health::down);
  // It has other nodes now.
  EXPECT_EQ(health.set({.name = "one", .nodes = nodes(3, 5), .what = "it"}), nodes(2, 5));
  EXPECT_EQ(health.of(2), Health::up);
  EXPECT_EQ(health.set({.name = "one", .nodes = {}, .is_there = false}), nodes(3, 5));
  EXPECT_EQ(health.of(3), Health::up);
  EXPECT_EQ(health.of(4), Health::down);
  health.set({.name = "two", .nodes = {}, .is_there = false});
  EXPECT_EQ(health.of(4), Health::draining) << "the operator has not used it again";
  EXPECT_TRUE(health.set({.name = "two", .nodes = {}, .is_there = false}).empty());
}

TEST(NodeHealth, IsReadAsItWasWritten) {
  NodeHealth health({Health::up, Health::draining, Health::down});
  EXPECT_EQ(health.by_operators(1), Health::draining);
  EXPECT_EQ(health.by_world(1), Health::up);
  health.set_by_world(nodes(1, 1), Health::draining);
  health.set_by_world(nodes(5, 6), Health::off);
  health.set({.name = "one", .nodes = nodes(7, 7), .what = "job 1", .number = 1});
  const NodeHealth read = NodeHealth::from_text(health.text());
  EXPECT_EQ(read.text(), health.text());
  EXPECT_EQ(read.down(), nodes(5, 6)) << "off is not up either";
  EXPECT_TRUE(read.has_stranger(1));
  EXPECT_FALSE(read.has_stranger(2));
  EXPECT_EQ(read.draining(), nodes(1, 1));
  ASSERT_EQ(read.strangers().size(), 1u);
  EXPECT_EQ(read.strangers().front().what, "job 1");
  for (std::uint32_t node = 0; node < 8; ++node) EXPECT_EQ(read.of(node), health.of(node));
  health.set({.name = "\xff", .nodes = nodes(7, 7), .what = "\xfe"});  // no text
  const NodeHealth again = NodeHealth::from_text(health.text());
  ASSERT_EQ(again.strangers().size(), 2u);
  EXPECT_EQ(again.strangers().back().name, "\xff") << "it would be another one";
  EXPECT_EQ(again.strangers().back().what, "\xfe");
  EXPECT_THROW(NodeHealth::from_text("{"), InputError);
  EXPECT_THROW(NodeHealth::from_text(R"({"world": {"down": "x"}})"), InputError);
}

TEST(NodeHealth, ANodeThatIsGoneIsDownWhateverIsSaidOfIt) {
  NodeHealth health;
  health.set_by_operators(nodes(1, 1), Health::draining);
  EXPECT_EQ(health.text().find("gone"), std::string::npos);
  EXPECT_EQ(to_string(health.set_gone(nodes(1, 3))), "1-3");
  EXPECT_EQ(health.of(0), Health::up);
  EXPECT_EQ(health.of(1), Health::down);
  EXPECT_EQ(health.by_world(3), Health::up);
  health = NodeHealth::from_text(health.text());
  EXPECT_EQ(health.gone(), nodes(1, 3));
  EXPECT_EQ(to_string(health.set_gone(nodes(3, 4))), "1-2 4");
  EXPECT_EQ(health.of(1), Health::draining);
  EXPECT_EQ(health.of(2), Health::up);
}

}  // namespace
}  // namespace ductile
