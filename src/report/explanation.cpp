#include "report/explanation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/fairness.hpp"
#include "model/where.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

using OrderedJson = nlohmann::ordered_json;

using What = Circumstance::What;
using Other = Circumstance::Other;

// 0.25, or 0.000001.
std::string in_millionths(double value) {
  std::string text = fmt::format("{:.6f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string nodes_text(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "node" : "nodes");
}

std::string_view is_or_are(std::int64_t count) { return count == 1 ? "is" : "are"; }

std::string_view end_text(EndState state) {
  constexpr std::array<std::string_view, 5> kTexts{"completed", "failed", "ended at its time limit",
                                                   "cancelled", "ended with a lost node"};
  return kTexts[static_cast<std::size_t>(state)];
}

/// Why a job that ran is to run once more.
std::string_view requeue_text(EndState state) {
  constexpr std::array<std::string_view, 5> kTexts{
      "left its nodes", "lost its manager", "left its nodes", "requeued by order", "lost a node"};
  return kTexts[static_cast<std::size_t>(state)];
}

/// What the policy would plan if it were asked now. Nothing has changed since it was asked last but
/// the time, so that it repeats itself; but what the last pass left out, because it was planned
/// before or nothing could come of it, is there.
State planned_now(const Core& core, const Policy& policy) {
  State state = core.state();
  state.rules.record = state.rules.check = false;
  state.memo = {};
  state.cut_short = false;
  state.woken = kEveryEvent;
  state.pass_first = state.next_decision;
  while (!state.reserving.empty()) state.plan_start(state.reserving.back(), kNever);
  Pass pass(state);
  policy.schedule(pass);
  return state;
}

/// What a portfolio saw ahead: "looking ahead, the mean turnaround of 12 jobs is 0:20:00 h with
/// elastic (chosen) and 0:30:00 h with easy".
std::string choice_text(const Choice& choice) {
  constexpr std::array<std::string_view, 4> kFigures{"mean turnaround", "mean bounded slowdown",
                                                     "longest wait", "weighted mean of the ratios"};
  const bool is_time = choice.goal == Goal::turnaround || choice.goal == Goal::longest;
  std::vector<std::string> members;
  for (const Choice::Member& its : choice.members) {
    const std::string score =
        is_time ? duration_text(seconds(its.score)) : fmt::format("{:.4g}", its.score);
    members.push_back(fmt::format("{} with {}", score, its.settings));
  }
  return fmt::format("looking ahead, the {} of {} {} is {}",
                     kFigures[static_cast<std::size_t>(choice.goal)], choice.jobs,
                     choice.jobs == 1 ? "job" : "jobs", listed(members));
}

/// Of a budget, of which the core counts "watts".
std::string amount_text(Budget budget, double watts) {
  return budget == Budget::power ? fmt::format("{} W", watts)
                                 : fmt::format("{:.4g} % of the bandwidth of links", watts / 1e4);
}

const Circumstance* first_of(std::span<const Circumstance> circumstances, What what) {
  const auto at = std::ranges::find(circumstances, what, &Circumstance::what);
  return at == circumstances.end() ? nullptr : &*at;
}

}  // namespace

/// A text that notes whom it names.
class Explainer::Words {
 public:
  explicit Words(const Explainer& explainer) : explainer_(explainer) {}

  template <class... Arguments>
  Words& say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += fmt::format(format, std::forward<Arguments>(arguments)...);
    return *this;
  }
  Words& put(std::string_view words) {
    text_ += words;
    return *this;
  }
  Words& time(Time time) { return say("{}", explainer_.clock_(time)); }
  /// "job 3 (4 nodes)"
  Words& job(const Other& other) {
    if (other.number == explainer_.explanation_.job) return say("this job");
    if (other.number == 0) return say("a job that is over");
    jobs_.push_back(other.number);
    return say("job {} ({})", other.number, nodes_text(other.nodes));
  }
  Words& guest(const Other& other) { return other.number == 0 ? put("its guest") : job(other); }
  /// One after the other, the first of them by name: `each(other)` says one.
  template <class Each>
  Words& list(const Circumstance& its, const std::string& others, Each each) {
    const bool are_all = its.total <= Circumstance::kMostNamed + 1;
    const std::size_t count = are_all ? its.others.size() : Circumstance::kMostNamed;
    const std::size_t parts = count + (are_all ? 0 : 1);
    for (std::size_t i = 0; i < parts; ++i) {
      put(i == 0 ? "" : i + 1 == parts ? " and " : ", ");
      if (i < count) {
        each(its.others[i]);
      } else {
        say("{} {}", its.total - count, others);
      }
    }
    return *this;
  }
  /// What is expected to come free for a plan.
  Words& releases(const Circumstance& plan) {
    if (plan.total == 0) return *this;
    if (plan.others.front().kind == Other::Kind::reservation) {
      return say(", by when a reservation ends");
    }
    say(", by when {} expected of ", !plan.flag                            ? "nodes are"
                                     : explainer_.budget_ == Budget::power ? "power is"
                                                                           : "bandwidth is");
    return list(plan, "more", [&](const Other& release) {
      if (release.kind == Other::Kind::boot) {
        say("{} that boot", nodes_text(release.nodes));
      } else {
        put(release.kind == Other::Kind::shrinking ? "the shrinking " : "").job(release);
      }
      say(" at ").time(release.at);
    });
  }
  /// Where the nodes of a claim come from.
  Words& sources(const Circumstance& claim) {
    list(claim, "more jobs give some", [&](const Other& victim) {
      if (victim.count == 0) {
        job(victim).say(" shrinks first");
      } else {
        job(victim).say(" gives {}", victim.count);
      }
    });
    if (claim.count > 0) {
      say("{}{} {} kept for it", claim.total == 0 ? "" : "; ", nodes_text(claim.count),
          is_or_are(claim.count));
    }
    return *this;
  }

  std::string text() { return std::exchange(text_, {}); }
  std::vector<std::uint64_t> jobs() { return std::exchange(jobs_, {}); }

 private:
  const Explainer& explainer_;
  std::string text_{};
  std::vector<std::uint64_t> jobs_{};
};

Explainer::Explainer(std::uint64_t job, TimeText clock, PolicyMaker make)
    : clock_(std::move(clock)), make_(std::move(make)) {
  explanation_.job = job;
}

void Explainer::begin(const Platform& platform, const Capabilities& capabilities,
                      const Rules& rules) {
  platform_ = platform;
  has_identities_ = rules.identities;
  has_instant_starts_ = capabilities.instant_start;
  fairness_ = to_text(rules.fairness);
  budget_ = rules.budget;
}

std::string Explainer::nodes_of(const Holding& holding) const {
  const std::string which = has_identities_ ? fmt::format(" ({})", to_string(holding.nodes)) : "";
  return nodes_text(holding.count) + which;
}

void Explainer::add(Time now, std::string_view what, Words& words, std::string_view reason) {
  if (what != "plan") plans_ = 0;
  explanation_.history.push_back(
      {now, std::string(what), std::string(reason), words.text(), words.jobs()});
}

// ---- A run
// ----------------------------------------------------------------------------------------

void Explainer::on_event(Time now, const Event& event, bool taken, const Core& core) {
  if (!taken) return;
  const auto* const its = std::get_if<event::Submitted>(&event);
  if (its != nullptr && !id_ && its->job.name == explanation_.job) {
    id_ = JobId{core.state().jobs.size() - 1};
    circumstances_.only(*id_);
    const State& state = core.state();
    begin(state.platform, state.capabilities, state.rules);
    return this->event(now, event, {});
  }
  const auto found = circumstances_.after(event, core);
  const bool is_config = std::holds_alternative<event::ConfigChanged>(event);
  if (is_config || (id_ && (is_about_all(event) || job_of(event) == *id_))) {
    this->event(now, event, found);
  }
}

void Explainer::on_decision(Time, const Decision& decision, const Core&) {
  if (id_ && (decision.job == *id_ || decision.reason.job == *id_)) decisions_.push_back(decision);
}

void Explainer::on_close(Time now, const Core& core) {
  const std::vector<Circumstance> found = circumstances_.at_close(decisions_, core);
  if (!id_) return;
  std::erase_if(decisions_, [&](const Decision& decision) { return decision.job != *id_; });
  close(now, decisions_, found);
  decisions_.clear();
}

void Explainer::on_finish(Time, const Core& core) {
  if (id_ && make_) stands(*id_, core, make_);
}

// ---- What happened
// --------------------------------------------------------------------------------

void Explainer::event(Time now, const Event& event, std::span<const Circumstance> circumstances) {
  if (const auto* its = std::get_if<event::Submitted>(&event)) return submitted(now, *its);
  const auto* const machine = std::get_if<event::MachineChanged>(&event);
  if (machine != nullptr) {
    platform_ = machine->platform;
    has_instant_starts_ = machine->capabilities.instant_start;
  }
  if (const auto* config = std::get_if<event::ConfigChanged>(&event)) {
    return tell_policy(now, *config);
  }
  if (!explanation_.is_known || explanation_.state == "over") return;
  Words words(*this);
  if (machine != nullptr) {
    words.say("the machine is now of {} with {} {}", nodes_text(platform_.nodes),
              platform_.cores_per_node, platform_.cores_per_node == 1 ? "core" : "cores");
    add(now, "machine", words);
  } else if (const auto* corridor = std::get_if<event::CorridorChanged>(&event)) {
    const bool is_capped = std::isfinite(corridor->high_w);
    if (budget_ == Budget::bandwidth) {
      words.say("jobs may now take {}", amount_text(budget_, corridor->high_w));
    } else if (corridor->low_w > 0 || !corridor->coming.empty()) {
      words.say("the power corridor is now {}..{} W", corridor->low_w, corridor->high_w);
    } else if (is_capped) {
      words.say("the power cap is now {} W", corridor->high_w);
    } else {
      words.say("there is no power cap any more");
    }
    add(now, "power-cap", words);
  } else if (const auto* eligible = std::get_if<event::Eligible>(&event)) {
    tell_eligible(now, eligible->yes);
  } else if (const auto* started = std::get_if<event::Started>(&event)) {
    tell_started(now, *started);
  } else if (const auto* failed = std::get_if<event::StartFailed>(&event)) {
    open_.reset();
    explanation_.state = "waiting";
    words.say("could not be started: it waits again, and is left alone until ");
    add(now, "start-failed", words.time(std::max(failed->retry_at, now + kTick)));
  } else if (const auto* resized = std::get_if<event::Resized>(&event)) {
    tell_resized(now, *resized, first_of(circumstances, What::refused));
  } else if (const auto* ended = std::get_if<event::Ended>(&event)) {
    tell_ended(now, *ended);
  } else if (const auto* request = std::get_if<event::EvolvingRequested>(&event)) {
    const auto delta = static_cast<Nodes>(std::abs(request->delta));
    words.say("asks for {} {}", nodes_text(delta), request->delta > 0 ? "more" : "fewer");
    if (request->at_least != 0) words.say(", at least {}", request->at_least);
    add(now, "request", words);
  } else if (const auto* ordered = std::get_if<event::SizeOrdered>(&event)) {
    if (ordered->size == 0) {
      words.say("the order of a size is lifted");
    } else {
      words.say("it is ordered to have {}", nodes_text(ordered->size));
    }
    add(now, "ordered", words);
  } else if (const auto* moved = std::get_if<event::MoveOrdered>(&event)) {
    if (moved->off.empty()) {
      words.say("the order to leave nodes is lifted");
    } else {
      words.say("it is ordered to leave {}", nodes_of({moved->off.count(), moved->off}));
    }
    add(now, "ordered", words);
  } else if (const auto* stopped = std::get_if<event::StopOrdered>(&event)) {
    if (!stopped->how) {
      words.say("the order to stop it is lifted");
    } else {
      words.say("it is ordered to stop: {}", kStopWords[static_cast<std::size_t>(*stopped->how)]);
    }
    add(now, "ordered", words);
  } else if (std::holds_alternative<event::Suspended>(event)) {
    open_.reset();
    explanation_.state = "waiting";
    plans_ = 0;
    words.say("suspended after running for {}: what it did is kept, and it waits again",
              duration_text(now - started_));
    add(now, "suspended", words);
  } else if (const auto* altered = std::get_if<event::Altered>(&event)) {
    // It is kept from the policy while it is changed.
    auto& history = explanation_.history;
    is_changing_ = !history.empty() && history.back().what == "held" && history.back().at == now;
    if (is_changing_) history.pop_back();
    words.say("it is altered: {} at first, {} to {}, limit {} s, priority {}",
              nodes_text(altered->preferred), altered->size.min, altered->size.max,
              seconds_text(altered->walltime), altered->priority);
    add(now, "altered", words);
  } else if (const auto* believed = std::get_if<event::Believed>(&event)) {
    if (believed->model) {
      add(now, "believed",
          words.say("its run time is now believed to depend on its size as {}",
                    to_text(*believed->model)));
    }
    if (believed->mtct > 0) {
      add(now, "believed",
          words.say("it is measured to be {} times as long in MPI as it computes",
                    in_millionths(believed->mtct)));
    }
  }
}

/// That another policy rules is told at once; that one goes on when it matters.
void Explainer::tell_policy(Time now, const event::ConfigChanged& changed) {
  if (explanation_.state == "over") return;
  const auto& choice = changed.choice;
  reign_.reset();
  if (choice) reign_ = Reign{now, changed};
  const bool is_told = explanation_.is_known && !(choice && choice->chosen == choice->ruled);
  if (!is_told) return;
  Words words(*this);
  add(now, "policy", words.say("the policy is now {}", changed.traits.settings));
  if (!choice) return;
  explanation_.history.back().text += ": " + choice_text(*choice);
  reign_.reset();
}

/// Who rules, and why, if that was not told.
void Explainer::tell_reign(Time now) {
  if (!reign_) return;
  Words words(*this);
  say_reign(words);
  add(now, "policy", words);
  reign_.reset();
}

void Explainer::say_reign(Words& words) const {
  words.say("the policy is {}, as chosen at ", reign_->chosen.traits.settings);
  words.time(reign_->at).put(": ").put(choice_text(*reign_->chosen.choice));
}

void Explainer::tell_eligible(Time now, bool yes) {
  if (yes && std::exchange(is_changing_, false)) return;
  is_changing_ = false;
  Words words(*this);
  words.put(yes ? "released: it waits in the queue" : "held");
  add(now, yes ? "released" : "held", words);
}

void Explainer::submitted(Time now, const event::Submitted& submitted) {
  explanation_.is_known = true;
  submitted_ = submitted.job.submitted;
  const JobSpec& spec = submitted.job;
  const SizeRange size{std::max(spec.size.min, Nodes{1}), std::min(spec.size.max, platform_.nodes)};
  explanation_.asked = spec.type == JobType::rigid
                           ? fmt::format("rigid, {}", nodes_text(spec.preferred))
                           : fmt::format("{}, {} ({} to {})", word(spec.type),
                                         nodes_text(spec.preferred), size.min, size.max);
  explanation_.asked += ", " + duration_text(spec.walltime);
  Words words(*this);
  add(now, "submitted", words.say("submitted: {}", explanation_.asked));
}

void Explainer::tell_started(Time now, const event::Started& started) {
  const bool is_as_decided =
      open_ && (started.now.count == 0 || open_->after.count == started.now.count);
  const Holding& has = started.now.count == 0 && open_ ? open_->after : started.now;
  Words words(*this);
  if (started.answers == DecisionId::none) {
    words.say("runs on {}: somebody else started it", nodes_of(has));
  } else if (is_as_decided && now - open_->at < whole_seconds(1)) {
    started_ = now;
    open_.reset();
    return;  // nothing that the start has not told
  } else {
    words.say("runs on {}", nodes_of(has));
  }
  explanation_.state = "running";
  started_ = now;
  open_.reset();
  add(now, "started", words);
}

void Explainer::tell_resized(Time now, const event::Resized& resized, const Circumstance* refused) {
  Words words(*this);
  const std::string now_has = nodes_of(resized.now);
  if (resized.answers == DecisionId::none || !open_) {
    unasked_ = now;
    words.say("has {} now, which nobody ordered", now_has);
  } else if (open_->after == resized.now ||
             (open_->after.count == resized.now.count && open_->before != resized.now.count)) {
    const bool at_once = open_->at == now;
    open_.reset();
    if (at_once) return;
    words.say("has {} now", now_has);
  } else if (resized.now.count == open_->before) {
    words.say("keeps {}: it did not {}", now_has,
              open_->after.count == 0 ? "stop" : "do the resize");
    if (refused != nullptr) words.say(", and is left alone until ").time(refused->at);
    open_.reset();
  } else {
    words.say("has {} now, where {} were ordered", now_has, open_->after.count);
    open_.reset();
  }
  add(now, "resized", words);
}

void Explainer::tell_ended(Time now, const event::Ended& ended) {
  open_.reset();
  auto& line = explanation_.history.emplace_back();
  line.at = now;
  plans_ = 0;
  const bool ran = explanation_.state == "running";
  explanation_.state = ended.requeue ? "waiting" : "over";
  line.what = ended.requeue ? "requeued" : "ended";
  line.reason = kEndWords[static_cast<std::size_t>(ended.state)];
  line.text = ended.requeue ? requeue_text(ended.state) : end_text(ended.state);
  if (ran) line.text += fmt::format(" after running for {}", duration_text(now - started_));
  if (ended.requeue) line.text += ": it waits again";
}

// ---- What was decided
// -----------------------------------------------------------------------------

void Explainer::close(Time now, std::span<const Decision> decisions,
                      std::span<const Circumstance> circumstances) {
  if (!explanation_.is_known) return;
  for (const Decision& decision : decisions) tell_decision(now, decision, circumstances);
  tell_cost(now);
  for (const Circumstance& circumstance : circumstances) explain(now, circumstance);
  unasked_.reset();
}

void Explainer::tell_decision(Time now, const Decision& decision,
                              std::span<const Circumstance> all) {
  Words words(*this);
  using Kind = Decision::Kind;
  switch (decision.kind) {
    case Kind::start:
      explain_start(now, decision, first_of(all, What::start));
      break;
    case Kind::resize:
      note_lent(now, decision, first_of(all, What::resize));
      explain_resize(now, decision, first_of(all, What::resize));
      break;
    case Kind::deny:
      explain_deny(now, decision, first_of(all, What::deny));
      break;
    case Kind::set_limit:
      explain_limit(now, decision);
      break;
    case Kind::reject:
      explanation_.state = "over";
      words.say("rejected: it can never run on this machine, which has {}",
                nodes_text(platform_.nodes));
      add(now, "rejected", words, word(decision.reason.why));
      break;
    case Kind::cores:
      note_lent(now, decision, first_of(all, What::resize));
      explain_cores(now, decision, first_of(all, What::resize));
      break;
    case Kind::frequency:
      words.put("it computes at ");
      if (decision.step == 0) {
        words.put("the full frequency again");
      } else {
        words.say("a higher frequency (step {}), {:g} times as fast as at the full one",
                  decision.step, platform_.steps.at(decision.step - 1U).speed);
      }
      words.put(": there is power for it");
      add(now, "frequency", words, word(decision.reason.why));
      break;
    case Kind::power_on:
    case Kind::power_off:
      break;
    case Kind::cancel:
    case Kind::requeue:
    case Kind::suspend:
      explain_stop(now, decision, first_of(all, What::resize));
      break;
  }
}

void Explainer::explain_start(Time now, const Decision& decision, const Circumstance* start) {
  tell_reign(now);
  started_ = now;
  believed_end_ = decision.limit;
  lent_.reset();
  explanation_.state = "running";
  if (!has_instant_starts_) open_ = Open{decision.id, 0, decision.after, now};
  Words words(*this);
  words.say("starts on {}", nodes_of(decision.after));
  const Duration waited = now - submitted_;
  switch (decision.reason.why) {
    case Why::in_order:
      words.put(start != nullptr && start->flag ? ": the nodes freed for it are there"
                                                : ": it was its turn");
      break;
    case Why::backfilled:
      words.say(": backfilled");
      if (start != nullptr && start->count > 0) {
        words.say(" before {} {} ahead of it", start->count, start->count == 1 ? "job" : "jobs");
      }
      if (start != nullptr && start->total > 0) {
        words.say("; of these ").list(*start, "more", [&](const Other& other) {
          words.job(other).say(" is planned for ").time(other.at);
        });
      }
      break;
    case Why::shrunk_for:
      words.say(": the nodes freed for it are there");
      break;
    case Why::guest:
      words.put(": on cores that running jobs left to it");
      break;
    default:
      words.say(" ({})", word(decision.reason.why));
  }
  if (decision.step > 0) {
    const FrequencyStep& its = platform_.steps.at(decision.step - 1U);
    words.say("; at a lower frequency (step {}), {:g} times as fast, so that it lacks no power",
              decision.step, its.speed);
  }
  if (waited > Duration{}) words.say("; it had waited {}", duration_text(waited));
  add(now, "start", words, word(decision.reason.why));
}

void Explainer::explain_resize(Time now, const Decision& decision, const Circumstance* resize) {
  const auto before = static_cast<Nodes>(resize != nullptr ? resize->count : 0);
  const Nodes after = decision.after.count;
  const bool grows = after > before;
  open_ = Open{decision.id, before, decision.after, now};

  Words words(*this);
  if (decision.reason.why == Why::guest) {
    words.put(decision.reason.job != JobId::none ? "is to leave cores of its nodes to another job"
                                                 : "is to have cores of its nodes that nobody has");
  } else if (after == before) {
    words.say("moves to {}", nodes_of(decision.after));
  } else {
    words.say("{} from {} to {}", grows ? "grows" : "shrinks", before, nodes_text(after));
  }
  switch (decision.reason.why) {
    case Why::shrunk_for:
    case Why::dependency_expand:
      if (resize != nullptr && resize->total > 0) {
        const Other& other = resize->others.front();
        const bool waits = other.at != kNever;
        words.say(" so that ").job(other).put(waits ? " can start" : " can grow");
        if (grows) words.say(" earlier");
        if (waits && now > other.at) {
          words.say(", which has waited {}", duration_text(now - other.at));
        }
      } else {
        words.put(grows ? ": the nodes freed for it are there" : " for others");
      }
      break;
    case Why::evolving:
      words.say(": it asked for that");
      break;
    case Why::hand_out:
      words.say(": the nodes were free");
      break;
    case Why::ordered:
      words.say(": an operator or its user ordered it");
      break;
    case Why::draining:
      words.say(" to leave nodes that drain");
      break;
    case Why::booked:
      words.say(" to leave nodes that are booked");
      break;
    case Why::corridor:
      words.say(" to keep the power corridor");
      break;
    default:
      words.say(" ({})", word(decision.reason.why));
  }
  add(now, "resize", words, word(decision.reason.why));
}

void Explainer::explain_cores(Time now, const Decision& decision, const Circumstance* cores) {
  Words words(*this);
  if (decision.reason.job == JobId::none) {
    words.put("has cores of its nodes that others had");
  } else if (cores != nullptr && !cores->others.empty()) {
    words.put("leaves cores of its nodes to ").job(cores->others.front());
  } else {
    words.put("leaves cores of its nodes to another job");
  }
  const char* separator = ": ";
  for (const Part& part : decision.after.parts) {
    words.say("{}it has {} of each of {}", std::exchange(separator, ", "),
              part.has.cores == 1 ? "1 core" : fmt::format("{} cores", part.has.cores),
              nodes_text(part.nodes.count()));
  }
  if (decision.after.parts.empty()) words.put(": it has its nodes alone");
  add(now, "cores", words, word(decision.reason.why));
}

void Explainer::note_lent(Time now, const Decision& decision, const Circumstance* cores) {
  if (decision.reason.why != Why::guest) return;
  if (decision.reason.job != JobId::none) {
    const bool is_known = cores != nullptr && !cores->others.empty();
    lent_ = Lent{is_known ? cores->others.front() : Other{}, now, believed_end_};
  } else if (lent_) {
    lent_->is_alone = decision.after.parts.empty();
  }
}

void Explainer::explain_limit(Time now, const Decision& decision) {
  Words words(*this);
  words.say("is now expected to end by ").time(decision.limit);
  if (decision.reason.why != Why::guest) {
    // Without its guest it would end as much earlier or later.
    if (lent_) lent_->without += decision.limit - believed_end_;
  } else if (lent_ && lent_->at == now && decision.limit > lent_->without) {
    words.say(", {} later because of ", duration_text(decision.limit - lent_->without));
    words.guest(lent_->guest);
  }
  believed_end_ = decision.limit;
  add(now, "limit", words, unasked_ == now ? std::string_view() : word(decision.reason.why));
}

void Explainer::tell_cost(Time now) {
  if (!lent_ || !lent_->is_alone) return;
  const Lent its = *std::exchange(lent_, std::nullopt);
  Words words(*this);
  const Duration cost = believed_end_ - its.without;
  words.put("sharing its nodes with ").guest(its.guest).put(" has cost it ");
  words.put(cost > Duration{} ? duration_text(cost) : "nothing");
  add(now, "cost", words);
}

void Explainer::explain_stop(Time now, const Decision& decision, const Circumstance* stop) {
  const auto before = static_cast<Nodes>(stop != nullptr ? stop->count : 0);
  open_ = Open{decision.id, before, {}, now};
  Words words(*this);
  words.put(decision.kind == Decision::Kind::cancel    ? "is to end"
            : decision.kind == Decision::Kind::requeue ? "is to leave its nodes and begin anew"
                                                       : "is to leave its nodes and go on later");
  if (stop != nullptr && stop->total > 0) {
    words.say(" for ").job(stop->others.front());
  } else if (decision.reason.why == Why::ordered) {
    words.say(": an operator or its user ordered it");
  } else {
    words.say(" ({})", word(decision.reason.why));
  }
  add(now, word(decision.kind), words, word(decision.reason.why));
}

void Explainer::explain_deny(Time now, const Decision& decision, const Circumstance* deny) {
  Words words(*this);
  words.say("its request is denied: ");
  if (decision.reason.why == Why::fairness) {
    words.say("it would delay others by more than the rules allow ({})", fairness_);
  } else {
    const std::int64_t idle = deny != nullptr ? deny->count : 0;
    words.say("{} of {} {} idle, and no others can be had", idle, nodes_text(platform_.nodes),
              is_or_are(idle));
  }
  add(now, "deny", words, word(decision.reason.why));
}

/// A plan may change with every event: the first and the last one in a row are told.
void Explainer::explain_plan(Time now, const Circumstance& plan) {
  Words words(*this);
  if (plan.at == kNever) {
    words.say("no time is known at which it could start");
  } else if (plan.at <= now) {
    words.say("planned to start as soon as other jobs have given up nodes");
  } else {
    words.say("planned to start at ").time(plan.at).releases(plan);
  }
  if (plans_ >= 2) explanation_.history.pop_back();
  ++plans_;
  const std::uint64_t plans = plans_;
  if (plans > 2) words.say("; changed {} times since the first plan", plans - 1);
  add(now, "plan", words, plan.why);
}

/// What is no part of a decision about it.
void Explainer::explain(Time now, const Circumstance& its) {
  constexpr std::string_view kNodesForIt = "the nodes that were to be freed for it";
  Words words(*this);
  switch (its.what) {
    case What::plan:
      return explain_plan(now, its);
    case What::claim:
      words.say("room is made for it to {}: ", its.flag ? "start" : "grow").sources(its);
      return add(now, "claim", words, its.why);
    case What::dissolved:
      if (its.count == Circumstance::gave_up) {
        words.say("it waits no longer for {}", kNodesForIt);
      } else {
        words.say("{} did not come", kNodesForIt);
        words.put(its.count == Circumstance::stays         ? ": it stays as it is"
                  : its.count == Circumstance::waits_again ? ": it waits again"
                                                           : "");
      }
      return add(now, "dissolved", words);
    case What::for_it:
      words.say("for its sake ").list(its, "more resizes", [&](const Other& other) {
        words.job(other).say(" goes from {} to {}", other.nodes, nodes_text(other.count));
      });
      return add(now, "for-it", words, its.why);
    case What::delays:
      words.say("that its request is granted delays ").list(its, "more", [&](const Other& other) {
        words.job(other).say(" by {}", duration_text(Duration{other.count}));
      });
      return add(now, "delays", words, its.why);
    case What::delayed:
      words.say("delayed by {}: the request of ", duration_text(Duration{its.count}));
      words.job(its.others.empty() ? Other{} : its.others.front()).say(" is granted");
      return add(now, "delayed", words, its.why);
    case What::start:
    case What::resize:
    case What::deny:
    case What::refused:
      return;
  }
}

// ---- How it stands
// --------------------------------------------------------------------------------

void Explainer::stands(JobId id, const Core& core, const PolicyMaker& make) {
  if (!core.state().jobs.contains(id)) return;
  const Job& its = core.job(id);
  if (its.status == Status::over) return;
  const Time now = core.state().now;
  if (its.status != Status::running) return explain_waiting(now, id, core, make);
  const auto tell = [&](std::string_view what, Words& words, std::string_view why = {}) {
    explanation_.now.push_back(
        {now, std::string(what), std::string(why), words.text(), words.jobs()});
  };
  Words words(*this);
  words.say("{}on {} since ", its.doing == Doing::starting ? "being started " : "",
            nodes_of(its.holding));
  words.time(its.started).say(", expected to end by ").time(core.state().expected_end(its));
  if (its.doing == Doing::resizing) words.say("; on its way to {}", nodes_text(its.target));
  if (its.doing == Doing::stopping) words.say("; about to leave them");
  tell("running", words);
  if (its.claim != ClaimId::none) {
    const Circumstance claim = claim_of(*core.state().find(its.claim), core);
    words.say("room is made for it to grow: ").sources(claim).say(", expected at ");
    tell("claim", words.time(claim.at), claim.why);
  }
  explain_running(now, id, core);
}

/// What a running job is to do, and waits for.
void Explainer::explain_running(Time now, JobId id, const Core& core) {
  const State& state = core.state();
  const Job& its = core.job(id);
  const auto tell = [&](std::string_view what, Words& words) {
    explanation_.now.push_back({now, std::string(what), {}, words.text(), words.jobs()});
  };
  const bool is_free = its.doing == Doing::nothing;
  Words words(*this);
  if (is_free && its.ordered != 0 && its.ordered != its.target) {
    words.say("it is ordered to have {}", nodes_text(its.ordered));
    if (now < its.not_before) {
      words.say(", and is left alone until ").time(its.not_before);
    } else if (its.ordered > its.target) {
      const Nodes more = its.ordered - its.target, idle = state.idle_for(its);
      words.say(", and waits until {} more are idle that it may use; {} {}", more, idle,
                is_or_are(idle));
    }
    tell("order", words);
  }
  const auto leaves = [&](const NodeSet& nodes) {
    const Nodes count = nodes.count();
    const Nodes there =
        state.idle_for(its) - state.open(its, state.idle.among(state.avoided(its, nodes))).count();
    if (now < its.not_before) {
      words.say("; it is left alone until ").time(its.not_before);
    } else {
      words.say("; it leaves them when {} {} idle that it may use, and {} {}", nodes_text(count),
                is_or_are(count), there, is_or_are(there));
    }
  };
  const auto order = std::ranges::find(state.moves, id, &MoveOrder::job);
  if (is_free && order != state.moves.end()) {
    const NodeSet nodes = state.can_leave(its, order->off);
    words.say("it is ordered to leave {}", nodes_of({nodes.count(), nodes}));
    leaves(nodes);
    tell("order", words);
  }
  const BookingId own = state.lanes[index(its.spec.lane)].where.booking;
  for (const Booking& booking : state.bookings) {
    const NodeSet nodes = intersection(its.holding.nodes, booking.nodes);
    if (!booking.has_begun || booking.id == own || nodes.empty()) continue;
    words.say("it is on {}, which are booked as {} since ", nodes_of({nodes.count(), nodes}),
              booking.name);
    words.time(booking.from);
    if (is_free && state.may_leave(its, nodes)) {
      leaves(state.can_leave(its, nodes));
    } else if (is_free) {
      words.put("; it stays there until it ends");
    }
    tell("booked", words);
  }
}

namespace {

/// Which nodes these are, if they are not all: " in batch, of those with gpu:2".
std::string place_text(const Where& where, const Platform& platform) {
  std::string text;
  if (!platform.partitions.empty()) text += " in " + partition_names(where.partitions, platform);
  std::vector<std::string> asked;
  if (where.each.cores > 0) asked.push_back(fmt::format("{} cores", where.each.cores));
  if (where.each.memory_mb > 0) asked.push_back(fmt::format("{} MB", where.each.memory_mb));
  if (const std::string things = things_text(where.each, platform); !things.empty()) {
    asked.push_back(things);
  }
  if (!asked.empty()) text += ", of those with " + listed(asked);
  if (!where.only.empty()) text += ", of the nodes " + to_string(where.only);
  if (!where.never.empty()) text += ", without the nodes " + to_string(where.never);
  return text;
}

}  // namespace

namespace {

/// Is there power by then for a start that has so many nodes?
bool has_power_at(Time at, const Job& job, Nodes nodes, const State& state) {
  if (state.budget_mw == State::kNoBudget) return true;
  const std::int64_t there_mw =
      state.free_power_mw() + Releases::Cursor(state.power_releases, state.now).until(at);
  return state.extra_power_mw(job, nodes) <= there_mw;
}

}  // namespace

void Explainer::explain_waiting(Time now, JobId id, const Core& core, const PolicyMaker& make) {
  const State& state = core.state();
  const Job& its = core.job(id);
  const auto tell = [&](std::string_view what, Words& words) {
    explanation_.now.push_back({now, std::string(what), {}, words.text(), words.jobs()});
  };
  Words words(*this);
  if (its.status == Status::held) {
    tell("held",
         words.say("it is {}, and takes no part in the queue", its.goes_on ? "suspended" : "held"));
    return;
  }
  if (const std::string lacks = core.lacks(); !lacks.empty()) {
    tell("lacks", words.say("nothing is decided: the policy {} needs what the cluster lacks, {}",
                            core.traits().settings, lacks));
    return;
  }
  if (its.claim != ClaimId::none) {
    const Circumstance claim = claim_of(*state.find(its.claim), core);
    words.say("room is made for it: ").sources(claim).say(", expected at ");
    tell("claim", words.time(claim.at));
    return;
  }

  if (state.awaits_booking(its)) {
    const Booking& booking = *state.find(state.lanes[index(its.spec.lane)].where.booking);
    words.say("it waits for the reservation {}, which begins at ", booking.name);
    tell("reservation", words.time(booking.from));
    return;
  }

  if (reign_) {
    say_reign(words);
    tell("policy", words);
  }
  const Nodes least = state.smallest(its);
  const Cells usable = state.usable_cells(its);
  const bool is_everywhere = state.cells.is_one();
  const Nodes there = is_everywhere ? state.platform.nodes : state.cells.count(usable);
  const Nodes idle = is_everywhere ? state.idle.count() : state.idle_for(its);
  const Nodes in_service = is_everywhere
                               ? there - state.not_up.count()
                               : difference(state.cells.nodes(usable), state.not_up).count();
  words.say("it asks for {}", nodes_text(its.spec.preferred));
  if (least < its.spec.preferred) words.say(", and can run on {}", least);
  words.say("; {} of {} {} idle", idle, there, is_or_are(idle));
  if (!is_everywhere)
    words.put(place_text(state.lanes[index(its.spec.lane)].where, state.platform));
  const Nodes elsewhere = state.idle.count() - std::min(idle, state.idle.count());
  if (idle < least && elsewhere > 0) {
    words.say("; {} {} idle where it may not run", elsewhere, is_or_are(elsewhere));
  }
  tell("nodes", words);
  if (!state.cells.is_whole() && state.lanes[index(its.spec.lane)].where.has_list()) {
    tell("crowded",
         words.put("so many sets of nodes are reserved and listed that it may have to do "
                   "without nodes that are not told apart from others"));
  }
  if (least > in_service) {
    tell("service",
         words.say("only {} {} in service", nodes_text(in_service), is_or_are(in_service)));
    return;
  }
  if (its.not_before > now) {
    tell("left-alone", words.say("it is left alone until ").time(its.not_before));
  }
  for (std::size_t i = 0; i < state.bookings.size(); ++i) {
    const Booking& booking = state.bookings[i];
    if (i + 1 == state.cells.booking_of(its.spec.lane)) {
      words.say("it is for the reservation {}", booking.name);
      if (booking.to != kNever) words.say(", which ends at ").time(booking.to);
      tell("reservation", words);
      if (const Time end = state.end_at(its, least); end > booking.until(now)) {
        words.say("its limit of {} reaches beyond the end of the reservation {}",
                  duration_text(end - now), booking.name);
        tell("limit", words);
        return;
      }
    } else if ((state.cells.booked(i) & usable) != 0 &&
               booking.overlaps(now, state.end_at(its, least))) {
      words.say("nodes {} are booked as {} from ", to_string(booking.nodes), booking.name);
      words.time(booking.from);
      if (booking.to != kNever) words.say(" to ").time(booking.to);
      tell("booked", words.say(", and now it would end at ").time(state.end_at(its, least)));
    }
  }
  const bool has_nodes = least <= idle;
  const bool exceeds_budget = state.exceeds_budget(its);
  const auto amount = [&](std::int64_t mw) {
    return amount_text(state.rules.budget, static_cast<double>(mw) / 1000);
  };
  const std::string_view draw = state.rules.budget == Budget::power ? "draw" : "take";
  const std::string_view more = state.rules.budget == Budget::power ? " more than idle ones" : "";
  if (exceeds_budget) {
    const bool is_corridor = state.corridor_low_w > 0 || !state.coming_corridors.empty();
    const Nodes first = state.smallest_start(its);
    words.say("{} of its nodes {} {}{}, and the {} leaves at most {} for one that runs alone",
              first, draw, amount(state.extra_power_mw(its, first)), more,
              state.rules.budget != Budget::power ? "budget"
              : is_corridor                       ? "power corridor"
                                                  : "power cap",
              amount(std::max<std::int64_t>(state.power_alone_mw(), 0)));
    tell("power", words);
  } else if (state.lacks_power_alone(its)) {
    const Nodes first = state.start_need(its).nodes;
    words.say("{} of its nodes {} {}{}, and {} are left", first, draw,
              amount(state.extra_power_mw(its, first)), more,
              amount(state.free_power_mw() - state.booked_power_mw(state.end_at(its, first))));
    tell("power", words);
  }

  std::optional<State> plan;
  std::string no_policy;
  try {
    plan.emplace(planned_now(core, *make(core.traits().settings)));
  } catch (const InputError& error) {
    no_policy = error.what();
  }
  Circumstance ahead;
  std::optional<Other> delayed;
  const Time end = later(now, state.estimate(its, least));
  // Who may run nowhere where it may is not in its way.
  const auto is_in_its_way = [&](const Job& other) {
    return is_everywhere || (state.usable_cells(other) & usable) != 0;
  };
  for (const Claim& claim : state.claims) {
    if (!is_in_its_way(core.job(claim.job))) continue;
    if (claim.start && state.queue.before(claim.job, core.job(claim.job).spec, id, its.spec)) {
      ductile::add(ahead, named(claim.job, core));
    }
  }
  for (JobId before = state.queue.front(); before != id && before != JobId::none;
       before = state.queue.after(before, core.job(before).spec)) {
    if (!is_in_its_way(core.job(before))) continue;
    Other other = named(before, core);
    if (plan && plan->jobs[before].status == Status::pending) {
      other.at = plan->jobs[before].reserved;
    }
    ductile::add(ahead, other);
    if (!delayed && other.at < end) delayed = other;
  }
  if (ahead.total == 0) {
    tell("first", words.put(is_everywhere ? "it is the first in the queue"
                                          : "it is the first of those that may run there"));
  } else {
    words.say("ahead of it in the queue: ");
    words.list(ahead, "more", [&](const Other& other) {
      words.job(other);
      if (other.at == kNever) return;
      words.put(other.at > now ? ", planned for " : ", planned from ").time(other.at);
    });
    tell("ahead", words);
  }
  if (has_nodes && delayed) {
    words.say("started now it could run until ").time(end).say(", and delay ").job(*delayed);
    tell("delays", words.say(", planned for ").time(delayed->at));
  }
  const Time planned =
      plan && plan->jobs[id].status == Status::pending ? plan->jobs[id].reserved : kNever;
  if (planned != kNever && planned > now) {
    words.say("it is planned to start at ").time(planned);
    words.releases(plan_of(id, planned, core));
    tell("plan", words);
  } else if (ahead.total == 0 && !has_nodes && !exceeds_budget) {
    // Its policy makes no plans: what has to end before there are enough.
    std::int64_t free = idle;
    Time enough = kNever;
    for (const ExpectedRelease& release : releases_in(usable, state)) {
      if (free < least && (free += release.nodes) >= least) {
        enough = release.at > now ? release.at : now + whole_seconds(1);
      }
    }
    if (enough != kNever && has_power_at(enough, its, least, state)) {
      words.say("enough nodes are expected at ").time(enough);
      words.releases(plan_of(id, enough, core));
      tell("enough", words);
    }
  } else if (plan) {
    words.say("no start of it is planned yet; the policy is {}", core.traits().settings);
    if (plan->cut_short) words.say(", which plans no more jobs in one pass");
    tell("no-plan", words);
  }
  if (!plan) tell("no-plan", words.say("what is planned cannot be told: {}", no_policy));
}

// ---- As text
// --------------------------------------------------------------------------------------

std::string simulated_time(Time time) { return seconds_text(time); }

Explainer::TimeText wall_clock(Time today) {
  const auto parts = [](Time time) {
    const auto since = static_cast<std::time_t>(
        std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count());
    std::tm local{};
    localtime_r(&since, &local);
    return local;
  };
  const std::tm day = parts(today);
  return [parts, day](Time time) {
    const std::tm local = parts(time);
    const bool same = local.tm_year == day.tm_year && local.tm_yday == day.tm_yday;
    std::array<char, 32> text{};
    const std::size_t size =
        std::strftime(text.data(), text.size(), same ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &local);
    return std::string(text.data(), size);
  };
}

std::string duration_text(Duration duration) {
  const double value = to_seconds(duration);
  if (value < 59.95) return fmt::format("{:g} s", std::round(value * 10) / 10);
  const std::int64_t all = std::llround(value);
  if (all < 3600) return fmt::format("{}:{:02} min", all / 60, all % 60);
  return fmt::format("{}:{:02}:{:02} h", all / 3600, all / 60 % 60, all % 60);
}

std::string to_text(const Explanation& explanation, const Explainer::TimeText& clock) {
  std::string text = fmt::format("job {}: {}\n", explanation.job, explanation.asked);
  std::vector<std::string> times;
  std::size_t width = 0;
  for (const Explained& line : explanation.history) {
    times.push_back(clock(line.at));
    width = std::max(width, times.back().size());
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    text += fmt::format("{:>{}}  {}\n", times[i], width, explanation.history[i].text);
  }
  if (explanation.now.empty()) return text;
  text +=
      fmt::format("At {} it {}{}:\n", clock(explanation.now.front().at),
                  explanation.state == "running" ? "runs" : "waits",
                  explanation.queue_reason.empty() ? "" : " (" + explanation.queue_reason + ")");
  for (const Explained& line : explanation.now) text += fmt::format("  - {}\n", line.text);
  return text;
}

std::string to_json(const Explanation& explanation) {
  const auto rows = [](const std::vector<Explained>& lines) {
    OrderedJson array = OrderedJson::array();
    for (const Explained& line : lines) {
      OrderedJson row{{"time_s", to_seconds(line.at)}, {"what", line.what}};
      row["reason"] = line.reason.empty() ? OrderedJson() : OrderedJson(line.reason);
      row["text"] = line.text;
      row["jobs"] = line.jobs;
      array.push_back(std::move(row));
    }
    return array;
  };
  const OrderedJson object{{"job", explanation.job},
                           {"asked", explanation.asked},
                           {"state", explanation.state},
                           {"history", rows(explanation.history)},
                           {"now", rows(explanation.now)}};
  return object.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Explanation explanation_from_json(const OrderedJson& json) {
  const auto lines = [&](const char* field) {
    std::vector<Explained> read;
    for (const OrderedJson& row : json.at(field)) {
      Explained line;
      line.at = Time(seconds(row.at("time_s").get<double>()));
      line.what = row.at("what");
      if (row.at("reason").is_string()) line.reason = row.at("reason");
      line.text = row.at("text");
      line.jobs = row.at("jobs").get<std::vector<std::uint64_t>>();
      read.push_back(std::move(line));
    }
    return read;
  };
  Explanation read;
  read.is_known = true;
  read.job = json.at("job");
  read.asked = json.at("asked");
  read.state = json.at("state");
  if (const OrderedJson reason = json.value("queue_reason", OrderedJson()); reason.is_string()) {
    read.queue_reason = reason;
  }
  read.history = lines("history");
  read.now = lines("now");
  return read;
}

}  // namespace ductile
