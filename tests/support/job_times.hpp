// When jobs of a simulation start and end, to hold beside a naive one.
#pragma once

#include <cstddef>
#include <vector>

#include "simulation/observer.hpp"
#include "support/naive_backfill.hpp"

namespace ductile::testing {

class Times : public Observer {
 public:
  explicit Times(std::size_t jobs) : runs(jobs) {}
  void on_decision(Time now, const Decision& decision, const Core&) override {
    if (decision.kind == Decision::Kind::start) runs[index(decision.job)].start = now;
  }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState, bool, const Core&) override {
    runs[index(id)].end = now;
  }
  std::vector<naive::JobTimes> runs;
};

}  // namespace ductile::testing
