#include "job/generation.hpp"

#include <fmt/format.h>

namespace ductile {

std::string ProgramSizes::objection(std::uint32_t size) const {
  std::string text = fmt::format("the program cannot have {} processes, but ", size);
  text += range.max == wire::kMaxProcesses ? fmt::format("{} or more", range.min)
                                           : fmt::format("{} to {}", range.min, range.max);
  if (constraint != SizeConstraint{}) text += ", " + to_text(constraint);
  return text;
}

}  // namespace ductile
