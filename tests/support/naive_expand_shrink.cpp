#include "support/naive_expand_shrink.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>

#include "support/naive_profile.hpp"

namespace ductile::naive {
namespace {

constexpr std::size_t kNobody = ~std::size_t{0};
enum class Phase : std::uint8_t { to_come, waits, runs, over };

struct Job {
  bool malleable = false, moldable = false;
  Nodes first = 0;  // the size of its start
  Nodes least = 0, most = 0;
  std::int64_t work = 0, believed = 0;  // node-microseconds, all of it
  Phase phase = Phase::to_come;
  Nodes size = 0;
  std::int64_t work_left = 0, believed_left = 0;
  Time started{}, deadline{};
  std::size_t expanded_for = kNobody;
  // In this pass:
  bool fresh = false, grew = false, shrank = false;

  Nodes extra() const { return malleable ? size - least : 0; }
};

/// Rounded half up, at least a microsecond.
Duration time_for(std::int64_t work, Nodes nodes) {
  return std::max(Duration{(2 * work + nodes) / (2 * std::int64_t{nodes})}, Duration{1});
}

/// A waiting job that holds a reservation, and the running jobs that end then.
struct StartLater {
  std::size_t job;
  Time at;
  std::vector<std::size_t> dependency;  // empty if one of them is rigid

  bool depends_on(std::size_t id) const {
    return std::ranges::find(dependency, id) != dependency.end();
  }
};

struct Plan {
  std::vector<StartLater> later;
  std::vector<std::size_t> others;  // behind the last reservation there may be
  Profile profile;                  // with the reservations

  const StartLater* of(std::size_t job) const {
    const auto at = std::ranges::find(later, job, &StartLater::job);
    return at == later.end() ? nullptr : &*at;
  }
  bool any_depends_on(std::size_t id) const {
    return std::ranges::any_of(later, [&](const StartLater& its) { return its.depends_on(id); });
  }
};

class Machine {
 public:
  Machine(const Workload& workload, Nodes nodes, const ExpandShrinkOptions& options)
      : options_(options), idle_(nodes), runs_(workload.jobs.size()) {
    for (const WorkloadJob& from : workload.jobs) {
      Job& job = jobs_.emplace_back();
      job.least = job.most = from.nodes;
      if (from.adaptive != WorkloadJob::kRigid) {
        const AdaptiveJob& more = workload.adaptive[from.adaptive];
        job.malleable = more.type == JobType::malleable;
        job.moldable = more.type == JobType::moldable;
        job.least = more.size.min;
        job.most = std::min(more.size.max, nodes);
      }
      job.first = options.strategy == Strategy::fpsma ? from.nodes : job.least;
      job.work = from.runtime.count() * from.nodes;
      job.believed = from.walltime.count() * from.nodes;
    }
  }

  std::vector<JobTimes> run(const Workload& workload) {
    for (std::size_t next = 0;;) {
      Time now = std::min(wake_, next < jobs_.size() ? workload.jobs[next].submit : kNever);
      for (const std::size_t id : those(Phase::runs)) now = std::min(now, end_of(id));
      if (now == kNever) return runs_;
      std::vector<std::size_t> ended;
      for (const std::size_t id : those(Phase::runs)) {
        if (end_of(id) == now) ended.push_back(id);
      }
      for (const std::size_t id : those(Phase::runs)) advance(jobs_[id], now);
      now_ = now;
      for (const std::size_t id : ended) {
        jobs_[id].phase = Phase::over;
        runs_[id].end = now;
        idle_ += jobs_[id].size;
      }
      for (; next < jobs_.size() && workload.jobs[next].submit == now; ++next) {
        jobs_[next].phase = Phase::waits;
      }
      if (wake_ <= now) wake_ = kNever;
      for (Job& job : jobs_) job.fresh = job.grew = job.shrank = false;
      if (options_.strategy == Strategy::dbes) {
        dbes();
      } else if (options_.strategy == Strategy::fpsma) {
        fpsma();
      } else {
        skeleton();
      }
      for (Job& job : jobs_) {
        if (job.phase == Phase::runs && options_.scaled && (job.grew || job.shrank)) {
          job.deadline = now + time_for(job.believed_left, job.size);
        }
      }
    }
  }

 private:
  // --- Jobs

  std::vector<std::size_t> those(Phase phase) const {
    std::vector<std::size_t> ids;
    for (std::size_t id = 0; id < jobs_.size(); ++id) {
      if (jobs_[id].phase == phase) ids.push_back(id);
    }
    return ids;
  }
  std::vector<std::size_t> malleable() const {
    std::vector<std::size_t> ids = those(Phase::runs);
    std::erase_if(ids, [&](std::size_t id) { return !jobs_[id].malleable; });
    return ids;
  }
  void advance(Job& job, Time to) const {
    const std::int64_t done = (to - now_).count() * job.size;
    job.work_left = std::max<std::int64_t>(job.work_left - done, 0);
    job.believed_left = std::max<std::int64_t>(job.believed_left - done, 0);
  }
  Time end_of(std::size_t id) const { return now_ + time_for(jobs_[id].work_left, jobs_[id].size); }
  Time deadline(std::size_t id) const {
    return jobs_[id].deadline > now_ ? jobs_[id].deadline : now_ + whole_seconds(1);
  }
  Duration length(std::size_t id) const { return time_for(jobs_[id].believed, jobs_[id].first); }

  // --- What can be done

  void start(std::size_t id) {
    Job& job = jobs_[id];
    job.phase = Phase::runs;
    job.size = job.first;
    job.work_left = job.work;
    job.believed_left = job.believed;
    job.started = runs_[id].start = now_;
    job.deadline = now_ + length(id);
    job.fresh = true;
    idle_ -= job.size;
  }
  void grow(std::size_t id, Nodes by) {
    Job& job = jobs_[id];
    job.size += by;
    idle_ -= by;
    if (!job.fresh) {
      job.grew = true;
    } else if (options_.scaled) {
      job.deadline = now_ + time_for(job.believed, job.size);
    }
  }
  void cut(std::size_t id, Nodes by) {
    jobs_[id].size -= by;
    jobs_[id].shrank = true;
    idle_ += by;
  }
  bool may_grow(std::size_t id) const { return !jobs_[id].shrank; }
  bool may_be_cut(std::size_t id) const {
    return jobs_[id].extra() > 0 && !jobs_[id].fresh && !jobs_[id].grew;
  }
  /// As much as is needed of each, in their order.
  void cut_in_turn(const std::vector<std::size_t>& victims, Nodes nodes) {
    for (const std::size_t id : victims) {
      const Nodes its = std::min(nodes, jobs_[id].extra());
      if (its > 0) cut(id, its);
      nodes -= its;
    }
  }
  Nodes extra_of(const std::vector<std::size_t>& ids) const {
    Nodes sum = 0;
    for (const std::size_t id : ids) sum += jobs_[id].extra();
    return sum;
  }

  // --- The plan

  /// In it a malleable job holds its smallest size until its deadline.
  Profile present() const {
    Profile profile(now_, idle_);
    for (const std::size_t id : those(Phase::runs)) {
      const Nodes extra = jobs_[id].extra();
      profile.add(deadline(id), kNever, jobs_[id].size - extra);
      profile.add(now_, kNever, extra);
    }
    return profile;
  }
  Time reserve(Profile& profile, std::size_t id) const {
    const Time at = profile.earliest(length(id), jobs_[id].least);
    profile.add(at, later(at, length(id)), -std::int64_t{jobs_[id].least});
    return at;
  }
  /// The first `depth` that do not start now are reserved; what starts now is started.
  Plan start_or_plan() {
    Plan plan{{}, {}, present()};
    for (const std::size_t id : those(Phase::waits)) {
      if (plan.later.size() == options_.depth) {
        plan.others.push_back(id);
        continue;
      }
      const Time at = reserve(plan.profile, id);
      if (at == now_ && jobs_[id].least <= idle_) {
        start(id);
      } else {
        plan.later.push_back({id, at, {}});
      }
    }
    for (StartLater& its : plan.later) {
      bool rigid = false;
      for (const std::size_t id : those(Phase::runs)) {
        if (deadline(id) != its.at) continue;
        its.dependency.push_back(id);
        rigid |= !jobs_[id].malleable;
      }
      if (rigid) its.dependency.clear();
    }
    return plan;
  }
  void backfill(Plan& plan) {
    for (const std::size_t id : plan.others) {
      const Nodes need = jobs_[id].least;
      if (need > idle_ || !plan.profile.fits(now_, length(id), need)) continue;
      start(id);
      plan.profile.add(now_, now_ + length(id), -std::int64_t{need});
    }
  }

  // --- Expansions and cuts of the common skeleton

  enum class Share : std::uint8_t { in_turn, level, even };
  Share share() const {
    return options_.strategy == Strategy::equipartition ? Share::level
           : options_.strategy == Strategy::equigrow    ? Share::even
                                                        : Share::in_turn;
  }
  std::int64_t key(std::size_t id) const {
    const auto us = [](Time time) { return time.time_since_epoch().count(); };
    switch (options_.strategy) {
      case Strategy::esf:
      case Strategy::fpsma:
        return us(jobs_[id].started);
      case Strategy::edf:
        return us(deadline(id));
      case Strategy::ldf:
        return -us(deadline(id));
      default:
        return 0;
    }
  }
  /// Node by node, to whom it belongs next. In turn: to the first that has room.
  template <class Room>
  std::vector<Nodes> pour(Nodes nodes, const std::vector<std::size_t>& ids, Share how,
                          int direction, Room room) const {
    std::vector<Nodes> gets(ids.size(), 0);
    for (; nodes > 0; --nodes) {
      std::size_t best = kNobody;
      const auto level = [&](std::size_t i) {
        const std::int64_t had = gets[i];
        return how == Share::level
                   ? direction * std::int64_t{jobs_[ids[i]].size - jobs_[ids[i]].least} + had
               : how == Share::even ? had
                                    : 0;
      };
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (gets[i] < room(ids[i]) && (best == kNobody || level(i) < level(best))) best = i;
      }
      if (best == kNobody) break;
      ++gets[best];
    }
    return gets;
  }
  Nodes room(std::size_t id) const { return may_grow(id) ? jobs_[id].most - jobs_[id].size : 0; }
  /// Would it end earlier?
  bool pays(std::size_t id, Nodes more) const {
    const Job& job = jobs_[id];
    return time_for(job.believed_left, job.size + more) < time_for(job.believed_left, job.size);
  }

  /// Moldable jobs that start in this pass: they can be given nodes now or never.
  std::vector<std::size_t> moldable_starts() const {
    std::vector<std::size_t> ids = those(Phase::runs);
    std::erase_if(ids, [&](std::size_t id) { return !jobs_[id].moldable || !jobs_[id].fresh; });
    return ids;
  }
  std::vector<std::size_t> both() const {
    std::vector<std::size_t> ids = malleable();
    for (const std::size_t id : moldable_starts()) ids.push_back(id);
    std::ranges::sort(ids);
    return ids;
  }
  /// While jobs wait, moldable ones come last: what is free until they end around the reservations
  /// of the first of those that wait.
  void hand_out(std::vector<std::size_t> ids, Share how) {
    std::vector<std::size_t> waiting = those(Phase::waits);
    if (waiting.empty()) return spread(std::move(ids), how, nullptr);
    std::vector<std::size_t> moldable = ids;
    std::erase_if(ids, [&](std::size_t id) { return jobs_[id].moldable; });
    std::erase_if(moldable, [&](std::size_t id) { return !jobs_[id].moldable; });
    spread(std::move(ids), how, nullptr);
    Profile around = present();
    waiting.resize(std::min(waiting.size(), options_.depth));
    for (const std::size_t id : waiting) reserve(around, id);
    spread(std::move(moldable), how, &around);
  }
  /// What one is denied goes to the others, and back to it if less of it is left.
  void spread(std::vector<std::size_t> ids, Share how, Profile* around) {
    const auto held = [&](std::size_t id, Nodes more) {
      const Job& job = jobs_[id];
      return options_.scaled ? time_for(job.believed, job.size + more) : job.deadline - now_;
    };
    const auto takes = [&](std::size_t id, Nodes nodes) {
      Nodes more = std::min({nodes, room(id), idle_});
      while (around && more > 0 && !around->fits(now_, held(id, more), more)) --more;
      return more;
    };
    const auto give = [&](std::size_t id, Nodes nodes) {
      const Nodes more = takes(id, nodes);
      if (more == 0 || !pays(id, more)) return false;
      if (around) around->add(now_, now_ + held(id, more), -std::int64_t{more});
      grow(id, more);
      return true;
    };
    std::vector<std::size_t> able = ids;
    for (bool again = how != Share::in_turn; again;) {
      again = false;
      const std::vector<Nodes> gets =
          pour(idle_, able, how, 1, [&](std::size_t id) { return takes(id, idle_); });
      const std::vector<std::size_t> all = std::move(able);
      able.clear();
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool offered = takes(all[i], gets[i]) > 0, taken = give(all[i], gets[i]);
        again |= offered;
        if (taken || !offered) able.push_back(all[i]);
      }
    }
    for (bool again = true; again;) {
      again = false;
      for (const std::size_t id : ids) again |= give(id, idle_);
    }
  }
  void hand_out_by_key(std::vector<std::size_t> ids) {
    std::ranges::stable_sort(ids, {}, [&](std::size_t id) { return key(id); });
    hand_out(std::move(ids), share());
  }
  bool start_by_cuts(std::size_t id) {
    std::vector<std::size_t> victims = malleable();
    std::erase_if(victims, [&](std::size_t victim) { return !may_be_cut(victim); });
    std::ranges::stable_sort(victims, {}, [&](std::size_t victim) { return -key(victim); });
    const Nodes need = jobs_[id].first;
    if (idle_ + extra_of(victims) < need) return false;
    const std::vector<Nodes> gives =
        pour(need - std::min(need, idle_), victims, share(), -1,
             [&](std::size_t victim) { return jobs_[victim].extra(); });
    for (std::size_t i = 0; i < victims.size(); ++i) {
      if (gives[i] > 0) cut(victims[i], gives[i]);
    }
    start(id);
    return true;
  }
  void skeleton() {
    for (const std::size_t id : those(Phase::waits)) {
      if (!start_by_cuts(id)) break;
    }
    const bool nobody_waits = those(Phase::waits).empty();
    if (!options_.backfill_first) hand_out_by_key(nobody_waits ? both() : malleable());
    Plan plan = start_or_plan();
    backfill(plan);
    hand_out_by_key(options_.backfill_first ? both() : moldable_starts());
  }

  void fpsma() {
    for (const std::size_t id : those(Phase::waits)) {
      if (jobs_[id].first <= idle_) {
        start(id);
        continue;
      }
      start_by_cuts(id);  // the head only
      break;
    }
    hand_out_by_key(malleable());
  }

  // --- DBES, by the numbers of its listing

  bool waits(std::size_t id) const { return id != kNobody && jobs_[id].phase == Phase::waits; }

  /// `group(id)`: the smallest first; negative: spared.
  std::vector<std::size_t> victims(const std::function<int(std::size_t)>& group) const {
    std::vector<std::tuple<int, std::int64_t, Nodes, Time, std::size_t>> order;
    for (const std::size_t id : malleable()) {
      if (!may_be_cut(id) || group(id) < 0) continue;
      const std::size_t whom = jobs_[id].expanded_for;
      const std::int64_t rank = waits(whom) ? -static_cast<std::int64_t>(whom) : 0;
      order.emplace_back(group(id), rank, ~jobs_[id].extra(), Time{} - (jobs_[id].started - Time{}),
                         id);
    }
    std::ranges::sort(order);
    std::vector<std::size_t> ids;
    for (const auto& row : order) ids.push_back(std::get<4>(row));
    return ids;
  }
  void forget(const Plan& plan) {  // 6
    for (const std::size_t id : malleable()) {
      std::size_t& whom = jobs_[id].expanded_for;
      const StartLater* its = plan.of(whom);
      if (!its || !its->depends_on(id) || jobs_[id].extra() == 0) whom = kNobody;
    }
  }
  bool start_by_shrinking(const Plan& plan) {  // 7
    bool any = false;
    for (std::size_t i = 0; i < plan.later.size(); ++i) {
      const std::size_t s = plan.later[i].job;
      const auto from = victims([&](std::size_t id) {
        const std::size_t whom = jobs_[id].expanded_for;
        return whom == s ? 0 : !waits(whom) ? 1 : whom > s ? 2 : -1;
      });
      const Nodes need = jobs_[s].least;
      if (idle_ + extra_of(from) < need) continue;
      Profile profile = present();
      for (std::size_t higher = 0; higher < i; ++higher) {
        if (waits(plan.later[higher].job)) reserve(profile, plan.later[higher].job);
      }
      if (!profile.fits(now_, length(s), need)) continue;
      cut_in_turn(from, need - std::min(need, idle_));
      start(s);
      any = true;
    }
    return any;
  }
  void expand(const Plan& plan) {  // 9
    for (std::size_t i = 0; i < plan.later.size(); ++i) {
      const std::size_t s = plan.later[i].job;
      std::vector<std::size_t> able = plan.later[i].dependency;
      for (std::size_t denied = 1; denied > 0;) {
        const std::vector<std::size_t> from = victims([&](std::size_t id) {
          for (std::size_t h = 0; h <= i; ++h) {
            if (plan.later[h].depends_on(id)) return -1;
          }
          const std::size_t whom = jobs_[id].expanded_for;
          return !waits(whom) ? 0 : whom > s ? 1 : -1;
        });
        const std::vector<Nodes> gets = pour(idle_ + extra_of(from), able, Share::level, 1,
                                             [&](std::size_t id) { return room(id); });
        const std::vector<std::size_t> all = std::move(able);
        able.clear();
        for (std::size_t k = 0; k < all.size(); ++k) {
          const std::size_t id = all[k];
          if (gets[k] > 0 && !pays(id, gets[k])) continue;
          able.push_back(id);
          if (gets[k] == 0) continue;
          cut_in_turn(from, gets[k] - std::min(gets[k], idle_));
          grow(id, gets[k]);
          std::size_t& whom = jobs_[id].expanded_for;
          if (!waits(whom) || s < whom) whom = s;
        }
        denied = all.size() - able.size();
      }
    }
  }
  void dbes() {
    Plan plan = start_or_plan();  // 5
    forget(plan);
    while (start_by_shrinking(plan)) {
      plan = start_or_plan();  // 8
      forget(plan);
      if (!options_.repeat) break;
    }
    expand(plan);
    backfill(plan);  // 11
    std::vector<std::size_t> rest = both();
    std::erase_if(rest, [&](std::size_t id) { return plan.any_depends_on(id); });
    hand_out(rest, Share::level);  // 12
    for (const StartLater& its : plan.later) {
      if (its.at > now_ + whole_seconds(1)) wake_ = std::min(wake_, its.at);
    }
  }

  ExpandShrinkOptions options_;
  Time now_{};
  Time wake_ = kNever;
  Nodes idle_;
  std::vector<Job> jobs_;
  std::vector<JobTimes> runs_;
};

}  // namespace

std::vector<JobTimes> expand_shrink(const Workload& workload, Nodes nodes,
                                    const ExpandShrinkOptions& options) {
  return Machine(workload, nodes, options).run(workload);
}

}  // namespace ductile::naive
