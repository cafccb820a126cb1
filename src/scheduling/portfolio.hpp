// A portfolio: several policies of which one rules at a time, and why it does.
//
// Who looks ahead and chooses is the world (simulation/look_ahead.hpp). The core hears of what was
// chosen as of another policy (`event::ConfigChanged`), so that a run is folded and replayed
// without looking ahead.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace ductile {

class Policy;
struct Traits;

/// What shall be small.
enum class Goal : std::uint8_t { turnaround, slowdown, longest, weighted };
constexpr std::array<std::string_view, 4> kGoalWords{"turnaround", "slowdown", "longest",
                                                     "weighted"};

/// Why somebody looked ahead: for the first time; it was time to; or other jobs waited than when
/// that was done last.
enum class Occasion : std::uint8_t { first, time, queue };
constexpr std::array<std::string_view, 3> kOccasionWords{"first", "time", "queue"};

/// What is believed to become of the jobs that are there.
struct Outlook {
  double turnaround_s = 0;    // mean
  double slowdown = 0;        // mean, bounded (10 s)
  double longest_wait_s = 0;  // of those that wait
  bool operator==(const Outlook&) const = default;
};

/// What was seen ahead, and who rules because of it.
struct Choice {
  struct Member {
    std::string settings{};
    Outlook outlook{};
    double score = 0;  // by the goal; the smallest is the best
    bool operator==(const Member&) const = default;
  };
  Occasion occasion = Occasion::first;
  Goal goal = Goal::turnaround;
  std::uint32_t jobs = 0;         // that were looked at
  std::uint64_t passes = 0;       // of policies, that looking ahead has lived through
  std::uint32_t ruled = 0;        // who did until then, and
  std::uint32_t chosen = 0;       // who does from now on: places in
  std::vector<Member> members{};  // those that this world can have, in the order of the portfolio
  bool operator==(const Choice&) const = default;
};

/// Several policies, and how the one that rules is chosen.
struct Portfolio {
  std::vector<std::shared_ptr<const Policy>> members{};  // at least one; the first one begins
  Goal goal = Goal::turnaround;
  Outlook weights{1, 1, 1};  // of `Goal::weighted`
  double hysteresis = 0;     // who shall rule must be better by this share than who does
  Duration every{};          // how often it is looked ahead; 0: not because of time
  double shift = 0;          // also when so many times more or less waits; 0: not because of that,
  Duration check{};          // which is looked at not more often than this
  Duration horizon{};        // so far ahead; 0: until all is over
  std::uint32_t most_jobs = 0;    // that wait and are followed, the first ones
  std::uint64_t most_passes = 0;  // of each member
};

/// The policy that rules if the core has these traits: the member of a portfolio that has these
/// settings, or the policy itself (a portfolio that has not chosen yet decides as its first
/// member).
std::shared_ptr<const Policy> ruling(const std::shared_ptr<const Policy>& policy,
                                     const Traits& traits);

}  // namespace ductile
