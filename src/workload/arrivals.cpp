#include "workload/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {

double gamma_share(double x, double shape, double scale) {
  if (x <= 0) return 0;
  const double z = x / scale;
  double term = std::exp(shape * std::log(z) - z - std::lgamma(shape + 1)), sum = 0;
  for (double a = shape + 1; term > sum * 1e-17; ++a) {
    sum += term;
    term *= z / a;
  }
  return std::min(sum, 1.0);
}

DailyCycle::DailyCycle(std::span<const double, kBuckets> weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    weights_[i] = weights[i] * kBuckets / all;
    before_s_[i + 1] = before_s_[i] + kBucketSeconds * weights_[i];
  }
}

DailyCycle DailyCycle::even() {
  std::array<double, kBuckets> weights{};
  weights.fill(1);
  return DailyCycle(weights);
}

DailyCycle DailyCycle::halves(double share, double from_s) {
  std::array<double, kBuckets> weights{};
  const auto first = static_cast<std::size_t>(from_s / kBucketSeconds);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    weights[(first + i) % kBuckets] = i < kBuckets / 2 ? share : 1 - share;
  }
  return DailyCycle(weights);
}

DailyCycle DailyCycle::gamma(double shape, double scale) {
  constexpr std::size_t kFirst = 11;  // half-hours, counted from 1
  std::array<double, kBuckets> weights{};
  for (std::size_t i = kFirst; i < kFirst + kBuckets; ++i) {
    const auto middle = static_cast<double>(i);
    weights[(i - 1) % kBuckets] =
        gamma_share(middle + 0.5, shape, scale) - gamma_share(middle - 0.5, shape, scale);
  }
  return DailyCycle(weights);
}

double DailyCycle::time_of(double amount_s) const {
  const double day = std::floor(amount_s / before_s_.back());
  const double rest = std::max(amount_s - day * before_s_.back(), 0.0);
  const auto next = std::upper_bound(before_s_.begin() + 1, before_s_.end() - 1, rest);
  const auto bucket = static_cast<std::size_t>(next - before_s_.begin()) - 1;
  return day * kDaySeconds + kBucketSeconds * static_cast<double>(bucket) +
         (rest - before_s_[bucket]) / weights_[bucket];
}

double offered_load(std::span<const WorkloadJob> jobs, Nodes nodes, double span_s) {
  double work_node_s = 0;
  for (const WorkloadJob& job : jobs) work_node_s += job.nodes * to_seconds(job.runtime);
  return work_node_s / (nodes * span_s);
}

double solve_for_load(const std::function<double(double)>& load_of, double load, double least,
                      double most) {
  // What is left after this is for `submit_at`.
  constexpr double kPrecise = 1e-6;
  while (most / least > 1 + 1e-9) {
    const double middle = std::sqrt(least) * std::sqrt(most);
    const double has = load_of(middle);
    if (std::abs(has / load - 1) < kPrecise) return middle;
    (has > load ? least : most) = middle;
  }
  return std::sqrt(least) * std::sqrt(most);
}

void submit_at(std::vector<WorkloadJob>& jobs, std::vector<double> times_s, Nodes nodes,
               double load) {
  if (times_s.empty()) return;
  const double span_s = times_s.back() - times_s.front();
  const double stretch = load > 0 && span_s > 0 ? offered_load(jobs, nodes, span_s) / load : 1;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double time_s = times_s[i] * stretch;
    constexpr double kLatest = 1e12;
    if (!(time_s <= kLatest)) {
      throw InputError(fmt::format("load: the last job would come after {:.3g} s", time_s),
                       "ask for a higher load or fewer jobs");
    }
    jobs[i].submit = Time{whole_seconds(static_cast<std::int64_t>(time_s))};
  }
}

void submit_by_poisson(std::vector<WorkloadJob>& jobs, std::vector<double> gaps,
                       const DailyCycle& cycle, Nodes nodes, double load) {
  if (gaps.empty()) return;
  std::partial_sum(gaps.begin(), gaps.end(), gaps.begin());
  const auto span_s = [&](double gap_s) {
    return cycle.time_of(gap_s * gaps.back()) - cycle.time_of(gap_s * gaps.front());
  };
  double gap_s = 1;
  if (gaps.size() > 1) {
    const double work = offered_load(jobs, nodes, 1);
    gap_s =
        solve_for_load([&](double candidate) { return work / std::max(span_s(candidate), 1e-300); },
                       load, 1e-12, 1e12);
  }
  for (double& time : gaps) time = cycle.time_of(gap_s * time);
  submit_at(jobs, std::move(gaps), nodes, load);
}

}  // namespace ductile
