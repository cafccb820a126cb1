#include "live/client.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/controller_connection.hpp"
#include "job/socket.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kPatienceMs = 30'000;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The next line; nothing if the other side has gone.
std::optional<std::string> line_from(const Descriptor& socket, std::string& come, int patience_ms) {
  std::array<char, 65536> bytes;
  std::size_t end = 0;
  for (std::size_t searched = 0; (end = come.find('\n', searched)) == std::string::npos;) {
    searched = come.size();
    pollfd waiting{.fd = socket.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, patience_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) throw RunError("the controller does not answer");
    const ssize_t got = recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    come.append(bytes.data(), static_cast<std::size_t>(got));
  }
  std::string line = come.substr(0, end);
  come.erase(0, end + 1);
  return line;
}

}  // namespace

std::string default_state() {
  if (geteuid() == 0) return "/var/lib/ductile";
  const std::string state = variable("XDG_STATE_HOME");
  return (state.empty() ? variable("HOME") + "/.local/state" : state) + "/ductile";
}

std::string find_socket(const std::string& given) {
  if (!given.empty()) return given;
  if (std::string named = variable("DUCTILE_SOCKET"); !named.empty()) return named;
  std::string own = default_state() + "/socket";
  std::error_code ignored;
  return std::filesystem::exists(own, ignored) ? own : "/var/lib/ductile/socket";
}

namespace {

/// The controller, before it has answered.
class Gone : public RunError {
 public:
  using RunError::RunError;
};

/// A connection, and what has come of answers.
class Asker {
 public:
  Asker(const std::string& socket, const Json& request) : connection_(connected(socket)) {
    // Who does not hear the whole of it may have said why: answer() finds out.
    send_all(connection_, request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  /// The next answer, if it is none that refuses.
  std::string answer(int patience_ms) {
    auto line = line_from(connection_, come_, patience_ms);
    if (!line) throw Gone("the controller ended without an answer");
    if (line->starts_with(R"({"ok":true,)")) return std::move(*line);
    const Json json = Json::parse(*line, nullptr, false);
    if (!json.is_object()) throw RunError("the controller answers '" + *line + "'");
    if (json.value("ok", false)) return std::move(*line);
    const std::string error = json.value("error", std::string("it gives no reason"));
    if (json.value("code", 1) == 2) throw InputError(error, "");
    if (std::string its = json.value("slurm_partition", std::string()); !its.empty()) {
      throw JobsComeBySbatch(error, std::move(its));
    }
    throw RunError(error);
  }

 private:
  static Descriptor connected(const std::string& socket) {
    try {
      return connect_to_controller(socket, std::chrono::milliseconds(kPatienceMs));
    } catch (const InputError&) {
      if (is_tcp_address(socket)) throw;
      throw InputError("no controller listens at '" + socket + "'",
                       "start one with `ductile serve`, or say with --socket where it is");
    }
  }

  Descriptor connection_;
  std::string come_{};
};

Json parsed(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) throw RunError("the controller answers '" + line + "'");
  return json;
}

/// Asks the controller that has this socket next, and takes its first answer.
Asker found_again(const std::string& socket, const Json& request) {
  constexpr auto kPause = std::chrono::milliseconds(200);
  for (;;) {
    std::this_thread::sleep_for(kPause);
    std::optional<Asker> asker;
    try {
      asker.emplace(socket, request);
    } catch (const std::runtime_error&) {  // nobody listens yet, or cannot be reached now
      continue;
    }
    try {
      asker->answer(kPatienceMs);
      return std::move(*asker);
    } catch (const Gone&) {
    }
  }
}

}  // namespace

std::string ask_for_line(const std::string& socket, const Json& request) {
  return Asker(socket, request).answer(kPatienceMs);
}

Json ask_controller(const std::string& socket, const Json& request, bool waits,
                    const std::function<void(const Json&)>& first) {
  std::optional<Asker> asker(std::in_place, socket, request);
  Json json = parsed(asker->answer(kPatienceMs));
  if (!waits) return json;
  if (first) first(json);
  for (;;) {
    try {
      return parsed(asker->answer(-1));
    } catch (const RunError& error) {
      std::cerr << "ductile: " << error.what() << "; waiting for it to come back" << std::endl;
    }
    asker = found_again(socket, {{"do", "wait"}, {"job", json.at("job")}});
  }
}

}  // namespace ductile
