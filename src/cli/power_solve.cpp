#include "cli/power_solve.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "solver/corridor_solver.hpp"
#include "workload/corridor_file.hpp"

namespace ductile {
namespace {

struct PowerSolveOptions {
  std::string file;
  std::string solver = "automatic";
  bool json = false;
};

std::string to_text(const CorridorProblem& problem, const CorridorSolution& solution) {
  if (!solution.feasible) return "infeasible";
  std::string text = fmt::format("{} idle", solution.idle);
  std::vector<std::pair<std::uint64_t, std::size_t>> by_id;
  for (std::size_t i = 0; i < problem.running.size(); ++i) {
    by_id.emplace_back(problem.running[i].id, i);
  }
  std::sort(by_id.begin(), by_id.end());
  for (const auto& [id, i] : by_id) {
    const Nodes n = problem.running[i].n, size = solution.sizes[i];
    if (size != n) fmt::format_to(std::back_inserter(text), ", job {} from {} to {}", id, n, size);
  }
  return text;
}

// Exact wherever that is possible: here nobody waits as a scheduler does.
CorridorSolution solve(const CorridorInstance& instance, CorridorMethod method,
                       const Place& place) {
  const bool may_choose = method == CorridorMethod::automatic;
  const CorridorSolver solver(instance.problem, may_choose ? CorridorMethod::dp : method);
  if (solver.method() != method && !may_choose) {
    throw InputError({place.file, place.line, "running"},
                     "too many jobs, sizes or powers for an exact solution",
                     "choose --solver lp or greedy");
  }
  if (solver.method() != CorridorMethod::dp && may_choose) {
    std::cerr << fmt::format("ductile: {}:{}: too large for dp, solved by lp\n", place.file,
                             place.line);
  }
  return solver.solve(instance.waiting);
}

void solve_lines(const PowerSolveOptions& options, std::istream& in, const std::string& name) {
  const auto word =
      std::find(kCorridorMethodWords.begin(), kCorridorMethodWords.end(), options.solver);
  const auto method = static_cast<CorridorMethod>(word - kCorridorMethodWords.begin());
  std::string line;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Place place{.file = name, .line = number};
    const CorridorInstance instance = parse_corridor_instance(line, place);
    const CorridorSolution solution = solve(instance, method, place);
    std::cout << (options.json ? to_json(instance.problem, solution)
                               : to_text(instance.problem, solution))
              << std::endl;
  }
  if (in.bad()) throw RunError(name + ": cannot be read to its end: " + std::strerror(errno));
}

}  // namespace

void add_power_solve_command(CLI::App& power) {
  const auto options = std::make_shared<PowerSolveOptions>();
  CLI::App* command = power.add_subcommand(
      "solve", "Find sizes of running jobs that keep the machine's power within a corridor");
  command->add_option("FILE", options->file, "an instance per line, JSON; -: standard input")
      ->required();
  command
      ->add_option("--solver", options->solver,
                   "dp: exact; lp: linear relaxation, rounded and repaired; greedy: by power, "
                   "repaired; without it dp, or lp where that is too large")
      ->check(CLI::IsMember({"dp", "lp", "greedy"}));
  command->add_flag("--json", options->json, "print one JSON object per line");
  command->callback([options] {
    if (options->file == "-") return solve_lines(*options, std::cin, "standard input");
    std::ifstream file(options->file);
    if (!file) {
      throw InputError({.file = options->file},
                       std::string("cannot be read: ") + std::strerror(errno),
                       "check the name and that you may read the file");
    }
    solve_lines(*options, file, options->file);
  });
}

}  // namespace ductile
