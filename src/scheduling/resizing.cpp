#include "scheduling/resizing.hpp"

#include <algorithm>
#include <utility>

namespace ductile {
namespace {

Nodes room_of(const Pass& pass, JobId id) {
  const Job& job = pass.job(id);
  return pass.sizes(id).after_getting(job.size(), pass.idle(), job.spec.size) - job.size();
}

}  // namespace

std::vector<Nodes> water_fill(std::span<const Vessel> vessels, Nodes amount) {
  std::vector<Nodes> gets(vessels.size(), 0);
  if (vessels.empty()) return gets;
  const auto in = [](const Vessel& vessel, std::int64_t level) {
    return std::clamp<std::int64_t>(level - vessel.level, 0, vessel.room);
  };
  const auto needs = [&](std::int64_t level) {
    std::int64_t sum = 0;
    for (const Vessel& vessel : vessels) sum += in(vessel, level);
    return sum;
  };
  // The highest level that there is enough for.
  std::int64_t low = vessels.front().level, high = low;
  for (const Vessel& vessel : vessels) {
    low = std::min(low, vessel.level);
    high = std::max(high, vessel.level + vessel.room);
  }
  if (needs(high) <= amount) {
    low = high;
  } else {
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (needs(middle) <= amount ? low : high) = middle;
    }
  }
  std::int64_t left = std::int64_t{amount} - needs(low);
  for (std::size_t i = 0; i < vessels.size(); ++i) {
    const Vessel& vessel = vessels[i];
    std::int64_t drops = in(vessel, low);
    if (left > 0 && vessel.level <= low && drops < vessel.room) {
      ++drops;
      --left;
    }
    gets[i] = static_cast<Nodes>(drops);
  }
  return gets;
}

std::vector<JobId> growable_jobs(const Pass& pass) {
  std::vector<JobId> jobs;
  for (const JobId id : pass.running_malleable()) {
    if (pass.job(id).size() < pass.job(id).spec.size.max && pass.growable(id)) jobs.push_back(id);
  }
  return jobs;
}

Victims victims_for(const Pass& pass, Nodes need, JobId spared) {
  Victims victims;
  const Nodes there = pass.idle() + pass.incoming();
  victims.enough = need <= there;
  if (victims.enough) return victims;
  victims.missing = need - there;
  Nodes extra = 0;
  for (const JobId id : pass.running_malleable()) {
    const Nodes its = id == spared ? 0 : pass.extra(id);
    if (its == 0 || !pass.cuttable(id)) continue;
    victims.jobs.push_back(id);
    extra += its;
  }
  victims.enough = extra >= victims.missing;
  return victims;
}

std::vector<Cut> cuts_for(const Pass& pass, std::span<const JobId> victims, Nodes nodes,
                          Share share) {
  std::vector<Nodes> gives;
  if (share != Share::in_turn) {
    std::vector<Vessel> vessels;
    vessels.reserve(victims.size());
    for (const JobId id : victims) {
      const Nodes extra = pass.extra(id);
      vessels.push_back({share == Share::level ? -std::int64_t{extra} : 0, extra});
    }
    gives = water_fill(vessels, nodes);
  }
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < victims.size() && nodes > 0; ++i) {
    const JobId id = victims[i];
    const Nodes give = share == Share::in_turn ? nodes : std::min(gives[i], nodes);
    if (give == 0) continue;
    const Job& job = pass.job(id);
    const SizeConstraint sizes = pass.sizes(id);
    // Nodes that are not up go first, and help nobody.
    const Nodes sick = job.size() - pass.smallest(id) - pass.extra(id);
    const Nodes to = sizes.after_giving(job.size(), give + sick, job.spec.size);
    if (to == job.size()) continue;
    cuts.push_back({id, to});
    nodes -= std::min(nodes, job.size() - to - sick);
  }
  return cuts;
}

bool may_expand(const Pass& pass, JobId id, Nodes to, Benefit benefit, const Sources& sources) {
  return benefit == Benefit::off || pass.expected_end_after(id, to, sources) <
                                        pass.expected_end_after(id, pass.job(id).size());
}

Offer offer(Pass& pass, JobId id, Nodes nodes, Benefit benefit, Reason reason,
            const Sources& sources) {
  const Job& job = pass.job(id);
  const Nodes to = pass.sizes(id).after_getting(job.size(), nodes, job.spec.size);
  if (to == job.size()) return Offer::too_small;
  const bool done =
      may_expand(pass, id, to, benefit, sources) && pass.resize(id, to, reason, sources);
  return done ? Offer::taken : Offer::denied;
}

void hand_out_idle(Pass& pass, std::span<const JobId> jobs, Share share, Benefit benefit,
                   Reason reason) {
  std::vector<JobId> able(jobs.begin(), jobs.end());
  for (bool again = share != Share::in_turn; again && pass.idle() > 0;) {
    std::erase_if(able, [&](JobId id) { return room_of(pass, id) == 0; });
    std::vector<Vessel> vessels;
    vessels.reserve(able.size());
    for (const JobId id : able) {
      const Nodes level = share == Share::level ? pass.extra(id) : 0;
      vessels.push_back({level, room_of(pass, id)});
    }
    const std::vector<Nodes> gets = water_fill(vessels, pass.idle());
    std::vector<JobId> others;
    again = false;
    for (std::size_t i = 0; i < able.size(); ++i) {
      const Offer its =
          gets[i] > 0 ? offer(pass, able[i], gets[i], benefit, reason) : Offer::too_small;
      if (its != Offer::denied) others.push_back(able[i]);
      again |= its != Offer::too_small;
    }
    able = std::move(others);
  }
  // In turn, or shares that were too small for anybody.
  for (std::size_t i = 0; i < able.size() && pass.idle() > 0; ++i) {
    offer(pass, able[i], pass.idle(), benefit, reason);
  }
}

}  // namespace ductile
