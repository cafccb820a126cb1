// Who of a portfolio shall rule: the core is run ahead under each member, in the world as it is
// believed to be. When that is done is the world's affair, and here.
#pragma once

#include <cstddef>
#include <optional>

#include "base/time.hpp"
#include "base/wide.hpp"
#include "scheduling/core.hpp"
#include "scheduling/portfolio.hpp"

namespace ductile {

/// When a portfolio looks ahead: as soon as it matters who rules, since somebody waits or can be
/// resized; then at times, and when the queue has changed its character. A value; what it forgets
/// when a controller ends is found out anew.
class LookAheads {
 public:
  /// Why it is time to, after an instant was closed; nothing if it is not, as where it does not
  /// matter who rules or there is one member only.
  std::optional<Occasion> due(const Portfolio& portfolio, const Core& core, Time now);
  /// It is looked ahead from this moment.
  void begin(const Core& core, Time now);
  /// When it is time to, if nothing else happens.
  Time next(const Portfolio& portfolio, const Core& core) const;

 private:
  struct Load {
    std::size_t jobs = 0;
    Wide work = 0;  // node-microseconds, as believed
  };
  static Load load_of(const Core& core);

  std::optional<Time> last_{};
  Time checked_{};
  Load load_{};
};

/// How bad an outlook is by the goal; by `Goal::weighted`, against that under who rules. Times are
/// compared with ten seconds more each, so that a wait of a second is not much worse than none.
double score_of(const Outlook& its, const Outlook& ruling, const Portfolio& portfolio);

/// Looks ahead under each member that this world can have, and chooses: who rules now
/// (`core.traits()`) goes on unless the best is better by the hysteresis. What the core is to be
/// told. The same core gives the same choice.
event::ConfigChanged choose(const Core& core, const Portfolio& portfolio, Time now,
                            Occasion occasion);

}  // namespace ductile
