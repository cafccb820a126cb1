// What the machine draws while a run goes on, and how it keeps to a cap and to a corridor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/wide.hpp"
#include "metrics/summary.hpp"
#include "scheduling/core.hpp"
#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// What a machine truly draws, where jobs draw other watts than is believed of them. While a job
/// grows, the nodes and cores on their way to it are idle.
class TrueDraw {
 public:
  explicit TrueDraw(const Workload& workload);
  /// O(open decisions); O(running jobs) where what some jobs draw is not as it is believed.
  std::int64_t milliwatts(const State& state) const;
  /// What a running job draws above what its nodes draw when they are idle. The jobs' sum is what
  /// the machine draws above all of its nodes when they are idle, to the milliwatt.
  std::int64_t of_job_mw(const State& state, JobId id) const;

 private:
  /// What it says its job draws on a node; 0: as it is believed.
  double watts_of(const State& state, JobId id) const;
  const Workload& workload_;
  bool are_known_ = true;  // all jobs draw what is believed of them
};

/// What each job draws above what its nodes draw when they are idle, summed up over all of its
/// starts. Told of each instant, as `PowerFigures`.
class JobEnergies {
 public:
  explicit JobEnergies(const Workload& workload) : draw_(workload), rows_(workload.jobs.size()) {}

  /// So it is from now on. O(running jobs).
  void note(Time now, const State& state);
  /// It leaves its nodes.
  void leave(Time now, JobId id);
  /// Milliwatts times microseconds, until the last call.
  Wide nanojoules(JobId id) const { return rows_[index(id)].energy_nj; }

 private:
  struct Row {
    Wide energy_nj = 0;
    std::int64_t drawn_mw = 0;
    Time since{};
  };
  static void pass(Row& row, Time until);

  TrueDraw draw_;
  std::vector<Row> rows_;  // by JobId
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
    Duration length{};
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
  Budget budget_ = Budget::power;
};

}  // namespace ductile
