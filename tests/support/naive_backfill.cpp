#include "support/naive_backfill.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace ductile::naive {
namespace {

struct Running {
  Nodes nodes;
  Time expected_end, end;
};

struct Machine {
  Time now{};
  Nodes free = 0;
  std::vector<WorkloadJob> jobs;
  std::vector<std::size_t> queue;  // positions in `jobs`, in queue order
  std::vector<Running> running;
  std::vector<JobTimes> runs;

  /// Starts the job at queue[i].
  void start(std::size_t i) {
    const std::size_t position = queue[i];
    const WorkloadJob& job = jobs[position];
    const Time end = now + std::min(job.runtime, job.walltime);
    running.push_back({job.nodes, now + job.walltime, end});
    runs[position] = {now, end};
    free -= job.nodes;
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
  }

  Nodes need(std::size_t i) const { return jobs[queue[i]].nodes; }
  Duration walltime(std::size_t i) const { return jobs[queue[i]].walltime; }
};

using Pass = std::function<void(Machine&)>;

/// `clock`: periods, at whose multiples there are passes as well.
std::vector<JobTimes> simulate(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                               const Options& options, const Pass& pass,
                               const std::vector<Duration>& clock = {}) {
  Machine machine;
  machine.free = nodes;
  machine.jobs = jobs;
  machine.runs.resize(jobs.size());
  for (WorkloadJob& job : machine.jobs) {
    if (job.nodes > nodes) throw std::invalid_argument("a job is larger than the machine");
    if (!options.kill) job.walltime = std::max(job.walltime, job.runtime);
  }
  const auto before = [&](std::size_t a, std::size_t b) {
    return options.before(machine.jobs[a], machine.jobs[b]);
  };

  std::size_t next = 0;  // to be submitted
  while (next < jobs.size() || !machine.running.empty()) {
    Time now = next < jobs.size() ? jobs[next].submit : kNever;
    for (const Running& job : machine.running) now = std::min(now, job.end);
    for (const Duration period : clock) {
      if (period == Duration{}) continue;
      const auto past = machine.now.time_since_epoch() / period;
      now = std::min(now, Time{(past + 1) * period});
    }
    machine.now = now;

    std::erase_if(machine.running, [&](const Running& job) {
      if (job.end != now) return false;
      machine.free += job.nodes;
      return true;
    });
    for (; next < jobs.size() && jobs[next].submit == now; ++next) {
      auto& queue = machine.queue;
      queue.insert(std::upper_bound(queue.begin(), queue.end(), next, before), next);
    }
    pass(machine);
  }
  return machine.runs;
}

void start_in_order(Machine& machine) {
  while (!machine.queue.empty() && machine.need(0) <= machine.free) machine.start(0);
}

void easy_pass(Machine& machine) {
  start_in_order(machine);
  if (machine.queue.empty()) return;

  std::vector<Running> releases = machine.running;
  std::sort(releases.begin(), releases.end(),
            [](const Running& a, const Running& b) { return a.expected_end < b.expected_end; });
  Time shadow{};
  Nodes available = machine.free;
  for (std::size_t i = 0; i < releases.size() && available < machine.need(0);) {
    shadow = releases[i].expected_end;
    for (; i < releases.size() && releases[i].expected_end == shadow; ++i) {
      available += releases[i].nodes;
    }
  }
  Nodes extra = available - machine.need(0);

  for (std::size_t i = 1; i < machine.queue.size();) {
    const Nodes need = machine.need(i);
    const bool in_time = machine.now + machine.walltime(i) <= shadow;
    if (need <= machine.free && (in_time || need <= extra)) {
      if (!in_time) extra -= need;
      machine.start(i);
    } else {
      ++i;
    }
  }
}

/// How many nodes will be free when: a step function.
class Profile {
 public:
  explicit Profile(const Machine& machine) : steps_{{machine.now, machine.free}} {
    for (const Running& job : machine.running) {
      for (std::size_t i = at(job.expected_end); i < steps_.size(); ++i) {
        steps_[i].free += job.nodes;
      }
    }
  }

  /// Are there `need` nodes from now on for `duration`?
  bool fits_now(Duration duration, Nodes need) const {
    const Time end = steps_[0].time + duration;
    for (const Step& step : steps_) {
      if (step.time >= end) break;
      if (step.free < need) return false;
    }
    return true;
  }

  /// The earliest time from `from` on with `need` nodes for `duration`; it is `from` or a step.
  Time earliest(Duration duration, Nodes need, Time from = Time::min()) const {
    Time start = std::max(from, steps_[0].time);
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
      const Time next = steps_[i + 1].time;
      if (next <= start) continue;
      if (steps_[i].free < need) start = next;
      if (start + duration <= next) break;
    }
    return start;  // after the last step all nodes are free
  }

  void reserve(Time from, Duration duration, Nodes need) {
    const std::size_t begin = at(from);
    const std::size_t end = at(from + duration);
    for (std::size_t i = begin; i < end; ++i) steps_[i].free -= need;
  }

 private:
  struct Step {
    Time time;
    std::int64_t free;  // from `time` to the next step
  };

  /// The step that begins at `time`, made if there is none.
  std::size_t at(Time time) {
    const auto later =
        std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) { return s.time >= time; });
    const auto i = static_cast<std::size_t>(later - steps_.begin());
    if (later == steps_.end() || later->time != time) {
      steps_.insert(later, Step{time, steps_[i - 1].free});
    }
    return i;
  }

  std::vector<Step> steps_;
};

void backfill_pass(Machine& machine, std::size_t reservations) {
  Profile profile(machine);
  std::size_t reserved = 0;
  for (std::size_t i = 0; i < machine.queue.size();) {
    const Nodes need = machine.need(i);
    const Duration walltime = machine.walltime(i);
    if (need <= machine.free && profile.fits_now(walltime, need)) {
      profile.reserve(machine.now, walltime, need);
      machine.start(i);
      continue;
    }
    if (reserved < reservations) {
      profile.reserve(profile.earliest(walltime, need), walltime, need);
      ++reserved;
    }
    ++i;
  }
}

bool is_multiple(Time time, Duration period) {
  return period > Duration{} && time.time_since_epoch() % period == Duration{};
}

void slurm_pass(Machine& machine, const SlurmOptions& how) {
  std::size_t looked = 0;
  const bool all = is_multiple(machine.now, how.sched_interval);
  while (!machine.queue.empty() && machine.need(0) <= machine.free &&
         (all || looked < how.default_queue_depth)) {
    machine.start(0);
    ++looked;
  }
  if (!is_multiple(machine.now, how.bf_interval)) return;

  const auto planned_end = [&](Time end) {
    if (how.bf_resolution == Duration{}) return end;
    return Time{(end.time_since_epoch() / how.bf_resolution + 1) * how.bf_resolution};
  };
  Profile profile(machine);
  std::size_t i = 0;
  for (std::size_t tested = 0; i < machine.queue.size() && tested < how.bf_max_job_test; ++tested) {
    const Nodes need = machine.need(i);
    const Duration walltime = machine.walltime(i);
    const Duration length = planned_end(machine.now + walltime) - machine.now;
    if (need <= machine.free && profile.fits_now(length, need)) {
      profile.reserve(machine.now, walltime, need);
      machine.start(i);
      continue;
    }
    // Until its end, rounded up, nobody else has these nodes.
    Duration planned = length;
    Time at = profile.earliest(planned, need);
    while (planned_end(at + walltime) - at > planned) {
      planned = planned_end(at + walltime) - at;
      at = profile.earliest(planned, need, at);
    }
    const bool is_planned = how.bf_window == Duration{} || at - machine.now <= how.bf_window;
    if (is_planned) profile.reserve(at, planned_end(at + walltime) - at, need);
    ++i;
  }
}

}  // namespace

bool fcfs_order(const WorkloadJob&, const WorkloadJob&) { return false; }
bool sjf_order(const WorkloadJob& a, const WorkloadJob& b) { return a.walltime < b.walltime; }
bool ljf_order(const WorkloadJob& a, const WorkloadJob& b) { return a.walltime > b.walltime; }
bool smallest_order(const WorkloadJob& a, const WorkloadJob& b) { return a.nodes < b.nodes; }
bool largest_order(const WorkloadJob& a, const WorkloadJob& b) { return a.nodes > b.nodes; }

std::vector<JobTimes> fcfs(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                           const Options& options) {
  return simulate(jobs, nodes, options, start_in_order);
}

std::vector<JobTimes> easy(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                           const Options& options) {
  return simulate(jobs, nodes, options, easy_pass);
}

std::vector<JobTimes> backfill(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                               std::size_t reservations, const Options& options) {
  return simulate(jobs, nodes, options,
                  [&](Machine& machine) { backfill_pass(machine, reservations); });
}

std::vector<JobTimes> slurm(const std::vector<WorkloadJob>& jobs, Nodes nodes,
                            const SlurmOptions& how, const Options& options) {
  return simulate(jobs, nodes, options, [&](Machine& machine) { slurm_pass(machine, how); },
                  {how.sched_interval, how.bf_interval});
}

}  // namespace ductile::naive
