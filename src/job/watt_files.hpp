// What the nodes of a job draw, as files say that a site's tool, or the program itself, writes: one
// for each job and node.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ductile {

/// A file's text: one number of watts, from 0 to 1e6, and blanks around it. Nothing if it is
/// another thing.
std::optional<double> watts_of_text(std::string_view text);

class WattFiles {
 public:
  /// The name of a node's file is `pattern` with the node's for %n, and % for %%.
  explicit WattFiles(std::string pattern) : pattern_(std::move(pattern)) {}

  std::string file_of(std::string_view node) const;
  /// What a node's file has where it is, if it is not here; nothing: that is not known yet.
  using Elsewhere =
      std::function<std::optional<std::string>(const std::string& node, const std::string& path)>;

  /// The sum over these nodes; nothing if one of them does not say, and then `why`. Never waits for
  /// somebody to write.
  std::optional<double> read(const std::vector<std::string>& nodes,
                             const Elsewhere& elsewhere = {});
  /// Why the last sum is not known; empty if it is.
  const std::string& why() const { return why_; }

 private:
  /// A node's own; nothing, and `why`, if it is not known.
  std::optional<double> read_one(const std::string& node, const Elsewhere& elsewhere);

  std::string pattern_;
  std::string why_{};
};

}  // namespace ductile
