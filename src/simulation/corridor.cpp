#include "simulation/corridor.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "simulation/timed_lines.hpp"

namespace ductile {
namespace {

constexpr double kMostWatts = 1e9;
constexpr const char* kBounds = "write watts from 0 to 1e9; the upper bound may be inf";

std::optional<double> read_bound(std::string_view word, bool is_upper) {
  if (is_upper && word == "inf") return std::numeric_limits<double>::infinity();
  const auto watts = parse_number<double>(word);
  return watts && *watts >= 0 && *watts <= kMostWatts ? watts : std::nullopt;
}

}  // namespace

bool names_file_of_corridor(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return !text.empty();
  // "../night.txt" names a file.
  return !parse_number<double>(std::string_view(text).substr(0, dots));
}

CorridorLine parse_corridor(std::string_view lower, std::string_view upper, const Place& place) {
  const auto low = read_bound(lower, false);
  if (!low) throw InputError(place, "'" + std::string(lower) + "' is no lower bound", kBounds);
  const auto high = read_bound(upper, true);
  if (!high) throw InputError(place, "'" + std::string(upper) + "' is no upper bound", kBounds);
  if (*low > *high) {
    throw InputError(place,
                     "the lower bound, " + std::string(lower) + " W, is above the upper one, " +
                         std::string(upper) + " W",
                     "write the lower one first");
  }
  return {.low_w = *low, .high_w = *high};
}

std::vector<event::ComingBounds> coming_bounds(std::span<const CorridorLine> lines,
                                               std::size_t next) {
  constexpr std::size_t kMostAhead = 16;
  std::vector<event::ComingBounds> coming;
  for (std::size_t i = next; i < std::min(lines.size(), next + kMostAhead); ++i) {
    coming.push_back({lines[i].at, lines[i].low_w, lines[i].high_w});
  }
  return coming;
}

std::vector<CorridorLine> read_corridor(const std::string& text, const Place& place) {
  if (!names_file_of_corridor(text)) {
    const std::string_view all = text;
    const std::size_t dots = all.find("..");
    if (dots == std::string::npos) throw InputError(place, "it is empty", kBounds);
    return {parse_corridor(all.substr(0, dots), all.substr(dots + 2), place)};
  }
  TimedLines line(text, "the file of a power corridor cannot be read",
                  "give LOWER..UPPER in watts, or the name of a file that you may read");
  std::vector<CorridorLine> corridor;
  while (line.next()) {
    if (line.size() < 2) line.refuse(line.size() == 0 ? "lower bound" : "upper bound", "", kBounds);
    if (line.size() > 2) {
      line.refuse("line", line.word(2), "write a time and two bounds, no more");
    }
    CorridorLine next = parse_corridor(line.word(0), line.word(1), line.place("bounds"));
    next.at = line.time();
    if (corridor.empty() && next.at != Time{}) {
      line.fail("time", "nothing is said of the time before", "begin with a line of time 0");
    }
    if (!corridor.empty() && next.at <= corridor.back().at) {
      line.fail("time", "is not later than that of the line before", "write the lines by time");
    }
    corridor.push_back(next);
  }
  if (corridor.empty()) {
    throw InputError({text}, "says no bounds", "write lines of TIME_S LOWER_W UPPER_W");
  }
  return corridor;
}

}  // namespace ductile
