#include "simulation/retelling.hpp"

#include <algorithm>
#include <istream>
#include <map>
#include <variant>

#include "base/wide.hpp"

namespace ductile {
namespace {

// As `Core` takes it.
bool is_taken(const event::Suspended& suspended, const Core& core) {
  if (!core.state().jobs.contains(suspended.job)) return false;
  const Job& job = core.job(suspended.job);
  if (job.status != Status::running) return false;
  if (suspended.answers == DecisionId::none) return job.doing == Doing::nothing;
  return job.doing == Doing::stopping && job.decision == suspended.answers;
}

bool is_taken(const event::StartFailed& failed, const Core& core) {
  if (!core.state().jobs.contains(failed.job)) return false;
  const Job& job = core.job(failed.job);
  return job.status == Status::running && job.doing == Doing::starting &&
         job.decision == failed.answers;
}

class Jobs final : public ReplayWatcher {
 public:
  explicit Jobs(LogInput& input) : workload_(input.workload), corridor_(input.corridor) {}

  void after_event(Time now, const Event& event, bool taken, const Core&) override {
    if (const auto* submitted = std::get_if<event::Submitted>(&event)) add(*submitted);
    const auto* const believed = std::get_if<event::Believed>(&event);
    if (believed != nullptr && taken && believed->watts_per_node > 0) {
      const std::uint32_t row = workload_.jobs[index(believed->job)].adaptive;
      if (row != WorkloadJob::kRigid) workload_.adaptive[row].watts = believed->watts_per_node;
    }
    const auto* const changed = std::get_if<event::CorridorChanged>(&event);
    if (changed != nullptr) add(now, *changed);
  }
  /// Without a lower bound and lines to come it may as well be a power cap: then it is one.
  void finish() {
    if (!is_corridor_) corridor_.clear();
  }
  void before_event(Time now, const Event& event, const Core& core) override {
    const auto* ended = std::get_if<event::Ended>(&event);
    const auto* suspended = std::get_if<event::Suspended>(&event);
    if (!ended && !suspended) return;
    const JobId id = ended ? ended->job : suspended->job;
    if (!core.state().jobs.contains(id) || core.job(id).status != Status::running) return;
    const Duration ran = now - core.job(id).started;
    if (suspended) {
      if (is_taken(*suspended, core)) ran_before_[id] += ran;
      return;
    }
    const Duration before =
        ran_before_.contains(id) ? ran_before_.extract(id).mapped() : Duration{};
    if (!ended->requeue) workload_.jobs[index(id)].runtime = ran + before;
  }

 private:
  void add(const event::Submitted& submitted) {
    const JobSpec& spec = submitted.job;
    WorkloadJob job{.name = spec.name,
                    .submit = spec.submitted,
                    .runtime = spec.walltime,
                    .walltime = spec.walltime,
                    .nodes = spec.preferred,
                    .user = spec.user,
                    .group = spec.group};
    if (spec.type != JobType::rigid || submitted.adaptive) {
      job.adaptive = static_cast<std::uint32_t>(workload_.adaptive.size());
      AdaptiveJob& its = workload_.adaptive.emplace_back();
      its.type = spec.type;
      its.size = spec.size;
      its.priority = spec.priority;
      if (submitted.adaptive) {
        its.believed = *submitted.adaptive;
        its.speedup = submitted.adaptive->speedup;
      }
    }
    if (submitted.where) {
      const auto at = std::ranges::find(workload_.where, *submitted.where);
      job.where = static_cast<std::uint32_t>(at - workload_.where.begin()) + 1;
      if (at == workload_.where.end()) workload_.where.push_back(*submitted.where);
    }
    workload_.jobs.push_back(job);
  }

  void add(Time now, const event::CorridorChanged& changed) {
    is_corridor_ = is_corridor_ || changed.low_w > 0 || !changed.coming.empty();
    const CorridorLine line{.at = now, .low_w = changed.low_w, .high_w = changed.high_w};
    const bool is_other = corridor_.empty() || corridor_.back().low_w != line.low_w ||
                          corridor_.back().high_w != line.high_w;
    if (is_other) corridor_.push_back(line);
  }

  Workload& workload_;
  std::vector<CorridorLine>& corridor_;
  bool is_corridor_ = false;
  std::map<JobId, Duration> ran_before_;  // jobs that were suspended
};

class Retelling final : public ReplayWatcher {
 public:
  Retelling(const Workload& workload, std::span<Observer* const> observers, Retold& retold)
      : workload_(workload), observers_(observers), retold_(retold) {}

  void on_begin(const Core& core) override {
    SimulationCounts& counts = retold_.counts;
    retold_.settings.platform = core.state().platform;
    retold_.settings.rules = core.state().rules;
    if (!workload_.jobs.empty()) {
      counts.first_submit = counts.last_end = last_ = workload_.jobs.front().submit;
    }
    tell([&](Observer& observer) { observer.on_begin(core); });
  }

  void before_event(Time now, const Event& event, const Core& core) override {
    hold(now, core);
    before_ = 0;
    if (const auto* resized = std::get_if<event::Resized>(&event)) {
      if (!core.state().jobs.contains(resized->job)) return;
      const Unanswered* const open = core.state().find(resized->answers);
      before_ = open ? open->before.count : core.job(resized->job).holding.count;
    } else if (const auto* ended = std::get_if<event::Ended>(&event)) {
      // Observers see the job as it was; whether the event is taken is known from the same state.
      if (!core.state().jobs.contains(ended->job)) return;
      const Status status = core.job(ended->job).status;
      const bool runs = status == Status::running;
      if (status == Status::over || (ended->requeue && !runs)) return;
      if (!ended->requeue) ++retold_.counts.jobs_over;
      if (runs && !ended->requeue) retold_.counts.last_end = now;
      end(now, ended->job, ended->state, ended->requeue, core);
    } else if (const auto* suspended = std::get_if<event::Suspended>(&event)) {
      if (!is_taken(*suspended, core)) return;
      const WorkloadJob& job = workload_.jobs[index(suspended->job)];
      tell([&](Observer& observer) { observer.on_suspended(now, suspended->job, job, core); });
    } else if (const auto* failed = std::get_if<event::StartFailed>(&event)) {
      if (!is_taken(*failed, core)) return;
      tell([&](Observer& observer) { observer.on_start_failed(now, failed->job, core); });
    }
  }

  void after_event(Time now, const Event& event, bool taken, const Core& core) override {
    ++retold_.counts.events;
    if (!taken) {
      ++retold_.counts.stale;
    } else if (const auto* resized = std::get_if<event::Resized>(&event)) {
      tell([&](Observer& observer) { observer.on_resized(now, resized->job, before_, core); });
    } else if (const auto* changed = std::get_if<event::ConfigChanged>(&event)) {
      tell([&](Observer& observer) { observer.on_policy(now, *changed, core); });
    }
  }

  void on_close(Time now, std::span<const Decision> decisions, const Core& core) override {
    hold(now, core);
    for (const Decision& decision : decisions) {
      tell([&](Observer& observer) { observer.on_decision(now, decision, core); });
      if (decision.kind != Decision::Kind::reject) continue;
      ++retold_.counts.jobs_over;
      end(now, decision.job, EndState::cancelled, false, core);
    }
    tell([&](Observer& observer) { observer.on_close(now, core); });
  }

  void on_finish(Time now, const Core& core) override {
    SimulationCounts& counts = retold_.counts;
    counts.held_node_s = static_cast<double>(held_) / 1e6;
    counts.jobs_left = workload_.jobs.size() - counts.jobs_over;
    // Jobs that wait at the end of a log wait for ever.
    counts.stopped = !core.state().running.empty();
    counts.passes = core.state().passes;
    tell([&](Observer& observer) { observer.on_finish(now, core); });
  }

 private:
  void tell(const auto& call) {
    for (Observer* observer : observers_) call(*observer);
  }
  void hold(Time now, const Core& core) {
    const std::int64_t held = core.state().held;
    now = std::max(now, last_);
    held_ += Wide{held} * (now - last_).count();
    if (held > 0) retold_.counts.last_end = now;
    last_ = now;
  }
  void end(Time now, JobId id, EndState state, bool requeued, const Core& core) {
    const WorkloadJob& job = workload_.jobs[index(id)];
    tell([&](Observer& observer) { observer.on_end(now, id, job, state, requeued, core); });
  }

  const Workload& workload_;
  std::span<Observer* const> observers_;
  Retold& retold_;
  Nodes before_ = 0;
  Time last_{};
  Wide held_ = 0;  // node-microseconds
};

}  // namespace

/// Whether the policy decides the same is asked once, by who retells it.
LogInput input_of_log(std::istream& in, const std::string& name) {
  LogInput input;
  input.workload.name = name;
  Jobs jobs(input);
  fold(in, name, jobs);
  jobs.finish();
  return input;
}

Retold retell(std::istream& in, const std::string& name, const PolicyMaker& make,
              const Workload& workload, std::span<Observer* const> observers) {
  Retold retold;
  Retelling retelling(workload, observers, retold);
  retold.replayed = replay(in, name, make, &retelling);
  retold.settings.policy = make(retold.replayed.policy);
  return retold;
}

}  // namespace ductile
