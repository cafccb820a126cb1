#include "job/order.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Order, IsReadFromALine) {
  const auto read = parse_order(R"({"do":"resize","size":4,"cpus":"0-2,7","id":[1]})");
  const auto* order = std::get_if<Order>(&read);
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->verb, Order::Verb::resize);
  EXPECT_EQ(order->size, 4u);
  EXPECT_EQ(to_string(order->cpus), "0-2 7");
  EXPECT_EQ(order->id.dump(), "[1]");
  EXPECT_TRUE(order->hosts.empty());
  const auto there = parse_order(R"({"do":"resize","size":5,"hosts":"n1:4,n3"})");
  EXPECT_EQ(to_text(std::get<Order>(there).hosts), "n1:4,n3:1");
  for (const char* line : {R"({"do":"status"})", R"({"do":"watch"})", R"({"do":"stop"})",
                           R"({"do":"answer","size":0})", R"({"do":"withdraw"})",
                           R"({"do":"suspend"})", R"({"do":"nodes","nodes":"0-3 7"})"}) {
    EXPECT_TRUE(std::holds_alternative<Order>(parse_order(line))) << line;
  }
}

TEST(Order, WhatIsNoneIsToldWhy) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "JSON object"},
      {"{\"do\":\"resize\",\"size\":3", "JSON object"},
      {"[]", "JSON object"},
      {R"({"do":1})", "JSON object"},
      {R"({"do":"dance"})", "there are the orders"},
      {R"({"do":"resize"})", "number of processes"},
      {R"({"do":"resize","size":-1})", "number of processes"},
      {R"({"do":"resize","size":1.5})", "number of processes"},
      {R"({"do":"resize","size":18446744073709551615})", "number of processes"},
      {R"({"do":"answer","size":3,"cpus":"x"})", "processors"},
      {R"({"do":"resize","size":3,"move":1})", "true or false"},
      {R"({"do":"answer","size":3,"cpus":3})", "processors"},
      {R"({"do":"resize","size":3,"hosts":["n1"]})", "how many processes each takes"},
      {R"({"do":"resize","size":3,"hosts":"n1:0"})", "how many processes each takes"},
      {R"({"do":"resize","size":3,"hosts":"-x:1"})", "how many processes each takes"},
      {R"({"do":"nodes"})", "are nodes"},
      {R"({"do":"nodes","nodes":""})", "are nodes"},
      {R"({"do":"nodes","nodes":[1]})", "are nodes"},
      {std::string(3000, '['), "JSON object"},
  };
  for (const auto& [line, why] : cases) {
    const auto read = parse_order(line);
    const auto* bad = std::get_if<BadOrder>(&read);
    ASSERT_NE(bad, nullptr) << line;
    EXPECT_NE(bad->why.find(why), std::string::npos) << line << ": " << bad->why;
  }
}

}  // namespace
}  // namespace ductile
