#include "job/resize_driver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "job/job_output.hpp"
#include "job/leftovers.hpp"

namespace ductile {
namespace {

double seconds_of(Resize::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ResizeDriver::ResizeDriver(const RunSettings& settings, ProcessTable& table, Outside outside)
    : settings_(settings), table_(table), outside_(std::move(outside)) {}

// ---- Orders -------------------------------------------------------------------------------------

std::optional<std::string> ResizeDriver::objection(const Wish& wish) const {
  const std::uint32_t size = wish.size;
  if (settings_.is_rigid) return "the job is rigid";
  if (wish.suspends) {
    if (settings_.keep.empty()) return "there is no place for its data";
    if (has_exited_ || is_ending_) return "the job has ended";
    if (method_ != nullptr && !method_->can_suspend()) {
      return "the library keeps no data of a program of this kind";
    }
    if (table_.current().finishing > 0) return "the program has come to its end";
    if (is_busy() || ordered_) return "a resize is under way";
    return method_ != nullptr ? method_->objection({.size = 0}) : std::nullopt;
  }
  const Generation& now = table_.current();
  if (!wish.hosts.empty() && settings_.launcher.starter == Starter::mpiexec &&
      settings_.launcher.hosts.empty()) {
    return "the job was started without --hosts, for this host alone";
  }
  const std::uint32_t most = slots(wish.hosts.empty() ? now.hosts : wish.hosts);
  if (size > most) return fmt::format("the hosts take {} processes", most);
  if (size < settings_.min || size > settings_.max) {
    return fmt::format("{} {} are not between {} and {}", size, unit_of(settings_.kind),
                       settings_.min, settings_.max);
  }
  if (has_exited_ || is_ending_) return "the job has ended";
  if (!now.sizes.allow(size)) return now.sizes.objection(size);
  if (size == now.size && !wish.moves) {
    return fmt::format("the job has {} {} already", size, unit_of(settings_.kind));
  }
  if (now.finishing > 0) return "the program has come to its end";
  if (is_busy() || ordered_) return "a resize is under way";
  if (method_ != nullptr) return method_->objection({.size = size, .cpus = wish.cpus});
  return std::nullopt;
}

void ResizeDriver::order(const Wish& wish) {
  is_requested_ = wish.is_requested;
  ordered_ = wish;
  ordered_at_ = Clock::now();
  begin();
}

void ResizeDriver::begin() {
  if (!ordered_ || is_busy() || !has_begun()) return;
  const Wish wish = *std::exchange(ordered_, std::nullopt);
  const std::uint32_t size = wish.size;
  if (const auto why = objection(wish)) {  // which could not be known when it was ordered
    return refuse(size, *why);
  }
  const Generation& current = table_.current();
  if (method_ != nullptr) {
    const std::uint32_t wanted = wish.suspends ? 0 : size;
    spdlog::info("resizing from {} to {} {}", current.size, wanted, unit_of(settings_.kind));
    change_ = {.from = current.size, .to = wanted, .begun = Clock::now()};
    method_->begin({.size = wanted,
                    .cpus = wish.cpus,
                    .hosts = wish.hosts.empty() ? current.hosts : wish.hosts},
                   change_->begun);
    return conclude();
  }
  old_ = current.number;
  freed_.reset();
  const std::uint32_t number = wish.suspends ? table_.skip_number() : table_.next_number();
  resize_.emplace(number, current.size, size, settings_.limits, Clock::now(), current.begun,
                  settings_.keep);
  is_wait_told_ = false;
  if (wish.suspends) {
    spdlog::info("suspending {} processes", current.size);
    return carry_out();
  }
  spdlog::info("resizing from {} to {} processes", current.size, size);
  try {
    outside_.start(size, wish.hosts.empty() ? current.hosts : wish.hosts);
  } catch (const RunError& error) {
    give_up(error.what());
  }
}

/// One that has not begun.
void ResizeDriver::refuse(std::uint32_t size, const std::string& why) {
  if (std::exchange(is_planned_, false)) ++aborted_;
  const Generation& current = table_.current();
  Json details = {{"generation", current.number},
                  {"from", current.size},
                  {"to", size},
                  {"size", current.size},
                  {"error", why}};
  add_places(details);
  if (std::exchange(is_requested_, false)) outside_.deny();
  // Who ordered it may have gone, and another one in its place waits to hear of it.
  outside_.report("aborted", details);
  outside_.answer(false, details);
}

void ResizeDriver::follow_plan(Clock::time_point now) {
  if (planned_ >= settings_.plan.size() || is_busy() || ordered_ || has_exited_) return;
  const PlannedResize& next = settings_.plan[planned_];
  const Generation& current = table_.current();
  if (now < (next.after_previous ? last_ : begin_) + next.time || !has_begun()) return;
  ++planned_;
  // Who lets chance choose does not know what the program can have.
  const std::uint32_t size =
      next.after_previous ? current.sizes.near(next.size, current.size) : next.size;
  const Wish wish{.size = size, .cpus = settings_.cpus};
  if (const auto why = objection(wish)) {
    ++aborted_;
    return spdlog::warn("not resized to {}: {}", size, *why);
  }
  is_planned_ = true;
  order(wish);
}

// ---- What happens -------------------------------------------------------------------------------

void ResizeDriver::receive(std::uint32_t generation, std::uint32_t rank,
                           const wire::Message& message) {
  if (!resize_ || message.generation != resize_->generation()) {
    return spdlog::debug("a late '{}' of process {} of generation {}",
                         wire::name_of(message.content), rank, generation);
  }
  const Side side = generation == resize_->generation() ? Side::fresh : Side::old;
  resize_->receive(side, rank, message.content, Clock::now());
  carry_out();
}

void ResizeDriver::on_finishing(const Generation& generation) {
  if (&generation == &table_.current()) give_up("the program has come to its end");
}

void ResizeDriver::on_gone(const Generation& generation, std::uint32_t rank) {
  const bool is_old = generation.number == old_;
  if (!is_under_way() || !(is_old || is_new(generation))) return;
  give_up(fmt::format("{}process {} has gone", is_old ? "" : "new ", rank));
}

void ResizeDriver::on_too_much_output(const Generation& generation) {
  if (!is_new(generation)) return;
  resize_->abort(fmt::format("the new generation wrote {} MiB before it had its data",
                             JobOutput::kMostHeld >> 20),
                 Clock::now(), Side::fresh);
  carry_out();
}

bool ResizeDriver::on_ended(const Generation& generation, int code) {
  if (method_ != nullptr && method_->on_ended(generation, code)) return true;
  if (!is_new(generation)) return false;
  give_up(fmt::format("the new generation ended with exit code {}", code));
  return true;
}

void ResizeDriver::on_stop(const std::string& reason) {
  is_ending_ = true;
  refuse_ordered(reason);
  give_up(reason);
}

void ResizeDriver::on_exit() {
  has_exited_ = true;
  ordered_.reset();
  if (change_) conclude_change(Clock::now());
  if (change_) end_change({.error = "the job has ended"});
  give_up("the job has ended");
  // Who waits for a resize hears how that went.
  if (!resize_) outside_.answer(false, {{"error", "the job has ended"}});
}

void ResizeDriver::withdraw() {
  const std::string reason = "it was withdrawn";
  refuse_ordered(reason);
  give_up(reason);
  if (!resize_) return;  // of a method: it is over, or will be
  resize_->stop_waiting();
  conclude();
}

/// One that waits for the program to begin.
void ResizeDriver::refuse_ordered(const std::string& why) {
  if (ordered_) refuse(std::exchange(ordered_, std::nullopt)->size, why);
}

void ResizeDriver::give_up(const std::string& reason) {
  if (change_) {
    method_->give_up(reason);
    return conclude();
  }
  if (!is_under_way()) return;
  resize_->abort(reason, Clock::now());
  carry_out();
}

/// Says to both sides what the state machine wants them to hear.
void ResizeDriver::carry_out() {
  const bool is_kept = resize_->new_size() == 0 && resize_->phase() == Resize::Phase::committed;
  // From here on it is suspended, whoever dies.
  if (is_kept && !is_suspended_) {
    outside_.report("suspended", {{"size", resize_->old_size()}});
  }
  for (const Resize::Order& order : resize_->take_orders()) {
    const Generation* const generation =
        table_.find(order.side == Side::old ? old_ : resize_->generation());
    if (generation != nullptr) {
      outside_.send(*generation, {resize_->generation(), order.content});
    }
  }
  if (resize_->is_settled()) settle();
}

void ResizeDriver::settle() {
  const std::uint32_t fresh = resize_->generation();
  const auto now = Clock::now();
  if (resize_->phase() == Resize::Phase::committed) {
    if (resize_->new_size() == 0) {
      if (!std::exchange(is_suspended_, true)) table_.current().deadline = now + settings_.patience;
    } else if (table_.current().number != fresh) {
      table_.become_current(fresh);
      outside_.on_commit();
      table_.current().deadline = Clock::time_point::max();
      if (Generation* const old = table_.find(old_)) old->deadline = now + settings_.patience;
    }
  } else if (Generation* const generation = table_.find(fresh);
             generation != nullptr && !generation->is_discarded) {
    discard(*generation, now);
  }
  conclude();
}

/// It will not be the job.
void ResizeDriver::discard(Generation& generation, Clock::time_point now) {
  generation.is_discarded = true;
  // Of one that has failed by itself all words are still to come.
  const bool has_died = generation.gone > 0 || generation.status;
  const bool has_failed = has_died || resize_->is_new_to_blame();
  if (!has_failed) JobOutput::mute(generation);
  // Those that have come so far hear of it and leave in order, or their launcher ends them; others
  // would wait for ever.
  if (!generation.status) {
    generation.deadline = generation.is_whole() || has_died ? now + settings_.patience / 5 : now;
  }
}

/// A resize is over when the nodes of the generation that lost are free, and the winner works.
void ResizeDriver::conclude() {
  if (change_) return conclude_change(Clock::now());
  if (!resize_ || !resize_->is_settled()) return;
  const Resize::Times& times = resize_->times();
  const bool is_committed = resize_->phase() == Resize::Phase::committed;
  const Generation* const loser = table_.find(is_committed ? old_ : resize_->generation());
  const bool is_free = loser == nullptr || loser->is_gone();
  if (is_free && !freed_) freed_ = Clock::now();
  if (!is_free || (is_committed && !resize_->is_done() && !has_exited_)) return;
  Json details = {{"generation", is_committed ? resize_->generation() : old_},
                  {"from", resize_->old_size()},
                  {"to", resize_->new_size()}};
  if (is_committed && is_suspended_) {
    details["size"] = 0;
  } else if (is_committed) {
    ++resizes_;
    details.update(details_of_commit());
    spdlog::info("resized from {} to {} processes in {:.3f} s", resize_->old_size(),
                 resize_->new_size(), seconds_of(Clock::now() - times.starting));
    if (!resize_->is_running() && !has_exited_) {
      spdlog::warn(
          "{} of {} new processes have said that they go on; the resize is over all the same",
          resize_->running().count(), resize_->new_size());
    }
  } else {
    if (is_planned_) ++aborted_;
    if (table_.has_killed()) remove_shared_memory(wall_begin_);
    details["size"] = resize_->old_size();
    if (times.stopped != Clock::time_point{}) {
      details["pause_s"] = seconds_of(times.settled - times.stopped);
    }
    details["error"] = resize_->reason();
    spdlog::warn("the resize from {} to {} processes was given up: {}", resize_->old_size(),
                 resize_->new_size(), resize_->reason());
  }
  add_places(details);
  if (resize_->strays() > 0) details["strays"] = resize_->strays();
  if (!is_suspended_) outside_.report(is_committed ? "resized" : "aborted", details);
  if (!settings_.trace.empty() && !is_suspended_) trace_.add(*resize_, freed_);
  resize_.reset();
  is_planned_ = false;
  outside_.on_over(is_committed);
  if (std::exchange(is_requested_, false) && !is_committed && !has_exited_) outside_.deny();
  last_ = Clock::now();
  outside_.answer(is_committed, details);
}

/// A resize by the method may be over.
void ResizeDriver::conclude_change(Clock::time_point now) {
  if (const auto outcome = method_->look(now)) end_change(*outcome);
}

void ResizeDriver::end_change(const ResizeMethod::Outcome& outcome) {
  const Change its = *std::exchange(change_, std::nullopt);
  const bool is_done = outcome.error.empty();
  const std::string_view unit = unit_of(settings_.kind);
  Generation& current = table_.current();
  if (is_done) {
    current.size = outcome.size.value_or(its.to);
    spdlog::info("resized from {} to {} {} in {:.6f} s", its.from, its.to, unit,
                 seconds_of(Clock::now() - its.begun));
  } else {
    if (is_planned_) ++aborted_;
    spdlog::warn("the resize from {} to {} {} was given up: {}", its.from, its.to, unit,
                 outcome.error);
  }
  const bool is_kept = is_done && its.to == 0;
  if (is_kept) {
    is_suspended_ = true;
    outside_.report("suspended", {{"size", its.from}});
  } else if (is_done) {
    ++resizes_;
  }
  Json details = {
      {"generation", current.number}, {"from", its.from}, {"to", its.to}, {"size", current.size}};
  details.update(outcome.details);
  if (!is_done) details["error"] = outcome.error;
  add_places(details);
  if (!is_kept) outside_.report(is_done ? "resized" : "aborted", details);
  is_planned_ = false;
  outside_.on_over(is_done);
  last_ = Clock::now();
  outside_.answer(is_done, details);
}

/// The program can be resized.
bool ResizeDriver::has_begun() const {
  return method_ != nullptr ? method_->is_ready() : table_.current().is_whole();
}

/// Where the job runs now.
void ResizeDriver::add_places(Json& details) const {
  const Generation& current = table_.current();
  details["cpus"] = to_string(current.cpus);
  if (current.hosts.empty()) return;
  Json hosts = Json::object();
  for (const Host& host : place(current.hosts, current.size)) hosts[host.name] = host.slots;
  details["hosts"] = std::move(hosts);
}

ResizeDriver::Json ResizeDriver::details_of_commit() const {
  const Resize::Times& times = resize_->times();
  Json details = {{"size", resize_->new_size()}};
  details["probe"] = resize_->meeting();
  details["skew"] = resize_->skew();
  if (resize_->postponements() > 0) details["postponed"] = resize_->postponements();
  details["bytes"] = resize_->bytes();
  details["ready_s"] = seconds_of(times.agreeing - times.starting);
  details["agree_s"] = seconds_of(times.gathering - times.agreeing);
  details["gather_s"] = seconds_of(times.handing_over - times.gathering);
  details["hand_over_s"] = seconds_of(times.settled - times.handing_over);
  if (resize_->is_running()) details["pause_s"] = seconds_of(times.running - times.stopped);
  details["freed_s"] = seconds_of(*freed_ - times.settled);
  return details;
}

// ---- Time ---------------------------------------------------------------------------------------

ResizeDriver::Clock::time_point ResizeDriver::next() const {
  if (change_) return method_->next();
  if (resize_) return resize_->next();
  if (ordered_ || planned_ >= settings_.plan.size()) return Clock::time_point::max();
  const PlannedResize& planned = settings_.plan[planned_];
  const auto time = (planned.after_previous ? last_ : begin_) + planned.time;
  // Else it waits for the program to begin, of which there will be word.
  return time > Clock::now() ? time : Clock::time_point::max();
}

void ResizeDriver::keep_deadlines(Clock::time_point now) {
  if (resize_) {
    resize_->tick(now);
    tell_who_is_missing(now);
    carry_out();
  }
  if (ordered_ && !has_begun() && now > ordered_at_ + settings_.limits.starting) {
    refuse_ordered(method_ != nullptr ? method_->why_not_ready()
                                      : "the program does not use libductile-app, or has not "
                                        "called ductile_init() yet");
  }
  tell_slow_start(now);
}

void ResizeDriver::tell_who_is_missing(Clock::time_point now) {
  constexpr std::chrono::seconds kSoon{5};
  const bool is_long = resize_->phase() == Resize::Phase::gathering &&
                       resize_->reached().count() > 0 && now > resize_->times().stopped + kSoon;
  if (!is_long || std::exchange(is_wait_told_, true)) return;
  spdlog::warn("the resize waits: {}", resize_->missing(now));
}

/// On what somebody waits who wants another size.
void ResizeDriver::tell_slow_start(Clock::time_point now) {
  const bool is_starting = resize_ && resize_->phase() == Resize::Phase::starting;
  Generation* const generation =
      is_starting ? table_.find(resize_->generation()) : &table_.current();
  if ((!is_starting && !ordered_) || generation == nullptr || generation->status) return;
  const auto time = now - generation->started;
  // A name server that does not answer keeps Open MPI from starting anything.
  if (time > kSlowStart / 2 && !name_of_host_) name_of_host_ = std::make_unique<NameOfHost>();
  if (time < kSlowStart || std::exchange(generation->is_told_slow, true)) return;
  const bool have_begun = generation->is_whole();
  std::string what =
      fmt::format("{} of its processes have come to {}",
                  have_begun && is_starting ? resize_->ready().count() : generation->connected,
                  have_begun ? "ductile_join()" : "ductile_init()");
  if (generation->connected == 0 && !name_of_host_->is_known()) {
    what += fmt::format(
        "; the name of this host, {}, is not resolved for seconds_of, on which {} may wait",
        name_of_host_->name(), settings_.launcher.mpiexec);
  }
  spdlog::warn("the start of {} processes takes more than {} s: {}", generation->size,
               kSlowStart.count(), what);
}

// ---- What is known ------------------------------------------------------------------------------

std::string_view ResizeDriver::phase() const {
  if (change_) return "changing";
  return resize_ ? word(resize_->phase()) : ordered_ ? word(Resize::Phase::starting) : "running";
}

bool ResizeDriver::has_left(const Generation& generation) const {
  return generation.number == old_ && !is_ending_ && !is_suspended_ && resize_ &&
         resize_->phase() == Resize::Phase::committed && resize_->is_leaving();
}

}  // namespace ductile
