// Walltimes predicted from what users' jobs took before (Tsafrir, Etsion and Feitelson, IEEE TPDS
// 2007). Whoever owns a world asks, and tells the core: a job is submitted with its prediction, and
// `event::Believed` raises one that was outlived. The time that the user asked for stays the one at
// which the job may be killed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "scheduling/event.hpp"
#include "scheduling/state.hpp"

namespace ductile {

class RuntimePrediction {
 public:
  /// The mean of what the last two jobs of this user that have ended took, but no more than was
  /// requested; that, too, if fewer have ended.
  Duration walltime(std::uint32_t user, Duration requested) const;
  /// A job of this user took so long, at the size asked for.
  void took(std::uint32_t user, Duration runtime);

  /// A job was submitted with a prediction. Remembered until it ends.
  void submitted(JobId id, Duration requested, Duration predicted);
  /// What its user asked for; as the core believes it if no less was predicted.
  Duration requested(const State& state, JobId id) const;
  /// A running job ends for good: its runtime counts from now on. Call it before the core hears.
  void ending(const State& state, JobId id, Time now);
  /// A job that has never run will not.
  void forget(JobId id) { open_.erase(id); }

  /// A running job has come to its believed end and lives: what to tell the core. 1 minute more
  /// than it has had, then 5, 15 and 30 minutes, 1, 2, 5, 10, 20, 50 and 100 hours, but no more
  /// than requested. Nothing if the end has not come, or is the requested one.
  std::optional<event::Believed> outlived(const State& state, JobId id, Time now);
  /// Jobs whose prediction may be outlived, by id.
  std::vector<JobId> open() const;
  /// When the next one may be outlived.
  Time next(const State& state) const;

 private:
  struct Open {
    Duration requested{};
    std::uint32_t raised = 0;  // how often
  };
  struct History {
    Duration last{}, before{};
    std::uint32_t known = 0;  // of the two
  };

  std::map<std::uint32_t, History> users_;
  std::map<JobId, Open> open_;
};

}  // namespace ductile
