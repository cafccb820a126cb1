#include "job/line_socket.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ductile {
namespace {

/// Two ends; the first one is raw.
std::pair<Descriptor, Descriptor> ends() {
  int fds[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {Descriptor(fds[0]), Descriptor(fds[1])};
}

TEST(LineSocket, GivesWholeLinesAsTheyCome) {
  auto [raw, socket] = ends();
  LineSocket lines(std::move(socket), 100, 100);
  send_all(raw, "one\ntw");
  lines.work();
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), std::nullopt);
  send_all(raw, "o\n\n");
  lines.work();
  EXPECT_EQ(lines.next(), "two");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_FALSE(lines.is_closed());
}

TEST(LineSocket, IsGivenBackIfNothingIsLostWithIt) {
  auto [raw, socket] = ends();
  const int fd = socket.get();
  LineSocket lines(std::move(socket), 100, 100);
  send_all(raw, "one\n");
  lines.work();
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.release().get(), fd);
  EXPECT_TRUE(lines.is_closed());
  auto [other, more] = ends();
  LineSocket busy(std::move(more), 100, 100);
  send_all(other, "one\ntwo");
  busy.work();
  EXPECT_EQ(busy.next(), "one");
  EXPECT_FALSE(busy.release());
}

TEST(LineSocket, SendsALineInParts) {
  auto [raw, socket] = ends();
  const std::string much(std::size_t{1} << 20, 'x');  // more than is taken at once
  LineSocket lines(std::move(socket), 100, 4 * much.size());
  lines.send_part("one, ");
  lines.send_part(much);
  EXPECT_FALSE(lines.is_flushed());
  lines.send_part(", two");
  lines.send("");
  std::string come(2 * much.size(), '\0');
  std::size_t size = 0;
  while (size == 0 || come[size - 1] != '\n') {
    const ssize_t got = read(raw.get(), come.data() + size, come.size() - size);
    ASSERT_GT(got, 0);
    size += static_cast<std::size_t>(got);
    lines.work();
  }
  EXPECT_EQ(come.substr(0, size), "one, " + much + ", two\n");
  lines.send_part(std::string(6 * much.size(), 'x'));
  EXPECT_TRUE(lines.is_closed());
  lines.send_part("nobody");
}

TEST(LineSocket, TakesNoMoreWhileALineWaits) {
  auto [raw, socket] = ends();
  LineSocket lines(std::move(socket), 100, 100);
  EXPECT_EQ(lines.events(), POLLIN);
  send_all(raw, "one\ntwo\n");
  lines.work();
  EXPECT_TRUE(lines.has_line());
  EXPECT_EQ(lines.events(), 0);
  send_all(raw, "three\n");
  lines.work();
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), "two");
  EXPECT_FALSE(lines.has_line());
  EXPECT_EQ(lines.events(), POLLIN);
  lines.work();
  EXPECT_EQ(lines.next(), "three");
}

TEST(LineSocket, GivesWhatCameBeforeTheEnd) {
  auto [raw, socket] = ends();
  LineSocket lines(std::move(socket), 100, 100);
  send_all(raw, "last\nhalf");
  raw.reset();
  lines.work();
  EXPECT_EQ(lines.next(), "last");
  EXPECT_EQ(lines.next(), std::nullopt);
  lines.work();
  EXPECT_TRUE(lines.is_closed());
}

TEST(LineSocket, ClosesWhoSendsTooLongALine) {
  auto [raw, socket] = ends();
  LineSocket lines(std::move(socket), 10, 100);
  send_all(raw, "0123456789\n01234567890");
  lines.work();
  EXPECT_EQ(lines.next(), "0123456789");
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_TRUE(lines.is_closed());
}

// Who still sends when it is closed can read what it was told.
TEST(LineSocket, SaysThatALineIsTooLong) {
  auto [raw, socket] = ends();
  LineSocket lines(std::move(socket), 10, 100, "at most 10");
  send_all(raw, "01234567890");
  lines.work();
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_TRUE(lines.is_closed());
  EXPECT_FALSE(send_all(raw, "more"));
  std::string told(100, '\0');
  const ssize_t got = read(raw.get(), told.data(), told.size());
  EXPECT_EQ(told.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0))), "at most 10\n");
}

TEST(LineSocket, ClosesWhoDoesNotRead) {
  auto [raw, socket] = ends();
  LineSocket lines(std::move(socket), 10, 1000);
  const std::string line(500, 'x');
  for (int i = 0; i < 100'000 && !lines.is_closed(); ++i) {
    lines.send(line);
    EXPECT_TRUE(lines.is_closed() || lines.is_flushed() || (lines.events() & 4) != 0);
  }
  EXPECT_TRUE(lines.is_closed());
}

TEST(LineSocket, SendsTheRestLater) {
  auto [raw, socket] = ends();
  LineSocket lines(std::move(socket), 10, std::size_t{1} << 24);
  const std::string line(std::size_t{1} << 20, 'x');
  lines.send(line);
  EXPECT_FALSE(lines.is_flushed());
  std::string come;
  std::string bytes(65536, '\0');
  while (come.size() < line.size() + 1) {
    const ssize_t got = read(raw.get(), bytes.data(), bytes.size());
    ASSERT_GT(got, 0);
    come.append(bytes, 0, static_cast<std::size_t>(got));
    lines.work();
  }
  EXPECT_EQ(come, line + "\n");
  EXPECT_TRUE(lines.is_flushed());
}

// Lines longer than the socket takes at once arrive whole and in order.
TEST(LineSocket, SendsLongLinesInParts) {
  auto [raw, socket] = ends();
  LineSocket lines(std::move(socket), 100, std::size_t{1} << 24);
  std::string expected;
  for (const char c : {'a', 'b', 'c'}) {
    const std::string line(1'000'000, c);
    lines.send(line);
    expected += line + '\n';
  }
  EXPECT_FALSE(lines.is_flushed());
  EXPECT_LT(lines.unsent(), expected.size());
  std::string come;
  std::string bytes(50'000, '\0');
  while (come.size() < expected.size()) {
    lines.work();
    const ssize_t got = read(raw.get(), bytes.data(), bytes.size());
    ASSERT_GT(got, 0);
    come.append(bytes, 0, static_cast<std::size_t>(got));
    EXPECT_EQ(lines.is_closed(), false);
  }
  EXPECT_TRUE(come == expected);
  EXPECT_TRUE(lines.is_flushed());
}

}  // namespace
}  // namespace ductile
