#include "live/http_api.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "job/socket.hpp"

namespace ductile {
namespace {

using namespace std::chrono_literals;

/// A client, and what answers it, in one thread: what is said is there at once.
class HttpApiTest : public ::testing::Test {
 protected:
  const std::string folder_ = ::testing::TempDir();
  const std::string web_ = folder_ + "/web";
  HttpSettings settings_{.socket = folder_ + "/controller",
                         .journal = folder_ + "/journal.db",
                         .token = "read",
                         .write_token = "write"};
  Descriptor controller_ = listen_unix(settings_.socket);
  std::unique_ptr<HttpApi> api_;

  void begin() {
    set_blocking(controller_, false);
    api_ = std::make_unique<HttpApi>(settings_, listen_unix(web_));
  }
  /// It does what there is to do.
  void turn() {
    for (int i = 0; i < 8; ++i) api_->turn(0ms);
  }
  Descriptor ask(const std::string& path, const std::string& method = "GET") {
    Descriptor client = connect_unix(web_);
    const std::string token = method == "POST" ? "write" : "read";
    say(client, method + " /api/v1" + path +
                    " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n");
    turn();
    return client;
  }
  static void say(const Descriptor& to, const std::string& text) {
    EXPECT_EQ(send(to.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static std::string heard(const Descriptor& from) {
    std::array<char, 65536> bytes;
    const ssize_t got = recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return {bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
  }

  struct Asked {
    Descriptor by{};
    std::string what{};
  };
  /// What the controller is asked next; nothing if it is not.
  std::optional<Asked> asked() {
    auto socket = accept_from(controller_);
    if (!socket) return std::nullopt;
    std::string what = heard(*socket);
    return Asked{std::move(*socket), std::move(what)};
  }
  void answer(const Asked& question, const std::string& text) {
    say(question.by, text + "\n");
    turn();
  }
};

TEST_F(HttpApiTest, WhoWaitsTooLongIsToldSoBegunOrNot) {
  settings_.quick_patience = settings_.slow_patience = 0ms;
  begin();
  for (int job = 1; job <= 9; ++job) {
    const Descriptor client = ask("/jobs/" + std::to_string(job) + "/why");
    EXPECT_EQ(heard(client).substr(0, 13), "HTTP/1.1 503 ") << job;
  }
}

TEST_F(HttpApiTest, WhatNobodyWaitsForIsNotAsked) {
  begin();
  std::vector<Descriptor> clients;
  for (const char* const path : {"/jobs", "/nodes", "/power", "/history"}) {
    clients.push_back(ask(path));
  }
  std::vector<Asked> begun;
  while (auto question = asked()) begun.push_back(std::move(*question));
  ASSERT_EQ(begun.size(), 4u);  // and no more at a time
  ask("/jobs/7/cancel", "POST").reset();
  ask("/jobs/8/why").reset();
  turn();
  clients.push_back(ask("/jobs/9/why"));
  EXPECT_FALSE(asked());
  for (const Asked& question : begun) answer(question, R"({"ok":false,"code":1,"error":"no; x"})");
  const auto next = asked();
  ASSERT_TRUE(next);
  EXPECT_NE(next->what.find("\"job\":9"), std::string::npos) << next->what;
  EXPECT_FALSE(asked());
}

TEST_F(HttpApiTest, WhatIsAskedAfterAChangeIsNewerThanIt) {
  begin();
  const Descriptor before = ask("/nodes");
  const auto old = asked();
  ASSERT_TRUE(old);
  const Descriptor with = ask("/nodes");
  EXPECT_FALSE(asked());  // it is the same question
  const Descriptor order = ask("/jobs/7/cancel", "POST");
  const auto change = asked();
  ASSERT_TRUE(change);
  answer(*change, R"({"ok":true})");
  EXPECT_EQ(heard(order).substr(0, 13), "HTTP/1.1 200 ");

  const Descriptor after = ask("/nodes");
  const auto anew = asked();
  ASSERT_TRUE(anew);
  answer(*old, R"({"ok":true,"nodes":"old"})");
  EXPECT_NE(heard(before).find("old"), std::string::npos);
  EXPECT_NE(heard(with).find("old"), std::string::npos);
  EXPECT_EQ(heard(after), "");
  answer(*anew, R"({"ok":true,"nodes":"new"})");
  EXPECT_NE(heard(after).find("new"), std::string::npos);
  EXPECT_NE(heard(ask("/nodes")).find("new"), std::string::npos);  // that one is kept
  EXPECT_FALSE(asked());
}

}  // namespace
}  // namespace ductile
