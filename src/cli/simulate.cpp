#include "cli/simulate.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/array_job.hpp"
#include "cli/experiment.hpp"
#include "cli/figure_options.hpp"
#include "cli/found_runs.hpp"
#include "cli/log_options.hpp"
#include "cli/measure_options.hpp"
#include "cli/number_range.hpp"
#include "cli/outside_scheduler.hpp"
#include "cli/power_options.hpp"
#include "cli/process.hpp"
#include "cli/progress_line.hpp"
#include "cli/results.hpp"
#include "cli/run_identity.hpp"
#include "cli/sharing_options.hpp"
#include "cli/swf_options.hpp"
#include "cli/transform_options.hpp"
#include "experiment/claims.hpp"
#include "experiment/results_file.hpp"
#include "experiment/run.hpp"
#include "experiment/run_process.hpp"
#include "model/switch_tree.hpp"
#include "model/where.hpp"
#include "policies/registry.hpp"
#include "report/table.hpp"
#include "report/text.hpp"
#include "simulation/corridor.hpp"
#include "simulation/failures.hpp"
#include "simulation/orders_file.hpp"
#include "simulation/power_caps.hpp"
#include "simulation/recording.hpp"
#include "workload/elastisim.hpp"
#include "workload/generate.hpp"
#include "workload/link_need.hpp"
#include "workload/platform_file.hpp"
#include "workload/precedence.hpp"
#include "workload/resample.hpp"
#include "workload/transform.hpp"

namespace ductile {
namespace {

struct SimulateOptions {
  std::string trace, model, elastisim;
  std::vector<std::pair<std::string, std::string>> folders;  // of ElastiSim's files
  LogOptions log;
  std::string variant;  // of an experiment
  std::vector<std::string> policies;
  std::string batsim_scheduler, batsim_timeout_s, elastisim_scheduler, elastisim_timeout_s;
  bool elastisim_schedules = false, overrun_given = false;
  bool share_links = true;
  std::optional<double> io_budget;  // a share of the bandwidth of links
  bool resample = false;
  std::uint64_t long_term_weeks = Resampling{}.long_term_weeks;
  Transform transform;
  SimulationSettings settings;
  std::vector<std::uint64_t> seeds = {1};
  unsigned threads = 1;
  std::string out, record;
  ResultsPlace results;  // of `out`
  FigureOptions figures;
  std::string on = "local";
  unsigned tasks = 16;
  double claim_timeout_s = 30;
  std::string platform;                 // a file
  std::vector<std::uint32_t> switches;  // so many below each, by level
  std::string failures;                 // a file, or a model
  std::string orders;                   // a file
  MeasureOptions measure;
  std::string identities = "auto";
  bool json = false, quiet = false, strict = false, force = false;
  bool apply_at_given = false;
};

// ---- Reading option values ----------------------------------------------------------------------

// "1..10": 1, 2, ... 10.
std::vector<std::uint64_t> read_seeds(std::string_view text) {
  constexpr std::uint64_t most = 1'000'000;
  const std::size_t dots = text.find("..");
  const auto first = parse_number<std::uint64_t>(text.substr(0, dots));
  const auto last =
      dots == std::string_view::npos ? first : parse_number<std::uint64_t>(text.substr(dots + 2));
  if (!first || !last || *last < *first || *last - *first >= most) {
    throw InputError({.field = "--seeds"}, fmt::format("'{}' is no range of seeds", text),
                     "write A..B with A <= B, as 1..10");
  }
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = *first; seeds.size() <= *last - *first; ++seed) seeds.push_back(seed);
  return seeds;
}

// Of --partitions-from and --qos-from.
SwfRules::PartitionsFrom field_of_log(std::string_view word) {
  using From = SwfRules::PartitionsFrom;
  return word == "queue" ? From::queue : word == "partition" ? From::partition : From::none;
}

// "off", "sessions", "sessions:think=1200".
std::optional<Duration> read_feedback(std::string_view text) {
  constexpr double kUsual_s = 1200, kLongest_s = 1e9;
  if (text == "off") return std::nullopt;
  if (text == "sessions") return seconds(kUsual_s);
  constexpr std::string_view kHead = "sessions:think=";
  const auto think = text.starts_with(kHead) ? parse_number<double>(text.substr(kHead.size()))
                                             : std::optional<double>();
  if (!think || !(*think > 0 && *think <= kLongest_s)) {
    throw InputError({.field = "--feedback"}, fmt::format("'{}' is not understood", text),
                     "write off, sessions or sessions:think=SECONDS");
  }
  return seconds(*think);
}

// "30", "fixed:30", "uniform:10..50", "exponential:30".
RandomDuration read_random_duration(const std::string& option, std::string_view text) {
  const auto duration = [](std::string_view number) -> std::optional<Duration> {
    constexpr double longest_s = 1e9;
    const auto value = parse_number<double>(number);
    if (!value || !(*value >= 0 && *value <= longest_s)) return std::nullopt;
    return seconds(*value);
  };
  using Kind = RandomDuration::Kind;
  const std::size_t colon = text.find(':');
  const std::string_view kind = colon == std::string_view::npos ? "fixed" : text.substr(0, colon);
  const std::string_view numbers = colon == std::string_view::npos ? text : text.substr(colon + 1);
  if (kind == "fixed" || kind == "exponential") {
    if (const auto a = duration(numbers)) {
      return {.kind = kind == "fixed" ? Kind::fixed : Kind::exponential, .a = *a, .b = *a};
    }
  } else if (const std::size_t dots = numbers.find("..");
             kind == "uniform" && dots != std::string_view::npos) {
    const auto a = duration(numbers.substr(0, dots)), b = duration(numbers.substr(dots + 2));
    if (a && b && *a <= *b) return {.kind = Kind::uniform, .a = *a, .b = *b};
  }
  throw InputError({.field = option}, fmt::format("'{}' is no duration in seconds", text),
                   "write S, fixed:S, uniform:A..B or exponential:MEAN");
}

// "immediate", "phase_end", "phase_end:N".
void read_apply_at(std::string_view text, ResizeBehaviour& how) {
  using ApplyAt = ResizeBehaviour::ApplyAt;
  const std::string_view word = text.substr(0, text.find(':'));
  const bool phases_given = word.size() < text.size();
  const auto phases = phases_given ? parse_number<std::uint32_t>(text.substr(word.size() + 1))
                                   : std::optional(how.phases);
  how.apply_at = word == "phase_end" ? ApplyAt::phase_end : ApplyAt::immediate;
  if ((word != "immediate" || phases_given) && (word != "phase_end" || phases.value_or(0) == 0)) {
    throw InputError({.field = "--apply-at"}, fmt::format("'{}' is no way to resize", text),
                     "write immediate, phase_end or phase_end:N, N at least 1");
  }
  how.phases = phases.value_or(how.phases);
}

// Where failures come from: a file, or a model.
struct FailureSource {
  std::string file;
  FailureModel model;
  Duration warn{};  // nodes drain so long before
};

// "FILE" or "mtbf=1e6,repair=3600", and ",warn=600" if they are foreseen; those of a model in any
// order.
FailureSource read_failure_source(std::string_view text) {
  constexpr double longest_s = 1e12;
  constexpr const char* remedy =
      "write mtbf=SECONDS,repair=SECONDS, both above 0, or the name of a file; then, if they are "
      "foreseen, ,warn=SECONDS";
  FailureSource source;
  std::string_view items = text;
  const auto is_of_model = [](std::string_view item) {
    return item.starts_with("mtbf=") || item.starts_with("repair=") || item.starts_with("warn=");
  };
  if (!is_of_model(text)) {
    const std::size_t comma = text.rfind(",warn=");
    source.file = text.substr(0, comma);
    items = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  std::vector<std::string_view> given;
  while (!items.empty()) {
    const std::string_view item = items.substr(0, items.find(','));
    items.remove_prefix(std::min(item.size() + 1, items.size()));
    const std::string_view name = item.substr(0, item.find('='));
    const auto value =
        is_of_model(item) ? parse_number<double>(item.substr(name.size() + 1)) : std::nullopt;
    Duration& field = name == "mtbf"     ? source.model.mtbf
                      : name == "repair" ? source.model.repair
                                         : source.warn;
    const double least = name == "warn" ? 0 : 1e-6;
    if (!value || !(*value >= least && *value <= longest_s)) {
      throw InputError({.field = "--failures"}, fmt::format("'{}' is not possible", item), remedy);
    }
    if (std::ranges::find(given, name) != given.end()) {
      throw InputError({.field = "--failures"}, fmt::format("'{}' is given twice", name),
                       "give it once");
    }
    given.push_back(name);
    field = seconds(*value);
  }
  const int means = (source.model.mtbf > Duration{}) + (source.model.repair > Duration{});
  if (source.file.empty() && means < 2) {
    throw InputError({.field = "--failures"},
                     fmt::format("'{}' says {}", text,
                                 means == 1 ? "only one of two times" : "not when nodes fail"),
                     remedy);
  }
  return source;
}

// "18,16"
std::vector<std::uint32_t> read_switches(std::string_view text) {
  constexpr std::size_t kMostLevels = 16;
  std::vector<std::uint32_t> below;
  std::string_view rest = text;
  do {
    const auto number = parse_number<std::uint32_t>(next_part(rest, ','));
    // Levels of switches with one below each would go on for ever.
    const std::uint32_t least = below.empty() ? 1 : 2;
    if (!number || *number < least || below.size() == kMostLevels) {
      throw InputError({.field = "--switches"}, fmt::format("'{}' is no tree", text),
                       "write how many nodes are on a leaf switch, then how many switches are "
                       "under one of the next level, at least 2: 18,16");
    }
    below.push_back(*number);
  } while (!rest.empty());
  return below;
}

// ---- The workload -------------------------------------------------------------------------------

constexpr const char* kFitElastisim = "num_nodes and num_nodes_min, or the nodes of the platform";

InputError no_workload() {
  return {"a workload is needed",
          "give one of --trace FILE, --generate MODEL and --elastisim FILE"};
}

struct Source {
  std::function<Input(std::uint64_t seed)> input;
  Nodes nodes = 0;
  std::uint64_t jobs = 0;       // 0: not known before it is made
  std::string about;            // one line
  bool has_node_lists = false;  // jobs name the nodes on which they may run, or may not
  std::optional<std::int64_t> unix_start_time;
  std::vector<InputFile> files{};  // from which it was read
  std::shared_ptr<const ElastisimStudy> study{};
};

// What was read and what was not, with the option that would change it; where there is no such one,
// with what to write otherwise.
std::string about(const Workload& workload, Nodes nodes, bool of_log) {
  std::string text =
      fmt::format("{}: {} jobs, {} nodes", workload.name, workload.jobs.size(), nodes);
  const Skipped& skipped = workload.skipped;
  if (const std::string causes = skipped_text(skipped, of_log ? "lines" : "jobs");
      !causes.empty()) {
    text += "; " + causes;
    std::string remedies;
    const auto remedy = [&](std::uint64_t count, const char* option) {
      if (count > 0) remedies += fmt::format("{}{}", remedies.empty() ? "" : ", ", option);
    };
    remedy(skipped.no_runtime, "--min-runtime");
    remedy(skipped.never_started, "--never-started keep");
    remedy(skipped.too_large, of_log ? "--clip" : kFitElastisim);
    if (!remedies.empty()) text += fmt::format(" (see {})", remedies);
  }
  if (skipped.filtered > 0) text += fmt::format("; {} that were not asked for", skipped.filtered);
  if (workload.clipped > 0)
    text += fmt::format("; {} made as large as the machine", workload.clipped);
  std::uint64_t waiting = 0, in_sessions = 0;
  for (const Precedence& each : workload.precedences) {
    (each.from == Precedence::From::session ? in_sessions : waiting) += 1;
  }
  if (workload.names_preceding > 0) {
    text += fmt::format("; {} name a preceding job (see --dependencies)", workload.names_preceding);
  }
  if (waiting > 0) text += fmt::format("; dependencies on other jobs: {}", waiting);
  if (workload.precedences_lost > 0) {
    text += fmt::format("; dependencies left out, on jobs that are not there: {}",
                        workload.precedences_lost);
  }
  if (in_sessions > 0) text += fmt::format("; {} follow another one of their session", in_sessions);
  if (workload.walltime_raised > 0) {
    text += fmt::format("; {} ran longer than requested, walltime raised (--overrun extend)",
                        workload.walltime_raised);
  }
  return text;
}

// Jobs that were read, changed for each seed; `beside` is the file beside the log.
Source from_jobs(const std::shared_ptr<Workload>& workload, Nodes nodes,
                 const SimulateOptions& options, const std::string& beside = "") {
  Source source;
  source.nodes = nodes;
  // Whatever the seed is: so it is done here, and told.
  Transform changes = options.transform;
  std::uint64_t in_flurries = 0;
  if (changes.without_flurries) {
    in_flurries = remove_flurries(*workload, *changes.without_flurries);
    changes.without_flurries.reset();
    // Sessions are made anew.
    check_precedences(*workload, options.trace, beside);
  }
  workload->log_ends = {};
  source.about = about(*workload, nodes, !options.trace.empty());
  if (in_flurries > 0) source.about += fmt::format("; {} in flurries left out", in_flurries);
  source.jobs = workload->jobs.size();
  const double loaded = process_seconds();
  if (options.resample) {
    const Resampling how{.nodes = nodes, .long_term_weeks = options.long_term_weeks};
    source.about += "; its users are drawn anew for each seed";
    source.input = [workload, changes, how, nodes, loaded](std::uint64_t seed) {
      const double begin = process_seconds();
      const auto made = std::make_shared<Workload>(resample(*workload, how, seed).workload);
      if (changes.changes()) transform(*made, changes, nodes, seed);
      return Input{made, {}, loaded + process_seconds() - begin};
    };
    return source;
  }
  if (!changes.changes()) {
    source.input = [workload, loaded](std::uint64_t) { return Input{workload, {}, loaded}; };
    return source;
  }
  const bool again = options.seeds.size() > 1;
  source.input = [workload, changes, again, nodes, loaded](std::uint64_t seed) {
    const double begin = process_seconds();
    const auto changed = again ? std::make_shared<Workload>(*workload) : workload;
    transform(*changed, changes, nodes, seed);
    return Input{changed, {}, loaded + process_seconds() - begin};
  };
  return source;
}

// Jobs that the caller has. They are not changed: others may have them, too.
Source from_caller(const ReadyWorkload& given, const SimulateOptions& options) {
  const Nodes nodes = options.log.rules.nodes > 0 ? options.log.rules.nodes : given.nodes;
  const bool changes = options.transform.changes() || options.transform.without_flurries;
  Source source = from_jobs(changes ? std::make_shared<Workload>(*given.workload) : given.workload,
                            nodes, options);
  source.has_node_lists = std::ranges::any_of(given.workload->where, &Where::has_list);
  source.unix_start_time = given.unix_start_time;
  return source;
}

Source from_trace(const SimulateOptions& options, ProgressLine& progress) {
  LogOptions how = options.log;
  how.runs = true;
  how.rules.nodes = machine_nodes(options.trace, how.rules);
  if (options.log.rules.nodes == 0 && !options.quiet) {
    progress.clear();
    std::cerr << fmt::format("ductile: --nodes {}, as the header of {} says\n", how.rules.nodes,
                             options.trace);
  }
  Log log = read_log(options.trace, how, [&](std::uint64_t done, std::uint64_t total) {
    progress.reading(done, total);
  });
  if (options.json && !options.quiet && !log.adaptive.empty()) {
    progress.clear();
    std::cerr << fmt::format("ductile: what adapts is read from {}\n", log.adaptive);
  }
  const auto workload = std::make_shared<Workload>(std::move(log.workload));
  need_jobs(*workload, options.trace, how.rules);
  Source source = from_jobs(workload, how.rules.nodes, options, log.adaptive);
  source.has_node_lists = std::ranges::any_of(workload->where, &Where::has_list);
  if (!log.adaptive.empty()) {
    source.about += fmt::format("; {} adapt, as {} says", workload->adapting(), log.adaptive);
    if (log.unknown > 0) source.about += fmt::format(", and {} that were left out", log.unknown);
  }
  source.unix_start_time = options.resample
                               ? start_of_resampled(*workload, log.header.unix_start_time)
                               : log.header.unix_start_time;
  source.files = {{"trace", options.trace}};
  if (!log.adaptive.empty()) source.files.push_back({"adaptive", log.adaptive});
  return source;
}

// What is not simulated as it is in `what`: on the standard error, or, if it is to be, as an error.
void tell(const std::vector<std::string>& remarks, const std::string& what,
          const SimulateOptions& options, ProgressLine& progress) {
  if (remarks.empty()) return;
  if (options.strict) {
    throw InputError({.file = what}, fmt::format("{}", fmt::join(remarks, "; ")),
                     "change that, or leave --strict away");
  }
  if (options.quiet) return;
  progress.clear();
  for (const std::string& remark : remarks) std::cerr << "ductile: " << remark << '\n';
}

// "/data/input=study/input"
std::vector<std::pair<std::string, std::string>> folders_of(const std::vector<std::string>& all) {
  std::vector<std::pair<std::string, std::string>> folders;
  for (const std::string& each : all) {
    const std::size_t at = each.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == each.size()) {
      throw InputError({.field = "--map"}, fmt::format("'{}' does not name two folders", each),
                       "write it as /data/input=study/input");
    }
    folders.emplace_back(each.substr(0, at), each.substr(at + 1));
  }
  return folders;
}

Source from_elastisim(const SimulateOptions& options, ProgressLine& progress) {
  if (options.log.rules.nodes != 0) {
    throw InputError({.field = "--nodes"}, "the platform of --elastisim says how large it is",
                     "leave --nodes away");
  }
  const ElastisimRules rules{.extend_walltime = options.log.rules.extend_walltime,
                             .max_jobs = options.log.rules.max_jobs,
                             .share_links = options.share_links,
                             .for_scheduler = options.elastisim_schedules,
                             .folders = options.folders};
  ElastisimInput input = read_elastisim(options.elastisim, rules);
  tell(input.remarks, options.elastisim, options, progress);
  if (input.workload.jobs.empty()) {
    const std::string skipped = skipped_text(input.workload.skipped, "jobs");
    throw InputError(
        {.file = input.workload.name}, "has no job to simulate",
        skipped.empty() ? "give it jobs" : fmt::format("{}; look at {}", skipped, kFitElastisim));
  }
  const auto workload = std::make_shared<Workload>(std::move(input.workload));
  Source source = from_jobs(workload, input.machine.nodes, options);
  for (std::string& file : input.files) source.files.push_back({"elastisim", std::move(file)});
  if (options.elastisim_schedules) {
    source.study = std::make_shared<const ElastisimStudy>(std::move(input.study));
  }
  return source;
}

Source from_model(const SimulateOptions& options, ProgressLine& progress) {
  const ModelChoice choice =
      parse_model(options.model, options.log.rules.max_jobs, options.log.rules.nodes);
  Source source;
  if (const std::string remark = choice.remark(); !remark.empty()) {
    tell({remark}, "--generate", options, progress);
  }
  source.nodes = static_cast<Nodes>(choice.number("nodes"));
  source.jobs = choice.jobs();
  source.about = fmt::format("{}: {} jobs, {} nodes", choice.text(), source.jobs, source.nodes);
  source.input = [choice, changes = options.transform, nodes = source.nodes,
                  startup = process_seconds()](std::uint64_t seed) {
    const double begin = process_seconds();
    const auto workload = std::make_shared<Workload>(choice.generate(seed));
    transform(*workload, changes, nodes, seed);
    return Input{workload, {}, startup + process_seconds() - begin};
  };
  return source;
}

// ---- Failures -----------------------------------------------------------------------------------

// Failures are made for twice as long as the workload would take by itself, think times and all, so
// that also a run with many requeued jobs meets them, and comes to an end.
Time failures_until(const Workload& workload, Nodes nodes) {
  double work_node_s = 0;
  Duration longest{};
  for (const WorkloadJob& job : workload.jobs) {
    work_node_s += to_seconds(job.runtime) * job.nodes;
    longest = std::max(longest, job.runtime);
  }
  const Time first = workload.jobs.front().submit;
  const double submitting_s = to_seconds(last_arrival(workload) - first);
  constexpr double longest_s = 1e12;
  const double span_s = std::max(submitting_s, work_node_s / nodes) + to_seconds(longest);
  return first + seconds(std::min(2 * span_s, longest_s));
}

// Adds the failures that `options` ask for to the inputs of all seeds.
void add_failures(Source& source, const SimulateOptions& options) {
  if (options.failures.empty()) return;
  const Nodes nodes = source.nodes;
  const FailureSource from = read_failure_source(options.failures);
  if (!from.file.empty()) source.files.push_back({"failures", from.file});
  if (from.file.empty()) {
    source.input = [input = source.input, from, nodes](std::uint64_t seed) {
      Input result = input(seed);
      if (result.workload->jobs.empty()) return result;
      const double begin = process_seconds();
      const Time first = result.workload->jobs.front().submit;
      result.node_events =
          with_warnings(generate_failures(from.model, nodes, first,
                                          failures_until(*result.workload, nodes), seed),
                        from.warn, first);
      result.load_seconds += process_seconds() - begin;
      return result;
    };
    return;
  }
  source.input = [input = source.input,
                  events = with_warnings(read_failures(from.file, nodes), from.warn, Time{})](
                     std::uint64_t seed) {
    Input result = input(seed);
    result.node_events = events;
    return result;
  };
}

// ---- Orders -------------------------------------------------------------------------------------

// Adds those of operators to the inputs of all seeds. Do any need to know which nodes a job has?
bool add_orders(Source& source, const SimulateOptions& options) {
  if (options.orders.empty()) return false;
  std::vector<FileOrder> orders = read_orders(options.orders, source.nodes);
  source.files.push_back({"orders", options.orders});
  const bool any_moves = std::ranges::any_of(orders, [](const FileOrder& each) {
    return std::holds_alternative<OperatorOrder::Leave>(each.order.what);
  });
  source.input = [input = source.input, orders = std::move(orders)](std::uint64_t seed) {
    Input result = input(seed);
    result.orders = orders_of(orders, *result.workload);
    return result;
  };
  return any_moves;
}

void tell_orders(const std::vector<Summary>& summaries) {
  std::uint64_t most = 0;
  for (const Summary& summary : summaries) most = std::max(most, summary.orders_not_possible);
  if (most == 0) return;
  std::cerr << fmt::format(
      "ductile: {}{} of --orders {} not possible at {} time: no such job ran or waited then, or it "
      "cannot do that\n",
      summaries.size() > 1 ? "up to " : "", most == 1 ? "1 order" : fmt::format("{} orders", most),
      most == 1 ? "was" : "were", most == 1 ? "its" : "their");
}

// ---- Power --------------------------------------------------------------------------------------

// A cap or a corridor means something only where something draws power, and if not all goes to idle
// nodes.
void check_power_caps(Source& source, const SimulationSettings& settings) {
  const Platform& platform = settings.platform;
  if (settings.power_caps.empty() && settings.corridor.empty()) return;
  const char* const option = settings.power_caps.empty() ? "--corridor" : "--power-cap";
  const double most_w = settings.power_caps.empty()
                            ? std::numeric_limits<double>::infinity()
                            : std::ranges::max(settings.power_caps, {}, &PowerCap::watts).watts;
  if (const double idle = platform.all_idle_w(); idle > most_w) {
    throw InputError(
        {.field = "--power-cap"},
        fmt::format("idle nodes alone draw {} W, and no cap is above {} W", idle, most_w),
        "give more");
  }
  if (platform.says_what_jobs_draw()) return;
  source.input = [input = source.input, option](std::uint64_t seed) {
    Input result = input(seed);
    const bool is_said = std::ranges::any_of(
        result.workload->adaptive, [](const auto& job) { return job.believed.watts_per_node > 0; });
    if (is_said) return result;
    throw InputError({.field = option}, "nobody says what a node draws",
                     "give --node-power, idle_w and busy_w in --platform FILE, or watts of jobs in "
                     "--adaptive FILE");
  };
}

// What no policy can keep, and which jobs those that keep a corridor never start.
void warn_of_corridor(Source& source, const Matrix& matrix) {
  const SimulationSettings& settings = matrix.settings;
  if (settings.corridor.empty() || settings.rules.node_off_after > Duration{}) return;
  const Platform& platform = settings.platform;
  const double idle_w = platform.all_idle_w();
  for (const CorridorLine& line : settings.corridor) {
    if (line.high_w >= idle_w) continue;
    std::cerr << fmt::format(
        "ductile: from {} s on --corridor lets {} W be drawn, and idle nodes alone draw {} W: "
        "nobody keeps that, and under policies that keep a corridor no job starts\n",
        to_seconds(line.at - Time{}), line.high_w, idle_w);
  }
  const auto keeps = [](const auto& policy) { return policy->wants.corridor; };
  if (std::ranges::none_of(matrix.policies, keeps) || !platform.classes.empty()) return;
  const double most_w = std::ranges::max(settings.corridor, {}, &CorridorLine::high_w).high_w;
  const auto told = shared_flag();  // runs may be in processes
  source.input = [=, input = source.input, busy_w = platform.busy_w,
                  each_w = platform.idle_w](std::uint64_t seed) {
    Input result = input(seed);
    std::uint64_t first = 0, count = 0;
    double first_w = 0;
    for (const WorkloadJob& job : result.workload->jobs) {
      const AdaptiveJob* const more =
          job.adaptive == WorkloadJob::kRigid ? nullptr : &result.workload->adaptive[job.adaptive];
      const bool is_elastic = more != nullptr && more->type != JobType::rigid;
      const Nodes n = is_elastic ? more->believed.constraint.at_least(more->size.min) : job.nodes;
      const bool says = more != nullptr && more->believed.watts_per_node > 0;
      const double its_w = says ? more->believed.watts_per_node : busy_w;
      const double alone_w = idle_w + n * std::max(its_w - each_w, 0.0);
      if (alone_w <= most_w) continue;
      if (count++ == 0) first = job.name, first_w = alone_w;
    }
    if (count > 0 && !told->exchange(true)) {
      std::cerr << fmt::format(
          "ductile: job {}{} never starts under policies that keep a corridor: alone on the "
          "machine it draws {} W, and no line of --corridor lets more than {} W be drawn\n",
          first, count > 1 ? fmt::format(" (and {} more)", count - 1) : "", first_w, most_w);
    }
    return result;
  };
}

// The core has one budget for all jobs: of bandwidth then, and not of power.
void add_io_budget(Source& source, Matrix& matrix, double budget) {
  for (const auto& policy : matrix.policies) {
    if (!policy->wants.corridor) continue;
    throw InputError({.field = "--io-budget"},
                     policy->traits.settings + " keeps a corridor of power, and there is none",
                     "choose another policy");
  }
  matrix.settings.rules.budget = Budget::bandwidth;
  // Who takes nothing in a phase takes the least that can be said: that is besides.
  const Nodes telling = matrix.settings.tells_phases ? matrix.settings.platform.nodes : 0;
  matrix.settings.power_caps = {{.watts = kWattsOfLinks * budget + kLeastWatts * telling}};
  source.input = [input = source.input, budget](std::uint64_t seed) {
    Input result = input(seed);
    const auto workload = std::make_shared<Workload>(*result.workload);
    if (!budget_links(*workload, budget)) {
      throw InputError({.field = "--io-budget"}, "no job uses a link that jobs share",
                       "leave it away; with --links alone jobs share none");
    }
    result.workload = workload;
    return result;
  };
}

// Nothing runs, nothing will come, and still they wait.
void tell_left(const std::vector<Summary>& summaries) {
  for (const Summary& summary : summaries) {
    if (summary.jobs_left == 0) continue;
    std::cerr << fmt::format("ductile: under {} {} left waiting for ever\n", summary.policy,
                             summary.jobs_left == 1
                                 ? std::string("1 job is")
                                 : fmt::format("{} jobs are", summary.jobs_left));
  }
}

// Whether a job can be submitted then: one that follows others may be submitted at any time.
bool can_be_submitted(const Workload& workload, const MeasuredTimes& times) {
  return std::ranges::any_of(workload.jobs,
                             [&](const WorkloadJob& job) { return times.contains(job.submit); }) ||
         std::ranges::any_of(workload.precedences, &Precedence::sets_submit);
}

// A share and a time can be compared when the workload is there.
void check_measured(Source& source, const MeasuredPart& measured) {
  if (measured.is_all()) return;
  source.input = [input = source.input, measured](std::uint64_t seed) {
    Input result = input(seed);
    const MeasuredTimes times = times_of(measured, *result.workload);
    if (times.from >= times.until) {
      throw InputError({.field = "--measure-until"}, "is not after --measure-from",
                       "let it be later");
    }
    if (can_be_submitted(*result.workload, times) || result.workload->jobs.empty()) return result;
    const std::vector<WorkloadJob>& jobs = result.workload->jobs;
    throw InputError({.field = measured.from ? "--measure-from" : "--measure-until"},
                     fmt::format("no job is submitted {}, but from {} s to {} s",
                                 !measured.from    ? "before"
                                 : !measured.until ? "then or later"
                                                   : "from then to --measure-until",
                                 to_seconds(jobs.front().submit), to_seconds(jobs.back().submit)),
                     "give a time in which there are jobs, or a share like 10%");
  };
}

// Below the table: of which jobs its figures are. Runs of other seeds may have other times, and
// where they are detected each run has.
void tell_measured(const std::vector<Summary>& summaries, const MeasuredPart& measured) {
  if (summaries.empty() || !summaries.front().jobs_in_all) return;
  const Summary& first = summaries.front();
  // The end of the run is another one under each policy.
  std::string until = "the end";
  if (measured.until && measured.until->share != 1.0) {
    until = fmt::format("{:.0f} s", measured.until->share ? *first.measured_until_s
                                                          : to_seconds(measured.until->at));
  }
  if (measured.from && measured.from->detected) {
    std::vector<double> from_s;
    for (const Summary& each : summaries) {
      if (each.measured_from_s) from_s.push_back(*each.measured_from_s);
    }
    std::string from = "the begin", in = "; nothing was detected";
    if (!from_s.empty()) {
      const auto [least, most] = std::ranges::minmax(from_s);
      from = fmt::format("{:.0f} s", least);
      if (least != most) from += fmt::format(" to {:.0f} s", most);
      in = least == most ? ", as detected" : ", as detected in each run";
    }
    if (!from_s.empty() && from_s.size() < summaries.size()) {
      in += fmt::format("; nothing was in {} of {} runs", summaries.size() - from_s.size(),
                        summaries.size());
    }
    const std::string before = until == "the end" ? "" : " and before " + until;
    std::cout << fmt::format("measured: jobs submitted from {} on{}{}\n", from, before, in);
    return;
  }
  std::cout << fmt::format("measured: jobs submitted from {:.0f} s to {}, seed {}\n",
                           *first.measured_from_s, until, first.seed);
}

void tell_undetected(const std::vector<Summary>& summaries, const MeasuredPart& measured) {
  if (!measured.from || !measured.from->detected) return;
  for (const Summary& summary : summaries) {
    if (summary.measured_from_s) continue;
    std::cerr << fmt::format(
        "ductile: under {}, seed {}, no end of the warm-up is detected, and the figures are of its "
        "beginning, too: waits still change, or there are fewer than 50 jobs\n",
        summary.policy, summary.seed);
  }
}

void tell_never_satisfied(const std::vector<Summary>& summaries) {
  for (const Summary& summary : summaries) {
    const std::uint64_t count = summary.dependency_never_satisfied.value_or(0);
    if (count == 0) continue;
    std::cerr << fmt::format(
        "ductile: under {} {} a dependency that was never satisfied\n", summary.policy,
        count == 1 ? std::string("1 job had") : fmt::format("{} jobs had", count));
  }
}

void tell_rejected_for_power(const std::vector<Summary>& summaries) {
  std::uint64_t most = 0;
  for (const Summary& summary : summaries) most = std::max(most, summary.rejected_for_power);
  if (most == 0) return;
  std::cerr << fmt::format(
      "ductile: {} {} more power than --power-cap ever leaves for one that runs alone, and {} "
      "rejected\n",
      most, most == 1 ? "job needs" : "jobs need", most == 1 ? "is" : "are");
}

// Only lists of nodes can be too many: whatever else does not fit is left out before.
void tell_rejected_for_lists(const std::vector<Summary>& summaries) {
  std::uint64_t most = 0;
  for (const Summary& s : summaries) most = std::max(most, s.rejected - s.rejected_for_power);
  if (most == 0) return;
  std::cerr << fmt::format(
      "ductile: {} {} rejected: nodelist and exclude of the jobs at that time were too many "
      "different ones\n",
      most, most == 1 ? "job was" : "jobs were");
}

// ---- The command --------------------------------------------------------------------------------

// What is done with each matrix of a command.
enum class Step : std::uint8_t {
  all,      // it is run here
  ready,    // it is seen what there is to run
  share,    // this task of an array job runs what no other one does
  collect,  // what tasks have run is put together
};

// What the matrices of a command have in common.
struct Session {
  Step step = Step::all;
  OpenResults results{};
  std::set<std::filesystem::path> folders{};  // of results
  std::size_t missing = 0;                    // runs that are not over
  // Of a task.
  std::string task{};
  std::unique_ptr<ResultsFile> own{};
  std::unique_ptr<Claims> claims{};
  // Who called in this process, and prints what he likes; null: the command line.
  const CalledRun* caller = nullptr;
  // Of pages that are made of many experiments: nothing is printed, and only results are kept.
  bool is_for_page = false;
};

// Where the results of the matrix go, and what of them is there.
void open_results(Matrix& matrix, const SimulateOptions& options, Session& session) {
  ResultsPlace place = options.results;
  if (place.folder.empty()) place.folder = options.out;
  session.folders.insert(place.folder);
  if (session.step != Step::all && session.folders.size() > 1) {
    throw InputError({.field = "--on"}, "the variants have several folders of results",
                     "give one with --out");
  }
  if (session.step == Step::share) {
    if (!session.own) {
      session.task = task_name();
      session.own = std::make_unique<ResultsFile>(folder_of_task(place.folder, session.task));
      session.claims = std::make_unique<Claims>(
          folder_of_claims(place.folder), session.task,
          std::chrono::milliseconds(std::llround(options.claim_timeout_s * 1000)));
    }
    matrix.out =
        session.own->folder() / std::filesystem::path(options.out).lexically_relative(place.folder);
    matrix.results = session.own.get();
    matrix.claims = session.claims.get();
    return;
  }
  matrix.results = &session.results.at(place, options.force);
  if (session.step != Step::collect) {
    if (options.force) remove_tasks(place.folder);
    if (options.force) clear_results(matrix);
    ready_results(matrix);
  }
  const std::size_t missing = take_results_of_tasks(matrix);
  if (session.step == Step::all) return;
  session.missing += missing;
  if (session.step == Step::ready) return ready_claims(matrix);
  if (missing > 0) {
    throw RunError(
        fmt::format("{} runs are not over: see what the tasks say in {}. The same command goes on",
                    missing, (place.folder / "tasks").string()));
  }
}

// The platform file says what --nodes and --cores-per-node would. Logs are read as of its nodes.
void take_platform(SimulateOptions& options) {
  SwfRules& rules = options.log.rules;
  if (options.platform.empty()) {
    const char* const needs = rules.partitions_from != SwfRules::PartitionsFrom::none
                                  ? "--partitions-from"
                              : rules.qos_from != SwfRules::PartitionsFrom::none ? "--qos-from"
                              : rules.uses_memory                                ? "--memory-from"
                                                                                 : nullptr;
    if (!needs) return;
    throw InputError({.field = needs}, "says where jobs of a log may run on a platform",
                     "give --platform FILE");
  }
  if (!options.elastisim.empty()) {
    throw InputError({.field = "--platform"}, "the platform of --elastisim is in its own file",
                     "leave --platform away");
  }
  if (options.settings.platform.sockets_per_node != 1) {
    throw InputError({.field = "--sockets-per-node"}, "the classes of --platform say their sockets",
                     "write sockets there");
  }
  if (options.settings.platform != Platform{}) {
    throw InputError({.field = "--node-power"}, "the classes of --platform say what nodes draw",
                     "write idle_w, busy_w, off_w and boot_time_s there");
  }
  auto file = std::make_shared<PlatformFile>(read_platform_file(options.platform));
  // Jobs that are made are of the first partition.
  rules.nodes = file->platform.nodes;
  if (options.trace.empty()) {
    rules.nodes = nodes_of({}, file->platform).count();
    const std::vector<Partition>& partitions = file->platform.partitions;
    const bool is_limited = !partitions.empty() &&
                            (!partitions.front().users.empty() || partitions.front().max_nodes > 0);
    if (is_limited) {
      throw InputError(
          {options.platform, 0, partitions.front().users.empty() ? "max_nodes" : "users"},
          "jobs that are made are nobody's and of any size, and " + partitions.front().name +
              " is where those are that name no partition",
          "let another partition be the default");
    }
  }
  rules.cores_per_node = file->platform.cores_per_node;
  options.settings.platform = file->platform;
  for (const FileReservation& its : file->reservations) {
    options.settings.bookings.push_back({.booking = {.name = its.name,
                                                     .from = its.from,
                                                     .to = its.to,
                                                     .nodes = its.nodes,
                                                     .power_mw = std::llround(its.watts * 1000),
                                                     .for_jobs = !its.jobs.empty()},
                                         .count = its.count,
                                         .jobs = its.jobs,
                                         .where = {options.platform, its.line}});
    if (its.watts > 0 && options.settings.power_caps.empty()) {
      throw InputError({options.platform, its.line, "watts"},
                       "there is no power cap of which they could be kept",
                       "give --power-cap as well");
    }
  }
  if (options.trace.empty()) return;
  if (rules.partitions_from != SwfRules::PartitionsFrom::none &&
      file->platform.partitions.empty()) {
    throw InputError({.field = "--partitions-from"}, options.platform + " has no partitions",
                     "write them there, with the numbers that the log has");
  }
  if (rules.qos_from != SwfRules::PartitionsFrom::none && file->platform.qos.empty()) {
    throw InputError({.field = "--qos-from"}, options.platform + " has no [[qos]]",
                     "write them there, with the numbers that the log has");
  }
  rules.platform = std::move(file);
}

// Adds the files that options have read by themselves.
void add_other_files(Source& source, const CLI::App& command) {
  const auto add = [&](const std::string& name, const auto& names_file) {
    const CLI::Option* const option = command.get_option("--" + name);
    if (option->count() == 0 || !names_file(option->results().back())) return;
    source.files.push_back({name, option->results().back()});
  };
  const auto always = [](const std::string&) { return true; };
  add("platform", always);
  add("power-cap", names_file_of_power_caps);
  add("corridor", names_file_of_corridor);
  add("mtct", always);
}

// `command`: as it was parsed.
std::vector<Summary> simulate_command(SimulateOptions options, const Registry& registry,
                                      const CLI::App& command, Session& session) {
  const CalledRun* const caller = session.caller;
  if (session.step == Step::ready || session.step == Step::share || caller) options.quiet = true;
  if (!options.figures.folder.empty()) {
    (void)look_of(options.figures);  // a mistake is told before the runs
    if (options.out.empty()) {
      throw InputError({.field = "--figures"}, "is made of the files of the runs",
                       "give --out too");
    }
  }
  if (session.step != Step::all && (options.out.empty() || !options.record.empty())) {
    throw InputError({.field = "--on"}, "tasks share a folder of results, and write nothing else",
                     "give --out, and no --record");
  }
  options.log.rules.counts_cores = true;
  take_platform(options);
  const ReadyWorkload* const given = caller ? caller->workload : nullptr;
  if (!given && options.trace.empty() && options.model.empty() && options.elastisim.empty()) {
    throw no_workload();
  }
  if (options.trace.empty() && options.log.adaptive != "auto") {
    throw InputError({.field = "--adaptive"}, "says how jobs of a log adapt",
                     "give --trace, or --malleable and the like");
  }
  if (!options.record.empty() && options.policies.size() * options.seeds.size() > 1) {
    throw InputError({.field = "--record"}, "a log is of one run",
                     "give one --policy and one --seed");
  }
  Matrix matrix;
  for (const std::string& policy : options.policies) {
    if (std::ranges::count(options.policies, policy) > 1) {
      throw InputError({.field = "--policy"}, policy + " is given twice", "give it once");
    }
    matrix.policies.push_back(registry.make(policy));
  }
  const bool any_shares = std::ranges::any_of(
      matrix.policies, [](const auto& policy) { return policy->traits.needs.parts; });
  if (any_shares) options.log.rules.nodes_are = NodesAre::shared;

  ProgressLine progress(options.quiet);
  Source source = given                        ? from_caller(*given, options)
                  : !options.trace.empty()     ? from_trace(options, progress)
                  : !options.elastisim.empty() ? from_elastisim(options, progress)
                                               : from_model(options, progress);
  if (!options.platform.empty()) source.nodes = options.settings.platform.nodes;
  add_failures(source, options);
  const bool any_moves = add_orders(source, options);
  add_other_files(source, command);
  const bool any_switches =
      !options.switches.empty() || !options.settings.platform.switches.empty();
  const Placement placement = options.settings.rules.placement;
  if (!any_switches && needs_switches(placement)) {
    throw InputError({.field = "--placement"},
                     fmt::format("there are no switches to be {} on",
                                 kPlacementWords.at(static_cast<std::size_t>(placement))),
                     "give --switches, or write [[switch]] in --platform FILE");
  }
  const char* const needs_identities = !options.settings.bookings.empty() ? "reservations need"
                                       : any_switches                     ? "switches need"
                                       : placement != Placement::first    ? "--placement needs"
                                       : !options.failures.empty()        ? "failures need"
                                       : source.has_node_lists ? "jobs that name nodes need"
                                       : any_moves             ? "orders to migrate need"
                                       : options.settings.rules.node_off_after > Duration{}
                                           ? "nodes that are switched off need"
                                           : nullptr;
  if (needs_identities && options.identities == "off") {
    throw InputError({.field = "--identities"},
                     fmt::format("{} to know which nodes a job has", needs_identities),
                     "leave --identities away");
  }

  if (options.settings.rules.slow_for_power) {
    const char* const field = "--slow-for-power";
    if (options.settings.platform.steps.empty()) {
      throw InputError({.field = field}, "there are no steps of frequency",
                       "write [[step]] in --platform FILE");
    }
    if (options.settings.power_caps.empty()) {
      throw InputError({.field = field}, "there is no cap for which jobs could be slowed",
                       "give --power-cap");
    }
    const bool is_fixed = options.settings.rules.limit == Rules::Limit::fixed;
    if (is_fixed && options.transform.estimates.kind == EstimateSettings::Kind::predicted) {
      throw InputError({.field = field},
                       "with fixed limits it is not known what of its walltime a job had",
                       "leave --limit fixed away, or --estimates predicted");
    }
    for (const auto& policy : matrix.policies) {
      const std::string& settings = policy->traits.settings;
      const char* const why = policy->wants.corridor ? "keeps the corridor by sizes"
                              : registry.find_outside(settings) != nullptr
                                  ? "decides outside how jobs start"
                                  : nullptr;
      if (why == nullptr) continue;
      throw InputError({.field = field},
                       fmt::format("{} {}, and starts no job at a lower frequency", settings, why),
                       "use another --policy");
    }
  }

  matrix.measured = read_measured(options.measure, source.unix_start_time);
  matrix.variant = options.variant;
  matrix.identity = [&registry, common = common_identity(command, source.files)](
                        const Policy& policy, std::uint64_t seed) {
    return run_identity(common, registry, policy.traits.settings, seed);
  };
  matrix.seeds = options.seeds;
  matrix.threads = options.threads;
  // Python decides for one run at a time.
  for (const std::string& policy : options.policies) {
    const OutsidePolicies* const from = registry.find_outside(policy);
    if (from != nullptr && from->fork != nullptr) matrix.fork = from->fork;
  }
  matrix.out = options.out;
  matrix.only_results = session.is_for_page;
  matrix.settings = options.settings;
  matrix.settings.predict_walltimes =
      options.transform.estimates.kind == EstimateSettings::Kind::predicted;
  if (!options.elastisim.empty() && !options.apply_at_given) {
    matrix.settings.resize.apply_at = ResizeBehaviour::ApplyAt::phase_end;  // as it does
  }
  if (options.platform.empty()) {
    matrix.settings.platform.nodes = source.nodes;
    matrix.settings.platform.cores_per_node = options.log.rules.cores_per_node;
    if (!options.switches.empty() && source.nodes / options.switches.front() >= kMostSwitches) {
      throw InputError(
          {.field = "--switches"},
          fmt::format("makes more than {} switches of {} nodes", kMostSwitches, source.nodes),
          "put more nodes on each");
    }
    matrix.settings.platform.switches = even_switches(source.nodes, options.switches);
  }
  if (options.io_budget) add_io_budget(source, matrix, *options.io_budget);
  matrix.settings.rules.identities =
      options.identities == "on" ||
      (options.identities == "auto" && ((!options.out.empty() && !session.is_for_page) ||
                                        needs_identities || options.settings.rules.check));
  if (!options.io_budget) check_power_caps(source, matrix.settings);
  check_sharing(matrix.settings, any_shares);
  if (!options.quiet) warn_of_corridor(source, matrix);
  check_measured(source, matrix.measured);
  matrix.input = source.input;
  std::optional<Recorder> recorder;
  if (!options.record.empty()) {
    matrix.settings.rules.record = true;
    matrix.observers.push_back(&recorder.emplace(options.record));
  }
  if (caller && caller->observer) matrix.observers.push_back(caller->observer);
  matrix.settings.stop = caller ? caller->stop : &stop_on_signal();
  const OutsideScheduler* const outside =
      ready_outside(matrix, source.study, session.step != Step::all, options.quiet);
  if (!options.out.empty()) open_results(matrix, options, session);
  if (session.step == Step::ready) return {};
  matrix.progress = [&](const Progress& now) {
    progress.simulating(now, source.unix_start_time);
    if (caller && caller->progress) caller->progress();
  };

  if (session.step == Step::share) {
    run_matrix(matrix, [](const Summary&) {});
    if (matrix.settings.stop->load()) throw Stopped("stopped; what was over is kept");
    return {};
  }
  const bool as_text = !options.json && !caller && !session.is_for_page,
             as_json = options.json && !caller;
  if (as_text) std::cout << source.about << '\n' << std::flush;
  std::vector<Summary> summaries;
  run_matrix(matrix, [&](const Summary& summary) {
    if (as_json) {
      progress.clear();
      // At once: policies in other processes print, too.
      std::cout << to_json(summary) + '\n' << std::flush;
    }
    summaries.push_back(summary);
    if (!caller) std::string().swap(summaries.back().run);  // long, and for nobody
  });
  progress.clear();
  if (as_text && !summaries.empty()) std::cout << '\n' << summary_table(summaries);
  if (as_text) tell_measured(summaries, matrix.measured);
  if (!options.quiet) tell_rejected_for_power(summaries);
  if (!options.quiet && source.has_node_lists) tell_rejected_for_lists(summaries);
  if (!options.quiet) tell_orders(summaries);
  if (!options.quiet) tell_never_satisfied(summaries);
  if (!options.quiet) tell_undetected(summaries, matrix.measured);
  if (outside) {
    std::cout.flush();
    tell_outside(*outside, options.quiet);
    outside->rethrow();
  }
  if (!options.quiet && !matrix.settings.stop->load()) tell_left(summaries);

  if (matrix.settings.stop->load()) {
    std::cout.flush();
    throw Stopped(options.out.empty() ? "stopped; the figures are of what was simulated until then"
                                      : "stopped; the files and figures are of what was simulated "
                                        "until then. The same command goes on: it runs what is not "
                                        "over");
  }
  if (!options.figures.folder.empty()) write_figures_of(options.out, options.figures);
  return summaries;
}

void add_platform_options(CLI::App& command, SimulateOptions& options) {
  SwfRules& rules = options.log.rules;
  command
      .add_option(
          "--platform", options.platform,
          "a machine whose nodes are not all alike: classes of nodes, and partitions (TOML)")
      ->type_name("FILE")
      ->excludes("--nodes")
      ->excludes("--cores-per-node");
  command
      .add_option_function<std::string>(
          "--switches",
          [&options](const std::string& text) { options.switches = read_switches(text); },
          "the network is a tree: so many nodes on a leaf switch, so many switches under one of "
          "the next level, ...")
      ->type_name("N[,N...]")
      ->excludes("--platform");
  command
      .add_option_function<std::string>(
          "--placement",
          [&options](const std::string& word) {
            options.settings.rules.placement = *from_word<Placement>(kPlacementWords, word);
          },
          "which nodes starts and growths take, and shrinks keep: the lowest numbers, few runs of "
          "consecutive ones, few switches, or many [first]")
      ->check(CLI::IsMember({"first", "contiguous", "compact", "spread"}));
  command
      .add_option_function<std::string>(
          "--partitions-from",
          [&rules](const std::string& word) { rules.partitions_from = field_of_log(word); },
          "which number of a line of the log is that of a partition of --platform: that of its "
          "queue (field 15) or of its partition (field 16) [none]")
      ->check(CLI::IsMember({"none", "queue", "partition"}));
  command
      .add_option_function<std::string>(
          "--qos-from", [&rules](const std::string& word) { rules.qos_from = field_of_log(word); },
          "which number of a line of the log is that of a quality of service of --platform: that "
          "of its queue (field 15) or of its partition (field 16) [none]")
      ->check(CLI::IsMember({"none", "queue", "partition"}));
  command
      .add_option_function<std::string>(
          "--memory-from",
          [&rules](const std::string& word) { rules.uses_memory = word == "requested"; },
          "jobs of the log run on nodes of --platform that have the memory requested (field 10) "
          "[none]")
      ->check(CLI::IsMember({"none", "requested"}));
}

void add_order_options(CLI::App& command, SwfRules& rules) {
  command
      .add_option_function<std::string>(
          "--dependencies",
          [&rules](const std::string& word) { rules.follows_preceding = word == "swf"; },
          "jobs of the log that name a preceding job (field 17) are submitted when it has ended "
          "and their think time (field 18) has passed [ignore]")
      ->check(CLI::IsMember({"ignore", "swf"}));
  command
      .add_option_function<std::string>(
          "--feedback",
          [&rules](const std::string& text) { rules.longest_think = read_feedback(text); },
          "jobs of one session of a user are submitted so long after the end of the one before as "
          "in the log; a session ends when nothing was submitted for so long (1200 s) [off]")
      ->type_name("off|sessions[:think=S]");
}

void add_workload_options(CLI::App& command, SimulateOptions& options) {
  auto* trace =
      command.add_option("--trace", options.trace, "a log (SWF), plain or as .gz, .xz or .zst")
          ->type_name("FILE");
  auto* model =
      command.add_option("--generate", options.model, "a model; see 'workload generate --help'")
          ->type_name("NAME[:key=value,...]")
          ->excludes(trace);
  auto* elastisim =
      command
          .add_option("--elastisim", options.elastisim,
                      "a configuration of ElastiSim: its jobs, application models and platform")
          ->type_name("FILE")
          ->excludes(trace)
          ->excludes(model);
  command
      .add_option_function<std::vector<std::string>>(
          "--map",
          [&options](const std::vector<std::string>& all) { options.folders = folders_of(all); },
          "what the files of --elastisim name in the folder NAMED is in the folder HERE")
      ->type_name("NAMED=HERE")
      ->needs(elastisim)
      ->take_all();
  command
      .add_option_function<std::string>(
          "--links", [&options](const std::string& how) { options.share_links = how == "shared"; },
          "jobs of --elastisim share the bandwidth of the file system and of the backbone, or each "
          "is as fast as alone [shared]")
      ->needs(elastisim)
      ->check(CLI::IsMember({"shared", "alone"}));
  command
      .add_option_function<std::string>(
          "--belief",
          [&options](const std::string& of) { options.settings.tells_phases = of == "phase"; },
          "what is believed of running jobs with phases: how the whole of each depends on its "
          "size, or, from the beginning of each phase on, how that one does [whole]")
      ->check(CLI::IsMember({"whole", "phase"}));
  add_log_options(command, options.log);
  add_order_options(command, options.log.rules);
  add_platform_options(command, options);
  command.parse_complete_callback([&command, model, elastisim] {
    if (model->count() > 0) refuse_options_of_logs(command, "--generate", "--trace");
    if (elastisim->count() > 0) {
      refuse_options_of_logs(command, "--elastisim", "--trace");
      refuse_option_of_logs(command, "--cores-per-node", "--elastisim", "--trace");
    }
  });
  CLI::Option* resampled =
      command
          .add_flag("--resample", options.resample,
                    "of --trace: for each seed a new log of its users, week by week, as workload "
                    "resample makes it; before all changes")
          ->needs(trace);
  command
      .add_option("--long-term-weeks", options.long_term_weeks,
                  "of --resample: users whose first and last jobs are so far apart stay for long")
      ->needs(resampled)
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  add_transform_options(command, options.transform);
}

void add_overrun_option(CLI::App& command, SimulateOptions& options) {
  command
      .add_option_function<std::string>(
          "--overrun",
          [&options](const std::string& what) {
            options.log.rules.extend_walltime = what == "extend";
            options.settings.kill_overrun = what == "kill";
            options.overrun_given = true;
          },
          "jobs that ran longer than requested: extend their walltime, or kill them [extend]")
      ->check(CLI::IsMember({"extend", "kill"}));
}

CLI::Option* add_seed_option(CLI::App& command, SimulateOptions& options) {
  return command.add_option_function<std::uint64_t>(
      "--seed", [&options](std::uint64_t value) { options.seeds = {value}; },
      "of all random numbers [1]");
}

void add_world_options(CLI::App& command, SimulateOptions& options) {
  SimulationSettings& settings = options.settings;
  add_overrun_option(command, options);
  command
      .add_option_function<std::string>(
          "--limit",
          [&settings](const std::string& what) {
            settings.rules.limit = what == "fixed" ? Rules::Limit::fixed : Rules::Limit::scaled;
          },
          "the believed end under resizes: fixed at the start, or scaled with the size [scaled]")
      ->check(CLI::IsMember({"fixed", "scaled"}));
  command
      .add_option_function<std::string>(
          "--claims",
          [&settings](const std::string& what) {
            settings.rules.claims_take_idle = what == "take-idle";
          },
          "a job that waits for nodes of running jobs: takes idle ones in their place as soon as "
          "they suffice, or waits for those it was promised [take-idle]")
      ->check(CLI::IsMember({"take-idle", "wait"}));
  command
      .add_option_function<std::string>(
          "--fairness",
          [&settings](const std::string& text) {
            settings.rules.fairness = parse_fairness(text, {.field = "--fairness"});
          },
          "how much evolving requests may delay waiting jobs: none, single, target or both, then "
          "e.g. ,single=600,target=3600,user7.target=0,account:physics.single=0 (s) [none]")
      ->type_name("RULES");
  command
      .add_option_function<std::string>(
          "--resize-delay",
          [&settings](const std::string& text) {
            settings.resize.delay = read_random_duration("--resize-delay", text);
          },
          "from an order to resize to the next scheduling point (s): fixed:S, uniform:A..B, "
          "exponential:MEAN or S [0]")
      ->type_name("DURATION");
  command
      .add_option_function<std::string>(
          "--apply-at",
          [&options](const std::string& text) {
            read_apply_at(text, options.settings.resize);
            options.apply_at_given = true;
          },
          "resizes take effect at once, or at the end of the job's phase; N phases for jobs "
          "without any (100) [immediate; phase_end with --elastisim]")
      ->type_name("immediate|phase_end[:N]");
  command
      .add_option("--refuse", settings.resize.refuse,
                  "probability that an application refuses to resize")
      ->check(NumberRange(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--lose", settings.resize.lose, "probability that an order to resize gets lost")
      ->check(NumberRange(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--failures", options.failures,
                  "nodes that fail: at the times of a file, or at random with these means; with "
                  ",warn=S they drain S seconds before")
      ->type_name("FILE|mtbf=S,repair=S[,warn=S]");
  command
      .add_option_function<std::string>(
          "--on-failure",
          [&settings](const std::string& what) {
            using OnFailure = SimulationSettings::OnFailure;
            settings.on_failure = what == "kill"     ? OnFailure::kill
                                  : what == "shrink" ? OnFailure::shrink
                                                     : OnFailure::requeue;
          },
          "a job that loses a node: requeue it, kill it, or let a malleable one shrink [requeue]")
      ->check(CLI::IsMember({"requeue", "kill", "shrink"}));
  add_power_options(command, settings);
  auto* const io_budget =
      command
          .add_option("--io-budget", options.io_budget,
                      "what running jobs are believed to send and to read takes at most this share "
                      "of the bandwidth of the links that jobs share: no start and no growth goes "
                      "beyond it")
          ->type_name("SHARE")
          ->check(NumberRange(0.001, 1000))
          ->needs(command.get_option("--elastisim"));
  for (const char* const other :
       {"--power-cap", "--corridor", "--node-power", "--node-off-after"}) {
    io_budget->excludes(command.get_option(other));
  }
  add_sharing_options(command, settings);
  command
      .add_option(
          "--orders", options.orders,
          "what operators order jobs, by time: a file with lines TIME_S suspend JOB, TIME_S "
          "resume JOB, TIME_S resize JOB NODES and TIME_S migrate JOB [off NODES] [none]")
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--moves", [&settings](const std::string& word) { settings.moves = word == "on"; },
          "malleable jobs leave nodes that drain for idle ones, at the same size; off: they can "
          "only shrink [on]")
      ->check(CLI::IsMember({"on", "off"}));
  command
      .add_option("--identities", options.identities,
                  "follow which nodes, not only how many: auto is on with --out, "
                  "--failures, --switches, --placement and --check")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
  command.add_flag("--strict", options.strict,
                   "what a workload of --elastisim or --generate asks for and is not simulated so "
                   "is an error, not a remark");
  command.add_flag("--check", settings.rules.check,
                   "check the scheduler's invariants after every event (slow)");
}

void add_options(CLI::App& command, SimulateOptions& options) {
  add_workload_options(command, options);
  command
      .add_option("--policy", options.policies,
                  "can be given several times; see 'ductile policies' [easy]")
      ->type_name("NAME[:parameter=value,...]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  auto* outside =
      command
          .add_option("--batsim-scheduler", options.batsim_scheduler,
                      "a scheduler made for Batsim that listens there decides, of one run: as "
                      "--policy batsim:endpoint=ENDPOINT")
          ->type_name("ENDPOINT")
          ->excludes("--policy");
  command
      .add_option("--batsim-timeout", options.batsim_timeout_s,
                  "how long an answer of it, or that it comes, is waited for (s) [300]")
      ->type_name("S")
      ->needs(outside);
  auto* study = command.add_option_function<std::vector<std::string>>(
      "--elastisim-scheduler",
      [&options](const std::vector<std::string>& given) {
        options.elastisim_schedules = true;
        options.elastisim_scheduler = given.front();
      },
      "the scheduler of the study of --elastisim connects to that address, and decides, of one run "
      "[zmq_url of the study]");
  study->type_name("ENDPOINT")
      ->expected(0, 1)
      ->needs(command.get_option("--elastisim"))
      ->excludes(outside)
      ->excludes("--policy");
  command
      .add_option("--elastisim-timeout", options.elastisim_timeout_s,
                  "how long an answer of it, or that it comes, is waited for (s) [300]")
      ->type_name("S")
      ->needs(study);
  add_world_options(command, options);
  CLI::Option* const seed = add_seed_option(command, options);
  command
      .add_option_function<std::string>(
          "--seeds", [&options](const std::string& text) { options.seeds = read_seeds(text); },
          "several; figures are means with 95 % confidence intervals")
      ->type_name("A..B")
      ->excludes(seed);
  command.add_option("--threads", options.threads, "runs at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  auto* on = command
                 .add_option("--on", options.on,
                             "where the runs run: here, or as an array job of Slurm (slurm), whose "
                             "tasks are called with task; goes with --out")
                 ->type_name("WHERE")
                 ->check(CLI::IsMember({"local", "slurm", "task"}))
                 ->capture_default_str();
  command.add_option("--tasks", options.tasks, "of the array job, at most")
      ->check(CLI::Range(1, 100'000))
      ->needs(on)
      ->capture_default_str();
  command
      .add_option("--claim-timeout", options.claim_timeout_s,
                  "a run of which its task gives no sign of life for so long (s) is run by another "
                  "one")
      ->type_name("S")
      ->check(NumberRange(0.1, 1e6))
      ->needs(on)
      ->capture_default_str();
  add_measure_options(command, options.measure);
  command
      .add_option("--out", options.out,
                  "write jobs, decisions, time series, trace and report to this folder")
      ->type_name("DIR");
  add_figure_options(command, options.figures);
  command
      .add_option("--record", options.record, "write a log of one run to this file; see 'replay'")
      ->type_name("FILE");
  command.add_flag("--force", options.force,
                   "if the folder of --out holds the results of other runs, remove them");
  command.add_flag("--json", options.json, "print one JSON object per run, one per line");
  command.add_flag("--quiet", options.quiet, "no progress line and no remarks");
}

// Options as "--name=value".
void parse_texts(CLI::App& command, std::vector<std::string> texts) {
  std::ranges::reverse(texts);  // as CLI11 takes them
  command.parse(std::move(texts));
}

void set_policies(SimulateOptions& options) {
  if (!options.batsim_scheduler.empty()) {
    options.policies = {outside_policy_text("batsim", "--batsim-scheduler",
                                            options.batsim_scheduler, options.batsim_timeout_s)};
  }
  if (options.elastisim_schedules) {
    options.policies = {outside_policy_text("elastisim-scheduler", "--elastisim-scheduler",
                                            options.elastisim_scheduler,
                                            options.elastisim_timeout_s)};
  }
  // As there: jobs are killed.
  for (const std::string& policy : options.policies) {
    if (!policy.starts_with("elastisim-scheduler")) continue;
    options.elastisim_schedules = true;
    if (options.overrun_given) continue;
    options.log.rules.extend_walltime = false;
    options.settings.kill_overrun = true;
  }
  if (options.policies.empty()) options.policies = {"easy"};
}

// One matrix of an experiment, from options as "--name=value".
std::vector<Summary> simulate_options(std::vector<std::string> texts, const std::string& variant,
                                      const ResultsPlace& results, const Registry& registry,
                                      Session& session) {
  CLI::App command("", "simulate");
  SimulateOptions options;
  add_options(command, options);
  parse_texts(command, std::move(texts));
  set_policies(options);
  options.variant = variant;
  options.results = results;
  return simulate_command(options, registry, command, session);
}

// All matrices of the command, on an array job of Slurm or as a task of it.
void simulate_shared(const SimulateOptions& options, const std::string& experiment,
                     const Registry& registry, const CLI::App& command, Session& session,
                     const std::function<void()>& collect) {
  const auto each = [&](Step step) {
    session.step = step;
    if (experiment.empty()) {
      simulate_command(options, registry, command, session);
      return;
    }
    each_variant(experiment, command,
                 [&](const auto& texts, const std::string& variant, const auto& results) {
                   simulate_options(texts, variant, results, registry, session);
                 });
  };
  if (options.on == "task") {
    const std::atomic<bool>& stop = stop_on_signal();
    do {
      each(Step::share);
    } while (session.claims->wait_for_others(&stop));
    return;
  }
  each(Step::ready);
  const std::filesystem::path folder = *session.folders.begin();
  if (session.missing > 0) {
    const auto most = static_cast<unsigned>(std::min<std::size_t>(session.missing, options.tasks));
    run_array_job(command, folder, most, options.quiet);
  }
  session.step = Step::collect;
  collect();
  remove_tasks(folder);
}

}  // namespace

ReadyWorkload ready_workload(std::vector<std::string> options) {
  CLI::App command("", "workload");
  SimulateOptions its;
  its.quiet = true;
  add_workload_options(command, its);
  add_overrun_option(command, its);
  add_seed_option(command, its);
  command.add_flag("--strict", its.strict);
  parse_texts(command, std::move(options));
  take_platform(its);
  if (its.trace.empty() && its.model.empty() && its.elastisim.empty()) throw no_workload();
  ProgressLine progress(true);
  const Source source = !its.trace.empty()       ? from_trace(its, progress)
                        : !its.elastisim.empty() ? from_elastisim(its, progress)
                                                 : from_model(its, progress);
  const Input input = source.input(its.seeds.front());
  return {std::make_shared<Workload>(*input.workload), source.nodes, its.log.rules.cores_per_node,
          source.unix_start_time};
}

Summary simulate_called(const CalledRun& run, const Registry& registry) {
  CLI::App command("", "simulate");
  SimulateOptions options;
  add_options(command, options);
  parse_texts(command, run.options);
  set_policies(options);
  Session session;
  session.caller = &run;
  return simulate_command(std::move(options), registry, command, session).at(0);
}

Reproduced simulate_for_page(const std::string& experiment, std::vector<std::string> options,
                             const Registry& registry,
                             const std::function<bool(const Statement&)>& is_wanted) {
  CLI::App command("", "simulate");
  SimulateOptions given;
  add_options(command, given);
  parse_texts(command, std::move(options));
  Session session;
  session.is_for_page = true;
  return reproduce_experiment(
      experiment, command,
      [&](const auto& texts, const std::string& variant, const auto& results) {
        return simulate_options(texts, variant, results, registry, session);
      },
      is_wanted);
}

void add_simulate_command(CLI::App& app, const Registry& registry) {
  CLI::App& command = *app.add_subcommand("simulate", "run policies on a workload");
  const auto options = std::make_shared<SimulateOptions>();
  const auto experiment = std::make_shared<std::string>();
  const auto again = std::make_shared<std::string>();
  command
      .add_option("experiment", *experiment,
                  "an experiment file (TOML) with options, and what a paper says comes out")
      ->type_name("FILE");
  add_options(command, *options);
  command
      .add_option("--again", *again,
                  "run again what wrote this folder with --out, and say whether the results are "
                  "the same bytes")
      ->type_name("DIR");
  command.callback([&command, &registry, options, experiment, again] {
    if (!again->empty()) {
      const auto simulate = [&](const auto& texts, const std::string& variant) {
        Session session;  // in a folder that is removed
        return simulate_options(texts, variant, {}, registry, session);
      };
      if (!run_again(*again, command, simulate)) throw CLI::RuntimeError(1);
      return;
    }
    set_policies(*options);
    Session session;
    const auto run = [&] {
      if (experiment->empty()) {
        simulate_command(*options, registry, command, session);
        return;
      }
      std::size_t matrices = 1;
      run_experiment(*experiment, command, options->json,
                     [&](const auto& texts, const std::string& variant, const auto& results) {
                       matrices = results.matrices.size();
                       return simulate_options(texts, variant, results, registry, session);
                     });
      if (session.folders.size() == 1 && matrices > 1) {
        write_page_of_variants(*session.folders.begin());
      }
    };
    if (options->on == "local") {
      run();
      for (const auto& folder : session.folders) remove_tasks(folder);  // that were interrupted
      return;
    }
    simulate_shared(*options, *experiment, registry, command, session, run);
  });
}

}  // namespace ductile
