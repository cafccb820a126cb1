#include "job/script_settings.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(ScriptSettings, SignalsHaveNames) {
  EXPECT_EQ(parse_signal("USR1"), SIGUSR1);
  EXPECT_EQ(parse_signal("SIGTERM"), SIGTERM);
  for (const char* text : {"KILL", "STOP", "usr1", "SIG", "10", ""}) {
    EXPECT_FALSE(parse_signal(text)) << text;
  }
  EXPECT_EQ(signal_word(SIGUSR2), "USR2");
  EXPECT_EQ(signal_word(0), "");
}

TEST(ScriptSettings, AreOptionsOfTheirKind) {
  ScriptSettings settings{.signal = SIGUSR1, .ack_timeout = std::chrono::milliseconds(1500)};
  EXPECT_EQ(to_words(settings, JobKind::script),
            (std::vector<std::string>{"--signal=USR1", "--ack-timeout=1.5"}));
  EXPECT_EQ(to_words(settings, JobKind::charm), std::vector<std::string>{"--ack-timeout=1.5"});
  settings = {.checkpoint = "save a b", .restart = "go {n}"};
  EXPECT_EQ(to_words(settings, JobKind::restart),
            (std::vector<std::string>{"--checkpoint=save a b", "--checkpoint-timeout=600",
                                      "--checkpoint-exit=85", "--restart=go {n}", "--settle=1"}));
}

}  // namespace
}  // namespace ductile
