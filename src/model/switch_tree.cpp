#include "model/switch_tree.hpp"

#include <string>

namespace ductile {

SwitchTree::SwitchTree(const Platform& platform) {
  NodeSet left;
  if (platform.nodes > 0) left.insert(0, platform.nodes - 1);
  NodeSet wired;
  for (const Switch& each : platform.switches) {
    const auto number = static_cast<std::uint32_t>(above_.size());
    for (const Interval& part : each.nodes.parts) wires_.push_back({part.first, part.last, number});
    above_.push_back(each.above);
    nodes_.push_back(each.nodes);
  }
  std::ranges::sort(wires_, {}, &Wires::first);
  for (const Wires& each : wires_) wired.insert(each.first, each.last);
  left.erase(wired);
  if (!left.empty() || above_.empty()) {
    const auto number = static_cast<std::uint32_t>(above_.size());
    for (const Interval& part : left.parts) wires_.push_back({part.first, part.last, number});
    std::ranges::sort(wires_, {}, &Wires::first);
    above_.push_back(kNoSwitch);
    nodes_.push_back(std::move(left));
  }
  if (std::ranges::count(above_, kNoSwitch) > 1) {
    const auto root = static_cast<std::uint32_t>(above_.size());
    std::ranges::replace(above_, kNoSwitch, root);
    above_.push_back(kNoSwitch);
    nodes_.emplace_back();
  }
  level_.assign(size(), 0);
  for (std::size_t i = 0; i < size(); ++i) {
    if (above_[i] != kNoSwitch) level_[above_[i]] = std::max(level_[above_[i]], level_[i] + 1);
  }
}

std::uint32_t SwitchTree::lowest_above(const NodeSet& set) const {
  std::uint32_t common = kNoSwitch;
  for_each_part(set, [&](std::uint32_t leaf, std::uint32_t, std::uint32_t) {
    if (common == kNoSwitch) common = leaf;
    // Of two switches the one of the lower number is not above the other.
    for (std::uint32_t other = leaf; other != common;) {
      std::uint32_t& lower = other < common ? other : common;
      lower = above_[lower];
    }
  });
  return common;
}

double SwitchTree::mean_hops(const NodeSet& set) const {
  const Nodes all = set.count();
  if (all < 2) return 0;
  struct Below {
    std::uint32_t number;
    Nodes count;
  };
  std::vector<Below> all_below;  // switches that have some of these nodes below them
  for_each_part(set, [&](std::uint32_t leaf, std::uint32_t first, std::uint32_t last) {
    all_below.push_back({leaf, last - first + 1});
  });
  // The link above a switch is on the way of each pair of which one is below it, and one is not. A
  // switch comes before the one above it, so each is complete when its turn comes.
  double hops = 0;
  const auto later = [](const Below& a, const Below& b) { return a.number > b.number; };
  std::ranges::make_heap(all_below, later);
  while (!all_below.empty()) {
    Below its{all_below.front().number, 0};
    while (!all_below.empty() && all_below.front().number == its.number) {
      its.count += all_below.front().count;
      std::ranges::pop_heap(all_below, later);
      all_below.pop_back();
    }
    const std::uint32_t above = above_[its.number];
    if (above == kNoSwitch) continue;
    hops += static_cast<double>(its.count) * static_cast<double>(all - its.count);
    all_below.push_back({above, its.count});
    std::ranges::push_heap(all_below, later);
  }
  return hops / (static_cast<double>(all) * (all - 1) / 2);
}

bool is_tree(std::span<const Switch> switches, Nodes nodes) {
  std::vector<Interval> parts;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const Switch& its = switches[i];
    if (its.above != kNoSwitch) {
      if (its.above <= i || its.above >= switches.size()) return false;
      if (!switches[its.above].nodes.empty()) return false;
    }
    parts.insert(parts.end(), its.nodes.parts.begin(), its.nodes.parts.end());
  }
  std::ranges::sort(parts, {}, &Interval::first);
  const auto overlap = std::ranges::adjacent_find(
      parts, [](const Interval& a, const Interval& b) { return b.first <= a.last; });
  return overlap == parts.end() && (parts.empty() || parts.back().last < nodes);
}

std::vector<Switch> even_switches(Nodes nodes, std::span<const std::uint32_t> below) {
  std::vector<Switch> all;
  std::uint32_t begin = 0, count = nodes;  // of the level below
  for (std::size_t level = 0; level < below.size() && count > 0; ++level) {
    const auto first = static_cast<std::uint32_t>(all.size());
    const std::uint32_t width = below[level];
    for (std::uint32_t i = 0; i < count; i += std::min(width, count - i)) {
      const auto number = static_cast<std::uint32_t>(all.size());
      Switch& its = all.emplace_back();
      its.name = std::to_string(level) + "." + std::to_string(number - first);
      const std::uint32_t end = i + std::min(width, count - i);
      if (level == 0) its.nodes.insert(i, end - 1);
      for (std::uint32_t child = i; level > 0 && child < end; ++child) {
        all[begin + child].above = number;
      }
    }
    begin = first;
    count = static_cast<std::uint32_t>(all.size()) - first;
  }
  return all;
}

}  // namespace ductile
