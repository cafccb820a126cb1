// Whole numbers of 128 bits: they hold the product of any two of 64.
#pragma once

#include <algorithm>
#include <cmath>

namespace ductile {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

/// To the nearest whole number, half away from zero; cut to 2^120. Not for what is no number.
inline Wide rounded(double value) {
  constexpr double kMost = 0x1p120;
  return static_cast<Wide>(std::round(std::clamp(value, -kMost, kMost)));
}

}  // namespace ductile
