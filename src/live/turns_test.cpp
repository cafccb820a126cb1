#include "live/turns.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(Turns, EachUserInTurnAndOfEachTheOldest) {
  Turns<int> turns;
  for (int i = 1; i <= 3; ++i) turns.add(7, i);
  turns.add(5, 10);
  turns.add(9, 20);
  turns.add(9, 21);
  std::string taken;
  while (!turns.empty()) taken += std::to_string(turns.take().second) + ' ';
  EXPECT_EQ(taken, "10 1 20 2 21 3 ");
}

// Who always has something more, as when all is asked for anew in each turn, is not served twice.
TEST(Turns, WhoWasServedIsTheLastOneAlsoAfterAllWasCleared) {
  Turns<int> turns;
  std::string users;
  for (int i = 0; i < 6; ++i) {
    for (const uid_t user : {1U, 2U, 3U}) turns.add(user, i);
    users += std::to_string(turns.take().first);
    turns.clear();
  }
  EXPECT_EQ(users, "123123");
}

}  // namespace
}  // namespace ductile
