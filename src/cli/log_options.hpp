// Logs as commands read them: SWF, and what is said beside it of the jobs that adapt.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "workload/swf.hpp"
#include "workload/workload.hpp"

namespace ductile {

struct LogOptions {
  SwfRules rules;
  std::string adaptive = "auto";  // a file; "auto": the one beside the log if there is one; "none"
  bool runs = false;  // the jobs are to run, on the platform of the rules if there is one
};

/// Adds the options of `add_swf_options` and --adaptive. They are written to `options`, which must
/// live until the command line is parsed.
void add_log_options(CLI::App& command, LogOptions& options);

/// How lines of a log become jobs means nothing where `source` ("--generate") is read instead:
/// throws InputError if `command` was called with such an option. `log` is how one is given.
void refuse_options_of_logs(const CLI::App& command, const std::string& source,
                            const std::string& log);
/// The same of one option.
void refuse_option_of_logs(const CLI::App& command, const std::string& option,
                           const std::string& source, const std::string& log);

struct Log {
  Workload workload;
  SwfHeader header;
  std::string adaptive;       // the file of adaptive jobs; empty if there was none
  std::uint64_t unknown = 0;  // jobs of this file that were left out of the log
};

/// Reads both. Where there is a file of adaptive jobs the requested times are those of the log, and
/// not raised to the run times: what is believed may differ from what is true. Throws InputError,
/// also if jobs of that file are not in a log that was read as a whole.
Log read_log(const std::string& path, const LogOptions& options, const ReadProgress& progress = {});

/// Throws InputError if it has no job: what was left out, and the options that say so.
void need_jobs(const Workload& workload, const std::string& path, const SwfRules& rules);

/// How many nodes the machine has: as the options say, else as the header does. Throws InputError
/// if neither does.
Nodes machine_nodes(const std::string& path, const SwfRules& rules);

}  // namespace ductile
