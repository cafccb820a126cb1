// A policy that uses the whole pen without sense, to find out what the core lets pass.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/random.hpp"
#include "scheduling/pass.hpp"
#include "scheduling/policy.hpp"

namespace ductile::testing {

/// Calls every verb of the pen with random arguments, possible ones and impossible ones. All chance
/// comes from `Pass::random`, so that a copied core decides the same.
///
/// While a state is watched, it throws std::logic_error if a call that returns false changed
/// anything, or if a call returns false that the view had declared possible.
class RandomPolicy final : public Policy {
 public:
  struct Settings {
    std::uint32_t calls = 8;  // at most, in each pass
    EventKinds wakes = kEveryEvent;
    bool blocks = true;  // also uses the building blocks now and then
    QueueOrder order = QueueOrder::fcfs;
    bool answers_requests = true;
    bool stops = true;
    StartSize start_size = StartSize::preferred;
    std::uint32_t priority_period_s = 0;
    std::uint32_t needed_resizes = 0;  // of each job; not drawn by `draw_traits`
    bool shares = false;               // nodes, between jobs; likewise
    bool names_nodes = true;           // on which jobs start, now and then; likewise
    /// Draws the traits: the four before that, and now and then fewer events that wake it.
    void draw_traits(Draws& draws);
  };
  explicit RandomPolicy(const Settings& chosen);

  void schedule(Pass& pass) const override;

  /// Which state the passes of this thread write, while this lives.
  class Watch {
   public:
    explicit Watch(const State& state);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
  };

 private:
  Settings chosen_;
};

/// A policy from its settings: a `RandomPolicy`, or one of the registry. For the replay of logs.
std::shared_ptr<const Policy> test_policy(std::string_view settings);

}  // namespace ductile::testing
