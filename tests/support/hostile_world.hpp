// A world that does to the core whatever the contract allows: it delays, refuses, answers partly,
// twice or for the wrong job, loses, fails nodes, requeues, and meddles. It keeps its own books of
// who really has which node, and complains when the core asks for what cannot be done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"

namespace ductile::testing {

/// The core broke its contract.
class Complaint : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

struct HostileSettings {
  std::uint64_t seed = 1;
  Platform platform;
  Capabilities capabilities;
  Rules rules;
  std::uint32_t jobs = 30;
  std::uint32_t acts = 40;          // how often the world does something nobody asked for
  bool node_events = true;          // failures, drains, repairs; with identities only
  bool machine_events = true;       // more nodes, other ones, other things that it can do
  bool takes_from_claims = true;    // for what it does unasked: any free nodes, or idle ones
  bool refuses = true;              // false: everything is done as decided, sooner or later
  bool cells = false;               // classes and partitions, and jobs that may not run everywhere
  bool bookings = false;            // maintenance, reservations, caps to come; with cells only
  bool has_budget = false;          // of power, nearly all the time until it settles
  bool shares = false;              // random policies let jobs share nodes
  bool journal = false;             // keep a record of everything, with the state's fingerprint
  std::uint32_t policy_calls = 12;  // at most, in each pass of a random policy
  /// Makes a policy, at the beginning and when the world changes it; none: a random policy.
  std::function<std::shared_ptr<const Policy>(Draws&)> make_policy;
};

/// Platform, capabilities and rules drawn from the seed.
HostileSettings random_settings(std::uint64_t seed);
/// The same, and jobs share nodes, nearly all the time.
HostileSettings sharing_settings(std::uint64_t seed);
/// The first with a journal of all that happens and of the pen calls.
HostileSettings recorded_settings(std::uint64_t seed);

/// Denies every request and starts whatever fits, at any size.
void deny_and_start(Pass& pass);

/// One thing the core was told, or one close.
struct Record {
  Time time{};
  std::optional<Event> event{};            // none: a close
  bool accepted = false;                   // event
  std::shared_ptr<const Policy> policy{};  // close: who could write it,
  bool asked = false;                      //   and was asked
  std::vector<PenCall> calls{};            // close
  std::vector<Decision> decisions{};       // close
  std::uint64_t fingerprint = 0;           // of the state afterwards
};

class HostileWorld {
 public:
  explicit HostileWorld(const HostileSettings& settings);
  HostileWorld(const HostileWorld&) = delete;
  HostileWorld& operator=(const HostileWorld&) = delete;

  /// Lives through the next instant in which something happens. False: nothing will happen any
  /// more, or only timers.
  bool step();
  /// Stops meddling. First nobody decides anything new and everything open is answered: no claim
  /// may be left. Then nodes are repaired, orders lifted, and a plain policy runs, or one of
  /// `make_policy`: every job must end.
  void settle();
  /// The whole of a run: steps while there are any, then `settle`.
  void live();

  const Core& core() const { return core_; }
  /// The core as it was before anything happened.
  const Core& first() const { return first_; }
  Time now() const { return now_; }
  const std::vector<Record>& journal() const { return journal_; }

  /// What happened, to see that the tests see much.
  struct Figures {
    std::uint64_t instants = 0, closes = 0, decisions = 0, events = 0, stale = 0;
    std::uint64_t claims = 0, waited = 0, grants = 0;
    std::uint64_t vacated = 0;      // times a job was sent off nodes that drain, by being smaller
    std::uint64_t moves = 0;        // or to other nodes
    std::uint64_t stops = 0;        // decisions that a job leaves all its nodes
    std::uint64_t suspended = 0;    // jobs that did, and go on
    std::uint64_t machines = 0;     // times the machine was to be another one
    std::uint64_t unable = 0;       // closes without what the policy needs
    std::uint64_t guests = 0;       // jobs that started on nodes of others
    std::uint64_t cuts = 0;         // of cores
    std::uint64_t moves_on = 0;     // off nodes that are shared
    std::uint64_t spared = 0;       // times that cores came back
    std::uint64_t outlived = 0;     // guests that have a node whose first holder ended
    std::uint64_t bookings = 0;     // made
    std::uint64_t booked = 0;       // starts of jobs on what is booked for them
    std::uint64_t ordered_off = 0;  // times a job left nodes because they are booked
    std::uint64_t slowed = 0;       // starts at a lower frequency
    std::uint64_t raised = 0;       // times a job was given a higher one
    Figures& operator+=(const Figures& other);
  };
  Figures figures() const;

 private:
  enum class Stage : std::uint8_t { waiting, held, running, over };
  struct Truth {
    JobSpec spec;
    std::optional<AdaptiveSpec> adaptive;
    Where where{};
    Stage stage = Stage::waiting;
    Holding has;                         // from a decision to its answer: the union
    DecisionId open = DecisionId::none;  // the unanswered decision
    Decision decision;
    Holding before;                      // what it had before that decision
    DecisionId last = DecisionId::none;  // one that was answered
    Time not_before{};
    Time last_decision = Time::min();
    Time grows_at = Time::min();  // it was started, and that pass gave it nodes to come besides
    std::uint32_t resizes = 0;
    std::uint32_t life = 0;
    std::uint8_t step = 0;  // of frequency, while it runs
    std::optional<std::uint32_t> keep;
    Nodes ordered = 0;
    NodeSet off{};               // it was ordered to leave these
    std::optional<Stop> stop{};  // it was ordered to leave all
    bool goes_on = false;        // it was suspended since it began anew
    bool rejected = false;       // it cannot run, and the core must say so
  };
  struct Asked {
    JobId job;
    std::int32_t delta;
    Nodes at_least;
  };

  // --- Telling the core
  bool tell(const Event& event);
  void fact(const char* what, const Event& event);  // it must be taken
  void fib(const char* what, const Event& event);   // it must change nothing

  // --- The books
  Truth& truth(JobId id) { return jobs_[index(id)]; }
  bool identities() const { return settings_.rules.identities; }
  Nodes free_count() const;
  NodeSet free_nodes() const;
  Holding takeable() const;                  // what the world may give a job unasked
  Holding grab(Nodes n);                     // some of these; not yet booked
  Holding part(const Holding& of, Nodes n);  // some of these
  void book(JobId id, const Holding& nodes);
  void unbook(JobId id, const Holding& nodes);
  static SizeConstraint constraint_of(const Truth& job);
  /// Classes and partitions of all nodes there are, anew.
  void draw_classes();
  const Platform& first_platform();
  Where some_where();
  /// Node by node: where it may run.
  NodeSet allowed(const Where& where) const;
  const NodeClass& class_of_node(std::uint32_t node) const;
  double slowest(const NodeSet& nodes) const;
  /// None of these may be where it may not, or slower than all it has.
  void check_place(const Truth& job, const NodeSet& fresh, const std::string& who) const;
  /// The largest size at which it has none of the draining nodes that it may give up; 0 if there is
  /// no such node, or no such size.
  Nodes size_off_draining(const Truth& job) const;
  std::vector<JobId> with_stage(Stage stage) const;
  std::size_t open_count() const;

  // --- What happens
  void at(Duration delay, std::function<void()> action);
  AdaptiveSpec some_adaptive();
  void submit();
  void begin_run(JobId id);  // its end is on the agenda from now on
  void end(JobId id, EndState state, bool requeue);
  void act();
  void cancel();
  void requeue();
  void hold_or_release();
  void start_unasked();
  void resize_unasked();
  void change_nodes();
  void repair(const NodeSet& nodes);
  void lose_nodes(JobId id);
  void order();
  void order_move();
  void order_stop();
  void suspend_unasked();
  void leave_nodes(JobId id);
  void suspend(JobId id, DecisionId answers);
  bool can_stop(const Truth& job, Stop how) const;
  void alter();
  void change_machine();
  void change_bookings();
  bool can_book(const Booking& next) const;
  const Booking* booking_of(const Truth& job) const;
  /// Does the node drain, or is it booked, and not for this job?
  bool is_to_leave(const Truth& job, std::uint32_t node) const;
  /// None of these may be booked by others before the job is believed to end.
  void check_bookings(JobId id, const NodeSet& fresh, Time end) const;
  Time believed_end(JobId id) const;
  void request();
  void believe();
  void learn_contention();
  void change_corridor();
  std::shared_ptr<const Policy> some_policy();
  void change_policy(std::shared_ptr<const Policy> policy);
  void lie();

  // --- Decisions and their answers
  void close();
  void check(const Decision& decision);
  void check_start(const Decision& decision);
  void check_frequency(const Decision& decision);
  void check_resize(const Decision& decision);
  void check_move(const Decision& decision);
  void check_move_on(const Decision& decision);
  void check_stop(const Decision& decision);
  void check_has_moved(JobId id) const;
  void check_change_of_size(const Decision& decision);
  void check_cores(const Decision& decision);
  void check_instant_cores(const Decision& decision);
  Slice slice_of(JobId id, std::uint32_t node) const;  // what a job has of a node
  Slice whole(std::uint32_t node) const;
  /// Nobody has more of a node than there is, nor less than he could have.
  void check_shared() const;
  void check_power(const Decision& decision);
  void check_books() const;
  void answer_later(Truth& job, const Decision& decision);
  void answer(JobId id, DecisionId decision);
  void answer_start(JobId id, Truth& job);
  void answer_resize(JobId id, Truth& job);
  void answer_cores(JobId id, Truth& job);
  void answer_stop(JobId id, Truth& job);
  void report_resized(JobId id, DecisionId answers, const Holding& now, Time retry_at);
  void schedule_timer();
  void run_until(const char* what, const std::function<bool()>& done);
  Time random_retry();

  HostileSettings settings_;
  Draws draws_;                    // of what happens
  Draws identities_;               // of which nodes: moves nothing else
  Draws places_;                   // of where jobs may run, likewise
  Draws reservations_;             // of bookings
  std::vector<Booking> bookings_;  // not over
  std::uint32_t next_booking_ = 0;
  std::shared_ptr<const Policy> policy_;
  Core core_;
  const Core first_;
  Time now_{};
  bool meddles_ = true;
  std::multimap<Time, std::function<void()>> agenda_;
  Time timer_ = kNever;
  std::size_t important_ = 0;  // entries of the agenda that are no timers

  std::vector<Truth> jobs_;
  std::vector<std::vector<JobId>> holders_;  // of each node, with identities
  std::vector<Health> health_;
  Nodes used_ = 0;  // without identities
  std::map<RequestId, Asked> requests_;
  std::uint32_t next_request_ = 0;
  std::uint32_t touched_ = 0;  // jobs that something happened to at this instant
  std::vector<Record> journal_;
  Figures figures_;
};

/// A whole history, told record by record to books of it, which count in `seen` what they saw.
template <class Books, class Seen>
void keep_books(const HostileSettings& settings, Seen& seen) {
  HostileWorld world(settings);
  world.live();
  Books books(world.first(), seen);
  for (std::size_t i = 0; i < world.journal().size(); ++i) {
    books.live(world.journal()[i]);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "record " << i;
  }
}

}  // namespace ductile::testing
