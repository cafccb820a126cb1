// How far a long command is, on one line of a terminal.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "experiment/run.hpp"

namespace ductile {

/// Written to the standard error over and over, at most five times a second; nothing where that is
/// no terminal, or `quiet`.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void reading(std::uint64_t done, std::uint64_t total);
  /// `unix_start_time` (s): of the simulated clock's zero, where it is known.
  void simulating(const Progress& progress, std::optional<std::int64_t> unix_start_time);
  /// Of jobs that are submitted to a controller; `all` of them.
  void playing(std::uint64_t submitted, std::uint64_t running, std::uint64_t ended,
               std::uint64_t all);
  void clear();

 private:
  using Stopwatch = std::chrono::steady_clock;

  bool due();
  void write(std::string line);

  bool shown_;
  std::size_t length_ = 0;  // of what is on the screen
  Stopwatch::time_point last_{};
  std::optional<Stopwatch::time_point> begin_;  // of simulating
};

}  // namespace ductile
