// Summaries and numbers as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "metrics/summary.hpp"

namespace ductile {

/// The shortest decimal that reads back as the same number; "null" for what is not finite.
std::string number_text(double value);

/// The same for a JSON value.
nlohmann::ordered_json number_or_null(double value);

/// `text` in quotes, with JSON's escapes. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const std::string& text);

/// A JSON text with a line for each of its values.
std::string indented(const std::string& json);

/// One JSON object on one line without its end; docs/formats/summary.json.md.
std::string to_json(const Summary& summary);
/// The same without what measures this machine: the same for each run of this identity.
std::string figures_json(const Summary& summary);

/// The summaries in a file that one of these or a comparison of runs wrote; what measures the
/// machine is 0 where it is not there. Throws InputError.
struct ReadSummary {
  std::string folder;  // of a comparison: where its files are; else empty
  Summary summary;
};
std::vector<ReadSummary> read_summaries(const std::string& path);
/// The same of the content of such a file; `name` is that for errors.
std::vector<ReadSummary> parse_summaries(std::string_view text, const std::string& name);

}  // namespace ductile
