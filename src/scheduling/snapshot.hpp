// The facts of a state as text, and back: what a restart begins with, and what another version
// reads. docs/formats/snapshot.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/state.hpp"

namespace ductile {

/// Fields and rows are there since a version of the format, from 1.
using SnapshotVersion = std::uint32_t;
constexpr SnapshotVersion kSnapshotVersion = 11;

/// Appends a state, between two instants: rows of text, each "KIND KEY FIELD=VALUE ...". What has
/// its default value is left out. Only reads and allocates, so that a forked child may call it.
/// Returns the version that a reader has to know: the highest that what was written is there since.
/// Throws std::logic_error within an instant.
SnapshotVersion save(const State& state, std::string& text);
std::string save(const State& state);

/// The other way round. A field that is missing has its default, so that what older versions wrote
/// can be read. Throws InputError, which names `file`, line, row and field: for a row or field that
/// this version does not know, a value that none can be, a row that is missing or twice, and for
/// facts that contradict each other. What is no fact of the past is not in it: `Rules::record` and
/// `Rules::check` are as by default.
State load(std::string_view text, const std::string& file = "snapshot");

/// The kinds of rows and their fields, in the order in which they are written.
struct SnapshotRow {
  struct Field {
    std::string_view name;
    SnapshotVersion since;
  };
  std::string_view kind;
  std::vector<Field> fields;
};
std::vector<SnapshotRow> snapshot_rows();

}  // namespace ductile
