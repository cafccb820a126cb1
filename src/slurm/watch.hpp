// `ductile-slurm watch`: nobody's job waits for a controller that does not come back. When that has
// not answered for a while, Slurm's own scheduler gets the partition: the file `hands_over` says to
// the script in slurmctld that nothing is held any more, and what is held is released. A controller
// that comes back removes the file and holds what waits.
#pragma once

#include <optional>
#include <string>

#include "base/time.hpp"
#include "slurm/slurm.hpp"

namespace ductile {

struct WatchSettings {
  std::string partition{};
  /// Where the controller answers.
  std::string socket{};
  /// The file; docs/guide/slurm.md.
  std::string hands_over{};
  /// How long it may be silent.
  Duration after = whole_seconds(600);
  /// How often it is asked, and how long it may take to answer.
  Duration every = whole_seconds(5);
};

class Watch {
 public:
  Watch(WatchSettings settings, Slurm& slurm);
  /// Did the controller answer at this time? Throws SlurmError, and RunError where the file cannot
  /// be made; what is not done then is done at the next look.
  void look(Time now, bool answers);
  bool has_handed_over() const;

 private:
  void hand_over();

  WatchSettings settings_;
  Slurm& slurm_;
  std::optional<Time> silent_since_{};
  bool is_done_ = false;
};

/// Watches until SIGTERM or SIGINT.
void watch(const WatchSettings& settings, Slurm& slurm);

}  // namespace ductile
