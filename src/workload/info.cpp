#include "workload/info.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

namespace ductile {
namespace {

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

}  // namespace

WorkloadInfo describe(const Workload& workload, Nodes nodes) {
  const std::vector<WorkloadJob>& jobs = workload.jobs;
  WorkloadInfo info;
  info.jobs = jobs.size();
  if (jobs.empty()) return info;

  std::vector<double> sizes, runtimes, interarrivals, accuracies;
  sizes.reserve(jobs.size());
  runtimes.reserve(jobs.size());
  interarrivals.reserve(jobs.size());
  accuracies.reserve(jobs.size());
  std::unordered_set<std::uint32_t> users;
  std::uint64_t serial = 0, powers_of_two = 0, overruns = 0;
  Time last = jobs.front().submit;
  for (const WorkloadJob& job : jobs) {
    const double runtime = to_seconds(job.runtime);
    sizes.push_back(job.nodes);
    runtimes.push_back(runtime);
    if (&job != &jobs.front()) interarrivals.push_back(to_seconds(job.submit - last));
    last = job.submit;
    info.work_node_s += job.nodes * runtime;
    const bool rigid = job.adaptive == WorkloadJob::kRigid;
    const JobType type = rigid ? JobType::rigid : workload.adaptive[job.adaptive].type;
    ++info.jobs_by_type[static_cast<std::size_t>(type)];
    if (job.nodes == 1) ++serial;
    if (std::has_single_bit(job.nodes)) ++powers_of_two;
    if (job.has_user()) users.insert(job.user);
    if (job.walltime > Duration{}) {
      accuracies.push_back(runtime / to_seconds(job.walltime));
      if (job.runtime > job.walltime) ++overruns;
    }
  }

  const auto share = [](std::uint64_t part, std::size_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  info.users = users.size();
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
