#include "simulation/simulation.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "policies/registry.hpp"
#include "scheduling/record.hpp"

namespace ductile {
namespace {

Time at_s(double time) { return Time{seconds(time)}; }

// --- A small world -------------------------------------------------------------------------------

/// A policy that is a function.
class Script final : public Policy {
 public:
  explicit Script(std::function<void(Pass&)> write)
      : Policy({.answers_requests = true}), write_(std::move(write)) {}
  void schedule(Pass& pass) const override { write_(pass); }

 private:
  std::function<void(Pass&)> write_;
};

/// Starts what fits, in order, at the preferred size.
void start_all(Pass& pass) {
  for (JobId id = pass.first_pending(); id != JobId::none;) {
    const JobId next = pass.next_pending(id);
    pass.start(id, exactly(pass.job(id).spec.preferred), {Why::in_order});
    id = next;
  }
}

/// Everything an observer is told.
struct Tape final : Observer {
  struct Told {
    Time at;
    Event event;
    bool taken;
  };
  struct Over {
    Time at;
    JobId job;
    EndState state;
    bool requeued;
  };
  struct Size {
    Time at;
    JobId job;
    Nodes before, after;
  };
  std::vector<Told> events;
  std::vector<std::pair<Time, Decision>> decisions;
  std::vector<Over> ends;
  std::vector<Size> sizes;
  int begun = 0, finished = 0;

  bool wants_events() const override { return true; }
  void on_begin(const Core&) override { ++begun; }
  void on_event(Time at, const Event& event, bool taken, const Core&) override {
    events.push_back({at, event, taken});
  }
  void on_decision(Time at, const Decision& decision, const Core&) override {
    decisions.emplace_back(at, decision);
  }
  void on_resized(Time at, JobId id, Nodes before, const Core& core) override {
    sizes.push_back({at, id, before, core.job(id).size()});
  }
  void on_end(Time at, JobId id, const WorkloadJob&, EndState state, bool again,
              const Core&) override {
    ends.push_back({at, id, state, again});
  }
  void on_finish(Time, const Core&) override { ++finished; }

  template <class E>
  std::vector<std::pair<Time, E>> all() const {
    std::vector<std::pair<Time, E>> found;
    for (const Told& told : events) {
      if (const E* event = std::get_if<E>(&told.event)) found.emplace_back(told.at, *event);
    }
    return found;
  }
  /// The first words of the events of an instant.
  std::vector<std::string> words_at(Time at) const {
    std::vector<std::string> words;
    for (const Told& told : events) {
      const std::string record = to_record(told.event);
      if (told.at == at) words.push_back(record.substr(0, record.find(' ')));
    }
    return words;
  }
  std::vector<Time> starts(JobId id) const {
    std::vector<Time> times;
    for (const auto& [at, decision] : decisions) {
      if (decision.kind == Decision::Kind::start && decision.job == id) times.push_back(at);
    }
    return times;
  }
  Over end(JobId id) const {
    const auto last =
        std::find_if(ends.rbegin(), ends.rend(), [&](const Over& over) { return over.job == id; });
    return last == ends.rend() ? Over{} : *last;
  }
};

struct Small {
  Workload workload;
  SimulationSettings settings;
  Tape tape;

  explicit Small(Nodes nodes = 16) {
    settings.platform.nodes = nodes;
    settings.rules.identities = settings.rules.check = true;
    script(start_all);
  }
  void script(std::function<void(Pass&)> write) {
    settings.policy = std::make_shared<Script>(std::move(write));
  }
  WorkloadJob& rigid(double submit_s, double run_s, Nodes nodes) {
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = workload.jobs.size();
    job.submit = at_s(submit_s);
    job.runtime = job.walltime = seconds(run_s);
    job.nodes = nodes;
    return job;
  }
  /// From 1 node to all; in the linear model and for free, unless changed.
  AdaptiveJob& adaptive(JobType type, double submit_s, double run_s, Nodes nodes) {
    rigid(submit_s, run_s, nodes).adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    AdaptiveJob& more = workload.adaptive.emplace_back();
    more.type = type;
    more.size = {1, settings.platform.nodes};
    return more;
  }
  AdaptiveJob& malleable(double submit_s, double run_s, Nodes nodes) {
    return adaptive(JobType::malleable, submit_s, run_s, nodes);
  }
  /// Starts jobs; at each of these times one is resized.
  struct Order {
    double at_s;
    JobId job;
    Nodes to;
  };
  void orders(std::vector<Order> list) {
    script([list = std::move(list)](Pass& pass) {
      start_all(pass);
      Time next = kNever;
      for (const Order& order : list) {
        if (at_s(order.at_s) == pass.now()) pass.resize(order.job, order.to, {Why::hand_out});
        if (at_s(order.at_s) > pass.now()) next = std::min(next, at_s(order.at_s));
      }
      if (next != kNever) pass.wake_by(next);
    });
  }
  SimulationCounts run() {
    Observer* const observers[] = {&tape};
    tape = {};
    return simulate(workload, settings, observers);
  }
  void fail(double at, std::uint32_t first, std::uint32_t last, Health health = Health::down) {
    settings.node_events.push_back({at_s(at), NodeSet{{{first, last}}}, health});
  }
};

constexpr JobId k0{0}, k1{1}, k2{2};

// --- An instant ----------------------------------------------------------------------------------

TEST(Instant, TellsEventsInTheOrderOfTheSpecification) {
  Small small;
  small.settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(5), {}};
  small.adaptive(JobType::evolving, 0, 20, 2).steps = {{0.5, 1, 0}};
  small.malleable(0, 100, 4);
  small.rigid(0, 10, 1);  // ends at 10
  small.rigid(5, 50, 1);
  small.rigid(10, 5, 1);  // comes at 10
  small.fail(10, 15, 15);
  int passes = 0;
  small.script([&](Pass& pass) {
    start_all(pass);
    if (pass.now() == at_s(5)) {
      pass.resize(k1, 2, {Why::hand_out});
      pass.wake_by(at_s(10));
    }
    if (pass.now() == at_s(10)) {
      EXPECT_TRUE(pass.woken_by<event::Ended>());
      EXPECT_TRUE(pass.woken_by<event::Submitted>());
      ++passes;
    }
  });
  small.run();
  const std::vector<std::string> order{"ended",     "resized",   "nodes",
                                       "requested", "submitted", "timer"};
  EXPECT_EQ(small.tape.words_at(at_s(10)), order);
  EXPECT_EQ(passes, 1);
}

TEST(Instant, TellsEndsInOrderOfNames) {
  Small small;
  small.rigid(0, 10, 1).name = 9;
  small.rigid(0, 10, 1).name = 3;
  small.rigid(0, 10, 1).name = 5;
  small.run();
  ASSERT_EQ(small.tape.ends.size(), 3u);
  EXPECT_EQ(small.tape.ends[0].job, k1);
  EXPECT_EQ(small.tape.ends[1].job, k2);
  EXPECT_EQ(small.tape.ends[2].job, k0);
}

TEST(Instant, GoesOnWhileAnswersComeAtOnce) {
  Small small;
  small.malleable(0, 100, 4);
  small.orders({{5, k0, 8}});
  small.run();
  const auto words = small.tape.words_at(at_s(5));
  EXPECT_EQ(words, (std::vector<std::string>{"timer", "resized"}));
}

TEST(Instant, JobsMayBeSubmittedBeforeTimeZero) {
  Small small;
  small.rigid(-50, 10, 1);
  small.rigid(20, 10, 1);
  const SimulationCounts counts = small.run();
  EXPECT_EQ(counts.jobs_over, 2u);
  EXPECT_EQ(small.tape.end(k1).at, at_s(30));
}

TEST(Instant, NodeEventsNeedIdentities) {
  Small small;
  small.rigid(0, 10, 1);
  small.fail(5, 0, 0);
  small.settings.rules.identities = false;
  EXPECT_THROW(small.run(), std::logic_error);
}

TEST(Instant, NothingComesOfNothing) {
  Small small;
  const SimulationCounts counts = small.run();
  EXPECT_EQ(counts.events, 0u);
  EXPECT_EQ(counts.jobs_left, 0u);
  EXPECT_EQ(small.tape.begun, 1);
  EXPECT_EQ(small.tape.finished, 1);
}

// --- Ends ----------------------------------------------------------------------------------------

TEST(Walltime, KillsWhereAsked) {
  Small small;
  small.rigid(0, 100, 1).walltime = whole_seconds(40);
  small.rigid(0, 40, 1).walltime = whole_seconds(40);
  small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(100));
  EXPECT_EQ(small.tape.end(k0).state, EndState::completed);

  small.settings.kill_overrun = true;
  small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(40));
  EXPECT_EQ(small.tape.end(k0).state, EndState::timeout);
  EXPECT_EQ(small.tape.end(k1).at, at_s(40));
  EXPECT_EQ(small.tape.end(k1).state, EndState::completed);
}

TEST(Walltime, ScalesWithTheSizeWhereTheRuleSaysSo) {
  Small small;
  small.settings.kill_overrun = true;
  small.malleable(0, 100, 4);
  small.workload.jobs[0].walltime = whole_seconds(40);
  small.orders({{10, k0, 8}});
  // 120 of the believed 160 node-seconds are left at 10; 8 nodes need 15 s.
  small.settings.rules.limit = Rules::Limit::scaled;
  small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(25));
  EXPECT_EQ(small.tape.end(k0).state, EndState::timeout);

  small.settings.rules.limit = Rules::Limit::fixed;
  small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(40));
  EXPECT_EQ(small.tape.end(k0).state, EndState::timeout);
}

TEST(Walltime, KillsAJobThatIsBeingResized) {
  Small small;
  small.settings.kill_overrun = true;
  small.settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(80), {}};
  small.malleable(0, 100, 4);
  small.workload.jobs[0].walltime = whole_seconds(40);
  small.orders({{10, k0, 8}});
  const SimulationCounts counts = small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(40));
  EXPECT_EQ(small.tape.end(k0).state, EndState::timeout);
  EXPECT_TRUE(small.tape.sizes.empty());
  EXPECT_EQ(counts.stale, 0u);
}

TEST(Ends, RejectedJobsAreCancelledAtTheirSubmission) {
  Small small(4);
  small.rigid(3, 10, 5);
  const SimulationCounts counts = small.run();
  EXPECT_EQ(counts.jobs_over, 1u);
  EXPECT_EQ(small.tape.end(k0).at, at_s(3));
  EXPECT_EQ(small.tape.end(k0).state, EndState::cancelled);
}

TEST(Ends, CountsAreOfWhatHappened) {
  Small small;
  small.rigid(2, 10, 4);
  small.rigid(3, 4, 2);
  const SimulationCounts counts = small.run();
  EXPECT_EQ(counts.first_submit, at_s(2));
  EXPECT_EQ(counts.last_end, at_s(12));
  EXPECT_DOUBLE_EQ(counts.held_node_s, 48);
  EXPECT_EQ(counts.events, 4u);
  EXPECT_EQ(counts.events, small.tape.events.size());
  EXPECT_EQ(counts.passes, 4u);
  EXPECT_EQ(counts.jobs_over, 2u);
  EXPECT_EQ(counts.jobs_left, 0u);
  EXPECT_FALSE(counts.stopped);
}

// --- Malleable jobs ------------------------------------------------------------------------------

TEST(Progress, IsExactInTheLinearModelAfterManyResizes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Small small;
    small.malleable(0, 3600.000003, 7);
    Draws draws(seed, Stream::test, 1);
    std::vector<Small::Order> orders;
    for (double at = 0; at < 3000;) {
      at += 1e-6 * static_cast<double>(1 + draws.below(20'000'000));
      orders.push_back({at, k0, static_cast<Nodes>(1 + draws.below(16))});
    }
    small.orders(orders);
    small.run();
    EXPECT_GT(small.tape.sizes.size(), 50u);

    Work left = 7 * Work{3'600'000'003};
    Time since{};
    Nodes size = 7;
    for (const Tape::Size& resized : small.tape.sizes) {
      left -= Work{size} * (resized.at - since).count();
      since = resized.at;
      size = resized.after;
    }
    const Time end = since + Duration{(2 * left + size) / (2 * size)};
    EXPECT_EQ(small.tape.end(k0).at, end) << "seed " << seed;
  }
}

TEST(Progress, FollowsTheTrueModel) {
  Small small;
  AdaptiveJob& job = small.malleable(0, 100, 4);
  job.speedup = {Speedup::Kind::amdahl, 0.2};
  small.orders({{50, k0, 8}});
  small.run();
  const double relative = job.speedup.relative_time(8, 4);
  EXPECT_NEAR(to_seconds(small.tape.end(k0).at), 50 + 50 * relative, 1e-5);
}

TEST(Progress, GoesOnUntilTheSchedulingPointAndStopsWhileTheCostIsPaid) {
  Small small;
  small.settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(4), {}};
  small.malleable(0, 20, 4).cost.fixed_s = 2;
  small.orders({{5, k0, 8}});
  const SimulationCounts counts = small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(11));
  // 36 of 80 node-seconds are done at 9, the rest from 11 on takes 8 nodes 5.5 s.
  EXPECT_EQ(small.tape.end(k0).at, at_s(16.5));
  EXPECT_DOUBLE_EQ(counts.reconfiguration_node_s, 2 * 8);
}

TEST(Progress, CostDependsOnTheSizes) {
  Small small;
  small.malleable(0, 20, 8).cost = {.alpha_s = 0.5, .beta_s = 24, .b_s = 0.25, .fixed_s = 1};
  small.orders({{5, k0, 4}});
  const SimulationCounts counts = small.run();
  const double cost = 0.5 * 4 + 24.0 / 12 + 0.25 * 4 + 1;
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(5 + cost));
  EXPECT_EQ(small.tape.end(k0).at, at_s(5 + cost + 120.0 / 4));
  EXPECT_DOUBLE_EQ(counts.reconfiguration_node_s, cost * 8);
}

TEST(Progress, CostMayBeMeasured) {
  Small small;
  AdaptiveJob& job = small.malleable(0, 20, 8);
  job.size.min = 4;
  job.costs.after_s = SharedList(std::vector<double>{3, 1, 1, 1, 1, 2});
  job.costs.growth_s = SharedList(std::vector<double>{0.5, 0.25});
  small.orders({{5, k0, 4}, {10, k0, 6}});
  const SimulationCounts counts = small.run();
  // 120 node-seconds are left at 5, 112 at 10.
  EXPECT_EQ(small.tape.end(k0).at, at_s(10 + 1.25 + 112.0 / 6));
  EXPECT_DOUBLE_EQ(counts.reconfiguration_node_s, 3 * 8 + 1.25 * 6);
}

TEST(Resize, IsAnsweredByAnEndThatComesFirst) {
  for (const double delay : {2.0, 10.0}) {  // at the very end, and beyond it
    Small small;
    small.settings.resize.delay = {RandomDuration::Kind::fixed, seconds(delay), {}};
    small.malleable(0, 20, 4);
    small.orders({{18, k0, 8}});
    const SimulationCounts counts = small.run();
    EXPECT_EQ(small.tape.end(k0).at, at_s(20));
    EXPECT_EQ(small.tape.end(k0).state, EndState::completed);
    EXPECT_TRUE(small.tape.sizes.empty());
    EXPECT_EQ(counts.stale, 0u);
  }
}

TEST(Resize, RefusedChangesNothingAndIsRetriedLater) {
  Small small;
  small.settings.resize.refuse = 1;
  small.settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(1), {}};
  small.malleable(0, 100, 4);
  std::vector<Time> orders;
  small.script([&](Pass& pass) {
    start_all(pass);
    if (pass.resizable(k0) && pass.resize(k0, 8, {Why::hand_out})) orders.push_back(pass.now());
    if (pass.now() == Time{}) pass.wake_by(at_s(5));
  });
  small.run();
  // At 5, and 30 s after each refusal.
  EXPECT_EQ(orders, (std::vector{at_s(5), at_s(36), at_s(67), at_s(98)}));
  ASSERT_EQ(small.tape.sizes.size(), 4u);
  for (const Tape::Size& size : small.tape.sizes) {
    EXPECT_EQ(size.before, 4u);
    EXPECT_EQ(size.after, 4u);
  }
  EXPECT_EQ(small.tape.all<event::Resized>()[0].second.retry_at, at_s(36));
  EXPECT_EQ(small.tape.end(k0).at, at_s(100));
}

TEST(Resize, LostIsAnsweredAfterTheTimeout) {
  Small small;
  small.settings.resize.lose = 1;
  small.malleable(0, 100, 4);
  small.orders({{5, k0, 8}});
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(65));
  EXPECT_EQ(small.tape.sizes[0].after, 4u);
  EXPECT_EQ(small.tape.end(k0).at, at_s(100));
}

TEST(Resize, DonePartlyStaysBetweenTheSizes) {
  std::set<Nodes> after_growth, after_shrink;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Small small;
    small.settings.rules.seed = seed;
    small.settings.resize.partly = 1;
    small.malleable(0, 100, 4);
    small.malleable(0, 100, 8);
    small.orders({{5, k1, 2}, {10, k0, 8}});
    small.run();
    const auto resized = small.tape.all<event::Resized>();
    ASSERT_EQ(resized.size(), 2u);
    const Holding shrunk = resized[0].second.now, grown = resized[1].second.now;
    after_shrink.insert(shrunk.count);
    after_growth.insert(grown.count);
    EXPECT_EQ(shrunk.nodes.count(), shrunk.count);
    EXPECT_EQ(grown.nodes.count(), grown.count);
    EXPECT_TRUE(grown.nodes.contains(NodeSet{{{0, 3}}}));
    EXPECT_TRUE((NodeSet{{{4, 11}}}.contains(shrunk.nodes)));
  }
  EXPECT_EQ(after_shrink, (std::set<Nodes>{3, 4, 5, 6, 7}));
  EXPECT_EQ(after_growth, (std::set<Nodes>{5, 6, 7}));
}

TEST(Resize, ByOneIsNeverPartly) {
  Small small;
  small.settings.resize.partly = 1;
  small.malleable(0, 100, 4);
  small.orders({{5, k0, 5}});
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].after, 5u);
}

TEST(Resize, AnsweredTwiceIsTakenOnce) {
  Small small;
  small.settings.resize.repeat = 1;
  small.malleable(0, 100, 4);
  small.orders({{5, k0, 8}, {10, k0, 2}});
  const SimulationCounts counts = small.run();
  EXPECT_EQ(small.tape.all<event::Resized>().size(), 4u);
  EXPECT_EQ(std::ranges::count(small.tape.events, false, &Tape::Told::taken), 2);
  EXPECT_EQ(counts.stale, 2u);
  EXPECT_EQ(small.tape.sizes.size(), 2u);
  // 20 s at 4 nodes' worth, 40 at 8, then 2.
  EXPECT_EQ(small.tape.end(k0).at, at_s(10 + (400 - 20 - 40) / 2.0));
}

TEST(Resize, FateDependsOnTheJobAndHowOftenItWasAsked) {
  // Another job that is resized in between moves nothing.
  const auto run = [](bool other) {
    Small small;
    small.settings.resize.refuse = 0.5;
    small.settings.resize.retry = {};
    small.malleable(0, 1000, 4);
    small.malleable(0, 1000, 2);
    std::vector<Small::Order> orders;
    for (int i = 1; i < 40; ++i) {
      orders.push_back({10.0 * i, k0, i % 2 == 0 ? 4u : 8u});
      if (other) orders.push_back({10.0 * i + 1, k1, i % 2 == 0 ? 2u : 3u});
    }
    small.orders(orders);
    small.run();
    std::vector<std::pair<Time, Nodes>> sizes;
    for (const Tape::Size& size : small.tape.sizes) {
      if (size.job == k0) sizes.emplace_back(size.at, size.after);
    }
    return sizes;
  };
  EXPECT_EQ(run(false), run(true));
}

// --- Phases and scheduling points ----------------------------------------------------------------

const Speedup kLinear{};
const Speedup kSerial{Speedup::Kind::amdahl, 1};  // the same time at every size
constexpr auto kPhaseEnd = ResizeBehaviour::ApplyAt::phase_end;

TEST(Phases, GoAtTheirOwnSpeed) {
  Small small;
  small.malleable(0, 100, 4).phases = {{0.5, kLinear}, {0.6, kSerial}, {1, kLinear}};
  small.orders({{20, k0, 8}, {37, k0, 2}});
  small.run();
  // 120 node-seconds of the first phase take 8 nodes until 35; of 10 s whatever the size 2 pass
  // before the second order; the third phase is 160 node-seconds.
  EXPECT_EQ(small.tape.end(k0).at, at_s(45 + 160 / 2.0));
}

TEST(Phases, AreNoScheduleOfResizesWhereTheseAreImmediate) {
  Small small;
  small.malleable(0, 100, 4).phases = {{0.5, kLinear, 5}, {1, kLinear, 5}};
  small.orders({{33, k0, 8}});
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(33));
}

TEST(PhaseEnd, WaitsForTheNextSchedulingPointAndThenForTheCost) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.resize.phases = 10;
  small.malleable(0, 100, 4).cost.fixed_s = 3;
  small.orders({{11, k0, 8}});
  const SimulationCounts counts = small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(20 + 3));
  EXPECT_EQ(small.tape.end(k0).at, at_s(23 + 320 / 8.0));
  EXPECT_DOUBLE_EQ(counts.reconfiguration_node_s, 3 * 8);
}

TEST(PhaseEnd, ChangesSizeFirstAndPaysThenWhereThatIsSo) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.resize.phases = 10;
  small.settings.resize.pays_after = true;
  small.malleable(0, 100, 4).cost.fixed_s = 3;
  small.orders({{11, k0, 8}});
  const SimulationCounts counts = small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(20));
  EXPECT_EQ(small.tape.end(k0).at, at_s(23 + 320 / 8.0));
  EXPECT_DOUBLE_EQ(counts.reconfiguration_node_s, 3 * 8);
}

// A malleable job whose every iteration of 10 s, of ten, sends over the only link all the time.
AdaptiveJob& sender(Small& small) {
  const Stretches always(std::vector<Stretch>{{1, {{1, 10, {{0}}}}}});
  AdaptiveJob& job = small.malleable(0, 100, 4);
  job.phases = {{.iterations = 10,
                 .times_s = SharedList(std::vector<double>{10}),
                 .stretches = SharedList(std::vector<Stretches>{always})}};
  return job;
}

TEST(Links, AreSharedAgainAfterAResizeThatSendsNothing) {
  for (const bool pays_after : {false, true}) {
    Small small;
    small.workload.links = {10};
    small.settings.resize.apply_at = kPhaseEnd;
    small.settings.resize.pays_after = pays_after;
    sender(small).cost.fixed_s = 3;
    sender(small);
    small.orders({{11, k0, 8}});
    small.run();
    ASSERT_EQ(small.tape.sizes.size(), 1u);
    EXPECT_EQ(small.tape.sizes[0].at, at_s(pays_after ? 20 : 23));
    // Each is half as fast as alone, but for the 3 s that the other one does not send, and when it
    // is over.
    EXPECT_EQ(small.tape.end(k1).at, at_s(197)) << pays_after;
    EXPECT_EQ(small.tape.end(k0).at, at_s(200)) << pays_after;
  }
}

TEST(Links, ARigidJobThatSendsIsSuspendedAtOnce) {
  Small small;
  small.workload.links = {10};
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.suspends = true;
  AdaptiveJob& job = sender(small);
  job.type = JobType::rigid;
  job.size = exactly(4);
  small.settings.orders = {{at_s(13), k0, Stop::suspend}, {at_s(50), k0, OperatorOrder::Resume{}}};
  small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(100 + 50 - 13));
}

TEST(Links, WhoTheyMakeTooSlowIsNotKilledByResizes) {
  Small small;
  small.workload.links = {10};
  small.settings.kill_overrun = true;
  sender(small).type = JobType::rigid;
  sender(small).type = JobType::rigid;
  const SimulationCounts counts = small.run();
  EXPECT_EQ(small.tape.end(k0).state, EndState::timeout);
  EXPECT_EQ(counts.killed_by_resizes, 0u);
}

TEST(Links, AreSharedAgainByWhoLosesNodesWhileItPays) {
  for (const bool pays_after : {false, true}) {
    Small small;
    small.workload.links = {10};
    small.settings.on_failure = SimulationSettings::OnFailure::shrink;
    small.settings.resize.pays_after = pays_after;
    sender(small).cost.fixed_s = 3;
    sender(small);
    small.orders({{20, k0, 8}});
    small.fail(22, 0, 0);
    small.run();
    // What is left of the cost is paid only by who has its new size already.
    EXPECT_EQ(small.tape.end(k1).at, at_s(pays_after ? 197 : 198)) << pays_after;
    EXPECT_EQ(small.tape.end(k0).at, at_s(200)) << pays_after;
  }
}

TEST(PhaseEnd, IsNowForAJobThatIsAtOne) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.resize.phases = 3;  // after 33.333333 s
  small.malleable(0, 100, 7);
  small.orders({{33.333333, k0, 8}});
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(33.333333));
}

TEST(PhaseEnd, ComesAfterTheDelay) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.resize.phases = 10;
  small.settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(12), {}};
  small.malleable(0, 100, 4);
  small.orders({{11, k0, 8}, {68, k0, 2}});  // 68 + 12: 5 s after the end at 75
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(30));
  EXPECT_EQ(small.tape.end(k0).at, at_s(30 + 280 / 8.0));
}

TEST(PhaseEnd, LosesOrdersAfterTheLastOne) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.resize.phases = 10;
  small.settings.resize.refuse = 1;  // not even that
  small.malleable(0, 100, 4);
  small.orders({{91, k0, 8}, {95, k0, 2}});  // the first is never answered
  const SimulationCounts counts = small.run();
  EXPECT_TRUE(small.tape.sizes.empty());
  EXPECT_EQ(small.tape.all<event::Resized>().size(), 0u);
  EXPECT_EQ(small.tape.end(k0).at, at_s(100));
  EXPECT_EQ(small.tape.end(k0).state, EndState::completed);
  EXPECT_EQ(counts.stale, 0u);
}

TEST(PhaseEnd, IsWhereOrdersAreRefused) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.resize.phases = 4;
  small.settings.resize.refuse = 1;
  small.malleable(0, 100, 4);
  small.orders({{30, k0, 8}});
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(50));
  EXPECT_EQ(small.tape.sizes[0].after, 4u);
  EXPECT_EQ(small.tape.end(k0).at, at_s(100));
}

TEST(PhaseEnd, IsThatOfPhasesWithSchedulingPoints) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.malleable(0, 100, 4).phases = {
      {0.2, kSerial, 1, true}, {0.5, kLinear, 9, false}, {1, kLinear, 5, true}};
  small.orders({{5, k0, 8}, {21, k0, 2}});
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 2u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(20));
  // The second phase takes 8 nodes until 35; the first fifth of the third one 5 s more.
  EXPECT_EQ(small.tape.sizes[1].at, at_s(40));
  EXPECT_EQ(small.tape.end(k0).at, at_s(40 + 160 / 2.0));
}

TEST(PhaseEnd, DoesNotComeInTimeForTheKill) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.resize.phases = 2;
  small.settings.kill_overrun = true;
  small.malleable(0, 100, 4);
  small.workload.jobs[0].walltime = whole_seconds(40);
  small.orders({{10, k0, 8}});
  const SimulationCounts counts = small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(40));
  EXPECT_EQ(small.tape.end(k0).state, EndState::timeout);
  EXPECT_TRUE(small.tape.sizes.empty());
  EXPECT_EQ(counts.stale, 0u);
}

TEST(PhaseEnd, IsNotReachedByAJobThatLosesANode) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  small.settings.resize.phases = 2;
  small.settings.on_failure = SimulationSettings::OnFailure::shrink;
  small.malleable(0, 100, 4).phases = {{0.5, kLinear}, {1, kSerial}};
  small.orders({{10, k0, 8}});
  small.fail(20, 0, 1);
  const SimulationCounts counts = small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(20));
  EXPECT_EQ(small.tape.sizes[0].after, 2u);
  EXPECT_EQ(small.tape.end(k0).at, at_s(20 + 120 / 2.0 + 50));
  EXPECT_EQ(counts.stale, 0u);
}

// --- Evolving jobs -------------------------------------------------------------------------------

/// Grants or denies every request at once.
std::function<void(Pass&)> answering(bool grant) {
  return [grant](Pass& pass) {
    start_all(pass);
    for (const Request& request : pass.requests()) {
      grant ? pass.grant(request.id, {Why::evolving}) : pass.deny(request.id, {Why::fairness});
    }
  };
}

TEST(Evolving, AsksAtItsProgressPoints) {
  Small small;
  small.adaptive(JobType::evolving, 0, 100, 4).steps = {{0.25, 4, 2}, {0.5, -2, 0}, {1, 5, 0}};
  small.script(answering(true));
  small.run();
  const auto asked = small.tape.all<event::EvolvingRequested>();
  ASSERT_EQ(asked.size(), 2u);  // the work is done before it could ask a third time
  // 100 node-seconds at 4 nodes, 100 more at 8, the other 200 at 6.
  EXPECT_EQ(asked[0].first, at_s(25));
  EXPECT_EQ(asked[0].second.delta, 4);
  EXPECT_EQ(asked[0].second.at_least, 2u);
  EXPECT_EQ(asked[1].first, at_s(37.5));
  EXPECT_EQ(asked[1].second.delta, -2);
  EXPECT_EQ(small.tape.end(k0).at, at_s(37.5) + Duration{33'333'333});
}

TEST(Evolving, GoesOnAsItIsWhenDenied) {
  Small small;
  small.adaptive(JobType::evolving, 0, 100, 4).steps = {{0, 2, 0}, {0.25, 4, 0}, {0.5, 1, 0}};
  small.script(answering(false));
  small.run();
  const auto asked = small.tape.all<event::EvolvingRequested>();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].first, at_s(0));
  EXPECT_EQ(asked[1].first, at_s(25));
  EXPECT_EQ(asked[2].first, at_s(50));
  EXPECT_EQ(small.tape.end(k0).at, at_s(100));
}

TEST(Evolving, AsksAtItsProgressPointsAlsoBeforeAResizeBegins) {
  Small small;
  small.settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(30), {}};
  AdaptiveJob& job = small.adaptive(JobType::adaptive, 0, 100, 4);
  job.steps = {{0.25, 4, 0}, {0.405, 4, 0}};
  job.cost.fixed_s = 5;
  small.orders({{10, k0, 8}});
  small.run();
  const auto asked = small.tape.all<event::EvolvingRequested>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].first, at_s(25));
  EXPECT_EQ(asked[1].first, at_s(45.25));  // half a second of 4 nodes is a quarter of 8
  EXPECT_EQ(small.tape.end(k0).at, at_s(45 + 240 / 8.0));
}

TEST(Evolving, GrantedAtTheStartOfAPhaseIsAppliedThere) {
  Small small;
  small.settings.resize.apply_at = kPhaseEnd;
  AdaptiveJob& job = small.adaptive(JobType::evolving, 0, 100, 3);
  job.phases = {{1.0 / 3, kLinear, 1, true}, {2.0 / 3, kLinear, 1, true}, {1, kSerial, 1, true}};
  job.steps = {{1.0 / 3, 4, 0}, {2.0 / 3, -2, 0}};
  small.script(answering(true));
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 2u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(33.333333));
  EXPECT_EQ(small.tape.sizes[0].after, 7u);
  EXPECT_EQ(small.tape.sizes[1].at, at_s(33.333333 + 14.285714));
  EXPECT_EQ(small.tape.sizes[1].after, 5u);
  EXPECT_NEAR(to_seconds(small.tape.end(k0).at), 33.333333 + 14.285714 + 33.333333, 2e-6);
}

TEST(Evolving, MayWantASizeThatDependsOnTheOneItHas) {
  Small small;
  AdaptiveJob& job = small.adaptive(JobType::evolving, 0, 100, 4);
  job.size = {4, 8};
  const SharedList<Nodes> wanted(std::vector<Nodes>{6, 5, 8, 7, 8});
  job.steps = {{0.25, 0, 0, wanted}, {0.5, 0, 0, wanted}, {0.75, 0, 0, wanted}};
  small.script(answering(true));
  small.run();
  const auto asked = small.tape.all<event::EvolvingRequested>();
  ASSERT_EQ(asked.size(), 2u);  // with 8 nodes it is content
  EXPECT_EQ(asked[0].second.delta, 2);
  EXPECT_EQ(asked[1].second.delta, 2);
  EXPECT_NEAR(to_seconds(small.tape.end(k0).at), 25 + 100 / 6.0 + 200 / 8.0, 1e-5);
}

/// Denies the requests of these times, in seconds, and grants the others.
std::function<void(Pass&)> denying(std::vector<double> at) {
  return [at = std::move(at)](Pass& pass) {
    start_all(pass);
    for (const Request& request : pass.requests()) {
      const bool deny = std::ranges::count(at, to_seconds(pass.now())) > 0;
      deny ? pass.deny(request.id, {Why::fairness}) : pass.grant(request.id, {Why::evolving});
    }
  };
}

std::vector<Time> asked_at(const Small& small) {
  std::vector<Time> times;
  for (const auto& [at, request] : small.tape.all<event::EvolvingRequested>()) times.push_back(at);
  return times;
}

TEST(Evolving, MayAskAgainOnlyIfItWasDenied) {
  const auto run = [](std::vector<double> denied) {
    Small small;
    small.adaptive(JobType::evolving, 0, 100, 4).steps = {
        {.progress = 0.2, .delta = 4},
        {.progress = 0.4, .delta = 4, .if_denied = true},
        {.progress = 0.6, .delta = 4, .if_denied = true}};
    small.script(denying(std::move(denied)));
    small.run();
    return asked_at(small);
  };
  EXPECT_EQ(run({}), std::vector{at_s(20)});
  EXPECT_EQ(run({20}), (std::vector{at_s(20), at_s(40)}));
  EXPECT_EQ(run({20, 40}), (std::vector{at_s(20), at_s(40), at_s(60)}));
  EXPECT_EQ(run({20, 40, 60}), (std::vector{at_s(20), at_s(40), at_s(60)}));
}

TEST(Evolving, DoesNotAskAgainWhileARequestIsOpenNorForWhatItNeverAsked) {
  Small small;
  AdaptiveJob& job = small.adaptive(JobType::evolving, 0, 100, 4);
  job.steps = {{.progress = 0.2, .delta = 4}, {.progress = 0.4, .delta = 4, .if_denied = true}};
  small.script(start_all);  // answers nothing
  small.run();
  EXPECT_EQ(asked_at(small), std::vector{at_s(20)});

  Small full;
  AdaptiveJob& largest = full.adaptive(JobType::evolving, 0, 100, 4);
  largest.size = exactly(4);
  largest.steps = job.steps;
  full.script(denying({}));
  full.run();
  EXPECT_EQ(asked_at(full), std::vector<Time>{});
}

TEST(Evolving, ForgetsDenialsInItsNextLife) {
  Small small;
  small.adaptive(JobType::evolving, 0, 100, 4).steps = {
      {.progress = 0.1, .delta = 4, .if_denied = true}, {.progress = 0.2, .delta = 4}};
  small.script(denying({20}));
  small.fail(30, 0, 0);
  small.run();
  const Time again = small.tape.starts(k0).at(1);
  EXPECT_EQ(asked_at(small), (std::vector{at_s(20), again + whole_seconds(20)}));
}

TEST(Evolving, AGrantMaySaveWorkOrMakeMore) {
  const auto end_s = [](double saves, double denied_at = -1, double cost_s = 0) {
    Small small;
    AdaptiveJob& job = small.adaptive(JobType::evolving, 0, 100, 4);
    job.steps = {{.progress = 0.25, .delta = 4, .saves = saves}};
    job.cost.fixed_s = cost_s;
    small.script(denying({denied_at}));
    small.run();
    return to_seconds(small.tape.end(k0).at);
  };
  EXPECT_EQ(end_s(0), 25 + 300 / 8.0);
  EXPECT_EQ(end_s(0.5), 25 + 100 / 8.0);
  EXPECT_EQ(end_s(-0.25), 25 + 400 / 8.0);
  EXPECT_EQ(end_s(0.5, 25), 100);  // denied
  EXPECT_EQ(end_s(0.5, -1, 10), 25 + 10 + 100 / 8.0);
  EXPECT_DOUBLE_EQ(end_s(1), 25 + 1e-6);  // nothing is left
}

TEST(Evolving, EachGrantSavesWhatItsOwnRequestSays) {
  Small small;
  small.adaptive(JobType::evolving, 0, 100, 4).steps = {
      {.progress = 0.25, .delta = 4, .saves = 0.5}, {.progress = 0.5, .delta = 4, .saves = 0.125}};
  small.script([](Pass& pass) {  // grants the second one; the first one stays open
    start_all(pass);
    const std::vector<Request> requests = pass.requests();
    if (requests.size() == 2) pass.grant(requests[1].id, {Why::evolving});
  });
  small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(50 + 150 / 8.0));
}

TEST(Evolving, NothingIsSavedByAGrantThatTheApplicationRefuses) {
  Small small;
  small.settings.resize.refuse = 1;
  small.adaptive(JobType::evolving, 0, 100, 4).steps = {
      {.progress = 0.25, .delta = 4, .saves = 0.5}};
  small.script(denying({}));
  small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(100));
}

TEST(Priority, IsToldToTheScheduler) {
  Small small;
  small.rigid(0, 10, 8);
  AdaptiveJob& more = small.adaptive(JobType::rigid, 1, 10, 4);
  more.size = exactly(4);
  more.priority = 7;
  small.run();
  const auto submitted = small.tape.all<event::Submitted>();
  ASSERT_EQ(submitted.size(), 2u);
  EXPECT_EQ(submitted[0].second.job.priority, 0);
  EXPECT_EQ(submitted[1].second.job.priority, 7);
  EXPECT_EQ(submitted[1].second.job.type, JobType::rigid);
}

TEST(Evolving, AsksAgainInItsNextLife) {
  Small small;
  small.adaptive(JobType::evolving, 0, 100, 4).steps = {{0.25, 4, 0}};
  small.script(answering(false));
  small.fail(50, 0, 0);
  small.run();
  const auto asked = small.tape.all<event::EvolvingRequested>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[1].first, at_s(75) + kTick);
  EXPECT_NE(asked[0].second.id, asked[1].second.id);
}

TEST(Evolving, AsksWhileItIsBeingResized) {
  Small small;
  small.settings.resize.refuse = 1;
  small.settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(30), {}};
  small.adaptive(JobType::adaptive, 0, 100, 4).steps = {{0.25, 4, 0}};
  small.orders({{10, k0, 8}});
  small.run();
  ASSERT_EQ(small.tape.all<event::EvolvingRequested>().size(), 1u);
  EXPECT_EQ(small.tape.all<event::EvolvingRequested>()[0].first, at_s(25));
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].at, at_s(40));
  EXPECT_EQ(small.tape.end(k0).at, at_s(100));
}

// --- Starts --------------------------------------------------------------------------------------

TEST(StartDelay, MovesTheWholeRun) {
  Small small;
  small.settings.start_delay = {RandomDuration::Kind::fixed, whole_seconds(3), {}};
  small.settings.kill_overrun = true;
  small.rigid(0, 10, 4);
  small.malleable(0, 10, 4);
  small.run();
  EXPECT_EQ(small.tape.starts(k0), std::vector{at_s(0)});
  const auto started = small.tape.all<event::Started>();
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[0].first, at_s(3));
  for (const JobId id : {k0, k1}) {
    EXPECT_EQ(small.tape.end(id).at, at_s(13));
    EXPECT_EQ(small.tape.end(id).state, EndState::completed);
  }
}

TEST(StartDelay, IsDrawnFromItsDistribution) {
  const auto delays = [](RandomDuration::Kind kind, double a, double b) {
    Small small(1000);
    small.settings.rules.check = false;
    small.settings.start_delay = {kind, seconds(a), seconds(b)};
    for (int i = 0; i < 1000; ++i) small.rigid(0, 1, 1);
    small.run();
    std::vector<double> drawn;
    for (const auto& [at, started] : small.tape.all<event::Started>()) {
      drawn.push_back(to_seconds(at));
    }
    EXPECT_EQ(drawn.size(), 1000u);
    return drawn;
  };
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  const auto uniform = delays(RandomDuration::Kind::uniform, 10, 20);
  EXPECT_GE(uniform.front(), 10);
  EXPECT_LE(uniform.back(), 20);
  EXPECT_NEAR(mean(uniform), 15, 5 * 10 / std::sqrt(12 * 1000.0));
  EXPECT_NEAR(mean(delays(RandomDuration::Kind::exponential, 10, 0)), 10, 5 * 10 / std::sqrt(1000));
}

TEST(StartFailure, IsTriedAgainUntilItRuns) {
  Small small(4);
  small.settings.start_delay = {RandomDuration::Kind::fixed, whole_seconds(1), {}};
  small.settings.start_failure = 0.7;
  for (int i = 0; i < 10; ++i) small.rigid(0, 10, 4);
  const SimulationCounts counts = small.run();
  EXPECT_EQ(counts.jobs_over, 10u);
  const auto failed = small.tape.all<event::StartFailed>();
  EXPECT_GT(failed.size(), 5u);
  for (const auto& [at, event] : failed) {
    EXPECT_EQ(event.retry_at, at + whole_seconds(30));
    for (const Time start : small.tape.starts(event.job)) {
      EXPECT_TRUE(start < at || start >= event.retry_at);
    }
  }
  for (const Tape::Over& over : small.tape.ends) EXPECT_EQ(over.state, EndState::completed);
}

// --- Failures of nodes ---------------------------------------------------------------------------

using OnFailure = SimulationSettings::OnFailure;

TEST(NodeFailure, RequeuesTheJobAndItRunsAgainFromTheBeginning) {
  Small small(8);
  small.rigid(0, 20, 4);
  small.rigid(0, 30, 2);
  small.fail(10, 3, 3);
  const SimulationCounts counts = small.run();
  ASSERT_EQ(small.tape.ends.size(), 3u);
  EXPECT_EQ(small.tape.ends[0].at, at_s(10));
  EXPECT_EQ(small.tape.ends[0].state, EndState::node_fail);
  EXPECT_TRUE(small.tape.ends[0].requeued);
  const Time again = at_s(10) + kTick;
  EXPECT_EQ(small.tape.starts(k0), (std::vector{at_s(0), again}));
  EXPECT_EQ(small.tape.end(k0).at, again + whole_seconds(20));
  EXPECT_EQ(small.tape.end(k0).state, EndState::completed);
  EXPECT_EQ(small.tape.end(k1).at, at_s(30));
  EXPECT_EQ(counts.jobs_over, 2u);
  for (const auto& [at, decision] : small.tape.decisions) {
    EXPECT_TRUE(at <= at_s(10) || !decision.after.nodes.contains(3));
  }
}

TEST(NodeFailure, KillsTheJob) {
  Small small(8);
  small.settings.on_failure = OnFailure::kill;
  small.rigid(0, 20, 4);
  small.fail(10, 0, 7);
  const SimulationCounts counts = small.run();
  ASSERT_EQ(small.tape.ends.size(), 1u);
  EXPECT_EQ(small.tape.ends[0].state, EndState::node_fail);
  EXPECT_FALSE(small.tape.ends[0].requeued);
  EXPECT_EQ(counts.jobs_over, 1u);
  EXPECT_EQ(counts.last_end, at_s(10));
}

TEST(NodeFailure, ShrinksAMalleableJob) {
  Small small(8);
  small.settings.on_failure = OnFailure::shrink;
  small.malleable(0, 20, 4);
  small.fail(10, 1, 1);
  small.run();
  ASSERT_EQ(small.tape.sizes.size(), 1u);
  EXPECT_EQ(small.tape.sizes[0].after, 3u);
  const auto resized = small.tape.all<event::Resized>();
  EXPECT_EQ(resized[0].second.answers, DecisionId::none);
  EXPECT_EQ(to_string(resized[0].second.now.nodes), "0 2-3");
  EXPECT_EQ(small.tape.end(k0).at, at_s(10) + Duration{13'333'333});
}

TEST(NodeFailure, RequeuesWhatCannotShrink) {
  Small small(8);
  small.settings.on_failure = OnFailure::shrink;
  small.malleable(0, 20, 4).believed.constraint = {SizeConstraint::Kind::even};
  small.rigid(0, 20, 2);
  small.fail(10, 0, 0);
  small.fail(10, 4, 4);
  small.fail(10, 0, 7, Health::up);
  small.run();
  EXPECT_TRUE(small.tape.sizes.empty());
  EXPECT_EQ(std::ranges::count(small.tape.ends, true, &Tape::Over::requeued), 2);
  EXPECT_EQ(small.tape.end(k0).state, EndState::completed);
  EXPECT_EQ(small.tape.end(k1).state, EndState::completed);
}

TEST(NodeFailure, EndsAJobThatLosesAllItsNodes) {
  Small small(8);
  small.settings.on_failure = OnFailure::shrink;
  small.malleable(0, 20, 4);
  small.fail(10, 0, 3);
  small.run();
  EXPECT_TRUE(small.tape.ends[0].requeued);
}

TEST(NodeFailure, AnswersAResizeThatIsUnderWay) {
  for (const Nodes to : {8u, 2u}) {
    Small small(8);
    small.settings.on_failure = OnFailure::shrink;
    small.settings.resize.delay = {RandomDuration::Kind::fixed, whole_seconds(5), {}};
    small.malleable(0, 20, 4);
    small.orders({{8, k0, to}});
    small.fail(10, 1, 1);
    const SimulationCounts counts = small.run();
    ASSERT_EQ(small.tape.sizes.size(), 1u);
    EXPECT_EQ(small.tape.sizes[0].at, at_s(10));
    EXPECT_EQ(small.tape.sizes[0].after, 3u);
    EXPECT_EQ(small.tape.end(k0).at, at_s(10) + Duration{13'333'333});
    EXPECT_EQ(counts.stale, 0u);
  }
}

TEST(NodeFailure, EndsAResizeThatIsBeingPaidFor) {
  Small small(8);
  small.settings.on_failure = OnFailure::shrink;
  AdaptiveJob& job = small.malleable(0, 20, 4);
  job.cost.fixed_s = 6;
  job.believed.constraint = {SizeConstraint::Kind::even};
  small.orders({{5, k0, 8}});
  small.fail(8, 1, 1);  // 3 nodes are not even: from the beginning
  small.fail(8, 1, 1, Health::up);
  const SimulationCounts counts = small.run();
  EXPECT_EQ(small.tape.starts(k0), (std::vector{at_s(0), at_s(8) + kTick}));
  EXPECT_EQ(small.tape.end(k0).at, at_s(28) + kTick);
  EXPECT_EQ(small.tape.end(k0).state, EndState::completed);
  EXPECT_EQ(counts.stale, 0u);
}

TEST(NodeFailure, MeetsAJobThatIsStarting) {
  Small small(8);
  small.settings.start_delay = {RandomDuration::Kind::fixed, whole_seconds(3), {}};
  small.rigid(0, 20, 4);
  small.fail(1, 0, 0);
  const SimulationCounts counts = small.run();
  EXPECT_EQ(small.tape.ends.size(), 2u);
  EXPECT_EQ(small.tape.end(k0).at, at_s(1) + kTick + whole_seconds(23));
  EXPECT_EQ(counts.stale, 0u);
}

TEST(NodeFailure, DrainingLetsTheJobFinish) {
  Small small(4);
  small.rigid(0, 20, 4);
  small.rigid(5, 10, 2);
  small.rigid(5, 10, 3);
  small.fail(10, 0, 1, Health::draining);
  small.fail(50, 0, 1, Health::up);
  small.run();
  EXPECT_EQ(small.tape.end(k0).at, at_s(20));
  EXPECT_EQ(small.tape.starts(k1), std::vector{at_s(20)});
  EXPECT_EQ(small.tape.starts(k2), std::vector{at_s(50)});
}

// --- The end of it -------------------------------------------------------------------------------

TEST(Stop, EndsTheRunSoon) {
  Small small;
  const std::atomic<bool> stop = true;
  std::uint64_t told = 0;
  small.settings.stop = &stop;
  small.settings.progress = [&](std::uint64_t, Time) { ++told; };
  small.rigid(0, 10, 4);
  small.rigid(5, 10, 4);
  const SimulationCounts counts = small.run();
  EXPECT_TRUE(counts.stopped);
  EXPECT_EQ(counts.jobs_left, 2u);
  EXPECT_EQ(small.tape.finished, 1);
  EXPECT_EQ(told, 0u);
}

TEST(Stop, AndProgressAreLookedAtNowAndThen) {
  Small small;
  std::atomic<bool> stop = false;
  std::uint64_t over = 0;
  small.settings.stop = &stop;
  small.settings.rules.check = false;
  small.settings.progress = [&](std::uint64_t jobs_over, Time now) {
    over = jobs_over;
    stop = now >= at_s(5000);
  };
  for (int i = 0; i < 20'000; ++i) small.rigid(i, 0.5, 1);
  const SimulationCounts counts = small.run();
  EXPECT_TRUE(counts.stopped);
  EXPECT_GT(over, 5000u);
  EXPECT_LT(counts.jobs_over, 15'000u);
  EXPECT_EQ(counts.jobs_over + counts.jobs_left, 20'000u);
}

TEST(Stuck, EndlessTimersEnd) {
  Small small;
  small.rigid(0, 10, 1);
  small.rigid(0, 10, 17);  // rejected
  small.rigid(0, 10, 2);
  int passes = 0;
  small.script([&](Pass& pass) {  // never starts the last one
    ++passes;
    if (pass.job(k0).status == Status::pending) pass.start(k0, exactly(1), {Why::in_order});
    pass.wake_by(pass.now() + whole_seconds(1));
  });
  const SimulationCounts counts = small.run();
  EXPECT_EQ(counts.jobs_left, 1u);
  EXPECT_FALSE(counts.stopped);
  EXPECT_EQ(counts.last_end, at_s(10));
  EXPECT_LT(passes, 20);
  EXPECT_EQ(small.tape.finished, 1);
}

TEST(Stuck, WithoutTimersEnds) {
  Small small;
  small.rigid(0, 10, 1);
  small.script([](Pass&) {});
  EXPECT_EQ(small.run().jobs_left, 1u);
}

// --- Repeatable ----------------------------------------------------------------------------------

/// Hands idle nodes out and takes them back for jobs that wait, by counts alone.
void give_and_take(Pass& pass) {
  start_all(pass);
  std::vector<JobId> running(pass.running().begin(), pass.running().end());
  std::ranges::sort(running);
  if (const JobId first = pass.first_pending(); first != JobId::none) {
    for (const JobId id : running) {
      const std::vector<Cut> cuts{{id, pass.job(id).size() / 2}};
      if (pass.start(first, exactly(pass.job(first).spec.preferred), {Why::shrunk_for, first},
                     {cuts, true})) {
        break;
      }
    }
    return;
  }
  for (const JobId id : running) {
    if (pass.idle() > 0) pass.resize(id, pass.job(id).size() + 1, {Why::hand_out});
  }
}

std::vector<std::string> decisions_of(bool identities, std::uint64_t seed, bool adaptive) {
  Small small(32);
  Draws draws(seed, Stream::test, 3);
  for (int i = 0; i < 60; ++i) {
    const auto submit = static_cast<double>(draws.below(500));
    const auto run = static_cast<double>(1 + draws.below(120));
    const auto nodes = static_cast<Nodes>(1 + draws.below(16));
    if (adaptive && draws.chance(0.6)) {
      small.malleable(submit, run, nodes).cost.fixed_s = 0.5;
    } else {
      small.rigid(submit, run, nodes);
    }
  }
  std::ranges::stable_sort(small.workload.jobs, {}, &WorkloadJob::submit);
  small.settings.rules.seed = seed;
  small.settings.rules.identities = identities;
  small.settings.resize.delay = {RandomDuration::Kind::exponential, whole_seconds(3), {}};
  small.settings.resize.refuse = small.settings.resize.partly = 0.2;
  if (adaptive) {
    small.script(give_and_take);
  } else {
    small.settings.policy = make_policy("easy");
  }
  EXPECT_EQ(small.run().jobs_over, 60u);
  std::vector<std::string> lines;
  for (auto& [at, decision] : small.tape.decisions) {
    EXPECT_EQ(decision.after.nodes.count(), identities ? decision.after.count : 0);
    decision.after.nodes = {};
    lines.push_back(to_record(at) + ' ' + to_record(decision));
  }
  return lines;
}

TEST(Identities, ChangeNoDecision) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(decisions_of(true, seed, false), decisions_of(false, seed, false)) << seed;
    EXPECT_EQ(decisions_of(true, seed, true), decisions_of(false, seed, true)) << seed;
  }
}

TEST(Seed, DecidesAll) {
  EXPECT_EQ(decisions_of(true, 1, true), decisions_of(true, 1, true));
  EXPECT_NE(decisions_of(true, 1, true), decisions_of(true, 2, true));
}

// --- Predicted walltimes -------------------------------------------------------------------------

TEST(Predicted, WalltimesAreBelievedAndTheRequestedOnesKill) {
  Small small(2);
  small.settings.predict_walltimes = small.settings.kill_overrun = true;
  for (const double runtime_s : {10.0, 20.0, 500.0}) {
    WorkloadJob& job = small.rigid(0, runtime_s, 2);
    job.submit = at_s(runtime_s == 500 ? 40 : 0);
    job.walltime = seconds(200);
    job.user = 7;
  }
  small.run();
  // The third is believed to take 15 s, then 1 and 5 minutes more, at most what it requested.
  const auto believed = small.tape.all<event::Believed>();
  ASSERT_EQ(believed.size(), 2u);
  EXPECT_EQ(believed[0].first, at_s(55));
  EXPECT_EQ(believed[0].second.walltime, seconds(75));
  EXPECT_EQ(believed[1].first, at_s(115));
  EXPECT_EQ(believed[1].second.walltime, seconds(200));
  EXPECT_EQ(small.tape.end(k2).state, EndState::timeout);
  EXPECT_EQ(small.tape.end(k2).at, at_s(240));
}

TEST(Predicted, JobsOfUnknownUsersSayNothingAboutEachOther) {
  Small small(2);
  small.settings.predict_walltimes = true;
  for (const std::uint32_t user : {0, 0, 7, 7, 0, 7}) {
    WorkloadJob& job = small.rigid(0, 10, 1);
    job.submit = at_s(small.workload.jobs.size() > 4 ? 100 : 0);
    job.walltime = seconds(200);
    job.user = user;
  }
  small.run();
  const auto submitted = small.tape.all<event::Submitted>();
  ASSERT_EQ(submitted.size(), 6u);
  EXPECT_EQ(submitted[4].second.job.walltime, seconds(200));
  EXPECT_EQ(submitted[5].second.job.walltime, seconds(10));
  EXPECT_TRUE(small.tape.all<event::Believed>().empty());
}

TEST(Predicted, AMalleableJobIsKilledWhenTheWorkItRequestedIsUsedUp) {
  Small small(4);
  small.settings.predict_walltimes = small.settings.kill_overrun = true;
  for (const int job : {0, 1, 2}) {
    small.malleable(job == 2 ? 100 : 0, job == 2 ? 1000 : 20, 2);
    small.workload.jobs.back().walltime = seconds(100);
    small.workload.jobs.back().user = 7;
  }
  small.orders({{120, k2, 4}});
  small.run();
  EXPECT_EQ(small.tape.all<event::Believed>().at(0).second.walltime, seconds(80));
  // 20 s on two nodes, the other 80 of its 100 s on four.
  EXPECT_EQ(small.tape.end(k2).state, EndState::timeout);
  EXPECT_EQ(small.tape.end(k2).at, at_s(160));
}

}  // namespace
}  // namespace ductile
