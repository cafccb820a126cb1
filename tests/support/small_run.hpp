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

inline SimulationSettings small_settings() {
  SimulationSettings settings;
  settings.platform.nodes = 4;
  settings.policy = make_policy("easy");
  settings.rules.identities = true;
  return settings;
}

/// Runs it; the summary says what `observers` saw.
inline Summary small_run(const Workload& workload, const SimulationSettings& settings,
                         std::vector<Observer*> observers) {
  SummaryObserver figures(workload);
  observers.push_back(&figures);
  const SimulationCounts counts = simulate(workload, settings, observers);
  return figures.summary(workload, settings, counts);
}

}  // namespace ductile
