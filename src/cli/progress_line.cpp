#include "cli/progress_line.hpp"

#include <iostream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ductile {
namespace {

std::string time_left_text(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

bool ProgressLine::due() {
  if (!shown_) return false;
  const auto now = Stopwatch::now();
  if (now - last_ < std::chrono::milliseconds(200)) return false;
  last_ = now;
  return true;
}

void ProgressLine::reading(std::uint64_t done, std::uint64_t total) {
  if (!due()) return;
  const double mebibytes = static_cast<double>(done) / (1 << 20);
  if (total == 0) {
    write(fmt::format("reading: {:.0f} MiB", mebibytes));
  } else {
    write(fmt::format("reading: {:.0f} %",
                      100.0 * static_cast<double>(done) / static_cast<double>(total)));
  }
}

void ProgressLine::simulating(const Progress& progress,
                              std::optional<std::int64_t> unix_start_time) {
  if (!shown_) return;
  if (!begin_) begin_ = Stopwatch::now();
  if (!due()) return;
  const double past_s = std::chrono::duration<double>(last_ - *begin_).count();
  const auto over = static_cast<double>(progress.jobs_over);
  const auto jobs = static_cast<double>(progress.jobs);
  std::string line = fmt::format("{} of {} jobs", progress.jobs_over, progress.jobs);
  if (progress.runs > 1) {
    line += fmt::format(", {} of {} runs", progress.runs_over, progress.runs);
    if (progress.runs_there > 0) line += fmt::format(" ({} were there)", progress.runs_there);
    if (!progress.running.empty()) {
      line += fmt::format(", now {}", fmt::join(progress.running, " "));
    }
  }
  const double simulated_s = to_seconds(progress.now);
  const auto unix_s = static_cast<double>(unix_start_time.value_or(0)) + simulated_s;
  constexpr double latest_s = 4e9;  // of dates worth showing
  if (unix_start_time && unix_s > 0 && unix_s < latest_s) {
    line += fmt::format(", at {:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(unix_s)));
  } else {
    line += fmt::format(", at day {:.1f}", simulated_s / 86'400);
  }
  if (past_s > 0.5 && over > 0) {
    line += fmt::format(", {:.3g} jobs/s, {} left", over / past_s,
                        time_left_text((jobs - over) * past_s / over));
  }
  write(std::move(line));
}

void ProgressLine::playing(std::uint64_t submitted, std::uint64_t running, std::uint64_t ended,
                           std::uint64_t all) {
  if (!due()) return;
  write(
      fmt::format("{} of {} jobs submitted, {} running, {} ended", submitted, all, running, ended));
}

void ProgressLine::write(std::string line) {
  winsize terminal{};  // a line that is longer would not be written over
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_col > 1 &&
      line.size() >= terminal.ws_col) {
    line.resize(terminal.ws_col - 1);
  }
  const std::size_t length = line.size();
  if (length < length_) line.append(length_ - length, ' ');
  length_ = length;
  std::cerr << '\r' << line << std::flush;
}

void ProgressLine::clear() {
  if (length_ == 0) return;
  write("");
  std::cerr << '\r' << std::flush;
}

}  // namespace ductile
