#include "workload/info.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

namespace ductile {
namespace {

constexpr std::array kRuntimeEnds{10.0, 60.0, 600.0, 3600.0, 21'600.0, 86'400.0, 604'800.0};  // s
// 1 is in the last tenth.
constexpr std::array kAccuracyEnds{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0 + 1e-9};

// Rearranges the values, of which there is at least one.
double quantile(std::span<double> values, double share) {
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(values, at);
  if (below + 1 == values.size()) return *at;
  const double next = *std::min_element(at + 1, values.end());
  return *at + (rank - static_cast<double>(below)) * (next - *at);
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Distribution distribution(std::vector<double> values) {
  if (values.empty()) return {};
  Distribution result;
  result.mean = mean(values);
  result.median = quantile(values, 0.5);
  result.p95 = quantile(values, 0.95);
  const auto [min, max] = std::ranges::minmax(values);
  result.min = min;
  result.max = max;
  return result;
}

// Bins between these numbers, and one for what is beyond.
std::vector<Bin> bins_of(std::span<const double> ends) {
  std::vector<Bin> bins;
  double from = 0;
  for (const double end : ends) {
    bins.push_back({.from = from, .to = end});
    from = end;
  }
  bins.push_back({.from = from, .to = std::numeric_limits<double>::infinity()});
  return bins;
}

void add(std::vector<Bin>& bins, double value, double work_node_s) {
  const auto bin = std::ranges::upper_bound(bins, value, {}, &Bin::to);
  ++bin->jobs;
  bin->work_node_s += work_node_s;
}

// 0 to `count` - 1.
std::vector<Bin> units(std::size_t count) {
  std::vector<double> ends;
  for (std::size_t i = 1; i <= count; ++i) ends.push_back(static_cast<double>(i));
  std::vector<Bin> bins = bins_of(ends);
  bins.pop_back();
  return bins;
}

std::vector<Bin> sizes_of(const std::vector<WorkloadJob>& jobs) {
  const Nodes largest = std::ranges::max_element(jobs, {}, &WorkloadJob::nodes)->nodes;
  std::vector<Bin> bins;
  for (double from = 1, to = 2; from <= largest; from = to, to = 2 * (from - 1) + 1) {
    bins.push_back({.from = from, .to = to});
  }
  return bins;
}

// Where in the day and in the week a job comes. 1970 began on a Thursday.
void add_to_calendar(const WorkloadJob& job, double work_node_s, const InfoSettings& settings,
                     WorkloadInfo& info) {
  constexpr std::int64_t kHour = 3600, kDay = 24 * kHour, kWeekday = 3;
  const auto second =
      std::chrono::floor<std::chrono::seconds>(job.submit.time_since_epoch() + settings.utc_offset);
  const std::int64_t time = *settings.unix_start_time + second.count();
  const std::int64_t days = (time - ((time % kDay) + kDay) % kDay) / kDay;
  const std::int64_t hour = (time - days * kDay) / kHour;
  const std::int64_t weekday = (((days + kWeekday) % 7) + 7) % 7;
  add(info.by_hour, static_cast<double>(hour), work_node_s);
  add(info.by_weekday, static_cast<double>(weekday), work_node_s);
}

std::vector<TopUser> top_of(const std::unordered_map<std::uint32_t, TopUser>& users) {
  constexpr std::size_t kMost = 10;
  std::vector<TopUser> top;
  for (const auto& [user, share] : users) top.push_back(share);
  std::ranges::sort(top, [](const TopUser& a, const TopUser& b) {
    return a.work_node_s != b.work_node_s ? a.work_node_s > b.work_node_s : a.user < b.user;
  });
  if (top.size() > kMost) top.resize(kMost);
  return top;
}

}  // namespace

WorkloadInfo describe(const Workload& workload, Nodes nodes, const InfoSettings& settings) {
  const std::vector<WorkloadJob>& jobs = workload.jobs;
  WorkloadInfo info;
  info.jobs = jobs.size();
  if (jobs.empty()) return info;

  std::vector<double> sizes, runtimes, interarrivals, accuracies;
  sizes.reserve(jobs.size());
  runtimes.reserve(jobs.size());
  interarrivals.reserve(jobs.size());
  accuracies.reserve(jobs.size());
  std::unordered_map<std::uint32_t, TopUser> users;
  info.sizes = sizes_of(jobs);
  info.runtimes = bins_of(kRuntimeEnds);
  info.accuracies = bins_of(kAccuracyEnds);
  // A date that is far from ours is none.
  constexpr std::int64_t kFar = 1'000'000'000'000;
  const bool has_dates = settings.unix_start_time && std::abs(*settings.unix_start_time) <= kFar;
  if (has_dates) {
    info.by_hour = units(24);
    info.by_weekday = units(7);
  }
  std::uint64_t serial = 0, powers_of_two = 0, overruns = 0;
  Time last = jobs.front().submit;
  for (const WorkloadJob& job : jobs) {
    const double runtime = to_seconds(job.runtime);
    sizes.push_back(job.nodes);
    runtimes.push_back(runtime);
    if (&job != &jobs.front()) interarrivals.push_back(to_seconds(job.submit - last));
    last = job.submit;
    const double work_node_s = job.nodes * runtime;
    info.work_node_s += work_node_s;
    add(info.sizes, job.nodes, work_node_s);
    add(info.runtimes, runtime, work_node_s);
    if (has_dates) add_to_calendar(job, work_node_s, settings, info);
    const bool rigid = job.adaptive == WorkloadJob::kRigid;
    const JobType type = rigid ? JobType::rigid : workload.adaptive[job.adaptive].type;
    ++info.jobs_by_type[static_cast<std::size_t>(type)];
    if (job.nodes == 1) ++serial;
    if (std::has_single_bit(job.nodes)) ++powers_of_two;
    if (job.group == 0) ++info.without_group;
    if (job.has_user()) {
      TopUser& share = users[job.user];
      share.user = job.user;
      ++share.jobs;
      share.work_node_s += work_node_s;
    } else {
      ++info.without_user;
    }
    if (job.walltime > Duration{}) {
      accuracies.push_back(runtime / to_seconds(job.walltime));
      add(info.accuracies, accuracies.back(), work_node_s);
      if (job.runtime > job.walltime) ++overruns;
    }
  }

  const auto share = [](std::uint64_t part, std::size_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  info.users = users.size();
  info.top_users = top_of(users);
  info.flurries = find_flurries(workload, settings.flurry);
  info.first_submit_s = to_seconds(jobs.front().submit);
  info.span_s = to_seconds(last - jobs.front().submit);
  if (nodes > 0 && info.span_s > 0) info.offered_load = info.work_node_s / (nodes * info.span_s);
  info.serial_share = share(serial, jobs.size());
  info.power_of_two_share = share(powers_of_two, jobs.size());
  info.requested_share = share(accuracies.size(), jobs.size());
  if (!accuracies.empty()) {
    info.overrun_share = share(overruns, accuracies.size());
    info.accuracy_mean = mean(accuracies);
    info.accuracy_median = quantile(accuracies, 0.5);
  }
  info.size_nodes = distribution(std::move(sizes));
  info.runtime_s = distribution(std::move(runtimes));
  info.interarrival_s = distribution(std::move(interarrivals));
  return info;
}

}  // namespace ductile
