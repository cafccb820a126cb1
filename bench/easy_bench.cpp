// The simulator against the bare EASY loop, on the same jobs, in one process, taking turns.
//
//   easy_bench --trace LOG.swf.xz --nodes 5040 --cores-per-node 16
//   easy_bench --generate 1000000,500 --repeat 9
//
// prints one line of JSON: seconds of the bare loop, of the simulator alone, and of the simulator
// with the observer that makes the summary; and how many times as long as the loop the two take.
// Reading or generating the jobs is not in the times. The exit code is 1 if the mean waits differ.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bare_easy.hpp"
#include "base/error.hpp"
#include "common.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "simulation/summary_observer.hpp"

namespace ductile {
namespace {

struct Options {
  std::string policy = "easy";
  bool identities = false;
  int repeat = 5;
};

int run(const Workload& workload, Nodes nodes, const Options& options) {
  SimulationSettings settings;
  settings.platform.nodes = nodes;
  settings.policy = make_policy(options.policy);
  settings.rules.identities = options.identities;
  settings.rules.check = false;

  bench::BareEasyResult bare;
  Summary summary;
  SimulationCounts counts;
  std::vector<double> loop_s, alone_s, observed_s, alone_ratio, observed_ratio;
  for (int i = 0; i < options.repeat; ++i) {
    loop_s.push_back(bench::seconds_of([&] { bare = bench::bare_easy(workload.jobs, nodes); }));
    alone_s.push_back(bench::seconds_of([&] { counts = simulate(workload, settings, {}); }));
    observed_s.push_back(bench::seconds_of([&] {
      SummaryObserver observer(workload);
      Observer* const observers[] = {&observer};
      const SimulationCounts its = simulate(workload, settings, observers);
      summary = observer.summary(workload, settings, its);
    }));
    alone_ratio.push_back(alone_s.back() / loop_s.back());
    observed_ratio.push_back(observed_s.back() / loop_s.back());
  }

  const auto least = [](const std::vector<double>& values) {
    return *std::ranges::min_element(values);
  };
  nlohmann::ordered_json line;
  line["workload"] = workload.name;
  line["nodes"] = nodes;
  line["jobs"] = bare.jobs;
  line["policy"] = options.policy;
  line["identities"] = options.identities;
  line["mean_wait_s"] = summary.mean_wait_s;
  line["passes"] = counts.passes;
  line["bare_min_s"] = least(loop_s);
  line["bare_median_s"] = bench::median(loop_s);
  line["simulate_min_s"] = least(alone_s);
  line["simulate_median_s"] = bench::median(alone_s);
  line["summary_min_s"] = least(observed_s);
  line["summary_median_s"] = bench::median(observed_s);
  line["bare_us_per_job"] = least(loop_s) * 1e6 / static_cast<double>(bare.jobs);
  line["simulate_us_per_job"] = least(alone_s) * 1e6 / static_cast<double>(bare.jobs);
  line["simulate_ratio_min"] = least(alone_s) / least(loop_s);
  line["simulate_ratio_median"] = bench::median(alone_ratio);
  line["summary_ratio_min"] = least(observed_s) / least(loop_s);
  line["summary_ratio_median"] = bench::median(observed_ratio);
  line["repeat"] = options.repeat;
  std::cout << line.dump() << std::endl;

  const double difference = std::abs(summary.mean_wait_s - bare.mean_wait_s);
  if (options.policy == "easy" && difference > 1e-9 * bare.mean_wait_s) {
    std::cerr << "easy_bench: the bare loop's mean wait is " << bare.mean_wait_s << " s\n";
    return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  CLI::App app("The simulator against the bare EASY loop");
  bench::Input input;
  Options options;
  input.add_to(app);
  app.add_option("--policy", options.policy, "as the simulator takes it")->capture_default_str();
  app.add_flag("--identities", options.identities, "which nodes, not only how many");
  app.add_option("--repeat", options.repeat, "rounds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  try {
    const Workload workload = input.read();
    return run(workload, input.nodes(), options);
  } catch (const InputError& error) {
    std::cerr << "easy_bench: " << error.what() << '\n';
    return 2;
  }
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
