#include "workload/link_need.hpp"

#include <algorithm>
#include <cmath>

namespace ductile {
namespace {

constexpr double kLeastWatts = 1e-3;  // a milliwatt: what the core counts in

// The share of each link that is used, in the mean over all of the stretches; the largest.
double used_share(std::span<const Stretch> stretches, std::span<const double> links) {
  std::vector<double> shares(links.size(), 0);
  double begin = 0;
  for (const Stretch& stretch : stretches) {
    std::vector<double> now(links.size(), 0);
    for (const Flow& flow : stretch.flows) {
      for (const LinkUse& use : flow.uses) {
        now[use.link] += flow.members * flow.most * use.share / links[use.link];
      }
    }
    for (std::size_t i = 0; i < links.size(); ++i) {
      shares[i] += (stretch.until - begin) * std::min(now[i], 1.0);
    }
    begin = stretch.until;
  }
  return shares.empty() ? 0 : std::ranges::max(shares);
}

}  // namespace

double link_need(const Workload& workload, const AdaptiveJob& job, const Phase& phase) {
  double most = 0;
  Nodes size = job.size.min;
  for (const Stretches& stretches : phase.stretches.rows()) {
    most = std::max(most, used_share(stretches.rows(), workload.links) / size++);
  }
  return most;
}

double link_need(const Workload& workload, const AdaptiveJob& job) {
  double most = 0;
  for (const Phase& phase : job.phases) most = std::max(most, link_need(workload, job, phase));
  return most;
}

bool budget_links(Workload& workload, double budget) {
  bool any = false;
  for (AdaptiveJob& job : workload.adaptive) {
    // Rounded down, so that it fits to the last part.
    const double all = std::floor(1e3 * kWattsOfLinks * budget / job.size.min) / 1e3;
    job.believed.watts_per_node = std::min(kWattsOfLinks * link_need(workload, job), all);
    job.believed.least_watts_per_node = 0;
    any = any || job.believed.watts_per_node > 0;
  }
  return any;
}

double link_watts(const Workload& workload, const AdaptiveJob& job, const Phase& phase) {
  const double its = kWattsOfLinks * link_need(workload, job, phase);
  return std::max(std::min(its, job.believed.watts_per_node), kLeastWatts);
}

}  // namespace ductile
