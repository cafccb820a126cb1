// A run of three jobs that can be followed by hand, for tests of what watches runs.
#pragma once

#include <vector>

#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"

namespace ductile {

/// On 4 nodes under EASY: job 1 runs on 3 nodes from 0 to 10, job 3 is backfilled on the last one
/// from 2 to 10, job 2 waits from 1 until all nodes are free and runs from 10 to 15.
inline Workload small_workload() {
  const auto job = [](std::uint64_t name, int submit_s, int run_s, Nodes nodes) {
    WorkloadJob result;
    result.name = name;
    result.submit = Time{whole_seconds(submit_s)};
    result.runtime = result.walltime = whole_seconds(run_s);
    result.nodes = nodes;
    result.user = 7;
    return result;
  };
  Workload workload;
  workload.name = "small";
  workload.jobs = {job(1, 0, 10, 3), job(2, 1, 5, 4), job(3, 2, 8, 1)};
  return workload;
}

/// On 4 nodes under `mebf` with its eagerest settings: malleable job 1 runs on 2 nodes from 0;
/// rigid job 2 on the other two from 4 to 8; then job 1 grows to all of them and ends at 14.
inline Workload small_resizing_workload() {
  Workload workload = small_workload();
  workload.jobs.resize(2);
  WorkloadJob& grows = workload.jobs[0];
  grows.nodes = 2;
  grows.runtime = grows.walltime = whole_seconds(20);
  grows.adaptive = 0;
  AdaptiveJob more;
  more.size = {1, 4};
  workload.adaptive.push_back(more);
  WorkloadJob& passes = workload.jobs[1];
  passes.submit = Time{whole_seconds(4)};
  passes.nodes = 2;
  passes.runtime = passes.walltime = whole_seconds(4);
  return workload;
}

constexpr const char* kSmallResizingPolicy = "mebf:expand=intensive,tick=0";

/// Two nodes of 8 cores under `sd`: job 1 has both from 0; job 2 is a guest on both from 10, with
/// half of the cores, until 14; job 1 ends at 102.
inline Workload small_sharing_workload() {
  Workload workload = small_workload();
  workload.jobs.resize(2);
  workload.adaptive.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    WorkloadJob& job = workload.jobs[i];
    job.submit = Time{whole_seconds(10 * i)};
    job.runtime = job.walltime = whole_seconds(i == 0 ? 100 : 2);
    job.nodes = 2;
    job.adaptive = i;
    workload.adaptive[i].type = JobType::malleable;
    workload.adaptive[i].size = {2, 2};
  }
  return workload;
}

inline SimulationSettings small_settings() {
  SimulationSettings settings;
  settings.platform.nodes = 4;
  settings.policy = make_policy("easy");
  settings.rules.identities = true;
  return settings;
}

inline SimulationSettings small_sharing_settings() {
  SimulationSettings settings = small_settings();
  settings.platform.nodes = 2;
  settings.platform.cores_per_node = 8;
  settings.policy = make_policy("sd");
  return settings;
}

/// Runs it; the summary says what `observers` saw.
inline Summary small_run(const Workload& workload, const SimulationSettings& settings,
                         std::vector<Observer*> observers) {
  SummaryObserver figures(workload, {settings.corridor, settings.violation_grace});
  observers.push_back(&figures);
  const SimulationCounts counts = simulate(workload, settings, observers);
  return figures.summary(workload, settings, counts);
}

}  // namespace ductile
