#include "cli/process.hpp"

#include <chrono>
#include <csignal>
#include <ctime>

namespace ductile {
namespace {

std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

extern "C" void ask_to_stop(int) { stop_asked.store(true, std::memory_order_relaxed); }

}  // namespace

double process_seconds() {
  using Clock = std::chrono::steady_clock;
  static const double before_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  static const Clock::time_point begin = Clock::now();
  return before_s + std::chrono::duration<double>(Clock::now() - begin).count();
}

const std::atomic<bool>& stop_on_signal() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return stop_asked;
}

}  // namespace ductile
