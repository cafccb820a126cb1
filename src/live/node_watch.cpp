#include "live/node_watch.hpp"

#include <algorithm>
#include <iterator>

#include "base/node_set.hpp"

namespace ductile {

bool NodeWatch::is_death(std::string_view reason, bool was_killed) {
  constexpr std::string_view kSignal = "RaisedSignal:";
  if (!reason.starts_with(kSignal)) return reason == "SystemFailure";
  if (!was_killed) return false;
  reason.remove_prefix(kSignal.size());
  constexpr std::string_view kOfPeople[] = {"SIGHUP",  "SIGINT",  "SIGPIPE", "SIGTERM",
                                            "SIGUSR1", "SIGUSR2", "SIGALRM"};
  return std::ranges::find(kOfPeople, reason) == std::end(kOfPeople);
}

bool NodeWatch::died(std::uint32_t node, std::uint32_t user) {
  std::vector<Death>& row = deaths_[node];
  if (row.size() >= kMost) row.erase(row.begin());
  row.push_back({user, ++now_});
  if (row.size() < kMost) return false;
  const bool is_of_one =
      std::ranges::all_of(row, [&](const Death& death) { return death.user == user; });
  return !is_of_one || !has_died_elsewhere(node, user);
}

/// Where a node has had too many, nothing that ran since speaks for the user.
bool NodeWatch::has_died_elsewhere(std::uint32_t node, std::uint32_t user) const {
  const auto ran = ran_.find(user);
  const std::uint64_t since = ran == ran_.end() ? 0 : ran->second;
  return std::ranges::any_of(deaths_, [&](const auto& entry) {
    const std::vector<Death>& row = entry.second;
    return entry.first != node && std::ranges::any_of(row, [&](const Death& death) {
             return death.user == user && (death.at > since || row.size() >= kMost);
           });
  });
}

void NodeWatch::ran(const NodeSet& nodes, std::uint32_t user) {
  ran_[user] = ++now_;
  forget(nodes);
}

void NodeWatch::forget(const NodeSet& nodes) {
  std::erase_if(deaths_, [&](const auto& entry) { return nodes.contains(entry.first); });
}

}  // namespace ductile
