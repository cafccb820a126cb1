// What the process of a policy may say to a controller: any bytes, of which the first answer is the
// same however much of it has come and whatever comes behind it; its calls of the pen are read as
// they are written again.
//
// Readers: src/live/policy_messages.cpp, src/scheduling/record.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "live/policy_messages.hpp"
#include "scheduling/record.hpp"

using namespace ductile;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view come(reinterpret_cast<const char*>(data), size);
  constexpr std::uint64_t kAsked = 3;
  const auto its = first_policy_answer(come, kAsked);
  if (!its) {
    if (first_policy_answer(come.substr(0, size / 2), kAsked)) std::abort();
    return 0;
  }
  if (its->kind == PolicyAnswer::Kind::nonsense) return 0;
  if (its->size > size || its->text.size() >= its->size) std::abort();
  if (first_policy_answer(come.substr(0, its->size - 1), kAsked)) std::abort();
  const auto again = first_policy_answer(come.substr(0, its->size), kAsked);
  if (!again || again->kind != its->kind || again->text != its->text) std::abort();
  try {
    if (its->kind == PolicyAnswer::Kind::ready) {
      const std::string written = to_record(traits_from_record(its->text));
      if (to_record(traits_from_record(written)) != written) std::abort();
    } else if (its->kind == PolicyAnswer::Kind::calls) {
      for (const PenCall& call : calls_in(its->text)) {
        const std::string written = to_record(call);
        if (to_record(pen_call_from_record(written)) != written) std::abort();
      }
    }
  } catch (const RecordError&) {
    return 0;
  }
  return 0;
}
