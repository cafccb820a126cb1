// What has to come of other jobs before one may start, as Slurm writes it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace ductile {

/// A job that has to have come so far.
struct Dependency {
  enum class Kind : std::uint8_t { after, afterany, afterok, afternotok };
  /// What there is to know about that job.
  enum class Stage : std::uint8_t { waits, runs, succeeded, failed };

  Kind kind = Kind::afterany;
  std::uint64_t job = 0;  // of an array: all of its tasks
  bool operator==(const Dependency&) const = default;
};

constexpr std::array<std::string_view, 4> kDependencyWords{"after", "afterany", "afterok",
                                                           "afternotok"};

enum class Fulfilled : std::uint8_t { yes, not_yet, never };
Fulfilled fulfilled(Dependency::Kind kind, Dependency::Stage stage);

/// "afterok:12:13,afterany:14". All of them have to be fulfilled. Throws InputError with `place`.
std::vector<Dependency> parse_dependencies(std::string_view text,
                                           const Place& place = {.field = "dependency"});
std::string to_text(const std::vector<Dependency>& dependencies);

}  // namespace ductile
