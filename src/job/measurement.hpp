// What is measured of a running job: what share of its time it spends in MPI, how long its
// iterations are, and the power that its host uses.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "job/power.hpp"
#include "job/protocol.hpp"
#include "job/watt_files.hpp"

namespace ductile {

/// Sums up what the processes of one generation tell between two reports.
class Measurement {
 public:
  using Clock = std::chrono::steady_clock;
  using Json = nlohmann::ordered_json;

  /// A report each `interval`; none if that is 0. Power is read from the counters in `power_from`,
  /// if there are some; InputError if there are none there, but in `usual_power`.
  Measurement(std::chrono::milliseconds interval, const std::string& power_from,
              const std::string& usual_power, Clock::time_point now);

  /// Reports have the power that these files say as well.
  void read_watts(WattFiles files) { files_ = std::move(files); }
  bool reads_watts() const { return files_.has_value(); }

  bool is_on() const { return interval_.count() > 0; }
  void add(const wire::Measured& measured);
  void add(const wire::Iterations& iterations);
  /// What was told so far is of processes that are not alone on their cores any more, or were not.
  void forget();

  /// When the next report is due.
  Clock::time_point next() const { return is_on() ? begun_ + interval_ : Clock::time_point::max(); }
  /// What has come since the last one, as the report has it; null if there was nothing. With files
  /// of watts, of these nodes.
  Json report(Clock::time_point now, const std::vector<std::string>& nodes = {},
              const WattFiles::Elsewhere& elsewhere = {});
  /// The last that is known: `mtct` (MPI time over compute time), `iteration_s`, `power_w`, and
  /// with files of watts `watts`.
  Json last() const;

 private:
  std::chrono::milliseconds interval_;
  Clock::time_point begun_;
  std::uint64_t looks_ = 0;  // of libductile-measure
  std::uint64_t looks_in_mpi_ = 0;
  wire::Iterations iterations_{};
  std::optional<EnergyMeter> energy_{};
  std::optional<WattFiles> files_{};
  std::optional<double> mtct_{}, iteration_s_{}, power_w_{}, watts_{};
};

}  // namespace ductile
