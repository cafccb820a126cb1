// choices.csv: what a portfolio saw ahead, and who ruled because of it.
#pragma once

#include <filesystem>
#include <vector>

#include "base/time.hpp"
#include "scheduling/portfolio.hpp"
#include "simulation/observer.hpp"

namespace ductile {

struct ChoiceMade {
  Time at{};
  Choice choice{};

  bool is_change() const { return choice.chosen != choice.ruled; }
  const std::string& ruled() const { return choice.members[choice.ruled].settings; }
  const std::string& rules() const { return choice.members[choice.chosen].settings; }
};

/// The choices of a run, in order.
class Choices final : public Observer {
 public:
  void on_policy(Time now, const event::ConfigChanged& changed, const Core&) override {
    if (changed.choice) made_.push_back({now, *changed.choice});
  }
  const std::vector<ChoiceMade>& made() const { return made_; }

 private:
  std::vector<ChoiceMade> made_;
};

/// One row for each member at each choice (docs/formats/choices.csv.md).
void write_choices(const std::filesystem::path& path, const std::vector<ChoiceMade>& choices);

}  // namespace ductile
