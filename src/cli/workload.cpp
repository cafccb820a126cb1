#include "cli/workload.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "cli/swf_options.hpp"
#include "workload/generate.hpp"
#include "workload/info.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

// ---- info ---------------------------------------------------------------------------------------

struct InfoOptions {
  std::string file;
  SwfRules rules;
  bool json = false;
};

struct Facts {
  SwfHeader header;
  Workload workload;
  std::uint32_t cores_per_node = 1;
  std::optional<Nodes> nodes;  // as given, else as in the header
  WorkloadInfo info;
};

Facts facts_of(const InfoOptions& options) {
  SwfRules rules = options.rules;
  rules.extend_walltime = false;
  rules.runtime_as_walltime = false;
  Facts facts;
  facts.workload = read_swf(options.file, rules, &facts.header);
  facts.cores_per_node = rules.cores_per_node;
  facts.nodes = rules.nodes > 0 ? rules.nodes : facts.header.nodes(rules.cores_per_node);
  facts.info = describe(facts.workload, facts.nodes.value_or(0));
  return facts;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string as_text(const Facts& facts) {
  const WorkloadInfo& info = facts.info;
  std::string text = facts.workload.name + "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "  {:<22}{}\n", name, value);
  };
  const auto row = [&](std::string_view name, const Distribution& values) {
    fmt::format_to(std::back_inserter(text),
                   "  {:<22}{:>12.6g}{:>12.6g}{:>12.6g}{:>12.6g}{:>12.6g}\n", name, values.min,
                   values.median, values.mean, values.p95, values.max);
  };

  if (!facts.header.computer.empty()) line("computer", facts.header.computer);
  line("machine", facts.nodes ? fmt::format("{} nodes of {} {}", *facts.nodes, facts.cores_per_node,
                                            facts.cores_per_node == 1 ? "core" : "cores")
                              : "not known; give --nodes");
  line("jobs", fmt::format("{}", info.jobs));
  const std::string skipped = skipped_text(facts.workload.skipped);
  if (!skipped.empty()) line("", skipped);
  if (facts.workload.skipped.filtered > 0) {
    line("", fmt::format("{} lines of other partitions", facts.workload.skipped.filtered));
  }
  if (facts.workload.clipped > 0) {
    line("", fmt::format("{} made as large as the machine", facts.workload.clipped));
  }
  if (info.jobs == 0) return text;
  line("users", fmt::format("{}", info.users));
  line("span", fmt::format("{:.1f} days, first submission at {:.0f} s", info.span_s / 86'400,
                           info.first_submit_s));
  line("work", fmt::format("{:.6g} node hours", info.work_node_s / 3600));
  if (info.offered_load) line("offered load", fmt::format("{:.3f}", *info.offered_load));
  line("jobs of one node", percent(info.serial_share));
  line("power-of-two sizes", percent(info.power_of_two_share));
  line("requested time known", percent(info.requested_share));
  if (info.overrun_share) {
    line("ran longer", percent(*info.overrun_share) + " of these");
    line("run / requested time",
         fmt::format("mean {:.3f}, median {:.3f}", *info.accuracy_mean, *info.accuracy_median));
  }
  fmt::format_to(std::back_inserter(text), "\n  {:<22}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "", "min",
                 "median", "mean", "95 %", "max");
  row("size (nodes)", info.size_nodes);
  row("run time (s)", info.runtime_s);
  row("between arrivals (s)", info.interarrival_s);
  return text;
}

std::string as_json(const Facts& facts) {
  using Json = nlohmann::ordered_json;
  const auto distribution = [](const Distribution& values) {
    return Json{{"min", values.min},
                {"median", values.median},
                {"mean", values.mean},
                {"p95", values.p95},
                {"max", values.max}};
  };
  const auto optional = [](const auto& value) { return value ? Json(*value) : Json(); };
  const WorkloadInfo& info = facts.info;
  const Skipped& skipped = facts.workload.skipped;
  const Json json = {
      {"name", facts.workload.name},
      {"computer", facts.header.computer},
      {"nodes", optional(facts.nodes)},
      {"cores_per_node", facts.cores_per_node},
      {"unix_start_time_s", optional(facts.header.unix_start_time)},
      {"jobs", info.jobs},
      {"skipped", skipped.total()},
      {"skipped_by_cause",
       {{"no_size", skipped.no_size},
        {"no_runtime", skipped.no_runtime},
        {"never_started", skipped.never_started},
        {"too_large", skipped.too_large}}},
      {"filtered", skipped.filtered},
      {"clipped", facts.workload.clipped},
      {"users", info.users},
      {"first_submit_s", info.first_submit_s},
      {"span_s", info.span_s},
      {"work_node_s", info.work_node_s},
      {"offered_load", optional(info.offered_load)},
      {"serial_share", info.serial_share},
      {"power_of_two_share", info.power_of_two_share},
      {"requested_share", info.requested_share},
      {"overrun_share", optional(info.overrun_share)},
      {"accuracy_mean", optional(info.accuracy_mean)},
      {"accuracy_median", optional(info.accuracy_median)},
      {"size_nodes", distribution(info.size_nodes)},
      {"runtime_s", distribution(info.runtime_s)},
      {"interarrival_s", distribution(info.interarrival_s)},
  };
  // A header may hold bytes that are not UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_info(CLI::App& workload) {
  CLI::App& command = *workload.add_subcommand("info", "what is in a log (SWF)");
  const auto options = std::make_shared<InfoOptions>();
  command.add_option("file", options->file, "the log: .swf, plain or as .gz, .xz or .zst")
      ->required();
  add_swf_options(command, options->rules);
  command.add_flag("--json", options->json, "print one JSON object");
  command.callback([options] {
    const Facts facts = facts_of(*options);
    std::cout << (options->json ? as_json(facts) : as_text(facts)) << std::flush;
  });
}

// ---- generate -----------------------------------------------------------------------------------

struct GenerateOptions {
  std::string model;
  std::uint64_t seed = 1;
  std::string out = "-";
};

void write(std::ostream& out, const std::string& name, const Workload& workload,
           const SwfHeader& header) {
  write_swf(out, workload, header);
  out.flush();
  if (!out) throw RunError(name + ": cannot be written: " + std::strerror(errno));
}

void generate(const GenerateOptions& options) {
  const ModelChoice choice = parse_model(options.model);
  const Workload workload = choice.generate(options.seed);
  const auto nodes = static_cast<std::int64_t>(choice.value("nodes"));
  SwfHeader header;
  header.version = "2.2";
  header.computer = fmt::format("synthetic, {} nodes", nodes);
  header.max_jobs = static_cast<std::int64_t>(workload.jobs.size());
  header.max_nodes = nodes;
  header.max_procs = nodes;
  header.unix_start_time = 0;
  header.notes = fmt::format("{}, seed {}\n", choice.text(), options.seed);
  if (options.out == "-") {
    write(std::cout, "standard output", workload, header);
    return;
  }
  std::ofstream file(options.out, std::ios::binary);
  if (!file) {
    throw InputError({.file = options.out},
                     std::string("cannot be written: ") + std::strerror(errno),
                     "give another file to --out");
  }
  write(file, options.out, workload, header);
}

std::string models_text() {
  std::string text = "Models:\n";
  for (const WorkloadModel& model : workload_models()) {
    fmt::format_to(std::back_inserter(text), "  {}: {}\n", model.name, model.about);
    for (const ModelParameter& parameter : model.parameters) {
      fmt::format_to(std::back_inserter(text), "    {:<12}{} ({} to {}{}{}) [{}]\n", parameter.name,
                     parameter.about, parameter.min, parameter.max,
                     parameter.unit.empty() ? "" : " ", parameter.unit, parameter.fallback);
    }
  }
  return text;
}

void add_generate(CLI::App& workload) {
  CLI::App& command = *workload.add_subcommand("generate", "make a workload by a model, as SWF");
  const auto options = std::make_shared<GenerateOptions>();
  command.add_option("model", options->model, "NAME[:key=value,...]")->required();
  command.add_option("--seed", options->seed, "of the random numbers")->capture_default_str();
  command.add_option("--out", options->out, "the file to write; -: the standard output")
      ->capture_default_str();
  command.footer(models_text());
  command.callback([options] { generate(*options); });
}

}  // namespace

void add_workload_command(CLI::App& app) {
  CLI::App& workload = *app.add_subcommand("workload", "look at workloads and make them");
  workload.require_subcommand(1);
  add_info(workload);
  add_generate(workload);
}

}  // namespace ductile
