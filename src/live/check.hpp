// Is what a controller has written whole? All of it is read; nothing is changed.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace ductile {

/// The last line of what it says if that is so.
constexpr std::string_view kAllIsSound = "all is sound\n";

/// Says of each file in the folder of a controller's state what is sound and what is damaged, where
/// and what to do; docs/commands/check.md. A controller may be at work there. True if all is sound.
/// Throws InputError if there is no journal that this version reads.
bool check_state(const std::string& folder, std::ostream& out);

}  // namespace ductile
