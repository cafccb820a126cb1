#include "cli/swf_options.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/date.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "cli/number_range.hpp"

namespace ductile {
namespace {

// Words as "completed,failed", given once or several times; "any" stands for all of them.
std::vector<SwfRules::Status> read_status(const std::vector<std::string>& texts) {
  constexpr std::array<std::string_view, 6> kWords{"completed", "failed",  "cancelled",
                                                   "partial",   "unknown", "any"};
  std::vector<SwfRules::Status> statuses;
  bool any = false;
  for (const std::string_view text : texts) {
    std::string_view rest = text;
    do {
      const std::string_view word = next_part(rest, ',');
      const auto status = from_word<SwfRules::Status>(kWords, word);
      if (!status) {
        throw InputError({.field = "--status"}, fmt::format("there is no '{}'", word),
                         "use " + listed(kWords));
      }
      any = any || word == kWords.back();
      statuses.push_back(*status);
    } while (!rest.empty());
  }
  if (any) statuses.clear();
  return statuses;
}

// Numbers as "3,17", given once or several times.
std::vector<std::uint32_t> read_numbers(const std::string& option,
                                        const std::vector<std::string>& texts) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view text : texts) {
    std::string_view rest = text;
    do {
      const std::string_view word = next_part(rest, ',');
      const auto number = parse_number<std::uint32_t>(word);
      if (!number) {
        throw InputError({.field = option}, fmt::format("'{}' is no number", printable(word)),
                         "give numbers of the log, as 3 or 3,17; 0 is one that is not known");
      }
      numbers.push_back(*number);
    } while (!rest.empty());
  }
  return numbers;
}

constexpr double kLongestSeconds = 1e9;

// "60..3600", "60.." and "..3600", in seconds.
void read_runtimes(std::string_view text, SwfRules& rules) {
  const std::size_t dots = text.find("..");
  const auto end = [&](std::string_view word) -> std::optional<Duration> {
    if (word.empty()) return Duration{};
    const auto value = parse_number<double>(word);
    if (!value || !(0 <= *value && *value <= kLongestSeconds)) return std::nullopt;
    return seconds(*value);
  };
  const auto least = end(text.substr(0, dots));
  const auto most = dots == std::string_view::npos ? std::nullopt : end(text.substr(dots + 2));
  if (!least || !most || (*most > Duration{} && *most < *least)) {
    throw InputError({.field = "--runtime"}, fmt::format("'{}' is no range", printable(text)),
                     "give seconds, as 60..3600, 60.. or ..3600");
  }
  rules.shortest = *least;
  rules.longest = *most;
}

LogTime read_time(const std::string& option, const std::string& text) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  if (const auto date = parse_date(text)) return {*date, true};
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < 0 || *number > kMost) {
    throw InputError({.field = option}, fmt::format("'{}' is no time", printable(text)),
                     "give seconds of the log, or a date (UTC) as 2024-05-17 or "
                     "2024-05-17T08:30:00");
  }
  return {*number, false};
}

// Options that say which jobs count.
void add_selection(CLI::App& command, SwfRules& rules) {
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  const auto numbers = [&](const char* option, std::vector<std::uint32_t>& to, const char* about) {
    command
        .add_option_function<std::vector<std::string>>(
            option,
            [option, &to](const std::vector<std::string>& texts) {
              to = read_numbers(option, texts);
            },
            about)
        ->type_name("NUMBER[,NUMBER...]")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  numbers("--user", rules.users, "only jobs of these users (field 12)");
  numbers("--group", rules.groups, "only jobs of these groups (field 13)");
  command.add_option("--min-size", rules.min_size, "only jobs of so many nodes and more")
      ->check(CLI::Range(1U, kMost));
  command
      .add_option_function<std::string>(
          "--runtime", [&rules](const std::string& text) { read_runtimes(text, rules); },
          "only jobs that run so long, in seconds")
      ->type_name("LEAST..MOST");
  const auto time = [&](const char* option, std::optional<LogTime>& to, const char* about) {
    command
        .add_option_function<std::string>(
            option, [option, &to](const std::string& text) { to = read_time(option, text); }, about)
        ->type_name("SECONDS|DATE");
  };
  time("--from", rules.from, "only jobs that are submitted then or later");
  time("--until", rules.until, "only jobs that are submitted before");
  command.add_option("--last", rules.last_jobs, "only the last so many jobs")
      ->check(CLI::Range(1U, kMost))
      ->excludes("--jobs");
}

}  // namespace

void add_swf_options(CLI::App& command, SwfRules& rules) {
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  command.add_option("--nodes", rules.nodes, "nodes of the machine; larger jobs are skipped")
      ->check(CLI::Range(1U, kMost));
  command
      .add_option("--cores-per-node", rules.cores_per_node,
                  "processors of a node: a job has as many nodes as its processors fill")
      ->check(CLI::Range(1U, kMost))
      ->capture_default_str();
  command
      .add_option("--cores-per-processor", rules.cores_per_processor,
                  "so many cores are what the log calls a processor")
      ->check(CLI::Range(1U, 1U << 16))
      ->capture_default_str();
  command.add_option("--jobs", rules.max_jobs, "stop after so many jobs")
      ->check(CLI::Range(1U, kMost));
  command.add_option("--skip", rules.leave_out, "leave out the first so many jobs of the log")
      ->check(CLI::Range(0U, kMost));
  command
      .add_option_function<std::string>(
          "--size",
          [&rules](const std::string& size) {
            rules.size =
                size == "allocated" ? SwfRules::Size::allocated : SwfRules::Size::requested;
          },
          "processors a job requested or those it was allocated; the other if not known "
          "[requested]")
      ->check(CLI::IsMember({"requested", "allocated"}));
  constexpr double longest_s = 1e9;
  command
      .add_option_function<double>(
          "--min-runtime", [&rules](double value) { rules.min_runtime = seconds(value); },
          "raise shorter run times, also 0, to so many seconds")
      ->check(NumberRange(0.0, longest_s));
  command
      .add_option_function<std::string>(
          "--never-started",
          [&rules](const std::string& what) { rules.drop_never_started = what == "drop"; },
          "jobs with no run time and no allocation [keep]")
      ->check(CLI::IsMember({"keep", "drop"}));
  command.add_flag("--clip", rules.clip,
                   "make jobs larger than the machine as large as it, instead of skipping them");
  command.add_option("--partition", rules.partition, "only jobs of this partition (field 16)");
  command
      .add_option_function<std::vector<std::string>>(
          "--status",
          [&rules](const std::vector<std::string>& texts) { rules.status = read_status(texts); },
          "only jobs that ended so (field 11): completed, failed, cancelled, partial, unknown, "
          "several with commas between [any]")
      ->type_name("WORD[,WORD...]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--max-size", rules.max_size,
                  "only jobs of up to so many nodes; others are skipped")
      ->check(CLI::Range(1U, kMost));
  add_selection(command, rules);
}

std::string skipped_text(const Skipped& skipped, const char* what) {
  if (skipped.total() == 0) return "";
  const std::array<std::pair<std::uint64_t, const char*>, 8> causes = {{
      {skipped.no_size, "without a size"},
      {skipped.no_runtime, "without a run time"},
      {skipped.never_started, "never started"},
      {skipped.too_large, "larger than the machine"},
      {skipped.other_status, "of another status"},
      {skipped.above_max_size, "larger than --max-size"},
      {skipped.not_allowed, "longer or larger than their partition allows, or not of its users"},
      {skipped.nowhere, "asking for what no node of their partition has"},
  }};
  std::string text = fmt::format("{} {} skipped: ", skipped.total(), what);
  const char* separator = "";
  for (const auto& [count, cause] : causes) {
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, cause);
    separator = ", ";
  }
  return text;
}

}  // namespace ductile
