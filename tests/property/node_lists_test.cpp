// Node lists of jobs and reservations share the room for sets of nodes that are told apart: lists
// are refused when they come, what is reserved never is for their sake, and whoever was taken in
// runs where he may, and nowhere else.
//
// DUCTILE_CASES: how many runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

constexpr Nodes kNodes = 150;

struct Figures {
  std::uint64_t taken = 0, refused = 0, reserved = 0, crowded = 0, started = 0;
};

class Life {
 public:
  Life(std::uint64_t seed, Figures& figures)
      : draws_(seed, Stream::policy, 7), figures_(figures), core_(make()) {}

  void go() {
    for (int i = 0; i < 200; ++i) {
      const double what = draws_.uniform();
      if (what < 0.5) {
        submit();
      } else if (what < 0.65) {
        reserve();
      } else if (what < 0.8 && !running_.empty()) {
        end(std::next(running_.begin(), draw(running_.size()))->first);
      } else {
        now_ += whole_seconds(draw(40));
      }
      close();
    }
    // All who were taken in run, once nothing is reserved any more.
    for (const Booking& each : std::vector<Booking>(core_.state().bookings)) {
      Booking over = each;
      over.to = now_;
      tell(event::Booked{over});
    }
    for (int i = 0; i < 2000 && !lists_.empty(); ++i) {
      close();
      now_ += whole_seconds(1);
      if (!running_.empty()) end(running_.begin()->first);
    }
    EXPECT_TRUE(lists_.empty());
    EXPECT_TRUE(core_.state().cells.is_one());
  }

 private:
  std::int64_t draw(std::uint64_t n) { return static_cast<std::int64_t>(draws_.below(n)); }
  NodeSet some_nodes(double share) {
    NodeSet nodes;
    const bool is_scattered = draws_.chance(0.5);
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      if (is_scattered && draws_.chance(share)) nodes.insert(node, node);
    }
    if (nodes.empty()) {
      const auto first = static_cast<std::uint32_t>(draw(kNodes));
      nodes.insert(
          first, std::min<std::uint32_t>(first + static_cast<std::uint32_t>(draw(20)), kNodes - 1));
    }
    return nodes;
  }
  Core make() {
    Platform platform{.nodes = kNodes};
    policy_ = make_policy(draws_.chance(0.5) ? "easy" : "mebf");
    Rules rules;
    rules.identities = rules.check = true;
    return Core(platform, {}, rules, policy_->traits);
  }
  template <class E>
  bool tell(E event) {
    return core_.apply(now_, event);
  }
  void submit() {
    Where where;
    (draws_.chance(0.5) ? where.only : where.never) = some_nodes(0.3);
    const NodeSet all{{{0, kNodes - 1}}};
    NodeSet may = difference(where.only.empty() ? all : where.only, where.never);
    if (may.empty()) return;
    const Nodes n = 1 + static_cast<Nodes>(draw(std::min<Nodes>(may.count(), 8)));
    const bool is_malleable = draws_.chance(0.4);
    event::Submitted submitted{{.type = is_malleable ? JobType::malleable : JobType::rigid,
                                .walltime = whole_seconds(1 + draw(50)),
                                .size = is_malleable ? SizeRange{1, n} : exactly(n),
                                .preferred = n},
                               {},
                               std::make_shared<const Where>(where)};
    if (is_malleable) submitted.adaptive.emplace();
    // As a controller does: others would take the room of bookings to come.
    if (!core_.state().has_room(where)) {
      ++figures_.refused;
      return;
    }
    const JobId id{core_.state().jobs.size()};
    tell(submitted);
    ++figures_.taken;
    ASSERT_NE(core_.job(id).status, Status::over);
    lists_[id] = std::move(may);
  }
  void reserve() {
    Booking next{.name = "r" + std::to_string(figures_.reserved), .nodes = some_nodes(0.1)};
    next.from = now_ + whole_seconds(draw(60));
    next.to = next.from + whole_seconds(1 + draw(60));
    std::vector<Booking> all = core_.state().bookings;
    for (const Booking& each : all) {
      if (each.overlaps(next.from, next.to) && each.nodes.intersects(next.nodes)) return;
    }
    all.push_back(next);
    // Nothing of what jobs ask for is asked.
    const bool is_possible =
        all.size() <= kMostBookings && CellTable(core_.state().platform, {}, all).is_whole();
    ASSERT_EQ(tell(event::Booked{next}), is_possible);
    figures_.reserved += is_possible;
    figures_.crowded += !core_.state().cells.is_whole();
  }
  void end(JobId id) {
    tell(event::Ended{id, EndState::completed, false});
    running_.erase(id);
    lists_.erase(id);
  }
  void answer() {
    const auto open = std::exchange(open_, {});
    for (const Decision& each : open) {
      if (draws_.chance(0.5)) {
        open_.push_back(each);
      } else if (core_.state().jobs.contains(each.job)) {
        tell(event::Resized{.job = each.job, .answers = each.id, .now = each.after});
      }
    }
  }
  void close() {
    answer();
    for (const Decision& decision : core_.close(now_, *policy_)) {
      const JobId id = decision.job;
      if (!lists_.contains(id)) {
        ASSERT_EQ(decision.kind, Decision::Kind::reject) << index(id);
        continue;
      }
      ASSERT_NE(decision.kind, Decision::Kind::reject) << index(id);
      if (decision.kind == Decision::Kind::resize) open_.push_back(decision);
      if (decision.kind == Decision::Kind::start) {
        ++figures_.started;
        running_[id] = now_;
      }
    }
    for (const auto& [id, since] : running_) {
      ASSERT_TRUE(lists_.at(id).contains(core_.job(id).holding.nodes)) << index(id);
    }
  }

  Draws draws_;
  Figures& figures_;
  std::shared_ptr<const Policy> policy_;
  Core core_;
  Time now_{};
  std::map<JobId, NodeSet> lists_{};  // of those that are not over, where they may run
  std::map<JobId, Time> running_{};
  std::vector<Decision> open_{};
};

TEST(NodeLists, AreRefusedWhenTheyComeAndReservationsNever) {
  Figures figures;
  const Runs runs{.usual = 100, .first = 1, .enough = 50};
  if (for_seeds(runs, [&](std::uint64_t seed) { Life(seed, figures).go(); }) == 0) return;
  EXPECT_GT(figures.taken, 100u);
  EXPECT_GT(figures.refused, 100u);
  EXPECT_GT(figures.reserved, 100u);
  EXPECT_GT(figures.crowded, 10u);
  EXPECT_GT(figures.started, 100u);
}

}  // namespace
}  // namespace ductile::testing
