// The power corridor: between which bounds the machine shall draw, from a range or a file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "scheduling/event.hpp"
#include "simulation/simulation.hpp"

namespace ductile {

/// "1700..2500": between so many watts from the beginning on, "1700..inf": at least so many; else
/// the name of a file with lines "TIME_S LOWER_W UPPER_W", '#' begins a comment. Times ascend, the
/// first one is 0; each line holds until the next. Throws `InputError` with line and field; with
/// `place`, which says where the text is, if it names no file. Format: docs/formats/corridor.md.
std::vector<CorridorLine> read_corridor(const std::string& text, const Place& place = {});
bool names_file_of_corridor(const std::string& text);

/// What those who plan are told of it beforehand: the lines from this one on, as far ahead as
/// anybody plans.
std::vector<event::ComingBounds> coming_bounds(std::span<const CorridorLine> lines,
                                               std::size_t next);

/// Two bounds as words of a line. Throws `InputError` with that place.
CorridorLine parse_corridor(std::string_view lower, std::string_view upper, const Place& place);

}  // namespace ductile
