// One controller for each folder of state.
#pragma once

#include <string>

#include "job/socket.hpp"

namespace ductile {

/// Makes the folder if need be, and keeps others from it as long as the descriptor is open. Throws
/// InputError if somebody else has it.
Descriptor lock_state(const std::string& folder);

}  // namespace ductile
