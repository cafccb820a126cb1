#include "support/random_corridor.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "base/random.hpp"

namespace ductile::testing {
namespace {

using Kind = SizeConstraint::Kind;

// By their definitions.
bool is_allowed(Kind kind, Nodes n) {
  switch (kind) {
    case Kind::any:
      return true;
    case Kind::power_of_two:
      return (n & (n - 1)) == 0;
    case Kind::even:
      return n % 2 == 0;
    case Kind::odd:
      return n % 2 == 1;
    default:
      for (Nodes root = 1; root * root * root <= n; ++root) {
        if (root * root * root == n) return true;
      }
      return false;
  }
}

bool may_have(const RunningInCorridor& job, Nodes size) {
  if (size == job.n) return true;
  return !job.rigid && size >= 1 && job.range.contains(size) &&
         is_allowed(job.constraint.kind, size);
}

/// Idle nodes if all holds, else none.
std::optional<Nodes> idle_nodes(const CorridorProblem& problem,
                                const std::vector<WaitingForCorridor>& waiting,
                                const std::vector<Nodes>& sizes) {
  std::int64_t idle = problem.nodes;
  Milliwatts most = 0, least = 0;
  const auto add = [&](Nodes n, Milliwatts low, Milliwatts high) {
    idle -= n;
    least += n * low;
    most += n * high;
  };
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    add(sizes[i], problem.running[i].p_min_mw, problem.running[i].p_max_mw);
  }
  for (const WaitingForCorridor& job : waiting) add(job.n, job.p_min_mw, job.p_max_mw);
  if (idle < 0) return std::nullopt;
  most += idle * problem.idle_mw;
  least += idle * problem.idle_mw;
  if (problem.upper_mw && most > *problem.upper_mw) return std::nullopt;
  if (problem.lower_mw && least < *problem.lower_mw) return std::nullopt;
  return static_cast<Nodes>(idle);
}

}  // namespace

RandomCorridor random_corridor(std::uint64_t seed, const CorridorShape& shape) {
  Draws draws(seed, Stream::test, 1);
  const auto power = [&] {
    // Some draw less than an idle node.
    return static_cast<Milliwatts>(draws.below(draws.chance(0.3) ? 4 : 300'000));
  };
  std::vector<Milliwatts> powers;
  for (std::uint32_t i = 0; i < shape.powers; ++i) powers.push_back(power());
  const auto range_of_power = [&] {
    const auto one = [&] { return powers.empty() ? power() : powers[draws.below(powers.size())]; };
    const Milliwatts a = one(), b = shape.exact_powers && draws.chance(0.8) ? a : one();
    return std::pair(std::min(a, b), std::max(a, b));
  };
  RandomCorridor its;
  its.problem.nodes = 1 + static_cast<Nodes>(draws.below(shape.nodes));
  its.problem.idle_mw = static_cast<Milliwatts>(draws.below(80'000));
  Nodes free = its.problem.nodes;
  Milliwatts now_mw = 0;
  const auto running = draws.below(shape.running + 1);
  for (std::uint64_t i = 0; i < running && free > 0; ++i) {
    RunningInCorridor job{.id = i + 1};
    const Nodes left = static_cast<Nodes>(running - i);
    job.n = 1 + static_cast<Nodes>(draws.below(std::max<Nodes>(free / left, 1)));
    free -= job.n;
    job.range.min = 1 + static_cast<Nodes>(draws.below(its.problem.nodes));
    job.range.max =
        job.range.min + static_cast<Nodes>(draws.below(its.problem.nodes + 2 -
                                                       std::min(job.range.min, its.problem.nodes)));
    if (draws.chance(0.5)) job.range.min = 1;
    if (shape.all_constraints) {
      constexpr std::array kKinds{Kind::any, Kind::power_of_two, Kind::even, Kind::odd,
                                  Kind::cubic};
      job.constraint.kind = kKinds[draws.below(kKinds.size())];
    }
    job.rigid = draws.chance(0.1);
    std::tie(job.p_min_mw, job.p_max_mw) = range_of_power();
    now_mw += job.n * (job.p_max_mw - its.problem.idle_mw);
    its.problem.running.push_back(job);
  }
  now_mw += its.problem.nodes * its.problem.idle_mw;
  // In any order.
  for (std::size_t i = its.problem.running.size(); i > 1; --i) {
    std::swap(its.problem.running[i - 1], its.problem.running[draws.below(i)]);
  }
  for (std::uint64_t i = draws.below(shape.waiting + 1); i > 0; --i) {
    WaitingForCorridor job{.id = 1000 + i};
    job.n = 1 + static_cast<Nodes>(draws.below(std::max<Nodes>(its.problem.nodes / 3, 1)));
    std::tie(job.p_min_mw, job.p_max_mw) = range_of_power();
    its.waiting.push_back(job);
  }
  // Around what is drawn now, wide and narrow.
  const auto middle =
      static_cast<Milliwatts>(static_cast<double>(now_mw) * draws.uniform(0.6, 1.6));
  const auto width = static_cast<Milliwatts>(static_cast<double>(now_mw) *
                                             (draws.chance(0.2) ? 0.01 : draws.uniform(0, 0.6)));
  if (draws.chance(0.8)) its.problem.lower_mw = std::max<Milliwatts>(middle - width, 0);
  if (draws.chance(0.8)) its.problem.upper_mw = middle + width;
  return its;
}

CorridorSolution naive_corridor(const CorridorProblem& problem,
                                const std::vector<WaitingForCorridor>& waiting) {
  CorridorSolution best;
  std::vector<Nodes> best_by_id, sizes(problem.running.size());
  const auto consider = [&] {
    const auto idle = idle_nodes(problem, waiting, sizes);
    if (!idle) return;
    CorridorSolution its{.feasible = true, .idle = *idle, .sizes = sizes};
    std::vector<std::pair<std::uint64_t, Nodes>> pairs;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Nodes n = problem.running[i].n;
      its.change += std::max(n, sizes[i]) - std::min(n, sizes[i]);
      its.changed += n != sizes[i] ? 1 : 0;
      pairs.emplace_back(problem.running[i].id, sizes[i]);
    }
    std::sort(pairs.begin(), pairs.end());
    std::vector<Nodes> by_id;
    for (const auto& [id, size] : pairs) by_id.push_back(size);
    if (best.feasible && std::tie(best.idle, best.change, best.changed, best_by_id) <=
                             std::tie(its.idle, its.change, its.changed, by_id)) {
      return;
    }
    best = its;
    best_by_id = by_id;
  };
  const auto all = [&](const auto& self, std::size_t i, Nodes used) -> void {
    if (i == sizes.size()) return consider();
    for (Nodes size = 1; used + size <= problem.nodes; ++size) {
      if (!may_have(problem.running[i], size)) continue;
      sizes[i] = size;
      self(self, i + 1, used + size);
    }
  };
  all(all, 0, 0);
  return best;
}

::testing::AssertionResult holds(const CorridorProblem& problem,
                                 const std::vector<WaitingForCorridor>& waiting,
                                 const CorridorSolution& solution) {
  if (!solution.feasible) {
    if (solution == CorridorSolution{}) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "not feasible, and yet it says more";
  }
  if (solution.sizes.size() != problem.running.size()) {
    return ::testing::AssertionFailure() << solution.sizes.size() << " sizes";
  }
  CorridorSolution again{.feasible = true, .sizes = solution.sizes};
  for (std::size_t i = 0; i < solution.sizes.size(); ++i) {
    const RunningInCorridor& job = problem.running[i];
    const Nodes size = solution.sizes[i];
    if (!may_have(job, size)) {
      return ::testing::AssertionFailure() << "job " << job.id << " cannot have " << size;
    }
    again.change += std::max(job.n, size) - std::min(job.n, size);
    again.changed += job.n != size ? 1 : 0;
  }
  const auto idle = idle_nodes(problem, waiting, solution.sizes);
  if (!idle) return ::testing::AssertionFailure() << "breaks a limit";
  again.idle = *idle;
  if (again == solution) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "other figures than its sizes have";
}

}  // namespace ductile::testing
