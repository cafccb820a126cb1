// Machines of several classes and overlapping partitions, of which nodes are booked: the
// backfilling policies against a plain model of one pass, and what each policy promises in each
// partition.
//
// DUCTILE_CASES: of how many random runs each test makes one in thirty. DUCTILE_SEED: only the run
// of this seed.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "model/where.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/core.hpp"
#include "support/seeds.hpp"

namespace ductile {
namespace {

using testing::for_seeds;

Time second(std::int64_t s) { return Time{whole_seconds(s)}; }

NodeSet nodes(std::uint32_t first, std::uint32_t last) { return NodeSet{{{first, last}}}; }

/// Nodes 0-7 thin, 8-13 with more memory, 14-17 with much; partitions 0-11 and 6-17.
Platform three_classes() {
  Platform machine{.nodes = 18};
  machine.classes = {
      {.name = "thin", .nodes = nodes(0, 7), .has = {.cores = 8, .memory_mb = 64}},
      {.name = "mid", .nodes = nodes(8, 13), .has = {.cores = 8, .memory_mb = 128}},
      {.name = "fat", .nodes = nodes(14, 17), .has = {.cores = 8, .memory_mb = 512}}};
  machine.partitions = {{.name = "A", .nodes = nodes(0, 11)}, {.name = "B", .nodes = nodes(6, 17)}};
  return machine;
}

/// What is free of one cell over time, as changes: slow and plain.
class Free {
 public:
  void add(Time at, std::int64_t by) { changes_[at] += by; }
  std::int64_t least(Time from, Time to) const {
    std::int64_t sum = 0, least = 1'000'000;
    for (auto it = changes_.begin(); it != changes_.end() && it->first < to; ++it) {
      sum += it->second;
      const auto next = std::next(it);
      if (next == changes_.end() || next->first > from) least = std::min(least, sum);
    }
    return std::max<std::int64_t>(least, 0);
  }
  const std::map<Time, std::int64_t>& changes() const { return changes_; }

 private:
  std::map<Time, std::int64_t> changes_;
};

std::string text(const Spread& in) {
  std::string text;
  for (const auto& [cell, count] : in.parts) {
    text += std::to_string(count) + " of cell " + std::to_string(cell) + " ";
  }
  return text;
}

std::string all_of(const std::vector<Booking>& bookings) {
  std::string text;
  for (const Booking& its : bookings) {
    text += "; " + to_string(its.nodes) + " booked from " + std::to_string(to_seconds(its.from)) +
            " to " + std::to_string(to_seconds(its.to)) + (its.for_jobs ? " for jobs" : "");
  }
  return text;
}

struct Start {
  JobId job;
  Spread in;
  bool operator==(const Start&) const = default;
};

/// A plan by the definition: of rigid jobs that run and wait. `bookings`: by their place.
class NaivePlan {
 public:
  NaivePlan(const Pass& pass, const std::vector<Booking>& bookings)
      : pass_(pass), bookings_(bookings), nodes_(cells_by_node()) {
    std::vector<Free> free(pass.cell_count());
    for (std::uint32_t cell = 0; cell < free.size(); ++cell) {
      free[cell].add(pass.now(), pass.idle_of(cell));
      for (const JobId id : pass.running()) {
        const Nodes n = intersection(pass.job(id).holding.nodes, nodes_of(cell)).count();
        free[cell].add(pass.expected_end(id), n);
      }
    }
    // The jobs of a booking have what comes free of it to themselves.
    free_.assign(1 + bookings.size(), free);
  }
  Spread place(JobId id, Time at) const {
    Spread in;
    Nodes left = pass_.job(id).spec.preferred;
    for (const std::uint32_t cell : pass_.cells_in_order()) {
      if ((pass_.cells_of(id) >> cell & 1) == 0 || !is_open(id, cell, at)) continue;
      const auto n = static_cast<Nodes>(
          std::min<std::int64_t>(left, its_free(id)[cell].least(at, at + length(id))));
      in.add(cell, n);
      left -= n;
    }
    return in;
  }
  bool fits(JobId id, Time at) const {
    return place(id, at).count() == pass_.job(id).spec.preferred;
  }
  Time earliest(JobId id) const {
    if (fits(id, pass_.now())) return pass_.now();
    Time first = kNever;
    const auto look = [&](Time at) {
      if (at > pass_.now() && at < first && fits(id, at)) first = at;
    };
    for (const Free& cell : its_free(id)) {
      for (const auto& [at, by] : cell.changes()) look(at);
    }
    for (const Booking& its : bookings_) look(its.to);
    return first;
  }
  void take(JobId id, Time at, const Spread& in) {
    for (const auto& [cell, count] : in.parts) {
      its_free(id)[cell].add(at, -std::int64_t{count});
      its_free(id)[cell].add(at + length(id), count);
    }
  }

 private:
  Duration length(JobId id) const { return pass_.start_need(id).walltime; }
  /// Place from 1 of the booking that it waits for; 0: none.
  std::uint32_t booking_of(JobId id) const { return pass_.demand(id, 1).booking; }
  const std::vector<Free>& its_free(JobId id) const { return free_[booking_of(id)]; }
  std::vector<Free>& its_free(JobId id) { return free_[booking_of(id)]; }
  /// Has nobody else booked the nodes for its time?
  bool is_open(JobId id, std::uint32_t cell, Time at) const {
    const Time end = at + length(id);
    for (std::size_t i = 0; i < bookings_.size(); ++i) {
      const Booking& its = bookings_[i];
      if (i + 1 == booking_of(id)) {
        if (at < its.from || end > its.until(pass_.now())) return false;
      } else if (its.nodes.intersects(nodes_of(cell)) && its.from < end && at < its.to) {
        return false;
      }
    }
    return true;
  }
  NodeSet nodes_of(std::uint32_t cell) const {
    return cell < nodes_.size() ? nodes_[cell] : NodeSet{};
  }
  /// Nodes that the same classes, partitions and bookings have, the lowest node first.
  std::vector<NodeSet> cells_by_node() const {
    std::vector<std::pair<std::vector<bool>, NodeSet>> cells;
    const Platform& machine = pass_.platform();
    for (std::uint32_t node = 0; node < machine.nodes; ++node) {
      std::vector<bool> in;
      for (const NodeClass& its : machine.classes) in.push_back(its.nodes.contains(node));
      for (const Partition& its : machine.partitions) in.push_back(its.nodes.contains(node));
      for (const Booking& its : bookings_) in.push_back(its.nodes.contains(node));
      auto at = std::ranges::find(cells, in, [](const auto& cell) { return cell.first; });
      if (at == cells.end()) at = cells.insert(at, {in, {}});
      at->second.insert(node, node);
    }
    std::vector<NodeSet> sets;
    for (auto& cell : cells) sets.push_back(cell.second);
    return sets;
  }

  const Pass& pass_;
  const std::vector<Booking>& bookings_;
  std::vector<NodeSet> nodes_;
  std::vector<std::vector<Free>> free_;  // by booking, 0: what all see; by cell
};

std::vector<JobId> waiting(const Pass& pass) {
  std::vector<JobId> jobs;
  for (JobId id = pass.first_pending(); id != JobId::none; id = pass.next_pending(id)) {
    jobs.push_back(id);
  }
  return jobs;
}

/// What the budget leaves; much without one.
std::int64_t free_power_mw(const Pass& pass) {
  constexpr std::uint32_t kMost = 1'000'000'000;
  for (const JobId id : waiting(pass)) {
    const std::int64_t one = pass.demand(id, 1).power_mw;
    if (one > 0) return one * pass.powered(id, kMost) + one - 1;
  }
  return std::int64_t{kMost} * 1000;
}

/// Backfilling with `depth` reservations in each partition.
std::vector<Start> naive_backfill(const Pass& pass, std::uint32_t depth,
                                  const std::vector<Booking>& bookings = {}) {
  NaivePlan plan(pass, bookings);
  std::vector<Start> starts;
  std::vector<JobId> others;
  std::array<std::uint32_t, 64> made{};
  for (const JobId id : waiting(pass)) {
    const std::uint64_t its = pass.partitions_of(pass.reach_of(id));
    bool has_depth = false;
    for (std::size_t p = 0; p < made.size(); ++p) {
      has_depth |= (its >> p & 1) != 0 && made[p] < depth;
    }
    if (!has_depth) {
      others.push_back(id);
      continue;
    }
    const Time at = plan.earliest(id);
    if (at != kNever) {
      const Spread in = plan.place(id, at);
      plan.take(id, at, in);
      if (at == pass.now()) starts.push_back({id, in});
    }
    if (at == pass.now()) continue;
    for (std::size_t p = 0; p < made.size(); ++p) made[p] += (its >> p & 1) != 0 ? 1 : 0;
  }
  for (const JobId id : others) {
    if (!plan.fits(id, pass.now())) continue;
    starts.push_back({id, plan.place(id, pass.now())});
    plan.take(id, pass.now(), starts.back().in);
  }
  return starts;
}

/// Nobody takes a node of a cell for which one before him waits, or power that one before him lacks
/// who could have nodes.
std::vector<Start> naive_fcfs(const Pass& pass) {
  std::vector<Start> starts;
  bool lacks_power = false;
  std::int64_t power_mw = free_power_mw(pass);
  std::vector<Nodes> idle;
  for (std::uint32_t cell = 0; cell < pass.cell_count(); ++cell) idle.push_back(pass.idle_of(cell));
  Cells waited_for = 0;
  for (const JobId id : waiting(pass)) {
    Spread in;
    Nodes left = pass.job(id).spec.preferred;
    for (const std::uint32_t cell : pass.cells_in_order()) {
      if ((pass.cells_of(id) & ~waited_for & Cells{1} << cell) == 0) continue;
      in.add(cell, std::min(left, idle[cell]));
      left -= std::min(left, idle[cell]);
    }
    if ((pass.cells_of(id) & ~waited_for) == 0) continue;  // it waits behind others
    const std::int64_t its_mw = pass.demand(id, pass.job(id).spec.preferred).power_mw;
    const bool is_dark = its_mw > 0 && (lacks_power || its_mw > power_mw);
    lacks_power |= is_dark;
    if (left > 0 || is_dark) {
      waited_for |= pass.cells_of(id);
      continue;
    }
    power_mw -= its_mw;
    for (const auto& [cell, count] : in.parts) idle[cell] -= count;
    starts.push_back({id, in});
  }
  return starts;
}

/// A policy whose passes are compared with a model.
class Compared final : public Policy {
 public:
  using Model = std::function<std::vector<Start>(const Pass&)>;
  Compared(std::shared_ptr<const Policy> policy, Model model)
      : Policy(policy->traits), policy_(std::move(policy)), model_(std::move(model)) {}

  void schedule(Pass& pass) const override {
    std::vector<Start> expected = model_(pass);
    policy_->schedule(pass);
    std::vector<Start> starts;
    for (const JobId id : pass.started()) starts.push_back({id, cells_of(pass, id)});
    std::ranges::sort(expected, {}, &Start::job);
    std::ranges::sort(starts, {}, &Start::job);
    EXPECT_EQ(starts.size(), expected.size());
    for (std::size_t i = 0; i < std::min(starts.size(), expected.size()); ++i) {
      EXPECT_EQ(starts[i].job, expected[i].job);
      EXPECT_EQ(text(starts[i].in), text(expected[i].in))
          << "job " << index(starts[i].job) << " at " << to_seconds(pass.now()) << " on "
          << to_string(pass.job(starts[i].job).holding.nodes) << all_of(bookings);
    }
    started += static_cast<int>(starts.size());
  }
  Spread cells_of(const Pass& pass, JobId id) const {
    return CellTable(pass.platform(), {}, bookings).spread(pass.job(id).holding.nodes);
  }

  mutable int started = 0;
  std::vector<Booking> bookings{};  // that there are

 private:
  std::shared_ptr<const Policy> policy_;
  Model model_;
};

/// On three classes.
Where random_where(Draws& draws) {
  Where where;
  where.partitions = draws.below(4);
  const std::array<std::uint32_t, 4> memory{0, 0, 100, 300};
  where.each.memory_mb = memory[draws.below(memory.size())];
  if (where.each.memory_mb == 300) where.partitions |= 2;  // none of them is in A
  return where;
}

/// A policy after whose passes no node is idle that one who waits could have, and for which nobody
/// else waits: none before him, and nobody behind him who holds a reservation, if he has none.
class Thrifty final : public Policy {
 public:
  explicit Thrifty(std::shared_ptr<const Policy> policy)
      : Policy(policy->traits), policy_(std::move(policy)) {}

  void schedule(Pass& pass) const override {
    policy_->schedule(pass);
    pass.drop_old_reservations();
    Cells before = 0;
    bool is_first = true;
    for (const Claim& claim : pass.claims()) before |= pass.cells_of(claim.job);
    const std::vector<JobId> jobs = waiting(pass);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobId id = jobs[i];
      Cells wanted = before;
      for (std::size_t k = i + 1; k < jobs.size(); ++k) {
        const bool holds = pass.job(jobs[k]).reserved != kNever;
        if (holds && pass.job(id).reserved == kNever) wanted |= pass.cells_of(jobs[k]);
      }
      const Nodes need = pass.start_need(id).nodes;
      Nodes there = 0;
      for_each_cell(pass.open_cells(id) & ~wanted,
                    [&](std::uint32_t cell) { there += pass.idle_of(cell); });
      const bool has_power =
          pass.powered(id, need) == need && (is_first || pass.demand(id, need).power_mw == 0);
      const bool may = pass.now() >= pass.job(id).not_before && has_power;
      EXPECT_FALSE(may && there >= need)
          << "job " << index(id) << " waits for " << need << " nodes, and has " << there;
      before |= pass.cells_of(id);
      is_first = false;
    }
  }

 private:
  std::shared_ptr<const Policy> policy_;
};

/// Random jobs on this machine, under a policy, until all are over. Resizes are done at once.
class RandomRun {
 public:
  RandomRun(const Policy& policy, std::uint64_t seed, bool malleable,
            Platform machine = three_classes(), bool lists = false)
      : policy_(policy),
        machine_(std::move(machine)),
        core_(machine_, {.parts = policy.traits.needs.parts}, {.identities = true, .check = true},
              policy.traits),
        draws_(seed, Stream::test, 6),
        malleable_(malleable),
        lists_(lists) {}

  /// Power for so many busy nodes, of `with_power`; no job asks for more.
  void budget(Nodes busy) {
    most_ = busy;
    core_.apply(now_, event::CorridorChanged{0, 18 * 10 + 100.0 * busy});
  }

  /// Nodes are booked while jobs come; `look` sees the bookings before each close.
  void book(std::function<void(const std::vector<Booking>&)> look) { look_ = std::move(look); }

  void operator()(int jobs) {
    for (; jobs > 0 || !core_.state().running.empty() || core_.state().queue.size() > 0 ||
           !core_.state().bookings.empty();) {
      const bool comes = jobs > 0 && draws_.chance(0.6);
      if (jobs > 0 && look_ && draws_.chance(0.3)) {
        change_bookings();
      } else if (comes) {
        for (auto n = 1 + draws_.below(3); n > 0 && jobs > 0; --n, --jobs) submit();
      } else if (!core_.state().running.empty()) {
        // One ends, at its limit at the latest.
        const auto& running = core_.state().running;
        const JobId id = running[draws_.below(running.size())];
        core_.apply(now_, event::Ended{id, EndState::completed, false});
      } else if (jobs == 0) {
        // Nobody runs: a policy that waits for a time is woken, else it has forgotten somebody.
        const Time wake = core_.next_wake();
        ASSERT_LT(wake, kNever) << core_.state().queue.size() << " jobs wait for ever";
        now_ = std::max(now_ + kTick, wake);
        core_.apply(now_, event::TimerFired{});
      }
      close();
      if (::testing::Test::HasFailure()) return;
      Time next = now_ + whole_seconds(static_cast<std::int64_t>(draws_.below(20)));
      for (const JobId id : core_.state().running) {
        next = std::min(next, std::max(core_.job(id).limit, now_));
      }
      for (const Booking& its : core_.state().bookings) next = std::min(next, its.turns());
      now_ = next;
      // Who is at its limit ends now.
      const std::vector<JobId> running = core_.state().running;
      for (const JobId id : running) {
        if (core_.job(id).limit > now_) continue;
        core_.apply(now_, event::Ended{id, EndState::timeout, false});
      }
      close();
    }
  }

 private:
  void submit() {
    Where asked;
    if (!machine_.classes.empty()) asked = random_where(draws_);
    if (lists_ && draws_.chance(0.2)) {
      const auto first = static_cast<std::uint32_t>(draws_.below(machine_.nodes));
      (draws_.chance(0.5) ? asked.only : asked.never) = nodes(first, machine_.nodes - 1);
    }
    if (nodes_of(asked, machine_).empty()) asked = {};
    NodeSet there = nodes_of(asked, machine_);
    for (const Booking& its : core_.state().bookings) {
      if (!its.for_jobs || !its.nodes.intersects(there) || !draws_.chance(0.5)) continue;
      asked.booking = its.id;
      there = intersection(there, its.nodes);
      break;
    }
    const auto where = std::make_shared<const Where>(asked);
    const Nodes most = std::min(there.count(), most_);
    JobSpec job;
    job.name = core_.state().jobs.size() + 1;
    job.submitted = now_;
    job.preferred =
        static_cast<Nodes>(1 + draws_.below(draws_.chance(0.7) ? std::min(most, 4u) : most));
    job.size = exactly(job.preferred);
    job.walltime = whole_seconds(static_cast<std::int64_t>(10 + draws_.below(100)));
    const JobType types[]{JobType::rigid, JobType::malleable, JobType::moldable};
    if (malleable_) job.type = types[draws_.below(3)];
    if (job.type == JobType::rigid) {
      core_.apply(now_, event::Submitted{job, std::nullopt, where});
    } else {
      job.size = {(job.preferred + 1) / 2, std::min(job.preferred * 2, most)};
      core_.apply(now_, event::Submitted{job, AdaptiveSpec{}, where});
    }
  }
  /// One is made, of nodes or of so many, or one ends or goes on for longer.
  void change_bookings() {
    const auto& known = core_.state().bookings;
    Booking next;
    if (!known.empty() && draws_.chance(0.4)) {
      next = known[draws_.below(known.size())];
      next.to = now_ + whole_seconds(static_cast<std::int64_t>(draws_.below(100)));
    } else {
      next.name = std::to_string(++booked_);
      next.from = now_ + whole_seconds(static_cast<std::int64_t>(draws_.below(60)));
      next.to = next.from + whole_seconds(static_cast<std::int64_t>(1 + draws_.below(150)));
      next.for_jobs = draws_.chance(0.5);
      const auto count = static_cast<Nodes>(1 + draws_.below(machine_.nodes / 2));
      const auto first = static_cast<std::uint32_t>(draws_.below(machine_.nodes - count + 1));
      next.nodes = nodes(first, first + count - 1);
      if (draws_.chance(0.5)) {
        next.nodes = place_booking(core_.state(), count, next.from, next.to).value_or(NodeSet{});
      }
    }
    core_.apply(now_, event::Booked{next});
  }
  void close() {
    for (bool again = true; again;) {
      if (look_) look();
      core_.close(now_, policy_);
      again = false;
      for (const Decision& decision : core_.unanswered()) {
        core_.apply(now_, event::Resized{decision.job, decision.id, decision.after, {}});
        again = true;
      }
    }
  }
  /// Those that there are in the close.
  void look() {
    std::vector<Booking> bookings = core_.state().bookings;
    std::erase_if(bookings, [&](const Booking& its) { return its.to <= now_; });
    look_(bookings);
  }

  const Policy& policy_;
  std::function<void(const std::vector<Booking>&)> look_;
  int booked_ = 0;
  Platform machine_;
  Core core_;
  Draws draws_;
  bool malleable_, lists_;
  Nodes most_ = 18;
  Time now_{};
};

class Backfilling : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Backfilling, IsThatOfTheModel) {
  for_seeds({.usual = 12, .share = 30}, [&](std::uint64_t seed) {
    const std::uint32_t depth = GetParam();
    const std::string order = seed % 3 == 1 ? ":order=sjf" : seed % 3 == 2 ? ":order=wfp3" : "";
    const std::string name = depth == Backfill::kUnlimited
                                 ? "conservative" + order
                                 : "backfill:depth=" + std::to_string(depth) +
                                       (order.empty() ? "" : "," + order.substr(1));
    const Compared policy(make_policy(name),
                          [&](const Pass& pass) { return naive_backfill(pass, depth); });
    RandomRun(policy, seed, false)(120);
    EXPECT_EQ(policy.started, 120);
  });
}

// Nodes are booked for some time, for nobody or for some jobs: as early as that allows, and no
// earlier.
TEST_P(Backfilling, AroundBookingsIsThatOfTheModel) {
  for_seeds({.usual = 12, .share = 30}, [&](std::uint64_t seed) {
    const std::uint32_t depth = GetParam();
    const Compared* its = nullptr;
    Compared policy(
        make_policy(depth == Backfill::kUnlimited ? "conservative"
                                                  : "backfill:depth=" + std::to_string(depth)),
        [&](const Pass& pass) { return naive_backfill(pass, depth, its->bookings); });
    its = &policy;
    RandomRun run(policy, seed, false, seed % 2 == 0 ? Platform{.nodes = 12} : three_classes());
    run.book([&](const std::vector<Booking>& bookings) { policy.bookings = bookings; });
    run(120);
    EXPECT_EQ(policy.started, 120);
  });
}

INSTANTIATE_TEST_SUITE_P(Depth, Backfilling, ::testing::Values(1u, 2u, 5u, Backfill::kUnlimited));

TEST(Partitions, FcfsIsThatOfTheModel) {
  for_seeds({.usual = 20, .share = 30}, [&](std::uint64_t seed) {
    const Compared policy(make_policy("fcfs"), naive_fcfs);
    RandomRun(policy, seed, false)(120);
    EXPECT_EQ(policy.started, 120);
  });
}

/// The three classes, each node of which draws something.
Platform with_power() {
  Platform machine = three_classes();
  for (NodeClass& its : machine.classes) its.idle_w = 10, its.busy_w = 110;
  machine.idle_w = 10, machine.busy_w = 110;
  return machine;
}

// Power is one for all partitions: who lacks it is passed by nobody who needs some.
TEST(Partitions, FcfsUnderABudgetIsThatOfTheModel) {
  for_seeds({.usual = 20, .share = 30}, [&](std::uint64_t seed) {
    const Compared policy(make_policy("fcfs"), naive_fcfs);
    RandomRun run(policy, seed, false, with_power());
    run.budget(static_cast<Nodes>(6 + seed % 10));
    run(120);
    EXPECT_EQ(policy.started, 120);
  });
}

class EachPolicy : public ::testing::TestWithParam<std::string> {};

// Also with jobs that change their size nobody is forgotten, all invariants hold, and nobody waits
// beside idle nodes that nobody else waits for.
TEST_P(EachPolicy, StartsAllJobsOfAllPartitions) {
  for_seeds({.usual = 12, .share = 30}, [&](std::uint64_t seed) {
    const Thrifty policy(make_policy(GetParam()));
    RandomRun(policy, seed, true, three_classes(), seed % 2 != 0)(100);
  });
}

TEST_P(EachPolicy, StartsAllJobsUnderABudget) {
  for_seeds({.usual = 12, .share = 30}, [&](std::uint64_t seed) {
    const Thrifty policy(make_policy(GetParam()));
    RandomRun run(policy, seed, true, with_power());
    run.budget(static_cast<Nodes>(6 + seed % 10));
    run(100);
  });
}

TEST_P(EachPolicy, StartsAllJobsAroundBookings) {
  for_seeds({.usual = 12, .share = 30}, [&](std::uint64_t seed) {
    const Thrifty policy(make_policy(GetParam()));
    RandomRun run(policy, seed, true, seed % 2 == 0 ? Platform{.nodes = 12} : three_classes());
    run.book([](const std::vector<Booking>&) {});
    run(100);
  });
}

/// Jobs one after the other, all in the same instant or later ones.
class Stage {
 public:
  Stage(const std::string& policy, const Platform& machine)
      : policy_(make_policy(policy)),
        core_(machine, {.parts = policy_->traits.needs.parts}, {.identities = true, .check = true},
              policy_->traits) {}
  JobId submit(Nodes n, std::int64_t walltime_s, std::uint64_t partitions,
               JobType type = JobType::rigid, Nodes least = 0) {
    JobSpec job{.name = core_.state().jobs.size() + 1, .type = type, .submitted = now};
    job.walltime = whole_seconds(walltime_s);
    job.preferred = n;
    job.size = type == JobType::rigid ? exactly(n) : SizeRange{least, n};
    const auto where = std::make_shared<const Where>(Where{.partitions = partitions});
    core_.apply(now, type == JobType::rigid ? event::Submitted{job, std::nullopt, where}
                                            : event::Submitted{job, AdaptiveSpec{}, where});
    close();
    return JobId{core_.state().jobs.size() - 1};
  }
  void end(JobId id) {
    core_.apply(now, event::Ended{id, EndState::completed, false});
    close();
  }
  bool runs(JobId id) const { return core_.job(id).status == Status::running; }
  const Job& job(JobId id) const { return core_.job(id); }

  Time now{};

 private:
  void close() {
    for (bool again = true; again;) {
      core_.close(now, *policy_);
      again = false;
      for (const Decision& decision : core_.unanswered()) {
        core_.apply(now, event::Resized{decision.job, decision.id, decision.after, {}});
        again = true;
      }
    }
  }

  std::shared_ptr<const Policy> policy_;
  Core core_;
};

/// Two partitions, with nodes in common or without; each has `alone` nodes that only it has.
struct Halves {
  Platform machine;
  Nodes all, alone;  // of A, and as many of B
};

Halves two_halves() {
  Platform machine{.nodes = 8};
  machine.partitions = {{.name = "A", .nodes = nodes(0, 3)}, {.name = "B", .nodes = nodes(4, 7)}};
  return {machine, 4, 4};
}

Halves overlapping() {
  Platform machine{.nodes = 10};
  machine.partitions = {{.name = "A", .nodes = nodes(0, 5)}, {.name = "B", .nodes = nodes(4, 9)}};
  return {machine, 6, 4};
}

// A is full and has a queue; what B has alone is idle.
TEST_P(EachPolicy, NobodyInBWaitsForAFullA) {
  for (const Halves& its : {two_halves(), overlapping()}) {
    SCOPED_TRACE(its.all);
    Stage stage(GetParam(), its.machine);
    const JobId runs = stage.submit(its.all, 1000, 1), waits = stage.submit(its.all, 1000, 1),
                next = stage.submit(1, 1000, 1);
    EXPECT_TRUE(stage.runs(runs));
    EXPECT_FALSE(stage.runs(waits));
    EXPECT_FALSE(stage.runs(next));
    const JobId other = stage.submit(its.alone, 1000, 2);
    EXPECT_TRUE(stage.runs(other));
    const JobId behind = stage.submit(2, 1000, 2);
    EXPECT_FALSE(stage.runs(behind));
    stage.now += whole_seconds(1);
    stage.end(other);
    EXPECT_TRUE(stage.runs(behind));
  }
}

// Of A some nodes are idle, which B has as well, and somebody waits for them: who is in B takes
// those that only B has, whatever the policy.
TEST_P(EachPolicy, NobodyInBWaitsForOneWhoWaitsInA) {
  const Halves its = overlapping();
  Stage stage(GetParam(), its.machine);
  const JobId runs = stage.submit(4, 1000, 1), waits = stage.submit(its.all, 1000, 1);
  ASSERT_EQ(stage.job(runs).holding.nodes, nodes(0, 3));
  EXPECT_FALSE(stage.runs(waits));
  for (const std::uint64_t partitions : {2, 3}) {
    const JobId other = stage.submit(its.alone, 2000, partitions);
    ASSERT_TRUE(stage.runs(other));
    EXPECT_EQ(stage.job(other).holding.nodes, nodes(6, 9));
    stage.now += whole_seconds(1);
    stage.end(other);
  }
}

// Who may be in both takes B's, whatever waits for A; also where others could give nodes in A.
TEST_P(EachPolicy, WhoMayBeInBothStartsInB) {
  for (const Halves& its : {two_halves(), overlapping()}) {
    for (const JobType type : {JobType::rigid, JobType::malleable}) {
      SCOPED_TRACE(its.all);
      Stage stage(GetParam(), its.machine);
      const JobId runs = stage.submit(its.all, 1000, 1, type, type == JobType::rigid ? its.all : 1);
      const JobId waits = stage.submit(its.all, 1000, 1);
      ASSERT_TRUE(stage.runs(runs));
      EXPECT_FALSE(stage.runs(waits));
      EXPECT_TRUE(stage.runs(stage.submit(its.alone, 1000, 3)));
    }
  }
}

// Whoever is cut gives nodes that its beneficiary can use.
TEST_P(EachPolicy, NobodyIsCutForNodesThatHelpNobody) {
  for (const Halves& its : {two_halves(), overlapping()}) {
    SCOPED_TRACE(its.all);
    Stage stage(GetParam(), its.machine);
    const JobId in_a = stage.submit(its.all, 1000, 1);
    ASSERT_TRUE(stage.runs(in_a));
    const JobId in_b = stage.submit(its.alone, 1000, 2, JobType::malleable, 1);
    ASSERT_TRUE(stage.runs(in_b));
    stage.now += whole_seconds(1);
    const Nodes size = stage.job(in_b).size();
    const JobId waits = stage.submit(2, 1000, 1);
    EXPECT_FALSE(stage.runs(waits));
    EXPECT_EQ(stage.job(in_b).size(), size);
  }
}

std::vector<std::string> every_policy() {
  std::vector<std::string> names;
  for (const PolicyInfo& policy : built_in_policies()) names.push_back(policy.name);
  names.insert(names.end(), {"mebf:gap=shrink+", "mebf:expand=intensive,gap=expand+",
                             "dbes:profile=n", "elastic:victim=time", "equigrow:backfill=first"});
  return names;
}

INSTANTIATE_TEST_SUITE_P(Partitions, EachPolicy, ::testing::ValuesIn(every_policy()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

// The first of each partition is not delayed by those behind it, also where it waits behind a job
// of another one: EASY's promise.
TEST(Partitions, EasyKeepsTheHeadOfEachPartition) {
  Stage stage("easy", two_halves().machine);
  const JobId a = stage.submit(3, 100, 1), b = stage.submit(3, 50, 2);
  const JobId head_a = stage.submit(4, 100, 1), head_b = stage.submit(4, 100, 2);
  EXPECT_EQ(stage.job(head_a).reserved, second(100));
  EXPECT_EQ(stage.job(head_b).reserved, second(50));
  EXPECT_TRUE(stage.runs(a) && stage.runs(b));
  EXPECT_FALSE(stage.runs(stage.submit(1, 51, 2)));  // would delay the head of B
  EXPECT_TRUE(stage.runs(stage.submit(1, 50, 2)));
  EXPECT_TRUE(stage.runs(stage.submit(1, 100, 3)));  // anywhere: in A it ends in time
  EXPECT_FALSE(stage.runs(stage.submit(1, 10, 3)));
  EXPECT_EQ(stage.job(head_a).reserved, second(100));
  EXPECT_EQ(stage.job(head_b).reserved, second(50));
}

// The same where B's first needs nodes that A's first has as well: it is planned behind that one.
TEST(Partitions, EasyKeepsTheHeadsOfPartitionsThatOverlap) {
  Stage stage("easy", overlapping().machine);
  const JobId a = stage.submit(4, 100, 1), b = stage.submit(3, 50, 2);
  ASSERT_EQ(stage.job(a).holding.nodes, nodes(0, 3));
  stage.now += whole_seconds(1);
  const JobId head_a = stage.submit(6, 100, 1), head_b = stage.submit(6, 100, 2);
  const auto are_kept = [&] {
    return stage.job(head_a).reserved == second(100) && stage.job(head_b).reserved == second(200);
  };
  EXPECT_TRUE(stage.runs(a) && stage.runs(b));
  EXPECT_TRUE(are_kept());
  EXPECT_FALSE(stage.runs(stage.submit(4, 99, 2)));  // there are three: 4 and 5, and one of B alone
  const JobId alone = stage.submit(1, 199, 2);       // that one is free until B's first starts
  ASSERT_TRUE(stage.runs(alone));
  EXPECT_FALSE(stage.job(alone).holding.nodes.intersects(nodes(4, 5)));
  EXPECT_FALSE(stage.runs(stage.submit(1, 100, 2)));  // would delay A's first
  EXPECT_TRUE(stage.runs(stage.submit(1, 99, 2)));
  EXPECT_TRUE(stage.runs(stage.submit(1, 99, 3)));
  EXPECT_TRUE(are_kept());
}

// A job that may be in both reserves while one of them has depth left, and counts in both.
TEST(Partitions, AReservationCountsInAllPartitionsOfItsJob) {
  for (const Halves& its : {two_halves(), overlapping()}) {
    SCOPED_TRACE(its.all);
    Stage stage("easy", its.machine);
    EXPECT_TRUE(stage.runs(stage.submit(its.machine.nodes, 100, 3)));
    const JobId both = stage.submit(its.machine.nodes, 10, 3), in_a = stage.submit(its.all, 10, 1);
    EXPECT_EQ(stage.job(both).reserved, second(100));
    EXPECT_EQ(stage.job(in_a).reserved, kNever);  // it has none: A's is taken
  }
}

}  // namespace
}  // namespace ductile
