// JSON as text. Answers of many rows are written once, and no tree of values is made of them; long
// texts take a moment.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

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
  JsonText& begin() { return separated('{'); }
  JsonText& end() { return bare('}'); }
  /// Objects follow, up to `end_list`.
  template <std::size_t Size>
  JsonText& begin_list(const char (&name)[Size]) {
    this->name(name);
    return bare('[');
  }
  JsonText& end_list() { return bare(']'); }
  /// A name is one of ours, and needs no care.
  template <std::size_t Size, class Value>
  JsonText& add(const char (&name)[Size], const Value& value) {
    this->name(name);
    write(value);
    return *this;
  }
  /// A value alone.
  JsonText& add(const nlohmann::ordered_json& value) {
    write(value);
    return *this;
  }
  std::string take() {
    text_.resize(std::exchange(size_, 0));
    last_ = 0;
    return std::move(text_);
  }
  /// What has come together since it was cleared, and whoever clears it has; more follows it.
  std::string_view so_far() const { return {text_.data(), size_}; }
  void clear() { size_ = 0; }

 private:
  /// At the end, for so many bytes at most; `written` says up to where.
  char* room(std::size_t bytes) {
    if (text_.size() - size_ < bytes) [[unlikely]]
      grow(bytes);
    return text_.data() + size_;
  }
  void grow(std::size_t bytes) { text_.resize(std::max(2 * text_.size(), size_ + bytes)); }
  void written(const char* end) {
    size_ = static_cast<std::size_t>(end - text_.data());
    last_ = end[-1];
  }
  char* separate(char* to) const {
    if (last_ != 0 && last_ != '{' && last_ != '[') *to++ = ',';
    return to;
  }
  JsonText& bare(char c) {
    char* const to = room(1);
    *to = c;
    written(to + 1);
    return *this;
  }
  JsonText& separated(char c) {
    char* const to = separate(room(2));
    *to = c;
    written(to + 1);
    return *this;
  }
  template <std::size_t Size>
  void name(const char (&name)[Size]) {
    char* to = separate(room(Size + 3));
    *to++ = '"';
    to = std::copy_n(name, Size - 1, to);
    *to++ = '"';
    *to++ = ':';
    written(to);
  }
  void put(std::string_view text) {
    if (!text.empty()) written(std::copy_n(text.data(), text.size(), room(text.size())));
  }
  void write(bool value) { put(value ? "true" : "false"); }
  template <std::integral Integer>
  void write(Integer value) {
    char* const to = room(kLongestNumber);
    written(std::to_chars(to, to + kLongestNumber, value).ptr);
  }
  void write(double value) {
    if (!std::isfinite(value)) return write(nullptr);
    char* const to = room(kLongestNumber);
    char* const end = std::to_chars(to, to + kLongestNumber, value).ptr;
    written(end);
    // Whole ones are no integers.
    if (std::none_of(to, end, [](char c) { return c == '.' || c == 'e'; })) put(".0");
  }
  void write(std::nullptr_t) { put("null"); }
  void write(const nlohmann::ordered_json& value) {
    if (value.is_string()) return write(value.get_ref<const std::string&>());
    if (!value.is_structured()) return put(value.dump());
    bare(value.is_array() ? '[' : '{');
    bool is_first = true;
    for (const auto& [key, each] : value.items()) {
      if (!std::exchange(is_first, false)) bare(',');
      if (value.is_object()) {
        write(key);
        bare(':');
      }
      write(each);
    }
    bare(value.is_array() ? ']' : '}');
  }
  template <class Value>
  void write(const std::optional<Value>& value) {
    value ? write(*value) : write(nullptr);
  }
  template <std::convertible_to<std::string_view> Text>
  void write(const Text& text) {
    const std::string_view view = text;
    char* to = room(view.size() + 2);
    *to++ = '"';
    unsigned char needs_care = 0;
    for (const char c : view) {
      needs_care |= kNeedsCare[static_cast<unsigned char>(c)];
      *to++ = c;
    }
    if (needs_care != 0) return write_with_care(view);
    *to++ = '"';
    written(to);
  }
  void write_with_care(std::string_view view) {
    if (!is_ascii(view)) {
      using Json = nlohmann::ordered_json;
      return put(Json(view).dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    bare('"');
    for (std::size_t at = 0; at < view.size(); ++at) {
      const std::size_t plain = at;
      while (at < view.size() && view[at] >= ' ' && view[at] != '"' && view[at] != '\\') ++at;
      put(view.substr(plain, at - plain));
      if (at < view.size()) escape(view[at]);
    }
    bare('"');
  }
  void escape(char c) {
    constexpr std::string_view kNamed = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt",
                               kHex = "0123456789abcdef";
    const std::size_t named = kNamed.find(c);
    bare('\\');
    if (named != std::string_view::npos) {
      bare(kNames[named]);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      put("u00");
      bare(kHex[byte / 16]);
      bare(kHex[byte % 16]);
    }
  }

  static constexpr std::size_t kLongestNumber = 32;
  /// Does this byte not stand for itself?
  static constexpr auto kNeedsCare = [] {
    std::array<unsigned char, 256> needs{};
    for (std::size_t byte = 0; byte < needs.size(); ++byte) {
      needs[byte] = byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\' ? 1 : 0;
    }
    return needs;
  }();

  std::string text_{};    // longer than what is written: `size_`
  std::size_t size_ = 0;  // of what is not cleared
  char last_ = 0;         // byte that was written
};

}  // namespace ductile
