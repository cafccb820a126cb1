#include "live/node_watch.hpp"

#include <algorithm>
#include <iterator>

#include "base/node_set.hpp"

namespace ductile {

bool NodeWatch::is_death(std::string_view reason) {
  constexpr std::string_view kSignal = "RaisedSignal:";
  if (!reason.starts_with(kSignal)) return reason == "SystemFailure";
  reason.remove_prefix(kSignal.size());
  constexpr std::string_view kOfPeople[] = {"SIGHUP",  "SIGINT",  "SIGPIPE", "SIGTERM",
                                            "SIGUSR1", "SIGUSR2", "SIGALRM"};
  return std::ranges::find(kOfPeople, reason) == std::end(kOfPeople);
}

bool NodeWatch::died(std::uint32_t node, const Applications::Key& what) {
  constexpr std::size_t kMostSuspects = 1000;
  if (suspects_.contains(what)) return false;
  const bool died_elsewhere = std::ranges::any_of(deaths_, [&](const auto& entry) {
    return entry.first != node && std::ranges::find(entry.second, what) != entry.second.end();
  });
  if (died_elsewhere) {
    if (suspects_.size() >= kMostSuspects) suspects_.clear();
    suspects_.insert(what);
    for (auto& [other, deaths] : deaths_) std::erase(deaths, what);
    return false;
  }
  std::vector<Applications::Key>& deaths = deaths_[node];
  deaths.push_back(what);
  return deaths.size() >= kMost;
}

void NodeWatch::ran(const NodeSet& nodes, const Applications::Key& what) {
  suspects_.erase(what);
  forget(nodes);
}

void NodeWatch::forget(const NodeSet& nodes) {
  std::erase_if(deaths_, [&](const auto& entry) { return nodes.contains(entry.first); });
}

}  // namespace ductile
