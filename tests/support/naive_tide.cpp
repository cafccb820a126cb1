#include "support/naive_tide.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "base/wide.hpp"
#include "model/speedup.hpp"
#include "support/naive_profile.hpp"

namespace ductile::naive {
namespace {

enum class Phase : std::uint8_t { to_come, waits, runs, over };
using Ids = std::vector<std::size_t>;

struct Job {
  JobType type = JobType::rigid;
  Time submit{};
  Nodes preferred = 0, least = 0, most = 0;  // it starts at its least size
  Duration walltime{}, runtime{};
  Speedup speedup{};
  ReconfigurationCost cost{};
  Phase phase = Phase::to_come;
  bool overdue = false;
  Nodes size = 0;
  // When its size changed last, and what was left then.
  Time since{};
  Work left = 0, believed = 0;
  Time started{}, deadline{};
  // In this pass:
  bool starts = false;  // on idle nodes
  bool starts_by_cuts = false;
  bool was_cut = false, was_grown = false, was_given = false;  // before; by a move

  bool malleable() const { return type == JobType::malleable; }
  double speed(Nodes n) const { return 1 / speedup.relative_time(n, preferred); }
  Duration time_at(Nodes n, Work work) const { return time_for(speedup, preferred, n, work); }
  Duration whole_at(Nodes n) const { return time_at(n, total_work(preferred, walltime)); }
  Work left_by(Time now, Work of) const {
    return std::max<Work>(of - work_done(speedup, preferred, size, now - since), 0);
  }
  Nodes extra() const { return malleable() && phase == Phase::runs ? size - least : 0; }
  Time end() const { return since + time_at(size, left); }
};

class Machine {
 public:
  Machine(const Workload& workload, Nodes nodes, const TideOptions& options)
      : options_(options), nodes_(nodes), idle_(nodes) {
    for (const WorkloadJob& from : workload.jobs) {
      Job& job = jobs_.emplace_back();
      job.submit = from.submit;
      job.preferred = job.least = job.most = from.nodes;
      job.walltime = from.walltime;
      job.runtime = from.runtime;
      if (from.adaptive == WorkloadJob::kRigid) continue;
      const AdaptiveJob& more = workload.adaptive[from.adaptive];
      job.type = more.type;
      job.least = more.size.min;
      job.most = std::min(more.size.max, nodes);
      job.speedup = more.speedup;
      job.cost = more.believed.cost;
    }
    run_.jobs.resize(jobs_.size());
  }

  TideRun run() {
    for (std::size_t next = 0;;) {
      Time now = next < jobs_.size() ? jobs_[next].submit : kNever;
      for (const std::size_t id : those(Phase::runs)) now = std::min(now, jobs_[id].end());
      if (now == kNever) return run_;
      now_ = now;
      bool ended = false;
      for (const std::size_t id : those(Phase::runs)) {
        if (jobs_[id].end() != now) continue;
        jobs_[id].phase = Phase::over;
        run_.jobs[id].end = now;
        idle_ += jobs_[id].size;
        ended = true;
      }
      for (; next < jobs_.size() && jobs_[next].submit == now; ++next) {
        jobs_[next].phase = Phase::waits;
      }
      pass(ended);
    }
  }

 private:
  void pass(bool ended) {
    for (Job& job : jobs_) {
      job.starts = job.starts_by_cuts = job.was_cut = job.was_grown = job.was_given = false;
    }
    // Who has waited too long.
    const Duration backlog = this->backlog();
    for (const std::size_t id : those(Phase::waits)) {
      Job& job = jobs_[id];
      const Duration beyond = now_ - job.submit - options_.grace;
      if (beyond.count() > options_.slack.floor_of(backlog.count())) job.overdue = true;
    }
    plan_.reset();
    if (!serve()) {
      hand_out(false);
      start_on_idle_nodes();
    }
    reserve_and_backfill();
    const bool any_left = idle_ > 0;
    hand_out(true);
    if (ended && any_left) rebalance();
    for (Job& job : jobs_) {
      if (job.was_cut || job.was_grown) ++run_.resizes;
      if (job.was_given) ++run_.resizes;
      if (job.phase != Phase::runs) continue;
      const bool changed = job.was_cut || job.was_grown || job.was_given;
      if (changed && options_.scaled) job.deadline = now_ + job.time_at(job.size, job.believed);
    }
  }

  // --- What there is

  Ids those(Phase phase) const {
    Ids ids;
    for (std::size_t id = 0; id < jobs_.size(); ++id) {
      if (jobs_[id].phase == phase) ids.push_back(id);
    }
    return ids;
  }
  Ids queue() const {
    Ids ids = those(Phase::waits);
    std::ranges::sort(ids, {}, [&](std::size_t id) {
      const Job& job = jobs_[id];
      const Work area = total_work(job.preferred, job.walltime);
      return std::tuple(!job.overdue, job.overdue ? Work{0} : area, id);
    });
    return ids;
  }
  Time deadline(const Job& job) const {
    return job.deadline > now_ ? job.deadline : now_ + whole_seconds(1);
  }
  Duration backlog() const {
    Wide sum = 0;
    for (const Job& job : jobs_) {
      if (job.phase == Phase::waits) sum += total_work(job.preferred, job.walltime);
      if (job.phase == Phase::runs && job.deadline > now_) {
        sum += Wide{job.size} * (job.deadline - now_).count();
      }
    }
    return Duration{static_cast<std::int64_t>(sum / nodes_)};
  }

  // --- What nodes are worth

  double left_s(const Job& job) const {
    if (job.phase == Phase::waits) {
      return std::max(to_seconds(job.whole_at(job.preferred)), 1.0);
    }
    const double left = to_seconds(job.time_at(job.preferred, job.left_by(now_, job.believed)));
    return std::max({left, to_seconds(now_ - job.started) / 10, 1.0});
  }
  double weight(const Job& job) const {
    return std::exp(-options_.exponent * std::log(left_s(job)));  // the same to the last bit
  }
  double value(const Job& job, Nodes from, Nodes to) const {
    return weight(job) * (job.speed(to) - job.speed(from)) /
           (static_cast<double>(to) - static_cast<double>(from));
  }
  double cost_s(const Job& job, Nodes from, Nodes to) const {
    return options_.pays * std::max(to_seconds(job.cost.of(from, to)), options_.least_cost_s);
  }
  /// The size after its next step, up to `most`; n: there is none.
  Nodes step_from(const Job& job, Nodes n, Nodes most) const {
    const auto least =
        std::max<std::int64_t>(static_cast<std::int64_t>(options_.step.floor_of(n)), 1);
    const auto to = static_cast<Nodes>(std::min<std::int64_t>(n + least, most));
    return to > n && job.speed(to) >= job.speed(n) * (1 + options_.gain) ? to : n;
  }

  // --- What can be done

  void settle(Job& job) const {
    job.left = job.left_by(now_, job.left);
    job.believed = job.left_by(now_, job.believed);
    job.since = now_;
  }
  void resize(Job& job, Nodes to) {
    settle(job);
    idle_ += job.size;
    idle_ -= to;
    job.size = to;
  }
  void start(std::size_t id) {
    Job& job = jobs_[id];
    job.phase = Phase::runs;
    job.size = job.least;
    job.left = total_work(job.preferred, job.runtime);
    job.believed = total_work(job.preferred, job.walltime);
    job.since = job.started = run_.jobs[id].start = now_;
    job.deadline = now_ + job.whole_at(job.size);
    job.starts = true;
    idle_ -= job.size;
  }
  bool may_be_cut(const Job& job) const {
    return job.extra() > 0 && !job.starts && !job.starts_by_cuts && !job.was_grown &&
           !job.was_given;
  }

  // --- The steps

  bool start_by_cuts(std::size_t id, double at_least) {
    const Nodes need = jobs_[id].least;
    if (!options_.cuts) return false;
    std::vector<std::pair<double, std::size_t>> victims;
    Nodes missing = need - idle_, all = 0;
    for (std::size_t other = 0; other < jobs_.size(); ++other) {
      const Job& job = jobs_[other];
      if (!may_be_cut(job)) continue;
      const Nodes gives = std::min(missing, job.extra());
      victims.emplace_back(value(job, job.size, job.size - gives), other);
      all += job.extra();
    }
    if (all < missing) return false;
    std::ranges::sort(victims);
    std::vector<std::pair<std::size_t, Nodes>> cuts;
    Duration cost{};
    double lost = 0, given = 0;
    for (const auto& [worth, other] : victims) {
      if (missing == 0) break;
      const Job& job = jobs_[other];
      const Nodes gives = std::min(missing, job.extra()), to = job.size - gives;
      cuts.emplace_back(other, to);
      missing -= gives;
      cost += job.cost.of(job.size, to);
      lost += value(job, job.size, to) * gives;
      given += gives;
    }
    const Duration within{static_cast<std::int64_t>(options_.wait_for.floor_of(cost.count()))};
    if (within > Duration{} &&
        present(false).earliest(jobs_[id].whole_at(need), need) <= now_ + within) {
      return false;
    }
    if (at_least > 0 && value_of_start(jobs_[id]) < at_least * (lost / given)) return false;
    for (const auto& [other, to] : cuts) {
      resize(jobs_[other], to);
      jobs_[other].was_cut = true;
    }
    start(id);
    jobs_[id].starts = false;
    jobs_[id].starts_by_cuts = true;
    return true;
  }
  double value_of_start(const Job& job) const {
    return weight(job) * job.speed(job.least) / job.least;
  }
  bool is_scarce() const {
    std::int64_t room = idle_;
    for (const std::size_t id : those(Phase::runs)) room += jobs_[id].extra();
    Wide need = 0;
    for (const std::size_t id : those(Phase::waits)) need += jobs_[id].least;
    return need > options_.scarce.floor_of(room);
  }
  bool is_late(const Job& job) const {
    return (now_ - job.submit - options_.grace).count() >
           options_.slack.floor_of(backlog().count());
  }
  /// Idle nodes that malleable jobs would take, each for more than that.
  std::int64_t wanted(double more_than) const {
    std::int64_t all = 0;
    for (const std::size_t id : those(Phase::runs)) {
      const Job& job = jobs_[id];
      if (!job.malleable() || job.was_cut || job.starts_by_cuts) continue;
      Nodes to = job.size;
      for (Nodes next = step_from(job, to, job.most); next > to && value(job, to, next) > more_than;
           next = step_from(job, to, job.most)) {
        to = next;
      }
      const double left = left_s(job);
      const double won = left / job.speed(job.size) - left / job.speed(to);
      if (job.starts || won > cost_s(job, job.size, to)) all += to - job.size;
    }
    return all;
  }

  /// Has nobody been left waiting for the sake of running jobs that want its idle nodes?
  bool serve() {
    const bool by_worth = options_.start_worth > 0 && is_scarce();
    for (const std::size_t id : queue()) {
      const Job& job = jobs_[id];
      const bool has_to_win = by_worth && job.least < job.most && !is_late(job);
      if (job.least <= idle_) {
        const double its = value_of_start(job) / options_.start_worth;
        if (has_to_win && wanted(its) + job.least > idle_) return false;
        start(id);
      } else if (!start_by_cuts(id, has_to_win ? std::max(options_.cut_worth, options_.start_worth)
                                               : options_.cut_worth)) {
        return true;
      }
    }
    return true;
  }
  void start_on_idle_nodes() {
    for (const std::size_t id : queue()) {
      if (jobs_[id].least > idle_) return;
      start(id);
    }
  }

  Profile present(bool extra_is_free) const {
    Profile profile(now_, idle_);
    for (const std::size_t id : those(Phase::runs)) {
      const Job& job = jobs_[id];
      const Nodes extra = extra_is_free ? job.extra() : 0;
      profile.add(deadline(job), kNever, job.size - extra);
      profile.add(now_, kNever, extra);
    }
    return profile;
  }
  void reserve_and_backfill() {
    plan_.reset();
    Ids waiting = queue();
    if (waiting.empty() || idle_ == 0) return;
    plan_ = present(options_.extra_is_free);
    Ids rest;
    const auto reserve = [&](std::size_t id) {
      const Duration length = jobs_[id].whole_at(jobs_[id].least);
      const Time at = plan_->earliest(length, jobs_[id].least);
      plan_->add(at, later(at, length), -std::int64_t{jobs_[id].least});
      std::erase(waiting, id);
    };
    const auto start_if_it_fits = [&](std::size_t id) {
      const Duration length = jobs_[id].whole_at(jobs_[id].least);
      if (jobs_[id].least > idle_ || !plan_->fits(now_, length, jobs_[id].least)) return false;
      plan_->add(now_, later(now_, length), -std::int64_t{jobs_[id].least});
      start(id);
      std::erase(waiting, id);
      return true;
    };
    reserve(waiting.front());
    Ids old = waiting;
    std::ranges::sort(old);
    const Wide bound = options_.oldest_share.floor_of(backlog().count());
    std::erase_if(old, [&](std::size_t id) { return (now_ - jobs_[id].submit).count() <= bound; });
    if (old.size() > options_.oldest) old.resize(options_.oldest);
    for (const std::size_t id : old) {
      if (!start_if_it_fits(id)) reserve(id);
    }
    for (const std::size_t id : Ids(waiting)) start_if_it_fits(id);
  }

  struct Taker {
    std::size_t id;
    Nodes before, most;
    bool out = false;
    std::vector<std::tuple<Time, std::int64_t>> held{};  // of the plan: until when, how many
  };
  bool is_limited(const Job& job) const {
    return plan_ && !those(Phase::waits).empty() &&
           (!job.malleable() || options_.hand_out == TideOptions::HandOut::unreserved);
  }
  Duration held(const Job& job) const {
    return options_.scaled ? job.time_at(job.size, job.left_by(now_, job.believed))
                           : deadline(job) - now_;
  }
  void hand_out(bool moldable_too) {
    if (options_.hand_out == TideOptions::HandOut::none) return;
    std::vector<Taker> takers;
    for (const std::size_t id : those(Phase::runs)) {
      const Job& job = jobs_[id];
      if (job.type == JobType::rigid || job.was_cut || job.starts_by_cuts) continue;
      if (job.was_grown || (!moldable_too && !job.malleable())) continue;
      if (job.starts ? !options_.grow_starts : !job.malleable()) continue;
      // Who has too little left for any resize to pay is not asked.
      const bool pays = left_s(job) / job.speed(job.size) > cost_s(job, job.size, job.size + 1);
      if (!job.starts && !pays) continue;
      Nodes most = job.most;
      if (!job.malleable()) {
        most = static_cast<Nodes>(
            std::min<double>(most, std::floor(options_.moldable * job.preferred)));
      }
      takers.push_back({id, job.size, most});
    }
    const std::vector<Job> before = jobs_;
    for (bool again = true; again;) {
      again = false;
      offer(takers);
      for (Taker& taker : takers) {
        Job& job = jobs_[taker.id];
        if (job.size == taker.before || job.starts) continue;
        const double left = left_s(job);
        const double won = left / job.speed(taker.before) - left / job.speed(job.size);
        const bool ends_earlier =
            job.cost.of(taker.before, job.size) + job.time_at(job.size, job.believed) <
            job.time_at(taker.before, job.believed);
        if (won > cost_s(job, taker.before, job.size) && ends_earlier) continue;
        for (const auto& [until, nodes] : taker.held) plan_->add(now_, until, nodes);
        idle_ += job.size - taker.before;
        job = before[taker.id];
        taker.out = again = true;
      }
    }
    for (const Taker& taker : takers) {
      Job& job = jobs_[taker.id];
      if (job.size == taker.before) continue;
      if (!job.starts) job.was_grown = true;
      if (job.starts && options_.scaled) job.deadline = now_ + job.whole_at(job.size);
    }
  }
  void offer(std::vector<Taker>& takers) {
    for (;;) {
      Taker* best = nullptr;
      Nodes to = 0;
      double highest = 0;
      for (Taker& taker : takers) {
        if (taker.out) continue;
        const Job& job = jobs_[taker.id];
        Nodes more = idle_;
        while (is_limited(job) && more > 0 && !plan_->fits(now_, held(job), more)) --more;
        if (job.size >= taker.most) continue;
        const Nodes next = step_from(job, job.size, std::min(taker.most, job.size + more));
        if (next == job.size) continue;
        const double its = value(job, job.size, next);
        if (best && its <= highest) continue;
        best = &taker;
        to = next;
        highest = its;
      }
      if (!best) return;
      Job& job = jobs_[best->id];
      if (is_limited(job)) {
        const Time until = later(now_, held(job));
        plan_->add(now_, until, -std::int64_t{to - job.size});
        best->held.emplace_back(until, to - job.size);
      }
      resize(job, to);
    }
  }

  void rebalance() {
    for (std::size_t move = 0; move < options_.moves; ++move) {
      Job* taker = nullptr;
      Nodes to = 0;
      double highest = 0;
      for (const std::size_t id : those(Phase::runs)) {
        Job& job = jobs_[id];
        if (!job.malleable() || job.starts_by_cuts) continue;
        if (job.was_cut || job.was_grown || job.was_given) continue;
        const Nodes next = step_from(job, job.size, job.most);
        if (next == job.size) continue;
        const double its = value(job, job.size, next);
        if (taker && its <= highest) continue;
        taker = &job;
        to = next;
        highest = its;
      }
      if (!taker) return;
      const Nodes nodes = to - taker->size;
      Job* giver = nullptr;
      double least = highest;
      for (const std::size_t id : those(Phase::runs)) {
        Job& job = jobs_[id];
        if (&job == taker || !may_be_cut(job) || job.extra() < nodes) continue;
        const double its = value(job, job.size, job.size - nodes);
        if (its >= least) continue;
        giver = &job;
        least = its;
      }
      if (!giver) return;
      const double left = left_s(*taker), of_giver = left_s(*giver);
      const Nodes rest = giver->size - nodes;
      const double after = left / taker->speed(to);
      const double won = left / taker->speed(taker->size) - after;
      const double slower = 1 - giver->speed(rest) / giver->speed(giver->size);
      const double lost = std::min(
          of_giver / giver->speed(rest) - of_giver / giver->speed(giver->size), after * slower);
      const double cost = cost_s(*taker, taker->size, to) + cost_s(*giver, giver->size, rest);
      if (won - lost <= cost || won - lost <= won / 10) return;
      resize(*giver, rest);
      resize(*taker, to);
      giver->was_cut = true;
      taker->was_given = true;
    }
  }

  TideOptions options_;
  Time now_{};
  Nodes nodes_, idle_;
  std::vector<Job> jobs_;
  std::optional<Profile> plan_;
  TideRun run_;
};

}  // namespace

TideRun tide(const Workload& workload, Nodes nodes, const TideOptions& options) {
  return Machine(workload, nodes, options).run();
}

}  // namespace ductile::naive
