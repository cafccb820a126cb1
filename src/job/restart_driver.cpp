#include "job/restart_driver.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/process.hpp"

namespace ductile {
namespace {

double seconds_between(RestartDriver::Clock::time_point begin,
                       RestartDriver::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

// ---- Orders -------------------------------------------------------------------------------------

std::optional<std::string> RestartDriver::objection(const Wish& wish) const {
  const Generation& now = table_.current();
  if (!wish.suspends) {
    const std::vector<Host>& hosts = wish.hosts.empty() ? now.hosts : wish.hosts;
    if (!hosts.empty() && wish.size > slots_of(hosts)) {
      return fmt::format("the hosts take {} processes", slots_of(hosts));
    }
    if (wish.size < settings_.min || wish.size > settings_.max) {
      return fmt::format("{} processes are not between {} and {}", wish.size, settings_.min,
                         settings_.max);
    }
  } else if (settings_.keep.empty()) {
    return "it is not said where to note that it is suspended (--keep)";
  }
  if (is_ending_) return "the job has ended";
  if (phase_ != Phase::running) return "a resize is under way";
  if (!wish.suspends && wish.size == now.size && !wish.moves) {
    return fmt::format("the job has {} processes already", now.size);
  }
  return std::nullopt;
}

void RestartDriver::order(const Wish& wish) {
  const Generation& program = table_.current();
  task_ = {.from = program.size,
           .to = wish.suspends ? 0 : wish.size,
           .old_cpus = program.cpus,
           .old_hosts = program.hosts,
           .hosts = wish.hosts.empty() ? program.hosts : wish.hosts,
           .begun = Clock::now()};
  spdlog::info("stopping {} processes at a checkpoint, to go on with {}", task_.from, task_.to);
  phase_ = Phase::checkpointing;
  deadline_ = task_.begun + settings_.script.checkpoint_timeout;
  status_.reset();
  command_status_.reset();
  was_told_ = true;
  try {
    if (!settings_.script.checkpoint.empty()) start_command();
  } catch (const RunError& error) {
    return give_up(error.what());
  }
  if (signal() != 0) kill(program.process.pid, signal());
}

/// By which the program is told to stop; 0: the command does it.
int RestartDriver::signal() const {
  if (settings_.script.signal != 0) return settings_.script.signal;
  return settings_.script.checkpoint.empty() ? SIGTERM : 0;
}

/// What it writes is for who reads stderr.
void RestartDriver::start_command() {
  const Generation& program = table_.current();
  const pid_t parent = getpid();
  const auto prepare = [&]() -> const char* {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    keep_to(program.cpus);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return nullptr;
  };
  command_ = start_session({"/bin/sh", "-c", settings_.script.checkpoint},
                           environment_with({{"DUCTILE_PID", std::to_string(program.process.pid)},
                                             {"DUCTILE_SIZE", std::to_string(task_.from)},
                                             {"DUCTILE_NEW_SIZE", std::to_string(task_.to)}}),
                           prepare);
}

/// While the program still runs, at its old size: it goes on, and if it stops all the same it is
/// started again.
void RestartDriver::give_up(const std::string& reason) {
  if (phase_ == Phase::checkpointing) {
    if (command_ > 0) kill(-command_, SIGKILL);
    task_.error = reason;
    cpus_ = task_.old_cpus;
    phase_ = Phase::running;
    deadline_ = Clock::time_point::max();
    answer(false);
  } else if (phase_ == Phase::stopped && task_.error.empty()) {
    task_.error = reason;
  }
}

// ---- What happens -------------------------------------------------------------------------------

/// Has a program that ended so stopped because it was told to?
bool RestartDriver::has_stopped(int status) const {
  const int code = exit_code(status);
  return code == settings_.script.stopped_exit || (signal() != 0 && code == 128 + signal());
}

bool RestartDriver::on_ended(const Generation& generation, int status) {
  if (&generation != &table_.current()) return true;
  if (is_ending_) return false;
  const int code = exit_code(status);
  switch (phase_) {
    case Phase::running:
      if (!was_told_ || !has_stopped(status)) return false;
      spdlog::info("the program has stopped at a checkpoint after all; it is started again");
      task_ = {.from = generation.size,
               .to = generation.size,
               .old_cpus = generation.cpus,
               .old_hosts = generation.hosts,
               .hosts = generation.hosts,
               .begun = Clock::now(),
               .stopped = Clock::now(),
               .is_answered = true};
      phase_ = Phase::stopped;
      return true;
    case Phase::checkpointing:
      // A command knows whether that was a checkpoint.
      if (command_ < 0 && !command_status_ && code == 0 && !has_stopped(status)) return false;
      status_ = status;
      task_.stopped = Clock::now();
      look_after_stop();
      return phase_ != Phase::running;
    case Phase::restarting:
      if (code == 0) {  // it has done what was left
        settle();
        return false;
      }
      if (generation.size == task_.from && !task_.error.empty()) {
        settle();
        return false;
      }
      on_death(fmt::format("the program that was started again ended with exit code {}", code));
      return true;
    case Phase::stopped:
      break;
  }
  return true;
}

void RestartDriver::on_child(pid_t pid, int status) {
  if (pid != command_) return;
  command_ = -1;
  if (phase_ != Phase::checkpointing) return;
  command_status_ = status;
  if (status_) return look_after_stop();
  if (exit_code(status) != 0) {
    give_up(fmt::format("the checkpoint failed with exit code {}", exit_code(status)));
  }
}

/// The program has ended while it was to.
void RestartDriver::look_after_stop() {
  if (command_ > 0) return;  // it is not known yet what that was
  const int code = exit_code(*status_);
  const bool is_good = command_status_ ? exit_code(*command_status_) == 0 : has_stopped(*status_);
  deadline_ = Clock::time_point::max();
  if (is_good) {
    phase_ = Phase::stopped;
    return;
  }
  if (code == 0) {  // it was at its end
    phase_ = Phase::running;
    outside_.end(0);
    return;
  }
  on_death(fmt::format("the program ended at the checkpoint with exit code {}", code));
}

/// It goes on from the checkpoint that there is, at its old size.
void RestartDriver::on_death(const std::string& error) {
  spdlog::warn("{}; it is started again with {} processes", error, task_.from);
  task_.error = error;
  phase_ = Phase::stopped;
  deadline_ = Clock::time_point::max();
}

void RestartDriver::on_word() {
  if (phase_ == Phase::restarting) settle();
}

void RestartDriver::on_stop(const std::string& reason, int exit_code) {
  is_ending_ = true;
  give_up(reason);
  if (phase_ == Phase::stopped) {
    task_.error = reason;
    phase_ = Phase::running;
    answer(false);
    outside_.end(exit_code);
  } else if (phase_ == Phase::restarting) {
    settle();
  }
}

void RestartDriver::on_exit() {
  is_ending_ = true;
  give_up("the job has ended");
}

// ---- Time ---------------------------------------------------------------------------------------

RestartDriver::Clock::time_point RestartDriver::next() const { return deadline_; }

void RestartDriver::keep_deadlines(Clock::time_point now) {
  if (now < deadline_) return;
  if (phase_ == Phase::restarting) return settle();
  if (phase_ != Phase::checkpointing) return;
  if (status_) {  // and its command has not
    if (command_ > 0) kill(-command_, SIGKILL);
    deadline_ = Clock::time_point::max();
    return;
  }
  give_up(fmt::format(
      "the program has not stopped at a checkpoint for {:.1f} s",
      std::chrono::duration<double>(settings_.script.checkpoint_timeout).count()));
}

void RestartDriver::go_on() {
  if (phase_ != Phase::stopped || !table_.current().is_gone()) return;
  if (task_.to == 0 && task_.error.empty()) {
    is_suspended_ = true;
    phase_ = Phase::running;
    outside_.report("suspended", {{"size", task_.from}});
    answer(true);
    return outside_.end(0);
  }
  start(task_.error.empty() ? task_.to : task_.from);
}

void RestartDriver::start(std::uint32_t size) {
  const bool is_back = !task_.error.empty();
  if (is_back) cpus_ = task_.old_cpus;
  task_.started = Clock::now();
  try {
    outside_.start(size, is_back ? task_.old_hosts : task_.hosts);
  } catch (const RunError& error) {
    if (!is_back) {
      on_death(error.what());
      return start(task_.from);
    }
    phase_ = Phase::running;
    answer(false);
    return outside_.end(1);
  }
  was_told_ = false;
  phase_ = Phase::restarting;
  deadline_ = task_.started + settings_.script.settle;
}

/// It goes on, or there is nothing more to try.
void RestartDriver::settle() {
  phase_ = Phase::running;
  deadline_ = Clock::time_point::max();
  answer(task_.error.empty());
}

void RestartDriver::answer(bool is_done) {
  if (std::exchange(task_.is_answered, true)) return;
  const Generation& program = table_.current();
  Json details = {{"generation", program.number},
                  {"from", task_.from},
                  {"to", task_.to},
                  {"size", is_done ? task_.to : task_.from}};
  details["cpus"] = to_string(program.cpus);
  if (!program.hosts.empty()) {
    Json hosts = Json::object();
    for (const Host& host : place(program.hosts, program.size)) hosts[host.name] = host.slots;
    details["hosts"] = std::move(hosts);
  }
  if (is_done) {
    details["checkpoint_s"] = seconds_between(task_.begun, task_.stopped);
    if (task_.to > 0) {
      ++resizes_;
      details["pause_s"] = seconds_between(task_.stopped, task_.started);
      spdlog::info("started again with {} processes, not {}", task_.to, task_.from);
    }
  } else {
    details["error"] = task_.error;
    spdlog::warn("the resize from {} to {} was given up: {}", task_.from, task_.to, task_.error);
  }
  if (!is_suspended_) outside_.report(is_done ? "resized" : "aborted", details);
  outside_.answer(is_done, details);
}

}  // namespace ductile
