// The machine's cells: the coarsest sets of nodes that classes, partitions, bookings and the node
// lists of living jobs do not tell apart. They follow from the platform, bookings and lanes alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "model/platform.hpp"
#include "scheduling/booking.hpp"
#include "scheduling/spread.hpp"

namespace ductile {

/// Jobs that may run at the same places. Lane 0 is of those that ask for nothing.
struct Lane {
  Where where;
  std::uint32_t jobs = 0;  // that are not over
  /// Of the slowest nodes that they may use: follows from the platform.
  double speed = 1;
  /// Which classes these are of, a bit for each place in the platform's list: likewise.
  std::uint64_t classes = 1;

  bool operator==(const Lane&) const = default;
};

/// A class of the platform. One without classes has one: nobody says what its nodes have, so that
/// it is enough for everybody.
NodeClass class_of(const Platform& platform, std::size_t number);

/// Has each class and partition nodes that there are, are there not too many, and can they be told
/// apart?
bool is_sound(const Platform& platform);

/// All cells, by number from 0, which goes with their lowest nodes. Where nothing tells nodes apart
/// there is one. Where nodes are booked there are several, be it that one of them is empty: so what
/// goes by cells alone knows of bookings.
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
  CellTable(const Platform& platform, std::span<const Lane> lanes,
            std::span<const Booking> bookings = {});

  std::size_t size() const { return cells_.size(); }
  bool is_one() const { return cells_.size() == 1; }
  const Cell& operator[](std::size_t cell) const { return cells_[cell]; }
  /// Null where there is one.
  const ByNode& by_node() const { return by_node_; }
  std::uint32_t cell_of(std::uint32_t node) const { return is_one() ? 0 : (*by_node_)[node]; }
  /// Where jobs of a lane may run: the cells whose nodes are all allowed.
  Cells of(LaneId lane) const { return of_lane_[index(lane)].cells; }
  /// The same of those with this reach. A number that no lane has is used again.
  Cells of(ReachId reach) const { return reaches_[index(reach)].cells; }
  std::uint64_t partitions_of(ReachId reach) const { return reaches_[index(reach)].partitions; }
  std::uint32_t booking_of(ReachId reach) const { return reaches_[index(reach)].booking; }
  ReachId reach_of(LaneId lane) const { return of_lane_[index(lane)].reach; }
  /// How many nodes these have.
  Nodes nodes_of(LaneId lane) const { return of_lane_[index(lane)].count; }
  /// The partitions in which they may; 1 where there are none.
  std::uint64_t partitions_of(LaneId lane) const { return of_lane_[index(lane)].partitions; }
  /// Whose bookings they are, by their place from 1; 0: they have none, or it is over.
  std::uint32_t booking_of(LaneId lane) const { return of_lane_[index(lane)].booking; }
  /// Which cells have nodes of a booking, by its place from 0.
  Cells booked(std::size_t booking) const { return bookings_[booking].cells; }
  /// All cells, those first whose nodes are taken first: by the weight of the class, then those
  /// that fewer lanes may use, then by number.
  std::span<const std::uint32_t> in_order() const { return order_; }
  /// Is each node list told apart from the others? There are at most `kMostCells`. Where these do
  /// not suffice the last lanes do without cells of which they may use a part only.
  bool is_whole() const { return is_whole_; }

  /// Are there classes of different speed?
  bool speeds_differ() const { return speeds_differ_; }
  /// Do nodes of one class draw more than those of another, idle or busy?
  bool draws_differ() const { return draws_differ_; }
  /// May all lanes that have jobs use every cell, at any time, and are all equally fast? Then it
  /// does not matter to a plan of which cells somebody's nodes are: it may count them together, as
  /// on a machine of one cell.
  bool are_alike() const { return are_alike_; }

  /// Calls `visit(cell, count)` for each cell of which some of these nodes are, the lowest number
  /// first.
  template <class Visit>
  void for_each_count(const NodeSet& nodes, Visit visit) const {
    std::array<Nodes, kMostCells> counts{};
    Cells found = 0;
    const auto add = [&](std::uint32_t cell, Nodes count) {
      counts[cell] += count;
      found |= Cells{1} << cell;
    };
    if (!is_one()) {
      for_each_run(*by_node_, nodes, add);
    } else if (!nodes.empty()) {
      add(0, nodes.count());
    }
    for_each_cell(found, [&](std::uint32_t cell) { visit(cell, counts[cell]); });
  }
  /// How many of these nodes are of which cell.
  Spread spread(const NodeSet& nodes) const;
  NodeSet nodes(Cells cells) const;
  Nodes count(Cells cells) const;
  /// The speed of the slowest of these; 1 if there are none.
  double slowest(Cells cells) const;
  /// A bit for the place of each class of which these cells are.
  std::uint64_t classes_of(Cells cells) const;
  double slowest(const NodeSet& nodes) const;
  /// The place of its class; of several as slow the first.
  std::size_t slowest_class(const NodeSet& nodes) const;

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
  static constexpr ReachId kNoReach{0xffff};
  struct Booked {
    BookingId id = BookingId::none;
    Cells cells = 0;
    NodeSet nodes{};
    bool operator==(const Booked&) const = default;
  };
  std::vector<Booked> bookings_;
  struct OfLane {
    Cells cells = 0;
    std::uint64_t partitions = 0;
    Nodes count = 0;  // of these cells
    std::uint32_t booking = 0;
    bool wanted = false;
    ReachId reach = kNoReach;
    /// The numbers of reaches apart.
    bool operator==(const OfLane& other) const {
      return cells == other.cells && partitions == other.partitions && count == other.count &&
             booking == other.booking && wanted == other.wanted;
    }
  };
  struct Reach {
    Cells cells = 0;
    std::uint64_t partitions = 0;
    std::uint32_t booking = 0;
    std::uint32_t lanes = 0;  // so many have it
  };
  /// Another lane has it.
  ReachId join_reach(const OfLane& its);
  std::vector<OfLane> of_lane_;
  std::vector<Reach> reaches_;
  std::array<std::uint32_t, kMostCells> wanted_{};  // by so many lanes that have jobs
  std::vector<std::uint32_t> order_;
  std::uint32_t lanes_wanted_ = 0;  // so many lanes have jobs
  bool has_partitions_ = false, is_whole_ = true, speeds_differ_ = false;
  bool draws_differ_ = false, are_alike_ = true;
};

}  // namespace ductile
