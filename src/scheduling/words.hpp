// One value as a word of text, and back: what records and snapshots are made of. A word has no
// space in it. Times are microseconds, node sets are written "0-3,7" and "-" when empty. The same
// value gives the same word, and reading it gives the same value.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "base/wide.hpp"
#include "model/platform.hpp"

namespace ductile {

/// A record that cannot be read: which field, and what is wrong with it.
class RecordError : public std::runtime_error {
 public:
  RecordError(std::string field, const std::string& what)
      : std::runtime_error(what), field_(std::move(field)) {}
  const std::string& field() const { return field_; }

 private:
  std::string field_;
};

// --- Writing -------------------------------------------------------------------------------------

template <class Id>
requires std::is_enum_v<Id>
void append_id(std::string& text, Id id) {
  id == Id::none ? void(text += '-') : append_number(text, index(id));
}
inline void append_time(std::string& text, Time time) {
  time == kNever ? void(text += "never") : append_number(text, time.time_since_epoch().count());
}
void append_nodes(std::string& text, const NodeSet& set);
/// "CORES:MEMORY_MB:THING:THING:...", all of them.
void append_slice(std::string& text, const Slice& slice);
void append_wide(std::string& text, Wide number);
template <std::size_t Size, class Enum>
std::string_view name(const std::array<std::string_view, Size>& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

// --- Reading -------------------------------------------------------------------------------------

/// A word that was read, and which field it is. All throw RecordError where it is not what it
/// should be.
struct Word {
  // Limits that keep arithmetic on what was read within its types. The difference of two times, and
  // a time plus a duration, are durations and times.
  static constexpr std::int64_t kEarliest = -(std::int64_t{1} << 60);
  static constexpr std::int64_t kLatest = std::int64_t{1} << 62;
  static constexpr std::int64_t kLongest = std::int64_t{1} << 60;
  static constexpr std::uint64_t kMostNodes = 1u << 24;
  static constexpr double kMostNumber = 1e12;

  std::string_view field, text;

  [[noreturn]] void fail(const std::string& before, const std::string& after) const {
    throw RecordError(std::string(field), before + "'" + std::string(text) + "'" + after);
  }
  template <class Number>
  Number number(Number min = std::numeric_limits<Number>::lowest(),
                Number max = std::numeric_limits<Number>::max()) const {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) fail("", " is no number");
    if (!(min <= value && value <= max)) fail("", " is out of range");
    return value;
  }
  double real(double min = -kMostNumber, double max = kMostNumber) const {
    return number<double>(min, max);
  }
  /// A number, or infinity.
  double bound() const {
    if (text == "inf") return std::numeric_limits<double>::infinity();
    return number<double>(0, kMostNumber);
  }
  bool flag() const { return number<unsigned>(0, 1) != 0; }
  Nodes count() const { return static_cast<Nodes>(number<std::uint64_t>(0, kMostNodes)); }
  template <class Id>
  Id id() const {
    if (text == "-") return Id::none;
    return Id{number<std::underlying_type_t<Id>>()};
  }
  Time moment() const { return Time(Duration(number<std::int64_t>(kEarliest, kLatest))); }
  Time time() const { return text == "never" ? kNever : moment(); }
  /// A time that is only compared: any there is.
  Time planned() const { return text == "never" ? kNever : Time(Duration(number<std::int64_t>())); }
  Duration duration() const { return Duration(number<std::int64_t>(0, kLongest)); }
  NodeSet nodes() const;
  Slice slice() const;
  Wide wide() const;
  template <class Enum, std::size_t Size>
  Enum choice(const std::array<std::string_view, Size>& words) const {
    const auto value = from_word<Enum>(words, text);
    if (!value) fail("there is no ", "");
    return *value;
  }
  /// What has a text form of its own.
  template <class Value>
  Value parsed(Value (*parse)(std::string_view, const Place&)) const {
    try {
      return parse(text, {});
    } catch (const InputError& error) {
      throw RecordError(std::string(field), error.what());
    }
  }
};

}  // namespace ductile
