// What a controller counts, as OpenMetrics text; docs/formats/metrics.md.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "live/corridor_watch.hpp"
#include "model/job_spec.hpp"
#include "scheduling/core.hpp"
#include "scheduling/event.hpp"

namespace ductile {

/// How many of what is measured were at most so much; OpenMetrics' histogram.
class Histogram {
 public:
  /// Upper bounds in ascending order; one more, infinity, follows.
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void observe(double value);
  /// Its samples.
  void write(std::string& text, std::string_view name) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

/// Counts since the controller began, and the state of its core.
class Metrics {
 public:
  void submitted(JobType type) { ++submitted_[static_cast<std::size_t>(type)]; }
  void ended(EndState state) { ++ended_[static_cast<std::size_t>(state)]; }
  /// `cut_short`: its budget did not suffice to plan all jobs that it would have.
  void passed(std::chrono::duration<double> took, bool cut_short) {
    passes_.observe(took.count());
    cut_short_ += cut_short ? 1 : 0;
  }
  /// What came of a decision of ours: it had `before`, was to have `wanted`, and has `now`.
  void resized(const Holding& before, const Holding& wanted, const Holding& now);
  void drained() { ++drained_; }
  void paused(double seconds) { pauses_.observe(seconds); }
  /// Orders to resize, for want of an answer.
  void withdrawn(std::uint64_t orders) { withdrawn_ += orders; }

  /// What can be seen of the world besides.
  struct OfWorld {
    std::size_t strangers = 0;
    Nodes nodes_of_strangers = 0;
    std::optional<Time> lost_since{};  // by the clock on the wall
    bool lacks = false;                // what the policy needs
    std::size_t measured_jobs = 0;     // of which it is known what they draw
    double measured_w = 0;             // all of these together
    double corridor_low_w = 0, corridor_high_w = std::numeric_limits<double>::infinity();
    CorridorWatch::Figures corridor{};
    std::uint64_t fallbacks = 0, policy_failures = 0;  // of a policy in a process of its own
  };
  /// With what can be seen now: the jobs that are not over, the nodes, connections.
  std::string text(const Core& core, std::span<const JobId> jobs, std::size_t connections,
                   const OfWorld& world) const;

 private:
  static constexpr std::size_t kTypes = kJobTypeWords.size();
  enum Outcome : std::uint8_t { done, partial, refused };

  std::array<std::uint64_t, kTypes> submitted_{};
  std::array<std::uint64_t, kEndWords.size()> ended_{};
  std::array<std::array<std::uint64_t, 3>, 3> resizes_{};  // by direction, outcome
  std::uint64_t drained_ = 0;
  std::uint64_t cut_short_ = 0;
  Histogram passes_{{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1}};
  std::uint64_t withdrawn_ = 0;
  Histogram pauses_{{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30}};
};

}  // namespace ductile
