// Times and sizes of memory as users of batch systems write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace ductile {

/// No limit of a job is longer.
constexpr Duration kLongestLimit = whole_seconds(std::int64_t{400} * 24 * 3600);

/// A time as Slurm writes them: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S. Throws InputError.
Duration parse_limit(std::string_view text);
/// Memory as Slurm writes it: megabytes, or with K, M, G or T; in bytes. Throws InputError.
std::uint64_t parse_memory(std::string_view text);
/// "64G", "1536M": in the largest unit in which it is whole; of bytes.
std::string memory_text(std::uint64_t bytes);

}  // namespace ductile
