#include "scheduling/parts.hpp"

#include <algorithm>

namespace ductile {
namespace {

std::uint32_t first_node(const Part& part) { return part.nodes.parts.front().first; }

template <class Number>
Number less(Number a, Number b) {
  return static_cast<Number>(a > b ? a - b : 0);
}

}  // namespace

Slice plus(Slice a, const Slice& b) {
  a.cores = static_cast<std::uint16_t>(a.cores + b.cores);
  for (std::size_t i = 0; i < Slice::kThings; ++i) {
    a.things[i] = static_cast<std::uint16_t>(a.things[i] + b.things[i]);
  }
  a.memory_mb += b.memory_mb;
  return a;
}

Slice minus(Slice a, const Slice& b) {
  a.cores = less(a.cores, b.cores);
  for (std::size_t i = 0; i < Slice::kThings; ++i) a.things[i] = less(a.things[i], b.things[i]);
  a.memory_mb = less(a.memory_mb, b.memory_mb);
  return a;
}

bool has_room(const Slice& there, const Slice& asked) {
  Slice needed = asked;
  needed.cores = 0;
  return there.covers(needed);
}

bool is_sound(std::span<const Part> parts) {
  NodeSet all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].nodes.empty() || parts[i].has.cores == 0) return false;
    if (all.intersects(parts[i].nodes)) return false;
    all.insert(parts[i].nodes);
    for (std::size_t j = 0; j < i; ++j) {
      if (parts[j].has == parts[i].has || first_node(parts[j]) > first_node(parts[i])) return false;
    }
  }
  return true;
}

NodeSet nodes_in(std::span<const Part> parts) {
  NodeSet all;
  for (const Part& part : parts) all.insert(part.nodes);
  return all;
}

const Slice* find(std::span<const Part> parts, std::uint32_t node) {
  for (const Part& part : parts) {
    if (part.nodes.contains(node)) return &part.has;
  }
  return nullptr;
}

void put(std::vector<Part>& parts, const NodeSet& nodes, const Slice& has) {
  erase(parts, nodes);
  if (nodes.empty()) return;
  const auto same = std::ranges::find(parts, has, &Part::has);
  if (same != parts.end()) {
    same->nodes.insert(nodes);
  } else {
    parts.push_back({nodes, has});
  }
  std::ranges::sort(parts, {}, first_node);
}

void erase(std::vector<Part>& parts, const NodeSet& nodes) {
  if (parts.empty()) return;
  for (Part& part : parts) part.nodes.erase(nodes);
  std::erase_if(parts, [](const Part& part) { return part.nodes.empty(); });
  std::ranges::sort(parts, {}, first_node);
}

}  // namespace ductile
