#include "job/controller_link.hpp"

#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace ductile {
namespace {

using Clock = ControllerLink::Clock;

TEST(ControllerLink, TriesUntilSomebodyListens) {
  const std::string path = ::testing::TempDir() + "l" + std::to_string(getpid());
  ControllerLink link(path);
  Descriptor connection;
  const auto wait = [&] {
    Poller poller;
    link.add_to(poller, [&](Descriptor come) { connection = std::move(come); });
    poller.wait(std::chrono::seconds(60));
  };
  link.keep_trying(Clock::now());
  EXPECT_EQ(link.next(), Clock::time_point::max());  // under way
  wait();
  EXPECT_FALSE(connection);
  EXPECT_NE(link.why_not().find(path), std::string::npos);

  const Descriptor listener = listen_unix(path);
  link.keep_trying(Clock::now());  // not so soon
  EXPECT_GT(link.next(), Clock::now());
  EXPECT_LE(link.next(), Clock::now() + ControllerLink::kPause);
  link.keep_trying(link.next());
  wait();
  EXPECT_TRUE(connection);
  EXPECT_EQ(link.why_not(), "");
}

}  // namespace
}  // namespace ductile
