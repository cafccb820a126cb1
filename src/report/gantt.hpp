// Which job had which nodes when, for a chart.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/node_set.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// One job on neighbouring nodes for some time.
struct GanttBar {
  std::uint64_t job = 0;  // its name
  Interval nodes{};
  Time from{}, to{};
  Why why = Why::in_order;
  Nodes size = 0;  // of the job, on all its nodes
  // Of shared nodes: so many of the cores of each; 0: the nodes are its own.
  std::uint32_t cores = 0, of = 0;
  bool is_guest = false;  // another job was there before it
};

/// The bars of a window of time; in order of their ends.
struct Gantt {
  Time begin{}, end{};
  Nodes nodes = 0;    // of the machine
  bool whole = true;  // the window is the whole run
  std::vector<GanttBar> bars;
};

/// Collects the first bars of a run, as many as a page can show. Needs identities; without them
/// there are no bars.
class GanttRecorder final : public Observer {
 public:
  static constexpr std::uint64_t kMostStarts = 3000;
  static constexpr std::size_t kMostBars = 6000;

  explicit GanttRecorder(const Workload& workload) : workload_(workload) {}

  void on_begin(const Core& core) override;
  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_start_failed(Time now, JobId id, const Core& core) override;
  void on_resized(Time now, JobId id, Nodes before, const Core& core) override;
  void on_suspended(Time now, JobId id, const WorkloadJob& job, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_finish(Time now, const Core& core) override;

  const Gantt& gantt() const { return gantt_; }

 private:
  // A running job at its present size, with its present cores.
  struct Open {
    Time from{};
    Holding nodes;
    NodeSet as_guest;      // of them: where others were before it
    std::uint32_t of = 0;  // cores of each that it shares
    Why why = Why::in_order;
    Why next = Why::in_order;  // of the last order to resize
  };

  void open(Time now, JobId id, const Holding& nodes, Why why, const Core& core);
  /// It may have other nodes or cores from now on.
  void change(Time now, JobId id, const Core& core);
  void close(Time now, JobId id, const Open& open);
  /// It has no nodes any more.
  void leave(Time now, JobId id);
  void end_window(Time now);

  const Workload& workload_;
  Gantt gantt_;
  std::map<JobId, Open> open_;  // sorted, so that a window ends with the same bars each time
  std::uint64_t starts_ = 0;
  bool over_ = false;
};

}  // namespace ductile
