#include "workload/workload.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace ductile {
namespace {

// Of a list by size; nothing beyond its ends.
double at(std::span<const double> rows, Nodes first, Nodes place) {
  return place >= first && place - first < rows.size() ? rows[place - first] : 0;
}

}  // namespace

Speedup measured_speedup(std::span<const double> times_s, Nodes first) {
  constexpr double kShortest = 1e-6;
  std::vector<TimeAt> times;
  for (const double time_s : times_s) times.push_back({first++, std::max(time_s, kShortest)});
  return {.kind = Speedup::Kind::table, .times = SharedList(std::move(times))};
}

Speedup Phase::model(Nodes least) const {
  return times_s.rows().empty() ? speedup : measured_speedup(times_s.rows(), least);
}

Duration AdaptiveJob::resize_cost(Nodes from, Nodes to, Nodes replaced) const {
  if (from == to && replaced == 0) return {};
  const Nodes joined = (to > from ? to - from : 0) + replaced;
  const double measured = at(costs.after_s.rows(), size.min, to) +
                          (joined > 0 ? at(costs.growth_s.rows(), 1, joined) : 0);
  return cost.of(from, to, replaced) + seconds(measured);
}

std::uint64_t Workload::adapting() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(jobs, [&](const WorkloadJob& job) {
    return job.adaptive != WorkloadJob::kRigid && adaptive[job.adaptive].type != JobType::rigid;
  }));
}

std::int32_t AdaptiveJob::delta_of(const EvolvingStep& step, Nodes has) const {
  const std::span<const Nodes> wanted = step.wanted.rows();
  if (wanted.empty()) {  // nodes may have failed: then it is smaller than it may be
    const std::int64_t low = std::min(size.min, has), high = std::max(size.max, has);
    return static_cast<std::int32_t>(std::clamp(std::int64_t{has} + step.delta, low, high) - has);
  }
  if (has < size.min || has - size.min >= wanted.size()) return 0;
  return static_cast<std::int32_t>(wanted[has - size.min]) - static_cast<std::int32_t>(has);
}

}  // namespace ductile
