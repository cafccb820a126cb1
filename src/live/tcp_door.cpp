#include "live/tcp_door.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/handshake.hpp"
#include "job/line_socket.hpp"
#include "live/metrics_server.hpp"

namespace ductile {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Who has not shown who it is by then is closed, and the eldest of so many at once as well.
constexpr std::chrono::seconds kStrangerPatience{10};
constexpr std::size_t kMostStrangers = 64;
/// Of the line with the credential, and of ours that wait.
constexpr std::size_t kLongest = 4096;
/// After an error of `accept` nobody is let in for so long.
constexpr std::chrono::milliseconds kDoorShortage{1000};
/// Who has come in and is not fetched.
constexpr std::size_t kMostEvents = 1024;

std::string address_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  if (getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host.data(), host.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "somewhere";
  }
  return host.data();
}

/// As this host has them; none if it does not know the user.
std::vector<gid_t> groups_on_this_host(const Owner& owner) {
  std::vector<char> text(65536);
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(owner.user, &entry, text.data(), text.size(), &found);
  if (found == nullptr) return {};
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (getgrouplist(entry.pw_name, owner.group, groups.data(), &count) < 0) {
    groups.resize(std::max(static_cast<std::size_t>(count), 2 * groups.size()));
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

void wake(const Descriptor& descriptor) {
  constexpr std::uint64_t kOne = 1;
  [[maybe_unused]] const ssize_t written = write(descriptor.get(), &kOne, sizeof kOne);
}

}  // namespace

struct TcpDoor::Stranger {
  LineSocket lines;
  std::string from{};
  ServerHandshake handshake;
  SteadyClock::time_point until{};
  bool is_over = false;
};

TcpDoor::TcpDoor(const std::string& address, const std::string& munge_socket)
    : credentials_(munge_credentials(munge_socket)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      news_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  try {
    credentials_.make("ductile");
  } catch (const RunError& error) {
    throw InputError({.field = "--listen"}, error.what(),
                     "start munged, or say with --munge-socket where it is");
  }
  const auto [host, port] = parse_address(address);
  try {
    listener_ = listen_tcp(host, port);
  } catch (const std::system_error& error) {
    throw InputError({.field = "--listen"}, error.what(),
                     "give a numeric address of this host and a port that is free");
  }
  address_ = local_address(listener_);
  // Signals are for the thread that made it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TcpDoor::~TcpDoor() {
  wake(stop_);
  thread_.join();
}

void TcpDoor::add_to(Poller& poller, const std::function<void(Event)>& on_event) {
  poller.add(news_, POLLIN, [this, on_event] {
    std::uint64_t ignored = 0;
    if (read(news_.get(), &ignored, sizeof ignored) < 0) return;
    std::vector<Event> events;
    {
      const std::lock_guard guard(mutex_);
      events.swap(events_);
    }
    for (Event& event : events) on_event(std::move(event));
  });
}

// ---- Its thread, which neither logs nor throws --------------------------------------------------

void TcpDoor::work() {
  std::vector<std::unique_ptr<Stranger>> strangers;
  SteadyClock::time_point accept_at{};
  for (bool is_ended = false; !is_ended;) {
    const auto now = SteadyClock::now();
    Poller poller;
    poller.add(stop_, POLLIN, [&] { is_ended = true; });
    auto next = now + std::chrono::hours(1);
    if (now < accept_at) {
      next = accept_at;
    } else {
      poller.add(listener_, POLLIN, [&] {
        errno = 0;
        accept(strangers);
        const bool is_short =
            errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        if (is_short) accept_at = SteadyClock::now() + kDoorShortage;
      });
    }
    for (const auto& owned : strangers) {
      Stranger* const stranger = owned.get();
      next = std::min(next, stranger->until);
      poller.add(stranger->lines.descriptor(), stranger->lines.events(),
                 [stranger] { stranger->lines.work(); });
    }
    poller.wait(next - now);
    for (const auto& stranger : strangers) hear(*stranger);
    std::erase_if(strangers, [](const auto& stranger) { return stranger->is_over; });
  }
}

/// As many as there are places for: then the eldest makes room.
void TcpDoor::accept(std::vector<std::unique_ptr<Stranger>>& strangers) {
  for (std::size_t i = 0; i < kMostStrangers; ++i) {
    auto socket = accept_from(listener_);
    if (!socket) return;
    std::string from = address_of(*socket);
    auto stranger = std::make_unique<Stranger>(
        Stranger{.lines = LineSocket(std::move(*socket), kLongest, kLongest),
                 .from = std::move(from),
                 .handshake = ServerHandshake(credentials_),
                 .until = SteadyClock::now() + kStrangerPatience});
    stranger->lines.send(stranger->handshake.greeting());
    strangers.push_back(std::move(stranger));
    const auto is_waiting = [](const auto& each) { return !each->is_over; };
    if (static_cast<std::size_t>(std::ranges::count_if(strangers, is_waiting)) > kMostStrangers) {
      (*std::ranges::find_if(strangers, is_waiting))->is_over = true;
    }
  }
}

void TcpDoor::hear(Stranger& stranger) {
  if (stranger.is_over) return;
  const auto line = stranger.lines.next();
  if (!line) {
    stranger.is_over = stranger.lines.is_closed() || SteadyClock::now() >= stranger.until;
    return;
  }
  stranger.is_over = true;
  ServerHandshake::Outcome outcome = stranger.handshake.on_line(*line);
  stranger.lines.send(outcome.answer);
  if (const auto* why = std::get_if<std::string>(&outcome.who)) {
    return tell(fmt::format("a connection from {} was refused: {}", stranger.from, *why));
  }
  // Who does not wait for the answer has more to say than it may.
  Descriptor socket = stranger.lines.release();
  if (!socket)
    return tell(fmt::format("a connection from {} was refused: it does not wait to be let in",
                            stranger.from));
  const Owner peer = std::get<Owner>(outcome.who);
  tell(Guest{std::move(socket), peer, groups_on_this_host(peer)});
}

/// Where nobody fetches them there is an end to it.
void TcpDoor::tell(Event event) {
  {
    const std::lock_guard guard(mutex_);
    if (events_.size() < kMostEvents) events_.push_back(std::move(event));
  }
  wake(news_);
}

}  // namespace ductile
