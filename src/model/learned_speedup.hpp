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
/// than their number. A size counts as much as its observations, but more than some of them say
/// little more: what is wrong then is the curve.
class LearnedSpeedup {
 public:
  /// `units` of work (whole runs, or iterations) took `time` on `nodes`. All above 0.
  void add(Nodes nodes, Duration time, std::uint64_t units = 1);
  /// Nothing before it has run at two sizes.
  std::optional<Speedup> model() const;

 private:
  struct Seen {
    Duration time{};
    std::uint64_t units = 0;
  };
  std::map<Nodes, Seen> sizes_;
};

/// A first model from a single size, before a second one is known: Amdahl's law for an application
/// that spends `mtct` times as long in MPI as it computes (paper 003's ratio, the mean of its
/// processes) on `nodes` with so many processes on each. With p processes its efficiency is
/// believed to be 1 / (1 + mtct), that of Amdahl's law 1 / (1 + s (p - 1)), so s = mtct / (p - 1).
/// Paper 003 only compares ratios; that lost efficiency is MPI time and behaves like a serial part
/// is our inference. Nothing for one process, which waits for nobody.
std::optional<Speedup> speedup_of_mtct(double mtct, Nodes nodes, std::uint32_t per_node);

}  // namespace ductile
