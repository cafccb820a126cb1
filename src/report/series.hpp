// How the cluster fared over time: as samples and as means over equal intervals.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "simulation/observer.hpp"
#include "simulation/power_figures.hpp"

namespace ductile {

/// The state of the cluster from a time on.
struct Sample {
  Time at{};
  Nodes held = 0, idle = 0, claimed = 0, out_of_service = 0;  // all the nodes
  std::uint32_t pending = 0, running = 0;                     // jobs
  Nodes adaptive = 0;                                         // of `held`, by jobs not rigid
  double power_w = 0;                                         // drawn, truly
  double power_cap_w = kNoCap;                                // of which so much is allowed

  static constexpr double kNoCap = std::numeric_limits<double>::infinity();
  bool has_power() const { return power_w != 0 || power_cap_w != kNoCap; }

  bool operator==(const Sample&) const = default;
};

/// Means over time of something, in intervals of equal length from a first time on: as many as
/// there is room for, each a power of two of seconds long.
class TimeMeans {
 public:
  static constexpr std::size_t kMost = 480;  // about as many as a chart shows

  TimeMeans() = default;
  /// What another one had.
  TimeMeans(Time begin, Time end, Duration step, std::vector<double> sums)
      : begin_(begin), end_(end), step_(step), sums_(std::move(sums)) {}
  bool operator==(const TimeMeans&) const = default;

  void add(Time from, Time to, double value);

  Time begin() const { return begin_; }
  /// The first time of which nothing is known.
  Time end() const { return end_; }
  Duration step() const { return step_; }
  std::size_t size() const { return sums_.size(); }
  /// Of each interval, value times seconds.
  const std::vector<double>& sums() const { return sums_; }
  /// The mean over interval `i`, the last of which may end early.
  double mean(std::size_t i) const;

 private:
  void halve();

  Time begin_{}, end_{};
  Duration step_ = whole_seconds(1);
  std::vector<double> sums_;  // value times seconds
};

/// Collects both while a run goes on, in memory of a fixed size.
class Series final : public Observer {
 public:
  explicit Series(const Workload& workload)
      : workload_(workload), draw_(workload), counted_(workload.adaptive.size()) {}

  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_resized(Time now, JobId id, Nodes before, const Core& core) override;
  void on_suspended(Time now, JobId id, const WorkloadJob& job, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_close(Time now, const Core& core) override;
  void on_finish(Time now, const Core& core) override;

  /// In order. All changes if these are few, else the last state of each of equal intervals.
  const std::vector<Sample>& samples() const { return samples_; }
  /// 0 where all changes are there.
  Duration sampling_step() const { return step_; }
  const TimeMeans& held() const { return held_; }
  const TimeMeans& pending() const { return pending_; }
  const TimeMeans& adaptive() const { return adaptive_; }
  const TimeMeans& power_w() const { return power_w_; }

 private:
  static constexpr std::size_t kMost = 1 << 16;

  void count(JobId id, Nodes holds);
  void pass(Time until);
  void thin_out();

  const Workload& workload_;
  TrueDraw draw_;
  std::vector<Nodes> counted_;  // what each job that is not rigid holds,
  Nodes adaptive_held_ = 0;     // and their sum
  std::vector<Sample> samples_;
  Duration step_{};
  Sample now_;
  bool any_ = false;
  TimeMeans held_, pending_, adaptive_, power_w_;
};

/// Writes docs/formats/series.csv.md.
void write_series(const std::filesystem::path& path, const std::vector<Sample>& samples);

/// Reads the same back. Throws InputError.
std::vector<Sample> read_series(const std::filesystem::path& path);

}  // namespace ductile
