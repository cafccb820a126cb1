// ductile submit [options] SCRIPT|PROGRAM ARGS
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "live/submission.hpp"

namespace ductile {

/// Adds the command; it submits when `app` is parsed. It throws InputError and RunError, and with
/// --wait CLI::RuntimeError with the job's exit code if that is not 0.
void add_submit_command(CLI::App& app);

/// What is submitted when this process calls a program or a script with its arguments, in its
/// folder and with its environment and limits: `line` as a line of a script has it. All else is as
/// in `Submission`. InputError, which names `field`.
Submission called_here(std::string_view line, const std::string& field);

/// The words of the `#DUCTILE` lines of a script, and of those `#SBATCH` and `#PBS` lines that mean
/// the same here, as options of `ductile submit`; `ignored` gets the other ones of these, and those
/// that come after the first line that is neither a comment nor empty. Throws InputError, which
/// names `file`. Where there are no partitions such lines may name any: that means nothing, too.
std::vector<std::string> script_options(const std::string& file, const std::string& script,
                                        std::vector<std::string>& ignored,
                                        bool has_partitions = true);

}  // namespace ductile
