// Policies that resize, on jobs that are all malleable, or a mix; and EASY, or another baseline, on
// the same jobs, rigid.
//
//   adaptive_bench --trace rigid_50000.swf.xz --nodes 500
//   adaptive_bench --generate 1000000,500 --policy mebf:tick=0 --repeat 9
//   adaptive_bench --generate 100000,500 --policy dbes --baseline backfill:depth=5 --limit-fixed
//                  --malleable 0.3:min=1,max=4 --evolving 0.1:min=1,max=4
//   adaptive_bench --waiting 10000
//
// prints a line of JSON for each policy: its time for the whole workload, and for a decision, that
// is a start or a resize; how many times as long as the baseline that takes. Or, with
// --waiting, its time for single passes over so many waiting jobs. Reading or generating the jobs
// is not in the times.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/random.hpp"
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
  Nodes waiting_from = 1;  // the smallest of the waiting jobs: often there are nodes, but too few
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

// A full machine of small jobs and a long queue, all malleable. Jobs end early one after the other,
// and each end is one pass; resizes are answered at once.
class FullMachine {
 public:
  FullMachine(const std::string& policy, std::uint32_t waiting, const Options& options)
      : options_(options),
        core_(Platform{.nodes = kNodes}, {}, Rules{.check = false}, make_policy(policy)) {
    Draws draws(waiting, Stream::test, 0);
    for (Nodes taken = 0; taken < kNodes;) {
      const auto size = std::min<Nodes>(static_cast<Nodes>(1 + draws.below(16)), kNodes - taken);
      submit(size, 3'600 + static_cast<std::int64_t>(draws.below(86'400)));
      taken += size;
    }
    pass();
    for (std::uint32_t i = 0; i < waiting; ++i) {
      submit(static_cast<Nodes>(options.waiting_from + draws.below(65 - options.waiting_from)),
             600 + static_cast<std::int64_t>(draws.below(86'400)));
    }
  }

  /// Seconds of one pass; then the world answers.
  double pass() {
    const double taken = bench::seconds_of([&] { core_.close_instant(now_); });
    for (bool again = true; again;) {
      again = false;
      for (const Decision& decision : core_.unanswered()) {
        core_.apply(now_, event::Resized{decision.job, decision.id, decision.after, {}});
        again = true;
      }
      core_.close_instant(now_);
    }
    return taken;
  }
  /// The next job ends.
  double next() {
    now_ += whole_seconds(60);
    const auto running = core_.state().running;
    core_.apply(now_, event::Ended{running[running.size() / 2], EndState::completed, false});
    return pass();
  }
  std::size_t waiting() const { return core_.state().queue.size(); }

 private:
  static constexpr Nodes kNodes = 500;

  void submit(Nodes nodes, std::int64_t walltime_s) {
    JobSpec job;
    job.name = core_.state().jobs.size() + 1;
    job.type = JobType::malleable;
    job.walltime = whole_seconds(walltime_s);
    job.preferred = nodes;
    job.size.min = static_cast<Nodes>(options_.min * nodes + 0.5);
    job.size.max = static_cast<Nodes>(options_.max * nodes);
    core_.apply(now_, event::Submitted{job, AdaptiveSpec{}});
  }

  const Options& options_;
  Core core_;
  Time now_{};
};

void single_passes(std::uint32_t waiting, const Options& options) {
  for (const std::string& policy : options.policies) {
    std::vector<double> first_s, later_s;
    std::size_t left = waiting;
    for (int i = 0; i < options.repeat; ++i) {
      FullMachine machine(policy, waiting, options);
      first_s.push_back(machine.pass());
      for (int n = 0; n < 20; ++n) later_s.push_back(machine.next());
      left = machine.waiting();
    }
    nlohmann::ordered_json line;
    line["policy"] = policy;
    line["waiting"] = waiting;
    line["waiting_at_the_end"] = left;
    line["first_pass_ms"] = bench::median(first_s) * 1e3;
    line["later_passes_ms"] = bench::median(later_s) * 1e3;
    line["worst_pass_ms"] =
        std::max(*std::ranges::max_element(first_s), *std::ranges::max_element(later_s)) * 1e3;
    std::cout << line.dump() << std::endl;
  }
}

int main(int argc, char** argv) {
  CLI::App app("Policies that resize");
  bench::Input input;
  Options options;
  std::uint32_t waiting = 0;
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
  app.add_option("--waiting", waiting, "single passes over so many waiting jobs");
  app.add_option("--waiting-from", options.waiting_from, "their sizes, from this to 64")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "rounds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  try {
    if (waiting > 0) {
      single_passes(waiting, options);
    } else {
      Workload workload = input.read();
      whole_workload(std::move(workload), input.nodes(), options);
    }
  } catch (const InputError& error) {
    std::cerr << "adaptive_bench: " << error.what() << '\n';
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
