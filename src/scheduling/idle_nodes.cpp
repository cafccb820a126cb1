#include "scheduling/idle_nodes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "scheduling/spread.hpp"

namespace ductile {
namespace {

// Bits first .. last of a word.
std::uint64_t mask(std::uint32_t first, std::uint32_t last) {
  return (~std::uint64_t{0} >> (63 - (last - first))) << first;
}

}  // namespace

IdleNodes::IdleNodes(Nodes nodes, bool identities) : identities_(identities) {
  if (identities) {
    std::size_t bits = nodes;
    for (auto& level : words_) {
      bits = (bits + 63) / 64;
      level.assign(std::max<std::size_t>(bits, 1), 0);
    }
    if (nodes > 0) set(0, nodes - 1);
  }
  count_ = nodes;
}

NodeSet IdleNodes::nodes() const {
  if (!identities_ || count_ == 0) return {};
  const auto all = static_cast<std::uint32_t>(words_[0].size() * 64 - 1);
  return among(NodeSet{{{0, all}}});
}

Holding IdleNodes::take(Nodes n, const NodeSet& beside) {
  if (!pools_.empty()) return {n, take_of(0, n, beside)};
  Holding taken{n, {}};
  count_ -= n;
  if (!identities_) return taken;
  while (n > 0) {
    // The lowest idle node, from the top level down.
    std::size_t top = 0;
    while (words_[2][top] == 0) ++top;
    const std::size_t middle =
        top * 64 + static_cast<std::size_t>(std::countr_zero(words_[2][top]));
    const std::size_t low =
        middle * 64 + static_cast<std::size_t>(std::countr_zero(words_[1][middle]));
    const std::uint64_t word = words_[0][low];
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(word));
    const auto run = static_cast<std::uint32_t>(std::countr_one(word >> bit));
    const std::uint32_t length = std::min(run, n);
    const auto first = static_cast<std::uint32_t>(low * 64) + bit;
    reset(first, first + length - 1);
    auto& parts = taken.nodes.parts;
    if (!parts.empty() && parts.back().last + 1 == first) {
      parts.back().last += length;
    } else {
      parts.push_back({first, first + length - 1});
    }
    n -= length;
  }
  if (by_node_) count(taken.nodes, false);
  return taken;
}

void IdleNodes::take(const Holding& these) {
  count_ -= these.count;
  for (const Interval& part : these.nodes.parts) reset(part.first, part.last);
  if (by_node_) count(these.nodes, false);
  if (pools_.empty()) return;
  for_each_pool(these.nodes, [](NodePool& pool, const NodeSet& nodes) { pool.take(nodes); });
}

void IdleNodes::give(const Holding& these) {
  count_ += these.count;
  for (const Interval& part : these.nodes.parts) set(part.first, part.last);
  if (by_node_) count(these.nodes, true);
  if (pools_.empty()) return;
  for_each_pool(these.nodes, [](NodePool& pool, const NodeSet& nodes) { pool.give(nodes); });
}

template <class Visit>
void IdleNodes::for_each_idle(const NodeSet& nodes, Visit visit) const {
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t word = part.first / 64; word <= part.last / 64 && word < words_[0].size();
         ++word) {
      const std::uint32_t low = word == part.first / 64 ? part.first % 64 : 0;
      const std::uint32_t high = word == part.last / 64 ? part.last % 64 : 63;
      std::uint64_t bits = words_[0][word] & mask(low, high);
      while (bits != 0) {
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits));
        const auto run = static_cast<std::uint32_t>(std::countr_one(bits >> bit));
        if (!visit(word * 64 + bit, word * 64 + bit + run - 1)) return;
        bits &= ~mask(bit, bit + run - 1);
      }
    }
  }
}

NodeSet IdleNodes::among(const NodeSet& nodes) const {
  NodeSet found;
  for_each_idle(nodes, [&](std::uint32_t first, std::uint32_t last) {
    found.append(first, last);
    return true;
  });
  return found;
}

void IdleNodes::tell_apart(std::shared_ptr<const std::vector<std::uint8_t>> by_node,
                           std::size_t cells) {
  by_node_ = std::move(by_node);
  of_.assign(by_node_ ? cells : 0, 0);
  if (by_node_) count(nodes(), true);
  if (!pools_.empty()) fill_pools();
}

void IdleNodes::choose_by(const Placer& placer) {
  placer_ = placer;
  pools_.clear();
  if (!placer.is_first()) fill_pools();
}

void IdleNodes::fill_pools() {
  pools_.assign(std::max<std::size_t>(of_.size(), 1), placer_.pool());
  for_each_pool(nodes(), [](NodePool& pool, const NodeSet& its) { pool.give(its); });
}

template <class Visit>
void IdleNodes::for_each_pool(const NodeSet& nodes, Visit visit) {
  if (!by_node_) return visit(pools_[0], nodes);
  for (const Interval& part : nodes.parts) {
    std::uint32_t first = part.first;
    for_each_run(*by_node_, {{part}}, [&](std::uint32_t cell, Nodes n) {
      visit(pools_[cell], {{{first, first + n - 1}}});
      first += n;
    });
  }
}

NodeSet IdleNodes::take_of(std::uint32_t cell, Nodes n, const NodeSet& beside) {
  NodeSet taken = pools_[cell].choose(n, beside);
  count_ -= n;
  for (const Interval& part : taken.parts) reset(part.first, part.last);
  if (by_node_) count(taken, false);
  return taken;
}

void IdleNodes::count(const NodeSet& nodes, bool more) {
  for_each_run(*by_node_, nodes, [&](std::uint32_t cell, Nodes n) { of_[cell] += more ? n : -n; });
}

void IdleNodes::add_lowest(Nodes n, const NodeSet& nodes, NodeSet& to) const {
  if (n == 0) return;
  for_each_idle(nodes, [&](std::uint32_t first, std::uint32_t last) {
    last = std::min(last, first + n - 1);
    n -= last - first + 1;
    to.insert(first, last);
    return n > 0;
  });
}

void IdleNodes::set(std::uint32_t first, std::uint32_t last) {
  for (auto& level : words_) {
    const std::uint32_t end = last / 64;
    for (std::uint32_t word = first / 64; word <= end; ++word) {
      level[word] |= mask(word == first / 64 ? first % 64 : 0, word == end ? last % 64 : 63);
    }
    first /= 64;
    last /= 64;
  }
}

void IdleNodes::reset(std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t word = first / 64; word <= last / 64; ++word) {
    auto& bits = words_[0][word];
    bits &= ~mask(word == first / 64 ? first % 64 : 0, word == last / 64 ? last % 64 : 63);
    // Clear the summary bits of words that became 0.
    std::uint32_t below = word;
    for (std::size_t level = 1; level < 3 && words_[level - 1][below] == 0; ++level, below /= 64) {
      words_[level][below / 64] &= ~(std::uint64_t{1} << (below % 64));
    }
  }
}

}  // namespace ductile
