#include "report/circumstances.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <iterator>
#include <utility>
#include <variant>

#include "base/text.hpp"

namespace ductile {
namespace {

using What = Circumstance::What;
using Other = Circumstance::Other;

constexpr std::array<std::string_view, 10> kWhatWords{"start",   "resize",    "deny",   "plan",
                                                      "claim",   "dissolved", "for-it", "delays",
                                                      "delayed", "refused"};
constexpr std::array<std::string_view, 4> kOtherWords{"job", "shrinking", "boot", "reservation"};

/// So many plans of one instant have their releases.
constexpr std::size_t kMostPlans = 8;

Circumstance about(JobId id, What what, const Core& core, std::string_view why = {}) {
  return {.what = what, .job = core.job(id).spec.name, .why = std::string(why)};
}

/// Who releases power, and how many nodes he has.
std::vector<ExpectedRelease> releases_of_power(const State& state) {
  std::vector<ExpectedRelease> found;
  state.power_releases.for_each([&](Time at, ReleaseTag who, std::int64_t milliwatts) {
    if (milliwatts <= 0) return;
    if (who.kind() == ReleaseTag::Kind::claim) {
      who = ReleaseTag::of(state.find(ClaimId{who.id()})->job);
    }
    found.push_back({at, who, 0});
  });
  return found;
}

/// From whom nodes are expected that a job can use, or power, and when: one walk for all plans of
/// an instant that can use the same cells.
class Expected {
 public:
  explicit Expected(const Core& core) : core_(core) {}

  /// Those until the plan's time. What matters is what it waits for last: power, or the end of a
  /// reservation, if there are nodes before.
  void add_to(Circumstance& plan, JobId id) {
    const Time now = core_.state().now;
    if (plan.at == kNever || plan.at <= now) return;
    const Cells cells = cells_at(plan.at, id);
    const bool waits_for_nodes_only =
        core_.state().bookings.empty() && core_.state().budget_mw == State::kNoBudget;
    const bool has_nodes = !waits_for_nodes_only && has_nodes_before(plan.at, id, cells);
    const auto ends_then = [&](const Booking& its) { return its.to == plan.at; };
    if (has_nodes && std::ranges::any_of(core_.state().bookings, ends_then)) {
      return add(plan, {.kind = Other::Kind::reservation, .at = plan.at});
    }
    plan.flag = has_nodes && brings_power(plan.at);
    const std::vector<ExpectedRelease>& releases = plan.flag ? of_power_ : those_in(cells);
    const auto end_of = [&](Time time) {
      return std::ranges::partition_point(
          releases, [&](const ExpectedRelease& its) { return its.at <= time; });
    };
    const auto first = now + whole_seconds(1) <= plan.at ? releases.begin() : end_of(now);
    const auto end = end_of(plan.at);
    for (auto at = end; at != first && plan.total <= Circumstance::kMostNamed;) {
      const ExpectedRelease& its = *--at;
      Other other{.nodes = its.nodes};
      if (its.who.kind() == ReleaseTag::Kind::boot) {
        other.kind = Other::Kind::boot;
      } else {
        other = named(JobId{its.who.id()}, core_);
        if (its.who.kind() == ReleaseTag::Kind::incoming) other.kind = Other::Kind::shrinking;
      }
      other.at = when(its);
      add(plan, other);
    }
    plan.total = static_cast<std::size_t>(end - first);
  }

 private:
  /// Where the job can have nodes from then on: not where others have booked them for its time.
  Cells cells_at(Time from, JobId id) const {
    const State& state = core_.state();
    const Job& job = state.jobs[id];
    Cells its = state.usable_cells(job);
    const Time end = later(from, state.start_need(job).walltime);
    for (std::size_t i = 0; i < state.bookings.size(); ++i) {
      if (i + 1 != state.cells.booking_of(job.spec.lane) && state.bookings[i].overlaps(from, end)) {
        its &= ~state.cells.booked(i);
      }
    }
    return its;
  }
  /// Are enough of them idle, or expected earlier?
  bool has_nodes_before(Time at, JobId id, Cells cells) {
    const State& state = core_.state();
    std::int64_t nodes = state.cells.is_one() ? state.idle.count() : state.idle_in(cells, nullptr);
    for (const ExpectedRelease& its : those_in(cells)) {
      if (when(its) < at) nodes += its.nodes;
    }
    return nodes >= state.start_need(state.jobs[id]).nodes;
  }
  /// Is power expected then?
  bool brings_power(Time at) {
    const State& state = core_.state();
    if (of_power_.empty() && state.budget_mw != State::kNoBudget) {
      of_power_ = releases_of_power(state);
    }
    return std::ranges::any_of(of_power_, [&](const auto& its) { return when(its) == at; });
  }
  /// What should have come by now is expected in a second.
  Time when(const ExpectedRelease& its) const {
    const Time now = core_.state().now;
    return its.at > now ? its.at : now + whole_seconds(1);
  }
  const std::vector<ExpectedRelease>& those_in(Cells cells) {
    const auto [at, is_new] = by_cells_.try_emplace(cells);
    if (is_new) at->second = releases_in(cells, core_.state());
    return at->second;
  }

  const Core& core_;
  std::map<Cells, std::vector<ExpectedRelease>> by_cells_;
  std::vector<ExpectedRelease> of_power_;
};

}  // namespace

JobId job_of(const Event& event) {
  return std::visit(
      [](const auto& its) {
        if constexpr (requires {
                        { its.job } -> std::convertible_to<JobId>;
                      }) {
          return its.job;
        } else {
          return JobId::none;
        }
      },
      event);
}

bool is_about_all(const Event& event) {
  return std::holds_alternative<event::ConfigChanged>(event) ||
         std::holds_alternative<event::MachineChanged>(event) ||
         std::holds_alternative<event::CorridorChanged>(event);
}

Other named(JobId id, const Core& core) {
  Other other;
  if (!core.state().jobs.knows(id)) return other;
  const Job& job = core.job(id);
  other.number = job.spec.name;
  // What it holds; if it waits, what it asks for.
  other.nodes = job.status == Status::running ? job.holding.count : job.spec.preferred;
  return other;
}

void add(Circumstance& circumstance, Other other) {
  if (++circumstance.total <= Circumstance::kMostNamed + 1) {
    circumstance.others.push_back(other);
  }
}

Circumstance claim_of(const Claim& claim, const Core& core) {
  Circumstance made = about(claim.job, What::claim, core, word(claim.reason.why));
  made.flag = claim.start;
  made.count = claim.held.count;
  made.at = claim.expected;
  for (const Pledge& pledge : claim.pledges) {
    Other other = named(pledge.victim, core);
    other.count = pledge.count;
    add(made, other);
  }
  return made;
}

std::vector<ExpectedRelease> releases_in(Cells cells, const State& state) {
  std::vector<ExpectedRelease> found;
  const auto add = [&](Time at, ReleaseTag who, std::int64_t nodes) {
    if (nodes == 0) return;
    if (who.kind() == ReleaseTag::Kind::claim) {
      who = ReleaseTag::of(state.find(ClaimId{who.id()})->job);
    }
    found.push_back({at, who, nodes});
  };
  if (state.cells.is_one()) {
    state.releases.for_each(add);
  } else {
    for_each_cell(cells, [&](std::uint32_t cell) { state.releases_in(cell).for_each(add); });
  }
  // What one job gives at one time, of several cells or with what it claims, is one row.
  const auto key = [](const ExpectedRelease& its) { return std::pair(its.at, its.who.bits()); };
  if (!std::ranges::is_sorted(found, {}, key)) std::ranges::sort(found, {}, key);
  std::size_t last = 0;
  for (std::size_t i = 1; i < found.size(); ++i) {
    if (key(found[last]) == key(found[i])) {
      found[last].nodes += found[i].nodes;
    } else {
      found[++last] = found[i];
    }
  }
  found.resize(std::min(last + 1, found.size()));
  return found;
}

Circumstance plan_of(JobId id, Time at, const Core& core) {
  Circumstance plan = about(id, What::plan, core);
  plan.at = at;
  Expected(core).add_to(plan, id);
  return plan;
}

std::string to_record(const Circumstance& circumstance) {
  std::string text(kWhatWords[static_cast<std::size_t>(circumstance.what)]);
  const auto number = [&](std::string_view name, std::int64_t value) {
    text.append(" ").append(name);
    append_number(text, value);
  };
  if (!circumstance.why.empty()) text += " why=" + circumstance.why;
  if (circumstance.flag) text += " yes";
  if (circumstance.count != 0) number("count=", circumstance.count);
  if (circumstance.at != kNever) number("at=", circumstance.at.time_since_epoch().count());
  if (circumstance.total > circumstance.others.size()) {
    number("total=", static_cast<std::int64_t>(circumstance.total));
  }
  for (const Other& other : circumstance.others) {
    text.append(" ").append(kOtherWords[static_cast<std::size_t>(other.kind)]).append("=");
    append_number(text, other.number);
    text += ':';
    append_number(text, other.nodes);
    text += ':';
    append_number(text, other.count);
    if (other.at != kNever) {
      text += ':';
      append_number(text, other.at.time_since_epoch().count());
    }
  }
  return text;
}

std::optional<Circumstance> circumstance_from_record(std::uint64_t job, std::string_view text) {
  const auto what = from_word<What>(kWhatWords, next_part(text, ' '));
  if (!what) return std::nullopt;
  Circumstance read{.what = *what, .job = job};
  bool is_sound = true;
  const auto number = [&](std::string_view word) {
    const auto value = parse_number<std::int64_t>(word);
    is_sound = is_sound && value.has_value();
    return value.value_or(0);
  };
  while (!text.empty()) {
    std::string_view rest = next_part(text, ' ');
    const std::string_view name = next_part(rest, '=');
    if (name == "yes") {
      read.flag = true;
    } else if (name == "why") {
      read.why = rest;
    } else if (name == "count") {
      read.count = number(rest);
    } else if (name == "at") {
      read.at = Time{Duration{number(rest)}};
    } else if (name == "total") {
      read.total = static_cast<std::size_t>(number(rest));
    } else if (const auto kind = from_word<Other::Kind>(kOtherWords, name)) {
      Other other{.kind = *kind};
      other.number = static_cast<std::uint64_t>(number(next_part(rest, ':')));
      other.nodes = number(next_part(rest, ':'));
      other.count = number(next_part(rest, ':'));
      if (!rest.empty()) other.at = Time{Duration{number(rest)}};
      read.others.push_back(other);
    } else {
      is_sound = false;
    }
  }
  read.total = std::max(read.total, read.others.size());
  return is_sound ? std::optional(read) : std::nullopt;
}

/// The waiting jobs in their order: one walk for all that are backfilled in a close.
class Circumstances::Ahead {
 public:
  explicit Ahead(const Core& core) : core_(core) {
    core.state().queue.for_each([&](JobId id) {
      if (core.job(id).reserved != kNever) planned_.push_back(jobs_.size());
      jobs_.push_back(id);
    });
  }

  /// How many were ahead of the job that starts, and those whose planned start it must not delay.
  void add_to(Circumstance& start, JobId id) const {
    const auto end = std::ranges::partition_point(jobs_, [&](JobId other) {
      return core_.state().queue.before(other, core_.job(other).spec, id, core_.job(id).spec);
    });
    const auto count = static_cast<std::size_t>(end - jobs_.begin());
    start.count = static_cast<std::int64_t>(count);
    for (const std::size_t at : planned_) {
      if (at >= count || start.total > Circumstance::kMostNamed) break;
      Other planned = named(jobs_[at], core_);
      planned.at = core_.job(jobs_[at]).reserved;
      add(start, planned);
    }
    start.total =
        static_cast<std::size_t>(std::ranges::lower_bound(planned_, count) - planned_.begin());
  }

 private:
  const Core& core_;
  std::vector<JobId> jobs_;
  std::vector<std::size_t> planned_;  // which of them have a plan
};

Circumstances::Circumstances(const Core& core) {
  note_claims(core);
  for (const Request& request : core.state().requests) requests_[request.id] = request.job;
}

void Circumstances::note_claims(const Core& core) {
  claims_.clear();
  for (const Claim& claim : core.state().claims) {
    if (wants(claim.job)) claims_[claim.id] = {claim.job, claim.request};
  }
}

std::vector<Circumstance> Circumstances::after(const Event& event, const Core& core) {
  std::vector<Circumstance> found;
  const auto gives_up = [&](JobId id, bool does = true) {
    if (does) gave_up_.push_back(id);
  };
  if (const auto* eligible = std::get_if<event::Eligible>(&event)) {
    gives_up(eligible->job, !eligible->yes);
  } else if (const auto* started = std::get_if<event::Started>(&event)) {
    gives_up(started->job, started->answers == DecisionId::none);
  } else if (const auto* ordered = std::get_if<event::SizeOrdered>(&event)) {
    gives_up(ordered->job, ordered->size != 0);
  } else if (const auto* moved = std::get_if<event::MoveOrdered>(&event)) {
    gives_up(moved->job, !moved->off.empty());
  } else if (const auto* stopped = std::get_if<event::StopOrdered>(&event)) {
    gives_up(stopped->job, stopped->how.has_value());
  } else if (const auto* request = std::get_if<event::EvolvingRequested>(&event)) {
    requests_[request->id] = request->job;
  } else if (const auto* withdrawn = std::get_if<event::EvolvingWithdrawn>(&event)) {
    const auto asked = requests_.find(withdrawn->id);
    if (asked != requests_.end()) gives_up(asked->second);
  } else if (const auto* resized = std::get_if<event::Resized>(&event)) {
    gives_up(resized->job, resized->answers == DecisionId::none);
    const Time alone = core.job(resized->job).not_before;
    if (wants(resized->job) && resized->answers != DecisionId::none &&
        alone > core.state().now + kTick) {
      found.push_back(about(resized->job, What::refused, core));
      found.back().at = alone;
    }
  }
  return found;
}

std::vector<Circumstance> Circumstances::at_close(std::span<const Decision> decisions,
                                                  const Core& core) {
  std::vector<Circumstance> found;
  std::optional<Ahead> ahead;
  for (const Decision& decision : decisions) {
    if (decision.job != JobId::none && wants(decision.job)) decided(decision, core, ahead, found);
  }
  of_claims(decisions, core, found);
  of_calls(core, found);
  note_claims(core);
  gave_up_.clear();
  std::erase_if(requests_, [&](const auto& asked) {
    return std::ranges::find(core.state().requests, asked.first, &Request::id) ==
           core.state().requests.end();
  });
  return found;
}

void Circumstances::decided(const Decision& decision, const Core& core, std::optional<Ahead>& ahead,
                            std::vector<Circumstance>& found) const {
  using Kind = Decision::Kind;
  const State& state = core.state();
  const JobId id = decision.job;
  if (decision.kind == Kind::start) {
    const bool was_claimed =
        std::ranges::any_of(claims_, [&](const auto& claim) { return claim.second.job == id; }) &&
        std::ranges::none_of(core.pen_calls(), [&](const PenCall& call) {
          return (call.verb == PenCall::Verb::start && call.job == id) ||
                 std::ranges::find(call.gains, id, &Gain::job) != call.gains.end();
        });
    const bool is_ahead = decision.reason.why == Why::backfilled;
    if (!was_claimed && !is_ahead) return;
    Circumstance start = about(id, What::start, core);
    start.flag = was_claimed;
    if (is_ahead && !ahead) ahead.emplace(core);
    if (is_ahead) ahead->add_to(start, id);
    found.push_back(std::move(start));
  } else if (decision.kind == Kind::resize || decision.kind == Kind::cores || decision.stops()) {
    Circumstance resize = about(id, What::resize, core);
    const Unanswered* const open = state.find(decision.id);
    resize.count = open != nullptr ? open->before.count : core.job(id).holding.count;
    const JobId whom = decision.reason.job;
    if (whom != JobId::none && whom != id && state.jobs.knows(whom)) {
      Other other = named(whom, core);
      if (core.job(whom).status != Status::running) other.at = core.job(whom).spec.submitted;
      add(resize, other);
    }
    found.push_back(std::move(resize));
  } else if (decision.kind == Kind::deny) {
    found.push_back(about(id, What::deny, core));
    found.back().count = state.idle.count();
  }
}

/// Claims that were made, and those that came to nothing.
void Circumstances::of_claims(std::span<const Decision> decisions, const Core& core,
                              std::vector<Circumstance>& found) {
  const State& state = core.state();
  for (const auto& [id, waits] : claims_) {
    if (state.find(id) != nullptr || !state.jobs.knows(waits.job)) continue;
    const Job& its = core.job(waits.job);
    const bool was_decided =
        std::ranges::any_of(decisions, [&, whose = waits.job](const Decision& decision) {
          if (decision.job != whose) return false;
          if (decision.kind == Decision::Kind::start) return true;
          const Unanswered* const open = state.find(decision.id);
          return decision.kind == Decision::Kind::resize &&
                 decision.after.count >
                     (open != nullptr ? open->before.count : core.job(whose).holding.count);
        });
    if (was_decided) continue;
    const bool is_withdrawn = std::ranges::any_of(core.pen_calls(), [&, claim = id](auto& call) {
      return call.verb == PenCall::Verb::withdraw && call.claim == claim;
    });
    const bool gave_up = is_withdrawn || std::ranges::find(gave_up_, waits.job) != gave_up_.end();
    Circumstance dissolved = about(waits.job, What::dissolved, core);
    dissolved.count = gave_up                         ? Circumstance::gave_up
                      : its.doing != Doing::nothing   ? Circumstance::is_busy
                      : its.status == Status::running ? Circumstance::stays
                                                      : Circumstance::waits_again;
    found.push_back(std::move(dissolved));
  }
  for (const Claim& claim : state.claims) {
    if (claims_.contains(claim.id) || !wants(claim.job)) continue;
    found.push_back(claim_of(claim, core));
  }
  // Shrinks of others for the sake of a job that has no claim.
  for (const Decision& decision : decisions) {
    const JobId whom = decision.reason.job;
    if (decision.kind != Decision::Kind::resize || whom == JobId::none || whom == decision.job ||
        !wants(whom) || !state.jobs.knows(whom) || core.job(whom).claim != ClaimId::none ||
        std::ranges::any_of(claims_, [&](const auto& c) { return c.second.job == whom; })) {
      continue;
    }
    const std::uint64_t number = core.job(whom).spec.name;
    auto at = std::ranges::find_if(found, [&](const Circumstance& other) {
      return other.what == What::for_it && other.job == number;
    });
    if (at == found.end()) {
      found.push_back(about(whom, What::for_it, core, word(decision.reason.why)));
      at = std::prev(found.end());
    }
    Other other = named(decision.job, core);
    const Unanswered* const open = state.find(decision.id);
    other.count = decision.after.count;
    if (open != nullptr) other.nodes = open->before.count;
    add(*at, other);
  }
}

void Circumstances::of_calls(const Core& core, std::vector<Circumstance>& found) const {
  const State& state = core.state();
  std::size_t plans = 0;
  std::optional<Expected> expected;
  const auto calls = core.pen_calls();
  for (const PenCall& call : calls) {
    if (call.verb == PenCall::Verb::grant && !call.delays.empty()) {
      const auto asked = requests_.find(call.request);
      if (asked == requests_.end()) continue;
      if (wants(asked->second)) {
        Circumstance delays = about(asked->second, What::delays, core, word(call.reason.why));
        for (const Delay& delay : call.delays) {
          Other other = named(delay.job, core);
          other.count = delay.by.count();
          add(delays, other);
        }
        found.push_back(std::move(delays));
      }
      for (const Delay& delay : call.delays) {
        if (delay.job == asked->second || !wants(delay.job)) continue;
        Circumstance delayed = about(delay.job, What::delayed, core, word(call.reason.why));
        delayed.count = delay.by.count();
        add(delayed, named(asked->second, core));
        found.push_back(std::move(delayed));
      }
    }
    if (call.verb != PenCall::Verb::reserve || !wants(call.job) || plans == kMostPlans) continue;
    // A pass may plan more than once, and then start it.
    if (!state.jobs.knows(call.job)) continue;
    const Job& its = core.job(call.job);
    const bool stands =
        its.status == Status::pending && its.claim == ClaimId::none && its.reserved == call.time;
    if (!stands) continue;
    const bool is_last = std::none_of(&call + 1, calls.data() + calls.size(), [&](auto& later) {
      return later.verb == PenCall::Verb::reserve && later.job == call.job;
    });
    if (!is_last) continue;
    Circumstance plan = about(call.job, What::plan, core, word(call.reason.why));
    plan.at = call.time;
    if (!expected) expected.emplace(core);
    expected->add_to(plan, call.job);
    found.push_back(std::move(plan));
    ++plans;
  }
}

}  // namespace ductile
