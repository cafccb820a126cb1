#include "scheduling/policy.hpp"

#include <gtest/gtest.h>

#include "scheduling/pass.hpp"
#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::sized;

// For one that leaves evolving requests alone they are answered before it looks.
TEST(Policy, APassBeginsWithTheRequestsThatItLeavesAlone) {
  for (const bool answers : {false, true}) {
    testing::Stage stage;
    stage.script->traits.answers_requests = answers;
    const JobId id = stage.run(sized(JobType::evolving, {1, 8}, 2, 100));
    stage.at(1);
    stage.tell(event::EvolvingRequested{RequestId{1}, id, 3, 0});
    std::size_t open = 0;
    const auto decisions = stage.close([&](Pass& pass) { open = pass.requests().size(); });
    EXPECT_EQ(open, answers ? 1u : 0u);
    EXPECT_EQ(decisions.size(), answers ? 0u : 1u);
    EXPECT_EQ(stage.job(id).size(), answers ? 2u : 5u);
  }
}

}  // namespace
}  // namespace ductile
