// JSON of one line, as strangers may send it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ductile {

/// What there is in a line that is to be JSON, found before memory and time go into its values.
struct JsonExtent {
  std::size_t values = 0, fields = 0;  // no fewer than there are
  int depth = 0;
};

inline JsonExtent extent_of(std::string_view line) {
  JsonExtent its;
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    switch (line[i]) {
      case '"': {
        // To the end of the text: a quotation mark without an odd number of backslashes before it.
        const std::size_t begin = i;
        for (bool is_end = false; !is_end;) {
          i = line.find('"', i + 1);
          if (i == std::string_view::npos) return its;
          std::size_t before = i;
          while (before - 1 > begin && line[before - 1] == '\\') --before;
          is_end = (i - before) % 2 == 0;
        }
        break;
      }
      case '[':
      case '{':
        its.depth = std::max(its.depth, ++depth);
        ++its.values;
        break;
      case ']':
      case '}':
        --depth;
        break;
      case ',':
        ++its.values;
        break;
      case ':':
        ++its.fields;
        break;
      default:
        break;
    }
  }
  return its;
}

/// The value of a line; a discarded one if it is no JSON, or nested deeper than anything that is
/// said on a socket: copying a value takes a stack as deep as it is.
template <class Json = nlohmann::json>
Json parse_json_line(std::string_view line) {
  constexpr int kDeepest = 16;
  if (extent_of(line).depth > kDeepest) return Json::value_t::discarded;
  return Json::parse(line, nullptr, false);
}

}  // namespace ductile
