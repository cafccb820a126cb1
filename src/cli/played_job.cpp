#include "cli/played_job.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "simulation/course.hpp"
#include "workload/transform.hpp"

namespace ductile {
namespace {

const AdaptiveJob* row_of(const Workload& workload, const WorkloadJob& job) {
  return job.adaptive == WorkloadJob::kRigid ? nullptr : &workload.adaptive[job.adaptive];
}

JobType type_of(const AdaptiveJob* more) { return more == nullptr ? JobType::rigid : more->type; }

Nodes fewest_nodes(const WorkloadJob& job, const AdaptiveJob* more) {
  return sizes_at_start(type_of(more)) ? more->believed.constraint.at_least(more->size.min)
                                       : job.nodes;
}

// "12.5,6.25": the true run time at each of its sizes.
std::string times_text(const WorkloadJob& job, const AdaptiveJob& more) {
  const Course course(job, more);
  std::string text;
  for (Nodes size = more.size.min; size <= more.size.max; ++size) {
    const Time end = course.when(Time{}, course.total(), 0, size);
    text += fmt::format("{}{}", text.empty() ? "" : ",", to_seconds(end));
  }
  return text;
}

std::string request_text(const EvolvingStep& step) {
  return fmt::format("{}:{}:{}{}", step.progress, step.delta, step.at_least,
                     step.if_denied ? ":again" : "");
}

// Sleeps for the time of the size at which it was started.
std::vector<std::string> sleep_of(const WorkloadJob& job, const AdaptiveJob* more) {
  if (type_of(more) == JobType::rigid) {
    return {find_program("sleep"), fmt::format("{}", to_seconds(job.runtime))};
  }
  return {find_program("sh"), "-c",
          fmt::format("IFS=,; set -- $0; shift $((DUCTILE_JOB_NUM_NODES - {})); exec sleep $1",
                      more->size.min),
          times_text(job, *more)};
}

}  // namespace

std::size_t prepare_to_play(Workload& workload, Nodes nodes, double speed, Duration extra) {
  const Decimal factor(1 / speed);
  transform(workload, {.arrival_scale = factor, .speed_factor = factor}, 0, 1);
  const Duration first = workload.jobs.empty() ? Duration{} : workload.jobs.front().submit - Time{};
  for (WorkloadJob& job : workload.jobs) {
    job.submit -= first;
    job.walltime += extra;
    job.user = job.group = 1;
  }
  std::size_t barriers = 0;
  for (AdaptiveJob& more : workload.adaptive) {
    barriers += more.barrier ? 1 : 0;
    more.barrier = false;
    more.size.max = std::min(more.size.max, nodes);
  }
  return barriers;
}

void check_can_be_played(const Workload& workload, Nodes nodes) {
  std::uint64_t count = 0;
  const WorkloadJob* first = nullptr;
  const auto refuse = [&](const std::string& what, const char* remedy) {
    if (count == 0) return;
    throw InputError(fmt::format("{} {}, the first is job {}", count, what, first->name), remedy);
  };
  const auto look_for = [&](const auto& is_so) {
    count = 0;
    for (const WorkloadJob& job : workload.jobs) {
      if (is_so(job) && count++ == 0) first = &job;
    }
  };
  look_for(
      [&](const WorkloadJob& job) { return fewest_nodes(job, row_of(workload, job)) > nodes; });
  refuse(fmt::format("of {} jobs need more than the {} nodes that there are", workload.jobs.size(),
                     nodes),
         "leave them out by --max-size or --nodes, or give --nodes and --clip");
  look_for([&](const WorkloadJob& job) {
    const AdaptiveJob* const more = row_of(workload, job);
    return job.where != 0 || (more != nullptr && more->asked != 0);
  });
  refuse("jobs say on which nodes they may run, and the workload is played on any",
         "give --adaptive without that");
  look_for([&](const WorkloadJob& job) {
    const AdaptiveJob* const more = row_of(workload, job);
    return more != nullptr && std::ranges::any_of(more->steps, [](const EvolvingStep& step) {
             return step.saves != 0 || step.iterations != 0 || step.wanted != SharedList<Nodes>{};
           });
  });
  refuse("jobs ask for nodes in a way that only the simulator knows",
         "leave saves away from their requests");
  if (!workload.precedences.empty()) {
    throw InputError(fmt::format("dependencies of {} jobs", workload.precedences.size()) +
                         " are for the simulator: jobs are played at their times",
                     "leave them away, or give --adaptive none");
  }
}

Submission played(const Workload& workload, const WorkloadJob& job,
                  const PlayedPrograms& programs) {
  const AdaptiveJob* const more = row_of(workload, job);
  const JobType type = type_of(more);
  const auto& command = programs.commands[static_cast<std::size_t>(type)];
  Submission s = command.value_or(programs.caller);
  if (command) {
    s.environment.push_back(fmt::format("PLAY_JOB={}", job.name));
    s.environment.push_back(fmt::format("PLAY_NODES={}", job.nodes));
    s.environment.push_back(fmt::format("PLAY_RUNTIME_S={}", to_seconds(job.runtime)));
  } else if (type == JobType::rigid || type == JobType::moldable) {
    s.program = sleep_of(job, more);
  } else {
    s.program = {programs.timed, fmt::format("{}", more->size.min), times_text(job, *more)};
    for (const EvolvingStep& step : more->steps) s.program.push_back(request_text(step));
    s.mpi = programs.mpi;
    s.tasks_per_node = 1;
  }
  s.name = fmt::format("job-{}", job.name);
  s.type = type;
  s.nodes = job.nodes;
  s.walltime = job.walltime;
  if (more == nullptr) return s;
  s.priority = more->priority;
  if (more->account != 0) s.account = workload.accounts[more->account - 1];
  if (type == JobType::rigid) return s;
  s.min = more->size.min;
  s.max = more->size.max;
  s.model = more->believed.speedup;
  s.sizes = more->believed.constraint;
  return s;
}

std::string submit_line(const Submission& s) {
  std::string line = fmt::format("ductile submit -J {} --type {} -N {}", shell_word(s.name),
                                 word(s.type), s.nodes);
  const auto add = [&](bool is_given, const char* option, const auto& value) {
    if (is_given) line += fmt::format(" {} {}", option, value);
  };
  add(s.min != 0, "--min-nodes", s.min);
  add(s.max != 0, "--max-nodes", s.max);
  add(true, "-t", limit_text(seconds(std::ceil(to_seconds(s.walltime)))));
  add(s.tasks_per_node != 0, "--ntasks-per-node", s.tasks_per_node);
  add(s.priority != 0, "--priority", s.priority);
  add(!s.account.empty(), "-A", s.account);
  add(s.model != Speedup{}, "--model", shell_word(to_text(s.model)));
  add(s.sizes != SizeConstraint{}, "--sizes", shell_word(to_text(s.sizes)));
  add(!s.output.empty(), "-o", shell_word(s.output));
  if (s.script.empty()) {
    add(true, "--mpi", kMpiWords[static_cast<std::size_t>(s.mpi)]);
    line += " --";
  }
  for (const std::string& each : s.program) line += " " + shell_word(each);
  return line;
}

}  // namespace ductile
