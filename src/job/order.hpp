// What may be said at the control socket of a job: one order, a JSON object, on a line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/node_set.hpp"
#include "job/launcher.hpp"

namespace ductile {

struct Order {
  enum class Verb { status, watch, resize, answer, stop, step, withdraw, suspend, nodes };
  Verb verb = Verb::status;
  /// What the client calls it; null if nothing.
  nlohmann::json id{};
  /// Of resize and answer: processes. 0 denies.
  std::uint32_t size = 0;
  /// Of resize: also at the present size, to other processors.
  bool moves = false;
  /// Processors of this host for the new generation; empty: as before.
  NodeSet cpus{};
  /// Hosts for the new generation, and how many processes each takes; empty: as before.
  std::vector<Host> hosts{};
  /// Of nodes: those that the job has, for files of what they draw.
  NodeSet nodes{};
};

inline constexpr std::array<std::string_view, 9> kOrderWords = {
    "status", "watch", "resize", "answer", "stop", "step", "withdraw", "suspend", "nodes"};

/// Why a line is no order.
struct BadOrder {
  std::string why{};
  nlohmann::json id{};
};

std::variant<Order, BadOrder> parse_order(std::string_view line);

}  // namespace ductile
