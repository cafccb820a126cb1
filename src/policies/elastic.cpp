// Elastic scheduling: evolving requests come first; then EASY at preferred sizes; then waiting jobs
// start at their smallest sizes on nodes that running jobs give; what is still idle goes to the
// jobs that have longest to run. Three algorithms say when jobs may be shrunk, six victim policies
// say which of them go first. Lina, Ghafoor and Hines, JSSPP 2022 (paper 002).
#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/by_value.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

enum class Algorithm : std::uint8_t { plain, application, system };
constexpr std::array<std::string_view, 3> kAlgorithmWords{"default", "application", "system"};
enum class Victim : std::uint8_t { random, gain, shrinkable, expansions, adaptation, time };
constexpr std::array<std::string_view, 6> kVictimWords{"random",     "gain",       "shrinkable",
                                                       "expansions", "adaptation", "time"};
enum class Expand : std::uint8_t {
  time,
  random,
  gain,
  shrinkable,
  expansions,
  adaptation,
  value,
  none
};
constexpr std::array<std::string_view, 8> kExpandWords{
    "time", "random", "gain", "shrinkable", "expansions", "adaptation", "value", "none"};
enum class Start : std::uint8_t { shrink, idle, preferred };
constexpr std::array<std::string_view, 3> kStartWords{"shrink", "idle", "preferred"};
enum class SystemRule : std::uint8_t { prose, listing };
constexpr std::array<std::string_view, 2> kRuleWords{"prose", "listing"};

struct Settings {
  Algorithm algorithm;
  Victim victim;
  SystemRule system_rule;
  Duration t;    // a job that ends so soon is worth waiting for
  Decimal u, x;  // percent: of the machine in use, of a job's work that is done
};

// The running jobs that one pass may shrink: none that it started or resized itself. Gathered when
// first asked for.
class ElasticVictims {
 public:
  ElasticVictims(Pass& pass, const Settings& settings) : pass_(pass), settings_(settings) {}

  // Nobody can be shrunk in the rest of this pass.
  bool none() {
    gather();
    return give_ == 0 || blocked_;
  }

  // SelectShrinkable: who gives `need` nodes that `whom` can use; nobody if they cannot be had. Not
  // he himself.
  std::vector<Cut> select(Nodes need, JobId whom) {
    std::vector<Cut> cuts;
    gather();
    blocked_ = blocked_ || (need <= give_ && !may_shrink());
    if (need > give_ || blocked_) return cuts;
    // The first in order is shrunk first: a heap, since few are needed.
    std::vector<std::pair<Key, const Row*>> order;
    for (const Row& row : rows_) order.emplace_back(key(row, need), &row);
    const auto later = [](const auto& a, const auto& b) { return a.first > b.first; };
    std::ranges::make_heap(order, later);
    for (; need > 0 && !order.empty(); order.pop_back()) {
      std::ranges::pop_heap(order, later);
      const Row& row = *order.back().second;
      if (row.id == whom || row.gives() == 0) continue;
      const bool one_cell = pass_.cell_count() == 1;
      const Nodes useful = one_cell ? need : std::min(need, pass_.extra(row.id, whom));
      if (useful == 0) continue;
      const Nodes to = shrunk(row, useful);
      const Nodes gives = one_cell ? row.size - to - row.sick : pass_.adds({row.id, to}, whom);
      if (gives == 0) continue;
      cuts.push_back({row.id, to});
      need -= std::min(need, gives);
    }
    if (need > 0) cuts.clear();
    return cuts;
  }

  // These cuts were made.
  void made(const std::vector<Cut>& cuts) {
    for (const Cut& cut : cuts) {
      Row& row = *std::ranges::find(rows_, cut.victim, &Row::id);
      give_ -= row.size - cut.to - row.sick;
      row.size = cut.to;
      row.sick = 0;
      row.cut = true;
    }
  }
  // A job will run for so long when its nodes have come.
  void promised(Duration length) { ends_soon_ = ends_soon_ || length <= settings_.t; }
  // The job was resized otherwise.
  void remove(JobId id) {
    const auto row = std::ranges::find(rows_, id, &Row::id);
    if (row == rows_.end()) return;
    give_ -= row->gives();
    rows_.erase(row);
  }

 private:
  struct Row {
    JobId id;
    Nodes size, least;
    Nodes sick;        // nodes that are not up: a shrink gives them first, and they help nobody
    bool cut = false;  // in this pass

    Nodes gives() const { return size - least - sick; }
  };
  using Key = std::tuple<std::int64_t, std::int64_t, JobId>;

  void gather() {
    if (gathered_) return;
    gathered_ = true;
    for (const JobId id : pass_.running_malleable()) {
      if (!pass_.resizable(id)) continue;
      const Nodes size = pass_.job(id).size(), least = pass_.smallest(id);
      const Nodes extra = pass_.extra(id);
      if (extra == 0) continue;
      if (settings_.algorithm == Algorithm::application && is_nearly_done(id)) continue;
      rows_.push_back({id, size, least, size - least - extra});
      give_ += extra;
    }
  }

  bool is_nearly_done(JobId id) const {
    const Pass::WorkLeft work = pass_.work_left(id);
    return 100 * (work.whole - work.left) >= settings_.x.ceil_of(work.whole);
  }

  bool may_shrink() {
    switch (settings_.algorithm) {
      case Algorithm::plain:
        return true;
      case Algorithm::application:
        return !ends_soon();
      case Algorithm::system:
        return 100 * Wide{pass_.in_use()} <= settings_.u.floor_of(pass_.in_service()) ||
               (settings_.system_rule == SystemRule::listing && !ends_soon());
    }
    return true;
  }
  // Is some job expected to end within t, those started in this pass included? If so, it stays so.
  bool ends_soon() {
    const auto soon = [&](JobId id) { return pass_.expected_end(id) - pass_.now() <= settings_.t; };
    ends_soon_ = ends_soon_ || std::ranges::any_of(pass_.running(), soon);
    return ends_soon_;
  }

  // The size after giving `need` nodes or what it can.
  Nodes shrunk(const Row& row, Nodes need) const {
    return pass_.sizes(row.id).after_giving(row.size, need + row.sick, pass_.job(row.id).spec.size);
  }

  // Smaller keys are shrunk first. They show the cuts of this pass as if they were carried out.
  Key key(const Row& row, Nodes need) {
    const Job& job = pass_.job(row.id);
    const std::int64_t smaller = -std::int64_t{row.size};
    switch (settings_.victim) {
      case Victim::random:
        return {static_cast<std::int64_t>(pass_.random() >> 1), 0, row.id};
      case Victim::gain: {
        const std::int64_t lost = row.cut ? std::int64_t{job.holding.count} - row.size : 0;
        return {lost - job.gain, smaller, row.id};
      }
      case Victim::shrinkable:
        return {-std::int64_t{row.size - row.least}, smaller, row.id};
      case Victim::expansions:
        return {-std::int64_t{job.expands}, smaller, row.id};
      case Victim::adaptation:
        return {pass_.expected_cost(row.id, shrunk(row, need)).count(), 0, row.id};
      case Victim::time: {
        const Time end =
            row.cut ? pass_.expected_end(row.id, row.size) : pass_.expected_end(row.id);
        return {(end - pass_.now()).count(), 0, row.id};
      }
    }
    return {};
  }

  Pass& pass_;
  const Settings& settings_;
  bool gathered_ = false;
  bool ends_soon_ = false;
  bool blocked_ = false;  // what forbids shrinking does not go away within a pass
  std::vector<Row> rows_;
  Nodes give_ = 0;  // what they can give together
};

class Elastic final : public Policy {
 public:
  explicit Elastic(const Parameters& p)
      : Policy(
            {.wakes = kAllButAnswers, .answers_requests = true, .start_size = StartSize::either}),
        settings_{.algorithm = chosen<Algorithm>(p, "algorithm", kAlgorithmWords),
                  .victim = chosen<Victim>(p, "victim", kVictimWords),
                  .system_rule = chosen<SystemRule>(p, "system_rule", kRuleWords),
                  .t = seconds(p.number("t")),
                  .u = p.decimal("u"),
                  .x = p.decimal("x")},
        start_(chosen<Start>(p, "start", kStartWords)),
        expand_(chosen<Expand>(p, "expand", kExpandWords)),
        benefit_(expand_benefit(p)),
        tick_(seconds(p.number("tick"))),
        try_depth_(static_cast<std::uint32_t>(p.number("try_depth"))) {}

  // Algorithm 1.
  void schedule(Pass& pass) const override {
    ElasticVictims victims(pass, settings_);
    answer_requests(pass, victims);
    start_and_backfill(pass, {.reservation_depth = 1});
    if (start_ != Start::preferred) start_by_shrinking(pass, victims);
    if (expand_ != Expand::none) expand(pass);
    tick(pass, tick_);
  }

 private:
  // Algorithm 2: shrinks always, expansions from free nodes and then from victims.
  static void answer_requests(Pass& pass, ElasticVictims& victims) {
    for (const Request& request : requests_now(pass)) {
      std::vector<Cut> cuts;
      const Nodes free = free_nodes(pass, request.job);
      if (request.delta > 0 && static_cast<Nodes>(request.delta) > free) {
        cuts = victims.select(static_cast<Nodes>(request.delta) - free, request.job);
      }
      const Sources sources{.cuts = cuts, .incoming = request.delta > 0};
      const Grant result = grant_fairly(pass, request, {}, sources);
      if (result != Grant::done) {
        deny(pass, request, result);
        continue;
      }
      victims.made(cuts);
      victims.remove(request.job);
    }
  }

  // Algorithm 4.
  void start_by_shrinking(Pass& pass, ElasticVictims& victims) const {
    const auto least = [](const Pass& its, JobId id, Nodes free) {
      const Nodes size = start_sizes(its, id).min;
      return size <= free ? size : 0;
    };
    const bool may_cut = start_ == Start::shrink;
    const auto with_cuts = [&](JobId id, Nodes free) {
      if (!may_cut) return;
      const Nodes size = start_sizes(pass, id).min;
      const std::vector<Cut> cuts = victims.select(size - free, id);
      const Sources sources{.cuts = cuts, .incoming = true};
      if (cuts.empty() || !pass.start(id, exactly(size), {Why::shrunk_for, id}, sources)) return;
      victims.made(cuts);
      victims.promised(pass.estimate(id, size));
    };
    const auto preferred = [&](JobId id) { return pass.job(id).spec.preferred; };
    start_by_cuts(pass, try_depth_, preferred, least, with_cuts,
                  [&] { return !may_cut || victims.none(); });
  }

  // What is free, to those that end earlier by it: who has longest to run first, or by another key.
  void expand(Pass& pass) const {
    if (free_nodes(pass) == 0) return;
    std::vector<std::pair<ExpandKey, JobId>> takers;  // a heap, since few are needed
    for (const JobId id : pass.running_malleable()) {
      const Job& job = pass.job(id);
      if (job.size() >= job.spec.size.max || !pass.resizable(id)) continue;
      takers.emplace_back(expand_key(pass, id), id);
    }
    std::ranges::make_heap(takers, std::greater{});
    for (; free_nodes(pass) > 0 && !takers.empty(); takers.pop_back()) {
      std::ranges::pop_heap(takers, std::greater{});
      const JobId id = takers.back().second;
      offer(pass, id, free_nodes(pass, id), benefit_, {Why::hand_out}, {.incoming = true});
    }
  }

  // The smaller, the earlier it is expanded; then the smaller number.
  using ExpandKey = std::tuple<std::int64_t, double, Nodes>;
  ExpandKey expand_key(Pass& pass, JobId id) const {
    const Job& job = pass.job(id);
    const auto grown = [&] {
      return pass.sizes(id).after_getting(job.size(), free_nodes(pass, id), job.spec.size);
    };
    switch (expand_) {
      case Expand::time:
        return {-pass.expected_end(id).time_since_epoch().count(), 0, 0};
      case Expand::random:
        return {static_cast<std::int64_t>(pass.random() >> 1), 0, 0};
      case Expand::gain:
        return {job.gain, 0, job.size()};
      case Expand::shrinkable:
        return {std::int64_t{job.size()} - pass.smallest(id), 0, job.size()};
      case Expand::expansions:
        return {job.expands, 0, job.size()};
      case Expand::adaptation:
        return {pass.expected_cost(id, grown()).count(), 0, 0};
      case Expand::value: {
        const Nodes to = grown();
        return {0, to > job.size() ? -Worth(pass, id, {}).of_node(job.size(), to) : 0, 0};
      }
      case Expand::none:
        break;
    }
    return {};
  }

  Settings settings_;
  Start start_;
  Expand expand_;
  Benefit benefit_;
  Duration tick_;
  std::uint32_t try_depth_;
};

}  // namespace

PolicyInfo elastic() {
  const std::string paper = "Lina, Ghafoor and Hines 2022";
  return {
      .name = "elastic",
      .summary =
          "EASY; then waiting jobs start at their smallest sizes on nodes that running jobs "
          "give, and what is idle goes to those that run longest",
      .source = paper,
      .parameters =
          {choice_parameter("algorithm", kAlgorithmWords, "default",
                            "jobs may be shrunk: always; unless a job ends within t; unless more "
                            "than u of the nodes are in use",
                            paper),
           choice_parameter("victim", kVictimWords, "gain",
                            "who is shrunk first: anybody, most nodes gained, most nodes to give, "
                            "most expansions, cheapest resize, least time left",
                            paper),
           {.name = "t",
            .type = ParameterType::duration,
            .fallback = "5",
            .min = 0,
            .max = 1e9,
            .unit = "s",
            .summary = "algorithm=application: nobody is shrunk if a job ends within it",
            .source = paper},
           {.name = "x",
            .fallback = "90",
            .min = 0,
            .max = 100,
            .unit = "%",
            .summary = "algorithm=application: jobs that have done so much are not shrunk"},
           {.name = "u",
            .fallback = "80",
            .min = 0,
            .max = 100,
            .unit = "%",
            .summary = "algorithm=system: nobody is shrunk if more of the nodes are in use",
            .source = paper},
           choice_parameter("system_rule", kRuleWords, "prose",
                            "algorithm=system: as the paper's text says it, or as its listing "
                            "does, which asks for a job that ends within t as well",
                            paper),
           choice_parameter("start", kStartWords, "shrink",
                            "who EASY leaves waiting starts at the smallest size: on nodes that "
                            "others give as well, as in the paper; on free ones alone; not at all"),
           choice_parameter("expand", kExpandWords, "time",
                            "who is expanded first: longest left to run, as in the paper; anybody; "
                            "fewest nodes gained; fewest nodes to give; fewest expansions; "
                            "cheapest resize; most value of each node; nobody"),
           expand_benefit_parameter(),
           tick_parameter("0"),
           {.name = "try_depth",
            .type = ParameterType::integer,
            .fallback = "0",
            .min = 0,
            .max = 1e9,
            .unit = "jobs",
            .summary = "how many waiting jobs shrinking is tried for; 0: all"}},
      .make = make_policy<Elastic>};
}

}  // namespace ductile
