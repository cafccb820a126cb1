#include "live/applications.hpp"

namespace ductile {
namespace {

constexpr std::size_t kMost = 10'000;

std::string key_of(std::uint32_t user, const Submission& what) {
  std::string key = std::to_string(user) + ' ' + std::to_string(static_cast<int>(what.mpi)) + ' ' +
                    std::to_string(what.tasks_per_node) + ' ' + what.script;
  // Of a script the first word is only a name.
  for (std::size_t i = what.script.empty() ? 0 : 1; i < what.program.size(); ++i) {
    key += '\0' + what.program[i];
  }
  return key;
}

}  // namespace

void Applications::ran(std::uint32_t user, const Submission& what, Nodes nodes, Duration time) {
  const std::string key = key_of(user, what);
  if (known_.size() >= kMost && !known_.contains(key)) known_.erase(known_.begin());
  known_[key].add(nodes, time);
}

std::optional<Speedup> Applications::model(std::uint32_t user, const Submission& what) const {
  const auto at = known_.find(key_of(user, what));
  return at == known_.end() ? std::nullopt : at->second.model();
}

}  // namespace ductile
