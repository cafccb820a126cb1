#include "scheduling/queue.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
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

double Queue::value(const JobSpec& spec) const {
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
    case QueueOrder::fairshare: {
      const auto at = std::ranges::lower_bound(standings_, spec.user, {}, &Standing::user);
      return at != standings_.end() && at->user == spec.user ? at->value : 0;
    }
  }
  return 0;
}

Line Queue::line(const JobSpec& spec) const {
  const double n = spec.preferred;
  const auto r = static_cast<double>(std::max(spec.walltime, kTick).count());
  // The cube root of what is asked for goes the same way.
  if (order_ == QueueOrder::wfp3) return {std::cbrt(n) / r, spec.submitted};
  // log2(1) = 0 would put every serial job infinitely far ahead; a tiny value keeps their order.
  return {1 / (std::max(std::log2(n), 1e-9) * r), spec.submitted};
}

void Queue::add(JobId id, const JobSpec& spec, Need need) {
  with_rows([&](auto& rows) { rows.insert(key(rows, id, spec), need); });
}

void Queue::remove(JobId id, const JobSpec& spec) {
  with_rows([&](auto& rows) { rows.erase(key(rows, id, spec)); });
}

JobId Queue::front() const {
  return with_rows([](const auto& rows) {
    return rows.empty() ? JobId::none : rows.block(rows.slots().front()).key(0).id;
  });
}

JobId Queue::after(JobId id, const JobSpec& spec) const {
  return with_rows([&](const auto& rows) {
    auto place = rows.lower_bound(key(rows, id, spec));
    if (!rows.at_end(place) && rows.block(place).key(place.row).id == id) place = rows.next(place);
    return rows.at_end(place) ? JobId::none : rows.block(place).key(place.row).id;
  });
}

JobId Queue::first_fit(JobId id, const JobSpec* spec, const FreeProfile& free) const {
  return with_rows([&](const auto& rows) {
    typename std::decay_t<decltype(rows)>::Place place;
    if (id != JobId::none) place = rows.lower_bound(key(rows, id, *spec));
    const auto most = free.nodes.now();
    for (; !rows.at_end(place); place = {place.slot + 1, 0}) {
      const auto& slot = rows.slots()[place.slot];
      if (!free.fits(slot.summary.least(), slot.summary.walltime)) continue;
      const auto& block = rows.block(slot);
      for (std::uint32_t i = place.row; i < block.size(); ++i) {
        const Need& need = block.row(i);
        if (need.nodes > most || !free.fits(need.least(), need.walltime)) continue;
        if (block.key(i).id != id) return block.key(i).id;
      }
    }
    return JobId::none;
  });
}

bool Queue::before(JobId a, const JobSpec& spec_a, JobId b, const JobSpec& spec_b) const {
  return with_rows(
      [&](const auto& rows) { return rows.less()(key(rows, a, spec_a), key(rows, b, spec_b)); });
}

bool Queue::advance(Time now) {
  sorted_at_ = now;
  return lines_.reorder({now});
}

void Queue::resort(QueueOrder order, Time now, const JobTable& jobs,
                   const std::function<Need(JobId)>& need, std::vector<Standing> standings) {
  std::vector<JobId> ids;
  ids.reserve(size());
  for_each([&](JobId id) { ids.push_back(id); });
  order_ = order;
  sorted_at_ = now;
  standings_ = std::move(standings);
  values_ = Values();
  lines_ = Lines({now});
  with_rows([&](auto& rows) {
    std::vector<decltype(key(rows, {}, {}))> keys;
    keys.reserve(ids.size());
    for (const JobId id : ids) keys.push_back(key(rows, id, jobs[id].spec));
    std::ranges::sort(keys, rows.less());
    for (const auto& k : keys) rows.insert(k, need(k.id));
  });
}

void Queue::renew(const std::function<Need(JobId)>& need) {
  with_rows([&](auto& rows) {
    const auto before = rows;
    rows.clear();
    for (const auto& slot : before.slots()) {
      const auto& block = before.block(slot);
      for (std::uint32_t i = 0; i < block.size(); ++i) {
        rows.insert(block.key(i), need(block.key(i).id));
      }
    }
  });
}

template <class K>
void Queue::Block<K>::insert(std::uint32_t at, Key key, Row row) {
  std::copy_backward(rows_.begin() + at, rows_.begin() + size_, rows_.begin() + size_ + 1);
  rows_[at] = {key, row};
  ++size_;
  add_to_least(row);
}

template <class K>
void Queue::Block<K>::erase(std::uint32_t at) {
  const Row gone = rows_[at].row;
  std::copy(rows_.begin() + at + 1, rows_.begin() + size_, rows_.begin() + at);
  --size_;
  const bool was_least = gone.nodes == least_.nodes || gone.walltime == least_.walltime ||
                         (gone.power > 0 && gone.power == least_.power);
  if (was_least) summarize();
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
