// What the benchmarks share: where jobs come from, and how times are taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/time.hpp"
#include "workload/generate.hpp"
#include "workload/swf.hpp"

namespace ductile::bench {

/// Processor time of one call, s. What is measured has one thread and waits for nothing, so on an
/// idle machine this is the time that passes; on a busy one it is far less noisy.
template <class Call>
double seconds_of(Call call) {
  const std::clock_t begin = std::clock();
  call();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// A log or generated jobs, as the command line says.
class Input {
 public:
  void add_to(CLI::App& app) {
    auto* trace = app.add_option("--trace", trace_, "log, SWF, may be compressed");
    auto* nodes =
        app.add_option("--nodes", rules_.nodes, "nodes of the machine")->check(CLI::PositiveNumber);
    app.add_option("--cores-per-node", rules_.cores_per_node)
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--min-runtime", min_runtime_s_, "raise shorter run times to it, s");
    app.add_option("--partition", rules_.partition, "only jobs of this partition");
    auto* generate = app.add_option("--generate", model_,
                                    "JOBS,NODES[,MAXSIZE]: generated rigid jobs instead of a log")
                         ->delimiter(',')
                         ->expected(2, 3)
                         ->check(CLI::PositiveNumber);
    trace->needs(nodes)->excludes(generate);
    nodes->needs(trace);
  }

  /// Throws InputError.
  Workload read() {
    if (!trace_.empty()) {
      rules_.min_runtime = seconds(min_runtime_s_);
      return read_swf(trace_, rules_);
    }
    if (model_.empty()) throw InputError("no jobs", "give --trace or --generate");
    RigidModel rigid;
    rigid.jobs = model_[0];
    rigid.nodes = rules_.nodes = static_cast<Nodes>(model_[1]);
    rigid.max_size = std::min(rigid.max_size, rigid.nodes);
    if (model_.size() > 2) rigid.max_size = static_cast<Nodes>(model_[2]);
    return generate_rigid(rigid, 42);
  }
  /// After `read`.
  Nodes nodes() const { return rules_.nodes; }

 private:
  std::string trace_;
  std::vector<std::uint64_t> model_;
  SwfRules rules_;
  double min_runtime_s_ = 0;
};

}  // namespace ductile::bench
