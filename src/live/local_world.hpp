// The local world: virtual nodes of this machine, and each job a `ductile run` on them.
//
// A job's manager is no child that ends with the controller: it listens at a socket of the job's
// folder, keeps a report there, and can be found again. What the folder tells after a crash:
//
//   somebody listens           the job runs
//   nobody, lines in the report   it has run and is over
//   nobody, an empty report    it was never started
//
// The socket listens before the manager is started, so that there is no moment between them.
//
// Whose a job is stands in the file `holder` of its folder: the journal and the decision by which
// it was started, and its nodes. Who listens there and is no job of this journal, as far as it
// knows, is a stranger, and is left alone until its manager is gone. A job of ours with its number
// has another folder, N.1: what is killed with a job is known by that, too.
//
// The folder is the controller's, and users have no right in it but to what is theirs: socket,
// report, log and script. So no name in it can be made to mean something else.
//
// Nothing of a job may live on when its nodes are given to another one. Its manager sees to it; for
// one that was killed itself this does. Where cgroups can be made each job has one, which nothing
// leaves. Elsewhere its processes are known by a variable in their environment, and as orphans,
// which become children of the controller; what a job does to hide its processes from both, while
// there is no controller, succeeds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/node_set.hpp"
#include "base/time.hpp"
#include "job/line_socket.hpp"
#include "job/poller.hpp"
#include "job/power.hpp"
#include "job/process.hpp"
#include "live/schedule_clock.hpp"
#include "live/submission.hpp"
#include "live/world.hpp"
#include "model/platform.hpp"
#include "scheduling/event.hpp"
#include "scheduling/state.hpp"

namespace ductile {

class LocalWorld final : public World {
 public:
  struct Settings {
    /// Of the jobs' folders; absolute.
    std::string folder{};
    /// The file of `ductile`.
    std::string program{};
    /// Keep jobs in cgroups where that can be done.
    bool cgroups = true;
    /// Of each node, where cgroups can see to it; 0: any number.
    std::uint64_t max_processes_per_node = 0;
  };

  /// Touches nothing before it is begun.
  LocalWorld(const Platform& platform, Settings settings);
  ~LocalWorld() override;

  static Capabilities capabilities();

  Description describe() const override { return {platform_, capabilities()}; }
  /// Throws InputError if it is not known, or not as the journal has it, which nodes jobs have that
  /// run here; or if these have other cores now.
  void take_up(const ScheduleClock& clock, const Past& past) override;
  void configure(const WorldSettings& settings) override;
  bool submit(const Owner& owner, Submission what, const std::string& ticket) override;
  /// Here jobs wait in the journal alone, and the controller ends them at their limit.
  void change(std::uint64_t, const Submission&) override {}
  void carry_out(const Decision& decision, const JobFacts& job) override;
  void end(JobId id, EndState state, bool requeue) override;
  void deny(RequestId id) override;
  void forget(std::uint64_t number, bool waits_again) override;
  void add_to(Poller& poller) override;
  /// Children that have ended as well.
  void look() override;
  Time next() const override;
  std::vector<WorldEvent> take() override { return std::exchange(events_, {}); }
  Signs signs(JobId id) const override;

 private:
  struct Running;
  struct Folder;
  struct Holder;
  enum class Contact { made, nobody, not_now };

  void begin();
  void refuse_other_cores(const Folder& folder) const;
  std::uint32_t cores_noted(const NodeSet& nodes) const;
  std::vector<Folder> folders_of_jobs() const;
  static std::optional<Holder> holder_in(const std::string& folder);
  void note_holder(const Running& job, const NodeSet& nodes) const;
  std::string text_of_holder(const Running& job, const NodeSet& nodes) const;
  NodeSet nodes_of(const Holder& holder) const;
  void find_strangers(std::vector<Folder> folders, const Past& past);
  void take_up(const Known& known, const std::string& folder, const Past& past);
  bool keep_to_holder(Running& job, const Known& known, const Past& past);
  std::string where(const std::vector<Folder>& folders) const;
  static bool has_manager(const std::string& folder);
  static std::optional<pid_t> manager_of(const std::string& folder, const std::vector<Seen>& all);
  std::unique_ptr<Running> running(JobId id, const JobFacts& job, std::string folder) const;
  std::string free_folder(std::uint64_t number) const;
  bool is_strangers(const std::string& folder) const;
  void look_at_stranger(Running& job);
  bool measures(const Submission& what) const;
  void start(const Decision& decision, const JobFacts& job);
  void make_folder(Running& its, const JobFacts& job, bool changes_user);
  void look_at_start(Running& job);
  void not_started(const Running& job, DecisionId order, const std::runtime_error& error);
  void mark_ended(Running& job, EndState state, bool requeue) const;
  Contact connect(Running& job);
  void read(Running& job);
  void on_closed(Running& job);
  void on_line(Running& job, const std::string& line);
  void on_request(Running& job, std::uint32_t at_least, std::uint32_t preferred);
  void on_measured(Running& job, const nlohmann::ordered_json& json);
  static std::optional<double> watts_told(Running& job, const nlohmann::ordered_json& json);
  static void tell_nodes(Running& job);
  void look_at_counters();
  void settle(Running& job, std::uint32_t processes, bool has_moved);
  void expect_answer(Running& job) const;
  void withdraw(Running& job);
  void keep_to_size(Running& job, std::uint32_t processes);
  bool is_elsewhere(const Running& job) const;
  void order_back(Running& job) const;
  void give_order(Running& job, const char* verb) const;
  void on_lost_order(Running& job, const nlohmann::ordered_json& status);
  void add_cpus(nlohmann::ordered_json& order, const NodeSet& nodes) const;
  void reap();
  bool is_orphan(pid_t pid) const;
  void gone(Running& job);
  void sweep();
  void over(Running& job);
  std::optional<Time> when_ended(const Running& job, const std::string& boot,
                                 Duration machine) const;
  void happen(Event event) { events_.emplace_back(Told{std::move(event)}); }
  NodeSet cpus_of(const NodeSet& nodes) const;
  void enable_limits();
  void limit(const Running& job, const Holding& holding) const;
  std::string folder_of(std::uint64_t number) const;
  static void remove_folder(const std::string& folder);
  void clear(std::uint64_t number);
  std::string kept_of(std::uint64_t number) const;
  void remove_kept(const Past& past) const;
  bool is_suspended(Running& job);

  /// Never a remembered time: while the controller waits, that is long past.
  Time now() const { return clock_->now(); }

  Platform platform_;
  std::vector<std::uint64_t> first_core_;  // of each node, and of one behind the last
  Settings settings_;
  WorldSettings set_{};
  std::optional<EnergyMeter> meter_{};    // of this machine
  Time counted_at_{};                     // it was looked at
  Time count_at_ = kNever;                // and will be
  JobId alone_ = JobId::none;             // who had all nodes then
  const ScheduleClock* clock_ = nullptr;  // none before it is begun
  std::vector<std::uint32_t> cpus_;       // of this machine; empty: fewer than virtual ones
  std::string group_{};                   // the cgroup above those of jobs; empty: there are none
  std::set<std::string> controllers_{};   // that these have
  std::map<JobId, std::unique_ptr<Running>> running_;
  std::vector<std::unique_ptr<Running>> strangers_;
  std::map<std::uint64_t, std::string> moved_;  // folders of jobs whose own a stranger has
  std::set<pid_t> orphans_{};  // of managers that were killed, until they are reaped
  Time sweep_at_ = kNever;
  std::vector<WorldEvent> events_;
  rlimit files_{};                 // of jobs, whatever this process needs itself
  std::string journal_{};          // the controller's
  std::uint64_t next_number_ = 1;  // of a job
  std::uint32_t next_request_ = 0;
};

}  // namespace ductile
