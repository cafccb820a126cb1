// The core: events in, decisions out. No clock, no I/O, no threads; a regular value.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.hpp"
#include "base/time.hpp"
#include "scheduling/event.hpp"
#include "scheduling/pass.hpp"
#include "scheduling/state.hpp"

namespace ductile {

/// One deterministic scheduler. A world tells it what happened (`apply`, for all of one instant),
/// then closes the instant and carries out the decisions it gets, in any order or at once. Answers
/// that come at the same instant lead to another close of the same instant.
///
/// Copy it to ask what if.
class Core {
 public:
  /// Throws `InputError` if the policy needs what the world cannot do.
  Core(const Platform& platform, const Capabilities& capabilities, const Rules& rules,
       const Traits& traits);

  /// Goes on from a state, also one whose policy needs what its world can no longer do.
  explicit Core(State state);

  /// Something happened at `now` (a time in the past counts as the present one). False: stale,
  /// repeated or impossible, and nothing changed. Throws std::logic_error where a world contradicts
  /// itself: two holders of one node.
  bool apply(Time now, const event::Submitted& submitted);
  bool apply(Time now, const event::Eligible& eligible);
  bool apply(Time now, const event::Started& started);
  bool apply(Time now, const event::StartFailed& failed);
  bool apply(Time now, const event::Resized& resized);
  bool apply(Time now, const event::Ended& ended);
  bool apply(Time now, const event::EvolvingRequested& requested);
  bool apply(Time now, const event::EvolvingWithdrawn& withdrawn);
  bool apply(Time now, const event::NodesChanged& changed);
  bool apply(Time now, const event::CorridorChanged& changed);
  bool apply(Time now, const event::Believed& believed);
  bool apply(Time now, const event::SizeOrdered& ordered);
  bool apply(Time now, const event::Altered& altered);
  bool apply(Time now, const event::ConfigChanged& changed);
  bool apply(Time now, const event::TimerFired& fired);
  bool apply(Time now, const event::MachineChanged& changed);
  bool apply(Time now, const event::MoveOrdered& ordered);
  bool apply(Time now, const event::Suspended& suspended);
  bool apply(Time now, const event::StopOrdered& ordered);
  bool apply(Time now, const event::Booked& booked);
  bool apply(Time now, const event::AtPoint& at_point);
  bool apply(Time now, const event::ContentionLearned& learned);
  bool apply(Time now, const Event& event);

  /// Ends the instant: carries out due claims and operator's orders, takes malleable jobs off nodes
  /// that drain, then asks the policy if one of its events came. To ask is to call `write` with the
  /// pass. The decisions, in order; good until the next call.
  ///
  /// A fold gives `asks`, as it was recorded: that counts, whatever the core itself finds. With
  /// false `write` is not called; what was to wake the policy at this close is over with it, but
  /// events of its kinds that came are kept, and wake it at the next close that finds for itself.
  std::span<const Decision> close(Time now, FunctionRef<void(Pass&)> write,
                                  std::optional<bool> asks = std::nullopt);
  /// What the policy needs and the world cannot do (any more), in words. As long as there is such a
  /// thing no close asks the policy; it is woken when the machine or the policy is another one.
  std::string lacks() const { return lacking(state_.capabilities, state_.traits.needs); }
  /// Did the last close ask the policy?
  bool was_asked() const { return state_.was_asked; }

  /// When the core wants a `TimerFired`: the policy's timer, the next time a refused or failed job
  /// may be tried again, or when a booking begins or ends. `kNever`: not at all.
  Time next_wake() const;
  /// What a restarted or imagined world has to answer, in order.
  std::vector<Decision> unanswered() const;
  /// The pen calls of the last instant, if `Rules::record`. Empty if the policy was not asked.
  std::span<const PenCall> pen_calls() const { return state_.calls; }

  /// Did the policy's pass at the last instant leave waiting jobs without a plan because of
  /// `Rules::reservations_per_plan`? Of recorded calls that is not known.
  bool was_cut_short() const { return state_.cut_short; }
  /// Did the pass of the instant look for sizes of jobs that keep the power corridor, and find any?
  std::optional<bool> found_sizes() const { return state_.found_sizes; }
  /// How many searches for mates did it end before they had seen all sets of them?
  std::uint64_t cut_searches() const { return state_.cut_searches; }

  const State& state() const { return state_; }
  const Job& job(JobId id) const { return state_.jobs[id]; }
  /// Of the policy.
  const Traits& traits() const { return state_.traits; }

 private:
  template <class E>
  bool apply_at(Time now, const E& event);
  bool happened(const event::Submitted& submitted);
  bool happened(const event::Eligible& eligible);
  bool happened(const event::Started& started);
  bool happened(const event::StartFailed& failed);
  bool happened(const event::Resized& resized);
  bool happened(const event::Ended& ended);
  bool happened(const event::EvolvingRequested& requested);
  bool happened(const event::EvolvingWithdrawn& withdrawn);
  bool happened(const event::NodesChanged& changed);
  bool happened(const event::CorridorChanged& changed);
  bool happened(const event::Believed& believed);
  bool happened(const event::SizeOrdered& ordered);
  bool happened(const event::Altered& altered);
  bool happened(const event::ConfigChanged& changed);
  bool happened(const event::TimerFired& fired) const;
  bool happened(const event::MachineChanged& changed);
  bool happened(const event::MoveOrdered& ordered);
  bool happened(const event::Suspended& suspended);
  bool happened(const event::StopOrdered& ordered);
  bool happened(const event::AtPoint& at_point);
  bool happened(const event::ContentionLearned& learned);
  bool happened(const event::Booked& booked);

  /// The job leaves its nodes but is not over: it waits again.
  void requeue(JobId id, Time not_before);
  void drop_requests(JobId id);
  void give_up_shared(JobId id, Holding& lost);
  void check_shared(const Job& job);
  bool has_room_for_shared(const Platform& machine) const;

  void begin_close(Time now);
  bool requests_wake();
  void settle_claims();
  void give_spare_cores();
  /// A due claim, and its group, becomes a decision, or is dissolved.
  void carry_out(ClaimId id);
  void carry_out(ClaimId id, Nodes size);
  /// The size that its job has then, if so much of what is free goes to others; 0: it gets too few.
  Nodes due_size(const Claim& due, std::int64_t taken_mw) const;
  /// Those of a whole group; empty if one gets too few.
  std::vector<Nodes> due_sizes(std::span<const Claim> group) const;
  void carry_out_orders();
  void carry_out_moves();
  void carry_out_stops();
  void leave_draining_nodes();

  State state_;
};

/// Closes an instant as it was recorded: was the policy asked, and what did it write? Asks nobody.
/// Throws std::logic_error if a call is not possible: the record belongs to other events.
std::span<const Decision> follow(Core& core, Time now, bool asked, std::span<const PenCall> calls);

/// What the state keeps of the bounds that are to come.
std::vector<ComingCorridor> coming_corridors(const event::CorridorChanged& changed);

}  // namespace ductile
