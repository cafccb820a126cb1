#include "cli/submit.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/live_options.hpp"
#include "cli/qsub.hpp"
#include "cli/submit_to_slurm.hpp"
#include "cli/written_job.hpp"
#include "job/launcher.hpp"
#include "job/resource_limits.hpp"
#include "live/client.hpp"
#include "live/submission.hpp"
#include "model/fairness.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

/// Slurm's options that mean the same here, and those with a value.
constexpr std::array<std::pair<std::string_view, bool>, 44> kOfSlurm{{
    {"--min-nodes-invasic", true},  // paper 003
    {"--max-nodes-invasic", true},
    {"--node-constraints", true},
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
    {"-i", true},
    {"--input", true},
    {"-D", true},
    {"--chdir", true},
    {"--ntasks-per-node", true},
    {"-c", true},
    {"--cpus-per-task", true},
    {"--mem", true},
    {"--mem-per-cpu", true},
    {"-p", true},
    {"--partition", true},
    {"--gres", true},
    {"-w", true},
    {"--nodelist", true},
    {"-x", true},
    {"--exclude", true},
    {"--reservation", true},
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

struct SubmitOptions {
  WrittenJob written{};
  std::vector<std::string> resources{};
  std::vector<std::string> program{};
  LiveOptions live{};
};

void add_options(CLI::App& command, WrittenJob& w) {
  const auto add = [&](const char* names, auto& value, const char* what) {
    return command.add_option(names, value, what)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  add("-N,--nodes", w.nodes,
      "nodes at first, N; or MIN-MAX, which sets --min-nodes and --max-nodes; if not given, the "
      "fewest it can have, or 1");
  add("--type", w.type,
      "rigid, moldable, malleable, evolving or adaptive (both of these); rigid, or "
      "malleable where there is a range of nodes")
      ->check(CLI::IsMember({"rigid", "moldable", "malleable", "evolving", "adaptive"}));
  add("--min-nodes,--min-nodes-invasic", w.min, "fewest nodes of a job that is not rigid")
      ->check(CLI::Range(1U, 1U << 24));
  add("--max-nodes,--max-nodes-invasic", w.max, "most nodes of it")
      ->check(CLI::Range(1U, 1U << 24));
  add("-t,--time", w.time, "limit: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S");
  add("-J,--job-name", w.name, "name; that of the file if not given");
  add("-D,--chdir", w.folder, "folder in which it runs; this one if not given");
  add("-o,--output", w.output,
      "file for its output; %j is the job's number, %x its name, %A and %a the array's and the "
      "task's; ductile-%j.out, or ductile-%A_%a.out of a task, if not given");
  add("-e,--error", w.error, "file for its stderr; that of the output if not given");
  add("-i,--input", w.input,
      "file that it reads from its stdin, with the same %; it is empty if not given");
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
  add("--mem-per-cpu", w.memory_per_core,
      "instead of --mem, of each core that it has of a node: those that it asks for, or those of "
      "the "
      "node with the fewest");
  add("-C,--constraint", w.features, "what each of its nodes is, all of these features: ib,avx512");
  add("-q,--qos", w.qos, "quality of service, for the order multifactor");
  add("-p,--partition", w.partition, "any of these partitions: A,B; the first one if not given");
  add("--gres", w.things, "what each of its nodes has: gpu:2,fpga");
  add("-w,--nodelist", w.only, "only on these nodes: 0-3,7");
  add("-x,--exclude", w.never, "on none of these nodes");
  add("--reservation", w.reservation,
      "on the nodes of this reservation, while it lasts (`ductile reserve`)");
  add("--priority", w.priority, "higher goes first")->check(CLI::Range(-1'000'000, 1'000'000));
  add("-A,--account", w.account, "who pays for it: a name, for the rules of fairness");
  add("--model", w.model, "how its run time depends on its size: linear, amdahl:0.1, ...");
  add("--sizes", w.sizes, "sizes it can have: any, pof2, even, odd, cubic, multiple:4, list:1:2:6");
  add("--node-constraints", w.constraint,
      "the same, as paper 003 writes it: power-of-two, even, odd, cubic");
  add("--watts", w.watts,
      "what a node draws on which it computes, of the first class: W, or MIN-MAX until it is "
      "measured");
  add("-L,--malleability", w.malleability,
      "as qsub of paper 001: max=M,type=K, a malleable job of --nodes to M nodes");
  add("--mpi", w.mpi,
      "the MPI that the program is linked with; every process runs it, a script too")
      ->check(CLI::IsMember({"auto", "mpich", "openmpi", "none"}))
      ->capture_default_str();
  add("--kind", w.kind,
      "mpi: as --mpi says; threads: one program of one process, whose threads follow the cores of "
      "its nodes; script: a program that changes its size when it is told; restart: one that is "
      "stopped at a checkpoint and started again; charm: a program of Charm++")
      ->check(CLI::IsMember({"mpi", "threads", "script", "restart", "charm"}))
      ->capture_default_str();
  add_script_options(command, w.told);
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

/// `max=M,type=K`, as paper 001 has it: the job begins with the fewest nodes it can have.
void set_malleability(std::string_view list, Submission& s, std::string& type) {
  const auto wrong = [](std::string_view part) {
    return InputError({.field = "-L"},
                      "'" + std::string(part) + "' says nothing of a malleable job",
                      "write it like max=6,type=mpi");
  };
  if (s.min == 0) s.min = s.nodes;
  while (!list.empty()) {
    const std::string_view part = next_part(list, ',');
    std::string_view value = part;
    const std::string_view name = next_part(value, '=');
    if (name == "max") {
      const auto most = parse_number<Nodes>(value);
      if (!most || *most < s.nodes) throw wrong(part);
      s.max = *most;
    } else if (name == "type" && value == "charm++") {
      std::cerr << "ductile: type=charm++: only programs with libductile-app are resized"
                << std::endl;
    } else if (name == "type" && from_word<JobType>(kJobTypeWords, value)) {
      type = value;
    } else if (name != "type" || (value != "mpi" && !from_word<Mpi>(kMpiWords, value))) {
      throw wrong(part);
    }
  }
  if (s.max == 0) {
    throw InputError({.field = "-L"}, "it has no max", "write it like max=6,type=mpi");
  }
}

SizeConstraint node_constraint(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(c));
  });
  const bool is_power = text == "power-of-two" || text == "powers-of-two" || text == "power-of-2";
  return parse_constraint(is_power ? "pof2" : text, {.field = "--node-constraints"});
}

/// As the user calls it, who may have come by a link.
std::string present_folder() {
  namespace fs = std::filesystem;
  const char* const named = std::getenv("PWD");
  std::error_code error;
  const bool is_it = named != nullptr && *named == '/' && fs::equivalent(named, ".", error);
  return is_it ? named : fs::current_path().string();
}

/// The file of a program: one of this name in the present folder goes before those in PATH, as for
/// Slurm. Of a script nobody need be allowed to execute it.
std::string find_file(const std::string& name) {
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(name, error);
  if (is_file && (script_of(name) || access(name.c_str(), X_OK) == 0)) return name;
  return find_program(name);
}

/// How many nodes, and what kind of job.
void set_sizes(const WrittenJob& w, Submission& s) {
  const NodeRange nodes =
      parse_nodes(w.nodes.empty() ? std::to_string(std::max(w.min, 1U)) : w.nodes);
  s.nodes = nodes.first;
  s.min = w.min != 0 ? w.min : nodes.is_range ? nodes.first : 0;
  s.max = w.max != 0 ? w.max : nodes.is_range ? nodes.last : 0;
  std::string type = w.type;
  if (!w.malleability.empty()) set_malleability(w.malleability, s, type);
  s.type =
      !type.empty() ? *from_word<JobType>(kJobTypeWords, type)
      : s.min != 0 || s.max != 0 || w.kind == "script" || w.kind == "restart" || w.kind == "charm"
          ? JobType::malleable
          : JobType::rigid;
}

/// What a program, or a script, gets of this process.
Submission called_with(const std::vector<std::string>& words, const std::string& path,
                       std::optional<std::string> script, const std::string& mpi) {
  Submission s;
  s.program = words;
  if (mpi != "auto") {
    s.mpi = *from_word<Mpi>(kMpiWords, mpi);
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
  s.folder = s.called_in = present_folder();
  s.umask = umask(0);
  umask(*s.umask);
  s.limits = own_limits();
  for (char** entry = environ; *entry != nullptr; ++entry) s.environment.emplace_back(*entry);
  return s;
}

std::string path_of(const std::string& program) {
  return std::filesystem::absolute(find_file(program)).lexically_normal();
}

Submission submission_of(const WrittenJob& w, const std::vector<std::string>& words,
                         const std::string& path, std::optional<std::string> script) {
  // Whatever it is linked with.
  const JobKind kind = *from_word<JobKind>(kJobKindWords, w.kind);
  const bool is_none = has_own_method(kind) && w.mpi == "auto";
  Submission s = called_with(words, path, std::move(script), is_none ? "none" : w.mpi);
  s.kind = kind;
  s.told = script_settings(w.told, kind);
  s.name = w.name.empty() ? std::filesystem::path(path).filename().string() : w.name;
  set_sizes(w, s);
  if (!w.time.empty()) s.walltime = parse_limit(w.time);
  s.tasks_per_node = w.tasks_per_node;
  s.cores_per_process = w.cores_per_process;
  if (!w.memory.empty()) s.memory = parse_memory(w.memory);
  if (!w.memory_per_core.empty()) {
    s.memory_per_core = parse_memory(w.memory_per_core);
  }
  s.features = w.features;
  s.qos = w.qos;
  s.partition = w.partition;
  s.things = w.things;
  s.only = w.only;
  s.never = w.never;
  s.reservation = w.reservation;
  s.priority = w.priority;
  if (!w.account.empty()) s.account = account_name(w.account, {.field = "--account"});
  if (!w.model.empty()) s.model = parse_speedup(w.model, {.field = "--model"});
  if (!w.sizes.empty()) s.sizes = parse_constraint(w.sizes, {.field = "--sizes"});
  if (!w.constraint.empty()) s.sizes = node_constraint(w.constraint);
  if (!w.watts.empty()) {
    const WattRange watts = parse_watts(w.watts);
    s.least_watts = watts.least;
    s.watts = watts.most;
  }
  s.is_held = w.holds;
  s.is_requeued = w.requeues;
  if (!w.dependency.empty()) s.dependencies = parse_dependencies(w.dependency);
  if (!w.array.empty()) s.array = parse_array(w.array);
  if (!w.begin.empty()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    s.begin = parse_begin(w.begin, Time(std::chrono::duration_cast<Duration>(now)));
  }
  s.folder = (std::filesystem::path(s.called_in) / w.folder).lexically_normal();
  if (s.folder.size() > 1 && s.folder.back() == '/') s.folder.pop_back();
  s.output = !w.output.empty() ? w.output
             : s.array.empty() ? "ductile-%j.out"
                               : "ductile-%A_%a.out";
  s.error = w.error;
  s.input = w.input;
  return s;
}

/// What is written on the command line, as the words of options.
std::vector<std::string> words_of(const CLI::App& command, const CLI::App& known) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_single_name();
    if (option->count() == 0 || known.get_option_no_throw("--" + name) == nullptr) continue;
    const bool is_flag = option->get_type_size() == 0;
    const std::string value = is_flag ? "" : option->results().back();
    words.push_back("--" + name + (value.empty() ? "" : "=" + value));
    if (!is_flag && value.empty()) words.emplace_back();  // as no value counts what follows a =
  }
  return words;
}

bool has_partitions(const LiveOptions& live) {
  const Json answer = ask(live, {{"do", "nodes"}});
  return std::any_of(answer["nodes"].begin(), answer["nodes"].end(),
                     [](const Json& node) { return !node["partitions"].empty(); });
}

/// Of the lines of a script, if it is one, and the command line. The latter comes after the former,
/// and the last one counts. `ignored`: what of them means nothing to a controller.
WrittenJob written_in(const CLI::App& command, const SubmitOptions& options,
                      const std::string& path, const std::optional<std::string>& script,
                      std::vector<std::string>& ignored) {
  WrittenJob written{.file = path};
  CLI::App known;
  known.set_help_flag();
  add_options(known, written);
  std::vector<std::string> words;
  if (script) words = script_options(path, *script, ignored);
  const auto is_partition = [](const std::string& word) {
    return word == "-p" || word.starts_with("--partition");
  };
  if (std::ranges::any_of(words, is_partition) && !has_partitions(options.live)) {
    ignored.clear();
    words = script_options(path, *script, ignored, false);
  }
  for (const std::string& list : options.resources) {
    std::ranges::copy(options_of_resources(list, ignored), std::back_inserter(words));
  }
  std::ranges::copy(words_of(command, known), std::back_inserter(words));
  try {
    std::reverse(words.begin(), words.end());
    known.parse(words);
  } catch (const CLI::ParseError& error) {
    throw InputError({.file = path}, std::string("its lines of options: ") + error.what(),
                     "see `ductile submit --help`");
  }
  return written;
}

void submit(const SubmitOptions& options, const CLI::App& command) {
  const std::string path = path_of(options.program.front());
  std::optional<std::string> script = script_of(path);
  std::vector<std::string> ignored;
  const WrittenJob written = written_in(command, options, path, script, ignored);
  const Submission job = submission_of(written, options.program, path, std::move(script));
  const auto warn = [&] {
    for (const std::string& what : ignored) {
      std::cerr << "ductile: '" << what << "' means nothing here" << std::endl;
    }
  };
  Json request = {{"do", "submit"}, {"job", to_json(job)}, {"wait", written.waits}};
  if (!written.key.empty()) request["key"] = written.key;
  const auto print = [&](const Json& answer) {
    warn();
    std::cout << (options.live.json ? answer.dump()
                  : answer.value("known", false)
                      ? "job " + answer["job"].dump() + " was submitted before, with this key"
                      : "submitted job " + answer["job"].dump())
              << std::endl;
  };
  Json answer;
  try {
    answer = ask_controller(find_socket(options.live.socket), request, written.waits, print);
  } catch (const JobsComeBySbatch& slurm) {
    return submit_to_slurm(job, written, options.program, slurm.partition, options.live.json);
  } catch (...) {
    warn();
    throw;
  }
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

namespace {

/// The words of a line of options. Blanks within quotes belong to a word, wherever in it these
/// begin, and a word that begins with # begins a comment.
std::vector<std::string> words_of_line(std::string_view line, const Place& place) {
  std::vector<std::string> words;
  bool is_in_word = false;
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\r')) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word && c == '#') break;
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) {
    throw InputError(place, fmt::format("the quote {} is not closed", quote),
                     "close it, or put what has such a character in the other quotes");
  }
  return words;
}

/// The words of a #SBATCH line that mean the same here.
std::vector<std::string> options_of_sbatch(const std::vector<std::string>& words,
                                           std::vector<std::string>& ignored, bool has_partitions) {
  std::vector<std::string> options;
  const auto find = [has_partitions](std::string_view name) {
    if (!has_partitions && (name == "-p" || name == "--partition")) return kOfSlurm.end();
    return std::ranges::find(kOfSlurm, name, &std::pair<std::string_view, bool>::first);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const auto* known = find(name);
    const bool is_known = known != kOfSlurm.end();
    // `-N2`
    const auto* const glued = find(name.substr(0, 2));
    if (!is_known && glued != kOfSlurm.end() && glued->second) {
      options.push_back(words[i].substr(0, 2));
      options.push_back(words[i].substr(2));
      continue;
    }
    const bool has_value =
        words[i].size() == name.size() && i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (!is_known) {
      ignored.push_back("#SBATCH " + words[i] + (has_value ? " " + words[i + 1] : ""));
      i += has_value;
      continue;
    }
    options.push_back(words[i]);
    if (known->second && has_value) options.push_back(words[++i]);
  }
  return options;
}

}  // namespace

Submission called_here(std::string_view line, const std::string& field) {
  const std::vector<std::string> words = words_of_line(line, {.field = field});
  if (words.empty()) {
    throw InputError({.field = field}, "there is no program", "give one, and its arguments");
  }
  const std::string path = path_of(words.front());
  return called_with(words, path, script_of(path), "auto");
}

std::vector<std::string> script_options(const std::string& file, const std::string& script,
                                        std::vector<std::string>& ignored, bool has_partitions) {
  std::vector<std::string> options;
  std::istringstream lines(script);
  std::string line;
  bool is_begun = false;  // a command has come
  for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
    std::string_view rest = line;
    if (rest.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    is_begun |= rest.front() != '#';
    const std::string_view mark = rest.substr(0, rest.find_first_of(" \t"));
    if (mark.size() == rest.size()) continue;
    if (mark != "#DUCTILE" && mark != "#SBATCH" && mark != "#PBS") continue;
    if (is_begun) {
      rest = rest.substr(0, rest.find(" #", 1));
      rest = rest.substr(0, rest.find_last_not_of(" \t\r") + 1);
      ignored.push_back(fmt::format("{}: {}, after the first command,", number, rest));
      continue;
    }
    std::vector<std::string> words =
        words_of_line(rest.substr(mark.size()), {file, number, std::string(mark)});
    if (mark == "#DUCTILE" && (words.empty() || !words.front().starts_with('-'))) {
      throw InputError({file, number, "#DUCTILE"}, "no option follows",
                       "write it like #DUCTILE --nodes=4");
    }
    if (mark == "#PBS") {
      const std::size_t before = ignored.size();
      words = options_of_qsub(words, ignored);
      constexpr std::string_view kPartition = "--partition=";
      std::erase_if(words, [&](const std::string& word) {
        if (has_partitions || !word.starts_with(kPartition)) return false;
        ignored.push_back("-q " + word.substr(kPartition.size()));
        return true;
      });
      for (std::size_t i = before; i < ignored.size(); ++i) ignored[i].insert(0, "#PBS ");
    } else if (mark == "#SBATCH") {
      words = options_of_sbatch(words, ignored, has_partitions);
    }
    options.insert(options.end(), words.begin(), words.end());
  }
  return options;
}

void add_submit_command(CLI::App& app) {
  const auto options = std::make_shared<SubmitOptions>();
  CLI::App* command = app.add_subcommand(
      "submit", "Submit a job: a script with #DUCTILE lines, or a program of an MPI");
  command->add_option("PROGRAM", options->program, "the script or program and its arguments")
      ->required();
  command->positionals_at_end();
  add_options(*command, options->written);
  command
      ->add_option("-l", options->resources,
                   "as qsub: nodes=N:ppn=P,walltime=T, where a plain T is seconds")
      ->type_name("LIST")
      ->expected(1)
      ->take_all();
  add_live_options(*command, options->live, true);
  command->callback([options, command] { submit(*options, *command); });
}

}  // namespace ductile
