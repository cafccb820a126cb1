// What the machine draws while a run goes on, and how it keeps to a cap and to a corridor.
#pragma once

#include <cstdint>
#include <span>

#include "base/wide.hpp"
#include "metrics/summary.hpp"
#include "scheduling/core.hpp"
#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// What a machine truly draws, where jobs draw other watts than is believed of them. While a job
/// grows, the nodes on their way to it are idle.
class TrueDraw {
 public:
  explicit TrueDraw(const Workload& workload);
  /// O(open decisions); O(running jobs) where what some jobs draw is not as it is believed.
  std::int64_t milliwatts(const State& state) const;

 private:
  const Workload& workload_;
  bool are_known_ = true;  // all jobs draw what is believed of them
};

/// The bounds, by time, and how long one may be outside of them. A view.
struct PowerCorridor {
  std::span<const CorridorLine> lines{};
  Duration grace{};
};

/// Sums up what is drawn from the first submission on. Power is constant between instants, so it is
/// told of each: `pass(now)`, then `note`.
class PowerFigures {
 public:
  PowerFigures(const Workload& workload, const PowerCorridor& corridor);

  /// So it is from now on.
  void note(const Core& core);
  /// So it was until then.
  void pass(Time until);
  /// Up to the last time that jobs held nodes; of a run that was stopped, to its end.
  void write(Summary& summary, bool is_stopped) const;

 private:
  struct Sums {
    Wide energy_nj = 0;  // milliwatts times microseconds
    std::int64_t most_mw = 0, cap_mw = State::kNoBudget;
    Duration above{}, outside{};
    Wide outside_nj = 0;  // beyond the nearer bound
    std::uint64_t excursions = 0, violations = 0;
    Duration excursion{};  // how long the present one lasts
    bool is_outside = false;
  };
  void add(Duration length, const CorridorLine* line);
  void end_excursion(Sums& sums) const;

  TrueDraw draw_;
  PowerCorridor corridor_;
  std::size_t line_ = 0;  // of the corridor, the next one
  Sums sums_, until_idle_;
  Time since_{};
  std::int64_t drawn_mw_ = 0, cap_mw_ = State::kNoBudget;
  bool is_held_ = false;
};

}  // namespace ductile
