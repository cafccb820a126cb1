// Makes the figures of a run while it runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/wide.hpp"
#include "metrics/statistics.hpp"
#include "metrics/summary.hpp"
#include "model/fairness.hpp"
#include "simulation/hop_figures.hpp"
#include "simulation/measured.hpp"
#include "simulation/observer.hpp"
#include "simulation/power_figures.hpp"
#include "simulation/simulation.hpp"

namespace ductile {

/// One `Summary` of one run. Cheap enough to be on in every run.
class SummaryObserver final : public Observer {
 public:
  /// With what its power is to be compared with, which lives longer.
  explicit SummaryObserver(const Workload& workload, const PowerCorridor& corridor = {},
                           const MeasuredPart& measured = {})
      : workload_(workload), power_(workload, corridor) {
    if (!measured.is_all()) measured_ = times_of(measured, workload);
    detects_ = measured.from && measured.from->detected;
    figures_.reserve(workload.jobs.size());
  }

  void on_begin(const Core& core) override {
    hops_.begin(core);
    note_machine(Time::min(), core);
    power_.note(core);
  }
  void on_close(Time now, const Core& core) override {
    note_machine(now, core);
    power_.pass(now);
    power_.note(core);
    if (measured_) note_held(now, core.state().held);
    summary_.cut_searches += core.cut_searches();
    if (const std::optional<bool> found = core.found_sizes()) {
      ++(*found ? summary_.corridor_solved : summary_.corridor_unsolved);
    }
  }

  void on_policy(Time now, const event::ConfigChanged& changed, const Core&) override {
    if (changed.choice) {
      const Choice& its = *changed.choice;
      ++summary_.choices;
      summary_.policy_changes += its.chosen == its.ruled ? 0 : 1;
      summary_.look_ahead_passes += its.passes;
    }
    reigns_.push_back({now, changed.traits.settings});
  }

  void on_decision(Time now, const Decision& decision, const Core& core) override {
    switch (decision.kind) {
      case Decision::Kind::start:
        hops_.note(now, decision.job, core);
        summary_.backfilled += decision.reason.why == Why::backfilled ? 1 : 0;
        summary_.guests += decision.after.parts.empty() ? 0 : 1;
        break;
      case Decision::Kind::cores:
      case Decision::Kind::resize:
        if (decision.reason.why == Why::guest && decision.reason.job != JobId::none) {
          ++summary_.core_cuts;
          summary_.mates += mates_.insert(decision.job).second ? 1 : 0;
        }
        summary_.evolving_granted += decision.request == RequestId::none ? 0 : 1;
        break;
      case Decision::Kind::deny:
        ++summary_.evolving_denied;
        break;
      default:
        break;
    }
  }

  void on_start_failed(Time now, JobId id, const Core&) override { hops_.end(now, id); }

  void on_suspended(Time now, JobId id, const WorkloadJob&, const Core&) override {
    hops_.end(now, id);
  }

  void on_resized(Time now, JobId id, Nodes before, const Core& core) override {
    hops_.note(now, id, core);
    const Nodes after = core.job(id).size();
    summary_.expands += after > before ? 1 : 0;
    summary_.shrinks += after < before ? 1 : 0;
  }

  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override {
    hops_.end(now, id);
    if (requeued) {
      ++summary_.requeued;
      return;
    }
    // The record of a job that never ran may be gone.
    const bool known = core.state().jobs.contains(id);
    const bool ran = known && core.job(id).status == Status::running;
    if (!ran) {
      ++summary_.rejected;
      return;
    }
    summary_.expanded_jobs += core.job(id).expands > 0 ? 1 : 0;
    const Ran ran_so{submit_of(job, id),   job.submit,
                     core.job(id).started, now,
                     job.runtime,          state != EndState::completed};
    if (detects_) {
      ran_.push_back(ran_so);
    } else {
      count(ran_so);
    }
    if (core.job(id).spec.priority > 0) {
      premium_from_ = std::min(premium_from_, job.submit);
      premium_until_ = now;
    }
    if (state == EndState::completed) work_node_s_ += to_seconds(job.runtime) * job.nodes;
  }

  void on_finish(Time now, const Core& core) override {
    finished_ = now;
    power_.pass(now);
    if (measured_) note_held(now, 0);
    if (detects_) detect();
    hops_.write(summary_, now);
    delays_ = core.state().delays;
  }

  /// After the run; once. What measures the machine is left to the caller.
  Summary summary(const Workload& workload, const SimulationSettings& settings,
                  const SimulationCounts& counts) {
    Summary& s = summary_;
    figures_.write(s);
    s.policy = settings.policy->traits.settings;
    s.seed = settings.rules.seed;
    s.skipped = workload.skipped.total();
    s.nodes = machine_.empty() ? settings.platform.nodes : machine_.back().nodes;
    s.killed_by_resizes = counts.killed_by_resizes;
    s.rejected_for_power = counts.rejected_for_power;
    s.orders_not_possible = counts.orders_not_possible;
    s.jobs_left = counts.jobs_left;
    if (!workload.precedences.empty()) s.dependency_never_satisfied = counts.dependency_never;
    s.stopped = counts.stopped;
    s.events = counts.events;
    s.passes = counts.passes;
    add_delays(workload, settings.rules.fairness);
    power_.write(s, counts.stopped);
    s.reconfiguration_node_s = counts.reconfiguration_node_s;
    const Time end = counts.stopped ? finished_ : counts.last_end;
    s.makespan_s = to_seconds(end - counts.first_submit);
    add_reigns(*settings.policy, counts.first_submit, end);
    if (s.makespan_s > 0) {
      if (premium_from_ != kNever) {
        s.premium_from = to_seconds(premium_from_ - counts.first_submit) / s.makespan_s;
        s.premium_until = to_seconds(premium_until_ - counts.first_submit) / s.makespan_s;
      }
      const double machine_node_s = node_s(counts.first_submit, end, s.nodes);
      s.utilization = counts.held_node_s / machine_node_s;
      s.utilization_net = (counts.held_node_s - counts.reconfiguration_node_s) / machine_node_s;
      s.efficiency = work_node_s_ / machine_node_s;
      s.throughput_jobs_h = static_cast<double>(s.jobs) / (s.makespan_s / 3600);
    }
    if (measured_) write_measured(counts.first_submit, end);
    return s;
  }

 private:
  /// A job that ran to an end.
  struct Ran {
    Time submitted{};  // by its user
    Time came{}, started{}, ended{};
    Duration runtime{};  // static
    bool failed = false;
  };
  Time submit_of(const WorkloadJob& job, JobId id) const {
    const std::vector<Time>& submits = workload_.user_submits;
    return submits.empty() ? job.submit : submits[index(id)];
  }
  void count(const Ran& its) {
    if (!measured_ || measured_->contains(its.submitted)) {
      figures_.add(its.came, its.started, its.ended, its.runtime, its.failed);
    }
    if (!measured_) return;
    ++jobs_in_all_;
    ended_then_ += measured_->contains(its.ended) ? 1 : 0;
  }
  /// After the run: from when on it is no longer warming up, and all that waited to know that.
  void detect() {
    std::ranges::stable_sort(ran_, {}, &Ran::submitted);
    std::vector<double> waits_s;
    for (const Ran& its : ran_) {
      if (measured_->contains(its.submitted)) waits_s.push_back(to_seconds(its.started - its.came));
    }
    if (const auto first = warm_up_length(waits_s)) {
      measured_->from = ran_[*first].submitted;
    } else {
      is_unknown_ = true;
    }
    for (const Ran& its : ran_) count(its);
    for (const Held& its : std::exchange(held_so_, {})) add_held(its.now, its.nodes);
    add_held(finished_, 0);
  }
  struct Held {
    Time now{};
    Nodes nodes = 0;
  };
  /// So many nodes are held from now on.
  void note_held(Time now, Nodes held) {
    if (!detects_) return add_held(now, held);
    if (held_so_.empty() || held_so_.back().nodes != held) held_so_.push_back({now, held});
  }
  void add_held(Time now, Nodes held) {
    const Time from = std::clamp(held_since_, measured_->from, measured_->until);
    const Time to = std::clamp(now, measured_->from, measured_->until);
    held_then_ += Wide{held_} * (to - from).count();
    held_since_ = now;
    held_ = held;
  }
  void write_measured(Time first_submit, Time end) {
    Summary& s = summary_;
    const Time from = std::max(measured_->from, first_submit);
    const Time until = std::max(from, std::min(measured_->until, end));
    if (!is_unknown_) s.measured_from_s = to_seconds(from - Time{});
    s.measured_until_s = to_seconds(until - Time{});
    s.jobs_in_all = jobs_in_all_;
    // Of a part it is not known what resizes cost, nor what work was done.
    s.utilization = s.utilization_net = s.efficiency = s.throughput_jobs_h = Summary::kNone;
    if (until == from) return;
    s.utilization = static_cast<double>(held_then_) / 1e6 / node_s(from, until, s.nodes);
    s.throughput_jobs_h = static_cast<double>(ended_then_) / (to_seconds(until - from) / 3600);
  }
  /// So many nodes from then on.
  struct Machine {
    Time since{};
    Nodes nodes = 0;
  };
  void note_machine(Time now, const Core& core) {
    const Nodes nodes = core.state().platform.nodes;
    if (machine_.empty() || machine_.back().nodes != nodes) machine_.push_back({now, nodes});
  }
  /// Of the machine, which has so many nodes at the end.
  double node_s(Time from, Time to, Nodes last) const {
    double sum = to_seconds(to - from) * static_cast<double>(last);
    for (std::size_t i = 0; i + 1 < machine_.size(); ++i) {
      const Time until = std::clamp(machine_[i + 1].since, from, to);
      const Nodes missing = machine_[i + 1].nodes - machine_[i].nodes;
      sum -= to_seconds(until - from) * static_cast<double>(missing);
    }
    return sum;
  }
  /// For how long each member of a portfolio ruled; the first one from the beginning.
  void add_reigns(const Policy& policy, Time from, Time to) {
    if (to <= from) return;
    std::vector<std::pair<std::string, double>>& ruled = summary_.ruled;
    const Portfolio* portfolio = policy.portfolio();
    if (!portfolio) return;
    for (const auto& member : portfolio->members) ruled.emplace_back(member->traits.settings, 0);
    std::string who = ruled.front().first;
    Time since = from;
    const auto pass = [&](Time until) {
      until = std::clamp(until, since, to);
      const auto at = std::ranges::find(ruled, who, [](const auto& its) { return its.first; });
      if (at != ruled.end()) at->second += to_seconds(until - since) / to_seconds(to - from);
      since = until;
    };
    for (const auto& [at, next] : reigns_) {
      pass(at);
      who = next;
    }
    pass(to);
  }
  void add_delays(const Workload& workload, const Fairness& rules) {
    Accounts accounts(rules);
    for (const std::string& name : workload.accounts) accounts.number(name);
    for (const Delays& its : delays_) {
      if (its.jobs == 0 && its.caused_s == 0) continue;
      const DelayFigures figures{its.jobs, its.planned_s, its.suffered_s, its.caused_s};
      if (its.party.kind == Party::Kind::user) summary_.delays[its.party.number] = figures;
      if (its.party.kind == Party::Kind::account && its.party.number != 0) {
        // A log has the numbers of accounts and no names but those of its rules.
        const bool is_known = its.party.number <= accounts.names().size();
        summary_.account_delays[is_known ? accounts.name(its.party.number)
                                         : fmt::format("#{}", its.party.number)] = figures;
      }
    }
  }

  struct Reign {
    Time since{};
    std::string policy{};
  };

  const Workload& workload_;
  std::optional<MeasuredTimes> measured_;  // none: the whole run
  bool detects_ = false;                   // its beginning
  bool is_unknown_ = false;                // that could not be found
  std::vector<Ran> ran_;                   // all, until it is known
  std::vector<Held> held_so_;              // the same
  std::uint64_t jobs_in_all_ = 0, ended_then_ = 0;
  Wide held_then_ = 0;  // node-microseconds
  Time held_since_{};
  Nodes held_ = 0;
  JobFigures figures_;
  std::vector<Reign> reigns_;
  std::vector<Delays> delays_;
  Summary summary_;
  std::vector<Machine> machine_;
  PowerFigures power_;
  HopFigures hops_;
  std::unordered_set<JobId> mates_;
  double work_node_s_ = 0;  // of completed jobs, at the sizes they asked for
  Time finished_{};
  Time premium_from_ = kNever, premium_until_{};
};

}  // namespace ductile
