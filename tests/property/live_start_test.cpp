// Controllers that begin, without chance: while their world is out of reach, with another one,
// after an instant that was not closed; and who says which nodes are used.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/line_socket.hpp"
#include "live/controller.hpp"
#include "live/journal.hpp"
#include "live/snapshots.hpp"
#include "policies/registry.hpp"
#include "scheduling/policy.hpp"
#include "support/fake_world.hpp"

namespace ductile::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A policy that cannot do without switching nodes.
class Needy final : public Policy {
 public:
  explicit Needy(const Parameters&) : Policy({.needs = {.power_control = true}}) {}
  void schedule(Pass&) const override {}
};

/// A controller and its world, without chance.
class Small {
 public:
  explicit Small(const std::string& name) : folder_(::testing::TempDir() + name) {
    spdlog::set_level(spdlog::level::off);
    std::signal(SIGPIPE, SIG_IGN);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    settings.platform = platform_;
    settings.policy = "fcfs";
    settings.state = folder_;
    settings.socket = folder_ + "/socket";
    registry_.policies.push_back(
        {.name = "needy", .summary = "", .source = "", .make = make_policy<Needy>});
    world.be_kind();
  }
  ~Small() {
    stop();
    fs::remove_all(folder_);
  }
  Small(const Small&) = delete;
  Small& operator=(const Small&) = delete;

  void make() {
    controller = std::make_unique<Controller>(settings, registry_, reload_, world, clocks);
  }
  void begin() {
    make();
    controller->begin();
  }
  /// Dies.
  void stop() {
    controller.reset();
    world.leave_alone();
  }
  void turn(Duration after = Duration{}) {
    clocks.advance(after);
    world.live();
    controller->turn(Duration{});
  }
  /// What a controller says that cannot begin.
  std::string refusal() {
    std::string said;
    try {
      begin();
    } catch (const InputError& error) {
      said = error.what();
    }
    stop();
    return said;
  }
  Json ask(const Json& request) {
    constexpr std::size_t kMost = std::size_t{1} << 22;
    LineSocket lines(connect_unix(settings.socket), kMost, kMost);
    lines.send(request.dump());
    for (int i = 0; i < 1000; ++i) {
      turn(std::chrono::milliseconds(10));
      lines.work();
      if (const auto line = lines.next()) return Json::parse(*line);
    }
    return {};
  }
  static Json job(Nodes nodes) {
    Submission what;
    what.program = {"/bin/true"};
    what.folder = "/";
    what.nodes = nodes;
    what.walltime = whole_seconds(1000);
    return to_json(what);
  }
  const std::string& folder() const { return folder_; }

  FakeClocks clocks{};

 private:
  Platform platform_{.nodes = 2, .cores_per_node = 2};

 public:
  FakeWorld world{1, platform_, clocks};
  ServeSettings settings{};
  std::unique_ptr<Controller> controller{};

 private:
  std::string folder_;
  std::function<ServeSettings()> reload_ = [this] { return settings; };
  Registry registry_{};
};

TEST(LiveStart, AControllerBeginsWhileItsWorldIsOutOfReach) {
  Small all("live-world-lost");
  all.world.begin_lost(whole_seconds(5));
  EXPECT_EQ(all.refusal(),
            "the cluster is out of reach, and nothing is known of it; start the controller when it "
            "is back");
  all.clocks.advance(whole_seconds(5));
  all.world.live();
  all.begin();
  EXPECT_TRUE(all.ask({{"do", "queue"}})["lost_since_s"].is_null());
  ASSERT_EQ(all.ask({{"do", "submit"}, {"job", Small::job(2)}})["job"], 1);
  ASSERT_EQ(all.ask({{"do", "submit"}, {"job", Small::job(1)}})["job"], 2);
  all.stop();

  all.world.begin_lost(whole_seconds(5));
  all.begin();
  const double begun = to_seconds(all.clocks.wall());
  all.turn(whole_seconds(1));
  EXPECT_NEAR(all.ask({{"do", "queue"}})["lost_since_s"].get<double>(), begun, 0.1);
  EXPECT_NEAR(all.ask({{"do", "nodes"}})["lost_since_s"].get<double>(), begun, 0.1);
  EXPECT_EQ(all.ask({{"do", "queue"}})["jobs"].size(), 2u);
  EXPECT_EQ(all.ask({{"do", "submit"}, {"job", Small::job(1)}})["error"],
            "the cluster takes no jobs now; try again later");
  EXPECT_EQ(all.ask({{"do", "cancel"}, {"jobs", {2}}})["ok"], true);
  EXPECT_LE(all.controller->until_next(), whole_seconds(1));
  for (int i = 0; i < 300; ++i) all.turn(whole_seconds(1));
  EXPECT_TRUE(all.ask({{"do", "queue"}})["lost_since_s"].is_null());
  EXPECT_TRUE(all.world.fate(1).ended);
  EXPECT_EQ(all.world.fate(2).starts, 0u);
}

TEST(LiveStart, AnotherKindOfWorldIsRefused) {
  Small all("live-world-kind");
  all.begin();
  all.stop();
  all.world.is.kind = "slurm";
  const std::string said = fmt::format(
      "the folder '{}' is of another kind of cluster, 'fake', and not 'slurm'; give another folder "
      "with --state",
      all.folder());
  EXPECT_EQ(all.refusal(), said);
  // Also one that is known later.
  all.world.begin_lost(whole_seconds(1));
  all.begin();
  EXPECT_THROW(all.turn(whole_seconds(1)), InputError);
  all.stop();
  all.world.is.kind = "fake";
  EXPECT_EQ(all.refusal(), "");
}

/// The world cannot do what the policy needs, and nothing is written of that.
TEST(LiveStart, APolicyThatNeedsMoreThanTheWorldCanDoIsRefused) {
  Small all("live-world-needs");
  all.begin();
  all.stop();
  all.settings.policy = "needy";
  EXPECT_EQ(all.refusal(),
            "policy needy: this world lacks nodes that can be switched on and off; use another "
            "policy or another world");
  all.world.begin_lost(whole_seconds(1));
  EXPECT_EQ(all.refusal(), "this world cannot do what the policy needy needs; use another policy");
  all.settings.policy = "fcfs";
  EXPECT_EQ(all.refusal(), "");
  all.clocks.advance(whole_seconds(2));
  all.world.live();
  all.settings.policy = "needy";
  all.world.is.capabilities.power_control = true;
  EXPECT_EQ(all.refusal(), "");
}

/// It could once. Nothing is decided until it can again; everything else goes on.
TEST(LiveStart, AWorldThatCanNoLongerDoWhatThePolicyNeeds) {
  Small all("live-world-lacks");
  const std::string lacks = "nodes that can be switched on and off";
  const auto shown = [&] { return all.ask({{"do", "queue"}})["lacks"]; };
  all.world.is.capabilities.power_control = true;
  all.settings.policy = "needy";
  all.begin();
  EXPECT_TRUE(shown().is_null());
  Capabilities can = all.world.is.capabilities;
  can.power_control = false;
  all.world.become(all.world.is.platform, can);
  EXPECT_EQ(shown(), lacks);
  EXPECT_EQ(all.ask({{"do", "nodes"}})["lacks"], lacks);
  ASSERT_EQ(all.ask({{"do", "submit"}, {"job", Small::job(1)}})["job"], 1);
  const std::uint64_t passes = all.controller->core().state().passes;
  for (int i = 0; i < 10; ++i) all.turn(whole_seconds(10));
  EXPECT_EQ(all.controller->core().state().passes, passes);
  // Also for the next controller, from a snapshot, and one that begins without its world.
  all.controller->end();
  all.stop();
  all.world.begin_lost(whole_seconds(2));
  all.begin();
  for (int i = 0; i < 4; ++i) all.turn(whole_seconds(1));
  EXPECT_EQ(shown(), lacks);
  EXPECT_EQ(all.controller->core().state().passes, passes);
  all.stop();
  can.power_control = true;
  all.world.begin_lost(whole_seconds(2));
  all.begin();
  EXPECT_EQ(shown(), lacks);
  all.world.become(all.world.is.platform, can);
  for (int i = 0; i < 4; ++i) all.turn(whole_seconds(1));
  EXPECT_TRUE(shown().is_null());
  EXPECT_GT(all.controller->core().state().passes, passes);
}

/// It comes back between the constructor and `begin`, as another one.
TEST(LiveStart, AWorldThatIsBackBeforeItIsBegunIsLookedAt) {
  Small all("live-world-between");
  all.begin();
  all.stop();
  all.world.begin_lost(whole_seconds(1));
  all.make();
  all.clocks.advance(whole_seconds(2));
  all.world.live();
  all.world.become({.nodes = 4, .cores_per_node = 2}, all.world.is.capabilities);
  all.controller->begin();
  EXPECT_EQ(all.ask({{"do", "nodes"}})["nodes"].size(), 4u);
  all.stop();
  all.world.begin_lost(whole_seconds(1));
  all.make();
  all.clocks.advance(whole_seconds(2));
  all.world.live();
  all.world.is.kind = "slurm";
  EXPECT_THROW(all.controller->begin(), InputError);
}

/// A job that can never run came in an instant that its controller did not close.
TEST(LiveStart, AJobIsRejectedByTheNextController) {
  for (const bool settles : {false, true}) {
    Small all("live-world-reject");
    all.begin();
    all.stop();
    all.world.bring({geteuid(), getegid()}, submission_from_json(Small::job(1)));
    {
      Journal journal(all.folder() + "/journal.db");
      Core core = recover_core(journal, all.folder()).core;
      const event::Submitted large{
          {.name = 1, .walltime = whole_seconds(1), .size = {9, 9}, .preferred = 9}, {}};
      journal.begin();
      journal.submitted({.id = JobId{0}, .number = 1, .name = "large", .type = "rigid"},
                        Small::job(9).dump());
      journal.event(core.state().now, large, core.apply(core.state().now, large), {});
      journal.commit();
      ASSERT_EQ(core.job(JobId{0}).status, Status::over);
    }
    if (settles) settle(all.folder());
    all.begin();
    all.turn();
    EXPECT_TRUE(all.ask({{"do", "queue"}})["jobs"].empty());
    all.stop();
    const Journal journal(all.folder() + "/journal.db", Journal::Use::read);
    EXPECT_EQ(journal.job(1)->state, "cancelled");
    EXPECT_EQ(journal.job(1)->note, kCanNeverRun);
  }
}

TEST(LiveStart, WhatTheWorldSaysIsDownNoOperatorBringsUp) {
  Small all("live-world-health");
  const auto states = [&] {
    std::string states;
    const Json answer = all.ask({{"do", "nodes"}});
    for (const Json& node : answer["nodes"]) {
      states += node["state"].get<std::string>() + " ";
    }
    return states;
  };
  const auto drain = [&](const char* health) {
    return all.ask({{"do", "drain"}, {"nodes", "0"}, {"health", health}});
  };
  all.begin();
  all.world.fail(0);
  all.turn();
  EXPECT_EQ(states(), "DOWN IDLE ");
  EXPECT_EQ(drain("up")["note"],
            "not all of them are used again: the cluster says that nodes 0 are down");
  EXPECT_EQ(states(), "DOWN IDLE ");
  drain("draining");
  all.stop();
  all.begin();
  EXPECT_EQ(states(), "DOWN IDLE ");
  // It is up again, while nobody looks, and drained all the same.
  all.stop();
  all.world.repair(0);
  all.begin();
  EXPECT_EQ(states(), "DRAINED IDLE ");
  EXPECT_FALSE(drain("up").contains("note"));
  EXPECT_EQ(states(), "IDLE IDLE ");
}

}  // namespace
}  // namespace ductile::testing
