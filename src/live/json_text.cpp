#include "live/json_text.hpp"

#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

std::optional<std::string> from_hex(std::string_view hex) {
  std::string text;
  for (; hex.size() >= 2; hex.remove_prefix(2)) {
    unsigned char byte = 0;
    const char* const end = hex.data() + 2;
    if (std::from_chars(hex.data(), end, byte, 16).ptr != end) return std::nullopt;
    text.push_back(static_cast<char>(byte));
  }
  return hex.empty() ? std::optional(text) : std::nullopt;
}

}  // namespace

Json bytes_to_json(const std::string& text) {
  Json json = text;
  if (is_ascii(text)) return json;
  try {
    json.dump();
    return json;
  } catch (const Json::type_error&) {
    std::string hex;
    for (const char byte : text) {
      fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(byte));
    }
    return {{"hex", hex}};
  }
}

std::optional<std::string> bytes_from_json(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const bool is_object = json.is_object() && json.size() == 1 && json.contains("hex");
  if (!is_object || !json["hex"].is_string()) return std::nullopt;
  return from_hex(json["hex"].get_ref<const std::string&>());
}

}  // namespace ductile
