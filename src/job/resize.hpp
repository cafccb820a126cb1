// One resize of a job by spawn-replace, as a state machine: what came from the processes of the old
// and the new generation goes in, what they have to be told comes out. No clock and no I/O, so that
// every order of messages can be tried.
//
//   starting      the new generation starts beside the old one, which computes on
//   agreeing      the new one is ready; the old processes are asked where they are
//   gathering     they know the probe at which they meet, and go on until they stand there; from
//                 there they may postpone the meeting to a later probe
//   handing_over  data moves from old to new
//   committed     the new generation is the job, and says that it goes on; or
//   aborted       the old one is, with all its data, and the new one is to be removed
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/protocol.hpp"

namespace ductile {

enum class Side { old, fresh };

class Resize {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Phase { starting, agreeing, gathering, handing_over, committed, aborted };

  /// How long a phase may take; what takes longer is aborted.
  struct Limits {
    std::chrono::milliseconds starting = std::chrono::minutes(2);
    std::chrono::milliseconds agreeing = std::chrono::seconds(30);
    /// Until all processes have come to a probe at which the program can be resized: as long as an
    /// iteration may take, or as many as it may postpone.
    std::chrono::milliseconds gathering = std::chrono::minutes(10);
    /// A process that comes to no further probe for so long, and for a hundred times its mean
    /// iteration, while others wait for it, does not come: one of those may be what it waits for.
    std::chrono::milliseconds stuck = std::chrono::seconds(30);
    std::chrono::milliseconds handing_over = std::chrono::minutes(5);
    /// The program of an old generation that has left, before it is told to end; nothing: it may
    /// work on as long as it likes.
    std::optional<std::chrono::milliseconds> leaving{};
  };

  /// Tell all processes of this side.
  struct Order {
    Side side;
    wire::Content content;
  };

  /// When each phase began; when the first old process stopped computing, if one has and did not
  /// postpone it, and when the last new one had begun.
  struct Times {
    Clock::time_point starting{};
    Clock::time_point agreeing{};
    Clock::time_point gathering{};
    Clock::time_point stopped{};
    Clock::time_point handing_over{};
    Clock::time_point settled{};
    Clock::time_point running{};
  };

  /// When each process of a side said something, by rank.
  class Roll {
   public:
    explicit Roll(std::uint32_t size) : said_(size) {}
    bool add(std::uint32_t rank, Clock::time_point now);
    bool has(std::uint32_t rank) const { return rank < said_.size() && said_[rank]; }
    std::uint32_t count() const { return count_; }
    /// Who has said it before this counts as having said it then.
    void not_before(Clock::time_point time);
    bool is_full() const { return count_ == said_.size(); }
    /// The beginning of the clock if it has not.
    Clock::time_point operator[](std::uint32_t rank) const {
      return said_[rank].value_or(Clock::time_point{});
    }

   private:
    std::vector<std::optional<Clock::time_point>> said_;
    std::uint32_t count_ = 0;
  };

  /// `generation` is the new one's number. Sizes are at least 1; but if the new one is 0 the old
  /// processes hand their data over to this file, and the job is suspended. The old generation has
  /// been computing since `begun`.
  Resize(std::uint32_t generation, std::uint32_t old_size, std::uint32_t new_size,
         const Limits& limits, Clock::time_point now,
         std::optional<Clock::time_point> begun = std::nullopt, const std::string& file = {});

  /// A message about this resize from a process. One that does not belong here, or that came
  /// before, changes nothing and is counted.
  void receive(Side side, std::uint32_t rank, const wire::Content& content, Clock::time_point now);

  /// Something happened outside, after which this resize cannot go on: a process has gone, a
  /// generation did not start, somebody gave up. Nothing happens once it is settled.
  /// `blamed` is the side that has failed, if it is known.
  void abort(const std::string& reason, Clock::time_point now,
             std::optional<Side> blamed = std::nullopt);

  /// Aborts if the phase took too long; once it is committed nobody waits any more then. While
  /// processes wait for others, asks these where they are.
  void tick(Clock::time_point now);
  /// Committed, it is over without a word of those that have not said yet that they go on.
  void stop_waiting();
  /// When the phase has taken too long.
  Clock::time_point deadline() const { return deadline_; }
  /// When `tick` has something to do.
  Clock::time_point next() const {
    return phase_ == Phase::gathering ? std::min(deadline_, ask_at_) : deadline_;
  }
  /// Which processes have not come to the meeting point, where they are, and where the others wait.
  std::string missing(Clock::time_point now) const;

  /// What has to be told since the last call, in this order.
  std::vector<Order> take_orders();

  Phase phase() const { return phase_; }
  bool is_settled() const { return phase_ == Phase::committed || phase_ == Phase::aborted; }
  /// All new processes have said that they go on.
  bool is_running() const { return running_.is_full(); }
  /// They have, or nobody waits for that.
  bool is_done() const { return is_running() || is_overdue_; }
  /// All old processes have said that they leave.
  bool is_leaving() const { return leaving_.is_full(); }

  std::uint32_t generation() const { return generation_; }
  std::uint32_t old_size() const { return old_size_; }
  std::uint32_t new_size() const { return fresh_size_; }
  /// Why it was aborted.
  const std::string& reason() const { return reason_; }
  /// It was aborted because the new generation failed: what that wrote may say why.
  bool is_new_to_blame() const { return blamed_ == Side::fresh; }
  const Times& times() const { return times_; }
  // Which old processes stood at the probe and had sent all, and which new ones were ready, had all
  // and went on.
  const Roll& reached() const { return reached_; }
  const Roll& sent() const { return sent_; }
  const Roll& ready() const { return ready_; }
  const Roll& taken() const { return taken_; }
  const Roll& running() const { return running_; }
  std::uint64_t bytes() const { return bytes_; }
  /// The probe at which the old processes met; 0 before it is known.
  std::uint64_t meeting() const { return meeting_; }
  /// How many probes the fastest old process was ahead of the slowest.
  std::uint64_t skew() const { return skew_; }
  /// How often the program postponed it.
  std::uint32_t postponements() const { return postponements_; }
  /// Messages that came too late, too early or twice.
  std::uint64_t strays() const { return strays_; }

 private:
  /// The last probe that a process is known to have come to, and since when.
  struct Place {
    std::uint64_t probe = 0;
    Clock::time_point since{};
  };

  bool is_stuck(std::uint32_t rank, Clock::time_point now) const;
  void look_after_missing(Clock::time_point now);
  bool locate(std::uint32_t rank, std::uint64_t probe, Clock::time_point now);
  bool postpone(std::uint32_t rank, std::uint64_t probe, Clock::time_point now);
  bool accept(Side side, std::uint32_t rank, const wire::Content& content, Clock::time_point now);
  void enter(Phase phase, Clock::time_point now);

  std::uint32_t generation_;
  std::uint32_t old_size_;
  std::uint32_t fresh_size_;
  Limits limits_;
  Phase phase_ = Phase::starting;
  Clock::time_point begun_;
  Clock::time_point deadline_{};
  Clock::time_point ask_at_{};
  bool has_asked_ = false;
  bool is_overdue_ = false;
  Times times_{};
  Roll ready_, at_, reached_, sent_, taken_, running_, postponed_, leaving_;
  std::vector<std::string> addresses_;
  std::vector<Place> places_;  // of the old processes
  std::uint64_t meeting_ = 0;
  std::uint64_t slowest_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t skew_ = 0;
  std::uint32_t postponements_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t strays_ = 0;
  std::string reason_{};
  std::optional<Side> blamed_{};
  std::vector<Order> orders_{};
};

std::string_view word(Resize::Phase phase);

}  // namespace ductile
