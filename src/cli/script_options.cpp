#include "cli/script_options.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/error.hpp"
#include "cli/number_range.hpp"

namespace ductile {
namespace {

void refuse_option(const char* name, const std::string& kinds) {
  throw InputError({.field = name}, "this is for " + kinds, "drop it, or say so");
}

std::chrono::milliseconds whole_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

}  // namespace

void add_script_options(CLI::App& command, ScriptOptions& options) {
  const auto add = [&](const char* name, auto& value, const char* what) {
    return command.add_option(name, value, what)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  const auto limit = [&](const char* name, auto& value, const char* what) {
    add(name, value, what)->check(NumberRange(0.1, 1e6))->type_name("SECONDS");
  };
  add("--signal", options.signal,
      "--kind script: sent with each order for a size; --kind restart: says that the program is to "
      "stop [TERM, if there is no --checkpoint]")
      ->type_name("USR1|TERM|...");
  limit("--ack-timeout", options.ack_timeout,
        "--kind script, charm: a program that has not answered by then refuses [30]");
  add("--checkpoint", options.checkpoint,
      "--kind restart: the command of the shell that has the program checkpoint and stop")
      ->type_name("CMD");
  limit("--checkpoint-timeout", options.checkpoint_timeout,
        "--kind restart: seconds in which the program has to stop [600]");
  add("--checkpoint-exit", options.checkpoint_exit,
      "--kind restart: the exit code of a program that has stopped at a checkpoint [85]")
      ->check(CLI::Range(0, 255))
      ->type_name("CODE");
  add("--restart", options.restart,
      "--kind restart: the command of the shell that starts the program again, {n} is its size [as "
      "at first]")
      ->type_name("CMD");
  limit("--settle", options.settle,
        "--kind restart: a program that has run so long after its restart goes on [1]");
}

ScriptSettings script_settings(const ScriptOptions& options, JobKind kind) {
  const bool is_restart = kind == JobKind::restart;
  ScriptSettings settings;
  if (options.signal) {
    if (kind != JobKind::script && !is_restart) {
      refuse_option("--signal", "--kind script and --kind restart");
    }
    const auto signal = parse_signal(*options.signal);
    if (!signal) {
      throw InputError(
          {.field = "--signal"},
          "'" + *options.signal + "' is no signal that a program can be told something by",
          "use one of USR1, USR2, TERM, INT, HUP, QUIT, CONT, URG, WINCH");
    }
    settings.signal = *signal;
  }
  if (options.ack_timeout) {
    if (kind != JobKind::script && kind != JobKind::charm) {
      refuse_option("--ack-timeout", "--kind script and --kind charm");
    }
    settings.ack_timeout = whole_milliseconds(*options.ack_timeout);
  }
  const auto of_restart = [&](const char* name, const auto& option) {
    if (option && !is_restart) refuse_option(name, "--kind restart");
    return option.has_value();
  };
  if (of_restart("--checkpoint", options.checkpoint)) settings.checkpoint = *options.checkpoint;
  if (of_restart("--checkpoint-timeout", options.checkpoint_timeout)) {
    settings.checkpoint_timeout = whole_milliseconds(*options.checkpoint_timeout);
  }
  if (of_restart("--checkpoint-exit", options.checkpoint_exit)) {
    settings.stopped_exit = *options.checkpoint_exit;
  }
  if (of_restart("--restart", options.restart)) settings.restart = *options.restart;
  if (of_restart("--settle", options.settle)) settings.settle = whole_milliseconds(*options.settle);
  return settings;
}

}  // namespace ductile
