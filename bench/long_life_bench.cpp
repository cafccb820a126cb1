// A folder of state as a controller leaves it that has had many jobs: written by the same core,
// journal and snapshots as a controller's, without the jobs' processes. For long_life.py.
//
//     long_life_bench FOLDER JOBS
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "live/journal.hpp"
#include "live/schedule_clock.hpp"
#include "live/snapshots.hpp"
#include "policies/registry.hpp"
#include "report/circumstances.hpp"
#include "scheduling/core.hpp"

namespace ductile {
namespace {

constexpr Nodes kNodes = 64;
constexpr const char* kSubmission =
    R"({"command":["/bin/true"],"directory":"/","environment":["HOME=/root","PATH=/usr/bin:/bin"],)"
    R"("script":"","stdin":"","name":"true","nodes":1,"time_us":60000000})";

/// What of a controller writes.
class Life {
 public:
  explicit Life(const std::string& folder)
      : journal_(folder + "/journal.db"),
        policy_(make_policy("easy")),
        core_({.nodes = kNodes, .cores_per_node = 1}, {.instant_start = false},
              {.counted_refusals = 7, .identities = true, .record = true, .check = false},
              policy_->traits),
        circumstances_(core_),
        snapshots_(journal_, folder) {
    journal_.write_head(core_);
    begin();
    const ScheduleClock clock("", Time{});
    journal_.write_clock(clock.text());
    now_ = clock.now() - whole_seconds(1000);
  }

  void submit() {
    JobRow row;
    row.id = JobId{jobs_};
    row.number = ++jobs_;
    numbers_.add(row.id, row.number);
    row.owner = {getuid(), getgid()};
    row.name = "true";
    row.type = "rigid";
    row.submitted = now_;
    journal_.submitted(row, kSubmission);
    JobSpec spec;
    spec.name = row.number;
    spec.user = getuid();
    spec.submitted = now_;
    spec.walltime = whole_seconds(60);
    spec.size = exactly(1 + static_cast<Nodes>(jobs_ % 4));
    spec.preferred = spec.size.min;
    tell(event::Submitted{spec, std::nullopt});
  }
  /// What was decided last happens; running jobs over and above some end.
  void happen() {
    for (const Decision& decision : std::exchange(starts_, {})) {
      tell(event::Started{decision.job, decision.id, decision.after, std::nullopt});
      journal_.held(numbers_.of(decision.job), now_, decision.after.count);
      running_.push_back(decision.job);
    }
    while (running_.size() > most_) {
      const JobId id = running_.front();
      running_.erase(running_.begin());
      tell(event::Ended{id, EndState::completed, false});
      JobRow row{
          .id = id, .number = numbers_.of(id), .ended = now_, .state = "completed", .exit_code = 0};
      journal_.held(row.number, now_, 0);
      journal_.ended(row);
      numbers_.remove(id);
    }
  }
  void close() {
    const auto decisions = core_.close(now_, *policy_);
    journal_.close(now_, core_, decisions, numbers_, circumstances_.at_close(decisions, core_));
    for (const Decision& decision : decisions) {
      if (decision.kind == Decision::Kind::start) starts_.push_back(decision);
    }
    now_ += Duration{500};
    if (++instants_ % 2000 != 0) return;
    journal_.commit();
    if (journal_.last_record() > made_ + 20'000) {
      snapshots_.make(core_, counts_);
      made_ = journal_.last_record();
    }
    begin();
  }
  void end() {
    most_ = 0;
    for (int i = 0; i < 200; ++i) {
      happen();
      close();
    }
    journal_.commit();
  }
  std::uint64_t records() const { return journal_.last_record(); }

 private:
  void begin() { journal_.begin(); }
  void tell(const Event& event) {
    const bool taken = core_.apply(now_, event);
    std::vector<Circumstance> then;
    if (taken) then = circumstances_.after(event, core_);
    journal_.event(now_, event, taken, numbers_, then);
  }

  Journal journal_;
  std::shared_ptr<const Policy> policy_;
  Core core_;
  Circumstances circumstances_;
  EventCounts counts_;
  Snapshots snapshots_;
  Time now_{};
  JobNumbers numbers_;
  std::uint32_t jobs_ = 0;
  std::uint64_t instants_ = 0, made_ = 0;
  std::size_t most_ = 20;
  std::vector<Decision> starts_;
  std::vector<JobId> running_;
};

}  // namespace
}  // namespace ductile

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "long_life_bench FOLDER JOBS\n");
    return 2;
  }
  std::filesystem::create_directories(words[1]);
  ductile::Life life(words[1]);
  const auto jobs = std::strtoull(words[2], nullptr, 10);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    life.submit();
    life.happen();
    life.close();
  }
  life.end();
  std::printf("%llu records\n", static_cast<unsigned long long>(life.records()));
  return 0;
}
