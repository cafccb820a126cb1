#include "live/batches.hpp"

#include <algorithm>

#include "live/applications.hpp"

namespace ductile {

std::size_t Batches::count_of(std::uint32_t user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? 0 : found->second.jobs;
}

const Batch* Batches::batch(std::uint64_t number) const {
  const auto found = batches_.find(number);
  return found == batches_.end() ? nullptr : found->second.get();
}

std::vector<JobId> Batches::tasks(std::uint64_t array) const {
  std::vector<JobId> found;
  const Batch* const whole = batch(array);
  if (whole == nullptr) return found;
  // Submitted at once, they follow one another.
  const std::uint64_t end = array + std::max(whole->what.array.count(), 1U);
  for (auto at = jobs_.lower_bound(id_of(array)); at != jobs_.end(); ++at) {
    if (at->second.row.number >= end) break;
    found.push_back(at->first);
  }
  return found;
}

// ---- Dependencies -------------------------------------------------------------------------------

Dependency::Stage Batches::stage_of(std::uint64_t number) const {
  using Stage = Dependency::Stage;
  if (const Batch* const whole = batch(number)) {
    return whole->unstarted > 0 ? Stage::waits : Stage::runs;
  }
  if (const auto task = jobs_.find(id_of(number)); task != jobs_.end()) {
    return task->second.row.started ? Stage::runs : Stage::waits;
  }
  return has_failed_(number).value_or(true) ? Stage::failed : Stage::succeeded;
}

void Batches::look_at_dependencies(Batch& batch) {
  std::erase_if(batch.open, [&](const Dependency& each) {
    const Fulfilled is = fulfilled(each.kind, stage_of(each.job));
    batch.is_never = batch.is_never || is == Fulfilled::never;
    return is == Fulfilled::yes;
  });
  must_judge_ = true;
}

/// The job has come one stage further.
void Batches::tell_dependents(const LiveJob& job) {
  const auto tell = [&](std::uint64_t number) {
    const auto [first, last] = dependents_.equal_range(number);
    for (auto at = first; at != last; ++at) {
      if (const auto batch = at->second.lock()) look_at_dependencies(*batch);
    }
  };
  tell(job.row.number);
  if (job.batch->number != job.row.number) tell(job.batch->number);
}

// ---- Jobs ---------------------------------------------------------------------------------------

std::shared_ptr<Batch> Batches::add_batch(std::uint64_t number, Submission what) {
  auto batch = std::make_shared<Batch>();
  batch->number = number;
  batch->open = what.dependencies;
  batch->application = Applications::hash_of(what);
  // To assign something empty would keep the memory.
  const auto drop = [](auto& text) {
    text.clear();
    text.shrink_to_fit();
  };
  drop(what.script);
  drop(what.program);
  drop(what.environment);
  batch->what = std::move(what);
  // Of an array that was found in the journal, tasks may be over.
  if (!batch->what.array.empty()) batch->failed = has_failed_(number).value_or(false);
  batches_[number] = batch;
  if (!batch->open.empty()) look_at_dependencies(*batch);
  for (const Dependency& each : batch->open) dependents_.emplace(each.job, batch);
  return batch;
}

bool Batches::is_conditional(const Submission& what, const UserLimits& limits) {
  const UserLimits none;
  return what.is_held || !what.dependencies.empty() || what.begin != Time{} ||
         what.array.limit != 0 || limits.jobs != none.jobs || limits.nodes != none.nodes;
}

LiveJob& Batches::add(JobRow row, std::shared_ptr<Batch> batch, const Job& job) {
  LiveJob& its = jobs_[id_of(row.number)];
  its.row = std::move(row);
  its.batch = std::move(batch);
  its.most = job.spec.size.max;
  its.priority = job.spec.priority;
  ++its.batch->left;
  its.batch->unstarted += !its.row.started;
  ++users_[its.row.owner.user].jobs;
  if (job.status != Status::held) {
    activate(its);
  } else if (its.row.is_held) {
    its.wait = Wait::user;
  } else {
    kept_.insert(place_of(its));
    must_judge_ = true;
  }
  return its;
}

void Batches::hold(JobId id) {
  LiveJob& job = jobs_.at(id);
  job.row.is_held = true;
  job.wait = Wait::user;
  kept_.erase(place_of(job));
  deactivate(job);
}

void Batches::release(JobId id) {
  LiveJob& job = jobs_.at(id);
  if (!std::exchange(job.row.is_held, false)) return;
  kept_.insert(place_of(job));
  must_judge_ = true;
}

void Batches::started(JobId id) {
  const LiveJob& job = jobs_.at(id);
  --job.batch->unstarted;
  tell_dependents(job);
}

std::shared_ptr<Batch> Batches::over(JobId id) {
  LiveJob& its = jobs_.at(id);
  kept_.erase(place_of(its));
  deactivate(its);
  const LiveJob job = std::move(its);
  jobs_.erase(id);

  Batch& batch = *job.batch;
  if (auto user = users_.find(job.row.owner.user); --user->second.jobs == 0) users_.erase(user);
  batch.unstarted -= !job.row.started;
  batch.failed += job.row.state != kEndWords[0];
  if (--batch.left == 0) {
    batches_.erase(batch.number);
    for (const Dependency& each : batch.what.dependencies) {
      const auto [first, last] = dependents_.equal_range(each.job);
      const auto entry = std::find_if(
          first, last, [&](const auto& one) { return one.second.lock() == job.batch; });
      if (entry != last) dependents_.erase(entry);
    }
  }
  tell_dependents(job);
  // What depends on these has been decided for good.
  if (job.row.number != batch.number) dependents_.erase(job.row.number);
  if (batch.left == 0) dependents_.erase(batch.number);
  return job.batch;
}

// ---- Who is seen --------------------------------------------------------------------------------

void Batches::activate(LiveJob& job) {
  if (std::exchange(job.is_active, true)) return;
  job.wait = Wait::no;
  ++job.batch->active;
  Usage& user = users_[job.row.owner.user];
  ++user.active_jobs;
  user.active_nodes += job.most;
}

void Batches::deactivate(LiveJob& job) {
  if (!std::exchange(job.is_active, false)) return;
  --job.batch->active;
  Usage& user = users_[job.row.owner.user];
  --user.active_jobs;
  user.active_nodes -= job.most;
  must_judge_ = true;
}

Wait Batches::reason(const LiveJob& job, Time now, const UserLimits& limits) {
  const Batch& batch = *job.batch;
  if (!batch.open.empty()) return batch.is_never ? Wait::never : Wait::dependency;
  if (batch.what.begin > now) {
    next_begin_ = std::min(next_begin_, batch.what.begin);
    return Wait::begin;
  }
  if (batch.what.array.limit != 0 && batch.active >= batch.what.array.limit) return Wait::array;
  const Usage& user = users_[job.row.owner.user];
  if (user.active_jobs >= limits.jobs) return Wait::jobs_of_user;
  // The limit may have been another one when it was submitted: alone it always runs.
  const std::uint64_t nodes = user.active_nodes + job.most;
  if (nodes > limits.nodes && user.active_jobs > 0) return Wait::nodes_of_user;
  return Wait::no;
}

void Batches::judge(Time now, const UserLimits& limits, const std::function<void(JobId)>& show) {
  if (next() > now) return;
  must_judge_ = false;
  next_begin_ = kNever;
  for (auto at = kept_.begin(); at != kept_.end();) {
    const JobId id = at->second;
    LiveJob& job = jobs_.at(id);
    job.wait = reason(job, now, limits);
    if (job.wait != Wait::no) {
      ++at;
      continue;
    }
    at = kept_.erase(at);
    activate(job);
    show(id);
  }
}

}  // namespace ductile
