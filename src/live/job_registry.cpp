#include "live/job_registry.hpp"

#include <algorithm>

#include "live/applications.hpp"

namespace ductile {
namespace {

Wait wait_of(Hold by) { return by == Hold::admin ? Wait::admin : Wait::user; }

}  // namespace

std::size_t JobRegistry::count_of(std::uint32_t user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? 0 : found->second.jobs;
}

std::size_t JobRegistry::lists_with(std::uint32_t user, const NodeLists& more,
                                    const Batch* without) const {
  const auto found = users_.find(user);
  if (found == users_.end()) return 1;
  const auto& lists = found->second.lists;
  std::size_t count = lists.size() + (lists.contains(more) ? 0 : 1);
  if (without == nullptr) return count;
  const NodeLists its = lists_of(without->what);
  if (!its.empty() && its != more && lists.at(its) == 1) --count;
  return count;
}

void JobRegistry::count_lists(const Batch& batch, int sign) {
  const NodeLists its = lists_of(batch.what);
  if (!batch.user || its.empty()) return;
  auto& lists = users_[*batch.user].lists;
  if ((lists[its] += static_cast<std::size_t>(sign)) == 0) lists.erase(its);
}

std::shared_ptr<Batch> JobRegistry::shared_batch(std::uint64_t number) const {
  const auto found = batches_.find(number);
  return found == batches_.end() ? nullptr : found->second;
}

JobId JobRegistry::task(std::uint64_t array, std::uint32_t task) const {
  const Batch* const whole = batch(array);
  if (whole == nullptr) return JobId::none;
  const auto at = std::ranges::lower_bound(whole->tasks, task);
  const bool is_there = at != whole->tasks.end() && *at == task;
  return is_there ? numbers_.id_of(array + static_cast<std::uint64_t>(at - whole->tasks.begin()))
                  : JobId::none;
}

std::vector<JobId> JobRegistry::tasks(std::uint64_t array) const {
  const Batch* const whole = batch(array);
  if (whole == nullptr) return {};
  // Their numbers follow one another.
  return numbers_.between(array, array + std::max(whole->what.array.count(), 1U));
}

// ---- Dependencies -------------------------------------------------------------------------------

Dependency::Stage JobRegistry::stage_of(std::uint64_t number) const {
  using Stage = Dependency::Stage;
  if (const Batch* const whole = batch(number)) {
    return whole->unstarted > 0 ? Stage::waits : Stage::runs;
  }
  if (const auto task = jobs_.find(numbers_.id_of(number)); task != jobs_.end()) {
    return task->second.has_begun() ? Stage::runs : Stage::waits;
  }
  return has_failed_(number).value_or(true) ? Stage::failed : Stage::succeeded;
}

/// At all, or at those on this one.
void JobRegistry::look_at_dependencies(Batch& batch, std::uint64_t on) {
  std::erase_if(batch.open, [&](const Dependency& each) {
    if (on != 0 && each.job != on) return false;
    const Fulfilled is = fulfilled(each.kind, stage_of(each.job));
    batch.is_never = batch.is_never || is == Fulfilled::never;
    return is == Fulfilled::yes;
  });
  must_judge_ = true;
}

/// The job has come one stage further.
void JobRegistry::tell_dependents(const LiveJob& job) {
  tell_dependents(job.row.number);
  if (job.batch->number != job.row.number) tell_dependents(job.batch->number);
}

void JobRegistry::tell_dependents(std::uint64_t number) {
  for (auto at = dependents_.lower_bound({number, 0});
       at != dependents_.end() && at->first.first == number; ++at) {
    look_at_dependencies(*at->second, number);
  }
}

void JobRegistry::expect_more(Batch& batch) {
  ++batch.left;
  ++batch.unstarted;
}

void JobRegistry::is_whole(Batch& batch) {
  --batch.left;
  --batch.unstarted;
  tell_dependents(batch.number);
}

// ---- Jobs ---------------------------------------------------------------------------------------

std::shared_ptr<Batch> JobRegistry::add_batch(std::uint64_t number, Submission what) {
  auto batch = std::make_shared<Batch>();
  batch->number = number;
  for (const Interval& part : what.array.tasks.parts) {
    for (std::uint32_t task = part.first; task <= part.last; ++task) batch->tasks.push_back(task);
  }
  set(*batch, std::move(what));
  // Of an array that was found in the journal, tasks may be over.
  if (!batch->what.array.empty()) batch->failed = has_failed_(number).value_or(false);
  batches_[number] = batch;
  add_dependencies(batch);
  return batch;
}

void JobRegistry::set(Batch& batch, Submission what) {
  batch.application = Applications::hash_of(what);
  if (what.impossible.empty()) {
    impossible_.erase(batch.number);
  } else {
    impossible_.insert(batch.number);
  }
  // To assign something empty would keep the memory.
  const auto drop = [](auto& text) {
    text.clear();
    text.shrink_to_fit();
  };
  drop(what.script);
  drop(what.program);
  drop(what.environment);
  batch.what = std::move(what);
}

void JobRegistry::add_dependencies(const std::shared_ptr<Batch>& batch) {
  batch->open = batch->what.dependencies;
  batch->is_never = false;
  if (!batch->open.empty()) look_at_dependencies(*batch);
  for (const Dependency& each : batch->open) dependents_[{each.job, batch->number}] = batch;
}

void JobRegistry::drop_dependencies(const Batch& batch) {
  for (const Dependency& each : batch.what.dependencies) {
    dependents_.erase({each.job, batch.number});
  }
}

void JobRegistry::set_changing(Batch& batch, bool is_changing) {
  batch.is_changing = is_changing;
  must_judge_ = true;
}

void JobRegistry::hide(JobId id) {
  LiveJob& job = jobs_.at(id);
  deactivate(job);
  kept_.insert(place_of(job));
  job.wait = Wait::changing;
}

void JobRegistry::alter(Batch& batch, Submission what) {
  // Of one that could not run here it was not known for what it waits.
  const bool are_others =
      what.dependencies != batch.what.dependencies || !batch.what.impossible.empty();
  if (are_others) drop_dependencies(batch);
  count_lists(batch, -1);
  set(batch, std::move(what));
  count_lists(batch, +1);
  // What was fulfilled stays so.
  if (are_others) add_dependencies(batches_.at(batch.number));
  must_judge_ = true;
}

void JobRegistry::alter(JobId id, const JobSpec& spec) {
  LiveJob& job = jobs_.at(id);
  const bool was_kept = kept_.erase(place_of(job)) > 0;
  job.row.name = job.what().name;
  job.row.account = job.what().account;
  job.priority = spec.priority;
  job.most = spec.size.max;
  if (was_kept) kept_.insert(place_of(job));
}

bool JobRegistry::is_conditional(const Submission& what, const UserLimits& limits) {
  const UserLimits none;
  return what.is_held || !what.impossible.empty() || !what.dependencies.empty() ||
         what.begin != Time{} || what.array.limit != 0 || limits.jobs != none.jobs ||
         limits.nodes != none.nodes;
}

LiveJob& JobRegistry::add(JobRow row, std::shared_ptr<Batch> batch, const Job& job) {
  if (!numbers_.contains(row.id)) numbers_.add(row.id, row.number);
  LiveJob& its = jobs_[row.id];
  its.row = std::move(row);
  its.batch = std::move(batch);
  its.most = job.spec.size.max;
  its.priority = job.spec.priority;
  ++its.batch->left;
  its.batch->unstarted += !its.has_begun();
  ++users_[its.row.owner.user].jobs;
  if (!std::exchange(its.batch->user, its.row.owner.user)) count_lists(*its.batch, +1);
  if (job.status != Status::held) {
    activate(its);
  } else if (its.row.held != Hold::none) {
    its.wait = wait_of(its.row.held);
  } else {
    its.wait = Wait::unknown;
    kept_.insert(place_of(its));
    must_judge_ = true;
  }
  return its;
}

void JobRegistry::hold(JobId id, Hold by) {
  LiveJob& job = jobs_.at(id);
  job.row.held = by;
  job.wait = wait_of(by);
  kept_.erase(place_of(job));
  deactivate(job);
}

void JobRegistry::release(JobId id) {
  LiveJob& job = jobs_.at(id);
  if (std::exchange(job.row.held, Hold::none) == Hold::none) return;
  kept_.insert(place_of(job));
  must_judge_ = true;
}

/// From now on, or never again: it is over.
void JobRegistry::count_begun(const LiveJob& job) { job.batch->unstarted -= !job.has_begun(); }

void JobRegistry::started(JobId id, Time now) {
  LiveJob& job = jobs_.at(id);
  count_begun(job);
  job.row.started = now;
  tell_dependents(job);
}

void JobRegistry::requeued(JobId id) {
  LiveJob& job = jobs_.at(id);
  count_begun(job);
  job.row.started.reset();
  ++job.row.restarts;
  tell_dependents(job);
}

std::shared_ptr<Batch> JobRegistry::over(JobId id) {
  LiveJob& its = jobs_.at(id);
  kept_.erase(place_of(its));
  deactivate(its);
  const LiveJob job = std::move(its);
  jobs_.erase(id);
  numbers_.remove(id);

  Batch& batch = *job.batch;
  count_begun(job);
  batch.failed += job.row.state != kEndWords[0];
  if (--batch.left == 0) {
    count_lists(batch, -1);
    batches_.erase(batch.number);
    impossible_.erase(batch.number);
    drop_dependencies(batch);
  }
  if (auto user = users_.find(job.row.owner.user); --user->second.jobs == 0) users_.erase(user);
  tell_dependents(job);
  // What depends on these has been decided for good.
  const auto forget = [&](std::uint64_t number) {
    dependents_.erase(dependents_.lower_bound({number, 0}),
                      dependents_.lower_bound({number + 1, 0}));
  };
  if (job.row.number != batch.number) forget(job.row.number);
  if (batch.left == 0) forget(batch.number);
  return job.batch;
}

// ---- Who is seen --------------------------------------------------------------------------------

void JobRegistry::activate(LiveJob& job) {
  if (std::exchange(job.is_active, true)) return;
  job.wait = Wait::no;
  ++job.batch->active;
  Usage& user = users_[job.row.owner.user];
  ++user.active_jobs;
  user.active_nodes += job.most;
}

void JobRegistry::deactivate(LiveJob& job) {
  if (!std::exchange(job.is_active, false)) return;
  --job.batch->active;
  Usage& user = users_[job.row.owner.user];
  --user.active_jobs;
  user.active_nodes -= job.most;
  must_judge_ = true;
}

Wait JobRegistry::reason(const LiveJob& job, Time now, const UserLimits& limits) {
  const Batch& batch = *job.batch;
  if (batch.is_changing) return Wait::changing;
  if (!batch.what.impossible.empty()) return Wait::impossible;
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

void JobRegistry::judge(Time now, const UserLimits& limits,
                        const std::function<bool(JobId)>& show) {
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
    if (show(id)) continue;
    must_judge_ = true;
    return;
  }
}

}  // namespace ductile
