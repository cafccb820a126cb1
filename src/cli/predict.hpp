// ductile predict
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it asks the controller and prints when `app` is parsed. It throws InputError
/// and RunError.
void add_predict_command(CLI::App& app);

}  // namespace ductile
