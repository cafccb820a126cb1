#include "live/controller.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.hpp"
#include "live/journal.hpp"
#include "policies/registry.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

/// The smallest world: a test says what happens in it, and looks what was ordered.
class SmallWorld final : public World {
 public:
  Description describe() const override {
    return {{.nodes = nodes, .cores_per_node = 1}, {.instant_start = false}};
  }
  void take_up(const ScheduleClock& clock, const Past&) override { clock_ = &clock; }
  void configure(const WorldSettings&) override {}
  bool submit(const Owner&, Submission, const std::string&) override { return false; }
  void carry_out(const Decision& decision, const JobFacts& job) override {
    orders.push_back(fmt::format("{} {} on {}", word(decision.kind), job.number,
                                 to_string(decision.after.nodes)));
    decided.push_back(decision);
  }
  void end(JobId id, EndState, bool) override {
    orders.push_back(fmt::format("end {}", index(id) + 1));
  }
  void deny(RequestId) override {}
  void forget(std::uint64_t number) override { orders.push_back(fmt::format("forget {}", number)); }
  void add_to(Poller&) override {}
  void look() override {}
  Time next() const override { return happened.empty() ? kNever : Time{}; }
  std::vector<WorldEvent> take() override { return std::exchange(happened, {}); }
  Signs signs(JobId) const override { return {}; }

  Time now() const { return clock_->now(); }

  std::vector<WorldEvent> happened{};
  std::vector<std::string> orders{};
  std::vector<Decision> decided{};
  Nodes nodes = 4;

 private:
  const ScheduleClock* clock_ = nullptr;
};

/// A controller, one after the other, of one folder and one world.
class ControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        ::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    settings_.platform = world_.describe().platform;
    settings_.state = folder_;
    settings_.socket = folder_ + "/socket";
    settings_.default_time = whole_seconds(77);
    begin();
  }
  void begin() {
    controller_.reset();
    controller_ = std::make_unique<Controller>(settings_, registry_, reload_, world_);
    controller_->begin();
    turns();
  }
  void turns() {
    for (int i = 0; i < 5; ++i) controller_->turn(Duration{});
  }
  static Submission some_job() {
    Submission what;
    what.name = "job";
    what.program = {"/bin/true"};
    what.folder = "/";
    what.nodes = 2;
    what.walltime = whole_seconds(1000);
    return what;
  }
  /// Past the controller.
  void arrives(Submission what) {
    world_.happened.emplace_back(Arrived{.number = 1,
                                         .owner = {geteuid(), getegid()},
                                         .what = std::move(what),
                                         .submitted = world_.now()});
    turns();
  }
  const Job& job() const { return controller_->core().job(JobId{0}); }

  SmallWorld world_{};
  std::string folder_{};
  ServeSettings settings_{};
  Registry registry_{};
  std::function<ServeSettings()> reload_ = [this] { return settings_; };
  std::unique_ptr<Controller> controller_{};
};

TEST_F(ControllerTest, AJobComesRunsAndEnds) {
  arrives(some_job());
  ASSERT_EQ(world_.orders, std::vector<std::string>{"start 1 on 0-1"});
  EXPECT_EQ(job().doing, Doing::starting);
  const Decision start = world_.decided.front();
  world_.happened.emplace_back(
      Told{event::Started{start.job, start.id, start.after, std::nullopt}});
  turns();
  EXPECT_EQ(job().doing, Doing::nothing);
  begin();  // another one knows it
  EXPECT_EQ(job().status, Status::running);
  world_.happened.emplace_back(Told{event::Ended{start.job, EndState::completed, false}});
  turns();
  EXPECT_EQ(world_.orders, (std::vector<std::string>{"start 1 on 0-1", "forget 1"}));
  EXPECT_EQ(controller_->core().state().idle.count(), 4u);
  EXPECT_EQ(Journal(folder_ + "/journal.db", Journal::Use::read).job(1)->state, "completed");
}

TEST_F(ControllerTest, TheWorldSaysHowItServesWhatAJournalIsOf) {
  world_.nodes = 5;
  try {
    begin();
    ADD_FAILURE() << "it serves another cluster";
  } catch (const InputError& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("is of a cluster of 4x1"), std::string::npos) << said;
    EXPECT_NE(said.find("serve that cluster, or give another folder"), std::string::npos) << said;
  }
}

TEST_F(ControllerTest, AJobFromElsewhereHasTheDefaultTime) {
  Submission what = some_job();
  what.walltime = {};
  arrives(what);
  EXPECT_EQ(job().spec.walltime, whole_seconds(77));
  begin();
  EXPECT_EQ(job().spec.walltime, whole_seconds(77));
}

TEST_F(ControllerTest, AnArrayThatCouldNotBeReadAgainIsNotWrittenDown) {
  Submission what = some_job();
  what.array.tasks.insert(0, TaskArray::kMost);
  EXPECT_THROW(arrives(what), RunError);
  begin();
  EXPECT_EQ(controller_->core().state().jobs.size(), 0u);
}

TEST_F(ControllerTest, TasksWithNumbersThatCouldNotBeReadAgainAreHeld) {
  Submission what = some_job();
  what.array.tasks.insert(4'000'000, 4'000'002);
  arrives(what);
  begin();
  EXPECT_EQ(controller_->core().state().jobs.size(), 3u);
  EXPECT_EQ(job().status, Status::held);
}

TEST_F(ControllerTest, AJobThatCouldNotBeReadAgainIsHeldInItsPlace) {
  Submission what = some_job();
  what.program.clear();
  arrives(what);
  EXPECT_EQ(job().status, Status::held);
  begin();
  EXPECT_EQ(job().status, Status::held);
  world_.happened.emplace_back(Told{event::Ended{JobId{0}, EndState::cancelled, false}});
  turns();
  EXPECT_EQ(world_.orders, std::vector<std::string>{"forget 1"});
}

}  // namespace
}  // namespace ductile
