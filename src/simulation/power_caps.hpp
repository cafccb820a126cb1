// Caps of the machine's power, from a number or a file.
#pragma once

#include <string>
#include <vector>

#include "simulation/simulation.hpp"

namespace ductile {

/// "2000": so many watts from the beginning on; "none": any; else the name of a file with lines
/// "TIME_S WATTS" or "TIME_S none", '#' begins a comment. Times ascend, the first one is 0; each
/// line holds until the next. Throws `InputError` with line and field. Format:
/// docs/formats/power-cap.md.
std::vector<PowerCap> read_power_caps(const std::string& text);

/// Watts, or infinity for "none". Throws `InputError`.
double parse_power_cap(const std::string& text);

}  // namespace ductile
