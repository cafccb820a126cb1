// A sorted sequence in small blocks, with a summary per block: inserting and erasing touch one
// block, and a search skips blocks whose summary rules them out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ductile {

/// `Block` holds rows in ascending key order and provides:
///   Key, Row, Summary; kCapacity; size(); key(i); insert(i, row); erase(i);
///   move_tail(from, other): its rows from `from` on go to the end of `other`; summary();
///   for `set` also set(i, row).
/// Keys are unique. All is by value: copying copies a few arrays.
template <class Block>
class SortedBlocks {
 public:
  using Key = typename Block::Key;
  using Row = typename Block::Row;

  struct Slot {
    Key first;
    typename Block::Summary summary;
    std::uint32_t block;
  };
  /// A row's place: slot and index in its block. Valid until the next change.
  struct Place {
    std::uint32_t slot = 0, row = 0;
  };

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::vector<Slot>& slots() const { return slots_; }
  const Block& block(const Slot& slot) const { return blocks_[slot.block]; }
  const Block& block(Place place) const { return blocks_[slots_[place.slot].block]; }
  bool at_end(Place place) const { return place.slot == slots_.size(); }

  /// The first row with a key that is not below `key`.
  Place lower_bound(const Key& key) const {
    if (slots_.empty()) return {};
    if (!(slots_.front().first < key)) return {};  // the front is asked for most
    const std::uint32_t slot = slot_of(key);
    const Block& rows = blocks_[slots_[slot].block];
    const std::uint32_t row = place_in(rows, key);
    return row == rows.size() ? Place{slot + 1, 0} : Place{slot, row};
  }

  Place next(Place place) const {
    return place.row + 1 < block(place).size() ? Place{place.slot, place.row + 1}
                                               : Place{place.slot + 1, 0};
  }

  void insert(const Key& key, const Row& row) {
    if (slots_.empty()) slots_.push_back({key, {}, take_block()});
    ++size_;
    const auto last = static_cast<std::uint32_t>(slots_.size() - 1);
    Block& tail = blocks_[slots_[last].block];
    if (const std::uint32_t n = tail.size();  // a queue grows at its end
        n > 0 && n < Block::kCapacity && tail.key(n - 1) < key) {
      tail.insert(n, key, row);
      slots_[last].summary = tail.summary();
      return;
    }
    std::uint32_t slot = slot_of(key);
    if (blocks_[slots_[slot].block].size() == Block::kCapacity) slot = split(slot, key);
    Block& rows = blocks_[slots_[slot].block];
    rows.insert(place_in(rows, key), key, row);
    refresh(slot);
  }

  /// Erases the row with this key; it must be there.
  void erase(const Key& key) {
    const Place place = lower_bound(key);
    Block& rows = blocks_[slots_[place.slot].block];
    rows.erase(place.row);
    --size_;
    if (rows.size() == 0) {
      drop(place.slot);
      return;
    }
    refresh(place.slot);
    if (rows.size() < Block::kCapacity / 4) merge(place.slot);
  }

  /// Another row at this key; it must be there.
  void set(const Key& key, const Row& row) {
    const Place place = lower_bound(key);
    Block& rows = blocks_[slots_[place.slot].block];
    rows.set(place.row, row);
    slots_[place.slot].summary = rows.summary();
  }

  void clear() {
    slots_.clear();
    blocks_.clear();
    free_.clear();
    size_ = 0;
  }

 private:
  // The last slot whose first key is not above `key`; the first slot if there is none.
  std::uint32_t slot_of(const Key& key) const {
    std::uint32_t low = 0, high = static_cast<std::uint32_t>(slots_.size());
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      if (key < slots_[middle].first) {
        high = middle;
      } else {
        low = middle;
      }
    }
    return low;
  }

  // How many rows of the block are below `key`. Without branches that depend on the rows: these
  // would be mispredicted half of the time.
  static std::uint32_t place_in(const Block& rows, const Key& key) {
    if (rows.size() == 0) return 0;
    std::uint32_t low = 0;
    for (std::uint32_t length = rows.size(); length > 1;) {
      const std::uint32_t half = length / 2;
      low += half * static_cast<std::uint32_t>(rows.key(low + half - 1) < key);
      length -= half;
    }
    return low + static_cast<std::uint32_t>(rows.key(low) < key);
  }

  std::uint32_t take_block() {
    if (!free_.empty()) {
      const std::uint32_t block = free_.back();
      free_.pop_back();
      return block;
    }
    blocks_.emplace_back();
    return static_cast<std::uint32_t>(blocks_.size() - 1);
  }

  void refresh(std::uint32_t slot) {
    const Block& rows = blocks_[slots_[slot].block];
    slots_[slot].first = rows.key(0);
    slots_[slot].summary = rows.summary();
  }

  void drop(std::uint32_t slot) {
    free_.push_back(slots_[slot].block);
    slots_.erase(slots_.begin() + slot);
  }

  // Makes room in a full block and returns the slot where `key` belongs. A key after all others
  // opens a new block, so that a sequence filled from the back has full blocks.
  std::uint32_t split(std::uint32_t slot, const Key& key) {
    const std::uint32_t fresh = take_block();
    const std::uint32_t old = slots_[slot].block;
    const bool append = slot + 1 == slots_.size() && blocks_[old].key(Block::kCapacity - 1) < key;
    slots_.insert(slots_.begin() + slot + 1, Slot{key, {}, fresh});
    if (append) return slot + 1;
    blocks_[old].move_tail(Block::kCapacity / 2, blocks_[fresh]);
    refresh(slot);
    refresh(slot + 1);
    return key < slots_[slot + 1].first ? slot : slot + 1;
  }

  // Joins a sparse block with the next one if both fit into half a block.
  void merge(std::uint32_t slot) {
    if (slot + 1 >= slots_.size()) return;
    Block& rows = blocks_[slots_[slot].block];
    Block& after = blocks_[slots_[slot + 1].block];
    if (rows.size() + after.size() > Block::kCapacity / 2) return;
    after.move_tail(0, rows);
    drop(slot + 1);
    refresh(slot);
  }

  std::vector<Slot> slots_;          // in key order
  std::vector<Block> blocks_;        // in any order
  std::vector<std::uint32_t> free_;  // unused blocks
  std::size_t size_ = 0;
};

}  // namespace ductile
