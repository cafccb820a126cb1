#include "cli/live_options.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(LiveOptions, WhoIsOutOfReachIsSaidAboveTheTable) {
  setenv("TZ", "UTC", 1);
  EXPECT_EQ(lost_line({{"ok", true}, {"lost_since_s", 1'700'000'000.25}}),
            "the cluster is out of reach since 2023-11-14T22:13:20; nothing is decided until it is "
            "back\n");
  EXPECT_EQ(lost_line({{"ok", true}, {"lost_since_s", nullptr}}), "");
  EXPECT_EQ(lost_line({{"ok", true}}), "");
  EXPECT_EQ(lost_line({{"ok", true}, {"lost_since_s", nullptr}, {"lacks", "resizes"}}),
            "the cluster lacks what the policy needs, resizes; nothing is decided until it can do "
            "that, or another policy is configured\n");
  EXPECT_EQ(lost_line({{"ok", true}, {"lacks", nullptr}}), "");
}

}  // namespace
}  // namespace ductile
