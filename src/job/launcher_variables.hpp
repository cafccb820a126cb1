// The variables by which a launcher of MPI, and `ductile run`, tell a process who it is.
#pragma once

#include <string_view>

namespace ductile {

/// Would a process that inherits this variable take itself for one of the job that this process is
/// in? Settings of users are none of these, nor is what programs read to learn their rank or size.
bool ties_to_launcher(std::string_view name);

}  // namespace ductile
