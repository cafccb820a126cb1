// A partition of a Slurm as a world: Slurm starts jobs where it is told to, and is the truth.
//
// Jobs of the partition are held when they are submitted, by a script of ours in slurmctld. To
// start one is to release it, at an exact size, on exact nodes. Slurm is looked at all the time:
// what it says is compared with what the core knows, and each difference is told as an event,
// whoever made it.
//
// A resize goes between two: the program, by the connection of its `ductile run` (docs/formats/
// controller.md), and Slurm.
//
//   to shrink   the program leaves the nodes, then Slurm takes them from the job: it kills what is
//               still there
//   to grow     Slurm gives the job the nodes, then the program goes there
//
// Whatever fails on the way, the job holds what Slurm says, and that is the answer. There is no
// other memory: after a restart all follows from what the core knows, what Slurm says and what the
// program says when it connects again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/node_set.hpp"
#include "base/time.hpp"
#include "job/line_socket.hpp"
#include "job/poller.hpp"
#include "live/world.hpp"
#include "slurm/errands.hpp"
#include "slurm/node_names.hpp"
#include "slurm/slurm.hpp"

namespace ductile {

class SlurmWorld final : public World {
 public:
  struct Settings {
    std::string partition{};
    /// Where the numbers of nodes are kept.
    std::string names{};
    /// The file by which the partition was handed over to Slurm while there was no controller
    /// (slurm/watch.hpp); none if empty.
    std::string hands_over{};
    /// How often Slurm is asked how things stand.
    Duration poll = std::chrono::milliseconds(500);
    /// A job that was released and does not run after so long is held again.
    Duration start_limit = whole_seconds(60);
    /// An order waits so long for the `ductile run` of its job, which may not have begun, or be
    /// between two programs.
    Duration program_limit = whole_seconds(60);
    /// Slurm is lost when it has not answered for so long.
    Duration lost_after = whole_seconds(5);
  };

  /// Asks Slurm what there is; where it does not answer it is out of reach. Throws InputError where
  /// it answers and cannot be driven.
  SlurmWorld(Slurm& slurm, Settings settings, Errands::How how = Errands::How::apart,
             const MachineClocks& clocks = MachineClocks::real());
  ~SlurmWorld() override;

  /// What follows from how this Slurm is set up, in plain words; for operators, at the start.
  std::vector<std::string> remarks() const;

  Description describe() const override;
  void take_up(const ScheduleClock& clock, const Past& past) override;
  void configure(const WorldSettings& settings) override { set_ = settings; }
  std::string slurm_partition() const override { return settings_.partition; }
  bool submit(const Owner& owner, Submission what, const std::string& ticket) override;
  void change(std::uint64_t number, const Submission& what) override;
  void carry_out(const Decision& decision, const JobFacts& job) override;
  void set_limit(JobId id, Time when) override;
  void end(JobId id, EndState state, bool requeue) override;
  void deny(RequestId id) override;
  void forget(std::uint64_t number, bool waits_again) override;
  bool adopt(LineSocket& connection, const Owner& peer,
             const nlohmann::ordered_json& first) override;
  void add_to(Poller& poller) override;
  void look() override;
  Time next() const override;
  std::vector<WorldEvent> take() override { return std::exchange(events_, {}); }
  Reach reach() const override { return reach_; }
  Signs signs(JobId id) const override;

 private:
  using Json = nlohmann::ordered_json;
  struct Its;
  /// A program that has come before Slurm was heard to have started its job.
  struct Early {
    LineSocket connection;
    std::uint64_t number = 0;
    Owner peer{};
    std::unique_ptr<Json> first{};
    Time until{};
  };
  /// What Slurm says at one time; nothing: as before.
  struct Found {
    std::optional<SlurmFacts> facts{};
    std::optional<std::vector<SlurmNode>> nodes{};
    std::optional<std::vector<SlurmJob>> jobs{};
  };

  // ---- What Slurm says
  void poll();
  void found(Found found);
  void not_found(const SlurmError& error);
  void learn_machine(const Found& found);
  void tell_health();
  void tell_strangers();
  void compare();
  void compare(Its& its, const SlurmJob* there);
  bool takes_nodes(const Its& its, const SlurmJob* there) const;
  bool are_held_elsewhere(const Its& whom, const NodeSet& nodes) const;
  void end_those_that_are_over();
  void make_way(const Its& whom, const NodeSet& nodes);
  void compare_waiting(Its& its, const SlurmJob& there);
  void compare_running(Its& its, const SlurmJob& there);
  void arrive(const SlurmJob& there);
  bool split(const SlurmJob& there);
  void tell_changed(Its& its, const SlurmJob& there);
  Submission submission_of(const SlurmJob& there) const;
  const SlurmJob* there(std::uint64_t number) const;
  bool is_ours(const SlurmJob& job) const;

  // ---- What is told
  void happen(Event event) { events_.emplace_back(Told{std::move(event)}); }
  void started(Its& its, const SlurmJob& there);
  void not_started(Its& its, const std::string& why);
  void over(Its& its, EndState state, bool requeue, const SlurmJob* there, std::string note = {});
  void settle(Its& its, const Holding& now, bool is_done);

  // ---- Orders
  /// Makes a call about a job; what it returns is done here if the job is still there. A refusal,
  /// or silence, is handed on.
  template <class Call>
  void ask(Its& its, Call call);
  template <class Call, class Then>
  void ask(Its& its, Call call, Then then);
  void hold(Its& its);
  void order_change(Its& its);
  void order_end(Its& its);
  void begin_resize(Its& its);
  void order_program(Its& its);
  void expect_answer(Its& its) const;
  void program_answered(Its& its, bool is_done, const std::string& why);
  void give_up(Its& its);
  void leave_nodes(Its& its, const Holding& now, bool is_done);

  // ---- Programs
  static void refuse(LineSocket& connection, const char* why);
  bool is_at(const Its& its, const NodeSet& nodes) const;
  static bool may_speak_for(const Its& its, const Owner& peer);
  std::string hosts(const Its& its, const NodeSet& nodes) const;
  std::uint32_t processes(const Its& its, const NodeSet& nodes) const;
  void connect(Its& its, LineSocket connection, const Json& first);
  void note_hosts(Its& its, const Json& json);
  void order_back(Its& its);
  void read(Its& its);
  void on_line(Its& its, const std::string& line);
  void on_request(Its& its, std::uint32_t at_least, std::uint32_t preferred);
  void look_at(Its& its);

  Its* find(JobId id) const;
  Its* find_number(std::uint64_t number) const;
  std::uint32_t cpus(std::uint32_t node) const;
  Time now() const { return clock_->now(); }

  Slurm& slurm_;
  Settings settings_;
  NodeNames names_;
  SlurmFacts facts_{};
  std::map<std::string, SlurmNode> machine_{};  // by name
  WorldSettings set_{};
  const ScheduleClock* clock_ = nullptr;
  Reach reach_ = Reach::lost;
  const MachineClocks& clocks_;
  // By the clock of the machine: Slurm was heard, is to be asked, and for its settings as well.
  Duration heard_{}, poll_at_{}, facts_at_{};
  bool is_asked_ = false;                       // a poll is under way
  bool must_ask_ = false;                       // and another one at once
  std::map<std::uint64_t, SlurmJob> there_{};   // as it was said last
  std::map<JobId, std::unique_ptr<Its>> jobs_;  // that are not over
  std::map<std::uint64_t, JobId> ids_{};
  std::set<std::uint64_t> past_{};  // numbers that are over, as long as Slurm knows them
  NodeSet down_{}, draining_{};     // as it was told last
  std::map<std::string, Stranger> strangers_{};
  std::map<std::uint64_t, Time> splitting_{};  // arrays that are, and when it is tried again
  std::map<std::uint64_t, Time> ending_{};     // jobs that are over here: they are ended again then
  std::vector<Early> early_;
  JobId next_ = JobId{0};
  std::uint32_t next_request_ = 0;
  std::uint64_t life_ = 0;  // since which `take_up`: what was asked before is nobody's
  std::vector<WorldEvent> events_{};
  Errands errands_;  // the last one: it ends before what it speaks to
};

}  // namespace ductile
