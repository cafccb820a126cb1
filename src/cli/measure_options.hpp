// --measure-from and --measure-until: which jobs the figures are of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "simulation/measured.hpp"

namespace ductile {

struct MeasureOptions {
  std::string from, until;
};

/// They are written to `options`, which must live until the command line is parsed.
void add_measure_options(CLI::App& command, MeasureOptions& options);

/// "3600" (s), "10%", "1996-10-01", "1996-10-01T12:30" (UTC; `unix_start_time`: s since 1970 of
/// time 0, if that is known); "detected", of the first one. Throws InputError.
MeasuredPart read_measured(const MeasureOptions& options,
                           std::optional<std::int64_t> unix_start_time);

}  // namespace ductile
