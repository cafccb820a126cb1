#include "cli/run_identity.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "simulation/checksum.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using UnorderedJson = nlohmann::json;

// As the help shows it: of the option itself, or in brackets behind what it says.
std::string default_of(const CLI::Option& option) {
  if (!option.get_default_str().empty()) return option.get_default_str();
  const std::string& about = option.get_description();
  const std::size_t open = about.rfind('[');
  if (open == std::string::npos || !about.ends_with(']')) return "";
  return about.substr(open + 1, about.size() - open - 2);
}

UnorderedJson value_of(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return true;
  std::vector<std::string> values = option.results();
  for (std::string& value : values) value = without_traces_folder(value);
  if (values.size() == 1) return values.front();
  return values;
}

}  // namespace

std::optional<FileContent> read_content(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({.file = path}, std::strerror(errno), "look at its name and rights");
  Checksum sum;
  FileContent content;
  std::vector<char> buffer(1 << 16);
  do {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    sum.add(buffer.data(), got);
    content.bytes += got;
  } while (file);
  if (file.bad()) throw InputError({.file = path}, std::strerror(errno), "try again");
  content.crc64 = sum.text();
  return content;
}

std::vector<std::string> traces_folders() {
  std::vector<std::string> folders;
  const char* const value = std::getenv("DUCTILE_TRACES");
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    if (const std::string_view folder = next_part(rest, ':'); !folder.empty()) {
      folders.emplace_back(folder);
    }
  }
  return folders;
}

std::string without_traces_folder(const std::string& path) {
  for (const std::string& folder : traces_folders()) {
    const std::string head = (fs::path(folder) / "").string();
    if (path.starts_with(head)) return path.substr(head.size());
  }
  return path;
}

std::string found_input(const std::string& name) {
  std::error_code error;
  if (fs::exists(name, error)) return name;
  for (const std::string& folder : traces_folders()) {
    const fs::path path = fs::path(folder) / name;
    if (fs::exists(path, error)) return path.string();
  }
  return name;
}

bool is_of_results(std::string_view option) {
  constexpr std::array<std::string_view, 15> kOptions{
      "out",  "record", "json",  "quiet",         "threads", "check",     "force", "again",
      "help", "on",     "tasks", "claim-timeout", "figures", "font-size", "width"};
  return std::ranges::find(kOptions, option) != kOptions.end();
}

UnorderedJson common_identity(const CLI::App& command, const std::vector<InputFile>& inputs) {
  UnorderedJson options = UnorderedJson::object(), defaults = UnorderedJson::object(),
                files = UnorderedJson::array();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (is_of_results(name) || name == "policy" || name == "seed" || name == "seeds") continue;
    if (option->count() > 0) {
      options[name] = value_of(*option);
    } else if (option->get_expected_max() == 0) {
      defaults[name] = false;
    } else {
      std::string value = default_of(*option);
      defaults[name] = value.empty() ? UnorderedJson() : UnorderedJson(std::move(value));
    }
  }
  for (const InputFile& input : inputs) {
    UnorderedJson& file = files.emplace_back(
        UnorderedJson{{"option", input.option}, {"file", without_traces_folder(input.path)}});
    const auto content = read_content(input.path);
    file["bytes"] = content ? UnorderedJson(content->bytes) : UnorderedJson();
    file["crc64"] = content ? UnorderedJson(content->crc64) : UnorderedJson();
  }
  return {{"program", "ductile " DUCTILE_VERSION},
          {"command", command.get_name().empty() ? "simulate" : command.get_name()},
          {"options", std::move(options)},
          {"defaults", std::move(defaults)},
          {"inputs", std::move(files)}};
}

std::string run_identity(UnorderedJson common, const Registry& registry, const std::string& policy,
                         std::uint64_t seed) {
  common["policy"] = policy;
  common["parameters"] = registry.parameters(policy).texts();
  common["seed"] = seed;
  return common.dump(-1, ' ', false, UnorderedJson::error_handler_t::replace);
}

}  // namespace ductile
