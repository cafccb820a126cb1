// A policy that others wrote, in a process of its own: whatever it does, the controller goes on.
//
// The process keeps a core that is the controller's: it gets its state once
// (scheduling/snapshot.hpp) and then hears of all that the controller tells its own. Asked for a
// pass it closes the instant there, and says which calls of the pen the policy made; the controller
// makes them, as far as its core takes them. If the policy raises, takes too long or does what is
// not possible, its process is ended, another policy decides, and the process is started anew.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "job/allowance.hpp"
#include "job/poller.hpp"
#include "job/socket.hpp"
#include "live/policy_messages.hpp"
#include "live/restarts.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"

namespace ductile {

class PolicyProcess {
 public:
  /// Makes the policy in this process.
  using Here = std::function<std::shared_ptr<const Policy>()>;
  struct Terms {
    std::shared_ptr<const Policy> fallback{};  // decides when this one does not
    Duration patience = whole_seconds(5);      // of a pass
    std::uint64_t memory = 0;                  // bytes of data; 0: any
  };
  /// "python:FILE.py:CLASS,parameter=value".
  PolicyProcess(std::string policy, Here here, Terms terms);
  PolicyProcess(const PolicyProcess&) = delete;
  PolicyProcess& operator=(const PolicyProcess&) = delete;
  /// Kills it.
  ~PolicyProcess();

  static constexpr std::chrono::seconds kToLoad{60};
  /// Starts it.
  void start();
  /// The traits of the policy that it has made; nothing: not within `patience`. InputError if it
  /// cannot, in its words, or has not within `kToLoad`.
  std::optional<Traits> made(std::chrono::nanoseconds patience);
  /// It could not be made, and had these traits before: it is tried again as after a failure.
  void begin_later(const Traits& traits, const std::string& why);
  /// Other terms, while it goes on.
  void configure(Terms terms);

  // ---- What the controller tells
  /// Before anything is told of an instant.
  void instant_begins(const Core& core);
  void heard(Time now, const Event& event);
  /// An instant was closed, and the policy was not asked.
  void closed(Time now);
  /// A whole pass (`Policy::operator()`).
  void decide(Pass& pass);
  /// What the policy itself does in one, in a copy of the controller, which answers a question: it
  /// is made there. If it takes too long SIGALRM ends the copy, as nothing else would.
  void decide_in_copy(Pass& pass);

  void add_to(Poller& poller);
  /// After waiting: ends and starts.
  void look();
  /// When `look` has something to do.
  std::optional<std::chrono::steady_clock::time_point> next() const;

  /// How it has done since the controller began.
  struct Account {
    std::uint64_t passes = 0;        // in which it was to decide
    std::uint64_t fallbacks = 0;     // in which the other policy did
    std::uint64_t failures = 0;      // of the process
    std::string why{};               // the last one
    std::optional<double> when_s{};  // by the clock on the wall
    bool decides = false;            // now
    std::string fallback{};
  };
  Account account() const;
  /// It takes the place of this one, and what that has done counts.
  void succeed(const PolicyProcess& other) { account_ = other.account_; }

 private:
  using Steady = std::chrono::steady_clock;
  enum class Phase : std::uint8_t { gone, loading, loaded, follows };

  void kill_it();
  /// How it ended, if it has; it is waited for so long.
  std::optional<std::string> end_within(Steady::duration patience);
  std::string by_end(const std::string& otherwise);
  void failed(const std::string& why, const std::string& more = {});
  /// Nobody waits any longer for what it does: where is it?
  std::string late(const std::string& why);
  std::string not_loaded();
  std::optional<std::string> exchange_until(Steady::time_point deadline);
  bool flush();
  bool receive();
  void read_output();
  void say_output(bool is_all);
  std::optional<std::string> take_ready(const PolicyAnswer& its);
  void take_loading();
  void fall_back(Pass& pass);
  static Steady::duration steady(Duration time) {
    return std::chrono::duration_cast<Steady::duration>(time);
  }

  std::string policy_;
  Here here_;
  pid_t owner_;
  Terms terms_;
  std::optional<Traits> traits_{};  // in force: one with others does not take its place
  Account account_{};
  std::shared_ptr<const Policy> of_copy_{};

  Phase phase_ = Phase::gone;
  pid_t child_ = -1;
  Descriptor socket_{}, output_{};
  std::string unsent_{}, come_{}, said_{};
  std::vector<std::string> last_said_{};  // since it was asked
  std::size_t sent_ = 0;
  std::uint64_t asked_ = 0;  // passes of this process
  Allowance lines_{50, std::chrono::milliseconds(100)};
  std::uint64_t left_out_ = 0;
  Steady::time_point started_{}, restart_{};
  // One that fails again and again costs less and less.
  Restarts restarts_{std::chrono::seconds(1), std::chrono::seconds(60), std::chrono::minutes(1)};
};

/// Begins to make a policy from outside, in a process of its own. InputError if its settings are
/// wrong.
std::shared_ptr<Policy> begin_elsewhere(const Registry& registry, const std::string& settings,
                                        const PolicyProcess::Terms& terms);
/// Can it decide from now on? InputError if it cannot be made (`PolicyProcess::made`).
bool is_made(Policy& policy, std::chrono::nanoseconds patience);

/// Makes a policy; one from outside in a process of its own, which is waited for. If that cannot be
/// made, and had the traits `known` under the same settings, it begins later.
std::shared_ptr<const Policy> make_elsewhere(const Registry& registry, const std::string& settings,
                                             const PolicyProcess::Terms& terms,
                                             const std::optional<Traits>& known = {});
/// Could that be, as far as it can be said without a process? InputError if not.
void check_elsewhere(const Registry& registry, const std::string& settings);
/// The process of such a policy; null: it is another one.
PolicyProcess* process_of(const Policy& policy);

/// What this program is then, if it was called so; its exit code. `registry` makes the policy in
/// it.
std::optional<int> run_policy_process(int argc, char** argv, const Registry& registry);

}  // namespace ductile
