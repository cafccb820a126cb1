// JSON of one line, as strangers may send it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ductile {

/// The value of a line; a discarded one if it is no JSON, or nested deeper than anything that is
/// said on a socket: copying a value takes a stack as deep as it is.
template <class Json = nlohmann::json>
Json parse_json_line(std::string_view line) {
  constexpr int kDeepest = 16;
  int depth = 0, deepest = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') is_text = !is_text;
    if (is_text) {
      i += c == '\\';
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  if (deepest > kDeepest) return Json::value_t::discarded;
  return Json::parse(line, nullptr, false);
}

}  // namespace ductile
