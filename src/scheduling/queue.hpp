// The queue of waiting jobs, in an order of one's choice.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "scheduling/fair_share.hpp"
#include "scheduling/sorted_blocks.hpp"

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
};

constexpr std::array<std::string_view, 9> kQueueOrderWords{
    "fcfs", "sjf", "ljf", "smallest", "largest", "wfp3", "unicef", "f1", "fairshare"};

/// At which size a policy starts jobs whose size it may choose; all others start as they asked.
enum class StartSize : std::uint8_t { preferred, smallest };
constexpr std::array<std::string_view, 2> kStartSizeWords{"preferred", "smallest"};

/// Does what it goes by grow linearly with time, or is it a monotone function of what does?
constexpr bool is_linear(QueueOrder order) {
  return order == QueueOrder::wfp3 || order == QueueOrder::unicef;
}
constexpr bool changes_with_time(QueueOrder order) {
  return is_linear(order) || order == QueueOrder::fairshare;
}

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

/// What a job needs.
struct Demand {
  Nodes nodes = 0;
  std::int64_t power_mw = 0;  // above that of as many idle nodes; counts under a power budget only
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

  void clear() { steps_.clear(); }
  void add(Duration from, std::int64_t amount) {
    Step& step = steps_.emplace_back();
    step.from = from;
    step.amount = amount;
  }
  /// No more can be taken now, whatever is free later.
  void limit(std::int64_t amount) {
    steps_.front().amount = std::min(steps_.front().amount, amount);
  }
  bool empty() const { return steps_.empty(); }
  /// What is free now, for however short a time.
  std::int64_t now() const { return steps_.front().amount; }

  /// Free during the whole of [now, now + length).
  std::int64_t during(Duration length) const {
    std::int64_t least = steps_.front().amount;
    for (std::size_t i = 1; i < steps_.size() && steps_[i].from < length; ++i) {
      least = std::min(least, steps_[i].amount);
    }
    return least;
  }
  /// The same, seen `elapsed` later, while no step began.
  void move_on(Duration elapsed) {
    for (std::size_t i = 1; i < steps_.size(); ++i) steps_[i].from -= elapsed;
  }
  /// A job takes `amount` during [now, now + length).
  void take(std::int64_t amount, Duration length) {
    for (Step& step : steps_) {
      if (step.from < length) step.amount -= amount;
    }
  }

 private:
  std::vector<Step> steps_;
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

class JobTable;

/// When a queue was sorted, and what its keys are computed from besides its order and the jobs.
struct Sorting {
  Time at{};                          // matters to orders that change with time
  std::vector<Standing> standings{};  // by user: what `fairshare` goes by until the next time
};

/// Waiting jobs in order. Adding and removing cost O(log Q). An order that is linear in time is
/// kept by `advance`, O(Q) and a step for each pair that changed places; any other that changes
/// with time is sorted anew by `resort`, O(Q log Q).
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

  /// Empty, but as if sorted like this.
  explicit Queue(QueueOrder order = QueueOrder::fcfs, const Sorting& sorting = {})
      : order_(order),
        sorted_at_(sorting.at),
        standings_(sorting.standings),
        lines_(LinesBefore{sorting.at}) {}

  QueueOrder order() const { return order_; }
  std::size_t size() const { return values_.size() + lines_.size(); }
  bool empty() const { return size() == 0; }

  void add(JobId id, const JobSpec& spec, Need need);
  void remove(JobId id, const JobSpec& spec);
  /// The first job; `none` when empty.
  JobId front() const;
  /// The job after `id`, which may have left the queue meanwhile; `none` at the end.
  JobId after(JobId id, const JobSpec& spec) const;
  /// The first job after `id` (`none`: from the front) whose need fits into `free`; of its power,
  /// whose `Need::least` does. Skips blocks of jobs that cannot fit: O(Q / 64) at worst.
  JobId first_fit(JobId id, const JobSpec* spec, const FreeProfile& free) const;
  /// Does `a` go before `b`?
  bool before(JobId a, const JobSpec& spec_a, JobId b, const JobSpec& spec_b) const;
  /// Calls `visit(JobId)` or `visit(JobId, Need)` in order. The queue must not change meanwhile.
  template <class Visit>
  void for_each(Visit visit) const {
    with_rows([&](const auto& rows) {
      for (const auto& slot : rows.slots()) {
        const auto& block = rows.block(slot);
        for (std::uint32_t i = 0; i < block.size(); ++i) {
          if constexpr (std::is_invocable_v<Visit, JobId, Need>) {
            visit(block.key(i).id, block.row(i));
          } else {
            visit(block.key(i).id);
          }
        }
      }
    });
  }

  /// The jobs need something else now, and keep their order.
  void renew(const std::function<Need(JobId)>& need);
  /// When the keys were last computed; matters to orders that change with time.
  Time sorted_at() const { return sorted_at_; }
  /// An order that is linear in time, as seen at `now` from now on. Did any job change its place?
  bool advance(Time now);
  /// Sorts by `order` as seen at `now`; `need` is what a job takes from now on. `standings`, by
  /// user, are what `fairshare` goes by until the next time.
  void resort(QueueOrder order, Time now, const JobTable& jobs,
              const std::function<Need(JobId)>& need, std::vector<Standing> standings = {});

 private:
  struct ByValue {
    std::int32_t rank;  // falls with the priority
    JobId id;
    double value;
    bool operator<(const ByValue& other) const {
      if (rank != other.rank) return rank < other.rank;
      return (int{value < other.value} | (int{value == other.value} & int{id < other.id})) != 0;
    }
  };
  struct ByLine {
    std::int32_t rank;
    JobId id;
    Line line;
  };
  struct LinesBefore {
    Time now{};
    bool operator()(const ByLine& a, const ByLine& b) const {
      if (a.rank != b.rank) return a.rank < b.rank;
      const int more = compare(a.line, b.line, now);
      return more != 0 ? more > 0 : a.id < b.id;
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

    std::uint32_t size_ = 0;
    Summary least_ = kNone;
    std::array<Entry, kCapacity> rows_;
  };
  using Values = SortedBlocks<Block<ByValue>>;
  using Lines = SortedBlocks<Block<ByLine>, LinesBefore>;

  ByValue key(const Values&, JobId id, const JobSpec& spec) const {
    return {~spec.priority, id, order_ == QueueOrder::fcfs ? 0 : value(spec)};
  }
  ByLine key(const Lines&, JobId id, const JobSpec& spec) const {
    return {~spec.priority, id, line(spec)};
  }
  double value(const JobSpec& spec) const;
  Line line(const JobSpec& spec) const;

  /// The rows of this order.
  template <class Visit>
  decltype(auto) with_rows(Visit visit) const {
    return is_linear(order_) ? visit(lines_) : visit(values_);
  }
  template <class Visit>
  decltype(auto) with_rows(Visit visit) {
    return is_linear(order_) ? visit(lines_) : visit(values_);
  }

  QueueOrder order_;
  Time sorted_at_{};
  std::vector<Standing> standings_{};
  Values values_;  // of an order that stays as it is between two times of sorting
  Lines lines_;    // of one that is linear in time
};

}  // namespace ductile
