#include "simulation/failures.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "simulation/timed_lines.hpp"

namespace ductile {
namespace {

std::optional<Health> read_health(std::string_view word) {
  if (word == "up") return Health::up;
  if (word == "down") return Health::down;
  if (word == "draining") return Health::draining;
  return std::nullopt;
}

void sort_by_time(std::vector<NodeEvent>& events) {
  std::ranges::stable_sort(events, {}, &NodeEvent::at);
}

}  // namespace

std::vector<NodeEvent> read_failures(const std::string& path, Nodes nodes) {
  TimedLines line(path, "the file cannot be read", "check the name and that you may read the file");
  std::vector<NodeEvent> events;
  while (line.next()) {
    const auto health = read_health(line.word(0));
    if (!health) line.refuse("state", line.word(0), "write up, down or draining");
    auto set = parse_node_set(line.rest(1));
    if (!set || set->empty()) {
      line.refuse("nodes", line.rest(1), "write node numbers such as 0-3,7");
    }
    if (set->parts.back().last >= nodes) {
      throw InputError(line.place("nodes"),
                       "the machine has no node " + std::to_string(set->parts.back().last),
                       "its nodes are 0 to " + std::to_string(nodes - 1));
    }
    events.push_back({line.time(), *std::move(set), *health});
  }
  sort_by_time(events);
  return events;
}

std::vector<NodeEvent> generate_failures(const FailureModel& model, Nodes nodes, Time begin,
                                         Time end, std::uint64_t seed) {
  constexpr double kMostFailures = 1e7;
  const double cycle_s = to_seconds(model.mtbf) + to_seconds(model.repair);
  if (end > begin && nodes * (to_seconds(end - begin) / cycle_s) > kMostFailures) {
    throw InputError("more than 10 million failures are to be expected",
                     "give a longer mean time between failures, or fewer jobs");
  }
  std::vector<NodeEvent> events;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    Draws draws(seed, Stream::failure, node);
    Time at = begin;
    for (;;) {
      at += std::max(seconds(draws.exponential(to_seconds(model.mtbf))), kTick);
      if (at >= end) break;
      events.push_back({at, NodeSet{{{node, node}}}, Health::down});
      at += std::max(seconds(draws.exponential(to_seconds(model.repair))), kTick);
      events.push_back({at, NodeSet{{{node, node}}}, Health::up});
    }
  }
  sort_by_time(events);
  return events;
}

std::vector<NodeEvent> with_warnings(std::vector<NodeEvent> events, Duration warn, Time begin) {
  if (warn <= Duration{}) return events;
  // What is next for each node; the events are looked at from the last to the first.
  struct Next {
    Time failure = kNever;
    Time change = kNever;  // of any kind
  };
  std::vector<Next> nodes;
  std::vector<std::pair<Time, std::uint32_t>> warnings;
  const auto is_up_from = [&](std::uint32_t node, Time from) {
    const Next& next = nodes[node];
    if (next.failure == kNever) return;
    const Time at = std::max(from, next.failure - warn);
    if (at < next.change) warnings.emplace_back(at, node);
  };
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const std::size_t known =
        std::size_t{event->nodes.empty() ? 0 : event->nodes.parts.back().last + 1};
    nodes.resize(std::max(nodes.size(), known));
    for (const Interval& part : event->nodes.parts) {
      for (std::uint32_t node = part.first; node <= part.last; ++node) {
        if (event->health == Health::up) is_up_from(node, event->at);
        if (event->health == Health::down) nodes[node].failure = event->at;
        nodes[node].change = event->at;
      }
    }
  }
  for (std::uint32_t node = 0; node < nodes.size(); ++node) is_up_from(node, begin);
  std::ranges::sort(warnings);
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    const auto& [at, node] = warnings[i];
    if (i == 0 || warnings[i - 1].first != at) events.push_back({at, {}, Health::draining});
    events.back().nodes.insert(node, node);
  }
  sort_by_time(events);  // behind the repairs of their time
  return events;
}

}  // namespace ductile
