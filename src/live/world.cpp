#include "live/world.hpp"

#include <fmt/format.h>

namespace ductile {

std::string LostOutput::text() const {
  return bytes == 0 ? ""
                    : fmt::format("{} bytes of its output could not be written: {}", bytes, why);
}

}  // namespace ductile
