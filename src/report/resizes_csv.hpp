// resizes.csv: which jobs were ordered to another size, why, what came of it, and what it cost.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"
#include "base/wide.hpp"
#include "model/job_spec.hpp"
#include "report/output_file.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// What came of an order to resize: all of it, a part of it, nothing; or there was no answer.
enum class ResizeOutcome : std::uint8_t { done, partly, refused, lost };
constexpr std::array<std::string_view, 4> kResizeOutcomeWords{"done", "partly", "refused", "lost"};
constexpr std::string_view word(ResizeOutcome outcome) {
  return kResizeOutcomeWords[static_cast<std::size_t>(outcome)];
}

/// One row for each order to resize and each loss of nodes that a job outlived, in the order of
/// their ends (docs/formats/resizes.csv.md).
class ResizesCsv final : public Observer {
 public:
  ResizesCsv(const std::filesystem::path& path, const Workload& workload);

  void on_begin(const Core& core) override;
  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_paid(Time now, JobId id, Wide node_us, const Core& core) override;
  void on_resized(Time now, JobId id, Nodes before, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_finish(Time now, const Core& core) override;

  void commit() { file_.commit(); }

 private:
  struct Open {
    Time at{};
    Holding before, ordered;
    Reason reason;
    std::optional<Wide> paid{};  // node-microseconds
  };
  struct Row {
    Time at{};
    std::optional<Time> until{};
    Nodes before = 0, ordered = 0, after = 0;
    std::optional<Reason> reason{};  // none: it lost nodes that failed
    ResizeOutcome outcome = ResizeOutcome::done;
    std::optional<Wide> paid{};
  };

  /// There will be no answer.
  void lose(JobId id, const Open& open);
  void write(JobId id, const Row& row);

  OutputFile file_;
  const Workload& workload_;
  std::vector<Nodes> first_sizes_;  // of each job, at its last start
  std::map<JobId, Open> open_;      // sorted, so that a run that is stopped ends with the same rows
};

/// A row as it is read.
struct ResizeRow {
  Time at{};
  std::optional<Time> until{};  // none: there was no answer
  std::uint64_t job = 0;
  JobType type = JobType::rigid;
  Nodes first_size = 0, before = 0, ordered = 0, after = 0;
  std::string reason{};  // a word of decisions.csv, or "node-failure"
  std::optional<std::uint64_t> for_job{};
  ResizeOutcome outcome = ResizeOutcome::done;
  std::optional<Duration> cost{};  // nodes times duration; none: nothing is known
};

/// Throws InputError.
std::vector<ResizeRow> read_resizes(const std::filesystem::path& path);

}  // namespace ductile
