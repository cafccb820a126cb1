// What two runs of a program print, compared.
#pragma once

#include <optional>
#include <regex>
#include <string>

namespace ductile {

struct OutputRules {
  /// Numbers may differ by this share of the larger one.
  double tolerance = 0;
  /// Lines in which this is found do not count.
  std::optional<std::regex> ignored{};
};

/// Where the outputs differ first, in words, line by line; nothing if they do not.
std::optional<std::string> output_difference(const std::string& rigid, const std::string& resized,
                                             const OutputRules& rules = {});

}  // namespace ductile
