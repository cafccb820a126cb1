// JSON of one line, as strangers may send it.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace ductile {

/// The value of a line; a discarded one if it is no JSON, or nested deeper than anything that is
/// said on a socket: copying a value takes a stack as deep as it is.
inline nlohmann::json parse_json_line(std::string_view line) {
  using Json = nlohmann::json;
  constexpr int kDeepest = 16;
  bool is_too_deep = false;
  Json json = Json::parse(
      line,
      [&](int depth, Json::parse_event_t, Json&) {
        is_too_deep = is_too_deep || depth > kDeepest;
        return !is_too_deep;
      },
      false);
  return is_too_deep ? Json(Json::value_t::discarded) : json;
}

}  // namespace ductile
