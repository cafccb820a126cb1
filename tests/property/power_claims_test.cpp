// Power that claims hold and are owed, recounted without the core's sums after each event and each
// close of random histories with delays, refusals and losses under changing budgets and beliefs:
// what a victim gives goes to those it was pledged to, the oldest first, nobody else takes it, and
// what is drawn, held and free is the budget.
//
// DUCTILE_CASES: how many runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

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
  std::int64_t idle_mw() const {
    return static_cast<std::int64_t>(state().platform.idle_w * 1000 + 0.5);
  }
  std::int64_t each(JobId id) const {
    if (!bound()) return 0;
    return std::max<std::int64_t>(state().jobs[id].power_mw - idle_mw(), 0);
  }

  template <class E>
  void happened(const State&, const E&) {}
  void happened(const State& before, const event::Resized& event) {
    const Nodes had = before.jobs[event.job].holding.count;
    gives(event.job, std::max(had, event.now.count) - event.now.count);
  }
  void happened(const State& before, const event::Ended& event) {
    gives(event.job, before.jobs[event.job].holding.count);
  }
  void happened(const State& before, const event::Suspended& event) {
    gives(event.job, before.jobs[event.job].holding.count);
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
    std::int64_t over = -each(event.job) * (job.holding.count - job.target);
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

  void gives(JobId victim, Nodes count) {
    std::int64_t left = each(victim) * count;
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
      }
      // Power for all of its nodes.
      EXPECT_EQ(all, each(claim.job) * (claim.held.count + claim.pledged()));
    }
  }

  std::int64_t free() const {
    std::int64_t free = state().budget_mw;
    free -= idle_mw() * (state().platform.nodes - state().out_of_service);
    for (const JobId id : state().running) free -= each(id) * state().jobs[id].holding.count;
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
      const Job& job = state().jobs[victim];
      EXPECT_LE(power, each(victim) * (job.holding.count - job.target));
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
  for_seeds(300, [&](std::uint64_t seed) {
    HostileSettings settings = recorded_settings(seed);
    settings.has_budget = true;
    settings.machine_events = false;  // these books are of one machine
    settings.capabilities.resizes_per_job = Capabilities::kUnlimited;
    keep_books<Ledger>(settings, seen);
  });
  if (std::getenv("DUCTILE_SEED") || std::getenv("DUCTILE_CASES")) return;
  EXPECT_GT(seen.fed, 200);
  EXPECT_GT(seen.lacking, 100);
  EXPECT_GT(seen.trimmed, 5);
  EXPECT_GT(seen.starved, 100);
  EXPECT_GT(seen.alone, 50);
}

}  // namespace
}  // namespace ductile::testing
