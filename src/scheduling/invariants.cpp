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

// Of the nodes of a running job, those of which it is the first holder.
NodeSet own_of(const State& state, JobId id) {
  NodeSet nodes = state.jobs[id].holding.nodes;
  for (const auto& [node, who] : state.sharers) {
    if (who.front() != id) nodes.erase(NodeSet{{{node, node}}});
  }
  return nodes;
}

// Who shares a node has a part of it, all of them no more than there is; also those who are to join
// them, once those who are cut for that have answered.
void check_parts(const State& state) {
  const auto slice_of = [&](const Holding& its, std::uint32_t node) {
    const Slice* const part = find(its.parts, node);
    return part ? *part : state.whole(node);
  };
  std::map<std::uint32_t, Slice> left;
  const auto take = [&](std::uint32_t node, const Slice& slice, JobId id) {
    Slice& rest = left.try_emplace(node, state.whole(node)).first->second;
    require(rest.covers(slice), "more of a node is held or promised than there is", id);
    rest = minus(rest, slice);
  };
  for (const auto& [node, who] : state.sharers) {
    require(who.size() > 1, "a node that one job shares with nobody");
    for (const JobId id : who) {
      if (state.jobs[id].status == Status::running) {
        require(state.jobs[id].holding.nodes.contains(node), "a sharer of a node has it not", id);
      }
    }
  }
  NodeSet awaited;
  for (const Claim& claim : state.claims) {
    for (const Pledge& pledge : claim.pledges) {
      if (pledge.inside.empty()) continue;
      const Unanswered* const cut = state.find(pledge.shrink);
      require(cut && cut->decision.after.nodes.contains(pledge.inside),
              "a victim gives cores of nodes that it has not", pledge.victim);
      awaited.insert(pledge.inside);
    }
  }
  for (const JobId id : state.running) {
    const Job& job = state.jobs[id];
    require(job.holding.parts.empty() || (is_sound(job.holding.parts) &&
                                          job.holding.nodes.contains(nodes_in(job.holding.parts))),
            "parts of nodes that it has not, or written in another way", id);
    require(job.pace == state.believed_pace(job), "its speed by its parts", id);
    const bool cuts = job.doing == Doing::resizing;
    for_each_node(state.shared_of(job), [&](std::uint32_t node) {
      const Holding* its = &job.holding;
      if (cuts && awaited.contains(node)) {
        // Who moves off it has its part until then.
        const Holding& after = state.find(job.decision)->decision.after;
        if (after.nodes.contains(node)) its = &after;
      }
      take(node, slice_of(*its, node), id);
    });
  }
  for (const Claim& claim : state.claims) {
    require(is_sound(claim.inside), "parts that are written in another way", claim.job);
    const NodeSet nodes = nodes_in(claim.inside);
    require(claim.inside.empty() || claim.start, "a growth inside", claim.job);
    require(nodes.contains(claim.awaited()), "cores of nodes that are not promised", claim.job);
    require(!nodes.intersects(state.not_up), "a claim on nodes that are not up", claim.job);
    require(state.usable(state.jobs[claim.job], nodes) == nodes,
            "a claim on nodes that its job may not use", claim.job);
    for (const Part& part : claim.inside) {
      for_each_node(part.nodes, [&](std::uint32_t node) {
        const auto at = state.sharers.find(node);
        require(at != state.sharers.end() && at->second.back() == claim.job,
                "a claim on a node that nobody holds", claim.job);
        take(node, part.has, claim.job);
      });
    }
  }
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
    own(own_of(state, id), id);
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

// What is told apart by cell: each node is of one, and so is what jobs hold, claims hold, idles or
// is out of service. Claims keep what their jobs may use, and are promised such nodes by name.
void check_cells(const State& state) {
  std::vector<std::uint32_t> jobs(state.lanes.size());
  state.jobs.for_each([&](JobId id) {
    require(index(state.jobs[id].spec.lane) < jobs.size(), "there is no such lane", id);
    ++jobs[index(state.jobs[id].spec.lane)];
  });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    require(jobs[i] == state.lanes[i].jobs, "how many jobs a lane has");
    require(i == 0 || jobs[i] > 0 || state.lanes[i].where == Where{}, "a lane of nobody");
    const Cells its = state.cells.of(LaneId{static_cast<std::uint16_t>(i)});
    require(state.lanes[i].speed == state.cells.slowest(its), "the speed of a lane");
  }
  if (state.cells.is_one()) {
    for (const Claim& claim : state.claims) {
      for (const Pledge& pledge : claim.pledges) {
        require(pledge.nodes.empty(), "a pledge of nodes that nobody tells apart", claim.job);
      }
    }
    return;
  }
  require(state.rules.identities, "nodes that are told apart have no identities");
  NodeSet all;
  Nodes sum = 0;
  for (std::size_t i = 0; i < state.cells.size(); ++i) {
    const CellTable::Cell& cell = state.cells[i];
    all.insert(cell.nodes);
    sum += cell.count;
    const auto those = [&](const NodeSet& nodes) {
      return intersection(nodes, cell.nodes).count();
    };
    const Nodes idle = those(state.idle.nodes());
    require(idle == state.idle.of(static_cast<std::uint32_t>(i)), "idle nodes of a cell");
    Nodes owned = 0;
    NodeSet out = state.not_up;
    for (const JobId id : state.running) {
      owned += those(own_of(state, id));
      out.erase(state.jobs[id].holding.nodes);
    }
    for (const Claim& claim : state.claims) owned += those(claim.held.nodes);
    require(owned + idle + those(out) == cell.count,
            "held + claimed + idle + out of service = those of the cell");
  }
  require(sum == state.platform.nodes && all.count() == sum, "a node of no cell, or of two");
  std::map<DecisionId, NodeSet> promised;
  for (const Claim& claim : state.claims) {
    const Job& job = state.jobs[claim.job];
    require(state.usable(job, claim.held.nodes) == claim.held.nodes,
            "a claim holds nodes that its job may not use", claim.job);
    for (const Pledge& pledge : claim.pledges) {
      require(pledge.nodes.count() == pledge.count, "a pledge of other nodes", claim.job);
      require(state.usable(job, pledge.nodes) == pledge.nodes,
              "a pledge of nodes that its job may not use", claim.job);
      require(!promised[pledge.shrink].intersects(pledge.nodes), "a node promised twice",
              claim.job);
      promised[pledge.shrink].insert(pledge.nodes);
    }
  }
  for (const Unanswered& open : state.unanswered) {
    require(open.promised == promised[open.decision.id], "what was promised", open.decision.job);
    if (open.releases == 0) continue;
    const NodeSet up = difference(State::given(open), state.not_up);
    require(up.count() == open.releases && up.contains(open.promised),
            "more promised than will be released", open.decision.job);
  }
}

// What is booked, and who waits for it.
void check_bookings(const State& state) {
  for (std::size_t i = 0; i < state.bookings.size(); ++i) {
    const Booking& its = state.bookings[i];
    require(index(its.id) < state.next_booking && its.from < its.to &&
                (i == 0 || state.bookings[i - 1].id < its.id),
            "a booking that cannot be");
    require(!its.has_begun || its.from <= state.now, "a booking that begins early");
    for (std::size_t other = 0; other < i; ++other) {
      require(!state.bookings[other].overlaps(its.from, its.to) ||
                  !state.bookings[other].nodes.intersects(its.nodes),
              "a node booked twice");
      require(state.bookings[other].name != its.name, "two bookings of one name");
    }
  }
  state.jobs.for_each([&](JobId id) {
    const Job& job = state.jobs[id];
    require(
        !state.awaits_booking(job) || job.claim == ClaimId::none || job.status != Status::pending,
        "a job waits for nodes before its booking begins", id);
    const Booking* const its = state.find(state.lanes[index(job.spec.lane)].where.booking);
    require(its == nullptr || !its->for_jobs || its->is_for(job.spec.user),
            "a job has a booking that is not for its user", id);
  });
}

// (c), (d)
void check_claims(const State& state) {
  std::map<DecisionId, Nodes> pledged;
  std::map<DecisionId, std::int64_t> pledged_mw;
  for (const Claim& claim : state.claims) {
    const Job& job = state.jobs[claim.job];
    require(job.claim == claim.id, "a claim whose job does not know it", claim.job);
    if (claim.group != ClaimId::none) {
      const auto of_group = std::ranges::count(state.claims, claim.group, &Claim::group);
      const auto first = std::ranges::find(state.claims, claim.group, &Claim::id);
      require(of_group > 1 && first != state.claims.end() &&
                  index(claim.id) - index(claim.group) < of_group,
              "a group of claims is not whole", claim.job);
    }
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
      require(pledge.power_mw >= 0, "a pledge of less power than none", claim.job);
      pledged[pledge.shrink] += pledge.count;
      pledged_mw[pledge.shrink] += pledge.power_mw;
    }
    require(claim.held_mw >= 0, "a claim holds less power than none", claim.job);
    require(state.budget_mw != State::kNoBudget || claim.held_mw + claim.pledged_mw() == 0,
            "a claim has power of no budget", claim.job);
  }
  for (const Unanswered& u : state.unanswered) {
    require(u.pledged == pledged[u.decision.id], "sum of pledges", u.decision.job);
    require(u.pledged <= u.releases, "more promised than will be released", u.decision.job);
    const Job& job = state.jobs[u.decision.job];
    require(u.releases_mw == state.releases_mw(job, u.decision.after),
            "power that will be released", u.decision.job);
    require(u.pledged_mw == pledged_mw[u.decision.id], "sum of pledges of power", u.decision.job);
    require(u.pledged_mw <= u.releases_mw, "more power promised than will be released",
            u.decision.job);
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
  require(!state.queue.keeps_kinds() ||
              state.queue.kinds(state.jobs) == state.queue.find_kinds(state.jobs),
          "kinds of waiting jobs");
  require(state.queue.order() == state.traits.order, "the queue has another order");
  for (std::size_t i = 0; i < state.reserving.size(); ++i) {
    const JobId id = state.reserving[i];
    require(state.jobs.knows(id) && state.jobs[id].status == Status::pending &&
                state.jobs[id].reserved != kNever && state.jobs[id].planned_at == i,
            "the list of reservations", id);
  }
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
      // Decisions of ours keep to the limits, or the size; what the world reports need not.
      const Unanswered& u = *state.find(job.decision);
      const bool evolved = u.decision.request != RequestId::none;
      const bool stops = u.decision.stops();
      require(stops == (job.doing == Doing::stopping) && stops == (job.target == 0),
              "a job that stops is to hold nothing", id);
      require(stops || evolved || job.spec.size.contains(job.target) ||
                  job.target == job.spec.preferred || job.target == u.before.count,
              "a decision beyond the size limits", id);
      require(job.target <= job.holding.count, "a job is to hold more than it was given", id);
    }
  }
  JobId ordered = JobId::none;
  for (const StopOrder& order : state.stops) {
    require(state.jobs.knows(order.job) && state.jobs[order.job].status == Status::running,
            "an order to stop a job that does not run", order.job);
    require(ordered == JobId::none || ordered < order.job, "orders to stop are out of order");
    ordered = order.job;
  }
  state.jobs.for_each([&](JobId id) {
    const Job& job = state.jobs[id];
    require(!job.goes_on || job.status == Status::running || job.work_left > 0,
            "nothing is left of a job that waits to go on", id);
  });
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
  require(found.sharers == state.sharers, "who shares nodes");
  require(found.parted == state.parted, "who holds parts of nodes");
  require(found.held == state.held, "sum of held nodes");
  require(found.claimed == state.claimed, "sum of claimed nodes");
  require(found.jobs_mw == state.jobs_mw, "sum of power");
  require(found.on_mw == state.on_mw, "power of idle nodes");
  require(found.claimed_mw == state.claimed_mw, "sum of claimed power");
  const Nodes owned = state.held + state.claimed;
  require(owned + state.idle.count() + state.out_of_service == state.platform.nodes,
          "held + claimed + idle + out of service = total");
  require(found.out_of_service == state.out_of_service, "nodes that are out of service");
  require(found.idle.count() == state.idle.count() && found.idle.nodes() == state.idle.nodes(),
          "idle nodes");
  require(found.idle.pools() == state.idle.pools(), "what a placement chooses from");
  require(found.not_up == state.not_up, "nodes that are not up");
  require(found.draining == state.draining, "draining nodes");
  require(found.switched_off == state.switched_off, "nodes that are switched off");
  require(found.answered == state.answered, "decisions = answers + unanswered");
  require(found.running_malleable == state.running_malleable, "how many malleable jobs run");
  require(rows_of(found.queue) == rows_of(state.queue), "the queue, or what its jobs need");
  for (const JobId id : found.leaving) {
    require(state.jobs[id].leaves, "a job that may leave draining nodes is not known for that", id);
  }
  check_releases(state.releases, found.releases);
  check_releases(state.power_releases, found.power_releases);
  require(found.cells == state.cells, "cells");
  require(found.releases_of.size() == state.releases_of.size(), "releases by cell");
  for (std::size_t i = 0; i < found.releases_of.size(); ++i) {
    check_releases(state.releases_of[i], found.releases_of[i]);
  }
  std::map<std::uint32_t, std::int64_t> held_by;  // users
  for (const JobId id : state.running) {
    const Holding& its = state.jobs[id].holding;
    held_by[state.jobs[id].spec.user] +=
        state.sharers.empty() ? its.count : own_of(state, id).count();
  }
  for (const auto& [user, nodes] : held_by) {
    require(!state.rules.counts_uses || nodes == state.uses.nodes_of(user),
            "sum of nodes held by a user");
  }
}

}  // namespace

void check_invariants(const State& state) {
  check_nodes(state);
  check_cells(state);
  check_bookings(state);
  check_claims(state);
  check_answers(state);
  check_parts(state);
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
