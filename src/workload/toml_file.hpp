// Files of settings, in TOML.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

namespace ductile {

/// What a file says. Throws InputError; `remedy` where it cannot be read.
toml::table read_toml(const std::string& path, const std::string& remedy);
/// The same from the content of a file of this name. Others do not call the parser of toml++: some
/// of what is no TOML it does not see, and asserts.
toml::table parse_toml(std::string_view bytes, const std::string& file);

}  // namespace ductile
