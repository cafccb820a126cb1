// Why a job started when it did, was resized, or still waits: the decisions about it in words, from
// what a journal or a log recorded, or from a run that is watched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/circumstances.hpp"
#include "scheduling/policy.hpp"
#include "simulation/observer.hpp"

namespace ductile {

/// Something about the job. Every job, number of nodes and time in the words is one of the recorded
/// state at that time; other jobs are told by their number and nodes.
struct Explained {
  Time at{};
  std::string what;                 // a word for programs: "start", "resize", "plan", ...
  std::string reason;               // of a decision, a word of `kWhyWords`; else empty
  std::string text;                 // for people
  std::vector<std::uint64_t> jobs;  // the others in the text, by the numbers people know
};

struct Explanation {
  std::uint64_t job = 0;
  bool is_known = false;           // was it ever submitted?
  std::string asked;               // what for: "malleable, 1 to 8 nodes, 4 at first, 1:00:00"
  std::string state = "waiting";   // or "running", "over"
  std::string queue_reason;        // why it waits, as `ductile queue` has it; may be empty
  std::vector<Explained> history;  // in order
  std::vector<Explained> now;      // how it stands at the end: of a waiting job why it waits
};

/// Explains one job: of a run that is watched, or folded (simulation/replay.hpp), or from what was
/// recorded about it and the circumstances that were written beside that.
///
/// Why a waiting job waits is asked at the end, of a pass that the policy makes on a copy of the
/// state: nothing is paid for it before.
class Explainer final : public Observer {
 public:
  using TimeText = std::function<std::string(Time)>;

  /// `job` is the number that people know; `clock` says how they write a time. `make` makes the
  /// policy at the end of a run; without it nothing is told of how the job stands then.
  Explainer(std::uint64_t job, TimeText clock, PolicyMaker make = {});

  // From records: those about the job, and about all jobs, in their order.

  void begin(const Platform& platform, const Capabilities& capabilities, const Rules& rules);
  /// That was taken.
  void event(Time now, const Event& event, std::span<const Circumstance> circumstances);
  /// What was decided about it, and what else became of it.
  void close(Time now, std::span<const Decision> decisions,
             std::span<const Circumstance> circumstances);
  /// How it stands now. Of one that is over there is nothing to tell. The policy is made where a
  /// plan is asked for; if that throws InputError, the rest is told, and why there is no plan.
  void stands(JobId id, const Core& core, const PolicyMaker& make);

  // From a run.

  bool wants_events() const override { return true; }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override;
  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_close(Time now, const Core& core) override;
  void on_finish(Time now, const Core& core) override;

  const Explanation& explanation() const { return explanation_; }

 private:
  class Words;
  struct Reign {  // a choice of a portfolio that is not told yet
    Time at{};
    event::ConfigChanged chosen{};
  };
  struct Open {  // a decision about the job that has no answer
    DecisionId id = DecisionId::none;
    Nodes before = 0;
    Holding after{};
    Time at{};
  };

  struct Lent {                   // cores of its nodes to a guest
    Circumstance::Other guest{};  // number 0: not known
    Time at{};
    Time without{};         // when it was believed to end without the guest
    bool is_alone = false;  // again
  };

  /// Takes the words: what is said next is another line.
  void tell_policy(Time now, const event::ConfigChanged& changed);
  void tell_reign(Time now);
  void say_reign(Words& words) const;
  void tell_eligible(Time now, bool yes);
  void explain_running(Time now, JobId id, const Core& core);
  void add(Time now, std::string_view what, Words& words, std::string_view reason = {});
  void submitted(Time now, const event::Submitted& submitted);
  void tell_started(Time now, const event::Started& started);
  void tell_resized(Time now, const event::Resized& resized, const Circumstance* refused);
  void tell_ended(Time now, const event::Ended& ended);
  void tell_decision(Time now, const Decision& decision, std::span<const Circumstance> all);
  void explain_start(Time now, const Decision& decision, const Circumstance* start);
  void explain_resize(Time now, const Decision& decision, const Circumstance* resize);
  void explain_cores(Time now, const Decision& decision, const Circumstance* cores);
  void explain_limit(Time now, const Decision& decision);
  /// Of a decision that takes cores of its nodes for a guest, or gives them back.
  void note_lent(Time now, const Decision& decision, const Circumstance* cores);
  /// What a guest that is gone has cost it.
  void tell_cost(Time now);
  void explain_stop(Time now, const Decision& decision, const Circumstance* stop);
  void explain_deny(Time now, const Decision& decision, const Circumstance* deny);
  void explain_plan(Time now, const Circumstance& plan);
  void explain(Time now, const Circumstance& circumstance);
  void explain_waiting(Time now, JobId id, const Core& core, const PolicyMaker& make);
  std::string nodes_of(const Holding& holding) const;

  TimeText clock_;
  PolicyMaker make_;
  Explanation explanation_;
  Platform platform_;
  bool has_identities_ = false, has_instant_starts_ = true;
  std::string fairness_;
  Budget budget_ = Budget::power;
  std::optional<Open> open_;
  std::optional<Reign> reign_;
  std::optional<Lent> lent_;
  Time believed_end_ = kNever;
  std::optional<Time> unasked_;  // when it got another size that nobody decided
  Time submitted_{}, started_{};
  bool is_changing_ = false;  // and kept from the policy meanwhile
  std::uint64_t plans_ = 0;   // plans in a row, of which only the first and last are told
  // Of a run:
  std::optional<JobId> id_;
  Circumstances circumstances_{JobId::none};
  std::vector<Decision> decisions_;  // of this instant
};

/// As a controller writes times: "10:32:05" of the local time, with the date if that is not the one
/// of `today`.
Explainer::TimeText wall_clock(Time today);
/// As the simulator does: seconds since the zero of submit times.
std::string simulated_time(Time time);

/// "12.5 s", "3:20 min", "1:00:00 h": rounded to tenths of a second below a minute, then to
/// seconds.
std::string duration_text(Duration duration);

/// The explanation for a terminal, and as one JSON object (docs/commands/explain.md).
std::string to_text(const Explanation& explanation, const Explainer::TimeText& clock);
std::string to_json(const Explanation& explanation);
/// What `to_json` wrote, read again; and `queue_reason`, which a controller adds.
Explanation explanation_from_json(const nlohmann::ordered_json& json);

}  // namespace ductile
