// allocations.csv: which job had which nodes from when to when.
#pragma once

#include <filesystem>
#include <map>
#include <set>

#include "report/output_file.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// One row for each job and what it held until that changed, in the order of the rows' ends
/// (docs/formats/allocations.csv.md).
class AllocationsCsv final : public Observer {
 public:
  AllocationsCsv(const std::filesystem::path& path, const Workload& workload);

  void on_begin(const Core& core) override;
  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_start_failed(Time now, JobId id, const Core& core) override;
  void on_resized(Time now, JobId id, Nodes before, const Core& core) override;
  void on_suspended(Time now, JobId id, const WorkloadJob& job, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_close(Time now, const Core& core) override;
  void on_finish(Time now, const Core& core) override;

  void commit() { file_.commit(); }

 private:
  struct Open {
    Time from{};
    Holding held;
  };

  /// From now on the job holds what the core says.
  void note(Time now, JobId id, const Core& core);
  /// It holds nothing any more.
  void leave(Time now, JobId id, const Core& core);
  void write(Time until, JobId id, const Open& row, const Core& core);

  OutputFile file_;
  const Workload& workload_;
  std::map<JobId, Open> open_;  // sorted, so that a run that is stopped ends with the same rows
  std::set<JobId> sharing_;     // of them: what they hold may change by the end of another one
};

}  // namespace ductile
