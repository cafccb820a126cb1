#include "model/dependency.hpp"

#include "base/text.hpp"

namespace ductile {

Fulfilled fulfilled(Dependency::Kind kind, Dependency::Stage stage) {
  using Kind = Dependency::Kind;
  using Stage = Dependency::Stage;
  if (stage == Stage::waits) return Fulfilled::not_yet;
  if (kind == Kind::after) return Fulfilled::yes;
  if (stage == Stage::runs) return Fulfilled::not_yet;
  if (kind == Kind::afterany) return Fulfilled::yes;
  const bool wants_success = kind == Kind::afterok;
  return wants_success == (stage == Stage::succeeded) ? Fulfilled::yes : Fulfilled::never;
}

std::vector<Dependency> parse_dependencies(std::string_view text, const Place& place) {
  constexpr std::size_t kMost = 1000;
  const auto fail = [&](const std::string& what) -> InputError {
    return {place, what, "write it like afterok:12:13,afterany:14"};
  };
  if (text.empty() || text.back() == ',' || text.back() == ':') {
    throw fail("'" + std::string(text) + "' is no list of dependencies");
  }
  std::vector<Dependency> dependencies;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view jobs = next_part(rest, ',');
    const std::string word(next_part(jobs, ':'));
    const auto kind = from_word<Dependency::Kind>(kDependencyWords, word);
    if (!kind) throw fail("there is no dependency '" + word + "', but " + listed(kDependencyWords));
    if (jobs.empty()) throw fail("'" + word + "' names no job");
    while (!jobs.empty()) {
      const std::string_view part = next_part(jobs, ':');
      const auto job = parse_number<std::uint64_t>(part);
      if (!job || *job == 0) throw fail("'" + std::string(part) + "' is no number of a job");
      dependencies.push_back({*kind, *job});
    }
  }
  if (dependencies.size() > kMost) throw fail("there are too many");
  return dependencies;
}

std::string to_text(const std::vector<Dependency>& dependencies) {
  std::string text;
  for (std::size_t i = 0; i < dependencies.size(); ++i) {
    const Dependency& each = dependencies[i];
    if (i == 0 || each.kind != dependencies[i - 1].kind) {
      if (i > 0) text += ',';
      text += kDependencyWords[static_cast<std::size_t>(each.kind)];
    }
    text += ':';
    append_number(text, each.job);
  }
  return text;
}

}  // namespace ductile
