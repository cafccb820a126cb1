#include "scheduling/traits.hpp"

namespace ductile {

std::string lacking(const Capabilities& can, const Needs& needs) {
  if (can.resizes_per_job < needs.resizes_per_job) {
    return "resizes: " + std::to_string(can.resizes_per_job) + " of a job, not " +
           std::to_string(needs.resizes_per_job);
  }
  if (needs.power_control && !can.power_control) return "nodes that can be switched on and off";
  if (needs.suspends && can.suspends == Suspends::no) return "jobs that can be suspended";
  if (needs.parts && !can.parts) return "jobs that can share nodes";
  return "";
}

}  // namespace ductile
