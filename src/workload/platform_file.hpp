// Files that say what a cluster is made of (docs/formats/platform.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/platform.hpp"

namespace ductile {

struct PlatformFile {
  Platform platform;
  /// By which logs know the partitions, in the platform's order.
  std::vector<std::int64_t> numbers;
};

/// Throws InputError with file, line and field.
PlatformFile read_platform_file(const std::string& path);

/// The same from the content of a file called `name`.
PlatformFile parse_platform_file(std::string_view bytes, const std::string& name);

}  // namespace ductile
