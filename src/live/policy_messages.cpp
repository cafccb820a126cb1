#include "live/policy_messages.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "scheduling/record.hpp"

namespace ductile {
namespace {

/// Of a first line: longer ones are of nobody who knows what to say.
constexpr std::size_t kLongestFirst = 65536;

PolicyAnswer nonsense() { return {}; }

}  // namespace

std::string with_size(std::string_view first, std::string_view text) {
  return fmt::format("{} {}\n{}", first, text.size(), text);
}

std::string to_policy_answer(std::string_view word, std::uint64_t pass, std::string_view text) {
  return with_size(fmt::format("{} {}", word, pass), text);
}

std::optional<PolicyAnswer> first_policy_answer(std::string_view come, std::uint64_t asked) {
  using Kind = PolicyAnswer::Kind;
  const auto end = come.substr(0, std::min(come.size(), kLongestFirst)).find('\n');
  if (end == std::string_view::npos) {
    if (come.size() >= kLongestFirst) return nonsense();
    return std::nullopt;
  }
  std::string_view first = come.substr(0, end);
  const std::string_view rest = come.substr(end + 1);
  const std::string_view word = next_part(first, ' ');
  if (word == "ready") {
    return PolicyAnswer{.kind = Kind::ready, .text = std::string(first), .size = end + 1};
  }
  if (word != "calls" && word != "failed") return nonsense();
  if (parse_number<std::uint64_t>(next_part(first, ' ')) != asked) return nonsense();
  const auto size = parse_number<std::size_t>(first);
  if (!size || *size > kLongestPolicyAnswer) return nonsense();
  if (rest.size() < *size) return std::nullopt;
  return PolicyAnswer{.kind = word == "calls" ? Kind::calls : Kind::failed,
                      .text = std::string(rest.substr(0, *size)),
                      .size = end + 1 + *size};
}

std::vector<PenCall> calls_in(std::string_view text) {
  std::vector<PenCall> calls;
  while (!text.empty()) calls.push_back(pen_call_from_record(next_part(text, '\n')));
  return calls;
}

}  // namespace ductile
