// tide, done slowly and plainly, to hold the real one against.
//
// Written from what docs/policies.md says, not from the policy; shared are the types of a job and
// of time, what a model says of times, and decimals. On one cell, resizes take no time; what they
// are said to cost only decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/decimal.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "support/naive_backfill.hpp"
#include "workload/workload.hpp"

namespace ductile::naive {

struct TideOptions {
  enum class HandOut : std::uint8_t { all, unreserved, none };

  bool cuts = true;
  Decimal wait_for = Decimal(3);
  double cut_worth = 0;
  double start_worth = 0;
  Decimal scarce = Decimal(0.3);
  bool extra_is_free = true;
  std::size_t oldest = 0;
  Decimal oldest_share = Decimal(0.4);
  HandOut hand_out = HandOut::all;
  bool grow_starts = true;
  double moldable = 2;
  Decimal step = Decimal(2);
  double gain = 0.05;
  double exponent = 0.7;
  double pays = 10;
  double least_cost_s = 20;
  std::size_t moves = 4;
  Decimal slack = Decimal(6);
  Duration grace = whole_seconds(4 * 3600);
  bool scaled = false;  // limits move with sizes
};

struct TideRun {
  std::vector<JobTimes> jobs;  // in their order
  std::uint64_t resizes = 0;
};

/// Rigid, moldable and malleable jobs, sorted by submit time, with walltimes that suffice, none
/// larger than the machine.
TideRun tide(const Workload& workload, Nodes nodes, const TideOptions& options);

}  // namespace ductile::naive
