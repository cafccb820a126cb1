// What two runs of a program print, compared.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <regex.h>

namespace ductile {

/// An extended regular expression, as of grep -E.
class LinePattern {
 public:
  /// InputError of --ignore-lines if it is none.
  explicit LinePattern(const std::string& text);
  bool is_in(std::string_view line) const;

 private:
  std::shared_ptr<regex_t> compiled_{};
};

struct OutputRules {
  /// Numbers may differ by this share of the larger one, or of 1 where both are smaller.
  double tolerance = 0;
  /// Lines in which this is found do not count.
  std::optional<LinePattern> ignored{};
};

/// Where the outputs differ first, in words, line by line; nothing if they do not.
std::optional<std::string> output_difference(const std::string& rigid, const std::string& resized,
                                             const OutputRules& rules = {});

}  // namespace ductile
