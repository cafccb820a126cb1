// Options of `ductile run` and `ductile submit` for programs that are told their size without a
// library of ours.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "job/kind.hpp"
#include "job/script_settings.hpp"

namespace ductile {

/// As they were given.
struct ScriptOptions {
  std::optional<std::string> signal{}, checkpoint{}, restart{};
  std::optional<double> ack_timeout{}, checkpoint_timeout{}, settle{};  // seconds
  std::optional<int> checkpoint_exit{};
};

void add_script_options(CLI::App& command, ScriptOptions& options);

/// InputError if an option is not for a job of this kind.
ScriptSettings script_settings(const ScriptOptions& options, JobKind kind);

}  // namespace ductile
