// A run as a log: everything the core was told and everything it decided, so that the run can be
// replayed and compared. Format: docs/formats/log.md.
#pragma once

#include <cstdint>
#include <fstream>
#include <iosfwd>
#include <string>

#include "scheduling/record.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// Writes the log of one run. `Rules::record` must be on. The file appears under its name when the
/// run is finished, with a checksum at its end; before, and after a failure, there is none.
class Recorder final : public Observer {
 public:
  /// Throws `InputError` if the file cannot be made.
  explicit Recorder(std::string path);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool wants_events() const override { return true; }
  void on_begin(const Core& core) override;
  void on_event(Time now, const Event& event, bool taken, const Core& core) override;
  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_close(Time now, const Core& core) override;
  /// Throws `RunError` if the log could not be written.
  void on_finish(Time now, const Core& core) override;

 private:
  void line(const std::string& text);

  std::string path_, temporary_;
  std::ofstream file_;
  std::string decisions_;  // of the instant that is being closed
  std::uint64_t lines_ = 0, checksum_ = 0;
};

/// `lines`, each ended, with the last line of a log after them. For logs that are made by hand.
std::string sealed_log(std::string lines);

/// What a replay went through.
struct Replayed {
  std::string policy;
  std::uint64_t events = 0, instants = 0, pen_calls = 0, decisions = 0;
  Time last{};
};

/// Replays a log twice at once: one core asks the policy, as the run did; another one folds the
/// recorded pen calls and asks nobody, as a restarted controller would. Both must give the recorded
/// decisions, byte for byte.
///
/// Throws `InputError` if the log was cut or altered, or is none; `RunError` if this build decides
/// otherwise. `in` must be seekable: it is checked whole before anything is replayed. `make` makes
/// the policies from their settings; without it they are those of the registry.
Replayed replay(std::istream& in, const std::string& name, const PolicyMaker& make);
Replayed replay(std::istream& in, const std::string& name);
Replayed replay_file(const std::string& path);

}  // namespace ductile
