#include "model/fairness.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/complaint.hpp"

namespace ductile {
namespace {

constexpr const char* kAll =
    "both,single=600,target=3600.5,user7.single=0,user7.permitted=no,group3.target=60,"
    "account:a.b-c.single=5,account:a.b-c.permitted=no,account:x.target=1,interval=3600,decay=0.5,"
    "depth=7,own=yes";

TEST(Fairness, ReadsWhatItWrites) {
  const Fairness fairness = parse_fairness(kAll);
  EXPECT_EQ(fairness.policy, Fairness::Policy::both);
  EXPECT_EQ(fairness.everybody.single, whole_seconds(600));
  EXPECT_EQ(fairness.everybody.target, seconds(3600.5));
  ASSERT_EQ(fairness.exceptions.size(), 4u);
  EXPECT_EQ(fairness.exceptions[0].party, (Party{Party::Kind::user, 7}));
  EXPECT_EQ(fairness.exceptions[0].limits.single, Duration{});
  EXPECT_FALSE(fairness.exceptions[0].limits.target.has_value());
  EXPECT_FALSE(fairness.exceptions[0].limits.permitted);
  EXPECT_EQ(fairness.exceptions[1].party, (Party{Party::Kind::group, 3}));
  EXPECT_EQ(fairness.exceptions[1].limits.target, whole_seconds(60));
  EXPECT_EQ(fairness.exceptions[2].party, (Party{Party::Kind::account, 1}));
  EXPECT_EQ(fairness.exceptions[3].party, (Party{Party::Kind::account, 2}));
  EXPECT_EQ(fairness.exceptions[3].limits.target, whole_seconds(1));
  EXPECT_EQ(fairness.accounts, (std::vector<std::string>{"a.b-c", "x"}));
  EXPECT_EQ(fairness.interval, whole_seconds(3600));
  EXPECT_EQ(fairness.decay, 0.5);
  EXPECT_EQ(fairness.depth, 7u);
  EXPECT_TRUE(fairness.own_jobs);
  EXPECT_EQ(to_text(fairness), kAll);
  EXPECT_EQ(parse_fairness(to_text(fairness)), fairness);
}

TEST(Fairness, HasDefaults) {
  EXPECT_EQ(parse_fairness("none"), Fairness{});
  EXPECT_EQ(to_text(Fairness{}), "none");
  const Fairness target = parse_fairness("target,target=0");
  EXPECT_EQ(target.interval, whole_seconds(21'600));
  EXPECT_EQ(target.decay, 0.4);
  EXPECT_EQ(target.everybody.target, Duration{});
  EXPECT_FALSE(target.everybody.single.has_value());
}

TEST(Accounts, HaveTheNumbersOfTheRulesFirst) {
  Accounts accounts(parse_fairness("both,account:b.single=1"));
  EXPECT_EQ(accounts.number("a"), 2u);
  EXPECT_EQ(accounts.number("b"), 1u);
  EXPECT_EQ(accounts.number(""), 0u);
  EXPECT_EQ(accounts.number("a"), 2u);
  EXPECT_EQ(accounts.name(0), "");
  EXPECT_EQ(accounts.name(2), "a");
  EXPECT_EQ(accounts.names(), (std::vector<std::string>{"b", "a"}));
}

TEST(Accounts, HaveNamesThatFilesCanHold) {
  for (const char* name : {"a", "Z-9_.x", "0"}) EXPECT_EQ(account_name(name), name);
  EXPECT_TRUE(is_account_name(std::string(64, 'x')));
  for (const std::string& name : {std::string(65, 'x'), std::string("a b"), std::string("a,b"),
                                  std::string("a=b"), std::string("é"), std::string()}) {
    EXPECT_THROW(account_name(name), InputError) << name;
  }
}

std::string error_of(const std::string& text) {
  return testing::complaint([&] { parse_fairness(text, {.field = "--fairness"}); });
}

TEST(Fairness, SaysWhatIsWrong) {
  EXPECT_EQ(error_of("fair"),
            "--fairness: there is no 'fair'; begin with one of none, single, target, both");
  EXPECT_EQ(error_of("both,single"), "--fairness: single: a value is missing; write single=VALUE");
  EXPECT_EQ(error_of("both,single=-1"),
            "--fairness: single=-1: '-1' is no number from 0 to 1e+09; correct it");
  EXPECT_EQ(error_of("both,decay=2"),
            "--fairness: decay=2: '2' is no number from 0 to 1; correct it");
  EXPECT_EQ(error_of("both,own=1"),
            "--fairness: own=1: '1' is neither yes nor no; write one of them");
  EXPECT_EQ(error_of("both,single=1,single=2"), "--fairness: single=2: given twice; give it once");
  EXPECT_EQ(error_of("both,userx.single=1"),
            "--fairness: userx.single=1: 'userx' is nobody; write userNUMBER, groupNUMBER or "
            "account:NAME");
  for (const char* who :
       {"account", "account:", "account:a b", "account:a:b", "account7", "user"}) {
    EXPECT_EQ(error_of("both," + std::string(who) + ".single=1"),
              "--fairness: " + std::string(who) + ".single=1: '" + who +
                  "' is nobody; write userNUMBER, groupNUMBER or account:NAME");
  }
  EXPECT_EQ(
      error_of("both,user1.depth=1"),
      "--fairness: user1.depth=1: there is no 'depth'; use single, target, permitted, also as "
      "userNUMBER.single, groupNUMBER.single or account:NAME.single; interval, decay, depth, own");
  EXPECT_EQ(
      error_of("single,user3.target=5"),
      "--fairness: a limit 'target' has no effect with 'single'; begin with single, target or "
      "both");
  for (const char* text : {"", "target,single=5", "none,permitted=no", "none,user1.single=5"}) {
    EXPECT_NE(error_of(text), "") << text;
  }
  for (const char* text : {"", "both,", "both,depth=x", "both,interval=0", "both,single=nan"}) {
    EXPECT_EQ(error_of(text).empty(), std::string(text) == "both,") << text;
  }
}

}  // namespace
}  // namespace ductile
