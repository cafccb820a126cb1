// What a user says about when a job may start, apart from its place in the queue and from its
// dependencies: a time, and how many tasks of an array run at once. As Slurm writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/node_set.hpp"
#include "base/time.hpp"
#include "model/dependency.hpp"

namespace ductile {

/// The numbers of the tasks of an array, and how many run at once.
struct TaskArray {
  static constexpr std::uint32_t kMost = 10'000;

  NodeSet tasks{};          // empty: no array
  std::uint32_t limit = 0;  // 0: all

  bool operator==(const TaskArray&) const = default;
  bool empty() const { return tasks.empty(); }
  std::uint32_t count() const { return tasks.count(); }
  /// `parse_array` makes no such one; there may be too many to be counted.
  bool is_too_large() const { return !empty() && count() - 1 >= kMost; }
  std::uint32_t min() const { return empty() ? 0 : tasks.parts.front().first; }
  std::uint32_t max() const { return empty() ? 0 : tasks.parts.back().last; }
};

/// "0-9", "1,3,5-7", "0-15:4", each with "%2" at its end: two at once. Throws InputError.
TaskArray parse_array(std::string_view text);
std::string to_text(const TaskArray& array);

/// "now", "now+10" (seconds; minutes, hours, days, weeks may follow), "HH:MM[:SS]" (the next one),
/// "YYYY-MM-DD[THH:MM[:SS]]", in local time, seen from `now`. Throws InputError.
Time parse_begin(std::string_view text, Time now, const char* field = "begin");

}  // namespace ductile
