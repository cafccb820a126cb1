// Makes the figures of a run while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "metrics/summary.hpp"
#include "simulation/observer.hpp"
#include "simulation/simulation.hpp"

namespace ductile {

/// One `Summary` of one run. Cheap enough to be on in every run.
class SummaryObserver final : public Observer {
 public:
  explicit SummaryObserver(const Workload& workload) { figures_.reserve(workload.jobs.size()); }

  void on_decision(Time, const Decision& decision, const Core&) override {
    switch (decision.kind) {
      case Decision::Kind::start:
        summary_.backfilled += decision.reason.why == Why::backfilled ? 1 : 0;
        break;
      case Decision::Kind::resize:
        summary_.evolving_granted += decision.request == RequestId::none ? 0 : 1;
        break;
      case Decision::Kind::deny:
        ++summary_.evolving_denied;
        break;
      default:
        break;
    }
  }

  void on_resized(Time, JobId id, Nodes before, const Core& core) override {
    const Nodes after = core.job(id).size();
    summary_.expands += after > before ? 1 : 0;
    summary_.shrinks += after < before ? 1 : 0;
  }

  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override {
    if (requeued) {
      ++summary_.requeued;
      return;
    }
    // The record of a job that never ran may be gone.
    const bool known = core.state().jobs.contains(id);
    if (known && core.job(id).delayed > Duration{}) delayed(core.job(id));
    const bool ran = known && core.job(id).status == Status::running;
    if (!ran) {
      ++summary_.rejected;
      return;
    }
    figures_.add(job.submit, core.job(id).started, now, job.runtime, state != EndState::completed);
    if (state == EndState::completed) work_node_s_ += to_seconds(job.runtime) * job.nodes;
  }

  void on_finish(Time now, const Core&) override { finished_ = now; }

  /// After the run; once. What measures the machine is left to the caller.
  Summary summary(const Workload& workload, const SimulationSettings& settings,
                  const SimulationCounts& counts) {
    Summary& s = summary_;
    figures_.write(s);
    s.policy = settings.policy->settings;
    s.seed = settings.rules.seed;
    s.skipped = workload.skipped.total();
    s.nodes = settings.platform.nodes;
    s.jobs_left = counts.jobs_left;
    s.stopped = counts.stopped;
    s.events = counts.events;
    s.passes = counts.passes;
    for (const auto& [user, delay] : delays_) s.delays.push_back(delay);
    s.reconfiguration_node_s = counts.reconfiguration_node_s;
    const Time end = counts.stopped ? finished_ : counts.last_end;
    s.makespan_s = to_seconds(end - counts.first_submit);
    if (s.makespan_s > 0) {
      const double machine_node_s = s.makespan_s * static_cast<double>(s.nodes);
      s.utilization = counts.held_node_s / machine_node_s;
      s.utilization_net = (counts.held_node_s - counts.reconfiguration_node_s) / machine_node_s;
      s.efficiency = work_node_s_ / machine_node_s;
      s.throughput_jobs_h = static_cast<double>(s.jobs) / (s.makespan_s / 3600);
    }
    return s;
  }

 private:
  void delayed(const Job& job) {
    UserDelay& user = delays_[job.spec.user];
    user.user = job.spec.user;
    ++user.jobs;
    user.delay_s += to_seconds(job.delayed);
  }

  JobFigures figures_;
  std::map<std::uint32_t, UserDelay> delays_;
  Summary summary_;
  double work_node_s_ = 0;  // of completed jobs, at the sizes they asked for
  Time finished_{};
};

}  // namespace ductile
