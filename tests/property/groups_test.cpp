// Cuts and gains, all or nothing (`Pass::carry_out`): what each job is promised against a naive
// dealing, node by node; and what becomes of groups in random histories with delays, refusals and
// losses, whatever else is decided meanwhile.
//
// DUCTILE_CASES: how many runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/hostile_world.hpp"
#include "support/scripted.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

// --- What is promised

/// Who gives how much to whom, dealt one node, and one milliwatt's worth, after the other.
struct Dealing {
  struct Source {
    std::int64_t nodes, power;
  };
  struct Taker {
    Nodes base, least, most;
    std::int64_t each;  // power of a node
    bool starts;
    Nodes preferred;
    SizeConstraint sizes;
    Nodes gets = 0;
    std::map<std::size_t, std::pair<Nodes, std::int64_t>> from{};  // by source

    bool can_have(Nodes n) const { return sizes.allows(base + n) || (starts && n == preferred); }
  };

  std::vector<Source> sources;  // the first: what is idle and free
  std::vector<Taker> takers;
  bool bound;

  /// False: somebody does not get his least.
  bool deal() {
    std::int64_t nodes = 0, power = 0;
    for (const Source& source : sources) {
      nodes += source.nodes;
      power += source.power;
    }
    const auto can = [&](const Taker& taker, Nodes more) {
      return more <= nodes && (!bound || (power >= 0 && taker.each * more <= power));
    };
    const auto give = [&](Taker& taker, Nodes more) {
      taker.gets += more;
      nodes -= more;
      power -= taker.each * more;
    };
    std::vector<Nodes> leasts;
    for (Taker& taker : takers) {
      Nodes n = taker.least;
      while (n <= taker.most && !taker.can_have(n)) ++n;
      if (n > taker.most || !can(taker, n)) return false;
      give(taker, n);
      leasts.push_back(n);
    }
    for (Taker& taker : takers) {
      for (Nodes n = taker.most; n > taker.gets; --n) {
        if (!taker.can_have(n) || !can(taker, n - taker.gets)) continue;
        give(taker, n - taker.gets);
        break;
      }
    }
    for (std::size_t i = 0; i < takers.size(); ++i) take(takers[i], leasts[i]);
    for (std::size_t i = 0; i < takers.size(); ++i) take(takers[i], takers[i].gets - leasts[i]);
    return true;
  }

 private:
  void take(Taker& taker, Nodes n) {
    std::int64_t power = bound ? taker.each * n : 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      for (; n > 0 && sources[i].nodes > 0; --n, --sources[i].nodes) ++taker.from[i].first;
      const std::int64_t some = std::min(power, std::max<std::int64_t>(sources[i].power, 0));
      if (some == 0) continue;
      power -= some;
      sources[i].power -= some;
      taker.from[i].second += some;
    }
  }
};

struct Seen {
  int made = 0, refused = 0, at_once = 0;
  int decided = 0, dissolved = 0;  // groups
};

void deal_once(std::uint64_t seed, Seen& seen) {
  Draws draws(seed, Stream::test, 4);
  const auto below = [&](std::uint64_t n) { return static_cast<Nodes>(draws.below(n)); };
  Stage stage({.platform = {.nodes = 24, .busy_w = 100}});
  const char* const constraints[] = {"any", "any", "any", "pof2", "even", "multiple:3"};
  const auto adaptive = [&] {
    AdaptiveSpec spec;
    spec.constraint = parse_constraint(constraints[draws.below(std::size(constraints))]);
    spec.watts_per_node = 25.0 * (1 + below(8));
    return spec;
  };
  std::vector<JobId> jobs;
  for (Nodes n = 3 + below(3); n > 0; --n) {
    const Nodes size = 1 + below(6);
    const JobId id = stage.submit(malleable({1, 12}, size), adaptive());
    stage.pass([&](Pass& p) { p.start(id, exactly(size), {Why::in_order}); });
    if (stage.job(id).status == Status::running) jobs.push_back(id);
  }
  std::vector<JobId> waiting;
  for (Nodes n = 1 + below(3); n > 0; --n) {
    waiting.push_back(draws.chance(0.3)
                          ? stage.submit(rigid(1 + below(6), 100), adaptive())
                          : stage.submit(malleable({1, 12}, 1 + below(6)), adaptive()));
  }
  stage.at(10);
  const bool bound = draws.chance(0.6);
  if (bound) {
    const double used_w = static_cast<double>(stage.state().power_mw()) / 1000;
    stage.tell(event::CorridorChanged{0, std::max(used_w + 25.0 * below(80) - 500, 0.0)});
  }
  const State& state = stage.state();

  Dealing naive{.sources = {{state.idle.count(), bound ? state.free_power_mw() : 0}},
                .takers = {},
                .bound = bound};
  std::vector<Cut> cuts;
  std::vector<Gain> gains;
  std::vector<std::size_t> barriers;
  for (const JobId id : jobs) {
    const Job& job = stage.job(id);
    const std::int64_t each = job.power_mw;
    const SizeConstraint sizes = state.constraint(job);
    if (draws.chance(0.6) && job.target > 1) {
      const Nodes to = sizes.at_most(1 + below(job.target - 1));
      if (to == 0 || to >= job.target) continue;
      cuts.push_back({id, to});
      naive.sources.push_back({job.target - to, bound ? each * (job.target - to) : 0});
    } else if (draws.chance(0.5) && job.target < 12) {
      const Nodes a = job.target + 1 + below(4), b = job.target + 1 + below(8);
      const SizeRange size{std::min({a, b, Nodes{12}}), std::min(std::max(a, b), Nodes{12})};
      gains.push_back({id, size});
      naive.takers.push_back({job.target, size.min - job.target, size.max - job.target, each, false,
                              job.spec.preferred, sizes});
    }
  }
  for (const JobId id : waiting) {
    const Job& job = stage.job(id);
    SizeRange size = exactly(job.spec.preferred);
    SizeConstraint sizes = state.constraint(job);
    if (sizes_at_start(job.spec.type)) {
      const Nodes a = 1 + below(12), b = 1 + below(12);
      size = {std::min(a, b), std::max(a, b)};
    } else {
      sizes = {};
    }
    gains.push_back({id, size});
    naive.takers.push_back({0, size.min, size.max, job.power_mw, true, job.spec.preferred, sizes});
  }
  if (gains.size() < 2) return;
  const bool expected = naive.deal();
  bool done = false;
  const auto decided =
      stage.pass([&](Pass& p) { done = p.carry_out(cuts, gains, {Why::corridor}); });
  ASSERT_EQ(done, expected);
  ++(done ? seen.made : seen.refused);
  if (!done) {
    EXPECT_TRUE(decided.empty());
    EXPECT_TRUE(state.claims.empty());
    return;
  }
  if (cuts.empty()) {
    ++seen.at_once;
    ASSERT_EQ(decided.size(), gains.size());
    for (std::size_t i = 0; i < gains.size(); ++i) {
      EXPECT_EQ(decided[i].job, gains[i].job);
      EXPECT_EQ(decided[i].after.count, naive.takers[i].base + naive.takers[i].gets);
    }
    return;
  }
  ASSERT_EQ(state.claims.size(), gains.size());
  for (std::size_t i = 0; i < gains.size(); ++i) {
    const Claim& claim = state.claims[i];
    auto& from = naive.takers[i].from;
    EXPECT_EQ(claim.job, gains[i].job);
    EXPECT_EQ(claim.held.count, from[0].first);
    EXPECT_EQ(claim.held_mw, from[0].second);
    for (const Pledge& pledge : claim.pledges) {
      const auto at = std::ranges::find(cuts, pledge.victim, &Cut::victim);
      const auto& [nodes, power] = from[static_cast<std::size_t>(at - cuts.begin()) + 1];
      EXPECT_EQ(pledge.count, nodes);
      EXPECT_EQ(pledge.power_mw, power);
    }
    EXPECT_EQ(claim.held.count + claim.pledged(), naive.takers[i].gets);
  }
  for (const Cut& cut : cuts) {
    EXPECT_TRUE(std::ranges::any_of(state.claims, [&](const Claim& claim) {
      return std::ranges::find(claim.pledges, cut.victim, &Pledge::victim) != claim.pledges.end();
    }));
  }

  // The answers, in any order, each at an instant of its own.
  bool refused = false;
  std::vector<Decision> due;
  for (std::size_t left = cuts.size(); left > 0; --left) {
    const Cut cut = cuts[draws.below(left)];
    std::erase(cuts, cut);
    EXPECT_TRUE(due.empty());
    stage.at(20 + static_cast<std::int64_t>(left));
    const bool refuses = draws.chance(0.15);
    const bool was_whole = state.claims.size() == gains.size();
    ASSERT_TRUE(refuses ? stage.refused(cut.victim) : stage.resized(cut.victim));
    refused |= refuses;
    due = stage.close();
    std::erase_if(due, [](const Decision& each) { return each.kind == Decision::Kind::set_limit; });
    EXPECT_TRUE(state.claims.empty() || (was_whole && state.claims.size() == gains.size()));
    if (state.claims.empty()) break;
  }
  EXPECT_TRUE(due.empty() || due.size() == gains.size());
  ++(due.empty() ? seen.dissolved : seen.decided);
  if (refused) return;
  ASSERT_EQ(due.size(), gains.size());
  for (std::size_t i = 0; i < gains.size(); ++i) {
    EXPECT_EQ(due[i].job, gains[i].job);
    EXPECT_EQ(due[i].after.count, naive.takers[i].base + naive.takers[i].gets);
  }
}

TEST(Groups, AreDealtAsNodeByNode) {
  Seen seen;
  const std::uint64_t runs = for_seeds(3'000, [&](std::uint64_t seed) { deal_once(seed, seen); });
  if (runs == 0) return;
  EXPECT_GT(seen.made, 500);
  EXPECT_GT(seen.refused, 500);
  EXPECT_GT(seen.at_once, 30);
  EXPECT_GT(seen.decided, 300);
  EXPECT_GT(seen.dissolved, 50);
}

// --- What becomes of them

class Groups {
 public:
  Groups(const Core& core, Seen& seen) : core_(core), seen_(seen) {}

  /// The next record, which is told to a core of its own.
  void live(const Record& record) {
    before_.clear();
    for (const Claim& claim : state().claims) {
      if (claim.group != ClaimId::none) before_[claim.group].push_back(claim);
    }
    const Core before = core_;
    if (record.event) {
      ASSERT_EQ(core_.apply(record.time, *record.event), record.accepted);
      about_ = std::visit([](const auto& event) { return whom(event); }, *record.event);
    } else {
      follow(core_, record.time, record.asked, record.calls);
    }
    for (const auto& [group, claims] : before_) {
      const auto left = std::ranges::count(state().claims, group, &Claim::group);
      ASSERT_TRUE(left == 0 || left == std::ssize(claims));
      if (left == 0) {
        record.event ? dissolved_by_event(before, *record.event, claims)
                     : gone(before.state(), record, claims);
      }
    }
    if (!record.event) none_is_due();
  }

 private:
  const State& state() const { return core_.state(); }

  template <class E>
  static JobId whom(const E& event) {
    if constexpr (requires { event.job; }) {
      if constexpr (std::is_same_v<std::decay_t<decltype(event.job)>, JobId>) return event.job;
    }
    return JobId::none;
  }

  // By what happened to one of them.
  void dissolved_by_event(const Core& before, const Event& event,
                          const std::vector<Claim>& claims) const {
    JobId whose = about_;
    if (const auto* withdrawn = std::get_if<event::EvolvingWithdrawn>(&event)) {
      const auto at = std::ranges::find(before.state().requests, withdrawn->id, &Request::id);
      if (at != before.state().requests.end()) whose = at->job;
    }
    EXPECT_NE(std::ranges::find(claims, whose, &Claim::job), claims.end());
  }

  // At a close: all are decided, each with its least, or none, for a reason.
  void gone(const State& before, const Record& record, const std::vector<Claim>& claims) const {
    std::size_t decided = 0;
    for (const Claim& claim : claims) {
      const auto at = std::ranges::find_if(record.decisions, [&](const Decision& decision) {
        return decision.job == claim.job && decision.reason == claim.reason;
      });
      if (at == record.decisions.end()) continue;
      ++decided;
      const Nodes base = claim.start ? 0 : before.jobs[claim.job].holding.count;
      EXPECT_GE(at->after.count, base + claim.add.min);
    }
    EXPECT_TRUE(decided == 0 || decided == claims.size()) << decided << " of " << claims.size();
    ++(decided == 0 ? seen_.dissolved : seen_.decided);
    if (decided > 0 || before.budget_mw != State::kNoBudget) return;
    const bool withdrawn = std::ranges::any_of(record.calls, [&](const PenCall& call) {
      return call.verb == PenCall::Verb::withdraw &&
             std::ranges::find(claims, call.claim, &Claim::id) != claims.end();
    });
    const bool lacks = std::ranges::any_of(
        claims, [&](const Claim& claim) { return !can_have_least(before, claim); });
    EXPECT_TRUE(withdrawn || lacks);
  }
  static bool can_have_least(const State& state, const Claim& claim) {
    const Job& job = state.jobs[claim.job];
    // The world may be another one by now.
    const bool can_resize =
        std::uint32_t{job.expands} + job.shrinks < state.capabilities.resizes_per_job;
    if (!claim.start && !can_resize) return false;
    if (claim.request != RequestId::none || !sizes_at_start(job.spec.type)) {
      return claim.held.count + claim.pledged() >= claim.add.min;
    }
    const Nodes base = claim.start ? 0 : job.holding.count;
    const Nodes most = std::min(claim.held.count + claim.pledged(), claim.add.max);
    for (Nodes n = claim.add.min; n <= most; ++n) {
      if (state.constraint(job).allows(base + n)) return true;
      if (claim.start && n == job.spec.preferred) return true;
    }
    return false;
  }

  // Who is left waits for somebody. Those of the last pass may wait for nobody only if idle nodes
  // came to them since, which the next close sees.
  void none_is_due() const {
    std::map<ClaimId, bool> waits;
    for (const Claim& claim : state().claims) {
      if (claim.group != ClaimId::none) waits[claim.group] |= !claim.pledges.empty();
    }
    for (const auto& [group, does] : waits) EXPECT_TRUE(does) << "group " << index(group);
  }

  Core core_;
  Seen& seen_;
  std::map<ClaimId, std::vector<Claim>> before_;
  JobId about_ = JobId::none;
};

/// Cuts whom it can, for some that wait and some that grow; and starts what fits.
class Grouper final : public Policy {
 public:
  Grouper() : Policy({.answers_requests = true}) {}

  void schedule(Pass& pass) const override {
    const auto below = [&](std::uint64_t n) { return static_cast<Nodes>(pass.random() % n); };
    for (int n = 0; n < 3; ++n) try_group(pass, below);
    if (!pass.claims().empty() && below(8) == 0) {
      pass.withdraw(pass.claims()[below(pass.claims().size())].id, {Why::resources});
    }
    if (!pass.claims().empty() && below(2) == 0) return;
    deny_and_start(pass);
  }

 private:
  template <class Below>
  static void try_group(Pass& pass, Below below) {
    std::vector<Gain> gains;
    std::vector<Cut> cuts;
    for (const Request& request : pass.requests()) {
      if (below(3) == 0) gains.push_back({.request = request.id});
    }
    for (JobId id = pass.first_pending(); id != JobId::none && gains.size() < 3;
         id = pass.next_pending(id)) {
      const JobSpec& spec = pass.job(id).spec;
      if (below(2) == 0) continue;
      gains.push_back({id, sizes_at_start(spec.type) ? spec.size : exactly(spec.preferred)});
    }
    for (const JobId id : pass.running_malleable()) {
      const Job& job = pass.job(id);
      const Nodes least = pass.smallest(id), most = job.spec.size.max;
      if (!pass.resizable(id)) continue;
      if (below(3) == 0 && job.size() < most && gains.size() < 4) {
        gains.push_back({id, {job.size() + 1, most}});
      } else if (job.size() > least) {
        const Nodes to = pass.sizes(id).at_most(least + below(job.size() - least));
        if (to >= job.spec.size.min) cuts.push_back({id, to});
      }
    }
    const Time mark{Duration{1 + below(1'000'000)}};  // to know these decisions by
    if (gains.size() > 1) {
      pass.carry_out(cuts, gains, {Why::corridor, JobId::none, mark}, below(2) == 0);
    }
  }
};

TEST(Groups, AreAllOrNothingWhateverHappens) {
  for (const bool has_budget : {false, true}) {
    Seen seen;
    const std::uint64_t runs = for_seeds(250, [&](std::uint64_t seed) {
      HostileSettings settings = recorded_settings(seed);
      settings.has_budget = has_budget;
      settings.make_policy = [](Draws&) { return std::make_shared<Grouper>(); };
      settings.capabilities.resizes_per_job = Capabilities::kUnlimited;
      keep_books<Groups>(settings, seen);
    });
    if (runs == 0) continue;
    EXPECT_GT(seen.decided, 200);
    EXPECT_GT(seen.dissolved, 200);
  }
}

}  // namespace
}  // namespace ductile::testing
