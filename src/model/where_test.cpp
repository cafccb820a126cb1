#include "model/where.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

NodeSet nodes(const char* text) { return *parse_node_set(text); }

// Eight small nodes, four large ones and two with GPUs; all but the small ones are in `special`,
// and `short` is for the small and the large ones.
Platform platform() {
  return {
      .nodes = 14,
      .cores_per_node = 8,
      .classes = {{.name = "small", .nodes = nodes("0-7"), .has = {8, {}, 1000}},
                  {.name = "large", .nodes = nodes("8-11"), .has = {16, {}, 4000}},
                  {.name = "gpu", .nodes = nodes("12-13"), .has = {16, {2}, 2000}}},
      .partitions = {{.name = "batch", .nodes = nodes("0-11")},
                     {.name = "special", .nodes = nodes("8-13")},
                     {.name = "short", .nodes = nodes("4-9"), .max_walltime = whole_seconds(600)}},
      .things = {"gpu"}};
}

Where where(const AskedWhere& asked, int walltime_s = 60) {
  return where_of(asked, {.walltime = whole_seconds(walltime_s)}, platform());
}
NodeSet there(const AskedWhere& asked, int walltime_s = 60) {
  return nodes_of(where(asked, walltime_s), platform());
}
std::string error_of(const AskedWhere& asked, int walltime_s = 60) {
  try {
    where(asked, walltime_s);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Who shares nodes asks for what he asks for: two jobs of 5 GB fit on a node of 10.
TEST(Where, OfSharedNodesMemoryAndThingsAreAsTheyAreAsked) {
  const Platform two{.nodes = 4,
                     .classes = {{.name = "n",
                                  .nodes = nodes("0-3"),
                                  .has = {.cores = 8, .things = {4}, .memory_mb = 10000}}},
                     .things = {"gpu"}};
  const AskedWhere asked{.memory_mb = 5000, .things = "gpu:2"};
  EXPECT_EQ(where_of(asked, {}, two), Where{});
  const Where shared = where_of(asked, {}, two, {}, NodesAre::shared);
  EXPECT_EQ(shared.each, (Slice{.things = {2}, .memory_mb = 5000}));
  EXPECT_EQ(nodes_of(shared, two), nodes("0-3"));
}

TEST(Where, IsTheFirstPartitionIfNothingIsAsked) {
  EXPECT_EQ(where({}), Where{});
  EXPECT_EQ(where({.partitions = "batch"}), Where{});
  EXPECT_EQ(there({}), nodes("0-11"));
  EXPECT_EQ(where_of({}, {.walltime = whole_seconds(1)}, {.nodes = 4}), Where{});
  EXPECT_EQ(nodes_of({}, {.nodes = 4}), nodes("0-3"));
}

TEST(Where, IsInAnyOfThePartitionsThatAreNamed) {
  EXPECT_EQ(there({.partitions = "special"}), nodes("8-13"));
  EXPECT_EQ(there({.partitions = "short,batch"}), nodes("0-11"));
  EXPECT_EQ(error_of({.partitions = "batch,none"}),
            "--partition: there is no partition 'none'; use one of batch, special, short");
  EXPECT_THROW(where_of({.partitions = "batch"}, {.walltime = whole_seconds(1)}, {.nodes = 4}),
               InputError);
}

TEST(Where, LeavesOutPartitionsThatDoNotAllowItsLimit) {
  EXPECT_EQ(where({.partitions = "short"}, 600).partitions, 4u);
  EXPECT_EQ(error_of({.partitions = "short"}, 601),
            "--time: 601 s are more than the 600 s that are allowed in short; ask for less, or for "
            "another partition");
  EXPECT_EQ(there({.partitions = "short,special"}, 601), nodes("8-13"));
  EXPECT_EQ(there({.partitions = "short,special"}, 600), nodes("4-13"));
}

TEST(Where, AsksForWhatNodesHave) {
  EXPECT_EQ(there({.memory_mb = 1001}), nodes("8-11"));
  EXPECT_EQ(there({.partitions = "special", .memory_mb = 1001}), nodes("8-13"));
  EXPECT_EQ(there({.cores = 9}), nodes("8-11"));
  EXPECT_EQ(there({.partitions = "special", .things = "gpu"}), nodes("12-13"));
  EXPECT_EQ(there({.partitions = "special", .things = "gpu:2"}), nodes("12-13"));
  EXPECT_EQ(error_of({.memory_mb = 4001}),
            "--mem: 4001 MB are more than the 4000 of a node; ask for less");
  EXPECT_EQ(error_of({.cores = 17}),
            "--cpus-per-task: 17 cores are more than the 16 of a node; ask for fewer");
  EXPECT_EQ(error_of({.things = "gpu:3"}),
            "--gres: 3 of 'gpu' are more than the 2 of a node; ask for fewer");
  EXPECT_EQ(error_of({.things = "fpga"}), "--gres: no node has a 'fpga'; use one of gpu");
  EXPECT_EQ(error_of({.memory_mb = 2000, .things = "gpu:1"}),
            "no node of batch has all that is asked of each: 2000 MB, gpu:1; ask for less, or for "
            "another partition");
  // Of nodes of which nobody says how much they have, any amount can be asked: cgroups see to it.
  EXPECT_EQ(where_of({.memory_mb = 5000}, {.walltime = whole_seconds(1)}, {.nodes = 4}), Where{});
}

TEST(Where, IsTheSameWhereTheSameNodesAreMeant) {
  EXPECT_EQ(where({.memory_mb = 1000}), Where{});
  EXPECT_EQ(where({.memory_mb = 1001}), where({.memory_mb = 2000}));
  EXPECT_EQ(where({.partitions = "special", .memory_mb = 2000}),
            where({.partitions = "special", .memory_mb = 1}));
  EXPECT_EQ(where({.cores = 9}), where({.cores = 16}));
  EXPECT_EQ(where({.never = "12-13"}), Where{});
  EXPECT_EQ(where({.only = "0-13"}), Where{});
  EXPECT_EQ(where({.only = "0-3", .never = "2-3"}), where({.only = "0-1"}));
}

TEST(Where, KeepsToNodesAndOffOthers) {
  EXPECT_EQ(there({.only = "3,7-9"}), nodes("3,7-9"));
  EXPECT_EQ(there({.never = "0-9"}), nodes("10-11"));
  EXPECT_EQ(there({.memory_mb = 1001, .never = "8"}), nodes("9-11"));
  EXPECT_EQ(error_of({.only = "x"}),
            "--nodelist: 'x' are no nodes; write their numbers like 0-3,7");
  EXPECT_EQ(error_of({.never = "14"}), "--exclude: there is no node 14; there are 0 to 13");
  EXPECT_EQ(error_of({.never = "0-11"}),
            "--exclude: no node of batch is left that has what is asked; name other nodes");
  EXPECT_EQ(error_of({.only = "12"}),
            "--nodelist: no node of batch is left that has what is asked; name other nodes");
  EXPECT_EQ(error_of({.only = "1", .never = "1-2"}),
            "--exclude: none of the nodes of --nodelist is left; exclude fewer");
}

TEST(Where, ThingsAreReadInWords) {
  const auto things = parse_things("gpu:2,fpga", {.field = "f"});
  ASSERT_EQ(things.size(), 2u);
  EXPECT_EQ(things[0], (std::pair<std::string, std::uint16_t>{"gpu", 2}));
  EXPECT_EQ(things[1], (std::pair<std::string, std::uint16_t>{"fpga", 1}));
  EXPECT_TRUE(parse_things("", {.field = "f"}).empty());
  for (const char* text : {",", "gpu:", "gpu:0", "gpu:a100:2", ":2", "gpu,gpu", "gpu:65536"}) {
    EXPECT_THROW(parse_things(text, {.field = "f"}), InputError) << text;
  }
}

TEST(Where, CountsTheFewestCores) {
  EXPECT_EQ(fewest_cores(nodes("0-13"), platform()), 8u);
  EXPECT_EQ(fewest_cores(nodes("9-13"), platform()), 16u);
  EXPECT_EQ(fewest_cores({}, platform()), 8u);
  EXPECT_EQ(fewest_cores(nodes("0"), {.nodes = 1, .cores_per_node = 3}), 3u);
}

TEST(Where, PartitionsHaveNames) {
  EXPECT_EQ(partition_names(0, platform()), "batch");
  EXPECT_EQ(partition_names(6, platform()), "special,short");
  EXPECT_EQ(partition_names(0, {.nodes = 4}), "");
  EXPECT_EQ(things_text({0, {2, 3}}, platform()), "gpu:2");
  EXPECT_EQ(things_text({}, platform()), "");
}

TEST(Where, APlatformGoesOnAsAnotherOne) {
  const Platform before = platform();
  EXPECT_EQ(continued(before, before), before);
  Platform next = before;
  next.partitions = {
      before.partitions[0], {.name = "new", .nodes = nodes("0")}, before.partitions[2]};
  next.things = {"fpga", "gpu"};
  next.classes[2].has.things = {1, 2};
  const Platform is = continued(before, next);
  ASSERT_EQ(is.partitions.size(), 4u);
  EXPECT_EQ(is.partitions[1], Partition{.name = "special"});
  EXPECT_EQ(is.partitions[2], before.partitions[2]);
  EXPECT_EQ(is.partitions[3].name, "new");
  EXPECT_EQ(is.things, (std::vector<std::string>{"gpu", "fpga"}));
  EXPECT_EQ(is.classes[2].has.things, (std::array<std::uint16_t, 4>{2, 1, 0, 0}));
  std::swap(next.partitions[0], next.partitions[1]);
  EXPECT_THROW(continued(before, next), InputError);
  EXPECT_THROW(continued(before, {.nodes = 14}), InputError);
}

TEST(Where, NodesThatAreGoneStayOfTheirClass) {
  const Platform before = platform();
  Platform next{
      .nodes = 10,
      .classes = {{.name = "large", .nodes = nodes("0-4")}, {.name = "gpu", .nodes = nodes("5-9")}},
      .partitions = {{.name = "batch", .nodes = nodes("0-9")}}};
  const Platform is = continued(before, next);
  EXPECT_EQ(is.nodes, 14u);
  EXPECT_EQ(is.classes[0].nodes, nodes("0-4,10-11"));
  EXPECT_EQ(is.classes[1].nodes, nodes("5-9,12-13"));
  EXPECT_EQ(is.partitions[0].nodes, nodes("0-9"));
}

// Also of features, limits and qualities of service.
Platform with_limits() {
  Platform its = platform();
  its.classes[1].features = {"ib", "avx512"};
  its.classes[2].features = {"ib"};
  its.partitions[1].max_nodes = 3;
  its.partitions[2].users = {7, 9};
  its.qos = {{"urgent", 400}, {"normal", 100}, {"scavenger", 0}};
  return its;
}

std::string refusal(const AskedWhere& asked, const Applicant& who) {
  try {
    where_of(asked, who, with_limits());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Where, IsOnNodesThatHaveAllFeaturesThatAreAsked) {
  const auto there = [](const AskedWhere& asked) {
    return nodes_of(where_of(asked, {}, with_limits()), with_limits());
  };
  EXPECT_EQ(there({.partitions = "special", .features = "ib"}), nodes("8-13"));
  EXPECT_EQ(there({.partitions = "special", .features = "avx512,ib"}), nodes("8-11"));
  EXPECT_EQ(there({.features = "ib"}), nodes("8-11"));
  EXPECT_EQ(there({.only = "3-9", .features = "ib"}), nodes("8-9"));
  EXPECT_EQ(
      refusal({.features = "ib,none"}, {}),
      "--constraint: no node has the feature 'none'; name features of classes, with ',' between "
      "them");
  EXPECT_EQ(refusal({.only = "3-7", .features = "ib"}, {}),
            "--constraint: none of these nodes has ib; name others");
}

TEST(Where, LeavesOutPartitionsThatDoNotAllowSoManyNodesOrTheUser) {
  const auto partitions = [](const Applicant& who) {
    return where_of({.partitions = "special,short"}, who, with_limits()).partitions;
  };
  EXPECT_EQ(partitions({}), 0b110u);
  EXPECT_EQ(partitions({.nodes = 3, .user = 9}), 0b110u);
  EXPECT_EQ(partitions({.nodes = 4, .user = 9}), 0b100u);
  EXPECT_EQ(partitions({.nodes = 3, .user = 8}), 0b010u);
  EXPECT_EQ(
      refusal({.partitions = "special"}, {.nodes = 4}),
      "--nodes: 4 nodes are more than the 3 that a job may have in special; ask for fewer, or "
      "for another partition");
  EXPECT_EQ(refusal({.partitions = "short"}, {.user = 8}),
            "--partition: short is not for user 8; ask for another partition");
  EXPECT_EQ(refusal({.partitions = "short"}, {.walltime = whole_seconds(601), .user = 7}),
            "--time: 601 s are more than the 600 s that are allowed in short; ask for less, or for "
            "another partition");
  EXPECT_EQ(
      refusal({.partitions = "special,short"},
              {.walltime = whole_seconds(601), .nodes = 4, .user = 7}),
      "--partition: none of special,short allows so many nodes for so long; ask for less, or for "
      "another partition");
  EXPECT_EQ(most_nodes(with_limits(), {.partitions = 0b010}), 3u);
  EXPECT_EQ(most_nodes(with_limits(), {.partitions = 0b110}), 3u);  // wherever it is
  EXPECT_GT(most_nodes(with_limits(), {.partitions = 0b100}), 1000u);
}

TEST(Where, CountsMemoryByTheCoresOfANode) {
  const auto memory = [](const AskedWhere& asked) {
    return where_of(asked, {}, with_limits()).each.memory_mb;
  };
  // Nodes of `batch` have 8 cores at least, and 1000 or 4000 MB.
  EXPECT_EQ(memory({.memory_per_core_mb = 125}), 0u);
  EXPECT_EQ(memory({.memory_per_core_mb = 126}), 2000u);
  EXPECT_EQ(memory({.cores = 1, .memory_per_core_mb = 1000}), 0u);
  EXPECT_EQ(memory({.cores = 3, .memory_per_core_mb = 1000}), 4000u);
  EXPECT_EQ(refusal({.memory_mb = 1, .memory_per_core_mb = 1}, {}),
            "--mem-per-cpu: memory is asked for by the node already; leave --mem away");
}

TEST(Where, HasThePriorityOfItsQualityOfService) {
  const auto qos = [](const char* name) { return where_of({.qos = name}, {}, with_limits()).qos; };
  EXPECT_EQ(qos(""), 0);
  EXPECT_EQ(qos("urgent"), 65'535);
  EXPECT_EQ(qos("normal"), 65'535 / 4);
  EXPECT_EQ(qos("scavenger"), 0);
  EXPECT_EQ(refusal({.qos = "best"}, {}),
            "--qos: there is no QOS 'best'; use one of urgent, normal, scavenger");
}

}  // namespace
}  // namespace ductile
