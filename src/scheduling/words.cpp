#include "scheduling/words.hpp"

#include <algorithm>

namespace ductile {

void append_nodes(std::string& text, const NodeSet& set) {
  if (set.empty()) text += '-';
  const char* between = "";
  for (const Interval& part : set.parts) {
    append_number(text += between, part.first);
    if (part.last != part.first) append_number(text += '-', part.last);
    between = ",";
  }
}

void append_slice(std::string& text, const Slice& slice) {
  append_number(text, slice.cores);
  append_number(text += ':', slice.memory_mb);
  for (const std::uint16_t thing : slice.things) append_number(text += ':', thing);
}

void append_wide(std::string& text, Wide number) {
  if (number < 0) text += '-';
  const std::size_t first = text.size();
  do {
    const auto digit = static_cast<int>(number % 10);
    text += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    number /= 10;
  } while (number != 0);
  std::reverse(text.begin() + static_cast<std::ptrdiff_t>(first), text.end());
}

NodeSet Word::nodes() const {
  if (text == "-") return {};
  const auto set = parse_node_set(text);
  if (!set || set->empty() || set->parts.back().last >= kMostNodes) fail("", " is no node set");
  return *set;
}

Slice Word::slice() const {
  Slice slice;
  std::string_view rest = text;
  const auto next = [&] {
    if (rest.empty()) fail("", " has too few parts");
    return Word{field, next_part(rest, ':')};
  };
  slice.cores = next().number<std::uint16_t>();
  slice.memory_mb = next().number<std::uint32_t>();
  for (std::uint16_t& thing : slice.things) thing = next().number<std::uint16_t>();
  if (!rest.empty()) fail("", " has too many parts");
  return slice;
}

Wide Word::wide() const {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  // So many always fit, and no work has more.
  if (digits.empty() || digits.size() > 38 ||
      digits.find_first_not_of("0123456789") != std::string_view::npos) {
    fail("", " is no number");
  }
  Wide number = 0;
  for (const char digit : digits) number = number * 10 + (digit - '0');
  return negative ? -number : number;
}

}  // namespace ductile
