#include "live/applications.hpp"

#include <string>
#include <string_view>

namespace ductile {
namespace {

constexpr std::size_t kMost = 10'000;

}  // namespace

Applications::Key Applications::key_of(std::uint32_t user, const Submission& what) {
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
  add(what.script);
  // Of a script the first word is only a name.
  for (std::size_t i = what.script.empty() ? 0 : 1; i < what.program.size(); ++i) {
    add(what.program[i]);
  }
  return {user, hash};
}

void Applications::ran(std::uint32_t user, const Submission& what, Nodes nodes, Duration time) {
  const Key key = key_of(user, what);
  const auto [at, is_new] = known_.try_emplace(key);
  at->second.add(nodes, time);
  if (!is_new) return;
  order_.push_back(key);
  if (order_.size() <= kMost) return;
  known_.erase(order_.front());
  order_.pop_front();
}

std::optional<Speedup> Applications::model(std::uint32_t user, const Submission& what) const {
  const auto at = known_.find(key_of(user, what));
  return at == known_.end() ? std::nullopt : at->second.model();
}

}  // namespace ductile
