// What must hold after every event and every pen call. Checked in all tests, and with `--check`.
#pragma once

#include <stdexcept>

#include "scheduling/state.hpp"

namespace ductile {

/// The core broke one of its own rules: a bug, never a matter of input.
class InvariantViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws `InvariantViolation` with a description. O(jobs that live), so not for fast runs.
///
/// (a) held + claimed + idle + out of service = total, and no node has two owners; of power, what
///     running jobs draw above idle nodes, and what claims hold of it, is what is counted;
/// (b) claimed nodes are up;
/// (c) open pledges point at unanswered shrinks, and no shrink promises more nodes or more power
///     than it will release;
/// (d) the beneficiary of a claim does nothing and is no victim;
/// (e) every unanswered decision is the one its job names, and no job waits for another answer;
/// (f) decisions = answers + unanswered;
/// (h) sizes are within limits unless the world said otherwise, work left is not negative, the
///     releases say what jobs, claims and shrinks will give back, the queue holds just the waiting.
void check_invariants(const State& state);

/// The same after each of many small changes: all of them while few jobs live, else one of so many
/// that a change costs what it would with a few hundred jobs. Which ones follows from the changes
/// alone.
void check_invariants_in_turn(State& state);

}  // namespace ductile
