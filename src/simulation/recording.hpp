// A run as a log: everything the core was told and everything it decided, so that the run can be
// replayed (replay.hpp) and compared. Format: docs/formats/log.md.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "simulation/checksum.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// The first line of a log.
inline constexpr std::string_view kFirstLogLine = "ductile-log 3";

/// Counts the lines of a log and sums them up.
class LogSeal {
 public:
  void add(std::string_view line);
  /// The last line of the log that has the lines so far.
  std::string line() const;

 private:
  std::uint64_t lines_ = 0;
  Checksum sum_{};
};

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
  LogSeal seal_;
};

/// `lines`, each ended, with the last line of a log after them. For logs that are made by hand.
std::string sealed_log(std::string lines);

}  // namespace ductile
