// ductile ack [SIZE]
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command, by which a program tells its `ductile run` which size it has.
void add_ack_command(CLI::App& app);

}  // namespace ductile
