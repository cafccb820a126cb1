#include "simulation/power_caps.hpp"

#include <limits>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "simulation/timed_lines.hpp"

namespace ductile {
namespace {

constexpr const char* kWatts = "write watts from 0 to 1e9, or none";

std::optional<double> read_watts(std::string_view word) {
  constexpr double kMost = 1e9;
  if (word == "none") return std::numeric_limits<double>::infinity();
  const auto watts = parse_number<double>(word);
  return watts && *watts >= 0 && *watts <= kMost ? watts : std::nullopt;
}

}  // namespace

bool names_file_of_power_caps(const std::string& text) {
  return !text.empty() && text != "none" && !parse_number<double>(text);
}

double parse_power_cap(const std::string& text, const Place& place) {
  if (const auto watts = read_watts(text)) return *watts;
  throw InputError(place, "'" + text + "' is no power", kWatts);
}

std::vector<PowerCap> read_power_caps(const std::string& text, const Place& place) {
  if (text == "none") return {};
  if (!names_file_of_power_caps(text)) return {{.watts = parse_power_cap(text, place)}};
  TimedLines line(text, "the file of a power cap cannot be read",
                  "give watts, or the name of a file that you may read");
  std::vector<PowerCap> caps;
  while (line.next()) {
    const auto watts = read_watts(line.word(0));
    if (!watts) line.refuse("watts", line.word(0), kWatts);
    if (line.size() > 1) line.refuse("line", line.word(1), "write a time and watts, no more");
    if (caps.empty() && line.time() != Time{}) {
      line.fail("time", "nothing is said of the time before", "begin with a line of time 0");
    }
    if (!caps.empty() && line.time() <= caps.back().at) {
      line.fail("time", "is not later than that of the line before", "write the lines by time");
    }
    caps.push_back({line.time(), *watts});
  }
  if (caps.empty()) throw InputError({text}, "says no power cap", "write lines of TIME_S WATTS");
  return caps;
}

}  // namespace ductile
