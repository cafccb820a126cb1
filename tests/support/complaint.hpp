// What is said of what is refused.
#pragma once

#include <string>

#include "base/error.hpp"

namespace ductile::testing {

/// The words of the error of this kind that `call` throws; "" if it throws none.
template <class Error = InputError, class Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ductile::testing
