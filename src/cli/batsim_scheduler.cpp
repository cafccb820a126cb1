#include "cli/batsim_scheduler.hpp"

#include <atomic>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

const BatsimPolicy* batsim_of(const Policy& policy) {
  return dynamic_cast<const BatsimPolicy*>(&policy);
}

// What the world does that no scheduler for Batsim hears of.
const char* not_told_of(const SimulationSettings& settings) {
  if (settings.rules.node_off_after > Duration{}) return "nodes that are switched off";
  if (!settings.power_caps.empty()) return "power caps";
  if (!settings.corridor.empty()) return "a power corridor";
  if (!settings.bookings.empty()) return "reservations";
  if (settings.shares) return "shared nodes";
  return nullptr;
}

}  // namespace

std::string batsim_policy_text(const std::string& endpoint, const std::string& timeout_s) {
  if (endpoint.find(',') != std::string::npos) {
    throw InputError({.field = "--batsim-scheduler"},
                     fmt::format("'{}' is no address", printable(endpoint)),
                     "write it as tcp://127.0.0.1:28000");
  }
  std::string text = "batsim:endpoint=" + endpoint;
  if (!timeout_s.empty()) text += ",timeout=" + timeout_s;
  return text;
}

BatsimScheduler* ready_batsim(Matrix& matrix, bool is_shared, bool quiet) {
  const BatsimPolicy* policy = nullptr;
  for (const auto& each : matrix.policies) {
    if (const auto* its = batsim_of(*each)) policy = its;
  }
  if (!policy) return nullptr;
  const std::string endpoint = policy->endpoint();
  if (matrix.policies.size() * matrix.seeds.size() > 1 || is_shared) {
    throw InputError({.field = endpoint}, "a scheduler for Batsim decides in one run",
                     "give it as the only policy, with one --seed, and not --on");
  }
  if (const char* const what = not_told_of(matrix.settings)) {
    throw InputError({.field = endpoint},
                     fmt::format("a scheduler for Batsim cannot be told of {}", what),
                     "leave them away");
  }
  BatsimScheduler& scheduler = policy->scheduler();
  const std::atomic<bool>& stop = *matrix.settings.stop;  // the user's
  ChannelSettings channel{.endpoint = endpoint, .timeout = policy->timeout(), .stop = &stop};
  if (!quiet) {
    channel.waiting = [endpoint] {
      std::cerr << fmt::format("ductile: waiting for a scheduler at {}\n", endpoint);
    };
  }
  matrix.input = [=, &scheduler, &stop, input = matrix.input](std::uint64_t seed) {
    Input result = input(seed);
    if (!result.orders.empty()) {
      throw InputError({.field = endpoint},
                       "a scheduler for Batsim cannot be told of orders of operators",
                       "leave --orders away");
    }
    scheduler.begin(
        endpoint, [channel] { return open_channel(channel); }, result.workload, stop);
    return result;
  };
  matrix.settings.rules.identities = true;
  matrix.settings.stop = &scheduler.stop();
  matrix.observers.push_back(&scheduler);
  return &scheduler;
}

void tell_batsim(const BatsimScheduler& scheduler, bool quiet) {
  if (quiet) return;
  for (const auto& [what, count] : scheduler.skipped()) {
    std::cerr << fmt::format("ductile: left out of what the scheduler said: {} ({} times)\n", what,
                             count);
  }
  std::cerr << fmt::format("ductile: the scheduler was asked {} times, and took {:.3f} s\n",
                           scheduler.questions(), scheduler.seconds_asked());
}

}  // namespace ductile
