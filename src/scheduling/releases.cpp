#include "scheduling/releases.hpp"

#include <algorithm>
#include <numeric>

namespace ductile {

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

std::int64_t Releases::Cursor::until(Time time) {
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
    until(next);
  }
  return time_;
}

void Releases::Block::insert(std::uint32_t at, const Key& key, std::int64_t nodes) {
  std::move_backward(keys_.begin() + at, keys_.begin() + size_, keys_.begin() + size_ + 1);
  std::move_backward(nodes_.begin() + at, nodes_.begin() + size_, nodes_.begin() + size_ + 1);
  keys_[at] = key;
  nodes_[at] = nodes;
  sum_ += nodes;
  ++size_;
}

void Releases::Block::erase(std::uint32_t at) {
  sum_ -= nodes_[at];
  std::move(keys_.begin() + at + 1, keys_.begin() + size_, keys_.begin() + at);
  std::move(nodes_.begin() + at + 1, nodes_.begin() + size_, nodes_.begin() + at);
  --size_;
}

void Releases::Block::move_tail(std::uint32_t from, Block& other) {
  std::copy(keys_.begin() + from, keys_.begin() + size_, other.keys_.begin() + other.size_);
  std::copy(nodes_.begin() + from, nodes_.begin() + size_, other.nodes_.begin() + other.size_);
  const auto moved =
      std::accumulate(nodes_.begin() + from, nodes_.begin() + size_, std::int64_t{0});
  other.sum_ += moved;
  sum_ -= moved;
  other.size_ += size_ - from;
  size_ = from;
}

}  // namespace ductile
