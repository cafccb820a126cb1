// All that running jobs can come to: the exact dynamic program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/corridor_sizes.hpp"

namespace ductile {

/// A job of a table: the sizes it may have, ascending.
struct TableJob {
  Nodes n = 0;
  Milliwatts most = 0, least = 0;  // as `CorridorJob`
  std::int64_t cost = 0;
  std::vector<Nodes> sizes{};
};

/// Job after job, the sums (nodes, most, least) that sizes of the jobs so far can have, each with
/// the best such sizes; without those that others beat in everything. The last layer answers for
/// any limits.
///
/// Layers are in lexicographic order of the sizes, so that places are compared, never sizes.
class CorridorTable {
 public:
  /// Nothing if it took more than `budget` states, those counted that are dropped at once. Finds
  /// what holds under `limits` and narrower ones.
  static std::optional<CorridorTable> make(std::span<const TableJob> jobs,
                                           const CorridorLimits& limits, std::size_t budget);

  /// The best sizes of the jobs, in their order; nothing if none hold.
  std::optional<std::vector<Nodes>> best(const CorridorLimits& limits) const;

  std::size_t states() const { return last_.size(); }

 private:
  struct State {
    CorridorSums sums{};
    std::int64_t cost = 0;
    std::uint64_t change = 0;
    std::uint32_t changed = 0;
    std::uint32_t place = 0;  // in its layer

    bool is_better(const State& other) const {
      if (cost != other.cost) return cost < other.cost;
      if (change != other.change) return change < other.change;
      if (changed != other.changed) return changed < other.changed;
      return place < other.place;
    }
  };
  struct Step {
    std::uint32_t before;  // place in the layer before
    Nodes size;
  };
  using Layer = std::vector<Step>;

  static std::vector<bool> beaten(std::vector<State> states);

  std::vector<Layer> layers_{};
  std::vector<State> last_{};  // most nodes first; of as many, least power first
};

}  // namespace ductile
