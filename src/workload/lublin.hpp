// The model of Lublin and Feitelson: "The Workload on Parallel Supercomputers: Modeling the
// Characteristics of Rigid Jobs", J. Parallel and Distributed Computing 63(11), 2003. Sizes, run
// times that go with them, and arrivals that follow the day; the values are those of the authors'
// program in the Parallel Workloads Archive.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.hpp"
#include "workload/generate.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// What there is of one type of jobs, by the names of the paper.
struct LublinTable {
  double p_serial, p_power_of_two;
  double u_low, u_med, u_hi, u_prob;  // logarithms (base 2) of sizes on a machine of 128 nodes
  double a1, b1, a2, b2, pa, pb;      // of run times
  double a_arr, b_arr, a_num, b_num, arar;
};

constexpr LublinTable kLublinBatch{0.2927, 0.6686, 1.2,    5,      7,      0.875,
                                   6.57,   0.823,  639.1,  0.0156, -0.003, 0.6986,
                                   6.0415, 0.8531, 6.1271, 5.2740, 1.0519};
constexpr LublinTable kLublinInteractive{0.1541, 0.625,  1,      3,      5.5,     0.705,
                                         3.8351, 0.6605, 7.073,  0.6856, -0.0118, 0.9156,
                                         6.5510, 0.6621, 8.9186, 3.6680, 0.9797};
constexpr LublinTable kLublinOneType{0.244,   0.576,  0.8,    4.5,    7,       0.86,
                                     4.2,     0.94,   312,    0.03,   -0.0054, 0.78,
                                     10.2303, 0.4871, 8.1737, 3.9631, 1.0225};

struct LublinModel {
  /// Batch and interactive jobs, two streams of arrivals; or one type for all.
  enum class Types : std::uint8_t { both, one };
  /// What changes for a load: all gaps by the same factor before the day shapes them, or b_arr, the
  /// scale of their logarithms.
  enum class LoadBy : std::uint8_t { gaps, barr };

  std::uint64_t jobs = 10'000;
  Nodes nodes = 128;  // of the machine, and the largest job but for interactive ones
  Types types = Types::both;
  std::optional<double> load;  // offered; none: as the arrivals of the paper give it
  LoadBy load_by = LoadBy::gaps;
  std::optional<double> below;   // how far u_med is below u_hi; none: as for 128 nodes
  std::optional<double> u_prob;  // none: as for 128 nodes
  /// How far the largest interactive job is below the machine, in powers of two.
  double interactive_below = 1.5;
};

constexpr std::array<std::string_view, 2> kLublinTypesWords{"both", "one"};
constexpr std::array<std::string_view, 2> kLublinLoadByWords{"gaps", "barr"};

/// The values for the model's machine.
LublinTable scaled(const LublinTable& table, const LublinModel& model);

/// Time 0 is midnight. Groups are 1 (batch, and where there is one type) and 2 (interactive); users
/// are not known. What a job is depends on the seed, its type and its number among those of its
/// type alone: with another load only the arrivals change, and how the types are mixed by them. No
/// times are requested: the walltime is the run time. Throws InputError for values that make no
/// workload.
Workload generate_lublin(const LublinModel& model, std::uint64_t seed);

WorkloadModel lublin_model();

}  // namespace ductile
