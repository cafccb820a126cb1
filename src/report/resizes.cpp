#include "report/resizes.hpp"

namespace ductile {

void ResizeCounter::on_decision(Time, const Decision& decision, const Core&) {
  if (decision.kind == Decision::Kind::resize) {
    ordered_[decision.job] = {decision.reason.why, decision.after};
  }
}

void ResizeCounter::on_resized(Time, JobId id, Nodes before, const Core& core) {
  std::optional<Why> why;
  bool is_done = false;
  if (const auto at = ordered_.find(id); at != ordered_.end()) {
    why = at->second.why;
    is_done = core.job(id).holding == at->second.after;
    ordered_.erase(at);
  }
  ResizeCounts& counts = by_reason_[why];
  const Nodes after = core.job(id).size();
  if (after > before) {
    ++counts.expands;
    counts.gained += after - before;
  } else if (after < before) {
    ++counts.shrinks;
    counts.given += before - after;
  } else {
    ++(is_done ? counts.moves : counts.not_done);
  }
}

void ResizeCounter::on_end(Time, JobId id, const WorkloadJob&, EndState, bool, const Core&) {
  const auto at = ordered_.find(id);
  if (at == ordered_.end()) return;
  ++by_reason_[at->second.why].not_done;
  ordered_.erase(at);
}

}  // namespace ductile
