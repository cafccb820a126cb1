// A sorted sequence in small blocks, with a summary per block: inserting and erasing touch one
// block, and a search skips blocks whose summary rules them out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace ductile {

/// `Block` holds rows in ascending key order and provides:
///   Key, Row, Summary; kCapacity; size(); key(i); insert(i, row); erase(i);
///   move_tail(from, other): its rows from `from` on go to the end of `other`; summary();
///   for `set` also set(i, row); for `reorder` and `rekey` Entry, a key and its row, entry(i),
///   put(i, entry), and summarize().
/// Keys are unique; `Less` compares them, and may have a state. All is by value: copying copies a
/// few arrays.
template <class Block, class Less = std::less<typename Block::Key>>
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

  explicit SortedBlocks(Less less = {}) : less_(std::move(less)) {}

  /// Calls `visit(key, row)` in order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      const Block& its = block(slot);
      for (std::uint32_t i = 0; i < its.size(); ++i) visit(its.key(i), its.row(i));
    }
  }

  const Less& less() const { return less_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::vector<Slot>& slots() const { return slots_; }
  const Block& block(const Slot& slot) const { return blocks_[slot.block]; }
  const Block& block(Place place) const { return blocks_[slots_[place.slot].block]; }
  bool at_end(Place place) const { return place.slot == slots_.size(); }

  /// The first row with a key that is not below `key`.
  Place lower_bound(Key key) const {
    if (slots_.empty()) return {};
    if (!less_(slots_.front().first, key)) return {};  // the front is asked for most
    const std::uint32_t slot = slot_of(key);
    const Block& rows = blocks_[slots_[slot].block];
    const std::uint32_t row = place_in(rows, key);
    return row == rows.size() ? Place{slot + 1, 0} : Place{slot, row};
  }

  Place next(Place place) const {
    return place.row + 1 < block(place).size() ? Place{place.slot, place.row + 1}
                                               : Place{place.slot + 1, 0};
  }

  void insert(Key key, Row row) {
    if (slots_.empty()) {
      Slot& slot = slots_.emplace_back();
      slot.first = key;
      slot.block = take_block();
    }
    ++size_;
    Place place{static_cast<std::uint32_t>(slots_.size() - 1), 0};
    const Block& tail = block(place);
    place.row = tail.size();
    const bool at_end = place.row > 0 && place.row < Block::kCapacity &&
                        less_(tail.key(place.row - 1), key);  // a queue grows there
    if (!at_end) {
      place.slot = slot_of(key);
      if (block(place).size() == Block::kCapacity) place.slot = split(place.slot, key);
      place.row = place_in(block(place), key);
    }
    Block& rows = block_at(place.slot);
    rows.insert(place.row, key, row);
    if (place.row == 0) slots_[place.slot].first = key;
    slots_[place.slot].summary = rows.summary();
  }

  /// Erases the row with this key; it must be there.
  void erase(Key key) {
    const Place place = lower_bound(key);
    Block& rows = blocks_[slots_[place.slot].block];
    rows.erase(place.row);
    --size_;
    if (rows.size() == 0) {
      drop(place.slot);
      return;
    }
    if (place.row == 0) slots_[place.slot].first = rows.key(0);
    slots_[place.slot].summary = rows.summary();
    if (rows.size() < Block::kCapacity / 4) merge(place.slot);
  }

  /// Another row at this key; it must be there.
  void set(Key key, Row row) {
    const Place place = lower_bound(key);
    Block& rows = blocks_[slots_[place.slot].block];
    rows.set(place.row, row);
    slots_[place.slot].summary = rows.summary();
  }

  /// From now on `less` compares, which puts few keys elsewhere: sorts by insertion, O(size) and a
  /// step for each pair that changed places. Where many did it sorts anew. Did any?
  bool reorder(Less less) {
    less_ = std::move(less);
    std::size_t steps = 0;
    const std::size_t most = 8 * size_ + 64;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      for (std::uint32_t row = 0; row < block_at(slot).size(); ++row) {
        if (slot + row == 0) continue;
        Place to{slot, row};
        if (!less_(block_at(slot).key(row), key_at(before(to)))) continue;
        const auto entry = block_at(slot).entry(row);
        do {
          const Place from = before(to);
          block_at(to.slot).put(to.row, block_at(from.slot).entry(from.row));
          to = from;
          ++steps;
        } while (to.slot + to.row > 0 && less_(entry.key, key_at(before(to))));
        block_at(to.slot).put(to.row, entry);
        if (steps > most) {
          sort_anew();
          return true;
        }
      }
    }
    if (steps > 0) summarize();
    return steps > 0;
  }

  /// From now on rows have other keys, by their former ones, which puts few of them elsewhere: as
  /// `reorder`.
  template <class KeyOf>
  bool rekey(KeyOf key_of) {
    for (Slot& slot : slots_) {
      Block& its = blocks_[slot.block];
      for (std::uint32_t i = 0; i < its.size(); ++i) {
        auto entry = its.entry(i);
        entry.key = key_of(entry.key);
        its.put(i, entry);
      }
      slot.first = its.key(0);
    }
    return reorder(less_);
  }

  void clear() {
    slots_.clear();
    blocks_.clear();
    free_.clear();
    size_ = 0;
  }

 private:
  Block& block_at(std::uint32_t slot) { return blocks_[slots_[slot].block]; }
  const Key& key_at(Place place) const { return block(place).key(place.row); }
  // Not of the first place.
  Place before(Place place) const {
    if (place.row > 0) return {place.slot, place.row - 1};
    return {place.slot - 1, blocks_[slots_[place.slot - 1].block].size() - 1};
  }

  void sort_anew() {
    std::vector<typename Block::Entry> entries;
    entries.reserve(size_);
    for (const Slot& slot : slots_) {
      for (std::uint32_t i = 0; i < block(slot).size(); ++i)
        entries.push_back(block(slot).entry(i));
    }
    std::ranges::sort(entries, [&](const auto& a, const auto& b) { return less_(a.key, b.key); });
    auto next = entries.begin();
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      for (std::uint32_t i = 0; i < block_at(slot).size(); ++i) block_at(slot).put(i, *next++);
    }
    summarize();
  }

  // After rows have changed places.
  void summarize() {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      block_at(slot).summarize();
      refresh(slot);
    }
  }

  // The last slot whose first key is not above `key`; the first slot if there is none.
  std::uint32_t slot_of(Key key) const {
    std::uint32_t low = 0;
    for (auto length = static_cast<std::uint32_t>(slots_.size()); length > 1;) {
      const std::uint32_t half = length / 2;
      low = less_(key, slots_[low + half].first) ? low : low + half;
      length -= half;
    }
    return low;
  }

  // How many rows of the block are below `key`. Like `slot_of` without branches that depend on the
  // keys: these would be mispredicted half of the time.
  std::uint32_t place_in(const Block& rows, Key key) const {
    if (rows.size() == 0) return 0;
    std::uint32_t low = 0;
    for (std::uint32_t length = rows.size(); length > 1;) {
      const std::uint32_t half = length / 2;
      const std::uint32_t above = low + half;
      low = less_(rows.key(above - 1), key) ? above : low;
      length -= half;
    }
    return low + static_cast<std::uint32_t>(less_(rows.key(low), key));
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
  std::uint32_t split(std::uint32_t slot, Key key) {
    const std::uint32_t fresh = take_block();
    const std::uint32_t old = slots_[slot].block;
    const bool append =
        slot + 1 == slots_.size() && less_(blocks_[old].key(Block::kCapacity - 1), key);
    slots_.insert(slots_.begin() + slot + 1, Slot{key, {}, fresh});
    if (append) return slot + 1;
    blocks_[old].move_tail(Block::kCapacity / 2, blocks_[fresh]);
    refresh(slot);
    refresh(slot + 1);
    return less_(key, slots_[slot + 1].first) ? slot : slot + 1;
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

  [[no_unique_address]] Less less_;
  std::vector<Slot> slots_;          // in key order
  std::vector<Block> blocks_;        // in any order
  std::vector<std::uint32_t> free_;  // unused blocks
  std::size_t size_ = 0;
};

}  // namespace ductile
