// Which nodes may have jobs. Two say so, and neither speaks for the other: the operators, who drain
// nodes and use them again (and the controller for them, where jobs die at once); and the world,
// where nodes fail and come back, and may have jobs that nobody here knows. A node is used if both
// let it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"
#include "live/world.hpp"
#include "scheduling/event.hpp"

namespace ductile {

class NodeHealth {
 public:
  NodeHealth() = default;
  /// Of a journal that does not tell the two apart: all is the operators'.
  explicit NodeHealth(const std::vector<Health>& health);
  /// As `text` wrote it. Throws InputError.
  static NodeHealth from_text(std::string_view text);
  /// For the journal.
  std::string text() const;

  /// What operators say of these nodes from now on: up, draining or down.
  void set_by_operators(const NodeSet& nodes, Health health) { operators_.set(nodes, health); }
  /// What the world says of them.
  void set_by_world(const NodeSet& nodes, Health health) { world_.set(nodes, health); }
  /// Nodes that the world no longer has; all others it has (again). Those for which that is new.
  NodeSet set_gone(const NodeSet& nodes);
  /// A stranger has come, has other nodes, or has gone. The nodes that this may concern.
  NodeSet set(const Stranger& stranger);

  /// What holds of a node: the worse of what the two say.
  Health of(std::uint32_t node) const;
  Health by_operators(std::uint32_t node) const { return operators_.of(node); }
  Health by_world(std::uint32_t node) const { return world_.of(node); }
  /// Who is on it; null if there is none.
  const Stranger* stranger_on(std::uint32_t node) const;

  /// Is one of them this job?
  bool has_stranger(std::uint64_t number) const {
    return std::ranges::find(strangers_, number, &Stranger::number) != strangers_.end();
  }
  /// Of the world, as far as it has told.
  NodeSet down() const { return united(world_.down, world_.off); }
  const NodeSet& draining() const { return world_.draining; }
  const NodeSet& gone() const { return gone_; }
  const std::vector<Stranger>& strangers() const { return strangers_; }

 private:
  /// What one of them says; all other nodes are up.
  struct Said {
    NodeSet draining{}, down{}, off{};
    void set(const NodeSet& nodes, Health health);
    Health of(std::uint32_t node) const;
  };

  Said operators_{}, world_{};
  NodeSet gone_{};
  std::vector<Stranger> strangers_{};  // that are there
};

}  // namespace ductile
