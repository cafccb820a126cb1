#include "scheduling/invariants.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ductile {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw InvariantViolation(what);
}

std::string name(JobId id) { return "job " + std::to_string(index(id)); }

void require(bool holds, const char* what, JobId id) {
  if (!holds) throw InvariantViolation(std::string(what) + ": " + name(id));
}

// (a), (b)
void check_nodes(const State& state) {
  NodeSet owners;
  const auto own = [&](const NodeSet& nodes, JobId id) {
    require(!owners.intersects(nodes), "a node has two owners", id);
    owners.insert(nodes);
  };
  for (const JobId id : state.running) {
    const Job& job = state.jobs[id];
    if (!state.rules.identities) continue;
    require(job.holding.nodes.count() == job.holding.count, "nodes and count differ", id);
    own(job.holding.nodes, id);
  }
  for (const Claim& claim : state.claims) {
    if (!state.rules.identities) continue;
    require(claim.held.nodes.count() == claim.held.count, "nodes and count differ", claim.job);
    require(!claim.held.nodes.intersects(state.not_up), "a claim holds nodes that are not up",
            claim.job);
    own(claim.held.nodes, claim.job);
  }
  if (state.rules.identities) {
    const NodeSet idle = state.idle.nodes();
    require(idle.count() == state.idle.count(), "idle nodes and their count differ");
    require(!idle.intersects(state.not_up), "an idle node is not up");
    own(idle, JobId::none);
  }
}

// (c), (d)
void check_claims(const State& state) {
  std::map<DecisionId, Nodes> pledged;
  for (const Claim& claim : state.claims) {
    const Job& job = state.jobs[claim.job];
    require(job.claim == claim.id, "a claim whose job does not know it", claim.job);
    require(job.status == (claim.start ? Status::pending : Status::running) &&
                job.doing == Doing::nothing,
            "the beneficiary of a claim is busy", claim.job);
    for (const Pledge& pledge : claim.pledges) {
      const Unanswered* shrink = state.find(pledge.shrink);
      require(shrink && shrink->decision.job == pledge.victim, "a pledge without a shrink",
              claim.job);
      require(pledge.victim != claim.job, "a job cut for itself", claim.job);
      require(state.jobs[pledge.victim].claim == ClaimId::none, "a victim waits itself",
              pledge.victim);
      pledged[pledge.shrink] += pledge.count;
    }
  }
  for (const Unanswered& u : state.unanswered) {
    require(u.pledged == pledged[u.decision.id], "sum of pledges", u.decision.job);
    require(u.pledged <= u.releases, "more promised than will be released", u.decision.job);
  }
}

// (e), (f)
void check_answers(const State& state) {
  std::size_t waiting = 0;
  for (const JobId id : state.running) {
    const Job& job = state.jobs[id];
    if (job.doing == Doing::nothing) continue;
    ++waiting;
    const Unanswered* u = state.find(job.decision);
    require(u && u->decision.job == id, "a job waits for no answer", id);
  }
  require(waiting == state.unanswered.size(), "an unanswered decision that no job names");
}

// (h)
void check_jobs(const State& state) {
  std::size_t queued = 0;
  JobId last = JobId::none;
  state.queue.for_each([&](JobId id) {
    ++queued;
    const Job& job = state.jobs[id];
    require(job.status == Status::pending && job.claim == ClaimId::none,
            "a job in the queue does not wait", id);
    require(last == JobId::none || state.queue.before(last, state.jobs[last].spec, id, job.spec),
            "the queue is out of order", id);
    last = id;
  });
  require(queued == state.queue.size(), "size of the queue");
  require(state.queue.order() == state.traits.order, "the queue has another order");
  for (const PlannedDelay& planned : state.planned_delays) {
    const bool waits =
        state.jobs.contains(planned.job) && (state.jobs[planned.job].status == Status::held ||
                                             state.jobs[planned.job].status == Status::pending ||
                                             state.jobs[planned.job].doing == Doing::starting);
    require(waits, "a planned delay of a job that does not wait", planned.job);
  }
  std::size_t leaving = 0;
  for (std::size_t i = 0; i < state.running.size(); ++i) {
    const JobId id = state.running[i];
    const Job& job = state.jobs[id];
    require(job.status == Status::running && job.running_at == i, "the list of running jobs", id);
    require(sizes_while_running(job.spec.type) == (i < state.running_malleable),
            "the list of running malleable jobs", id);
    require(job.work_left >= 0, "work left is negative", id);
    leaving += job.leaves;
    require(job.holding.count > 0, "a running job without nodes", id);
    if (job.doing != Doing::nothing) {
      // Decisions of ours keep to the limits; what the world reports need not.
      const Unanswered& u = *state.find(job.decision);
      const bool evolved = u.decision.request != RequestId::none;
      require(evolved || job.spec.size.contains(job.target) || job.target == job.spec.preferred,
              "a decision beyond the size limits", id);
      require(job.target <= job.holding.count, "a job is to hold more than it was given", id);
    }
  }
  require(leaving == state.leaving.size(), "jobs that may leave draining nodes");
}

// (h): the releases, row by row.
void check_releases(const Releases& kept, const Releases& found) {
  std::map<ReleaseTag, std::pair<Time, std::int64_t>> want;
  found.for_each([&](Time at, ReleaseTag who, std::int64_t nodes) { want[who] = {at, nodes}; });
  Time last = Time::min();
  kept.for_each([&](Time at, ReleaseTag who, std::int64_t nodes) {
    const auto row = want.find(who);
    require(row != want.end(), "a release by nobody");
    require(row->second == std::pair(at, nodes), "a release that is not true");
    require(last <= at, "releases out of order");
    last = at;
    want.erase(row);
  });
  require(want.empty(), "a release that is missing");
}

std::vector<std::pair<JobId, Queue::Need>> rows_of(const Queue& queue) {
  std::vector<std::pair<JobId, Queue::Need>> rows;
  queue.for_each([&](JobId id, Queue::Need need) { rows.emplace_back(id, need); });
  return rows;
}

// What is kept is what follows from the facts.
void check_indices(const State& state) {
  const Indices found = index(state);
  require(found.held == state.held, "sum of held nodes");
  require(found.claimed == state.claimed, "sum of claimed nodes");
  require(found.jobs_mw == state.jobs_mw, "sum of power");
  const Nodes owned = state.held + state.claimed;
  require(owned + state.idle.count() + state.out_of_service == state.platform.nodes,
          "held + claimed + idle + out of service = total");
  require(found.out_of_service == state.out_of_service, "nodes that are out of service");
  require(found.idle.count() == state.idle.count() && found.idle.nodes() == state.idle.nodes(),
          "idle nodes");
  require(found.not_up == state.not_up, "nodes that are not up");
  require(found.draining == state.draining, "draining nodes");
  require(found.answered == state.answered, "decisions = answers + unanswered");
  require(found.running_malleable == state.running_malleable, "how many malleable jobs run");
  require(rows_of(found.queue) == rows_of(state.queue), "the queue, or what its jobs need");
  for (const JobId id : found.leaving) {
    require(state.jobs[id].leaves, "a job that may leave draining nodes is not known for that", id);
  }
  check_releases(state.releases, found.releases);
  check_releases(state.power_releases, found.power_releases);
  std::map<std::uint32_t, std::int64_t> held_by;  // users
  for (const JobId id : state.running) {
    held_by[state.jobs[id].spec.user] += state.jobs[id].holding.count;
  }
  for (const auto& [user, nodes] : held_by) {
    require(!state.rules.counts_uses || nodes == state.uses.nodes_of(user),
            "sum of nodes held by a user");
  }
}

}  // namespace

void check_invariants(const State& state) {
  check_nodes(state);
  check_claims(state);
  check_answers(state);
  check_jobs(state);
  check_indices(state);
}

void check_invariants_in_turn(State& state) {
  constexpr std::uint64_t kShare = 256;  // of the jobs, for each change
  if (state.until_check > 0) {
    --state.until_check;
    return;
  }
  check_invariants(state);
  std::uint64_t living = 0;
  state.jobs.for_each([&](JobId) { ++living; });
  state.until_check = living / kShare;
}

}  // namespace ductile
