#include "job/handshake.hpp"

#include <string>
#include <variant>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

/// MUNGE without a daemon: a credential is "USER:PAYLOAD".
Credentials credentials_of(uid_t user) {
  return {
      .make = [user](const std::string& payload) { return std::to_string(user) + ":" + payload; },
      .look_at =
          [](const std::string& credential) {
            const std::size_t colon = credential.find(':');
            if (colon == std::string::npos) throw RunError("MUNGE: Invalid credential");
            return Credentials::Shown{
                {static_cast<uid_t>(std::stoul(credential.substr(0, colon))), 7},
                credential.substr(colon + 1)};
          }};
}

const std::string kNonce(32, 'a');
const std::string kOther(32, 'b');
constexpr uid_t kController = 4711;

class Handshake : public ::testing::Test {
 protected:
  std::string refused(const std::string& line) const {
    const ServerHandshake::Outcome outcome = server_.on_line(line);
    EXPECT_NE(outcome.answer.find(R"("ok":false)"), std::string::npos) << line;
    const auto* const why = std::get_if<std::string>(&outcome.who);
    return why == nullptr ? "let in" : *why;
  }
  std::string mistrusted(const std::string& answer) const {
    try {
      client_.on_answer(answer);
      return "trusted";
    } catch (const RunError& error) {
      return error.what();
    }
  }

  Credentials of_server_ = credentials_of(kController), of_client_ = credentials_of(1234);
  ServerHandshake server_{of_server_, kNonce};
  ClientHandshake client_{of_client_, kController, kOther};
};

TEST_F(Handshake, ShowsBothWhoTheOtherIs) {
  const std::string line = client_.on_greeting(server_.greeting());
  const ServerHandshake::Outcome outcome = server_.on_line(line);
  ASSERT_TRUE(std::holds_alternative<Owner>(outcome.who));
  EXPECT_EQ(std::get<Owner>(outcome.who).user, 1234u);
  EXPECT_EQ(std::get<Owner>(outcome.who).group, 7u);
  EXPECT_EQ(mistrusted(outcome.answer), "trusted");
}

TEST_F(Handshake, RefusesWhoDoesNotShowIt) {
  EXPECT_NE(refused("nonsense").find("as it should"), std::string::npos);
  EXPECT_NE(refused("[]").find("as it should"), std::string::npos);
  EXPECT_NE(refused(R"({"credential": 5, "nonce": ")" + kOther + "\"}").find("as it should"),
            std::string::npos);
  EXPECT_NE(refused(R"({"credential": "1:x", "nonce": "short"})").find("as it should"),
            std::string::npos);
  EXPECT_NE(refused(R"({"credential": "x", "nonce": ")" + kOther + "\"}").find("Invalid"),
            std::string::npos);
  // That of another connection, and one that a controller has made.
  EXPECT_NE(
      refused(R"({"credential": "0:ductile client )" + kOther + R"(", "nonce": ")" + kOther + "\"}")
          .find("for something else"),
      std::string::npos);
  EXPECT_NE(
      refused(R"({"credential": "0:ductile server )" + kNonce + R"(", "nonce": ")" + kOther + "\"}")
          .find("for something else"),
      std::string::npos);
}

TEST_F(Handshake, TrustsTheControllersUserAlone) {
  const auto answer = [](uid_t user, const std::string& payload) {
    return R"({"ok": true, "credential": ")" + std::to_string(user) + ":" + payload + "\"}";
  };
  EXPECT_EQ(mistrusted(answer(kController, "ductile server " + kOther)), "trusted");
  EXPECT_EQ(mistrusted(answer(0, "ductile server " + kOther)), "trusted");
  EXPECT_EQ(mistrusted(answer(geteuid(), "ductile server " + kOther)), "trusted");
  EXPECT_NE(mistrusted(answer(99, "ductile server " + kOther)).find("user 99"), std::string::npos);
  EXPECT_NE(mistrusted(answer(0, "ductile server " + kNonce)).find("something else"),
            std::string::npos);
  EXPECT_NE(mistrusted(answer(0, "ductile client " + kOther)).find("something else"),
            std::string::npos);
  EXPECT_NE(mistrusted(R"({"ok": false, "error": "no"})").find("refuses this connection: no"),
            std::string::npos);
  EXPECT_NE(mistrusted(R"({"ok": true})").find("Invalid"), std::string::npos);
  EXPECT_NE(mistrusted("").find("no reason"), std::string::npos);
  EXPECT_THROW(client_.on_greeting(R"({"ductile": 2, "nonce": ")" + kNonce + "\"}"), RunError);
  EXPECT_THROW(client_.on_greeting(R"({"ductile": 1, "nonce": "x"})"), RunError);
  EXPECT_THROW(client_.on_greeting("220 mail"), RunError);
}

TEST(Nonce, IsAnotherOneEachTime) {
  const std::string one = new_nonce();
  EXPECT_EQ(one.size(), 32u);
  EXPECT_NE(one, new_nonce());
}

}  // namespace
}  // namespace ductile
