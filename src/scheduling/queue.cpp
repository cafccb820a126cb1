#include "scheduling/queue.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "base/wide.hpp"
#include "scheduling/job.hpp"

namespace ductile {
namespace {

/// mantissa * 2^exponent
struct Product {
  UnsignedWide mantissa;
  int exponent;

  int top() const {  // where its highest bit is
    const auto high = static_cast<std::uint64_t>(mantissa >> 64);
    const int width = high != 0
                          ? 64 + static_cast<int>(std::bit_width(high))
                          : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(mantissa)));
    return width + exponent;
  }
};

/// 53 bits times 63.
Product product(double rate, std::int64_t time) {
  int exponent = 0;
  const double fraction = std::frexp(rate, &exponent);
  const auto mantissa = static_cast<std::uint64_t>(fraction * 0x1p53);
  return {UnsignedWide{mantissa} * static_cast<std::uint64_t>(time), exponent - 53};
}

}  // namespace

int compare(const Line& a, const Line& b, Time now) {
  const std::int64_t time_a = std::max((now - a.since).count(), std::int64_t{0});
  const std::int64_t time_b = std::max((now - b.since).count(), std::int64_t{0});
  const double much_a = a.rate * static_cast<double>(time_a);
  const double much_b = b.rate * static_cast<double>(time_b);
  // Each is off by less than 2^-51 of itself.
  constexpr double kSure = 1 - 0x1p-49;
  if (much_a < much_b * kSure) return -1;
  if (much_b < much_a * kSure) return 1;
  Product x = product(a.rate, time_a), y = product(b.rate, time_b);
  if (x.mantissa == 0 || y.mantissa == 0) return int{x.mantissa != 0} - int{y.mantissa != 0};
  if (x.top() != y.top()) return x.top() < y.top() ? -1 : 1;
  // The one with the larger exponent has as many bits less.
  if (x.exponent > y.exponent) x.mantissa <<= x.exponent - y.exponent;
  if (y.exponent > x.exponent) y.mantissa <<= y.exponent - x.exponent;
  return int{x.mantissa > y.mantissa} - int{x.mantissa < y.mantissa};
}

std::int64_t FreeCells::during(Cells its, Duration length, std::uint32_t booking) const {
  if (cells.empty()) return all.nodes.during(length);
  const std::vector<FreeSteps>& free = of_booking(booking);
  std::int64_t sum = 0;
  for (std::size_t cell = 0; cell < free.size(); ++cell) {
    if ((its >> cell & 1) != 0) sum += std::max<std::int64_t>(free[cell].during(length), 0);
  }
  return sum;
}

Spread FreeCells::place_by_cell(const Demand& need, Duration length) const {
  Spread in;
  std::int64_t left = need.nodes;
  const std::vector<FreeSteps>& free = of_booking(need.booking);
  if (free.empty()) return in;
  for (const std::uint32_t cell : order) {
    if (left == 0) break;
    if ((need.cells >> cell & 1) == 0) continue;
    const std::int64_t n = std::clamp<std::int64_t>(free[cell].during(length), 0, left);
    in.add(cell, static_cast<Nodes>(n));
    left -= n;
  }
  return in;
}

void FreeCells::take_by_cell(const Demand& need, const Spread& in, Duration length) {
  std::vector<FreeSteps>& free = need.booking == 0 ? cells : booked[need.booking - 1];
  for (const Spread::Part& part : in.parts) free[part.cell].take(part.count, length);
  all.power.take(need.power_mw, length);
}

void FreeCells::of(Cells its, std::uint32_t booking, FreeProfile& lane) const {
  if (cells.empty()) {
    lane = all;
    return;
  }
  lane.power = all.power;
  lane.nodes.clear();
  // What is lost when, of each cell's least so far.
  std::vector<FreeSteps::Step> falls;
  falls.reserve(16);
  std::int64_t sum = 0;
  const std::vector<FreeSteps>& free = of_booking(booking);
  for (std::size_t cell = 0; cell < free.size(); ++cell) {
    if ((its >> cell & 1) == 0) continue;
    std::int64_t least = std::max<std::int64_t>(free[cell].now(), 0);
    sum += least;
    for (const FreeSteps::Step& step : free[cell].later()) {
      if (least == 0) break;
      if (step.amount >= least) continue;
      const std::int64_t less = std::max<std::int64_t>(step.amount, 0);
      falls.push_back({step.from, least - less});
      least = less;
    }
  }
  std::ranges::sort(falls, {}, &FreeSteps::Step::from);
  lane.nodes.add({}, sum);
  for (std::size_t i = 0; i < falls.size(); ++i) {
    sum -= falls[i].amount;
    const bool is_last = i + 1 == falls.size() || falls[i + 1].from != falls[i].from;
    if (is_last) lane.nodes.add(falls[i].from, sum);
  }
}

FitSearch::FitSearch(const Queue& queue, const JobTable& jobs,
                     std::span<const std::optional<JobId>> behind, std::span<const Cells> cells,
                     std::span<const std::uint32_t> bookings)
    : queue_(&queue), jobs_(&jobs) {
  lanes_.reserve(behind.size());
  for (std::size_t lane = 0; lane < behind.size(); ++lane) {
    if (!behind[lane]) continue;
    Lane& its = lanes_.emplace_back();
    its.id = ReachId{static_cast<std::uint16_t>(lane)};
    its.cells = cells[lane];
    if (!bookings.empty()) its.booking = bookings[lane];
    its.at = *behind[lane];
  }
}

JobId FitSearch::next(const FreeCells& free) {
  const auto spec = [&](JobId id) { return id == JobId::none ? nullptr : &(*jobs_)[id].spec; };
  const bool all_change = taken_ != 0 && !free.all.power.empty();
  for (Lane& lane : lanes_) {
    const bool changed = !lane.is_known || all_change || (lane.cells & taken_) != 0;
    if (changed) free.of(lane.cells, lane.booking, lane.free);
    lane.is_known = true;
    const bool has_one = lane.found != JobId::none;
    if (has_one && !changed) continue;
    if (has_one) lane.at = lane.found;  // nobody before it fits
    lane.found = queue_->first_fit(lane.id, lane.at, spec(lane.at), lane.free, has_one);
  }
  taken_ = 0;
  std::erase_if(lanes_, [](const Lane& lane) { return lane.found == JobId::none; });
  Lane* first = nullptr;
  for (Lane& lane : lanes_) {
    if (!first || queue_->before(lane.found, *spec(lane.found), first->found, *spec(first->found)))
      first = &lane;
  }
  if (!first) return JobId::none;
  first->at = first->found;
  first->found = JobId::none;
  return first->at;
}

double Queue::value(JobId id, const JobSpec& spec) const {
  const double n = spec.preferred;
  const double r = std::max(to_seconds(spec.walltime), 1e-6);
  switch (order_) {
    case QueueOrder::fcfs:
      return 0;
    case QueueOrder::sjf:
      return r;
    case QueueOrder::ljf:
      return -r;
    case QueueOrder::smallest:
      return n;
    case QueueOrder::largest:
      return -n;
    case QueueOrder::wfp3:
    case QueueOrder::unicef:
      return 0;  // lines
    case QueueOrder::f1:
      return std::log10(r) * n + 870 * std::log10(std::max(to_seconds(spec.submitted), 1.0));
    case QueueOrder::fairshare:
      return standing(spec.user, 0);
    case QueueOrder::area:
      return id < overdue_ ? -1 : static_cast<double>(total_work(spec.preferred, spec.walltime));
    case QueueOrder::multifactor:
      return -priority(spec);
  }
  return 0;
}

double Queue::standing(std::uint32_t user, double of_others) const {
  const auto at = std::ranges::lower_bound(standings_, user, {}, &Standing::user);
  return at != standings_.end() && at->user == user ? at->value : of_others;
}

double Queue::priority(const JobSpec& spec) const {
  const std::size_t lane = index(spec.lane);
  const LaneFactors its = lane < ranking_.lanes.size() ? ranking_.lanes[lane] : LaneFactors{};
  return ductile::priority(
      ranking_.rules,
      {.age = age_factor(ranking_.rules, sorted_at_ - spec.submitted),
       .fairshare = standing(spec.user, 1),
       .size = size_factor(ranking_.rules, spec.preferred, ranking_.nodes, spec.walltime),
       .partition = its.partition,
       .qos = its.qos});
}

Line Queue::line(const JobSpec& spec) const {
  const double n = spec.preferred;
  const auto r = static_cast<double>(std::max(spec.walltime, kTick).count());
  // The cube root of what is asked for goes the same way.
  if (order_ == QueueOrder::wfp3) return {std::cbrt(n) / r, spec.submitted};
  // log2(1) = 0 would put every serial job infinitely far ahead; a tiny value keeps their order.
  return {1 / (std::max(std::log2(n), 1e-9) * r), spec.submitted};
}

template <class R>
template <class PlaceOf>
std::pair<const R*, typename R::Place> Queue::Lanes<R>::earliest(PlaceOf place_of) const {
  std::pair<const Rows*, typename Rows::Place> found{nullptr, {}};
  const auto look = [&](const Rows& rows) {
    const typename Rows::Place place = place_of(rows);
    if (rows.at_end(place)) return;
    if (!found.first || rows.less()(rows.block(place).key(place.row),
                                    found.first->block(found.second).key(found.second.row))) {
      found = {&rows, place};
    }
  };
  look(first);
  for (const Rows& rows : others) look(rows);
  return found;
}

template <class R>
auto Queue::Lanes<R>::merged() const -> std::vector<std::pair<Key, Need>> {
  std::vector<std::pair<Key, Need>> all;
  all.reserve(size());
  const auto add = [&](const Key& key, const Need& need) { all.emplace_back(key, need); };
  first.for_each(add);
  for (const Rows& rows : others) rows.for_each(add);
  std::ranges::sort(all, first.less(), &std::pair<Key, Need>::first);
  return all;
}

namespace {

Queue::Kind kind(const JobSpec& spec, const Queue::Need& need) {
  return {.nodes = need.nodes, .cores = spec.cores, .bound = spec.bound};
}

void put(Queue::Kinds& kinds, JobId id, const JobSpec& spec, const Queue::Need& need) {
  if (sizes_while_running(spec.type)) kinds[kind(spec, need)].emplace(need.walltime, id);
}

/// The first row behind `key`, whose own may be there or not.
template <class Rows, class Key>
typename Rows::Place behind(const Rows& rows, const Key& key) {
  typename Rows::Place place = rows.lower_bound(key);
  const bool is_there = !rows.at_end(place) && rows.block(place).key(place.row).id() == key.id();
  return is_there ? rows.next(place) : place;
}

}  // namespace

void Queue::add(JobId id, const JobSpec& spec, Need need) {
  const ReachId reach = reach_of(spec);
  if (reach != ReachId{}) ++in_others_;
  with_lanes([&](auto& lanes) { lanes.of(reach).insert(key(lanes, id, spec), need); });
  waiting_.insert(index(id));
  area_ += total_work(spec.preferred, spec.walltime);
  if (kinds_.all) put(*kinds_.all, id, spec, need);
}

void Queue::remove(JobId id, const JobSpec& spec) {
  const ReachId reach = reach_of(spec);
  if (reach != ReachId{}) --in_others_;
  with_lanes([&](auto& lanes) {
    auto& rows = lanes.of(reach);
    const auto its = key(lanes, id, spec);
    if (kinds_.all && sizes_while_running(spec.type)) {
      const auto place = rows.lower_bound(its);
      const Need& need = rows.block(place).row(place.row);
      const auto alike = kinds_.all->find(kind(spec, need));
      alike->second.erase({need.walltime, id});
      if (alike->second.empty()) kinds_.all->erase(alike);
    }
    rows.erase(its);
  });
  waiting_.erase(index(id));
  area_ -= total_work(spec.preferred, spec.walltime);
}

Queue::Kinds Queue::find_kinds(const JobTable& jobs) const {
  Kinds all;
  for_each([&](JobId id, const Need& need) { put(all, id, jobs[id].spec, need); });
  return all;
}

const Queue::Kinds& Queue::kinds(const JobTable& jobs) const {
  if (!kinds_.all) kinds_.all = find_kinds(jobs);
  return *kinds_.all;
}

void Queue::set_reach(LaneId lane, ReachId reach) {
  for (std::size_t i = reaches_.size(); i <= index(lane); ++i) {
    reaches_.push_back(ReachId{static_cast<std::uint16_t>(i)});
  }
  reaches_[index(lane)] = reach;
}

void Queue::set_factors(LaneId lane, const LaneFactors& factors) {
  auto& all = ranking_.lanes;
  if (all.size() <= index(lane)) all.resize(index(lane) + std::size_t{1});
  all[index(lane)] = factors;
}

void Queue::set_reaches(std::vector<ReachId> of_lanes, const JobTable& jobs) {
  reaches_ = std::move(of_lanes);
  with_lanes([&](auto& lanes) {
    const auto all = lanes.merged();
    lanes = std::decay_t<decltype(lanes)>(std::decay_t<decltype(lanes.first)>(lanes.first.less()));
    in_others_ = 0;
    for (const auto& [key, need] : all) {
      const ReachId reach = reach_of(jobs[key.id()].spec);
      if (reach != ReachId{}) ++in_others_;
      lanes.of(reach).insert(key, need);
    }
  });
}

JobId Queue::front() const {
  if (in_others_ > 0) return first_of_lanes().first;
  return with_lanes([](const auto& lanes) {
    const auto& rows = lanes.first;
    return rows.empty() ? JobId::none : rows.block(rows.slots().front()).key(0).id();
  });
}

Queue::Need Queue::front_need() const {
  if (in_others_ > 0) return first_of_lanes().second;
  return with_lanes([](const auto& lanes) {
    const auto& rows = lanes.first;
    return rows.block(rows.slots().front()).row(0);
  });
}

std::pair<JobId, Queue::Need> Queue::first_of_lanes() const {
  return with_lanes([](const auto& lanes) -> std::pair<JobId, Need> {
    using Row = typename std::decay_t<decltype(lanes.first)>::Place;
    const auto [its, place] = lanes.earliest([](const auto&) { return Row{}; });
    if (!its) return {JobId::none, {}};
    return {its->block(place).key(place.row).id(), its->block(place).row(place.row)};
  });
}

JobId Queue::after(JobId id, const JobSpec& spec) const {
  return with_lanes([&](const auto& lanes) {
    const auto from = key(lanes, id, spec);
    const auto& first = lanes.first;
    if (in_others_ == 0) {
      const auto place = behind(first, from);
      return first.at_end(place) ? JobId::none : first.block(place).key(place.row).id();
    }
    const auto [its, place] = lanes.earliest([&](const auto& rows) { return behind(rows, from); });
    return its ? its->block(place).key(place.row).id() : JobId::none;
  });
}

JobId Queue::after(JobId id, const JobSpec* spec, const std::vector<bool>& open) const {
  return with_lanes([&](const auto& lanes) {
    std::size_t lane = 0;
    const auto [its, place] = lanes.earliest([&](const auto& rows) {
      typename std::decay_t<decltype(rows)>::Place from;
      const bool is_open = lane < open.size() && open[lane];
      ++lane;
      if (!is_open) return decltype(from){static_cast<std::uint32_t>(rows.slots().size()), 0};
      return id == JobId::none ? from : behind(rows, key(lanes, id, *spec));
    });
    return its ? its->block(place).key(place.row).id() : JobId::none;
  });
}

namespace {

/// What a profile says by its first two steps, which are all that most have, without a call: a
/// search asks it for each block and row on its way.
class FirstSteps {
 public:
  explicit FirstSteps(const FreeProfile& free)
      : free_(&free),
        nodes_(free.nodes),
        power_(free.power),
        has_power_(!free.power.empty()),
        are_all_(free.nodes.later().size() <= 1 && free.power.later().size() <= 1) {}
  /// As `FreeProfile::fits`.
  bool fit(const Demand& need, Duration length) const {
    return nodes_.have(need.nodes, length) && (!has_power_ || power_.have(need.power_mw, length)) &&
           (are_all_ || free_->fits(need, length));
  }

 private:
  struct Two {
    std::int64_t now, then = 0;
    Duration from = Duration::max();  // of `then`, which is no more than `now`

    explicit Two(const FreeSteps& free) : now(free.now()) {
      if (free.later().empty()) return;
      then = std::min(now, free.later().front().amount);
      from = free.later().front().from;
    }
    bool have(std::int64_t need, Duration length) const {
      return need <= (length > from ? then : now);
    }
  };

  const FreeProfile* free_;
  Two nodes_, power_;
  bool has_power_, are_all_;
};

}  // namespace

JobId Queue::first_fit(ReachId reach, JobId id, const JobSpec* spec, const FreeProfile& free,
                       bool or_id) const {
  const FirstSteps first(free);
  return with_lanes([&](const auto& lanes) {
    const auto* const found = lanes.find(reach);
    if (!found) return JobId::none;
    const auto& rows = *found;
    typename std::decay_t<decltype(rows)>::Place place;
    if (id != JobId::none) place = rows.lower_bound(key(lanes, id, *spec));
    for (; !rows.at_end(place); place = {place.slot + 1, 0}) {
      const auto& slot = rows.slots()[place.slot];
      if (!first.fit(slot.summary.least(), slot.summary.walltime)) continue;
      const auto& block = rows.block(slot);
      for (std::uint32_t i = place.row; i < block.size(); ++i) {
        const Need& need = block.row(i);
        if (!first.fit(need.least(), need.walltime)) continue;
        if (or_id || block.key(i).id() != id) return block.key(i).id();
      }
    }
    return JobId::none;
  });
}

bool Queue::before(JobId a, const JobSpec& spec_a, JobId b, const JobSpec& spec_b) const {
  return with_lanes([&](const auto& lanes) {
    return lanes.first.less()(key(lanes, a, spec_a), key(lanes, b, spec_b));
  });
}

bool Queue::advance(Time now, const JobTable& jobs, std::vector<Standing> standings) {
  sorted_at_ = now;
  standings_ = std::move(standings);
  return with_lanes([&](auto& lanes) {
    const auto advance_rows = [&](auto& rows) {
      if constexpr (std::is_same_v<decltype(rows), Lines&>) {
        return rows.reorder({now});
      } else {
        return rows.rekey(
            [&](const auto& was) { return key(lanes, was.id(), jobs[was.id()].spec); });
      }
    };
    if (lanes.others.empty()) return advance_rows(lanes.first);
    // Jobs of two lanes may change places, and none within a lane.
    const auto before = lanes.merged();
    advance_rows(lanes.first);
    for (auto& rows : lanes.others) advance_rows(rows);
    const auto now_in_order = lanes.merged();
    return !std::ranges::equal(before, now_in_order, [](const auto& a, const auto& b) {
      return a.first.id() == b.first.id();
    });
  });
}

bool Queue::set_overdue(JobId before, Time now, const JobTable& jobs,
                        const std::function<Need(JobId)>& need) {
  std::vector<JobId> turned;
  for (JobId id = submitted_from(overdue_); id < before;
       id = submitted_from(JobId{index(id) + 1})) {
    turned.push_back(id);
  }
  for (const JobId id : turned) remove(id, jobs[id].spec);
  overdue_ = before;
  sorted_at_ = now;
  for (const JobId id : turned) add(id, jobs[id].spec, need(id));
  return !turned.empty();
}

void Queue::resort(QueueOrder order, Time now, const JobTable& jobs,
                   const std::function<Need(JobId)>& need, std::vector<Standing> standings,
                   Ranking ranking) {
  kinds_.all.reset();
  std::vector<JobId> ids;
  ids.reserve(size());
  for_each([&](JobId id) { ids.push_back(id); });
  order_ = order;
  sorted_at_ = now;
  standings_ = std::move(standings);
  ranking_ = std::move(ranking);
  overdue_ = JobId{};
  values_ = Lanes<Values>();
  lines_ = Lanes<Lines>(Lines({now}));
  with_lanes([&](auto& lanes) {
    std::vector<decltype(key(lanes, {}, {}))> keys;
    keys.reserve(ids.size());
    in_others_ = 0;
    for (const JobId id : ids) {
      keys.push_back(key(lanes, id, jobs[id].spec));
      if (reach_of(jobs[id].spec) != ReachId{}) ++in_others_;
    }
    std::ranges::sort(keys, lanes.first.less());
    for (const auto& k : keys) lanes.of(reach_of(jobs[k.id()].spec)).insert(k, need(k.id()));
  });
}

void Queue::renew(const std::function<Need(JobId)>& need) {
  kinds_.all.reset();
  with_lanes([&](auto& lanes) {
    const auto renew_rows = [&](auto& rows) {
      const auto before = rows;
      rows.clear();
      before.for_each([&](const auto& key, const Need&) { rows.insert(key, need(key.id())); });
    };
    renew_rows(lanes.first);
    for (auto& rows : lanes.others) renew_rows(rows);
  });
}

template <class K>
void Queue::Block<K>::insert(std::uint32_t at, Key key, Row row) {
  std::copy_backward(rows_.begin() + at, rows_.begin() + size_, rows_.begin() + size_ + 1);
  rows_[at].key = key;
  rows_[at].row = row;
  ++size_;
  add_to_least(row);
}

template <class K>
void Queue::Block<K>::erase(std::uint32_t at) {
  const Row gone = rows_[at].row;
  std::copy(rows_.begin() + at + 1, rows_.begin() + size_, rows_.begin() + at);
  --size_;
  raise_least(&Row::nodes, gone);
  raise_least(&Row::power, gone);
  raise_least(&Row::walltime, gone);
}

template <class K>
template <class Part>
void Queue::Block<K>::raise_least(Part Row::*part, const Row& gone) {
  if (gone.*part != least_.*part) return;
  Part least = kNone.*part;
  for (std::uint32_t i = 0; i < size_; ++i) {
    least = std::min(least, rows_[i].row.*part);
    if (least == gone.*part) return;  // another one is as small
  }
  least_.*part = least;
}

template <class K>
void Queue::Block<K>::move_tail(std::uint32_t from, Block& other) {
  std::copy(rows_.begin() + from, rows_.begin() + size_, other.rows_.begin() + other.size_);
  other.size_ += size_ - from;
  size_ = from;
  summarize();
  other.summarize();
}

template <class K>
void Queue::Block<K>::summarize() {
  least_ = kNone;
  for (std::uint32_t i = 0; i < size_; ++i) add_to_least(rows_[i].row);
}

template <class K>
void Queue::Block<K>::add_to_least(const Row& row) {
  least_ = {std::min(least_.nodes, row.nodes), std::min(least_.power, row.power),
            std::min(least_.walltime, row.walltime)};
}

}  // namespace ductile
