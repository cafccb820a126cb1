#include "cli/submit.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/live_options.hpp"
#include "job/launcher.hpp"
#include "live/client.hpp"
#include "live/submission.hpp"
#include "model/fairness.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

/// Slurm's options that mean the same here, and those with a value.
constexpr std::array<std::pair<std::string_view, bool>, 30> kOfSlurm{{
    {"-A", true},
    {"--account", true},
    {"-N", true},
    {"--nodes", true},
    {"-t", true},
    {"--time", true},
    {"-J", true},
    {"--job-name", true},
    {"-o", true},
    {"--output", true},
    {"-e", true},
    {"--error", true},
    {"-D", true},
    {"--chdir", true},
    {"--ntasks-per-node", true},
    {"-c", true},
    {"--cpus-per-task", true},
    {"--mem", true},
    {"--priority", true},
    {"-d", true},
    {"--dependency", true},
    {"-a", true},
    {"--array", true},
    {"-b", true},
    {"--begin", true},
    {"--requeue", false},
    {"-H", false},
    {"--hold", false},
    {"-W", false},
    {"--wait", false},
}};

/// What is written on the command line or in a script; both are parsed by the same options.
struct Written {
  std::string nodes = "1";
  std::string type{};
  Nodes min = 0, max = 0;
  std::string time{};
  std::string name{};
  std::string folder{};
  std::string output{};
  std::string error{};
  std::uint32_t tasks_per_node = 0;
  std::uint32_t cores_per_process = 0;
  std::string memory{};
  std::int32_t priority = 0;
  std::string account{};
  std::string model{}, sizes{};
  std::string mpi = "auto";
  std::string dependency{}, array{}, begin{};
  bool requeues = false;
  bool holds = false;
  bool waits = false;
  std::string key{};
};

struct Options {
  Written written{};
  std::vector<std::string> program{};
  LiveOptions live{};
};

void add_options(CLI::App& command, Written& w) {
  const auto add = [&](const char* names, auto& value, const char* what) {
    return command.add_option(names, value, what)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  add("-N,--nodes", w.nodes,
      "nodes at first, N; or MIN-MAX, which sets --min-nodes and --max-nodes")
      ->capture_default_str();
  add("--type", w.type,
      "rigid, moldable, malleable, evolving or adaptive (both of these); rigid, or "
      "malleable where there is a range of nodes")
      ->check(CLI::IsMember({"rigid", "moldable", "malleable", "evolving", "adaptive"}));
  add("--min-nodes", w.min, "fewest nodes of a job that is not rigid")
      ->check(CLI::Range(1U, 1U << 24));
  add("--max-nodes", w.max, "most nodes of it")->check(CLI::Range(1U, 1U << 24));
  add("-t,--time", w.time, "limit: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S");
  add("-J,--job-name", w.name, "name; that of the file if not given");
  add("-D,--chdir", w.folder, "folder in which it runs; this one if not given");
  add("-o,--output", w.output,
      "file for its output; %j is the job's number, %x its name, %A and %a the array's and the "
      "task's; ductile-%j.out, or ductile-%A_%a.out of a task, if not given");
  add("-e,--error", w.error, "file for its stderr; that of the output if not given");
  add("--ntasks-per-node", w.tasks_per_node,
      "processes of an MPI on each node; if not given, as many as its cores are for")
      ->check(CLI::Range(1U, 4096U));
  add("-c,--cpus-per-task", w.cores_per_process,
      "cores that each process keeps to, and its number of OpenMP threads; if not given, all of "
      "a node run where they like")
      ->check(CLI::Range(1U, 4096U));
  add("--mem", w.memory,
      "memory that it may have on each node: megabytes, or with K, M, G or T; what `serve` says if "
      "not given");
  add("--priority", w.priority, "higher goes first")->check(CLI::Range(-1'000'000, 1'000'000));
  add("-A,--account", w.account, "who pays for it: a name, for the rules of fairness");
  add("--model", w.model, "how its run time depends on its size: linear, amdahl:0.1, ...");
  add("--sizes", w.sizes, "sizes it can have: any, pof2, even, odd, cubic, multiple:4, list:1:2:6");
  add("--mpi", w.mpi,
      "the MPI that the program is linked with; every process runs it, a script too")
      ->check(CLI::IsMember({"auto", "mpich", "openmpi", "none"}))
      ->capture_default_str();
  add("-d,--dependency", w.dependency,
      "not before these jobs: afterok:1:2 succeeded, afternotok: failed, afterany: ended, after: "
      "began; several with commas between them");
  add("-a,--array", w.array,
      "once for each of these numbers: 0-9, 1,3,5-7, 0-15:4; %2: two at once");
  add("-b,--begin", w.begin, "not before: now+10, now+2hours, 16:00, 2030-12-31T16:00");
  command.add_flag("--requeue", w.requeues,
                   "let it wait again when a node of it, or its manager, is lost");
  command.add_flag("-H,--hold", w.holds, "not before `ductile release`");
  add("--key", w.key,
      "a name of this submission: sent again with the same one, it is not done again");
  command.add_flag("-W,--wait", w.waits, "wait for its end; the exit code is that of the job");
}

std::optional<std::string> script_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> first{};
  if (!file.read(first.data(), first.size()) || first != std::array<char, 2>{'#', '!'}) {
    return std::nullopt;
  }
  std::ostringstream text;
  text << "#!" << file.rdbuf();
  return text.str();
}

Submission submission_of(const Written& w, const std::vector<std::string>& words,
                         const std::string& path, std::optional<std::string> script) {
  Submission s;
  s.program = words;
  s.name = w.name.empty() ? std::filesystem::path(path).filename().string() : w.name;
  std::string_view rest = w.nodes;
  const auto first = parse_number<Nodes>(next_part(rest, '-'));
  const auto last = rest.empty() ? first : parse_number<Nodes>(rest);
  if (!first || !last || *first == 0 || *last < *first || w.nodes.back() == '-') {
    throw InputError({.field = "--nodes"}, "'" + w.nodes + "' is neither N nor MIN-MAX",
                     "write it like 4 or 2-8");
  }
  const bool is_range = w.nodes.find('-') != std::string::npos;
  s.nodes = *first;
  s.min = w.min != 0 ? w.min : is_range ? *first : 0;
  s.max = w.max != 0 ? w.max : is_range ? *last : 0;
  s.type = !w.type.empty()            ? *from_word<JobType>(kJobTypeWords, w.type)
           : s.min != 0 || s.max != 0 ? JobType::malleable
                                      : JobType::rigid;
  if (!w.time.empty()) s.walltime = parse_limit(w.time);
  s.tasks_per_node = w.tasks_per_node;
  s.cores_per_process = w.cores_per_process;
  if (!w.memory.empty()) s.memory = parse_memory(w.memory);
  s.priority = w.priority;
  if (!w.account.empty()) s.account = account_name(w.account, {.field = "--account"});
  if (!w.model.empty()) s.model = parse_speedup(w.model, {.field = "--model"});
  if (!w.sizes.empty()) s.sizes = parse_constraint(w.sizes, {.field = "--sizes"});
  s.is_held = w.holds;
  s.is_requeued = w.requeues;
  if (!w.dependency.empty()) s.dependencies = parse_dependencies(w.dependency);
  if (!w.array.empty()) s.array = parse_array(w.array);
  if (!w.begin.empty()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    s.begin = parse_begin(w.begin, Time(std::chrono::duration_cast<Duration>(now)));
  }
  if (w.mpi != "auto") {
    s.mpi = *from_word<Mpi>(kMpiWords, w.mpi);
  } else if (!script) {
    const auto found = mpi_of_program(path);
    if (!found) {
      throw InputError({.field = "--mpi"}, "it cannot be seen which MPI '" + path + "' uses",
                       "say --mpi mpich, openmpi or none");
    }
    s.mpi = *found;
  }
  if (script) {
    s.script = std::move(*script);
  } else {
    s.program.front() = path;
  }
  s.folder = std::filesystem::absolute(w.folder.empty() ? "." : w.folder).lexically_normal();
  s.output = !w.output.empty() ? w.output
             : s.array.empty() ? "ductile-%j.out"
                               : "ductile-%A_%a.out";
  s.error = w.error;
  for (char** entry = environ; *entry != nullptr; ++entry) s.environment.emplace_back(*entry);
  return s;
}

void submit(const Options& options, CLI::App& command) {
  const std::string path =
      std::filesystem::absolute(find_program(options.program.front())).lexically_normal();
  std::optional<std::string> script = script_of(path);
  Written written = options.written;
  if (script) {
    // The command line comes after the script, and the last one counts.
    std::vector<std::string> ignored;
    std::vector<std::string> words = script_options(path, *script, ignored);
    Written in_script;
    CLI::App lines;
    lines.set_help_flag();
    add_options(lines, in_script);
    for (const CLI::Option* option : command.get_options()) {
      const std::string name = option->get_single_name();
      if (option->count() == 0 || lines.get_option_no_throw("--" + name) == nullptr) continue;
      const bool is_flag = option->get_type_size() == 0;
      words.push_back(is_flag ? "--" + name
                              : fmt::format("--{}={}", name, option->results().back()));
    }
    try {
      std::reverse(words.begin(), words.end());
      lines.parse(words);
    } catch (const CLI::ParseError& error) {
      throw InputError({.file = path}, std::string("its #DUCTILE lines: ") + error.what(),
                       "see `ductile submit --help`");
    }
    written = in_script;
    for (const std::string& word : ignored) {
      std::cerr << "ductile: '#SBATCH " << word << "' means nothing here" << std::endl;
    }
  }
  const Submission job = submission_of(written, options.program, path, std::move(script));
  Json request = {{"do", "submit"}, {"job", to_json(job)}, {"wait", written.waits}};
  if (!written.key.empty()) request["key"] = written.key;
  const auto print = [&](const Json& answer) {
    std::cout << (options.live.json ? answer.dump()
                  : answer.value("known", false)
                      ? "job " + answer["job"].dump() + " was submitted before, with this key"
                      : "submitted job " + answer["job"].dump())
              << std::endl;
  };
  const Json answer =
      ask_controller(find_socket(options.live.socket), request, written.waits, print);
  if (!written.waits) return print(answer);
  if (options.live.json) std::cout << answer.dump() << std::endl;
  const std::string state = answer.value("state", std::string());
  const std::string note = answer.value("note", std::string());
  if (state == "COMPLETED" && note.empty()) return;
  const Json code = answer.value("exit_code", Json());
  std::cerr << fmt::format("ductile: job {}: {}{}\n", answer["job"].dump(), state,
                           note.empty() ? "" : ": " + note);
  if (state == "COMPLETED") return;
  const int exit_code = code.is_number_integer() ? code.get<int>() : 1;
  throw CLI::RuntimeError(exit_code == 0 ? 1 : exit_code);
}

}  // namespace

std::vector<std::string> script_options(const std::string& file, const std::string& script,
                                        std::vector<std::string>& ignored) {
  std::vector<std::string> options;
  std::istringstream lines(script);
  std::string line;
  for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
    std::string_view rest = line;
    if (rest.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (rest.front() != '#') break;
    const bool is_ours = rest.starts_with("#DUCTILE ");
    if (!is_ours && !rest.starts_with("#SBATCH ")) continue;
    // A comment may follow.
    rest = rest.substr(0, rest.find(" #", 1));
    std::vector<std::string> words;
    for (const auto& word : CLI::detail::split_up(std::string(rest.substr(rest.find(' '))))) {
      words.push_back(word);
    }
    if (is_ours) {
      if (words.empty() || words.front().front() != '-') {
        throw InputError({file, number, "#DUCTILE"}, "no option follows",
                         "write it like #DUCTILE --nodes=4");
      }
      options.insert(options.end(), words.begin(), words.end());
      continue;
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string name = words[i].substr(0, words[i].find('='));
      const auto* known =
          std::ranges::find(kOfSlurm, name, &std::pair<std::string_view, bool>::first);
      const bool has_value =
          words[i].size() == name.size() && i + 1 < words.size() && words[i + 1].front() != '-';
      if (known == kOfSlurm.end()) {
        ignored.push_back(words[i]);
        if (has_value) ++i;
        continue;
      }
      options.push_back(words[i]);
      if (known->second && has_value) options.push_back(words[++i]);
    }
  }
  return options;
}

void add_submit_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "submit", "Submit a job: a script with #DUCTILE lines, or a program of an MPI");
  command->add_option("PROGRAM", options->program, "the script or program and its arguments")
      ->required();
  command->positionals_at_end();
  add_options(*command, options->written);
  add_live_options(*command, options->live, true);
  command->callback([options, command] { submit(*options, *command); });
}

}  // namespace ductile
