#include "job/resource_limits.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(ResourceLimits, AreTextAndBack) {
  const std::string text = "core=0:unlimited,nofile=100:200";
  EXPECT_EQ(to_text(parse_limits(text)), text);
  EXPECT_TRUE(parse_limits("").empty());
  const std::string own = to_text(own_limits());
  EXPECT_EQ(to_text(parse_limits(own)), own);
  EXPECT_NE(own.find("nofile="), std::string::npos);
  for (const char* wrong : {"core", "core=1", "core=2:1", "core=-1:2", "cores=1:2", "=1:2",
                            "core=1:2:3", ",", "core=99999999999999999999999:1"}) {
    EXPECT_THROW(parse_limits(wrong), InputError) << wrong;
  }
}

TEST(ResourceLimits, RaiseNoHardOne) {
  const pid_t child = fork();
  if (child == 0) {
    set_limits(parse_limits("core=10:20"));
    set_limits(parse_limits("core=30:unlimited"));
    rlimit now{};
    getrlimit(RLIMIT_CORE, &now);
    _exit(now.rlim_cur == 20 && now.rlim_max == 20 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace ductile
