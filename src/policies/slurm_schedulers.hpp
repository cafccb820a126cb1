// The two schedulers of Slurm, with the parameters of its `SchedulerParameters`: what its
// documentation of sched_config and of slurm.conf says of them. A pass takes no time here, so
// what they do to keep their passes short (`bf_continue`, `bf_yield_interval`, `max_rpc_cnt`) has
// no counterpart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"

namespace ductile {

class SlurmSchedulers {
 public:
  /// `whose` stands before what each of them is.
  static std::vector<ParameterInfo> parameters(const std::string& whose = "");
  explicit SlurmSchedulers(const Parameters& parameters);

  /// The main scheduler: jobs start in order, and nothing passes one that does not fit in its
  /// partition. At events it looks at the first `default_queue_depth` jobs, at multiples of
  /// `sched_interval` at all.
  void start_in_order(Pass& pass) const;
  /// Is it time for sched/backfill, a multiple of `bf_interval`?
  bool backfills_now(const Pass& pass) const { return is_due(pass, bf_interval_); }
  /// How it plans.
  const Backfill& backfill() const { return backfill_; }
  /// For `Policy::slowest_clock`.
  Duration slowest_clock() const;
  /// Wakes the policy for the next one of both.
  void wake(Pass& pass) const;

 private:
  /// Is it a multiple of this?
  bool is_due(const Pass& pass, Duration interval) const;

  std::uint32_t queue_depth_;
  Duration sched_interval_, bf_interval_;
  Backfill backfill_;
};

}  // namespace ductile
