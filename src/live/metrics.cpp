#include "live/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace ductile {
namespace {

constexpr std::array<std::string_view, 3> kOutcomes{"done", "partial", "refused"};
constexpr std::array<std::string_view, 3> kDirections{"shrink", "expand", "move"};

template <class... Args>
void line(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  text += '\n';
}

void family(std::string& text, std::string_view name, std::string_view type, std::string_view unit,
            std::string_view help) {
  line(text, "# TYPE {} {}", name, type);
  if (!unit.empty()) line(text, "# UNIT {} {}", name, unit);
  line(text, "# HELP {} {}", name, help);
}

/// Pending, held, starting, running, resizing or stopping.
std::string_view state_of(const Job& job) {
  if (job.status == Status::held) return "held";
  if (job.status == Status::pending) return "pending";
  if (job.doing == Doing::starting) return "starting";
  if (job.doing == Doing::stopping) return "stopping";
  return job.doing == Doing::resizing ? "resizing" : "running";
}
constexpr std::array<std::string_view, 6> kStates{"held",    "pending",  "starting",
                                                  "running", "resizing", "stopping"};

}  // namespace

void Histogram::observe(double value) {
  const auto at = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(at)];
  sum_ += value;
}

void Histogram::write(std::string& text, std::string_view name) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    sum += counts_[i];
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    line(text, "{}_bucket{{le=\"{}\"}} {}", name, bound, sum);
  }
  line(text, "{}_sum {}", name, sum_);
  line(text, "{}_count {}", name, sum);
}

void Metrics::resized(const Holding& before, const Holding& wanted, const Holding& now) {
  const bool moves = wanted.count == before.count;
  const auto outcome = [](const auto& had, const auto& asked, const auto& has) {
    if (has == asked) return done;
    return has == had ? refused : partial;
  };
  const std::size_t direction = moves ? 2 : wanted.count > before.count ? 1 : 0;
  ++resizes_[direction]
            [moves ? outcome(before, wanted, now) : outcome(before.count, wanted.count, now.count)];
}

std::string Metrics::text(const Core& core, std::span<const JobId> jobs, std::size_t connections,
                          const OfWorld& world) const {
  const State& state = core.state();
  std::string text;

  std::array<std::array<std::uint64_t, kTypes>, kStates.size()> counts{};
  for (const JobId id : jobs) {
    const Job& job = core.job(id);
    const auto at = std::ranges::find(kStates, state_of(job)) - kStates.begin();
    ++counts[static_cast<std::size_t>(at)][static_cast<std::size_t>(job.spec.type)];
  }
  family(text, "ductile_jobs", "gauge", "", "Jobs that are not over.");
  for (std::size_t s = 0; s < kStates.size(); ++s) {
    for (std::size_t t = 0; t < kTypes; ++t) {
      line(text, "ductile_jobs{{state=\"{}\",type=\"{}\"}} {}", kStates[s], kJobTypeWords[t],
           counts[s][t]);
    }
  }
  family(text, "ductile_jobs_submitted", "counter", "", "Jobs that came in.");
  for (std::size_t t = 0; t < kTypes; ++t) {
    line(text, "ductile_jobs_submitted_total{{type=\"{}\"}} {}", kJobTypeWords[t], submitted_[t]);
  }
  family(text, "ductile_jobs_ended", "counter", "", "Jobs that are over, by their end.");
  for (std::size_t e = 0; e < ended_.size(); ++e) {
    line(text, "ductile_jobs_ended_total{{state=\"{}\"}} {}", kEndWords[e], ended_[e]);
  }

  family(text, "ductile_nodes", "gauge", "", "Nodes by who has them.");
  line(text, "ductile_nodes{{state=\"allocated\"}} {}", state.held);
  line(text, "ductile_nodes{{state=\"claimed\"}} {}", state.claimed);
  line(text, "ductile_nodes{{state=\"idle\"}} {}", state.idle.count());
  line(text, "ductile_nodes{{state=\"out_of_service\"}} {}", state.out_of_service);
  family(text, "ductile_nodes_health", "gauge", "", "Nodes by their health.");
  for (std::size_t h = 0; h < kHealthWords.size(); ++h) {
    line(text, "ductile_nodes_health{{health=\"{}\"}} {}", kHealthWords[h],
         std::ranges::count(state.health, static_cast<Health>(h)));
  }
  family(text, "ductile_nodes_drained", "counter", "",
         "Nodes that were drained because jobs died on them at once.");
  line(text, "ductile_nodes_drained_total {}", drained_);
  family(text, "ductile_strangers", "gauge", "",
         "Jobs that run on the cluster and of which the journal does not know.");
  line(text, "ductile_strangers {}", world.strangers);
  family(text, "ductile_nodes_strangers", "gauge", "", "Nodes that have no jobs because of them.");
  line(text, "ductile_nodes_strangers {}", world.nodes_of_strangers);
  family(text, "ductile_power_watts", "gauge", "watts", "What the machine draws, as believed.");
  line(text, "ductile_power_watts {}", static_cast<double>(state.power_mw()) / 1000);
  family(text, "ductile_power_cap_watts", "gauge", "watts",
         "How much it may draw, less what is reserved of that; +Inf: any.");
  line(text, "ductile_power_cap_watts {}",
       state.power_cap_mw() == State::kNoBudget
           ? std::string("+Inf")
           : fmt::format("{}", static_cast<double>(state.power_cap_mw()) / 1000));
  family(text, "ductile_power_corridor_watts", "gauge", "watts",
         "Between which bounds the machine shall draw; 0 and +Inf: any.");
  const auto bound = [](double watts) {
    return std::isfinite(watts) ? fmt::format("{}", watts) : std::string("+Inf");
  };
  line(text, "ductile_power_corridor_watts{{bound=\"lower\"}} {}", bound(world.corridor_low_w));
  line(text, "ductile_power_corridor_watts{{bound=\"upper\"}} {}", bound(world.corridor_high_w));
  family(text, "ductile_power_outside_seconds", "counter", "seconds",
         "For how long less or more was drawn than the corridor has.");
  line(text, "ductile_power_outside_seconds_total {}", to_seconds(world.corridor.outside));
  family(text, "ductile_power_outside_joules", "counter", "joules",
         "Watts beyond the nearer bound of the corridor, times seconds.");
  line(text, "ductile_power_outside_joules_total {}", world.corridor.outside_ws);
  family(text, "ductile_power_violations", "counter", "",
         "How often it was outside of the corridor for longer than 30 s.");
  line(text, "ductile_power_violations_total {}", world.corridor.violations);
  family(text, "ductile_jobs_measured", "gauge", "",
         "Running jobs of which it was measured what they draw.");
  line(text, "ductile_jobs_measured {}", world.measured_jobs);
  family(text, "ductile_jobs_measured_watts", "gauge", "watts",
         "What these draw together, with all of their nodes.");
  line(text, "ductile_jobs_measured_watts {}", world.measured_w);
  family(text, "ductile_cluster_out_of_reach", "gauge", "",
         "1 while what runs the jobs is out of reach, and nothing is decided.");
  line(text, "ductile_cluster_out_of_reach {}", world.lost_since ? 1 : 0);
  family(text, "ductile_cluster_out_of_reach_since_seconds", "gauge", "seconds",
         "Since when, in seconds of the Unix epoch; 0: it is in reach.");
  line(text, "ductile_cluster_out_of_reach_since_seconds {}",
       world.lost_since ? to_seconds(*world.lost_since) : 0.0);
  family(text, "ductile_cluster_lacks", "gauge", "",
         "1 while the cluster cannot do what the policy needs, and nothing is decided.");
  line(text, "ductile_cluster_lacks {}", world.lacks ? 1 : 0);

  family(text, "ductile_pass_duration_seconds", "histogram", "seconds",
         "Time of a scheduling pass, the journal not included.");
  passes_.write(text, "ductile_pass_duration_seconds");
  family(text, "ductile_passes_cut_short", "counter", "",
         "Passes that left waiting jobs without a plan because they had planned so many.");
  line(text, "ductile_passes_cut_short_total {}", cut_short_);
  family(text, "ductile_passes_fallback", "counter", "",
         "Passes that another policy decided, as the one in a process of its own did not.");
  line(text, "ductile_passes_fallback_total {}", world.fallbacks);
  family(text, "ductile_policy_failures", "counter", "",
         "How often the process of the policy failed.");
  line(text, "ductile_policy_failures_total {}", world.policy_failures);
  family(text, "ductile_resizes", "counter", "",
         "Resizes that were answered, by what came of them.");
  for (std::size_t d = 0; d < kDirections.size(); ++d) {
    for (std::size_t o = 0; o < kOutcomes.size(); ++o) {
      line(text, "ductile_resizes_total{{direction=\"{}\",outcome=\"{}\"}} {}", kDirections[d],
           kOutcomes[o], resizes_[d][o]);
    }
  }
  family(text, "ductile_resizes_withdrawn", "counter", "",
         "Orders to resize that were not answered in time.");
  line(text, "ductile_resizes_withdrawn_total {}", withdrawn_);
  family(text, "ductile_resize_pause_seconds", "histogram", "seconds",
         "Time for which an application stood still to be resized.");
  pauses_.write(text, "ductile_resize_pause_seconds");
  family(text, "ductile_connections", "gauge", "", "Connections of those who ask.");
  line(text, "ductile_connections {}", connections);
  text += "# EOF\n";
  return text;
}

}  // namespace ductile
