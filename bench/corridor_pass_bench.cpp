// Whole passes of the policies that keep a power corridor, as a controller makes them: the problem
// is built, solved and carried out.
//
//   corridor_pass_bench               # a Markdown table
//
// Malleable jobs of 1 to 2 times the mean size fill a machine; they can shrink to a quarter and
// grow to four times, and draw 100 to 300 W a node, idle nodes 71 W; others wait. Then another
// corridor comes. *lower*: of 1 % around 10 % less than is drawn, one that can be kept. *none*: a
// lower bound above what any sizes draw; no job can reach it, and the pass has to find that out.
// Medians of nine passes, each of a copy of the same core.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/random.hpp"
#include "common.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"

namespace ductile {
namespace {

constexpr double kIdleW = 71, kMostW = 300;

JobSpec job_of(Draws& draws, Nodes mean) {
  const Nodes n = 1 + static_cast<Nodes>(draws.below(std::max<Nodes>(2 * mean - 1, 1)));
  JobSpec spec{.walltime = whole_seconds(3600 + static_cast<std::int64_t>(draws.below(3600))),
               .size = {std::max<Nodes>(n / 4, 1), 4 * n},
               .preferred = n};
  spec.type = JobType::malleable;
  return spec;
}

struct Size {
  Nodes nodes;
  std::uint32_t running, waiting;
};

/// A machine that is full, and jobs that wait.
Core machine_of(const Policy& policy, const Size& size) {
  Core core({.nodes = size.nodes, .idle_w = kIdleW, .busy_w = kIdleW}, {}, {.check = false},
            policy.traits);
  core.apply(Time{}, event::CorridorChanged{0, 1e9});
  Draws draws(1, Stream::test, 7);
  const auto submit = [&] {
    AdaptiveSpec more;
    more.watts_per_node = 100 + static_cast<double>(draws.below(200'000)) / 1000;
    core.apply(Time{}, event::Submitted{job_of(draws, size.nodes / size.running), more});
  };
  const auto starts = make_policy("fcfs");
  for (std::uint32_t i = 0; i < size.running; ++i) submit();
  core.close(Time{}, *starts);
  for (std::uint32_t i = 0; i < size.waiting; ++i) submit();
  return core;
}

double pass_ms(const std::string& settings, const Size& size, bool is_kept) {
  const auto policy = make_policy(settings);
  const Core full = machine_of(*policy, size);
  const double now_w = static_cast<double>(full.state().power_mw()) / 1000;
  const event::CorridorChanged corridor =
      is_kept ? event::CorridorChanged{0.895 * now_w, 0.905 * now_w}
              : event::CorridorChanged{kMostW * size.nodes + 1, 1e9};
  std::vector<double> times_s;
  for (int round = 0; round < 9; ++round) {
    Core core = full;
    const Time now{whole_seconds(60)};
    core.apply(now, corridor);
    times_s.push_back(bench::seconds_of([&] { core.close(now, *policy); }));
    const auto found = core.found_sizes();
    if (found && *found != is_kept && round == 0) {
      std::cerr << fmt::format("{}, {} nodes: {}\n", settings, size.nodes,
                               is_kept ? "nothing was found" : "sizes were found");
    }
  }
  return bench::median(times_s) * 1e3;
}

void print() {
  std::cout << "| nodes, running, waiting | policy | lower (ms) | none (ms) |\n|---|---|---|---|\n";
  for (const Size& size : {Size{14, 7, 13}, Size{5'000, 500, 500}, Size{100'000, 5'000, 1'000}}) {
    for (const char* const settings :
         {"power_aware", "power_aware:try_depth=1000", "power_ahead"}) {
      std::cout << fmt::format("| {}, {}, {} | `{}` | {:.2f} | {:.2f} |", size.nodes, size.running,
                               size.waiting, settings, pass_ms(settings, size, true),
                               pass_ms(settings, size, false))
                << std::endl;
    }
  }
}

}  // namespace
}  // namespace ductile

int main() { ductile::print(); }
