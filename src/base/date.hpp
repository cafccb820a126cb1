// Dates of the calendar, without a time zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ductile {

/// The seconds from 1970 to "2024-05-17", "2024-05-17T08:30" or "2024-05-17T08:30:00" (a blank will
/// do for the T), as if all days had 24 hours: UTC. Nothing if it is no such date.
std::optional<std::int64_t> parse_date(std::string_view text);

/// Logs begin at most so long before or after 1970 (s); what says more says nothing.
inline constexpr std::int64_t kFarthestStart = 1'000'000'000'000;

/// The seconds from time 0 of a log to a date (s since 1970). Nothing if the log does not say when
/// it begins (s since 1970), or a time that is too far away.
std::optional<std::int64_t> seconds_from(std::optional<std::int64_t> start, std::int64_t date);

}  // namespace ductile
