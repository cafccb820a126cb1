#include "report/explanation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/fairness.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNamed = 4;  // others, one by one; the rest are counted

std::string nodes_text(Nodes count) {
  return fmt::format("{} {}", count, count == 1 ? "node" : "nodes");
}

/// What a job holds; if it waits, what it asks for.
Nodes nodes_of(const Job& job) {
  return job.status == Status::running ? job.holding.count : job.spec.preferred;
}

std::string on_nodes(const State& state, const Holding& holding) {
  const std::string which =
      state.rules.identities ? fmt::format(" ({})", to_string(holding.nodes)) : "";
  return nodes_text(holding.count) + which;
}

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
State planned_now(const Core& core) {
  State state = core.state();
  state.rules.record = state.rules.check = false;
  state.memo = {};
  state.woken = kEveryEvent;
  state.pass_first = state.next_decision;
  for (JobId id = state.queue.front(); id != JobId::none;
       id = state.queue.after(id, state.jobs[id].spec)) {
    state.jobs[id].reserved = kNever;
  }
  Pass pass(state);
  core.policy().schedule(pass);
  return state;
}

}  // namespace

/// A text that notes whom it names.
class Explainer::Words {
 public:
  Words(const Explainer& explainer, const Core& core) : explainer_(explainer), core_(core) {}

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
  Words& job(JobId id) {
    if (id == *explainer_.id_) return say("this job");
    if (!core_.state().jobs.contains(id)) return say("a job that is over");
    const Job& job = core_.job(id);
    jobs_.push_back(job.spec.name);
    return say("job {} ({})", job.spec.name, nodes_text(nodes_of(job)));
  }
  /// Between the parts of a list.
  Words& between(std::size_t place, std::size_t size) {
    return say("{}", place == 0 ? "" : place + 1 == size ? " and " : ", ");
  }
  /// One after the other, the first of them by name: `each(item)` says one.
  template <class Items, class Each>
  Words& list(const Items& items, const std::string& others, Each each) {
    const std::size_t named = items.size() > kMostNamed + 1 ? kMostNamed : items.size();
    const std::size_t parts = named + (named < items.size() ? 1 : 0);
    for (std::size_t i = 0; i < named; ++i) {
      between(i, parts);
      each(items[i]);
    }
    if (named < items.size()) {
      between(named, parts).say("{} {}", items.size() - named, others);
    }
    return *this;
  }
  /// What is expected to come free by a time.
  Words& releases_until(Time time);
  /// Where the nodes of a claim come from.
  Words& sources(const Claim& claim);

  const Core& core() const { return core_; }
  std::string text() { return std::exchange(text_, {}); }
  std::vector<std::uint64_t> jobs() { return std::exchange(jobs_, {}); }

 private:
  const Explainer& explainer_;
  const Core& core_;
  std::string text_{};
  std::vector<std::uint64_t> jobs_{};
};

Explainer::Words& Explainer::Words::releases_until(Time until) {
  struct Release {
    Time at;
    ReleaseTag::Kind kind;
    JobId job;
    std::int64_t nodes;
  };
  const State& state = core_.state();
  std::vector<Release> releases;
  state.releases.for_each([&](Time at, ReleaseTag who, std::int64_t nodes) {
    // What should have come by now is expected in a second.
    const Time expected = at > state.now ? at : state.now + whole_seconds(1);
    if (expected > until || nodes == 0) return;
    // What is claimed for a running job comes with what that job holds.
    JobId whose{who.id()};
    if (who.kind() == ReleaseTag::Kind::claim) {
      const auto claim = std::ranges::find(state.claims, ClaimId{who.id()}, &Claim::id);
      if (!claim->start) return;
      whose = claim->job;
    }
    releases.push_back({expected, who.kind(), whose, nodes});
  });
  if (releases.empty()) return *this;
  // All that matters is what the plan waits for last.
  std::ranges::reverse(releases);
  say(", by when nodes are expected of ");
  return list(releases, "more", [&](const Release& release) {
    if (release.kind == ReleaseTag::Kind::boot) {
      say("{} that boot", nodes_text(static_cast<Nodes>(release.nodes)));
    } else {
      put(release.kind == ReleaseTag::Kind::incoming ? "the shrinking " : "").job(release.job);
    }
    say(" at ").time(release.at);
  });
}

Explainer::Words& Explainer::Words::sources(const Claim& claim) {
  const auto gives = [&](const Pledge& pledge) {
    if (pledge.count == 0) {
      job(pledge.victim).say(" shrinks first");
    } else {
      job(pledge.victim).say(" gives {}", pledge.count);
    }
  };
  list(claim.pledges, "more jobs give some", gives);
  if (claim.held.count > 0) {
    say("{}{} {} kept for it", claim.pledges.empty() ? "" : "; ", nodes_text(claim.held.count),
        claim.held.count == 1 ? "is" : "are");
  }
  return *this;
}

Explainer::Explainer(std::uint64_t job, TimeText clock) : clock_(std::move(clock)) {
  explanation_.job = job;
}

void Explainer::add(Time now, std::string_view what, Words& words, std::string_view reason) {
  if (what != "plan") plans_ = 0;
  explanation_.history.push_back(
      {now, std::string(what), std::string(reason), words.text(), words.jobs()});
}

const Job* Explainer::job(const Core& core) const {
  return id_ && core.state().jobs.contains(*id_) ? &core.job(*id_) : nullptr;
}

/// Did the policy write this about the job, or about its claim, in the instant that is closed?
bool Explainer::is_in_pass(PenCall::Verb verb, const Core& core) const {
  return std::ranges::any_of(core.pen_calls(), [&](const PenCall& call) {
    return call.verb == verb &&
           (call.job == *id_ || (call.claim != ClaimId::none && call.claim == claim_));
  });
}

// ---- What happened
// --------------------------------------------------------------------------------

void Explainer::on_event(Time now, const Event& event, bool taken, const Core& core) {
  if (!taken) return;
  if (const auto* its = std::get_if<event::Submitted>(&event)) {
    if (!id_ && its->job.name == explanation_.job) {
      id_ = JobId{core.state().jobs.size() - 1};
      submitted(now, core);
    }
    return;
  }
  if (const auto* request = std::get_if<event::EvolvingRequested>(&event)) {
    requests_[request->id] = request->job;
  } else if (const auto* withdrawn = std::get_if<event::EvolvingWithdrawn>(&event)) {
    const auto asked = requests_.find(withdrawn->id);
    gave_up_ = gave_up_ || (asked != requests_.end() && id_ && asked->second == *id_);
  }
  if (!id_ || explanation_.state == "over") return;
  Words words(*this, core);
  if (const auto* config = std::get_if<event::ConfigChanged>(&event)) {
    add(now, "policy", words.say("the policy is now {}", config->policy->settings));
    return;
  }
  const JobId whose = std::visit(
      [](const auto& its) {
        if constexpr (requires { its.job; } &&
                      !std::is_same_v<std::decay_t<decltype(its)>, event::Submitted>) {
          return its.job;
        } else {
          return JobId::none;
        }
      },
      event);
  if (whose != *id_) return;

  if (const auto* eligible = std::get_if<event::Eligible>(&event)) {
    gave_up_ = gave_up_ || !eligible->yes;
    add(now, eligible->yes ? "released" : "held",
        words.say("{}", eligible->yes ? "released: it waits in the queue" : "held"));
  } else if (const auto* started = std::get_if<event::Started>(&event)) {
    tell_started(now, *started, core);
  } else if (std::holds_alternative<event::StartFailed>(event)) {
    open_.reset();
    explanation_.state = "waiting";
    words.say("could not be started: it waits again, and is left alone until ");
    add(now, "start-failed", words.time(core.job(*id_).not_before));
  } else if (const auto* resized = std::get_if<event::Resized>(&event)) {
    tell_resized(now, *resized, core);
  } else if (const auto* ended = std::get_if<event::Ended>(&event)) {
    tell_ended(now, *ended);
  } else if (const auto* request = std::get_if<event::EvolvingRequested>(&event)) {
    const auto delta = static_cast<Nodes>(std::abs(request->delta));
    words.say("asks for {} {}", nodes_text(delta), request->delta > 0 ? "more" : "fewer");
    if (request->at_least != 0) words.say(", at least {}", request->at_least);
    add(now, "request", words);
  } else if (const auto* ordered = std::get_if<event::SizeOrdered>(&event)) {
    gave_up_ = gave_up_ || ordered->size != 0;
    if (ordered->size == 0) {
      words.say("the order of a size is lifted");
    } else {
      words.say("it is ordered to have {}", nodes_text(ordered->size));
    }
    add(now, "ordered", words);
  } else if (const auto* altered = std::get_if<event::Altered>(&event)) {
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
          words.say("it is measured to be {:.3g} times as long in MPI as it computes",
                    believed->mtct));
    }
  }
}

void Explainer::submitted(Time now, const Core& core) {
  explanation_.is_known = true;
  const Job* its = job(core);
  if (!its) {  // rejected, and gone
    add(now, "submitted", Words(*this, core).say("submitted"));
    return;
  }
  const JobSpec& spec = its->spec;
  explanation_.asked = spec.type == JobType::rigid
                           ? fmt::format("rigid, {}", nodes_text(spec.preferred))
                           : fmt::format("{}, {} ({} to {})", word(spec.type),
                                         nodes_text(spec.preferred), spec.size.min, spec.size.max);
  explanation_.asked += ", " + duration_text(spec.walltime);
  add(now, "submitted", Words(*this, core).say("submitted: {}", explanation_.asked));
}

void Explainer::tell_started(Time now, const event::Started& started, const Core& core) {
  const Job& its = core.job(*id_);
  Words words(*this, core);
  if (started.answers == DecisionId::none) {
    gave_up_ = true;
    words.say("runs on {}: somebody else started it", on_nodes(core.state(), its.holding));
  } else if (open_ && open_->after == its.holding.count && now - open_->at < whole_seconds(1)) {
    started_ = now;
    open_.reset();
    return;  // nothing that the start has not told
  } else {
    words.say("runs on {}", on_nodes(core.state(), its.holding));
  }
  explanation_.state = "running";
  started_ = now;
  open_.reset();
  add(now, "started", words);
}

void Explainer::tell_resized(Time now, const event::Resized& resized, const Core& core) {
  const Job& its = core.job(*id_);
  Words words(*this, core);
  const std::string now_has = on_nodes(core.state(), its.holding);
  if (resized.answers == DecisionId::none || !open_) {
    gave_up_ = was_unasked_ = true;
    words.say("has {} now, which nobody ordered", now_has);
  } else if (open_->after == its.holding.count) {
    const bool at_once = open_->at == now;
    open_.reset();
    if (at_once) return;
    words.say("has {} now", now_has);
  } else if (its.holding.count == open_->before) {
    words.say("keeps {}: it did not do the resize", now_has);
    if (its.not_before > now + kTick) words.say(", and is left alone until ").time(its.not_before);
    open_.reset();
  } else {
    words.say("has {} now, where {} were ordered", now_has, open_->after);
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

void Explainer::on_decision(Time now, const Decision& decision, const Core& core) {
  if (!id_) return;
  if (decision.job != *id_) {
    const bool is_for_it = decision.kind == Decision::Kind::resize && decision.reason.job == *id_;
    if (is_for_it) for_it_.push_back(decision);
    return;
  }
  Words words(*this, core);
  using Kind = Decision::Kind;
  switch (decision.kind) {
    case Kind::start:
      explain_start(now, decision, core);
      break;
    case Kind::resize:
      explain_resize(now, decision, core);
      break;
    case Kind::deny:
      explain_deny(now, decision, core);
      break;
    case Kind::set_limit:
      words.say("is now expected to end by ").time(decision.limit);
      add(now, "limit", words, was_unasked_ ? std::string_view() : word(decision.reason.why));
      break;
    case Kind::reject:
      explanation_.state = "over";
      words.say("rejected: it can never run on this machine, which has {}",
                nodes_text(core.state().platform.nodes));
      add(now, "rejected", words, word(decision.reason.why));
      break;
    case Kind::power_on:
    case Kind::power_off:
      break;
  }
}

void Explainer::explain_start(Time now, const Decision& decision, const Core& core) {
  const State& state = core.state();
  const Job& its = core.job(*id_);
  const bool was_claimed = claim_ != ClaimId::none && !is_in_pass(PenCall::Verb::start, core);
  was_decided_ = true;
  started_ = now;
  explanation_.state = "running";
  if (!state.capabilities.instant_start) {
    open_ = Open{decision.id, 0, decision.after.count, now};
  }
  Words words(*this, core);
  words.say("starts on {}", on_nodes(state, decision.after));
  const Duration waited = now - its.spec.submitted;
  switch (decision.reason.why) {
    case Why::in_order:
      words.put(was_claimed ? ": the nodes freed for it are there" : ": it was its turn");
      break;
    case Why::backfilled: {
      words.say(": backfilled");
      // Those ahead of it whose planned start it must not delay.
      std::vector<JobId> planned;
      std::size_t ahead = 0;
      for (JobId id = state.queue.front(); id != JobId::none;
           id = state.queue.after(id, core.job(id).spec)) {
        if (!state.queue.before(id, core.job(id).spec, *id_, its.spec)) break;
        ++ahead;
        if (core.job(id).reserved != kNever) planned.push_back(id);
      }
      if (ahead > 0) words.say(" before {} {} ahead of it", ahead, ahead == 1 ? "job" : "jobs");
      if (!planned.empty()) {
        words.say("; of these ").list(planned, "more", [&](JobId id) {
          words.job(id).say(" is planned for ").time(core.job(id).reserved);
        });
      }
      break;
    }
    case Why::shrunk_for:
      words.say(": the nodes freed for it are there");
      break;
    default:
      words.say(" ({})", word(decision.reason.why));
  }
  if (waited > Duration{}) words.say("; it had waited {}", duration_text(waited));
  add(now, "start", words, word(decision.reason.why));
}

void Explainer::explain_resize(Time now, const Decision& decision, const Core& core) {
  const State& state = core.state();
  const auto open = std::ranges::find(state.unanswered, decision.id,
                                      [](const Unanswered& u) { return u.decision.id; });
  const Nodes before =
      open != state.unanswered.end() ? open->before.count : core.job(*id_).holding.count;
  const Nodes after = decision.after.count;
  const bool grows = after > before;
  was_decided_ = was_decided_ || grows;
  open_ = Open{decision.id, before, after, now};

  Words words(*this, core);
  words.say("{} from {} to {}", grows ? "grows" : "shrinks", before, nodes_text(after));
  const JobId whom = decision.reason.job;
  const bool names = whom != JobId::none && whom != *id_;
  switch (decision.reason.why) {
    case Why::shrunk_for:
    case Why::dependency_expand:
      if (names && state.jobs.contains(whom)) {
        const Job& other = core.job(whom);
        const bool waits = other.status != Status::running;
        words.say(" so that ").job(whom).put(waits ? " can start" : " can grow");
        if (grows) words.say(" earlier");
        const Duration waited = now - other.spec.submitted;
        if (waits && waited > Duration{}) {
          words.say(", which has waited {}", duration_text(waited));
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
    case Why::corridor:
      words.say(" to keep the power corridor");
      break;
    default:
      words.say(" ({})", word(decision.reason.why));
  }
  add(now, "resize", words, word(decision.reason.why));
}

void Explainer::explain_deny(Time now, const Decision& decision, const Core& core) {
  Words words(*this, core);
  words.say("its request is denied: ");
  if (decision.reason.why == Why::fairness) {
    words.say("it would delay others by more than the rules allow ({})",
              to_text(core.state().rules.fairness));
  } else {
    words.say("{} of {} {} idle, and no others can be had", core.state().idle.count(),
              nodes_text(core.state().platform.nodes),
              core.state().idle.count() == 1 ? "is" : "are");
  }
  add(now, "deny", words, word(decision.reason.why));
}

void Explainer::explain_reserve(Time now, const PenCall& call, const Core& core) {
  Words words(*this, core);
  if (call.time == kNever) {
    words.say("no time is known at which it could start");
  } else if (call.time <= now) {
    words.say("planned to start as soon as other jobs have given up nodes");
  } else {
    words.say("planned to start at ").time(call.time).releases_until(call.time);
  }
  // A plan may change with every event: the first and the last one in a row are told.
  if (plans_ >= 2) explanation_.history.pop_back();
  ++plans_;
  const std::uint64_t plans = plans_;
  if (plans > 2) words.say("; changed {} times since the first plan", plans - 1);
  add(now, "plan", words, word(call.reason.why));
}

void Explainer::explain_claim(Time now, const Core& core) {
  const auto claim = std::ranges::find(core.state().claims, claim_, &Claim::id);
  Words words(*this, core);
  words.say("room is made for it to {}: ", claim->start ? "start" : "grow").sources(*claim);
  add(now, "claim", words, word(claim->reason.why));
}

void Explainer::explain_delays(Time now, const PenCall& call, const Core& core) {
  const auto asked = requests_.find(call.request);
  if (asked == requests_.end()) return;
  Words words(*this, core);
  if (asked->second == *id_) {
    words.say("that its request is granted delays ")
        .list(call.delays, "more", [&](const Delay& delay) {
          words.job(delay.job).say(" by {}", duration_text(delay.by));
        });
    add(now, "delays", words, word(call.reason.why));
    return;
  }
  const auto delay = std::ranges::find(call.delays, *id_, &Delay::job);
  if (delay == call.delays.end()) return;
  words.say("delayed by {}: the request of ", duration_text(delay->by)).job(asked->second);
  add(now, "delayed", words.say(" is granted"), word(call.reason.why));
}

void Explainer::on_close(Time now, const Core& core) {
  const Job* its = job(core);
  const ClaimId claim = its ? its->claim : ClaimId::none;
  if (claim != claim_) {
    const bool had = claim_ != ClaimId::none;
    const bool is_withdrawn = is_in_pass(PenCall::Verb::withdraw, core);
    if (had && !was_decided_ && its && its->status != Status::over) {
      Words words(*this, core);
      if (gave_up_ || is_withdrawn) {
        words.say("it waits no longer for the nodes that were to be freed for it");
      } else {
        const bool runs = its->status == Status::running;
        words.say("the nodes that were to be freed for it did not come");
        if (its->doing == Doing::nothing)
          words.say(": it {}", runs ? "stays as it is" : "waits again");
      }
      add(now, "dissolved", words);
    }
    claim_ = claim;
    if (claim_ != ClaimId::none) explain_claim(now, core);
  } else if (!for_it_.empty() && claim_ == ClaimId::none && its) {
    Words words(*this, core);
    words.say("for its sake ").list(for_it_, "more resizes", [&](const Decision& decision) {
      const auto open = std::ranges::find(core.state().unanswered, decision.id,
                                          [](const Unanswered& u) { return u.decision.id; });
      words.job(decision.job);
      if (open != core.state().unanswered.end()) words.say(" goes from {}", open->before.count);
      words.say(" to {}", nodes_text(decision.after.count));
    });
    add(now, "for-it", words, word(for_it_.front().reason.why));
  }
  for_it_.clear();
  was_decided_ = gave_up_ = was_unasked_ = false;
  if (!its) return;
  const PenCall* last_plan = nullptr;
  for (const PenCall& call : core.pen_calls()) {
    if (call.verb == PenCall::Verb::reserve && call.job == *id_) last_plan = &call;
  }
  for (const PenCall& call : core.pen_calls()) {
    if (call.verb == PenCall::Verb::reserve && call.job == *id_) {
      // A pass may plan more than once, and then start it.
      const bool stands = its->status == Status::pending && its->claim == ClaimId::none &&
                          its->reserved == call.time;
      if (stands && &call == last_plan) explain_reserve(now, call, core);
    } else if (call.verb == PenCall::Verb::grant && !call.delays.empty()) {
      explain_delays(now, call, core);
    }
  }
}

// ---- How it stands
// --------------------------------------------------------------------------------

void Explainer::on_finish(Time, const Core& core) {
  const Job* its = job(core);
  if (!its || its->status == Status::over) return;
  const Time now = core.state().now;
  std::vector<Explained>& lines = explanation_.now;
  if (its->status != Status::running) return explain_waiting(now, core);
  Words words(*this, core);
  words.say("{}on {} since ", its->doing == Doing::starting ? "being started " : "",
            on_nodes(core.state(), its->holding));
  words.time(its->started).say(", expected to end by ");
  words.time(core.state().expected_end(*its));
  if (its->doing == Doing::resizing) words.say("; on its way to {}", nodes_text(its->target));
  lines.push_back({now, "running", {}, words.text(), words.jobs()});
  if (its->claim != ClaimId::none) {
    const auto claim = std::ranges::find(core.state().claims, its->claim, &Claim::id);
    Words more(*this, core);
    more.say("room is made for it to grow: ").sources(*claim).say(", expected at ");
    more.time(claim->expected);
    lines.push_back({now, "claim", std::string(word(claim->reason.why)), more.text(), more.jobs()});
  }
}

void Explainer::explain_waiting(Time now, const Core& core) {
  const State& state = core.state();
  const Job& its = core.job(*id_);
  const auto tell = [&](std::string_view what, Words& words) {
    explanation_.now.push_back({now, std::string(what), {}, words.text(), words.jobs()});
  };
  Words words(*this, core);
  if (its.status == Status::held) {
    tell("held", words.say("it is held, and takes no part in the queue"));
    return;
  }
  if (its.claim != ClaimId::none) {
    const auto claim = std::ranges::find(state.claims, its.claim, &Claim::id);
    words.say("room is made for it: ").sources(*claim).say(", expected at ");
    tell("claim", words.time(claim->expected));
    return;
  }

  const Nodes least = state.smallest(its);
  const Nodes in_service = state.platform.nodes - state.not_up.count();
  words.say("it asks for {}", nodes_text(its.spec.preferred));
  if (least < its.spec.preferred) words.say(", and can run on {}", least);
  words.say("; {} of {} {} idle", state.idle.count(), state.platform.nodes,
            state.idle.count() == 1 ? "is" : "are");
  tell("nodes", words);
  if (least > in_service) {
    tell("service", words.say("only {} {} in service", nodes_text(in_service),
                              in_service == 1 ? "is" : "are"));
    return;
  }
  if (its.not_before > now) {
    tell("left-alone", words.say("it is left alone until ").time(its.not_before));
  }
  const bool has_nodes = least <= state.idle.count();
  if (has_nodes && !state.fits_power(its, least)) {
    words.say("{} of its nodes draw {:g} W more than idle ones, and {:g} W are left", least,
              static_cast<double>(state.extra_power_mw(its, least)) / 1000,
              static_cast<double>(state.free_power_mw()) / 1000);
    tell("power", words);
  }

  const State plan = planned_now(core);
  std::vector<JobId> ahead, planned;
  for (const Claim& claim : state.claims) {
    if (claim.start && state.queue.before(claim.job, core.job(claim.job).spec, *id_, its.spec)) {
      ahead.push_back(claim.job);
    }
  }
  for (JobId id = state.queue.front(); id != *id_ && id != JobId::none;
       id = state.queue.after(id, core.job(id).spec)) {
    ahead.push_back(id);
    const Job& then = plan.jobs[id];
    if (then.status == Status::pending && then.reserved != kNever) planned.push_back(id);
  }
  if (ahead.empty()) {
    tell("first", words.say("it is the first in the queue"));
  } else {
    words.say("ahead of it in the queue: ");
    words.list(ahead, "more", [&](JobId id) {
      words.job(id);
      if (std::ranges::find(planned, id) == planned.end()) return;
      words.put(plan.jobs[id].reserved > now ? ", planned for " : ", planned from ");
      words.time(plan.jobs[id].reserved);
    });
    tell("ahead", words);
  }

  const Time end = later(now, state.estimate(its, least));
  if (has_nodes) {
    const auto delays = [&](JobId id) { return plan.jobs[id].reserved < end; };
    const auto delayed = std::ranges::find_if(planned, delays);
    if (delayed != planned.end()) {
      words.say("started now it could run until ").time(end).say(", and delay ").job(*delayed);
      tell("delays", words.say(", planned for ").time(plan.jobs[*delayed].reserved));
    }
  }
  const Job& then = plan.jobs[*id_];
  if (then.status == Status::pending && then.reserved != kNever && then.reserved > now) {
    words.say("it is planned to start at ").time(then.reserved).releases_until(then.reserved);
    tell("plan", words);
  } else if (ahead.empty() && !has_nodes) {
    // Its policy makes no plans: what has to end before there are enough.
    std::int64_t free = state.idle.count();
    Time enough = kNever;
    state.releases.for_each([&](Time at, ReleaseTag, std::int64_t nodes) {
      if (free < least && (free += nodes) >= least) {
        enough = at > now ? at : now + whole_seconds(1);
      }
    });
    if (enough != kNever) {
      words.say("enough nodes are expected at ").time(enough).releases_until(enough);
      tell("enough", words);
    }
  } else {
    tell("no-plan",
         words.say("no start of it is planned yet; the policy is {}", core.policy().settings));
  }
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
    Json array = Json::array();
    for (const Explained& line : lines) {
      Json row{{"time_s", to_seconds(line.at)}, {"what", line.what}};
      row["reason"] = line.reason.empty() ? Json() : Json(line.reason);
      row["text"] = line.text;
      row["jobs"] = line.jobs;
      array.push_back(std::move(row));
    }
    return array;
  };
  const Json object{{"job", explanation.job},
                    {"asked", explanation.asked},
                    {"state", explanation.state},
                    {"history", rows(explanation.history)},
                    {"now", rows(explanation.now)}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Explanation explanation_from_json(const Json& json) {
  const auto lines = [&](const char* field) {
    std::vector<Explained> read;
    for (const Json& row : json.at(field)) {
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
  if (const Json reason = json.value("queue_reason", Json()); reason.is_string()) {
    read.queue_reason = reason;
  }
  read.history = lines("history");
  read.now = lines("now");
  return read;
}

}  // namespace ductile
