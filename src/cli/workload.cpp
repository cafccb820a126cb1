#include "cli/workload.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/date.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/log_options.hpp"
#include "cli/number_range.hpp"
#include "cli/swf_options.hpp"
#include "cli/transform_options.hpp"
#include "cli/workload_convert.hpp"
#include "cli/workload_fetch.hpp"
#include "cli/workload_play.hpp"
#include "cli/write_file.hpp"
#include "cli/write_log.hpp"
#include "report/workload_page.hpp"
#include "workload/adaptive.hpp"
#include "workload/generate.hpp"
#include "workload/info.hpp"
#include "workload/resample.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

// ---- info ---------------------------------------------------------------------------------------

struct InfoOptions {
  std::string file;
  LogOptions log;
  FlurrySettings flurry;
  double utc_offset_h = 0;
  bool json = false;
  std::string html;
};

struct Facts {
  Log log;
  std::uint32_t cores_per_node = 1;
  std::optional<Nodes> nodes;  // as given, else as in the header
  WorkloadInfo info;
};

Facts facts_of(const InfoOptions& options) {
  LogOptions log = options.log;
  log.rules.extend_walltime = false;
  log.rules.runtime_as_walltime = false;
  Facts facts;
  facts.log = read_log(options.file, log);
  facts.cores_per_node = log.rules.cores_per_node;
  facts.nodes = log.rules.nodes > 0 ? log.rules.nodes
                                    : facts.log.header.nodes(log.rules.cores_per_node,
                                                             log.rules.cores_per_processor);
  facts.info = describe(facts.log.workload, facts.nodes.value_or(0),
                        {.unix_start_time = facts.log.header.unix_start_time,
                         .utc_offset = seconds(options.utc_offset_h * 3600),
                         .flurry = options.flurry});
  return facts;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// ---- What there is to show of a log: facts, histograms and tables, as text or as a page ----

// "5 to 8", "1 h to 6 h", "1.0 and more".
std::string bin_text(const Bin& bin, bool is_whole, const std::function<std::string(double)>& say) {
  if (!std::isfinite(bin.to)) return say(bin.from) + " and more";
  if (!is_whole) return say(bin.from) + " to " + say(bin.to);
  const std::string last = say(bin.to - 1);
  return bin.to - bin.from > 1 ? say(bin.from) + " to " + last : last;
}

std::string runtime_text(double time_s) {
  if (time_s >= 86'400) return fmt::format("{} d", time_s / 86'400);
  if (time_s >= 3600) return fmt::format("{} h", time_s / 3600);
  return time_s >= 60 ? fmt::format("{} min", time_s / 60) : fmt::format("{} s", time_s);
}

double ratio(double part, double all) { return all > 0 ? part / all : 0; }

std::vector<PageHistogram> histograms_of(const WorkloadInfo& info) {
  constexpr std::array kDays{"Monday", "Tuesday",  "Wednesday", "Thursday",
                             "Friday", "Saturday", "Sunday"};
  std::vector<PageHistogram> histograms;
  const auto add = [&](const char* title, const std::vector<Bin>& bins, bool is_whole,
                       const std::function<std::string(double)>& say) {
    double jobs = 0, work_node_s = 0;
    for (const Bin& bin : bins) {
      jobs += static_cast<double>(bin.jobs);
      work_node_s += bin.work_node_s;
    }
    if (jobs == 0) return;
    PageHistogram& histogram = histograms.emplace_back();
    histogram.title = title;
    for (const Bin& bin : bins) {
      histogram.bars.push_back({bin_text(bin, is_whole, say),
                                ratio(static_cast<double>(bin.jobs), jobs),
                                ratio(bin.work_node_s, work_node_s)});
    }
  };
  const auto number = [](double value) { return fmt::format("{}", value); };
  add("size (nodes)", info.sizes, true, number);
  add("run time", info.runtimes, false, runtime_text);
  add("run / requested time", info.accuracies, false,
      [](double value) { return fmt::format("{:.1f}", value); });
  add("submitted at hour", info.by_hour, true, number);
  add("submitted on", info.by_weekday, true,
      [&](double day) { return std::string(kDays.at(static_cast<std::size_t>(day))); });
  return histograms;
}

PageTable distributions_of(const WorkloadInfo& info) {
  PageTable table{.columns = {"", "min", "median", "mean", "95 %", "max"}};
  const auto row = [&](const char* name, const Distribution& values) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.emplace_back(name);
    for (const double value : {values.min, values.median, values.mean, values.p95, values.max}) {
      cells.push_back(fmt::format("{:.6g}", value));
    }
  };
  row("size (nodes)", info.size_nodes);
  row("run time (s)", info.runtime_s);
  row("between arrivals (s)", info.interarrival_s);
  return table;
}

std::vector<PageTable> tables_of(const WorkloadInfo& info) {
  PageTable users{.columns = {"users with most work", "jobs", "work"}};
  for (const TopUser& share : info.top_users) {
    const double of_jobs = ratio(static_cast<double>(share.jobs), static_cast<double>(info.jobs));
    users.rows.push_back({fmt::format("{}", share.user), percent(of_jobs),
                          percent(ratio(share.work_node_s, info.work_node_s))});
  }
  PageTable flurries{.columns = {"flurries of users", "jobs", "from (s)", "to (s)"}};
  for (const Flurry& flurry : info.flurries) {
    flurries.rows.push_back({fmt::format("{}", flurry.user), fmt::format("{}", flurry.rows.size()),
                             seconds_text(flurry.first), seconds_text(flurry.last)});
  }
  return {std::move(users), std::move(flurries)};
}

// Names, empty where a line goes on with the one before it, and what there is to say.
std::vector<std::pair<std::string, std::string>> lines_of(const Facts& facts) {
  const WorkloadInfo& info = facts.info;
  std::vector<std::pair<std::string, std::string>> lines;
  const auto line = [&](std::string_view name, std::string value) {
    lines.emplace_back(name, std::move(value));
  };
  if (!facts.log.header.computer.empty()) line("computer", facts.log.header.computer);
  line("machine", facts.nodes ? fmt::format("{} nodes of {} {}", *facts.nodes, facts.cores_per_node,
                                            facts.cores_per_node == 1 ? "core" : "cores")
                              : "not known; give --nodes");
  line("jobs", fmt::format("{}", info.jobs));
  const std::string skipped = skipped_text(facts.log.workload.skipped);
  if (!skipped.empty()) line("", skipped);
  if (facts.log.workload.skipped.filtered > 0) {
    line("", fmt::format("{} lines that were not asked for", facts.log.workload.skipped.filtered));
  }
  if (facts.log.workload.clipped > 0) {
    line("", fmt::format("{} made as large as the machine", facts.log.workload.clipped));
  }
  if (!facts.log.adaptive.empty()) {
    line("", fmt::format("those that adapt: {}", facts.log.adaptive));
    if (facts.log.unknown > 0) {
      line("", fmt::format("{} of them were left out", facts.log.unknown));
    }
  }
  if (info.jobs == 0) return lines;
  for (std::size_t i = 0; i < kJobTypeWords.size(); ++i) {
    const double share = static_cast<double>(info.jobs_by_type[i]) / static_cast<double>(info.jobs);
    if (share > 0) line(kJobTypeWords[i], percent(share));
  }
  line("users", fmt::format("{}", info.users));
  line("span", fmt::format("{:.1f} days, first submission at {:.0f} s", info.span_s / 86'400,
                           info.first_submit_s));
  line("work", fmt::format("{:.6g} node hours", info.work_node_s / 3600));
  if (info.offered_load) line("offered load", fmt::format("{:.3f}", *info.offered_load));
  line("jobs of one node", percent(info.serial_share));
  line("power-of-two sizes", percent(info.power_of_two_share));
  line("requested time known", percent(info.requested_share));
  const auto known = [&](std::uint64_t without) {
    return percent(1 - static_cast<double>(without) / static_cast<double>(info.jobs));
  };
  line("user, group known", known(info.without_user) + ", " + known(info.without_group));
  if (info.overrun_share) {
    line("ran longer", percent(*info.overrun_share) + " of these");
    line("run / requested time",
         fmt::format("mean {:.3f}, median {:.3f}", *info.accuracy_mean, *info.accuracy_median));
  }
  return lines;
}

void append_table(std::string& text, const PageTable& table) {
  if (table.rows.empty()) return;
  const auto row = [&](const std::vector<std::string>& cells) {
    fmt::format_to(std::back_inserter(text), "  {:<22}", cells.front());
    for (std::size_t i = 1; i < cells.size(); ++i) {
      fmt::format_to(std::back_inserter(text), "{:>12}", cells[i]);
    }
    text += '\n';
  };
  text += '\n';
  row(table.columns);
  for (const auto& cells : table.rows) row(cells);
}

// Shares of jobs and of work, and a bar for that of jobs.
void append_histogram(std::string& text, const PageHistogram& histogram) {
  constexpr double kWidth = 40;
  fmt::format_to(std::back_inserter(text), "\n  {:<22}{:>12}{:>12}\n", histogram.title, "jobs",
                 "work");
  for (const HistogramBar& bar : histogram.bars) {
    const auto length = static_cast<std::size_t>(std::lround(kWidth * bar.jobs));
    std::string row = fmt::format("  {:<22}{:>12}{:>12}  {}", bar.label, percent(bar.jobs),
                                  percent(bar.work), std::string(length, '#'));
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
}

std::string as_text(const Facts& facts) {
  std::string text = facts.log.workload.name + "\n";
  for (const auto& [name, value] : lines_of(facts)) {
    fmt::format_to(std::back_inserter(text), "  {:<22}{}\n", name, value);
  }
  if (facts.info.jobs == 0) return text;
  append_table(text, distributions_of(facts.info));
  for (const PageHistogram& histogram : histograms_of(facts.info))
    append_histogram(text, histogram);
  for (const PageTable& table : tables_of(facts.info)) append_table(text, table);
  return text;
}

std::string as_page(const Facts& facts) {
  std::vector<PageTable> tables;
  if (facts.info.jobs > 0) {
    tables = tables_of(facts.info);
    tables.insert(tables.begin(), distributions_of(facts.info));
  }
  return workload_page(facts.log.workload.name, lines_of(facts), histograms_of(facts.info), tables);
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
  const Skipped& skipped = facts.log.workload.skipped;
  Json by_type = Json::object();
  for (std::size_t i = 0; i < kJobTypeWords.size(); ++i) {
    by_type[std::string(kJobTypeWords[i])] = info.jobs_by_type[i];
  }
  const auto bins = [](const std::vector<Bin>& all) {
    Json list = Json::array();
    for (const Bin& bin : all) {
      list.push_back({{"from", bin.from},
                      {"to", std::isfinite(bin.to) ? Json(bin.to) : Json()},
                      {"jobs", bin.jobs},
                      {"work_node_s", bin.work_node_s}});
    }
    return list;
  };
  Json top_users = Json::array(), flurries = Json::array();
  for (const TopUser& share : info.top_users) {
    top_users.push_back(
        {{"user", share.user}, {"jobs", share.jobs}, {"work_node_s", share.work_node_s}});
  }
  for (const Flurry& flurry : info.flurries) {
    flurries.push_back({{"user", flurry.user},
                        {"jobs", flurry.rows.size()},
                        {"first_submit_s", to_seconds(flurry.first)},
                        {"last_submit_s", to_seconds(flurry.last)}});
  }
  const Json json = {
      {"name", facts.log.workload.name},
      {"computer", facts.log.header.computer},
      {"nodes", optional(facts.nodes)},
      {"cores_per_node", facts.cores_per_node},
      {"unix_start_time_s", optional(facts.log.header.unix_start_time)},
      {"jobs", info.jobs},
      {"jobs_by_type", by_type},
      {"skipped", skipped.total()},
      {"skipped_by_cause",
       {{"no_size", skipped.no_size},
        {"no_runtime", skipped.no_runtime},
        {"never_started", skipped.never_started},
        {"too_large", skipped.too_large},
        {"other_status", skipped.other_status},
        {"above_max_size", skipped.above_max_size}}},
      {"filtered", skipped.filtered},
      {"clipped", facts.log.workload.clipped},
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
      {"without_user", info.without_user},
      {"without_group", info.without_group},
      {"sizes", bins(info.sizes)},
      {"runtimes", bins(info.runtimes)},
      {"accuracies", bins(info.accuracies)},
      {"by_hour", bins(info.by_hour)},
      {"by_weekday", bins(info.by_weekday)},
      {"top_users", top_users},
      {"flurries", flurries},
  };
  // A header may hold bytes that are not UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_info(CLI::App& workload) {
  CLI::App& command = *workload.add_subcommand("info", "what is in a log (SWF)");
  const auto options = std::make_shared<InfoOptions>();
  command.add_option("file", options->file, "the log: .swf, plain or as .gz, .xz or .zst")
      ->required();
  add_log_options(command, options->log);
  add_flurry_option(command, options->flurry);
  command
      .add_option("--utc-offset", options->utc_offset_h,
                  "hours by which the clock whose hours and days count is ahead of UTC")
      ->check(NumberRange(-24.0, 24.0))
      ->capture_default_str();
  command.add_flag("--json", options->json, "print one JSON object");
  command
      .add_option("--html", options->html, "write one page with charts, which needs nothing else")
      ->type_name("FILE");
  command.callback([options] {
    const Facts facts = facts_of(*options);
    if (!options->html.empty()) {
      write_file({options->html, [&](std::ostream& out) { out << as_page(facts); }, "--html"});
    }
    std::cout << (options->json ? as_json(facts) : as_text(facts)) << std::flush;
  });
}

// ---- generate -----------------------------------------------------------------------------------

struct GenerateOptions {
  std::string model;
  std::uint64_t seed = 1;
  std::string out = "-";
};

void generate(const GenerateOptions& options) {
  const ModelChoice choice = parse_model(options.model);
  const std::string remark = choice.remark();
  const Workload workload = choice.generate(options.seed);
  const bool two_files = !workload.adaptive.empty();
  if (two_files && !options.out.ends_with(".swf")) {
    throw InputError({.field = "--out"},
                     "SWF has no field for how jobs adapt or for priorities; they go to a second "
                     "file, NAME.adaptive",
                     "give NAME.swf");
  }
  const auto nodes = static_cast<std::int64_t>(choice.number("nodes"));
  SwfHeader header;
  header.version = "2.2";
  header.computer = fmt::format("synthetic, {} nodes", nodes);
  header.max_jobs = static_cast<std::int64_t>(workload.jobs.size());
  header.max_nodes = nodes;
  header.max_procs = nodes;
  header.unix_start_time = 0;
  header.notes = fmt::format("{}, seed {}\n", choice.text(), options.seed);
  if (workload.name != choice.model->name) header.notes += workload.name + "\n";
  std::function<void(std::ostream&)> adaptive;
  if (two_files) adaptive = [&](std::ostream& out) { write_adaptive(out, workload); };
  write_log(
      options.out, [&](std::ostream& out) { write_swf(out, workload, header); }, adaptive);
  if (!remark.empty()) std::cerr << "ductile: " << remark << '\n';
}

// " (1 to 10 s)", " (up, nearest)", or nothing.
std::string range_text(const ModelParameter& parameter) {
  using Kind = ModelParameter::Kind;
  if (parameter.kind == Kind::word) return fmt::format(" ({})", listed(parameter.words));
  if (parameter.kind == Kind::text) return "";
  return fmt::format(" ({} to {}{}{})", parameter.min, parameter.max,
                     parameter.unit.empty() ? "" : " ", parameter.unit);
}

std::string models_text() {
  std::string text = "Models:\n";
  for (const WorkloadModel& model : workload_models()) {
    fmt::format_to(std::back_inserter(text), "  {}: {}\n", model.name, model.about);
    for (const ModelParameter& parameter : model.parameters) {
      fmt::format_to(std::back_inserter(text), "    {:<14}{}{} [{}]\n", parameter.name,
                     parameter.about, range_text(parameter), parameter.fallback);
    }
  }
  return text;
}

void add_generate(CLI::App& workload) {
  CLI::App& command = *workload.add_subcommand(
      "generate", "make a workload by a model, as SWF, with what is adaptive beside it");
  const auto options = std::make_shared<GenerateOptions>();
  command.add_option("model", options->model, "NAME[:key=value,...]")->required();
  command.add_option("--seed", options->seed, "of the random numbers")->capture_default_str();
  command.add_option("--out", options->out, "the file to write; -: the standard output")
      ->capture_default_str();
  command.footer(models_text());
  command.callback([options] { generate(*options); });
}

// ---- transform ----------------------------------------------------------------------------------

struct TransformOptions {
  std::string file, out;
  LogOptions log;
  Transform changes;
  bool anonymise = false;
  std::uint64_t seed = 1;
};

// Writes a log that was made of another one, with what is adaptive beside it; `header` is that of
// the other one.
void write_made_log(const std::string& name, const Workload& workload, SwfHeader header,
                    Nodes nodes, std::uint32_t cores_per_node, const std::string& note) {
  set_sizes(header, workload.jobs.size(), nodes, cores_per_node);
  header.notes += note;
  write_log(
      name, [&](std::ostream& out) { write_swf(out, workload, header, cores_per_node); },
      [&](std::ostream& out) { write_adaptive(out, workload, cores_per_node); });
}

// Dependencies that are not written.
void tell_lost(std::uint64_t count, const char* of = "") {
  if (count == 0) return;
  std::cout << fmt::format("dependencies{}{} left out, on jobs that are not there: {}\n",
                           *of == 0 ? "" : " ", of, count);
}

void transform_log(const TransformOptions& options) {
  check_name_of_log(options.out);
  if (options.changes.estimates.kind == EstimateSettings::Kind::predicted) {
    throw InputError({.field = "--estimates"}, "what is predicted depends on how a run goes",
                     "give it to `ductile simulate`");
  }
  const Nodes nodes = machine_nodes(options.file, options.log.rules);
  const std::uint32_t cores = options.log.rules.cores_per_node;
  LogOptions how = options.log;
  how.rules.nodes = nodes;
  how.rules.follows_preceding = true;
  Log log = read_log(options.file, how);
  need_jobs(log.workload, options.file, how.rules);
  const std::size_t jobs = log.workload.jobs.size();
  transform(log.workload, options.changes, nodes, options.seed);
  const std::size_t in_flurries = jobs - log.workload.jobs.size();
  if (options.anonymise) {
    anonymise(log.workload);
    SwfHeader& header = log.header;
    for (std::string* line : {&header.computer, &header.installation, &header.notes,
                              &header.time_zone, &header.start_time, &header.end_time}) {
      line->clear();
    }
  }

  write_made_log(options.out, log.workload, std::move(log.header), nodes, cores,
                 fmt::format("changed by ductile workload transform, seed {}\n", options.seed));
  std::cout << fmt::format("{}: {} jobs, {} nodes; {}: {} of them adapt\n", options.out,
                           log.workload.jobs.size(), nodes, adaptive_path(options.out),
                           log.workload.adapting());
  if (const std::string skipped = skipped_text(log.workload.skipped); !skipped.empty()) {
    std::cout << skipped << '\n';
  }
  if (in_flurries > 0) std::cout << in_flurries << " jobs in flurries left out\n";
  tell_lost(log.workload.precedences_lost);
  if (const std::uint64_t filtered = log.workload.skipped.filtered; filtered > 0) {
    std::cout << filtered << " lines that were not asked for\n";
  }
}

void add_transform(CLI::App& workload) {
  CLI::App& command = *workload.add_subcommand(
      "transform", "change the jobs of a log, and write it with what is adaptive beside it");
  const auto options = std::make_shared<TransformOptions>();
  command.add_option("file", options->file, "the log: .swf, plain or as .gz, .xz or .zst")
      ->required();
  add_log_options(command, options->log);
  add_transform_options(command, options->changes);
  command.add_flag("--anonymise", options->anonymise,
                   "number users, groups, accounts and partitions anew, and leave out the lines of "
                   "the header that name people, places, files or the machine");
  command.add_option("--seed", options->seed, "of the random numbers")->capture_default_str();
  command
      .add_option("--out", options->out,
                  "the log to write, NAME.swf; NAME.adaptive is written beside it")
      ->required();
  command.callback([options] { transform_log(*options); });
}

// ---- resample -----------------------------------------------------------------------------------

struct ResampleOptions {
  std::string file, out;
  LogOptions log;
  Resampling how;
  std::uint64_t seed = 1;
};

void resample_log(const ResampleOptions& options) {
  check_name_of_log(options.out);
  LogOptions log_options = options.log;
  Resampling how = options.how;
  how.nodes = log_options.rules.nodes = machine_nodes(options.file, options.log.rules);
  log_options.rules.follows_preceding = true;
  Log log = read_log(options.file, log_options);
  need_jobs(log.workload, options.file, log_options.rules);
  const Resampled made = resample(log.workload, how, options.seed);

  SwfHeader header = std::move(log.header);
  header.start_time.clear();
  header.end_time.clear();
  header.unix_start_time = start_of_resampled(log.workload, header.unix_start_time);
  write_made_log(
      options.out, made.workload, std::move(header), how.nodes, log_options.rules.cores_per_node,
      fmt::format("resampled from {} by users and weeks (Zakay and Feitelson 2013): ductile "
                  "workload resample, seed {}, {} weeks{}, long-term from {} weeks on\n",
                  log.workload.name, options.seed, made.weeks,
                  how.load ? fmt::format(", load {}", *how.load) : "", how.long_term_weeks));
  const auto line = [](std::uint64_t jobs, std::uint64_t weeks, std::uint64_t long_term,
                       std::uint64_t temporary, double load) {
    return fmt::format("{} jobs in {} weeks, {} long-term and {} temporary users, load {:.3f}\n",
                       jobs, weeks, long_term, temporary, load);
  };
  std::cout << log.workload.name << ": "
            << line(log.workload.jobs.size(), made.log_weeks, made.log_long_term,
                    made.log_temporary, made.log_load)
            << options.out << ": "
            << line(made.workload.jobs.size(), made.weeks, made.long_term, made.temporary,
                    made.load);
  if (made.without_user > 0) {
    std::cout << fmt::format("{} jobs left out: nobody is their user\n", made.without_user);
  }
  tell_lost(log.workload.precedences_lost, "of the log");
  tell_lost(made.workload.precedences_lost);
  if (const std::string skipped = skipped_text(log.workload.skipped); !skipped.empty()) {
    std::cout << skipped << '\n';
  }
}

void add_resample(CLI::App& workload) {
  CLI::App& command = *workload.add_subcommand(
      "resample", "make a new log of the users of a real one, week by week");
  const auto options = std::make_shared<ResampleOptions>();
  command.add_option("file", options->file, "the log: .swf, plain or as .gz, .xz or .zst")
      ->required();
  add_log_options(command, options->log);
  command.add_option("--weeks", options->how.weeks, "of the new log; 0: as many as the log has")
      ->capture_default_str();
  command.add_option("--load", options->how.load,
                     "offered load, to 1 %, by more or fewer users; as many as there are");
  command
      .add_option("--long-term-weeks", options->how.long_term_weeks,
                  "users whose first and last jobs are so far apart stay for long")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_option("--seed", options->seed, "of the random numbers")->capture_default_str();
  command
      .add_option("--out", options->out,
                  "the log to write, NAME.swf; NAME.adaptive is written beside it")
      ->required();
  command.callback([options] { resample_log(*options); });
}

}  // namespace

void add_workload_command(CLI::App& app) {
  CLI::App& workload = *app.add_subcommand("workload", "look at workloads, make and change them");
  workload.require_subcommand(1);
  add_info(workload);
  add_generate(workload);
  add_transform(workload);
  add_resample(workload);
  add_convert(workload);
  add_fetch(workload);
  add_play(workload);
}

}  // namespace ductile
