#include "slurm/watch.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/boot_clock.hpp"
#include "job/line_socket.hpp"
#include "job/socket.hpp"
#include "slurm/end_signals.hpp"
#include "slurm/submitted.hpp"

namespace ductile {
namespace {

/// Is there a controller that answers in time? One that hangs does not.
bool answers(const std::string& socket, Duration limit) {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  try {
    LineSocket lines(connect_unix(socket), kMost, kMost);
    lines.send(nlohmann::json{{"do", "reservations"}}.dump());
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!lines.is_closed()) {
      lines.work();
      if (lines.next()) return true;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      pollfd one{.fd = lines.descriptor().get(), .events = lines.events(), .revents = 0};
      if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) <= 0) return false;
    }
  } catch (const std::exception&) {
    return false;
  }
  return false;
}

}  // namespace

Watch::Watch(WatchSettings settings, Slurm& slurm)
    : settings_(std::move(settings)), slurm_(slurm) {}

bool Watch::has_handed_over() const { return access(settings_.hands_over.c_str(), F_OK) == 0; }

void Watch::look(Time now, bool answers) {
  if (answers) {
    if (is_done_) spdlog::info("the controller is back");
    silent_since_.reset();
    is_done_ = false;
    return;
  }
  if (!silent_since_) {
    silent_since_ = now;
    spdlog::warn("the controller does not answer; in {} s Slurm itself starts the jobs",
                 to_seconds(settings_.after));
  }
  if (!is_done_ && now - *silent_since_ >= settings_.after) hand_over();
}

void Watch::hand_over() {
  if (!has_handed_over()) {
    const Descriptor file(open(settings_.hands_over.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!file) {
      throw RunError(
          fmt::format("'{}' cannot be made: {}", settings_.hands_over, std::strerror(errno)));
    }
    spdlog::warn("the partition is handed over to Slurm's own scheduler");
  }
  const auto jobs = slurm_.jobs();
  for (const SlurmJob& job : jobs.value_or(std::vector<SlurmJob>())) {
    const bool is_held_by_us = job.partition == settings_.partition && job.is_held &&
                               job.state == SlurmJob::State::pending && !is_held_by_others(job);
    if (!is_held_by_us) continue;
    try {
      slurm_.release(job.number);
    } catch (const SlurmError& error) {
      if (error.is_lost) throw;
      spdlog::warn("{}", error.what());
    }
  }
  is_done_ = true;
}

void watch(const WatchSettings& settings, Slurm& slurm) {
  const EndSignals signals;
  Watch watch(settings, slurm);
  spdlog::info("watching the controller at {}", settings.socket);
  while (true) {
    try {
      watch.look(Time(boot_time()), answers(settings.socket, settings.every));
    } catch (const std::exception& error) {
      spdlog::error("{}", error.what());
    }
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(settings.every);
    if (signals.come_within(wait)) return;
  }
}

}  // namespace ductile
