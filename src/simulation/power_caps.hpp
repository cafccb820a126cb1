// Caps of the machine's power, from a number or a file.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "simulation/simulation.hpp"

namespace ductile {

/// "2000": so many watts from the beginning on; "none": any; else the name of a file with lines
/// "TIME_S WATTS" or "TIME_S none", '#' begins a comment. Times ascend, the first one is 0; each
/// line holds until the next. Throws `InputError` with line and field; with `place`, which says
/// where the text is, if it names no file. Format: docs/formats/power-cap.md.
std::vector<PowerCap> read_power_caps(const std::string& text, const Place& place = {});
bool names_file_of_power_caps(const std::string& text);

/// Watts, or infinity for "none". Throws `InputError` with that place.
double parse_power_cap(const std::string& text, const Place& place = {});

}  // namespace ductile
