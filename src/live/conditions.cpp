#include "live/conditions.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {

TaskArray parse_array(std::string_view text) {
  constexpr std::uint32_t kHighest = 4'000'000;
  const auto fail = [&](const std::string& what) -> InputError {
    return {{.field = "array"}, what, "write it like 0-9, 1,3,5-7, 0-15:4 or 0-9%2"};
  };
  const auto number = [&](std::string_view part) {
    const auto value = parse_number<std::uint32_t>(part);
    if (!value || *value > kHighest)
      throw fail("'" + std::string(part) + "' is no number of a task");
    return *value;
  };
  TaskArray array;
  std::string_view rest = text;
  std::string_view ranges = next_part(rest, '%');
  if (ranges.size() < text.size()) {
    array.limit = number(rest);
    if (array.limit == 0) throw fail("no task may run");
  }
  if (ranges.empty() || ranges.back() == ',') {
    throw fail("'" + std::string(text) + "' are no tasks");
  }
  std::uint64_t named = 0;
  while (!ranges.empty()) {
    std::string_view range = next_part(ranges, ',');
    std::string_view step_text = range;
    range = next_part(step_text, ':');
    std::string_view last_text = range;
    const std::uint32_t first = number(next_part(last_text, '-'));
    const std::uint32_t last = last_text.empty() ? first : number(last_text);
    const std::uint32_t step = step_text.empty() ? 1 : number(step_text);
    if (last < first || step == 0) throw fail("'" + std::string(range) + "' are no tasks");
    // As they are written: what is there twice is counted twice.
    named += (last - first) / step + 1;
    if (named > TaskArray::kMost) {
      throw fail(fmt::format("there are more than {} tasks", TaskArray::kMost));
    }
    if (step == 1) {
      array.tasks.insert(first, last);
    } else {
      for (std::uint32_t task = first; task <= last; task += step) array.tasks.insert(task, task);
    }
  }
  return array;
}

std::string to_text(const TaskArray& array) {
  std::string text = to_string(array.tasks);
  std::ranges::replace(text, ' ', ',');
  if (array.limit != 0) text += fmt::format("%{}", array.limit);
  return text;
}

Time parse_begin(std::string_view text, Time now, const char* field) {
  const auto fail = [&] {
    return InputError({.field = field}, "'" + std::string(text) + "' is no time",
                      "write now+10, now+2hours, 16:00 or 2030-12-31T16:00");
  };
  std::string_view rest = text;
  if (rest.starts_with("now")) {
    rest.remove_prefix(3);
    if (rest.empty()) return now;
    if (rest.front() != '+') throw fail();
    rest.remove_prefix(1);
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto count = parse_number<std::int64_t>(rest.substr(0, digits));
    std::string_view unit = rest.substr(digits);
    if (unit.ends_with('s') && unit.size() > 1) unit.remove_suffix(1);
    constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
        {"", 1}, {"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86'400}, {"week", 604'800}};
    const auto* const known =
        std::ranges::find(kUnits, unit, &std::pair<std::string_view, std::int64_t>::first);
    if (!count || *count > 1'000'000'000 || known == std::end(kUnits)) throw fail();
    if (*count * known->second > 400LL * 86'400 * 100) throw fail();
    return now + whole_seconds(*count * known->second);
  }
  const std::time_t seconds = now.time_since_epoch().count() / 1'000'000;
  std::tm time{};
  localtime_r(&seconds, &time);
  const auto take = [&](char separator, int low, int high) {
    const auto value = parse_number<int>(next_part(rest, separator));
    if (!value || *value < low || *value > high) throw fail();
    return *value;
  };
  const bool has_date = text.find('-') != std::string_view::npos;
  time.tm_sec = 0;
  if (has_date) {
    std::string_view clock = rest;
    std::string_view date = next_part(clock, 'T');
    if (text.back() == 'T') throw fail();
    std::swap(rest, date);
    time.tm_year = take('-', 1970, 9999) - 1900;
    time.tm_mon = take('-', 1, 12) - 1;
    const int month = time.tm_mon;
    time.tm_mday = take('-', 1, 31);
    if (!rest.empty()) throw fail();
    time.tm_hour = time.tm_min = 0;
    std::tm checked = time;
    checked.tm_isdst = -1;
    if (std::mktime(&checked) == -1 || checked.tm_mon != month) throw fail();  // no 31st of June
    rest = clock;
  }
  if (!rest.empty() || !has_date) {
    if (rest.empty() || rest.back() == ':') throw fail();
    time.tm_hour = take(':', 0, 23);
    time.tm_min = take(':', 0, 59);
    if (!rest.empty()) time.tm_sec = take(':', 0, 59);
    if (!rest.empty()) throw fail();
  }
  const auto point = [&] {
    time.tm_isdst = -1;
    std::tm copy = time;
    return Time(whole_seconds(std::mktime(&copy)));
  };
  Time begin = point();
  if (!has_date && begin < now) {
    ++time.tm_mday;
    begin = point();
  }
  return begin;
}

}  // namespace ductile
