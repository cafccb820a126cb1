#include "simulation/transfers.hpp"

#include <algorithm>
#include <cmath>

namespace ductile {
namespace {

constexpr double kSameSpeed = 1e-12;  // what is nearer is rounding

}  // namespace

void Transfers::mark(std::span<const Flow> flows) {
  for (const Flow& flow : flows) {
    for (const LinkUse& use : flow.uses) {
      if (!is_changed_[use.link]) changed_.push_back(use.link);
      is_changed_[use.link] = true;
    }
  }
}

void Transfers::set(JobId id, std::span<const Flow> flows) {
  const auto at = senders_.find(id);
  if (at != senders_.end()) {
    if (std::ranges::equal(at->second.flows, flows)) {
      at->second.flows = flows;
      return;
    }
    mark(at->second.flows);
    for (const Flow& flow : at->second.flows) {
      for (const LinkUse& use : flow.uses) users_[use.link].erase(id);
    }
    if (flows.empty()) {
      if (at->second.speed != 1) stopped_.insert(id);
      senders_.erase(at);
    } else {
      at->second.flows = flows;
    }
  } else if (!flows.empty()) {
    senders_[id] = {flows, stopped_.erase(id) > 0 ? 0.0 : 1.0};
  }
  mark(flows);
  for (const Flow& flow : flows) {
    for (const LinkUse& use : flow.uses) users_[use.link].insert(id);
  }
}

std::vector<std::pair<JobId, double>> Transfers::settle() {
  std::vector<std::pair<JobId, double>> changes;
  if (changed_.empty()) return changes;
  for (const JobId id : std::exchange(stopped_, {})) changes.emplace_back(id, 1);
  // All that is tied to what has changed.
  std::set<JobId> tied;
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    for (const JobId id : users_[changed_[i]]) {
      if (tied.insert(id).second) mark(senders_.at(id).flows);
    }
  }
  for (const std::size_t link : std::exchange(changed_, {})) is_changed_[link] = false;

  std::vector<const Flow*> flows;
  for (const JobId id : tied) {
    for (const Flow& flow : senders_.at(id).flows) flows.push_back(&flow);
  }
  const std::vector<double> rates = fair_shares(flows, links_);
  std::size_t next = 0;
  for (const JobId id : tied) {
    Sender& its = senders_.at(id);
    double speed = 1;
    for (const Flow& flow : its.flows) speed = std::min(speed, rates[next++] / flow.most);
    if (std::abs(speed - its.speed) <= kSameSpeed * its.speed) continue;
    its.speed = speed;
    changes.emplace_back(id, speed);
  }
  return changes;
}

}  // namespace ductile
