#include "scheduling/resizing.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace ductile {
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

namespace {

/// Drops of some cells in the hands of those who may have them.
class Drops {
 public:
  explicit Drops(std::span<const Spread::Part> water) : water_(water) {
    for (const Spread::Part& part : water) left_.push_back(part.count);
  }
  /// The number of those who may use these cells.
  std::size_t user_of(Cells cells) {
    const auto at = std::ranges::find(users_, cells, &User::cells);
    if (at != users_.end()) return static_cast<std::size_t>(at - users_.begin());
    users_.push_back({cells, std::vector<Nodes>(water_.size(), 0)});
    return users_.size() - 1;
  }
  /// One more for them; others may have to use another cell for that. False: there is none.
  bool pour(std::size_t user) {
    // Breadth first: who takes a drop of this place, and of which place one of his is free by that.
    std::vector<Step> from(water_.size(), Step{kNone, kNone});
    std::vector<std::size_t> reached;
    const auto reach = [&](std::size_t who, std::size_t place) {
      for (std::size_t to = 0; to < water_.size(); ++to) {
        if (from[to].user != kNone || (users_[who].cells >> water_[to].cell & 1) == 0) continue;
        from[to] = {who, place};
        reached.push_back(to);
      }
    };
    reach(user, kNone);
    for (std::size_t next = 0; next < reached.size(); ++next) {
      std::size_t place = reached[next];
      if (left_[place] > 0) {
        --left_[place];
        while (place != kNone) {
          const Step step = from[place];
          ++users_[step.user].has[place];
          if (step.place != kNone) --users_[step.user].has[step.place];
          place = step.place;
        }
        return true;
      }
      for (std::size_t who = 0; who < users_.size(); ++who) {
        if (users_[who].has[place] > 0) reach(who, place);
      }
    }
    return false;
  }
  /// So many of theirs.
  Spread take(std::size_t user, Nodes n) {
    Spread taken;
    for (std::size_t place = 0; place < water_.size(); ++place) {
      const Nodes its = std::min(n, users_[user].has[place]);
      users_[user].has[place] -= its;
      taken.add(water_[place].cell, its);
      n -= its;
    }
    return taken;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Step {
    std::size_t user, place;
  };
  struct User {
    Cells cells;
    std::vector<Nodes> has;  // by place in the water
  };

  std::span<const Spread::Part> water_;
  std::vector<Nodes> left_;
  std::vector<User> users_;
};

}  // namespace

std::vector<Spread> water_fill(std::span<const Vessel> vessels,
                               std::span<const Spread::Part> water) {
  Drops drops(water);
  std::vector<Nodes> gets(vessels.size(), 0);
  // The lowest level first, of equal ones the first vessel.
  std::vector<std::pair<std::int64_t, std::size_t>> open;
  for (std::size_t i = 0; i < vessels.size(); ++i) {
    if (vessels[i].room > 0) open.emplace_back(vessels[i].level, i);
  }
  std::ranges::make_heap(open, std::greater{});
  while (!open.empty()) {
    std::ranges::pop_heap(open, std::greater{});
    const std::size_t i = open.back().second;
    // Who gets none now gets none later.
    if (!drops.pour(drops.user_of(vessels[i].cells)) || ++gets[i] == vessels[i].room) {
      open.pop_back();
      continue;
    }
    ++open.back().first;
    std::ranges::push_heap(open, std::greater{});
  }
  std::vector<Spread> result;
  for (std::size_t i = 0; i < vessels.size(); ++i) {
    result.push_back(drops.take(drops.user_of(vessels[i].cells), gets[i]));
  }
  return result;
}

Shares shares(const Pass& pass, std::span<const Vessel> vessels, Nodes amount,
              FunctionRef<Nodes(std::uint32_t)> there) {
  Shares found;
  if (pass.cell_count() == 1) {
    found.gets = water_fill(vessels, amount);
    return found;
  }
  std::vector<Spread::Part> water;
  for (const std::uint32_t cell : pass.cells_in_order()) {
    if (const Nodes its = there(cell); its > 0) water.push_back({cell, its});
  }
  found.by_cell = water_fill(vessels, water);
  for (const Spread& its : found.by_cell) found.gets.push_back(its.count());
  return found;
}

std::vector<JobId> growable_jobs(const Pass& pass) {
  std::vector<JobId> jobs;
  for (const JobId id : pass.running_malleable()) {
    if (pass.job(id).size() < pass.job(id).spec.size.max && pass.growable(id)) jobs.push_back(id);
  }
  return jobs;
}

std::vector<JobId> moldable_starts(const Pass& pass) {
  std::vector<JobId> jobs = pass.started();
  std::erase_if(jobs, [&](JobId id) {
    const JobSpec& spec = pass.job(id).spec;
    return spec.type != JobType::moldable || pass.job(id).size() >= spec.size.max ||
           !pass.growable(id);
  });
  return jobs;
}

Victims victims_for(const Pass& pass, Nodes need, JobId whom, FunctionRef<bool(JobId)> spared) {
  Victims victims;
  const Nodes there = free_nodes(pass, whom);
  victims.missing = need > there ? need - there : 0;
  victims.missing_mw = pass.lacks_mw(whom, need);
  victims.enough = victims.missing == 0 && victims.missing_mw == 0;
  if (victims.enough) return victims;
  Nodes extra = 0;
  std::int64_t extra_mw = 0;
  const auto count = [&](JobId id) {
    extra += extra_for(pass, id, whom);
    extra_mw += pass.gives_mw({id, pass.smallest(id)}, whom);
    victims.jobs.push_back(id);
    victims.enough = extra >= victims.missing && extra_mw >= victims.missing_mw;
  };
  std::vector<JobId> unwilling;  // they have refused; asked where it cannot be done without
  for (const JobId id : pass.running_malleable()) {
    // Where nodes are not what is missing, power of any of them will do.
    const Nodes its = extra_for(pass, id, victims.missing > 0 ? whom : JobId::none);
    if (id == whom || its == 0 || spared(id) || !pass.cuttable(id)) continue;
    if (pass.job(id).refusals > 0) {
      unwilling.push_back(id);
    } else {
      count(id);
    }
  }
  if (victims.enough) return victims;
  for (const JobId id : unwilling) count(id);
  return victims;
}

namespace {

// Cuts them further, in turn, until they give so much power together.
void cut_for_power(const Pass& pass, std::span<const JobId> victims, JobId whom,
                   std::int64_t power_mw, std::vector<Cut>& cuts) {
  for (const Cut& cut : cuts) power_mw -= pass.gives_mw(cut, whom);
  for (const JobId id : victims) {
    if (power_mw <= 0) return;
    const Job& job = pass.job(id);
    auto cut = std::ranges::find(cuts, id, &Cut::victim);
    const Nodes from = cut == cuts.end() ? job.size() : cut->to;
    const std::int64_t before_mw = cut == cuts.end() ? 0 : pass.gives_mw(*cut, whom);
    // The largest size that gives enough, or the smallest that it can have.
    Nodes to = from;
    while (true) {
      const Nodes next = pass.sizes(id).after_giving(to, 1, job.spec.size);
      if (next == to || pass.gives_mw({id, next}, whom) == before_mw) break;  // it draws no more
      to = next;
      if (pass.gives_mw({id, to}, whom) - before_mw >= power_mw) break;
    }
    if (to == from) continue;
    if (cut == cuts.end()) cut = cuts.insert(cuts.end(), Cut{id, from});
    cut->to = to;
    power_mw -= pass.gives_mw(*cut, whom) - before_mw;
  }
}

}  // namespace

std::vector<Cut> cuts_for(const Pass& pass, std::span<const JobId> victims, Nodes nodes,
                          Share share, JobId whom, std::int64_t power_mw) {
  std::vector<Nodes> gives;
  if (share != Share::in_turn) {
    std::vector<Vessel> vessels;
    vessels.reserve(victims.size());
    for (const JobId id : victims) {
      const Nodes extra = extra_for(pass, id, whom);
      vessels.push_back({share == Share::level ? -std::int64_t{extra} : 0, extra});
    }
    gives = water_fill(vessels, nodes);
  }
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < victims.size() && nodes > 0; ++i) {
    const JobId id = victims[i];
    Nodes give = share == Share::in_turn ? nodes : std::min(gives[i], nodes);
    if (pass.cell_count() > 1) give = std::min(give, extra_for(pass, id, whom));
    if (give == 0) continue;
    const Job& job = pass.job(id);
    const SizeConstraint sizes = pass.sizes(id);
    // Nodes that are not up go first, and help nobody.
    const Nodes sick = job.size() - pass.smallest(id) - pass.extra(id);
    const Nodes to = sizes.after_giving(job.size(), give + sick, job.spec.size);
    if (to == job.size()) continue;
    cuts.push_back({id, to});
    nodes -= std::min(nodes,
                      pass.cell_count() == 1 ? job.size() - to - sick : pass.adds({id, to}, whom));
  }
  if (power_mw > 0) cut_for_power(pass, victims, whom, power_mw, cuts);
  return cuts;
}

void start_by_cuts(Pass& pass, std::uint32_t try_depth, FunctionRef<Nodes(JobId)> reserved,
                   SizeWith size, FunctionRef<void(JobId, Nodes)> with_cuts,
                   FunctionRef<bool()> nothing_to_cut) {
  std::vector<JobId> heads = Heads(pass).jobs;  // that wait, in order
  if (heads.empty()) return;
  // Of those before the job that is tried; made when it is asked for.
  std::optional<Shadow> shadow;
  std::size_t shown = 0;  // so many of them
  std::uint32_t tried = 0;
  const JobId first = heads.front();
  for (JobId id = first; id != JobId::none; id = pass.next_pending(id)) {
    if (try_depth != 0 && ++tried > try_depth) return;
    if (pass.idle() == 0 && pass.incoming() == 0 && nothing_to_cut()) return;
    if (pass.now() < pass.job(id).not_before) continue;
    const Nodes free = free_nodes(pass, id), n = size(pass, id, free);
    const auto at = std::ranges::find(heads, id);
    if (n == 0) {
      with_cuts(id, free);
      if (pass.job(id).status == Status::pending && pass.job(id).claim == ClaimId::none) continue;
    } else {
      // A head may not delay those before it, anybody else none.
      const auto before = static_cast<std::size_t>(at - heads.begin());
      if (before > 0 && before != shown) shadow.reset();
      Spread in;
      if (before > 0) {
        if (!shadow) {
          shadow.emplace(pass, std::span(heads).first(before), reserved);
          shown = before;
        }
        if (!shadow->allows(pass, id, n)) continue;
        in = shadow->idle(pass, id, n);
      }
      const bool bound = before > 0 && pass.cell_count() > 1;
      if (bound && in.count() < std::min(n, pass.idle(id))) continue;
      const Why why = id == first ? Why::in_order : Why::backfilled;
      const Sources sources{.incoming = true, .in = bound && !in.empty() ? &in : nullptr};
      if (!pass.start(id, exactly(n), {why}, sources)) continue;
      if (before > 0) shadow->took(pass, id, n, in);
    }
    if (at != heads.end()) {
      heads.erase(at);
      shadow.reset();
    }
  }
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

namespace {

/// One hand-out.
class HandingOut {
 public:
  HandingOut(Pass& pass, const HandOut& how) : pass_(pass), how_(how) {}

  void operator()(std::vector<JobId> jobs) {
    if (pass_.pending() > 0) {
      const auto moldable = std::stable_partition(jobs.begin(), jobs.end(), [&](JobId id) {
        return sizes_while_running(pass_.job(id).spec.type);
      });
      std::vector<JobId> last(moldable, jobs.end());
      jobs.erase(moldable, jobs.end());
      spread(std::move(jobs));
      if (last.empty() || pass_.idle() == 0) return;
      left_ = left_by_reservations(pass_, how_.plan);
      jobs = std::move(last);
    }
    spread(std::move(jobs));
  }

 private:
  void spread(std::vector<JobId> jobs) {
    std::vector<JobId> able = jobs;
    for (bool again = how_.share != Share::in_turn; again && pass_.idle() > 0;) {
      std::vector<Vessel> vessels;
      std::erase_if(able, [&](JobId id) { return takes(id, pass_.idle(id)) == 0; });
      for (const JobId id : able) {
        vessels.push_back({level(id), takes(id, pass_.idle(id)), pass_.cells_of(id)});
      }
      const Shares shares = ductile::shares(
          pass_, vessels, pass_.idle(), [&](std::uint32_t cell) { return pass_.idle_of(cell); });
      std::vector<JobId> others;
      again = false;
      for (std::size_t i = 0; i < able.size(); ++i) {
        const Offer its = give(able[i], shares.gets[i], shares.in(i));
        if (its != Offer::denied) others.push_back(able[i]);
        again |= its != Offer::too_small;
      }
      able = std::move(others);
    }
    // In turn; or what was too small for anybody, or more than a job may have.
    for (bool again = true; again && pass_.idle() > 0;) {
      again = false;
      for (const JobId id : jobs) again |= give(id, pass_.idle(id)) == Offer::taken;
    }
  }

  /// `of`: of which cells, if the others are to have theirs.
  Offer give(JobId id, Nodes nodes, const Spread* of = nullptr) {
    const Nodes more = takes(id, std::min(nodes, pass_.idle(id)));
    Spread in;
    if (of && !left_) in = *of;
    if (left_ && more > 0) in = left_->idle(pass_, id, more, held(id, pass_.job(id).size() + more));
    const Offer its =
        offer(pass_, id, more, how_.benefit, {Why::hand_out}, {.in = in.empty() ? nullptr : &in});
    if (its == Offer::taken && left_) {
      left_->take(pass_, id, more, held(id, pass_.job(id).size()), in);
    }
    return its;
  }

  /// Up to `nodes` more, as many as its limits, its constraint and the plan allow.
  Nodes takes(JobId id, Nodes nodes) const {
    const Job& job = pass_.job(id);
    const auto after = [&](Nodes more) {
      return pass_.sizes(id).after_getting(job.size(), more, job.spec.size) - job.size();
    };
    Nodes more = after(pass_.powered(id, nodes));
    while (left_ && more > 0) {
      const Duration length = held(id, job.size() + more);
      // If it would be slower the plan would lose what it has, too.
      const bool slower = length > held(id, job.size());
      const Nodes fits = slower                    ? 0
                         : pass_.cell_count() == 1 ? left_->during(pass_, id, more, length)
                                                   : left_->idle(pass_, id, more, length).count();
      if (fits == more) break;
      more = after(fits);
    }
    return more;
  }
  /// For how long a job that starts now holds what it is given, as plans see it.
  Duration held(JobId id, Nodes size) const {
    return pass_.ends_move() ? pass_.estimate(id, size) : pass_.expected_end(id) - pass_.now();
  }
  std::int64_t level(JobId id) const {
    if (how_.share != Share::level) return 0;
    const bool stays = !sizes_while_running(pass_.job(id).spec.type);
    return stays ? pass_.job(id).size() - pass_.smallest(id) : pass_.extra(id);
  }

  Pass& pass_;
  const HandOut& how_;
  std::optional<Left> left_;  // to moldable jobs, where others wait
};

}  // namespace

void hand_out_idle(Pass& pass, std::span<const JobId> jobs, const HandOut& how) {
  HandingOut(pass, how)({jobs.begin(), jobs.end()});
}

}  // namespace ductile
