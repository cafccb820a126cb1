#include "scheduling/placement.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ductile {

NodePool::NodePool(Placement how, std::shared_ptr<const SwitchTree> tree)
    : how_(how), tree_(std::move(tree)) {
  if (how_ != Placement::contiguous) there_.assign(tree_->size(), 0);
}

void NodePool::give(const NodeSet& nodes) {
  for (const Interval& part : nodes.parts) give(part.first, part.last);
}

void NodePool::take(const NodeSet& nodes) {
  for (const Interval& part : nodes.parts) take(part.first, part.last);
}

namespace {

// Intervals that do not overlap, in any order, as a set.
NodeSet set_of(std::vector<Interval> parts) {
  std::ranges::sort(parts, {}, &Interval::first);
  NodeSet set;
  for (const Interval& part : parts) set.insert(part.first, part.last);
  return set;
}

}  // namespace

NodeSet NodePool::choose(Nodes n, const NodeSet& beside) {
  std::vector<Interval> taken;
  if (how_ == Placement::spread) {
    take_evenly(n, beside, taken);
  } else if (how_ == Placement::compact) {
    take_compact(n, beside, taken);
  } else {
    n -= take_at_ends(n, beside, taken);
    for (const Share& each : fewest(0, n)) {
      taken.push_back({each.number, each.number + each.count - 1});
      take(each.number, each.number + each.count - 1);
    }
  }
  return set_of(std::move(taken));
}

std::vector<NodePool::Share> NodePool::fewest(std::uint32_t group, Nodes n) const {
  std::vector<Share> found;
  auto largest = pieces_.lower_bound({group + 1, 0, 0});
  while (n > 0) {
    --largest;
    if (largest->size >= n) {
      // Not one of those before: they are larger, or behind it.
      found.push_back({pieces_.lower_bound({group, n, 0})->number, n});
      break;
    }
    found.push_back({largest->number, largest->size});
    n -= largest->size;
  }
  return found;
}

// ---- What is there ------------------------------------------------------------------------------

void NodePool::put_run(std::uint32_t first, std::uint32_t last) {
  runs_.emplace(first, last);
  if (how_ == Placement::contiguous) pieces_.insert({0, last - first + 1, first});
}

void NodePool::drop_run(std::uint32_t first, std::uint32_t last) {
  runs_.erase(first);
  if (how_ == Placement::contiguous) pieces_.erase({0, last - first + 1, first});
}

void NodePool::give(std::uint32_t first, std::uint32_t last) {
  count_ += last - first + 1;
  if (how_ != Placement::contiguous) {
    tree_->for_each_part({{{first, last}}}, [&](std::uint32_t leaf, auto from, auto to) {
      count_on(leaf, std::int64_t{to} - from + 1);
    });
  }
  if (const auto next = runs_.find(last + 1); next != runs_.end()) {
    const std::uint32_t its_last = next->second;
    drop_run(last + 1, its_last);
    last = its_last;
  }
  if (const auto next = runs_.lower_bound(first); next != runs_.begin()) {
    const auto [its_first, its_last] = *std::prev(next);
    if (its_last + 1 == first) {
      drop_run(its_first, its_last);
      first = its_first;
    }
  }
  put_run(first, last);
}

void NodePool::take(std::uint32_t first, std::uint32_t last) {
  count_ -= last - first + 1;
  if (how_ != Placement::contiguous) {
    tree_->for_each_part({{{first, last}}}, [&](std::uint32_t leaf, auto from, auto to) {
      count_on(leaf, std::int64_t{from} - to - 1);
    });
  }
  const auto [its_first, its_last] = *std::prev(runs_.upper_bound(first));
  drop_run(its_first, its_last);
  if (its_first < first) put_run(its_first, first - 1);
  if (last < its_last) put_run(last + 1, its_last);
}

void NodePool::count_on(std::uint32_t leaf, std::int64_t more) {
  for (std::uint32_t at = leaf; at != kNoSwitch; at = tree_->above(at)) {
    const auto each = [&](const auto& visit) {
      if (there_[at] == 0) return;
      visit(by_level_, Piece{tree_->level(at), there_[at], at});
      const std::uint32_t above = tree_->above(at);
      if (how_ == Placement::compact && above != kNoSwitch) {
        visit(pieces_, Piece{above, there_[at], at});
      }
    };
    each([](Pieces& all, const Piece& piece) { all.erase(piece); });
    there_[at] = static_cast<Nodes>(there_[at] + more);
    each([](Pieces& all, const Piece& piece) { all.insert(piece); });
    if (how_ == Placement::spread) return;  // leaves suffice
  }
}

Nodes NodePool::take_on(std::uint32_t leaf, Nodes n, std::vector<Interval>& taken) {
  const Nodes all = std::min(n, there_[leaf]);
  NodeSet found;
  Nodes left = all;
  for (const Interval& part : tree_->nodes(leaf).parts) {
    auto run = runs_.upper_bound(part.first);
    if (run != runs_.begin() && std::prev(run)->second >= part.first) --run;
    for (; left > 0 && run != runs_.end() && run->first <= part.last; ++run) {
      const std::uint32_t first = std::max(run->first, part.first);
      const std::uint32_t last = std::min({run->second, part.last, first + left - 1});
      found.insert(first, last);
      left -= last - first + 1;
    }
    if (left == 0) break;
  }
  take(found);
  taken.insert(taken.end(), found.parts.begin(), found.parts.end());
  return all;
}

// ---- The placements -----------------------------------------------------------------------------

Nodes NodePool::take_at_ends(Nodes n, const NodeSet& beside, std::vector<Interval>& taken) {
  Nodes left = n;
  const auto take_these = [&](std::uint32_t first, std::uint32_t last) {
    take(first, last);
    taken.push_back({first, last});
    left -= last - first + 1;
  };
  for (const Interval& part : beside.parts) {
    if (left == 0) break;
    if (const auto next = runs_.find(part.last + 1); next != runs_.end()) {
      take_these(next->first, std::min(next->second, next->first + left - 1));
    }
    const auto behind = runs_.lower_bound(part.first);
    if (left == 0 || behind == runs_.begin()) continue;
    const auto [first, last] = *std::prev(behind);
    if (last + 1 == part.first) take_these(last - first < left ? first : part.first - left, last);
  }
  return n - left;
}

void NodePool::take_under(std::uint32_t number, Nodes n, std::vector<Interval>& taken) {
  if (tree_->level(number) == 0) {
    take_on(number, n, taken);
    return;
  }
  for (const Share& each : fewest(number, n)) take_under(each.number, each.count, taken);
}

void NodePool::take_compact(Nodes n, const NodeSet& beside, std::vector<Interval>& taken) {
  if (!beside.empty()) {
    tree_->for_each_part(beside, [&](std::uint32_t leaf, auto, auto) {
      if (n > 0) n -= take_on(leaf, n, taken);
    });
    std::uint32_t at = tree_->lowest_above(beside);
    while (there_[at] < n) at = tree_->above(at);
    take_under(at, n, taken);
    return;
  }
  if (n == 0) return;
  for (std::uint32_t level = 0;; ++level) {
    const auto least = by_level_.lower_bound({level, n, 0});
    if (least == by_level_.end() || least->group != level) continue;
    take_under(least->number, n, taken);
    return;
  }
}

void NodePool::take_evenly(Nodes n, const NodeSet& beside, std::vector<Interval>& taken) {
  struct Leaf {
    std::uint32_t number;
    Nodes has, room;
  };
  if (n == 0) return;
  // Of a job that has none more leaves than nodes do not matter.
  std::vector<Leaf> leaves;
  for (auto at = by_level_.end(); at != by_level_.begin();) {
    --at;
    if (beside.empty() && leaves.size() == n) break;
    leaves.push_back({at->number, 0, at->size});
  }
  if (!beside.empty()) {
    std::map<std::uint32_t, Nodes> has;
    tree_->for_each_part(
        beside, [&](std::uint32_t leaf, auto first, auto last) { has[leaf] += last - first + 1; });
    for (Leaf& leaf : leaves) {
      if (const auto at = has.find(leaf.number); at != has.end()) leaf.has = at->second;
    }
  }
  // The highest level to which all can be filled.
  const auto filled = [](const Leaf& leaf, Nodes to) {
    return std::min(to > leaf.has ? to - leaf.has : 0, leaf.room);
  };
  const auto sum = [&](Nodes to) {
    Nodes all = 0;
    for (const Leaf& leaf : leaves) all += filled(leaf, to);
    return all;
  };
  Nodes low = 0, high = n + beside.count() + 1;
  while (high - low > 1) {
    const Nodes middle = low + (high - low) / 2;
    (sum(middle) <= n ? low : high) = middle;
  }
  Nodes over = n - sum(low);
  for (const Leaf& leaf : leaves) {
    Nodes its = filled(leaf, low);
    if (over > 0 && filled(leaf, low + 1) > its) ++its, --over;
    take_on(leaf.number, its, taken);
  }
}

// ---- Sets of nodes ------------------------------------------------------------------------------

Placer::Placer(Placement how, const Platform& platform) : how_(how) {
  if (how != Placement::first) tree_ = std::make_shared<const SwitchTree>(platform);
}

NodeSet Placer::take(NodeSet& from, Nodes n, const NodeSet& beside) const {
  if (n == 0) return {};
  if (is_first()) return from.take_lowest(n);
  if (n == from.count()) return std::exchange(from, {});
  NodePool all = pool();
  all.give(from);
  NodeSet taken = all.choose(n, beside);
  from.erase(taken);
  return taken;
}

NodeSet Placer::give_back(NodeSet& from, Nodes n) const {
  if (n == 0) return {};
  if (is_first()) return from.take_highest(n);
  NodeSet given = from;
  from = take(given, from.count() - n);
  return given;
}

}  // namespace ductile
