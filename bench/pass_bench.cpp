// How long a live controller's passes are: every policy on a full machine with a long queue of jobs
// of all types.
//
//   pass_bench                   1,000 running and 10,000 waiting jobs, all policies
//   pass_bench --policy conservative --budget 0 --waiting 30000
//   pass_bench --policy elastic --types malleable --waiting-from 33 --nodes 500 --simulated
//
// prints a line of JSON for each policy: its first pass, which sees all jobs for the first time,
// the median of the later ones, and the longest of all. The same instants are gone through several
// times, and of each pass the shortest time counts: what other work on the machine adds is no
// pass's own.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "full_machine.hpp"

namespace ductile {
namespace {

struct Options : bench::FullMachineOptions {
  bool simulated = false;
  int instants = 100;
  int repeat = 5;
};

void measure(const std::string& policy, const Options& options) {
  std::vector<double> least_s;
  std::size_t running = 0, waiting = 0;
  bool cut_short = false;
  for (int round = 0; round < options.repeat; ++round) {
    bench::FullMachine machine(policy, options.machine);
    running = machine.running();
    waiting = machine.waiting();
    std::vector<double> times_s;
    for (int i = 0; i < options.instants; ++i) {
      const std::vector<double> more = machine.passes();
      times_s.insert(times_s.end(), more.begin(), more.end());
    }
    if (round == 0) least_s = times_s;
    for (std::size_t i = 0; i < times_s.size(); ++i) least_s[i] = std::min(least_s[i], times_s[i]);
    cut_short = machine.was_cut_short();
  }
  nlohmann::ordered_json line;
  line["policy"] = policy;
  line["running"] = running;
  line["waiting"] = waiting;
  line["passes"] = least_s.size();
  line["first_ms"] = least_s.front() * 1e3;
  const double all_s = std::accumulate(least_s.begin(), least_s.end(), 0.0);
  line["mean_ms"] = all_s * 1e3 / static_cast<double>(least_s.size());
  line["median_ms"] = bench::median(least_s) * 1e3;
  line["longest_ms"] = *std::ranges::max_element(least_s) * 1e3;
  line["cut_short"] = cut_short;
  std::cout << line.dump() << std::endl;
}

int main(int argc, char** argv) {
  CLI::App app("The passes of a live controller");
  Options options;
  options.add_to(app);
  bench::FullMachineSettings& machine = options.machine;
  machine.busy = true;
  app.add_option("--waiting-from", machine.waiting_from, "their least size")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--budget", machine.rules.reservations_per_plan, "reservations of a plan; 0: all")
      ->capture_default_str();
  app.add_flag("--simulated", options.simulated, "no identities, no record, no budget");
  app.add_option("--instants", options.instants)->capture_default_str();
  app.add_option("--repeat", options.repeat, "rounds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (options.simulated) machine.rules = {.check = false};
  return options.for_each_policy("pass_bench",
                                 [&](const std::string& policy) { measure(policy, options); });
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
