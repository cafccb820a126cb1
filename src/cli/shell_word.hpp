// Words for a shell.
#pragma once

#include <string>

namespace ductile {

/// A word of a line for a shell, quoted where it has to be.
std::string shell_word(const std::string& word);

}  // namespace ductile
