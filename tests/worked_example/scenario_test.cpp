#include "support/scenario.hpp"

#include <gtest/gtest.h>

namespace ductile::testing {
namespace {

TEST(WorkedExample, ItsScenarioPlays) {
  const Scenario scenario = read_scenario(SCENARIO);
  const std::string wrong = difference(scenario, play(scenario));
  EXPECT_TRUE(wrong.empty()) << wrong;
}

}  // namespace
}  // namespace ductile::testing
