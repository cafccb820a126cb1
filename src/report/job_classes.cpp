#include "report/job_classes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ductile {

std::size_t Classes::of(double value) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin());
}

Classes size_classes(Nodes machine) {
  constexpr std::size_t kMostBounds = 6;
  const std::uint64_t factor = machine <= 32 ? 2 : machine <= 512 ? 4 : machine <= 8192 ? 8 : 16;
  std::vector<std::uint64_t> ends{1};
  for (std::uint64_t end = factor; 2 * end < machine + std::uint64_t{2}; end *= factor) {
    if (ends.size() == kMostBounds) break;
    ends.push_back(end);
  }
  Classes result;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::uint64_t low = i == 0 ? 1 : ends[i - 1] + 1;
    result.bounds.push_back(static_cast<double>(ends[i]));
    result.names.push_back(low == ends[i] ? fmt::format("{}", low)
                                          : fmt::format("{}–{}", low, ends[i]));
  }
  result.names.push_back(fmt::format("> {}", ends.back()));
  return result;
}

Classes runtime_classes(std::vector<Duration> runtimes) {
  constexpr std::array<std::pair<std::int64_t, std::string_view>, 9> kRound{{{1, "1 s"},
                                                                             {10, "10 s"},
                                                                             {60, "1 min"},
                                                                             {600, "10 min"},
                                                                             {3'600, "1 h"},
                                                                             {14'400, "4 h"},
                                                                             {43'200, "12 h"},
                                                                             {86'400, "1 day"},
                                                                             {604'800, "1 week"}}};
  std::ranges::sort(runtimes);
  Classes result;
  std::string_view low;
  std::size_t before = 0;
  for (const auto& [end_s, text] : kRound) {
    const auto at = std::ranges::upper_bound(runtimes, whole_seconds(end_s));
    const auto place = static_cast<std::size_t>(at - runtimes.begin());
    if (50 * (place - before) < runtimes.size()) continue;
    if (50 * (runtimes.size() - place) < runtimes.size() || place == runtimes.size()) continue;
    result.bounds.push_back(static_cast<double>(end_s));
    result.names.push_back(low.empty() ? fmt::format("≤ {}", text)
                                       : fmt::format("{} – {}", low, text));
    low = text;
    before = place;
  }
  result.names.push_back(low.empty() ? "all" : fmt::format("> {}", low));
  return result;
}

std::string JobClasses::name(std::size_t size, std::size_t runtime) const {
  const std::string& nodes = sizes.names[size];
  return fmt::format("{} node{}, {}", nodes, nodes == "1" ? "" : "s",
                     runtimes.names.size() == 1 ? "all run times" : runtimes.names[runtime]);
}

Duration class_runtime(const JobsCsvRow& job) {
  return job.static_runtime.value_or(*job.end - *job.start);
}

JobClasses classes_of(std::span<const JobsCsvRow> jobs, Nodes machine) {
  std::vector<Duration> runtimes;
  for (const JobsCsvRow& job : jobs) {
    if (job.start) runtimes.push_back(class_runtime(job));
  }
  return {size_classes(machine), runtime_classes(std::move(runtimes))};
}

}  // namespace ductile
