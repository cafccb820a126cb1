// What `ductile explain` says: golden answers for the situations there are, and for random jobs
// under every policy each job, number of nodes and time it names, checked against the state that
// was recorded.
//
// DUCTILE_CASES: how many random runs. DUCTILE_SEED: only the run of this seed.

#include "report/explanation.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "base/text.hpp"
#include "live/look_up.hpp"
#include "policies/registry.hpp"
#include "report/circumstances.hpp"
#include "simulation/recording.hpp"
#include "simulation/replay.hpp"
#include "simulation/simulation.hpp"
#include "support/random_parameters.hpp"
#include "support/scenario.hpp"
#include "support/scripted.hpp"
#include "support/seeds.hpp"
#include "support/trouble.hpp"

namespace ductile::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Passes a run on to an explainer up to a time, and has it finish there.
class Until final : public Observer {
 public:
  Until(Observer& inner, Time last) : inner_(inner), last_(last) {}
  bool wants_events() const override { return true; }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    if (now <= last_) inner_.on_event(now, event, taken, core);
  }
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (now <= last_) inner_.on_decision(now, decision, core);
  }
  void on_close(Time now, const Core& core) override {
    if (now > last_) return;
    inner_.on_close(now, core);
    core_.emplace(core);
  }
  void on_finish(Time now, const Core&) override {
    if (core_) inner_.on_finish(std::min(now, last_), *core_);
  }

 private:
  Observer& inner_;
  Time last_;
  std::optional<Core> core_;
};

/// Writes a run as a controller does, for jobs to be looked up.
class Journalist final : public Observer {
 public:
  explicit Journalist(const std::string& path) : path_(path) {
    for (const char* end : {".db", ".mark"}) std::filesystem::remove(path_ + end);
    journal_.emplace(path_ + ".db");
  }
  bool wants_events() const override { return true; }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    begin(core);
    std::vector<Circumstance> then;
    if (taken) then = circumstances_.after(event, core);
    if (const auto* its = std::get_if<event::Submitted>(&event)) {
      numbers_.add(JobId{submitted_++}, its->job.name);
    }
    journal_->event(now, event, taken, numbers_, then);
  }
  void on_decision(Time, const Decision& decision, const Core&) override {
    decisions_.push_back(decision);
  }
  void on_close(Time now, const Core& core) override {
    begin(core);
    journal_->close(now, core, decisions_, numbers_, circumstances_.at_close(decisions_, core));
    decisions_.clear();
  }
  /// What it says of a job.
  Explanation explanation(std::uint64_t job) {
    if (std::exchange(is_open_, false)) journal_->commit();
    return look_up(*journal_, job, simulated_time).explanation();
  }

 private:
  void begin(const Core& core) {
    if (std::exchange(is_open_, true)) return;
    journal_->write_head(core);
    journal_->begin();
  }

  std::string path_;
  std::optional<Journal> journal_;
  Circumstances circumstances_{std::nullopt};
  std::vector<Decision> decisions_;
  JobNumbers numbers_{};
  std::uint32_t submitted_ = 0;
  bool is_open_ = false;
};

std::string without_margin(const std::string& text) {
  std::istringstream in(text);
  std::string result;
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos) result += line.substr(begin) + '\n';
  }
  return result;
}

/// The explanation of a job of a scenario, as of a time; asked of the run, and of its log.
std::string explained(const std::string& scenario_text, std::uint64_t job, double until_s = 1e6) {
  Scenario scenario = parse_scenario(scenario_text, "scenario");
  SimulationSettings settings = scenario.settings;
  settings.policy = make_policy(scenario.policy);
  settings.rules.record = true;
  const Time until{seconds(until_s)};
  const Registry registry;
  Explainer live(job, simulated_time, registry.maker()),
      recorded(job, simulated_time, registry.maker());
  Journalist journalist(::testing::TempDir() + "/explained");
  const std::string path = ::testing::TempDir() + "/explained.log";
  {
    Until watch(live, until), write(journalist, until);
    Recorder recorder(path);
    Observer* const observers[] = {&watch, &recorder, &write};
    simulate(scenario.workload, settings, observers);
  }
  std::ifstream log(path, std::ios::binary);
  Until watch(recorded, until);
  fold(log, path, watch);
  const std::string text = to_text(live.explanation(), simulated_time);
  EXPECT_EQ(to_text(recorded.explanation(), simulated_time), text);
  Explanation looked_up = journalist.explanation(job);
  looked_up.now = live.explanation().now;
  EXPECT_EQ(to_text(looked_up, simulated_time), text);
  // What it says as JSON is all it says.
  EXPECT_EQ(
      to_text(explanation_from_json(nlohmann::ordered_json::parse(to_json(live.explanation()))),
              simulated_time),
      text);
  return without_margin(text);
}

constexpr const char* kEasy = R"(platform nodes=4
policy easy
job 1 submit=0 nodes=3 walltime=10 run=10
job 2 submit=1 nodes=4 walltime=5 run=5
job 3 submit=2 nodes=1 walltime=8 run=8
job 4 submit=3 nodes=1 walltime=100 run=1
expect
)";

TEST(Explain, AJobThatStartsAtItsTurn) {
  EXPECT_EQ(explained(kEasy, 1), R"(job 1: rigid, 3 nodes, 10 s
0  submitted: rigid, 3 nodes, 10 s
0  starts on 3 nodes (0-2): it was its turn
10  completed after running for 10 s
)");
}

TEST(Explain, AJobThatWaitsForARunningOne) {
  EXPECT_EQ(explained(kEasy, 2, 1), R"(job 2: rigid, 4 nodes, 5 s
1  submitted: rigid, 4 nodes, 5 s
1  planned to start at 10, by when nodes are expected of job 1 (3 nodes) at 10
At 1 it waits:
- it asks for 4 nodes; 1 of 4 is idle
- it is the first in the queue
- it is planned to start at 10, by when nodes are expected of job 1 (3 nodes) at 10
)");
  EXPECT_EQ(explained(kEasy, 2), R"(job 2: rigid, 4 nodes, 5 s
1  submitted: rigid, 4 nodes, 5 s
1  planned to start at 10, by when nodes are expected of job 1 (3 nodes) at 10
10  starts on 4 nodes (0-3): it was its turn; it had waited 9 s
15  completed after running for 5 s
)");
}

TEST(Explain, AJobThatIsBackfilled) {
  EXPECT_EQ(explained(kEasy, 3), R"(job 3: rigid, 1 node, 8 s
2  submitted: rigid, 1 node, 8 s
2  starts on 1 node (3): backfilled before 1 job ahead of it; of these job 2 (4 nodes) is planned for 10
10  completed after running for 8 s
)");
}

// Job 1 runs in A, job 2 and 3 in B, of which 3 on nodes that job 5 excludes or that are reserved.
TEST(Explain, OnlyThoseWhoseNodesTheJobCanUse) {
  const std::string here =
      "it is planned to start at 20, by when nodes are expected of job 2 (2 nodes) at 20\n";
  const std::string text = R"(platform nodes=6
partition A 0-1
partition B 2-5
policy POLICY
BOOK
job 1 submit=0 nodes=2 run=10 partition=A
job 2 submit=0 nodes=2 run=20 partition=B only=2-3
job 3 submit=0 nodes=2 run=15 partition=B
job 5 submit=1 nodes=2 run=50 partition=B NEVER
expect
)";
  const auto of = [&](const char* policy, const char* book, const char* never) {
    std::string its = text;
    its.replace(its.find("POLICY"), 6, policy);
    its.replace(its.find("BOOK"), 4, book);
    its.replace(its.find("NEVER"), 5, never);
    const std::string all = explained(its, 5, 2);
    return all.substr(all.rfind("- it is planned", std::string::npos) + 2);
  };
  EXPECT_EQ(of("easy", "", "never=4-5"), here);
  EXPECT_EQ(of("easy", "book 0 repair from=15 to=100 nodes=4-5", ""), here);
}

TEST(Explain, AJobThatWouldDelayTheFirst) {
  EXPECT_EQ(explained(R"(platform nodes=4
policy easy
job 1 submit=0 nodes=3 run=10
job 2 submit=1 nodes=4 run=5
job 3 submit=3 nodes=1 run=100
expect
)",
                      3, 3),
            R"(job 3: rigid, 1 node, 1:40 min
3  submitted: rigid, 1 node, 1:40 min
At 3 it waits:
- it asks for 1 node; 1 of 4 is idle
- ahead of it in the queue: job 2 (4 nodes), planned for 10
- started now it could run until 103, and delay job 2 (4 nodes), planned for 10
- no start of it is planned yet; the policy is easy
)");
}

TEST(Explain, AJobBehindThoseThatOnePassPlans) {
  EXPECT_EQ(explained(R"(platform nodes=4
policy conservative
rules reservations=2
job 1 submit=0 nodes=4 run=10
job 2 submit=1 nodes=4 run=5
job 3 submit=2 nodes=4 run=5
job 4 submit=3 nodes=4 run=5
expect
)",
                      4, 3),
            R"(job 4: rigid, 4 nodes, 5 s
3  submitted: rigid, 4 nodes, 5 s
At 3 it waits:
- it asks for 4 nodes; 0 of 4 are idle
- ahead of it in the queue: job 2 (4 nodes), planned for 10 and job 3 (4 nodes), planned for 15
- no start of it is planned yet; the policy is conservative, which plans no more jobs in one pass
)");
}

constexpr const char* kShrink = R"(platform nodes=8
policy mebf:tick=0,expand=intensive,gap=shrink+
resize delay=2
job 1 nodes=6 min=2 max=8 run=100
job 2 submit=10 nodes=4 run=50
expect
)";

TEST(Explain, AJobThatIsShrunkForAnother) {
  EXPECT_EQ(explained(kShrink, 1), R"(job 1: malleable, 6 nodes (2 to 8), 1:40 min
0  submitted: malleable, 6 nodes (2 to 8), 1:40 min
0  starts on 6 nodes (0-5): it was its turn
10  shrinks from 6 to 4 nodes so that job 2 (4 nodes) can start
12  has 4 nodes (0-3) now
12  is now expected to end by 144
62  grows from 4 to 8 nodes: the nodes were free
64  has 8 nodes (0-7) now
64  is now expected to end by 104
104  completed after running for 1:44 min
)");
}

TEST(Explain, AJobThatOthersMakeRoomFor) {
  EXPECT_EQ(explained(kShrink, 2, 11), R"(job 2: rigid, 4 nodes, 50 s
10  submitted: rigid, 4 nodes, 50 s
10  room is made for it to start: job 1 (6 nodes) gives 2; 2 nodes are kept for it
At 10 it waits:
- room is made for it: job 1 (6 nodes) gives 2; 2 nodes are kept for it, expected at 10
)");
  EXPECT_EQ(explained(kShrink, 2), R"(job 2: rigid, 4 nodes, 50 s
10  submitted: rigid, 4 nodes, 50 s
10  room is made for it to start: job 1 (6 nodes) gives 2; 2 nodes are kept for it
12  starts on 4 nodes (4-7): the nodes freed for it are there; it had waited 2 s
62  completed after running for 50 s
)");
}

constexpr const char* kRefuse = R"(platform nodes=10
policy mebf:tick=0
rules seed=4
resize delay=2 refuse=0.5 retry=1000
job 1 nodes=6 min=3 max=6 run=100
job 3 nodes=4 min=2 max=4 run=100
job 2 submit=10 nodes=1 run=20
expect
)";

TEST(Explain, AResizeThatIsRefused) {
  EXPECT_EQ(explained(kRefuse, 1), R"(job 1: malleable, 6 nodes (3 to 6), 1:40 min
0  submitted: malleable, 6 nodes (3 to 6), 1:40 min
0  starts on 6 nodes (0-5): it was its turn
10  shrinks from 6 to 4 nodes so that job 2 (1 node) can start
12  keeps 6 nodes (0-5): it did not do the resize, and is left alone until 1012
100  completed after running for 1:40 min
)");
  EXPECT_EQ(explained(kRefuse, 2), R"(job 2: rigid, 1 node, 20 s
10  submitted: rigid, 1 node, 20 s
10  room is made for it to start: job 1 (6 nodes) gives 1
12  the nodes that were to be freed for it did not come: it waits again
12  room is made for it to start: job 3 (4 nodes) gives 1
14  starts on 1 node (9): the nodes freed for it are there; it had waited 4 s
34  completed after running for 20 s
)");
}

TEST(Explain, AJobThatGrowsSoThatAnotherStartsEarlier) {
  EXPECT_EQ(explained(R"(platform nodes=4
policy dbes
rules limit=fixed
job 1 submit=0 nodes=1 run=3600 type=malleable min=1 max=4
job 2 submit=0 nodes=1 run=1800 type=malleable min=1 max=4
job 3 submit=1 nodes=3 run=100
expect
)",
                      2),
            R"(job 2: malleable, 1 node (1 to 4), 30:00 min
0  submitted: malleable, 1 node (1 to 4), 30:00 min
0  starts on 2 nodes (1 3): it was its turn
1  room is made for it to grow: job 1 (2 nodes) gives 1
1  grows from 2 to 3 nodes so that job 3 (3 nodes) can start earlier
600.333333  completed after running for 10:00 min
)");
}

constexpr const char* kEvolving = R"(platform nodes=6
policy   dbes:fairness=before
rules    limit=fixed fairness=single,single=LIMIT
job 1 submit=0 nodes=1 run=100 user=1 type=evolving max=4
evolve 1 at=0.1 delta=2
job 3 submit=0 nodes=2 run=50 user=3
job 4 submit=0 nodes=1 run=200 user=3 type=malleable min=1 max=3
job 2 submit=5 nodes=4 run=20 user=2
expect
)";

TEST(Explain, ARequestThatIsDeniedOrGranted) {
  std::string text = kEvolving;
  text.replace(text.find("LIMIT"), 5, "40");
  EXPECT_EQ(explained(text, 1), R"(job 1: evolving, 1 node (1 to 4), 1:40 min
0  submitted: evolving, 1 node (1 to 4), 1:40 min
0  starts on 1 node (0): it was its turn
10  asks for 2 nodes more
10  its request is denied: it would delay others by more than the rules allow (single,single=40)
100  completed after running for 1:40 min
)");
  text.replace(text.find("single=40"), 9, "single=60");
  EXPECT_EQ(explained(text, 1), R"(job 1: evolving, 1 node (1 to 4), 1:40 min
0  submitted: evolving, 1 node (1 to 4), 1:40 min
0  starts on 1 node (0): it was its turn
10  asks for 2 nodes more
10  room is made for it to grow: job 4 (3 nodes) gives 2
10  that its request is granted delays job 2 (4 nodes) by 50 s
10  grows from 1 to 3 nodes: it asked for that
40  completed after running for 40 s
)");
  EXPECT_EQ(explained(text, 2), R"(job 2: rigid, 4 nodes, 20 s
5  submitted: rigid, 4 nodes, 20 s
5  planned to start at 50, by when nodes are expected of job 3 (2 nodes) at 50
10  delayed by 50 s: the request of job 1 (1 node) is granted
10  planned to start at 100, by when nodes are expected of job 1 (1 node) at 100 and job 3 (2 nodes) at 50
40  planned to start at 50, by when nodes are expected of job 3 (2 nodes) at 50
50  room is made for it to start: job 4 (3 nodes) gives 1; 3 nodes are kept for it
50  starts on 4 nodes (1-2 4-5): the nodes freed for it are there; it had waited 45 s
70  completed after running for 20 s
)");
}

TEST(Explain, AJobThatLosesANode) {
  EXPECT_EQ(explained(R"(platform nodes=3
policy easy
job 1 nodes=2 run=10
node 4 1 down
node 20 1 up
expect
)",
                      1),
            R"(job 1: rigid, 2 nodes, 10 s
0  submitted: rigid, 2 nodes, 10 s
0  starts on 2 nodes (0-1): it was its turn
4  lost a node after running for 4 s: it waits again
4  planned to start at 4.000001
4.000001  starts on 2 nodes (0 2): it was its turn; it had waited 4 s
14.000001  completed after running for 10 s
)");
}

TEST(Explain, AJobForWhichTooFewNodesAreInService) {
  EXPECT_EQ(explained(R"(platform nodes=3
policy easy
job 1 submit=2 nodes=3 run=10
node 1 1 drain
node 20 1 up
expect
)",
                      1, 5),
            R"(job 1: rigid, 3 nodes, 10 s
2  submitted: rigid, 3 nodes, 10 s
At 2 it waits:
- it asks for 3 nodes; 2 of 3 are idle
- only 2 nodes are in service
)");
}

TEST(Explain, AJobThatCanNeverRun) {
  EXPECT_EQ(explained(R"(platform nodes=3
policy easy
job 1 nodes=4 run=10
expect
)",
                      1),
            R"(job 1: rigid, 4 nodes, 10 s
0  submitted: rigid, 4 nodes, 10 s
0  rejected: it can never run on this machine, which has 3 nodes
)");
}

/// What no scenario has: a core and its world by hand.
struct ByHand {
  std::shared_ptr<const Policy> policy;
  Core core;
  Explainer explainer;

  explicit ByHand(std::uint64_t job, const Platform& platform, const Capabilities& can = {})
      : ByHand(job, platform, can, make_policy("easy"), false) {}
  ByHand(std::uint64_t job, const Platform& platform, const Capabilities& can,
         std::shared_ptr<const Policy> its, bool identities)
      : policy(std::move(its)),
        core(platform, can, {.identities = identities, .record = true}, policy->traits),
        explainer(job, simulated_time, [this](std::string_view) { return policy; }) {}
  void tell(int at_s, const Event& event) { tell(at_s, std::vector{event}); }
  /// At one instant.
  void tell(int at_s, const std::vector<Event>& events) {
    const Time now{whole_seconds(at_s)};
    for (const Event& event : events) {
      const bool taken = core.apply(now, event);
      explainer.on_event(now, event, taken, core);
    }
    const auto decisions = core.close(now, *policy);
    for (const Decision& decision : decisions) explainer.on_decision(now, decision, core);
    explainer.on_close(now, core);
  }
  void submit(int at_s, std::uint64_t name, Nodes nodes, JobType type = JobType::rigid) {
    JobSpec spec;
    spec.name = name;
    spec.type = type;
    spec.submitted = Time{whole_seconds(at_s)};
    spec.walltime = whole_seconds(100);
    spec.size = type == JobType::rigid ? exactly(nodes) : SizeRange{1, 4};
    spec.preferred = nodes;
    event::Submitted submitted{spec, std::nullopt};
    if (type != JobType::rigid) submitted.adaptive = AdaptiveSpec{};
    tell(at_s, submitted);
  }
  std::string text() {
    explainer.on_finish(core.state().now, core);
    return without_margin(to_text(explainer.explanation(), simulated_time));
  }
};

TEST(Explain, AJobThatCannotBeStarted) {
  ByHand hand(1, {.nodes = 4}, {.instant_start = false});
  hand.submit(0, 1, 2);
  const Time retry{whole_seconds(30)};
  hand.tell(3, event::StartFailed{JobId{0}, DecisionId{1}, retry});
  EXPECT_EQ(hand.text(), R"(job 1: rigid, 2 nodes, 1:40 min
0  submitted: rigid, 2 nodes, 1:40 min
0  starts on 2 nodes: it was its turn
3  could not be started: it waits again, and is left alone until 30
3  planned to start at 30
At 3 it waits:
- it asks for 2 nodes; 4 of 4 are idle
- it is left alone until 30
- it is the first in the queue
- it is planned to start at 30
)");
}

TEST(Explain, AJobThatIsHeld) {
  ByHand hand(1, {.nodes = 4});
  hand.submit(0, 2, 4);
  hand.submit(1, 1, 2);
  hand.tell(2, event::Eligible{JobId{1}, false});
  EXPECT_EQ(hand.text(), R"(job 1: rigid, 2 nodes, 1:40 min
1  submitted: rigid, 2 nodes, 1:40 min
1  planned to start at 100, by when nodes are expected of job 2 (4 nodes) at 100
2  held
At 2 it waits:
- it is held, and takes no part in the queue
)");
}

TEST(Explain, AJobThatWaitsForPower) {
  ByHand hand(1, {.nodes = 4, .idle_w = 100, .busy_w = 300});
  hand.tell(0, event::CorridorChanged{0, 900});
  hand.submit(1, 2, 2);
  hand.submit(2, 1, 2);
  EXPECT_EQ(hand.text(), R"(job 1: rigid, 2 nodes, 1:40 min
2  submitted: rigid, 2 nodes, 1:40 min
2  planned to start at 101, by when power is expected of job 2 (2 nodes) at 101
At 2 it waits:
- it asks for 2 nodes; 2 of 4 are idle
- 2 of its nodes draw 400 W more than idle ones, and 100 W are left
- it is the first in the queue
- it is planned to start at 101, by when power is expected of job 2 (2 nodes) at 101
)");
}

TEST(Explain, AJobForWhichThereIsNeverPower) {
  for (const Nodes asked : {3, 4}) {  // with idle nodes for it, and without
    ByHand hand(1, {.nodes = 4, .idle_w = 100, .busy_w = 300});
    hand.tell(0, event::CorridorChanged{0, 700});
    hand.submit(1, 2, 1);
    hand.submit(2, 1, asked);
    const std::string text = hand.text();
    EXPECT_THAT(text, HasSubstr("W more than idle ones, and the power cap leaves at most 300 W for "
                                "one that runs alone\n"));
    EXPECT_THAT(text, Not(HasSubstr("expected")));
  }
}

// There are nodes when job 2 ends, and power when job 3 has ended as well.
TEST(Explain, AJobThatWaitsForNodesAndThenForPower) {
  ByHand hand(1, {.nodes = 4, .idle_w = 100, .busy_w = 300});
  hand.tell(0, event::CorridorChanged{0, 1000});
  hand.submit(0, 2, 2);
  hand.submit(5, 3, 1);
  hand.submit(6, 1, 3);
  EXPECT_THAT(hand.text(),
              HasSubstr("planned to start at 105, by when power is expected of job 3 (1 node) "
                        "at 105 and job 2 (2 nodes) at 100\n"));
}

TEST(Explain, AJobThatWaitsForTheEndOfAReservation) {
  ByHand hand(1, {.nodes = 4, .idle_w = 100, .busy_w = 300});
  hand.tell(0, event::CorridorChanged{0, 800});
  hand.tell(0, event::Booked{.booking = {.name = "night",
                                         .from = Time{},
                                         .to = Time{whole_seconds(50)},
                                         .power_mw = 300'000}});
  hand.submit(1, 1, 2);
  EXPECT_THAT(hand.text(), HasSubstr("planned to start at 50, by when a reservation ends\n"));
}

TEST(Explain, AJobWhoseSizeIsOrdered) {
  ByHand hand(1, {.nodes = 4});
  hand.submit(0, 1, 2, JobType::malleable);
  hand.tell(10, event::SizeOrdered{JobId{0}, 3});
  EXPECT_EQ(hand.text(), R"(job 1: malleable, 2 nodes (1 to 4), 1:40 min
0  submitted: malleable, 2 nodes (1 to 4), 1:40 min
0  starts on 2 nodes: it was its turn
10  it is ordered to have 3 nodes
10  grows from 2 to 3 nodes: an operator or its user ordered it
At 10 it runs:
- on 3 nodes since 0, expected to end by 100; on its way to 3 nodes
)");
}

// What is measured of a job may be its model and its time in MPI at once: two things, two lines.
TEST(Explain, WhatComesAtOnceIsToldOneByOne) {
  ByHand hand(1, {.nodes = 4});
  hand.submit(0, 1, 2, JobType::malleable);
  hand.tell(10, event::Believed{JobId{0}, 0, 0.25, 0, Speedup{Speedup::Kind::powerlaw, 0.5}});
  EXPECT_EQ(hand.text(), R"(job 1: malleable, 2 nodes (1 to 4), 1:40 min
0  submitted: malleable, 2 nodes (1 to 4), 1:40 min
0  starts on 2 nodes: it was its turn
10  its run time is now believed to depend on its size as powerlaw:0.5
10  it is measured to be 0.25 times as long in MPI as it computes
At 10 it runs:
- on 2 nodes since 0, expected to end by 100
)");
}

TEST(Explain, AJobThatLeavesANodeThatDrains) {
  const char* const scenario = R"(platform nodes=4
policy equipartition
job 1 submit=0 nodes=4 run=10 type=malleable min=2 max=4 cost=1
node 4 1,3 drain
expect
)";
  EXPECT_EQ(explained(scenario, 1, 5), R"(job 1: malleable, 4 nodes (2 to 4), 10 s
0  submitted: malleable, 4 nodes (2 to 4), 10 s
0  starts on 4 nodes (0-3): it was its turn
4  shrinks from 4 to 2 nodes to leave nodes that drain
5  has 2 nodes (0 2) now
5  is now expected to end by 17
At 5 it runs:
- on 2 nodes (0 2) since 0, expected to end by 17
)");
}

/// Job 1 runs on 0-2, job 2 on 3-7 and is to give two nodes, for job 1 to grow or, if that waits,
/// to start.
class AClaim : public ::testing::Test {
 protected:
  void make(bool starts) {
    script_->write = [starts](Pass& pass) {
      const JobId first{0}, second{1};
      const Cut cuts[] = {{second, 3}};
      for (const JobId id : {first, second}) {
        const Nodes size = id == first ? 3 : 5;
        if (id == second || !starts) pass.start(id, exactly(size), {Why::in_order});
      }
      if (pass.now() == Time{whole_seconds(5)} && starts) {
        pass.start(first, exactly(5), {Why::shrunk_for, first}, {cuts});
      } else if (pass.now() == Time{whole_seconds(5)}) {
        pass.resize(first, 5, {Why::shrunk_for, first}, {cuts});
      }
    };
    for (const std::uint64_t name : {1, 2}) {
      JobSpec spec = malleable({1, 8}, name == 1 ? 3 : 5);
      spec.name = name;
      hand_.tell(0, event::Submitted{spec, AdaptiveSpec{}});
    }
    hand_.tell(5, event::ConfigChanged{script_->traits});
    ASSERT_NE(hand_.core.job(JobId{0}).claim, ClaimId::none);
  }
  /// What is said about this instant.
  std::vector<std::string> said(int at_s, const std::vector<Event>& events) {
    script_->write = nullptr;
    hand_.tell(at_s, events);
    std::vector<std::string> lines;
    for (const Explained& line : hand_.explainer.explanation().history) {
      if (line.at == Time{whole_seconds(at_s)}) lines.push_back(line.text);
    }
    return lines;
  }
  event::Resized refusal() const {
    const Job& victim = hand_.core.job(JobId{1});
    return {JobId{1}, victim.decision, victim.holding, {}};
  }
  static Event drains(std::uint32_t node) {
    return event::NodesChanged{NodeSet{{{node, node}}}, Health::draining};
  }

  std::shared_ptr<Scripted> script_ = std::make_shared<Scripted>();
  ByHand hand_{1, {.nodes = 8}, {}, script_, true};
  const std::string gave_up_ = "it waits no longer for the nodes that were to be freed for it";
  const std::string did_not_come_ = "the nodes that were to be freed for it did not come";
};

TEST_F(AClaim, OfAGrowthThatIsNotMet) {
  make(false);
  EXPECT_THAT(said(6, {refusal()}), ElementsAre(did_not_come_ + ": it stays as it is"));
}

TEST_F(AClaim, OfAStartThatIsNotMet) {
  make(true);
  EXPECT_THAT(said(6, {refusal()}), ElementsAre(did_not_come_ + ": it waits again"));
}

TEST_F(AClaim, OfAJobThatIsHeld) {
  make(true);
  EXPECT_THAT(said(6, {event::Eligible{JobId{0}, false}}), ElementsAre("held", gave_up_));
}

TEST_F(AClaim, OfAJobThatIsOrderedOtherwise) {
  make(false);
  EXPECT_THAT(
      said(6, {event::SizeOrdered{JobId{0}, 2}}),
      ElementsAre("it is ordered to have 2 nodes",
                  "shrinks from 3 to 2 nodes: an operator or its user ordered it", gave_up_));
}

TEST_F(AClaim, OfAJobThatSomebodyResized) {
  make(false);
  const auto lines = said(6, {event::Resized{JobId{0}, DecisionId::none, holding({{0, 1}}), {}}});
  EXPECT_THAT(lines, ElementsAre("has 2 nodes (0-1) now, which nobody ordered",
                                 "is now expected to end by 147", gave_up_));
  for (const Explained& line : hand_.explainer.explanation().history) {
    EXPECT_NE(line.reason, "ordered") << line.text;
  }
}

TEST_F(AClaim, OfAJobThatLeavesADrainingNode) {
  make(false);
  EXPECT_THAT(said(6, {drains(1), refusal()}),
              ElementsAre("shrinks from 3 to 2 nodes to leave nodes that drain", did_not_come_));
}

TEST_F(AClaim, ThatThePolicyWithdraws) {
  make(false);
  script_->write = [](Pass& pass) {
    EXPECT_TRUE(pass.withdraw(pass.job(JobId{0}).claim, {Why::resources}));
  };
  hand_.tell(6, event::ConfigChanged{script_->traits});
  EXPECT_EQ(hand_.explainer.explanation().history.back().text, gave_up_);
}

TEST_F(AClaim, ThatIsMet) {
  make(false);
  EXPECT_THAT(
      said(6, {event::Resized{JobId{1}, hand_.core.job(JobId{1}).decision, holding({{3, 5}}), {}}}),
      ElementsAre("grows from 3 to 5 nodes: the nodes freed for it are there"));
}

// ---- Every job, number of nodes and time that is named
// -------------------------------------------

/// What was so at an instant, by an account of its own.
class Books final : public Observer {
 public:
  struct Instant {
    std::map<std::uint64_t, std::set<Nodes>> nodes;  // of a job: held, to be held, asked
    std::set<std::pair<std::uint64_t, Time>> planned, ends, idle_again;
    std::set<std::pair<std::uint64_t, Time>> left_alone;  // until then
    std::map<std::uint64_t, std::set<std::pair<std::size_t, std::size_t>>>
        ahead;  // of a job in the queue: all, and those without a claim
    std::set<std::pair<std::uint64_t, std::pair<Nodes, Nodes>>> resizes;  // before, after
    std::set<Nodes> idle, in_service, pledged, claimed;
    std::set<Time> claims_expected;
    std::set<std::pair<std::uint64_t, Duration>> delays;
    std::set<std::pair<std::int64_t, std::int64_t>> requests;  // more or fewer nodes, at least
  };

  bool wants_events() const override { return true; }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    if (const auto* request = std::get_if<event::EvolvingRequested>(&event)) {
      at(now).requests.insert({std::abs(request->delta), request->at_least});
    }
    if (const auto* its = std::get_if<event::Submitted>(&event))
      submitted[its->job.name] = its->job;
    if (const auto* its = std::get_if<event::Started>(&event); its && taken) {
      started_[core.job(its->job).spec.name] = now;
    }
    if (const auto* its = std::get_if<event::Ended>(&event)) {
      if (submitted.size() > index(its->job)) ended_at(now, its->job);
    }
    if (const auto* its = std::get_if<event::Suspended>(&event); its && taken) {
      ended_at(now, its->job);
    }
    look(now, core);
  }
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (!core.state().jobs.contains(decision.job)) return;
    const std::uint64_t name = core.job(decision.job).spec.name;
    const auto known = sizes_.find(name);
    const Nodes before = known == sizes_.end() ? 0 : known->second;
    if (decision.kind == Decision::Kind::start) started_[name] = now;
    if (decision.kind == Decision::Kind::start || decision.kind == Decision::Kind::resize) {
      at(now).resizes.insert({name, {before, decision.after.count}});
    }
    look(now, core);
  }
  void on_close(Time now, const Core& core) override {
    for (const PenCall& call : core.pen_calls()) {
      for (const Delay& delay : call.delays) {
        at(now).delays.insert({core.job(delay.job).spec.name, delay.by});
      }
    }
    look(now, core);
  }
  /// What the policy plans if it is asked once more.
  void plan_again(const Core& core, const Policy& policy) {
    Core again(core);
    const Time now = core.state().now;
    again.apply(now, event::ConfigChanged{core.traits()});
    again.close(now, policy);
    look(now, again);
  }

  Instant& at(Time now) { return instants_[now]; }
  std::map<std::uint64_t, JobSpec> submitted;
  std::map<std::uint64_t, std::set<std::pair<Time, Duration>>> ran;  // ended then, after so long

 private:
  void ended_at(Time now, JobId id) {
    const auto its = std::next(submitted.begin(), static_cast<std::ptrdiff_t>(index(id)));
    ran[its->first].insert({now, now - started_[its->first]});
  }
  void look(Time now, const Core& core) {
    const State& state = core.state();
    Instant& here = at(now);
    here.idle.insert(state.idle.count());
    here.in_service.insert(state.platform.nodes - state.not_up.count());
    for (const Claim& claim : state.claims) {
      here.claimed.insert(claim.held.count);
      here.claims_expected.insert(claim.expected);
      for (const Pledge& pledge : claim.pledges) here.pledged.insert(pledge.count);
    }
    state.releases.for_each([&](Time time, ReleaseTag who, std::int64_t) {
      JobId id{who.id()};
      if (who.kind() == ReleaseTag::Kind::claim) {
        id = std::ranges::find(state.claims, ClaimId{who.id()}, &Claim::id)->job;
      }
      const Time expected = time > now ? time : now + whole_seconds(1);
      here.idle_again.insert({core.job(id).spec.name, expected});
    });
    std::vector<JobId> queue;
    for (std::uint32_t i = 0; i < state.jobs.size(); ++i) {
      if (!state.jobs.contains(JobId{i})) continue;
      const Job& job = core.job(JobId{i});
      const std::uint64_t name = job.spec.name;
      auto& nodes = here.nodes[name];
      nodes.insert(job.spec.preferred);
      nodes.insert(job.holding.count);
      nodes.insert(job.target);
      if (job.reserved != kNever) here.planned.insert({name, job.reserved});
      here.left_alone.insert({name, job.not_before});
      if (job.status == Status::pending) queue.push_back(JobId{i});
      if (job.status == Status::running) {
        here.ends.insert({name, job.limit});
        here.ends.insert({name, state.expected_end(job)});
        if (job.doing == Doing::nothing) sizes_[name] = job.holding.count;
        if (job.doing == Doing::nothing && !started_.contains(name)) started_[name] = job.started;
      }
    }
    // Who started in this instant, too, was behind those that wait now.
    for (std::uint32_t i = 0; i < state.jobs.size(); ++i) {
      if (!state.jobs.contains(JobId{i})) continue;
      const Job& job = core.job(JobId{i});
      std::size_t ahead = 0, unclaimed = 0;
      for (const JobId id : queue) {
        const Job& other = core.job(id);
        if (id == JobId{i} || !state.queue.before(id, other.spec, JobId{i}, job.spec)) continue;
        ++ahead;
        if (other.claim == ClaimId::none) ++unclaimed;
      }
      here.ahead[job.spec.name].insert({ahead, unclaimed});
    }
  }

  std::map<Time, Instant> instants_;
  std::map<std::uint64_t, Nodes> sizes_;
  std::map<std::uint64_t, Time> started_;
};

Time time_of(const std::string& text) { return Time{seconds(std::stod(text))}; }

/// Takes what is named out of the text, and looks at each; nothing with a digit may be left.
class Check {
 public:
  Check(Books& books, std::uint64_t job) : books_(books), job_(job) {}

  void line(const Explained& line) {
    SCOPED_TRACE(line.text);
    text_ = line.text;
    Books::Instant& here = books_.at(line.at);
    const auto number = [](const std::string& text) {
      return static_cast<Nodes>(std::stoul(text));
    };
    const auto name = [](const std::string& text) { return std::uint64_t{std::stoul(text)}; };
    const auto has = [](const auto& set, const auto& value) { return set.contains(value); };
    const JobSpec& spec = books_.submitted.at(job_);
    std::set<std::uint64_t> named;
    const auto nodes_of_job = [&](const std::string& who, const std::string& nodes) {
      named.insert(name(who));
      EXPECT_TRUE(has(here.nodes[name(who)], number(nodes))) << who << " has no " << nodes;
    };
    const std::string job = R"(job (\d+) \((\d+) nodes?\))", time = R"((-?\d+(?:\.\d+)?))",
                      nodes = R"((\d+) nodes?)", duration = R"(([\d:.]+ (?:s|min|h)))";

    // What is not of the state: settings, the nodes themselves.
    each(R"(the policy is .*)", [](auto&) {});
    each(R"(rules allow \(.*\))", [](auto&) {});
    each(nodes + R"( \([\d -]+\))", [&](auto& m) {
      EXPECT_TRUE(has(here.nodes[job_], number(m[1])));
      const std::string which = m.str();
      const auto set = parse_node_set(commas(which.substr(which.find('(') + 1)));
      EXPECT_TRUE(set && set->count() == number(m[1])) << which;
    });
    each("submitted: .*", [&](auto& m) {
      EXPECT_NE(m.str().find(duration_text(spec.walltime)), std::string::npos);
      EXPECT_NE(m.str().find(std::string(word(spec.type))), std::string::npos);
      EXPECT_NE(m.str().find(std::to_string(spec.preferred) + " node"), std::string::npos);
    });
    each("(?:had|has) waited " + duration, [&](auto& m) {
      const bool is_own = m.str().starts_with("had");
      const JobSpec& who =
          is_own || named_last().empty() ? spec : books_.submitted.at(name(named_last()));
      EXPECT_EQ(m[1].str(), duration_text(line.at - who.submitted));
    });
    each("running for " + duration, [&](auto& m) {
      bool is_one = false;
      for (const auto& [end, length] : books_.ran[job_]) {
        is_one = is_one || (end == line.at && duration_text(length) == m[1].str());
      }
      EXPECT_TRUE(is_one);
    });
    each("before (\\d+) jobs? ahead", [&](auto& m) {
      bool is_one = false;
      for (const auto& [all, unclaimed] : here.ahead[job_]) is_one |= unclaimed == number(m[1]);
      EXPECT_TRUE(is_one);
    });
    each(job + "(?:,| is)? planned (?:for|from) " + time, [&](auto& m) {
      nodes_of_job(m[1], m[2]);
      EXPECT_TRUE(has(here.planned, std::pair(name(m[1]), time_of(m[3])))) << m.str();
    });
    each(job + " at " + time, [&](auto& m) {
      nodes_of_job(m[1], m[2]);
      EXPECT_TRUE(has(here.idle_again, std::pair(name(m[1]), time_of(m[3])))) << m.str();
    });
    each(job + " gives (\\d+)", [&](auto& m) {
      nodes_of_job(m[1], m[2]);
      EXPECT_TRUE(has(here.pledged, number(m[3]))) << m.str();
    });
    each(job + " goes from (\\d+) to " + nodes, [&](auto& m) {
      nodes_of_job(m[1], m[2]);
      EXPECT_TRUE(has(here.resizes, std::pair(name(m[1]), std::pair(number(m[3]), number(m[4])))))
          << m.str();
    });
    each(job + " by " + duration, [&](auto& m) {
      nodes_of_job(m[1], m[2]);
      bool is_one = false;
      for (const auto& [who, by] : here.delays) {
        is_one |= who == name(m[1]) && duration_text(by) == m[3].str();
      }
      EXPECT_TRUE(is_one) << m.str();
    });
    each("delayed by " + duration, [&](auto& m) {
      bool is_one = false;
      for (const auto& [who, by] : here.delays) {
        is_one |= who == job_ && duration_text(by) == m[1].str();
      }
      EXPECT_TRUE(is_one) << m.str();
    });
    each(job, [&](auto& m) { nodes_of_job(m[1], m[2]); });
    each("planned to start at " + time, [&](auto& m) {
      EXPECT_TRUE(has(here.planned, std::pair(job_, time_of(m[1])))) << m.str();
    });
    each("end by " + time,
         [&](auto& m) { EXPECT_TRUE(has(here.ends, std::pair(job_, time_of(m[1])))) << m.str(); });
    each("alone until " + time, [&](auto& m) {
      EXPECT_TRUE(has(here.left_alone, std::pair(job_, time_of(m[1])))) << m.str();
    });
    each(", expected at " + time,
         [&](auto& m) { EXPECT_TRUE(has(here.claims_expected, time_of(m[1]))) << m.str(); });
    each("(?:grows|shrinks) from (\\d+) to " + nodes, [&](auto& m) {
      EXPECT_TRUE(has(here.resizes, std::pair(job_, std::pair(number(m[1]), number(m[2])))));
    });
    each("starts on " + nodes, [&](auto& m) { EXPECT_TRUE(has(here.nodes[job_], number(m[1]))); });
    each("asks for " + nodes + " (?:more|fewer)(?:, at least (\\d+))?", [&](auto& m) {
      const std::int64_t least = m[2].matched ? number(m[2]) : 0;
      EXPECT_TRUE(has(here.requests, std::pair(std::int64_t{number(m[1])}, least))) << m.str();
    });
    each("asks for " + nodes + "(?:, and can run on (\\d+))?", [&](auto& m) {
      EXPECT_EQ(number(m[1]), spec.preferred);
      if (m[2].matched) {
        EXPECT_GE(number(m[2]), spec.size.min);
        EXPECT_LT(number(m[2]), spec.preferred);
      }
    });
    each("(\\d+) of (\\d+)(?: nodes?)? (?:is|are) idle",
         [&](auto& m) { EXPECT_TRUE(has(here.idle, number(m[1]))); });
    each("only " + nodes + " (?:is|are) in service",
         [&](auto& m) { EXPECT_TRUE(has(here.in_service, number(m[1]))); });
    each(nodes + " (?:is|are) kept",
         [&](auto& m) { EXPECT_TRUE(has(here.claimed, number(m[1]))) << m.str(); });
    each("(?:has|keeps|on) " + nodes,
         [&](auto& m) { EXPECT_TRUE(has(here.nodes[job_], number(m[1]))) << m.str(); });
    each("where (\\d+) were ordered|on its way to " + nodes, [](auto&) {});
    each("which has " + nodes, [](auto&) {});
    each("since " + time, [](auto&) {});
    each("run until " + time, [&](auto& m) { EXPECT_GT(time_of(m[1]), line.at); });
    each("enough nodes are expected at " + time, [&](auto& m) {
      EXPECT_TRUE(std::ranges::any_of(
          here.idle_again, [&](const auto& row) { return row.second == time_of(m[1]); }));
    });
    each("it is measured to be [\\d.]+ times", [](auto&) {});
    each("changed \\d+ times", [](auto&) {});
    each("\\d+ more", [](auto&) {});
    EXPECT_EQ(text_.find_first_of("0123456789"), std::string::npos) << "left: " << text_;
    EXPECT_EQ(named, std::set<std::uint64_t>(line.jobs.begin(), line.jobs.end()));
    ++lines;
  }

  /// Of what a line of this kind is made: what two of them say is not glued together, and nothing
  /// is put down to an order where nobody gave one.
  static void says_one_thing(const Explained& line) {
    const std::string n = R"(\d+ nodes?)", on = n + R"((?: \([\d -]+\))?)",
                      t = R"(-?\d+(?:\.\d+)?)", d = R"([\d:.]+ (?:s|min|h))",
                      j = R"((?:this job|a job that is over|job \d+ \(\d+ nodes?\)))",
                      list = R"([^;]+)";
    static const std::map<std::string, std::string> kLines{
        {"submitted", "submitted: [a-z]+, " + n + R"((?: \(\d+ to \d+\))?, )" + d},
        {"request", "asks for " + n + R"( (?:more|fewer)(?:, at least \d+)?)"},
        {"believed",
         "its run time is now believed to depend on its size as [^ ]+|it is measured to be "
         "[\\d.]+ times as long in MPI as it computes"},
        {"start-failed", "could not be started: it waits again, and is left alone until " + t},
        {"started", "runs on " + on},
        {"resized",
         "has " + on + " now(?:, which nobody ordered|, where \\d+ were ordered)?|keeps " + on +
             ": it did not (?:do the resize|stop)(?:, and is left alone until " + t + ")?"},
        {"ordered", "it is ordered to stop: [a-z]+|the order to stop it is lifted"},
        {"cancel", "is to end: an operator or its user ordered it"},
        {"requeue", "is to leave its nodes and begin anew: an operator or its user ordered it"},
        {"suspend", "is to leave its nodes and go on later: an operator or its user ordered it"},
        {"suspended",
         "suspended after running for " + d + ": what it did is kept, and it waits again"},
        {"ended",
         "(?:completed|ended at its time limit|ended with a lost node|cancelled)(?: after "
         "running for " +
             d + ")?"},
        {"requeued",
         "(?:lost a node|requeued by order)(?: after running for " + d + ")?: it waits again"},
        {"limit", "is now expected to end by " + t},
        {"rejected", "rejected: it can never run on this machine, which has " + n},
        {"held", "held"},
        {"released", "released: it waits in the queue"},
        {"start", "starts on " + on +
                      "(?:: it was its turn|: the nodes freed for it are there|: on cores that "
                      "running jobs left to it|: backfilled(?: before "
                      "\\d+ jobs? ahead of it)?(?:; of these " +
                      list + R"()?| \([a-z-]+\)))" + "(?:; it had waited " + d + ")?"},
        {"resize",
         R"((?:(?:grows|shrinks) from \d+ to )" + n + "|moves to " + on + ")(?: so that " + j +
             " can (?:start|grow)(?: earlier)?(?:, which has waited " + d +
             ")?|: the nodes freed for it are there| for others|: it asked for that"
             "|: the nodes were free| to leave nodes that drain| to keep the power corridor)"},
        {"deny",
         R"(its request is denied: (?:it would delay others by more than the rules allow \(.*\)|\d+ of )" +
             n + " (?:is|are) idle, and no others can be had)"},
        {"plan",
         "(?:no time is known at which it could start|planned to start as soon as other jobs "
         "have given up nodes|planned to start at " +
             t + "(?:, by when (?:(?:nodes are|power is) expected of " + list +
             R"(|a reservation ends))?)(?:; changed \d+ times since the first plan)?)"},
        {"claim", "room is made for it to (?:start|grow): " + list + "(?:; " + n +
                      " (?:is|are) kept for it)?"},
        {"dissolved",
         "the nodes that were to be freed for it did not come(?:: it stays as it is|: it "
         "waits again)?|it waits no longer for the nodes that were to be freed for it"},
        {"delays", "that its request is granted delays " + list},
        {"delayed", "delayed by " + d + ": the request of " + j + " is granted"},
        {"for-it", "for its sake " + list}};
    const auto known = kLines.find(line.what);
    ASSERT_NE(known, kLines.end()) << line.what;
    static std::map<std::string, std::regex> regexes;
    const auto regex = regexes.try_emplace(line.what, known->second).first;
    EXPECT_TRUE(std::regex_match(line.text, regex->second)) << line.what << ": " << line.text;
    // No line begins within a list.
    static const std::regex kBegin(
        "[^ ](?:planned to start|room is made|for its sake|delayed by|starts on|that its request)");
    EXPECT_FALSE(std::regex_search(line.text, kBegin)) << line.text;
  }

  std::uint64_t lines = 0, facts = 0;

 private:
  static std::string commas(std::string nodes) {
    nodes.pop_back();
    std::ranges::replace(nodes, ' ', ',');
    return nodes;
  }
  /// The job named before the place that is looked at.
  std::string named_last() const {
    static const std::regex kJob(R"(job (\d+) \()");
    std::string last;
    for (std::sregex_iterator at(text_.begin(), text_.end(), kJob), end; at != end; ++at) {
      last = (*at)[1];
    }
    return last;
  }
  template <class Look>
  void each(const std::string& pattern, Look look) {
    static std::map<std::string, std::regex> patterns;
    const auto regex = patterns.try_emplace(pattern, pattern).first;
    std::smatch match;
    while (std::regex_search(text_, match, regex->second)) {
      const std::smatch found = match;
      look(found);
      text_ = std::string(match.prefix()) + "_" + std::string(match.suffix());
      ++facts;
    }
  }

  Books& books_;
  std::uint64_t job_;
  std::string text_;
};

/// An explainer and books, up to a time.
class Both final : public Observer {
 public:
  Both(Explainer& explainer, Books& books, const Policy& policy)
      : explainer_(explainer), books_(books), policy_(policy) {}
  bool wants_events() const override { return true; }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    books_.on_event(now, event, taken, core);
    explainer_.on_event(now, event, taken, core);
  }
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    books_.on_decision(now, decision, core);
    explainer_.on_decision(now, decision, core);
  }
  void on_close(Time now, const Core& core) override {
    books_.on_close(now, core);
    explainer_.on_close(now, core);
  }
  void on_finish(Time now, const Core& core) override {
    books_.plan_again(core, policy_);
    explainer_.on_finish(now, core);
  }

 private:
  Explainer& explainer_;
  Books& books_;
  const Policy& policy_;
};

TEST(Explain, NamesNothingThatWasNotRecorded) {
  std::uint64_t lines = 0, facts = 0;
  std::map<std::string, std::uint64_t> kinds;
  const std::uint64_t runs = for_seeds(400, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 21);
    const PolicyInfo& info = policies()[seed % policies().size()];
    Trouble t = random_trouble(seed);
    const std::string policy = random_parameters(info, draws);
    SCOPED_TRACE(policy);
    t.settings.policy = make_policy(policy);
    t.settings.rules.record = true;
    // Where the order changes with time, a policy that is asked once more may plan otherwise.
    if (t.workload.jobs.empty() || changes_with_time(t.settings.policy->traits.order)) return;
    // What a portfolio saw ahead is in no book here; look_ahead_test.cpp has it.
    if (t.settings.policy->portfolio()) return;
    const WorkloadJob& about = t.workload.jobs[draws.below(t.workload.jobs.size())];
    Explainer explainer(about.name, simulated_time,
                        [&](std::string_view) { return t.settings.policy; });
    Books books;
    Both both(explainer, books, *t.settings.policy);
    Until watch(both, about.submit + seconds(draws.chance(0.4) ? 1e6 : draws.uniform(0, 200)));
    Observer* const observers[] = {&watch};
    simulate(t.workload, t.settings, observers);
    const Explanation& explanation = explainer.explanation();
    Check check(books, about.name);
    for (const Explained& line : explanation.history) {
      check.line(line);
      Check::says_one_thing(line);
    }
    for (const Explained& line : explanation.now) check.line(line);
    for (const Explained& line : explanation.history) ++kinds[line.what];
    for (const Explained& line : explanation.now) ++kinds["now " + line.what];
    if (::testing::Test::HasFailure())
      std::fputs(to_text(explanation, simulated_time).c_str(), stderr);
    lines += check.lines;
    facts += check.facts;
  });
  if (runs == 0) return;
  EXPECT_GT(lines, 1000u);
  EXPECT_GT(facts, lines);
  for (const char* kind : {"start", "resize", "claim", "dissolved", "plan", "request", "deny",
                           "ended", "now ahead", "now plan", "now running", "now nodes"}) {
    EXPECT_GT(kinds[kind], 1u) << kind;
  }
}

/// Of each plan that is told: do they who are named hold, or claim, nodes that its job can use?
class Usable final : public Observer {
 public:
  bool wants_events() const override { return true; }
  void on_event(Time, const Event& event, bool taken, const Core& core) override {
    if (taken) circumstances_.after(event, core);
  }
  void on_decision(Time, const Decision& decision, const Core&) override {
    decisions_.push_back(decision);
  }
  void on_close(Time now, const Core& core) override {
    for (const Circumstance& plan : circumstances_.at_close(decisions_, core)) {
      if (plan.what != Circumstance::What::plan) continue;
      const NodeSet its =
          core.state().cells.nodes(core.state().usable_cells(*named(plan.job, core)));
      for (const Circumstance::Other& other : plan.others) {
        if (other.kind == Circumstance::Other::Kind::boot) continue;
        const Job* const who = named(other.number, core);
        ASSERT_NE(who, nullptr);
        NodeSet nodes = who->holding.nodes;
        for (const Claim& claim : core.state().claims) {
          if (&core.job(claim.job) != who) continue;
          nodes.insert(claim.held.nodes);
          for (const Pledge& pledge : claim.pledges) {
            nodes.insert(core.job(pledge.victim).holding.nodes);
          }
        }
        EXPECT_TRUE(nodes.intersects(its))
            << "job " << plan.job << " names job " << other.number << " at " << to_seconds(now);
        ++told;
      }
    }
    decisions_.clear();
  }

  std::uint64_t told = 0;

 private:
  static const Job* named(std::uint64_t number, const Core& core) {
    for (std::uint32_t i = 0; i < core.state().jobs.size(); ++i) {
      if (!core.state().jobs.contains(JobId{i})) continue;
      if (core.job(JobId{i}).spec.name == number) return &core.job(JobId{i});
    }
    return nullptr;
  }

  Circumstances circumstances_{std::nullopt};
  std::vector<Decision> decisions_;
};

TEST(Explain, NamesOnlyThoseWhoseNodesAJobCanUse) {
  std::uint64_t told = 0;
  const std::uint64_t runs = for_seeds(200, [&](std::uint64_t seed) {
    Draws draws(seed, Stream::test, 22);
    Trouble t = random_trouble(seed);
    t.settings.policy = make_policy(random_parameters(policies()[seed % policies().size()], draws));
    t.settings.rules.record = t.settings.rules.identities = true;
    const Nodes all = t.settings.platform.nodes;
    const auto part = [&](std::uint32_t first, std::uint32_t last) {
      return NodeSet{{{first, last}}};
    };
    t.settings.platform.partitions = {{.name = "A", .nodes = part(0, all * 2 / 3)},
                                      {.name = "B", .nodes = part(all / 2, all - 1)}};
    for (const std::uint64_t in : {1, 2, 3}) t.workload.where.push_back({.partitions = in});
    for (WorkloadJob& job : t.workload.jobs) {
      job.where = static_cast<std::uint32_t>(1 + draws.below(3));
    }
    Usable usable;
    Observer* const observers[] = {&usable};
    simulate(t.workload, t.settings, observers);
    told += usable.told;
  });
  if (runs > 0) EXPECT_GT(told, 500u);
}

// ---- Without the policy
// --------------------------------------------------------------------------

/// Of a log whose policy is not there: how the job stands, as "what: text"; and how often the
/// policy was asked for.
std::pair<std::vector<std::string>, int> without_policy(std::uint64_t job) {
  const std::string log =
      "ductile-log 3\n"
      "platform 4 1 0 0 0\n"
      "world 1 4294967295 0\n"
      "rules scaled 1 1 none 1\n"
      "policy gone 4294967295 0 fcfs 0 604800000000 none preferred 0 0\n"
      "E 0 1 submitted 1 7 0 0 0 rigid 0 10000000 3 3 3 0\n"
      "C 0 1\n"
      "P start 0 - - - 3 3 in-order - 0 0 0 0 0\n"
      "D 1 start 0 3 0-2 10000000 - in-order - 0\n"
      "E 1000000 1 submitted 2 7 0 0 0 rigid 1000000 5000000 4 4 4 0\n"
      "E 1000000 1 submitted 3 7 0 0 0 rigid 1000000 5000000 4 4 4 0\n"
      "C 1000000 1\n";
  std::istringstream in(sealed_log(log));
  int asked = 0;
  Explainer explainer(job, simulated_time, [&](std::string_view settings) {
    ++asked;
    return Registry().make(settings);
  });
  fold(in, "run.log", explainer);
  std::vector<std::string> now;
  for (const Explained& line : explainer.explanation().now) {
    now.push_back(line.what + ": " + line.text);
  }
  return {now, asked};
}

TEST(ExplanationWithoutPolicy, OfARunningJobNeedsNone) {
  EXPECT_EQ(
      without_policy(1),
      (std::pair(std::vector<std::string>{"running: on 3 nodes (0-2) since 0, expected to end "
                                          "by 10"},
                 0)));
}

TEST(ExplanationWithoutPolicy, OfAWaitingJobTellsTheRest) {
  const auto [now, asked] = without_policy(3);
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(now, ElementsAre("nodes: it asks for 4 nodes; 1 of 4 is idle",
                               "ahead: ahead of it in the queue: job 2 (4 nodes)",
                               ::testing::StartsWith("no-plan: what is planned cannot be told: "
                                                     "there is no policy 'gone'; there are ")));
}

}  // namespace
}  // namespace ductile::testing
