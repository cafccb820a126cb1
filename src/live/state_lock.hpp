// One controller for each folder of state.
#pragma once

#include <string>

#include "job/socket.hpp"

namespace ductile {

/// Makes the folder if need be, and keeps other processes from it as long as this one lives and has
/// the descriptor open. Throws InputError if another one has it.
Descriptor lock_state(const std::string& folder);

}  // namespace ductile
