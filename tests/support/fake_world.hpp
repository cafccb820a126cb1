// A world for tests of the controller: no process runs in it. It delays, refuses, loses answers,
// goes out of reach and comes back changed; and it keeps its own books of who has which node and
// of what it was told to do, and complains when the controller asks for what cannot be.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/random.hpp"
#include "base/time.hpp"
#include "job/poller.hpp"
#include "live/schedule_clock.hpp"
#include "live/world.hpp"
#include "model/platform.hpp"

namespace ductile::testing {

/// Clocks that a test sets.
class FakeClocks final : public MachineClocks {
 public:
  std::string boot() const override { return std::to_string(boot_); }
  Duration since_boot() const override { return passed_ - booted_; }
  Time wall() const override { return Time(whole_seconds(1'700'000'000) + passed_ + ahead_); }

  /// Since the first start of the machine.
  Duration passed() const { return passed_; }
  void advance(Duration by) { passed_ += by; }
  /// The machine was started again: its clock begins anew.
  void restart() {
    ++boot_;
    booted_ = passed_;
  }
  /// Somebody sets the clock on the wall.
  void set_ahead(Duration ahead) { ahead_ = ahead; }

 private:
  Duration passed_ = whole_seconds(1000);
  Duration booted_{}, ahead_{};
  int boot_ = 1;
};

/// The controller asked for what cannot be.
class WorldComplaint : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

class FakeWorld final : public World {
 public:
  FakeWorld(std::uint64_t seed, const Platform& platform, const FakeClocks& clocks);

  Description describe() const override;
  void take_up(const ScheduleClock& clock, const Past& past) override;
  void configure(const WorldSettings& settings) override { set_ = settings; }
  bool submit(const Owner& owner, Submission what, const std::string& ticket) override;
  void change(std::uint64_t number, const Submission& what) override;
  void carry_out(const Decision& decision, const JobFacts& job) override;
  void end(JobId id, EndState state, bool requeue) override;
  void deny(RequestId id) override;
  void forget(std::uint64_t number, bool waits_again) override;
  void add_to(Poller&) override {}
  void look() override;
  Time next() const override;
  std::vector<WorldEvent> take() override;
  Signs signs(JobId id) const override;
  Reach reach() const override;

  // ---- What the test does with it
  /// What it says of itself. Its kind and what it can do may be changed before a controller begins;
  /// its nodes by `become` alone.
  Description is{};
  /// From now on it is this. Of nodes that are gone some may be of jobs, which are to be ended.
  void become(const Platform& platform, const Capabilities& can);
  /// A node that nobody has fails, and comes back.
  void fail(std::uint32_t node) { set_health(node, Health::down); }
  void repair(std::uint32_t node) { set_health(node, Health::up); }
  /// What has its time happens, whoever hears of it.
  void live();
  /// Something that nobody has asked for.
  void act();
  /// There is no controller any more. What it has not heard is lost.
  void leave_alone();
  /// Out of reach.
  void go_away(Duration length);
  /// Somebody submits past the controller; its number, or that of the first task.
  std::uint64_t bring(const Owner& owner, Submission what);
  /// A job, or an array, becomes another one there.
  void alter(std::uint64_t number, Submission what);
  /// A job that waits is ended there.
  void drop(std::uint64_t number);
  /// From now on each job runs so long.
  void run_for(Duration time) { run_time_ = time; }
  /// Numbers that no job has.
  void skip(std::uint64_t numbers) { next_number_ += numbers; }
  /// So is it for the next controller, which has not begun.
  void begin_lost(Duration length);
  /// Nothing bad happens any more.
  void be_kind();
  bool is_kind() const { return is_kind_; }

  /// What became of a job, in truth.
  struct Fate {
    std::uint32_t starts = 0;
    bool is_starting = false, runs = false;
    std::optional<EndState> ended{};  // not that it waits again
    int exit_code = 0;
    bool is_dropped = false;
  };
  Fate fate(std::uint64_t number) const;
  /// What it is there.
  const Submission& what(std::uint64_t number) { return submitted(number).what; }
  /// How many jobs there were.
  std::uint64_t jobs() const { return jobs_.size(); }
  /// How many jobs run, are being started, or are on their way here.
  std::size_t busy() const;

  struct Figures {
    std::uint64_t starts = 0, failed_starts = 0, resizes = 0, refusals = 0, partly = 0, ends = 0,
                  requests = 0, arrivals = 0, late_arrivals = 0, elsewhere = 0, lost_events = 0,
                  changed = 0, take_ups = 0, absences = 0, senseless = 0, altered = 0, dropped = 0,
                  strangers = 0, lost_starts = 0, changes = 0, late_changes = 0, nonsense = 0,
                  grown = 0, shrunk = 0, other_machines = 0, large = 0;
    Figures& operator+=(const Figures& other);
  };
  const Figures& figures() const { return figures_; }
  /// Nodes on which there are strangers, or that are down or gone; of which it has heard.
  NodeSet told_out_of_service() const;

 private:
  enum class Stage : std::uint8_t { waiting, starting, running, over };
  struct Truth {
    std::uint64_t number = 0;
    JobId id = JobId::none;  // none: nobody has heard of it
    Stage stage = Stage::waiting;
    bool is_requeued = false;  // by itself
    bool asks = false, can_resize = false;
    Nodes min = 1;
    bool is_changed = false;              // somebody else has made it smaller
    DecisionId start = DecisionId::none;  // that it was started by, or is being
    NodeSet nodes{};                      // all that it has
    std::optional<Decision> order{};      // to resize, under way
    NodeSet before{};                     // what it had before that
    std::optional<EndState> ending{};     // somebody ends it
    bool requeue = false;
    std::optional<Request> request{};
    std::uint32_t starts = 0, restarts = 0;
    std::uint64_t life = 0;  // what was to happen in another one does not
    Duration started{};
    // Of its end.
    EndState ended = EndState::completed;
    int exit_code = 0;
    Duration ended_at{};
    bool was_started = false;
    bool failed_to_start = false;  // the last time
    bool is_senseless = false;     // it cannot run
    bool is_dropped = false;

    /// Has the life ended that comes after so many others?
    bool has_ended_of(std::uint32_t lives) const {
      return stage == Stage::over || (stage == Stage::waiting && restarts > lives);
    }
  };

  /// A job, or an array, that has come.
  struct Submitted {
    std::uint64_t first = 0;
    Owner owner{};
    Submission what{};
    std::string ticket{};
    Duration at{};
    bool is_altered = false;
  };
  /// That of this job, or of its array.
  Submitted& submitted(std::uint64_t number);

  [[noreturn]] void complain(const std::string& what) const;
  bool is_heard() const { return clock_ != nullptr; }
  void tell(WorldEvent event);
  void at(Duration delay, std::function<void()> action);
  /// Happens in the present life of the job, or not at all.
  void at(Truth& job, Duration delay, std::function<void(Truth&)> action);
  Duration delay();
  std::uint64_t new_number(const Submission& what);
  void arrive(const Owner& owner, Submission what, const std::string& ticket, std::uint64_t number);
  void tell_arrival(const Submitted& its);
  Arrived arrived(const Submitted& its) const;
  void tell_again(const Submitted& its);
  void take_over(Submitted& its, const Submission& what);
  bool is_as_here(const Submitted& its, const Submission& what) const;
  void submit_elsewhere();
  Submission some_other(const Submitted& its, bool is_senseless);
  void alter_something();
  void drop_something();
  Truth& truth(const JobFacts& job, JobId id);
  Truth* find(JobId id);
  void check_numbers(const Past& past);
  void give(Truth& job, const NodeSet& nodes);
  void take(Truth& job, const NodeSet& nodes);
  NodeSet down() const;
  NodeSet strangers() const;
  NodeSet gone() const;
  NodeSet unusable() const { return united(united(down(), strangers()), gone()); }
  void come(const std::string& name, const NodeSet& nodes);
  void say_nonsense();
  void bring_stranger();
  void leave(const std::string& name);
  void start(const Decision& decision, const JobFacts& job);
  void begin(Truth& job);
  void resize(const Decision& decision, Truth& job);
  void settle(Truth& job);
  Told told_end(const Truth& job) const;
  void tell_end(Truth& job, const Known& known);
  void finish(Truth& job, EndState state, bool requeue);
  void find_out(const Known& known, std::vector<WorldEvent>& rest);
  void change_node();
  void change_machine();
  void set_health(std::uint32_t node, Health health) {
    health_.at(node) = health;
    tell(Told{event::NodesChanged{{{{node, node}}}, health}});
  }
  void request();
  void measure();
  void shrink();
  std::vector<Truth*> those(Stage stage);

  Draws draws_;
  const FakeClocks& clocks_;
  const ScheduleClock* clock_ = nullptr;  // of the controller, if there is one that hears
  const ScheduleClock* lost_ = nullptr;   // of one that does not, for it is out of reach
  bool is_back_ = false;                  // or was
  bool is_away_ = false;                  // and there is no controller that has met it
  WorldSettings set_{};
  bool is_kind_ = false;
  bool has_other_needs_ = false;  // of another machine: it was one, or jobs wait for one
  std::optional<Duration> run_time_{};
  std::multimap<Duration, std::function<void()>> agenda_{};
  std::vector<Submitted> submitted_{};  // as they came
  std::set<std::string> under_way_{};   // tickets
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Truth> jobs_{};     // by number
  std::map<JobId, std::uint64_t> numbers_{};  // of those that somebody has heard of
  JobId next_id_ = JobId{0};
  std::vector<std::uint64_t> holders_;          // of each node, also of one that is gone; 0: none
  std::vector<Health> health_;                  // the same
  std::map<std::string, NodeSet> strangers_{};  // by their names
  NodeSet told_down_{}, told_strangers_{}, told_gone_{};  // the controller knows by now
  std::vector<WorldEvent> events_{};
  std::uint32_t next_request_ = 0;
  Figures figures_{};
};

}  // namespace ductile::testing
