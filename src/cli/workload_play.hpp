// ductile workload play
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

void add_play(CLI::App& workload);

}  // namespace ductile
