// The steps of a job that is a script: programs that it starts by `ductile run`, one after another.
// Who has the nodes of the script is its step; between steps nobody has them. So an order to resize
// the script is one to its step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/node_set.hpp"
#include "job/control_clients.hpp"
#include "job/order.hpp"
#include "job/run_settings.hpp"

namespace ductile {

class ScriptSteps {
 public:
  using Json = nlohmann::ordered_json;

  /// `cpus`: where the script runs. An order changes that, and takes it back if it fails.
  ScriptSteps(const RunSettings& settings, ControlClients& clients, NodeSet& cpus)
      : settings_(settings), clients_(clients), cpus_(cpus), size_(settings.size) {}

  /// What a step may have.
  std::uint32_t size() const { return size_; }
  /// A resize is under way.
  bool is_ordered() const { return order_.has_value(); }
  /// The client is the next step, if it may be.
  void begin(ControlClient& client, const Json& id);
  /// To resize it, or to answer a request, which a script has none of.
  void order(ControlClient& client, const Order& order, bool has_ended);
  void withdraw();
  /// What a step says: of itself to those who watch the job, its answer to who has ordered.
  void on_line(const std::string& line);
  /// A step that has gone needs no nodes any more.
  void look_after();

 private:
  /// Hears first what the step said last: the one after it may be heard before its end.
  bool is_running();
  void end_order(bool ok, Json details);

  const RunSettings& settings_;
  ControlClients& clients_;
  NodeSet& cpus_;
  std::uint32_t size_;
  std::optional<std::uint32_t> order_{};  // what the step is told to have
  NodeSet cpus_before_{};
};

}  // namespace ductile
