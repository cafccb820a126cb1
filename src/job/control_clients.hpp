// Those who are connected to the control socket of a job: they give orders, wait for how these
// went, and watch what happens; one of them may be the step of a script.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "job/line_socket.hpp"
#include "job/poller.hpp"
#include "job/socket.hpp"

namespace ductile {

struct ControlClient {
  LineSocket lines;
  bool awaits_resize = false;
  nlohmann::ordered_json id{};  // of the order it awaits, as the client calls it
  bool watches = false;         // wants to hear of everything that happens
  bool is_step = false;         // the step of a script
  bool is_controller = false;   // the controller of the cluster
  bool is_joined = true;        // which has answered that this is a program of its job
};

class ControlClients {
 public:
  using Json = nlohmann::ordered_json;

  /// Bytes of an order, which may name thousands of hosts.
  static constexpr std::size_t kMaxLine = std::size_t{1} << 20;

  /// Whose user is ours, or root, is let in.
  void listen(Descriptor listener) { socket_ = std::move(listener); }
  /// Somebody who is connected already, and watches.
  ControlClient& add_watcher(Descriptor connection);
  /// Is the controller among them?
  bool has_controller() const;

  /// `on_line` is called with each line that somebody sends.
  void add_to(Poller& poller,
              const std::function<void(ControlClient&, const std::string&)>& on_line);
  static void tell(ControlClient& client, const Json& json);
  void tell_watchers(const Json& json);
  /// This one hears how the order goes that it has given, and calls so.
  void await(ControlClient& client, const Json& id);
  /// To all that wait for how an order goes.
  void answer(bool ok, const Json& details);
  /// What the last order is called that was heard, and the last one that was carried out, whoever
  /// gave them; null if there is none, or it has no name.
  const Json& heard() const { return heard_; }
  const Json& done() const { return done_; }
  /// The step of the script; null if there is none now.
  ControlClient* step() const;
  void forget_closed();

 private:
  void accept();

  Descriptor socket_{};
  std::vector<std::unique_ptr<ControlClient>> clients_{};
  Json heard_{}, done_{};
};

/// JSON as it is sent: bytes that are no UTF-8 are replaced.
std::string one_line(const nlohmann::ordered_json& json);

/// Sends one order, a JSON object on one line, to the socket of `ductile run --control`, and
/// returns the line that comes back. InputError if nobody listens there; RunError if the job ends
/// without an answer.
std::string ask_manager(const std::string& socket, const std::string& order);

}  // namespace ductile
