#include "cli/reproduce.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/number_range.hpp"
#include "cli/run_identity.hpp"
#include "cli/simulate.hpp"
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
  std::string paper, logs, experiments, out, runs = "reproduction-runs";
  unsigned threads = 1;
  bool full = false, check = false, quiet = false;
};

constexpr std::array<std::string_view, 5> kPapers{"000", "001", "002", "003", "004"};

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

// Of all that the page depends on besides the program and the logs.
std::string sum_of_inputs(const PaperTargets& paper, const std::string& experiments) {
  Checksum sum;
  std::vector<fs::path> files{paper.file};
  for (const PaperExperiment& each : paper.experiments) {
    files.push_back(fs::path(experiments) / each.file);
  }
  for (const fs::path& path : files) sum.add(read_content(path.string())->crc64);
  return sum.text();
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
        {log.file, fmt::format("**was not there; the model `{}`, seed 1, stood in for it. No "
                               "number of this page says anything about the paper.** {}",
                               log.stand_in, log.about)});
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

void reproduce_paper(const std::string& name, const ReproduceOptions& options,
                     const std::string& experiments, const fs::path& pages,
                     const Registry& registry) {
  const PaperTargets paper =
      read_targets((fs::path(experiments) / "targets" / (name + ".toml")).string(), experiments);
  PageInputs inputs{
      .paper = name,
      .command = fmt::format("ductile reproduce {}{}", name, options.full ? " --full" : ""),
      .sum = sum_of_inputs(paper, experiments),
      .is_full = options.full,
      .logs = find_logs(paper, experiments, fs::path(options.runs) / "stand-ins")};
  std::vector<Reproduced> all;
  for (const PaperExperiment& its : paper.experiments) {
    if (!options.quiet) std::cerr << fmt::format("ductile: {}: {}\n", name, its.file);
    const fs::path folder = fs::path(options.runs) / name / fs::path(its.file).stem();
    std::vector<std::string> texts{"--out=" + folder.string(),
                                   fmt::format("--threads={}", options.threads)};
    if (!options.full && !its.seeds.empty()) texts.push_back("--seeds=" + its.seeds);
    if (options.quiet) texts.emplace_back("--quiet");
    all.push_back(simulate_for_page((fs::path(experiments) / its.file).string(), texts, registry));
  }
  const std::string page = reproduction_page(paper, all, inputs);
  make_folder(pages);
  write_file(pages / (name + ".csv"), reproduction_csv(paper, all));
  write_file(pages / (name + ".md"), page);
  std::cout << page << std::flush;
}

bool is_page_new(const std::string& name, const std::string& experiments, const fs::path& pages) {
  const PaperTargets paper =
      read_targets((fs::path(experiments) / "targets" / (name + ".toml")).string(), experiments);
  const fs::path page = pages / (name + ".md");
  const std::string said = sum_on_page(page), now = sum_of_inputs(paper, experiments);
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
  if (papers.empty()) {
    throw InputError({.field = "paper"}, fmt::format("'{}' is none", printable(options.paper)),
                     "give " + listed(kPapers) + " or all");
  }
  const std::string experiments = experiments_folder(options.experiments);
  const fs::path pages = pages_folder(options.out, experiments);
  if (options.check) {
    bool are_all_new = true;
    for (const std::string& each : papers) {
      are_all_new = is_page_new(each, experiments, pages) && are_all_new;
    }
    if (!are_all_new) throw CLI::RuntimeError(1);
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
}

}  // namespace

void add_reproduce_command(CLI::App& app, const Registry& registry) {
  CLI::App& command = *app.add_subcommand(
      "reproduce", "run the experiments of a paper, and write what it says beside what comes out");
  const auto options = std::make_shared<ReproduceOptions>();
  command.add_option("paper", options->paper, "000, 001, 002, 003, 004 or all")->required();
  command.add_flag("--full", options->full, "all seeds of the experiments, not only some");
  command
      .add_option("--out", options->out,
                  "the folder of the pages, NNN.md and NNN.csv [docs/reproduction of the sources; "
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
  command.add_flag("--quiet", options->quiet, "no progress line and no remarks");
  command.callback([options, &registry] { reproduce(*options, registry); });
}

}  // namespace ductile
