// EASY on machines whose nodes differ: overlapping partitions, memory, weights, maintenance, jobs
// that wait for others. Against one that is written down here once more, node by node, from the
// words of docs/architecture.md: every job has to start at the same time.
//
// DUCTILE_CASES: how many runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

constexpr Nodes kNodes = 12;
using Node = std::uint32_t;

NodeSet some_nodes(Draws& draws, double chance) {
  NodeSet set;
  for (Node node = 0; node < kNodes; ++node) {
    if (draws.chance(chance)) set.insert(node, node);
  }
  return set;
}

struct Case {
  Workload workload;
  Platform platform{.nodes = kNodes, .cores_per_node = 4};
  std::vector<Booking> bookings;
};

bool may(const Platform& platform, const Where& where, Node node) {
  bool in = platform.partitions.empty();
  for (std::size_t i = 0; i < platform.partitions.size(); ++i) {
    const bool asked = where.partitions == 0 ? i == 0 : (where.partitions >> i & 1) != 0;
    in |= asked && platform.partitions[i].nodes.contains(node);
  }
  const auto has = [&](const NodeClass& its) {
    return its.nodes.contains(node) && its.has.memory_mb >= where.each.memory_mb;
  };
  return in && (platform.classes.empty() || std::ranges::any_of(platform.classes, has));
}

Nodes allowed(const Platform& platform, const Where& where) {
  Nodes count = 0;
  for (Node node = 0; node < kNodes; ++node) count += may(platform, where, node) ? 1 : 0;
  return count;
}

Case some_case(std::uint64_t seed) {
  Draws draws(seed, Stream::test, 21);
  Case its;
  if (draws.chance(0.6)) {
    NodeSet rest{{{0, kNodes - 1}}};
    for (int i = 0; i < 2; ++i) {
      NodeClass cls;
      cls.name = i == 0 ? "small" : "large";
      cls.nodes = i == 0 ? some_nodes(draws, 0.6) : rest;
      rest.erase(cls.nodes);
      cls.has = {.cores = 4, .memory_mb = i == 0 ? 1000U : 4000U};
      cls.weight = static_cast<std::uint32_t>(draws.below(2));
      its.platform.classes.push_back(std::move(cls));
    }
  }
  for (std::uint64_t n = draws.below(4); n > 0; --n) {
    its.platform.partitions.push_back({"part" + std::to_string(n), some_nodes(draws, 0.6)});
  }
  const auto time = [&](std::uint64_t most) {
    return whole_seconds(static_cast<std::int64_t>(draws.below(most)));
  };
  for (std::uint64_t n = draws.below(3); n > 0; --n) {
    Booking booking{.name = "down" + std::to_string(n)};
    booking.nodes = some_nodes(draws, 0.4);
    booking.from = Time{} + time(300) + kTick;
    booking.to = booking.from + whole_seconds(1) + time(200);
    const auto clashes = [&](const Booking& other) {
      return other.overlaps(booking.from, booking.to) && other.nodes.intersects(booking.nodes);
    };
    if (booking.nodes.empty() || std::ranges::any_of(its.bookings, clashes)) continue;
    its.bookings.push_back(std::move(booking));
  }
  Time submit{};
  const std::uint64_t count = 4 + draws.below(22);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (draws.chance(0.7)) submit += time(40);
    Where where;
    if (!its.platform.partitions.empty()) {
      where.partitions = draws.below(std::uint64_t{1} << its.platform.partitions.size());
    }
    if (!its.platform.classes.empty() && draws.chance(0.3)) where.each.memory_mb = 2000;
    const Nodes most = allowed(its.platform, where);
    if (most == 0) continue;
    WorkloadJob job{.name = i + 1, .submit = submit};
    job.nodes = 1 + static_cast<Nodes>(draws.below(draws.chance(0.7) ? (most + 1) / 2 : most));
    job.walltime = whole_seconds(1) + time(120);
    job.runtime =
        draws.chance(0.4) ? job.walltime : std::min(job.walltime, whole_seconds(1) + time(120));
    const bool asks = where.partitions != 0 || where.each.memory_mb != 0;
    if (asks) {
      auto at = std::ranges::find(its.workload.where, where);
      if (at == its.workload.where.end()) at = its.workload.where.insert(at, where);
      job.where = static_cast<std::uint32_t>(at - its.workload.where.begin()) + 1;
    }
    its.workload.jobs.push_back(job);
  }
  for (std::uint32_t job = 1; job < its.workload.jobs.size(); ++job) {
    if (!draws.chance(0.15)) continue;
    its.workload.precedences.push_back(
        {.job = job, .on = static_cast<std::uint32_t>(draws.below(job))});
  }
  return its;
}

// --- Once more -----------------------------------------------------------------------------------

class NaiveEasy {
 public:
  explicit NaiveEasy(const Case& its)
      : platform_(its.platform), bookings_(its.bookings), jobs_(its.workload.jobs) {
    for (const WorkloadJob& job : jobs_) {
      rows_.push_back({.where = job.where == 0 ? Where{} : its.workload.where[job.where - 1]});
    }
    for (const Precedence& each : its.workload.precedences) {
      rows_[each.job].after.push_back(each.on);
    }
  }

  std::vector<Time> starts() {
    for (now_ = Time{}; now_ != kNever; now_ = next()) {
      for (Row& row : rows_) {
        if (row.end && *row.end == now_) row.nodes.clear();
      }
      come();
      pass();
    }
    std::vector<Time> starts;
    for (const Row& row : rows_) starts.push_back(row.start.value_or(kNever));
    return starts;
  }

 private:
  struct Row {
    Where where;
    std::vector<std::uint32_t> after{};
    std::optional<Time> came{}, start{}, end{};  // `end`: the true one, known to nobody before
    std::set<Node> nodes{};
  };
  // Nodes that nobody tells apart, and what of them is taken besides by running jobs: from, to, how
  // many.
  struct Cell {
    std::vector<Node> nodes;
    std::vector<std::tuple<Time, Time, Nodes>> taken{};
    std::uint32_t weight = 0, wanted = 0;
  };
  using Counts = std::map<std::size_t, Nodes>;  // by cell

  bool is_over(std::uint32_t job) const { return rows_[job].end && *rows_[job].end <= now_; }
  bool is_there(const Row& row) const { return row.came && !(row.end && *row.end <= now_); }

  Time next() const {
    Time next = kNever;
    const auto see = [&](Time time) {
      if (time > now_) next = std::min(next, time);
    };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i].came) see(jobs_[i].submit);
      if (rows_[i].end) see(*rows_[i].end);
    }
    for (const Booking& booking : bookings_) see(booking.from), see(booking.to);
    return next;
  }

  void come() {
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      const auto over = [&](std::uint32_t on) { return is_over(on); };
      if (rows_[i].came || jobs_[i].submit > now_) continue;
      if (std::ranges::all_of(rows_[i].after, over)) rows_[i].came = now_;
    }
  }

  // First come, first served; together: in the order of the workload.
  std::vector<std::uint32_t> queue() const {
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].came && !rows_[i].start) waiting.push_back(i);
    }
    std::ranges::stable_sort(waiting, {}, [&](std::uint32_t i) { return *rows_[i].came; });
    return waiting;
  }

  std::vector<Where> lanes() const {
    std::vector<Where> lanes;
    for (const Row& row : rows_) {
      if (is_there(row) && std::ranges::find(lanes, row.where) == lanes.end()) {
        lanes.push_back(row.where);
      }
    }
    return lanes;
  }

  // In the order in which they are taken from.
  std::vector<Cell> cells() const {
    const std::vector<Where> lanes = this->lanes();
    bool alike = true;
    for (const Where& lane : lanes) alike &= allowed(platform_, lane) == kNodes;
    std::map<std::vector<bool>, Cell> found;
    for (Node node = 0; node < kNodes; ++node) {
      std::vector<bool> marks;
      for (const NodeClass& its : platform_.classes) marks.push_back(its.nodes.contains(node));
      for (const Partition& its : platform_.partitions) marks.push_back(its.nodes.contains(node));
      for (const Booking& its : bookings_) {
        if (its.to > now_) marks.push_back(its.nodes.contains(node)), alike = false;
      }
      Cell& cell = found[marks];
      cell.nodes.push_back(node);
      cell.wanted = 0;
      for (const Where& lane : lanes) cell.wanted += may(platform_, lane, node) ? 1 : 0;
      for (const NodeClass& its : platform_.classes) {
        if (its.nodes.contains(node)) cell.weight = its.weight;
      }
    }
    is_together_ = alike;
    std::vector<Cell> cells;
    for (auto& [marks, cell] : found) cells.push_back(std::move(cell));
    std::ranges::sort(cells, {}, [](const Cell& cell) {
      return std::tuple(cell.weight, cell.wanted, cell.nodes.front());
    });
    return cells;
  }

  // Of a cell, all the time from `from` on.
  static Nodes least(const Cell& cell, Time from, Time to) {
    std::vector<Time> times{from};
    for (const auto& [begin, end, count] : cell.taken) {
      if (begin > from && begin < to) times.push_back(begin);
    }
    std::int64_t least = static_cast<std::int64_t>(cell.nodes.size());
    for (const Time time : times) {
      auto free = static_cast<std::int64_t>(cell.nodes.size());
      for (const auto& [begin, end, count] : cell.taken) {
        if (begin <= time && time < end) free -= count;
      }
      least = std::min(least, free);
    }
    return static_cast<Nodes>(std::max<std::int64_t>(least, 0));
  }

  // So many nodes of these cells, if there are as many all of this time.
  std::optional<Counts> fit(const std::vector<Cell>& cells, std::uint32_t job, Time from) const {
    const Time to = from + jobs_[job].walltime;
    Counts counts;
    Nodes left = jobs_[job].nodes;
    if (is_together_) {  // nobody can tell of which they are
      Cell all{.nodes = std::vector<Node>(kNodes)};
      for (const Cell& cell : cells) {
        all.taken.insert(all.taken.end(), cell.taken.begin(), cell.taken.end());
      }
      return least(all, from, to) >= left ? std::optional(counts) : std::nullopt;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!may(platform_, rows_[job].where, cells[i].nodes.front())) continue;
      const Nodes n = std::min(left, least(cells[i], from, to));
      if (n > 0) counts[i] = n;
      left -= n;
    }
    return left == 0 ? std::optional(std::move(counts)) : std::nullopt;
  }

  static void take(std::vector<Cell>& cells, const Counts& counts, Nodes all, Time from, Time to) {
    if (counts.empty()) cells[0].taken.emplace_back(from, to, all);  // together
    for (const auto& [cell, count] : counts) cells[cell].taken.emplace_back(from, to, count);
  }

  void start(std::vector<Cell>& cells, const Counts& counts, std::uint32_t job) {
    Row& row = rows_[job];
    std::set<Node> busy;
    for (const Row& other : rows_) busy.insert(other.nodes.begin(), other.nodes.end());
    Nodes left = jobs_[job].nodes;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto at = counts.find(i);
      if (!is_together_ && at == counts.end()) continue;
      Nodes n = is_together_ ? left : at->second;
      for (const Node node : cells[i].nodes) {
        if (n == 0 || busy.contains(node)) continue;
        row.nodes.insert(node);
        --n, --left;
      }
    }
    ASSERT_EQ(left, 0U) << "the naive one has no nodes for job " << jobs_[job].name;
    row.start = now_;
    row.end = now_ + std::min(jobs_[job].runtime, jobs_[job].walltime);
    take(cells, counts, jobs_[job].nodes, now_, now_ + jobs_[job].walltime);
  }

  // Those that it names in which it has a node.
  std::uint64_t partitions(std::uint32_t job) const {
    if (platform_.partitions.empty()) return 1;
    Where where = rows_[job].where;
    const std::uint64_t named = std::max<std::uint64_t>(where.partitions, 1);
    std::uint64_t found = 0;
    for (std::uint64_t bit = 1; bit <= named; bit <<= 1U) {
      where.partitions = bit;
      if ((named & bit) != 0 && allowed(platform_, where) > 0) found |= bit;
    }
    return found;
  }

  void pass() {
    std::vector<Cell> cells = this->cells();
    const auto cell_of = [&](Node node) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (std::ranges::find(cells[i].nodes, node) != cells[i].nodes.end()) return i;
      }
      return cells.size();
    };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (const Node node : rows_[i].nodes) {
        cells[cell_of(node)].taken.emplace_back(Time{}, *rows_[i].start + jobs_[i].walltime, 1);
      }
    }
    for (const Booking& booking : bookings_) {
      for (Node node = 0; node < kNodes; ++node) {
        if (booking.nodes.contains(node) && booking.to > now_) {
          cells[cell_of(node)].taken.emplace_back(booking.from, booking.to, 1);
        }
      }
    }
    // A job that cannot start yet reserves, and counts in each of its partitions; who has none
    // without a reservation left is looked at last, and starts where that disturbs none.
    std::uint64_t reserved = 0;
    std::vector<std::uint32_t> behind;
    for (const std::uint32_t job : queue()) {
      if ((partitions(job) & ~reserved) == 0) {
        behind.push_back(job);
      } else if (const auto in = fit(cells, job, now_)) {
        start(cells, *in, job);
      } else {
        reserve(cells, job);
        reserved |= partitions(job);
      }
    }
    for (const std::uint32_t job : behind) {
      if (const auto in = fit(cells, job, now_)) start(cells, *in, job);
    }
  }

  // As early as it fits: something ends then.
  void reserve(std::vector<Cell>& cells, std::uint32_t job) const {
    std::set<Time> times;
    for (const Cell& cell : cells) {
      for (const auto& [from, to, count] : cell.taken) {
        if (to > now_) times.insert(to);
      }
    }
    for (const Time time : times) {
      const auto in = fit(cells, job, time);
      if (!in) continue;
      return take(cells, *in, jobs_[job].nodes, time, time + jobs_[job].walltime);
    }
  }

  const Platform& platform_;
  const std::vector<Booking>& bookings_;
  const std::vector<WorkloadJob>& jobs_;
  std::vector<Row> rows_;
  Time now_{};
  mutable bool is_together_ = false;
};

class Starts final : public Observer {
 public:
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (decision.kind == Decision::Kind::start) by_name[core.job(decision.job).spec.name] = now;
  }
  std::map<std::uint64_t, Time> by_name;
};

/// All of it, for who has to look at it.
std::string told(const Case& its, const std::vector<Time>& expected, const Starts& seen) {
  std::string text;
  for (const NodeClass& each : its.platform.classes) {
    text += fmt::format("class {}: {}, weight {}\n", each.name, to_string(each.nodes), each.weight);
  }
  for (const Partition& each : its.platform.partitions) {
    text += fmt::format("partition {}: {}\n", each.name, to_string(each.nodes));
  }
  for (const Booking& each : its.bookings) {
    text += fmt::format("booking of {} from {} to {}\n", to_string(each.nodes),
                        to_seconds(each.from), to_seconds(each.to));
  }
  for (std::size_t i = 0; i < its.workload.jobs.size(); ++i) {
    const WorkloadJob& job = its.workload.jobs[i];
    const Where where = job.where == 0 ? Where{} : its.workload.where[job.where - 1];
    const auto at = seen.by_name.find(job.name);
    text += fmt::format(
        "job {} at {}: {} nodes, {} of {} s, partitions {}, {} MB; {} instead of {}\n", job.name,
        to_seconds(job.submit), job.nodes, to_seconds(job.runtime), to_seconds(job.walltime),
        where.partitions, where.each.memory_mb,
        at == seen.by_name.end() ? -1 : to_seconds(at->second), to_seconds(expected[i]));
  }
  return text;
}

void check(std::uint64_t seed) {
  Case its = some_case(seed);
  if (its.workload.jobs.empty()) return;
  const std::vector<Time> expected = NaiveEasy(its).starts();
  SimulationSettings settings;
  settings.platform = its.platform;
  settings.policy = make_policy("easy");
  settings.kill_overrun = true;
  settings.rules.identities = true;
  for (const Booking& booking : its.bookings) settings.bookings.push_back({Time{}, booking});
  const Case as_made = its;
  const std::vector<WorkloadJob>& jobs = as_made.workload.jobs;
  Starts seen;
  Observer* const observers[] = {&seen};
  simulate_in_order(its.workload, settings, observers);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto at = seen.by_name.find(jobs[i].name);
    ASSERT_EQ(at == seen.by_name.end() ? kNever : at->second, expected[i])
        << "job " << jobs[i].name << "\n"
        << told(as_made, expected, seen);
  }
}

TEST(NaivePlaces, EasyStartsEveryJobAtTheSameTime) {
  for_seeds({.usual = 3000, .first = 1}, check);
}

}  // namespace
}  // namespace ductile::testing
