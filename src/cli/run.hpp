// ductile run [options] -- PROGRAM ARGS
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "job/manager.hpp"

namespace ductile {

/// Adds the command; it runs the program when `app` is parsed, and throws CLI::RuntimeError with
/// the program's exit code if that is not 0.
void add_run_command(CLI::App& app);

/// "t=10:4,t=20:2": to 4 processes 10 s after the job began, to 2 at 20 s. InputError.
std::vector<PlannedResize> parse_script(const std::string& text);

}  // namespace ductile
