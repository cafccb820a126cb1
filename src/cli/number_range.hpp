// Numbers in a range, as options take them.
#pragma once

#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace ductile {

/// A finite number from `least` to `most`. CLI::Range, with which there is no order, lets NaN pass.
class NumberRange : public CLI::Validator {
 public:
  NumberRange(double least, double most)
      : CLI::Validator(fmt::format("FLOAT in [{:g} - {:g}]", least, most)) {
    func_ = [least, most](const std::string& text) -> std::string {
      double value = 0;
      const bool is_number = CLI::detail::lexical_cast(text, value);
      if (is_number && std::isfinite(value) && value >= least && value <= most) return {};
      return fmt::format("'{}' is no number from {} to {}", text, least, most);
    };
  }
};

}  // namespace ductile
