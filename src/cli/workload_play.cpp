#include "cli/workload_play.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/live_options.hpp"
#include "cli/log_options.hpp"
#include "cli/number_range.hpp"
#include "cli/played_job.hpp"
#include "cli/process.hpp"
#include "cli/progress_line.hpp"
#include "cli/python_policies.hpp"
#include "cli/sbatch.hpp"
#include "cli/submit.hpp"
#include "cli/swf_options.hpp"
#include "cli/transform_options.hpp"
#include "experiment/run.hpp"
#include "job/launcher.hpp"
#include "policies/registry.hpp"
#include "simulation/observer.hpp"
#include "workload/generate.hpp"
#include "workload/transform.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;
using Stopwatch = std::chrono::steady_clock;

struct WorkloadPlayOptions {
  std::string file, model;
  LogOptions log;
  Transform changes;
  std::uint64_t seed = 1;
  double speed = 1;
  double extra_s = 10;
  std::vector<std::string> commands;
  std::string output = "/dev/null";
  bool dry_run = false;
  bool by_sbatch = false;
  std::string partition, policy = "slurm";  // by sbatch
  LiveOptions live;
};

// ---- What is played -----------------------------------------------------------------------------

struct Played {
  std::shared_ptr<Workload> workload;
  Nodes nodes = 0;  // of its machine
};

void tell_remark(const std::string& remark) {
  if (!remark.empty()) std::cerr << "ductile: " << remark << '\n';
}

Played read_workload(const WorkloadPlayOptions& options, ProgressLine& progress) {
  if (options.changes.estimates.kind == EstimateSettings::Kind::predicted) {
    throw InputError({.field = "--estimates"}, "the controller says what it predicts",
                     "give it to `ductile serve`");
  }
  Played played;
  if (!options.model.empty()) {
    const ModelChoice choice =
        parse_model(options.model, options.log.rules.max_jobs, options.log.rules.nodes);
    tell_remark(choice.remark());
    played.nodes = static_cast<Nodes>(choice.number("nodes"));
    played.workload = std::make_shared<Workload>(choice.generate(options.seed));
  } else {
    LogOptions how = options.log;
    played.nodes = how.rules.nodes = machine_nodes(options.file, how.rules);
    Log log = read_log(options.file, how, [&](std::uint64_t done, std::uint64_t total) {
      progress.reading(done, total);
    });
    progress.clear();
    need_jobs(log.workload, options.file, how.rules);
    tell_remark(skipped_text(log.workload.skipped));
    played.workload = std::make_shared<Workload>(std::move(log.workload));
  }
  transform(*played.workload, options.changes, played.nodes, options.seed);
  return played;
}

// "rigid=CMD" and the like.
PlayedPrograms programs_of(const WorkloadPlayOptions& options, const Workload& workload) {
  PlayedPrograms programs;
  for (const std::string& text : options.commands) {
    const std::size_t equals = text.find('=');
    const auto type = from_word<JobType>(kJobTypeWords, std::string_view(text).substr(0, equals));
    if (!type || equals == std::string::npos) {
      throw InputError({.field = "--command"}, "'" + text + "' names no type of jobs",
                       "write TYPE=COMMAND, with one of " + listed(kJobTypeWords));
    }
    auto& command = programs.commands[static_cast<std::size_t>(*type)];
    if (command) {
      throw InputError({.field = "--command"},
                       fmt::format("there are two for {} jobs", word(*type)), "give one");
    }
    command = called_here(text.substr(equals + 1), "--command");
    command->output = options.output;
  }
  programs.caller = called_here("true", "--command");
  programs.caller.output = options.output;
  for (const Mpi mpi : {Mpi::openmpi, Mpi::mpich}) {
    if (const auto found = timed_program(mpi)) {
      programs.timed = *found;
      programs.mpi = mpi;
    }
  }
  const bool needs_timed = std::ranges::any_of(workload.adaptive, [&](const AdaptiveJob& job) {
    return (job.type == JobType::evolving || sizes_while_running(job.type)) &&
           !programs.commands[static_cast<std::size_t>(job.type)];
  });
  if (options.dry_run && programs.timed.empty()) {
    programs.timed = "timed-mpich";
    programs.mpi = Mpi::mpich;
  }
  if (needs_timed && programs.timed.empty()) {
    throw InputError("there is no program for jobs that are resized, timed-mpich or timed-openmpi",
                     "install libductile-app, which brings it, or give --command");
  }
  return programs;
}

// What the controller would refuse, or the system, is told before anything is submitted.
void check(const Workload& workload, const WorkloadJob& job, const PlayedPrograms& programs,
           bool by_sbatch) {
  constexpr std::size_t kLongestWord = 128 * 1024 - 1;  // of a command, in Linux
  try {
    const Submission its = submission_from_json(to_json(played(workload, job, programs)));
    for (const std::string& argument : by_sbatch ? sbatch_call(its, "") : its.program) {
      if (argument.size() <= kLongestWord) continue;
      throw InputError("has too many sizes to tell its program the time of each",
                       "play jobs of fewer sizes, or give --command");
    }
  } catch (const InputError& error) {
    throw InputError(fmt::format("job {}: {}", job.name, error.what()), "");
  }
}

// ---- The controller -----------------------------------------------------------------------------

struct Machine {
  Nodes nodes = 0;  // that may have jobs
  std::string policy;
  std::size_t jobs = 0;  // of others
};

Machine look_at(const LiveOptions& live) {
  Machine machine;
  const Json answer = ask(live, {{"do", "nodes"}});
  for (const Json& node : answer["nodes"]) {
    const std::string state = node["state"];
    const bool is_used = state != "DOWN" && state != "DRAINING" && state != "DRAINED" &&
                         state != "STRANGER" && state != "MAINT";
    machine.nodes += is_used ? 1 : 0;
  }
  const Json queue = ask(live, {{"do", "queue"}});
  machine.policy = queue["portfolio"].is_string() ? queue["portfolio"] : queue["policy"];
  machine.jobs = queue["jobs"].size();
  return machine;
}

// Of a job, since the first submission.
struct JobCourse {
  double submit_s = 0, start_s = 0, end_s = 0;
  bool has_run = false;
  std::string state;
  std::vector<std::pair<double, Nodes>> sizes;  // since when it had so many nodes
};

// Who has the jobs. All of it throws RunError.
class Host {
 public:
  struct Count {
    std::uint64_t there = 0, running = 0;
  };
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;
  virtual std::uint64_t submit(const Submission& submission) = 0;
  virtual Count count(const std::unordered_set<std::uint64_t>& ours) = 0;
  // Of a job that is over, by its own clock, and the node time that it had.
  virtual JobCourse course(std::uint64_t number, double& node_s) = 0;
  // Commands that show and cancel jobs.
  virtual std::string_view commands() const = 0;
};

class ControllerHost final : public Host {
 public:
  explicit ControllerHost(const LiveOptions& live) : live_(live) {}
  std::uint64_t submit(const Submission& submission) override {
    return ask(live_, {{"do", "submit"}, {"job", to_json(submission)}})["job"];
  }
  Count count(const std::unordered_set<std::uint64_t>& ours) override {
    const Json queue = ask(live_, {{"do", "queue"}});
    Count count;
    for (const Json& row : queue["jobs"]) {
      if (!ours.contains(row["job"])) continue;
      ++count.there;
      count.running += row["state"] == "PENDING" ? 0 : 1;
    }
    return count;
  }
  JobCourse course(std::uint64_t number, double& node_s) override {
    const Json row = ask(live_, {{"do", "history"}, {"job", number}})["jobs"].at(0);
    JobCourse its;
    its.state = row["state"];
    its.submit_s = row["submit_s"];
    its.end_s = row["end_s"];
    its.has_run = row["start_s"].is_number();
    if (its.has_run) its.start_s = row["start_s"];
    for (const Json& size : row["sizes"]) its.sizes.emplace_back(size["time_s"], size["nodes"]);
    if (!its.sizes.empty() && its.sizes.back().second == 0) its.sizes.pop_back();  // its end
    node_s = row["node_s"];
    return its;
  }
  std::string_view commands() const override { return "`ductile queue` and `ductile cancel`"; }

 private:
  const LiveOptions& live_;
};

// Slurm forgets jobs some minutes after their end: what was last heard of each counts.
class SlurmHost final : public Host {
 public:
  explicit SlurmHost(const std::string& partition) : partition_(partition) {}
  std::uint64_t submit(const Submission& submission) override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::uint64_t number = call_sbatch(sbatch_call(submission, partition_));
    heard_[number].submit_s =
        static_cast<double>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
    return number;
  }
  Count count(const std::unordered_set<std::uint64_t>& ours) override {
    const auto all = call_squeue();
    Count count;
    for (const std::uint64_t number : ours) {
      const auto at = all.find(number);
      if (at != all.end()) heard_[number] = at->second;
      if (at == all.end() || at->second.is_over()) continue;
      ++count.there;
      count.running += at->second.state == "PENDING" ? 0 : 1;
    }
    return count;
  }
  JobCourse course(std::uint64_t number, double& node_s) override {
    const SbatchJob& job = heard_[number];
    JobCourse its;
    its.submit_s = its.end_s = job.submit_s;
    its.state = job.is_over() ? job.state : "UNKNOWN";
    if (!job.is_over()) return its;
    its.end_s = std::max(job.end_s, job.submit_s);
    // Of one that was cancelled while it waited Slurm says that it started at its end.
    its.has_run = job.start_s > 0 && (job.start_s < its.end_s ||
                                      (job.start_s == its.end_s && its.state != "CANCELLED"));
    if (!its.has_run) return its;
    its.start_s = job.start_s;
    its.sizes.emplace_back(job.start_s, job.nodes);
    node_s = (job.end_s - job.start_s) * job.nodes;
    return its;
  }
  std::string_view commands() const override { return "`squeue` and `scancel`"; }

 private:
  const std::string& partition_;
  std::map<std::uint64_t, SbatchJob> heard_;
};

// Submits the jobs at their times and follows them to their ends.
class Player {
 public:
  Player(const Workload& workload, const PlayedPrograms& programs, Host& host, bool json)
      : workload_(workload), programs_(programs), host_(host), progress_(json) {}

  // The numbers by which the controller knows them. Throws Stopped, and RunError if it takes no
  // more of them.
  std::vector<std::uint64_t> play() {
    const auto begin = Stopwatch::now();
    for (const WorkloadJob& job : workload_.jobs) {
      const std::chrono::microseconds at(job.submit.time_since_epoch());
      while (Stopwatch::now() - begin < at) pause(begin + at);
      submit(job);
    }
    // Nothing else is due: it looks however long that takes.
    while (ended_ < numbers_.size()) pause(Stopwatch::time_point::max());
    return numbers_;
  }

 private:
  static constexpr Stopwatch::duration kLook = std::chrono::milliseconds(100);

  void submit(const WorkloadJob& job) {
    check_stop();
    try {
      numbers_.push_back(host_.submit(played(workload_, job, programs_)));
      ours_.insert(numbers_.back());
    } catch (const std::runtime_error& error) {
      progress_.clear();
      throw RunError(fmt::format("job {}: {}; {}", job.name, error.what(), left()));
    }
  }

  // Until then, or until something else is due. It looks only if that can be over by then.
  void pause(Stopwatch::time_point until) {
    check_stop();
    if (until - Stopwatch::now() > look_takes_) look();
    std::this_thread::sleep_until(std::min(until, Stopwatch::now() + kLook));
  }

  void check_stop() {
    if (!stop_.load()) return;
    look_at_ = {};
    look();
    progress_.clear();
    throw Stopped("stopped; " + left());
  }

  std::string left() const {
    std::string text =
        fmt::format("{} of {} jobs were submitted", numbers_.size(), workload_.jobs.size());
    if (ended_ < numbers_.size()) {
      text += fmt::format(", and {} of them have not ended ({})", numbers_.size() - ended_,
                          host_.commands());
    }
    return text;
  }

  // Asks how the jobs are, not too often where the answer takes long.
  void look() {
    const auto begin = Stopwatch::now();
    if (begin < look_at_) return;
    try {
      const Host::Count count = host_.count(ours_);
      ended_ = numbers_.size() - count.there;
      progress_.playing(numbers_.size(), count.running, ended_, workload_.jobs.size());
      is_away_ = false;
    } catch (const std::runtime_error& error) {
      if (!std::exchange(is_away_, true)) {
        progress_.clear();
        std::cerr << "ductile: " << error.what() << "; waiting for it to come back" << std::endl;
      }
    }
    const auto now = Stopwatch::now();
    look_takes_ = now - begin;
    look_at_ = now + std::max<Stopwatch::duration>(5 * kLook, 10 * look_takes_);
  }

  const Workload& workload_;
  const PlayedPrograms& programs_;
  Host& host_;
  const std::atomic<bool>& stop_ = stop_on_signal();
  ProgressLine progress_;
  std::vector<std::uint64_t> numbers_{};
  std::unordered_set<std::uint64_t> ours_{};
  std::uint64_t ended_ = 0;
  Stopwatch::time_point look_at_{};
  Stopwatch::duration look_takes_{};  // as the last one did
  bool is_away_ = false;
};

// ---- What came ----------------------------------------------------------------------------------

struct Figures {
  double makespan_s = 0, mean_wait_s = 0, mean_turnaround_s = 0, utilization = 0;
  std::uint64_t resizes = 0, not_completed = 0;
};

// As `Summary` has them.
Figures figures_of(const std::vector<JobCourse>& courses, const std::vector<double>& node_s,
                   Nodes nodes) {
  Figures figures;
  double jobs = 0, held_node_s = 0;
  for (std::size_t i = 0; i < courses.size(); ++i) {
    const JobCourse& its = courses[i];
    figures.not_completed += its.state == "COMPLETED" ? 0 : 1;
    figures.makespan_s = std::max(figures.makespan_s, its.end_s);
    if (!its.has_run) continue;
    jobs += 1;
    figures.mean_wait_s += its.start_s - its.submit_s;
    figures.mean_turnaround_s += its.end_s - its.submit_s;
    held_node_s += node_s[i];
    for (std::size_t k = 1; k < its.sizes.size(); ++k) {
      figures.resizes += its.sizes[k].second != 0 && its.sizes[k - 1].second != 0 ? 1 : 0;
    }
  }
  figures.mean_wait_s /= jobs;
  figures.mean_turnaround_s /= jobs;
  figures.utilization = held_node_s / (figures.makespan_s * nodes);
  return figures;
}

Figures live_figures(const std::vector<std::uint64_t>& numbers, Host& host, Nodes nodes,
                     std::vector<JobCourse>& courses) {
  std::vector<double> node_s;
  double begin_s = std::numeric_limits<double>::infinity();
  for (const std::uint64_t number : numbers) {
    courses.push_back(host.course(number, node_s.emplace_back()));
    begin_s = std::min(begin_s, courses.back().submit_s);
  }
  for (JobCourse& its : courses) {
    for (double* time_s : {&its.submit_s, &its.start_s, &its.end_s}) *time_s -= begin_s;
    for (auto& [since_s, nodes_then] : its.sizes) since_s -= begin_s;
  }
  return figures_of(courses, node_s, nodes);
}

// Notes when jobs start and end, and their sizes.
class CourseObserver final : public Observer {
 public:
  explicit CourseObserver(std::size_t jobs) : courses_(jobs) {}

  void on_decision(Time now, const Decision& decision, const Core&) override {
    if (decision.kind != Decision::Kind::start) return;
    JobCourse& its = courses_[index(decision.job)];
    its.has_run = true;
    its.sizes.emplace_back(to_seconds(now), decision.after.count);
  }
  void on_resized(Time now, JobId id, Nodes before, const Core& core) override {
    const Nodes after = core.job(id).size();
    if (after != before) courses_[index(id)].sizes.emplace_back(to_seconds(now), after);
  }
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool,
              const Core&) override {
    JobCourse& its = courses_[index(id)];
    its.submit_s = to_seconds(job.submit);
    its.end_s = to_seconds(now);
    if (its.has_run) its.start_s = its.sizes.front().first;
    its.state = state == EndState::completed ? "COMPLETED"
                : state == EndState::timeout ? "TIMEOUT"
                                             : "CANCELLED";
  }
  const std::vector<JobCourse>& courses() const { return courses_; }

 private:
  std::vector<JobCourse> courses_;
};

std::shared_ptr<const Policy> simulated_policy(const std::string& text) {
  Registry registry;
  registry.outside.push_back(outside_python());
  return registry.make(text);
}

Figures simulated_figures(const std::shared_ptr<const Workload>& workload, const Machine& machine,
                          const WorkloadPlayOptions& options, std::vector<JobCourse>& courses) {
  Matrix matrix;
  matrix.policies = {simulated_policy(machine.policy)};
  matrix.seeds = {options.seed};
  matrix.settings.platform.nodes = machine.nodes;
  matrix.settings.kill_overrun = true;
  matrix.input = [&](std::uint64_t) { return Input{workload, {}, 0}; };
  CourseObserver observer(workload->jobs.size());
  matrix.observers = {&observer};
  Figures figures;
  run_matrix(matrix, [&](const Summary& summary) {
    figures = {.makespan_s = summary.makespan_s,
               .mean_wait_s = summary.mean_wait_s,
               .mean_turnaround_s = summary.mean_turnaround_s,
               .utilization = summary.utilization,
               .resizes = summary.expands + summary.shrinks,
               .not_completed = summary.killed + summary.rejected + summary.jobs_left};
  });
  courses = observer.courses();
  return figures;
}

// Calls visit(key, name, live, simulated, decimals of the table).
template <class Visit>
void visit_figures(const Figures& live, const Figures& simulated, const Visit& visit) {
  visit("makespan_s", "makespan (s)", live.makespan_s, simulated.makespan_s, 3);
  visit("mean_wait_s", "mean wait (s)", live.mean_wait_s, simulated.mean_wait_s, 3);
  visit("mean_turnaround_s", "mean turnaround (s)", live.mean_turnaround_s,
        simulated.mean_turnaround_s, 3);
  visit("utilization", "utilization", live.utilization, simulated.utilization, 3);
  const auto count = [&](const char* key, const char* name, std::uint64_t a, std::uint64_t b) {
    visit(key, name, static_cast<double>(a), static_cast<double>(b), 0);
  };
  count("resizes", "resizes", live.resizes, simulated.resizes);
  count("not_completed", "not completed", live.not_completed, simulated.not_completed);
}

std::optional<double> difference_percent(double live, double simulated) {
  if (simulated == 0 || !std::isfinite(live) || !std::isfinite(simulated)) return std::nullopt;
  return 100 * (live - simulated) / simulated;
}

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

void print_table(const Figures& live, const Figures& simulated) {
  std::cout << fmt::format("{:<20} {:>12} {:>12} {:>12}\n", "", "live", "simulated", "difference");
  visit_figures(live, simulated, [](const char*, const char* name, double a, double b, int digits) {
    const auto difference = difference_percent(a, b);
    std::cout << fmt::format("{:<20} {:>12.{}f} {:>12.{}f} {:>12}\n", name, a, digits, b, digits,
                             difference ? fmt::format("{:+.1f} %", *difference) : "");
  });
}

Json sizes_json(const JobCourse& its) {
  Json list = Json::array();
  for (const auto& [since_s, nodes] : its.sizes) {
    list.push_back({{"time_s", rounded(since_s)}, {"nodes", nodes}});
  }
  return list;
}

Json course_json(const JobCourse& its) {
  return {{"state", its.state},
          {"submit_s", rounded(its.submit_s)},
          {"start_s", its.has_run ? Json(rounded(its.start_s)) : Json()},
          {"end_s", rounded(its.end_s)},
          {"sizes", sizes_json(its)}};
}

// ---- The command --------------------------------------------------------------------------------

void play(const WorkloadPlayOptions& options) {
  if (options.file.empty() == options.model.empty()) {
    throw InputError("a workload is needed", "give a log, or --generate MODEL");
  }
  // That it is none is told before jobs run.
  if (options.by_sbatch) simulated_policy(options.policy);
  ProgressLine progress(options.live.json);
  const Played played_workload = read_workload(options, progress);
  const std::shared_ptr<Workload>& workload = played_workload.workload;
  Machine machine;
  if (options.dry_run) {
    machine.nodes = played_workload.nodes;
  } else if (options.by_sbatch) {
    machine.nodes = call_sinfo(options.partition);
    machine.policy = options.policy;
    for (const auto& [number, job] : call_squeue()) machine.jobs += job.is_over() ? 0 : 1;
  } else {
    machine = look_at(options.live);
  }
  check_can_be_played(*workload, machine.nodes);
  const std::size_t barriers =
      prepare_to_play(*workload, machine.nodes, options.speed, seconds(options.extra_s));
  if (barriers > 0)
    tell_remark(fmt::format("{} jobs have a barrier, and are played without", barriers));
  const PlayedPrograms programs = programs_of(options, *workload);

  for (WorkloadJob& job : workload->jobs) {
    check(*workload, job, programs, options.by_sbatch);
    if (options.by_sbatch) job.walltime = whole_minutes(job.walltime);
  }

  if (options.dry_run) {
    for (const WorkloadJob& job : workload->jobs) {
      const Submission its = played(*workload, job, programs);
      std::cout << fmt::format("{:.3f} ", to_seconds(job.submit))
                << (options.by_sbatch ? sbatch_line(its, options.partition) : submit_line(its))
                << '\n';
    }
    return;
  }
  if (!options.live.json) {
    std::cout << fmt::format("{}: {} jobs on {} nodes under {}, {:g} times as fast\n",
                             workload->name, workload->jobs.size(), machine.nodes, machine.policy,
                             options.speed)
              << std::flush;
  }
  if (machine.jobs > 0) {
    tell_remark(fmt::format("{} other jobs are in the queue, which the simulator does not know",
                            machine.jobs));
  }
  std::unique_ptr<Host> host;
  if (options.by_sbatch) {
    host = std::make_unique<SlurmHost>(options.partition);
  } else {
    host = std::make_unique<ControllerHost>(options.live);
  }
  const std::vector<std::uint64_t> numbers =
      Player(*workload, programs, *host, options.live.json).play();
  std::vector<JobCourse> live_courses, simulated_courses;
  const Figures live = live_figures(numbers, *host, machine.nodes, live_courses);
  const Figures simulated = simulated_figures(workload, machine, options, simulated_courses);
  if (!options.live.json) {
    print_table(live, simulated);
    return;
  }
  Json json = {{"workload", workload->name},
               {"policy", machine.policy},
               {"nodes", machine.nodes},
               {"speed", options.speed},
               {"live", Json::object()},
               {"simulated", Json::object()},
               {"difference_percent", Json::object()}};
  visit_figures(live, simulated, [&](const char* key, const char*, double a, double b, int digits) {
    const auto number = [digits](double value) {
      return digits == 0 ? Json(std::llround(value)) : Json(rounded(value));
    };
    const auto difference = difference_percent(a, b);
    json["live"][key] = number(a);
    json["simulated"][key] = number(b);
    json["difference_percent"][key] = difference ? Json(rounded(*difference)) : Json();
  });
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const WorkloadJob& job = workload->jobs[i];
    const bool is_rigid = job.adaptive == WorkloadJob::kRigid;
    json["jobs"].push_back(
        {{"name", job.name},
         {"job", numbers[i]},
         {"type", word(is_rigid ? JobType::rigid : workload->adaptive[job.adaptive].type)},
         {"live", course_json(live_courses[i])},
         {"simulated", course_json(simulated_courses[i])}});
  }
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

void add_play(CLI::App& workload) {
  CLI::App& command = *workload.add_subcommand(
      "play", "submit the jobs of a workload to a controller, and compare with the simulator");
  const auto options = std::make_shared<WorkloadPlayOptions>();
  auto* file =
      command.add_option("file", options->file, "the log: .swf, plain or as .gz, .xz or .zst");
  auto* model = command
                    .add_option("--generate", options->model,
                                "instead of a log, a model; see 'workload generate --help'")
                    ->type_name("NAME[:key=value,...]")
                    ->excludes(file);
  add_log_options(command, options->log);
  add_transform_options(command, options->changes);
  command.parse_complete_callback([&command, model] {
    if (model->count() > 0) refuse_options_of_logs(command, "--generate", "a log");
  });
  command.add_option("--seed", options->seed, "of the random numbers")->capture_default_str();
  command.add_option("--speed", options->speed, "all times are so many times shorter")
      ->check(NumberRange(1e-3, 1e6))
      ->capture_default_str();
  command
      .add_option("--extra-time", options->extra_s,
                  "seconds that are added to what each job requests after that, for the start of "
                  "its processes")
      ->check(NumberRange(0, 1e6))
      ->capture_default_str();
  command
      .add_option("--command", options->commands,
                  "what jobs of a type run instead of a program that takes their time: rigid, "
                  "moldable, malleable, evolving or adaptive; once for each")
      ->type_name("TYPE=COMMAND")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("-o,--output", options->output, "file for the output of jobs, as of submit")
      ->capture_default_str();
  command.add_flag("--dry-run", options->dry_run,
                   "only print when which job would be submitted, as calls of submit");
  command
      .add_option_function<std::string>(
          "--by", [options](const std::string& who) { options->by_sbatch = who == "sbatch"; },
          "who has the jobs: a controller of ours, or Slurm itself, whose jobs keep "
          "their size [controller]")
      ->check(CLI::IsMember({"controller", "sbatch"}));
  command.add_option("--slurm-partition", options->partition, "of Slurm, with --by sbatch")
      ->type_name("NAME");
  command
      .add_option("--policy", options->policy,
                  "of the simulator's run, with --by sbatch; a controller says its own")
      ->type_name("NAME[:parameter=value,...]")
      ->capture_default_str();
  add_live_options(command, options->live, true);
  command.callback([options, &command] {
    for (const char* name : {"--slurm-partition", "--policy"}) {
      if (options->by_sbatch || command.count(name) == 0) continue;
      throw InputError({.field = name}, "is only for --by sbatch", "leave it out, or give that");
    }
    play(*options);
  });
}

}  // namespace ductile
