// Tokens by which clients of HTTP show that they may ask: lines in files that only their owner
// reads.
#pragma once

#include <string>

namespace ductile {

/// The token in this file. A file that is not there is made, with a token by chance. Throws
/// InputError if others could read it, or have written it, or it has no token.
std::string token_in(const std::string& file);

}  // namespace ductile
