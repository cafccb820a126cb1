// The linear relaxation, by CLP.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "solver/corridor_sizes.hpp"

namespace ductile {

/// Sizes as real numbers between a job's smallest and largest one: most nodes, then least cost,
/// then least change. The machine's constraints are three rows, so that all but three jobs are as
/// they were, or as small or large as can be.
class CorridorRelaxation {
 public:
  explicit CorridorRelaxation(std::span<const CorridorJob> jobs);
  ~CorridorRelaxation();
  CorridorRelaxation(CorridorRelaxation&&) noexcept;
  CorridorRelaxation& operator=(CorridorRelaxation&&) noexcept;

  /// A size for each job; nothing if there are none, and then there are no whole ones, either. What
  /// was solved before does not matter.
  std::optional<std::vector<double>> solve(const CorridorLimits& limits);

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

}  // namespace ductile
