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
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "job/resize_method.hpp"
#include "job/script_channel.hpp"

namespace ductile {

class RestartMethod final : public ResizeMethod {
 public:
  /// `folder`: of the job. std::system_error.
  RestartMethod(const RunSettings& settings, const std::string& folder, Outside outside);

  // ---- The program -----------------------------------------------------------------------------
  Variables variables(const Target& target) override;
  std::optional<Launcher> launcher(const Target& target) override;
  void on_started(Generation& generation) override;
  bool on_ended(const Generation& generation, int code) override;
  void on_child(pid_t pid, int code) override;
  void on_stop(int exit_code) override;
  std::optional<int> ended_with() const override { return ended_with_; }

  // ---- A resize --------------------------------------------------------------------------------
  bool can_suspend() const override { return true; }
  std::optional<std::string> objection(const Target& target) const override;
  void begin(const Target& target, Clock::time_point now) override;
  void give_up(const std::string& reason) override;
  std::optional<Outcome> look(Clock::time_point now) override;
  void look_after(Clock::time_point now) override;
  Clock::time_point next() const override { return deadline_; }
  void add_to(Poller& poller) override;

 private:
  enum class Phase { running, checkpointing, stopped, restarting };

  int signal() const;
  void start_command();
  bool has_stopped(int code) const;
  void look_after_stop();
  void go_back(const std::string& error);
  void start();
  void settle();
  void stop_command() const;

  const RunSettings& settings_;
  Outside outside_;
  ScriptChannel channel_;
  Generation* program_ = nullptr;
  bool is_again_;  // it is started from a checkpoint

  Phase phase_ = Phase::running;
  Clock::time_point deadline_ = Clock::time_point::max();
  Target old_{}, target_{};  // what it had, and is to have; size 0: the job is suspended
  Clock::time_point begun_{}, started_{};
  Clock::time_point stopped_{};        // with a checkpoint
  std::string error_{};                // why it goes on at its old size
  std::optional<Outcome> outcome_{};   // to be told
  bool is_awaited_ = false;            // somebody waits for an outcome
  pid_t command_ = -1;                 // that makes the checkpoint, while it runs
  std::optional<int> command_code_{};  // of it
  std::optional<int> code_{};          // of the program that has ended meanwhile
  bool was_told_ = false;              // to stop: it may do so after nobody waits for that any more
  bool is_ending_ = false;
  std::optional<int> ended_with_{};
};

}  // namespace ductile
