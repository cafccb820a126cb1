// The solvers of power corridors: how long they take, and how many more nodes than need be lp and
// greedy leave idle.
//
//   solver_bench                              # the times, then the gaps
//   solver_bench --benchmark_filter=Table     # only some of the times
//
// Random machines: jobs of 1 to 2 times the mean size that can shrink to a quarter and grow to four
// times, of all node constraints; 100 to 300 W a node, idle 71 W; a corridor of 10 % around what
// is drawn, 10 % higher or lower. The gap is counted from the exact optimum where dp can do it,
// else from the optimum of the linear relaxation, which is no more: so the true gap is no larger.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "base/random.hpp"
#include "solver/corridor_relaxation.hpp"
#include "solver/corridor_solver.hpp"

namespace ductile {
namespace {

using Kind = SizeConstraint::Kind;

struct Machine {
  CorridorProblem problem{};
  std::vector<WaitingForCorridor> waiting{};  // one that fits
};

/// `powers`: how many different ones there are; 0: each job has its own.
Machine machine_of(std::uint64_t seed, Nodes nodes, std::uint32_t running, std::uint32_t powers) {
  Draws draws(seed, Stream::test, 2);
  const auto power = [&] {
    return powers == 0
               ? static_cast<Milliwatts>(100'000 + draws.below(200'000))
               : static_cast<Milliwatts>(100'000 + 200'000 * (draws.below(powers) + 1) / powers);
  };
  Machine its{.problem = {.nodes = nodes, .idle_mw = 71'000}};
  const Nodes mean = std::max<Nodes>(nodes / running, 1);
  Milliwatts now_mw = 71'000 * std::int64_t{nodes};
  Nodes free = nodes;
  for (std::uint64_t id = 1; id <= running && free > 0; ++id) {
    RunningInCorridor job{.id = id};
    job.n = std::min(free, 1 + static_cast<Nodes>(draws.below(2 * mean - 1)));
    free -= job.n;
    job.range = {std::max<Nodes>(job.n / 4, 1), std::min(4 * job.n, nodes)};
    constexpr std::array kKinds{Kind::any,          Kind::any,  Kind::any, Kind::any,
                                Kind::power_of_two, Kind::even, Kind::odd, Kind::cubic};
    job.constraint.kind = kKinds[draws.below(kKinds.size())];
    job.p_min_mw = job.p_max_mw = power();
    if (draws.chance(0.2)) job.p_min_mw -= 20'000;  // not measured yet
    now_mw += job.n * (job.p_max_mw - 71'000);
    its.problem.running.push_back(job);
  }
  const double middle = static_cast<double>(now_mw) * (draws.chance(0.5) ? 0.9 : 1.1);
  its.problem.lower_mw = static_cast<Milliwatts>(0.9 * middle);
  its.problem.upper_mw = static_cast<Milliwatts>(1.1 * middle);
  const Milliwatts draw = power();
  its.waiting = {{.id = running + 1,
                  .n = 1 + static_cast<Nodes>(draws.below(mean)),
                  .p_min_mw = draw,
                  .p_max_mw = draw}};
  return its;
}

// Each round another machine.
constexpr std::uint64_t kMachines = 32;

std::vector<Machine> machines(Nodes nodes, std::uint32_t running, std::uint32_t powers) {
  std::vector<Machine> all;
  for (std::uint64_t seed = 0; seed < kMachines; ++seed) {
    all.push_back(machine_of(seed, nodes, running, powers));
  }
  return all;
}

/// A new solver for the running jobs and one answer, by `method`.
void once(benchmark::State& state, Nodes nodes, std::uint32_t running, std::uint32_t powers,
          CorridorMethod method) {
  const std::vector<Machine> all = machines(nodes, running, powers);
  std::size_t at = 0, feasible = 0;
  for (auto _ : state) {
    const Machine& machine = all[at++ % all.size()];
    const CorridorSolution solution =
        CorridorSolver(machine.problem, method).solve(machine.waiting);
    benchmark::DoNotOptimize(solution);
    feasible += solution.feasible ? 1 : 0;
  }
  state.counters["feasible"] = static_cast<double>(feasible) / static_cast<double>(at);
}

/// A pass of `power_aware` that finds nothing: 14 nodes, 16 waiting jobs, alone, in pairs, none.
void pass(benchmark::State& state, std::uint32_t running, std::uint32_t powers) {
  const std::vector<Machine> all = machines(14, running, powers);
  std::size_t at = 0;
  for (auto _ : state) {
    const Machine& machine = all[at++ % all.size()];
    const CorridorSolver solver(machine.problem, CorridorMethod::dp);
    for (Nodes a = 0; a < 17; ++a) {
      for (Nodes b = a; b < 17; ++b) {
        const std::array<WaitingForCorridor, 2> both{
            WaitingForCorridor{.n = a % 4, .p_min_mw = 170'000, .p_max_mw = 170'000},
            WaitingForCorridor{.n = b % 4, .p_min_mw = 250'000, .p_max_mw = 250'000}};
        benchmark::DoNotOptimize(solver.solve(both));
      }
    }
  }
}

void register_times() {
  using enum CorridorMethod;
  const auto add = [](const char* name, Nodes nodes, std::uint32_t running, std::uint32_t powers,
                      CorridorMethod method) {
    benchmark::RegisterBenchmark(
        fmt::format("{}/{}_nodes/{}_jobs/{}_powers", name, nodes, running,
                    powers == 0 ? "own" : std::to_string(powers))
            .c_str(),
        [=](benchmark::State& state) { once(state, nodes, running, powers, method); })
        ->Unit(benchmark::kMicrosecond);
  };
  for (const std::uint32_t powers : {2u, 0u}) {
    for (const std::uint32_t running : {4u, 7u, 13u}) add("dp", 14, running, powers, dp);
  }
  benchmark::RegisterBenchmark("dp_153_sets_of_waiting_jobs/14_nodes/7_jobs/own_powers",
                               [](benchmark::State& state) { pass(state, 7, 0); })
      ->Unit(benchmark::kMicrosecond);
  for (const CorridorMethod method : {automatic, lp, greedy}) {
    const char* const name = kCorridorMethodWords[static_cast<std::size_t>(method)].data();
    add(name, 100, 20, 2, method);
    add(name, 5'000, 500, 0, method);
    add(name, 100'000, 5'000, 0, method);
  }
}

void print_gaps() {
  std::cout
      << "\n| nodes | running jobs | against | feasible | lp missed | lp mean | lp worst | greedy "
         "missed | greedy mean | greedy worst |\n|---|---|---|---|---|---|---|---|---|---|\n";
  struct Row {
    Nodes nodes;
    std::uint32_t running, powers;
    std::uint64_t machines;
  };
  for (const Row& row :
       {Row{14, 5, 2, 500}, Row{14, 7, 0, 500}, Row{32, 8, 0, 500}, Row{64, 12, 2, 200},
        Row{500, 50, 0, 200}, Row{5'000, 500, 0, 100}, Row{100'000, 5'000, 0, 30}}) {
    struct Gap {
      std::uint64_t missed = 0, found = 0, sum = 0, worst = 0;
      void add(const CorridorSolution& solution, std::int64_t least) {
        if (!solution.feasible) {
          ++missed;
          return;
        }
        ++found;
        const auto gap =
            static_cast<std::uint64_t>(std::max<std::int64_t>(solution.idle - least, 0));
        sum += gap;
        worst = std::max(worst, gap);
      }
      double mean() const {
        return static_cast<double>(sum) / static_cast<double>(std::max<std::uint64_t>(found, 1));
      }
    };
    std::array<Gap, 2> gaps;
    std::uint64_t feasible = 0;
    bool exact = true;
    for (std::uint64_t seed = 0; seed < row.machines; ++seed) {
      const Machine machine = machine_of(seed, row.nodes, row.running, row.powers);
      std::optional<std::int64_t> least;
      exact = row.nodes <= 64;
      if (exact) {
        const auto best =
            CorridorSolver(machine.problem, CorridorMethod::dp).solve(machine.waiting);
        if (best.feasible) least = best.idle;
      } else {
        std::vector<std::uint32_t> order(machine.problem.running.size());
        std::iota(order.begin(), order.end(), 0);
        const auto jobs = corridor_jobs(machine.problem, order);
        const CorridorLimits limits = corridor_limits(machine.problem, machine.waiting);
        if (const auto real = CorridorRelaxation(jobs).solve(limits)) {
          const double used = std::accumulate(real->begin(), real->end(), 0.0);
          least = limits.nodes - static_cast<std::int64_t>(std::floor(used + 1e-6));
        }
      }
      if (!least) continue;
      ++feasible;
      gaps[0].add(CorridorSolver(machine.problem, CorridorMethod::lp).solve(machine.waiting),
                  *least);
      gaps[1].add(CorridorSolver(machine.problem, CorridorMethod::greedy).solve(machine.waiting),
                  *least);
    }
    std::cout << fmt::format("| {} | {} | {} | {} |", row.nodes, row.running,
                             exact ? "dp" : "relaxation", feasible);
    for (const Gap& gap : gaps)
      std::cout << fmt::format(" {} | {:.2f} | {} |", gap.missed, gap.mean(), gap.worst);
    std::cout << std::endl;
  }
}

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_times();
  benchmark::RunSpecifiedBenchmarks();
  print_gaps();
  return 0;
}

}  // namespace
}  // namespace ductile

int main(int argc, char** argv) { return ductile::main(argc, argv); }
