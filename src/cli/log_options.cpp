#include "cli/log_options.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "cli/swf_options.hpp"
#include "workload/adaptive.hpp"
#include "workload/precedence.hpp"

namespace ductile {

void add_log_options(CLI::App& command, LogOptions& options) {
  add_swf_options(command, options.rules);
  command
      .add_option("--adaptive", options.adaptive,
                  "which jobs of the log adapt, and how; auto: NAME.adaptive beside NAME.swf")
      ->type_name("FILE|auto|none")
      ->capture_default_str();
}

void refuse_option_of_logs(const CLI::App& command, const std::string& option,
                           const std::string& source, const std::string& log) {
  const CLI::Option* const its = command.get_option_no_throw(option);
  if (its == nullptr || its->count() == 0) return;
  throw InputError({.field = option},
                   "says how the lines of a log become jobs, and " + source + " reads no log",
                   "leave it away, or give " + log);
}

void refuse_options_of_logs(const CLI::App& command, const std::string& source,
                            const std::string& log) {
  for (const char* const option :
       {"--size",      "--min-runtime", "--never-started", "--clip",
        "--partition", "--status",      "--max-size",      "--partitions-from",
        "--qos-from",  "--memory-from", "--skip",          "--user",
        "--group",     "--min-size",    "--runtime",       "--from",
        "--until",     "--last",        "--dependencies",  "--feedback"}) {
    refuse_option_of_logs(command, option, source, log);
  }
}

Log read_log(const std::string& path, const LogOptions& options, const ReadProgress& progress) {
  Log log;
  if (options.adaptive == "auto") {
    log.adaptive = adaptive_beside(path).value_or("");
  } else if (options.adaptive != "none") {
    log.adaptive = options.adaptive;
  }
  SwfRules rules = options.rules;
  if (!log.adaptive.empty()) rules.extend_walltime = false;
  if (!log.adaptive.empty() && rules.platform) {
    rules.asked = std::make_shared<AskedByJobs>(read_asked(log.adaptive, rules.platform->platform));
  }
  log.workload = read_swf(path, rules, &log.header, progress);
  if (log.adaptive.empty()) {
    check_precedences(log.workload, path, "");
    return log;
  }
  log.unknown = read_adaptive(log.adaptive, log.workload,
                              {.cores_per_node = rules.cores_per_node,
                               .may_ask = !options.runs || rules.platform != nullptr});
  const Skipped& skipped = log.workload.skipped;
  if (log.unknown > 0 && rules.max_jobs == 0 && rules.leave_out == 0 && rules.last_jobs == 0 &&
      skipped.total() + skipped.filtered == 0) {
    throw InputError({.file = log.adaptive},
                     fmt::format("{} of its jobs are not in {}", log.unknown, path),
                     "give the file of this log, or --adaptive none");
  }
  check_precedences(log.workload, path, log.adaptive);
  return log;
}

void need_jobs(const Workload& workload, const std::string& path, const SwfRules& rules) {
  if (!workload.jobs.empty()) return;
  const Skipped& skipped = workload.skipped;
  std::vector<std::string> left_out, options;
  const auto option = [&](bool is_given, const char* name) {
    if (is_given) options.emplace_back(name);
  };
  if (skipped.filtered > 0) {
    left_out.push_back(fmt::format("{} lines that were not asked for", skipped.filtered));
    option(rules.partition.has_value(), "--partition");
    option(!rules.users.empty(), "--user");
    option(!rules.groups.empty(), "--group");
    option(rules.min_size > 0, "--min-size");
    option(rules.shortest > Duration{} || rules.longest > Duration{}, "--runtime");
    option(rules.from.has_value(), "--from");
    option(rules.until.has_value(), "--until");
  }
  option(rules.leave_out > 0, "--skip");
  if (skipped.total() > 0) {
    left_out.push_back(skipped_text(skipped));
    option(skipped.no_runtime > 0, "--min-runtime");
    option(skipped.never_started > 0, "--never-started");
    option(skipped.too_large > 0, "--nodes");
    option(skipped.too_large > 0, "--clip");
    option(skipped.other_status > 0, "--status");
    option(skipped.above_max_size > 0, "--max-size");
    option(skipped.not_allowed + skipped.nowhere > 0, "--platform");
  }
  const std::string why = left_out.empty() ? "" : fmt::format(": {}", fmt::join(left_out, ", "));
  throw InputError({.file = path}, "has no job" + why,
                   options.empty() ? "give a log with jobs"
                                   : fmt::format("look at {}", fmt::join(options, ", ")));
}

Nodes machine_nodes(const std::string& path, const SwfRules& rules) {
  if (rules.nodes > 0) return rules.nodes;
  const auto nodes = read_swf_header(path).nodes(rules.cores_per_node, rules.cores_per_processor);
  if (!nodes) {
    throw InputError({.file = path}, "its header does not say how large the machine is",
                     "give --nodes");
  }
  return *nodes;
}

}  // namespace ductile
