// What takes too long for the controller's loop: done by children on a copy of it (fork), which
// answer through a pipe. The controller goes on meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "job/poller.hpp"
#include "job/socket.hpp"

namespace ductile {

class BackgroundQueries {
 public:
  /// In the child; it calls `answer`, or `become`. Its exit code is 0, its standard output nowhere:
  /// policies may print. All other descriptors are closed, it sees the controller as it was when
  /// the child was started.
  using Work = std::function<void()>;
  /// In the child: the descriptor of the answer.
  static constexpr int kAnswer = 3;
  static void answer(std::string_view text);
  /// In the child: another program, whose standard output is what is left of the answer.
  [[noreturn]] static void become(const std::vector<std::string>& command);
  /// In the controller: what was written, or nothing if it failed or took too long.
  using Done = std::function<void(std::optional<std::string> answer)>;

  BackgroundQueries() = default;
  BackgroundQueries(const BackgroundQueries&) = delete;
  BackgroundQueries& operator=(const BackgroundQueries&) = delete;
  /// Kills those that are under way; nobody hears of them.
  ~BackgroundQueries();

  struct Terms {
    std::chrono::seconds patience{30};  // since its child was started; then that is killed
    bool waits_too = false;             // since it was added: somebody waits for the answer
    bool with_failures = false;         // what it wrote counts whatever its exit code is
  };
  /// As soon as few enough are under way. False if this user has too many: nothing was done.
  bool add(uid_t user, Work work, Done done, Terms terms);
  bool add(uid_t user, Work work, Done done) {
    return add(user, std::move(work), std::move(done), Terms{});
  }

  void add_to(Poller& poller);
  /// After waiting: starts, ends, and kills those that take too long.
  void look();
  /// When `look` has something to do.
  std::optional<std::chrono::steady_clock::time_point> next() const;

 private:
  using Steady = std::chrono::steady_clock;
  struct Query {
    uid_t user = 0;
    Work work{};
    Done done{};
    Terms terms{};
    pid_t child = -1;
    Descriptor pipe{};
    std::string answer{};
    Steady::time_point deadline = Steady::time_point::max();
    bool is_too_long = false;  // its answer, or the time it took
  };

  static void start(Query& query);
  static void read(Query& query);

  std::deque<Query> waiting_{};
  std::list<Query> running_{};
};

}  // namespace ductile
