#include "solver/corridor_greedy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace ductile {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}  // of positive ones

class Greedy {
 public:
  Greedy(std::span<const CorridorJob> jobs, const CorridorLimits& limits, std::vector<Nodes> sizes)
      : jobs_(jobs), limits_(limits), sizes_(std::move(sizes)) {
    for (std::uint32_t i = 0; i < jobs.size(); ++i) {
      sums_.add(jobs[i], sizes_[i]);
      if (!jobs[i].sizes.is_fixed()) cheap_first_.push_back(i);
    }
    std::stable_sort(
        cheap_first_.begin(), cheap_first_.end(), [&](std::uint32_t a, std::uint32_t b) {
          return std::tuple(jobs[a].most, jobs[a].least) < std::tuple(jobs[b].most, jobs[b].least);
        });
    dear_first_.assign(cheap_first_.rbegin(), cheap_first_.rend());
  }

  std::vector<Nodes> run() {
    give_back();
    take_all();
    if (too_much() > 0) {
      exchange(dear_first_, cheap_first_, &Greedy::too_much, &CorridorJob::most, 1);
      draw_less();
    }
    if (too_little() > 0) {
      exchange(cheap_first_, dear_first_, &Greedy::too_little, &CorridorJob::least, -1);
      draw_more();
    }
    stretch();
    return std::move(sizes_);
  }

 private:
  Milliwatts too_much() const {
    return has_most_ && sums_.most > limits_.most ? sums_.most - limits_.most : 0;
  }
  Milliwatts too_little() const {
    return has_least_ && sums_.least < limits_.least ? limits_.least - sums_.least : 0;
  }
  std::int64_t nodes_left() const { return limits_.nodes - sums_.nodes; }

  /// How many more nodes of such a job the corridor has room for, up to so many.
  std::int64_t payable(const CorridorJob& job, std::int64_t nodes) const {
    if (has_most_ && job.most > 0) {
      nodes = std::min(nodes, (limits_.most - sums_.most) / job.most);
    }
    if (has_least_ && job.least < 0) {
      nodes = std::min(nodes, (limits_.least - sums_.least) / job.least);
    }
    return std::max<std::int64_t>(nodes, 0);
  }

  Nodes after_giving(std::uint32_t i, std::int64_t nodes) const {
    return jobs_[i].sizes.at_most(static_cast<Nodes>(std::max<std::int64_t>(sizes_[i] - nodes, 0)));
  }
  Nodes after_getting(std::uint32_t i, std::int64_t nodes) const {
    return nodes <= 0 ? sizes_[i] : jobs_[i].sizes.at_most(static_cast<Nodes>(sizes_[i] + nodes));
  }
  void set(std::uint32_t i, Nodes size) {
    sums_.add(jobs_[i], std::int64_t{size} - sizes_[i]);
    sizes_[i] = size;
  }

  void give_back() {
    const bool dear =
        has_most_ && (!has_least_ || limits_.most - sums_.most < sums_.least - limits_.least);
    for (const std::uint32_t i : dear ? dear_first_ : cheap_first_) {
      if (nodes_left() >= 0) return;
      set(i, after_giving(i, -nodes_left()));
    }
  }
  void take_all() {
    for (const std::uint32_t i : dear_first_) {
      if (too_little() == 0 || jobs_[i].least <= 0) break;
      const std::int64_t need = std::min(nodes_left(), ceil_div(too_little(), jobs_[i].least));
      set(i, after_getting(i, payable(jobs_[i], need)));
    }
    for (const std::uint32_t i : cheap_first_) {
      if (nodes_left() <= 0) return;
      set(i, after_getting(i, payable(jobs_[i], nodes_left())));
    }
  }
  void draw_less() {
    for (const std::uint32_t i : dear_first_) {
      if (too_much() == 0 || jobs_[i].most <= 0) return;
      set(i, after_giving(i, ceil_div(too_much(), jobs_[i].most)));
    }
  }
  /// Jobs that draw less than idle nodes do.
  void draw_more() {
    for (const std::uint32_t i : cheap_first_) {
      if (too_little() == 0 || jobs_[i].least >= 0) return;
      set(i, after_giving(i, ceil_div(too_little(), -jobs_[i].least)));
    }
  }
  /// Nodes of `givers` go to `takers` while `wrong` is above 0: each makes it less by the
  /// difference of their power.
  void exchange(std::span<const std::uint32_t> givers, std::span<const std::uint32_t> takers,
                Milliwatts (Greedy::*wrong)() const, Milliwatts CorridorJob::*power, int sign) {
    for (std::size_t from = 0, to = 0; from < givers.size() && to < takers.size();) {
      const std::uint32_t giver = givers[from], taker = takers[to];
      const Milliwatts each = sign * (jobs_[giver].*power - jobs_[taker].*power);
      const Milliwatts left = (this->*wrong)();
      if (left == 0 || each <= 0) return;
      const Nodes less = after_giving(giver, ceil_div(left, each));
      const Nodes more = after_getting(taker, std::int64_t{sizes_[giver]} - less);
      if (less >= sizes_[giver]) {
        ++from;
      } else if (more == sizes_[taker]) {
        ++to;
      } else {
        set(giver, less);
        set(taker, more);
      }
    }
  }
  /// Nodes that nobody has power for: a dear job gives some, cheap ones take more.
  void stretch() {
    if (!has_most_) return;
    for (std::size_t from = 0, to = 0; from < dear_first_.size() && to < cheap_first_.size();) {
      const std::uint32_t giver = dear_first_[from], taker = cheap_first_[to];
      const CorridorJob &dear = jobs_[giver], &cheap = jobs_[taker];
      if (nodes_left() <= 0 || cheap.most <= 0 || dear.most <= cheap.most) return;
      const Nodes less =
          after_giving(giver, ceil_div(nodes_left() * cheap.most, dear.most - cheap.most));
      const CorridorSums sums = sums_;
      const Nodes was = sizes_[giver], had = sizes_[taker];
      set(giver, std::min(less, was));
      set(taker, after_getting(taker, payable(cheap, nodes_left())));
      if (sums_.nodes > sums.nodes && too_little() == 0) continue;
      set(giver, was);
      set(taker, had);
      had == cheap.sizes.max() ? ++to : ++from;
    }
  }

  std::span<const CorridorJob> jobs_;
  const CorridorLimits& limits_;
  const bool has_most_ = limits_.most != CorridorLimits{}.most,
             has_least_ = limits_.least != CorridorLimits{}.least;
  std::vector<Nodes> sizes_;
  CorridorSums sums_{};
  std::vector<std::uint32_t> cheap_first_{}, dear_first_{};  // of those that have a choice
};

}  // namespace

std::vector<Nodes> greedy_sizes(std::span<const CorridorJob> jobs, const CorridorLimits& limits,
                                std::vector<Nodes> sizes) {
  return Greedy(jobs, limits, std::move(sizes)).run();
}

}  // namespace ductile
