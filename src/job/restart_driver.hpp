// Resizes a program that can do no more than stop at a checkpoint: it is told to, and started again
// at the other size when it has ended.
//
//   running        nothing is under way
//   checkpointing  it was told to stop, and works on until it has
//   stopped        it has, and something of it is still there
//   restarting     it was started again, and has not run long enough to be known to go on
//
// Whatever fails, it is started again at the size that it had, from the checkpoint that there is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "base/node_set.hpp"
#include "job/process_table.hpp"
#include "job/resize_driver.hpp"
#include "job/run_settings.hpp"

namespace ductile {

class RestartDriver {
 public:
  using Clock = Generation::Clock;
  using Json = nlohmann::ordered_json;
  using Wish = ResizeDriver::Wish;

  /// What it asks of the rest of the manager.
  struct Outside {
    /// Starts the program again: the next generation, which is the job. RunError.
    std::function<void(std::uint32_t size, const std::vector<Host>& hosts)> start{};
    /// Something happened: "resized", "aborted", "suspended".
    std::function<void(std::string_view what, const Json& details)> report{};
    /// To those who have ordered it.
    std::function<void(bool ok, const Json& details)> answer{};
    /// There is no program any more, and there will be none: the job has ended with this.
    std::function<void(int exit_code)> end{};
  };
  /// `cpus`: those of the next generation; what fails takes them back.
  RestartDriver(const RunSettings& settings, ProcessTable& table, NodeSet& cpus, Outside outside)
      : settings_(settings), table_(table), cpus_(cpus), outside_(std::move(outside)) {}

  // ---- Orders ----------------------------------------------------------------------------------
  /// Why not, if this cannot be ordered now.
  std::optional<std::string> objection(const Wish& wish) const;
  /// There is no objection.
  void order(const Wish& wish);
  /// Who has ordered it waits no longer. What has stopped for it goes on at its old size.
  void withdraw() { give_up("it was withdrawn"); }

  // ---- What happens ----------------------------------------------------------------------------
  /// A generation has ended, with this status of waitpid. False if that is the end of the job.
  bool on_ended(const Generation& generation, int status);
  /// So has another child of this process.
  void on_child(pid_t pid, int status);
  /// The program says that it goes on.
  void on_word();
  /// The job is to end with this code, if it has no processes; or it has ended.
  void on_stop(const std::string& reason, int exit_code);
  void on_exit();

  // ---- Time ------------------------------------------------------------------------------------
  /// When something is to be done.
  Clock::time_point next() const;
  void keep_deadlines(Clock::time_point now);
  /// What has stopped is started again, once nothing of it is left.
  void go_on();

  // ---- What is known ---------------------------------------------------------------------------
  bool is_busy() const { return phase_ != Phase::running; }
  std::string_view phase() const;
  std::uint32_t resizes() const { return resizes_; }
  bool is_suspended() const { return is_suspended_; }

 private:
  enum class Phase { running, checkpointing, stopped, restarting };
  /// What is to come of it.
  struct Task {
    std::uint32_t from = 1, to = 1;  // 0: the job is suspended
    NodeSet old_cpus{};
    std::vector<Host> old_hosts{}, hosts{};
    Clock::time_point begun{}, stopped{}, started{};
    std::string error{};       // why it goes on at its old size
    bool is_answered = false;  // nobody waits for it any more
  };

  int signal() const;
  void tell_program();
  void start_command();
  void give_up(const std::string& reason);
  bool has_stopped(int status) const;
  void look_after_stop();
  void on_death(const std::string& error);
  void start(std::uint32_t size);
  void settle();
  void answer(bool is_done);

  const RunSettings& settings_;
  ProcessTable& table_;
  NodeSet& cpus_;
  Outside outside_;

  Phase phase_ = Phase::running;
  Task task_{};
  Clock::time_point deadline_ = Clock::time_point::max();
  pid_t command_ = -1;                  // that makes the checkpoint, while it runs
  std::optional<int> command_status_{};  // of it
  std::optional<int> status_{};          // of the program that has ended meanwhile
  bool was_told_ = false;  // to stop: it may do so after nobody waits for that any more
  bool is_ending_ = false, is_suspended_ = false;
  std::uint32_t resizes_ = 0;
};

}  // namespace ductile
