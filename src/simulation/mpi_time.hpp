// What the simulated world measures of a program's time in MPI: MTCT, time in MPI calls over time
// in computation (Chadha, John and Gerndt 2020, IV-D).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.hpp"
#include "base/random.hpp"
#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// MTCT by a job's number and its size, in millionths.
using MtctTable = std::map<std::pair<std::uint64_t, Nodes>, std::int64_t>;

/// A file with lines "JOB,SIZE,MTCT", '#' begins a comment; a first line "job,size,mtct" is passed
/// over. Throws `InputError` with line and field. Format: docs/formats/mtct.md.
MtctTable read_mtct(const std::string& path);

/// How it is measured.
struct MtctMeasurement {
  Duration delay = whole_seconds(10);  // after a start or the end of a resize
  /// The value of the model is multiplied by e^(noise * z) for each job, z standard normal.
  double noise = 0;
  /// Codes that change as they run: each `period` the exponent above moves by drift * z.
  double drift = 0;
  Duration period = whole_seconds(600);
  MtctTable table{};  // goes before model, noise and drift

  /// Can the value of a job change while its size does not?
  bool changes(const AdaptiveJob& job) const { return drift > 0 || job.phases.size() > 1; }
};

/// How far the exponent of a job has moved. Asked of later and later times it takes no step twice;
/// of an earlier one, as when the job began anew, it begins anew.
class MtctDrift {
 public:
  /// So long after the job's start.
  double after(const MtctMeasurement& how, std::uint64_t seed, std::uint64_t job, Duration running);

 private:
  std::optional<Draws> steps_{};
  Duration next_{};
  double exponent_ = 0;
};

/// In millionths, at least 1: n T(n) / T(1) - 1 of the true model, in the phase of which the share
/// `progress` of the job's work is, with the exponent moved by `drift`.
std::int64_t measured_mtct(const MtctMeasurement& how, std::uint64_t seed, const WorkloadJob& job,
                           const AdaptiveJob& more, Nodes size, double progress, double drift = 0);

/// Is another value worth telling? If it differs by more than 0.01 and 10 %.
constexpr bool differs_much(std::int64_t told, std::int64_t now) {
  const std::int64_t by = told < now ? now - told : told - now;
  return told == 0 || (by > 10'000 && by > told / 10);
}

}  // namespace ductile
