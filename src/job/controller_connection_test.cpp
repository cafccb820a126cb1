#include "job/controller_connection.hpp"

#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/error.hpp"

namespace ductile {
namespace {

TEST(ControllerConnection, AnAddressIsOfTcpOrAPath) {
  for (const char* address : {"h1:9481", "10.0.0.1:1", "[::1]:65535"}) {
    EXPECT_TRUE(is_tcp_address(address)) << address;
  }
  for (const char* path : {"", "socket", "/run/x:1", ":9481", "h1:", "h1:0", "h1:65536", "h1:x"}) {
    EXPECT_FALSE(is_tcp_address(path)) << path;
  }
}

TEST(ControllerConnection, AFileWhereNobodyListensIsAMistake) {
  EXPECT_THROW(connect_to_controller(::testing::TempDir() + "nobody", std::chrono::seconds(1)),
               InputError);
}

TEST(ControllerConnection, LinesAreReadOneByOneOrNotAtAll) {
  int fds[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const Descriptor here(fds[0]);
  Descriptor there(fds[1]);
  send_all(there, "one\ntwo\nthr");
  constexpr std::chrono::milliseconds kSoon{20};
  EXPECT_EQ(read_line(here, kSoon), "one");
  EXPECT_EQ(read_line(here, kSoon), "two");
  EXPECT_THROW(read_line(here, kSoon), RunError);  // no answer
  there.reset();
  EXPECT_THROW(read_line(here, kSoon), RunError);  // closed
}

}  // namespace
}  // namespace ductile
