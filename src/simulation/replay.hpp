// A log read again: does this build decide what was decided? Format: docs/formats/log.md.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>

#include "base/time.hpp"
#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"
#include "scheduling/record.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// What a replay went through.
struct Replayed {
  std::string policy;
  bool asked = false;  // the policy, again; else the log was only folded
  std::uint64_t events = 0, instants = 0, pen_calls = 0, decisions = 0;
  Time last{};
};

/// Sees a replay; the core is the one that asks, or the one that folds if none does.
class ReplayWatcher {
 public:
  virtual ~ReplayWatcher() = default;
  virtual void on_begin(const Core&) {}
  virtual void before_event(Time, const Event&, const Core&) {}
  virtual void after_event(Time, const Event&, bool /*taken*/, const Core&) {}
  virtual void on_close(Time, std::span<const Decision>, const Core&) {}
  virtual void on_finish(Time, const Core&) {}
};

/// Replays a log twice at once: one core asks the policy, as the run did; another one folds the
/// recorded pen calls and asks nobody, as a restarted controller would. Both must give the recorded
/// decisions, byte for byte. A policy that is outside of this program is not asked.
///
/// Throws `InputError` if the log was cut or altered, or is none; `RunError` if this build decides
/// otherwise. `in` must be seekable: it is read from its beginning, and
/// checked whole before anything is replayed. `make` makes the policies from their settings.
Replayed replay(std::istream& in, const std::string& name, const PolicyMaker& make,
                ReplayWatcher* watcher = nullptr);
/// Opens a log for these. InputError if it cannot be read.
std::unique_ptr<std::istream> open_log_file(const std::string& path);

/// Only folds a log, and asks nobody; no policy of it need be there. `observer` is told of
/// everything as it was told in the run, but of what only the world knew (`on_resized`, `on_end`).
/// The same errors.
Replayed fold(std::istream& in, const std::string& name, Observer& observer);
Replayed fold(std::istream& in, const std::string& name, ReplayWatcher& watcher);

}  // namespace ductile
