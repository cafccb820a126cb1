// Logs that a command was told to write: SWF, and what is adaptive beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "workload/swf.hpp"

namespace ductile {

/// Throws InputError unless --out names plain SWF.
void check_name_of_log(const std::string& out);

/// Says in a header how many jobs there are, and how large the machine is (0: not known).
void set_sizes(SwfHeader& header, std::size_t jobs, Nodes nodes, std::uint32_t cores_per_node);

/// Lets `log` fill the file of this name, and `adaptive`, if there is one, that beside it: both or
/// none. Throws InputError, also if there is nothing to be beside it and an older file is.
void write_log(const std::string& name, const std::function<void(std::ostream&)>& log,
               const std::function<void(std::ostream&)>& adaptive);

}  // namespace ductile
