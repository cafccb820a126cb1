// How the cluster fared over time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
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

/// Collects it while a run goes on, in memory of a fixed size.
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

  /// In order. All changes if these are few, else the last state of each of equal intervals.
  const std::vector<Sample>& samples() const { return samples_; }
  /// 0 where all changes are there.
  Duration sampling_step() const { return step_; }

 private:
  static constexpr std::size_t kMost = 1 << 16;

  void count(JobId id, Nodes holds);
  void thin_out();

  const Workload& workload_;
  TrueDraw draw_;
  std::vector<Nodes> counted_;  // what each job that is not rigid holds,
  Nodes adaptive_held_ = 0;     // and their sum
  std::vector<Sample> samples_;
  Duration step_{};
};

/// Writes docs/formats/series.csv.md.
void write_series(const std::filesystem::path& path, const std::vector<Sample>& samples);

/// Reads the same back. Throws InputError.
std::vector<Sample> read_series(const std::filesystem::path& path);

}  // namespace ductile
