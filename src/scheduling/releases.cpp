#include "scheduling/releases.hpp"

#include <algorithm>

namespace ductile {

const Releases& Releases::none() {
  static const Releases empty;
  return empty;
}

Releases::Cursor::Cursor(const Releases& releases, Time now)
    : rows_(&releases.rows_), time_(now), late_at_(now + whole_seconds(1)) {
  // Late releases are few; they stand at the front.
  for (; slot_ < rows_->slots().size(); ++slot_, row_ = 0) {
    const Block& block = rows_->block(rows_->slots()[slot_]);
    for (; row_ < block.size(); ++row_) {
      if (block.key(row_).at > now) return;
      late_ += block.nodes(row_);
    }
  }
}

std::int64_t Releases::Cursor::walk(Time time) {
  time_ = time;
  if (late_ != 0 && time >= late_at_) {
    sum_ += late_;
    late_ = 0;
  }
  for (; slot_ < rows_->slots().size(); ++slot_, row_ = 0) {
    const auto& slot = rows_->slots()[slot_];
    const Block& block = rows_->block(slot);
    if (row_ == 0 && block.key(block.size() - 1).at <= time) {
      sum_ += slot.summary;
      continue;
    }
    for (; row_ < block.size(); ++row_) {
      if (block.key(row_).at > time) return sum_;
      sum_ += block.nodes(row_);
    }
  }
  return sum_;
}

Time Releases::Cursor::reach(std::int64_t nodes, Time end) {
  while (sum_ < nodes) {
    Time next = late_ != 0 ? std::max(late_at_, time_) : kNever;
    if (slot_ < rows_->slots().size()) {
      const auto& slot = rows_->slots()[slot_];
      const Block& block = rows_->block(slot);
      if (late_ == 0) {
        // Skip a whole block that does not suffice; walk through the one that does.
        if (row_ == 0 && sum_ + slot.summary < nodes && block.key(block.size() - 1).at < end) {
          sum_ += slot.summary;
          ++slot_;
          continue;
        }
        while (row_ + 1 < block.size() && sum_ + block.nodes(row_) < nodes &&
               block.key(row_).at < end) {
          sum_ += block.nodes(row_++);
        }
      }
      next = std::min(next, block.key(row_).at);
    }
    if (next >= end) return kNever;
    walk(next);
  }
  return time_;
}

Time Releases::Cursor::next() const {
  const Time late = late_ != 0 ? late_at_ : kNever;
  if (slot_ == rows_->slots().size()) return late;
  return std::min(late, rows_->block(rows_->slots()[slot_]).key(row_).at);
}

void Releases::Block::insert(std::uint32_t at, Key key, std::int64_t nodes) {
  std::copy_backward(rows_.begin() + at, rows_.begin() + size_, rows_.begin() + size_ + 1);
  rows_[at].key = key;
  rows_[at].nodes = nodes;
  sum_ += nodes;
  ++size_;
}

void Releases::Block::erase(std::uint32_t at) {
  sum_ -= rows_[at].nodes;
  std::copy(rows_.begin() + at + 1, rows_.begin() + size_, rows_.begin() + at);
  --size_;
}

void Releases::Block::move_tail(std::uint32_t from, Block& other) {
  for (std::uint32_t i = from; i < size_; ++i) {
    other.rows_[other.size_++] = rows_[i];
    other.sum_ += rows_[i].nodes;
    sum_ -= rows_[i].nodes;
  }
  size_ = from;
}

}  // namespace ductile
