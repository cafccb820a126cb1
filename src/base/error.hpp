// Errors that a user can do something about.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ductile {

/// Where in the input the trouble is; parts that do not apply stay empty or 0.
struct Place {
  std::string file{};
  std::uint64_t line = 0;
  std::string field{};
};

/// The call or its input was wrong: exit code 2. The message reads
/// "FILE:LINE: FIELD: what is wrong; what to do".
class InputError : public std::runtime_error {
 public:
  InputError(const Place& place, const std::string& what, const std::string& remedy)
      : std::runtime_error(text(place, what, remedy)) {}
  InputError(const std::string& what, const std::string& remedy) : InputError({}, what, remedy) {}

 private:
  static std::string text(const Place& place, const std::string& what, const std::string& remedy) {
    std::string result = place.file;
    if (place.line != 0) result.append(":").append(std::to_string(place.line));
    if (!result.empty()) result += ": ";
    if (!place.field.empty()) result.append(place.field).append(": ");
    result += what;
    if (!remedy.empty()) result.append("; ").append(remedy);
    return result;
  }
};

/// The run failed through no fault of the call (a disk is full, a file vanished): exit code 1.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ductile
