// Resizes a program that stays, and changes its size itself: tells it the size that it is to have
// (script_channel.hpp), and takes its answer (script_orders.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/node_set.hpp"
#include "job/resize_method.hpp"
#include "job/script_channel.hpp"
#include "job/script_orders.hpp"

namespace ductile {

class ScriptMethod final : public ResizeMethod {
 public:
  /// `folder`: of the job. std::system_error.
  ScriptMethod(const RunSettings& settings, const std::string& folder);

  Variables variables(const Target& first) override;
  int given() const override { return channel_.of_program().get(); }
  void on_started(Generation& generation) override;

  std::optional<std::string> objection(const Target& target) const override;
  void begin(const Target& target, Clock::time_point now) override;
  void give_up(const std::string& reason) override;
  std::optional<Outcome> look(Clock::time_point now) override;
  Clock::time_point next() const override { return orders_.deadline(); }
  void add_to(Poller& poller) override;

 private:
  std::string on_word(const ScriptWord& word);
  void tell(const Target& target);
  static void keep_to(const NodeSet& cpus);

  const RunSettings& settings_;
  ScriptChannel channel_;
  ScriptOrders orders_;
  Target target_{};                // of the order
  Generation* program_ = nullptr;  // once it has been started
};

}  // namespace ductile
