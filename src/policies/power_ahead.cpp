// Keeps a power corridor at every pass, and not only when it was left: of all sizes of running jobs
// and of the first waiting ones those that keep as many nodes busy as the corridor lets. Which jobs
// these are, where there is a choice, follows from the corridors to come: work that draws much is
// saved for those that need it, and done before those that do not let it. Ours; what it was made to
// beat is `power_aware` of Chadha, John and Gerndt 2020 (paper 003).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/corridor_pass.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"

namespace ductile {
namespace {

/// Which of as many busy nodes are wanted: as it suits the corridors to come; those that draw the
/// least, or the most; those that change the least.
enum class Prefer : std::uint8_t { planned, least, most, change };
constexpr std::array<std::string_view, 4> kPreferWords{"planned", "least", "most", "change"};
constexpr std::array<std::string_view, 2> kOnOff{"on", "off"};

/// What lines to come that let less be drawn than now leave to those who start now and still run
/// then: all but what those who run then draw at their smallest sizes.
class LowerLines {
 public:
  explicit LowerLines(const Pass& pass) {
    for (const ComingCorridor& its : pass.coming_corridors()) {
      if (its.high_mw >= pass.corridor_high_mw()) continue;
      const std::int64_t left_mw = its.high_mw - pass.idle_draw_mw();
      lines_.push_back({its.at, left_mw, left_mw});
    }
    if (lines_.empty()) return;
    for (const JobId id : pass.running()) {
      const Nodes least = pass.job(id).target - pass.extra(id);
      const bool may_be_cut = pass.extra(id) > 0;
      take(may_be_cut ? pass.expected_end(id, least) : pass.expected_end(id),
           need(pass, id, least));
    }
    for (const Claim& claim : pass.claims()) {
      if (!claim.start) continue;
      const bool may_be_cut = sizes_while_running(pass.job(claim.job).spec.type);
      const Nodes n = may_be_cut ? pass.smallest(claim.job) : claim.add.max;
      take(claim.release, need(pass, claim.job, n));
    }
  }

  /// With how many of `n` nodes a job may start; 0: it has to wait. That it does counts from now
  /// on.
  Nodes admit(const Pass& pass, JobId id, Nodes n) {
    if (lines_.empty()) return n;
    const Nodes least = pass.smallest(id);
    const Time end = later(pass.now(), pass.estimate(id, least));
    std::int64_t left_mw = std::numeric_limits<std::int64_t>::max();
    for (const Line& its : lines_) {
      if (its.at < end) left_mw = std::min(left_mw, its.left_mw);
    }
    if (need(pass, id, least) > left_mw) return 0;
    if (sizes_while_running(pass.job(id).spec.type)) {
      take(end, need(pass, id, least));
      return n;
    }
    const std::int64_t each_mw = std::max<std::int64_t>(pass.node_power(id).most_mw, 1);
    const auto let = static_cast<Nodes>(std::min<std::int64_t>(n, left_mw / each_mw));
    take(end, need(pass, id, let));
    return let;
  }

  /// A job that has to wait is the next one to get what comes free, if that can ever be enough.
  void wait_for(const Pass& pass, JobId id) {
    const Nodes least = pass.smallest(id);
    const Time end = later(pass.now(), pass.estimate(id, least));
    const std::int64_t mw = need(pass, id, least);
    const bool is_too_large = std::ranges::any_of(
        lines_, [&](const Line& its) { return its.at < end && mw > its.alone_mw; });
    if (!is_too_large) take(end, mw);
  }

 private:
  struct Line {
    Time at{};
    std::int64_t left_mw = 0, alone_mw = 0;  // above idle nodes; and for one that runs alone
  };

  static std::int64_t need(const Pass& pass, JobId id, Nodes n) {
    return std::int64_t{n} * pass.node_power(id).most_mw;
  }
  void take(Time end, std::int64_t mw) {
    for (Line& its : lines_) its.left_mw -= its.at < end ? mw : 0;
  }

  std::vector<Line> lines_{};
};

class PowerAhead final : public Policy {
 public:
  explicit PowerAhead(const Parameters& p)
      : Policy({.wakes = kAllButAnswers}, {.corridor = true}),
        depth_(static_cast<std::size_t>(p.number("depth"))),
        prefer_(chosen<Prefer>(p, "prefer", kPreferWords)),
        rigid_first_(p.choice("rigid_first") == "on"),
        orders_early_(p.choice("ahead") == "on"),
        patience_(seconds(p.number("patience"))),
        method_(chosen<CorridorMethod>(p, "solver", kCorridorMethodWords)),
        tick_(seconds(p.number("tick"))) {}

  void schedule(Pass& pass) const override {
    if (!pass.any_resizing()) keep(pass);
    // Nodes that come free while a resize is under way; and where jobs may not run everywhere: the
    // solver knows how many nodes there are, and not where.
    LowerLines lines(pass);
    start_in_order(pass, {.may = [&](JobId id) {
                     const Nodes n = pass.start_need(id).nodes;
                     return pass.fits(id, n) && lines.admit(pass, id, n) >= n;
                   }});
    if (orders_early_) wake_ahead(pass);
    if (const JobId first = pass.first_pending(); first != JobId::none) {
      const Time due = later(pass.job(first).spec.submitted, patience_);
      if (due > pass.now()) pass.wake_by(due);
    }
    tick(pass, tick_);
  }

 private:
  /// Of the corridor that sizes are to keep.
  struct Bounds {
    CorridorBounds watts{};
    bool may_start = true;  // who starts draws power at once
  };
  /// A job that is to get a size.
  struct Sized {
    JobId id = JobId::none;
    Nodes most = 0;  // if it has fewer
  };

  /// What came of sizes that were looked for.
  enum class Given : std::uint8_t { nothing, part, all };

  void keep(Pass& pass) const {
    const auto [bounds, may_start] =
        orders_early_ ? bounds_ahead(pass) : Bounds{.watts = bounds_now(pass)};
    const std::vector<Sized> jobs = jobs_to_size(pass, may_start);
    if (jobs.empty()) return;
    const Prefer prefer = prefer_ == Prefer::planned ? planned(pass) : prefer_;
    LowerLines lines(pass);
    Given given = may_start ? start_due(pass, jobs, bounds, prefer, lines) : Given::nothing;
    if (given == Given::nothing) given = give_sizes(pass, jobs, bounds, prefer, lines);
    pass.found_sizes(given == Given::all);
    if (given != Given::nothing) return;
    // Nothing keeps the lower bound: as many watts as the upper one lets. Nothing keeps that,
    // either: as few as possible.
    const CorridorBounds upper{.high_mw = bounds.high_mw};
    if (give_sizes(pass, jobs, upper, Prefer::most, lines) != Given::nothing) return;
    if (pass.power_mw() > upper.high_mw) cut_to_least(pass);
  }

  /// The job that is due, and sizes of the others. If lines to come do not let it, what it needs is
  /// kept for it.
  Given start_due(Pass& pass, std::vector<Sized> others, const CorridorBounds& bounds,
                  Prefer prefer, LowerLines& lines) const {
    const JobId due = due_job(pass);
    if (due == JobId::none) return Given::nothing;
    LowerLines with_it = lines;
    const Nodes n = pass.job(due).spec.preferred;
    if (with_it.admit(pass, due, n) < n) {
      lines.wait_for(pass, due);
      return Given::nothing;
    }
    std::erase_if(others, [&](const Sized& its) { return its.id == due; });
    return give_sizes(pass, others, bounds, prefer, with_it, due);
  }

  /// The first one that waits, if it has for long: it is to start, whatever it draws, if that is
  /// possible. Else jobs that draw less, and come again and again, would always go before it.
  JobId due_job(const Pass& pass) const {
    const JobId first = pass.first_pending();
    const bool is_due =
        first != JobId::none && later(pass.job(first).spec.submitted, patience_) <= pass.now();
    return is_due ? first : JobId::none;
  }

  /// How long the slowest of those that run takes to answer, as far as that is known.
  static Duration slowest(const Pass& pass) {
    Duration delay{};
    for (const JobId id : pass.running_malleable()) delay = std::max(delay, pass.resize_delay(id));
    return delay;
  }

  /// Sizes that are ordered now hold when the slowest job has answered. If the corridor is another
  /// one then they are to keep that one; both, if that is possible.
  static Bounds bounds_ahead(const Pass& pass) {
    const CorridorBounds bounds = bounds_now(pass);
    if (pass.coming_corridors().empty()) return {bounds};
    const ComingCorridor& next = pass.coming_corridors().front();
    if (later(pass.now(), slowest(pass)) < next.at) return {bounds};
    const std::int64_t low = std::max(bounds.low_mw, next.low_mw);
    const std::int64_t high = std::min(bounds.high_mw, next.high_mw);
    if (low <= high) return {{low, high}};
    return {{next.low_mw, next.high_mw}, false};
  }

  static void wake_ahead(Pass& pass) {
    const Duration delay = slowest(pass);
    if (pass.coming_corridors().empty() || delay == Duration{}) return;
    const Time begins = pass.coming_corridors().front().at;
    if (later(pass.now(), delay) < begins) pass.wake_by(begins - delay);
  }

  // --- Which work is done now

  /// Work that waits or runs, in node-seconds, and what a node of it draws above idle, in the mean.
  struct Work {
    double node_s = 0, mw = 0;
    void add(double more_s, double its_mw) {
      mw = (mw * node_s + its_mw * more_s) / std::max(node_s + more_s, 1e-9);
      node_s += more_s;
    }
  };

  /// That which the highest lower bound needs, and the rest.
  struct Works {
    Work dear{}, cheap{};
  };

  /// So many times what is needed is kept: sizes are whole numbers, and have limits.
  static constexpr double kSpare = 1.2;

  /// The most watts, while more work that draws much is left than the lower bounds, of now and to
  /// come, will need; else the fewest. Where no bound needs any that is: as long as there is one to
  /// come which lets less be drawn than now.
  static Prefer planned(const Pass& pass) {
    const auto is_lower = [&](const ComingCorridor& its) {
      return its.high_mw < pass.corridor_high_mw();
    };
    const auto first = std::ranges::find_if(pass.coming_corridors(), is_lower);
    if (first == pass.coming_corridors().end()) return Prefer::least;
    const Works works = works_of(pass);
    if (works.dear.node_s == 0 || works.cheap.node_s == 0) return Prefer::least;
    const Needs needs = needs_of(pass, works);
    return first->at <= needs.until && works.dear.node_s > kSpare * needs.node_s ? Prefer::most
                                                                                 : Prefer::least;
  }

  /// Of all that runs and waits. O(jobs).
  static Works works_of(const Pass& pass) {
    const double limit_mw = needed_by_a_node(pass);
    Works works;
    for_each_job(pass, [&](JobId id) {
      const Job& job = pass.job(id);
      const bool runs = job.status == Status::running;
      const auto most_mw = static_cast<double>(pass.node_power(id).most_mw);
      const Nodes n = runs ? job.size() : job.spec.preferred;
      const Duration length = runs ? pass.expected_end(id) - pass.now() : pass.estimate(id, n);
      (most_mw > limit_mw ? works.dear : works.cheap).add(to_seconds(length) * n, most_mw);
    });
    return works;
  }

  /// Node-seconds of dear work that lower bounds need until all work is done.
  struct Needs {
    double node_s = 0;
    Time until{};
  };
  static Needs needs_of(const Pass& pass, const Works& works) {
    const double nodes = pass.in_service(), idle_mw = static_cast<double>(pass.idle_draw_mw());
    const double dear_mw = works.dear.mw, cheap_mw = works.cheap.mw;
    double left_s = works.dear.node_s + works.cheap.node_s;
    Needs needs;
    ComingCorridor line{pass.now(), pass.corridor_low_mw(), pass.corridor_high_mw()};
    for (std::size_t i = 0;; ++i) {
      const bool is_last = i == pass.coming_corridors().size();
      // So many nodes can be busy, and so long; the last one holds until all is done.
      const double room =
          line.high_mw == State::kNoBudget
              ? nodes
              : std::min(nodes, (static_cast<double>(line.high_mw) - idle_mw) / cheap_mw);
      const double all_s = left_s / std::max(room, 1e-9);
      const double length_s =
          is_last ? all_s : std::min(all_s, to_seconds(pass.coming_corridors()[i].at - line.at));
      const double lacks_mw = static_cast<double>(line.low_mw) - idle_mw - nodes * cheap_mw;
      if (lacks_mw > 0) {
        needs.node_s += length_s * std::min(nodes, lacks_mw / (dear_mw - cheap_mw));
      }
      left_s -= length_s * room;
      needs.until = line.at;
      if (is_last || left_s <= 0) break;
      line = pass.coming_corridors()[i];
    }
    return needs;
  }

  template <class Visit>
  static void for_each_job(const Pass& pass, Visit visit) {
    for (const JobId id : pass.running()) visit(id);
    for (JobId id = pass.first_pending(); id != JobId::none; id = pass.next_pending(id)) visit(id);
  }

  /// What each node has to draw above idle where the lower bound is the highest, now or later, if
  /// all are busy: who draws more is needed there. Where none is so high: the mean of all jobs.
  static double needed_by_a_node(const Pass& pass) {
    std::int64_t low_mw = pass.corridor_low_mw();
    for (const ComingCorridor& its : pass.coming_corridors()) low_mw = std::max(low_mw, its.low_mw);
    double least = 1e18, most = 0;
    for_each_job(pass, [&](JobId id) {
      const auto its_mw = static_cast<double>(pass.node_power(id).most_mw);
      least = std::min(least, its_mw);
      most = std::max(most, its_mw);
    });
    const double nodes = std::max<double>(pass.in_service(), 1);
    const double needed = static_cast<double>(low_mw - pass.idle_draw_mw()) / nodes;
    return needed > least && needed < most ? needed : (least + most) / 2;
  }

  // --- Their sizes

  /// All that run, and the first that wait, in the order in which sizes decide between equals: the
  /// first ones are to have few nodes. So rather somebody starts than that others grow, and who
  /// waits for longest.
  std::vector<Sized> jobs_to_size(const Pass& pass, bool with_waiting) const {
    const Reachable reachable(pass);
    std::vector<Sized> jobs;
    for (const JobId id : running_by_id(pass)) jobs.push_back({id, reachable.most(id)});
    if (!with_waiting) return jobs;
    const auto running = static_cast<std::ptrdiff_t>(jobs.size());
    std::size_t waiting = 0;
    for (JobId id = pass.first_pending(); id != JobId::none && waiting < depth_;
         id = pass.next_pending(id)) {
      if (pass.job(id).not_before > pass.now()) continue;
      if (fits_no_line(pass, id, pass.smallest(id))) continue;
      jobs.push_back({id, reachable.most(id)});
      ++waiting;
    }
    std::reverse(jobs.begin() + running, jobs.end());
    return jobs;
  }

  /// Those that wait get no more nodes than lines to come let: first who starts with these sizes,
  /// in queue order, then the others. Do they let all of these sizes?
  static bool admit(const Pass& pass, std::vector<Sized>& jobs, std::span<const Nodes> sizes,
                    LowerLines lines) {
    bool all = true;
    for (const bool starts : {true, false}) {
      for (std::size_t i = jobs.size(); i-- > 0;) {
        const Job& job = pass.job(jobs[i].id);
        if (job.status == Status::running || (sizes[i] > 0) != starts) continue;
        const Nodes n = starts ? sizes[i] : job.spec.preferred;
        const Nodes let = lines.admit(pass, jobs[i].id, n);
        all = all && (!starts || let == n);
        if (let == 0 || !sizes_while_running(job.spec.type)) {
          jobs[i].most = std::min(jobs[i].most, let);
        }
      }
    }
    return all;
  }

  /// Finds sizes within these bounds, with `due` started at its preferred one, which counts in
  /// `lines`, and orders them. Part of them only without such a job.
  Given give_sizes(Pass& pass, std::vector<Sized> jobs, const CorridorBounds& bounds, Prefer prefer,
                   const LowerLines& lines, JobId due = JobId::none) const {
    CorridorSolution found = solution(pass, jobs, bounds, prefer, due);
    if (found.feasible && !admit(pass, jobs, found.sizes, lines)) {
      found = solution(pass, jobs, bounds, prefer, due);
    }
    if (!found.feasible) return Given::nothing;
    std::vector<JobId> ids, starts;
    for (const Sized& its : jobs) ids.push_back(its.id);
    if (due != JobId::none) starts.push_back(due);
    const SizeChanges changes = changes_to(pass, ids, found.sizes, starts);
    if (carry_out(pass, changes)) return Given::all;
    if (due != JobId::none) return Given::nothing;
    carry_out_in_part(pass, changes, bounds);
    return Given::part;
  }

  CorridorSolution solution(const Pass& pass, const std::vector<Sized>& jobs,
                            const CorridorBounds& bounds, Prefer prefer, JobId due) const {
    std::optional<CorridorProblem> problem = corridor_problem(pass, bounds);
    if (!problem) return {};
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto [id, most] = jobs[i];
      RunningInCorridor its = in_corridor(pass, i, id, most, pass.node_power(id));
      its.cost = cost(prefer, its.p_max_mw, its.range.min < its.range.max);
      problem->running.push_back(its);
    }
    std::vector<WaitingForCorridor> starts;
    if (due != JobId::none) {
      const auto [least, most] = pass.node_power(due);
      starts.push_back({jobs.size(), pass.job(due).spec.preferred, least, most});
    }
    return CorridorSolver(std::move(*problem), method_).solve(starts);
  }

  /// Of each node, in milliwatts. Who has one size only fits when there is room for him, and cannot
  /// fill the lower bound when few jobs are left: before others.
  std::int64_t cost(Prefer prefer, std::int64_t most_mw, bool may_choose) const {
    constexpr std::int64_t kBefore = 1'000'000'000;
    const std::int64_t its = prefer == Prefer::least  ? most_mw
                             : prefer == Prefer::most ? -most_mw
                                                      : 0;
    return its - (rigid_first_ && !may_choose ? kBefore : 0);
  }

  std::size_t depth_;
  Prefer prefer_;
  bool rigid_first_, orders_early_;
  Duration patience_;
  CorridorMethod method_;
  Duration tick_;
};

}  // namespace

PolicyInfo power_ahead() {
  return {
      .name = "power_ahead",
      .summary =
          "keeps a power corridor at every pass: as many busy nodes as it lets, with the "
          "jobs that suit the corridors to come",
      .parameters =
          {{.name = "depth",
            .type = ParameterType::integer,
            .fallback = "24",
            .min = 1,
            .max = 1000,
            .unit = "jobs",
            .summary = "so many waiting jobs, the first ones, are looked at"},
           choice_parameter("prefer", kPreferWords, "planned",
                            "of as many busy nodes: those that draw the least, the most, or "
                            "change the least; planned: the most while more such work is left "
                            "than lower bounds will need and less will be allowed, else the "
                            "least"),
           choice_parameter("rigid_first", kOnOff, "on", "jobs of one size start before others"),
           choice_parameter("ahead", kOnOff, "on",
                            "sizes are ordered so early that they hold when the corridor "
                            "changes, as far as resizes take time"),
           {.name = "patience",
            .type = ParameterType::duration,
            .fallback = "3600",
            .max = 1e9,
            .unit = "s",
            .summary = "the first waiting job starts as soon as that is possible once it has "
                       "waited for so long, whatever it draws"},
           choice_parameter("solver", kCorridorMethodWords, "automatic",
                            "how sizes are found: exactly (dp; lp where its table is too large), "
                            "by a linear program and "
                            "rounding (lp), or greedily; automatic: dp where that is small"),
           tick_parameter("30")},
      .make = make_policy<PowerAhead>};
}

}  // namespace ductile
