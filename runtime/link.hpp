// A process's connection to the manager of its job, and the thread that listens to it while the
// program computes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "job/protocol.hpp"
#include "job/socket.hpp"

namespace ductile {

/// Says "ductile: ..." on stderr.
void complain(const std::string& what);

/// Sends and receives whole messages; no thread yet.
class Link {
 public:
  /// Connects and introduces this process; throws what is wrong.
  Link(const std::string& manager, const wire::Token& token, std::uint32_t generation,
       std::uint32_t rank, std::uint32_t size);

  /// From any thread. If the manager has gone, so does this process: nothing outlives its job.
  void send(std::uint32_t generation, const wire::Content& content);

  /// The next message, waiting for it; nothing if there is none after `timeout` (negative: for
  /// ever). If the manager has gone, so does this process.
  std::optional<wire::Message> receive(std::chrono::milliseconds timeout);

  /// "old/1" or "new/1" in a resize, for faults on purpose.
  std::string role(std::uint32_t resize) const;

  const Descriptor& socket() const { return socket_; }
  /// The address of the manager.
  const std::string& manager() const { return manager_; }
  std::uint32_t generation() const { return generation_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  const wire::Token& token() const { return token_; }

 private:
  std::string manager_;
  Descriptor socket_;
  wire::Token token_;
  std::uint32_t generation_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::mutex sending_{};
  wire::MessageReader reader_{};
};

/// How long the iterations of a program take: the times between its probes.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  /// The program comes to a probe.
  void arrive();
  /// It goes on. What lies between the two is no part of an iteration.
  void leave() { left_ = Clock::now(); }
  /// What has come together since the last call.
  wire::Iterations take();

 private:
  Clock::time_point left_{};  // of the program's thread
  std::mutex mutex_{};
  wire::Iterations sum_{};
};

/// Listens while the program computes, and answers for it: a resize is agreed upon although no
/// process may be near a probe. The probe itself is a counter and a flag.
///
/// To Prepare the listener answers how many probes there have been, n. It raises the flag first and
/// looks at the counter then, while the probe counts first and looks at the flag then, so that
/// either the answer has counted a probe or that probe sees the flag: no probe after n passes
/// unseen. The manager lets all meet at the largest n + 1, which nobody can have passed.
/// Without `pace` it sleeps until the manager speaks; with it, it also tells how long iterations
/// took.
class Listener {
 public:
  /// What the slow probe has to do.
  enum class Call { none, wait, adapt };

  explicit Listener(Link& link, Pace* pace = nullptr);
  ~Listener();

  /// Counts a probe; true if a resize has been announced.
  bool count_probe() {
    probe_ = probes_.fetch_add(1) + 1;
    return announced_.load();
  }
  /// Of the probe just counted: wait, go on, or hand over to `addresses()`.
  Call at_probe();
  /// Waits until something new has come, for this long at most.
  void wait(std::chrono::microseconds longest);

  /// While an adapt call lasts, the listener keeps silent and the link is the caller's.
  std::uint32_t resize() const { return resize_; }
  const std::vector<std::string>& addresses() const { return addresses_; }
  /// All processes stand at the meeting point, and go on to meet after so many probes more.
  void postpone(std::uint64_t probes);
  /// The adapt call is over, and this process goes on.
  void resume();
  /// What was offered since the last call; -1 if nothing.
  int take_offer() { return offer_.exchange(-1); }
  /// Ends the thread.
  void stop();

 private:
  void run();
  void handle(const wire::Message& message);

  Link& link_;
  Pace* pace_;
  std::atomic<std::uint64_t> probes_{0};
  std::atomic<bool> announced_{false};
  std::atomic<int> offer_{-1};
  std::uint64_t probe_ = 0;  // of the program's thread

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::uint32_t resize_;       // the last generation that was announced; at first its own
  std::uint64_t meeting_ = 0;  // 0: not known yet
  bool reached_ = false;
  bool going_ = false;  // handing over: the link is not the listener's
  bool stopping_ = false;
  std::vector<std::string> addresses_{};

  Descriptor wake_{};
  std::thread thread_{};
};

}  // namespace ductile
