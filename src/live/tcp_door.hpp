// The controller's door by TCP. A thread of its own asks who comes who that is (job/handshake.hpp),
// so that neither strangers nor a slow munged keep the controller waiting; who has shown it is
// handed over.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "job/munge.hpp"
#include "job/poller.hpp"
#include "job/socket.hpp"

namespace ductile {

class TcpDoor {
 public:
  /// Who has shown who it is, and its groups on this host.
  struct Guest {
    Descriptor socket{};
    Owner peer{};
    std::vector<gid_t> groups{};
  };
  /// Somebody was refused: why, and from where.
  using Refusal = std::string;
  using Event = std::variant<Guest, Refusal>;

  /// Listens at `address`, HOST:PORT; InputError if that cannot be, or if this program is without
  /// MUNGE. `munge_socket` as in `munge_credentials`. A door without MUNGE's daemon behind it would
  /// let nobody in: that is an InputError, too.
  TcpDoor(const std::string& address, const std::string& munge_socket);
  TcpDoor(const TcpDoor&) = delete;
  TcpDoor& operator=(const TcpDoor&) = delete;
  ~TcpDoor();

  /// Calls `on_event` for each that has happened.
  void add_to(Poller& poller, const std::function<void(Event)>& on_event);
  /// Where it listens.
  const std::string& address() const { return address_; }

 private:
  struct Stranger;
  void work();
  void accept(std::vector<std::unique_ptr<Stranger>>& strangers);
  void hear(Stranger& stranger);
  void tell(Event event);

  Credentials credentials_;
  Descriptor listener_{};
  std::string address_{};
  Descriptor stop_{}, news_{};
  std::mutex mutex_{};
  std::vector<Event> events_{};
  std::thread thread_{};
};

}  // namespace ductile
