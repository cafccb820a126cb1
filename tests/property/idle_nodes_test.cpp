// No job waits beside nodes that would serve it, whatever happens to resizes, and no evolving
// request is left without an answer.
//
// DUCTILE_CASES: how many random runs each test makes. DUCTILE_SEED: only the run of this seed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/random_parameters.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"

namespace ductile::testing {
namespace {

/// Says what is wrong with an instant when it is over: the state may be wrong between its closes,
/// and a microsecond before the core looks again.
class AtRest : public Observer {
 public:
  bool wants_events() const override { return true; }
  void on_event(Time now, const Event&, bool, const Core&) override { begin(now); }
  void on_close(Time now, const Core& core) override {
    begin(now);
    const State& state = core.state();
    wrong_ = core.next_wake() <= now + kTick ? "" : what_is_wrong(state);
  }
  void on_finish(Time, const Core&) override { begin(kNever); }

  std::vector<std::string> found;

 private:
  virtual std::string what_is_wrong(const State& state) const = 0;
  void begin(Time now) {
    if (now != now_ && !wrong_.empty()) found.push_back(wrong_);
    if (now != now_) wrong_.clear();
    now_ = now;
  }

  Time now_ = kNever;
  std::string wrong_;
};

std::string about(const char* what, const State& state, JobId id) {
  return "at " + std::to_string(to_seconds(state.now - Time{})) + " s job " +
         std::to_string(state.jobs[id].spec.name) + ' ' + what + ", " +
         std::to_string(state.idle.count()) + " nodes idle";
}

/// The first job of the queue fits, or a claim could have what it waits for.
class NobodyWaits final : public AtRest {
 public:
  /// `strict`: nothing passes a job that waits for its nodes.
  explicit NobodyWaits(bool strict) : strict_(strict) {}

 private:
  std::string what_is_wrong(const State& state) const override {
    const Nodes idle = state.idle.count();
    for (const Claim& claim : state.claims) {
      const auto is_barrier = [](const Pledge& pledge) { return pledge.count == 0; };
      if (std::ranges::any_of(claim.pledges, is_barrier)) continue;
      if (claim.group != ClaimId::none) continue;  // it waits for what is owed to the others
      if (claim.pledged() <= idle) return about("waits for nodes of others", state, claim.job);
    }
    if (strict_ && !state.claims.empty()) return "";
    const JobId head = state.queue.front();
    if (head == JobId::none || state.jobs[head].not_before > state.now) return "";
    const bool fits = state.start_need(state.jobs[head]).nodes <= idle;
    return fits ? about("waits", state, head) : "";
  }

  bool strict_;
};

/// A request of a job that can be resized is open. `between`: only while nothing is resized.
class NobodyAsksInVain final : public AtRest {
 public:
  explicit NobodyAsksInVain(bool between) : between_(between) {}

 private:
  std::string what_is_wrong(const State& state) const override {
    const auto is_resize = [](const Unanswered& u) {
      return u.decision.kind == Decision::Kind::resize;
    };
    if (between_ && std::ranges::any_of(state.unanswered, is_resize)) return "";
    for (const Request& request : state.requests) {
      if (!state.is_visible(request) || state.jobs[request.job].not_before > state.now) continue;
      return about("asked", state, request.job);
    }
    return "";
  }

  bool between_;
};

class EveryPolicy : public ::testing::TestWithParam<std::string> {
 protected:
  static bool is(const char* name) { return GetParam() == name; }
  /// Algorithm 1 of paper 003.
  static bool adapts_one_by_one() { return is("fpsma") || is("perf_aware") || is("perf_gain"); }
  /// Gives `parameter`, if the policy has it, this value.
  static void set(std::string& policy, const std::string& parameter, const char* value) {
    const std::size_t at = policy.find(parameter + '=');
    if (at == std::string::npos) return;
    const std::size_t from = at + parameter.size() + 1;
    policy.replace(from, policy.find(',', from) - from, value);
  }
  static void run(Trouble t, std::uint64_t seed, AtRest& rest) {
    const PolicyInfo& info = *std::ranges::find(policies(), GetParam(), &PolicyInfo::name);
    Draws draws(seed, Stream::test, 9);
    std::string policy = random_parameters(info, draws);
    // Whom a policy does not try waits.
    if (!is("power_aware")) set(policy, "try_depth", "0");
    set(policy, "default_queue_depth", "1000000");
    SCOPED_TRACE(policy);
    t.settings.policy = make_policy(policy);
    Observer* const observers[] = {&rest};
    simulate(t.workload, t.settings, observers);
  }
  template <class Rest>
  static void check(std::uint64_t cases, bool setting) {
    std::uint64_t runs = 0, bad = 0;
    std::string first;
    for_seeds(cases / policies().size() + 1, [&](std::uint64_t seed) {
      Rest rest(setting);
      Trouble t = random_trouble(seed);
      // It cuts for one job in a pass, and what constraints make others give besides it leaves to
      // the next one (paper 003).
      for (AdaptiveJob& job : t.workload.adaptive) {
        if (adapts_one_by_one()) job.believed.constraint = {};
      }
      run(std::move(t), seed, rest);
      ++runs;
      if (rest.found.empty()) return;
      if (++bad == 1) first = "seed " + std::to_string(seed) + ": " + rest.found.front();
    });
    EXPECT_EQ(bad, 0u) << "of " << runs << " runs; " << first;
  }
};

TEST_P(EveryPolicy, LeavesNobodyWaitingBesideNodesThatWouldServe) {
  if (is("power_aware")) return;  // while a resize is under way it starts nobody (paper 003)
  // A portfolio may have these for members.
  check<NobodyWaits>(6'000, is("fcfs") || adapts_one_by_one() || is("portfolio"));
}

TEST_P(EveryPolicy, AnswersEveryRequest) {
  check<NobodyAsksInVain>(6'000, adapts_one_by_one() || is("portfolio"));
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PolicyInfo& info : policies()) all.push_back(info.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicy, ::testing::ValuesIn(names()),
                         [](const auto& its) { return its.param; });

/// Policies that leave requests to the core, the simple way: in order of arrival each shrink is
/// granted, and each growth that what is free suffices for, as much of it as there is.
class GrantsWhatIdles final : public Observer {
 public:
  bool wants_events() const override { return true; }
  void on_event(Time, const Event&, bool, const Core& core) override {
    answers_.clear();
    Nodes free = core.state().idle.count();
    for (const Request& request : core.state().requests) {
      const Job& job = core.job(request.job);
      if (!core.state().is_visible(request) || job.not_before > core.state().now) continue;
      const Nodes size = job.holding.count;
      if (request.delta < 0) {
        const auto less = static_cast<Nodes>(-request.delta);
        answers_[request.id] = less < size ? size - less : 0;
        free += answers_[request.id] > 0 ? less : 0;
        continue;
      }
      const auto more = static_cast<Nodes>(request.delta);
      const Nodes least = request.at_least == 0 ? more : std::min(request.at_least, more);
      const bool fits = least <= free && size + more <= job.spec.size.max;
      answers_[request.id] = fits ? size + std::min(free, more) : 0;
      free -= fits ? std::min(free, more) : 0;
    }
  }
  void on_decision(Time, const Decision& decision, const Core& core) override {
    if (decision.request == RequestId::none) return;
    ++answered;
    const auto at = answers_.find(decision.request);
    const bool denies = decision.kind == Decision::Kind::deny;
    const Nodes size = denies ? 0 : decision.after.count;
    // A growth on nodes that come at this instant has waited for them with a claim.
    const bool same =
        at != answers_.end() ? at->second == size : !denies && core.state().now == now_;
    if (!same && wrong.empty()) wrong = about("is answered otherwise", core.state(), decision.job);
    now_ = core.state().now;
  }

  std::uint64_t answered = 0;
  std::string wrong;

 private:
  std::map<RequestId, Nodes> answers_;  // the size then; 0: denied
  Time now_ = kNever;
};

TEST(Requests, AreGrantedAsFarAsNodesIdle) {
  std::uint64_t answered = 0;
  const std::uint64_t runs = for_seeds({.usual = 4'000, .enough = 100}, [&](std::uint64_t seed) {
    Trouble t = random_trouble(seed);
    t.settings.resize = {};
    t.settings.node_events.clear();
    const std::array names{"fcfs", "easy", "conservative", "backfill:depth=3"};
    t.settings.policy = make_policy(names[seed % names.size()]);
    GrantsWhatIdles naive;
    Observer* const observers[] = {&naive};
    simulate(t.workload, t.settings, observers);
    answered += naive.answered;
    ASSERT_EQ(naive.wrong, "");
  });
  if (runs > 0) EXPECT_GT(answered, runs);
}

}  // namespace
}  // namespace ductile::testing
