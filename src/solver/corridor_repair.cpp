#include "solver/corridor_repair.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>

#include "solver/corridor_table.hpp"

namespace ductile {
namespace {

constexpr std::size_t kMostJobs = 6;  // in one table
constexpr int kRounds = 8;
// Sizes of each job of a table, by the number of jobs: about 4,000 combinations.
constexpr std::array<std::size_t, kMostJobs + 1> kSizes{0, 4096, 64, 16, 8, 5, 4};

}  // namespace

std::optional<std::vector<Nodes>> repaired_sizes(std::span<const CorridorJob> jobs,
                                                 const CorridorLimits& limits,
                                                 std::vector<Nodes> sizes,
                                                 std::span<const std::uint32_t> first) {
  // Those that have a choice, by power.
  std::vector<std::uint32_t> others;
  CorridorSums sums;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    sums.add(jobs[i], sizes[i]);
    const bool is_first = std::find(first.begin(), first.end(), i) != first.end();
    if (!is_first && !jobs[i].sizes.is_fixed()) others.push_back(i);
  }
  std::stable_sort(others.begin(), others.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(jobs[a].most, jobs[a].least) < std::tuple(jobs[b].most, jobs[b].least);
  });
  const std::size_t some = std::min(first.size(), kMostJobs - 2),
                    more = std::min(others.size(), kMostJobs - some);
  bool holds = limits.hold(sums);
  std::vector<std::uint32_t> places;
  std::vector<TableJob> table_jobs;
  for (int round = 0; round < kRounds && some + more > 0; ++round) {
    places.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(some));
    for (std::size_t i = 0; i < more; ++i) {
      // In the middle of its part of them, then ever further away.
      const std::size_t part = others.size() / more, middle = i * others.size() / more + part / 2;
      const auto away = static_cast<std::size_t>((round + 1) / 2) * (part / (kRounds + 1) + 1);
      const std::size_t at = round % 2 == 0 ? middle + away : middle + others.size() - away;
      places.push_back(others[at % others.size()]);
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    CorridorSums rest = sums;
    table_jobs.clear();
    for (const std::uint32_t place : places) {
      const CorridorJob& job = jobs[place];
      rest.add(job, -std::int64_t{sizes[place]});
      table_jobs.push_back({.n = job.n, .most = job.most, .least = job.least, .cost = job.cost});
      job.sizes.append_nearest(sizes[place], kSizes[places.size()], table_jobs.back().sizes);
    }
    CorridorLimits left = limits;
    left.nodes -= rest.nodes;
    if (limits.most != CorridorLimits{}.most) left.most -= rest.most;
    if (limits.least != CorridorLimits{}.least) left.least -= rest.least;
    const auto table = CorridorTable::make(table_jobs, left, std::size_t{1} << 16);
    const auto found = table ? table->best(left) : std::nullopt;
    if (!found) continue;
    holds = true;
    sums = rest;
    for (std::size_t i = 0; i < places.size(); ++i) {
      sizes[places[i]] = (*found)[i];
      sums.add(jobs[places[i]], (*found)[i]);
    }
  }
  if (!holds) return std::nullopt;
  return sizes;
}

}  // namespace ductile
