#include "job/handshake.hpp"

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.hpp"
#include "job/control_clients.hpp"
#include "job/json_line.hpp"
#include "job/system_random.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kOfClient = "ductile client ";
constexpr const char* kOfServer = "ductile server ";

bool is_nonce(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// A field that is a text; empty if it is not there, or none.
std::string text_in(const Json& json, const char* name) {
  if (!json.is_object()) return {};
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string new_nonce() {
  std::array<unsigned char, 16> bytes{};
  fill_with_random(std::as_writable_bytes(std::span(bytes)));
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string ServerHandshake::greeting() const {
  return one_line({{"ductile", kVersion}, {"nonce", nonce_}});
}

ServerHandshake::Outcome ServerHandshake::on_line(const std::string& line) const {
  const auto refuse = [](std::string why) {
    return Outcome{std::move(why),
                   one_line({{"ok", false}, {"code", 1}, {"error", "it does not show who it is"}})};
  };
  const Json json = parse_json_line<Json>(line);
  const std::string credential = text_in(json, "credential"), nonce = text_in(json, "nonce");
  if (credential.empty() || !is_nonce(nonce)) return refuse("it does not answer as it should");
  try {
    const Credentials::Shown shown = credentials_.look_at(credential);
    if (shown.payload != kOfClient + nonce_) {
      return refuse(fmt::format("a credential of user {} for something else", shown.owner.user));
    }
    return {shown.owner,
            one_line({{"ok", true}, {"credential", credentials_.make(kOfServer + nonce)}})};
  } catch (const RunError& error) {
    return refuse(error.what());
  }
}

std::string ClientHandshake::on_greeting(const std::string& line) const {
  const Json json = parse_json_line<Json>(line);
  const std::string nonce = text_in(json, "nonce");
  if (!json.is_object() || json.value("ductile", Json()) != kVersion || !is_nonce(nonce)) {
    throw RunError("who listens there is no controller of this version");
  }
  return one_line({{"credential", credentials_.make(kOfClient + nonce)}, {"nonce", nonce_}});
}

void ClientHandshake::on_answer(const std::string& line) const {
  const Json json = parse_json_line<Json>(line);
  if (!json.is_object() || json.value("ok", Json()) != true) {
    const std::string why = text_in(json, "error");
    throw RunError("the controller refuses this connection: " +
                   (why.empty() ? "it gives no reason" : why));
  }
  const Credentials::Shown shown = credentials_.look_at(text_in(json, "credential"));
  if (shown.payload != kOfServer + nonce_) {
    throw RunError("who listens there has a credential for something else");
  }
  if (shown.owner.user != 0 && shown.owner.user != user_ && shown.owner.user != geteuid()) {
    throw RunError(
        fmt::format("who listens there runs as user {}; if that is the controller, say so with "
                    "DUCTILE_CONTROLLER_USER",
                    shown.owner.user));
  }
}

}  // namespace ductile
