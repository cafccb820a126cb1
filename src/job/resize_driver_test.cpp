#include "job/resize_driver.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

/// A job of processes that say what the test lets them say.
class Driver : public ::testing::Test {
 protected:
  Driver() {
    settings_.launcher.program = {"/bin/sleep", "100"};
    settings_.min = 1;
    settings_.max = 4;
    start(1);
    connect(table_.current());
  }
  ~Driver() override { ProcessTable::end_all(); }

  void start(std::uint32_t size, const std::vector<Host>& hosts = {}) {
    if (cannot_start_) throw RunError("no process");
    table_.start({.size = size, .hosts = hosts, .cpus = cpus_});
  }
  static void connect(Generation& generation) { generation.connected = generation.size; }
  Generation& fresh() { return *table_.find(1); }
  void say(std::uint32_t generation, const wire::Content& content) {
    const std::uint32_t size = table_.find(generation)->size;
    for (std::uint32_t rank = 0; rank < size; ++rank)
      driver_.receive(generation, rank, {1, content});
  }
  void end(Generation& generation) {
    kill(generation.process.pid, SIGKILL);
    while (!generation.status) table_.reap([](Generation&) {});
    generation.process = {};
  }
  /// From 1 to 2 processes, up to the commit.
  void go_through() {
    driver_.order({.size = 2});
    connect(fresh());
    say(1, wire::Ready{.address = "somewhere"});
    say(0, wire::At{.probe = 7});
    say(0, wire::Reached{});
    say(1, wire::Taken{.bytes = 10});
    say(0, wire::Sent{.bytes = 20});
  }

  RunSettings settings_{};
  ProcessTable table_{settings_.launcher, settings_.resources, std::chrono::seconds(10)};
  NodeSet cpus_{};  // of the next generation
  bool cannot_start_ = false;
  std::vector<std::string> told_{}, heard_{}, cpus_told_{};
  std::string hosts_told_{};
  std::uint32_t denied_ = 0, commits_ = 0, over_ = 0;
  ResizeDriver driver_{
      settings_,
      table_,
      {.start = [this](std::uint32_t size, const std::vector<Host>& hosts) { start(size, hosts); },
       .send =
           [this](const Generation& generation, const wire::Message& message) {
             heard_.push_back(std::to_string(generation.number) + " " +
                              std::string(wire::name_of(message.content)));
           },
       .report =
           [this](std::string_view what, const Json& details) {
             told_.emplace_back(what);
             cpus_told_.push_back(details.value("cpus", "none"));
             hosts_told_ = details.value("hosts", Json()).dump();
           },
       .answer =
           [this](bool ok, const Json& details) {
             told_.push_back(ok ? "ok" : details.value("error", ""));
           },
       .on_commit = [this] { ++commits_; },
       .on_over = [this](bool) { ++over_; },
       .deny = [this] { ++denied_; }}};
};

using Texts = std::vector<std::string>;

TEST_F(Driver, SaysWhatCannotBe) {
  EXPECT_EQ(driver_.objection({.size = 1}), "the job has 1 processes already");
  EXPECT_EQ(driver_.objection({.size = 1, .moves = true}), std::nullopt);
  EXPECT_EQ(driver_.objection({.size = 5}), "5 processes are not between 1 and 4");
  table_.current().sizes.range = {1, 2};
  EXPECT_EQ(driver_.objection({.size = 3}), "the program cannot have 3 processes, but 1 to 2");
  EXPECT_EQ(driver_.objection({.size = 2}), std::nullopt);
  table_.current().finishing = 1;
  EXPECT_EQ(driver_.objection({.size = 2}), "the program has come to its end");
}

TEST_F(Driver, GoesToTheHostsOfTheOrderAndStaysWhereItIsIfThatIsGivenUp) {
  const std::vector<Host> there = {{"n1", 2}, {"n3", 1}};
  EXPECT_EQ(driver_.objection({.size = 2, .hosts = there}),
            "the job was started without --hosts, for this host alone");
  settings_.launcher.hosts = {{"n1", 1}};
  settings_.launcher.starter = Starter::srun;  // no agent looks for what is left
  settings_.launcher.mpi = Mpi::mpich;
  settings_.launcher.mpiexec = "/bin/true";
  table_.current().hosts = settings_.launcher.hosts;
  EXPECT_EQ(driver_.objection({.size = 2}), "the hosts take 1 processes");
  EXPECT_EQ(driver_.objection({.size = 4, .hosts = there}), "the hosts take 3 processes");
  driver_.order({.size = 3, .hosts = there});
  EXPECT_EQ(to_text(fresh().hosts), "n1:2,n3:1");
  driver_.give_up("a test");
  end(fresh());
  driver_.conclude();
  EXPECT_EQ(told_, (Texts{"aborted", "a test"}));
  EXPECT_EQ(hosts_told_, R"({"n1":1})");
  driver_.order({.size = 1, .moves = true});  // and no others are named: where it is
  EXPECT_EQ(to_text(table_.find(2)->hosts), "n1:1");
}

TEST_F(Driver, GoesFromOrderToTheEndOfTheOldGeneration) {
  go_through();
  EXPECT_EQ(heard_, (Texts{"1 take", "0 prepare", "0 meet", "0 go", "1 commit", "0 commit"}));
  EXPECT_EQ(table_.current().number, 1u);
  EXPECT_EQ(commits_, 1u);
  EXPECT_EQ(driver_.objection({.size = 3}), "a resize is under way");
  Generation& old = *table_.find(0);
  EXPECT_NE(old.deadline, Generation::Clock::time_point::max());
  say(1, wire::Running{});
  EXPECT_EQ(told_, Texts{});  // its nodes are not free yet
  end(old);
  driver_.conclude();
  EXPECT_EQ(told_, (Texts{"resized", "ok"}));
  EXPECT_EQ(over_, 1u);
  EXPECT_EQ(driver_.resizes(), 1u);
  EXPECT_EQ(driver_.objection({.size = 3}), std::nullopt);
}

// Not where the one was started that was given up.
TEST_F(Driver, TellsWhereTheGenerationRunsThatIsTheJob) {
  cpus_.insert(0, 0);
  driver_.order({.size = 2});
  driver_.give_up("it was withdrawn");
  end(fresh());
  driver_.conclude();
  EXPECT_EQ(cpus_told_, Texts{""});
  driver_.order({.size = 1, .moves = true});
  Generation& moved = *table_.find(2);
  connect(moved);
  driver_.receive(2, 0, {2, wire::Ready{.address = "somewhere"}});
  driver_.receive(0, 0, {2, wire::At{.probe = 7}});
  driver_.receive(0, 0, {2, wire::Reached{}});
  driver_.receive(2, 0, {2, wire::Taken{.bytes = 10}});
  driver_.receive(0, 0, {2, wire::Sent{.bytes = 10}});
  driver_.receive(2, 0, {2, wire::Running{}});
  end(*table_.find(0));
  driver_.conclude();
  EXPECT_EQ(told_, (Texts{"aborted", "it was withdrawn", "resized", "ok"}));
  EXPECT_EQ(cpus_told_, (Texts{"", "0"}));
}

TEST_F(Driver, LetsAnOldGenerationGoOnThatHasLeft) {
  go_through();
  const Generation& old = *table_.find(0);
  EXPECT_FALSE(driver_.has_left(old));
  say(0, wire::Leaving{});
  EXPECT_TRUE(driver_.has_left(old));
  EXPECT_FALSE(driver_.has_left(fresh()));
  driver_.on_stop("the job is to end");
  EXPECT_FALSE(driver_.has_left(old));
}

TEST_F(Driver, IsGivenUpWhenAProcessGoes) {
  driver_.order({.size = 2});
  driver_.on_gone(table_.current(), 0);
  EXPECT_EQ(heard_, (Texts{"0 abort", "1 abort"}));
  EXPECT_TRUE(fresh().is_discarded);
  EXPECT_TRUE(driver_.is_busy());  // until its processes have gone
  end(fresh());
  driver_.conclude();
  EXPECT_EQ(told_, (Texts{"aborted", "process 0 has gone"}));
  EXPECT_EQ(table_.current().number, 0u);
}

TEST_F(Driver, TellsWhoAskedThatThereIsNoProcess) {
  cannot_start_ = true;
  driver_.order({.size = 2, .is_requested = true});
  EXPECT_EQ(told_, (Texts{"aborted", "no process"}));
  EXPECT_EQ(denied_, 1u);
  EXPECT_FALSE(driver_.is_busy());
}

TEST_F(Driver, WaitsForAProgramThatHasNotBegunButNotForEver) {
  table_.current().connected = 0;
  driver_.order({.size = 2, .is_requested = true});
  EXPECT_FALSE(driver_.is_busy());
  EXPECT_EQ(driver_.phase(), "starting");
  driver_.keep_deadlines(Resize::Clock::now());
  EXPECT_TRUE(driver_.is_ordered());
  driver_.keep_deadlines(Resize::Clock::now() + settings_.limits.starting * 2);
  EXPECT_FALSE(driver_.is_ordered());
  EXPECT_EQ(told_.front(), "aborted");
  EXPECT_EQ(denied_, 1u);
}

TEST_F(Driver, TakesBackAnOrderThatWaitsForTheProgramToBegin) {
  table_.current().connected = 0;
  driver_.order({.size = 2, .is_requested = true});
  driver_.withdraw();
  EXPECT_EQ(told_, (Texts{"aborted", "it was withdrawn"}));
  EXPECT_EQ(denied_, 1u);
  connect(table_.current());
  driver_.begin();
  EXPECT_FALSE(driver_.is_busy());
  table_.current().connected = 0;
  driver_.order({.size = 3});
  driver_.on_stop("the job is to end");
  EXPECT_EQ(told_.back(), "the job is to end");
  EXPECT_FALSE(driver_.is_ordered());
}

// A new process hangs before it says that it goes on: it is the job all the same.
TEST_F(Driver, WaitsForNewProcessesThatGoOnButNotForEver) {
  go_through();
  end(*table_.find(0));
  driver_.receive(1, 0, {1, wire::Running{}});
  driver_.conclude();
  EXPECT_TRUE(driver_.is_busy());
  const auto late = Resize::Clock::now() + settings_.limits.starting * 2;
  EXPECT_LT(driver_.next(), late);
  driver_.keep_deadlines(late);
  EXPECT_EQ(told_, (Texts{"resized", "ok"}));
  EXPECT_FALSE(driver_.is_busy());
  EXPECT_EQ(driver_.resizes(), 1u);
}

TEST_F(Driver, IsOverWithoutTheirWordIfNobodyWaits) {
  go_through();
  driver_.withdraw();
  EXPECT_TRUE(driver_.is_busy());  // its nodes are not free
  end(*table_.find(0));
  driver_.conclude();
  EXPECT_EQ(told_, (Texts{"resized", "ok"}));
  EXPECT_EQ(driver_.objection({.size = 3}), std::nullopt);
}

// For nobody else: its nodes are others'.
TEST_F(Driver, LetsNoneGoOnThatIsSuspended) {
  settings_.keep = "/folder/keep";
  driver_.order({.suspends = true});
  say(0, wire::At{.probe = 7});
  say(0, wire::Reached{});
  say(0, wire::Sent{.bytes = 10});
  say(0, wire::Leaving{});
  EXPECT_TRUE(driver_.is_suspended());
  EXPECT_FALSE(driver_.has_left(table_.current()));
}

TEST_F(Driver, EndsWithTheJob) {
  table_.current().connected = 0;
  driver_.order({.size = 2});
  driver_.on_exit();
  EXPECT_EQ(told_, Texts{"the job has ended"});
  EXPECT_FALSE(driver_.is_ordered());
  EXPECT_EQ(driver_.objection({.size = 2}), "the job has ended");
}

TEST_F(Driver, FollowsItsPlan) {
  settings_.plan = {{.time = std::chrono::seconds(5), .size = 2}, {.size = 9}};
  const auto now = Resize::Clock::now();
  driver_.follow_plan(now);
  EXPECT_FALSE(driver_.is_busy());
  EXPECT_GT(driver_.next(), now);
  driver_.follow_plan(now + std::chrono::seconds(6));
  EXPECT_TRUE(driver_.is_busy());
  driver_.give_up("it was withdrawn");
  end(fresh());
  driver_.conclude();
  EXPECT_EQ(driver_.aborted(), 1u);
  driver_.follow_plan(now);  // more than there may be
  EXPECT_EQ(driver_.aborted(), 2u);
  EXPECT_EQ(driver_.unplanned(), 0u);
}

/// What a test says of a resize is what comes of it.
class SaidMethod : public ResizeMethod {
 public:
  std::optional<std::string> objection(const Target& target) const override {
    if (target.size == 3) return "not three";
    return std::nullopt;
  }
  void begin(const Target& target, Clock::time_point /*now*/) override { begun = target; }
  void give_up(const std::string& reason) override { outcome = Outcome{.error = reason}; }
  std::optional<Outcome> look(Clock::time_point /*now*/) override {
    return std::exchange(outcome, std::nullopt);
  }
  bool is_ready() const override { return ready; }

  bool ready = true;
  Target begun{.size = 0};
  std::optional<Outcome> outcome{};
};

class DriverOfMethod : public Driver {
 protected:
  DriverOfMethod() { driver_.use(method_); }
  SaidMethod method_{};
};

TEST_F(DriverOfMethod, ResizesInPlace) {
  NodeSet cpus;
  cpus.insert(3, 4);
  driver_.order({.size = 2, .cpus = cpus});
  EXPECT_TRUE(driver_.is_busy());
  EXPECT_EQ(driver_.phase(), "changing");
  EXPECT_EQ(method_.begun.size, 2U);
  EXPECT_EQ(method_.begun.cpus, cpus);
  EXPECT_EQ(driver_.objection({.size = 4}), "a resize is under way");
  method_.outcome.emplace();
  driver_.conclude();
  EXPECT_FALSE(driver_.is_busy());
  EXPECT_EQ(table_.current().size, 2U);
  EXPECT_EQ(table_.current().number, 0U);
  EXPECT_EQ(driver_.resizes(), 1U);
  EXPECT_EQ(told_, (std::vector<std::string>{"resized", "ok"}));
}

TEST_F(DriverOfMethod, WaitsUntilTheProgramIsReady) {
  method_.ready = false;
  driver_.order({.size = 2});
  EXPECT_FALSE(driver_.is_busy());
  method_.ready = true;
  driver_.begin();
  EXPECT_TRUE(driver_.is_busy());
}

TEST_F(DriverOfMethod, RefusesWhatTheMethodDoes) {
  EXPECT_EQ(driver_.objection({.size = 3}), "not three");
  EXPECT_EQ(driver_.objection({.size = 1}), "the job has 1 processes already");
  EXPECT_EQ(driver_.objection({.size = 0, .suspends = true}), "there is no place for its data");
}

TEST_F(DriverOfMethod, IsOverWhenItIsGivenUpOrTheJobEnds) {
  driver_.order({.size = 2});
  driver_.withdraw();
  EXPECT_EQ(told_, (std::vector<std::string>{"aborted", "it was withdrawn"}));
  EXPECT_EQ(table_.current().size, 1U);
  told_.clear();
  driver_.order({.size = 2});
  driver_.on_exit();
  EXPECT_FALSE(driver_.is_busy());
  EXPECT_EQ(told_, (std::vector<std::string>{"aborted", "the job has ended", "the job has ended"}));
}

}  // namespace
}  // namespace ductile
