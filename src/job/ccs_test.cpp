#include "job/ccs.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ductile {
namespace {

std::string hex(const CcsSignature& signature) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : signature) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

/// Computed by another SHA-1: sha1(key + number + header + zeros), 52 bytes.
TEST(Ccs, SignsAsCharmDoes) {
  CcsKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<unsigned char>(i * 6);
  EXPECT_EQ(hex(sign(key, 0)), "f92a43df19df45b86c80786e4ce5dd2736eb2ff7");
  EXPECT_EQ(hex(sign(key, 0xfedcba98, "0123456789abcdef, and no more")),
            "21648c76d07deca60adac23f4e86ac6203675b20");
}

TEST(Ccs, AKeyIsALineOfDecimalDigits) {
  CcsKey key{};
  key[1] = 7;
  key[15] = 99;
  EXPECT_EQ(to_line(key), "0 00070000000000000000000000000099\n");
  const CcsKey random = new_ccs_key();
  EXPECT_NE(random, new_ccs_key());
  EXPECT_TRUE(std::ranges::all_of(random, [](unsigned char byte) { return byte < 100; }));
}

/// A socket whose other end is a thread that answers so.
class Server {
 public:
  explicit Server(std::string answer) : listener_(listen_tcp("127.0.0.1")) {
    set_blocking(listener_, true);
    thread_ = std::thread([this, answer = std::move(answer)] {
      const Descriptor client(accept(listener_.get(), nullptr, nullptr));
      send_all(client, answer);
      shutdown(client.get(), SHUT_WR);
      for (char byte = 0; recv(client.get(), &byte, 1, 0) > 0;) {
      }
    });
  }
  ~Server() { thread_.join(); }
  Descriptor connect() const {
    Descriptor socket = connect_to(local_address(listener_), std::chrono::seconds(5));
    set_blocking(socket, false);
    return socket;
  }

 private:
  Descriptor listener_;
  std::thread thread_{};
};

void wait_for(CcsCall& call) {
  while (!call.is_over()) {
    Poller poller;
    call.add_to(poller, [&] { call.go_on(); });
    poller.wait(std::chrono::seconds(1));
  }
}

TEST(Ccs, WhoHasNoKeyIsNotBelieved) {
  const Server server(std::string(32, 'x'));
  CcsCall call([&] { return server.connect(); }, new_ccs_key(), {"ccs_getinfo", ""});
  wait_for(call);
  EXPECT_EQ(call.error(), "who answers does not have the key");
  EXPECT_FALSE(call.answer());
}

TEST(Ccs, WhoClosesHasNotAnswered) {
  const Server server("12");
  CcsCall call([&] { return server.connect(); }, new_ccs_key(), {"ccs_getinfo", ""});
  wait_for(call);
  EXPECT_EQ(call.error(), "it has closed the connection");
}

/// A program that has this key, for one request.
class Charm {
 public:
  struct Behaviour {
    bool is_byte_by_byte = false;
    bool has_key_for_the_answer = true;
    std::uint32_t length = 0;  // that it says, of an answer that it does not send
  };
  static constexpr const char* kAnswer = "four and two";

  Charm(const CcsKey& key, Behaviour behaviour)
      : key_(key), behaviour_(behaviour), listener_(listen_tcp("127.0.0.1")) {
    set_blocking(listener_, true);
    thread_ = std::thread([this] { serve(); });
  }
  ~Charm() { thread_.join(); }
  Descriptor connect() const {
    Descriptor socket = connect_to(local_address(listener_), std::chrono::seconds(5));
    set_blocking(socket, false);
    return socket;
  }
  /// Nobody will come any more.
  void stop() const { shutdown(listener_.get(), SHUT_RDWR); }
  /// What it was asked; empty if that was not signed as it has to be.
  const std::string& asked() const { return asked_; }

 private:
  void serve() {
    {
      const Descriptor client(accept(listener_.get(), nullptr, nullptr));
      EXPECT_EQ(take(client, 4), in_bytes(0x80000100));
      const std::uint32_t challenge = number_in(take(client, 4));
      say(client, in_bytes(kSalt));
      EXPECT_EQ(take(client, 20), text(sign(key_, kSalt)));
      say(client, text(sign(key_, challenge)) + in_bytes(kClient) + in_bytes(kSalt + 1));
    }
    const Descriptor client(accept(listener_.get(), nullptr, nullptr));
    if (!client) return;
    EXPECT_EQ(take(client, 4), in_bytes(0x80000000));
    EXPECT_EQ(take(client, 4), in_bytes(kClient));
    const std::uint32_t challenge = number_in(take(client, 4));
    const std::string signature = take(client, 20);
    const std::string header = take(client, 40);
    const std::string data = take(client, number_in(header));
    if (signature == text(sign(key_, kSalt + 1, header)))
      asked_ = header.c_str() + 8 + (":" + data);
    const std::uint32_t length = behaviour_.length;
    const bool is_whole = length == 0;
    say(client,
        text(sign(key_, challenge + (behaviour_.has_key_for_the_answer ? 0 : 1))) +
            (is_whole ? in_bytes(std::string(kAnswer).size()) + kAnswer : in_bytes(length)));
    for (char byte = 0; recv(client.get(), &byte, 1, 0) > 0;) {
    }
  }

  void say(const Descriptor& client, const std::string& bytes) const {
    if (!behaviour_.is_byte_by_byte) return static_cast<void>(send_all(client, bytes));
    for (const char byte : bytes) {
      send_all(client, std::string(1, byte));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  static std::string take(const Descriptor& client, std::size_t count) {
    std::string bytes(count, '\0');
    if (count > 0) recv(client.get(), bytes.data(), count, MSG_WAITALL);
    return bytes;
  }
  static std::string text(const CcsSignature& signature) {
    return {signature.begin(), signature.end()};
  }
  static std::string in_bytes(std::size_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
    return bytes;
  }
  static std::uint32_t number_in(const std::string& bytes) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return ntohl(number);
  }

  static constexpr std::uint32_t kSalt = 0x01f2e3d4, kClient = 7;
  CcsKey key_;
  Behaviour behaviour_;
  Descriptor listener_;
  std::string asked_{};
  std::thread thread_{};
};

TEST(Ccs, AnAnswerMayComeByteByByte) {
  const CcsKey key = new_ccs_key();
  const Charm charm(key, {.is_byte_by_byte = true});
  CcsCall call([&] { return charm.connect(); }, key, {"set_bitmap", "1234"});
  wait_for(call);
  EXPECT_EQ(call.answer(), Charm::kAnswer) << call.error();
  EXPECT_EQ(charm.asked(), "set_bitmap:1234");
}

TEST(Ccs, ALongAnswerIsNotTaken) {
  const CcsKey key = new_ccs_key();
  const Charm charm(key, {.length = (1 << 20) + 1});
  CcsCall call([&] { return charm.connect(); }, key, {"ccs_getinfo", ""});
  wait_for(call);
  EXPECT_EQ(call.error(), "its answer is too long");
}

TEST(Ccs, WhoCannotSignTheAnswerIsNotBelieved) {
  const CcsKey key = new_ccs_key();
  const Charm charm(key, {.has_key_for_the_answer = false});
  CcsCall call([&] { return charm.connect(); }, key, {"ccs_getinfo", ""});
  wait_for(call);
  EXPECT_EQ(call.error(), "who answers does not have the key");
  EXPECT_FALSE(call.answer());
}

TEST(Ccs, TheSecondConnectionMayBeRefused) {
  const CcsKey key = new_ccs_key();
  const Charm charm(key, {});
  int count = 0;
  const auto connect = [&] {
    if (++count == 1) return charm.connect();
    charm.stop();
    throw std::system_error(ECONNREFUSED, std::generic_category(), "no connection");
  };
  CcsCall call(connect, key, {"ccs_getinfo", ""});
  wait_for(call);
  EXPECT_EQ(call.error(), "no connection: Connection refused");
}

}  // namespace
}  // namespace ductile
