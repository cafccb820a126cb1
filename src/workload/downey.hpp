// The models named after Downey: "A Parallel Workload Model and Its Implications for Processor
// Allocation", HPDC 1997, of moldable jobs; and the one that Lina, Ghafoor and Hines, JSSPP 2022
// (paper 002) call so, of run times and processors. What the papers leave open is a parameter.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/ids.hpp"
#include "model/job_spec.hpp"
#include "workload/generate.hpp"
#include "workload/marginal.hpp"
#include "workload/workload.hpp"

namespace ductile {

struct DowneyModel {
  /// Downey 1997: work, average parallelism and its variation, each independent of the others.
  /// Paper 002: run times and processors, log-uniform and independent.
  enum class Table : std::uint8_t { downey1997, paper002 };
  /// What a job of 1997 asks for: its average parallelism, the most nodes that speed it up, or any
  /// size up to these, log-uniform.
  enum class Ask : std::uint8_t { average, useful, any };
  enum class Type : std::uint8_t { automatic, rigid, moldable, malleable };

  Table table = Table::downey1997;
  std::uint64_t jobs = 10'000;
  Nodes nodes = 10'000;  // of the machine
  double load = 0.75;    // offered, at the sizes asked for
  /// Moldable in 1997, rigid in 002; malleable jobs have the same sizes. For 1997 only.
  Type type = Type::automatic;
  Marginal work_node_s{Marginal::Kind::loguniform, 100, 1'000'000};
  double max_parallelism = 0;  // average, log-uniform from 1 on; 0: the machine
  Marginal sigma{Marginal::Kind::uniform, 0, 2};
  Ask ask = Ask::average;
  double day_share = 0.5;  // of the arrivals in twelve hours from day_from_h on
  double day_from_h = 8;
  Marginal runtime_s{Marginal::Kind::loguniform, 295.89, 20'130.2};  // of 002: exp(5.69), exp(9.91)
  Marginal size{Marginal::Kind::loguniform, 1.994, 4964.2};          //         exp(0.69), exp(8.51)
};

constexpr std::array<std::string_view, 2> kDowneyTableWords{"1997", "002"};
constexpr std::array<std::string_view, 3> kDowneyAskWords{"average", "useful", "any"};
constexpr std::array<std::string_view, 4> kDowneyTypeWords{"auto", "rigid", "moldable",
                                                           "malleable"};

/// The most nodes that speed up an application of average parallelism `a` and variation `sigma`.
double most_useful_nodes(double a, double sigma);

/// Run times are rounded to whole seconds, at least 1 and at most 10^8; the load is that of these
/// very jobs, to one second. Jobs that are not rigid have Downey's speedup, believed and true, and
/// any size up to the most useful one that the machine has. The walltime is the run time. What a
/// job is depends on the seed and its number alone. Throws InputError for values that make no
/// workload.
Workload generate_downey(const DowneyModel& model, std::uint64_t seed);

WorkloadModel downey_model();

}  // namespace ductile
