#include "workload/corridor_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "workload/json.hpp"

namespace ductile {
namespace {

// A machine's power is no more than 2^53 mW, so that a number of JSON is exact.
constexpr double kMostCorridorNodes = 10'000'000, kMostNodeWatts = 1'000'000, kMostWatts = 1e12,
                 kMostCorridorId = 9'007'199'254'740'992;
static_assert(kMostCorridorNodes * kMostNodeWatts * 1000 <= CorridorProblem::kMostMilliwatts);
static_assert(kMostWatts * 1000 <= CorridorProblem::kMostMilliwatts);

/// Another name would be a limit that does not hold.
void know(const JsonAt& object, std::initializer_list<std::string_view> names) {
  Remarks remarks;
  object.know(names, remarks);
  if (!remarks.empty()) object.fail(remarks.begin()->first, "correct its name, or leave it away");
}

/// Watts, to the nearest milliwatt.
Milliwatts milliwatts(const JsonAt& watts, double most = kMostNodeWatts) {
  return std::llround(watts.number(0, most) * 1000);
}

std::optional<Milliwatts> bound(const JsonAt& instance, const char* name) {
  if (!instance.has(name)) return std::nullopt;
  return milliwatts(instance.at(name), kMostWatts);
}

class CorridorReader {
 public:
  explicit CorridorReader(JsonAt instance) : instance_(std::move(instance)) {}

  CorridorInstance read() {
    know(instance_, {"nodes", "idle_w", "lower_w", "upper_w", "running", "waiting"});
    CorridorProblem& problem = its_.problem;
    problem.nodes = static_cast<Nodes>(instance_.at("nodes").whole(1, kMostCorridorNodes));
    problem.idle_mw = milliwatts(instance_.at("idle_w"));
    problem.lower_mw = bound(instance_, "lower_w");
    problem.upper_mw = bound(instance_, "upper_w");
    if (problem.lower_mw && problem.upper_mw && *problem.lower_mw > *problem.upper_mw) {
      instance_.at("lower_w").fail("is above upper_w", "write no more than upper_w");
    }
    for_each("running", [&](const JsonAt& job) { problem.running.push_back(running(job)); });
    for_each("waiting", [&](const JsonAt& job) { its_.waiting.push_back(waiting(job)); });
    return std::move(its_);
  }

 private:
  template <class Read>
  void for_each(const char* name, Read read) {
    if (!instance_.has(name)) return;
    const JsonAt jobs = instance_.at(name);
    for (std::size_t i = 0; i < jobs.size(); ++i) read(jobs.item(i));
  }

  RunningInCorridor running(const JsonAt& job) {
    know(job, {"id", "n", "min", "max", "constraint", "rigid", "p_min_w", "p_max_w"});
    RunningInCorridor its{.id = id(job), .n = size(job.at("n"))};
    held_ += its.n;
    if (held_ > its_.problem.nodes) {
      job.at("n").fail("running jobs hold more nodes than there are", "write no more than nodes");
    }
    its.rigid = job.boolean("rigid", false);
    if (its.rigid) {
      for (const char* name : {"min", "max", "constraint"}) {
        if (job.has(name)) job.at(name).fail("a rigid job has none", "leave it away, or rigid");
      }
      its.range = exactly(its.n);
    } else {
      its.range = {size(job.at("min")), size(job.at("max"))};
      if (its.range.min > its.range.max)
        job.at("min").fail("is above max", "write no more than max");
      its.constraint = constraint(job);
    }
    power(job, its);
    return its;
  }

  WaitingForCorridor waiting(const JsonAt& job) {
    know(job, {"id", "n", "p_min_w", "p_max_w"});
    WaitingForCorridor its{.id = id(job), .n = size(job.at("n"))};
    power(job, its);
    return its;
  }

  std::uint64_t id(const JsonAt& job) {
    const JsonAt at = job.at("id");
    const auto its = static_cast<std::uint64_t>(at.whole(0, kMostCorridorId));
    if (!ids_.insert(its).second) at.fail("another job has it, too", "number each job of its own");
    return its;
  }

  static Nodes size(const JsonAt& nodes) {
    return static_cast<Nodes>(nodes.whole(1, kMostCorridorNodes));
  }

  static SizeConstraint constraint(const JsonAt& job) {
    if (!job.has("constraint")) return {};
    const JsonAt at = job.at("constraint");
    const std::string word = at.text();
    for (const char* name : {"any", "none", "pof2", "even", "odd", "cubic"}) {
      if (word == name) return word == "none" ? SizeConstraint{} : parse_constraint(word);
    }
    at.fail(fmt::format("'{}' is no constraint", word), "write none, pof2, even, odd or cubic");
  }

  template <class Job>
  static void power(const JsonAt& job, Job& its) {
    its.p_min_mw = milliwatts(job.at("p_min_w"));
    its.p_max_mw = milliwatts(job.at("p_max_w"));
    if (its.p_min_mw > its.p_max_mw) {
      job.at("p_min_w").fail("is above p_max_w", "write no more than p_max_w");
    }
  }

  JsonAt instance_;
  CorridorInstance its_{};
  std::set<std::uint64_t> ids_{};
  std::uint64_t held_ = 0;  // nodes of running jobs so far
};

}  // namespace

CorridorInstance parse_corridor_instance(std::string_view line, const Place& place) {
  const std::string file = fmt::format("{}:{}", place.file, place.line);
  const nlohmann::json value = parse_json(line, file);
  return CorridorReader(JsonAt(value, file)).read();
}

std::string to_json(const CorridorProblem& problem, const CorridorSolution& solution) {
  if (!solution.feasible) return R"({"feasible":false})";
  std::vector<std::pair<std::uint64_t, Nodes>> by_id;
  for (std::size_t i = 0; i < solution.sizes.size(); ++i) {
    by_id.emplace_back(problem.running[i].id, solution.sizes[i]);
  }
  std::sort(by_id.begin(), by_id.end());
  std::string text =
      fmt::format(R"({{"feasible":true,"idle":{},"change":{},"changed":{},"sizes":{{)",
                  solution.idle, solution.change, solution.changed);
  const char* before = "";
  for (const auto& [id, size] : by_id) {
    fmt::format_to(std::back_inserter(text), R"({}"{}":{})", std::exchange(before, ","), id, size);
  }
  return text + "}}";
}

}  // namespace ductile
