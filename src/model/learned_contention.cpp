#include "model/learned_contention.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/wide.hpp"

namespace ductile {
namespace {

constexpr Duration kLeastSeen = whole_seconds(60);

}  // namespace

void LearnedContention::add(Bound job, Bound beside, Duration alone, Duration took) {
  if (took <= Duration{}) return;
  Seen& seen = seen_[static_cast<std::size_t>(job)][static_cast<std::size_t>(beside)];
  // No sum of times is longer than all jobs took.
  seen.alone += std::max(alone, Duration{});
  seen.took += took;
}

Contention LearnedContention::model() const {
  Contention model = before_;
  for (std::size_t job = 0; job < seen_.size(); ++job) {
    for (std::size_t beside = 0; beside < seen_.size(); ++beside) {
      const Seen& seen = seen_[job][beside];
      if (seen.took < kLeastSeen) continue;
      const Wide twice = Wide{seen.alone.count()} * kPerMille * 2;
      const Wide nearest = (twice + seen.took.count()) / (Wide{seen.took.count()} * 2);
      model.per_mille[job][beside] =
          static_cast<std::uint16_t>(std::clamp<Wide>(nearest, 1, kPerMille));
    }
  }
  return model;
}

}  // namespace ductile
