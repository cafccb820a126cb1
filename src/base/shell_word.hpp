// Words for a shell.
#pragma once

#include <string>
#include <vector>

namespace ductile {

/// A word of a line for a shell, quoted where it has to be.
std::string shell_word(const std::string& word);
/// All of these, with blanks between them.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace ductile
