// What an expansion of Charm++ leaves behind: charmrun starts all processes anew, and takes those
// of the old and new ones that come first; the others wait for an answer until the job ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace ductile {

/// Kills those children of this process, with all that they have started, that are left behind by
/// `program`, which has `size` processes now; all have `word` on their command line. The program's
/// are known by their output, which they have begun to send to charmrun. Returns how many were
/// killed; nothing if there are not just so many (yet), and nothing was done.
std::optional<std::size_t> end_left_behind(pid_t program, std::uint32_t size,
                                           std::string_view word);

}  // namespace ductile
