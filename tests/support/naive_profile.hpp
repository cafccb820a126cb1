// How many nodes are free when, for naive models: every change is looked at each time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.hpp"

namespace ductile::naive {

/// How many nodes are free when, by the changes that are expected.
class Profile {
 public:
  Profile(Time now, std::int64_t free) : now_(now), free_(free) {}

  void add(Time from, Time to, std::int64_t nodes) { changes_.push_back({from, to, nodes}); }
  bool fits(Time at, Duration length, std::int64_t nodes) const {
    const Time end = later(at, length);
    const auto enough = [&](Time time) { return time < at || time >= end || free(time) >= nodes; };
    return enough(at) && std::ranges::all_of(changes_, [&](const Change& c) {
             return enough(c.from) && enough(c.to);
           });
  }
  Time earliest(Duration length, std::int64_t nodes) const {
    Time best = fits(now_, length, nodes) ? now_ : kNever;
    for (const Change& change : changes_) {
      for (const Time at : {change.from, change.to}) {
        if (at > now_ && at < best && fits(at, length, nodes)) best = at;
      }
    }
    return best;
  }

 private:
  struct Change {
    Time from, to;
    std::int64_t nodes;
  };
  std::int64_t free(Time at) const {
    std::int64_t sum = free_;
    for (const Change& c : changes_) sum += c.from <= at && at < c.to ? c.nodes : 0;
    return sum;
  }

  Time now_;
  std::int64_t free_;
  std::vector<Change> changes_;
};

}  // namespace ductile::naive
