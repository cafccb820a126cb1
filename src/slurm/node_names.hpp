// The names of nodes. The core knows nodes by numbers, and a number is that of one node for good:
// it is its line in a file of the controller's folder, to which only new ones are added.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"

namespace ductile {

class NodeNames {
 public:
  /// Reads the file, if there is one. Throws InputError with the line that is no name, or the name
  /// of another line.
  explicit NodeNames(std::string path);

  /// Those that are not known get the next numbers, in this order; they are on the disk when this
  /// returns. Throws RunError.
  void add(const std::vector<std::string>& names);

  std::size_t count() const { return names_.size(); }
  const std::string& name(std::uint32_t node) const { return names_.at(node); }
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// By number.
  std::vector<std::string> names(const NodeSet& nodes) const;
  /// Those of these names that are known.
  NodeSet nodes(const std::vector<std::string>& names) const;

 private:
  void learn(std::string name);

  std::string path_;
  std::vector<std::string> names_{};
  std::map<std::string, std::uint32_t, std::less<>> numbers_{};
};

}  // namespace ductile
