// ductile simulate
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/ids.hpp"
#include "experiment/reproduction.hpp"
#include "metrics/summary.hpp"
#include "policies/registry.hpp"
#include "simulation/observer.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// Adds the command; it runs, and prints to the standard output, when `app` is parsed. It throws
/// InputError, RunError and Stopped.
void add_simulate_command(CLI::App& app, const Registry& registry);

// For who has no command line. Options are written as "--name=value". They throw the same, and
// CLI::ParseError.

/// A workload, and the machine for which it was read or made.
struct ReadyWorkload {
  std::shared_ptr<Workload> workload;
  Nodes nodes = 0;
  std::uint32_t cores_per_node = 1;
  std::optional<std::int64_t> unix_start_time{};  // of time 0
};

/// The workload of the options of `simulate` that say one: where it is read from, or how it is
/// made, and what is changed in it.
ReadyWorkload ready_workload(std::vector<std::string> options);

/// One run, of one policy and one seed. Nothing is printed.
struct CalledRun {
  std::vector<std::string> options{};
  const ReadyWorkload* workload = nullptr;  // or else the options name one
  Observer* observer = nullptr;             // sees the run besides
  const std::atomic<bool>* stop = nullptr;  // asked now and then; there must be one
  std::function<void()> progress{};         // called now and then
};
Summary simulate_called(const CalledRun& run, const Registry& registry);

/// All runs of an experiment file, under options that go before its own. What is over in the folder
/// of --out is kept there, and not run again; there are no other files. Nothing is printed but the
/// line of progress and remarks. If it is said which statements are wanted, of the runs that these
/// are about alone.
Reproduced simulate_for_page(const std::string& experiment, std::vector<std::string> options,
                             const Registry& registry,
                             const std::function<bool(const Statement&)>& is_wanted = {});

}  // namespace ductile
