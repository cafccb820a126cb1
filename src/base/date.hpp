// Dates of the calendar, without a time zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ductile {

/// The seconds from 1970 to "2024-05-17", "2024-05-17T08:30" or "2024-05-17T08:30:00" (a blank will
/// do for the T), as if all days had 24 hours: UTC. Nothing if it is no such date.
std::optional<std::int64_t> parse_date(std::string_view text);

}  // namespace ductile
