// The core under EASY on machines of one cell and of several, on the same jobs, in one process,
// taking turns.
//
//   cells_bench --generate 100000,512 --repeat 5
//
// prints a Markdown table: microseconds of each job, and how many times as long as with one cell;
// those of docs/performance.md. Which nodes a job has is known in all of them. Cells that all jobs
// may use are equally fast, or differ in speed, by a millionth each, so that jobs take as long as
// elsewhere: then it matters to a plan of which cells nodes are. Jobs are asked for
// in the partitions in turn, and are no larger than half of one; so that queues are as long as with
// one cell, compare machines of as many lanes.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "common.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"

namespace ductile {
namespace {

struct Machine {
  std::string name;
  std::uint32_t classes = 0;
  std::uint32_t lanes = 1;  // partitions; each has a share of the classes, and some of the next one
  bool speeds_differ = false;
};

Platform platform_of(const Machine& machine, Nodes nodes) {
  Platform platform{.nodes = nodes};
  const auto at = [&](std::uint32_t i) { return nodes * i / machine.classes; };
  for (std::uint32_t i = 0; i < machine.classes; ++i) {
    NodeClass each{.name = "c" + std::to_string(i)};
    if (machine.speeds_differ) each.speed = 1 + 1e-6 * i;
    each.nodes.insert(at(i), at(i + 1) - 1);
    platform.classes.push_back(each);
  }
  if (machine.lanes == 1) return platform;
  const std::uint32_t share = machine.classes / machine.lanes;
  for (std::uint32_t p = 0; p < machine.lanes; ++p) {
    Partition each{.name = "p" + std::to_string(p)};
    for (std::uint32_t i = 0; i < share + (share + 1) / 2; ++i) {
      each.nodes.insert(platform.classes[(p * share + i) % machine.classes].nodes);
    }
    platform.partitions.push_back(each);
  }
  return platform;
}

struct Counts {
  std::uint64_t passes = 0, waiting = 0;
};

/// The core, told of submissions and ends, and nothing else.
Counts run(const Workload& workload, const Platform& platform, const std::string& name) {
  const auto policy = make_policy(name);
  Core core(platform, {}, {.identities = true, .check = false}, policy->traits);
  const std::size_t lanes = std::max<std::size_t>(platform.partitions.size(), 1);
  std::vector<std::shared_ptr<const Where>> where;
  for (std::size_t i = 0; i < lanes; ++i) {
    where.push_back(
        i == 0 ? nullptr
               : std::make_shared<const Where>(Where{.partitions = std::uint64_t{1} << i}));
  }
  const Nodes most = lanes == 1 ? platform.nodes
                                : static_cast<Nodes>(platform.partitions.front().nodes.count() / 2);
  using End = std::pair<Time, JobId>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Counts counts;
  std::size_t next = 0;
  while (next < workload.jobs.size() || !ends.empty()) {
    Time now = next < workload.jobs.size() ? workload.jobs[next].submit : kNever;
    if (!ends.empty()) now = std::min(now, ends.top().first);
    for (; !ends.empty() && ends.top().first == now; ends.pop()) {
      core.apply(now, event::Ended{ends.top().second, EndState::completed, false});
    }
    for (; next < workload.jobs.size() && workload.jobs[next].submit == now; ++next) {
      const WorkloadJob& job = workload.jobs[next];
      JobSpec spec{.name = next + 1, .submitted = now};
      spec.walltime = job.walltime;
      spec.preferred = std::min(job.nodes, most);
      spec.size = exactly(spec.preferred);
      core.apply(now, event::Submitted{spec, std::nullopt, where[next % lanes]});
    }
    for (const Decision& decision : core.close(now, *policy)) {
      if (decision.kind != Decision::Kind::start) continue;
      const WorkloadJob& job = workload.jobs[index(decision.job)];
      ends.emplace(now + std::min(job.runtime, job.walltime), decision.job);
    }
    ++counts.passes;
    counts.waiting += core.state().queue.size();
  }
  return counts;
}

int main(int argc, char** argv) {
  CLI::App app("EASY on machines of one cell and of several: a Markdown table");
  bench::Input input;
  input.add_to(app);
  int repeat = 5;
  std::string policy = "easy";
  std::vector<std::string> only;
  app.add_option("--repeat", repeat, "rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--policy", policy, "as the simulator takes it")->capture_default_str();
  app.add_option("--only", only, "some of the machines, as CELLS:LANES, such as 1:1, 32:1:speeds");
  CLI11_PARSE(app, argc, argv);
  try {
    const Workload workload = input.read();
    std::vector<Machine> machines;
    for (Machine machine : {Machine{"", 1, 1},
                            {"", 4, 1},
                            {"", 4, 1, true},
                            {"", 4, 2},
                            {"", 32, 1},
                            {"", 32, 1, true},
                            {"", 32, 8}}) {
      machine.name = std::to_string(machine.classes) + ":" + std::to_string(machine.lanes) +
                     (machine.speeds_differ ? ":speeds" : "");
      if (!only.empty() && std::ranges::find(only, machine.name) == only.end()) continue;
      machines.push_back(machine);
    }
    std::vector<double> least(machines.size(), 1e300);
    std::vector<Counts> counts(machines.size());
    for (int i = 0; i < repeat; ++i) {
      for (std::size_t m = 0; m < machines.size(); ++m) {
        const Platform platform = platform_of(machines[m], input.nodes());
        least[m] = std::min(
            least[m], bench::seconds_of([&] { counts[m] = run(workload, platform, policy); }));
      }
    }
    std::cout
        << "| cells | lanes | speeds | us/job | times one cell | waiting jobs, mean of passes |\n"
           "|---|---|---|---|---|---|\n";
    for (std::size_t m = 0; m < machines.size(); ++m) {
      const double us = 1e6 * least[m] / static_cast<double>(workload.jobs.size());
      std::printf("| %u | %u | %s | %.2f | %.2f | %.1f |\n", machines[m].classes, machines[m].lanes,
                  machines[m].speeds_differ ? "differ" : "equal", us, least[m] / least[0],
                  static_cast<double>(counts[m].waiting) / static_cast<double>(counts[m].passes));
    }
  } catch (const InputError& error) {
    std::cerr << "cells_bench: " << error.what() << '\n';
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
