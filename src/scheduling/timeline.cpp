#include "scheduling/timeline.hpp"

#include <algorithm>
#include <array>
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
  flush();
  if (!overlay_.empty()) {  // something is booked
    for (const Overlay::Step& its : falls) overlay_.add(its.from, kNever, -its.level);
    return;
  }
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

Profile::Window::Window(Profile& profile, std::uint32_t cell)
    : profile_(&profile), cell_(cell), base_(*profile.releases_, profile.now_) {
  profile.flush();
}

void Profile::Window::move_to(Time start) {
  const Overlay& overlay = profile_->overlay_;
  if (overlay.empty()) return;
  if (before_all_) {
    if (start < overlay.block(0).from()) return;
    before_all_ = false;
    block_ = overlay.block_at(start);
    step_ = 0;
  } else if (block_ + 1 < overlay.blocks() && overlay.block(block_ + 1).from() <= start) {
    block_ = overlay.block_at(start);
    step_ = 0;
  }
  const Overlay::Block& block = overlay.block(block_);
  while (step_ + 1 < block.size() && block.step(step_ + 1).from <= start) ++step_;
}

Time Profile::Window::step_end() const {
  const Overlay& overlay = profile_->overlay_;
  if (overlay.empty()) return kNever;
  if (before_all_) return overlay.block(0).from();
  const Overlay::Block& block = overlay.block(block_);
  if (step_ + 1 < block.size()) return block.step(step_ + 1).from;
  return block_ + 1 < overlay.blocks() ? overlay.block(block_ + 1).from() : kNever;
}

Profile::Least Profile::Window::at(Time start) {
  if (start < last_.until) return last_;
  move_to(start);
  const std::int64_t level = before_all_ ? 0 : profile_->overlay_.block(block_).step(step_).level;
  last_ = {without(start) + level, std::min(step_end(), base_.next())};
  return last_;
}

Profile::Least Profile::Window::during(Time start, Duration length) {
  Least found = at(start);
  const Time end = later(start, length);
  const Overlay& overlay = profile_->overlay_;
  if (step_end() >= end) return found;  // what is released only grows
  Releases::Cursor ahead = base_;
  std::size_t at = before_all_ ? 0 : block_;
  std::uint32_t i = before_all_ ? 0 : step_ + 1;
  for (; at < overlay.blocks(); ++at, i = 0) {
    const Overlay::Block& block = overlay.block(at);
    if (block.from() >= end) break;
    if (i == 0 && profile_->free_ + ahead.until(block.from()) + block.least() > found.free) {
      continue;
    }
    for (; i < block.size(); ++i) {
      const auto [from, level] = block.step(i);
      if (from >= end) return found;
      const std::int64_t free = profile_->free_ + ahead.until(from) + level;
      if (free > found.free) continue;
      const Time last = i + 1 < block.size()        ? block.step(i + 1).from
                        : at + 1 < overlay.blocks() ? overlay.block(at + 1).from()
                                                    : kNever;
      found = {free, std::min(last, ahead.next())};
    }
  }
  return found;
}

Time Profile::Window::reach(std::int64_t more, Time end) const {
  Releases::Cursor ahead = base_;
  return ahead.reach(ahead.sum() + more, end);
}

void Profile::Window::remember(Time start) {
  if (profile_->overlay_.empty()) profile_->released_ = {start, base_.until(start)};
}

Profile::Hints& Timeline::hints_of(Cells cells) {
  const auto at =
      std::ranges::find(several_->hints, cells, &std::pair<Cells, Profile::Hints>::first);
  if (at != several_->hints.end()) return at->second;
  return several_->hints.emplace_back(cells, Profile::Hints{}).second;
}

// When so many are free if nothing is reserved.
Time Timeline::earliest_without_reservations(const Demand& need, Time start) {
  const Cells every =
      several_->cells.size() == kMostCells ? kEveryCell : (Cells{1} << several_->cells.size()) - 1;
  if (several_->together && (need.cells & every) == every) {
    std::int64_t free = 0;
    for (const Profile& cell : several_->cells) free += cell.free();
    if (need.nodes <= free) return start;
    Releases::Cursor all(*several_->together, now_);
    return std::max(start, all.reach(need.nodes - free));
  }
  for (;;) {
    std::int64_t missing = need.nodes;
    for (Profile::Window& window : several_->windows) missing -= window.without(start);
    if (missing <= 0) return start;
    // One of them must have its share of it by then.
    const auto count = static_cast<std::int64_t>(several_->windows.size());
    if (count == 0) return kNever;
    const std::int64_t share = (missing + count - 1) / count;
    Time first = kNever;
    for (const Profile::Window& window : several_->windows) {
      first = std::min(first, window.reach(share, first));
    }
    if (first == kNever) return kNever;
    start = first;
  }
}

Time Timeline::search(const Demand& need, Duration length, Time start, Spread& at) {
  std::array<std::int64_t, kMostCells> least;
  while (start < kNever) {
    std::int64_t sum = 0;
    Time until = kNever;
    const auto look = [&](auto see) {
      sum = 0;
      until = kNever;
      for (std::size_t i = 0; i < several_->windows.size(); ++i) {
        const Profile::Least its = see(several_->windows[i]);
        least[i] = std::max<std::int64_t>(its.free, 0);
        sum += least[i];
        until = std::min(until, its.until);
      }
      return sum >= need.nodes;
    };
    // Most times have too little at once.
    if (look([&](Profile::Window& window) { return window.at(start); }) &&
        look([&](Profile::Window& window) { return window.during(start, length); })) {
      std::int64_t left = need.nodes;
      for (std::size_t i = 0; i < several_->windows.size(); ++i) {
        const std::int64_t n = std::min(left, least[i]);
        at.add(several_->windows[i].cell(), static_cast<Nodes>(n));
        several_->windows[i].remember(start);
        left -= n;
      }
      return start;
    }
    // Until the first of the cells' last least steps ends none has more.
    start = until;
  }
  return kNever;
}

Time Timeline::earliest_nodes(const Demand& need, Duration length, Time not_before, Spread& at) {
  at.clear();
  Time start = std::max(not_before, now_);
  if (start == kNever) return kNever;
  several_->windows.clear();
  several_->windows.reserve(several_->order.size());
  bool only_less = true;
  std::vector<Profile>& cells = several_->of(need);
  if (cells.empty()) return kNever;
  for (const std::uint32_t cell : several_->order) {
    if ((need.cells >> cell & 1) == 0) continue;
    several_->windows.emplace_back(cells[cell], cell);
    only_less &= cells[cell].only_less();
  }
  constexpr std::uint32_t kUseHints = 32;
  const bool hint = need.nodes > 0 && need.booking == 0 && not_before <= now_ && only_less &&
                    ++several_->searches > kUseHints;
  Profile::Hints* const hints = hint ? &hints_of(need.cells) : nullptr;
  if (hints) start = std::max(start, hints->at_least(need.nodes, length));
  if (only_less) start = earliest_without_reservations(need, start);
  start = search(need, length, start, at);
  if (hints) hints->found(need.nodes, length, start);
  return start;
}

Time Timeline::earliest(const Demand& need, Duration length, Time not_before, Spread& at) {
  const auto of_nodes = [&](Time from) {
    return several_ ? earliest_nodes(need, length, from, at)
                    : nodes_.earliest(need.nodes, length, from);
  };
  Time start = of_nodes(not_before);
  if (!power_) return start;
  for (;;) {  // the earliest time that suits both
    if (start == kNever) return kNever;
    const Time powered = power_->earliest(need.power_mw, length, start);
    if (powered == start || powered == kNever) return powered;
    start = of_nodes(powered);
    if (start == powered) return start;
  }
}

void Timeline::reserve(Time from, Time to, const Demand& need, const Spread& in) {
  begins_now_ |= from <= now_;
  if (several_) {
    for (const Spread::Part& part : in.parts) {
      several_->of(need)[part.cell].add(from, to, -std::int64_t{part.count});
    }
  } else {
    nodes_.add(from, to, -std::int64_t{need.nodes});
  }
  if (power_) power_->add(from, to, -need.power_mw);
}

void Timeline::add(Time from, Time to, const Spread& nodes, int sign, std::int64_t power_mw) {
  if (!several_) return add(from, to, sign * std::int64_t{nodes.count()}, power_mw);
  if (sign > 0) several_->hints.clear();
  for (const Spread::Part& part : nodes.parts) {
    several_->cells[part.cell].add(from, to, sign * std::int64_t{part.count});
  }
  if (power_ && power_mw != 0) power_->add(from, to, power_mw);
}

void Timeline::book(std::uint32_t booking, std::vector<Profile> cells) {
  if (several_->booked.size() < booking) several_->booked.resize(booking);
  several_->booked[booking - 1] = std::move(cells);
}

void Timeline::from_now(FreeCells& free) {
  from_now(free.all);
  if (!several_) {
    if (free.cells.empty()) return;
    free.cells.clear();
    free.order.clear();
    free.booked.clear();
    return;
  }
  free.cells.resize(several_->cells.size());
  free.order.assign(several_->order.begin(), several_->order.end());
  for (std::size_t cell = 0; cell < several_->cells.size(); ++cell) {
    several_->cells[cell].from_now(free.cells[cell]);
  }
  free.booked.resize(several_->booked.size());
  for (std::size_t i = 0; i < several_->booked.size(); ++i) {
    std::vector<Profile>& its = several_->booked[i];
    free.booked[i].resize(its.size());
    for (std::size_t cell = 0; cell < its.size(); ++cell) {
      its[cell].from_now(free.booked[i][cell]);
    }
  }
}

void Timeline::from_now(FreeProfile& free) {
  if (!several_) nodes_.from_now(free.nodes);
  free.power.clear();
  if (power_) power_->from_now(free.power);
}

void Timeline::took(const Demand& need, const Spread& in) {
  if (several_) {
    for (const Spread::Part& part : in.parts) several_->of(need)[part.cell].took(part.count);
  } else {
    nodes_.took(need.nodes);
  }
  if (power_) power_->took(need.power_mw);
}

}  // namespace ductile
