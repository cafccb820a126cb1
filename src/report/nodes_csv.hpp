// nodes.csv: which nodes not all jobs could have, from when to when.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/node_set.hpp"
#include "base/time.hpp"
#include "report/output_file.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// One row for each set of nodes that were down, draining, switched off or reserved for some time,
/// in the order in which that ended (docs/formats/nodes.csv.md).
class NodesCsv final : public Observer {
 public:
  explicit NodesCsv(std::filesystem::path path) : path_(std::move(path)) {}

  void on_close(Time now, const Core& core) override;
  void on_finish(Time now, const Core& core) override;

  /// There is a file only if there is a row.
  void commit();

 private:
  // "down", or "reserved" and by which name.
  using State = std::pair<std::string, std::string>;
  // The nodes that are in a state, and since when each is.
  struct Members {
    NodeSet nodes{};
    std::unordered_map<std::uint32_t, Time> since{};
  };

  /// From now on these nodes, and no others, are in that state.
  void note(Time now, const State& state, const NodeSet& nodes);
  /// These nodes leave the state.
  void close(Time now, const State& state, Members& members, const NodeSet& gone);
  void write(const State& state, Time from, Time until, const NodeSet& nodes);

  std::filesystem::path path_;
  std::optional<OutputFile> file_;
  std::map<State, Members> members_;  // none is empty
};

/// A row as it is read.
struct NodesRow {
  Time from{}, until{};
  NodeSet nodes{};
  std::string state{}, reservation{};
};

/// Throws InputError.
std::vector<NodesRow> read_nodes(const std::filesystem::path& path);

}  // namespace ductile
