// What Slurm does with rigid jobs: its main scheduler starts them in order whenever something
// happens, and sched/backfill plans at intervals, for some jobs, some time ahead, with rounded
// times. SchedMD: Slurm's documentation of sched_config and slurm.conf.
//
// A pass at an event costs the decisions, one of backfill with J jobs to look at O(J log (R + J)).
#include "policies/registry.hpp"
#include "policies/slurm_schedulers.hpp"
#include "scheduling/blocks.hpp"

namespace ductile {
namespace {

class Slurm final : public Policy {
 public:
  explicit Slurm(const Parameters& parameters)
      : Policy({.wakes = kAllButAnswers}), schedulers_(parameters) {
    slowest_clock = schedulers_.slowest_clock();
  }

  void schedule(Pass& pass) const override {
    schedulers_.start_in_order(pass);
    if (schedulers_.backfills_now(pass)) backfill(pass, schedulers_.backfill());
    schedulers_.wake(pass);
  }

 private:
  SlurmSchedulers schedulers_;
};

}  // namespace

PolicyInfo slurm() {
  return {.name = "slurm",
          .summary = "Slurm's main scheduler and its backfill at intervals, with their parameters",
          .source = "SchedMD: Slurm's sched_config",
          .parameters = SlurmSchedulers::parameters(),
          .make = make_policy<Slurm>};
}

}  // namespace ductile
