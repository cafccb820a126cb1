#include "live/manager_words.hpp"

#include <cstddef>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace ductile {

using Json = nlohmann::ordered_json;

std::uint32_t count_in(const Json& json, const char* field) {
  const auto at = json.find(field);
  if (at == json.end() || !at->is_number_unsigned()) return 0;
  const auto value = at->get<std::uint64_t>();
  return value <= 1U << 24 ? static_cast<std::uint32_t>(value) : 0;
}

double measure_in(const Json& json, const char* field, double most) {
  const auto at = json.find(field);
  if (at == json.end() || !at->is_number()) return 0;
  const auto value = at->get<double>();
  return value >= 0 && value <= most ? value : 0;
}

std::string text_in(const Json& json, const char* field) {
  const auto at = json.find(field);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string words_in(const Json& json, const char* field) {
  constexpr std::size_t kLongest = 1000;
  return printable(text_in(json, field).substr(0, kLongest));
}

Observed seen_in(const Json& json) {
  Observed seen{.iterations = count_in(json, "iterations"),
                .looks = count_in(json, "looks"),
                .in_mpi = count_in(json, "in_mpi")};
  constexpr double kLongest_s = 1e5;
  seen.iteration_time =
      seconds(measure_in(json, "iteration_s", kLongest_s) * static_cast<double>(seen.iterations));
  if (seen.iteration_time == Duration{}) seen.iterations = 0;
  if (seen.in_mpi > seen.looks) seen.looks = seen.in_mpi = 0;
  return seen;
}

}  // namespace ductile
