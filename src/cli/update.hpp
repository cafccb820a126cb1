// ductile update [options] JOB
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the command; it asks the controller when `app` is parsed.
void add_update_command(CLI::App& app);

}  // namespace ductile
