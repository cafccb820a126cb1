#include "metrics/summary.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace ductile {

void JobFigures::write(Summary& summary) {
  summary.jobs = waits_.size();
  summary.killed = killed_;
  if (waits_.empty()) return;

  const auto jobs = static_cast<double>(waits_.size());
  const auto mean_s = [jobs](Wide sum_us) { return static_cast<double>(sum_us) / (jobs * 1e6); };
  summary.mean_wait_s = mean_s(wait_);
  summary.mean_turnaround_s = mean_s(turnaround_);
  summary.mean_slowdown = slowdown_ / jobs;
  summary.mean_slowdown_actual = slowdown_actual_ / jobs;
  summary.mean_bounded_slowdown = bounded_slowdown_ / jobs;
  summary.slowdown_of_means = static_cast<double>(turnaround_) / static_cast<double>(runtime_);

  // Each quantile leaves all greater waits behind it, where the next one is looked for.
  auto begin = waits_.begin();
  const std::array<std::pair<double, double*>, 3> quantiles = {
      {{0.5, &summary.median_wait_s}, {0.95, &summary.p95_wait_s}, {0.99, &summary.p99_wait_s}}};
  for (const auto& [share, figure] : quantiles) {
    const double place = share * (jobs - 1);
    const auto at = waits_.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(begin, at, waits_.end());
    const auto low = static_cast<double>(*at);
    const auto next = std::min_element(at + 1, waits_.end());
    const double high = next == waits_.end() ? low : static_cast<double>(*next);
    *figure = std::round(low + (high - low) * (place - std::floor(place))) / 1e6;
    begin = at;
  }
  summary.max_wait_s = static_cast<double>(*std::max_element(begin, waits_.end())) / 1e6;
}

}  // namespace ductile
