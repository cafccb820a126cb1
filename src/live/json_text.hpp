// JSON as text, for answers of many rows: each is written once, and no tree of values is made of
// it.
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
    text_ += value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  template <class Value>
  void write(const std::optional<Value>& value) {
    value ? write(*value) : write(nullptr);
  }
  template <std::convertible_to<std::string_view> Text>
  void write(const Text& text) {
    const std::string_view view = text;
    for (const char c : view) {
      const bool is_plain = ' ' <= c && c <= '~' && c != '"' && c != '\\';
      if (!is_plain) return write(nlohmann::ordered_json(view));
    }
    text_.append(1, '"').append(view).append(1, '"');
  }

  std::string text_{};
};

}  // namespace ductile
