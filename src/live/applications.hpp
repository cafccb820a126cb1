// What applications took at the sizes they have run at, and what is therefore believed of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "live/submission.hpp"
#include "model/learned_speedup.hpp"

namespace ductile {

/// Jobs of a user that run the same program or script with the same arguments are runs of one
/// application.
class Applications {
 public:
  /// A job completed after `time` on `nodes`, and had no other size.
  void ran(std::uint32_t user, const Submission& what, Nodes nodes, Duration time);
  /// Nothing if the application has not run at two sizes.
  std::optional<Speedup> model(std::uint32_t user, const Submission& what) const;

 private:
  std::map<std::string, LearnedSpeedup> known_;
};

}  // namespace ductile
