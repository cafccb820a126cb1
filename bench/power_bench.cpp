// EASY under a power budget against EASY without one, on the same jobs, in one process, taking
// turns: the core and a heap of ends, and nothing else of a simulator.
//
//   power_bench --trace LOG.swf.xz --nodes 5040 --cores-per-node 16 --cap 0.7
//
// Each node draws 100 W when it is idle; jobs draw 150 to 350 W a node, by their number, and no
// more than they can have alone. The budget is this share of what the machine draws when all of its
// nodes run jobs of 250 W. Prints one line of JSON: seconds, waits and passes of both, and how many
// times as long the capped run takes.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/random.hpp"
#include "common.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"

namespace ductile {
namespace {

struct Result {
  std::uint64_t passes = 0, started = 0;
  std::size_t longest_queue = 0;
  double wait_s = 0;  // of all jobs together
};

/// Jobs draw no more than all of `cap_w` lets them start alone.
Result run(const Workload& workload, Nodes nodes, const Policy& policy, double budget_w,
           double cap_w) {
  using End = std::pair<Time, std::uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Core core({.nodes = nodes, .idle_w = 100, .busy_w = 250}, {},
            {.identities = false, .check = false}, policy.traits);
  Result result;
  core.apply(Time::min(), event::CorridorChanged{0, budget_w});
  const auto& jobs = workload.jobs;
  for (std::size_t next = 0; next < jobs.size() || !ends.empty();) {
    Time now = kNever;
    if (next < jobs.size()) now = jobs[next].submit;
    if (!ends.empty()) now = std::min(now, ends.top().first);
    for (; !ends.empty() && ends.top().first == now; ends.pop()) {
      core.apply(now, event::Ended{JobId{ends.top().second}, EndState::completed, false});
    }
    for (; next < jobs.size() && jobs[next].submit == now; ++next) {
      const WorkloadJob& job = jobs[next];
      event::Submitted submitted{{.submitted = now,
                                  .walltime = std::max(job.walltime, job.runtime),
                                  .size = exactly(job.nodes),
                                  .preferred = job.nodes},
                                 AdaptiveSpec{}};
      const double most = 100 + (cap_w - 100.0 * nodes) / job.nodes - 0.001;  // rounded to mW
      submitted.adaptive->watts_per_node =
          std::min(150 + static_cast<double>(mixed(next) % 200), most);
      core.apply(now, submitted);
    }
    for (const Decision& decision : core.close(now, policy)) {
      if (decision.kind != Decision::Kind::start) continue;
      ends.emplace(now + jobs[index(decision.job)].runtime, index(decision.job));
      result.wait_s += to_seconds(now - jobs[index(decision.job)].submit);
      ++result.started;
    }
    ++result.passes;
    result.longest_queue = std::max(result.longest_queue, core.state().queue.size());
  }
  return result;
}

int main(int argc, char** argv) {
  CLI::App app("EASY under a power budget against EASY without one");
  bench::Input input;
  std::string settings = "easy";
  double cap = 0.7;
  int repeat = 3;
  input.add_to(app);
  app.add_option("--policy", settings, "as the simulator takes it")->capture_default_str();
  app.add_option("--cap", cap, "share of a full machine's power")->capture_default_str();
  app.add_option("--repeat", repeat, "rounds")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  try {
    const Workload workload = input.read();
    const auto policy = make_policy(settings);
    const double budget_w = cap * 250 * input.nodes();
    std::vector<double> free_s, capped_s, ratio;
    Result free, capped;
    for (int i = 0; i < repeat; ++i) {
      const double none = std::numeric_limits<double>::infinity();
      free_s.push_back(
          bench::seconds_of([&] { free = run(workload, input.nodes(), *policy, none, budget_w); }));
      capped_s.push_back(bench::seconds_of(
          [&] { capped = run(workload, input.nodes(), *policy, budget_w, budget_w); }));
      ratio.push_back(capped_s.back() / free_s.back());
    }
    nlohmann::ordered_json line;
    line["workload"] = workload.name;
    line["nodes"] = input.nodes();
    line["jobs"] = workload.jobs.size();
    line["policy"] = settings;
    line["cap"] = cap;
    const auto add = [&](const std::string& name, const Result& result, std::vector<double> times) {
      line[name + "_median_s"] = bench::median(std::move(times));
      line[name + "_mean_wait_s"] = result.wait_s / static_cast<double>(workload.jobs.size());
      line[name + "_longest_queue"] = result.longest_queue;
      line[name + "_passes"] = result.passes;
    };
    add("free", free, free_s);
    add("capped", capped, capped_s);
    line["ratio_median"] = bench::median(ratio);
    std::cout << line.dump() << std::endl;
    if (free.started == capped.started) return 0;
    std::cerr << "power_bench: some jobs did not start\n";
    return 1;
  } catch (const InputError& error) {
    std::cerr << "power_bench: " << error.what() << '\n';
    return 2;
  }
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
