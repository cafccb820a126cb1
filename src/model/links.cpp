#include "model/links.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace ductile {
namespace {

struct Filling {
  double left = 0;    // bytes/s for those that still become faster
  double weight = 0;  // bytes/s that they take for each one that all become faster by
  std::vector<std::size_t> flows;
  std::size_t growing = 0;  // of these

  double full_at() const {
    return growing == 0 ? std::numeric_limits<double>::infinity() : std::max(left, 0.0) / weight;
  }
};

}  // namespace

std::vector<double> fair_shares(std::span<const Flow* const> flows,
                                std::span<const double> bytes_per_s) {
  std::vector<double> rates(flows.size(), -1);
  std::vector<Filling> links(bytes_per_s.size());
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    for (const LinkUse& use : flows[i]->uses) {
      Filling& link = links[use.link];
      if (link.flows.empty()) used.push_back(use.link);
      link.left = bytes_per_s[use.link];
      link.weight += flows[i]->members * use.share;
      link.flows.push_back(i);
      ++link.growing;
    }
  }
  // Takes a flow out at its final rate; `left` of a link is what is there beyond such flows.
  const auto settle = [&](std::size_t flow, double rate) {
    rates[flow] = rate;
    for (const LinkUse& use : flows[flow]->uses) {
      Filling& link = links[use.link];
      const double weight = flows[flow]->members * use.share;
      link.left -= weight * rate;
      link.weight -= weight;
      --link.growing;
    }
  };
  std::vector<std::size_t> slowest(flows.size());
  std::iota(slowest.begin(), slowest.end(), std::size_t{0});
  std::ranges::sort(slowest, {}, [&](std::size_t i) { return flows[i]->most; });
  std::size_t next = 0;
  while (true) {
    while (next < slowest.size() && rates[slowest[next]] >= 0) ++next;
    if (next == slowest.size()) return rates;
    const auto full_at = [&](std::size_t link) { return links[link].full_at(); };
    const auto full = std::ranges::min_element(used, {}, full_at);
    const double most = flows[slowest[next]]->most;
    if (full == used.end() || most <= full_at(*full)) {
      settle(slowest[next], most);
      continue;
    }
    const double rate = full_at(*full);
    for (const std::size_t flow : links[*full].flows) {
      if (rates[flow] < 0) settle(flow, rate);
    }
  }
}

}  // namespace ductile
