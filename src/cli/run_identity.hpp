// What a run is: with the same identity the results are the same, byte by byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "policies/registry.hpp"

namespace ductile {

/// A file that a run reads, and the option by which it came.
struct InputFile {
  std::string option;  // without the dashes
  std::string path;
};

/// A file as it is now. What is no regular file, as a pipe, can be read once only: it has none.
struct FileContent {
  std::uint64_t bytes = 0;
  std::string crc64;  // 16 digits
  bool operator==(const FileContent&) const = default;
};
/// Throws InputError if it cannot be read.
std::optional<FileContent> read_content(const std::string& path);

/// The folders of logs: $DUCTILE_TRACES, which may be several with ':' between them.
std::vector<std::string> traces_folders();
/// A path without a folder of logs, so that it says the same on every machine; and where a file of
/// such a name is: there as it is written, else in the first of those folders that has it.
std::string without_traces_folder(const std::string& path);
std::string found_input(const std::string& name);

/// Does an option say only what becomes of the results, or how they are reached?
bool is_of_results(std::string_view option);

/// What all runs of a command have in common (docs/formats/summary.json.md): program, command, the
/// options that were given, what the help says of the others, and the files that are read, as they
/// are now. Neither --policy nor the seeds.
nlohmann::json common_identity(const CLI::App& command, const std::vector<InputFile>& inputs);

/// The identity of one of these runs.
std::string run_identity(nlohmann::json common, const Registry& registry, const std::string& policy,
                         std::uint64_t seed);

}  // namespace ductile
