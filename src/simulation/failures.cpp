#include "simulation/failures.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace ductile {
namespace {

constexpr std::string_view kBlank = " \t\r";

// Takes the next word off the front of `text`.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text.remove_prefix(word.size());
  return word;
}

std::optional<Time> read_time(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  constexpr double kMost = 1e12;
  const bool sound =
      error == std::errc{} && end == word.data() + word.size() && value >= 0 && value <= kMost;
  return sound ? std::optional(Time(seconds(value))) : std::nullopt;
}

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
  std::ifstream in(path);
  if (!in) {
    throw InputError({path}, "the file cannot be read",
                     "check the name and that you may read the file");
  }
  std::vector<NodeEvent> events;
  std::string line;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    std::string_view rest(line);
    rest = rest.substr(0, rest.find('#'));
    const std::string_view time_word = next_word(rest);
    if (time_word.empty()) continue;
    const auto fail = [&](const char* field, std::string_view word, const char* remedy) {
      throw InputError({path, number, field}, "'" + std::string(word) + "' is not possible",
                       remedy);
    };
    NodeEvent event;
    const auto time = read_time(time_word);
    if (!time) fail("time", time_word, "write seconds from 0 to 1e12");
    const std::string_view state_word = next_word(rest);
    const auto health = read_health(state_word);
    if (!health) fail("state", state_word, "write up, down or draining");
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
    rest = rest.substr(0, rest.find_last_not_of(kBlank) + 1);
    auto set = parse_node_set(rest);
    if (!set || set->empty()) fail("nodes", rest, "write node numbers such as 0-3,7");
    if (set->parts.back().last >= nodes) {
      throw InputError({path, number, "nodes"},
                       "the machine has no node " + std::to_string(set->parts.back().last),
                       "its nodes are 0 to " + std::to_string(nodes - 1));
    }
    events.push_back({*time, std::move(*set), *health});
  }
  if (in.bad()) throw RunError(path + ": reading failed");
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
