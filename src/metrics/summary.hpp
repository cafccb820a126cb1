// The figures of one run, and how they are made from its jobs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "base/wide.hpp"

namespace ductile {

/// How long grants of evolving requests delayed the jobs of a user or an account, and those of
/// others for it. Known under rules of fairness only (model/fairness.hpp).
struct DelayFigures {
  std::uint64_t jobs = 0;  // of its, that were delayed by plan
  double delay_s = 0;      // by so much, as planned when the grants were made
  double suffered_s = 0;   // of which so much came
  double caused_s = 0;     // what came to others of the delays planned for its requests
  bool operator==(const DelayFigures&) const = default;
};

/// What a run came to. Files and `--json` use the names of the fields
/// (docs/formats/summary.json.md). A figure that has no value, as the mean over no jobs, is not a
/// number.
struct Summary {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::string variant;  // of an experiment; empty: it has none
  std::string policy;   // "NAME:parameter=value,...", as it was given
  std::uint64_t seed = 1;
  std::uint64_t jobs = 0;     // ran to an end, killed ones too; means are over these
  std::uint64_t skipped = 0;  // lines of the input that are no jobs
  Nodes nodes = 0;
  double makespan_s = 0;           // last end minus first submission; if stopped: until then
  double utilization = kNone;      // node time held by jobs over that of the machine
  double utilization_net = kNone;  // without the time paid for resizes
  double efficiency = kNone;       // work of the completed jobs, as given, over the machine's time
  double throughput_jobs_h = kNone;
  double mean_wait_s = kNone;
  double median_wait_s = kNone;
  double p95_wait_s = kNone;
  double p99_wait_s = kNone;
  double max_wait_s = kNone;
  double mean_turnaround_s = kNone;
  double mean_slowdown = kNone;            // turnaround over static run time
  double mean_slowdown_actual = kNone;     // turnaround over the run time it had
  double mean_bounded_slowdown = kNone;    // max(1, turnaround / max(static run time, 10 s))
  double slowdown_of_means = kNone;        // mean turnaround over mean static run time
  std::uint64_t expands = 0, shrinks = 0;  // carried out
  std::uint64_t expanded_jobs = 0;         // of those that ran to an end: grown at least once
  std::uint64_t backfilled = 0;            // starts ahead of others
  // Jobs that started inside of running ones, the jobs that ever left cores to one, and how often
  // any did: the pairs of guest and mate.
  std::uint64_t guests = 0, mates = 0, core_cuts = 0;
  std::uint64_t cut_searches = 0;  // for mates, ended before all sets of them were seen
  std::uint64_t evolving_granted = 0, evolving_denied = 0;
  double reconfiguration_node_s = 0;
  // Where power is known: from the first submission to the last end, as it truly was.
  std::optional<double> energy_j, max_power_w;
  std::optional<double> power_cap_w;        // the lowest of the caps that held; none: no cap
  std::optional<double> above_power_cap_s;  // for so long more was drawn than the cap of that time
  // With a power corridor: outside of it, for so long, by so many watts times seconds, in so many
  // intervals, each within one line of its file; of these so many longer than is tolerated.
  std::optional<double> corridor_outside_s, corridor_outside_ws;
  std::optional<std::uint64_t> corridor_excursions, corridor_violations;
  /// Passes of a policy that keeps one in which sizes were found that keep it, or none were.
  std::uint64_t corridor_solved = 0, corridor_unsolved = 0;
  std::uint64_t killed = 0;  // of `jobs`: not completed
  /// Of these: killed at their limit, and would have kept it at the size at which they started.
  std::uint64_t killed_by_resizes = 0;
  std::uint64_t rejected = 0;  // not in `jobs`: ended without ever running
  /// Of these: no cap of the run leaves power for what they start with.
  std::uint64_t rejected_for_power = 0;
  std::uint64_t orders_not_possible = 0;  // of operators, when their time came
  /// Of the jobs of a priority above 0: the first submission and the last end, as shares of the
  /// makespan. (The benchmark ESP has rules for them.)
  std::optional<double> premium_from, premium_until;
  std::uint64_t requeued = 0;   // times a job lost its nodes and waited again
  std::uint64_t jobs_left = 0;  // waiting or running when the run ended
  /// Of these: never came, as they have a dependency that can never be fulfilled. None: no job of
  /// the workload waits for another one.
  std::optional<std::uint64_t> dependency_never_satisfied;
  /// Where only a part of the run was measured: `jobs` are those that were submitted then, of so
  /// many. Of that time are the figures of wait, turnaround, slowdown, utilization and throughput.
  std::optional<double> measured_from_s, measured_until_s;
  std::optional<std::uint64_t> jobs_in_all;
  /// Where switches are known: of all pairs of nodes of a job, how many links between switches are
  /// on the way. By node time, of what jobs of two nodes and more held.
  std::optional<double> mean_hops;
  /// Where the bandwidth of links has a budget: what running jobs were believed to take of it, from
  /// the first submission to the last end, in the mean and at most. 1: all of it.
  std::optional<double> links_used_mean, links_used_max;
  bool stopped = false;  // before its end, by the user
  std::uint64_t events = 0, passes = 0;
  // Of a portfolio: how often it chose, and another one ruled because of it; the passes that
  // looking ahead has lived through, which are not among `passes`; and each member's share of the
  // makespan.
  std::uint64_t choices = 0, policy_changes = 0, look_ahead_passes = 0;
  std::vector<std::pair<std::string, double>> ruled;
  std::map<std::uint32_t, DelayFigures> delays;        // by user
  std::map<std::string, DelayFigures> account_delays;  // by account
  std::string run;  // its identity, a JSON object; empty: not known
  // Wall clock and memory of this machine: never the same twice.
  double load_seconds = 0, simulate_seconds = 0;
  double look_ahead_seconds = 0;  // of these, for a portfolio's choices
  std::uint64_t peak_rss_bytes = 0;
};

/// Calls `visit(name, field)` for all figures that the seed decides, in the order of files.
template <class S, class Visit>
void visit_figures(S& s, Visit&& visit) {
  visit("policy", s.policy);
  visit("seed", s.seed);
  visit("jobs", s.jobs);
  visit("skipped", s.skipped);
  visit("nodes", s.nodes);
  visit("makespan_s", s.makespan_s);
  visit("utilization", s.utilization);
  visit("utilization_net", s.utilization_net);
  visit("efficiency", s.efficiency);
  visit("throughput_jobs_h", s.throughput_jobs_h);
  visit("mean_wait_s", s.mean_wait_s);
  visit("median_wait_s", s.median_wait_s);
  visit("p95_wait_s", s.p95_wait_s);
  visit("p99_wait_s", s.p99_wait_s);
  visit("max_wait_s", s.max_wait_s);
  visit("mean_turnaround_s", s.mean_turnaround_s);
  visit("mean_slowdown", s.mean_slowdown);
  visit("mean_slowdown_actual", s.mean_slowdown_actual);
  visit("mean_bounded_slowdown", s.mean_bounded_slowdown);
  visit("slowdown_of_means", s.slowdown_of_means);
  visit("expands", s.expands);
  visit("shrinks", s.shrinks);
  visit("expanded_jobs", s.expanded_jobs);
  visit("backfilled", s.backfilled);
  visit("guests", s.guests);
  visit("mates", s.mates);
  visit("core_cuts", s.core_cuts);
  visit("cut_searches", s.cut_searches);
  visit("evolving_granted", s.evolving_granted);
  visit("evolving_denied", s.evolving_denied);
  visit("reconfiguration_node_s", s.reconfiguration_node_s);
  visit("energy_j", s.energy_j);
  visit("max_power_w", s.max_power_w);
  visit("power_cap_w", s.power_cap_w);
  visit("above_power_cap_s", s.above_power_cap_s);
  visit("corridor_outside_s", s.corridor_outside_s);
  visit("corridor_outside_ws", s.corridor_outside_ws);
  visit("corridor_excursions", s.corridor_excursions);
  visit("corridor_violations", s.corridor_violations);
  visit("corridor_solved", s.corridor_solved);
  visit("corridor_unsolved", s.corridor_unsolved);
  visit("killed", s.killed);
  visit("killed_by_resizes", s.killed_by_resizes);
  visit("rejected", s.rejected);
  visit("rejected_for_power", s.rejected_for_power);
  visit("orders_not_possible", s.orders_not_possible);
  visit("premium_from", s.premium_from);
  visit("premium_until", s.premium_until);
  visit("requeued", s.requeued);
  visit("jobs_left", s.jobs_left);
  visit("stopped", s.stopped);
  visit("events", s.events);
  visit("passes", s.passes);
  visit("choices", s.choices);
  visit("policy_changes", s.policy_changes);
  visit("look_ahead_passes", s.look_ahead_passes);
}

/// The same for figures that have a value only where they were asked for. Else files do not have
/// them at all.
template <class S, class Visit>
void visit_asked_figures(S& s, Visit&& visit) {
  visit("dependency_never_satisfied", s.dependency_never_satisfied);
  visit("measured_from_s", s.measured_from_s);
  visit("measured_until_s", s.measured_until_s);
  visit("jobs_in_all", s.jobs_in_all);
  visit("mean_hops", s.mean_hops);
  visit("links_used_mean", s.links_used_mean);
  visit("links_used_max", s.links_used_max);
}

/// The same for the figures that measure this machine.
template <class S, class Visit>
void visit_measurements(S& s, Visit&& visit) {
  visit("load_seconds", s.load_seconds);
  visit("simulate_seconds", s.simulate_seconds);
  visit("look_ahead_seconds", s.look_ahead_seconds);
  visit("peak_rss_bytes", s.peak_rss_bytes);
}

/// max(1, turnaround / max(run time, 10 s)): of a job whose static run time that is.
inline double bounded_slowdown(Duration turnaround, Duration runtime) {
  constexpr Duration kBound = whole_seconds(10);
  return std::max(1.0, static_cast<double>(turnaround.count()) /
                           static_cast<double>(std::max(runtime, kBound).count()));
}

/// Collects the jobs of a run, at a few additions and one wait time of 8 bytes each. Sums of times
/// are exact.
class JobFigures {
 public:
  void reserve(std::size_t jobs) { waits_.reserve(jobs); }

  /// A job came to an end that ran from `start`, its last one if it was requeued: it waited until
  /// then. `runtime`: its static one, > 0.
  void add(Time submit, Time start, Time end, Duration runtime, bool killed) {
    const std::int64_t wait = (start - submit).count();
    const std::int64_t turnaround = (end - submit).count();
    const std::int64_t had = std::max<std::int64_t>((end - start).count(), 1);
    waits_.push_back(wait);
    wait_ += wait;
    turnaround_ += turnaround;
    runtime_ += runtime.count();
    killed_ += killed ? 1 : 0;
    const auto taken = static_cast<double>(turnaround);
    slowdown_ += taken / static_cast<double>(std::max<std::int64_t>(runtime.count(), 1));
    slowdown_actual_ += taken / static_cast<double>(had);
    bounded_slowdown_ += bounded_slowdown(end - submit, runtime);
  }

  /// Fills in what follows from the jobs alone: their counts, and the figures of wait, turnaround
  /// and slowdown. Quantiles are interpolated linearly between the waits around them, and rounded
  /// to microseconds.
  void write(Summary& summary);

 private:
  std::vector<std::int64_t> waits_;               // us
  Wide wait_ = 0, turnaround_ = 0, runtime_ = 0;  // us
  double slowdown_ = 0, slowdown_actual_ = 0, bounded_slowdown_ = 0;
  std::uint64_t killed_ = 0;
};

}  // namespace ductile
