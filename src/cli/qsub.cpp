#include "cli/qsub.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

using Words = std::vector<std::string>;

/// [[[D:]H:]M:]S as H:M:S.
std::string time_of(std::string_view text) {
  constexpr std::int64_t kOfPart[] = {1, 60, 3600, 86'400};
  std::vector<std::int64_t> parts;
  for (std::string_view rest = text; !rest.empty();) {
    const auto part = parse_number<std::int64_t>(next_part(rest, ':'));
    if (!part || *part < 0 || *part > 1'000'000'000) break;
    parts.push_back(*part);
  }
  const auto colons = static_cast<std::size_t>(std::ranges::count(text, ':'));
  if (parts.size() != colons + 1 || parts.size() > std::size(kOfPart)) {
    throw InputError({.field = "-l"}, "'" + std::string(text) + "' is no walltime",
                     "write seconds, M:S, H:M:S or D:H:M:S");
  }
  std::int64_t seconds = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    seconds += parts[i] * kOfPart[parts.size() - 1 - i];
  }
  return fmt::format("{}:{}:{}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/// `2:ppn=8`, or of PBS Pro `2:mpiprocs=8`.
void add_nodes(std::string_view text, Words& options, Words& ignored) {
  const std::string whole(text);
  const std::string_view count = next_part(text, ':');
  if (!parse_number<std::uint32_t>(count)) {
    throw InputError({.field = "-l"}, "'" + whole + "' is no number of nodes",
                     "write it like nodes=2:ppn=8");
  }
  options.push_back("--nodes=" + std::string(count));
  while (!text.empty()) {
    const std::string_view part = next_part(text, ':');
    std::string_view value = part;
    const std::string_view name = next_part(value, '=');
    if (name == "ppn" || name == "mpiprocs") {
      options.push_back("--ntasks-per-node=" + std::string(value));
    } else if (name == "gpus" || name == "ngpus") {
      options.push_back("--gres=gpu:" + std::string(value));
    } else {
      ignored.push_back("-l nodes=..:" + std::string(part));
    }
  }
}

/// `afterok:1.server:2` without the servers.
std::string dependency_of(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::string_view part = next_part(text, ':');
    result.append(result.empty() ? "" : ":").append(part.substr(0, part.find('.')));
  }
  return result;
}

/// `-W depend=afterok:1,group_list=x`. The conditions of a dependency have commas between them,
/// too.
void add_attributes(std::string_view text, Words& options, Words& ignored) {
  std::string dependencies;
  bool is_depend = false;  // what comes without a name
  while (!text.empty()) {
    const std::string_view part = next_part(text, ',');
    std::string_view value = part;
    const bool has_name = part.find('=') != std::string_view::npos;
    if (has_name) is_depend = next_part(value, '=') == "depend";
    if (is_depend) {
      dependencies.append(dependencies.empty() ? "" : ",").append(dependency_of(value));
    } else {
      ignored.push_back("-W " + std::string(part));
    }
  }
  if (!dependencies.empty()) options.push_back("--dependency=" + dependencies);
}

/// [CC]YYMMDDhhmm or hhmm, as `--begin` has it.
std::optional<std::string> begin_of(const std::string& text) {
  const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
  if (is_number && text.size() == 4) return text.substr(0, 2) + ":" + text.substr(2);
  if (!is_number || (text.size() != 10 && text.size() != 12)) return std::nullopt;
  const std::string full = text.size() == 10 ? "20" + text : text;
  return fmt::format("{}-{}-{}T{}:{}", full.substr(0, 4), full.substr(4, 2), full.substr(6, 2),
                     full.substr(8, 2), full.substr(10, 2));
}

/// One option of qsub with its value.
void add_option(char option, const std::string& value, Words& options, Words& ignored) {
  constexpr std::pair<char, std::string_view> kSame[] = {
      {'A', "--account="},  {'N', "--job-name="}, {'d', "--chdir="},        {'w', "--chdir="},
      {'p', "--priority="}, {'t', "--array="},    {'L', "--malleability="}, {'q', "--partition="}};
  const auto* const same =
      std::ranges::find(kSame, option, &std::pair<char, std::string_view>::first);
  const auto path = [&] { return value.substr(value.find(':') + 1); };  // after a host
  if (same != std::end(kSame)) {
    options.push_back(std::string(same->second) + value);
  } else if (option == 'l') {
    std::ranges::copy(options_of_resources(value, ignored), std::back_inserter(options));
  } else if (option == 'o') {
    options.push_back("--output=" + path());
  } else if (option == 'e') {
    options.push_back("--error=" + path());
  } else if (option == 'W') {
    add_attributes(value, options, ignored);
  } else if (option == 'h') {
    options.emplace_back("--hold");
  } else if (option == 'r' && value == "y") {
    options.emplace_back("--requeue");
  } else if (const auto begin = option == 'a' ? begin_of(value) : std::nullopt) {
    options.push_back("--begin=" + *begin);
  } else if (const bool is_so = (option == 'j' && value == "oe") || option == 'V' ||
                                (option == 'r' && value == "n");
             !is_so) {
    ignored.push_back(fmt::format("-{}{}{}", option, value.empty() ? "" : " ", value));
  }
}

}  // namespace

Words options_of_resources(std::string_view list, Words& ignored) {
  Words options;
  while (!list.empty()) {
    const std::string_view part = next_part(list, ',');
    std::string_view value = part;
    const std::string_view name = next_part(value, '=');
    if (name == "nodes" || name == "select") {
      add_nodes(value, options, ignored);
    } else if (name == "walltime") {
      options.push_back("--time=" + time_of(value));
    } else {
      ignored.push_back("-l " + std::string(part));
    }
  }
  return options;
}

Words options_of_qsub(const Words& words, Words& ignored) {
  constexpr std::string_view kWithValue = "aAcCdDeJjklLmMNoOpPqrStTuvwW";
  Words options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word.front() != '-' || word[1] == '-') {
      ignored.push_back(word);
      continue;
    }
    std::string value = word.substr(2);
    const bool has_value = kWithValue.find(word[1]) != std::string_view::npos;
    if (has_value && value.empty() && i + 1 < words.size()) value = words[++i];
    add_option(word[1], value, options, ignored);
  }
  return options;
}

}  // namespace ductile
