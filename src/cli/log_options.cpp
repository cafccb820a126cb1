#include "cli/log_options.hpp"

#include <memory>
#include <optional>

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
