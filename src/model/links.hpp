// Bandwidth of links that all jobs share.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ductile {

/// A link that a flow goes over.
struct LinkUse {
  std::uint32_t link = 0;
  double share = 1;  // of the flow's bytes, above 0

  bool operator==(const LinkUse&) const = default;
};

/// Equal transfers side by side, as those of a job's ranks. Each has a share of a link of its own.
struct Flow {
  double members = 1;
  /// Bytes/s of each where nobody else is.
  double most = std::numeric_limits<double>::infinity();
  std::vector<LinkUse> uses{};  // each link once

  bool operator==(const Flow&) const = default;
};

/// How fast each member of each flow is, in bytes/s, over links of so many bytes/s: max-min fair.
/// All become faster together, until they are as fast as they can be or a link of theirs is full
/// (progressive filling; Bertsekas and Gallager, Data Networks, 1992, 6.5.2). So each flow is as
/// fast as it can be, or is among the fastest on a link that is full. A flow over no link is as
/// fast as it can be.
std::vector<double> fair_shares(std::span<const Flow* const> flows,
                                std::span<const double> bytes_per_s);

}  // namespace ductile
