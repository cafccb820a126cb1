// ductile workload fetch
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

void add_fetch(CLI::App& workload);

}  // namespace ductile
