#include "scheduling/fair_grants.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ductile {
namespace {

/// Logs give this number to users they do not know. A job of one is nobody's own.
constexpr std::uint32_t kUnknownUser = 0;

/// What the rules set for a user, a group or an account.
DelayLimits limits_of(const Fairness& fairness, const Party& party) {
  DelayLimits limits;
  const auto own = std::ranges::find(fairness.exceptions, party, &Fairness::Exception::party);
  if (own != fairness.exceptions.end()) limits = own->limits;
  if (party.kind != Party::Kind::user) return limits;
  if (!limits.single) limits.single = fairness.everybody.single;
  if (!limits.target) limits.target = fairness.everybody.target;
  limits.permitted = limits.permitted && fairness.everybody.permitted;
  return limits;
}

/// The delays of one grant against the rules.
class Judge {
 public:
  explicit Judge(const Pass& pass) : pass_(pass), rules_(pass.fairness()) {}

  bool allows(JobId id, Duration delay) {
    const auto parties = parties_of(pass_.job(id).spec);
    return std::ranges::all_of(parties,
                               [&](const Party& party) { return allows(id, delay, party); });
  }

 private:
  bool allows(JobId id, Duration delay, const Party& party) {
    using Policy = Fairness::Policy;
    const DelayLimits limits = limits_of(rules_, party);
    if (!limits.permitted) return false;
    const bool asks_single = rules_.policy == Policy::single || rules_.policy == Policy::both;
    if (asks_single && limits.single && pass_.delay_of(id) + delay > *limits.single) return false;
    const bool asks_target = rules_.policy == Policy::target || rules_.policy == Policy::both;
    if (!asks_target || !limits.target) return true;
    // Unknown users are not one user: each of their jobs counts alone.
    if (party.kind == Party::Kind::user && party.number == kUnknownUser) {
      return pass_.delay_of(id) + delay <= *limits.target;
    }
    auto at = std::ranges::find(sums_, party, &std::pair<Party, Duration>::first);
    if (at == sums_.end()) at = sums_.insert(at, {party, pass_.delay_of(party)});
    at->second += delay;
    return at->second <= *limits.target;
  }

  const Pass& pass_;
  const Fairness& rules_;
  std::vector<std::pair<Party, Duration>> sums_;
};

/// What a plan with several cells has less by a grant: idle nodes first, then what the cuts give.
Spread taken_by(const Pass& pass, const Request& request, Nodes nodes, std::span<const Cut> cuts) {
  const Cells cells = pass.open_cells(request.job);
  Spread taken;
  const auto take = [&](std::uint32_t cell, Nodes there) {
    const Nodes n = (cells >> cell & 1) != 0 ? std::min(nodes, there) : 0;
    taken.add(cell, n);
    nodes -= n;
  };
  for (const std::uint32_t cell : pass.cells_in_order()) take(cell, pass.idle_of(cell));
  for (const Cut& cut : cuts) {
    for (const auto& [cell, count] : pass.gives_by_cell(cut).parts) take(cell, count);
  }
  return taken;
}

/// The idle nodes that are left when jobs of the plan have started.
class IdleLeft {
 public:
  explicit IdleLeft(const Pass& pass) : pass_(pass), all_(pass.idle()) {
    if (pass.cell_count() == 1) return;
    for (std::uint32_t cell = 0; cell < pass.cell_count(); ++cell)
      of_.push_back(pass.idle_of(cell));
  }
  /// Takes them, if there are as many.
  bool take(JobId id, Nodes n) {
    if (of_.empty()) {
      if (n > all_) return false;
      all_ -= n;
      return true;
    }
    const Cells cells = pass_.open_cells(id);
    Nodes there = 0;
    for_each_cell(cells, [&](std::uint32_t cell) { there += of_[cell]; });
    if (n > there) return false;
    for (const std::uint32_t cell : pass_.cells_in_order()) {
      if ((cells >> cell & 1) == 0) continue;
      const Nodes its = std::min(n, of_[cell]);
      of_[cell] -= its;
      n -= its;
    }
    return true;
  }

 private:
  const Pass& pass_;
  Nodes all_;
  std::vector<Nodes> of_;  // by cell, where there are several
};

}  // namespace

std::optional<std::vector<Delay>> fair_delays(Pass& pass, const Request& request, Nodes nodes,
                                              Backfill plan, std::span<const Cut> cuts) {
  std::vector<Delay> delays;
  const Fairness& rules = pass.fairness();
  if (rules.policy == Fairness::Policy::none || nodes == 0 || pass.pending() == 0) return delays;
  Timeline without = timeline_for(pass, plan), with = without;
  const bool one_cell = pass.cell_count() == 1;
  if (!plan.extra_is_free) {
    for (const Cut& cut : cuts) {
      const Time end = pass.expected_end(cut.victim);
      if (one_cell) {
        with.add(pass.now(), end, pass.job(cut.victim).size() - cut.to);
      } else {
        with.add(pass.now(), end, pass.gives_by_cell(cut), 1);
      }
    }
  }
  if (const Time end = pass.expected_end(request.job); one_cell) {
    with.add(pass.now(), end, -std::int64_t{nodes});
  } else {
    with.add(pass.now(), end, taken_by(pass, request, nodes, cuts), -1);
  }

  Judge judge(pass);
  const std::uint32_t user = pass.job(request.job).spec.user;
  PlanDepth depth(pass, rules.depth != 0 ? rules.depth : plan.reservation_depth);
  IdleLeft idle(pass);
  for (JobId id = JobId::none; (id = depth.next(pass, id)) != JobId::none;) {
    const Time before = reserve_earliest(pass, without, id);
    const Time after = reserve_earliest(pass, with, id);
    const bool starts_now = before == pass.now() && idle.take(id, pass.start_need(id).nodes);
    if (!starts_now) depth.made(pass, id);
    if (after <= before) continue;
    if (!rules.own_jobs && user != kUnknownUser && pass.job(id).spec.user == user) continue;
    if (after == kNever) return std::nullopt;
    if (!judge.allows(id, after - before)) return std::nullopt;
    delays.push_back({id, after - before, before});
  }
  depth.end(pass);
  return delays;
}

Grant grant_fairly(Pass& pass, const Request& request, Backfill plan, const Sources& sources,
                   Why why) {
  const auto all = static_cast<Nodes>(std::max(request.delta, 0));
  const Nodes least = request.at_least == 0 ? all : std::min(request.at_least, all);
  const JobId id = request.job;
  Nodes there = pass.idle(id) + (sources.incoming ? pass.incoming(id) : 0);
  for (const Cut& cut : sources.cuts) {
    there += pass.cell_count() == 1 ? pass.job(cut.victim).size() - cut.to : pass.adds(cut, id);
  }
  if (there < least) return Grant::lacking;
  const auto delays = fair_delays(pass, request, std::min(all, there), plan, sources.cuts);
  if (!delays) return Grant::unfair;
  const bool granted = pass.grant(request.id, {why, request.job}, sources, *delays);
  return granted ? Grant::done : Grant::lacking;
}

void deny(Pass& pass, const Request& request, Grant why) {
  pass.deny(request.id, {why == Grant::unfair ? Why::fairness : Why::resources});
}

std::vector<Request> requests_now(Pass& pass) {
  std::vector<Request> now;
  for (const Request& request : pass.requests()) {
    const Time not_before = pass.job(request.job).not_before;
    if (not_before <= pass.now()) {
      now.push_back(request);
    } else {
      pass.wake_by(not_before);
    }
  }
  return now;
}

void grant_from_idle(Pass& pass, Backfill plan) {
  for (const Request& request : requests_now(pass)) {
    const Sources sources{.incoming = request.delta > 0};
    const Grant result = grant_fairly(pass, request, plan, sources);
    if (result != Grant::done) deny(pass, request, result);
  }
}

}  // namespace ductile
