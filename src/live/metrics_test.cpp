#include "live/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "live/local_world.hpp"
#include "live/metrics_server.hpp"
#include "policies/registry.hpp"

namespace ductile {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(Histogram, CountsWhatIsAtMostEachBound) {
  Histogram histogram({0.1, 1});
  for (const double value : {0.05, 0.1, 0.5, 7.0}) histogram.observe(value);
  std::string text;
  histogram.write(text, "x");
  EXPECT_EQ(text,
            "x_bucket{le=\"0.1\"} 2\nx_bucket{le=\"1\"} 3\nx_bucket{le=\"+Inf\"} 4\n"
            "x_sum 7.65\nx_count 4\n");
}

TEST(Metrics, TellOfJobsNodesAndResizes) {
  Rules rules;
  rules.identities = true;
  const auto policy = make_policy("easy");
  Core core({.nodes = 4, .cores_per_node = 1}, LocalWorld::capabilities(), rules, policy->traits);
  for (const Nodes nodes : {3u, 3u}) {
    JobSpec spec;
    spec.preferred = nodes;
    spec.size = {nodes, nodes};
    spec.walltime = whole_seconds(60);
    core.apply(Time{}, event::Submitted{spec, std::nullopt});
  }
  core.close(Time{}, *policy);
  Metrics metrics;
  metrics.submitted(JobType::rigid);
  metrics.submitted(JobType::rigid);
  metrics.ended(EndState::node_fail);
  const auto of = [](Nodes count) { return Holding{count, {}}; };
  metrics.resized(of(2), of(4), of(4));
  metrics.resized(of(2), of(4), of(2));
  metrics.resized(of(4), of(1), of(2));
  const auto on = [](std::uint32_t node) { return Holding{1, NodeSet{{{node, node}}}}; };
  metrics.resized(on(0), on(1), on(1));
  metrics.resized(on(0), on(1), on(0));
  metrics.passed(std::chrono::milliseconds(2), false);
  metrics.passed(std::chrono::milliseconds(2), true);
  const JobId jobs[] = {JobId{0}, JobId{1}};
  const std::string text = metrics.text(core, jobs, 7,
                                        {.strangers = 2,
                                         .nodes_of_strangers = 3,
                                         .lost_since = Time(whole_seconds(1'700'000'000)),
                                         .lacks = true});
  EXPECT_THAT(text, HasSubstr("ductile_cluster_lacks 1\n"));
  EXPECT_THAT(text, HasSubstr("ductile_jobs{state=\"starting\",type=\"rigid\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ductile_jobs{state=\"pending\",type=\"rigid\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ductile_jobs_submitted_total{type=\"rigid\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("ductile_jobs_ended_total{state=\"node-fail\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ductile_nodes{state=\"allocated\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("ductile_nodes{state=\"idle\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ductile_nodes_health{health=\"up\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("ductile_strangers 2\n"));
  EXPECT_THAT(text, HasSubstr("ductile_nodes_strangers 3\n"));
  EXPECT_THAT(text, HasSubstr("ductile_cluster_out_of_reach 1\n"));
  EXPECT_THAT(text, HasSubstr("ductile_cluster_out_of_reach_since_seconds 1700000000\n"));
  EXPECT_THAT(text, HasSubstr("{direction=\"expand\",outcome=\"done\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{direction=\"expand\",outcome=\"refused\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{direction=\"shrink\",outcome=\"partial\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ductile_pass_duration_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("ductile_passes_cut_short_total 1\n"));
  EXPECT_THAT(text, HasSubstr("ductile_power_watts 0\n"));
  EXPECT_THAT(text, HasSubstr("ductile_power_cap_watts +Inf\n"));
  EXPECT_THAT(text, HasSubstr("ductile_connections 7\n"));
  EXPECT_THAT(text, EndsWith("# EOF\n"));
}

TEST(MetricsServer, HasAnAddress) {
  EXPECT_EQ(parse_address("9480"), (std::pair<std::string, std::uint16_t>("127.0.0.1", 9480)));
  EXPECT_EQ(parse_address("[::1]:80"), (std::pair<std::string, std::uint16_t>("::1", 80)));
  EXPECT_EQ(parse_address("ada:1"), (std::pair<std::string, std::uint16_t>("ada", 1)));
  for (const char* text : {"", "x", ":1", "a:", "a:0", "a:65536", "[]:x"}) {
    EXPECT_THROW(parse_address(text), InputError) << text;
  }
}

}  // namespace
}  // namespace ductile
