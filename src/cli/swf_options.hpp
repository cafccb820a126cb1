// The options of every command that reads a log.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "workload/swf.hpp"

namespace ductile {

/// Adds the rules by which lines become jobs: --nodes, --cores-per-node, --jobs, --skip, --last,
/// --size, --min-runtime, --never-started, --clip, --partition, --status, --max-size, --min-size,
/// --user, --group, --runtime, --from and --until. They are written
/// to `rules`, which must live until the command line is parsed.
void add_swf_options(CLI::App& command, SwfRules& rules);

/// "8 lines skipped: 3 without a size, 5 without a run time"; "" if none was.
std::string skipped_text(const Skipped& skipped, const char* what = "lines");

}  // namespace ductile
