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

#include "full_machine.hpp"
#include "simulation/forecast.hpp"

namespace ductile {
namespace {

struct Options : bench::FullMachineOptions {
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
  options.add_to(app);
  app.add_option("--most", options.most_s, "lived through for so long, s; 0: to the end")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return options.for_each_policy("forecast_bench",
                                 [&](const std::string& policy) { measure(policy, options); });
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
