#include "simulation/power_caps.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr const char* kWatts = "write watts from 0 to 1e9, or none";

std::optional<double> read_watts(std::string_view word) {
  constexpr double kMost = 1e9;
  if (word == "none") return std::numeric_limits<double>::infinity();
  const auto watts = parse_number<double>(word);
  return watts && *watts >= 0 && *watts <= kMost ? watts : std::nullopt;
}

std::optional<Time> read_time(std::string_view word) {
  constexpr double kLatest_s = 1e12;
  const auto value = parse_number<double>(word);
  if (!value || !(*value >= 0 && *value <= kLatest_s)) return std::nullopt;
  return Time(seconds(*value));
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find_first_of(kBlank)));
    line.remove_prefix(words.back().size());
  }
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
  std::ifstream in(text);
  if (!in) {
    throw InputError({text}, "the file of a power cap cannot be read",
                     "give watts, or the name of a file that you may read");
  }
  std::vector<PowerCap> caps;
  std::string line;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    const auto fail = [&](const char* field, const std::string& what, const char* remedy) {
      throw InputError({text, number, field}, what, remedy);
    };
    const auto is_not = [](std::string_view word) {
      return "'" + std::string(word) + "' is not possible";
    };
    const auto time = read_time(words[0]);
    if (!time) fail("time", is_not(words[0]), "write seconds from 0 to 1e12");
    if (words.size() < 2) fail("watts", "is missing", kWatts);
    const auto watts = read_watts(words[1]);
    if (!watts) fail("watts", is_not(words[1]), kWatts);
    if (words.size() > 2) fail("line", is_not(words[2]), "write a time and watts, no more");
    if (caps.empty() && *time != Time{}) {
      fail("time", "nothing is said of the time before", "begin with a line of time 0");
    }
    if (!caps.empty() && *time <= caps.back().at) {
      fail("time", "is not later than that of the line before", "write the lines by time");
    }
    caps.push_back({*time, *watts});
  }
  if (in.bad()) throw RunError(text + ": reading failed");
  if (caps.empty()) throw InputError({text}, "says no power cap", "write lines of TIME_S WATTS");
  return caps;
}

}  // namespace ductile
