// Policies that resize, on jobs that are all malleable, or a mix; and EASY, or another baseline, on
// the same jobs, rigid.
//
//   adaptive_bench --trace rigid_50000.swf.xz --nodes 500
//   adaptive_bench --generate 1000000,500 --policy mebf:tick=0 --repeat 9
//   adaptive_bench --generate 100000,500 --policy dbes --baseline backfill:depth=5 --limit-fixed
//                  --malleable 0.3:min=1,max=4 --evolving 0.1:min=1,max=4
//
// prints a line of JSON for each policy: its time for the whole workload, and for a decision, that
// is a start or a resize; how many times as long as the baseline that takes. Reading or generating
// the jobs is not in the times.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "common.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"
#include "support/malleable.hpp"
#include "workload/transform.hpp"
#include "workload/transform_text.hpp"

namespace ductile {
namespace {

struct Options {
  std::vector<std::string> policies{"mebf", "mebf:tick=0", "elastic"};
  double min = 0.5, max = 4;
  std::string malleable, evolving;  // as the simulator takes them; instead of min and max
  std::string baseline = "easy";
  bool limit_fixed = false;
  int repeat = 5;
};

struct Cost {
  double seconds = 0;  // the least of all rounds
  std::uint64_t decisions = 0;
  double us_per_decision() const { return seconds * 1e6 / static_cast<double>(decisions); }
};

// Runs the workload once with figures, and then some rounds against the clock.
Cost measure(const Workload& workload, Nodes nodes, const std::string& policy,
             const Options& options, nlohmann::ordered_json& line) {
  SimulationSettings settings;
  if (options.limit_fixed) settings.rules.limit = Rules::Limit::fixed;
  settings.platform.nodes = nodes;
  settings.policy = make_policy(policy);
  settings.rules.check = false;
  SummaryObserver observer(workload);
  Observer* const observers[] = {&observer};
  const SimulationCounts counts = simulate(workload, settings, observers);
  const Summary summary = observer.summary(workload, settings, counts);
  Cost cost;
  cost.decisions = summary.jobs + summary.expands + summary.shrinks;
  for (int i = 0; i < options.repeat; ++i) {
    const double taken = bench::seconds_of([&] { simulate(workload, settings, {}); });
    if (i == 0 || taken < cost.seconds) cost.seconds = taken;
  }
  const auto jobs = static_cast<double>(summary.jobs);
  line["policy"] = policy;
  line["jobs"] = summary.jobs;
  line["mean_wait_s"] = summary.mean_wait_s;
  line["mean_turnaround_s"] = summary.mean_turnaround_s;
  line["resizes_per_job"] = static_cast<double>(summary.expands + summary.shrinks) / jobs;
  line["passes"] = counts.passes;
  line["seconds"] = cost.seconds;
  line["jobs_per_s"] = jobs / cost.seconds;
  line["us_per_pass"] = cost.seconds * 1e6 / static_cast<double>(counts.passes);
  line["us_per_decision"] = cost.us_per_decision();
  return cost;
}

void whole_workload(Workload workload, Nodes nodes, const Options& options) {
  nlohmann::ordered_json line;
  const Cost baseline = measure(workload, nodes, options.baseline, options, line);
  std::cout << line.dump() << std::endl;
  if (options.malleable.empty() && options.evolving.empty()) {
    testing::make_malleable(workload, nodes, options.min, options.max);
  } else {
    Transform changes;
    if (!options.malleable.empty()) {
      changes.malleable = parse_share("--malleable", options.malleable);
    }
    if (!options.evolving.empty()) changes.evolving = parse_share("--evolving", options.evolving);
    transform(workload, changes, nodes, 1);
  }
  for (const std::string& policy : options.policies) {
    nlohmann::ordered_json its;
    const Cost cost = measure(workload, nodes, policy, options, its);
    its["times_baseline"] = cost.seconds / baseline.seconds;
    its["times_baseline_per_decision"] = cost.us_per_decision() / baseline.us_per_decision();
    std::cout << its.dump() << std::endl;
  }
}

int main(int argc, char** argv) {
  CLI::App app("Policies that resize");
  bench::Input input;
  Options options;
  input.add_to(app);
  app.add_option("--policy", options.policies, "as the simulator takes it; more than one")
      ->capture_default_str();
  app.add_option("--min", options.min, "smallest size, times the preferred one")
      ->capture_default_str();
  app.add_option("--max", options.max, "largest size")->capture_default_str();
  app.add_option("--malleable", options.malleable,
                 "a share of the jobs, as the simulator takes it");
  app.add_option("--evolving", options.evolving, "the same");
  app.add_option("--baseline", options.baseline, "on the rigid jobs")->capture_default_str();
  app.add_flag("--limit-fixed", options.limit_fixed, "deadlines do not move with sizes");
  app.add_option("--repeat", options.repeat, "rounds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  try {
    Workload workload = input.read();
    whole_workload(std::move(workload), input.nodes(), options);
  } catch (const InputError& error) {
    std::cerr << "adaptive_bench: " << error.what() << '\n';
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
