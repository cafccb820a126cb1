// EASY backfilling and nothing else: the yardstick of the simulator's speed.
//
// Rigid jobs, first come first served, counts of nodes; no identities, policies, observers or
// output. Its structures are good ones all the same, or it would be no yardstick: a queue that
// skips what cannot start, releases with sums, and nothing done twice where nothing has changed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile::bench {

namespace bare {

using Micros = std::int64_t;

inline constexpr Micros kForever = std::numeric_limits<Micros>::max();

/// The reservation of the job at the head of the queue.
struct Reservation {
  Micros shadow = 0;  // when it starts at the latest
  Nodes extra = 0;    // nodes it leaves over then
};

/// The waiting jobs. A job's place is its position in the workload. Blocks of 32 jobs, and groups
/// of 32 blocks, know the least need and the least walltime in them, so that a search passes over
/// those with nothing to start. A job that leaves does not touch them: they are too low then at
/// worst, and the next search that looks inside puts them right.
class Queue {
 public:
  explicit Queue(std::size_t jobs)
      : need_(std::make_unique_for_overwrite<Nodes[]>(jobs)),
        walltime_(std::make_unique_for_overwrite<Micros[]>(jobs)),
        blocks_((jobs + kBlock - 1) / kBlock),
        groups_((blocks_.size() + kBlock - 1) / kBlock) {}

  bool empty() const { return size_ == 0; }
  std::size_t head() const { return head_; }
  Nodes head_need() const { return need_[head_]; }
  Micros head_walltime() const { return walltime_[head_]; }

  /// Positions come in rising order.
  void push(std::size_t position, Nodes need, Micros walltime) {
    need_[position] = need;
    walltime_[position] = walltime;
    const std::size_t b = position / kBlock;
    blocks_[b].add(position % kBlock, need, walltime);
    groups_[b / kBlock].add(b % kBlock, need, walltime);
    if (size_++ == 0) head_ = position;
    group_end_ = b / kBlock + 1;
  }

  void pop_head() {
    std::size_t b = head_ / kBlock;
    blocks_[b].present &= blocks_[b].present - 1;
    if (--size_ == 0) {
      groups_[b / kBlock] = {};
      blocks_[b] = {};
      return;
    }
    if (blocks_[b].present == 0) {
      blocks_[b] = {};
      std::size_t g = b / kBlock;
      groups_[g].present &= groups_[g].present - 1;
      while (groups_[g].present == 0) groups_[g++] = {};
      b = g * kBlock + lowest(groups_[g].present);
    }
    head_ = b * kBlock + lowest(blocks_[b].present);
  }

  /// False only if no waiting job needs so few.
  bool may_need_at_most(Nodes free) const {
    for (std::size_t g = head_ / (kBlock * kBlock); g < group_end_; ++g) {
      if (groups_[g].need <= free) return true;
    }
    return false;
  }

  /// Takes out, in order, the jobs that fit: need <= free and (need <= extra or walltime <=
  /// window). `start(position, need, walltime)` is called for each and returns what is then free
  /// and extra. The head must not fit.
  template <class Start>
  void take_fitting(Nodes free, Nodes extra, Micros window, Start start) {
    for (std::size_t g = head_ / (kBlock * kBlock); g < group_end_ && free > 0; ++g) {
      if (!groups_[g].may_fit(free, extra, window)) continue;
      Part group;
      for (std::uint32_t parts = groups_[g].present; parts != 0; parts &= parts - 1) {
        const std::size_t b = lowest(parts);
        Part& block = blocks_[g * kBlock + b];
        if (block.may_fit(free, extra, window)) {
          const std::size_t base = (g * kBlock + b) * kBlock;
          Part rest;
          for (std::uint32_t jobs = block.present; jobs != 0; jobs &= jobs - 1) {
            const std::size_t i = lowest(jobs);
            const Nodes need = need_[base + i];
            const Micros walltime = walltime_[base + i];
            if (need <= free && (need <= extra || walltime <= window)) {
              const auto [new_free, new_extra] = start(base + i, need, walltime);
              free = new_free;
              extra = new_extra;
              --size_;
            } else {
              rest.add(i, need, walltime);
            }
          }
          block = rest;
        }
        if (block.present != 0) group.add(b, block.need, block.walltime);
      }
      groups_[g] = group;
    }
  }

 private:
  static constexpr std::size_t kBlock = 32;

  static std::size_t lowest(std::uint32_t bits) {
    return static_cast<std::size_t>(std::countr_zero(bits));
  }

  /// A block or a group.
  struct Part {
    std::uint32_t present = 0;  // which of its 32 jobs wait, or which of its 32 blocks hold any
    Nodes need = std::numeric_limits<Nodes>::max();  // the least among them
    Micros walltime = kForever;                      // the least among them

    void add(std::size_t i, Nodes job_need, Micros job_walltime) {
      present |= std::uint32_t{1} << i;
      need = std::min(need, job_need);
      walltime = std::min(walltime, job_walltime);
    }
    bool may_fit(Nodes free, Nodes extra, Micros window) const {
      return need <= free && (need <= extra || walltime <= window);
    }
  };

  std::unique_ptr<Nodes[]> need_;
  std::unique_ptr<Micros[]> walltime_;
  std::vector<Part> blocks_, groups_;
  std::size_t size_ = 0, head_ = 0, group_end_ = 0;
};

/// The nodes that will be free at each expected end, in order of time: sorted blocks of at most 64
/// with sums. Blocks are never merged; time passes over them and empties them.
class Releases {
 public:
  void add(Micros end, Nodes nodes) {
    if (rows_.empty()) rows_.push_back({end, 0, new_block()});
    std::size_t r = row_of(end);
    if (blocks_[rows_[r].block].size == kBlock) {
      split(r);
      if (rows_[r].last < end) ++r;
    }
    Row& row = rows_[r];
    Block& block = blocks_[row.block];
    const std::size_t i = block.find(end);
    if (i == block.size || block.end[i] != end) {
      std::copy_backward(block.end + i, block.end + block.size, block.end + block.size + 1);
      std::copy_backward(block.nodes + i, block.nodes + block.size, block.nodes + block.size + 1);
      block.end[i] = end;
      block.nodes[i] = 0;
      ++block.size;
    }
    block.nodes[i] += nodes;
    row.nodes += nodes;
    row.last = std::max(row.last, end);
  }

  /// What was added before.
  void remove(Micros end, Nodes nodes) {
    const std::size_t r = row_of(end);
    Row& row = rows_[r];
    Block& block = blocks_[row.block];
    const std::size_t i = block.find(end);
    row.nodes -= nodes;
    block.nodes[i] -= nodes;
    if (block.nodes[i] != 0) return;
    std::copy(block.end + i + 1, block.end + block.size, block.end + i);
    std::copy(block.nodes + i + 1, block.nodes + block.size, block.nodes + i);
    if (--block.size == 0) {
      unused_.push_back(row.block);
      rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(r));
    }
  }

  /// When `need` nodes will be there, and how many are left over then; need > free.
  Reservation reserve(Nodes free, Nodes need) const {
    std::size_t r = 0;
    while (free + rows_[r].nodes < need) free += rows_[r++].nodes;
    const Block& block = blocks_[rows_[r].block];
    std::size_t i = 0;
    while (free + block.nodes[i] < need) free += block.nodes[i++];
    return {block.end[i], free + block.nodes[i] - need};
  }

 private:
  static constexpr std::size_t kBlock = 64;

  struct Block {
    std::size_t size = 0;
    Micros end[kBlock];  // rising, no two the same
    Nodes nodes[kBlock];

    /// The first that is not before `time`.
    std::size_t find(Micros time) const {
      return static_cast<std::size_t>(std::lower_bound(end, end + size, time) - end);
    }
  };
  struct Row {
    Micros last;  // no release of the block is later
    Nodes nodes;  // of the whole block
    std::uint32_t block;
  };

  /// The block that holds `end`, or that it belongs into.
  std::size_t row_of(Micros end) const {
    const auto row = std::lower_bound(rows_.begin(), rows_.end() - 1, end,
                                      [](const Row& a, Micros time) { return a.last < time; });
    return static_cast<std::size_t>(row - rows_.begin());
  }

  std::uint32_t new_block() {
    if (unused_.empty()) {
      blocks_.emplace_back();
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    const std::uint32_t block = unused_.back();
    unused_.pop_back();
    return block;
  }

  void split(std::size_t r) {
    const std::uint32_t upper = new_block();
    Block& from = blocks_[rows_[r].block];
    Block& to = blocks_[upper];
    constexpr std::size_t half = kBlock / 2;
    std::copy(from.end + half, from.end + kBlock, to.end);
    std::copy(from.nodes + half, from.nodes + kBlock, to.nodes);
    from.size = to.size = half;
    Row row{rows_[r].last, 0, upper};
    for (std::size_t i = 0; i < half; ++i) row.nodes += to.nodes[i];
    rows_[r].nodes -= row.nodes;
    rows_[r].last = from.end[half - 1];
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(r) + 1, row);
  }

  std::vector<Row> rows_;  // in order of time
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace bare

struct BareEasyResult {
  std::uint64_t jobs = 0;
  double total_wait_s = 0, mean_wait_s = 0;
  Time last_end{};
};

/// Simulates EASY on `nodes` nodes. Jobs are rigid, sorted by submit time, and run for their run
/// time; where the walltime is less it counts as raised to it. `on_start(position, time)` is for
/// checks. Throws std::invalid_argument for a job larger than the machine.
template <class OnStart>
BareEasyResult bare_easy(const std::vector<WorkloadJob>& jobs, Nodes nodes, OnStart on_start) {
  using bare::Micros;
  struct End {
    Micros end, expected;
    Nodes nodes;
  };
  const auto later = [](const End& a, const End& b) { return a.end > b.end; };
  const auto micros = [](Time time) { return time.time_since_epoch().count(); };

  std::vector<End> ends;  // a heap
  bare::Releases releases;
  bare::Queue queue(jobs.size());
  bare::Reservation reservation;
  bool reserved = false;  // `reservation` holds for the head and the jobs that run
  Nodes free = nodes;
  Micros now = 0;
  Micros last_end = 0;
  __extension__ unsigned __int128 total_wait = 0;

  const auto start = [&](std::size_t position, Nodes need, Micros walltime) {
    const WorkloadJob& job = jobs[position];
    free -= need;
    total_wait += static_cast<std::uint64_t>(now - micros(job.submit));
    const Micros end = now + job.runtime.count();
    last_end = std::max(last_end, end);
    releases.add(now + walltime, need);
    ends.push_back({end, now + walltime, need});
    std::push_heap(ends.begin(), ends.end(), later);
    on_start(position, Time{Duration{now}});
  };
  const auto reserve = [&] {
    if (reserved) return;
    reservation = releases.reserve(free, queue.head_need());
    reserved = true;
  };
  const auto backfill = [&](std::size_t position, Nodes need, Micros walltime) {
    if (now + walltime > reservation.shadow) reservation.extra -= need;
    start(position, need, walltime);
    return std::pair{free, reservation.extra};
  };

  for (std::size_t next = 0; next < jobs.size() || !ends.empty();) {
    now = next < jobs.size() ? micros(jobs[next].submit) : bare::kForever;
    if (!ends.empty() && ends.front().end <= now) {
      now = ends.front().end;
      do {
        std::pop_heap(ends.begin(), ends.end(), later);
        free += ends.back().nodes;
        releases.remove(ends.back().expected, ends.back().nodes);
        ends.pop_back();
      } while (!ends.empty() && ends.front().end == now);
      reserved = false;

      while (!queue.empty() && queue.head_need() <= free) {
        start(queue.head(), queue.head_need(), queue.head_walltime());
        queue.pop_head();
      }
      if (!queue.empty() && queue.may_need_at_most(free)) {
        reserve();
        queue.take_fitting(free, reservation.extra, reservation.shadow - now, backfill);
      }
    }
    // Those that wait already had their chance: a submission frees nothing, and what they may use
    // besides the reservation only shrinks as time goes by. So only the new ones are looked at.
    for (; next < jobs.size() && micros(jobs[next].submit) == now; ++next) {
      const Nodes need = jobs[next].nodes;
      const Micros walltime = std::max(jobs[next].walltime, jobs[next].runtime).count();
      if (need > nodes) throw std::invalid_argument("a job is larger than the machine");
      if (queue.empty()) {
        if (need <= free) {
          start(next, need, walltime);
          continue;
        }
        reserved = false;
      } else if (need <= free) {
        reserve();
        if (now + walltime <= reservation.shadow || need <= reservation.extra) {
          backfill(next, need, walltime);
          continue;
        }
      }
      queue.push(next, need, walltime);
    }
  }

  BareEasyResult result;
  result.jobs = jobs.size();
  result.total_wait_s = static_cast<double>(total_wait) / 1e6;
  result.mean_wait_s = jobs.empty() ? 0 : result.total_wait_s / static_cast<double>(jobs.size());
  result.last_end = Time{Duration{last_end}};
  return result;
}

inline BareEasyResult bare_easy(const std::vector<WorkloadJob>& jobs, Nodes nodes) {
  return bare_easy(jobs, nodes, [](std::size_t, Time) {});
}

}  // namespace ductile::bench
