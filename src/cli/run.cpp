#include "cli/run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/node_set.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/number_range.hpp"
#include "cli/output_difference.hpp"
#include "cli/script_options.hpp"
#include "cli/shared_input.hpp"
#include "job/allocation.hpp"
#include "job/charm_method.hpp"
#include "job/report_file.hpp"
#include "job/script_channel.hpp"
#include "job/step.hpp"
#include "job/threads_method.hpp"

namespace ductile {
namespace {

constexpr std::array<std::string_view, 3> kEvolvingWords = {"grant", "deny", "ask"};

struct RunOptions {
  RunSettings settings{};
  std::string kind = "mpi";
  const CLI::Option* processes = nullptr;
  const CLI::Option* probe_limit_given = nullptr;
  const CLI::Option* evolving_given = nullptr;
  const CLI::Option* launcher_given = nullptr;
  const CLI::Option* listen_given = nullptr;
  std::string controller{};
  std::string mpi = "auto";
  std::string launcher = "mpiexec";
  std::uint32_t max = 0;
  std::string hosts{};
  std::string cpus{};
  std::string log{};
  std::string script{};
  ScriptOptions told{};
  std::uint32_t torture = 0;
  std::uint64_t seed = 1;
  bool compares = true;
  double tolerance = 0;
  std::string ignored{};
  double start_limit = 120;
  double probe_limit = 600;
  double hand_over_limit = 300;
  double leave_limit = 0;
  std::string evolving = "grant";
  double patience = 10;
  double measure = 0;
  double power = 0;
  std::string nodes{};
  int verbosity = 0;
};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

void set_up_log(int verbosity, const std::string& file) {
  spdlog::sink_ptr sink;
  spdlog::file_event_handlers handlers;
  handlers.after_open = [](const spdlog::filename_t&, std::FILE* opened) {
    fcntl(fileno(opened), F_SETFD, FD_CLOEXEC);  // it is not the program's
  };
  try {
    if (!file.empty()) {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file, false, handlers);
    }
  } catch (const spdlog::spdlog_ex&) {
    throw InputError({.field = "--log"}, "'" + file + "' cannot be written", "choose another file");
  }
  if (!sink) sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto log = std::make_shared<spdlog::logger>("run", std::move(sink));
  log->set_pattern("ductile: %v");
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::warn, spdlog::level::info,
                                                   spdlog::level::debug, spdlog::level::trace};
  log->set_level(kLevels[std::min(verbosity, 3)]);
  log->flush_on(spdlog::level::trace);
  log->set_error_handler([](const std::string&) {});  // a full disk; stderr is the job's
  spdlog::set_default_logger(std::move(log));
}

Mpi choose_mpi(const RunOptions& options, const RunSettings& settings) {
  const std::string& program = settings.launcher.program.front();
  const std::optional<Mpi> found = mpi_of_program(program);
  if (has_own_method(settings.kind)) {
    if (options.mpi != "auto" && options.mpi != "none") {
      throw InputError({.field = "--mpi"},
                       "programs of --kind " + options.kind + " are started without an MPI",
                       "drop it, or say --kind mpi");
    }
    const bool is_of_this_host =
        settings.kind == JobKind::threads || settings.kind == JobKind::charm;
    if (!options.hosts.empty() && is_of_this_host) {
      throw InputError({.field = "--hosts"},
                       "programs of --kind " + options.kind + " are started on this host",
                       "drop it, or say --kind mpi");
    }
    return Mpi::none;
  }
  if (options.mpi != "auto") {
    const Mpi said = *from_word<Mpi>(kMpiWords, options.mpi);
    if (said != Mpi::none && found.value_or(Mpi::none) != Mpi::none && said != *found) {
      throw InputError(
          fmt::format("'{}' is not linked with {}", program, options.mpi),
          fmt::format("use ductile run --mpi {}", kMpiWords[static_cast<std::size_t>(*found)]));
    }
    return said;
  }
  if (!found) {
    throw InputError("it cannot be seen which MPI '" + program + "' uses",
                     "say --mpi mpich, openmpi or none");
  }
  if (*found == Mpi::none && settings.kind == JobKind::mpi) {
    throw InputError("'" + program + "' is not linked with an MPI",
                     "say --mpi mpich or openmpi if it uses one, or --kind rigid");
  }
  return *found;
}

/// Resizes to random sizes, each soon after the one before.
std::vector<PlannedResize> torture(const RunOptions& options, const RunSettings& settings) {
  if (settings.min == settings.max) {
    throw InputError("--torture has no size to choose", "give --min and --max");
  }
  Draws draws(options.seed, Stream::test, 0);
  std::vector<PlannedResize> plan;
  std::uint32_t size = settings.size;
  for (std::uint32_t i = 0; i < options.torture; ++i) {
    // Every size but the present one.
    const auto step = static_cast<std::uint32_t>(draws.below(settings.max - settings.min));
    const std::uint32_t next = settings.min + step;
    size = next < size ? next : next + 1;
    plan.push_back(
        {.time = milliseconds(draws.uniform(0, 0.3)), .size = size, .after_previous = true});
  }
  return plan;
}

/// Who has the nodes decides; what the command line says otherwise does not count.
void tell_what_a_step_has(const RunOptions& options, const RunSettings& given,
                          const RunSettings& step) {
  std::vector<std::string> others;
  const auto compare = [&](bool is_given, std::string_view name, auto said, auto is) {
    if (is_given && said != is) others.push_back(fmt::format("{} is {}, not {}", name, is, said));
  };
  compare(options.processes->count() > 0, "-n", given.size, step.size);
  compare(options.max != 0, "--max", given.max, step.max);
  compare(!options.cpus.empty(), "--cpus", to_string(given.cpus), to_string(step.cpus));
  compare(given.launcher.cores > 0, "--cores-per-process", given.launcher.cores,
          step.launcher.cores);
  compare(options.evolving_given->count() > 0, "--evolving", options.evolving,
          std::string(kEvolvingWords[static_cast<std::size_t>(step.evolving)]));
  if (others.empty()) return;
  spdlog::warn("this is a step of a {}, and has what the job has: {}",
               step.in_job ? "job that a controller resizes" : "script", fmt::join(others, ", "));
}

/// The job of Slurm's in which this runs, if a controller has it; none if the user has said where
/// and when it has which size.
std::optional<InJob> job_of(const RunOptions& options) {
  const char* const variable = std::getenv(kControllerVariable);
  std::string controller = options.controller;
  if (controller.empty() && variable != nullptr) controller = variable;
  const bool is_for_itself = options.kind == "steps" || !options.hosts.empty() ||
                             !options.script.empty() || options.torture > 0 ||
                             std::getenv(kStepsVariable) != nullptr;
  const auto job = slurm_job();
  if (controller.empty() || controller == "none" || is_for_itself || !job) return std::nullopt;
  return InJob{*job, controller};
}

/// Gets sizes and places from the controller; where that is not there, from the allocation.
void join_or_go_alone(const RunOptions& options, RunSettings& settings) {
  const RunSettings given = settings;
  const std::string why_not = join_job(settings);
  const bool is_srun = settings.launcher.starter == Starter::srun;
  if (is_srun && settings.launcher.hosts.empty()) {
    settings.launcher.hosts = hosts_of_allocation(settings.launcher.cores);
  }
  if (why_not.empty()) {
    const bool has_own_size = settings.is_rigid && options.processes->count() > 0;
    if (has_own_size) settings.size = given.size;
    tell_what_a_step_has(options, given, settings);
  } else {
    const std::uint32_t slots = slots_of(settings.launcher.hosts);
    if (options.processes->count() == 0 && slots > 0) settings.size = slots;
    // It orders what there is, once it is there.
    if (options.max == 0) settings.max = wire::kMaxProcesses;
    spdlog::warn("this job has no controller now, and begins with {} processes: {}", settings.size,
                 why_not);
  }
  if (is_srun && slots_of(settings.launcher.hosts) < settings.size) {
    throw InputError(fmt::format("the nodes of the job take {} processes, not {}",
                                 slots_of(settings.launcher.hosts), settings.size),
                     "change -n, or ask Slurm for more");
  }
  if (!is_srun && !settings.launcher.hosts.empty()) {
    settings.launcher.agent = find_program(settings.launcher.agent);
  }
}

OutputRules rules_of(const RunOptions& options) {
  OutputRules rules{.tolerance = options.tolerance};
  if (!options.ignored.empty()) rules.ignored.emplace(options.ignored);
  return rules;
}

int run_program(const RunOptions& options) {
  RunSettings settings = options.settings;
  settings.kind = *from_word<JobKind>(kJobKindWords, options.kind);
  settings.is_rigid = settings.kind == JobKind::rigid || settings.kind == JobKind::steps;
  settings.script = script_settings(options.told, settings.kind);
  if (settings.kind == JobKind::charm) refuse_charmrun_words(settings.launcher.program);
  // What the program starts speaks for itself.
  for (const char* name : {kAckVariable, kResizeVariable, kResizeFileVariable}) unsetenv(name);
  settings.launcher.program.front() = find_program(settings.launcher.program.front());
  settings.launcher.starter = *from_word<Starter>(kStarterWords, options.launcher);
  settings.launcher.mpi = choose_mpi(options, settings);
  if (settings.launcher.mpi != Mpi::none) settings.in_job = job_of(options);
  if (settings.in_job) {
    if (options.launcher_given->count() == 0) settings.launcher.starter = Starter::srun;
    if (options.listen_given->count() == 0) settings.listen = address_of_this_host();
    spdlog::info("the processes find their manager at {}", settings.listen);
  }
  if (settings.launcher.mpi == Mpi::none) {
    if (settings.kind == JobKind::mpi) {
      throw InputError("--mpi none starts one process that is never resized", "add --kind rigid");
    }
    if (settings.size != 1 && settings.kind == JobKind::rigid) {
      throw InputError("without an MPI there is one process", "drop -n");
    }
  } else if (settings.kind == JobKind::steps) {
    throw InputError("a script with steps is no program of an MPI", "say --mpi none");
  } else if (settings.launcher.mpiexec.empty()) {
    settings.launcher.mpiexec = settings.launcher.starter == Starter::srun
                                    ? find_program("srun")
                                    : find_mpiexec(settings.launcher.mpi);
  } else {
    settings.launcher.mpiexec = find_program(settings.launcher.mpiexec);
  }
  settings.launcher.hosts = parse_hosts(options.hosts);
  const char* const nodes = std::getenv("SLURM_NNODES");
  const bool is_spread =
      !settings.launcher.hosts.empty() || (settings.launcher.starter == Starter::srun &&
                                           nodes != nullptr && std::string_view(nodes) != "1");
  const bool is_reached = settings.kind == JobKind::mpi && is_spread;
  if (is_reached && settings.listen == "127.0.0.1" && settings.in_job) {
    spdlog::warn(
        "the name of this host has no address that others reach: processes on other hosts do not "
        "find the manager; say with --listen where it is");
  } else if (is_reached && settings.listen == "127.0.0.1") {
    throw InputError("processes on other hosts cannot reach 127.0.0.1",
                     "say with --listen at which address of this host they can");
  }
  const auto cpus = parse_node_set(options.cpus);
  if (!cpus) {
    throw InputError({.field = "--cpus"}, "'" + options.cpus + "' are no processors",
                     "write them like 0-3,7");
  }
  settings.cpus = *cpus;
  const std::uint32_t slots = slots_of(settings.launcher.hosts);
  if (!settings.launcher.hosts.empty()) {
    const bool may_start_there =
        settings.kind == JobKind::script || settings.kind == JobKind::restart;
    if (settings.launcher.mpi == Mpi::none && !may_start_there) {
      throw InputError("without an MPI there is one process, on this host", "drop --hosts");
    }
    if (slots < settings.size) {
      throw InputError(fmt::format("the hosts take {} processes, not {}", slots, settings.size),
                       "change --hosts or -n");
    }
    if (settings.launcher.starter == Starter::mpiexec && settings.launcher.mpi != Mpi::none) {
      settings.launcher.agent = find_program(settings.launcher.agent);
    }
  }
  const std::uint32_t cores =
      settings.kind == JobKind::threads && !settings.oversubscribes
          ? static_cast<std::uint32_t>(cpus_for_threads(settings.cpus).count())
          : 0;
  const std::uint32_t usual_max = slots > 0   ? slots
                                  : cores > 0 ? std::max(cores, settings.size)
                                              : std::max(2 * settings.size, 4U);
  settings.max = options.max != 0 ? options.max : usual_max;
  if (settings.size < settings.min || settings.size > settings.max) {
    throw InputError(fmt::format("{} processes are not between --min {} and --max {}",
                                 settings.size, settings.min, settings.max),
                     "change one of them");
  }
  settings.limits.starting = milliseconds(options.start_limit);
  settings.limits.gathering = milliseconds(options.probe_limit);
  // Who says how long it may take means all of it.
  if (options.probe_limit_given->count() > 0) settings.limits.stuck = settings.limits.gathering;
  settings.limits.agreeing = std::min(settings.limits.agreeing, settings.limits.gathering);
  settings.limits.handing_over = milliseconds(options.hand_over_limit);
  if (options.leave_limit > 0) settings.limits.leaving = milliseconds(options.leave_limit);
  settings.patience = milliseconds(options.patience);
  settings.evolving = *from_word<Evolving>(kEvolvingWords, options.evolving);
  settings.measure = milliseconds(options.measure);
  settings.power = milliseconds(options.power);
  if (!settings.watts_from.empty() && options.measure == 0 && options.power == 0) {
    throw InputError({.field = "--watts-from"}, "it is not said how often to look",
                     "add --power SECONDS, or --measure SECONDS");
  }
  const auto watts_nodes = parse_node_set(options.nodes);
  if (!watts_nodes) {
    throw InputError({.field = "--watts-nodes"}, "'" + options.nodes + "' are no nodes",
                     "write them like 0-3,7");
  }
  settings.nodes = *watts_nodes;
  if (options.measure > 0) {
    const Mpi mpi = settings.launcher.mpi;
    if (mpi == Mpi::none) {
      throw InputError("--measure is for programs of an MPI",
                       "drop it; --power reports the power alone");
    }
    const auto library = measuring_library(mpi);
    if (!library) {
      throw InputError(fmt::format("there is no libductile-measure-{}.so",
                                   kMpiWords[static_cast<std::size_t>(mpi)]),
                       "install what was built for this MPI");
    }
    settings.launcher.preload = *library;
    // What its user has there comes after it, and is not lost.
    const char* const variable = std::getenv("LD_PRELOAD");
    const auto own = inherited("LD_PRELOAD", variable != nullptr ? variable : "");
    if (!own->empty()) settings.launcher.preload += ":" + *own;
  }
  settings.step_cores =
      settings.kind == JobKind::steps ? std::exchange(settings.launcher.cores, 0) : 0;
  const bool is_plain = settings.launcher.mpi != Mpi::none && settings.launcher.hosts.empty();
  const RunSettings given = settings;
  if (settings.in_job) {
    join_or_go_alone(options, settings);
  } else if (is_plain && options.script.empty() && options.torture == 0 && become_step(settings)) {
    if (settings.is_rigid && options.processes->count() > 0) settings.size = given.size;
    tell_what_a_step_has(options, given, settings);
  }
  // Orders may name nodes that have come since.
  const bool has_hosts = !settings.launcher.hosts.empty();
  if (settings.launcher.starter == Starter::srun && has_hosts) forget_allocation();
  settings.plan = parse_script(options.script);
  if (options.torture > 0) settings.plan = torture(options, settings);
  if (settings.plan.empty()) return run_job(settings).exit_code;
  if (settings.is_rigid) throw InputError("a rigid job is never resized", "drop --kind rigid");

  const OutputRules rules = rules_of(options);
  std::string expected;
  std::optional<SharedInput> input;
  if (options.compares) {
    input.emplace();
    input->begin();
    RunSettings rigid = settings;
    rigid.is_rigid = true;
    rigid.plan.clear();
    rigid.control.clear();
    rigid.control_fd = -1;
    rigid.report.clear();
    rigid.trace.clear();
    rigid.keep_output = true;
    rigid.pass_output = false;
    RunResult done = run_job(rigid);
    if (done.exit_code != 0) {
      std::cerr << "ductile: the rigid run, to compare with, ended with exit code "
                << done.exit_code << std::endl;
      return done.exit_code;
    }
    expected = std::move(done.output);
    input->begin();
  }
  settings.keep_output = options.compares;
  const RunResult done = run_job(settings);
  const auto difference =
      options.compares ? output_difference(expected, done.output, rules) : std::nullopt;
  if (difference) std::cerr << "ductile: " << *difference << '\n';
  const bool is_good = !difference;
  std::cerr << fmt::format("ductile: {} resizes, {} given up, {} not come to{}\n", done.resizes,
                           done.aborted, done.unplanned,
                           !options.compares ? ""
                           : is_good         ? "; the output is that of the rigid run"
                                             : "; the output is NOT that of the rigid run");
  if (done.exit_code != 0) return done.exit_code;
  return is_good ? 0 : 1;
}

/// Who reads the report hears also of a program that could not be started.
void report_failure(const std::string& file, int exit_code, const char* why) {
  if (file.empty()) return;
  ReportFile report;
  report.open(file, ReportFile::Begin::at_end);
  const nlohmann::ordered_json line = {{"time_s", 0.0},
                                       {"event", "failed"},
                                       {"exit_code", exit_code},
                                       {"reason", "JobLaunchFailure"},
                                       {"note", why}};
  report.write(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), true);
}

int run(const RunOptions& options) {
  set_up_log(options.verbosity, options.log);
  try {
    return run_program(options);
  } catch (const InputError& error) {
    report_failure(options.settings.report, 2, error.what());
    throw;
  } catch (const StillRunning&) {
    throw;  // no end to report
  } catch (const RunError& error) {
    report_failure(options.settings.report, 1, error.what());
    throw;
  }
}

}  // namespace

std::vector<PlannedResize> parse_script(const std::string& text) {
  const auto fail = [&](std::string_view part) -> InputError {
    return {{.field = "--script"},
            "'" + std::string(part) + "' is not t=SECONDS:PROCESSES",
            "write it like t=10:4,t=20:2"};
  };
  std::vector<PlannedResize> plan;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = next_part(rest, ',');
    if (part.substr(0, 2) != "t=") throw fail(part);
    std::string_view size_text = part.substr(2);
    const auto time = parse_number<double>(next_part(size_text, ':'));
    const auto size = parse_number<std::uint32_t>(size_text);
    if (!time || *time < 0 || *time > 1e9 || !size || *size == 0 || *size > wire::kMaxProcesses) {
      throw fail(part);
    }
    if (!plan.empty() && milliseconds(*time) < plan.back().time) {
      throw InputError({.field = "--script"},
                       "'" + std::string(part) + "' is before the one before",
                       "write the resizes in the order of their times");
    }
    plan.push_back({.time = milliseconds(*time), .size = *size});
  }
  return plan;
}

void add_run_command(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  RunSettings& settings = options->settings;
  CLI::App* command = app.add_subcommand(
      "run", "Run a program as a job: start it, resize it when told to, leave nothing behind");
  command
      ->add_option("PROGRAM", settings.launcher.program, "the program and its arguments, after --")
      ->required();
  options->processes = command->add_option("-n,--processes", settings.size, "processes at first")
                           ->check(CLI::Range(1U, wire::kMaxProcesses))
                           ->capture_default_str();
  command->add_option("--min", settings.min, "fewest processes")
      ->check(CLI::Range(1U, wire::kMaxProcesses))
      ->capture_default_str();
  command
      ->add_option("--max", options->max,
                   "most processes; if not given, what --hosts take, or twice those at first")
      ->check(CLI::Range(1U, wire::kMaxProcesses));
  command
      ->add_option(
          "--kind", options->kind,
          "mpi: can be resized; rigid: never; steps: a script, of which each `ductile run` "
          "is resized; threads: a program whose cores on this host change, -n of them at first; "
          "script: a program that changes its size when it is told; restart: one that is stopped "
          "at a checkpoint and started again; charm: the charmrun of a program of Charm++ that can "
          "shrink and expand")
      ->check(CLI::IsMember(std::vector<std::string>(kJobKindWords.begin(), kJobKindWords.end())))
      ->capture_default_str();
  command->add_flag("--oversubscribe", settings.oversubscribes,
                    "--kind threads: sizes may be more than there are cores");
  command->add_option("--mpi", options->mpi, "the MPI that the program is linked with")
      ->check(CLI::IsMember({"auto", "mpich", "openmpi", "none"}))
      ->capture_default_str();
  options->launcher_given =
      command
          ->add_option(
              "--launcher", options->launcher,
              "what starts the processes: mpiexec of that MPI, or, inside an allocation of "
              "Slurm, srun; in a job that a controller resizes srun if not given")
          ->check(CLI::IsMember({"mpiexec", "srun"}))
          ->capture_default_str();
  command->add_option("--mpiexec", settings.launcher.mpiexec, "path of that mpiexec or srun");
  command
      ->add_option("--mpiexec-arg", settings.launcher.arguments,
                   "one more argument of mpiexec or srun; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option(
      "--hosts", options->hosts,
      "where the processes run: h1:4,h2:4, filled in this order; this host if not given");
  command
      ->add_option("--agent", settings.launcher.agent,
                   "what starts something on a host, called as ssh is: HOST COMMAND...")
      ->capture_default_str();
  command
      ->add_option("--controller", options->controller,
                   "inside a job of Slurm, the controller that resizes it; if not given, "
                   "$DUCTILE_CONTROLLER")
      ->type_name("SOCKET|HOST:PORT|none");
  command->add_option("--control", settings.control,
                      "take orders at this socket (`ductile resize`)");
  command
      ->add_option("--control-fd", settings.control_fd,
                   "the same at this descriptor, which listens already")
      ->check(CLI::Range(3, 1 << 20))
      ->excludes("--control");
  command->add_option("--keep", settings.keep,
                      "a file, which is there: into it goes the program's data when it is "
                      "suspended (the order \"suspend\" at the control socket)");
  command->add_option("--go-on", settings.go_on, "such a file: the program goes on with its data");
  command->add_option("--cpus", options->cpus,
                      "processors of this host on which the processes run: 0-3,7");
  command
      ->add_option_function<std::string>(
          "--limit",
          [options](const std::string& text) { options->settings.resources = parse_limits(text); },
          "resource limits of the program, soft and hard: core=0:unlimited,nofile=1024:4096")
      ->type_name("NAME=SOFT:HARD,...");
  command
      ->add_option("-c,--cores-per-process", settings.launcher.cores,
                   "cores that each process keeps to, and its number of OpenMP threads; if not "
                   "given, all run where they like")
      ->check(CLI::Range(1U, 65536U));
  options->listen_given =
      command
          ->add_option("--listen", settings.listen,
                       "numeric address of this host at which processes find the manager; in a job "
                       "that a controller resizes that of its name if not given")
          ->capture_default_str();
  add_script_options(*command, options->told);
  command->add_option("--script", options->script, "resize at these times: t=10:4,t=20:2");
  command->add_option("--torture", options->torture, "so many resizes to random sizes")
      ->excludes("--script");
  command->add_option("--seed", options->seed, "of --torture")->capture_default_str();
  command->add_flag("!--no-compare", options->compares,
                    "--script and --torture: do not run the program rigidly first, to compare");
  command
      ->add_option(
          "--tolerance", options->tolerance,
          "of that comparison: numbers may differ by this share of the larger one, or of 1")
      ->check(NumberRange(0.0, 1.0))
      ->capture_default_str();
  command->add_option(
      "--ignore-lines", options->ignored,
      "of that comparison: lines in which this regular expression is found do not count");
  command->add_option("--log", options->log,
                      "say what there is to say to this file, not to stderr");
  command->add_option("--report", settings.report, "write what happens to this file, JSON lines");
  options->evolving_given =
      command
          ->add_option(
              "--evolving", options->evolving,
              "when the program asks for another size: grant it up to --max, deny it, or ask at "
              "--control")
          ->check(CLI::IsMember({"grant", "deny", "ask"}))
          ->capture_default_str();
  command->add_option("--trace", settings.trace,
                      "write the timeline of all resizes to this file; opens in Perfetto");
  command
      ->add_option("--measure", options->measure,
                   "report MPI time over compute time, times of iterations and power every so "
                   "many seconds")
      ->check(NumberRange(0.5, 1e6));
  command
      ->add_option("--power-from", settings.power_from,
                   "folder with the counters of energy of this host, for --measure and --power")
      ->check(CLI::ExistingDirectory);
  command
      ->add_option("--power", options->power,
                   "report power alone every so many seconds, of any program")
      ->check(NumberRange(0.5, 1e6));
  command
      ->add_option("--watts-from", settings.watts_from,
                   "files that say in watts what each node draws; %n is the node's name")
      ->type_name("PATTERN");
  command
      ->add_option("--watts-nodes", options->nodes,
                   "the nodes of the job for --watts-from, 0-3; its hosts if not given")
      ->type_name("NODES");
  const auto limit = [&](const char* name, double& seconds, const char* what) {
    return command->add_option(name, seconds, what)
        ->check(NumberRange(0.1, 1e6))
        ->capture_default_str();
  };
  limit("--start-limit", options->start_limit, "seconds until a new generation must be ready");
  options->probe_limit_given = limit("--probe-limit", options->probe_limit,
                                     "seconds until all processes must come to a probe");
  limit("--hand-over-limit", options->hand_over_limit, "seconds that moving the data may take");
  command
      ->add_option("--leave-limit", options->leave_limit,
                   "seconds that the program of an old generation may work on after it has left; "
                   "0: as long as it likes")
      ->check(NumberRange(0.0, 1e6))
      ->capture_default_str();
  limit("--patience", options->patience,
        "seconds to leave, or to end after SIGTERM, before SIGKILL");
  command->add_flag("-v,--verbose", options->verbosity, "say what happens; -vv and -vvv say more");
  command->callback([options] {
    if (const int code = run(*options); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace ductile
