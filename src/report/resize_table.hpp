// Tables of resizes: by whom and why, and who gave to whom (paper 000, Fig. 6 and Table 5; paper
// 001, Fig. 5 and Table II).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/page.hpp"

namespace ductile {

enum class ResizeFormat : std::uint8_t { text, json, csv };

/// Of each policy, its runs together: the resizes that changed something, as counts and as shares
/// of all, by reason, by type and by class of the first size of the job; and of those that were
/// made for another job, by the classes of both. Reads resizes.csv and jobs.csv of the runs. JSON:
/// an object for each policy, one per line. Throws InputError.
std::string resize_tables(std::span<const RunPage> runs, ResizeFormat format);

}  // namespace ductile
