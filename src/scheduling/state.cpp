#include "scheduling/state.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace ductile {

Indices index(const Facts& facts) {
  Indices found;
  found.queue = Queue(facts.traits.order, facts.sorting);
  facts.jobs.for_each([&](JobId id) {
    const Job& job = facts.jobs[id];
    if (job.status != Status::pending || job.claim != ClaimId::none) return;
    found.queue.add(id, job.spec, facts.start_need(job));
  });
  for (std::uint32_t node = 0; node < facts.health.size(); ++node) {
    if (facts.health[node] != Health::up) found.not_up.insert(node, node);
    if (facts.health[node] == Health::draining) found.draining.insert(node, node);
  }
  found.idle = IdleNodes(facts.platform.nodes, facts.rules.identities);
  NodeSet nobodys = found.not_up;
  const bool has_budget = facts.budget_mw != Facts::kNoBudget;
  for (const JobId id : facts.running) {
    const Job& job = facts.jobs[id];
    if (sizes_while_running(job.spec.type)) ++found.running_malleable;
    found.held += job.holding.count;
    found.idle.take(job.holding);
    if (!nobodys.empty()) nobodys.erase(job.holding.nodes);
    const std::int64_t power = facts.extra_power_mw(job, job.holding.count);
    found.jobs_mw += power;
    if (has_budget) found.power_releases.insert(job.limit, ReleaseTag::of(id), power);
    Nodes sound = healthy(job.holding, found.not_up);
    if (job.doing == Doing::resizing && job.target < job.holding.count) {
      sound -= facts.find(job.decision)->releases;
    }
    found.releases.insert(job.limit, ReleaseTag::of(id), sound);
    const bool leaves = !found.draining.empty() && job.doing == Doing::nothing &&
                        facts.size_off(job, found.draining) != 0;
    if (leaves) found.leaving.push_back(id);
  }
  for (const Claim& claim : facts.claims) {
    found.claimed += claim.held.count;
    found.idle.take(claim.held);
    found.releases.insert(claim.release, ReleaseTag::of(claim.id),
                          claim.held.count + claim.pledged());
  }
  for (const Unanswered& open : facts.unanswered) {
    if (open.releases == 0) continue;
    found.releases.insert(open.expected, ReleaseTag::incoming(open.decision.job),
                          open.releases - open.pledged);
  }
  for (const Boot& boot : facts.boots) {
    found.releases.insert(boot.ready, ReleaseTag::boot(boot.batch), boot.nodes.count());
  }
  found.out_of_service = nobodys.count();
  found.idle.take({found.out_of_service, nobodys});
  found.answered = facts.asked - facts.unanswered.size();
  return found;
}

State::State(const Platform& machine, const Capabilities& can, const Rules& run, const Traits& its)
    : State([&] {
        Facts facts;
        facts.platform = machine;
        facts.capabilities = can;
        facts.rules = run;
        facts.traits = its;
        if (run.identities) facts.health.assign(machine.nodes, Health::up);
        return facts;
      }()) {}

State::State(Facts facts)
    : Facts(std::move(facts)), Indices(ductile::index(static_cast<const Facts&>(*this))) {
  pass_first = next_decision;
  for (std::size_t i = 0; i < running.size(); ++i) {
    put_running(running[i], i);
    Job& job = jobs[running[i]];
    job.release = job.limit;
    job.leaves = false;
  }
  for (const JobId id : leaving) jobs[id].leaves = true;
}

Duration Facts::estimate(const Job& job, Nodes n) const {
  if (n == job.spec.preferred || has_walltime_of_any_size(job)) return job.spec.walltime;
  return time_for_work(job, total_work(job.spec.preferred, job.spec.walltime), n);
}

Nodes Facts::smallest(const Job& job) const {
  if (!sizes_at_start(job.spec.type)) return job.spec.preferred;
  const Nodes n = constraint(job).at_least(job.spec.size.min);
  return n <= job.spec.size.max ? n : job.spec.preferred;
}

std::int64_t State::power_mw() const {
  const Nodes on = held + claimed + idle.count();
  return std::int64_t{on} * idle_mw() + jobs_mw;
}

Nodes State::largest(const Job& job, Nodes most, Nodes base, RequestId request) const {
  const std::int64_t each = budget_mw == kNoBudget ? 0 : extra_power_mw(job, 1);
  if (each > 0) {
    const std::int64_t more = std::max<std::int64_t>(free_power_mw(), 0) / each;
    most = static_cast<Nodes>(std::min<std::int64_t>(most, base + more));
  }
  if (base == 0) return largest_start(job, most);
  const bool bound = sizes_at_start(job.spec.type) && request == RequestId::none;
  const Nodes size = bound ? constraint(job).at_most(most) : most;
  return size > base ? size : 0;
}

Nodes State::largest_start(const Job& job, Nodes most) const {
  if (!sizes_at_start(job.spec.type)) return most;
  const Nodes size = constraint(job).at_most(most);
  return job.spec.preferred <= most ? std::max(size, job.spec.preferred) : size;
}

Nodes State::incoming() const {
  Nodes sum = 0;
  for (const Unanswered& u : unanswered) sum += u.releases - u.pledged;
  return sum;
}

Nodes Facts::size_off(const Job& job, const NodeSet& nodes) const {
  if (!sizes_while_running(job.spec.type)) return 0;
  NodeSet leaves = intersection(job.holding.nodes, nodes);
  if (job.keep != Job::kNoKeep) leaves.erase(NodeSet{{{job.keep, job.keep}}});
  if (leaves.empty()) return 0;
  const Nodes size =
      constraint(job).at_most(std::min(job.holding.count - leaves.count(), job.spec.size.max));
  return size >= job.spec.size.min ? size : 0;
}

bool State::resizable(JobId id) const {
  const Job& job = jobs[id];
  return job.status == Status::running && job.doing == Doing::nothing &&
         job.claim == ClaimId::none && job.ordered == 0 && now >= job.not_before &&
         sizes_while_running(job.spec.type) && world_can_resize(job);
}

Claim* Facts::find(ClaimId id) {
  const auto at = std::ranges::lower_bound(claims, id, {}, &Claim::id);
  return at != claims.end() && at->id == id ? &*at : nullptr;
}

Unanswered* Facts::find(DecisionId id) {
  const auto at = std::ranges::lower_bound(unanswered, id, {},
                                           [](const Unanswered& u) { return u.decision.id; });
  return at != unanswered.end() && at->decision.id == id ? &*at : nullptr;
}

void State::resort() {
  sorting = {now, {}};
  if (traits.order == QueueOrder::fairshare) {
    sorting.standings = uses.standings(now, traits.fair_share);
  }
  queue.resort(
      traits.order, now, jobs, [this](JobId id) { return start_need(jobs[id]); },
      sorting.standings);
}

void State::refresh_order() {
  if (!is_linear(traits.order)) {
    ++changes;
    resort();
    return;
  }
  sorting.at = now;
  if (queue.advance(now)) ++changes;
}

Decision& State::decide(Decision::Kind kind, JobId job, Reason reason, RequestId request) {
  ++changes;
  Decision& decision = decisions.emplace_back();
  decision.id = DecisionId{next_decision++};
  decision.kind = kind;
  decision.job = job;
  decision.reason = reason;
  decision.request = request;
  if (decision.answered()) {
    ++asked;
    if (kind != Decision::Kind::resize && capabilities.instant_start) {
      ++answered;
    } else {
      unanswered.emplace_back().decision = decision;
    }
  }
  return decision;
}

Decision& State::decision_of_pass(DecisionId id) {
  return decisions[decisions.size() - (next_decision - index(id))];
}

void State::run(JobId id, Holding nodes) {
  Job& job = jobs[id];
  job.status = Status::running;
  job.target = job.first_size = nodes.count;
  job.holding = std::move(nodes);
  job.started = job.work_at = now;
  job.limit = later(now, estimate(job, job.target));
  job.not_before = now + kTick;
  job.reserved = kNever;
  if (job.spec.type != JobType::rigid) {
    job.work_left = total_work(job.spec.preferred, job.spec.walltime);
    if (job.adaptive != Job::kNoRow) adaptive[job.adaptive].had.clear();
  }
  running.push_back(id);
  put_running(id, running.size() - 1);
  if (sizes_while_running(job.spec.type)) {
    put_running(running[running_malleable], running.size() - 1);
    put_running(id, running_malleable++);
  }
}

void State::put_running(JobId id, std::size_t place) {
  running[place] = id;
  jobs[id].running_at = static_cast<std::uint32_t>(place);
}

void State::start(JobId id, Holding nodes, Reason reason) {
  Job& job = jobs[id];
  run(id, std::move(nodes));
  Decision& decision = decide(Decision::Kind::start, id, reason);
  decision.after = job.holding;
  decision.limit = job.limit;
  job.doing = capabilities.instant_start ? Doing::nothing : Doing::starting;
  job.decision = decision.id;
  list(job, id);
  if (capabilities.instant_start) settle_delays(id);
}

void State::grow(JobId id, const Holding& more, Reason reason, RequestId request) {
  Job& job = jobs[id];
  const bool merges = in_pass(job);
  ++changes;
  before_change(job);
  Holding before = merges ? Holding{} : job.holding;
  job.holding.count += more.count;
  job.holding.nodes.insert(more.nodes);
  job.target = job.holding.count;
  if (merges) {
    Decision& decision = decision_of_pass(job.decision);
    decision.after = job.holding;
    if (decision.kind == Decision::Kind::start) {
      job.first_size = job.target;
      if (scales_limit(job)) {
        job.limit = decision.limit = later(job.started, estimate(job, job.target));
      }
    }
  } else {
    Decision& decision = decide(Decision::Kind::resize, id, reason, request);
    decision.after = job.holding;
    job.doing = Doing::resizing;
    job.decision = decision.id;
    unanswered.back().before = std::move(before);
    unanswered.back().expected = unanswered.back().decided = now;
  }
  after_change(job, id);
}

void State::shrink(JobId id, Nodes to, Reason reason, RequestId request) {
  Job& job = jobs[id];
  ++changes;
  before_change(job);
  if (!in_pass(job)) {
    job.decision = decide(Decision::Kind::resize, id, reason, request).id;
    job.doing = Doing::resizing;
    const AdaptiveSpec* spec = adaptive_spec(job);
    unanswered.back().before = job.holding;
    unanswered.back().decided = now;
    unanswered.back().expected = now + (spec ? spec->resize_delay : Duration{});
  } else {
    unlist_incoming(*find(job.decision));
  }
  job.target = to;
  Holding after = kept(job, to);
  Unanswered& u = *find(job.decision);
  u.releases = healthy(job.holding) - healthy(after);
  decision_of_pass(job.decision).after = std::move(after);
  after_change(job, id);
  list_incoming(u);
}

Holding State::kept(const Job& job, Nodes to) const {
  if (!rules.identities) return {to, {}};
  NodeSet rest = job.holding.nodes;
  if (job.keep != Job::kNoKeep) rest.erase(NodeSet{{{job.keep, job.keep}}});
  NodeSet sick = intersection(rest, not_up);
  Nodes give = job.holding.count - to;
  NodeSet given = sick.take_highest(std::min(give, sick.count()));
  rest.erase(given);
  give -= given.count();
  given.insert(rest.take_highest(give));
  return {to, difference(job.holding.nodes, given)};
}

void State::free_nodes(const Holding& nodes) {
  idle_grew = true;
  if (not_up.empty()) {
    idle.give(nodes);
    return;
  }
  NodeSet sound = difference(nodes.nodes, not_up);
  const Nodes count = sound.count();
  out_of_service += nodes.count - count;
  idle.give({count, std::move(sound)});
}

void State::release(JobId from, const Holding& nodes) {
  if (claims.empty()) {
    free_nodes(nodes);
    return;
  }
  Holding left = nodes;
  for (Claim& claim : claims) {
    const auto is_his = [&](const Pledge& pledge) { return pledge.victim == from; };
    if (std::ranges::none_of(claim.pledges, is_his)) continue;
    unlist(claim);
    for (const Pledge& pledge : claim.pledges) {
      if (!is_his(pledge)) continue;
      Holding fed{std::min(pledge.count, healthy(left)), {}};
      if (rules.identities) {
        NodeSet sound = difference(left.nodes, not_up);
        fed.nodes = sound.take_lowest(fed.count);
        left.nodes.erase(fed.nodes);
        claim.held.nodes.insert(fed.nodes);
      }
      left.count -= fed.count;
      claim.held.count += fed.count;
      claimed += fed.count;
    }
    std::erase_if(claim.pledges, is_his);
    list(claim);
  }
  free_nodes(left);
}

void State::seize(const Holding& nodes) {
  if (!rules.identities) {
    Nodes missing = nodes.count;
    const Nodes from_idle = std::min(missing, idle.count());
    idle.take(Holding{from_idle, {}});
    missing -= from_idle;
    for (auto claim = claims.rbegin(); missing > 0 && claim != claims.rend(); ++claim) {
      const Nodes n = std::min(missing, claim->held.count);
      unlist(*claim);
      claim->held.count -= n;
      claimed -= n;
      list(*claim);
      missing -= n;
    }
    if (missing > 0) throw std::logic_error("the world gave a job nodes that others hold");
    return;
  }
  NodeSet left = nodes.nodes;
  NodeSet from_idle = idle.among(left);
  left.erase(from_idle);
  const Nodes idle_count = from_idle.count();
  idle.take({idle_count, std::move(from_idle)});
  for (Claim& claim : claims) {
    if (left.empty()) break;
    NodeSet taken = intersection(claim.held.nodes, left);
    if (taken.empty()) continue;
    unlist(claim);
    const Nodes n = taken.count();
    claim.held.nodes.erase(taken);
    claim.held.count -= n;
    claimed -= n;
    list(claim);
    left.erase(taken);
  }
  // What is not up may be nobody's; anything else has an owner.
  if (left.empty()) return;
  const auto holds = [&](JobId id) { return jobs[id].holding.nodes.intersects(left); };
  if (!not_up.contains(left) || std::ranges::any_of(running, holds)) {
    throw std::logic_error("the world gave a job nodes that others hold");
  }
  out_of_service -= left.count();
}

void State::vacate(JobId id) {
  Job& job = jobs[id];
  unlist(job, id);
  const Holding mine = std::move(job.holding);
  std::size_t gap = job.running_at;
  if (gap < running_malleable) {
    put_running(running[--running_malleable], gap);
    gap = running_malleable;
  }
  const JobId last = running.back();
  running.pop_back();
  if (gap < running.size()) put_running(last, gap);
  if (std::exchange(job.leaves, false)) std::erase(leaving, id);
  job.holding = {};
  job.target = 0;
  job.keep = Job::kNoKeep;
  job.doing = Doing::nothing;
  release(id, mine);
}

void State::retire(JobId id) {
  Job& job = jobs[id];
  job.status = Status::over;
  if (job.adaptive != Job::kNoRow) free_rows.push_back(job.adaptive);
  if (job.ordered != 0) std::erase(ordered, id);
  std::erase_if(planned_delays, [&](const PlannedDelay& planned) { return planned.job == id; });
  jobs.retire(id);
}

void State::change_health(const NodeSet& nodes, Health to) {
  for (const Interval& part : nodes.parts) {
    std::fill(health.begin() + part.first, health.begin() + part.last + 1, to);
  }
  draining.erase(nodes);
  if (to == Health::draining) draining.insert(nodes);
  // Rows of the releases that depend on the health of held nodes.
  std::vector<JobId> touched;
  for (const JobId id : running) {
    if (jobs[id].holding.nodes.intersects(nodes)) touched.push_back(id);
  }
  for (const JobId id : touched) {
    before_change(jobs[id]);
    if (Unanswered* u = find(jobs[id].decision)) unlist_incoming(*u);
  }
  const NodeSet from_idle = idle.among(nodes);
  if (to == Health::up) {
    NodeSet back = intersection(not_up, nodes);
    not_up.erase(back);
    for (const JobId id : running) back.erase(jobs[id].holding.nodes);
    const Nodes count = back.count();
    out_of_service -= count;
    idle.give({count, std::move(back)});
    idle_grew = true;
  } else {
    not_up.insert(nodes);
    out_of_service += from_idle.count();
    idle.take({from_idle.count(), from_idle});
    for (Claim& claim : claims) {
      const NodeSet gone = intersection(claim.held.nodes, nodes);
      if (gone.empty()) continue;
      unlist(claim);
      claim.held.nodes.erase(gone);
      claim.held.count -= gone.count();
      claimed -= gone.count();
      out_of_service += gone.count();
      list(claim);
    }
  }
  for (const JobId id : touched) {
    Job& job = jobs[id];
    if (Unanswered* u = find(job.decision); u && job.target < job.holding.count) {
      const Holding& after = u->decision.after;
      u->releases = healthy(job.holding) - healthy(after);
      trim_pledges(*u);
      list_incoming(*u);
    }
    after_change(job, id);
  }
}

void State::trim_pledges(Unanswered& shrink) {
  for (auto claim = claims.rbegin(); claim != claims.rend(); ++claim) {
    for (Pledge& pledge : claim->pledges) {
      if (pledge.shrink != shrink.decision.id || shrink.pledged <= shrink.releases) continue;
      const Nodes less = std::min(pledge.count, shrink.pledged - shrink.releases);
      unlist(*claim);
      pledge.count -= less;
      shrink.pledged -= less;
      list(*claim);
    }
  }
}

void State::free_pledges(const Claim& claim) {
  for (const Pledge& pledge : claim.pledges) {
    Unanswered& shrink = *find(pledge.shrink);
    unlist_incoming(shrink);
    shrink.pledged -= pledge.count;
    list_incoming(shrink);
  }
}

bool State::feed_claims() {
  bool any = false;
  for (Claim& claim : claims) {
    const Nodes owed = claim.pledged();
    if (!fits_power(jobs[claim.job], claim.held.count + owed)) continue;
    const auto is_barrier = [](const Pledge& pledge) { return pledge.count == 0; };
    if (claim.pledges.empty() || owed > idle.count() ||
        std::ranges::any_of(claim.pledges, is_barrier)) {
      continue;
    }
    unlist(claim);
    free_pledges(claim);
    claim.pledges.clear();
    const Holding taken = idle.take(owed);
    claimed += owed;
    claim.held.count += owed;
    claim.held.nodes.insert(taken.nodes);
    list(claim);
    any = true;
  }
  return any;
}

void State::dissolve(ClaimId id) {
  Claim& claim = *find(id);
  Job& job = jobs[claim.job];
  free_pledges(claim);
  free_nodes(claim.held);
  claimed -= claim.held.count;
  claim.held = {};
  job.claim = ClaimId::none;
  if (claim.start) {
    job.target = 0;
    enqueue(claim.job, job);
  }
  if (claim.request != RequestId::none) forget_delays(claim.request);
  unlist(claim);
  remove_claim(id);
  must_wake = true;
  ++changes;
}

void State::remove_claim(ClaimId id) {
  std::erase_if(claims, [&](const Claim& claim) { return claim.id == id; });
}

void State::answer(DecisionId id) {
  const auto at = std::ranges::lower_bound(unanswered, id, {},
                                           [](const Unanswered& u) { return u.decision.id; });
  unlist_incoming(*at);
  unanswered.erase(at);
  ++answered;
}

namespace {

Wide weighed(Wide number, double rate) {
  return rate == 1 ? number : rounded(static_cast<double>(number) * rate);
}

}  // namespace

Work State::work_left_after(const Job& job, Nodes size, Duration worked) const {
  const Duration span = worked < Duration{} ? -worked : worked;
  const double rate = job.adaptive == Job::kNoRow ? 1 : adaptive[job.adaptive].rate;
  const Work work = weighed(work_done(speedup(job), job.spec.preferred, size, span), rate);
  if (worked >= Duration{}) return std::max(job.work_left - work, Work{0});
  const Work whole = total_work(job.spec.preferred, job.spec.walltime);
  return std::max(job.work_left, work < whole - job.work_left ? job.work_left + work : whole);
}

void State::note_progress(Job& job, Nodes size, Duration paused) {
  const Duration worked = now - job.work_at - std::min(paused, now - job.started);
  if (job.adaptive != Job::kNoRow) {
    Adaptive& row = adaptive[job.adaptive];
    auto at = std::ranges::find(row.had, size, &TimeHad::nodes);
    if (at == row.had.end()) at = row.had.insert(at, {.nodes = size});
    const Wide time = at->time.count() + weighed(worked.count(), row.rate);
    at->time = Duration{
        static_cast<std::int64_t>(std::clamp(time, Wide{0}, Wide{Duration::max().count()}))};
  }
  if (job.spec.type == JobType::rigid) return;
  job.work_left = work_left_after(job, size, worked);
  job.work_at = now;
}

void State::scale_limit(Job& job, Reason reason) {
  if (!scales_limit(job)) return;
  set_limit(job, later(now, time_for_work(job, job.work_left, job.holding.count)), reason);
}

void State::set_limit(Job& job, Time limit, Reason reason) {
  if (job.limit == limit) return;
  job.limit = limit;
  decide(Decision::Kind::set_limit, running[job.running_at], reason).limit = limit;
}

Time State::end_with(const Job& job, Duration walltime) const {
  if (job.spec.type == JobType::rigid) return later(job.started, walltime);
  if (!scales_limit(job)) return later(job.limit - job.spec.walltime, walltime);
  const Work more =
      total_work(job.spec.preferred, walltime) - total_work(job.spec.preferred, job.spec.walltime);
  const Work left = std::max(work_left(job) + more, Work{0});
  return later(now, time_for_work(job, left, settled(job).count));
}

template <class Change>
void State::change_need(JobId id, const Change& change) {
  const Job& job = jobs[id];
  const bool is_queued = job.status == Status::pending && job.claim == ClaimId::none;
  if (is_queued) queue.remove(id, job.spec);
  change();
  if (is_queued) enqueue(id, job);
}

void State::believe_power(JobId id, double watts_per_node) {
  Job& job = jobs[id];
  const bool runs = job.status == Status::running;
  if (runs) before_change(job);
  change_need(id, [&] { job.power_mw = milliwatts(watts_per_node); });
  if (runs) after_change(job, id);
}

void State::believe_walltime(JobId id, Duration walltime) {
  Job& job = jobs[id];
  if (job.status == Status::running) {
    unlist(job, id);
    job.limit = end_with(job, walltime);
    if (job.spec.type != JobType::rigid) {
      job.work_left += total_work(job.spec.preferred, walltime) -
                       total_work(job.spec.preferred, job.spec.walltime);
      job.work_left = std::max(job.work_left, Work{0});
    }
    list(job, id);
  }
  change_need(id, [&] { job.spec.walltime = walltime; });
}

void State::believe_model(JobId id, const Speedup& model) {
  Job& job = jobs[id];
  Adaptive& row = adaptive[job.adaptive];
  if (job.status != Status::running) {
    change_need(id, [&] { row.spec.speedup = model; });
    return;
  }
  unlist(job, id);
  row.spec.speedup = model;
  job.work_left = total_work(job.spec.preferred, job.spec.walltime);
  for (const TimeHad& had : row.had) {
    job.work_left -=
        std::min(job.work_left, work_done(model, job.spec.preferred, had.nodes, had.time));
  }
  if (scales_limit(job)) {
    job.limit = later(job.work_at, time_for_work(job, job.work_left, settled(job).count));
  }
  list(job, id);
}

bool State::is_visible(const Request& request) const {
  const Job& job = jobs[request.job];
  return job.status == Status::running && job.doing == Doing::nothing && job.claim == ClaimId::none;
}

void State::retry(Time at) {
  if (at <= now) return;
  const auto place = std::ranges::lower_bound(retries, at);
  if (place == retries.end() || *place != at) retries.insert(place, at);
}

Delays& State::delays_of(const Party& party) {
  const auto at = std::ranges::find(delays, party, &Delays::party);
  return at != delays.end() ? *at : *delays.insert(at, {.party = party});
}

void State::delay(const Delay& delay, const Request& request) {
  Job& job = jobs[delay.job];
  const bool is_first = job.delayed == Duration{};
  const std::int64_t interval = now.time_since_epoch() / rules.fairness.interval;
  job.delayed += delay.by;
  for (const Party& party : parties_of(job.spec)) {
    Delays& its = delays_of(party);
    its.sum_s = faded(its) + to_seconds(delay.by);
    its.interval = interval;
    its.jobs += is_first ? 1 : 0;
    its.planned_s += to_seconds(delay.by);
  }
  if (job.status != Status::pending && job.status != Status::held) return;
  for (PlannedDelay& older : planned_delays) {
    if (older.job == delay.job) older.to = std::min(older.to, delay.from);
  }
  planned_delays.push_back({delay.job, request.id, parties_of(jobs[request.job].spec), delay.from,
                            later(delay.from, delay.by), delay.by, interval});
}

void State::forget_delays(RequestId request) {
  std::erase_if(planned_delays, [&](const PlannedDelay& planned) {
    if (planned.request != request) return false;
    Job& job = jobs[planned.job];
    job.delayed -= planned.counted;
    const bool was_only = planned.counted > Duration{} && job.delayed == Duration{};
    for (const Party& party : parties_of(job.spec)) {
      Delays& its = delays_of(party);
      // It has faded as the sum has.
      const auto passed = static_cast<double>(its.interval - planned.interval);
      its.sum_s -= to_seconds(planned.counted) * std::pow(rules.fairness.decay, passed);
      its.sum_s = std::max(its.sum_s, 0.0);  // no rounding below nothing
      its.jobs -= was_only ? 1 : 0;
      its.planned_s -= to_seconds(planned.counted);
    }
    return true;
  });
}

void State::settle_delays(JobId id) {
  if (planned_delays.empty()) return;
  const Job& job = jobs[id];
  std::erase_if(planned_delays, [&](const PlannedDelay& planned) {
    if (planned.job != id) return false;
    const double came = to_seconds(std::min(job.started, planned.to) - planned.from);
    if (came > 0) {
      for (const Party& party : parties_of(job.spec)) delays_of(party).suffered_s += came;
      for (const Party& party : planned.by) delays_of(party).caused_s += came;
    }
    return true;
  });
}

double State::faded(const Delays& of) const {
  const std::int64_t passed = now.time_since_epoch() / rules.fairness.interval - of.interval;
  return of.sum_s * std::pow(rules.fairness.decay, static_cast<double>(passed));
}

void State::count(const Job& job, int sign) {
  const Nodes n = job.holding.count;
  held += sign > 0 ? n : -n;
  if (rules.counts_uses)
    uses.change(job.spec.user, sign * std::int64_t{n}, now, traits.fair_share.half_life);
  jobs_mw += sign * extra_power_mw(job, n);
}

Nodes State::sound_release(const Job& job) const {
  const Nodes sound = healthy(job.holding);
  const bool shrinks = job.doing == Doing::resizing && job.target < job.holding.count;
  return shrinks ? sound - find(job.decision)->releases : sound;
}

void State::look_for_draining(Job& job, JobId id) {
  if (draining.empty() || job.leaves || job.doing != Doing::nothing) return;
  if (size_off_draining(job) == 0) return;
  job.leaves = true;
  leaving.push_back(id);
}

void State::list(Job& job, JobId id) {
  job.release = job.limit;
  releases.insert(job.release, ReleaseTag::of(id), sound_release(job));
  if (budget_mw != kNoBudget) {
    power_releases.insert(job.release, ReleaseTag::of(id), extra_power_mw(job, job.holding.count));
  }
  count(job, 1);
  look_for_draining(job, id);
}

void State::unlist(const Job& job, JobId id) {
  releases.erase(job.release, ReleaseTag::of(id));
  if (budget_mw != kNoBudget) power_releases.erase(job.release, ReleaseTag::of(id));
  count(job, -1);
}

void State::before_change(const Job& job) { count(job, -1); }

void State::after_change(Job& job, JobId id) {
  const Time before = job.release;
  job.release = job.limit;
  releases.move(before, job.release, ReleaseTag::of(id), sound_release(job));
  if (budget_mw != kNoBudget) {
    power_releases.move(before, job.release, ReleaseTag::of(id),
                        extra_power_mw(job, job.holding.count));
  }
  count(job, 1);
  look_for_draining(job, id);
}

void State::list(Claim& claim) {
  releases.insert(claim.release, ReleaseTag::of(claim.id), claim.held.count + claim.pledged());
}

void State::unlist(const Claim& claim) { releases.erase(claim.release, ReleaseTag::of(claim.id)); }

void State::list_incoming(const Unanswered& shrink) {
  if (shrink.releases > 0) {
    releases.insert(shrink.expected, ReleaseTag::incoming(shrink.decision.job),
                    shrink.releases - shrink.pledged);
  }
}

void State::unlist_incoming(const Unanswered& shrink) {
  if (shrink.releases > 0) {
    releases.erase(shrink.expected, ReleaseTag::incoming(shrink.decision.job));
  }
}

void State::budget(double low_w, double high_w) {
  for (const JobId id : running) unlist(jobs[id], id);
  corridor_low_w = low_w;
  const bool was_bound = budget_mw != kNoBudget;
  budget_mw = std::isfinite(high_w) ? std::llround(high_w * 1000) : kNoBudget;
  for (const JobId id : running) list(jobs[id], id);
  if (was_bound != (budget_mw != kNoBudget)) {
    queue.renew([this](JobId id) { return start_need(jobs[id]); });
  }
}

}  // namespace ductile
