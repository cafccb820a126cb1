// trace.json: the schedule for Perfetto and other viewers of Chrome traces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/output_file.hpp"
#include "report/series.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// Jobs that run at the same time lie in different lanes; a resized job has one slice inside for
/// each of its sizes (docs/formats/trace.json.md). Viewers choke on more than the jobs shown: the
/// first ones to start.
class ChromeTrace final : public Observer {
 public:
  static constexpr std::uint64_t kMostJobs = 100'000;

  ChromeTrace(const std::filesystem::path& path, const Workload& workload);

  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_resized(Time now, JobId id, Nodes before, const Core& core) override;
  void on_suspended(Time now, JobId id, const WorkloadJob& job, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_finish(Time now, const Core& core) override;

  /// `series`: of the same run; becomes counters.
  void commit(const Series& series);

 private:
  // A size of a job, and why it had it.
  struct Slice {
    Time from{};
    Holding nodes;
    Reason reason;
  };
  struct Lane {
    std::uint32_t number = 0;
    Reason next;  // of the last order to resize
    std::vector<Slice> slices;
  };

  void close(Time now, JobId id, const char* state);
  void write(Time now, JobId id, const Lane& lane, const char* state);
  void write_slice(std::uint32_t lane, const std::string& name, Time from, Time to,
                   const Reason& reason, const std::string& args);

  OutputFile file_;
  const Workload& workload_;
  std::unordered_map<JobId, Lane> running_;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_lanes_;
  std::uint32_t lanes_ = 0;
  std::uint64_t jobs_ = 0, left_out_ = 0;
};

}  // namespace ductile
