#include "solver/corridor_table.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace ductile {
namespace {

/// What the jobs from one on come to at least, and at most.
struct Rest {
  std::int64_t nodes = 0;
  Milliwatts most = 0;   // at least
  Milliwatts least = 0;  // at most
};

std::vector<Rest> rests_of(std::span<const TableJob> jobs) {
  std::vector<Rest> rests(jobs.size() + 1);
  for (std::size_t i = jobs.size(); i-- > 0;) {
    const TableJob& job = jobs[i];
    const std::int64_t min = job.sizes.front(), max = job.sizes.back();
    rests[i] = {.nodes = rests[i + 1].nodes + min,
                .most = rests[i + 1].most + job.most * (job.most < 0 ? max : min),
                .least = rests[i + 1].least + job.least * (job.least < 0 ? min : max)};
  }
  return rests;
}

}  // namespace

std::optional<CorridorTable> CorridorTable::make(std::span<const TableJob> jobs,
                                                 const CorridorLimits& limits, std::size_t budget) {
  CorridorTable table;
  const std::vector<Rest> rests = rests_of(jobs);
  // Sums of the sizes of many jobs are not what 64 bits are enough for; without limits nothing is.
  const bool has_most = limits.most != CorridorLimits{}.most,
             has_least = limits.least != CorridorLimits{}.least;
  std::vector<State> states(1), next;
  std::size_t made = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const TableJob& job = jobs[i];
    const Rest& rest = rests[i + 1];
    Layer layer;
    next.clear();
    for (const State& state : states) {
      for (const Nodes size : job.sizes) {
        State to = state;
        to.sums.nodes += size;
        to.sums.most += size * job.most;
        to.sums.least += size * job.least;
        if (to.sums.nodes + rest.nodes > limits.nodes) break;
        if (++made > budget) return std::nullopt;
        if (has_most && to.sums.most + rest.most > limits.most) continue;
        if (has_least && to.sums.least + rest.least < limits.least) continue;
        to.cost += std::int64_t{size} * job.cost;
        to.change += size > job.n ? size - job.n : job.n - size;
        to.changed += size != job.n ? 1 : 0;
        to.place = static_cast<std::uint32_t>(next.size());
        next.push_back(to);
        layer.push_back({state.place, size});
      }
    }
    if (job.sizes.size() > 1) {
      const std::vector<bool> drop = beaten(next);
      std::size_t kept = 0;
      for (std::size_t at = 0; at < next.size(); ++at) {
        if (drop[at]) continue;
        layer[kept] = layer[at];
        next[kept] = next[at];
        next[kept].place = static_cast<std::uint32_t>(kept);
        ++kept;
      }
      next.resize(kept);
      layer.resize(kept);
    }
    table.layers_.push_back(std::move(layer));
    std::swap(states, next);
  }
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return std::tuple(-a.sums.nodes, a.sums.most, a.place) <
           std::tuple(-b.sums.nodes, b.sums.most, b.place);
  });
  table.last_ = std::move(states);
  return table;
}

// By each place: is there another state with as many nodes, no more of `most`, no less of `least`,
// that is better? Whatever follows, it takes this one's place.
std::vector<bool> CorridorTable::beaten(std::vector<State> states) {
  std::vector<bool> drop(states.size());
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    if (a.sums.nodes != b.sums.nodes) return a.sums.nodes < b.sums.nodes;
    if (a.sums.most != b.sums.most) return a.sums.most < b.sums.most;
    if (a.sums.least != b.sums.least) return a.sums.least > b.sums.least;
    return a.is_better(b);
  });
  // Of as many nodes, and no more of `most`: by `least`, ascending, those that get better the less
  // there is of it.
  std::vector<const State*> front;
  std::int64_t nodes = -1;
  for (const State& state : states) {
    if (state.sums.nodes != nodes) front.clear();
    nodes = state.sums.nodes;
    auto end = front.end();  // of those with less of `least`
    while (end != front.begin() && (*std::prev(end))->sums.least >= state.sums.least) --end;
    if (end != front.end() && (*end)->is_better(state)) {
      drop[state.place] = true;
      continue;
    }
    auto begin = end;  // of those that this one beats from now on
    if (end != front.end() && (*end)->sums.least == state.sums.least) ++end;
    while (begin != front.begin() && state.is_better(**std::prev(begin))) --begin;
    if (begin == end) {
      front.insert(begin, &state);
    } else {
      *begin = &state;
      front.erase(begin + 1, end);
    }
  }
  return drop;
}

std::optional<std::vector<Nodes>> CorridorTable::best(const CorridorLimits& limits) const {
  const State* found = nullptr;
  const auto from = std::lower_bound(
      last_.begin(), last_.end(), limits.nodes,
      [](const State& state, std::int64_t nodes) { return state.sums.nodes > nodes; });
  for (auto at = from; at != last_.end(); ++at) {
    if (found != nullptr && at->sums.nodes != found->sums.nodes) break;
    if (!limits.hold(at->sums)) continue;
    if (found == nullptr || at->is_better(*found)) found = &*at;
  }
  if (found == nullptr) return std::nullopt;
  std::vector<Nodes> sizes(layers_.size());
  std::uint32_t place = found->place;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const Step& step = layers_[i][place];
    sizes[i] = step.size;
    place = step.before;
  }
  return sizes;
}

}  // namespace ductile
