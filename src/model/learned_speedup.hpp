// A performance model learned from what an application took at the sizes it has run at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/speedup.hpp"

namespace ductile {

/// Observations, and the model that fits them best: Amdahl's law, t(n) = s + p / n, or a power law,
/// t(n) = c n^(rho - 1). Both by least squares of relative errors, with two parameters each; s, p
/// >= 0 and rho in [0, 1), so that more nodes are never believed to be slower, nor to gain more
/// than their number.
class LearnedSpeedup {
 public:
  /// `units` of work (whole runs, or iterations) took `time` on `nodes`. Both above 0.
  void add(Nodes nodes, Duration time, double units = 1);
  /// Nothing before it has run at two sizes.
  std::optional<Speedup> model() const;

 private:
  struct Seen {
    double time_s = 0, units = 0;
  };
  std::map<Nodes, Seen> sizes_;
};

}  // namespace ductile
