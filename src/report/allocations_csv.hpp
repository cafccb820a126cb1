// allocations.csv: which job had which nodes from when to when.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/node_set.hpp"
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
    NodeSet as_guest{};            // of them: where another job was before it
    std::optional<Reason> why{};   // none: it lost nodes that failed
    std::optional<Reason> next{};  // of an order to resize that has no answer yet
  };

  /// From now on the job holds what the core says.
  void note(Time now, JobId id, const std::optional<Reason>& why, const Core& core);
  /// It holds nothing any more.
  void leave(Time now, JobId id, const Core& core);
  void write(Time until, JobId id, const Open& row, const Core& core);
  void append_job(JobId id);

  OutputFile file_;
  const Workload& workload_;
  std::map<JobId, Open> open_;  // sorted, so that a run that is stopped ends with the same rows
  std::set<JobId> sharing_;     // of them: what they hold may change by the end of another one
};

/// A row as it is read.
struct Allocation {
  std::uint64_t job = 0;
  Time from{}, until{};
  Nodes size = 0;
  NodeSet nodes{};                       // empty: not known
  std::optional<std::uint64_t> cores{};  // of all of them; none: not known
  std::string reason{};                  // a word of decisions.csv, or "node-failure"
  std::optional<std::uint64_t> for_job{};
  struct Shared {
    NodeSet nodes;
    std::uint32_t cores = 0;  // that the job has of each
  };
  std::vector<Shared> shared{};
  NodeSet guest_nodes{};  // of these: where another job was before it
};

/// Throws InputError.
std::vector<Allocation> read_allocations(const std::filesystem::path& path);
/// Of nodes that are nobody else's; 0: they have different numbers of cores, or none are known.
std::uint64_t cores_per_node(const std::vector<Allocation>& held);

}  // namespace ductile
