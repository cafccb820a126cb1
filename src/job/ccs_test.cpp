#include "job/ccs.hpp"

#include <algorithm>
#include <chrono>
#include <string>
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

}  // namespace
}  // namespace ductile
