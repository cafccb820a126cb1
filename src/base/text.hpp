// Numbers as files show them.
#pragma once

#include <string>

#include "base/time.hpp"

namespace ductile {

/// Appends a duration in seconds: exact to the microsecond, without trailing zeros. "12.5", "-3".
void append_seconds(std::string& text, Duration duration);
inline void append_seconds(std::string& text, Time time) {
  append_seconds(text, time.time_since_epoch());
}

std::string seconds_text(Duration duration);
inline std::string seconds_text(Time time) { return seconds_text(time.time_since_epoch()); }

}  // namespace ductile
