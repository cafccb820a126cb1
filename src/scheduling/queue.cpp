#include "scheduling/queue.hpp"

#include <algorithm>
#include <cmath>

#include "scheduling/job.hpp"

namespace ductile {

double Queue::value(const JobSpec& spec) const {
  const double n = spec.preferred;
  const double r = std::max(to_seconds(spec.walltime), 1e-6);
  switch (order_) {
    case QueueOrder::fcfs: return 0;
    case QueueOrder::sjf: return r;
    case QueueOrder::ljf: return -r;
    case QueueOrder::smallest: return n;
    case QueueOrder::largest: return -n;
    case QueueOrder::wfp3: {
      const double ratio = to_seconds(std::max(sorted_at_ - spec.submitted, Duration{})) / r;
      return -(ratio * ratio * ratio * n);
    }
    case QueueOrder::unicef: {
      // log2(1) = 0 would put every serial job infinitely far ahead; a tiny value keeps their order.
      const double w = to_seconds(std::max(sorted_at_ - spec.submitted, Duration{}));
      return -(w / (std::max(std::log2(n), 1e-9) * r));
    }
    case QueueOrder::f1:
      return std::log10(r) * n + 870 * std::log10(std::max(to_seconds(spec.submitted), 1.0));
  }
  return 0;
}

Queue::Key Queue::key(JobId id, const JobSpec& spec) const {
  return {~spec.priority, id, value(spec)};
}

void Queue::add(JobId id, const JobSpec& spec) {
  rows_.insert(key(id, spec), {spec.preferred, spec.walltime});
}

void Queue::remove(JobId id, const JobSpec& spec) { rows_.erase(key(id, spec)); }

JobId Queue::front() const {
  return empty() ? JobId::none : rows_.block(rows_.slots().front()).key(0).id;
}

JobId Queue::after(JobId id, const JobSpec& spec) const {
  auto place = rows_.lower_bound(key(id, spec));
  if (!rows_.at_end(place) && rows_.block(place).key(place.row).id == id) place = rows_.next(place);
  return rows_.at_end(place) ? JobId::none : rows_.block(place).key(place.row).id;
}

JobId Queue::first_fit(JobId id, const JobSpec* spec, const Room& room) const {
  using Place = SortedBlocks<Block>::Place;
  Place place = id == JobId::none ? Place{} : rows_.lower_bound(key(id, *spec));
  const auto most = room.steps().front().nodes;
  for (; !rows_.at_end(place); place = {place.slot + 1, 0}) {
    const auto& slot = rows_.slots()[place.slot];
    if (!room.fits(slot.summary.need, slot.summary.walltime)) continue;
    const Block& block = rows_.block(slot);
    for (std::uint32_t i = place.row; i < block.size(); ++i) {
      if (block.need(i) > most || !room.fits(block.need(i), block.walltime(i))) continue;
      if (block.key(i).id != id) return block.key(i).id;
    }
  }
  return JobId::none;
}

void Queue::resort(QueueOrder order, Time now, const JobTable& jobs) {
  std::vector<JobId> ids;
  ids.reserve(size());
  for_each([&](JobId id) { ids.push_back(id); });
  order_ = order;
  sorted_at_ = now;
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const JobId id : ids) keys.push_back(key(id, jobs[id].spec));
  std::ranges::sort(keys, [](const Key& a, const Key& b) { return a < b; });
  rows_.clear();
  for (const Key& k : keys) rows_.insert(k, {jobs[k.id].spec.preferred, jobs[k.id].spec.walltime});
}

void Queue::Block::insert(std::uint32_t at, const Key& key, const Row& row) {
  std::move_backward(keys_.begin() + at, keys_.begin() + size_, keys_.begin() + size_ + 1);
  std::move_backward(needs_.begin() + at, needs_.begin() + size_, needs_.begin() + size_ + 1);
  std::move_backward(walltimes_.begin() + at, walltimes_.begin() + size_,
                     walltimes_.begin() + size_ + 1);
  keys_[at] = key;
  needs_[at] = row.need;
  walltimes_[at] = row.walltime;
  ++size_;
  least_.need = std::min(least_.need, row.need);
  least_.walltime = std::min(least_.walltime, row.walltime);
}

void Queue::Block::erase(std::uint32_t at) {
  const bool least = needs_[at] == least_.need || walltimes_[at] == least_.walltime;
  std::move(keys_.begin() + at + 1, keys_.begin() + size_, keys_.begin() + at);
  std::move(needs_.begin() + at + 1, needs_.begin() + size_, needs_.begin() + at);
  std::move(walltimes_.begin() + at + 1, walltimes_.begin() + size_, walltimes_.begin() + at);
  --size_;
  if (least) summarize();
}

void Queue::Block::move_tail(std::uint32_t from, Block& other) {
  std::copy(keys_.begin() + from, keys_.begin() + size_, other.keys_.begin() + other.size_);
  std::copy(needs_.begin() + from, needs_.begin() + size_, other.needs_.begin() + other.size_);
  std::copy(walltimes_.begin() + from, walltimes_.begin() + size_,
            other.walltimes_.begin() + other.size_);
  other.size_ += size_ - from;
  size_ = from;
  summarize();
  other.summarize();
}

void Queue::Block::summarize() {
  least_ = {};
  for (std::uint32_t i = 0; i < size_; ++i) {
    least_.need = std::min(least_.need, needs_[i]);
    least_.walltime = std::min(least_.walltime, walltimes_[i]);
  }
}

}  // namespace ductile
