// The workload of the power experiments of Chadha, John and Gerndt, HiPC 2020 (paper 003, VI-C): a
// computation of Pi, which draws little, and one of heat, which draws much, by turns. What the
// paper says is kept; run times and whether there are rigid jobs are ours.
#pragma once

#include <cstdint>

#include "base/decimal.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile {

struct PiHeatModel {
  std::uint64_t jobs = 20;
  Nodes nodes = 14;                 // of the machine, and the largest size of an elastic job
  Nodes max_size = 4;               // that is asked for; sizes are uniform from 1 on
  Duration gap = whole_seconds(2);  // between submissions
  std::int64_t min_runtime_s = 120, max_runtime_s = 600;  // at the size asked for; uniform
  double pi_w = 170, heat_w = 250;                        // of a node
  double rigid = 0;                                       // probability that a job is
};

/// Job i computes Pi if i is odd, else heat; user 1 or 2. Linear; a job is elastic from 1 node to
/// the whole machine. What a job is depends on the seed and its number alone, and whether it is
/// rigid on nothing else. Throws InputError for values that make no workload.
Workload generate_pi_heat(const PiHeatModel& model, std::uint64_t seed);

}  // namespace ductile
