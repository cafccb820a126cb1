#include "link.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "job/fault.hpp"
#include "quiet_thread.hpp"

namespace ductile {
namespace {

constexpr std::chrono::seconds kPatience{60};  // on a busy machine; a manager that has gone is seen
constexpr int kPaceMs = 500;                   // from one message about iterations to the next

[[noreturn]] void end_with_manager() {
  complain("the manager of this job has gone, and so does this process");
  _exit(EXIT_FAILURE);  // without flushing: the program's thread may be in the middle of a write
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// What mpi_yield_when_idle says, while the program runs. Of Open MPI only; that of the program, as
/// this library may have been linked with another version's.
void yield_when_idle(bool is_on) {
  using Set = bool (*)(bool);
  static const auto set =
      reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle"));
  if (set != nullptr) set(is_on);
}

}  // namespace

void complain(const std::string& what) {
  const std::string line = "ductile: " + what + "\n";
  std::fputs(line.c_str(), stderr);
}

// ---- Link ---------------------------------------------------------------------------------------

Link::Link(const std::string& manager, const wire::Token& token, std::uint32_t generation,
           std::uint32_t rank, std::uint32_t size)
    : manager_(manager),
      socket_(connect_to(manager, kPatience)),
      token_(token),
      generation_(generation),
      rank_(rank),
      size_(size) {
  send(generation, wire::Hello{.token = token,
                               .rank = rank,
                               .size = size,
                               .pid = static_cast<std::uint32_t>(getpid()),
                               .host = host_name()});
  const std::optional<wire::Message> answer = receive(kPatience);
  if (!answer || !std::holds_alternative<wire::Welcome>(answer->content)) {
    throw std::runtime_error("the manager at " + manager + " does not answer");
  }
}

void Link::send(std::uint32_t generation, const wire::Content& content) {
  const std::scoped_lock lock(sending_);
  send_with_faults(
      role(generation), {generation, content},
      [&](const std::string& bytes) {
        if (!send_all(socket_, bytes)) end_with_manager();
      },
      [&] { shutdown(socket_.get(), SHUT_RDWR); });
}

std::string Link::role(std::uint32_t resize) const {
  return (resize == generation_ ? "new/" : "old/") + std::to_string(rank_);
}

std::optional<wire::Message> Link::receive(std::chrono::milliseconds timeout) {
  for (;;) {
    try {
      if (auto message = reader_.next()) {
        receive_with_faults(role(message->generation), *message,
                            [&] { shutdown(socket_.get(), SHUT_RDWR); });
        // It has nothing to do with what whoever receives is about to do.
        const auto* const yield = std::get_if<wire::Yield>(&message->content);
        if (yield == nullptr) return message;
        yield_when_idle(yield->on != 0);
        continue;
      }
    } catch (const wire::OtherVersion& error) {
      complain(std::string("`ductile run` speaks ") + error.what() +
               ", as the libductile-app of this program; link it with the one that belongs to it");
      _exit(EXIT_FAILURE);
    } catch (const wire::ProtocolError& error) {
      complain(std::string("the manager sends ") + error.what());
      end_with_manager();
    }
    pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, static_cast<int>(timeout.count()));
    if (ready == 0) return std::nullopt;
    if (ready < 0) continue;
    std::array<char, 16384> bytes;
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      reader_.feed({bytes.data(), static_cast<std::size_t>(got)});
    } else if (got == 0 || errno != EINTR) {
      end_with_manager();
    }
  }
}

// ---- Pace ---------------------------------------------------------------------------------------

void Pace::arrive() {
  if (left_ == Clock::time_point{}) return;  // the first
  const auto time = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - left_).count());
  const std::scoped_lock lock(mutex_);
  ++sum_.count;
  sum_.total_ns += time;
  sum_.longest_ns = std::max(sum_.longest_ns, time);
}

wire::Iterations Pace::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(sum_, {});
}

// ---- Listener -----------------------------------------------------------------------------------

Listener::Listener(Link& link, Pace* pace)
    : link_(link), pace_(pace), resize_(link.generation()), wake_(eventfd(0, EFD_CLOEXEC)) {
  thread_ = quiet_thread([this] { run(); });
}

Listener::~Listener() { stop(); }

void Listener::stop() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Listener::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !going_ || stopping_; });
      if (stopping_) return;
    }
    if (const auto message = link_.receive(std::chrono::milliseconds(0))) {
      handle(*message);
      continue;
    }
    std::array<pollfd, 2> waiting{{{.fd = link_.socket().get(), .events = POLLIN, .revents = 0},
                                   {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
    const int ready = poll(waiting.data(), waiting.size(), pace_ != nullptr ? kPaceMs : -1);
    if (ready > 0 || pace_ == nullptr) continue;
    const wire::Iterations iterations = pace_->take();
    if (iterations.count > 0) link_.send(link_.generation(), iterations);
  }
}

void Listener::handle(const wire::Message& message) {
  if (const auto* offer = std::get_if<wire::Offer>(&message.content)) {
    if (message.generation == link_.generation()) offer_ = static_cast<int>(offer->size);
    return;
  }
  std::unique_lock lock(mutex_);
  if (std::holds_alternative<wire::Prepare>(message.content)) {
    const bool is_new = message.generation > resize_;
    if (!is_new && (message.generation < resize_ || !announced_)) return;  // it is over
    if (is_new) {
      resize_ = message.generation;
      meeting_ = 0;
      reached_ = false;
      announced_ = true;
    }
    const std::uint64_t probe = probes_;
    lock.unlock();
    link_.send(message.generation, wire::At{.probe = probe});
    return;
  }
  if (message.generation != resize_ || !announced_) return;  // of a resize that is over
  if (const auto* meet = std::get_if<wire::Meet>(&message.content)) {
    meeting_ = meet->probe;
  } else if (const auto* go = std::get_if<wire::Go>(&message.content)) {
    if (!reached_) return;
    addresses_ = go->addresses;
    going_ = true;
  } else if (std::holds_alternative<wire::Abort>(message.content)) {
    announced_ = false;
  }
  lock.unlock();
  changed_.notify_all();
}

Listener::Call Listener::at_probe() {
  std::unique_lock lock(mutex_);
  if (going_) return Call::adapt;
  if (!announced_) return Call::none;
  if (meeting_ == 0) return Call::wait;
  if (probe_ < meeting_) return Call::none;
  if (reached_) return Call::wait;
  reached_ = true;
  const std::uint32_t resize = resize_;
  const std::uint64_t meeting = meeting_;
  lock.unlock();
  if (probe_ == meeting) {
    link_.send(resize, wire::Reached{});
  } else {
    link_.send(resize, wire::Failed{"is past the probe where all were to meet"});
  }
  return Call::wait;
}

void Listener::wait(std::chrono::microseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest);
}

void Listener::postpone(std::uint64_t probes) {
  std::uint32_t resize = 0;
  std::uint64_t meeting = 0;
  {
    const std::scoped_lock lock(mutex_);
    resize = resize_;
    meeting = probe_ + probes;
  }
  // While the listener keeps silent: nothing of the new meeting is said before this.
  link_.send(resize, wire::Postponed{.probe = meeting});
  {
    const std::scoped_lock lock(mutex_);
    meeting_ = meeting;
    reached_ = false;
    going_ = false;
  }
  changed_.notify_all();
}

void Listener::resume() {
  {
    const std::scoped_lock lock(mutex_);
    announced_ = false;
    going_ = false;
  }
  changed_.notify_all();
}

}  // namespace ductile
