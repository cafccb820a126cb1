// What is said of a program that is resized without a library of ours: how it is told, and how long
// it may take.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/kind.hpp"

namespace ductile {

struct ScriptSettings {
  /// Sent with every order for a size; 0: none. To a program that is to be restarted it says that
  /// it is to stop at a checkpoint; 0: SIGTERM, or none where there is a command for that.
  int signal = 0;
  /// A program that has not answered by then refuses.
  std::chrono::milliseconds ack_timeout = std::chrono::seconds(30);

  // ---- Of programs that are restarted ----------------------------------------------------------
  /// A command of the shell that has the program checkpoint and stop; none if empty.
  std::string checkpoint{};
  std::chrono::milliseconds checkpoint_timeout = std::chrono::minutes(10);
  /// The exit code of a program that has stopped at a checkpoint and is not at its end.
  int stopped_exit = 85;
  /// A command of the shell that starts the program from its checkpoint; if empty, as at first.
  std::string restart{};
  /// How long a program that was started again must run, before it is known to go on; or until it
  /// says so.
  std::chrono::milliseconds settle = std::chrono::seconds(1);

  bool operator==(const ScriptSettings&) const = default;
};

/// "USR1" or "SIGUSR1"; nothing if it is no signal that a program can be told something by.
std::optional<int> parse_signal(std::string_view text);
/// "USR1"; empty if it is none of these.
std::string_view signal_word(int signal);

/// As options of `ductile run`, of a job of this kind.
std::vector<std::string> to_words(const ScriptSettings& settings, JobKind kind);

}  // namespace ductile
