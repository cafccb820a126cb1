#include "simulation/retelling.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "simulation/recording.hpp"
#include "simulation/summary_observer.hpp"
#include "support/small_log.hpp"

namespace ductile {
namespace {

using ::testing::ElementsAre;

/// What it was told, a word each.
class Listener final : public Observer {
 public:
  std::vector<std::string> heard;

  void on_begin(const Core&) override { heard.emplace_back("begin"); }
  void on_decision(Time, const Decision& decision, const Core&) override {
    heard.push_back("start " + std::to_string(index(decision.job)));
  }
  void on_end(Time, JobId id, const WorkloadJob&, EndState, bool, const Core& core) override {
    heard.push_back((core.job(id).status == Status::running ? "end " : "gone ") +
                    std::to_string(index(id)));
  }
  void on_finish(Time, const Core&) override { heard.emplace_back("finish"); }
};

TEST(Retelling, TellsObserversOfALogAsOfASimulation) {
  std::istringstream in(sealed_log(kSmallLog));
  const PolicyMaker make = [](std::string_view settings) { return make_policy(settings); };
  const Workload workload = input_of_log(in, "run.log").workload;
  ASSERT_EQ(workload.jobs.size(), 3u);
  EXPECT_EQ(workload.name, "run.log");

  Listener listener;
  Observer* const observers[] = {&listener};
  const Retold retold = retell(in, "run.log", make, workload, observers);
  EXPECT_THAT(listener.heard, ElementsAre("begin", "start 0", "start 2", "end 0", "end 2",
                                          "start 1", "end 1", "finish"));
  EXPECT_EQ(retold.counts.jobs_over, 3u);
  EXPECT_EQ(retold.counts.jobs_left, 0u);
  EXPECT_EQ(retold.counts.events, 6u);
  EXPECT_FALSE(retold.counts.stopped);
  EXPECT_EQ(retold.settings.policy->traits.settings, "easy");
  // Every job runs as long as it did.
  double node_s = 0;
  for (const WorkloadJob& job : workload.jobs) node_s += to_seconds(job.runtime) * job.nodes;
  EXPECT_DOUBLE_EQ(retold.counts.held_node_s, node_s);
}

/// Its nodes count from when they are there.
TEST(Retelling, OfAMachineThatGrows) {
  std::istringstream in(sealed_log(kGrowingLog));
  const PolicyMaker make = [](std::string_view settings) { return make_policy(settings); };
  const Workload workload = input_of_log(in, "run.log").workload;
  SummaryObserver summary(workload);
  Observer* const observers[] = {&summary};
  const Retold retold = retell(in, "run.log", make, workload, observers);
  const Summary s = summary.summary(workload, retold.settings, retold.counts);
  EXPECT_EQ(s.nodes, 7u);
  EXPECT_DOUBLE_EQ(s.utilization, (30.0 + 20) / (2 * 4 + 8 * 7));
}

}  // namespace
}  // namespace ductile
