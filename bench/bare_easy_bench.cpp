// How fast EASY is with no features at all; see bare_easy.hpp.
//
//   bare_easy_bench --trace LOG.swf.xz --nodes 5040 --cores-per-node 16
//   bare_easy_bench --generate 1000000,500
//
// prints one line of JSON. Reading or generating the jobs is not in the times.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bare_easy.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "workload/generate.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

void run(const Workload& workload, Nodes nodes, int repeat) {
  bench::BareEasyResult result;
  std::vector<double> times_s;
  for (int i = 0; i < repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    result = bench::bare_easy(workload.jobs, nodes);
    times_s.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times_s.begin(), times_s.end());
  const std::size_t middle = times_s.size() / 2;
  const double median_s =
      times_s.size() % 2 == 1 ? times_s[middle] : (times_s[middle - 1] + times_s[middle]) / 2;

  nlohmann::ordered_json line;
  line["workload"] = workload.name;
  line["nodes"] = nodes;
  line["jobs"] = result.jobs;
  line["skipped"] = workload.skipped.total();
  line["mean_wait_s"] = result.mean_wait_s;
  line["min_seconds"] = times_s.front();
  line["median_seconds"] = median_s;
  line["repeat"] = repeat;
  std::cout << line.dump() << '\n';
}

int main(int argc, char** argv) {
  CLI::App app("EASY backfilling with no features: the yardstick of the simulator's speed");
  std::string trace;
  std::vector<std::uint64_t> model;
  SwfRules rules;
  double min_runtime_s = 0;
  int repeat = 5;
  auto* trace_option = app.add_option("--trace", trace, "log, SWF, may be compressed");
  auto* nodes_option =
      app.add_option("--nodes", rules.nodes, "nodes of the machine")->check(CLI::PositiveNumber);
  app.add_option("--cores-per-node", rules.cores_per_node)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--min-runtime", min_runtime_s, "raise shorter run times to it, s");
  app.add_option("--partition", rules.partition, "only jobs of this partition");
  auto* generate_option =
      app.add_option("--generate", model, "JOBS,NODES: generated rigid jobs instead of a log")
          ->delimiter(',')
          ->expected(2)
          ->check(CLI::PositiveNumber);
  app.add_option("--repeat", repeat, "runs")->check(CLI::PositiveNumber)->capture_default_str();
  trace_option->needs(nodes_option)->excludes(generate_option);
  nodes_option->needs(trace_option);
  CLI11_PARSE(app, argc, argv);

  try {
    if (!trace.empty()) {
      rules.min_runtime = seconds(min_runtime_s);
      run(read_swf(trace, rules), rules.nodes, repeat);
    } else if (!model.empty()) {
      RigidModel rigid;
      rigid.jobs = model[0];
      rigid.nodes = static_cast<Nodes>(model[1]);
      rigid.max_size = std::min(rigid.max_size, rigid.nodes);
      run(generate_rigid(rigid, 42), rigid.nodes, repeat);
    } else {
      throw InputError("no jobs", "give --trace or --generate");
    }
  } catch (const InputError& error) {
    std::cerr << "bare_easy_bench: " << error.what() << '\n';
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
