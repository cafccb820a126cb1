#include "cli/measure_options.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/date.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr const char* kFrom = "--measure-from";

MeasuredBound read_bound(const char* option, std::string_view text,
                         std::optional<std::int64_t> unix_start_time) {
  constexpr double kLongest_s = 1e12, kHundred = 100;
  if (text.ends_with('%')) {
    const auto percent = parse_number<double>(text.substr(0, text.size() - 1));
    if (percent && *percent >= 0 && *percent <= kHundred) return {.share = *percent / kHundred};
  } else if (const auto time_s = parse_number<double>(text)) {
    if (*time_s >= 0 && *time_s <= kLongest_s) return {.at = Time{seconds(*time_s)}};
  } else if (const auto date_s = parse_date(text)) {
    const auto from_start_s = seconds_from(unix_start_time, *date_s);
    if (!from_start_s) {
      throw InputError({.field = option},
                       "the workload does not say at which date its time 0 was (UnixStartTime)",
                       "give seconds from its time 0, or a share like 10%");
    }
    return {.at = Time{whole_seconds(*from_start_s)}};
  }
  throw InputError({.field = option}, fmt::format("'{}' is no time", text),
                   "write seconds from time 0 of the workload, a share of the time of its "
                   "submissions like 10%, or a date (UTC) like 1996-10-01, "
                   "1996-10-01T12:30 or 1996-10-01T12:30:00" +
                       std::string(option == kFrom ? "; or detected" : ""));
}

}  // namespace

void add_measure_options(CLI::App& command, MeasureOptions& options) {
  constexpr const char* kType = "S|SHARE%|DATE";
  command
      .add_option(kFrom, options.from,
                  "the figures are of jobs submitted from then on: seconds from time 0 of the "
                  "workload, a share of the time of its submissions, a date (UTC), or detected: "
                  "the end of the warm-up of each run, by MSER-5 over the waits of its jobs")
      ->type_name("S|SHARE%|DATE|detected");
  command.add_option("--measure-until", options.until, "and of those submitted before then")
      ->type_name(kType);
}

MeasuredPart read_measured(const MeasureOptions& options,
                           std::optional<std::int64_t> unix_start_time) {
  MeasuredPart measured;
  if (options.from == "detected") {
    measured.from = MeasuredBound{.detected = true};
  } else if (!options.from.empty()) {
    measured.from = read_bound(kFrom, options.from, unix_start_time);
  }
  if (!options.until.empty()) {
    measured.until = read_bound("--measure-until", options.until, unix_start_time);
  }
  return measured;
}

}  // namespace ductile
