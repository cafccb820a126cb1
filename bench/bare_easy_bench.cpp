// How fast EASY is with no features at all; see bare_easy.hpp.
//
//   bare_easy_bench --trace LOG.swf.xz --nodes 5040 --cores-per-node 16
//   bare_easy_bench --generate 1000000,500
//
// prints one line of JSON. Reading or generating the jobs is not in the times.

#include <algorithm>
#include <iostream>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bare_easy.hpp"
#include "base/error.hpp"
#include "common.hpp"

namespace ductile {
namespace {

void run(const Workload& workload, Nodes nodes, int repeat) {
  bench::BareEasyResult result;
  std::vector<double> times_s;
  for (int i = 0; i < repeat; ++i) {
    times_s.push_back(bench::seconds_of([&] { result = bench::bare_easy(workload.jobs, nodes); }));
  }

  nlohmann::ordered_json line;
  line["workload"] = workload.name;
  line["nodes"] = nodes;
  line["jobs"] = result.jobs;
  line["skipped"] = workload.skipped.total();
  line["mean_wait_s"] = result.mean_wait_s;
  line["min_seconds"] = *std::ranges::min_element(times_s);
  line["median_seconds"] = bench::median(times_s);
  line["repeat"] = repeat;
  std::cout << line.dump() << '\n';
}

int main(int argc, char** argv) {
  CLI::App app("EASY backfilling with no features: the yardstick of the simulator's speed");
  bench::Input input;
  int repeat = 5;
  input.add_to(app);
  app.add_option("--repeat", repeat, "runs")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  try {
    const Workload workload = input.read();
    run(workload, input.nodes(), repeat);
  } catch (const InputError& error) {
    std::cerr << "bare_easy_bench: " << error.what() << '\n';
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
