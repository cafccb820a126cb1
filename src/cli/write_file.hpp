// Files that a command was told to write.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace ductile {

/// Lets `write` fill the file `name`; "-" is the standard output. The file has a temporary name,
/// NAME.part, until all is written: what fails leaves nothing, and an older file as it was. Throws
/// InputError if it cannot be made, RunError if it cannot be written.
void write_file(const std::string& name, const std::function<void(std::ostream&)>& write);

}  // namespace ductile
