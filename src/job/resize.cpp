#include "job/resize.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace ductile {
namespace {

/// From one question where a process is to the next.
constexpr std::chrono::seconds kAskAgain{2};
/// Processes that a message names.
constexpr std::size_t kMostNamed = 4;

}  // namespace

Resize::Resize(std::uint32_t generation, std::uint32_t old_size, std::uint32_t new_size,
               const Limits& limits, Clock::time_point now, std::optional<Clock::time_point> begun,
               const std::string& file)
    : generation_(generation),
      old_size_(old_size),
      fresh_size_(new_size),
      limits_(limits),
      begun_(begun.value_or(now)),
      ready_(new_size),
      at_(old_size),
      reached_(old_size),
      sent_(old_size),
      taken_(new_size),
      running_(new_size),
      postponed_(old_size),
      leaving_(old_size),
      addresses_(new_size),
      places_(old_size) {
  enter(Phase::starting, now);
  if (new_size > 0) return;
  addresses_ = {std::string(wire::kFileAddress) + file};
  enter(Phase::agreeing, now);  // nobody has to start
}

bool Resize::Roll::add(std::uint32_t rank, Clock::time_point now) {
  if (rank >= said_.size() || has(rank)) return false;
  said_[rank] = now;
  ++count_;
  return true;
}

void Resize::Roll::not_before(Clock::time_point time) {
  for (auto& said : said_) {
    if (said) said = std::max(*said, time);
  }
}

void Resize::enter(Phase phase, Clock::time_point now) {
  phase_ = phase;
  switch (phase) {
    case Phase::starting:
      times_.starting = now;
      deadline_ = now + limits_.starting;
      break;
    case Phase::agreeing:
      times_.agreeing = now;
      deadline_ = now + limits_.agreeing;
      orders_.push_back({Side::fresh, wire::Take{.from = old_size_}});
      orders_.push_back({Side::old, wire::Prepare{}});
      break;
    case Phase::gathering:
      times_.gathering = now;
      deadline_ = now + limits_.gathering;  // postponing does not make it longer
      ask_at_ = now + kAskAgain;
      orders_.push_back({Side::old, wire::Meet{.probe = meeting_}});
      break;
    case Phase::handing_over:
      times_.handing_over = now;
      taken_.not_before(now);
      deadline_ = now + limits_.handing_over;
      orders_.push_back({Side::old, wire::Go{.addresses = addresses_}});
      break;
    case Phase::committed:
      times_.settled = now;
      deadline_ = now + limits_.starting;
      // The new generation first: it is the job from here on, whatever becomes of the old one.
      orders_.push_back({Side::fresh, wire::Commit{}});
      orders_.push_back({Side::old, wire::Commit{}});
      break;
    case Phase::aborted:
      times_.settled = now;
      deadline_ = Clock::time_point::max();
      orders_.push_back({Side::old, wire::Abort{.reason = reason_}});
      orders_.push_back({Side::fresh, wire::Abort{.reason = reason_}});
      break;
  }
}

void Resize::receive(Side side, std::uint32_t rank, const wire::Content& content,
                     Clock::time_point now) {
  if (!accept(side, rank, content, now)) ++strays_;
}

bool Resize::accept(Side side, std::uint32_t rank, const wire::Content& content,
                    Clock::time_point now) {
  const bool from_old = side == Side::old;
  if (const auto* failed = std::get_if<wire::Failed>(&content)) {
    if (is_settled()) return false;
    abort((from_old ? "process " : "new process ") + std::to_string(rank) + ": " + failed->reason,
          now, side);
    return true;
  }
  if (const auto* ready = std::get_if<wire::Ready>(&content)) {
    if (from_old || phase_ != Phase::starting || !ready_.add(rank, now)) return false;
    addresses_[rank] = ready->address;
    if (ready_.is_full()) enter(Phase::agreeing, now);
    return true;
  }
  if (const auto* at = std::get_if<wire::At>(&content)) {
    if (!from_old || rank >= old_size_) return false;
    if (phase_ != Phase::agreeing) return locate(rank, at->probe, now);
    if (!at_.add(rank, now)) return false;
    places_[rank] = {.probe = at->probe, .since = now};
    // No process has left the probe after the one it told, so that nobody is past this one.
    meeting_ = std::max(meeting_, at->probe + 1);
    slowest_ = std::min(slowest_, at->probe);
    if (!at_.is_full()) return true;
    skew_ = meeting_ - 1 - slowest_;
    enter(Phase::gathering, now);
    return true;
  }
  if (std::holds_alternative<wire::Reached>(content)) {
    if (!from_old || phase_ != Phase::gathering) return false;
    if (postponements_ > 0 && !postponed_.has(rank)) return false;  // where they met before
    if (!reached_.add(rank, now)) return false;
    if (reached_.count() == 1) times_.stopped = now;
    if (reached_.is_full()) enter(Phase::handing_over, now);
    return true;
  }
  if (std::holds_alternative<wire::Running>(content)) {
    if (from_old || phase_ != Phase::committed || !running_.add(rank, now)) return false;
    times_.running = now;
    if (running_.is_full()) deadline_ = Clock::time_point::max();
    return true;
  }
  if (std::holds_alternative<wire::Leaving>(content)) {
    return from_old && phase_ == Phase::committed && leaving_.add(rank, now);
  }
  if (const auto* postponed = std::get_if<wire::Postponed>(&content)) {
    return from_old && postpone(rank, postponed->probe, now);
  }
  if (phase_ == Phase::gathering && postponements_ > 0 && from_old &&
      std::holds_alternative<wire::Sent>(content) && !postponed_.has(rank)) {
    abort("process " + std::to_string(rank) + " hands over what others postpone", now);
    return true;
  }
  if (const auto* taken = std::get_if<wire::Taken>(&content)) {
    // One for which there is nothing has it all as soon as it knows from how many it would come.
    const bool is_told = phase_ == Phase::agreeing || phase_ == Phase::gathering;
    if (from_old || !(is_told || phase_ == Phase::handing_over) || !taken_.add(rank, now))
      return false;
    bytes_ += taken->bytes;
  } else {
    if (!std::holds_alternative<wire::Sent>(content) || phase_ != Phase::handing_over) return false;
    if (!from_old || !sent_.add(rank, now)) return false;
  }
  if (sent_.is_full() && taken_.is_full()) enter(Phase::committed, now);
  return true;
}

/// The answer of a process that was asked once more.
bool Resize::locate(std::uint32_t rank, std::uint64_t probe, Clock::time_point now) {
  if (!has_asked_) return false;
  if (probe > places_[rank].probe) places_[rank] = {.probe = probe, .since = now};
  return true;
}

bool Resize::is_stuck(std::uint32_t rank, Clock::time_point now) const {
  const auto& [probe, since] = places_[rank];
  const auto iteration = (since - begun_) / static_cast<Clock::rep>(probe + 1);
  return now - since > std::max<Clock::duration>(limits_.stuck, 100 * iteration);
}

std::string Resize::missing(Clock::time_point now) const {
  std::string text;
  std::size_t count = 0;
  for (std::uint32_t rank = 0; rank < old_size_; ++rank) {
    if (reached_.has(rank) || ++count > kMostNamed) continue;
    const auto& [probe, since] = places_[rank];
    text += fmt::format("{}process {} is at probe {}", count > 1 ? ", " : "", rank, probe);
    const auto still = std::chrono::duration_cast<std::chrono::seconds>(now - since);
    if (still.count() > 1) text += fmt::format(" for {} s", still.count());
  }
  if (count > kMostNamed) text += fmt::format(" (and {} more)", count - kMostNamed);
  return text + fmt::format("; {} of {} wait at probe {}", reached_.count(), old_size_, meeting_);
}

/// Those that wait at the meeting point may be what another process waits for, if not all probe
/// equally often.
void Resize::look_after_missing(Clock::time_point now) {
  if (now < ask_at_) return;
  ask_at_ = now + kAskAgain;
  if (reached_.count() == 0) return;
  for (std::uint32_t rank = 0; rank < old_size_; ++rank) {
    if (!reached_.has(rank) && is_stuck(rank, now)) {
      return abort(missing(now) + "; do all processes probe equally often?", now);
    }
  }
  has_asked_ = true;
  orders_.push_back({Side::old, wire::Prepare{}});
}

/// The old processes stand at the meeting point, and this one says where to meet instead; the
/// others will say the same.
bool Resize::postpone(std::uint32_t rank, std::uint64_t probe, Clock::time_point now) {
  if (phase_ == Phase::handing_over && probe > meeting_) {
    if (sent_.count() > 0) {
      abort("process " + std::to_string(rank) + " postpones what others hand over", now);
      return true;
    }
    meeting_ = probe;
    ++postponements_;
    postponed_ = reached_ = Roll(old_size_);
    times_.stopped = times_.handing_over = {};  // they compute on
    phase_ = Phase::gathering;
    deadline_ = times_.gathering + limits_.gathering;
  }
  if (phase_ != Phase::gathering || !postponed_.add(rank, now)) return false;
  if (probe != meeting_) {
    abort("process " + std::to_string(rank) + " postpones to another probe than the others", now);
  }
  return true;
}

void Resize::abort(const std::string& reason, Clock::time_point now, std::optional<Side> blamed) {
  if (is_settled()) return;
  reason_ = reason;
  blamed_ = blamed;
  enter(Phase::aborted, now);
}

void Resize::stop_waiting() {
  if (phase_ != Phase::committed) return;
  is_overdue_ = true;
  deadline_ = Clock::time_point::max();
}

void Resize::tick(Clock::time_point now) {
  if (phase_ == Phase::gathering) look_after_missing(now);
  if (now < deadline_) return;
  switch (phase_) {
    case Phase::starting:
      return abort("the new generation was not ready in time", now, Side::fresh);
    case Phase::agreeing:
      return abort("not all processes said in time where they are", now);
    case Phase::gathering:
      return abort("not all processes came to a probe in time: " + missing(now), now);
    case Phase::handing_over:
      return abort("the data was not handed over in time", now,
                   taken_.is_full() ? Side::old : Side::fresh);
    case Phase::committed:
      return stop_waiting();
    case Phase::aborted:
      break;
  }
}

std::vector<Resize::Order> Resize::take_orders() { return std::exchange(orders_, {}); }

std::string_view word(Resize::Phase phase) {
  static constexpr std::array<std::string_view, 6> kWords = {
      "starting", "agreeing", "gathering", "handing_over", "committed", "aborted"};
  return kWords[static_cast<std::size_t>(phase)];
}

}  // namespace ductile
