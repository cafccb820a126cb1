// ductile resize --socket SOCKET N
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it waits for the resize when `app` is parsed. RunError if it was given up.
void add_resize_command(CLI::App& app);

}  // namespace ductile
