#include "cli/workload_convert.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/log_options.hpp"
#include "cli/number_range.hpp"
#include "cli/progress_line.hpp"
#include "cli/swf_options.hpp"
#include "cli/write_file.hpp"
#include "cli/write_log.hpp"
#include "workload/adaptive.hpp"
#include "workload/batsim.hpp"
#include "workload/elastisim.hpp"
#include "workload/precedence.hpp"
#include "workload/sacct.hpp"
#include "workload/simgrid.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

enum class Format : std::uint8_t { swf, sacct, batsim4, batsim5, elastisim };
constexpr std::array<std::string_view, 5> kFormatWords = {"swf", "sacct", "batsim4", "batsim5",
                                                          "elastisim"};

struct ConvertOptions {
  std::string file, out, from, to, platform;
  Nodes nodes = 0;
  SacctRules sacct;
  BatsimRules batsim;
  std::function<bool(const char* option)> is_given;
};

// What was read, whatever it was read from.
struct Converted {
  Workload workload;
  std::vector<SwfLine> lines;  // of sacct, instead of the workload
  SwfHeader header;
  Nodes nodes = 0;  // of the machine; 0: not known
  std::vector<std::string> remarks;
};

Format format_of(const std::string& word, const char* option) {
  const auto format = from_word<Format>(kFormatWords, word == "batsim" ? "batsim4" : word);
  if (!format) {
    throw InputError({.field = option}, fmt::format("there is no format '{}'", word),
                     "use swf, sacct, batsim, batsim5 or elastisim");
  }
  return *format;
}

// As its name has it.
Format format_of_file(const std::string& file, const char* option) {
  std::string_view name = file;
  for (const std::string_view ending : {".gz", ".xz", ".zst"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  if (name.ends_with(".swf")) return Format::swf;
  if (name.ends_with(".json")) return Format::batsim4;
  for (const std::string_view ending : {".sacct", ".txt", ".csv", ".psv"}) {
    if (name.ends_with(ending)) return Format::sacct;
  }
  throw InputError({.file = file}, "its name does not say what is in it",
                   fmt::format("say it: {} swf, sacct, batsim, batsim5 or elastisim", option));
}

bool is_batsim(Format format) { return format == Format::batsim4 || format == Format::batsim5; }

// Requested times as they are, and none where none is known.
SwfRules plain_rules(const ConvertOptions& options) {
  SwfRules rules;
  rules.nodes = options.nodes;
  rules.cores_per_node = options.sacct.cores_per_node;
  rules.extend_walltime = rules.runtime_as_walltime = false;
  rules.follows_preceding = true;
  return rules;
}

Converted from_swf(const ConvertOptions& options, const ReadProgress& progress) {
  LogOptions how{.rules = plain_rules(options)};
  Converted result;
  result.nodes = machine_nodes(options.file, how.rules);
  how.rules.nodes = result.nodes;
  Log log = read_log(options.file, how, progress);
  result.workload = std::move(log.workload);
  return result;
}

Converted from_sacct(const ConvertOptions& options, const ReadProgress& progress) {
  SacctInput input = read_sacct(options.file, options.sacct, progress);
  Converted result;
  result.lines = std::move(input.lines);
  result.header = std::move(input.header);
  result.header.notes = "converted from the accounting of Slurm by ductile\n";
  result.nodes = options.nodes;
  result.remarks = std::move(input.remarks);
  if (input.steps > 0) {
    result.remarks.push_back(fmt::format("{} lines of steps are not read", input.steps));
  }
  if (input.unfinished > 0) {
    result.remarks.push_back(
        fmt::format("{} jobs that wait or run are left out", input.unfinished));
  }
  if (options.nodes == 0) {
    result.remarks.emplace_back(
        "the log does not say how large the machine is; --nodes and --cores-per-node would");
  }
  return result;
}

// What parallel tasks see of a platform of SimGrid.
BatsimMachine machine_of(const SimgridMachine& platform, std::vector<std::string>& remarks) {
  BatsimMachine machine;
  machine.flops_per_s = platform.flops_per_s;
  const NetworkPath& backbone = platform.backbone;
  if (!platform.unknown_network.empty()) {
    remarks.push_back(
        fmt::format("a network of the kind {} is not modelled: jobs that use it need "
                    "--bandwidth",
                    platform.unknown_network));
  } else {
    machine.link_bytes_per_s = platform.link.bytes_per_s;
    if (backbone.shared && std::isfinite(backbone.bytes_per_s)) {
      machine.backbone_bytes_per_s = backbone.bytes_per_s;
    }
  }
  if (!platform.both_ways) {
    remarks.emplace_back("links carry one direction at a time: here both at once");
  }
  return machine;
}

Converted from_batsim(const ConvertOptions& options) {
  Converted result;
  BatsimRules rules = options.batsim;
  if (!options.platform.empty()) {
    std::vector<std::string> remarks;
    const SimgridMachine platform =
        parse_simgrid(read_file(options.platform), options.platform, remarks);
    const BatsimMachine machine = machine_of(platform, remarks);
    result.nodes = platform.nodes;
    const auto unless_given = [](double& given, double its) {
      if (given == 0) given = its;
    };
    unless_given(rules.machine.flops_per_s, machine.flops_per_s);
    unless_given(rules.machine.link_bytes_per_s, machine.link_bytes_per_s);
    unless_given(rules.machine.backbone_bytes_per_s, machine.backbone_bytes_per_s);
    for (const std::string& remark : remarks) {
      result.remarks.push_back(fmt::format("{}: {}", options.platform, remark));
    }
  }
  BatsimInput input = read_batsim(options.file, rules);
  result.workload = std::move(input.workload);
  if (result.nodes == 0) result.nodes = input.nodes;
  if (options.nodes > 0) result.nodes = options.nodes;
  result.header.notes = "converted from a workload of Batsim by ductile\n";
  std::ranges::move(input.remarks, std::back_inserter(result.remarks));
  return result;
}

// Leaves out the jobs for which `what_of` finds words that the other format lacks, or refuses them.
template <class WhatOf>
void keep_what_can_be_said(Converted& result, const ConvertOptions& options, WhatOf what_of) {
  Workload& workload = result.workload;
  std::vector<std::uint32_t> place;  // in what is kept
  std::vector<WorkloadJob> kept;
  place.reserve(workload.jobs.size());
  std::uint64_t left_out = 0;
  std::string first;
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
    const WorkloadJob& job = workload.jobs[i];
    std::string what = what_of(i);
    if (what.empty()) {
      place.push_back(static_cast<std::uint32_t>(kept.size()));
      kept.push_back(job);
      continue;
    }
    if (!options.batsim.skip_unsupported) {
      throw InputError({.file = options.file, .field = fmt::format("job {}", job.name)},
                       "has what the other format has no words for: " + what,
                       "leave such jobs out with --unsupported skip");
    }
    place.push_back(kGone);
    if (left_out++ == 0) first = std::move(what);
  }
  if (left_out == 0) return;
  workload.jobs = std::move(kept);
  renumber_precedences(workload, place);
  result.remarks.push_back(
      fmt::format("{} jobs are left out that have what the other format has no words for, the "
                  "first of them: {}",
                  left_out, first));
}

// What Batsim has no words for in a job; empty if there is nothing.
std::string what_batsim_lacks(const Workload& workload, const WorkloadJob& job) {
  if (job.bound != Bound::mixed) return "it says what it loses on nodes that it shares (bound)";
  if (job.adaptive == WorkloadJob::kRigid) return "";
  const AdaptiveJob& more = workload.adaptive[job.adaptive];
  if (more.type != JobType::rigid) return fmt::format("it is {}", word(more.type));
  if (more.priority != 0) return fmt::format("it has the priority {}", more.priority);
  if (more.account != 0) {
    return fmt::format("it has the account {}", workload.accounts.at(more.account - 1));
  }
  if (more.barrier) return "others wait while it waits (barrier)";
  if (more.asked != 0) return "it says where it may run";
  if (more.believed.watts_per_node != 0) return "it says what its nodes draw (watts)";
  if (more.believed.walltime_for == WalltimeFor::belief) {
    return "its requested time is no limit (walltime=belief)";
  }
  return "";
}

// Batsim knows jobs by their ids.
void check_numbers(const Workload& workload, const std::string& file) {
  std::vector<std::uint64_t> names;
  names.reserve(workload.jobs.size());
  for (const WorkloadJob& job : workload.jobs) names.push_back(job.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return;
  throw InputError({.file = file, .field = "job number (field 1)"},
                   fmt::format("{} is there more than once", *twice),
                   "give each job its own, or leave out what is there twice with `ductile workload "
                   "transform --status WORD,...`");
}

Converted from_elastisim(const ConvertOptions& options) {
  ElastisimRules rules;
  rules.extend_walltime = false;
  ElastisimInput input = read_elastisim(options.file, rules);
  Converted result;
  result.workload = std::move(input.workload);
  result.nodes = input.machine.nodes;
  result.header.notes = "converted from a workload of ElastiSim by ductile\n";
  result.remarks = std::move(input.remarks);
  return result;
}

void write_batsim_file(Converted& result, const ConvertOptions& options, Format to) {
  if (!result.lines.empty()) {
    std::ostringstream log;
    write_swf_lines(log, result.lines, result.header);
    result.workload = parse_swf(log.view(), options.file, plain_rules(options));
  }
  if (result.nodes == 0) {
    throw InputError({.file = options.file}, "how large the machine is is not known",
                     "give --nodes");
  }
  const Workload& workload = result.workload;
  std::vector<bool> waits(workload.jobs.size());
  for (const Precedence& each : workload.precedences) waits[each.job] = true;
  keep_what_can_be_said(result, options, [&](std::uint32_t i) -> std::string {
    if (waits[i]) return "it waits for another job";
    return what_batsim_lacks(workload, workload.jobs[i]);
  });
  check_numbers(workload, options.file);
  write_file({options.out, [&](std::ostream& out) {
                write_batsim(out, result.workload, result.nodes,
                             to == Format::batsim4 ? BatsimVersion::v4 : BatsimVersion::v5);
              }});
}

void write_swf_file(Converted& result, const ConvertOptions& options, bool with_adaptive) {
  check_name_of_log(options.out);
  const std::uint32_t cores = options.sacct.cores_per_node;
  Workload& workload = result.workload;
  if (with_adaptive) {
    keep_what_can_be_said(result, options, [&](std::uint32_t i) -> std::string {
      const WorkloadJob& job = workload.jobs[i];
      return job.adaptive == WorkloadJob::kRigid ? ""
                                                 : say_in_words(workload.adaptive[job.adaptive]);
    });
  }
  SwfHeader& header = result.header;
  if (!result.lines.empty()) {
    set_sizes(header, result.lines.size(), result.nodes, cores);
    write_log(options.out, [&](std::ostream& out) { write_swf_lines(out, result.lines, header); },
              {});
    return;
  }
  set_sizes(header, workload.jobs.size(), result.nodes, cores);
  std::function<void(std::ostream&)> adaptive;
  if (with_adaptive) {
    adaptive = [&](std::ostream& out) { write_adaptive(out, workload, cores); };
  }
  write_log(
      options.out, [&](std::ostream& out) { write_swf(out, workload, header, cores); }, adaptive);
}

// Options that have no meaning for what is read and written.
void refuse_unused(const ConvertOptions& options, Format from, Format to) {
  const auto refuse = [&](std::initializer_list<const char*> names, const char* what) {
    for (const char* name : names) {
      if (!options.is_given(name)) continue;
      throw InputError({.field = name},
                       fmt::format("{}, and {} is read as {}", what, options.file,
                                   kFormatWords.at(static_cast<std::size_t>(from))),
                       fmt::format("leave {} away, or say with --from what the file is", name));
    }
  };
  if (from != Format::sacct) {
    refuse({"--count", "--arrival", "--anonymise"}, "is of what sacct prints");
  }
  if (!is_batsim(from)) {
    refuse({"--platform", "--flops", "--bandwidth", "--backbone"}, "is of Batsim's parallel tasks");
  }
  if (from == Format::elastisim) refuse({"--nodes"}, "is what ElastiSim's own platform says");
  if (is_batsim(to) && (is_batsim(from) || from == Format::elastisim)) {
    refuse({"--cores-per-node"}, "is of what is SWF or of sacct, and nothing is written as SWF");
  }
}

void convert(const ConvertOptions& options) {
  const Format from = options.from.empty() ? format_of_file(options.file, "--from")
                                           : format_of(options.from, "--from");
  const Format to =
      options.to.empty() ? format_of_file(options.out, "--to") : format_of(options.to, "--to");
  if (to != Format::swf && !is_batsim(to)) {
    throw InputError(
        {.field = "--to"},
        fmt::format("nothing is written as {}", kFormatWords[static_cast<std::size_t>(to)]),
        "use swf, batsim or batsim5");
  }
  if (from == Format::swf && to == Format::swf) {
    throw InputError({.file = options.file}, "is SWF already",
                     "change it with `ductile workload transform`");
  }
  refuse_unused(options, from, to);
  Converted result;
  {
    ProgressLine line(false);
    const ReadProgress progress = [&](std::uint64_t done, std::uint64_t total) {
      line.reading(done, total);
    };
    result = from == Format::swf         ? from_swf(options, progress)
             : from == Format::sacct     ? from_sacct(options, progress)
             : from == Format::elastisim ? from_elastisim(options)
                                         : from_batsim(options);
  }
  if (to == Format::swf) {
    write_swf_file(result, options, from == Format::elastisim);
  } else {
    write_batsim_file(result, options, to);
  }
  for (const std::string& remark : result.remarks) {
    std::cerr << "ductile: " << printable(options.file) << ": " << remark << '\n';
  }
  const std::size_t jobs =
      result.workload.jobs.empty() ? result.lines.size() : result.workload.jobs.size();
  std::ostream& tell = is_standard_output(options.out) ? std::cerr : std::cout;
  tell << fmt::format("{}: {} jobs\n", options.out, jobs);
  if (const std::string skipped = skipped_text(result.workload.skipped); !skipped.empty()) {
    tell << skipped << '\n';
  }
}

}  // namespace

void add_convert(CLI::App& workload) {
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  constexpr double kMostRate = 1e30;
  CLI::App& command = *workload.add_subcommand(
      "convert",
      "turn workloads of Slurm's sacct, Batsim and ElastiSim into SWF, or any into "
      "Batsim's");
  const auto options = std::make_shared<ConvertOptions>();
  command
      .add_option("file", options->file,
                  "what to read: .swf; .json: Batsim; .txt, .csv, .psv, .sacct: sacct --parsable2; "
                  "plain or as .gz, .xz or .zst")
      ->required();
  command.add_option("--out", options->out, "the file to write: .swf, or .json: Batsim 4")
      ->required();
  command.add_option("--from", options->from, "what the file is [by its name]")
      ->type_name("swf|sacct|batsim|batsim5|elastisim");
  command.add_option("--to", options->to, "what to write [by its name]")
      ->type_name("swf|batsim|batsim5");
  command.add_option("--nodes", options->nodes, "nodes of the machine [as the file says]")
      ->check(CLI::Range(1U, kMost));
  command
      .add_option("--cores-per-node", options->sacct.cores_per_node,
                  "processors of a node, in what is SWF")
      ->check(CLI::Range(1U, kMost))
      ->capture_default_str();
  command
      .add_option("--unsupported",
                  "jobs that the other format has no words for: end with an "
                  "error that names one, or leave them out [error]")
      ->check(CLI::IsMember({"error", "skip"}))
      ->each([options](const std::string& what) {
        options->batsim.skip_unsupported = what == "skip";
      });
  command
      .add_option_function<std::string>(
          "--count",
          [options](const std::string& what) {
            options->sacct.count =
                what == "cpus" ? SacctRules::Count::cpus : SacctRules::Count::nodes;
          },
          "of sacct: what the size of a job is, its CPUs or its nodes times --cores-per-node "
          "[cpus]")
      ->check(CLI::IsMember({"cpus", "nodes"}));
  command
      .add_option_function<std::string>(
          "--arrival",
          [options](const std::string& what) { options->sacct.from_eligible = what == "eligible"; },
          "of sacct: when jobs arrive, as they are submitted or when nothing holds them any more "
          "[submit]")
      ->check(CLI::IsMember({"submit", "eligible"}));
  command.add_flag("--anonymise", options->sacct.anonymise,
                   "of sacct: leave the names of users, groups, partitions and QOS out");
  command.add_option("--platform", options->platform,
                     "of Batsim's parallel tasks: a platform of SimGrid (.xml), which says the "
                     "nodes, their speed and network");
  const auto rate = [&](const char* name, double& to, const char* about) {
    command.add_option(name, to, about)->check(NumberRange(1e-9, kMostRate));
  };
  BatsimMachine& machine = options->batsim.machine;
  rate("--flops", machine.flops_per_s,
       "of Batsim's parallel tasks: what a node computes, flop/s [as the platform says]");
  rate("--bandwidth", machine.link_bytes_per_s,
       "of Batsim's parallel tasks: what a node sends, and receives, bytes/s [as the platform "
       "says]");
  rate("--backbone", machine.backbone_bytes_per_s,
       "of Batsim's parallel tasks: what all nodes send together, bytes/s [as the platform says, "
       "else no limit]");
  command.callback([options, &command] {
    options->is_given = [&command](const char* name) { return command.count(name) > 0; };
    convert(*options);
  });
}

}  // namespace ductile
