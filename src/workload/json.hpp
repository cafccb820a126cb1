// JSON files whose errors say where.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace ductile {

/// What was not taken as it is: how often, by cause.
using Remarks = std::map<std::string, std::uint64_t>;

/// Parses a JSON file. Throws InputError, also where an object says a name twice: of these only one
/// would count.
inline nlohmann::json parse_json(std::string_view text, const std::string& file) {
  using Step = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> names;  // of the objects that are open
  const auto look = [&](int, Step step, nlohmann::json& value) {
    if (step == Step::object_start) names.emplace_back();
    if (step == Step::object_end) names.pop_back();
    if (step == Step::key && !names.back().insert(value.get<std::string>()).second) {
      throw InputError({.file = file}, fmt::format("'{}' is there twice", value.get<std::string>()),
                       "write it once");
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, look);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
    const std::string_view what = error.what();
    throw InputError({.file = file},
                     std::string(what.substr(std::min(what.find("] ") + 2, what.size()))),
                     "write it as JSON");
  }
}

/// A value in a JSON file that lives longer, and where it is. What it should be and is not, is an
/// InputError with its JSON pointer.
class JsonAt {
 public:
  JsonAt(const nlohmann::json& value, std::string file, std::string pointer = "")
      : value_(&value), file_(std::move(file)), pointer_(std::move(pointer)) {}

  const nlohmann::json& value() const { return *value_; }
  Place place() const { return {.file = file_, .field = pointer_.empty() ? "/" : pointer_}; }
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw InputError(place(), what, remedy);
  }

  bool has(const char* name) const {
    return object().contains(name) && !object().at(name).is_null();
  }
  JsonAt at(const char* name) const {
    if (!has(name)) fail(fmt::format("'{}' is missing", name), "add it");
    return {object().at(name), file_, fmt::format("{}/{}", pointer_, name)};
  }
  std::size_t size() const {
    if (!value_->is_array()) fail("is no array", "write it as [...]");
    return value_->size();
  }
  JsonAt item(std::size_t index) const {
    return {value_->at(index), file_, fmt::format("{}/{}", pointer_, index)};
  }
  const nlohmann::json& object() const {
    if (!value_->is_object()) fail("is no object", "write it as {...}");
    return *value_;
  }
  std::string text() const {
    if (!value_->is_string()) fail("is no string", "write it in quotation marks");
    return value_->get<std::string>();
  }
  double number(double least, double most) const {
    const double value = value_->is_number() ? value_->get<double>() : std::nan("");
    if (!(least <= value && value <= most)) {
      fail(fmt::format("is no number from {} to {}", least, most), "write such a number");
    }
    return value;
  }
  double whole(double least, double most) const {
    const double value = number(least, most);
    if (value != std::floor(value)) fail("is no whole number", "write a whole number");
    return value;
  }
  bool boolean() const {
    if (!value_->is_boolean()) fail("is neither true nor false", "write true or false");
    return value_->get<bool>();
  }
  bool boolean(const char* name, bool fallback) const {
    return has(name) ? at(name).boolean() : fallback;
  }
  /// Counts the members that are none of these.
  void know(std::initializer_list<std::string_view> names, Remarks& remarks) const {
    for (const auto& [name, value] : object().items()) {
      if (std::ranges::find(names, name) == names.end()) {
        ++remarks[fmt::format("'{}' is not read", name)];
      }
    }
  }

 private:
  const nlohmann::json* value_;
  std::string file_;
  std::string pointer_;
};

}  // namespace ductile
