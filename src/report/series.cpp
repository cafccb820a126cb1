#include "report/series.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

constexpr std::string_view kSeriesHeader =
    "time,held,idle,claimed,out_of_service,pending,running,adaptive";
// Where power is known.
constexpr std::string_view kPowerHeader = ",power_w,power_cap_w";

bool same_state(const Sample& a, Sample b) {
  b.at = a.at;
  return a == b;
}

// Nodes that several jobs share, none of them rigid, for each but the first one.
Nodes held_again(const State& state) {
  std::int64_t sum = 0;
  for (const auto& [node, who] : state.sharers) {
    sum +=
        std::ranges::count(who, Status::running, [&](JobId id) { return state.jobs[id].status; });
    --sum;
  }
  return static_cast<Nodes>(sum);
}

}  // namespace

// ---- Series -------------------------------------------------------------------------------------

void Series::on_decision(Time, const Decision& decision, const Core& core) {
  if (decision.kind == Decision::Kind::reject || decision.job == JobId::none) return;
  count(decision.job, core.job(decision.job).holding.count);
}

void Series::on_resized(Time, JobId id, Nodes, const Core& core) {
  count(id, core.job(id).holding.count);
}

void Series::on_end(Time, JobId id, const WorkloadJob&, EndState, bool, const Core&) {
  count(id, 0);
}

void Series::on_suspended(Time, JobId id, const WorkloadJob&, const Core&) { count(id, 0); }

void Series::count(JobId id, Nodes holds) {
  const std::uint32_t row = workload_.jobs[index(id)].adaptive;
  if (row == WorkloadJob::kRigid) return;
  adaptive_held_ += holds - counted_[row];
  counted_[row] = holds;
}

void Series::on_close(Time now, const Core& core) {
  const State& state = core.state();
  const bool is_of_power = state.rules.budget == Budget::power;
  const Sample sample{
      .at = now,
      .held = state.held,
      .idle = state.idle.count(),
      .claimed = state.claimed,
      .out_of_service = state.out_of_service,
      .pending = static_cast<std::uint32_t>(state.queue.size()),
      .running = static_cast<std::uint32_t>(state.running.size()),
      .adaptive = adaptive_held_ - held_again(state),
      .power_w = is_of_power ? static_cast<double>(draw_.milliwatts(state)) / 1e3 : 0,
      .power_cap_w = !is_of_power || state.power_cap_mw() == State::kNoBudget
                         ? Sample::kNoCap
                         : static_cast<double>(state.power_cap_mw()) / 1e3};
  if (!samples_.empty() && same_state(samples_.back(), sample)) return;
  if (!samples_.empty()) {
    const Time last = samples_.back().at;
    const bool together = step_ == Duration{}
                              ? last == now
                              : last.time_since_epoch() / step_ == now.time_since_epoch() / step_;
    if (together) samples_.pop_back();
  }
  samples_.push_back(sample);
  if (samples_.size() > kMost) thin_out();
}

void Series::thin_out() {
  while (samples_.size() > kMost / 2) {
    step_ = step_ == Duration{} ? whole_seconds(1) : step_ * 2;
    std::size_t kept = 0;
    for (const Sample& sample : samples_) {
      const bool together = kept > 0 && samples_[kept - 1].at.time_since_epoch() / step_ ==
                                            sample.at.time_since_epoch() / step_;
      samples_[together ? kept - 1 : kept++] = sample;
    }
    samples_.resize(kept);
  }
}

// ---- Files --------------------------------------------------------------------------------------

void write_series(const std::filesystem::path& path, const std::vector<Sample>& samples) {
  OutputFile file(path);
  std::string& text = file.text();
  const bool has_power = std::ranges::any_of(samples, &Sample::has_power);
  text.append(kSeriesHeader).append(has_power ? kPowerHeader : "").append("\n");
  for (const Sample& s : samples) {
    append_seconds(text, s.at);
    fmt::format_to(std::back_inserter(text), ",{},{},{},{},{},{},{}", s.held, s.idle, s.claimed,
                   s.out_of_service, s.pending, s.running, s.adaptive);
    if (has_power) fmt::format_to(std::back_inserter(text), ",{},", s.power_w);
    if (s.power_cap_w != Sample::kNoCap) append_number(text, s.power_cap_w);
    text += '\n';
    file.appended();
  }
  file.commit();
}

std::vector<Sample> read_series(const std::filesystem::path& path) {
  const std::string remedy = "give a folder that `simulate --out` wrote";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({.file = path.string()}, std::strerror(errno), remedy);
  std::vector<Sample> samples;
  std::string line;
  bool has_power = false;
  for (std::uint64_t number = 1; std::getline(file, line); ++number) {
    if (number == 1) {
      has_power = line.ends_with(kPowerHeader);
      if (has_power) line.resize(line.size() - kPowerHeader.size());
      if (line == kSeriesHeader) continue;
      throw InputError({path.string(), 1, ""}, "is no time series of ours", remedy);
    }
    double time_s = 0;
    std::array<std::uint32_t, 7> counts{};
    const char *at = line.data(), *const end = at + line.size();
    auto read = std::from_chars(at, end, time_s);
    bool good = read.ec == std::errc{} && std::abs(time_s) < 1e12;
    for (std::uint32_t& count : counts) {
      good = good && read.ptr != end && *read.ptr == ',';
      if (good) read = std::from_chars(read.ptr + 1, end, count);
      good = good && read.ec == std::errc{};
    }
    double power_w = 0, power_cap_w = Sample::kNoCap;
    if (has_power) {
      const auto next = [&](double& value) {
        good = good && read.ptr != end && *read.ptr == ',';
        if (good) read = std::from_chars(read.ptr + 1, end, value);
      };
      next(power_w);
      good = good && read.ec == std::errc{};
      if (good && std::string_view(read.ptr, end) == ",") {
        ++read.ptr;
      } else {
        next(power_cap_w);
        good = good && read.ec == std::errc{};
      }
    }
    if (!good || read.ptr != end) {
      throw InputError({path.string(), number, ""}, "is no row of numbers", remedy);
    }
    samples.push_back({Time{seconds(time_s)}, counts[0], counts[1], counts[2], counts[3], counts[4],
                       counts[5], counts[6], power_w, power_cap_w});
  }
  return samples;
}

}  // namespace ductile
