// By which numbers people and the world know jobs. The core numbers them from 0, as they arrive; a
// world gives any numbers, each once. Of jobs that are not over one becomes the other here, of
// those that are over by a look at the journal, and nowhere else.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace ductile {

class JobNumbers {
 public:
  void add(JobId id, std::uint64_t number) {
    const bool is_new = numbers_.emplace(id, number).second && ids_.emplace(number, id).second;
    if (!is_new) throw std::logic_error("a job has two numbers: " + std::to_string(number));
  }
  void remove(JobId id) {
    ids_.erase(of(id));
    numbers_.erase(id);
  }
  bool contains(JobId id) const { return numbers_.contains(id); }
  /// Of one that is there.
  std::uint64_t of(JobId id) const { return numbers_.at(id); }
  /// None: there is none.
  JobId id_of(std::uint64_t number) const {
    const auto found = ids_.find(number);
    return found == ids_.end() ? JobId::none : found->second;
  }
  /// Those that have these numbers, without `end`, by their numbers.
  std::vector<JobId> between(std::uint64_t first, std::uint64_t end) const {
    std::vector<JobId> found;
    for (auto at = ids_.lower_bound(first); at != ids_.end() && at->first < end; ++at) {
      found.push_back(at->second);
    }
    return found;
  }

 private:
  std::map<JobId, std::uint64_t> numbers_{};
  std::map<std::uint64_t, JobId> ids_{};
};

}  // namespace ductile
