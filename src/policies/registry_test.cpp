#include "policies/registry.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  return testing::complaint([&] { make_policy(text); });
}

/// But for how they were written.
Traits traits_of(const std::string& text) {
  Traits traits = make_policy(text)->traits;
  traits.settings.clear();
  return traits;
}

TEST(Registry, EveryPolicyCanBeMadeWithItsDefaults) {
  std::set<std::string> names;
  for (const PolicyInfo& info : built_in_policies()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.summary.empty());
    std::string text = info.name;
    char separator = ':';
    for (const ParameterInfo& parameter : info.parameters) {
      text += separator + parameter.name + "=" + parameter.fallback;
      separator = ',';
    }
    EXPECT_EQ(make_policy(text)->traits.settings, text);
  }
}

TEST(Registry, ReadsParameters) {
  EXPECT_EQ(make_policy("easy")->traits.order, QueueOrder::fcfs);
  EXPECT_EQ(make_policy("easy:order=wfp3,priority_period=60")->traits.order, QueueOrder::wfp3);
  EXPECT_EQ(make_policy("easy:priority_period=0.5")->traits.priority_period, seconds(0.5));
  const auto fair = make_policy("easy:order=fairshare,half_life=60,shares=7:2+1001:0.5");
  EXPECT_EQ(fair->traits.order, QueueOrder::fairshare);
  EXPECT_EQ(fair->traits.fair_share.half_life, whole_seconds(60));
  EXPECT_EQ(fair->traits.fair_share.shares, (std::vector<UserShare>{{7, 2}, {1001, 0.5}}));
}

TEST(Registry, WhatPrioritiesAreMadeOf) {
  EXPECT_EQ(make_policy("easy:order=multifactor")->traits.multifactor, Multifactor{});
  const auto easy = make_policy(
      "easy:order=multifactor,weight_age=1,weight_fairshare=2,weight_size=3,weight_partition=4,"
      "weight_qos=5,max_age=60,favor_small=yes,small_relative_to_time=yes,fairshare_dampening=2.5");
  EXPECT_EQ(easy->traits.order, QueueOrder::multifactor);
  EXPECT_EQ(easy->traits.multifactor,
            (Multifactor{1, 2, 3, 4, 5, whole_seconds(60), true, true, 2.5}));
  EXPECT_TRUE(easy->traits.goes_by_uses());
  EXPECT_TRUE(make_policy("easy:order=fairshare")->traits.goes_by_uses());
  EXPECT_FALSE(make_policy("easy:order=multifactor,weight_age=1")->traits.goes_by_uses());
  EXPECT_FALSE(make_policy("easy:weight_fairshare=1")->traits.goes_by_uses());
  EXPECT_THAT(error_of("easy:weight_age=0.5"), HasSubstr("use a whole number from 0"));
  EXPECT_THAT(error_of("easy:fairshare_dampening=0.5"), HasSubstr("from 1 to"));
  EXPECT_THAT(error_of("easy:favor_small=1"), HasSubstr("use one of"));
}

TEST(Registry, WhenJobsAreOverdue) {
  EXPECT_EQ(make_policy("easy")->traits.overdue, (Overdue{6, whole_seconds(4 * 3600)}));
  const auto easy = make_policy("easy:order=area,slack=0.25,grace=90");
  EXPECT_EQ(easy->traits.order, QueueOrder::area);
  EXPECT_EQ(easy->traits.overdue, (Overdue{0.25, whole_seconds(90)}));
  EXPECT_EQ(make_policy("tide:slack=0,grace=0")->traits.overdue, (Overdue{0, Duration{}}));
  EXPECT_THAT(error_of("easy:slack=-1"), HasSubstr("use a number from 0 to 1000000000"));
  EXPECT_THAT(error_of("easy:grace=-1"), HasSubstr("from 0 to 1000000000"));
}

// A policy may prefer an order, and what belongs to it; what its user says comes first.
TEST(Registry, APolicyHasDefaultsOfItsOwn) {
  EXPECT_EQ(make_policy("tide")->traits.order, QueueOrder::area);
  EXPECT_EQ(make_policy("tide:order=sjf")->traits.order, QueueOrder::sjf);
  EXPECT_EQ(make_policy("tide:order=fcfs")->traits.order, QueueOrder::fcfs);
  EXPECT_EQ(make_policy("lend")->traits.order, QueueOrder::area);
  EXPECT_EQ(make_policy("lend")->traits.overdue.slack, 1);
  EXPECT_EQ(make_policy("lend:slack=3")->traits.overdue.slack, 3);
  for (const PolicyInfo& info : built_in_policies()) {
    const std::vector<ParameterInfo> table = common_parameters(info);
    ASSERT_EQ(table.size(), common_parameters().size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      EXPECT_EQ(table[i].name, common_parameters()[i].name);
      const auto own = info.defaults.find(table[i].name);
      const std::string fallback =
          own != info.defaults.end() ? own->second : common_parameters()[i].fallback;
      EXPECT_EQ(table[i].fallback, fallback) << info.name << ' ' << table[i].name;
      // What is said to be the default is what one gets.
      EXPECT_EQ(traits_of(info.name + ":" + table[i].name + "=" + table[i].fallback),
                traits_of(info.name))
          << info.name << ' ' << table[i].name;
    }
  }
}

// A registry is a value: what one has another need not have.
TEST(Registry, HasWhatIsAddedToIt) {
  Registry registry;
  registry.policies.push_back(registry.find("easy"));
  registry.policies.back().name = "mine";
  EXPECT_EQ(registry.make("mine:order=sjf")->traits.order, QueueOrder::sjf);
  EXPECT_EQ(registry.maker()("mine")->traits.settings, "mine");
  EXPECT_THAT(error_of("mine"), HasSubstr("there is no policy 'mine'"));
}

TEST(Registry, NumbersAreDecimals) {
  EXPECT_EQ(make_policy("mebf:theta=1.000000")->traits.settings, "mebf:theta=1.000000");
  EXPECT_EQ(make_policy("mebf:theta=5e-1")->traits.settings, "mebf:theta=5e-1");
  EXPECT_NO_THROW(make_policy("mebf:theta=0.123456789012345678"));
  EXPECT_THAT(error_of("mebf:theta=0.1234567890123456789"),
              HasSubstr("use a number from 0 to 1, of at most 18 digits"));
  // As a double it would be 1.
  EXPECT_THAT(error_of("mebf:theta=1.00000000000000001"), HasSubstr("use a number from 0 to 1"));
  EXPECT_THAT(error_of("mebf:theta=-1e-18"), HasSubstr("use a number from 0 to 1"));
}

TEST(Registry, ErrorsSayWhatThereIs) {
  EXPECT_THAT(error_of("esay"), HasSubstr("there are backfill, "));
  EXPECT_THAT(error_of("easy:depth=2"), HasSubstr("there is no parameter 'depth'"));
  EXPECT_THAT(error_of("backfill:depth=0"), HasSubstr("whole number from 1"));
  EXPECT_THAT(error_of("backfill:depth=1.5"), HasSubstr("'1.5' is not possible"));
  EXPECT_THAT(error_of("backfill:depth=nan"), HasSubstr("'nan' is not possible"));
  EXPECT_THAT(error_of("backfill:depth="), HasSubstr("a value is missing"));
  EXPECT_THAT(error_of("backfill:depth=2,"), HasSubstr("'backfill:depth=2,' ends with a comma"));
  EXPECT_THAT(error_of("backfill:depth"), HasSubstr("a value is missing"));
  EXPECT_THAT(error_of("backfill:depth=1,depth=2"), HasSubstr("given twice"));
  EXPECT_THAT(error_of("easy:order=lifo"), HasSubstr("use one of fcfs, sjf"));
  EXPECT_THAT(error_of("easy:shares=ada:2"),
              HasSubstr("policy easy: shares: 'ada:2' is no user's"));
}

// They are written as one word into logs and snapshots.
TEST(Registry, SettingsAreOneWord) {
  Registry registry;
  for (const char* name : {"-", "my own", "tab\t", "line\n"}) {
    registry.policies.push_back(registry.find("easy"));
    registry.policies.back().name = name;
    EXPECT_THROW(registry.make(name), InputError) << name;
  }
  EXPECT_THAT(error_of("-"), HasSubstr("policy: '-' stands for none; write NAME"));
  EXPECT_THAT(error_of("easy: order=sjf"),
              HasSubstr("policy: 'easy: order=sjf' has a blank or a control character; write"));
  EXPECT_THAT(error_of("easy\x7f"), HasSubstr("has a blank or a control character"));
}

TEST(Registry, TheMakerOutlivesIt) {
  const PolicyMaker make = [] {
    Registry registry;
    registry.policies.push_back(registry.find("easy"));
    registry.policies.back().name = "mine";
    return registry.maker();
  }();
  EXPECT_EQ(make("mine")->traits.settings, "mine");
}

TEST(Registry, ParametersAreThoseGivenAndTheOthersAsTheyAre) {
  const auto texts = Registry().parameters("backfill:depth=7,order=sjf,grace=60.0").texts();
  EXPECT_EQ(texts.at("depth"), "7");
  EXPECT_EQ(texts.at("order"), "sjf");
  EXPECT_EQ(texts.at("grace"), "60");
  EXPECT_EQ(texts.at("half_life"), "604800");
  EXPECT_THROW(Registry().parameters("backfill:depht=7"), InputError);
}

TEST(Registry, PoliciesFromOutside) {
  struct Nothing final : Policy {
    void schedule(Pass&) const override {}
  };
  Registry registry;
  std::string made;
  std::map<std::string, std::string> given;
  registry.outside.push_back({.name = "script",
                              .form = "script:FILE",
                              .make = [&](const std::string& what, const auto& own) {
                                made = what;
                                given = own;
                                const auto policy = std::make_shared<Nothing>();
                                policy->traits.order = QueueOrder::largest;
                                return policy;
                              }});
  const auto policy = registry.make("script:a.x:b,depth=3,grace=60");
  EXPECT_EQ(made, "a.x:b");
  EXPECT_EQ(given, (std::map<std::string, std::string>{{"depth", "3"}}));
  EXPECT_EQ(policy->traits.settings, "script:a.x:b,depth=3,grace=60");
  EXPECT_EQ(policy->traits.overdue.grace, whole_seconds(60));
  EXPECT_EQ(policy->traits.order, QueueOrder::largest);
  EXPECT_EQ(registry.make("script:a,order=sjf")->traits.order, QueueOrder::sjf);
  EXPECT_EQ(registry.parameters("script:a,depth=3").texts().at("depth"), "3");
  const auto error = [&](const char* text) {
    return testing::complaint([&] { registry.make(text); });
  };
  EXPECT_THAT(error("script:a,order=odd"), HasSubstr("there is no 'odd'"));
  EXPECT_THAT(error("script:a,depth"), HasSubstr("policy script: depth: a value is missing"));
  EXPECT_THAT(error("script:a,x=1,x=2"), HasSubstr("policy script: x: given twice"));
  EXPECT_THAT(error("script:a b"), HasSubstr("has a blank"));
  EXPECT_THAT(error("nobody"), HasSubstr("script:FILE"));
}

}  // namespace
}  // namespace ductile
