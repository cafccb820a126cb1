// Power that claims hold and are owed, recounted without the core's sums after each event and each
// close of random histories with delays, refusals and losses under changing budgets and beliefs:
// what a victim gives goes to those it was pledged to, the oldest first, nobody else takes it, and
// what is drawn, held and free is the budget.
//
// DUCTILE_CASES: how many runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "model/where.hpp"
#include "support/hostile_world.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

/// What happened, to see that the test sees much.
struct Seen {
  int fed = 0;      // pledges of power that were kept in full,
  int lacking = 0;  //   and others
  int trimmed = 0;  // by a belief
  int starved = 0;  // instants with less than nothing free
  int alone = 0;    // pledges of power without nodes
  int slowed = 0;   // claims that wait for power of jobs at a lower frequency
};

class Ledger {
 public:
  Ledger(const Core& core, Seen& seen) : core_(core), seen_(seen) {}

  /// The next record, which is told to a core of its own.
  void live(const Record& record) {
    const Core before = core_;
    if (record.event) {
      ASSERT_EQ(core_.apply(record.time, *record.event), record.accepted);
      if (record.accepted) {
        std::visit([&](const auto& event) { happened(before.state(), event); }, *record.event);
      }
      erase_dissolved();
    } else {
      follow(core_, record.time, record.asked, record.calls);
      erase_dissolved();
      add_new();
    }
    compare();
    if (!bound() || record.event) return;
    // A close may use what is free, and no more.
    EXPECT_GE(free(), std::min<std::int64_t>(before.state().free_power_mw(), 0));
    seen_.starved += free() < 0;
  }

 private:
  struct Book {
    std::int64_t has = 0;
    std::vector<std::pair<JobId, std::int64_t>> owed;
  };

  const State& state() const { return core_.state(); }
  bool bound() const { return state().budget_mw != State::kNoBudget; }
  static std::int64_t milli(double watts) { return static_cast<std::int64_t>(watts * 1000 + 0.5); }
  /// Idle, and by how much more if it is busy, of a class.
  std::pair<std::int64_t, std::int64_t> draws(std::size_t cls) const {
    const NodeClass its = class_of(state().platform, cls);
    return {milli(its.idle_w), milli(its.busy_w) - milli(its.idle_w)};
  }
  /// Above idle, on a node of a class.
  std::int64_t on_class(JobId id, std::size_t cls) const {
    if (!bound()) return 0;
    const Job& job = state().jobs[id];
    const auto [idle, span] = draws(job.power_class);
    const std::int64_t extra = std::max<std::int64_t>(job.power_mw - idle, 0);
    const std::int64_t its = draws(cls).second;
    if (cls == job.power_class || its <= 0 || span <= 0) return at_step(job, extra);
    return at_step(job, (2 * extra * its + span) / (2 * span));
  }
  /// At the frequency at which the job computes.
  std::int64_t at_step(const Job& job, std::int64_t full) const {
    if (job.step == 0) return full;
    return std::llround(static_cast<double>(full) * state().platform.steps[job.step - 1U].power);
  }
  std::size_t cls_of(std::uint32_t node) const {
    const auto& classes = state().platform.classes;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (classes[i].nodes.contains(node)) return i;
    }
    return 0;
  }
  /// Of each node that it holds.
  std::int64_t drawn(JobId id, const Holding& on) const {
    if (on.nodes.empty()) return on.count * on_class(id, 0);
    std::int64_t sum = 0;
    for (const Interval& part : on.nodes.parts) {
      for (std::uint32_t node = part.first; node <= part.last; ++node) {
        sum += on_class(id, cls_of(node));
      }
    }
    return sum;
  }
  /// What is asked for each of its nodes: of the dearest that it may have.
  std::int64_t each(JobId id) const {
    const Where& where = state().lanes[index(state().jobs[id].spec.lane)].where;
    const NodeSet may = nodes_of(where, state().platform);
    std::int64_t most = 0;
    for (std::size_t cls = 0; cls < std::max<std::size_t>(state().platform.classes.size(), 1);
         ++cls) {
      const auto& classes = state().platform.classes;
      if (!classes.empty() && !classes[cls].nodes.intersects(may)) continue;
      most = std::max(most, on_class(id, cls));
    }
    return most;
  }
  /// By so much less once what was decided is done.
  std::int64_t later(JobId id) const {
    const Job& job = state().jobs[id];
    if (job.target == job.holding.count) return 0;
    if (state().cells.is_one()) return (job.holding.count - job.target) * on_class(id, cls_of(0));
    return drawn(id, job.holding) - drawn(id, state().find(job.decision)->decision.after);
  }

  template <class E>
  void happened(const State&, const E&) {}
  void happened(const State& before, const event::Resized& event) {
    const std::int64_t had = drawn(event.job, before.jobs[event.job].holding);
    gives(event.job, std::max<std::int64_t>(had - drawn(event.job, event.now), 0));
  }
  void happened(const State& before, const event::Ended& event) {
    gives(event.job, drawn(event.job, before.jobs[event.job].holding));
  }
  void happened(const State& before, const event::Suspended& event) {
    gives(event.job, drawn(event.job, before.jobs[event.job].holding));
  }
  void happened(const State&, const event::CorridorChanged&) {
    if (bound()) return;
    for (auto& [id, book] : books_) {
      book.has = 0;
      for (auto& [victim, power] : book.owed) power = 0;
    }
  }
  void happened(const State&, const event::Believed& event) {
    const Job& job = state().jobs[event.job];
    if (job.status != Status::running || !(event.watts_per_node > 0)) return;
    std::int64_t over = -later(event.job);
    for (const auto& [id, book] : books_) {
      for (const auto& [victim, power] : book.owed) over += victim == event.job ? power : 0;
    }
    for (auto at = books_.rbegin(); at != books_.rend() && over > 0; ++at) {
      for (auto& [victim, power] : at->second.owed) {
        if (victim != event.job || over <= 0) continue;
        const std::int64_t less = std::min(over, power);
        power -= less;
        over -= less;
        ++seen_.trimmed;
      }
    }
  }

  void gives(JobId victim, std::int64_t left) {
    for (auto& [id, book] : books_) {
      for (const auto& [who, power] : book.owed) {
        if (who != victim) continue;
        const std::int64_t fed = std::min(left, power);
        book.has += fed;
        left -= fed;
        if (power > 0) ++(fed == power ? seen_.fed : seen_.lacking);
      }
      std::erase_if(book.owed, [&](const auto& row) { return row.first == victim; });
    }
  }

  void erase_dissolved() {
    std::erase_if(books_, [&](const auto& row) { return !state().find(row.first); });
  }
  void add_new() {
    for (const Claim& claim : state().claims) {
      if (books_.contains(claim.id)) continue;
      Book& book = books_[claim.id];
      book.has = claim.held_mw;
      std::int64_t all = claim.held_mw;
      for (const Pledge& pledge : claim.pledges) {
        book.owed.emplace_back(pledge.victim, pledge.power_mw);
        all += pledge.power_mw;
        seen_.alone += pledge.count == 0 && pledge.power_mw > 0;
        seen_.slowed += pledge.power_mw > 0 && state().jobs[pledge.victim].step > 0;
      }
      // Power for all of its nodes.
      EXPECT_EQ(all, each(claim.job) * (claim.held.count + claim.pledged()));
    }
  }

  std::int64_t free() const {
    std::int64_t free = state().budget_mw;
    // All nodes that are neither down nor off, or held, and those that boot.
    NodeSet on;
    on.insert(0, state().platform.nodes - 1);
    for (std::uint32_t node = 0; node < state().health.size(); ++node) {
      const Health its = state().health[node];
      if (its == Health::down || its == Health::off) on.erase(NodeSet{{{node, node}}});
    }
    for (const JobId id : state().running) on.insert(state().jobs[id].holding.nodes);
    for (const Claim& claim : state().claims) on.insert(claim.held.nodes);
    for (const Boot& boot : state().boots) on.insert(boot.nodes);
    for (const Interval& part : on.parts) {
      for (std::uint32_t node = part.first; node <= part.last; ++node) {
        free -= draws(cls_of(node)).first;
      }
    }
    for (const JobId id : state().running) free -= drawn(id, state().jobs[id].holding);
    for (const auto& [id, book] : books_) free -= book.has;
    return free;
  }

  void compare() const {
    ASSERT_EQ(books_.size(), state().claims.size());
    std::map<JobId, std::int64_t> owed;
    auto at = books_.begin();
    for (const Claim& claim : state().claims) {
      const auto& [id, book] = *at++;
      ASSERT_EQ(claim.id, id);
      EXPECT_EQ(claim.held_mw, book.has) << "of claim " << index(id);
      ASSERT_EQ(claim.pledges.size(), book.owed.size()) << "of claim " << index(id);
      for (std::size_t i = 0; i < book.owed.size(); ++i) {
        EXPECT_EQ(claim.pledges[i].victim, book.owed[i].first);
        EXPECT_EQ(claim.pledges[i].power_mw, book.owed[i].second) << "of claim " << index(id);
        owed[book.owed[i].first] += book.owed[i].second;
      }
    }
    for (const auto& [victim, power] : owed) {
      EXPECT_LE(power, later(victim));
    }
    if (bound()) {
      EXPECT_EQ(state().free_power_mw(), free());
    }
  }

  Core core_;
  std::map<ClaimId, Book> books_;
  Seen& seen_;
};

TEST(PowerOfClaims, IsHeldPledgedAndReleasedAsNodesAre) {
  Seen seen;
  const std::uint64_t runs = for_seeds(300, [&](std::uint64_t seed) {
    HostileSettings settings = recorded_settings(seed);
    settings.has_budget = true;
    settings.machine_events = false;  // these books are of one machine
    settings.capabilities.resizes_per_job = Capabilities::kUnlimited;
    keep_books<Ledger>(settings, seen);
  });
  if (runs == 0) return;
  EXPECT_GT(seen.fed, 200);
  EXPECT_GT(seen.lacking, 100);
  EXPECT_GT(seen.trimmed, 5);
  EXPECT_GT(seen.starved, 100);
  EXPECT_GT(seen.alone, 50);
}

// Who runs at a lower frequency gives as much less.
TEST(PowerOfClaims, IsThatOfTheFrequencies) {
  Seen seen;
  const std::uint64_t runs = for_seeds(300, [&](std::uint64_t seed) {
    HostileSettings settings = recorded_settings(seed);
    settings.has_budget = settings.rules.slow_for_power = true;
    settings.platform.steps = {{0.8, 0.6}, {0.5, 0.25}};
    settings.machine_events = false;
    settings.capabilities.resizes_per_job = Capabilities::kUnlimited;
    keep_books<Ledger>(settings, seen);
  });
  if (runs == 0) return;
  EXPECT_GT(seen.fed, 200);
  EXPECT_GT(seen.slowed, 50);
}

// On classes of other watts what is asked is that of the dearest, and what is held that of each
// node.
TEST(PowerOfClaims, IsThatOfTheNodesClasses) {
  Seen seen;
  const std::uint64_t runs = for_seeds(300, [&](std::uint64_t seed) {
    HostileSettings settings = recorded_settings(seed);
    settings.has_budget = settings.cells = settings.rules.identities = true;
    settings.platform.nodes = 8 + settings.platform.nodes % 25;
    settings.machine_events = false;
    settings.capabilities.resizes_per_job = Capabilities::kUnlimited;
    keep_books<Ledger>(settings, seen);
  });
  if (runs == 0) return;
  EXPECT_GT(seen.fed, 50);
  EXPECT_GT(seen.starved, 50);
}

}  // namespace
}  // namespace ductile::testing
