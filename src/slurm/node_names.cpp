#include "slurm/node_names.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/socket.hpp"

namespace ductile {

NodeNames::NodeNames(std::string path) : path_(std::move(path)) {
  std::ifstream file(path_);
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const Place place{.file = path_, .line = number};
    const bool is_name = !line.empty() && is_printable(line) && line.find(' ') == std::string::npos;
    if (!is_name) {
      throw InputError(place, "it is no name of a node",
                       "put the file back as it was; its lines are the numbers of the nodes");
    }
    if (find(line)) {
      throw InputError(place, fmt::format("node {} is there a second time", line),
                       "put the file back as it was; its lines are the numbers of the nodes");
    }
    learn(line);
  }
}

void NodeNames::learn(std::string name) {
  numbers_.emplace(name, static_cast<std::uint32_t>(names_.size()));
  names_.push_back(std::move(name));
}

void NodeNames::add(const std::vector<std::string>& names) {
  const std::size_t before = names_.size();
  for (const std::string& name : names) {
    if (!find(name)) learn(name);
  }
  if (names_.size() == before) return;
  const std::string next = path_ + ".new";
  std::string text;
  for (const std::string& name : names_) text += name + "\n";
  const Descriptor file(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  const auto size = static_cast<ssize_t>(text.size());
  const bool is_written = file && write(file.get(), text.data(), text.size()) == size &&
                          fsync(file.get()) == 0 && std::rename(next.c_str(), path_.c_str()) == 0;
  if (!is_written) {
    throw RunError(fmt::format("'{}' cannot be written: {}", path_, std::strerror(errno)));
  }
}

std::optional<std::uint32_t> NodeNames::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> NodeNames::names(const NodeSet& nodes) const {
  std::vector<std::string> names;
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) names.push_back(name(node));
  }
  return names;
}

NodeSet NodeNames::nodes(const std::vector<std::string>& names) const {
  NodeSet nodes;
  for (const std::string& name : names) {
    if (const auto node = find(name)) nodes.insert(*node, *node);
  }
  return nodes;
}

}  // namespace ductile
