// Pictures of runs for papers: as SVG, as PDF, and what they show as CSV.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "report/chart.hpp"
#include "report/page.hpp"

namespace ductile {

/// Writes all pictures that the files of the runs have something for into `folder`, which it makes:
/// docs/commands/report.md, "Pictures for papers". `baseline`: the place of a policy, in the order
/// in which they first come. The same files give the same bytes. Returns how many pictures there
/// are. Throws InputError where a file is damaged, or none of the runs has any.
std::size_t write_figures(const std::filesystem::path& folder, std::span<const RunPage> runs,
                          const Look& look, std::size_t baseline = 0);

}  // namespace ductile
