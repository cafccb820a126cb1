#include "libslurm/shadow_command.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "cli/log_options.hpp"
#include "cli/serve.hpp"
#include "cli/transform_options.hpp"
#include "cli/write_log.hpp"
#include "experiment/run.hpp"
#include "libslurm/libslurm.hpp"
#include "metrics/summary.hpp"
#include "report/table.hpp"
#include "slurm/node_names.hpp"
#include "slurm/shadow.hpp"
#include "slurm/submitted.hpp"
#include "workload/adaptive.hpp"
#include "workload/sacct.hpp"
#include "workload/swf.hpp"
#include "workload/transform.hpp"

namespace ductile {
namespace {

struct ShadowReportOptions {
  std::string record, out;
  std::vector<std::string> policies{};
  Transform changes{};
  std::uint64_t seed = 1;
};

struct Recorded {
  SacctInput input{};
  Nodes nodes = 0;
};

Recorded read_record(const std::string& folder) {
  const std::string path = folder + kShadowJobs;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw InputError({.file = path}, "cannot be read", "name the folder of `ductile-slurm shadow`");
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!text.starts_with(std::string(kShadowColumns) + "\n")) {
    throw InputError({.file = path, .line = 1}, "is no record of a shadow of this version",
                     "name the folder of `ductile-slurm shadow`");
  }
  text.resize(text.rfind('\n') + 1);  // a line that is being written
  Recorded recorded;
  recorded.input = parse_sacct(text, path, {.count = SacctRules::Count::nodes});
  recorded.nodes = static_cast<Nodes>(NodeNames(folder + kShadowNodes).count());
  return recorded;
}

/// A job that never ran, or ran for no whole second, is not counted, here and there.
bool has_run(const SwfLine& line) {
  return line.wait && line.runtime && *line.runtime > Duration{};
}

/// What Slurm did, in the figures of the simulator.
Summary as_slurm_did(const Recorded& recorded) {
  Summary summary;
  summary.policy = "as Slurm did";
  summary.nodes = recorded.nodes;
  JobFigures figures;
  Time first = kNever, last{};
  double held_node_s = 0;
  for (const SwfLine& line : recorded.input.lines) {
    if (!has_run(line)) continue;
    const Time submit(line.submit);
    const Time start = submit + *line.wait, end = start + *line.runtime;
    figures.add(submit, start, end, *line.runtime, line.status != 1);
    first = std::min(first, submit);
    last = std::max(last, end);
    held_node_s += to_seconds(*line.runtime) * static_cast<double>(line.allocated);
  }
  figures.write(summary);
  summary.makespan_s = to_seconds(last - first);
  summary.utilization = summary.utilization_net =
      held_node_s / (summary.makespan_s * recorded.nodes);
  summary.throughput_jobs_h = static_cast<double>(summary.jobs) * 3600 / summary.makespan_s;
  return summary;
}

/// What the jobs asked for and how long they ran, at the size they had.
Workload workload_of(const Recorded& recorded) {
  std::vector<SwfLine> lines;
  for (const SwfLine& line : recorded.input.lines) {
    if (has_run(line)) lines.push_back(line);
  }
  if (lines.empty()) {
    throw InputError("no job of the record has run and is over", "let the shadow look for a while");
  }
  std::ostringstream text;
  write_swf_lines(text, lines, recorded.input.header);
  SwfRules rules;
  rules.nodes = recorded.nodes;
  rules.size = SwfRules::Size::allocated;
  Workload workload = parse_swf(text.str(), "the record", rules);
  for (WorkloadJob& job : workload.jobs) {
    const std::string& comment = recorded.input.comments.at(job.name - 1);
    if (comment.empty()) continue;
    const Submission said = sizes_said(comment);
    AdaptiveJob its{.type = said.type, .speedup = said.model};
    its.size.min = std::min(said.min != 0 ? said.min : job.nodes, job.nodes);
    its.size.max = std::max(said.max != 0 ? said.max : recorded.nodes, job.nodes);
    its.believed.speedup = said.model;
    its.believed.constraint = said.sizes;
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    workload.adaptive.push_back(std::move(its));
  }
  return workload;
}

void report(const ShadowReportOptions& options, const Registry& registry) {
  Matrix matrix;
  for (const std::string& policy : options.policies) {
    matrix.policies.push_back(registry.make(policy));
  }
  const Recorded recorded = read_record(options.record);
  Workload made = workload_of(recorded);
  transform(made, options.changes, recorded.nodes, options.seed);
  const std::string folder = options.out.empty() ? options.record + "/report" : options.out;
  std::filesystem::create_directories(folder);
  const std::string log = folder + "/workload.swf";
  SwfHeader header = recorded.input.header;
  header.notes = "what ductile-slurm shadow saw of a partition of Slurm\n";
  set_sizes(header, made.jobs.size(), recorded.nodes, 1);
  write_log(
      log, [&](std::ostream& out) { write_swf(out, made, header); },
      [&](std::ostream& out) { write_adaptive(out, made); });
  // As `ductile simulate --trace` has it.
  const auto workload = std::make_shared<const Workload>(
      read_log(log, {.rules = {.nodes = recorded.nodes}}).workload);
  matrix.seeds = {options.seed};
  matrix.settings.platform.nodes = recorded.nodes;
  matrix.settings.rules.identities = true;
  matrix.out = folder;
  matrix.input = [&](std::uint64_t) { return Input{workload, {}, 0}; };
  std::vector<Summary> summaries{as_slurm_did(recorded)};
  run_matrix(matrix, [&](const Summary& summary) { summaries.push_back(summary); });
  std::string text = fmt::format(
      "{} jobs on {} nodes; {} more never ran, or for no whole second, and {} had not ended when "
      "they were seen last\n\n{}\n",
      made.jobs.size(), recorded.nodes, recorded.input.lines.size() - made.jobs.size(),
      recorded.input.unfinished, summary_table(summaries));
  std::ofstream file(folder + "/report.txt");
  if (!(file << text) || !file.flush()) {
    throw RunError(fmt::format("'{}/report.txt' cannot be written", folder));
  }
  std::cout << text << "\nthe jobs, and each run: " << folder << '\n';
}

}  // namespace

void add_shadow_commands(CLI::App& app, const Registry& registry) {
  struct ShadowOptions {
    std::string partition, record;
  };
  const auto looks = std::make_shared<ShadowOptions>();
  CLI::App* const shadow_command = app.add_subcommand(
      "shadow", "Look at a partition of Slurm, touch nothing, and record its jobs");
  shadow_command->add_option("--partition", looks->partition, "the partition")->required();
  shadow_command
      ->add_option("--record", looks->record, "the folder of the record; it is gone on with")
      ->type_name("FOLDER")
      ->required();
  shadow_command->callback([looks] {
    set_up_serve_log(0);
    try {
      LibSlurm slurm(looks->partition);
      look_on(slurm, looks->partition, looks->record);
    } catch (const SlurmError& error) {
      if (!error.is_lost) {
        throw InputError({.field = "--partition"}, error.what(), "name one of this Slurm");
      }
      throw RunError(error.what());
    }
  });

  const auto options = std::make_shared<ShadowReportOptions>();
  CLI::App* const command = app.add_subcommand(
      "shadow-report", "Set what Slurm did beside what policies would have done");
  command->add_option("--record", options->record, "the folder of `ductile-slurm shadow`")
      ->type_name("FOLDER")
      ->required();
  command->add_option("--policy", options->policies, "NAME[:k=v,...], as often as one likes")
      ->required();
  command->add_option("--out", options->out, "folder for its files [report in that of the record]")
      ->type_name("FOLDER");
  command->add_option("--seed", options->seed, "of what is drawn by --malleable and its like [1]");
  add_transform_options(*command, options->changes);
  command->callback([options, &registry] { report(*options, registry); });
}

}  // namespace ductile
