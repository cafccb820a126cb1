// How long passes are of policies that share nodes, beside those of backfilling: 1,000 malleable
// jobs run on a full machine, and more and more of them wait.
//
//   sharing_bench
//   sharing_bench --waiting 10000 --policy easy --policy sd:mates=3
//
// prints a Markdown table: the first pass, which sees all jobs for the first time, the median of
// the later ones and the longest of them, and how many times as long the median is as that of the
// first policy. Policies take turns, and of each pass the shortest time counts. In each instant one
// job ends early; guests that start in a pass are in its time.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "full_machine.hpp"

namespace ductile {
namespace {

struct Options {
  std::vector<std::string> policies{"backfill:depth=100", "easy", "sd",
                                    "sd:base=backfill,depth=100", "oversubscribe"};
  std::vector<std::uint32_t> waiting{100, 1'000, 10'000, 100'000};
  Nodes nodes = 8'500;
  int instants = 30;
  int repeat = 3;
};

struct Measured {
  std::vector<double> least_s;  // of each instant
  std::size_t running = 0;
};

void live(const std::string& policy, std::uint32_t waiting, const Options& options,
          Measured& measured) {
  bench::FullMachineSettings settings{.nodes = options.nodes, .waiting = waiting};
  settings.types = {JobType::malleable};
  settings.rules.identities = true;
  settings.cores_per_node = 8;
  settings.can.parts = settings.can.instant_cores = true;
  settings.busy = true;
  bench::FullMachine machine(policy, settings);
  measured.running = machine.running();
  for (std::size_t i = 0; i <= static_cast<std::size_t>(options.instants); ++i) {
    double all_s = 0;
    for (const double pass_s : machine.passes()) all_s += pass_s;
    if (measured.least_s.size() == i) measured.least_s.push_back(all_s);
    measured.least_s[i] = std::min(measured.least_s[i], all_s);
  }
}

void measure(std::uint32_t waiting, const Options& options) {
  std::vector<Measured> all(options.policies.size());
  for (int round = 0; round < options.repeat; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      live(options.policies[i], waiting, options, all[i]);
    }
  }
  double yardstick_s = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double first_s = all[i].least_s.front();
    const std::vector<double> later_s(all[i].least_s.begin() + 1, all[i].least_s.end());
    const double median_s = bench::median(later_s);
    if (i == 0) yardstick_s = median_s;
    std::printf("| %u | %zu | `%s` | %.3g | %.3g | %.3g | %.3g |\n", waiting, all[i].running,
                options.policies[i].c_str(), first_s * 1e3, median_s * 1e3,
                *std::ranges::max_element(later_s) * 1e3, median_s / yardstick_s);
    std::fflush(stdout);
  }
}

int main(int argc, char** argv) {
  CLI::App app("Passes of policies that share nodes");
  Options options;
  app.add_option("--policy", options.policies, "as the simulator takes it; more than one");
  app.add_option("--waiting", options.waiting, "how many jobs wait; more than one");
  app.add_option("--nodes", options.nodes, "1,000 jobs fill 8,500 nodes")->capture_default_str();
  app.add_option("--instants", options.instants)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--repeat", options.repeat, "rounds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::printf(
      "| waiting | running | policy | first, ms | median, ms | longest, ms | times the first |\n"
      "|---|---|---|---|---|---|---|\n");
  try {
    for (const std::uint32_t waiting : options.waiting) measure(waiting, options);
  } catch (const InputError& error) {
    std::cerr << "sharing_bench: " << error.what() << '\n';
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
