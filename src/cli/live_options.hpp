// What all commands have in common that ask the controller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace ductile {

struct LiveOptions {
  std::string socket{};
  bool json = false;
};

/// Adds --socket, and --json where something is printed. They are written to `options`, which must
/// live until the command line is parsed.
void add_live_options(CLI::App& command, LiveOptions& options, bool prints);

/// Asks the controller that these options name; see `ask_controller`.
nlohmann::ordered_json ask(const LiveOptions& options, const nlohmann::ordered_json& request);

/// A job as users write it, for a request: its number, or "12_3", a task of an array. InputError if
/// it is neither.
nlohmann::ordered_json job_name(std::string_view text);
nlohmann::ordered_json job_names(const std::vector<std::string>& texts);
/// The other way round, of a row of an answer.
std::string job_text(const nlohmann::ordered_json& row);
/// Above the table of an answer: why nothing is decided, if that is so: what runs the jobs is out
/// of reach, or cannot do what the policy needs.
std::string lost_line(const nlohmann::ordered_json& answer);
/// How often another policy decided than the one in a process of its own, and why; it is part of
/// `lost_line`.
std::string policy_line(const nlohmann::ordered_json& answer);
/// What there is to say about the job of a row of an answer, below the table; empty if nothing.
std::string note_line(const nlohmann::ordered_json& row);

}  // namespace ductile
