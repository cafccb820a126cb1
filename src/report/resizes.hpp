// How often jobs were resized, and why.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "simulation/observer.hpp"

namespace ductile {

/// What the resizes of one reason came to. "Not done": refused, lost, or over before it was due.
struct ResizeCounts {
  std::uint64_t expands = 0, shrinks = 0, moves = 0, not_done = 0;
  std::uint64_t gained = 0, given = 0;  // nodes

  bool operator==(const ResizeCounts&) const = default;
};

/// Counts the resizes of a run by the reason of their decision; without one a job lost nodes that
/// failed.
class ResizeCounter final : public Observer {
 public:
  using ByReason = std::map<std::optional<Why>, ResizeCounts>;

  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_resized(Time now, JobId id, Nodes before, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;

  const ByReason& by_reason() const { return by_reason_; }

 private:
  struct Ordered {
    Why why{};
    Holding after{};
  };
  std::map<JobId, Ordered> ordered_;  // and not answered yet
  ByReason by_reason_;
};

}  // namespace ductile
