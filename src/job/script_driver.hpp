// Resizes a program that stays: tells it the size that it is to have (script_channel.hpp), and takes
// its answer (script_orders.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/node_set.hpp"
#include "job/poller.hpp"
#include "job/process_table.hpp"
#include "job/resize_driver.hpp"
#include "job/run_settings.hpp"
#include "job/script_channel.hpp"
#include "job/script_orders.hpp"

namespace ductile {

class ScriptDriver {
 public:
  using Clock = ScriptOrders::Clock;
  using Json = nlohmann::ordered_json;
  using Wish = ResizeDriver::Wish;

  /// What it asks of the rest of the manager.
  struct Outside {
    /// Something happened: "resized", "aborted".
    std::function<void(std::string_view what, const Json& details)> report{};
    /// To those who have ordered it.
    std::function<void(bool ok, const Json& details)> answer{};
  };
  /// `folder`: of the job. `cpus`: those of the next order; what fails takes them back.
  ScriptDriver(const RunSettings& settings, ProcessTable& table, NodeSet& cpus,
               const std::string& folder, Outside outside);

  ScriptChannel& channel() { return channel_; }
  void add_to(Poller& poller);

  /// Why not, if this cannot be ordered now.
  std::optional<std::string> objection(const Wish& wish) const;
  /// There is no objection.
  void order(const Wish& wish);
  /// Who has ordered it waits no longer.
  void withdraw() { give_up("it was withdrawn"); }
  void give_up(const std::string& reason);
  /// The job is to end, or has ended.
  void on_end(const std::string& reason);

  Clock::time_point next() const { return orders_.deadline(); }
  void keep_deadlines(Clock::time_point now);

  bool is_ordered() const { return orders_.state() == ScriptOrders::State::asked; }
  std::string_view phase() const { return is_ordered() ? "asking" : "running"; }
  std::uint32_t resizes() const { return resizes_; }

 private:
  std::string on_word(const ScriptWord& word);
  void tell(const ScriptPlace& place);
  void keep_to(const NodeSet& cpus) const;
  void conclude();

  const RunSettings& settings_;
  ProcessTable& table_;
  NodeSet& cpus_;
  Outside outside_;
  ScriptChannel channel_;
  ScriptOrders orders_;
  std::vector<Host> hosts_{};  // of the order
  bool is_ending_ = false;
  std::uint32_t resizes_ = 0;
};

}  // namespace ductile
