#include "scheduling/timeline.hpp"

#include <algorithm>
#include <bit>

#include "base/random.hpp"

namespace ductile {

void Overlay::Block::refresh() {
  least_ = most_ = steps_[0].level;
  for (std::uint32_t i = 1; i < size_; ++i) {
    least_ = std::min(least_, steps_[i].level);
    most_ = std::max(most_, steps_[i].level);
  }
}

std::size_t Overlay::block_at(Time time) const {
  std::size_t low = 0, high = blocks_.size();
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (time < blocks_[middle].from() ? high : low) = middle;
  }
  return low;
}

std::pair<std::size_t, std::uint32_t> Overlay::cut_at(Time time) {
  if (blocks_.empty()) {
    Block& block = blocks_.emplace_back();
    block.steps_[0] = {time, 0};
    block.size_ = 1;
    return {0, 0};
  }
  std::size_t at = block_at(time);
  if (blocks_[at].size_ == Block::kCapacity) {
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, Block{});
    Block& full = blocks_[at];
    Block& fresh = blocks_[at + 1];
    constexpr std::uint32_t kHalf = Block::kCapacity / 2;
    std::copy(full.steps_.begin() + kHalf, full.steps_.end(), fresh.steps_.begin());
    fresh.size_ = Block::kCapacity - kHalf;
    fresh.waiting_ = full.waiting_;
    full.size_ = kHalf;
    full.refresh();
    fresh.refresh();
    if (time >= fresh.from()) ++at;
  }
  Block& block = blocks_[at];
  std::uint32_t place = block.size_;
  while (place > 0 && block.steps_[place - 1].from > time) --place;
  if (place > 0 && block.steps_[place - 1].from == time) return {at, place - 1};
  // Before all steps the level is 0; otherwise that of the step before.
  const std::int64_t level = place > 0 ? block.steps_[place - 1].level : -block.waiting_;
  std::copy_backward(block.steps_.begin() + place, block.steps_.begin() + block.size_,
                     block.steps_.begin() + block.size_ + 1);
  block.steps_[place] = {time, level};
  ++block.size_;
  block.least_ = std::min(block.least_, level);
  block.most_ = std::max(block.most_, level);
  return {at, place};
}

void Overlay::add(Time from, Time to, std::int64_t amount) {
  if (from >= to) return;
  if (to < kNever) cut_at(to);
  auto [at, place] = cut_at(from);
  for (; at < blocks_.size() && blocks_[at].from() < to; ++at, place = 0) {
    Block& block = blocks_[at];
    if (place == 0 && block.steps_[block.size_ - 1].from < to) {
      block.waiting_ += amount;
    } else {
      for (; place < block.size_ && block.steps_[place].from < to; ++place) {
        block.steps_[place].level += amount;
      }
      block.refresh();
    }
    if (amount > 0) most_ = std::max(most_, block.most());
  }
}

void Overlay::fall(std::span<const Step> falls) {
  std::int64_t level = 0;
  for (const Step& its : falls) {
    level -= its.level;
    if (!blocks_.empty()) {
      Block& tail = blocks_.back();
      if (tail.steps_[tail.size_ - 1].from == its.from) {
        tail.least_ = tail.steps_[tail.size_ - 1].level = level;
        if (tail.size_ == 1) tail.most_ = level;
        continue;
      }
    }
    // Half full: reservations will be added.
    if (blocks_.empty() || blocks_.back().size_ == Block::kCapacity / 2) {
      blocks_.emplace_back().most_ = level;
    }
    Block& tail = blocks_.back();
    tail.steps_[tail.size_++] = {its.from, level};
    tail.least_ = level;
  }
}

Time Profile::earliest(std::int64_t need, Duration length, Time not_before) {
  flush();
  // Hints cost more than they save until a plan has some reservations.
  constexpr std::uint32_t kUseHints = 32;
  const bool hint =
      need > 0 && not_before <= now_ && ++searches_ > kUseHints && overlay_.most() <= 0;
  Time start = std::max(not_before, now_);
  if (hint) start = std::max(start, hints_.at_least(need, length));
  start = search(need, length, start);
  if (hint) hints_.found(need, length, start);
  return start;
}

Time Profile::search(std::int64_t need, Duration length, Time start) {
  if (start == kNever) return kNever;
  Releases::Cursor base(*releases_, now_);
  if (overlay_.most() <= 0) {  // not before the releases alone suffice
    if (need > free_) start = std::max(start, base.reach(need - free_));
    if (start == kNever) return kNever;
    if (overlay_.empty()) {
      released_ = {start, base.until(start)};
      return start;
    }
  }
  const auto free_from = [&](Time time) { return free_ + base.until(time); };

  // The stretch before the first step, where the overlay is 0.
  const Time first = overlay_.empty() ? kNever : overlay_.block(0).from();
  if (start < first) {
    if (free_from(start) < need) start = base.reach(need - free_, first);
    if (start == kNever) {
      start = first;
    } else if (later(start, length) <= first) {
      return start;
    }
  }
  if (overlay_.empty()) return start;

  for (std::size_t at = overlay_.block_at(start); at < overlay_.blocks(); ++at) {
    const Overlay::Block& block = overlay_.block(at);
    const Time end = at + 1 < overlay_.blocks() ? overlay_.block(at + 1).from() : kNever;
    const Time begin = std::max(start, block.from());
    if (free_from(begin) + block.least() >= need) {  // nowhere too little
      if (later(start, length) <= end) return start;
      continue;
    }
    if (end < kNever) {  // everywhere too little
      Releases::Cursor ahead = base;
      if (free_ + ahead.until(end) + block.most() < need) {
        start = end;
        continue;
      }
    }
    for (std::uint32_t i = 0; i < block.size(); ++i) {
      const Time step_end = i + 1 < block.size() ? block.step(i + 1).from : end;
      if (step_end <= start) continue;
      const std::int64_t level = block.step(i).level;
      if (free_from(std::max(start, block.step(i).from)) + level < need) {
        start = base.reach(need - free_ - level, step_end);
        if (start == kNever) {
          start = step_end;
          continue;
        }
      }
      if (later(start, length) <= step_end) return start;
    }
  }
  return start;
}

void Profile::add(Time from, Time to, std::int64_t amount) {
  flush();
  if (amount > 0) hints_.clear();
  newest_ = {std::max(from, now_), to, amount};
}

void Profile::free_until(std::vector<Overlay::Step> falls) {
  for (const Overlay::Step& its : falls) free_ += its.level;
  std::erase_if(falls, [](const Overlay::Step& its) { return its.from == kNever; });
  std::ranges::sort(falls, {}, &Overlay::Step::from);
  overlay_.fall(falls);
}

void Profile::flush() {
  if (!newest_) return;
  overlay_.add(newest_->from, newest_->to, newest_->amount);
  newest_.reset();
}

void Profile::from_now(FreeSteps& result) {
  result.clear();
  if (overlay_.empty() && newest_ && newest_->amount < 0 && newest_->from > now_) {
    result.add({}, free_);
    const auto [from, to, amount] = *newest_;
    if (from == kNever) return;
    const std::int64_t released =
        from == released_.at ? released_.nodes : Releases::Cursor(*releases_, now_).until(from);
    if (released + amount < 0) result.add(from - now_, free_ + released + amount);
    return;
  }
  flush();
  Releases::Cursor base(*releases_, now_);
  std::int64_t least = free_;
  for (std::size_t at = 0; at < overlay_.blocks(); ++at) {
    const Overlay::Block& block = overlay_.block(at);
    for (std::uint32_t i = 0; i < block.size(); ++i) {
      const auto [from, level] = block.step(i);
      if (from <= now_) {
        least = free_ + level;
        continue;
      }
      // Steps higher than one before them never bind.
      const std::int64_t free = free_ + base.until(from) + level;
      if (result.empty()) result.add({}, least);
      if (free < least) {
        least = free;
        result.add(from - now_, free);
      }
    }
  }
  if (result.empty()) result.add({}, least);
}

namespace {

// Classes of demands: class_below(m) >= class_above(n) only if m >= n.
unsigned class_below(std::uint64_t n) { return static_cast<unsigned>(std::bit_width(n)); }
unsigned class_above(std::uint64_t n) { return n <= 1 ? class_below(n) : class_below(n - 1) + 1; }

}  // namespace

std::size_t Profile::Hints::place_of(std::int64_t need, Duration length) {
  return mixed(static_cast<std::uint64_t>(length.count() ^ (need << 48))) % kSize;
}

Time Profile::Hints::at_least(std::int64_t need, Duration length) const {
  if (table_.empty()) return Time::min();
  const Same& same = same_[place_of(need, length)];
  Time latest = same.need == need && same.length == length ? same.start : Time::min();
  const unsigned n = std::min(class_below(static_cast<std::uint64_t>(need)) + 1, kSize - 1);
  const unsigned l =
      std::min(class_below(static_cast<std::uint64_t>(length.count())) + 1, kSize - 1);
  for (unsigned i = n; i > 0; i &= i - 1) {
    for (unsigned j = l; j > 0; j &= j - 1) latest = std::max(latest, table_[i * kSize + j]);
  }
  return latest;
}

void Profile::Hints::found(std::int64_t need, Duration length, Time start) {
  if (table_.empty()) {
    table_.assign(std::size_t{kSize} * kSize, Time::min());
    same_.resize(kSize);
  }
  same_[place_of(need, length)] = {need, length, start};
  const unsigned n = class_above(static_cast<std::uint64_t>(need)) + 1;
  const unsigned l = class_above(static_cast<std::uint64_t>(length.count())) + 1;
  for (unsigned i = n; i < kSize; i += i & -i) {
    for (unsigned j = l; j < kSize; j += j & -j) {
      table_[i * kSize + j] = std::max(table_[i * kSize + j], start);
    }
  }
}

Time Timeline::earliest(Demand need, Duration length, Time not_before) {
  Time start = nodes_.earliest(need.nodes, length, not_before);
  if (!power_) return start;
  for (;;) {  // the earliest time that suits both
    if (start == kNever) return kNever;
    const Time powered = power_->earliest(need.power_mw, length, start);
    if (powered == start || powered == kNever) return powered;
    start = nodes_.earliest(need.nodes, length, powered);
    if (start == powered) return start;
  }
}

void Timeline::reserve(Time from, Time to, Demand need) {
  begins_now_ |= from <= now_;
  nodes_.add(from, to, -std::int64_t{need.nodes});
  if (power_) power_->add(from, to, -need.power_mw);
}

void Timeline::from_now(FreeProfile& free) {
  nodes_.from_now(free.nodes);
  free.power.clear();
  if (power_) power_->from_now(free.power);
}

void Timeline::took(Demand need) {
  nodes_.took(need.nodes);
  if (power_) power_->took(need.power_mw);
}

}  // namespace ductile
