// Parts of nodes: jobs that share nodes hold a slice of each. Who holds no parts has whole nodes,
// and pays nothing for those that do not.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"
#include "model/platform.hpp"

namespace ductile {

/// So much of each of these nodes.
struct Part {
  NodeSet nodes;
  Slice has;
  bool operator==(const Part&) const = default;
};

/// How fast a job is that has parts of its nodes: as fast as on the node of which it has the least
/// (`worst`), or as all of its cores together (`ideal`). Paper 004, equations 6 and 5.
enum class ShareModel : std::uint8_t { worst, ideal };
constexpr std::array<std::string_view, 2> kShareModelWords{"worst", "ideal"};

/// Both together, and what is left of `a` without `b`: nothing where `b` has more.
Slice plus(Slice a, const Slice& b);
Slice minus(Slice a, const Slice& b);
/// Memory and things of what is asked: they are needed, cores only make it fast.
bool has_room(const Slice& there, const Slice& asked);

/// A list of parts names each node once and each slice once, in the order of their first nodes, and
/// gives a core of each node at least.
bool is_sound(std::span<const Part> parts);
/// All nodes that it names.
NodeSet nodes_in(std::span<const Part> parts);
/// What it says of a node; null: nothing.
const Slice* find(std::span<const Part> parts, std::uint32_t node);
/// It gives so much of these nodes, whatever it said before.
void put(std::vector<Part>& parts, const NodeSet& nodes, const Slice& has);
/// It says nothing of these nodes any more.
void erase(std::vector<Part>& parts, const NodeSet& nodes);

/// Calls `visit(std::uint32_t)` for each node of a set.
template <class Visit>
void for_each_node(const NodeSet& nodes, Visit visit) {
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) visit(node);
  }
}

}  // namespace ductile
