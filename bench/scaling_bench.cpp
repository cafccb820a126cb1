// How cost grows with jobs, nodes and waiting jobs. Prints Markdown tables, those of
// docs/performance.md; --only picks some of them, --quick leaves the largest sizes out.
//
// Reading or generating the jobs is in none of the times. Memory is what a run takes at its peak
// beyond the input (Linux only).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <malloc.h>

#include "bare_easy.hpp"
#include "base/error.hpp"
#include "common.hpp"
#include "full_machine.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"

namespace ductile {
namespace {

struct Options {
  bool quick = false;
  int repeat = 3;
};

// --- Measuring
// ---------------------------------------------------------------------------------------

/// A figure of /proc/self/status, in bytes.
std::uint64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

/// The largest memory of this process from now on is forgotten.
void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

/// By how much the process grew during a call, bytes.
template <class Call>
double growth_of(Call call) {
  forget_peak();
  const std::uint64_t before = status_bytes("VmRSS");
  call();
  const std::uint64_t peak = status_bytes("VmHWM");
  return peak > before ? static_cast<double>(peak - before) : 0;
}

SimulationSettings settings_of(Nodes nodes, const std::string& policy, bool identities) {
  SimulationSettings settings;
  settings.platform.nodes = nodes;
  settings.policy = make_policy(policy);
  settings.rules.identities = identities;
  settings.rules.check = false;
  return settings;
}

struct Cost {
  double us_per_job = 0, us_per_pass = 0;
};

/// The least of some runs.
Cost cost_of(const Workload& workload, Nodes nodes, const std::string& policy, bool identities,
             int repeat) {
  const SimulationSettings settings = settings_of(nodes, policy, identities);
  Cost least;
  for (int i = 0; i < repeat; ++i) {
    SimulationCounts counts;
    const double us = 1e6 * bench::seconds_of([&] { counts = simulate(workload, settings, {}); });
    const Cost cost{us / static_cast<double>(workload.jobs.size()),
                    us / static_cast<double>(std::max<std::uint64_t>(counts.passes, 1))};
    if (i == 0 || cost.us_per_job < least.us_per_job) least = cost;
  }
  return least;
}

double bare_us_per_job(const Workload& workload, Nodes nodes, int repeat) {
  double least = 0;
  for (int i = 0; i < repeat; ++i) {
    const double us = 1e6 * bench::seconds_of([&] { bench::bare_easy(workload.jobs, nodes); }) /
                      static_cast<double>(workload.jobs.size());
    if (i == 0 || us < least) least = us;
  }
  return least;
}

Workload rigid(std::uint64_t jobs, Nodes nodes, Nodes max_size, double load = 0.9) {
  return generate_rigid(
      {.jobs = jobs, .nodes = nodes, .max_size = std::min(max_size, nodes), .load = load}, 42);
}

std::string power_of_ten(std::uint64_t n) {
  int zeros = 0;
  for (; n % 10 == 0 && n > 1; n /= 10) ++zeros;
  return (n == 1 ? "" : std::to_string(n) + " ") + "10^" + std::to_string(zeros);
}

void row(const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) std::cout << "| " << cell << ' ';
  std::cout << '|' << std::endl;
}
void header(const std::string& title, const std::vector<std::string>& cells) {
  std::cout << "\n### " << title << "\n\n";
  row(cells);
  row(std::vector<std::string>(cells.size(), "---"));
}
std::string number(double value, int decimals = 3) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// --- The tables
// --------------------------------------------------------------------------------------

void jobs_table(const Options& options) {
  header("Jobs (500 nodes, sizes 1 to 64, load 0.9)",
         {"jobs", "bare loop, us/job", "easy, us/job", "easy with identities, us/job",
          "memory, bytes/job", "with the summary, bytes/job"});
  for (const std::uint64_t jobs : {10'000, 100'000, 1'000'000, 10'000'000}) {
    if (options.quick && jobs > 1'000'000) continue;
    const Workload workload = rigid(jobs, 500, 64);
    // Small ones are over in a moment: more often.
    const int repeat = options.repeat * (jobs <= 100'000 ? 5 : 1);
    const SimulationSettings settings = settings_of(500, "easy", false);
    const auto each = static_cast<double>(jobs);
    const double alone = growth_of([&] { simulate(workload, settings, {}); });
    const double observed = growth_of([&] {
      SummaryObserver observer(workload);
      Observer* const observers[] = {&observer};
      observer.summary(workload, settings, simulate(workload, settings, observers));
    });
    row({power_of_ten(jobs), number(bare_us_per_job(workload, 500, repeat)),
         number(cost_of(workload, 500, "easy", false, repeat).us_per_job),
         number(cost_of(workload, 500, "easy", true, repeat).us_per_job), number(alone / each, 1),
         number(observed / each, 1)});
  }
}

void nodes_table(const Options& options) {
  header("Nodes (10^6 jobs, load 0.9)",
         {"nodes", "sizes", "bare loop, us/job", "easy, us/job", "easy with identities, us/job"});
  const std::uint64_t jobs = options.quick ? 200'000 : 1'000'000;
  const auto measure = [&](Nodes nodes, Nodes max_size) {
    const Workload workload = rigid(jobs, nodes, max_size);
    row({power_of_ten(nodes), "1 to " + std::to_string(max_size),
         number(bare_us_per_job(workload, nodes, options.repeat)),
         number(cost_of(workload, nodes, "easy", false, options.repeat).us_per_job),
         number(cost_of(workload, nodes, "easy", true, options.repeat).us_per_job)});
  };
  // The same jobs on larger machines run side by side in growing numbers: 60 to 60,000.
  for (const Nodes nodes : {1'000, 10'000, 100'000, 1'000'000}) measure(nodes, 64);
  for (const Nodes nodes : {1'000, 10'000, 100'000, 1'000'000}) {
    measure(nodes, std::min<Nodes>(1024, nodes));
  }
  // Jobs that grow with the machine: as many run side by side on all.
  for (const Nodes nodes : {10'000, 100'000, 1'000'000}) measure(nodes, nodes / 8);
}

void queue_table(const Options& options) {
  header("A queue of up to 100,000 waiting jobs (500 nodes, load 1.5, 3 10^5 jobs)",
         {"policy", "us/job", "us/pass"});
  const Workload workload = rigid(options.quick ? 60'000 : 300'000, 500, 64, 1.5);
  for (const std::string policy : {"fcfs", "easy", "backfill:depth=5", "backfill:depth=50",
                                   "easy:order=sjf", "easy:order=smallest"}) {
    const Cost cost = cost_of(workload, 500, policy, false, std::min(options.repeat, 2));
    row({policy, number(cost.us_per_job), number(cost.us_per_pass)});
  }
}

void passes_table(const Options& options) {
  header("One pass (500 nodes full, a job ended early)",
         {"policy", "waiting jobs", "first pass, ms", "later passes, ms",
          "us per waiting job of a later pass"});
  const std::vector<std::pair<std::string, std::vector<std::uint32_t>>> cases = {
      {"conservative", {1'000, 3'000, 10'000, 30'000}},
      {"easy", {1'000, 10'000, 100'000}},
      {"easy:order=area", {1'000, 10'000, 100'000}},
      {"tide", {1'000, 10'000, 100'000}},
      {"backfill:depth=5", {1'000, 10'000, 100'000}},
      {"backfill:depth=100", {1'000, 10'000, 100'000}},
  };
  for (const auto& [policy, sizes] : cases) {
    for (const std::uint32_t waiting : sizes) {
      if (options.quick && waiting > 10'000) continue;
      std::vector<double> first_s, later_s;
      for (int i = 0; i < options.repeat; ++i) {
        bench::FullMachine machine(policy, {.waiting = waiting});
        first_s.push_back(machine.passes().front());
        for (int pass = 0; pass < 20; ++pass) later_s.push_back(machine.passes().front());
      }
      const double first = *std::ranges::min_element(first_s), later = bench::median(later_s);
      row({policy, std::to_string(waiting), number(first * 1e3), number(later * 1e3),
           number(later * 1e6 / waiting)});
    }
  }
}

int main(int argc, char** argv) {
  CLI::App app("How cost grows with jobs, nodes and waiting jobs: Markdown tables");
  Options options;
  const std::vector<std::pair<std::string, std::function<void(const Options&)>>> tables = {
      {"jobs", jobs_table},
      {"nodes", nodes_table},
      {"queue", queue_table},
      {"passes", passes_table}};
  std::vector<std::string> only;
  app.add_option("--only", only, "some of the tables: jobs, nodes, queue, passes")
      ->delimiter(',')
      ->check(CLI::IsMember({"jobs", "nodes", "queue", "passes"}));
  app.add_flag("--quick", options.quick, "not the largest sizes");
  app.add_option("--repeat", options.repeat, "runs of each, of which the best counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  for (const auto& [name, table] : tables) {
    if (only.empty() || std::ranges::find(only, name) != only.end()) table(options);
  }
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
