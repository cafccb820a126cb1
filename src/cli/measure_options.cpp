#include "cli/measure_options.hpp"

#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

// Seconds since 1970 of "1996-10-01" or "1996-10-01T12:30"; nothing if it is no such date.
std::optional<std::int64_t> read_date(std::string_view text) {
  std::string_view clock = text;
  std::string_view date = next_part(clock, 'T');
  const bool has_clock = date.size() < text.size();
  const auto year = parse_number<int>(next_part(date, '-'));
  const auto month = parse_number<unsigned>(next_part(date, '-'));
  const auto day = parse_number<unsigned>(date);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day its{std::chrono::year{*year}, std::chrono::month{*month},
                                        std::chrono::day{*day}};
  if (!its.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days{its}.time_since_epoch();
  std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(days).count();
  if (has_clock) {
    const auto hours = parse_number<unsigned>(next_part(clock, ':'));
    const auto minutes = parse_number<unsigned>(clock);
    if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    seconds += *hours * 3600 + *minutes * 60;
  }
  return seconds;
}

MeasuredBound read_bound(const char* option, std::string_view text,
                         std::optional<std::int64_t> unix_start_time) {
  constexpr double kLongest_s = 1e12, kHundred = 100;
  if (text.ends_with('%')) {
    const auto percent = parse_number<double>(text.substr(0, text.size() - 1));
    if (percent && *percent >= 0 && *percent <= kHundred) return {.share = *percent / kHundred};
  } else if (const auto time_s = parse_number<double>(text)) {
    if (*time_s >= 0 && *time_s <= kLongest_s) return {.at = Time{seconds(*time_s)}};
  } else if (const auto date_s = read_date(text)) {
    if (!unix_start_time) {
      throw InputError({.field = option}, "the workload does not say when its time 0 was",
                       "give seconds from its time 0, or a share like 10%");
    }
    return {.at = Time{whole_seconds(*date_s - *unix_start_time)}};
  }
  throw InputError({.field = option}, fmt::format("'{}' is no time", text),
                   "write seconds from time 0 of the workload, a share of the time of its "
                   "submissions like 10%, or a date like 1996-10-01 or 1996-10-01T12:30");
}

}  // namespace

void add_measure_options(CLI::App& command, MeasureOptions& options) {
  constexpr const char* kType = "S|SHARE%|DATE";
  command
      .add_option("--measure-from", options.from,
                  "the figures are of jobs submitted from then on: seconds from time 0 of the "
                  "workload, a share of the time of its submissions, or a date (UTC)")
      ->type_name(kType);
  command.add_option("--measure-until", options.until, "and of those submitted before then")
      ->type_name(kType);
}

Measured read_measured(const MeasureOptions& options, std::optional<std::int64_t> unix_start_time) {
  Measured measured;
  if (!options.from.empty()) {
    measured.from = read_bound("--measure-from", options.from, unix_start_time);
  }
  if (!options.until.empty()) {
    measured.until = read_bound("--measure-until", options.until, unix_start_time);
  }
  return measured;
}

}  // namespace ductile
