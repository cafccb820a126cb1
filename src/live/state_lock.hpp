// One controller for each folder of state, one shadow for each record.
#pragma once

#include <string>

#include "job/socket.hpp"

namespace ductile {

/// Who has such a folder, and the option that names it: for errors.
struct StateOwner {
  const char* who = "controller";
  const char* option = "--state";
};

/// Makes the folder if need be, and keeps other processes from it as long as this one lives and has
/// the descriptor open. Throws InputError if another one has it.
Descriptor lock_state(const std::string& folder, const StateOwner& owner = {});

}  // namespace ductile
