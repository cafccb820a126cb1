// When nodes are expected to come free: the base of every plan. A job of 4 nodes with its limit at
// 100 s is the row "100 s, job, 4"; while it shrinks to 1 it is "100 s, job, 1", and what it gives
// back is "12 s, incoming, 3".
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "base/wide.hpp"
#include "scheduling/sorted_blocks.hpp"

namespace ductile {

/// Which row it is:
///   job       what a running job holds, at its limit
///   incoming  what a running job gives back by a shrink and nobody was promised, at its answer
///   claim     what a claim holds and has been promised, at the end of the job that waits for it
///   boot      nodes that were switched on, when they are up
class ReleaseTag {
 public:
  enum class Kind : std::uint32_t { job, incoming, claim, boot };
  constexpr ReleaseTag(Kind kind, std::uint32_t id)
      : bits_(static_cast<std::uint32_t>(kind) << 30 | (id & 0x3fffffffu)) {}
  static constexpr ReleaseTag of(JobId id) { return {Kind::job, index(id)}; }
  static constexpr ReleaseTag incoming(JobId id) { return {Kind::incoming, index(id)}; }
  static constexpr ReleaseTag of(ClaimId id) { return {Kind::claim, index(id)}; }
  static constexpr ReleaseTag boot(std::uint32_t batch) { return {Kind::boot, batch}; }

  constexpr ReleaseTag() = default;

  bool operator==(const ReleaseTag&) const = default;
  bool operator<(const ReleaseTag& other) const { return bits_ < other.bits_; }
  Kind kind() const { return static_cast<Kind>(bits_ >> 30); }
  std::uint32_t id() const { return bits_ & 0x3fffffffu; }
  std::uint32_t bits() const { return bits_; }

 private:
  std::uint32_t bits_ = 0;
};

/// Expected releases of healthy nodes (or of milliwatts), sorted by time. Insert and erase O(log R
/// + 64), sums O(R/64).
///
/// Rows whose time is past, as of a job beyond its limit, are read as if they came at now + 1 s.
/// They stay as they are: so nothing has to be written as time goes by.
class Releases {
 public:
  /// None at all.
  static const Releases& none();

  void insert(Time at, ReleaseTag who, std::int64_t nodes) { rows_.insert({at, who}, nodes); }
  /// The release must be there.
  void erase(Time at, ReleaseTag who) { rows_.erase({at, who}); }
  /// The release, which must be there, is expected at `to` now, of `nodes`.
  void move(Time from, Time to, ReleaseTag who, std::int64_t nodes) {
    if (from == to) {
      rows_.set({to, who}, nodes);
    } else {
      erase(from, who);
      insert(to, who, nodes);
    }
  }
  std::size_t size() const { return rows_.size(); }
  /// Should something have come by `now` that did not?
  bool any_late(Time now) const { return !rows_.empty() && rows_.slots().front().first.at <= now; }

  /// Calls `visit(Time, ReleaseTag, std::int64_t)` in order of time.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& slot : rows_.slots()) {
      const Block& block = rows_.block(slot);
      for (std::uint32_t i = 0; i < block.size(); ++i) {
        visit(block.key(i).at, block.key(i).who, block.nodes(i));
      }
    }
  }

  class Cursor;

 private:
  struct Key {
    Time at;
    ReleaseTag who;
    bool operator<(const Key& other) const { return all() < other.all(); }
    /// Both as one number, compared at once: branches would be mispredicted half of the time.
    Wide all() const { return Wide{at.time_since_epoch().count()} << 64 | who.bits(); }
  };
  class Block {
   public:
    using Key = Releases::Key;
    using Row = std::int64_t;
    using Summary = std::int64_t;  // sum of the nodes
    static constexpr std::uint32_t kCapacity = 32;

    Block() {}  // NOLINT(modernize-use-equals-default): leaves the array as it is
    std::uint32_t size() const { return size_; }
    const Key& key(std::uint32_t i) const { return rows_[i].key; }
    std::int64_t nodes(std::uint32_t i) const { return rows_[i].nodes; }
    void insert(std::uint32_t at, Key key, std::int64_t nodes);
    void erase(std::uint32_t at);
    void set(std::uint32_t at, std::int64_t nodes) {
      sum_ += nodes - rows_[at].nodes;
      rows_[at].nodes = nodes;
    }
    void move_tail(std::uint32_t from, Block& other);
    Summary summary() const { return sum_; }

   private:
    struct Entry {
      Key key;
      std::int64_t nodes;
    };

    std::uint32_t size_ = 0;
    std::int64_t sum_ = 0;
    std::array<Entry, kCapacity> rows_;
  };

  SortedBlocks<Block> rows_;
};

/// Walks through time from `now` on, counting what comes free after `now`. Never goes back.
class Releases::Cursor {
 public:
  Cursor(const Releases& releases, Time now);
  /// Nodes released up to and including `time`; no earlier than the last time asked for.
  std::int64_t until(Time time) { return time == time_ ? sum_ : walk(time); }
  /// The earliest time, from the last one asked for on and before `end`, at which `nodes` have been
  /// released; `kNever` if there is none. Walks no further than needed, and never up to `end`.
  Time reach(std::int64_t nodes, Time end = kNever);
  /// What was released by the last time asked for.
  std::int64_t sum() const { return sum_; }
  /// When more comes, after the last time asked for; `kNever` if nothing does.
  Time next() const;

 private:
  std::int64_t walk(Time time);

  const SortedBlocks<Block>* rows_;
  Time time_;
  Time late_at_;           // when those that should have come by now are expected
  std::int64_t late_ = 0;  // how many they are, until they are counted
  std::uint32_t slot_ = 0, row_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace ductile
