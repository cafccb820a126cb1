// The queue of waiting jobs, in an order of one's choice.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/index_set.hpp"
#include "base/time.hpp"
#include "base/wide.hpp"
#include "model/job_spec.hpp"
#include "scheduling/fair_share.hpp"
#include "scheduling/multifactor.hpp"
#include "scheduling/sorted_blocks.hpp"
#include "scheduling/spread.hpp"

namespace ductile {

/// Who goes first among jobs of equal priority; ties: the earlier submission, that is the smaller
/// id. n is the preferred size, r the walltime that is believed, s the submit time, w the time
/// waited.
enum class QueueOrder : std::uint8_t {
  fcfs,       // first come, first served
  sjf,        // smallest r
  ljf,        // largest r
  smallest,   // smallest n
  largest,    // largest n
  wfp3,       // largest (w/r)^3 n                       Tang et al. 2009; linear in time
  unicef,     // largest w / (log2(n) r)                 Tang et al. 2009; linear in time
  f1,         // smallest log10(r) n + 870 log10(s)      Carastan-Santos and de Camargo 2017
  fairshare,  // its user's smallest use for his share  scheduling/fair_share.hpp; changes with time
  area,       // overdue jobs as they came; then smallest n r: `Overdue`; changes with time
  multifactor,  // largest sum of weighted factors        scheduling/multifactor.hpp; changes with
                // time
};

constexpr std::array<std::string_view, 11> kQueueOrderWords{
    "fcfs",   "sjf", "ljf",       "smallest", "largest",    "wfp3",
    "unicef", "f1",  "fairshare", "area",     "multifactor"};

/// At which size a policy starts jobs whose size it may choose; all others start as they asked.
/// `either`: it plans with the preferred one, and starts some at their smallest.
enum class StartSize : std::uint8_t { preferred, smallest, either };
constexpr std::array<std::string_view, 3> kStartSizeWords{"preferred", "smallest", "either"};

/// Does what it goes by grow linearly with time, or is it a monotone function of what does?
constexpr bool is_linear(QueueOrder order) {
  return order == QueueOrder::wfp3 || order == QueueOrder::unicef;
}
constexpr bool changes_with_time(QueueOrder order) {
  return is_linear(order) || order == QueueOrder::fairshare || order == QueueOrder::area ||
         order == QueueOrder::multifactor;
}

/// When a job is overdue, under the order `area`: once it has waited longer than `slack` times the
/// backlog (`State::backlog`) and `grace`. So nobody is passed over for longer than what the
/// machine has to do explains. Once overdue it stays so.
struct Overdue {
  double slack = 6;
  Duration grace = whole_seconds(4 * 3600);
  bool operator==(const Overdue&) const = default;
};

/// How much a job matters under an order that is linear in time: `rate` for each microsecond since
/// `since`, and nothing before; the most goes first. What already mattered by v when it was
/// submitted at s has since = s - v / rate. Both are rounded when the job comes; from then on all
/// is exact.
struct Line {
  double rate = 0;  // finite, not negative
  Time since{};
};

/// Does `a` matter less than (-1), as much as (0) or more than (1) `b`? Exactly, by products of 128
/// bits.
int compare(const Line& a, const Line& b, Time now);

/// What a job needs: so many nodes, anywhere in these cells.
struct Demand {
  Nodes nodes = 0;
  std::int64_t power_mw = 0;  // above that of as many idle nodes; counts under a power budget only
  Cells cells = kEveryCell;
  std::uint32_t booking = 0;  // its own, by its place from 1; 0: it has none
};

/// What of one resource, nodes or milliwatts, can be taken now, by how long it is taken for. From
/// `from` (after now) on so much is free, up to the next step's `from`. A job fits if it needs no
/// more than each step before its end has: with 8 free now and 3 from 10 s on, a job of 10 s can
/// have 8, a longer one 3.
class FreeSteps {
 public:
  struct Step {
    Duration from;
    std::int64_t amount;
  };

  void clear() {
    empty_ = true;
    later_.clear();
  }
  /// The first step is that of now.
  void add(Duration from, std::int64_t amount) {
    if (empty_) {
      now_ = amount;
      empty_ = false;
      return;
    }
    Step& step = later_.emplace_back();
    step.from = from;
    step.amount = amount;
  }
  /// No more can be taken now, whatever is free later.
  void limit(std::int64_t amount) { now_ = std::min(now_, amount); }
  bool empty() const { return empty_; }
  /// What is free now, for however short a time.
  std::int64_t now() const { return now_; }

  /// Free during the whole of [now, now + length).
  std::int64_t during(Duration length) const {
    std::int64_t least = now_;
    for (const Step& step : later_) {
      if (step.from >= length) break;
      least = std::min(least, step.amount);
    }
    return least;
  }
  /// The same, seen `elapsed` later, while no step began.
  void move_on(Duration elapsed) {
    for (Step& step : later_) step.from -= elapsed;
  }
  /// Those after now.
  const std::vector<Step>& later() const { return later_; }
  /// A job takes `amount` during [now, now + length).
  void take(std::int64_t amount, Duration length) {
    if (length > Duration{}) now_ -= amount;
    for (Step& step : later_) {
      if (step.from < length) step.amount -= amount;
    }
  }

 private:
  bool empty_ = true;
  std::int64_t now_ = 0;
  std::vector<Step> later_;
};

/// What can be taken now: nodes and, under a budget, power.
struct FreeProfile {
  FreeSteps nodes;
  FreeSteps power;  // empty without a budget

  bool fits(const Demand& need, Duration length) const {
    return need.nodes <= nodes.during(length) &&
           (power.empty() || need.power_mw <= power.during(length));
  }
  /// For however short a time?
  bool could_fit(const Demand& need) const {
    return need.nodes <= nodes.now() && (power.empty() || need.power_mw <= power.now());
  }
  void take(const Demand& need, Duration length) {
    nodes.take(need.nodes, length);
    power.take(need.power_mw, length);
  }
  void move_on(Duration elapsed) {
    nodes.move_on(elapsed);
    power.move_on(elapsed);
  }
};

/// What can be taken now of each cell. A job keeps its nodes, so it can have the sum over its cells
/// of each one's least during its length, not the least of the sum. With 4 free in one cell up to
/// 10 s, then 0, and 0 in another one up to 10 s, then 4, nobody can have 4 for longer than 10 s.
class FreeCells {
 public:
  /// All there is, where nodes are counted together; else the power that is free.
  FreeProfile all;
  /// Where they are counted by cell: each one's nodes,
  std::vector<FreeSteps> cells;
  /// and in which order they are taken.
  std::vector<std::uint32_t> order;
  /// For the jobs of each booking instead: empty for those that have not begun.
  std::vector<std::vector<FreeSteps>> booked;

  bool fits(const Demand& need, Duration length) const {
    return cells.empty()
               ? all.fits(need, length)
               : fits_power(need, length) && need.nodes <= during(need.cells, length, need.booking);
  }
  /// For however short a time?
  bool could_fit(const Demand& need) const {
    return cells.empty() ? all.could_fit(need) : fits(need, kTick);
  }
  /// How many cells there are.
  std::size_t count() const { return std::max<std::size_t>(cells.size(), 1); }
  /// Nodes of these cells that are free for so long, for jobs of a booking or of none.
  std::int64_t during(Cells its, Duration length, std::uint32_t booking = 0) const;
  /// The cells of which it takes how many, if it fits; nothing where there is one cell.
  Spread place(const Demand& need, Duration length) const {
    return cells.empty() ? Spread{} : place_by_cell(need, length);
  }
  void take(const Demand& need, const Spread& in, Duration length) {
    if (cells.empty()) {
      all.take(need, length);
    } else {
      take_by_cell(need, in, length);
    }
  }
  /// No more of a cell can be taken now.
  void limit(std::uint32_t cell, std::int64_t amount) {
    (cells.empty() ? all.nodes : cells[cell]).limit(amount);
    for (auto& its : booked) {
      if (!its.empty()) its[cell].limit(amount);
    }
  }
  void move_on(Duration elapsed) {
    all.move_on(elapsed);
    for (FreeSteps& steps : cells) steps.move_on(elapsed);
    for (auto& its : booked) {
      for (FreeSteps& steps : its) steps.move_on(elapsed);
    }
  }
  /// What a lane of these cells sees, as one function.
  void of(Cells its, std::uint32_t booking, FreeProfile& lane) const;

 private:
  const std::vector<FreeSteps>& of_booking(std::uint32_t booking) const {
    return booking == 0 ? cells : booked[booking - 1];
  }
  Spread place_by_cell(const Demand& need, Duration length) const;
  void take_by_cell(const Demand& need, const Spread& in, Duration length);
  bool fits_power(const Demand& need, Duration length) const {
    return all.power.empty() || need.power_mw <= all.power.during(length);
  }
};

class JobTable;

/// When a queue was sorted, and what its keys are computed from besides its order and the jobs.
struct Sorting {
  Time at{};  // matters to orders that change with time
  std::vector<Standing>
      standings{};  // by user: what `fairshare` and `multifactor` go by until then
  JobId overdue{};  // under `area` all jobs before this one are overdue: none yet
};

/// Waiting jobs in one order, apart by their reach, so that a search can leave out those that find
/// no room. Adding and removing cost O(log Q). An order that changes with time is kept by
/// `advance`, O(Q) and a step for each pair that changed places; `area` by `set_overdue`.
class Queue {
 public:
  /// What a job takes when it starts: nodes, power, and for how long, as believed.
  struct Need {
    Nodes nodes;
    /// In units, rounded down: who has less than this cannot start it. 0 without a budget. So small
    /// that a need takes no more room than without it.
    std::uint32_t power;
    Duration walltime;
    bool operator==(const Need&) const = default;

    static std::uint32_t units(std::int64_t power_mw) {
      constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
      return static_cast<std::uint32_t>(std::min(power_mw / kUnit, kMost));
    }
    /// No more than it needs.
    Demand least() const { return {nodes, power * kUnit}; }

   private:
    static constexpr std::int64_t kUnit = 4096;  // mW
  };

  /// What jobs have in common that are alike for who shares nodes: how many nodes they take, how
  /// many cores of each they can use (0: all), and what they are bound by.
  struct Kind {
    Nodes nodes = 0;
    std::uint16_t cores = 0;
    Bound bound = Bound::mixed;
    auto operator<=>(const Kind&) const = default;
  };
  /// The jobs of each kind that has any, by how long they are believed to take: of those that keep
  /// no size while they run, as who shares nodes has to be.
  using Kinds = std::map<Kind, std::set<std::pair<Duration, JobId>>>;

  /// Empty, but as if sorted like this.
  explicit Queue(QueueOrder order = QueueOrder::fcfs, const Sorting& sorting = {},
                 Ranking ranking = {})
      : order_(order),
        sorted_at_(sorting.at),
        standings_(sorting.standings),
        overdue_(sorting.overdue),
        ranking_(std::move(ranking)),
        lines_(Lines(LinesBefore{sorting.at})) {}

  QueueOrder order() const { return order_; }
  std::size_t size() const { return values_.size() + lines_.size(); }
  bool empty() const { return size() == 0; }
  /// So many reaches had jobs, or have.
  std::size_t reaches() const {
    return 1 + (is_linear(order_) ? lines_.others.size() : values_.others.size());
  }

  void add(JobId id, const JobSpec& spec, Need need);
  void remove(JobId id, const JobSpec& spec);
  /// n r of all jobs together, in node-microseconds.
  Wide area() const { return area_; }
  /// The first job in the order of submission from `id` on; `none` if there is none.
  JobId submitted_from(JobId id) const { return JobId{waiting_.next(index(id))}; }
  /// The reach of a lane that has no jobs here. One that nothing is said of has that of its number.
  void set_reach(LaneId lane, ReachId reach);
  /// The factors of a lane that has no jobs here.
  void set_factors(LaneId lane, const LaneFactors& factors);
  /// The reaches of all lanes.
  void set_reaches(std::vector<ReachId> of_lanes, const JobTable& jobs);
  /// Have all jobs reach 0?
  bool in_one_lane() const { return in_others_ == 0; }
  /// The first job; `none` when empty.
  JobId front() const;
  /// What it needs; there must be one.
  Need front_need() const;
  /// The job after `id`, which may have left the queue meanwhile; `none` at the end.
  JobId after(JobId id, const JobSpec& spec) const;
  /// The same, of reaches that are open, by their numbers; `none`: the first of them.
  JobId after(JobId id, const JobSpec* spec, const std::vector<bool>& open) const;
  /// The first job after `id` (`none`: from the front) whose need fits into `free`; of its power,
  /// whose `Need::least` does. Skips blocks of jobs that cannot fit: O(Q / 64) at worst. There is
  /// one lane.
  JobId first_fit(JobId id, const JobSpec* spec, const FreeProfile& free) const {
    return first_fit(ReachId{}, id, spec, free, false);
  }
  /// The same, of one reach: `id` may be of another one. With `or_id` it may be that one as well.
  JobId first_fit(ReachId reach, JobId id, const JobSpec* spec, const FreeProfile& free,
                  bool or_id) const;
  /// Does `a` go before `b`?
  bool before(JobId a, const JobSpec& spec_a, JobId b, const JobSpec& spec_b) const;
  /// Calls `visit(JobId)` or `visit(JobId, Need)` in order. The queue must not change meanwhile.
  template <class Visit>
  void for_each(Visit visit) const {
    const auto say = [&](JobId id, const Need& need) {
      if constexpr (std::is_invocable_v<Visit, JobId, Need>) {
        visit(id, need);
      } else {
        visit(id);
      }
    };
    with_lanes([&](const auto& lanes) {
      if (lanes.others.empty()) {
        lanes.first.for_each([&](const auto& key, const Need& need) { say(key.id(), need); });
      } else {
        for (const auto& [key, need] : lanes.merged()) say(key.id(), need);
      }
    });
  }

  /// All kinds. From the first time on they are kept: adding and removing cost a search among the
  /// jobs of one kind more. A copy finds them again.
  const Kinds& kinds(const JobTable& jobs) const;
  /// The same, found anew.
  Kinds find_kinds(const JobTable& jobs) const;
  bool keeps_kinds() const { return kinds_.all.has_value(); }

  /// The jobs need something else now, and keep their order.
  void renew(const std::function<Need(JobId)>& need);
  /// From now on all jobs before this one are overdue; never one before the last time. `need` is
  /// what a job takes. Did any job change its place?
  bool set_overdue(JobId before, Time now, const JobTable& jobs,
                   const std::function<Need(JobId)>& need);
  /// When the keys were last computed; matters to orders that change with time.
  Time sorted_at() const { return sorted_at_; }
  /// An order that changes with time, but `area`, as seen at `now` from now on, with other
  /// standings. Did any job change its place?
  bool advance(Time now, const JobTable& jobs, std::vector<Standing> standings = {});
  /// Sorts by `order` as seen at `now`; `need` is what a job takes from now on. `standings`, by
  /// user, are what `fairshare` and `multifactor` go by until the next time.
  void resort(QueueOrder order, Time now, const JobTable& jobs,
              const std::function<Need(JobId)>& need, std::vector<Standing> standings = {},
              Ranking ranking = {});

 private:
  /// The rank, which falls with the priority, the value and the id, from the highest bit on: one
  /// number goes up as they do, one after the other, and is compared at once.
  class ByValue {
   public:
    ByValue() {}  // NOLINT(modernize-use-equals-default): leaves the number as it is
    ByValue(std::int32_t rank, double value, JobId id)
        : all_(UnsignedWide{static_cast<std::uint32_t>(rank) ^ 0x8000'0000} << 96 |
               UnsignedWide{ascending(value)} << 32 | index(id)) {}

    JobId id() const { return JobId{static_cast<std::uint32_t>(all_)}; }
    bool operator<(const ByValue& other) const { return all_ < other.all_; }

   private:
    /// The bits of a number, as those of one that goes up with it.
    static std::uint64_t ascending(double value) {
      const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // there is one 0 only
      constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
      return (bits & kSign) != 0 ? ~bits : bits | kSign;
    }

    UnsignedWide all_;
  };
  struct ByLine {
    std::int32_t rank;
    JobId job;
    Line line;

    JobId id() const { return job; }
  };
  struct LinesBefore {
    Time now{};
    bool operator()(const ByLine& a, const ByLine& b) const {
      if (a.rank != b.rank) return a.rank < b.rank;
      const int more = compare(a.line, b.line, now);
      return more != 0 ? more > 0 : a.job < b.job;
    }
  };

  template <class K>
  class Block {
   public:
    using Key = K;
    using Row = Need;
    struct Entry {
      Key key;
      Row row;
    };
    /// The smallest of each.
    static constexpr Row kNone{std::numeric_limits<Nodes>::max(),
                               std::numeric_limits<std::uint32_t>::max(), Duration::max()};
    using Summary = Row;
    static constexpr std::uint32_t kCapacity = 32;

    Block() {}  // NOLINT(modernize-use-equals-default): leaves the array as it is
    std::uint32_t size() const { return size_; }
    const Key& key(std::uint32_t i) const { return rows_[i].key; }
    const Row& row(std::uint32_t i) const { return rows_[i].row; }
    const Entry& entry(std::uint32_t i) const { return rows_[i]; }
    Summary summary() const { return {least_.nodes, least_.power, least_.walltime}; }
    void insert(std::uint32_t at, Key key, Row row);
    void erase(std::uint32_t at);
    void move_tail(std::uint32_t from, Block& other);
    /// Then `summarize`.
    void put(std::uint32_t at, const Entry& entry) { rows_[at] = entry; }
    void summarize();

   private:
    void add_to_least(const Row& row);
    /// A row is gone that may have been the one with the least of this.
    template <class Part>
    void raise_least(Part Row::*part, const Row& gone);

    std::uint32_t size_ = 0;
    Summary least_ = kNone;
    std::array<Entry, kCapacity> rows_;
  };
  using Values = SortedBlocks<Block<ByValue>>;
  using Lines = SortedBlocks<Block<ByLine>, LinesBefore>;

  /// The rows of each reach. Most machines have one.
  template <class R>
  struct Lanes {
    using Rows = R;
    using Key = typename Rows::Key;

    explicit Lanes(Rows rows = Rows()) : first(std::move(rows)) {}
    Rows& of(ReachId reach) { return index(reach) == 0 ? first : more(index(reach)); }
    const Rows* find(ReachId reach) const {
      const std::size_t i = index(reach);
      return i == 0 ? &first : i <= others.size() ? &others[i - 1] : nullptr;
    }
    std::size_t size() const {
      std::size_t sum = first.size();
      for (const Rows& rows : others) sum += rows.size();
      return sum;
    }
    /// The place that goes first among those that `place_of(rows)` says, and whose it is; null if
    /// all are at their end.
    template <class PlaceOf>
    std::pair<const Rows*, typename Rows::Place> earliest(PlaceOf place_of) const;
    /// All in order.
    std::vector<std::pair<Key, Need>> merged() const;

    Rows first;                // of reach 0
    std::vector<Rows> others;  // of 1, ...

   private:
    Rows& more(std::size_t i) {
      if (others.size() < i) others.resize(i, Rows(first.less()));
      return others[i - 1];
    }
  };

  ByValue key(const Lanes<Values>&, JobId id, const JobSpec& spec) const {
    return {~spec.priority, order_ == QueueOrder::fcfs ? 0 : value(id, spec), id};
  }
  ByLine key(const Lanes<Lines>&, JobId id, const JobSpec& spec) const {
    return {~spec.priority, id, line(spec)};
  }
  /// Of several lanes: the first job, or none, and what it needs.
  std::pair<JobId, Need> first_of_lanes() const;
  ReachId reach_of(const JobSpec& spec) const {
    const std::size_t lane = index(spec.lane);
    return lane == 0 || lane >= reaches_.size() ? ReachId{index(spec.lane)} : reaches_[lane];
  }
  double value(JobId id, const JobSpec& spec) const;
  double priority(const JobSpec& spec) const;
  double standing(std::uint32_t user, double of_others) const;
  Line line(const JobSpec& spec) const;

  struct KeptKinds {
    std::optional<Kinds> all{};

    KeptKinds() = default;
    ~KeptKinds() = default;
    KeptKinds(const KeptKinds&) noexcept {}
    KeptKinds(KeptKinds&&) = default;
    KeptKinds& operator=(const KeptKinds& other) noexcept {
      if (&other != this) all.reset();
      return *this;
    }
    KeptKinds& operator=(KeptKinds&&) = default;
  };

  /// The lanes of this order.
  template <class Visit>
  decltype(auto) with_lanes(Visit visit) const {
    return is_linear(order_) ? visit(lines_) : visit(values_);
  }
  template <class Visit>
  decltype(auto) with_lanes(Visit visit) {
    return is_linear(order_) ? visit(lines_) : visit(values_);
  }

  QueueOrder order_;
  Time sorted_at_{};
  std::vector<Standing> standings_{};
  JobId overdue_{};
  Ranking ranking_{};               // of `multifactor`
  Lanes<Values> values_;            // of an order that stays as it is between two times of sorting
  Lanes<Lines> lines_;              // of one that is linear in time
  std::vector<ReachId> reaches_{};  // of lanes
  std::size_t in_others_ = 0;       // so many jobs have not reach 0
  IndexSet waiting_{};              // all jobs, by number
  Wide area_ = 0;                   // their n r together
  mutable KeptKinds kinds_{};       // once they were asked for, until needs change
};

/// Goes through the jobs that fit, in order, over all reaches, while jobs only start: room only
/// falls then, so one without a candidate is done. Each sees what is free in its cells.
class FitSearch {
 public:
  /// `behind`: for each reach, by its number, the job behind which it begins (`none`: at its
  /// front), or nothing: it is left out. `cells`: those of each, `bookings`: whose they are.
  FitSearch(const Queue& queue, const JobTable& jobs, std::span<const std::optional<JobId>> behind,
            std::span<const Cells> cells, std::span<const std::uint32_t> bookings = {});
  /// The next job whose need fits into `free`; `none` at the end. The last one may have started
  /// since, and others.
  JobId next(const FreeCells& free);
  /// Some of these cells' nodes, and power, were taken since.
  void took(Cells cells) { taken_ |= cells; }

 private:
  struct Lane {
    ReachId id{};
    Cells cells = 0;
    std::uint32_t booking = 0;
    JobId at = JobId::none;     // behind this one
    JobId found = JobId::none;  // the first that fitted there, and nothing was taken since
    bool is_known = false;
    FreeProfile free{};  // as it sees it
  };

  const Queue* queue_;
  const JobTable* jobs_;
  std::vector<Lane> lanes_;  // which may have candidates
  Cells taken_ = 0;
};

}  // namespace ductile
