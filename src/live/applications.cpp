#include "live/applications.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace ductile {
namespace {

constexpr std::size_t kMostApplications = 10'000;

}  // namespace

Observed& Observed::operator+=(const Observed& more) {
  // Whatever a user's job tells: sums of it stay numbers.
  constexpr Duration kMost{std::int64_t{1} << 60};
  runs += more.runs;
  run_time = std::min(run_time + std::min(more.run_time, kMost), kMost);
  iterations += more.iterations;
  iteration_time = std::min(iteration_time + std::min(more.iteration_time, kMost), kMost);
  looks += more.looks;
  in_mpi += more.in_mpi;
  return *this;
}

std::optional<double> Observed::mtct() const {
  // The share has a standard error of at most 0.5 / sqrt(looks), here 5 %.
  constexpr std::uint64_t kFewLooks = 100;
  if (looks < kFewLooks || in_mpi > looks) return std::nullopt;
  // Half a look more on either side: what was never seen is rare, and not impossible.
  return (static_cast<double>(in_mpi) + 0.5) / (static_cast<double>(looks - in_mpi) + 0.5);
}

std::optional<Speedup> model_of(const ObservedAt& seen, std::uint32_t per_node, bool guesses) {
  LearnedSpeedup iterations, runs;
  for (const auto& [nodes, its] : seen) {
    iterations.add(nodes, its.iteration_time, its.iterations);
    runs.add(nodes, its.run_time, its.runs);
  }
  std::optional<Speedup> model = iterations.model();
  if (!model) model = runs.model();
  if (model || !guesses) return model;
  std::uint64_t most = 0;
  for (const auto& [nodes, its] : seen) {
    const auto mtct = its.mtct();
    if (!mtct || its.looks <= most) continue;
    if (const auto guess = speedup_of_mtct(*mtct, nodes, per_node)) {
      model = guess;
      most = its.looks;
    }
  }
  return model;
}

// ---- Applications -------------------------------------------------------------------------------

std::uint64_t Applications::hash_of(const Submission& what) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add_bytes = [&](std::string_view bytes) {
    for (const char byte : bytes) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * std::uint64_t{0x100000001b3};
    }
  };
  // With its length, so that it cannot run into the next one.
  const auto add = [&](std::string_view text) {
    add_bytes(std::to_string(text.size()) + ' ');
    add_bytes(text);
  };
  add(std::to_string(static_cast<int>(what.mpi)));
  add(std::to_string(what.tasks_per_node));
  add(std::to_string(what.cores_per_process));
  add(what.script);
  if (what.kind != JobKind::mpi) add(kJobKindWords[static_cast<std::size_t>(what.kind)]);
  // Of a script the first word is only a name.
  for (std::size_t i = what.script.empty() ? 0 : 1; i < what.program.size(); ++i) {
    add(what.program[i]);
  }
  return hash;
}

ObservedAt Applications::seen(const Key& key) const {
  const auto at = known_.find(key);
  return at == known_.end() ? ObservedAt{} : at->second;
}

std::optional<Applications::Key> Applications::add(const Key& key, Nodes nodes,
                                                   const Observed& more) {
  const auto [at, is_new] = known_.try_emplace(key);
  at->second[nodes] += more;
  if (!is_new) return std::nullopt;
  order_[key.first].push_back(key.second);
  if (known_.size() <= kMostApplications) return std::nullopt;
  const auto most =
      std::ranges::max_element(order_, {}, [](const auto& user) { return user.second.size(); });
  const Key oldest{most->first, most->second.front()};
  known_.erase(oldest);
  most->second.pop_front();
  if (most->second.empty()) order_.erase(most);
  return oldest;
}

// ---- Measurements -------------------------------------------------------------------------------

void Measurements::add(JobId id, Nodes nodes, const Observed& more, bool is_wanted) {
  Its& its = jobs_[id];
  Observed& fresh = its.fresh[nodes] += more;
  const auto at = its.known.find(nodes);
  const Observed known = at == its.known.end() ? Observed{} : at->second;
  const auto is_much = [](std::uint64_t now, std::uint64_t before) {
    return now > 0 && now >= before / 10;
  };
  if (is_wanted || is_much(fresh.iterations, known.iterations) ||
      is_much(fresh.looks, known.looks)) {
    news_.insert(id);
  }
}

std::map<JobId, std::vector<Nodes>> Measurements::take() {
  std::map<JobId, std::vector<Nodes>> taken;
  for (const JobId id : std::exchange(news_, {})) {
    Its& its = jobs_[id];
    for (const auto& [nodes, fresh] : std::exchange(its.fresh, {})) {
      its.known[nodes] += fresh;
      taken[id].push_back(nodes);
    }
  }
  return taken;
}

ObservedAt Measurements::of(JobId id) const {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? ObservedAt{} : at->second.known;
}

ObservedAt Measurements::end(JobId id) {
  news_.erase(id);
  const auto at = jobs_.find(id);
  if (at == jobs_.end()) return {};
  ObservedAt all = std::move(at->second.known);
  for (const auto& [nodes, fresh] : at->second.fresh) all[nodes] += fresh;
  jobs_.erase(at);
  return all;
}

}  // namespace ductile
