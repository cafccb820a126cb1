// What a controller and the process of a policy (live/policy_process.hpp) say to each other, as far
// as it is framed: a word, numbers, how many bytes follow its line, and these.
//
// The process says "ready TRAITS", a line alone, when it is loaded. To each pass it answers "calls
// PASS BYTES", with a line for each call of the pen, or "failed PASS BYTES", with the reason; also
// when it cannot be loaded, which is pass 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/decision.hpp"

namespace ductile {

/// In bytes; nobody decides more in a pass.
inline constexpr std::size_t kLongestPolicyAnswer = std::size_t{64} << 20;

/// What follows the first line is as long as that says.
std::string with_size(std::string_view first, std::string_view text);
/// `word` is "calls" or "failed".
std::string to_policy_answer(std::string_view word, std::uint64_t pass, std::string_view text);

struct PolicyAnswer {
  enum class Kind : std::uint8_t { ready, failed, calls, nonsense };
  Kind kind = Kind::nonsense;
  std::string text{};    // the traits, the reason, or the calls
  std::size_t size = 0;  // bytes of what has come that are this one
};

/// The first one of what has come; nothing while its end has not. One to another pass than `asked`
/// is nonsense, and so is all that nobody could say.
std::optional<PolicyAnswer> first_policy_answer(std::string_view come, std::uint64_t asked);

/// RecordError if one of them cannot be read.
std::vector<PenCall> calls_in(std::string_view text);

}  // namespace ductile
