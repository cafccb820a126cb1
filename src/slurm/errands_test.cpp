#include "slurm/errands.hpp"

#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

namespace ductile {
namespace {

using ::testing::ElementsAre;

void wait_for(const Errands& errands) {
  pollfd one{.fd = errands.descriptor().get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&one, 1, 10'000), 1);
}

TEST(Errands, AreMadeElsewhereAndComeBackInOrder) {
  Errands errands;
  std::vector<int> made, back;
  std::thread::id elsewhere;
  for (const int each : {1, 2, 3}) {
    errands.give([&, each]() -> Errands::Return {
      elsewhere = std::this_thread::get_id();
      made.push_back(each);
      return [&, each] { back.push_back(each); };
    });
  }
  while (errands.count() > 0) {
    wait_for(errands);
    errands.take();
  }
  EXPECT_THAT(made, ElementsAre(1, 2, 3));
  EXPECT_THAT(back, ElementsAre(1, 2, 3));
  EXPECT_NE(elsewhere, std::this_thread::get_id());
}

TEST(Errands, NothingComesBackBeforeItIsTaken) {
  for (const auto how : {Errands::How::apart, Errands::How::at_once}) {
    Errands errands(how);
    bool is_back = false;
    errands.give([&]() -> Errands::Return { return [&] { is_back = true; }; });
    wait_for(errands);
    EXPECT_FALSE(is_back);
    errands.take();
    EXPECT_TRUE(is_back);
  }
}

TEST(Errands, WhatACallThrowsIsThrownHere) {
  Errands errands;
  errands.give([]() -> Errands::Return { throw std::runtime_error("a defect"); });
  wait_for(errands);
  EXPECT_THROW(errands.take(), std::runtime_error);
}

TEST(Errands, ThoseThatWaitAreNotMadeAtTheEnd) {
  int made = 0;
  {
    Errands errands;
    errands.give([&]() -> Errands::Return {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      ++made;
      return {};
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (int i = 0; i < 10; ++i) {
      errands.give([&]() -> Errands::Return {
        ++made;
        return {};
      });
    }
  }
  EXPECT_LT(made, 11);
}

}  // namespace
}  // namespace ductile
