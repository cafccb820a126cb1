// What the manager of a job says of it (docs/commands/run.md, the report). Managers are ours, but
// they run as their users, who may have put something else in their place: nothing is taken that
// cannot be.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "live/applications.hpp"

namespace ductile {

/// A field that counts; 0 if there is none, or one above 2^24.
std::uint32_t count_in(const nlohmann::ordered_json& json, const char* field);
/// A number of a measurement, from 0 to `most`; 0 if it is none.
double measure_in(const nlohmann::ordered_json& json, const char* field, double most);
/// A text as it is; empty if it is none.
std::string text_in(const nlohmann::ordered_json& json, const char* field);
/// A text for people: short, and without control characters.
std::string words_in(const nlohmann::ordered_json& json, const char* field);
/// What a line `measured` has seen, in the units of the journal.
Observed seen_in(const nlohmann::ordered_json& json);

}  // namespace ductile
