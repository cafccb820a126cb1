#include "scheduling/cells.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "model/switch_tree.hpp"

namespace ductile {
namespace {

static_assert(kMostPartitions + kMostBookings <= 64);  // bits

}  // namespace

NodeClass class_of(const Platform& platform, std::size_t number) {
  if (!platform.classes.empty()) return platform.classes[number];
  NodeClass all;
  all.has.cores = std::numeric_limits<std::uint16_t>::max();
  all.has.things.fill(std::numeric_limits<std::uint16_t>::max());
  all.has.memory_mb = std::numeric_limits<std::uint32_t>::max();
  all.idle_w = platform.idle_w;
  all.busy_w = platform.busy_w;
  all.off_w = platform.off_w;
  all.boot_time = platform.boot_time;
  return all;
}

bool is_sound(const Platform& platform) {
  const auto is_there = [&](const auto& its) {
    return its.nodes.empty() || its.nodes.parts.back().last < platform.nodes;
  };
  return platform.partitions.size() <= kMostPartitions &&
         std::ranges::all_of(platform.classes, is_there) &&
         std::ranges::all_of(platform.partitions, is_there) &&
         std::ranges::all_of(platform.classes,
                             [](const NodeClass& its) { return its.speed > 0; }) &&
         is_tree(platform.switches, platform.nodes) && CellTable(platform, {}).is_whole();
}

CellTable::CellTable(const Platform& platform, std::span<const Lane> lanes,
                     std::span<const Booking> bookings) {
  has_partitions_ = !platform.partitions.empty();
  NodeSet all;
  if (platform.nodes > 0) all.insert(0, platform.nodes - 1);
  cells_.push_back({.nodes = all});
  for (const NodeClass& each : platform.classes) split(each.nodes);
  for (const Partition& each : platform.partitions) split(each.nodes);
  for (const Booking& each : bookings) split(each.nodes);
  for (const Lane& lane : lanes) {
    split(lane.where.only);
    split(lane.where.never);
  }
  std::ranges::sort(cells_, {}, [](const Cell& cell) {
    return cell.nodes.empty() ? 0 : cell.nodes.parts.front().first;
  });
  const bool any_booked =
      std::ranges::any_of(bookings, [](const Booking& each) { return !each.nodes.empty(); });
  if (is_one() && any_booked) cells_.emplace_back();

  for (std::size_t i = 0; i < std::max<std::size_t>(platform.classes.size(), 1); ++i) {
    classes_.push_back(class_of(platform, i));
    classes_.back().nodes = {};
  }
  std::vector<std::uint8_t> by_node(is_one() ? 0 : platform.nodes);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cell& cell = cells_[i];
    cell.count = cell.nodes.count();
    for (std::size_t cls = 0; cls < platform.classes.size(); ++cls) {
      if (platform.classes[cls].nodes.intersects(cell.nodes)) cell.cls = cls;
    }
    if (cell.nodes.empty()) cell.cls = cells_.front().cls;
    cell.speed = classes_[cell.cls].speed;
    speeds_differ_ |= cell.speed != cells_.front().speed;
    const NodeClass& its = classes_[cell.cls];
    const NodeClass& first = classes_[cells_.front().cls];
    draws_differ_ |=
        its.idle_w != first.idle_w || its.busy_w != first.busy_w || its.off_w != first.off_w;
    cell.partitions = platform.partitions.empty() ? 1 : 0;
    for (std::size_t p = 0; p < platform.partitions.size(); ++p) {
      const bool has_it = !cell.nodes.empty() && platform.partitions[p].nodes.contains(cell.nodes);
      if (has_it) cell.partitions |= std::uint64_t{1} << p;
    }
    if (is_one()) continue;
    for (const Interval& part : cell.nodes.parts) {
      std::fill(by_node.begin() + part.first, by_node.begin() + part.last + 1,
                static_cast<std::uint8_t>(i));
    }
  }
  if (!is_one()) {
    by_node_ = std::make_shared<const std::vector<std::uint8_t>>(std::move(by_node));
  }
  for (const Booking& each : bookings) {
    Booked& its = bookings_.emplace_back(Booked{each.id, 0, each.nodes});
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].nodes.intersects(each.nodes)) its.cells |= Cells{1} << i;
    }
  }
  for (std::uint32_t i = 0; i < cells_.size(); ++i) order_.push_back(i);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    put(LaneId{static_cast<std::uint16_t>(i)}, lanes[i]);
  }
  sort();
}

void CellTable::put(LaneId id, const Lane& lane) {
  if (index(id) >= of_lane_.size()) of_lane_.resize(index(id) + 1u);
  want(id, false);
  const Where& where = lane.where;
  const bool is_first = where.partitions == 0 || !has_partitions_;
  const std::uint64_t partitions = is_first ? 1 : where.partitions;
  OfLane its;
  const auto booked = where.booking == BookingId::none
                          ? bookings_.end()
                          : std::ranges::find(bookings_, where.booking, &Booked::id);
  if (booked != bookings_.end()) {
    its.booking = static_cast<std::uint32_t>(booked - bookings_.begin()) + 1;
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    if ((cell.partitions & partitions) == 0) continue;
    if (!classes_[cell.cls].has.covers(where.each)) continue;
    if (!where.only.empty() && !where.only.contains(cell.nodes)) continue;
    if (!where.never.empty() && where.never.intersects(cell.nodes)) continue;
    if (its.booking != 0 && (cell.nodes.empty() || !booked->nodes.contains(cell.nodes))) continue;
    its.cells |= Cells{1} << i;
    its.partitions |= cell.partitions & partitions;
    its.count += cell.count;
  }
  // Who has booked waits for himself: that is a partition of its own.
  if (its.booking != 0) its.partitions = std::uint64_t{1} << (kMostPartitions + its.booking - 1);
  if (const ReachId before = of_lane_[index(id)].reach; before != kNoReach) {
    --reaches_[index(before)].lanes;
  }
  its.reach = join_reach(its);
  of_lane_[index(id)] = its;
  want(id, lane.jobs > 0);
}

ReachId CellTable::join_reach(const OfLane& its) {
  const auto same = std::ranges::find_if(reaches_, [&](const Reach& reach) {
    return reach.lanes > 0 && reach.cells == its.cells && reach.partitions == its.partitions &&
           reach.booking == its.booking;
  });
  auto at = same != reaches_.end() ? same : std::ranges::find(reaches_, 0u, &Reach::lanes);
  if (at == reaches_.end()) at = reaches_.insert(at, Reach{});
  *at = {its.cells, its.partitions, its.booking, at->lanes + 1};
  return ReachId{static_cast<std::uint16_t>(at - reaches_.begin())};
}

void CellTable::want(LaneId id, bool wanted) {
  OfLane& its = of_lane_[index(id)];
  if (is_one() || its.wanted == wanted) return;
  its.wanted = wanted;
  lanes_wanted_ += wanted ? 1 : -1u;
  for_each_cell(its.cells, [&](std::uint32_t cell) { wanted_[cell] += wanted ? 1 : -1u; });
  sort();
}

void CellTable::sort() {
  std::ranges::sort(order_, {}, [&](std::uint32_t cell) {
    return std::tuple(classes_[cells_[cell].cls].weight, wanted_[cell], cell);
  });
  const auto wanted_by_all = [&](std::uint32_t cell) { return wanted_[cell] == lanes_wanted_; };
  const auto has_nodes = [](const Booked& its) { return !its.nodes.empty(); };
  are_alike_ = !speeds_differ_ && std::ranges::all_of(order_, wanted_by_all) &&
               std::ranges::none_of(bookings_, has_nodes);
}

bool CellTable::operator==(const CellTable& other) const {
  return cells_ == other.cells_ && classes_ == other.classes_ && of_lane_ == other.of_lane_ &&
         wanted_ == other.wanted_ && order_ == other.order_ && is_whole_ == other.is_whole_ &&
         bookings_ == other.bookings_;
}

void CellTable::split(const NodeSet& apart) {
  const std::size_t before = cells_.size();
  for (std::size_t i = 0; i < before; ++i) {
    NodeSet in = intersection(cells_[i].nodes, apart);
    if (in.empty() || in == cells_[i].nodes) continue;
    if (cells_.size() == kMostCells) {
      is_whole_ = false;
      return;
    }
    NodeSet out = difference(cells_[i].nodes, apart);
    cells_[i].nodes = std::move(in);
    cells_.push_back({.nodes = std::move(out)});
  }
}

Spread CellTable::spread(const NodeSet& nodes) const {
  Spread found;
  for_each_count(nodes, [&](std::uint32_t cell, Nodes count) { found.add(cell, count); });
  return found;
}

NodeSet CellTable::nodes(Cells cells) const {
  NodeSet all;
  for (std::size_t i = 0; i < size(); ++i) {
    if ((cells >> i & 1) != 0) all.insert(cells_[i].nodes);
  }
  return all;
}

double CellTable::slowest(Cells cells) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < size(); ++i) {
    if ((cells >> i & 1) != 0) least = std::min(least, cells_[i].speed);
  }
  return least < std::numeric_limits<double>::infinity() ? least : 1;
}

std::uint64_t CellTable::classes_of(Cells cells) const {
  std::uint64_t classes = 0;
  for_each_cell(cells, [&](std::uint32_t cell) {
    if (cell < size()) classes |= std::uint64_t{1} << cells_[cell].cls;
  });
  return classes;
}

double CellTable::slowest(const NodeSet& nodes) const {
  Cells found = 0;
  for_each_count(nodes, [&](std::uint32_t cell, Nodes) { found |= Cells{1} << cell; });
  return slowest(found);
}

std::size_t CellTable::slowest_class(const NodeSet& nodes) const {
  std::optional<std::pair<double, std::size_t>> least;
  for (const auto& [cell, count] : spread(nodes).parts) {
    const std::pair its(cells_[cell].speed, cells_[cell].cls);
    least = std::min(least.value_or(its), its);
  }
  return least ? least->second : 0;
}

Nodes CellTable::count(Cells cells) const {
  Nodes sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += (cells >> i & 1) != 0 ? cells_[i].count : 0;
  return sum;
}

}  // namespace ductile
