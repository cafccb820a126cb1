// Why a job started when it did, was resized, or still waits: the decisions about it in words, from
// what a journal or a log recorded, or from a run that is watched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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

/// Watches a run, or the fold of one (simulation/replay.hpp), and explains one job of it.
///
/// Why a waiting job waits is asked at the end, of a pass that the policy makes on a copy of the
/// state: nothing is paid for it before.
class Explainer final : public Observer {
 public:
  using TimeText = std::function<std::string(Time)>;

  /// `job` is the number that people know; `clock` says how they write a time.
  Explainer(std::uint64_t job, TimeText clock);

  bool wants_events() const override { return true; }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override;
  void on_decision(Time now, const Decision& decision, const Core& core) override;
  void on_close(Time now, const Core& core) override;
  void on_finish(Time now, const Core& core) override;

  const Explanation& explanation() const { return explanation_; }

 private:
  class Words;
  struct Open {  // a decision about the job that has no answer
    DecisionId id = DecisionId::none;
    Nodes before = 0, after = 0;
    Time at{};
  };

  /// Takes the words: what is said next is another line.
  void add(Time now, std::string_view what, Words& words, std::string_view reason = {});
  void submitted(Time now, const Core& core);
  void tell_started(Time now, const event::Started& started, const Core& core);
  void tell_resized(Time now, const event::Resized& resized, const Core& core);
  void tell_ended(Time now, const event::Ended& ended);
  void explain_start(Time now, const Decision& decision, const Core& core);
  void explain_resize(Time now, const Decision& decision, const Core& core);
  void explain_deny(Time now, const Decision& decision, const Core& core);
  void explain_reserve(Time now, const PenCall& call, const Core& core);
  void explain_claim(Time now, const Core& core);
  void explain_delays(Time now, const PenCall& call, const Core& core);
  void explain_waiting(Time now, const Core& core);
  const Job* job(const Core& core) const;
  bool is_in_pass(PenCall::Verb verb, const Core& core) const;

  TimeText clock_;
  Explanation explanation_;
  std::optional<JobId> id_;
  ClaimId claim_ = ClaimId::none;
  // In the instant that is being closed:
  bool was_decided_ = false;  // a start or a growth, which its claim may have become
  bool gave_up_ = false;      // it waits for nothing any more, for another reason than its victims
  bool was_unasked_ = false;  // it has another size, which nobody decided
  std::vector<Decision> for_it_;  // of this instant: shrinks of others for its sake
  std::optional<Open> open_;
  std::map<RequestId, JobId> requests_;  // whose they are
  Time started_{};
  std::uint64_t plans_ = 0;  // plans in a row, of which only the first and last are told
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
