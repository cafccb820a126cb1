#include "job/control_clients.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include "base/error.hpp"

namespace ductile {
namespace {

constexpr std::size_t kMostClients = 256;
/// Answers that may wait for a client: one that does not read them has only itself to blame.
constexpr std::size_t kMaxAnswers = std::size_t{4} << 20;

std::unique_ptr<ControlClient> new_client(Descriptor connection) {
  return std::make_unique<ControlClient>(ControlClient{
      .lines = LineSocket(std::move(connection), ControlClients::kMaxLine, kMaxAnswers)});
}

}  // namespace

std::string one_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ControlClient& ControlClients::add_watcher(Descriptor connection) {
  clients_.push_back(new_client(std::move(connection)));
  clients_.back()->watches = true;
  return *clients_.back();
}

bool ControlClients::has_controller() const {
  return std::ranges::any_of(clients_, [](const auto& client) { return client->is_controller; });
}

void ControlClients::accept() {
  while (auto connection = accept_from(socket_)) {
    if (!may_order(*connection)) {
      spdlog::warn("an order of another user was refused");
      continue;
    }
    if (clients_.size() < kMostClients) clients_.push_back(new_client(std::move(*connection)));
  }
}

void ControlClients::add_to(
    Poller& poller, const std::function<void(ControlClient&, const std::string&)>& on_line) {
  if (socket_) poller.add(socket_, POLLIN, [this] { accept(); });
  for (const auto& owned : clients_) {
    ControlClient* const client = owned.get();
    poller.add(client->lines.descriptor(), client->lines.events(), [client, on_line] {
      client->lines.work();
      while (const auto line = client->lines.next()) on_line(*client, *line);
    });
  }
}

void ControlClients::tell(ControlClient& client, const Json& json) {
  client.lines.send(one_line(json));
}

void ControlClients::tell_watchers(const Json& json) {
  for (const auto& client : clients_) {
    if (client->watches) tell(*client, json);
  }
}

void ControlClients::await(ControlClient& client, const Json& id) {
  client.awaits_resize = true;
  client.id = heard_ = id;
}

void ControlClients::answer(bool ok, const Json& details) {
  if (ok) done_ = heard_;
  Json json = {{"ok", ok}};
  json.update(details);
  for (const auto& client : clients_) {
    if (!std::exchange(client->awaits_resize, false)) continue;
    Json own = json;
    if (!client->id.is_null()) own["id"] = client->id;
    tell(*client, own);
  }
}

ControlClient* ControlClients::step() const {
  const auto found =
      std::ranges::find_if(clients_, [](const auto& client) { return client->is_step; });
  return found == clients_.end() ? nullptr : found->get();
}

void ControlClients::forget_closed() {
  std::erase_if(clients_, [](const auto& client) { return client->lines.is_closed(); });
}

std::string ask_manager(const std::string& socket, const std::string& order) {
  const Descriptor connection = connect_unix(socket);
  std::string answer;
  if (send_all(connection, order + "\n")) {
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t got = recv(connection.get(), bytes.data(), bytes.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      answer.append(bytes.data(), static_cast<std::size_t>(got));
      if (answer.back() == '\n') return answer.substr(0, answer.size() - 1);
    }
  }
  throw RunError("the job ended without an answer");
}

}  // namespace ductile
