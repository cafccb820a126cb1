// JSON as text. Answers of many rows are written once, and no tree of values is made of them; long
// texts take a moment.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace ductile {

/// Does every byte stand for itself in UTF-8?
inline bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

/// Texts of users are bytes, and JSON has UTF-8 alone: another one is an object with its bytes in
/// hexadecimal digits.
nlohmann::ordered_json bytes_to_json(const std::string& text);
/// What `bytes_to_json` has made; nothing if it is none of it.
std::optional<std::string> bytes_from_json(const nlohmann::ordered_json& json);

/// An object, or objects within it, as text on one line. Bytes that are no UTF-8 are replaced.
class JsonText {
 public:
  JsonText& begin() {
    separate();
    text_ += '{';
    return *this;
  }
  JsonText& end() {
    text_ += '}';
    return *this;
  }
  /// Objects follow, up to `end_list`.
  JsonText& begin_list(std::string_view name) {
    this->name(name);
    text_ += '[';
    return *this;
  }
  JsonText& end_list() {
    text_ += ']';
    return *this;
  }
  template <class Value>
  JsonText& add(std::string_view name, const Value& value) {
    this->name(name);
    write(value);
    return *this;
  }
  /// A value alone.
  JsonText& add(const nlohmann::ordered_json& value) {
    write(value);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!text_.empty() && text_.back() != '{' && text_.back() != '[') text_ += ',';
  }
  /// A name is one of ours, and needs no care.
  void name(std::string_view name) {
    separate();
    text_.append(1, '"').append(name).append("\":");
  }
  void write(bool value) { text_ += value ? "true" : "false"; }
  template <std::integral Integer>
  void write(Integer value) {
    append_number(text_, value);
  }
  void write(double value) {
    if (!std::isfinite(value)) return write(nullptr);
    const std::size_t begin = text_.size();
    append_number(text_, value);
    // Whole ones are no integers.
    if (text_.find_first_of(".e", begin) == std::string::npos) text_ += ".0";
  }
  void write(std::nullptr_t) { text_ += "null"; }
  void write(const nlohmann::ordered_json& value) {
    if (value.is_string()) return write(value.get_ref<const std::string&>());
    if (!value.is_structured()) {
      text_ += value.dump();
      return;
    }
    text_ += value.is_array() ? '[' : '{';
    bool is_first = true;
    for (const auto& [key, each] : value.items()) {
      if (!std::exchange(is_first, false)) text_ += ',';
      if (value.is_object()) {
        write(key);
        text_ += ':';
      }
      write(each);
    }
    text_ += value.is_array() ? ']' : '}';
  }
  template <class Value>
  void write(const std::optional<Value>& value) {
    value ? write(*value) : write(nullptr);
  }
  template <std::convertible_to<std::string_view> Text>
  void write(const Text& text) {
    const std::string_view view = text;
    if (!is_ascii(view)) {
      using Json = nlohmann::ordered_json;
      text_ += Json(view).dump(-1, ' ', false, Json::error_handler_t::replace);
      return;
    }
    text_ += '"';
    for (std::size_t at = 0; at < view.size(); ++at) {
      const std::size_t plain = at;
      while (at < view.size() && view[at] >= ' ' && view[at] != '"' && view[at] != '\\') ++at;
      text_.append(view, plain, at - plain);
      if (at < view.size()) escape(view[at]);
    }
    text_ += '"';
  }
  void escape(char c) {
    constexpr std::string_view kNamed = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt",
                               kHex = "0123456789abcdef";
    const std::size_t named = kNamed.find(c);
    text_ += '\\';
    if (named != std::string_view::npos) {
      text_ += kNames[named];
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text_.append("u00").append(1, kHex[byte / 16]).append(1, kHex[byte % 16]);
    }
  }

  std::string text_{};
};

}  // namespace ductile
