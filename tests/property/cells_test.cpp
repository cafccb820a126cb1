// Classes, partitions and node lists: which nodes are told apart, who may use them, which of them a
// job gets and which it gives back, each against a naive model, node by node; and that all of it
// holds in random histories with delays, refusals and losses.
//
// DUCTILE_CASES: how many runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "scheduling/record.hpp"
#include "scheduling/snapshot.hpp"
#include "support/fingerprint.hpp"
#include "support/hostile_world.hpp"
#include "support/scripted.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

constexpr Nodes kNodes = 24;

NodeSet some_nodes(Draws& draws, double chance) {
  NodeSet set;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    if (draws.chance(chance)) set.insert(node, node);
  }
  return set;
}

Platform some_platform(Draws& draws) {
  Platform platform{.nodes = kNodes, .cores_per_node = 4};
  NodeSet rest{{{0, kNodes - 1}}};
  const std::uint64_t classes = draws.below(4);
  for (std::uint64_t i = 0; i < classes; ++i) {
    NodeClass its;
    its.name = "class" + std::to_string(i);
    its.nodes = i + 1 < classes ? intersection(rest, some_nodes(draws, 0.4)) : rest;
    rest.erase(its.nodes);
    its.has = {.cores = 4, .memory_mb = static_cast<std::uint32_t>(1000 * draws.below(3))};
    its.speed = draws.chance(0.5) ? 1 : 0.5;
    its.weight = static_cast<std::uint32_t>(draws.below(3));
    platform.classes.push_back(std::move(its));
  }
  for (std::uint64_t n = draws.below(4); n > 0; --n) {
    platform.partitions.push_back({"part" + std::to_string(n), some_nodes(draws, 0.7)});
  }
  return platform;
}

Where some_where(Draws& draws) {
  Where where;
  where.partitions = draws.below(8);
  if (draws.chance(0.3)) where.each.memory_mb = static_cast<std::uint32_t>(draws.below(2500));
  if (draws.chance(0.2)) where.only = some_nodes(draws, 0.7);
  if (draws.chance(0.2)) where.never = some_nodes(draws, 0.3);
  return where;
}

// What is known of one node.
struct Naive {
  const Platform& platform;

  std::size_t cls(std::uint32_t node) const {
    for (std::size_t i = 0; i < platform.classes.size(); ++i) {
      if (platform.classes[i].nodes.contains(node)) return i;
    }
    return 0;
  }
  NodeClass class_of(std::uint32_t node) const { return ductile::class_of(platform, cls(node)); }
  bool may(const Where& where, std::uint32_t node) const {
    bool in = platform.partitions.empty();
    for (std::size_t i = 0; i < platform.partitions.size(); ++i) {
      const bool asked = where.partitions == 0 ? i == 0 : (where.partitions >> i & 1) != 0;
      in |= asked && platform.partitions[i].nodes.contains(node);
    }
    return in && class_of(node).has.covers(where.each) && !where.never.contains(node) &&
           (where.only.empty() || where.only.contains(node));
  }
  NodeSet allowed(const Where& where) const {
    NodeSet nodes;
    for (std::uint32_t node = 0; node < platform.nodes; ++node) {
      if (may(where, node)) nodes.insert(node, node);
    }
    return nodes;
  }
  /// All that tells this node from others.
  std::vector<bool> marks(const std::vector<Lane>& lanes, std::uint32_t node) const {
    std::vector<bool> marks;
    for (const NodeClass& its : platform.classes) marks.push_back(its.nodes.contains(node));
    for (const Partition& its : platform.partitions) marks.push_back(its.nodes.contains(node));
    for (const Lane& lane : lanes) {
      marks.push_back(lane.where.only.contains(node));
      marks.push_back(lane.where.never.contains(node));
    }
    return marks;
  }
  /// In which order idle nodes are taken.
  std::vector<std::uint32_t> in_order(const std::vector<Lane>& lanes, const NodeSet& nodes) const {
    const auto key = [&](std::uint32_t node) {
      std::uint32_t wanted = 0, lowest = node;
      for (const Lane& lane : lanes) wanted += lane.jobs > 0 && may(lane.where, node) ? 1 : 0;
      for (std::uint32_t other = 0; other < node; ++other) {
        if (marks(lanes, other) == marks(lanes, node)) lowest = std::min(lowest, other);
      }
      return std::tuple(class_of(node).weight, wanted, lowest, node);
    };
    std::vector<std::uint32_t> found;
    for (std::uint32_t node = 0; node < platform.nodes; ++node) {
      if (nodes.contains(node)) found.push_back(node);
    }
    std::ranges::sort(found, {}, key);
    return found;
  }
};

NodeSet first_of(const std::vector<std::uint32_t>& nodes, std::size_t n) {
  NodeSet set;
  for (std::size_t i = 0; i < n; ++i) set.insert(nodes[i], nodes[i]);
  return set;
}

void check_cells_once(std::uint64_t seed) {
  Draws draws(seed, Stream::test, 6);
  const Platform platform = some_platform(draws);
  const Naive naive{platform};
  std::vector<Lane> lanes(1 + draws.below(6));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (i > 0) lanes[i].where = some_where(draws);
    lanes[i].jobs = static_cast<std::uint32_t>(draws.below(3));
  }
  const CellTable cells(platform, lanes);
  ASSERT_TRUE(cells.is_whole());
  std::set<std::vector<bool>> kinds;
  for (std::uint32_t a = 0; a < kNodes; ++a) {
    kinds.insert(naive.marks(lanes, a));
    for (std::uint32_t b = 0; b < kNodes; ++b) {
      ASSERT_EQ(cells.cell_of(a) == cells.cell_of(b),
                naive.marks(lanes, a) == naive.marks(lanes, b))
          << a << " and " << b;
    }
  }
  ASSERT_EQ(cells.size(), kinds.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Cells its = cells.of(LaneId{static_cast<std::uint16_t>(i)});
    ASSERT_EQ(cells.nodes(its), naive.allowed(lanes[i].where)) << "lane " << i;
    ASSERT_EQ(cells.count(its), naive.allowed(lanes[i].where).count());
  }
  const auto together = [&](const CellTable& table) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const LaneId a{static_cast<std::uint16_t>(i)};
      ASSERT_EQ(table.of(table.reach_of(a)), table.of(a));
      ASSERT_EQ(table.partitions_of(table.reach_of(a)), table.partitions_of(a));
      for (std::size_t j = 0; j < i; ++j) {
        const LaneId b{static_cast<std::uint16_t>(j)};
        ASSERT_EQ(table.reach_of(a) == table.reach_of(b),
                  table.of(a) == table.of(b) && table.partitions_of(a) == table.partitions_of(b));
      }
    }
    bool alike = true;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      alike &= naive.class_of(node).speed == naive.class_of(0).speed;
      for (const Lane& lane : lanes) alike &= lane.jobs == 0 || naive.may(lane.where, node);
    }
    ASSERT_EQ(table.are_alike(), alike || table.is_one());
  };
  together(cells);
  // The same lanes, coming one after the other.
  CellTable grown(platform, lanes);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    grown.put(LaneId{static_cast<std::uint16_t>(i)}, Lane{});
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    grown.put(LaneId{static_cast<std::uint16_t>(i)}, lanes[i]);
  }
  ASSERT_TRUE(grown == cells);
  together(grown);
}

TEST(Cells, AreTheNodesThatNobodyTellsApart) {
  for_seeds({.usual = 1000, .first = 1}, check_cells_once);
}

/// Jobs come, start, grow, are cut and end, one thing at a time: which nodes?
void place_once(std::uint64_t seed) {
  Draws draws(seed, Stream::test, 7);
  const auto below = [&](std::uint64_t n) { return static_cast<Nodes>(draws.below(n)); };
  Stage stage({.platform = some_platform(draws)});
  const State& state = stage.state();
  const Naive naive{state.platform};
  const auto where_of = [&](JobId id) { return state.lanes[index(stage.job(id).spec.lane)].where; };
  const auto slowest = [&](const NodeSet& nodes) {
    double least = 1e9;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      if (nodes.contains(node)) least = std::min(least, naive.class_of(node).speed);
    }
    return least;
  };
  const auto usable = [&](JobId id) {
    NodeSet nodes = naive.allowed(where_of(id));
    const NodeSet& has = stage.job(id).holding.nodes;
    for (std::uint32_t node = 0; node < kNodes && !has.empty(); ++node) {
      if (naive.class_of(node).speed < slowest(has)) nodes.erase(NodeSet{{{node, node}}});
    }
    return nodes;
  };
  std::vector<JobId> waiting, running;
  for (int step = 0; step < 30; ++step) {
    stage.now += whole_seconds(1);
    switch (draws.below(running.empty() ? 2 : 6)) {
      case 0: {
        const auto where = std::make_shared<const Where>(some_where(draws));
        const Nodes size = 1 + below(6);
        const JobId id{state.jobs.size()};
        stage.tell(event::Submitted{malleable({1, 12}, size), AdaptiveSpec{}, where});
        const bool fits_nowhere = naive.allowed(*where).count() < size;
        ASSERT_EQ(stage.close().size() == 1, fits_nowhere);
        if (!fits_nowhere) waiting.push_back(id);
        break;
      }
      case 1: {
        if (waiting.empty()) break;
        const std::size_t place = draws.below(waiting.size());
        const JobId id = waiting[place];
        const NodeSet there = intersection(state.idle.nodes(), usable(id));
        const Nodes n = 1 + below(12);
        const bool can = n <= there.count() && stage.job(id).spec.size.contains(n);
        const NodeSet best = can ? first_of(naive.in_order(state.lanes, there), n) : NodeSet{};
        stage.pass([&](Pass& p) {
          ASSERT_EQ(p.idle(id), there.count());
          ASSERT_EQ(p.start(id, exactly(n), {Why::in_order}), can);
        });
        if (!can) break;
        ASSERT_EQ(stage.job(id).holding.nodes, best);
        ASSERT_EQ(stage.job(id).limit - stage.now,
                  at_speed(state.estimate_at_speed_1(stage.job(id), n), slowest(best)));
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(place));
        running.push_back(id);
        break;
      }
      case 2: {
        const JobId id = running[draws.below(running.size())];
        const NodeSet there = intersection(state.idle.nodes(), usable(id));
        const Job before = stage.job(id);
        const Nodes to = before.target + 1 + below(4);
        const bool can = to - before.target <= there.count() && before.spec.size.contains(to);
        const NodeSet best =
            can ? first_of(naive.in_order(state.lanes, there), to - before.target) : NodeSet{};
        stage.pass([&](Pass& p) { ASSERT_EQ(p.resize(id, to, {Why::hand_out}), can); });
        if (!can) break;
        ASSERT_EQ(stage.job(id).holding.nodes, united(before.holding.nodes, best));
        ASSERT_TRUE(stage.resized(id));
        stage.close();
        break;
      }
      case 3: {
        // A cut, and who waits gets of it what he can use.
        const JobId id = running[draws.below(running.size())];
        const Job before = stage.job(id);
        if (before.target < 2 || waiting.empty()) break;
        const JobId other = waiting[draws.below(waiting.size())];
        const Nodes to = 1 + below(before.target - 1);
        const NodeSet wanted = usable(other);
        std::vector<std::uint32_t> order;
        for (std::uint32_t node = 0; node < kNodes; ++node) {
          if (before.holding.nodes.contains(node)) order.push_back(node);
        }
        std::ranges::sort(order, {}, [&](std::uint32_t node) {
          if (state.health[node] != Health::up) return std::tuple(0, false, 0.0, ~node);
          return std::tuple(1, !wanted.contains(node), naive.class_of(node).speed, ~node);
        });
        const NodeSet given = first_of(order, before.target - to);
        const Nodes useful = difference(intersection(given, wanted), state.not_up).count();
        const Nodes free = intersection(state.idle.nodes(), wanted).count();
        const Nodes n = 1 + below(6);
        const bool can = n <= free + useful && stage.job(other).spec.size.contains(n);
        const Cut cuts[] = {{id, to}};
        stage.pass([&](Pass& p) {
          ASSERT_EQ(p.gives(cuts[0], other), useful);
          ASSERT_EQ(p.start(other, exactly(n), {Why::in_order}, {cuts}), can);
        });
        if (!can) break;
        for (const Decision& decision : stage.core.unanswered()) {
          ASSERT_EQ(difference(before.holding.nodes, decision.after.nodes), given);
        }
        ASSERT_EQ(load(save(state)).claims.front().pledges, state.claims.front().pledges);
        ASSERT_TRUE(stage.resized(id));
        stage.close();
        ASSERT_EQ(stage.job(other).status, Status::running);
        ASSERT_EQ(stage.job(other).holding.count, n);
        ASSERT_TRUE(wanted.contains(stage.job(other).holding.nodes));
        std::erase(waiting, other);
        running.push_back(other);
        break;
      }
      case 4: {
        const std::uint32_t node = below(kNodes);
        const Health to = draws.chance(0.5) ? Health::down : Health::up;
        stage.tell(event::NodesChanged{NodeSet{{{node, node}}}, to});
        stage.close();
        break;
      }
      default: {
        const std::size_t place = draws.below(running.size());
        ASSERT_TRUE(stage.ended(running[place]));
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(place));
        stage.close();
      }
    }
    ASSERT_EQ(save(load(save(state))), save(state));
  }
}

TEST(Cells, JobsGetTheFirstNodesThatTheyMayUseAndGiveTheLeast) {
  for_seeds({.usual = 1500, .first = 1}, place_once);
}

TEST(Cells, AreKeptInAHostileWorld) {
  HostileWorld::Figures sum;
  const Runs runs{.usual = 1500, .first = 1, .enough = 100};
  const std::uint64_t count = for_seeds(runs, [&](std::uint64_t seed) {
    HostileSettings settings = random_settings(seed);
    settings.rules.identities = settings.cells = true;
    settings.platform.nodes = 8 + settings.platform.nodes % 25;
    HostileWorld world(settings);
    try {
      world.live();
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\nat " << to_seconds(world.now()) << " s";
    }
    sum += world.figures();
  });
  if (count == 0) return;
  EXPECT_GT(sum.claims, count);
  EXPECT_GT(sum.moves, count / 50);
  EXPECT_GT(sum.machines, count / 10);
}

/// What was told and written, as text and back, gives the same states; and one that is saved and
/// loaded goes on alike.
TEST(Cells, FoldsAndLoadsGoOnAlike) {
  int loads = 0;
  const Runs runs{.usual = 1200 / 8, .first = 1, .enough = 40, .share = 8};
  const std::uint64_t count = for_seeds(runs, [&](std::uint64_t seed) {
    HostileSettings settings = recorded_settings(seed);
    settings.rules.identities = settings.cells = true;
    settings.bookings = seed % 2 == 0;
    settings.platform.nodes = 8 + settings.platform.nodes % 25;
    HostileWorld world(settings);
    world.live();
    Core folded = world.first();
    std::optional<Core> loaded;
    Draws draws(seed, Stream::test, 8);
    for (std::size_t i = 0; i < world.journal().size(); ++i) {
      const Record& record = world.journal()[i];
      std::vector<PenCall> calls;
      for (const PenCall& call : record.calls) {
        calls.push_back(pen_call_from_record(to_record(call)));
      }
      for (Core* core : {&folded, loaded ? &*loaded : nullptr}) {
        if (core == nullptr) continue;
        if (record.event) {
          const Event event = event_from_record(to_record(*record.event));
          ASSERT_EQ(core->apply(record.time, event), record.accepted);
        } else {
          const auto decisions = follow(*core, record.time, record.asked, calls);
          ASSERT_TRUE(std::ranges::equal(decisions, record.decisions));
        }
      }
      ASSERT_EQ(fingerprint(folded.state()), record.fingerprint);
      if (record.event || !draws.chance(0.05)) continue;
      const std::string text = save(folded.state());
      if (loaded) {
        ASSERT_EQ(save(loaded->state()), text);
      }
      loaded.emplace(load(text));
      ++loads;
    }
  });
  if (count > 0) EXPECT_GT(loads, static_cast<int>(count));
}

}  // namespace
}  // namespace ductile::testing
