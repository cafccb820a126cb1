#include "cli/outside_scheduler.hpp"

#include <atomic>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "elastisim/scheduler.hpp"

namespace ductile {
namespace {

// What the world does that no scheduler hears of.
const char* not_told_of(const SimulationSettings& settings) {
  if (settings.rules.node_off_after > Duration{}) return "nodes that are switched off";
  if (!settings.power_caps.empty()) return "power caps";
  if (!settings.corridor.empty()) return "a power corridor";
  if (!settings.bookings.empty()) return "reservations";
  if (settings.shares) return "shared nodes";
  return nullptr;
}

// And what ElastiSim has not.
const char* not_in_elastisim(const SimulationSettings& settings) {
  if (!settings.node_events.empty()) return "nodes that fail (--failures)";
  const ResizeBehaviour& resize = settings.resize;
  if (resize.apply_at != ResizeBehaviour::ApplyAt::phase_end) {
    return "resizes between scheduling points (--apply-at immediate)";
  }
  if (!resize.delay.is_zero() || resize.refuse > 0 || resize.lose > 0 || resize.partly > 0 ||
      resize.repeat > 0) {
    return "resizes that are late, refused, lost, partly done or told twice";
  }
  if (!settings.start_delay.is_zero()) return "starts that take time";
  return nullptr;
}

}  // namespace

std::string outside_policy_text(const std::string& name, const std::string& option,
                                const std::string& endpoint, const std::string& timeout_s) {
  if (endpoint.find(',') != std::string::npos) {
    throw InputError({.field = option}, fmt::format("'{}' is no address", printable(endpoint)),
                     "write it as tcp://127.0.0.1:28000");
  }
  std::string text = name;
  char between = ':';
  const auto add = [&](const char* parameter, const std::string& value) {
    if (value.empty()) return;
    text += fmt::format("{}{}={}", between, parameter, value);
    between = ',';
  };
  add("endpoint", endpoint);
  add("timeout", timeout_s);
  return text;
}

OutsideScheduler* ready_outside(Matrix& matrix, std::shared_ptr<const ElastisimStudy> study,
                                bool is_shared, bool quiet) {
  const OutsidePolicy* policy = nullptr;
  for (const auto& each : matrix.policies) {
    if (const auto* its = dynamic_cast<const OutsidePolicy*>(each.get())) policy = its;
  }
  if (!policy) return nullptr;
  const auto* elastisim = dynamic_cast<const ElastisimPolicy*>(policy);
  const bool of_study = elastisim && policy->endpoint() == "study";
  const std::string endpoint = of_study && study ? study->endpoint : policy->endpoint();
  if (endpoint.empty()) {
    throw InputError({.field = "--elastisim-scheduler"}, "the study has no zmq_url",
                     "say where the scheduler connects to: ipc:///folder/name");
  }
  const std::string kind(policy->kind());
  if (matrix.policies.size() * matrix.seeds.size() > 1 || is_shared) {
    throw InputError({.field = endpoint}, kind + " decides in one run",
                     "give it as the only policy, with one --seed, and not --on");
  }
  if (elastisim && !study) {
    throw InputError({.field = endpoint}, "there is no study of ElastiSim",
                     "give one with --elastisim");
  }
  const char* what = not_told_of(matrix.settings);
  if (elastisim && !what) what = not_in_elastisim(matrix.settings);
  if (what) {
    throw InputError({.field = endpoint}, fmt::format("{} cannot be told of {}", kind, what),
                     "leave them away");
  }
  OutsideScheduler& scheduler = policy->scheduler();
  if (elastisim) {
    dynamic_cast<ElastisimScheduler&>(scheduler).follow(std::move(study));
    matrix.settings.resize.pays_after = true;
  }
  const std::atomic<bool>& stop = *matrix.settings.stop;  // the user's
  ChannelSettings channel{.endpoint = endpoint, .timeout = policy->timeout(), .stop = &stop};
  if (!quiet) {
    channel.waiting = [endpoint] {
      std::cerr << fmt::format("ductile: waiting for a scheduler at {}\n", endpoint);
    };
  }
  const auto open = [channel, elastisim] {
    return elastisim ? await_peer(channel, elastisim->remote()) : open_channel(channel);
  };
  matrix.input = [=, &scheduler, &stop, input = matrix.input](std::uint64_t seed) {
    Input result = input(seed);
    if (!result.orders.empty()) {
      throw InputError({.field = endpoint}, kind + " cannot be told of orders of operators",
                       "leave --orders away");
    }
    scheduler.begin(endpoint, open, result.workload, stop);
    return result;
  };
  matrix.settings.rules.identities = true;
  matrix.settings.stop = &scheduler.stop();
  matrix.observers.push_back(&scheduler);
  return &scheduler;
}

void tell_outside(const OutsideScheduler& scheduler, bool quiet) {
  if (quiet) return;
  for (const auto& [what, count] : scheduler.skipped()) {
    std::cerr << fmt::format("ductile: left out of what the scheduler said: {} ({} times)\n", what,
                             count);
  }
  std::cerr << fmt::format("ductile: the scheduler was asked {} times, and took {:.3f} s\n",
                           scheduler.questions(), scheduler.seconds_asked());
}

}  // namespace ductile
