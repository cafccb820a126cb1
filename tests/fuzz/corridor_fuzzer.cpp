// Lines of `ductile power solve`: each is an instance or is refused with words, and what is solved
// holds, by whatever solver.
//
// Readers: src/workload/corridor_file.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "solver/corridor_solver.hpp"
#include "workload/corridor_file.hpp"

namespace {

using namespace ductile;

void solve(const CorridorInstance& instance) {
  for (const CorridorMethod method :
       {CorridorMethod::automatic, CorridorMethod::lp, CorridorMethod::greedy}) {
    const CorridorSolution found = CorridorSolver(instance.problem, method).solve(instance.waiting);
    to_json(instance.problem, found);
    if (!found.feasible) continue;
    if (found != corridor_solution(instance.problem, instance.waiting, found.sizes)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  try {
    solve(parse_corridor_instance(line, {.file = "x", .line = 1}));
  } catch (const InputError& error) {
    if (std::string_view(error.what()).substr(0, 5) != "x:1: ") std::abort();
  }
  return 0;
}
