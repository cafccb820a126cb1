#include "live/controller.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
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
  Description describe() const override { return there; }
  void take_up(const ScheduleClock& clock, const Past& past) override {
    clock_ = &clock;
    down = past.down;
  }
  void configure(const WorldSettings&) override {}
  bool submit(const Owner&, Submission, const std::string&) override { return false; }
  void change(std::uint64_t, const Submission&) override {}
  void carry_out(const Decision& decision, const JobFacts& job) override {
    orders.push_back(fmt::format("{} {} on {}", word(decision.kind), job.number,
                                 to_string(decision.after.nodes)));
    decided.push_back(decision);
  }
  void end(JobId id, EndState, bool) override {
    orders.push_back(fmt::format("end {}", index(id) + 1));
  }
  void deny(RequestId) override {}
  void forget(std::uint64_t number, bool) override {
    orders.push_back(fmt::format("forget {}", number));
  }
  void add_to(Poller&) override {}
  void look() override {}
  Time next() const override { return happened.empty() ? kNever : Time{}; }
  std::vector<WorldEvent> take() override { return std::exchange(happened, {}); }
  Signs signs(JobId) const override { return {}; }
  Reach reach() const override { return is_lost ? Reach::lost : Reach::here; }
  bool adopt(LineSocket& connection, const Owner& peer,
             const nlohmann::ordered_json& first) override {
    if (!adopts) return false;
    EXPECT_EQ(peer.user, geteuid());
    adopted.emplace_back(std::move(connection));
    adopted.back().send(fmt::format(R"({{"ok": true, "size": {}}})", first.value("job", 0)));
    return true;
  }

  Time now() const { return clock_->now(); }

  std::vector<WorldEvent> happened{};
  std::vector<std::string> orders{};
  std::vector<Decision> decided{};
  Description there{.platform = {.nodes = 4, .cores_per_node = 1},
                    .capabilities = {.instant_start = false}};
  NodeSet down{};  // as it was told when it was taken up
  bool is_lost = false;
  bool adopts = false;
  std::vector<LineSocket> adopted{};

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
  void arrives(Submission what, std::uint64_t number = 1, const std::string& ticket = "") {
    world_.happened.emplace_back(Arrived{.number = number,
                                         .owner = {geteuid(), getegid()},
                                         .what = std::move(what),
                                         .ticket = ticket,
                                         .submitted = world_.now()});
    turns();
  }
  /// It is another one there.
  void becomes(JobId was, std::uint64_t number, Submission what) {
    world_.happened.emplace_back(Arrived{.number = number, .what = std::move(what), .was = was});
    turns();
  }
  const Job& job(std::uint32_t id = 0) const { return controller_->core().job(JobId{id}); }
  std::uint32_t jobs() const { return controller_->core().state().jobs.size(); }
  Submission kept(std::uint64_t number) const {
    return submission_from_json(nlohmann::ordered_json::parse(
        Journal(folder_ + "/journal.db", Journal::Use::read).submission(number)));
  }

  SmallWorld world_{};
  std::string folder_{};
  ServeSettings settings_{};
  Registry registry_{};
  std::function<ServeSettings()> reload_ = [this] { return settings_; };
  std::unique_ptr<Controller> controller_{};
};

/// What comes back, until there is a whole line.
std::string line_from(const Descriptor& socket) {
  std::string line;
  for (char byte = 0; read(socket.get(), &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

TEST_F(ControllerTest, AProgramInAJobBecomesTheWorlds) {
  const auto asks = [&] {
    Descriptor connection = connect_unix(settings_.socket);
    // The second line is what the world reads: it comes with the first one.
    EXPECT_TRUE(
        send_all(connection, "{\"do\": \"job\", \"job\": 17, \"pid\": 4}\n{\"event\": 1}\n"));
    turns();
    return connection;
  };
  Descriptor refused = asks();
  EXPECT_EQ(line_from(refused),
            R"({"ok":false,"code":1,"error":"this controller runs no jobs of Slurm"})");
  world_.adopts = true;
  Descriptor connection = asks();
  EXPECT_EQ(line_from(connection), R"({"ok": true, "size": 17})");
  ASSERT_EQ(world_.adopted.size(), 1u);
  EXPECT_EQ(world_.adopted.front().next(), R"({"event": 1})");
  world_.adopted.front().send("one more");  // the controller has not closed it
  EXPECT_EQ(line_from(connection), "one more");
  world_.is_lost = true;
  EXPECT_NE(line_from(asks()).find("out of reach"), std::string::npos);
}

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

TEST_F(ControllerTest, AnotherMachineIsTakenUp) {
  world_.there.platform.nodes = 5;
  begin();
  EXPECT_EQ(controller_->core().state().idle.count(), 5u);
  world_.there.platform.nodes = 3;
  begin();
  EXPECT_EQ(controller_->core().state().idle.count(), 3u);
  EXPECT_EQ(controller_->core().state().platform.nodes, 5u);
  world_.there.platform.nodes = 5;
  world_.happened.emplace_back(Changed{});
  turns();
  EXPECT_EQ(controller_->core().state().idle.count(), 5u);
}

TEST_F(ControllerTest, NodesThatAreNotThereHaveNoHealth) {
  NodeSet nodes;
  nodes.insert(3, 6);
  world_.happened.emplace_back(Told{event::NodesChanged{nodes, Health::down}});
  turns();
  EXPECT_EQ(controller_->core().state().idle.count(), 3u);
  world_.there.platform.nodes = 8;
  begin();
  EXPECT_EQ(to_string(world_.down), "3");
  EXPECT_EQ(controller_->core().state().idle.count(), 7u);
}

TEST_F(ControllerTest, WhatMayBeAsLargeAsTheMachineGrowsWithIt) {
  Submission what = some_job();
  what.type = JobType::malleable;
  what.mpi = Mpi::mpich;
  what.is_held = true;
  arrives(what);
  ASSERT_EQ(job().spec.size, (SizeRange{1, 4}));
  world_.there.platform.nodes = 6;
  world_.happened.emplace_back(Changed{});
  turns();
  EXPECT_EQ(job().spec.size, (SizeRange{1, 6}));
  EXPECT_EQ(kept(1).program, what.program);
  begin();
  EXPECT_EQ(job().spec.size, (SizeRange{1, 6}));
}

TEST_F(ControllerTest, AJobFromElsewhereHasTheDefaultTime) {
  Submission what = some_job();
  what.walltime = {};
  arrives(what);
  EXPECT_EQ(job().spec.walltime, whole_seconds(77));
  begin();
  EXPECT_EQ(job().spec.walltime, whole_seconds(77));
}

TEST_F(ControllerTest, AnArrayThatCouldNotBeReadAgainIsOneJobThatIsHeld) {
  Submission what = some_job();
  for (const std::uint32_t last : {TaskArray::kMost, ~std::uint32_t{0}}) {
    what.array.tasks.insert(0, last);
    arrives(what, jobs() + 1);
  }
  arrives(some_job(), 3);
  ASSERT_EQ(jobs(), 3u);
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(job(0).status, Status::held);
    EXPECT_EQ(job(1).status, Status::held);
    EXPECT_EQ(job(2).status, Status::running);
    // Its tasks are what they were, whatever is said.
    what.priority = life;
    becomes(JobId{0}, 1, life == 0 ? what : some_job());
    begin();
  }
  EXPECT_NE(kept(1).impossible.find("more than 10000 tasks"), std::string::npos);
}

TEST_F(ControllerTest, ANumberThatAnotherJobHasIsRefused) {
  arrives(some_job(), 5);
  Submission array = some_job();
  array.array = parse_array("1-3");
  arrives(array, 4);  // the second task would have it
  for (const std::uint64_t number : {5ULL, 0ULL, (1ULL << 62U) + 1}) arrives(some_job(), number);
  ASSERT_EQ(jobs(), 1u);
  array.array = parse_array("1-2");
  arrives(array, 3);
  ASSERT_EQ(jobs(), 3u) << "it goes on";
  EXPECT_EQ(job(1).spec.name, 3u);
}

/// Who knows how a ticket looks may write one into a job that was submitted elsewhere.
TEST_F(ControllerTest, ATicketSaysNothingOfAJob) {
  Submission forged = some_job();
  forged.walltime = whole_seconds(-5);
  forged.groups = {{0}};
  forged.given_priority = 1'000;
  arrives(forged, 1, std::to_string(geteuid()) + "kkey");
  EXPECT_EQ(job().status, Status::held);
  forged.walltime = whole_seconds(5);
  arrives(forged, 2, std::to_string(geteuid()) + "r0123");
  EXPECT_FALSE(kept(2).groups);
  EXPECT_FALSE(kept(2).given_priority);
  becomes(JobId{0}, 1, forged);
  EXPECT_FALSE(kept(1).groups);
  EXPECT_FALSE(kept(1).given_priority);
  EXPECT_TRUE(kept(1).impossible.empty());
}

TEST_F(ControllerTest, WhichJobHasBecomeAnotherOneSaysItsId) {
  arrives(some_job(), 7);
  arrives(some_job(), 8);
  arrives(some_job(), 9);
  ASSERT_EQ(job(2).status, Status::pending);
  Submission what = some_job();
  what.priority = 3;
  becomes(JobId{2}, 7, what);
  EXPECT_EQ(job(2).spec.priority, 3);
  EXPECT_EQ(job(0).spec.priority, 0);
  becomes(JobId{77}, 9, what);  // there never was one
  EXPECT_EQ(jobs(), 3u);
}

/// What could not be read again would be the end of the journal.
TEST_F(ControllerTest, WhatAWorldCannotSayIsNotHeard) {
  arrives(some_job());
  const Decision start = world_.decided.front();
  NodeSet far;
  far.insert(1U << 30U, 1U << 30U);
  const Event wrong[] = {
      event::Submitted{},
      event::Eligible{start.job, false},
      event::Altered{start.job, 0, whole_seconds(1), exactly(1), 1},
      event::Started{start.job, start.id, {1, far}, std::nullopt},
      event::Started{start.job, start.id, {1U << 30U, {}}, std::nullopt},
      event::NodesChanged{far, Health::down},
      event::EvolvingRequested{RequestId{0}, start.job, 1 << 30, 1},
      event::Ended{JobId{77}, EndState::failed, true},
      event::Resized{start.job, start.id, start.after, Time::max()},
  };
  for (const Event& each : wrong) world_.happened.emplace_back(Told{each});
  world_.happened.emplace_back(Stranger{.name = "far", .nodes = far, .what = "one"});
  world_.happened.emplace_back(Measured{start.job, 0, {.iterations = 1}});
  world_.happened.emplace_back(Measured{start.job, 1U << 30U, {.iterations = 1}});
  turns();
  const Platform machine = world_.there.platform;
  for (const Platform& no : {Platform{.nodes = 5, .cores_per_node = 0},
                             Platform{.nodes = 5, .cores_per_node = 1, .idle_w = 1e7}}) {
    world_.there.platform = no;
    world_.happened.emplace_back(Changed{});
    turns();
    begin();
    EXPECT_EQ(controller_->core().state().platform, machine);
  }
  world_.there.platform = machine;
  begin();
  EXPECT_EQ(job().doing, Doing::starting);
  world_.happened.emplace_back(
      Told{event::Started{start.job, start.id, start.after, std::nullopt}});
  Told end{event::Ended{start.job, EndState::completed, false}};
  end.ran = whole_seconds(-1);
  world_.happened.emplace_back(end);
  turns();
  EXPECT_EQ(controller_->core().state().idle.count(), 4u);
}

/// Nothing of it may be another one before it is known to be right.
TEST_F(ControllerTest, AJournalThatIsPutBackIsLeftAsItIsOnAnotherCluster) {
  arrives(some_job());
  controller_.reset();
  const std::string path = folder_ + "/journal.db";
  const std::string id = Journal(path).id();
  const auto restore = [&] { begin(); };
  settings_.restored = true;
  world_.there.kind = "another";
  EXPECT_THROW(restore(), InputError);
  world_.there.kind = "local";
  settings_.fairness = Fairness{.policy = Fairness::Policy::single};
  EXPECT_THROW(restore(), InputError);
  settings_.fairness.reset();
  settings_.policy = "none";
  EXPECT_THROW(restore(), InputError);
  settings_.policy = "easy";
  world_.is_lost = true;
  EXPECT_THROW(restore(), InputError);
  world_.is_lost = false;
  EXPECT_EQ(Journal(path, Journal::Use::restore).id(), id);
  restore();
  EXPECT_NE(Journal(path, Journal::Use::restore).id(), id);
  EXPECT_EQ(jobs(), 1u);
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
