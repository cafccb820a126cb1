#include "scheduling/by_value.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace ductile {

Worth::Worth(const Pass& pass, JobId id, const NodeValue& rules)
    : job_(id), preferred_(pass.job(id).spec.preferred), speedup_(&pass.speedup(id)) {
  const bool runs = pass.job(id).status == Status::running;
  const double left = to_seconds(runs ? pass.expected_end(id, preferred_) - pass.now()
                                      : pass.estimate(id, preferred_));
  const double elapsed = runs ? to_seconds(pass.now() - pass.job(id).started) : 0;
  left_s_ = std::max({left, elapsed / 10, 1.0});
  weight_ = std::exp(-rules.exponent * std::log(left_s_));  // faster than a power
}

const Worth& Worths::of(JobId id) {
  const std::size_t place = pass_->job(id).running_at;
  if (place >= known_.size()) known_.resize(pass_->running().size());
  std::optional<Worth>& its = known_[place];
  if (!its || its->job() != id) its.emplace(*pass_, id, rules_);
  return *its;
}

void rank_by_loss(const Pass& pass, std::vector<JobId>& victims, Nodes missing, Worths& worths) {
  rank(victims, [&](JobId id) {
    const Nodes size = pass.job(id).size();
    const Nodes gives = std::min(missing, pass.extra(id));
    return worths.of(id).of_node(size, size - gives);
  });
}

double loss_by_cuts(const Pass& pass, std::span<const Cut> cuts, Worths& worths) {
  double lost = 0, nodes = 0;
  for (const Cut& cut : cuts) {
    const Nodes size = pass.job(cut.victim).size();
    const double given = static_cast<double>(size) - static_cast<double>(cut.to);
    lost += given == 0 ? 0 : worths.of(cut.victim).of_node(size, cut.to) * given;
    nodes += given;
  }
  return nodes == 0 ? 0 : lost / nodes;
}

Duration cost_of_cuts(const Pass& pass, std::span<const Cut> cuts) {
  Duration sum{};
  for (const Cut& cut : cuts) sum += pass.expected_cost(cut.victim, cut.to);
  return sum;
}

bool starts_soon_anyway(const Pass& pass, JobId id, Nodes n, Duration within) {
  if (within <= Duration{}) return false;
  Timeline plan = timeline_for(pass, {});
  const Time at = plan.earliest(pass.demand(id, n), pass.estimate(id, n), pass.job(id).not_before);
  return at <= later(pass.now(), within);
}

namespace {

/// The size that a step leads to from `n` nodes: the next allowed one at or above the least step,
/// else the largest there is up to `most`, at least n.
Nodes step_size(const Pass& pass, const Worth& worth, Nodes n, Nodes most, const NodeValue& rules) {
  const SizeConstraint sizes = pass.sizes(worth.job());
  const auto least = std::max<Nodes>(static_cast<Nodes>(rules.step.floor_of(n)), 1);
  Nodes to = sizes.at_least(n + least);
  if (to > most) to = sizes.at_most(most);
  return std::max(to, n);
}

/// The same; n if the job is not faster there by `gain`.
Nodes next_size(const Pass& pass, const Worth& worth, Nodes n, Nodes most, const NodeValue& rules) {
  const Nodes to = step_size(pass, worth, n, most, rules);
  if (to == n) return n;
  return worth.speed(to) >= worth.speed(n) * (1 + rules.gain) ? to : n;
}

/// One hand-out. What jobs get is written when all of it is known.
class HandingOutByValue {
 public:
  HandingOutByValue(Pass& pass, Worths& worths, const HandOutByValue& how)
      : pass_(pass), worths_(worths), how_(how), idle_(pass.idle()) {
    if (pass.cell_count() > 1) {
      for (std::uint32_t cell = 0; cell < pass.cell_count(); ++cell) {
        idle_of_.push_back(pass.idle_of(cell));
      }
    }
  }

  void operator()() {
    gather();
    const bool any_limited =
        std::ranges::any_of(takers_, [&](const Taker& taker) { return is_limited(taker); });
    if (any_limited) left_before_ = *how_.left;
    do {
      offer_all();
    } while (take_back());
    for (const Taker& taker : takers_) write(taker);
  }

 private:
  struct Taker {
    Worth worth;
    Nodes before, size, most;
    bool starts;  // in this pass
    bool stays;   // keeps what it gets to its end
    bool out = false;
    Spread in{};  // with several cells, of which its new nodes are
    std::vector<std::pair<Nodes, Duration>> held{};  // of what reservations leave, by its steps
  };
  struct Step {
    double value;
    Nodes to;
    std::size_t taker;
    bool operator<(const Step& other) const {
      return value != other.value ? value < other.value : taker > other.taker;
    }
  };

  struct Offered {
    std::size_t taker;
    Nodes full;             // nodes of its next step, however many are idle
    bool is_known = false;  // its step
    std::optional<Step> step{};
  };

  void gather() {
    std::vector<JobId> jobs = growable_jobs(pass_);
    std::vector<JobId> started = pass_.started();
    std::ranges::sort(started);
    if (!how_.to_starts) {
      std::erase_if(jobs, [&](JobId id) { return std::ranges::binary_search(started, id); });
    } else if (how_.left || pass_.pending() == 0) {
      for (const JobId id : moldable_starts(pass_)) jobs.push_back(id);
    }
    std::ranges::sort(jobs);
    for (const JobId id : jobs) {
      const JobSpec& spec = pass_.job(id).spec;
      const Nodes size = pass_.job(id).size();
      const bool stays = !sizes_while_running(spec.type);
      // Who went below its smallest size by itself asked for that.
      if (!stays && size < pass_.smallest(id)) continue;
      Nodes most = spec.size.max;
      const double grown = how_.moldable * spec.preferred;
      if (stays && grown < most) most = static_cast<Nodes>(grown);
      const bool starts = std::ranges::binary_search(started, id);
      takers_.push_back({worths_.of(id), size, size, most, starts, stays});
    }
  }

  /// Idle nodes that are left and that it can use.
  Nodes idle_for(const Taker& taker) const {
    if (idle_of_.empty()) return pass_.idle(taker.worth.job()) == 0 ? 0 : idle_;
    Nodes sum = 0;
    for_each_cell(pass_.open_cells(taker.worth.job()),
                  [&](std::uint32_t cell) { sum += idle_of_[cell]; });
    return sum;
  }

  /// How long it would hold what it gets, as plans see it.
  Duration held(const Taker& taker, Nodes size) const {
    const JobId id = taker.worth.job();
    return pass_.ends_move() ? pass_.expected_end(id, size) - pass_.now()
                             : pass_.expected_end(id) - pass_.now();
  }

  Nodes full_step(std::size_t i) const {
    const Taker& taker = takers_[i];
    return step_size(pass_, taker.worth, taker.size, std::max(taker.size, taker.most),
                     worths_.rules()) -
           taker.size;
  }
  std::optional<Step> next_step(std::size_t i) const {
    const Taker& taker = takers_[i];
    const JobId id = taker.worth.job();
    Nodes more = pass_.powered(id, idle_for(taker));
    if (is_limited(taker)) {
      more = how_.left->during(pass_, id, more, held(taker, taker.size));
    }
    const Nodes most = std::max(taker.size, std::min(taker.most, taker.size + more));
    const Nodes to = next_size(pass_, taker.worth, taker.size, most, worths_.rules());
    if (to == taker.size) return std::nullopt;
    return Step{taker.worth.of_node(taker.size, to), to, i};
  }

  bool is_limited(const Taker& taker) const { return how_.left && (taker.stays || how_.reserved); }

  void offer_all() {
    std::vector<Offered> offered;
    for (std::size_t i = 0; i < takers_.size(); ++i) {
      if (takers_[i].out || !can_pay(takers_[i])) continue;
      offered.push_back({i, full_step(i)});
    }
    while (idle_ > 0) {
      Offered* best = nullptr;
      for (Offered& its : offered) {
        const Taker& taker = takers_[its.taker];
        // Where there are too few nodes for it now a step is a shorter one, of another value.
        const bool is_short = is_limited(taker) || its.full > idle_for(taker);
        if (is_short || !its.is_known) its.step = next_step(its.taker);
        its.is_known = true;
        if (its.step && (!best || *best->step < *its.step)) best = &its;
      }
      if (!best) return;
      take(takers_[best->taker], best->step->to);
      *best = {best->taker, full_step(best->taker)};
    }
  }

  void take(Taker& taker, Nodes to) {
    Nodes more = to - taker.size;
    if (is_limited(taker)) {
      taker.held.emplace_back(more, held(taker, taker.size));
      how_.left->take(pass_, taker.worth.job(), more, taker.held.back().second);
    }
    taker.size = to;
    idle_ -= more;
    if (idle_of_.empty()) return;
    const Cells its = pass_.open_cells(taker.worth.job());
    for (const std::uint32_t cell : pass_.cells_in_order()) {
      if ((its >> cell & 1) == 0) continue;
      const Nodes n = std::min(more, idle_of_[cell]);
      taker.in.add(cell, n);
      idle_of_[cell] -= n;
      more -= n;
    }
  }

  double cost_s(const Taker& taker, Nodes to) const {
    return worths_.rules().cost_s(pass_.expected_cost(taker.worth.job(), to));
  }
  /// Is there so much left of it at all?
  bool can_pay(const Taker& taker) const {
    return taker.starts || taker.worth.left_s(taker.before) > cost_s(taker, taker.before + 1);
  }
  bool pays(const Taker& taker) const {
    return taker.starts || taker.worth.left_s(taker.before) - taker.worth.left_s(taker.size) >
                               cost_s(taker, taker.size);
  }

  bool may_expand(const Taker& taker) const {
    return taker.starts ||
           ductile::may_expand(pass_, taker.worth.job(), taker.size, how_.benefit, sources(taker));
  }
  static Sources sources(const Taker& taker) {
    return {.in = taker.in.empty() ? nullptr : &taker.in};
  }

  /// Those that their steps do not pay for get none, and their nodes are offered to the others.
  bool take_back() {
    bool any = false;
    for (Taker& taker : takers_) {
      if (taker.size == taker.before || (pays(taker) && may_expand(taker))) continue;
      idle_ += taker.size - taker.before;
      for (const Spread::Part& part : taker.in.parts) idle_of_[part.cell] += part.count;
      taker.size = taker.before;
      taker.in = {};
      taker.held.clear();
      taker.out = any = true;
    }
    if (any && left_before_) {
      *how_.left = *left_before_;
      for (const Taker& taker : takers_) {
        for (const auto& [nodes, length] : taker.held) {
          how_.left->take(pass_, taker.worth.job(), nodes, length);
        }
      }
    }
    return any;
  }

  void write(const Taker& taker) {
    if (taker.size == taker.before) return;
    pass_.resize(taker.worth.job(), SizeRange{taker.before + 1, taker.size}, {Why::hand_out},
                 sources(taker));
  }

  Pass& pass_;
  Worths& worths_;
  const HandOutByValue& how_;
  Nodes idle_;
  std::vector<Nodes> idle_of_;         // with several cells
  std::vector<Taker> takers_;          // by id
  std::optional<Left> left_before_{};  // if any of them is limited by it
};

/// A running job that nodes may be moved to or from.
struct Holder {
  Worth worth;
  Nodes size;
  Nodes next = 0;    // size after its next step, if it can be given nodes
  double value = 0;  // of that
};

}  // namespace

Nodes wanted_above(const Pass& pass, Worths& worths, double value, Nodes most) {
  const NodeValue& rules = worths.rules();
  const std::vector<JobId> started = pass.started();
  Nodes wanted = 0;
  for (const JobId id : growable_jobs(pass)) {
    if (wanted >= most) break;
    const Nodes size = pass.job(id).size();
    if (size < pass.smallest(id)) continue;
    const Worth& worth = worths.of(id);
    Nodes to = size;
    for (bool more = true; more;) {
      const Nodes next = next_size(pass, worth, to, pass.job(id).spec.size.max, rules);
      more = next > to && worth.of_node(to, next) > value;
      if (more) to = next;
    }
    if (to == size) continue;
    const bool starts = std::ranges::find(started, id) != started.end();
    const double won_s = worth.left_s(size) - worth.left_s(to);
    const bool pays = starts || won_s > rules.cost_s(pass.expected_cost(id, to));
    if (pays) wanted += to - size;
  }
  return std::min(wanted, most);
}

void hand_out_by_value(Pass& pass, Worths& worths, const HandOutByValue& how) {
  if (pass.idle() > 0) HandingOutByValue(pass, worths, how)();
}

void rebalance(Pass& pass, Worths& worths, std::uint32_t moves, Benefit benefit) {
  const NodeValue& rules = worths.rules();
  if (moves == 0 || pass.running_malleable().size() < 2) return;
  std::vector<Holder> holders;
  holders.reserve(pass.running_malleable().size());
  const auto look_ahead = [&](Holder& its) {
    const JobId id = its.worth.job();
    const Job& job = pass.job(id);
    its.next = its.size = job.size();
    if (job.doing != Doing::nothing || its.size >= job.spec.size.max || !pass.growable(id)) return;
    if (its.size < pass.smallest(id)) return;
    its.next = next_size(pass, its.worth, its.size, job.spec.size.max, rules);
    if (its.next > its.size) its.value = its.worth.of_node(its.size, its.next);
  };
  for (const JobId id : pass.running_malleable()) {
    look_ahead(holders.emplace_back(Holder{worths.of(id), 0}));
  }
  for (std::uint32_t move = 0; move < moves; ++move) {
    Holder* taker = nullptr;
    for (Holder& its : holders) {
      if (its.next == its.size) continue;
      const bool is_better = !taker || its.value > taker->value ||
                             (its.value == taker->value && its.worth.job() < taker->worth.job());
      if (is_better) taker = &its;
    }
    if (!taker) return;
    const JobId to = taker->worth.job();
    const Nodes nodes = taker->next - taker->size;
    Holder* giver = nullptr;
    double loss = taker->value;
    for (Holder& its : holders) {
      const JobId id = its.worth.job();
      if (&its == taker || its.size <= nodes) continue;
      const double its_loss = its.worth.of_node(its.size, its.size - nodes);
      if (its_loss > loss || (its_loss == loss && (!giver || id > giver->worth.job()))) continue;
      if (!pass.cuttable(id) || extra_for(pass, id, to) < nodes) continue;
      if (!pass.sizes(id).allows(its.size - nodes)) continue;
      giver = &its;
      loss = its_loss;
    }
    if (!giver) return;
    const Cut cut{giver->worth.job(), giver->size - nodes};
    const Sources sources{{&cut, 1}};
    const double after_s = taker->worth.left_s(taker->next);
    const double won_s = taker->worth.left_s(taker->size) - after_s;
    const double slower = 1 - giver->worth.speed(cut.to) / giver->worth.speed(giver->size);
    const double lost_s =
        std::min(giver->worth.left_s(cut.to) - giver->worth.left_s(giver->size), after_s * slower);
    const double cost_s = rules.cost_s(pass.expected_cost(to, taker->next)) +
                          rules.cost_s(pass.expected_cost(cut.victim, cut.to));
    if (won_s - lost_s <= cost_s || won_s - lost_s <= won_s / 10) return;
    if (!may_expand(pass, to, taker->next, benefit, sources)) return;
    if (!pass.resize(to, taker->next, {Why::hand_out}, sources)) return;
    look_ahead(*taker);
    look_ahead(*giver);
  }
}

}  // namespace ductile
