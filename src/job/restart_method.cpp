#include "job/restart_method.hpp"

#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/process.hpp"

namespace ductile {
namespace {

double seconds_from(ResizeMethod::Clock::time_point begin, ResizeMethod::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// "{n}" is the size.
std::string with_size(std::string text, std::uint32_t size) {
  constexpr std::string_view kPlace = "{n}";
  const std::string number = std::to_string(size);
  for (std::size_t at = 0; (at = text.find(kPlace, at)) != std::string::npos; at += number.size()) {
    text.replace(at, kPlace.size(), number);
  }
  return text;
}

}  // namespace

RestartMethod::RestartMethod(const RunSettings& settings, const std::string& folder,
                             Outside outside)
    : settings_(settings),
      outside_(std::move(outside)),
      channel_(folder, {settings.size, settings.cpus, settings.launcher.hosts}),
      is_again_(!settings.go_on.empty()) {
  channel_.let_go();  // of its lines there is no use
}

// ---- The program --------------------------------------------------------------------------------

Variables RestartMethod::variables(const Target& target) {
  return {{kSizeVariable, std::to_string(target.size)},
          {"DUCTILE_RESTART", is_again_ ? "1" : "0"},
          {kAckVariable, channel_.socket()}};
}

std::optional<Launcher> RestartMethod::launcher(const Target& target) {
  Launcher launcher = settings_.launcher;
  if (is_again_ && !settings_.script.restart.empty()) {
    launcher.program = {"/bin/sh", "-c", settings_.script.restart};
  }
  for (std::string& word : launcher.program) word = with_size(word, target.size);
  return launcher;
}

void RestartMethod::on_started(Generation& generation) {
  program_ = &generation;
  was_told_ = false;
}

/// Has a program with this exit code stopped because it was told to? A command that made the
/// checkpoint knows that, whatever the program says; but one that ends with 0 is done, unless that
/// is how it stops.
bool RestartMethod::has_stopped(int code) const {
  if (code == settings_.script.stopped_exit) return true;
  if (code == 0) return false;
  return command_code_ ? *command_code_ == 0 : signal() != 0 && code == 128 + signal();
}

bool RestartMethod::on_ended(const Generation& generation, int code) {
  if (&generation != program_) return true;
  if (is_ending_) return false;
  switch (phase_) {
    case Phase::running:
      if (!was_told_ || !has_stopped(code)) return false;
      spdlog::warn("the program has stopped at a checkpoint after all; it is started again");
      old_ = target_ = {program_->size, program_->cpus, program_->hosts};
      error_.clear();
      phase_ = Phase::stopped;
      return true;
    case Phase::checkpointing:
      if (code == 0 && !has_stopped(code)) {
        stop_command();
        return false;
      }
      code_ = code;
      stopped_ = Clock::now();
      look_after_stop();
      return true;
    case Phase::restarting:
      if (code == 0 || !error_.empty()) {  // it has done what was left, or there is no other way
        settle();
        return false;
      }
      go_back(fmt::format("the program that was started again ended with exit code {}", code));
      return true;
    case Phase::stopped:
      break;
  }
  return true;
}

void RestartMethod::on_child(pid_t pid, int code) {
  if (pid != command_) return;
  command_ = -1;
  if (phase_ != Phase::checkpointing || is_ending_) return;
  command_code_ = code;
  if (code_) return look_after_stop();
  if (code == 0) return;
  give_up(fmt::format("the checkpoint failed with exit code {}", code));
  command_code_.reset();  // if it stops after that, it says so itself
}

/// The program has ended while it was to.
void RestartMethod::look_after_stop() {
  if (command_ > 0) return;  // it is not known yet what that was
  deadline_ = Clock::time_point::max();
  if (has_stopped(*code_) && command_code_.value_or(0) == 0) {
    phase_ = Phase::stopped;
  } else {
    go_back(fmt::format("the program ended at the checkpoint with exit code {}", *code_));
  }
}

/// It goes on from the checkpoint that there is, as it was.
void RestartMethod::go_back(const std::string& error) {
  spdlog::warn("{}; it is started again with {} processes", error, old_.size);
  error_ = error;
  phase_ = Phase::stopped;
  deadline_ = Clock::time_point::max();
}

void RestartMethod::on_stop(int exit_code) {
  is_ending_ = true;
  const bool has_ended = phase_ == Phase::stopped || (phase_ == Phase::checkpointing && code_);
  if (!has_ended) return;  // what runs is told to end
  stop_command();
  ended_with_ = exit_code;
}

void RestartMethod::add_to(Poller& poller) {
  channel_.add_to(poller, [this](const ScriptWord& word) -> std::string {
    if (word.refuses) return "a program that does not go on ends";
    if (phase_ == Phase::restarting) settle();
    return {};
  });
}

// ---- A resize -----------------------------------------------------------------------------------

std::optional<std::string> RestartMethod::objection(const Target& /*target*/) const {
  if (phase_ == Phase::running) return std::nullopt;
  return "the program is being started again";
}

void RestartMethod::begin(const Target& target, Clock::time_point now) {
  old_ = {program_->size, program_->cpus, program_->hosts};
  target_ = target;
  begun_ = now;
  error_.clear();
  code_.reset();
  command_code_.reset();
  outcome_.reset();
  is_awaited_ = was_told_ = true;
  phase_ = Phase::checkpointing;
  deadline_ = now + settings_.script.checkpoint_timeout;
  try {
    if (!settings_.script.checkpoint.empty()) start_command();
  } catch (const RunError& error) {
    return give_up(error.what());
  }
  if (signal() != 0) kill(program_->process.pid, signal());
}

/// By which the program is told to stop; 0: the command does it.
int RestartMethod::signal() const {
  if (settings_.script.signal != 0) return settings_.script.signal;
  return settings_.script.checkpoint.empty() ? SIGTERM : 0;
}

/// What it writes is for who reads stderr.
void RestartMethod::start_command() {
  const pid_t parent = getpid();
  const auto prepare = [&]() -> const char* {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    ductile::keep_to(old_.cpus);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return nullptr;
  };
  command_ = start_session({"/bin/sh", "-c", settings_.script.checkpoint},
                           environment_with({{"DUCTILE_PID", std::to_string(program_->process.pid)},
                                             {kSizeVariable, std::to_string(old_.size)},
                                             {"DUCTILE_NEW_SIZE", std::to_string(target_.size)}}),
                           prepare);
}

void RestartMethod::stop_command() const {
  if (command_ > 0) kill(-command_, SIGKILL);
}

/// While the program still runs it goes on, and if it stops all the same it is started again; what
/// has stopped is started again as it was.
void RestartMethod::give_up(const std::string& reason) {
  if (phase_ == Phase::stopped && error_.empty()) error_ = reason;
  if (phase_ != Phase::checkpointing || code_) return;
  stop_command();
  error_ = reason;
  settle();
}

std::optional<ResizeMethod::Outcome> RestartMethod::look(Clock::time_point now) {
  look_after(now);
  return std::exchange(outcome_, std::nullopt);
}

void RestartMethod::look_after(Clock::time_point now) {
  if (phase_ == Phase::stopped && program_->is_gone() && !ended_with_) start();
  if (now < deadline_) return;
  deadline_ = Clock::time_point::max();
  if (phase_ == Phase::restarting) {
    settle();
  } else if (phase_ == Phase::checkpointing && code_) {
    stop_command();  // it has not ended, but the program has
  } else if (phase_ == Phase::checkpointing) {
    give_up(
        fmt::format("the program has not stopped at a checkpoint for {:.1f} s",
                    std::chrono::duration<double>(settings_.script.checkpoint_timeout).count()));
  }
}

/// Nothing of the program is left.
void RestartMethod::start() {
  const bool is_back = !error_.empty();
  if (target_.size == 0 && !is_back) {
    settle();
    ended_with_ = 0;
    return;
  }
  started_ = Clock::now();
  is_again_ = true;
  try {
    outside_.start(is_back ? old_ : target_);
  } catch (const RunError& error) {
    if (!is_back) {
      go_back(error.what());
      return start();
    }
    settle();
    ended_with_ = 1;
    return;
  }
  phase_ = Phase::restarting;
  deadline_ = started_ + settings_.script.settle;
}

/// It goes on, or there is nothing more to try.
void RestartMethod::settle() {
  phase_ = Phase::running;
  deadline_ = Clock::time_point::max();
  if (!std::exchange(is_awaited_, false)) return;
  outcome_ = {.error = error_};
  if (!error_.empty()) return;
  outcome_->details["checkpoint_s"] = seconds_from(begun_, stopped_);
  // It has computed in a part of that, which nobody knows.
  if (target_.size > 0) outcome_->details["pause_s"] = seconds_from(begun_, started_);
}

}  // namespace ductile
