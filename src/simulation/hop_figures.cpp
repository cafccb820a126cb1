#include "simulation/hop_figures.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace ductile {

void HopFigures::begin(const Core& core) {
  const State& state = core.state();
  if (state.platform.switches.empty() || !state.rules.identities) return;
  tree_.emplace(state.platform);
}

void HopFigures::note(Time now, JobId id, const Core& core) {
  if (!tree_) return;
  const NodeSet& nodes = core.job(id).holding.nodes;
  Held& its = held_[id];
  if (its.nodes == nodes) return;
  count(now, its);
  its = {now, nodes, nodes.count(), tree_->mean_hops(nodes)};
}

void HopFigures::end(Time now, JobId id) {
  const auto at = held_.find(id);
  if (at == held_.end()) return;
  count(now, at->second);
  held_.erase(at);
}

void HopFigures::count(Time now, const Held& held) {
  if (held.count < 2) return;
  const double node_s = to_seconds(now - held.since) * held.count;
  node_s_ += node_s;
  hops_node_s_ += held.hops * node_s;
}

void HopFigures::write(Summary& summary, Time now) {
  if (!tree_) return;
  std::vector<JobId> left;
  for (const auto& [id, its] : held_) left.push_back(id);
  std::ranges::sort(left);  // sums of floating point numbers depend on their order
  for (const JobId id : left) end(now, id);
  summary.mean_hops = node_s_ > 0 ? hops_node_s_ / node_s_ : Summary::kNone;
}

}  // namespace ductile
