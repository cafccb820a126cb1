#include "workload/link_need.hpp"

#include <algorithm>
#include <cmath>

namespace ductile {
namespace {

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
  const double all = kWattsOfLinks * budget;
  bool any = false;
  for (WorkloadJob& job : workload.jobs) {
    if (job.adaptive == WorkloadJob::kRigid) continue;
    AdaptiveJob& more = workload.adaptive[job.adaptive];
    // Rounded down, so that it fits to the last part.
    const double most = std::floor(all / more.size.min / kLeastWatts) * kLeastWatts;
    const double its = std::min(kWattsOfLinks * link_need(workload, more), most);
    more.believed.watts_per_node = its;
    more.believed.least_watts_per_node = 0;
    any = any || its > 0;
    if (job.nodes * its <= all) continue;
    const auto fits = std::max(static_cast<Nodes>(all / its), more.size.min);
    const double times = more.speedup.relative_time(fits, job.nodes);
    const auto longer = [&](Duration time) {
      return std::max(Duration{std::llround(static_cast<double>(time.count()) * times)}, kTick);
    };
    job.runtime = longer(job.runtime);
    if (more.believed.walltime_for != WalltimeFor::any_size) job.walltime = longer(job.walltime);
    job.nodes = fits;
  }
  return any;
}

double link_watts(const Workload& workload, const AdaptiveJob& job, const Phase& phase) {
  const double its = kWattsOfLinks * link_need(workload, job, phase);
  return std::max(std::min(its, job.believed.watts_per_node), kLeastWatts);
}

}  // namespace ductile
