// corridor.csv: the bounds of power that a run had to keep.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "simulation/simulation.hpp"

namespace ductile {

/// A row for each line, which holds until the next one (docs/formats/corridor.csv.md).
void write_corridor_csv(const std::filesystem::path& path, std::span<const CorridorLine> corridor);

/// Throws InputError.
std::vector<CorridorLine> read_corridor_csv(const std::filesystem::path& path);

}  // namespace ductile
