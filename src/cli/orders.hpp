// ductile cancel|hold|release|drain: what people tell the controller to do.
#pragma once

#include <CLI/CLI.hpp>

namespace ductile {

/// Adds the commands; they ask the controller when `app` is parsed. They throw InputError and
/// RunError.
void add_order_commands(CLI::App& app);

}  // namespace ductile
