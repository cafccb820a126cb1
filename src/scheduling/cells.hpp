// The machine's cells: the coarsest sets of nodes that classes, partitions and the node lists of
// living jobs do not tell apart. They follow from the platform and the lanes alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "model/platform.hpp"
#include "scheduling/spread.hpp"

namespace ductile {

/// Jobs that may run at the same places. Lane 0 is of those that ask for nothing.
struct Lane {
  Where where;
  std::uint32_t jobs = 0;  // that are not over
  /// Of the slowest nodes that they may use: follows from the platform.
  double speed = 1;

  bool operator==(const Lane&) const = default;
};

/// A class of the platform. One without classes has one: nobody says what its nodes have, so that
/// it is enough for everybody.
NodeClass class_of(const Platform& platform, std::size_t number);

/// Has each class and partition nodes that there are, are there not too many, and can they be told
/// apart?
bool is_sound(const Platform& platform);

/// All cells, by number from 0, which goes with their lowest nodes. Where nothing tells nodes apart
/// there is one.
class CellTable {
 public:
  struct Cell {
    NodeSet nodes;
    Nodes count = 0;
    std::size_t cls = 0;  // place in `Platform::classes`
    double speed = 1;
    std::uint64_t partitions = 0;  // which ones have it; 1 where there are none

    bool operator==(const Cell&) const = default;
  };
  /// Of each node its cell.
  using ByNode = std::shared_ptr<const std::vector<std::uint8_t>>;

  CellTable() : CellTable(Platform{}, {}) {}
  CellTable(const Platform& platform, std::span<const Lane> lanes);

  std::size_t size() const { return cells_.size(); }
  bool is_one() const { return cells_.size() == 1; }
  const Cell& operator[](std::size_t cell) const { return cells_[cell]; }
  /// Null where there is one.
  const ByNode& by_node() const { return by_node_; }
  std::uint32_t cell_of(std::uint32_t node) const { return is_one() ? 0 : (*by_node_)[node]; }
  /// Where jobs of a lane may run: the cells whose nodes are all allowed.
  Cells of(LaneId lane) const { return of_lane_[index(lane)].cells; }
  /// How many nodes these have.
  Nodes nodes_of(LaneId lane) const { return of_lane_[index(lane)].count; }
  /// The partitions in which they may; 1 where there are none.
  std::uint64_t partitions_of(LaneId lane) const { return of_lane_[index(lane)].partitions; }
  /// All cells, those first whose nodes are taken first: by the weight of the class, then those
  /// that fewer lanes may use, then by number.
  std::span<const std::uint32_t> in_order() const { return order_; }
  /// Is each node list told apart from the others? There are at most `kMostCells`. Where these do
  /// not suffice the last lanes do without cells of which they may use a part only.
  bool is_whole() const { return is_whole_; }

  /// Are there classes of different speed?
  bool speeds_differ() const { return speeds_differ_; }

  /// How many of these nodes are of which cell.
  Spread spread(const NodeSet& nodes) const;
  NodeSet nodes(Cells cells) const;
  Nodes count(Cells cells) const;
  /// The speed of the slowest of these; 1 if there are none.
  double slowest(Cells cells) const;
  double slowest(const NodeSet& nodes) const;

  /// A lane, which the number may be new of, is another one; it tells no more nodes apart than the
  /// lanes did before.
  void put(LaneId id, const Lane& lane);
  /// It has its first job, or none any more.
  void want(LaneId id, bool wanted);

  /// The cells alike, and all that follows from them.
  bool operator==(const CellTable& other) const;

 private:
  void split(const NodeSet& apart);
  void sort();

  std::vector<Cell> cells_;
  std::vector<NodeClass> classes_;  // without their nodes; one at least
  ByNode by_node_;
  struct OfLane {
    Cells cells = 0;
    std::uint64_t partitions = 0;
    Nodes count = 0;  // of these cells
    bool wanted = false;
    bool operator==(const OfLane&) const = default;
  };
  std::vector<OfLane> of_lane_;
  std::array<std::uint32_t, kMostCells> wanted_{};  // by so many lanes that have jobs
  std::vector<std::uint32_t> order_;
  bool has_partitions_ = false, is_whole_ = true, speeds_differ_ = false;
};

}  // namespace ductile
