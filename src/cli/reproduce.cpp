#include "cli/reproduce.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/number_range.hpp"
#include "cli/run_identity.hpp"
#include "cli/simulate.hpp"
#include "experiment/experiment_file.hpp"
#include "experiment/factorial.hpp"
#include "experiment/paper_figure.hpp"
#include "experiment/reproduction.hpp"
#include "experiment/targets_file.hpp"
#include "report/output_file.hpp"
#include "simulation/checksum.hpp"
#include "workload/compressed_file.hpp"
#include "workload/generate.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

struct ReproduceOptions {
  std::string paper, target, logs, experiments, out, runs = "reproduction-runs";
  unsigned threads = 1;
  bool full = false, check = false, summary = false, quiet = false;
};

constexpr std::array<std::string_view, 5> kPapers{"000", "001", "002", "003", "004"};
constexpr std::string_view kAblation = "ablation";  // no paper: an experiment of ours

// Where the experiments are: in the sources, from their root or of a program built there; or where
// they are installed with it.
std::string experiments_folder(const std::string& given) {
  if (!given.empty()) return given;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {fs::path("experiments"), program / "../../experiments",
                                 program / "../share/ductile/experiments"}) {
    if (fs::exists(folder / "targets", error)) return folder.lexically_normal().string();
  }
  throw InputError({.field = "--experiments"}, "the folder of the experiments is not found",
                   "give it, or call from the root of the sources");
}

// The pages that belong to the experiments, if these are in the sources; else a folder here.
std::string pages_folder(const std::string& given, const std::string& experiments) {
  if (!given.empty()) return given;
  const fs::path docs = fs::absolute(experiments).lexically_normal().parent_path() / "docs";
  std::error_code error;
  return fs::is_directory(docs, error)
             ? (docs / "reproduction").lexically_relative(fs::current_path()).string()
             : "reproduction";
}

// The sum of what a file unpacks to.
std::string sum_of_text(const std::string& path) {
  CompressedFile file = CompressedFile::open(path);
  std::vector<char> piece(std::size_t{1} << 20);
  Checksum sum;
  while (const std::size_t size = file.read(piece.data(), piece.size())) {
    sum.add(piece.data(), size);
  }
  return sum.text();
}

// Of all that a page depends on besides the program and the logs: these files, and what the
// experiments among them name that lies beside them, as a corridor.
std::string sum_of(const std::vector<fs::path>& files, const std::vector<fs::path>& experiments) {
  std::set<fs::path> beside;
  for (const fs::path& file : experiments) {
    const Experiment its = read_experiment(file.string());
    for (const Variant& variant : its.variants) {
      for (const OptionSetting& option : options_of(its, variant)) {
        if (option.name == "trace") continue;  // logs have sums of their own
        for (const std::string& value : option.values) {
          const fs::path path = file.parent_path() / value;
          std::error_code error;
          if (!value.empty() && fs::is_regular_file(path, error)) beside.insert(path);
        }
      }
    }
  }
  Checksum sum;
  for (const fs::path& path : files) sum.add(read_content(path.string())->crc64);
  for (const fs::path& path : beside) sum.add(read_content(path.string())->crc64);
  return sum.text();
}

std::string sum_of_inputs(const PaperTargets& paper, const std::string& experiments) {
  std::vector<fs::path> files{paper.file}, of;
  for (const PaperExperiment& each : paper.experiments) {
    of.push_back(fs::path(experiments) / each.file);
  }
  files.insert(files.end(), of.begin(), of.end());
  return sum_of(files, of);
}

// Writes a log made by a model to a folder of such ones, under the name of the one that it stands
// in for.
void make_stand_in(const PaperLog& log, const fs::path& folder, const std::string& targets) {
  const Place place{targets, log.line, "stand_in"};
  try {
    const ModelChoice choice = parse_model(log.stand_in, {}, {});
    const Workload workload = choice.generate(1);
    SwfHeader header;
    header.version = "2.2";
    header.max_jobs = static_cast<std::int64_t>(workload.jobs.size());
    header.max_nodes = header.max_procs = static_cast<std::int64_t>(choice.number("nodes"));
    make_folder(folder, "--runs");
    std::ofstream file(folder / log.file);
    write_swf(file, workload, header);
    if (!file.flush()) throw RunError((folder / log.file).string() + ": cannot be written");
  } catch (const InputError& error) {
    throw InputError(place, error.what(), "");
  }
}

// Finds the logs of a paper, or makes what stands in for them; what was read instead of what.
std::vector<PageInputs::Log> find_logs(const PaperTargets& paper, const std::string& experiments,
                                       const fs::path& stand_ins) {
  std::vector<PageInputs::Log> found;
  for (const PaperLog& log : paper.logs) {
    std::error_code error;
    const fs::path beside = fs::path(experiments) / log.file;
    const std::string path = fs::exists(beside, error) ? beside.string() : found_input(log.file);
    if (fs::exists(path, error)) {
      if (const std::string sum = sum_of_text(path); sum != log.crc64) {
        throw InputError(
            {paper.file, log.line, "crc64"},
            fmt::format("{} is another log: its text has the sum {}, not {}", path, sum, log.crc64),
            "give the folder of the right one with --logs");
      }
      found.push_back(
          {log.file, fmt::format("{}; its text has the CRC-64 {}", log.about, log.crc64)});
      continue;
    }
    if (log.stand_in.empty()) {
      throw InputError({paper.file, log.line, "log"},
                       log.file + " is not there, and nothing can stand in for it",
                       "give its folder with --logs or in $DUCTILE_TRACES");
    }
    make_stand_in(log, stand_ins, paper.file);
    found.push_back(
        {.file = log.file,
         .what = fmt::format("**was not there; the model `{}`, seed 1, stood in for it. "
                             "What it was read for is not comparable.** {}",
                             log.stand_in, log.about),
         .is_stand_in = true});
  }
  return found;
}

// What the page says of its inputs; empty: there is none.
std::string sum_on_page(const fs::path& page) {
  std::ifstream file(page);
  std::string line;
  std::getline(file, line);
  constexpr std::string_view kMark = "; inputs ";
  const std::size_t at = line.find(kMark);
  return at == std::string::npos ? "" : line.substr(at + kMark.size(), 16);
}

// What is wanted of the experiments of a paper: all; or what its targets need; or what one of them
// needs as it is chosen, without the other sides.
std::function<bool(const Statement&)> wanted(const PaperTargets& paper,
                                             const ReproduceOptions& options) {
  if (options.full && options.target.empty()) return {};
  std::set<std::string> ids;
  for (const Target& target : paper.targets) {
    if (!options.target.empty() && target.id != options.target) continue;
    for (const std::string& id : target.ids()) ids.insert(id);
  }
  const bool with_sides = options.target.empty();
  return [ids, with_sides](const Statement& statement) {
    return ids.contains(statement.id) && (with_sides || statement.side.empty());
  };
}

void keep_target(PaperTargets& paper, const std::string& id) {
  std::vector<std::string> known;
  for (const Target& target : paper.targets) known.push_back(target.id);
  std::erase_if(paper.targets, [&](const Target& target) { return target.id != id; });
  if (paper.targets.empty()) {
    throw InputError({.field = "--target"}, fmt::format("there is no target '{}'", printable(id)),
                     "give one of " + listed(known));
  }
  paper.figures.clear();
  paper.open.clear();
}

void reproduce_paper(const std::string& name, const ReproduceOptions& options,
                     const std::string& experiments, const fs::path& pages,
                     const Registry& registry) {
  PaperTargets paper =
      read_targets((fs::path(experiments) / "targets" / (name + ".toml")).string(), experiments);
  PageInputs inputs{
      .paper = name,
      .command = fmt::format("ductile reproduce {}{}{}", name, options.full ? " --full" : "",
                             options.target.empty() ? "" : " --target '" + options.target + "'"),
      .sum = sum_of_inputs(paper, experiments),
      .is_full = options.full,
      .logs = find_logs(paper, experiments, fs::path(options.runs) / "stand-ins")};
  const bool is_whole = options.target.empty();
  fs::path runs = fs::path(options.runs) / name;
  if (!is_whole) {
    keep_target(paper, options.target);
    runs /= "target-" + folder_names({options.target}).front();  // it has fewer than the page
  }
  std::vector<Reproduced> all;
  for (const PaperExperiment& its : paper.experiments) {
    if (!options.quiet) std::cerr << fmt::format("ductile: {}: {}\n", name, its.file);
    const fs::path folder = runs / fs::path(its.file).stem();
    std::vector<std::string> texts{"--out=" + folder.string(),
                                   fmt::format("--threads={}", options.threads)};
    if (!options.full && !its.seeds.empty()) texts.push_back("--seeds=" + its.seeds);
    if (options.quiet) texts.emplace_back("--quiet");
    all.push_back(simulate_for_page((fs::path(experiments) / its.file).string(), texts, registry,
                                    wanted(paper, options)));
  }
  const std::string page = reproduction_page(paper, all, inputs);
  if (is_whole) {
    // A page of other jobs than the paper's stands beside the one of these, and not in its place.
    const bool is_of_logs = std::ranges::none_of(inputs.logs, &PageInputs::Log::is_stand_in);
    const std::string stem = name + (is_of_logs ? "" : "-stand-in");
    make_folder(pages);
    write_file(pages / (stem + ".csv"), reproduction_csv(paper, all));
    write_file(pages / (stem + ".verdicts.csv"), verdicts_csv(paper, all, inputs));
    for (const PaperFigure& figure : paper.figures) {
      const auto of =
          std::ranges::find(paper.experiments, figure.experiment, &PaperExperiment::file);
      if (of == paper.experiments.end() || !is_of_logs) continue;
      const auto number = static_cast<std::size_t>(of - paper.experiments.begin());
      write_file(pages / name_of_drawing(name, figure), draw_figure(figure, all[number]));
    }
    write_file(pages / (stem + ".md"), page);
    if (!is_of_logs && !options.quiet) {
      std::cerr << fmt::format("ductile: {}: a log was not there: the page is {}\n", name,
                               (pages / (stem + ".md")).string());
    }
  }
  std::cout << page << std::flush;
}

fs::path ablation_file(const std::string& experiments) {
  return fs::path(experiments) / (std::string(kAblation) + ".toml");
}

std::string ablation_sum(const std::string& experiments) {
  return sum_of({ablation_file(experiments)}, {ablation_file(experiments)});
}

void reproduce_ablation(const ReproduceOptions& options, const std::string& experiments,
                        const fs::path& pages, const Registry& registry) {
  const std::string file = ablation_file(experiments).string();
  std::vector<std::string> texts{
      "--out=" + (fs::path(options.runs) / std::string(kAblation)).string(),
      fmt::format("--threads={}", options.threads)};
  if (options.quiet) texts.emplace_back("--quiet");
  if (!read_experiment(file).factorial) {
    throw InputError({.file = file}, "has no factors", "write [factorial] and [[factor]]");
  }
  const Reproduced its = simulate_for_page(file, texts, registry);
  const FactorialPage page = factorial_page(
      its.experiment,
      [&](const RunsOf& runs) { return std::span<const Summary>(its.runs.at(runs)); },
      fmt::format("ductile reproduce {}", kAblation), ablation_sum(experiments));
  make_folder(pages);
  write_file(pages / (std::string(kAblation) + ".csv"), page.csv);
  write_file(pages / (std::string(kAblation) + ".md"), page.markdown);
  std::cout << page.markdown << std::flush;
}

// ---- The verdicts of all papers, in one table, and where it stands among pages ----

constexpr std::string_view kSummaryBegin =
    "<!-- what `ductile reproduce all --summary` writes: change the targets, not this table -->\n";
constexpr std::string_view kSummaryEnd = "<!-- the end of what it writes -->\n";

std::string summary_of(const std::vector<std::string>& papers, const fs::path& pages) {
  std::vector<PaperVerdicts> all;
  for (const std::string& paper : papers) {
    const fs::path csv = pages / (paper + ".verdicts.csv");
    if (fs::exists(csv)) all.push_back({paper, csv});
  }
  if (all.empty()) {
    throw InputError({.file = pages.string()}, "has no verdicts",
                     "make pages with 'ductile reproduce PAPER'");
  }
  return verdicts_table(all);
}

struct SummaryPlace {
  std::string before, now, behind;
};
std::optional<SummaryPlace> summary_place(const fs::path& readme) {
  std::ifstream file(readme);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = text.find(kSummaryBegin);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t from = begin + kSummaryBegin.size(), end = text.find(kSummaryEnd, from);
  if (end == std::string::npos) return std::nullopt;
  return SummaryPlace{text.substr(0, from), text.substr(from, end - from), text.substr(end)};
}

void print_summary(const std::vector<std::string>& papers, const fs::path& pages) {
  const std::string table = summary_of(papers, pages);
  const fs::path readme = pages / "README.md";
  if (const auto place = summary_place(readme); place && papers.size() == kPapers.size()) {
    write_file(readme, place->before + "\n" + table + "\n" + place->behind);
  }
  std::cout << table << std::flush;
}

bool is_summary_new(const std::vector<std::string>& papers, const fs::path& pages) {
  const auto place = summary_place(pages / "README.md");
  if (!place) return true;  // there is none
  const bool is_new = place->now == "\n" + summary_of(papers, pages) + "\n";
  std::cout << fmt::format("{}: {}\n", (pages / "README.md").string(),
                           is_new ? "is of these pages"
                                  : "is older than the pages: make it again with 'ductile "
                                    "reproduce all --summary'");
  return is_new;
}

bool is_page_new(const std::string& name, const std::string& experiments, const fs::path& pages) {
  const fs::path page = pages / (name + ".md");
  const auto of_paper = [&] {
    const fs::path file = fs::path(experiments) / "targets" / (name + ".toml");
    return sum_of_inputs(read_targets(file.string(), experiments), experiments);
  };
  const std::string said = sum_on_page(page),
                    now = name == kAblation ? ablation_sum(experiments) : of_paper();
  std::cout << fmt::format("{}: {}\n", page.string(),
                           said == now ? "is of these experiments and targets"
                           : said.empty()
                               ? "is not there"
                               : "is older than its experiments or targets: make it again "
                                 "with 'ductile reproduce " +
                                     name + "'");
  return said == now;
}

void reproduce(const ReproduceOptions& options, const Registry& registry) {
  std::vector<std::string> papers;
  for (const std::string_view each : kPapers) {
    if (options.paper == "all" || options.paper == each) papers.emplace_back(each);
  }
  const bool is_ablation = options.paper == kAblation;
  if (papers.empty() && !is_ablation) {
    throw InputError({.field = "paper"}, fmt::format("'{}' is none", printable(options.paper)),
                     "give " + listed(kPapers) + ", all or " + std::string(kAblation));
  }
  if (!options.target.empty() && papers.size() != 1) {
    throw InputError({.field = "--target"}, "is of one paper", "name the paper, as 001");
  }
  const std::string experiments = experiments_folder(options.experiments);
  const fs::path pages = pages_folder(options.out, experiments);
  if (options.check) {
    bool are_all_new = true;
    for (const std::string& each : papers) {
      are_all_new = is_page_new(each, experiments, pages) && are_all_new;
    }
    if (is_ablation) are_all_new = is_page_new(options.paper, experiments, pages);
    if (options.paper == "all") are_all_new = is_summary_new(papers, pages) && are_all_new;
    if (!are_all_new) throw CLI::RuntimeError(1);
    return;
  }
  if (options.summary) {
    print_summary(papers, pages);
    return;
  }
  std::error_code error;
  if (!options.logs.empty() && !fs::is_directory(options.logs, error)) {
    throw InputError({.field = "--logs"}, options.logs + " is no folder", "give that of the logs");
  }
  // The experiments look for their logs there: first of all, and last for what stands in for one.
  std::string folders = options.logs;
  for (const std::string& each : traces_folders()) folders += (folders.empty() ? "" : ":") + each;
  folders += (folders.empty() ? "" : ":") + (fs::path(options.runs) / "stand-ins").string();
  setenv("DUCTILE_TRACES", folders.c_str(),
         1);  // NOLINT(concurrency-mt-unsafe): no other thread yet
  for (const std::string& each : papers) {
    fs::remove_all(fs::path(options.runs) / "stand-ins", error);
    reproduce_paper(each, options, experiments, pages, registry);
  }
  if (is_ablation) reproduce_ablation(options, experiments, pages, registry);
}

}  // namespace

void add_reproduce_command(CLI::App& app, const Registry& registry) {
  CLI::App& command = *app.add_subcommand(
      "reproduce", "run the experiments of a paper, and write what it says beside what comes out");
  const auto options = std::make_shared<ReproduceOptions>();
  command.add_option("paper", options->paper, "000, 001, 002, 003, 004, all of these, or ablation")
      ->required();
  command.add_flag("--full", options->full,
                   "all runs and seeds of the experiments, not only what the targets need");
  command
      .add_option("--target", options->target,
                  "this one alone, by its number: it is run and printed, and nothing is written")
      ->type_name("ID");
  command
      .add_option("--out", options->out,
                  "the folder of the pages, NNN.md, NNN.csv and NNN.verdicts.csv "
                  "[docs/reproduction of the sources; "
                  "where there are none, reproduction]")
      ->type_name("DIR");
  command
      .add_option("--runs", options->runs,
                  "where results are kept, so that the same call goes on where it was interrupted")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--logs", options->logs,
                  "where the logs are, besides the folders of $DUCTILE_TRACES")
      ->type_name("DIR");
  command
      .add_option("--experiments", options->experiments,
                  "the folder of the experiments [that of the sources, or beside the program]")
      ->type_name("DIR");
  command.add_option("--threads", options->threads, "runs at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_flag("--check", options->check,
                   "run nothing; are the pages of the experiments and targets as they are now?");
  command.add_flag("--summary", options->summary,
                   "run nothing; print the verdicts of the pages in one table, and with all write "
                   "it into the README.md of their folder");
  command.add_flag("--quiet", options->quiet, "no progress line and no remarks");
  command.callback([options, &registry] { reproduce(*options, registry); });
}

}  // namespace ductile
