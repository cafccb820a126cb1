#include "scheduling/mates.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>

namespace ductile {
namespace {

// Of counts of microseconds and cores: rounded half up, and a time.
Duration quotient(Wide dividend, Wide divisor) {
  constexpr Wide kMost = Duration::max().count() / 4;
  const Wide its = (2 * dividend + divisor) / (2 * divisor);
  return Duration{static_cast<std::int64_t>(std::min(its, kMost))};
}

// So many of its nodes are those of mates, if no more than `idle` are others.
Nodes least_of_mates(const Guest& guest, Nodes idle) {
  return guest.nodes > idle ? guest.nodes - idle : 1;
}

// Goes through sets of candidates in the order of their places, the sums of their penalties
// ascending as far as one more decides it.
class Search {
 public:
  Search(std::span<const Mate> candidates, Nodes least, Nodes most, std::uint32_t mates)
      : candidates_(candidates), least_(least), most_(most), mates_(mates) {
    for (const Mate& mate : candidates) sizes_.push_back(mate.nodes);
    std::ranges::sort(sizes_);
  }

  ChosenMates best() {
    look(0, 0, 0);
    ChosenMates chosen;
    for (const std::size_t place : best_) {
      chosen.mates.push_back(candidates_[place]);
      chosen.nodes += candidates_[place].nodes;
    }
    chosen.penalty = best_sum_;
    chosen.was_cut = was_cut_;
    return chosen;
  }

 private:
  static constexpr std::uint64_t kMostLooks = 200'000;

  // The first of them is at `from` or behind.
  void look(std::size_t from, Nodes nodes, double sum) {
    const bool is_last = chosen_.size() + 1 == mates_;
    if (is_last && !is_there_one(least_ > nodes ? least_ - nodes : 1, most_ - nodes)) return;
    for (std::size_t place = from; place < candidates_.size(); ++place) {
      const Mate& mate = candidates_[place];
      const double with = sum + mate.penalty;
      // Those behind lose no less, and if it is a loss at all no more of them make it smaller.
      const bool is_loss = !best_.empty() && mate.penalty >= 0;
      if (is_loss && (with > best_sum_ || (with == best_sum_ && is_no_better(1)))) return;
      if (mates_ > 2 && ++looks_ > kMostLooks) {
        was_cut_ = true;
        return;
      }
      const Nodes all = nodes + mate.nodes;
      if (all > most_) continue;
      chosen_.push_back(place);
      if (all >= least_ && is_better(with)) {
        best_ = chosen_;
        best_sum_ = with;
      }
      if (!is_last) look(place + 1, all, with);
      chosen_.pop_back();
      if (is_last && all >= least_) return;  // those behind lose no less
    }
  }
  /// Of all candidates, with so many nodes.
  bool is_there_one(Nodes least, Nodes most) const {
    const auto at = std::ranges::lower_bound(sizes_, least);
    return at != sizes_.end() && *at <= most;
  }
  bool is_better(double sum) const {
    if (best_.empty() || sum != best_sum_) return best_.empty() || sum < best_sum_;
    if (chosen_.size() != best_.size()) return chosen_.size() < best_.size();
    return chosen_ < best_;
  }
  // A set of so many more than those chosen that has the sum of the best one.
  bool is_no_better(std::size_t more) const { return chosen_.size() + more > best_.size(); }

  std::span<const Mate> candidates_;
  Nodes least_, most_;
  std::uint32_t mates_;
  std::vector<Nodes> sizes_;                // of the candidates, ascending
  std::vector<std::size_t> chosen_, best_;  // places
  double best_sum_ = 0;
  std::uint64_t looks_ = 0;
  bool was_cut_ = false;
};

}  // namespace

MateFinder::MateFinder(const Pass& pass, const Sharing& sharing,
                       std::optional<LatestEnd> latest_end)
    : pass_(pass), sharing_(sharing), latest_end_(latest_end) {
  const Platform& machine = pass.platform();
  const bool has_classes = !machine.classes.empty();
  whole_ = has_classes ? machine.classes.front().has.cores : pass.whole(0).cores;
  const std::uint32_t sockets =
      has_classes ? machine.classes.front().sockets : machine.sockets_per_node;
  socket_ = std::max(whole_ / std::max(sockets, 1u), 1u);
  for (const JobId id : pass.running_malleable()) {
    if (!pass.can_share(id)) continue;
    const Job& job = pass.job(id);
    const std::vector<Part>& parts = job.holding.parts;
    Candidate its{.job = id, .has = whole_};
    if (!parts.empty() || !pass.is_alone(id)) {
      // The same cores of each node, of which the guest is to have the same, too.
      if (sharing.guests < 2 || parts.size() != 1 || parts.front().nodes != job.holding.nodes) {
        continue;
      }
      const std::optional<std::vector<JobId>> guests = pass.guests_of(id);
      if (!guests || guests->size() >= sharing.guests) continue;
      if (!std::ranges::all_of(*guests, [&](JobId guest) { return pass.can_share(guest); }))
        continue;
      its.has = parts.front().has.cores;
      for (const JobId guest : *guests) its.beside.push_back(pass.job(guest).spec.bound);
    }
    its.nodes = job.size();
    its.cores = usable(job.spec.cores);
    its.ranks = job.spec.ranks;
    its.bound = job.spec.bound;
    // Work is counted in core-microseconds where the cores are known.
    its.left = pass.work_left(id).left * (job.spec.cores == 0 ? whole_ : 1);
    its.end = pass.expected_end(id);
    mates_.push_back(std::move(its));
  }
  const auto add = [](auto& to, auto value) {
    if (std::ranges::find(to, value) == to.end()) to.push_back(value);
  };
  for (const Candidate& its : mates_) add(have_, its.has);
  std::ranges::sort(have_, std::greater());
  most_.push_back(whole_);
  if (sharing.split == Split::least_loss) {
    for (const Candidate& its : mates_) {
      if (its.cores < its.has) add(most_, its.has - its.cores);
    }
    std::ranges::sort(most_, std::greater());
  }
  for (std::size_t bound = 0; bound < efficiencies_.size(); ++bound) {
    std::vector<std::uint16_t>& each = efficiencies_[bound];
    for (const Candidate& its : mates_) {
      add(each, efficiency_beside(static_cast<Bound>(bound), its));
    }
    std::ranges::sort(each, std::greater());
  }
}

// Who is left out still counts in what guests are tried, as the policies say.
void MateFinder::leave_out_late() {
  was_in_vain_ = true;
  if (!latest_end_) return;
  for (Candidate& its : mates_) its.latest = (*latest_end_)(its.job);
  std::erase_if(mates_, [](const Candidate& its) { return its.end > its.latest; });
  hosts_.clear();
}

std::uint32_t MateFinder::given(std::uint32_t uses, std::uint32_t of, std::uint32_t most) const {
  const auto may = std::min(static_cast<std::uint32_t>(sharing_.factor.floor_of(of)), most);
  // Whole sockets, where one of them may be taken.
  const std::uint32_t unit = sharing_.whole_sockets && may >= socket_ ? socket_ : 1;
  return std::min(may / unit * unit, unit * ((uses + unit - 1) / unit));
}

Guest MateFinder::guest(JobId id, std::uint16_t efficiency, std::uint32_t of,
                        std::uint32_t most) const {
  const Job& job = pass_.job(id);
  const Queue::Need need = pass_.start_need(id);
  Guest guest{.job = id,
              .bound = job.spec.bound,
              .nodes = need.nodes,
              .length = need.walltime,
              .efficiency = efficiency,
              .of = of};
  if (!sizes_while_running(job.spec.type)) return guest;
  const std::uint32_t uses = usable(job.spec.cores);
  const std::uint32_t cores = given(uses, of, most);
  if (cores < job.spec.ranks || cores == 0 || cores >= of) return guest;
  guest.cores = cores;
  guest.shared = std::max(kTick, quotient(Wide{need.walltime.count()} * uses * kPerMille,
                                          Wide{std::min(cores, uses)} * efficiency));
  return guest;
}

std::uint16_t MateFinder::beside_all(Bound bound, std::span<const Bound> others,
                                     std::uint16_t efficiency) const {
  for (const Bound other : others) {
    efficiency = std::min(efficiency, pass_.contention().of(bound, other));
  }
  return efficiency;
}

std::uint16_t MateFinder::efficiency_beside(Bound bound, const Candidate& candidate) const {
  return beside_all(bound, candidate.beside, pass_.contention().of(bound, candidate.bound));
}

Wide MateFinder::speed(const Candidate& its, const Guest& guest) const {
  return Wide{its.nodes} * std::min(its.has - guest.cores, its.cores) *
         beside_all(its.bound, its.beside, pass_.contention().of(its.bound, guest.bound));
}

Wide MateFinder::speed(const Candidate& its) const {
  return Wide{its.nodes} * std::min(its.has, its.cores) *
         beside_all(its.bound, its.beside, kPerMille);
}

MateFinder::Hosts& MateFinder::hosts(const Guest& guest) {
  const auto [at, is_new] =
      hosts_.try_emplace({guest.cores, guest.of, guest.bound, guest.efficiency});
  Hosts& hosts = at->second;
  if (!is_new) return hosts;
  std::map<Nodes, Hosts::OfSize> sizes;
  for (const Candidate& its : mates_) {
    if (!suits(its, guest)) continue;
    const Duration most = longest_of(its, guest);
    hosts.all.push_back({&its, most});
    Hosts::OfSize& size = sizes[its.nodes];
    size.of_two = std::max(size.of_two, std::min(size.longest, most));
    size.longest = std::max(size.longest, most);
  }
  for (auto& [nodes, size] : sizes) {
    size.nodes = nodes;
    hosts.by_nodes.push_back(size);
  }
  return hosts;
}

Duration MateFinder::longest_of(const Candidate& its, const Guest& guest) const {
  constexpr Wide kMost = Duration::max().count() / 4;
  if (!sharing_.inside) return Duration{static_cast<std::int64_t>(kMost)};
  const Wide shared = speed(its, guest), left = its.left * kPerMille;
  Wide most = std::min(left / shared, kMost);
  // As `mate` says when it ends, which is rounded.
  const Wide whole = Wide{its.nodes} * its.cores * kPerMille;
  const Wide alone = its.beside.empty() ? whole : speed(its);
  if (its.latest != kNever && shared < alone) {
    const Wide until = its.beside.empty()
                           ? Wide{(its.latest - pass_.now()).count() + 1} * whole - left
                           : Wide{(its.latest - its.end).count() + 1} * whole;
    most = std::min(most, std::max<Wide>(until, 0) / (alone - shared));
  }
  return Duration{static_cast<std::int64_t>(most)};
}

Duration MateFinder::longest_of(const Hosts& hosts, Nodes least, Nodes most) const {
  Duration longest{};
  const auto& all = hosts.by_nodes;
  for (std::size_t i = 0; i < all.size() && all[i].nodes <= most; ++i) {
    const auto& one = all[i];
    if (one.longest <= longest) continue;
    if (one.nodes >= least || sharing_.mates > 2) {
      longest = one.longest;
      continue;
    }
    if (sharing_.mates < 2) continue;
    // Two of them, this one the smaller or as large.
    for (std::size_t j = all.size(); j-- > i;) {
      const Nodes both = one.nodes + all[j].nodes;
      if (both < least) break;
      if (both > most) continue;
      longest = std::max(longest, i == j ? one.of_two : std::min(one.longest, all[j].longest));
    }
  }
  return longest;
}

bool MateFinder::may_have_mates(const Guest& guest, Nodes idle) {
  return guest.cores > 0 && !mates_.empty() && longest_guest(guest, idle) >= guest.shared;
}

Duration MateFinder::longest_guest(const Guest& guest, Nodes idle) {
  Hosts& its = hosts(guest);
  if (idle > 0) return longest_of(its, least_of_mates(guest, idle), guest.nodes);
  const auto [at, is_new] = its.known.try_emplace(guest.nodes);
  if (is_new) at->second = longest_of(its, guest.nodes, guest.nodes);
  return at->second;
}

Duration MateFinder::longest_job(const Queue::Kind& kind, Nodes idle) {
  constexpr Wide kMost = Duration::max().count() / 4;
  const std::uint32_t uses = usable(kind.cores);
  Wide longest = 0;
  for (const std::uint32_t of : have_) {
    for (const std::uint16_t efficiency : efficiencies_[static_cast<std::size_t>(kind.bound)]) {
      std::uint32_t last = 0;
      for (const std::uint32_t most : most_) {
        const std::uint32_t cores = given(uses, of, most);
        if (std::exchange(last, cores) == cores || cores >= of) continue;
        const Guest its{.bound = kind.bound,
                        .nodes = kind.nodes,
                        .cores = cores,
                        .efficiency = efficiency,
                        .of = of};
        // As `guest` says how long it takes, which is rounded.
        const Wide shared = Wide{longest_guest(its, idle).count()} + 1;
        const Wide alone = shared * std::min(cores, uses) * efficiency / (Wide{uses} * kPerMille);
        longest = std::max(longest, alone + 1);
      }
    }
  }
  return Duration{static_cast<std::int64_t>(std::min(longest, kMost))};
}

std::vector<JobId> MateFinder::waiting_that_may(Nodes idle) {
  if (mates_.empty()) return {};
  if (!sharing_.inside) return pass_.all_pending();
  // Where so many may, one of the first ones most likely does: to sort them would cost more.
  const std::size_t many = 64 + pass_.pending() / 32;
  std::vector<JobId> those;
  for (const auto& [kind, jobs] : pass_.pending_kinds()) {
    const Duration longest = longest_job(kind, idle);
    for (const auto& [walltime, id] : jobs) {
      if (walltime > longest) break;
      if (those.size() == many) return pass_.all_pending();
      those.push_back(id);
    }
  }
  std::ranges::sort(those, [&](JobId a, JobId b) { return pass_.before(a, b); });
  return those;
}

bool MateFinder::can_be_mate(const Candidate& its, const Guest& guest, Mate& mate) const {
  const Wide shared = speed(its, guest);
  const Wide rest = its.left * kPerMille - shared * guest.shared.count();
  if ((rest < 0 && sharing_.inside) || !fits(its, guest)) return false;
  mate.job = its.job;
  mate.nodes = its.nodes;
  mate.keeps = its.has - guest.cores;
  const Wide whole = Wide{its.nodes} * its.cores * kPerMille;
  if (rest < 0) {
    mate.end = later(pass_.now(), quotient(its.left * kPerMille, shared));
  } else if (its.beside.empty()) {
    mate.end = later(later(pass_.now(), guest.shared), quotient(rest, whole));
  } else {
    // It does later, when its guests have left, what it does not do meanwhile.
    mate.end = later(its.end, quotient((speed(its) - shared) * guest.shared.count(), whole));
  }
  mate.end = std::max(mate.end, its.end);  // nothing is believed to be left of who is overdue
  mate.loss = mate.end - its.end;
  return true;
}

bool MateFinder::fits(const Candidate& candidate, const Guest& guest) const {
  const Slice& asked = pass_.asked(guest.job);
  const Slice& kept = pass_.asked(candidate.job);
  const std::vector<Part>& parts = pass_.job(candidate.job).holding.parts;
  const auto asks = [](const Slice& each) {
    return each.memory_mb > 0 || each.things != Slice{}.things;
  };
  const bool any_asked = asks(asked) || asks(kept);
  const bool one_cell = pass_.cell_count() == 1;
  if (one_cell && !any_asked) return true;
  if ((pass_.holds(candidate.job) & ~pass_.cells_of(guest.job)) != 0) return false;
  bool is_enough = true;
  for_each_node(pass_.job(candidate.job).holding.nodes, [&](std::uint32_t node) {
    const Slice whole = pass_.whole(node);
    const Slice& has = parts.empty() ? whole : parts.front().has;
    is_enough &= whole.cores == whole_ && has_room(minus(has, kept), asked);
  });
  return is_enough;
}

ChosenMates MateFinder::choose(const Guest& guest, Nodes idle, Penalty penalty) {
  std::vector<Mate> candidates;
  for (const auto& [each, most] : hosts(guest).all) {
    if (each->nodes > guest.nodes || most < guest.shared) continue;
    // Written where it stays: there may be thousands.
    Mate& its = candidates.emplace_back();
    const std::optional<double> value =
        can_be_mate(*each, guest, its) ? penalty(its) : std::nullopt;
    if (value) its.penalty = *value;
    if (!value) candidates.pop_back();
  }
  const auto is_first = [](const Mate& a, const Mate& b) {
    if (a.penalty != b.penalty) return a.penalty < b.penalty;
    return a.end != b.end ? a.end > b.end : a.job < b.job;
  };
  if (candidates.size() > sharing_.candidates) {
    std::ranges::nth_element(candidates, candidates.begin() + sharing_.candidates, is_first);
    candidates.resize(sharing_.candidates);
  }
  std::ranges::sort(candidates, is_first);
  const Nodes least = least_of_mates(guest, idle);
  ChosenMates chosen = Search(candidates, least, guest.nodes, sharing_.mates).best();
  if (chosen.mates.empty() && !was_in_vain_) leave_out_late();
  return chosen;
}

const ChosenMates& MateFinder::choose_once(const Guest& guest, Nodes idle, Penalty penalty) {
  const LaneId lane = pass_.job(guest.job).spec.lane;
  const auto [at, is_new] =
      chosen_.try_emplace({lane, pass_.cells_of(guest.job), guest.bound, guest.nodes, guest.cores,
                           guest.of, guest.efficiency, guest.shared, idle});
  if (is_new) at->second = choose(guest, idle, penalty);
  if (!is_new && pass_.checks() && choose(guest, idle, penalty) != at->second) {
    throw std::logic_error("guests that are alike have other mates");
  }
  return at->second;
}

Match MateFinder::best(JobId id, Nodes idle, FunctionRef<ChosenMates(const Guest&)> mates_for) {
  Match best;
  for (const std::uint32_t of : have_) {
    for (const std::uint16_t each : efficiencies(id)) {
      std::uint32_t cores = 0;
      for (const std::uint32_t most : most_) {
        const Guest its = guest(id, each, of, most);
        if (std::exchange(cores, its.cores) == its.cores) continue;  // or it cannot share any
        if (!may_have_mates(its, idle)) continue;
        ChosenMates chosen = mates_for(its);
        if (chosen.mates.empty()) continue;
        if (best.empty() || chosen.sum() < best.chosen.sum()) best = {its, std::move(chosen)};
      }
    }
  }
  return best;
}

bool MateFinder::start(Pass& pass, const Match& match) const {
  const auto& [guest, chosen] = match;
  Slice keeps;
  std::vector<Cut> cuts;
  Gain gain{.job = guest.job, .size = exactly(guest.nodes)};
  for (const Mate& mate : chosen.mates) {
    const Slice& asked = pass.asked(mate.job);
    keeps.cores = static_cast<std::uint16_t>(mate.keeps);
    keeps.things = asked.things;
    keeps.memory_mb = asked.memory_mb;
    cuts.push_back({.victim = mate.job, .to = mate.nodes, .each = keeps});
    gain.on.insert(pass.job(mate.job).holding.nodes);
  }
  return pass.carry_out(cuts, std::span(&gain, 1), {Why::guest});
}

namespace {

// When the plan has nodes for it on which it is alone; `kNever` if it never has.
Time earliest_alone(const Pass& pass, Timeline& plan, const Guest& guest) {
  return plan.earliest(pass.demand(guest.job, guest.nodes), guest.length,
                       pass.job(guest.job).not_before);
}

// Idle nodes that it could have besides, for so long as it is believed to take.
Nodes idle_besides(const Pass& pass, Timeline& plan, const Guest& guest) {
  if (pass.idle() == 0) return 0;
  const Left left(plan);
  return std::min(pass.idle(guest.job), left.during(pass, guest.job, guest.nodes, guest.shared));
}

}  // namespace

bool start_as_guest(Pass& pass, MateFinder& finder, Timeline& plan, JobId id, Time at,
                    const Terms& terms) {
  const auto mates_for = [&](const Guest& guest) -> ChosenMates {
    if (at == kNever) at = earliest_alone(pass, plan, guest);
    if (at == kNever) return {};
    const Duration gain = at - pass.now() + guest.length - guest.shared;
    if (gain <= Duration{}) return {};
    const auto penalty = [&](const Mate& mate) { return terms.penalty(guest, gain, mate); };
    const Nodes idle = terms.free_nodes ? idle_besides(pass, plan, guest) : 0;
    ChosenMates chosen = terms.are_alike ? finder.choose_once(guest, idle, penalty)
                                         : finder.choose(guest, idle, penalty);
    if (chosen.was_cut) pass.note_cut_search();
    if (chosen.mates.empty() || !terms.pays(guest, gain, chosen)) return {};
    if (terms.guests) chosen.guests = (*terms.guests)(guest);
    return chosen;
  };
  const Match best = finder.best(id, terms.free_nodes ? pass.idle(id) : 0, mates_for);
  return !best.empty() && finder.start(pass, best);
}

bool start_or_share(Pass& pass, const Backfill& how, const Sharing& sharing,
                    const GuestStarts& guests) {
  if (pass.in_one_lane() && !how.is_slurms()) start_in_order(pass);
  const bool moves = guests.move_on && pass.idle() > 0 && !pass.parted().empty();
  const auto end_with_plan = [&](Timeline& plan) { return moves && (*guests.move_on)(plan); };
  if (pass.pending() == 0) {
    if (!moves) return false;
    Timeline plan = timeline_for(pass, how);
    return end_with_plan(plan);
  }
  MateFinder finder(pass, sharing, guests.latest_end);
  if (finder.empty() && !moves) {
    start_and_backfill(pass, how);
    return false;
  }
  pass.forget_memo();
  Timeline plan = timeline_for(pass, how);
  bool any = false;
  const auto start_inside = [&](JobId id, Time at) {
    return any = !finder.empty() && guests.start(finder, plan, id, at);
  };
  const Behind behind = start_or_reserve(pass, plan, how, nullptr, start_inside);
  const bool looks_behind = !any && behind.anybody() && !how.is_slurms();
  if (looks_behind) {
    const std::vector<JobId> others = finder.waiting_that_may(guests.free_nodes ? pass.idle() : 0);
    start_behind(pass, plan, behind, others, start_inside);
  }
  return any || end_with_plan(plan);
}

bool move_a_guest_on(Pass& pass, Timeline& plan) {
  struct Move {
    double gain = 0;
    JobId job = JobId::none;
    Spread in{};
  };
  Move best;
  for (const JobId id : pass.parted()) {
    if (!pass.is_guest(id) || !pass.can_move_on(id)) continue;
    const Nodes fresh = pass.not_alone(id).count();
    const Time now = pass.now(), end = pass.end_alone(id);
    if (fresh > pass.idle(id) || end >= pass.expected_end(id)) continue;
    const double gain = static_cast<double>((pass.expected_end(id) - end).count()) /
                        static_cast<double>(pass.job(id).spec.walltime.count());
    if (gain <= best.gain) continue;
    Spread in;
    if (plan.earliest(pass.demand(id, fresh), end - now, now, in) > now) continue;
    best = {gain, id, std::move(in)};
  }
  return best.job != JobId::none && pass.move_on(best.job, {Why::guest}, &best.in);
}

}  // namespace ductile
