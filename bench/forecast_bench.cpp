// How long `ductile predict` takes: a full machine with a long queue, lived on as the core believes
// until all jobs are over, under every policy.
//
//   forecast_bench               1,000 running and 10,000 waiting jobs of all types, all policies
//   forecast_bench --policy mebf --most 0
//
// prints a line of JSON for each policy: the processor time of one forecast, with the copy of the
// core, and of how many jobs it lived through the start, or planned it.

#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "full_machine.hpp"
#include "simulation/forecast.hpp"

namespace ductile {
namespace {

struct Options {
  std::vector<std::string> policies;
  std::vector<std::string> types{kJobTypeWords.begin(), kJobTypeWords.end()};
  bench::FullMachineSettings machine{.nodes = 8'500};
  double most_s = 0.4;
};

void measure(const std::string& policy, const Options& options) {
  const bench::FullMachine machine = [&] {
    bench::FullMachine full(policy, options.machine);
    full.passes();
    return full;
  }();
  std::vector<Forecast> rows;
  const double time_s = bench::seconds_of([&] {
    const std::clock_t begin = std::clock();
    const auto is_over = [&] {
      return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC > options.most_s;
    };
    rows = forecast(machine.core(), machine.policy(), machine.core().state().now, {},
                    options.most_s > 0 ? is_over : std::function<bool()>{});
  });
  const auto count = [&](bool planned) {
    return std::ranges::count_if(
        rows, [&](const Forecast& its) { return its.start != kNever && its.planned == planned; });
  };
  nlohmann::ordered_json line;
  line["policy"] = policy;
  line["running"] = machine.running();
  line["waiting"] = machine.waiting();
  line["seconds"] = time_s;
  line["jobs"] = rows.size();
  line["lived_through"] = count(false);
  line["planned"] = count(true);
  std::cout << line.dump() << std::endl;
}

int main(int argc, char** argv) {
  CLI::App app("Forecasts of a live controller");
  Options options;
  bench::FullMachineSettings& machine = options.machine;
  machine.rules.identities = machine.rules.record = true;
  machine.rules.reservations_per_plan = 2'000;
  app.add_option("--policy", options.policies, "as the simulator takes it; more than one");
  app.add_option("--types", options.types, "types of the jobs, in turn")
      ->check(CLI::IsMember(options.types));
  app.add_option("--nodes", machine.nodes, "1,000 jobs fill 8,500 nodes")->capture_default_str();
  app.add_option("--waiting", machine.waiting, "waiting jobs")->capture_default_str();
  app.add_option("--waiting-to", machine.waiting_to, "their largest size")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("--alike", machine.alike, "jobs of one limit that began one after the other");
  app.add_option("--most", options.most_s, "lived through for so long, s; 0: to the end")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  machine.types.clear();
  for (const std::string& type : options.types) {
    machine.types.push_back(*from_word<JobType>(kJobTypeWords, type));
  }
  if (options.policies.empty()) {
    for (const PolicyInfo& policy : built_in_policies()) options.policies.push_back(policy.name);
  }
  try {
    for (const std::string& policy : options.policies) measure(policy, options);
  } catch (const InputError& error) {
    std::cerr << "forecast_bench: " << error.what() << '\n';
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
