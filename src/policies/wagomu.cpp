// The strategies of the Wagomu project (Posner, Hupfeld and Finnerty, Euro-Par workshops 2023):
// jobs whose nodes have come start; EASY; running malleable jobs are shrunk for those that still
// wait, in queue order; what is idle expands running jobs. The strategies differ in the sizes that
// they keep to, the agreements in what happens to nodes between the decision that they are given
// and their coming. `keeppref` (Zojer, Posner and Oezden 2026) keeps jobs at their preferred size.
#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

enum class WagomuStrategy : std::uint8_t { min, pref, average, keep_pref };
constexpr std::array<std::string_view, 3> kStrategyWords{"min", "pref", "average"};
enum class Agreement : std::uint8_t { direct, common_pool, steal };
constexpr std::array<std::string_view, 3> kAgreementWords{"direct", "common_pool", "steal"};
enum class Starts : std::uint8_t { strategy, smallest, preferred };
constexpr std::array<std::string_view, 3> kStartsWords{"strategy", "smallest", "preferred"};

// What a running job keeps, or is expanded to.
enum class Size : std::uint8_t { smallest, preferred, largest };

// How far a job has come from one end of its range of sizes to the other, and how many steps it may
// still go.
struct Usage {
  std::int64_t gone = 0, range = 0;
  Nodes room = 0;
};

// One node at a time, to who has gone the smallest part of its range; ties: the first one. What
// each gets. O(n + nodes log n).
std::vector<Nodes> deal(std::vector<Usage> jobs, Nodes nodes) {
  std::vector<Nodes> gets(jobs.size(), 0);
  const auto later = [&](std::size_t a, std::size_t b) {
    const std::int64_t its = jobs[a].gone * jobs[b].range, other = jobs[b].gone * jobs[a].range;
    return its != other ? its > other : a > b;
  };
  std::vector<std::size_t> heap;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].room > 0) heap.push_back(i);
  }
  std::ranges::make_heap(heap, later);
  for (; nodes > 0 && !heap.empty(); --nodes) {
    std::ranges::pop_heap(heap, later);
    const std::size_t i = heap.back();
    ++jobs[i].gone;
    if (++gets[i] < jobs[i].room) {
      std::ranges::push_heap(heap, later);
    } else {
      heap.pop_back();
    }
  }
  return gets;
}

// The jobs that one pass may shrink: none that it started or expanded. Gathered when first asked
// for.
class WagomuVictims {
 public:
  WagomuVictims(Pass& pass, WagomuStrategy strategy) : pass_(pass), strategy_(strategy) {}

  // Nobody can be shrunk in the rest of this pass.
  bool none() {
    gather();
    return give_[0] == 0;
  }

  // Who gives `need` nodes that `whom` can use, while all keep this size; nobody if they cannot.
  std::vector<Cut> select(Nodes need, JobId whom, Size keep) {
    gather();
    std::vector<Cut> cuts;
    if (need == 0 || need > give(keep)) return cuts;
    std::vector<Nodes> gives = strategy_ == WagomuStrategy::average ? by_usage(need, whom, keep)
                                                                    : in_turn(need, whom, keep);
    for (std::size_t i = 0; i < rows_.size() && need > 0; ++i) {
      if (gives[i] == 0) continue;
      const Row& row = rows_[i];
      const Nodes to = pass_.sizes(row.id).after_giving(
          row.size, gives[i] + row.sick, {kept(row, keep), pass_.job(row.id).spec.size.max});
      const Nodes useful = pass_.cell_count() > 1     ? pass_.adds({row.id, to}, whom)
                           : row.size - to > row.sick ? row.size - to - row.sick
                                                      : 0;
      if (useful == 0) continue;
      cuts.push_back({row.id, to});
      need -= std::min(need, useful);
    }
    if (need > 0) cuts.clear();
    return cuts;
  }

  // These cuts were made.
  void made(const std::vector<Cut>& cuts) {
    for (const Cut& cut : cuts) {
      Row& row = *std::ranges::find(rows_, cut.victim, &Row::id);
      count(row, -1);
      row.size = cut.to;
      row.sick = 0;
      count(row, +1);
    }
  }

 private:
  struct Row {
    JobId id;
    Nodes size, smallest, preferred;
    Nodes sick;  // nodes that are not up: a shrink gives them first, and they help nobody
  };

  void gather() {
    if (gathered_) return;
    gathered_ = true;
    for (const JobId id : pass_.running_malleable()) {
      if (!pass_.cuttable(id)) continue;
      const Nodes extra = pass_.extra(id), size = pass_.job(id).size();
      if (extra == 0) continue;
      const Nodes smallest = pass_.smallest(id);
      rows_.push_back({id, size, smallest, std::max(smallest, pass_.job(id).spec.preferred),
                       size - smallest - extra});
    }
    std::ranges::sort(rows_, {}, [](const Row& row) { return row.id; });
    for (const Row& row : rows_) count(row, +1);
  }

  static Nodes kept(const Row& row, Size keep) {
    return keep == Size::preferred ? row.preferred : row.smallest;
  }
  static Nodes room(const Row& row, Size keep) {
    const Nodes kept_and_sick = kept(row, keep) + row.sick;
    return row.size > kept_and_sick ? row.size - kept_and_sick : 0;
  }
  Nodes useful(const Row& row, JobId whom, Size keep) const {
    const Nodes all = room(row, keep);
    return pass_.cell_count() == 1 ? all : std::min(all, pass_.extra(row.id, whom));
  }
  // All of them together.
  Nodes& give(Size keep) { return give_[keep == Size::preferred ? 1 : 0]; }
  void count(const Row& row, int sign) {
    for (const Size keep : {Size::smallest, Size::preferred}) {
      if (sign > 0) give(keep) += room(row, keep);
      if (sign < 0) give(keep) -= room(row, keep);
    }
  }

  // Most nodes above the smallest size, or the preferred one, first. What each gives.
  std::vector<Nodes> in_turn(Nodes need, JobId whom, Size keep) const {
    const bool by_smallest = strategy_ == WagomuStrategy::min;
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Nodes from = by_smallest ? rows_[i].smallest : rows_[i].preferred;
      order.emplace_back(std::int64_t{from} - std::int64_t{rows_[i].size}, i);
    }
    std::ranges::sort(order);
    std::vector<Nodes> gives(rows_.size(), 0);
    for (const auto& [above, i] : order) {
      const Nodes its = std::min(need, useful(rows_[i], whom, keep));
      gives[i] = its;
      need -= its;
    }
    return gives;
  }

  // One node at a time, from who uses the largest part of what lies between its smallest and its
  // largest size.
  std::vector<Nodes> by_usage(Nodes need, JobId whom, Size keep) const {
    std::vector<Usage> jobs;
    for (const Row& row : rows_) {
      const std::int64_t largest = pass_.job(row.id).spec.size.max;
      jobs.push_back({largest - row.size, largest - row.smallest, useful(row, whom, keep)});
    }
    return deal(std::move(jobs), need);
  }

  Pass& pass_;
  WagomuStrategy strategy_;
  bool gathered_ = false;
  std::vector<Row> rows_;  // by number
  std::array<Nodes, 2> give_{};
};

class Wagomu final : public Policy {
 public:
  Wagomu(WagomuStrategy strategy, const Parameters& p)
      : strategy_(strategy),
        agreement_(chosen<Agreement>(p, "agreement", kAgreementWords)),
        starts_smallest_(chosen<Starts>(p, "starts", kStartsWords) == Starts::strategy
                             ? strategy == WagomuStrategy::min
                             : chosen<Starts>(p, "starts", kStartsWords) == Starts::smallest),
        benefit_(expand_benefit(p)),
        tick_(seconds(p.number("tick"))) {
    // Nodes that come in for an agreement may go to another one: each answer matters.
    traits.wakes = agreement_ == Agreement::direct ? kAllButAnswers : kEveryEvent;
    traits.start_size = StartSize::smallest;
  }

  void schedule(Pass& pass) const override {
    // Only when something happened: a claim that is withdrawn can wake the policy again.
    const bool happened = pass.woken_by<event::Submitted>() || pass.woken_by<event::Resized>() ||
                          pass.woken_by<event::Ended>() || pass.woken_by<event::NodesChanged>() ||
                          pass.woken_by<event::Suspended>();
    if (agreement_ != Agreement::direct && happened) resolve_agreements(pass);
    if (strategy_ == WagomuStrategy::keep_pref) expand(pass, Size::preferred);
    start_and_backfill(pass);
    shrink(pass);
    if (strategy_ == WagomuStrategy::min || strategy_ == WagomuStrategy::average) {
      expand(pass, Size::largest);
    } else {
      expand(pass, Size::preferred);
      const bool waits = pass.pending() > 0 || !pass.claims().empty();
      if (strategy_ == WagomuStrategy::pref || !waits) expand(pass, Size::largest);
    }
    tick(pass, tick_);
  }

 private:
  // Agreements are claims of jobs that are to start; the core starts those to whom all has come.
  // With a pool, what has come for any of them serves the first in the queue that it suffices for;
  // to steal, idle nodes count as well. What they lose so is promised anew.
  void resolve_agreements(Pass& pass) const {
    struct Agreed {
      ClaimId claim;
      JobId job;
      Nodes size;
      Reason reason;
    };
    std::vector<Agreed> agreed;
    Nodes there = agreement_ == Agreement::steal ? pass.idle() : 0;
    for (const Claim& claim : pass.claims()) {
      if (!claim.start) continue;
      agreed.push_back({claim.id, claim.job, claim.add.min, claim.reason});
      there += claim.held.count;
    }
    std::ranges::sort(agreed,
                      [&](const Agreed& a, const Agreed& b) { return pass.before(a.job, b.job); });
    std::vector<Agreed> first, others;
    for (const Agreed& its : agreed) {
      const bool suffices = its.size <= there;
      if (suffices) there -= its.size;
      (suffices ? first : others).push_back(its);
    }
    if (first.empty()) return;
    for (const Agreed& its : agreed) pass.withdraw(its.claim, its.reason);
    first.insert(first.end(), others.begin(), others.end());
    for (const Agreed& its : first) {
      pass.start(its.job, exactly(its.size), its.reason, {.incoming = true});
    }
  }

  // At which size a job starts with so many nodes; 0: they are too few.
  Nodes size_with(const Pass& pass, JobId id, Nodes free) const {
    const Nodes least = start_sizes(pass, id).min;
    if (!starts_smallest_) return fitting_size(pass, id, free);
    return least <= free ? least : 0;
  }

  // EASY, on idle nodes.
  void start_and_backfill(Pass& pass) const {
    const auto size = [&](const Pass& its, JobId id, Nodes idle) {
      return size_with(its, id, idle);
    };
    start_in_turn(pass, [&](JobId id) {
      const Nodes least = start_sizes(pass, id).min, most = size_with(pass, id, pass.idle(id));
      return most != 0 && pass.start(id, {least, most}, {Why::in_order});
    });
    const auto least = [&](JobId head) { return start_sizes(pass, head).min; };
    const Heads heads = Heads::after_starts(pass, least, [&](JobId id, Shadow& before) {
      return backfill_one(pass, id, before, size).has_value();
    });
    if (!heads.jobs.empty() && pass.idle() > 0) backfill_behind(pass, heads, size);
  }

  // In three rounds a job gets, by strategy `pref`: its preferred size while others keep theirs;
  // its smallest one while others keep their preferred ones; its smallest one while others keep
  // theirs.
  void shrink(Pass& pass) const {
    if (pass.pending() == 0) return;
    if (strategy_ == WagomuStrategy::keep_pref) give_what_is_not_preferred(pass);
    WagomuVictims victims(pass, strategy_);
    const auto by_cuts = [&](JobId id, Nodes free, Nodes size, Size keep) {
      const std::vector<Cut> cuts = victims.select(size - free, id, keep);
      const Sources sources{.cuts = cuts, .incoming = true};
      if (cuts.empty() || !pass.start(id, exactly(size), {Why::shrunk_for, id}, sources)) {
        return false;
      }
      victims.made(cuts);
      return true;
    };
    const bool by_pref =
        strategy_ == WagomuStrategy::pref || strategy_ == WagomuStrategy::keep_pref;
    start_by_cuts(
        pass, 0, [&](JobId id) { return start_sizes(pass, id).min; },
        [&](const Pass& its, JobId id, Nodes free) { return size_with(its, id, free); },
        [&](JobId id, Nodes free) {
          const SizeRange sizes = start_sizes(pass, id);
          if (by_pref && !starts_smallest_ && by_cuts(id, free, sizes.max, Size::preferred)) return;
          if (by_pref && by_cuts(id, free, sizes.min, Size::preferred)) return;
          by_cuts(id, free, sizes.min, Size::smallest);
        },
        [&] { return victims.none(); });
  }

  static void give_what_is_not_preferred(Pass& pass) {
    const std::vector<JobId> running(pass.running_malleable().begin(),
                                     pass.running_malleable().end());
    const JobId head = pass.first_pending();
    for (const JobId id : running) {
      const Nodes kept = preferred(pass, id);
      if (pass.cuttable(id) && pass.job(id).size() > kept) {
        pass.resize(id, kept, {Why::shrunk_for, head});
      }
    }
  }

  // Idle nodes, up to this size.
  void expand(Pass& pass, Size size) const {
    if (pass.idle() == 0) return;
    std::vector<JobId> jobs;
    for (const JobId id : growable_jobs(pass)) {
      if (pass.job(id).size() < target(pass, id, size)) jobs.push_back(id);
    }
    if (strategy_ == WagomuStrategy::average) return expand_by_usage(pass, jobs);
    rank(jobs, [&](JobId id) {
      const Nodes from = strategy_ == WagomuStrategy::min ? pass.smallest(id) : preferred(pass, id);
      return std::int64_t{pass.job(id).size()} - std::int64_t{from};
    });
    for (const JobId id : jobs) {
      const Nodes more = target(pass, id, size) - pass.job(id).size();
      offer(pass, id, std::min(more, pass.idle(id)), benefit_, {Why::hand_out});
      if (pass.idle() == 0) return;
    }
  }

  // One node at a time, to who uses the smallest part of what lies between its smallest and its
  // largest size. What somebody does not take goes round again.
  void expand_by_usage(Pass& pass, std::vector<JobId> jobs) const {
    rank(jobs, [](JobId) { return 0; });
    while (pass.idle() > 0 && !jobs.empty()) {
      std::vector<Usage> usages;
      for (const JobId id : jobs) {
        const Job& job = pass.job(id);
        const std::int64_t size = job.size(), smallest = pass.smallest(id),
                           largest = job.spec.size.max;
        const auto room = static_cast<Nodes>(largest - size);
        usages.push_back({size - smallest, largest - smallest, std::min(room, pass.idle(id))});
      }
      const std::vector<Nodes> gets = deal(std::move(usages), pass.idle());
      std::vector<JobId> takers;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Offer its =
            offer(pass, jobs[i], std::min(gets[i], pass.idle(jobs[i])), benefit_, {Why::hand_out});
        if (its == Offer::taken) takers.push_back(jobs[i]);
      }
      jobs = std::move(takers);
    }
  }

  static Nodes preferred(const Pass& pass, JobId id) {
    return std::max(pass.smallest(id), pass.job(id).spec.preferred);
  }
  static Nodes target(const Pass& pass, JobId id, Size size) {
    return size == Size::preferred ? preferred(pass, id) : pass.job(id).spec.size.max;
  }

  WagomuStrategy strategy_;
  Agreement agreement_;
  bool starts_smallest_;
  Benefit benefit_;
  Duration tick_;
};

std::vector<ParameterInfo> parameters() {
  return {choice_parameter("agreement", kAgreementWords, "direct",
                           "nodes that running jobs will give are for the job that they were taken "
                           "for; for all such jobs; or these may take idle nodes as well",
                           "Posner, Hupfeld and Finnerty 2023"),
          choice_parameter("starts", kStartsWords, "strategy",
                           "the size at which jobs start on idle nodes: as the strategy says, the "
                           "smallest, or the preferred one as far as there are nodes"),
          expand_benefit_parameter(), tick_parameter("0")};
}

}  // namespace

PolicyInfo wagomu() {
  const std::string paper = "Posner, Hupfeld and Finnerty 2023";
  PolicyInfo info{
      .name = "wagomu",
      .summary =
          "EASY; then running jobs are shrunk for waiting ones, in queue order, and idle nodes "
          "expand running jobs; three strategies of sizes, three of agreements",
      .source = paper,
      .parameters = parameters(),
      .make = [](const Parameters& p) -> std::shared_ptr<Policy> {
        return std::make_shared<Wagomu>(chosen<WagomuStrategy>(p, "strategy", kStrategyWords), p);
      }};
  info.parameters.insert(
      info.parameters.begin(),
      choice_parameter("strategy", kStrategyWords, "pref",
                       "by which sizes jobs are shrunk and expanded: their smallest ones, their "
                       "preferred ones, or evenly between smallest and largest",
                       paper));
  return info;
}

PolicyInfo keeppref() {
  return {.name = "keeppref",
          .summary =
              "as `wagomu`, with running jobs at their preferred sizes whenever that can be: below "
              "only where a waiting job starts by it, above only while nobody waits",
          .source = "Zojer, Posner and Oezden 2026, arXiv 2602.17318",
          .parameters = parameters(),
          .make = [](const Parameters& p) -> std::shared_ptr<Policy> {
            return std::make_shared<Wagomu>(WagomuStrategy::keep_pref, p);
          }};
}

}  // namespace ductile
