// Files that say what a cluster is made of (docs/formats/platform.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"
#include "base/time.hpp"
#include "model/platform.hpp"

namespace ductile {

/// What of the machine is kept from jobs for a time.
struct FileReservation {
  std::string name;
  Time from{}, to = kNever;
  NodeSet nodes{};
  Nodes count = 0;         // so many instead
  double watts = 0;        // of the power budget
  NodeSet jobs{};          // their numbers: for them; else for nobody
  std::uint64_t line = 0;  // of the file
  bool operator==(const FileReservation&) const = default;
};

struct PlatformFile {
  Platform platform;
  /// By which logs know the partitions, in the platform's order.
  std::vector<std::int64_t> numbers;
  /// And the qualities of service.
  std::vector<std::int64_t> qos_numbers{};
  /// In the order in which they are made: first those whose nodes are said, then those that say how
  /// many, by when they begin.
  std::vector<FileReservation> reservations{};
};

/// Throws InputError with file, line and field.
PlatformFile read_platform_file(const std::string& path);

/// Of a cluster that is served, whose reservations are made while it is, and where nobody sets
/// frequencies: a file that has some, or steps, is refused.
Platform read_platform_to_serve(const std::string& path);

/// The same from the content of a file called `name`.
PlatformFile parse_platform_file(std::string_view bytes, const std::string& name);

}  // namespace ductile
