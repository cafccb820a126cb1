// Walltimes predicted from what users' jobs took before (Tsafrir, Etsion and Feitelson, IEEE TPDS
// 2007). Whoever owns a world asks, and tells the core: a job is submitted with its prediction, and
// `event::Believed` raises one that was outlived. The time that the user asked for stays the one at
// which the job may be killed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
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
  /// What the last jobs of this user took, as far as they count: none to two, the last one last.
  std::vector<Duration> last_of(std::uint32_t user) const;

  /// A job was submitted with a prediction, which was `raised` so often since. Remembered until it
  /// ends.
  void submitted(JobId id, Duration requested, Duration predicted, std::uint32_t raised = 0);
  /// What its user asked for; as the core believes it if no less was predicted.
  Duration requested(const State& state, JobId id) const;
  /// A running job is from now on to have so much: what to tell the core, if it has to believe
  /// another time. A prediction of less stays.
  std::optional<event::Believed> asked(const State& state, JobId id, Duration requested);
  /// A running job ends for good: its runtime counts from now on. Call it before the core hears.
  void ending(const State& state, JobId id, Time now);
  /// It will not run any more, and its runtime is not known.
  void forget(JobId id);

  /// A running job has come to its believed end and lives: what to tell the core. 1 minute more
  /// than it has had, then 5, 15 and 30 minutes, 1, 2, 5, 10, 20, 50 and 100 hours, but no more
  /// than requested. Nothing if the end has not come, or is the requested one.
  std::optional<event::Believed> outlived(const State& state, JobId id, Time now);
  /// Who has no other way to know when that is asks these. What the core believes of the job is
  /// another now: it runs, waits again, was resized, or is believed to end at another time.
  void watch(const State& state, JobId id);
  /// A watched job that has come to its believed end; none if there is none.
  JobId due(Time now) const;
  /// When the next one will have.
  Time next() const { return ends_.empty() ? kNever : ends_.begin()->first; }

 private:
  struct Open {
    Duration requested{};
    std::uint32_t raised = 0;  // how often
    Time end = kNever;         // as it stands in `ends_`
  };
  struct History {
    Duration last{}, before{};
    std::uint32_t known = 0;  // of the two
  };

  std::map<std::uint32_t, History> users_;
  std::map<JobId, Open> open_;
  std::set<std::pair<Time, JobId>> ends_;
};

}  // namespace ductile
