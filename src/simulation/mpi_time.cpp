#include "simulation/mpi_time.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "workload/compressed_file.hpp"
#include "workload/line_reader.hpp"

namespace ductile {
namespace {

constexpr double kMillion = 1e6;
constexpr double kMostMpiTime = 1e9;

std::int64_t millionths(double value) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::floor(std::min(value, kMostMpiTime) * kMillion + 0.5)));
}

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlank = " \t\r";
  const std::size_t from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

// n T(n) / T(1); where times were measured, the first size stands for 1.
double cost_over_one(const AdaptiveJob& more, Nodes size, double progress) {
  if (more.phases.empty()) return size * more.speedup.relative_time(size, 1);
  const auto is_in = [&](const Phase& phase) { return progress < phase.until; };
  auto at = std::ranges::find_if(more.phases, is_in);
  if (at == more.phases.end()) --at;
  const std::span<const double> times = at->times_s.rows();
  if (times.empty()) return size * at->speedup.relative_time(size, 1);
  const std::size_t place = std::min<std::size_t>(size - more.size.min, times.size() - 1);
  return size * times[place] / (more.size.min * times[0]);
}

}  // namespace

MtctTable read_mtct(const std::string& path) {
  CompressedFile file = CompressedFile::open(path);
  LineReader lines(file, path, "write lines of JOB,SIZE,MTCT");
  MtctTable table;
  for (std::string_view line; lines.next(line);) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty() || (table.empty() && line == "job,size,mtct")) continue;
    const auto fail = [&](const char* field, const std::string& what, const char* remedy) {
      throw InputError({path, lines.number(), field}, what, remedy);
    };
    const std::string_view whole = line;
    if (std::ranges::count(whole, ',') != 2) {
      fail("line", "it has not three fields", "write JOB,SIZE,MTCT");
    }
    const std::string_view job_word = trimmed(next_part(line, ','));
    const std::string_view size_word = trimmed(next_part(line, ','));
    const auto job = parse_number<std::uint64_t>(job_word);
    if (!job) fail("job", "'" + std::string(job_word) + "' is no number of a job", "write one");
    const auto size = parse_number<Nodes>(size_word);
    if (!size || *size == 0) {
      fail("size", "'" + std::string(size_word) + "' is no number of nodes", "write one from 1 on");
    }
    const auto value = parse_number<double>(trimmed(line));
    if (!value || *value <= 0 || *value > kMostMpiTime) {
      fail("mtct", "'" + std::string(trimmed(line)) + "' is not possible",
           "write time in MPI over time in computation, above 0 and up to 1e9");
    }
    if (!table.emplace(std::pair(*job, *size), millionths(*value)).second) {
      fail("line", "job and size are there already", "write each pair once");
    }
  }
  return table;
}

double MtctDrift::after(const MtctMeasurement& how, std::uint64_t seed, std::uint64_t job,
                        Duration running) {
  if (how.drift == 0) return 0;
  if (!steps_ || running < next_ - how.period) {
    *this = {};
    steps_.emplace(seed, Stream::mtct_drift, job);
    next_ = how.period;
  }
  for (; next_ <= running; next_ += how.period) exponent_ += how.drift * steps_->normal();
  return exponent_;
}

std::int64_t measured_mtct(const MtctMeasurement& how, std::uint64_t seed, const WorkloadJob& job,
                           const AdaptiveJob& more, Nodes size, double progress, double drift) {
  if (const auto at = how.table.find({job.name, size}); at != how.table.end()) return at->second;
  double exponent = drift;
  if (how.noise > 0) exponent += how.noise * Draws(seed, Stream::mtct, job.name).normal();
  const double value = cost_over_one(more, size, progress) - 1;
  return millionths(exponent == 0 ? value : value * std::exp(exponent));
}

}  // namespace ductile
