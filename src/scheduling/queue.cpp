#include "scheduling/queue.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduling/job.hpp"

namespace ductile {

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
    case QueueOrder::wfp3: {
      const double ratio = to_seconds(std::max(sorted_at_ - spec.submitted, Duration{})) / r;
      return -(ratio * ratio * ratio * n);
    }
    case QueueOrder::unicef: {
      // log2(1) = 0 would put every serial job infinitely far ahead; a tiny value keeps their
      // order.
      const double w = to_seconds(std::max(sorted_at_ - spec.submitted, Duration{}));
      return -(w / (std::max(std::log2(n), 1e-9) * r));
    }
    case QueueOrder::f1:
      return std::log10(r) * n + 870 * std::log10(std::max(to_seconds(spec.submitted), 1.0));
    case QueueOrder::fairshare: {
      const auto at = std::ranges::lower_bound(standings_, spec.user, {}, &Standing::user);
      return at != standings_.end() && at->user == spec.user ? at->value : 0;
    }
  }
  return 0;
}

void Queue::add(JobId id, const JobSpec& spec, Need need) { rows_.insert(key(id, spec), need); }

void Queue::remove(JobId id, const JobSpec& spec) { rows_.erase(key(id, spec)); }

JobId Queue::front() const {
  return empty() ? JobId::none : rows_.block(rows_.slots().front()).key(0).id;
}

JobId Queue::after(JobId id, const JobSpec& spec) const {
  auto place = rows_.lower_bound(key(id, spec));
  if (!rows_.at_end(place) && rows_.block(place).key(place.row).id == id) place = rows_.next(place);
  return rows_.at_end(place) ? JobId::none : rows_.block(place).key(place.row).id;
}

JobId Queue::first_fit(JobId id, const JobSpec* spec, const FreeProfile& free) const {
  SortedBlocks<Block>::Place place;
  if (id != JobId::none) place = rows_.lower_bound(key(id, *spec));
  const auto most = free.steps().front().nodes;
  for (; !rows_.at_end(place); place = {place.slot + 1, 0}) {
    const auto& slot = rows_.slots()[place.slot];
    if (!free.fits(slot.summary.nodes, slot.summary.walltime)) continue;
    const Block& block = rows_.block(slot);
    for (std::uint32_t i = place.row; i < block.size(); ++i) {
      const Row& row = block.row(i);
      if (row.nodes > most || !free.fits(row.nodes, row.walltime)) continue;
      if (block.key(i).id != id) return block.key(i).id;
    }
  }
  return JobId::none;
}

void Queue::resort(QueueOrder order, Time now, const JobTable& jobs,
                   const std::function<Need(JobId)>& need, std::vector<Standing> standings) {
  std::vector<JobId> ids;
  ids.reserve(size());
  for_each([&](JobId id) { ids.push_back(id); });
  order_ = order;
  sorted_at_ = now;
  standings_ = std::move(standings);
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const JobId id : ids) keys.push_back(key(id, jobs[id].spec));
  std::ranges::sort(keys, [](const Key& a, const Key& b) { return a < b; });
  rows_.clear();
  for (const Key& k : keys) rows_.insert(k, need(k.id));
}

void Queue::Block::insert(std::uint32_t at, const Key& key, const Row& row) {
  std::copy_backward(rows_.begin() + at, rows_.begin() + size_, rows_.begin() + size_ + 1);
  rows_[at] = {key, row};
  ++size_;
  least_.nodes = std::min(least_.nodes, row.nodes);
  least_.walltime = std::min(least_.walltime, row.walltime);
}

void Queue::Block::erase(std::uint32_t at) {
  const Row gone = rows_[at].row;
  std::copy(rows_.begin() + at + 1, rows_.begin() + size_, rows_.begin() + at);
  --size_;
  if (gone.nodes == least_.nodes || gone.walltime == least_.walltime) summarize();
}

void Queue::Block::move_tail(std::uint32_t from, Block& other) {
  std::copy(rows_.begin() + from, rows_.begin() + size_, other.rows_.begin() + other.size_);
  other.size_ += size_ - from;
  size_ = from;
  summarize();
  other.summarize();
}

void Queue::Block::summarize() {
  least_ = {};
  for (std::uint32_t i = 0; i < size_; ++i) {
    least_.nodes = std::min(least_.nodes, rows_[i].row.nodes);
    least_.walltime = std::min(least_.walltime, rows_[i].row.walltime);
  }
}

}  // namespace ductile
