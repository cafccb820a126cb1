#include "solver/corridor_relaxation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include <coin/Clp_C_Interface.h>

namespace ductile {
namespace {

// A node more is worth this much change. Finite, so that one solve does; only with jobs whose power
// differs by that factor does change decide before nodes do.
constexpr double kNode = 1'000;
// And the largest cost of a node so much.
constexpr double kCost = 100;
// Nodes go rather to later jobs, and come rather from earlier ones, by up to so much change. Were
// the costs the same, the dual simplex would take a step for each job, not a few for all of them.
constexpr double kNudge = 0.01;

constexpr double kAny = std::numeric_limits<double>::max();  // CLP's infinity

}  // namespace

struct CorridorRelaxation::Model {
  static constexpr int kRows = 3;  // nodes, most, least

  struct Delete {
    void operator()(Clp_Simplex* model) const { Clp_deleteModel(model); }
  };

  std::vector<double> n{};             // by job
  CorridorSums now{};                  // at these sizes
  std::vector<unsigned char> begin{};  // the basis of no change
  double scale = 1;                    // milliwatts of one unit in the rows of power
  std::unique_ptr<Clp_Simplex, Delete> clp{Clp_newModel()};
};

// Of each job two columns: the nodes it gets, and those it gives.
CorridorRelaxation::CorridorRelaxation(std::span<const CorridorJob> jobs)
    : model_(std::make_unique<Model>()) {
  constexpr int kRows = Model::kRows;
  Model& model = *model_;
  for (const CorridorJob& job : jobs) {
    model.scale = std::max({model.scale, std::abs(static_cast<double>(job.most)),
                            std::abs(static_cast<double>(job.least))});
    model.now.add(job, job.n);
    model.n.push_back(job.n);
  }
  std::vector<int> starts, rows;
  std::vector<double> elements, lower, upper, cost;
  double nudge = 0, dearest = 1;
  for (const CorridorJob& job : jobs) {
    dearest = std::max(dearest, std::abs(static_cast<double>(job.cost)));
  }
  for (const CorridorJob& job : jobs) {
    nudge += kNudge / static_cast<double>(jobs.size());
    for (const int sign : {1, -1}) {
      const std::array<double, kRows> column{1.0 * sign,
                                             static_cast<double>(job.most) / model.scale * sign,
                                             static_cast<double>(job.least) / model.scale * sign};
      starts.push_back(static_cast<int>(rows.size()));
      for (int row = 0; row < kRows; ++row) {
        if (column[static_cast<std::size_t>(row)] == 0) continue;
        rows.push_back(row);
        elements.push_back(column[static_cast<std::size_t>(row)]);
      }
      lower.push_back(0);
      upper.push_back(sign > 0 ? job.sizes.max() - job.n : job.n - job.sizes.min());
      const double its = kCost * static_cast<double>(job.cost) / dearest;
      cost.push_back(1 - (kNode - its) * sign - sign * nudge);
    }
  }
  starts.push_back(static_cast<int>(rows.size()));
  const int columns = static_cast<int>(cost.size());
  const std::array<double, kRows> row_lower{-kAny, -kAny, -kAny}, row_upper{kAny, kAny, kAny};
  Clp_Simplex* const clp = model.clp.get();
  Clp_loadProblem(clp, columns, kRows, starts.data(), rows.data(), elements.data(), lower.data(),
                  upper.data(), cost.data(), row_lower.data(), row_upper.data());
  Clp_setLogLevel(clp, 0);
  Clp_scaling(clp, 0);            // the rows are
  Clp_setPerturbation(clp, 100);  // the costs are
  constexpr int kBasic = 1, kAtLower = 3;
  for (int column = 0; column < columns; ++column) Clp_setColumnStatus(clp, column, kAtLower);
  for (int row = 0; row < kRows; ++row) Clp_setRowStatus(clp, row, kBasic);
  const unsigned char* const status = Clp_statusArray(clp);
  model.begin.assign(status, status + columns + kRows);
}

CorridorRelaxation::~CorridorRelaxation() = default;
CorridorRelaxation::CorridorRelaxation(CorridorRelaxation&&) noexcept = default;
CorridorRelaxation& CorridorRelaxation::operator=(CorridorRelaxation&&) noexcept = default;

std::optional<std::vector<double>> CorridorRelaxation::solve(const CorridorLimits& limits) {
  Model& model = *model_;
  if (model.n.empty()) {
    if (!limits.hold({})) return std::nullopt;
    return std::vector<double>{};
  }
  Clp_Simplex* const clp = model.clp.get();
  const auto left = [&](Milliwatts limit, Milliwatts now) {
    return (static_cast<double>(limit) - static_cast<double>(now)) / model.scale;
  };
  const bool has_most = limits.most != CorridorLimits{}.most,
             has_least = limits.least != CorridorLimits{}.least;
  const std::array<double, Model::kRows> upper{static_cast<double>(limits.nodes - model.now.nodes),
                                               has_most ? left(limits.most, model.now.most) : kAny,
                                               kAny};
  const std::array<double, Model::kRows> lower{
      -kAny, -kAny, has_least ? left(limits.least, model.now.least) : -kAny};
  Clp_chgRowUpper(clp, upper.data());
  Clp_chgRowLower(clp, lower.data());
  Clp_copyinStatus(clp, model.begin.data());
  Clp_dual(clp, 0);
  if (Clp_status(clp) != 0) return std::nullopt;
  const double* const column = Clp_getColSolution(clp);
  std::vector<double> sizes(model.n);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] += column[2 * i] - column[2 * i + 1];
  }
  return sizes;
}

}  // namespace ductile
