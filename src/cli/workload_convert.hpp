// ductile workload convert
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

void add_convert(CLI::App& workload);

}  // namespace ductile
