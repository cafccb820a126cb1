#include "workload/elastisim_time.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kG = 1e9;

/// 1 GFLOP/s and 1 GB/s each way a node, no latency; files: 4 GB/s in, 2 GB/s out.
SimgridMachine machine() {
  SimgridMachine machine;
  machine.nodes = 16;
  machine.flops_per_s = kG;
  machine.link.bytes_per_s = kG;
  machine.file_system = {{"store", {4 * kG, 0, true}, {2 * kG, 0, true}}};
  return machine;
}

/// Seconds of a phase of these tasks.
double time(const std::string& tasks, Nodes nodes, const SimgridMachine& on = machine(),
            std::uint32_t gpus = 0) {
  const nlohmann::json json = nlohmann::json::parse(R"({"phases": [{"tasks": [)" + tasks + "]}]}");
  Remarks remarks;
  const ElastisimModel model = read_elastisim_model({json, "a.json"}, remarks);
  ElastisimShape shape{nodes, gpus, {{"work", 12 * kG}}};
  shape.shares_links = true;
  return time_of(model.phases[0], shape, on);
}

std::string error_of(const std::string& tasks, Nodes nodes, const SimgridMachine& on = machine(),
                     std::uint32_t gpus = 0) {
  return testing::complaint([&] { time(tasks, nodes, on, gpus); });
}

std::string flops(const std::string& amount, const std::string& pattern) {
  return R"({"type": "cpu", "flops": )" + amount + R"(, "computation_pattern": ")" + pattern +
         "\"}";
}
std::string bytes(const std::string& pattern, const std::string& amount = "12e9") {
  return R"({"type": "cpu", "bytes": )" + amount + R"(, "communication_pattern": ")" + pattern +
         "\"}";
}
std::string file(const std::string& type, const std::string& pattern,
                 const std::string& more = "") {
  return R"({"type": ")" + type + R"(", "bytes": 12e9, "pattern": ")" + pattern + "\"" + more + "}";
}
std::string wait(const std::string& pattern, const std::string& delay,
                 const std::string& more = "") {
  return R"({"type": "idle", "delay": )" + delay + R"(, "pattern": ")" + pattern + "\"" + more +
         "}";
}

TEST(Computation, IsSpreadOverTheRanks) {
  EXPECT_DOUBLE_EQ(time(flops("12e9", "all_ranks"), 4), 3);
  EXPECT_DOUBLE_EQ(time(flops("12e9", "total"), 4), 3);
  EXPECT_DOUBLE_EQ(time(flops("12e9", "uniform"), 4), 12);
  EXPECT_DOUBLE_EQ(time(flops("12e9", "Root_Only"), 4), 12);
  EXPECT_DOUBLE_EQ(time(flops("12e9", "even_ranks"), 5), 4);
  EXPECT_DOUBLE_EQ(time(flops("12e9", "odd_ranks"), 5), 6);
  EXPECT_DOUBLE_EQ(time(flops("12e9", "odd_ranks"), 1), 0);
  EXPECT_DOUBLE_EQ(time(flops("[1e9, 7e9, 2e9, 5e9]", "vector"), 4), 7);
  EXPECT_DOUBLE_EQ(time(flops(R"("work / num_nodes^0.5")", "uniform"), 9), 4);
}

TEST(Communication, LoadsTheLinkOfTheBusiestNode) {
  EXPECT_DOUBLE_EQ(time(bytes("all_to_all"), 4), 3);  // each sends a quarter
  EXPECT_DOUBLE_EQ(time(bytes("gather"), 4), 9);      // the root gets all but its own
  EXPECT_DOUBLE_EQ(time(bytes("scatter"), 4), 9);
  EXPECT_DOUBLE_EQ(time(bytes("master_worker"), 4), 24);  // as ElastiSim counts it
  EXPECT_DOUBLE_EQ(time(bytes("ring"), 4), 3);
  EXPECT_DOUBLE_EQ(time(bytes("ring"), 2), 6);
  EXPECT_DOUBLE_EQ(time(bytes("ring_clockwise"), 4), 3);
  EXPECT_DOUBLE_EQ(time(bytes("ring_counter_clockwise"), 4), 3);
  EXPECT_DOUBLE_EQ(time(bytes("matrix", "[9e9, 1e9, 2e9, 5e9]"), 2), 2);  // on a node: no time
  for (const char* pattern : {"all_to_all", "gather", "scatter", "master_worker", "ring"}) {
    EXPECT_DOUBLE_EQ(time(bytes(pattern), 1), 0) << pattern;
  }
}

TEST(Communication, DependsOnHowLinksAreShared) {
  SimgridMachine one_way = machine();
  one_way.both_ways = false;
  EXPECT_DOUBLE_EQ(time(bytes("all_to_all"), 4, one_way), 6);
  EXPECT_DOUBLE_EQ(time(bytes("gather"), 4, one_way), 9);
  EXPECT_DOUBLE_EQ(time(bytes("master_worker"), 4, one_way), 48);
  EXPECT_DOUBLE_EQ(time(bytes("matrix", "[0, 1e9, 2e9, 0]"), 2, one_way), 3);
  SimgridMachine fat = machine();
  fat.link.shared = false;
  EXPECT_DOUBLE_EQ(time(bytes("all_to_all"), 4, fat), 1);
  SimgridMachine backbone = machine();
  backbone.backbone = {2 * kG, 0, true};
  EXPECT_DOUBLE_EQ(time(bytes("all_to_all"), 4, backbone), 6);
  EXPECT_DOUBLE_EQ(time(bytes("ring"), 4, backbone), 6);
  EXPECT_DOUBLE_EQ(time(bytes("scatter"), 4, backbone), 9);
}

TEST(Communication, PaysLatencyAndWaitsForTheWindow) {
  SimgridMachine far = machine();
  far.link.latency_s = 0.001;
  EXPECT_DOUBLE_EQ(time(bytes("all_to_all"), 4, far), 0.002 + 3);
  far.backbone.latency_s = 0.008;
  // 1 GB from one to one, 4 MiB every 20 ms.
  EXPECT_DOUBLE_EQ(time(bytes("all_to_all"), 4, far), 0.01 + 2 * 0.01 * kG / 4194304);
  EXPECT_DOUBLE_EQ(time(bytes("all_to_all", "0"), 4, far), 0);
}

TEST(ComputationAndCommunication, GoTogether) {
  const auto both = [](const std::string& pattern, const std::string& coupled) {
    return R"({"type": "cpu", "flops": 8e9, "computation_pattern": ")" + pattern +
           R"(", "bytes": 12e9, "communication_pattern": "all_to_all", "coupled": )" + coupled +
           "}";
  };
  SimgridMachine far = machine();
  far.link.latency_s = 0.001;
  EXPECT_DOUBLE_EQ(time(both("all_ranks", "false"), 4, far), 3.002);
  EXPECT_DOUBLE_EQ(time(both("uniform", "false"), 4, far), 8);
  EXPECT_DOUBLE_EQ(time(both("uniform", "true"), 4, far), 8.002);
  EXPECT_DOUBLE_EQ(time(both("all_ranks", "true"), 4, far), 3.002);
  EXPECT_DOUBLE_EQ(time(both("uniform", "true"), 1, far), 8);
  // The ranks meet to communicate; who comes late has computed nothing before.
  EXPECT_DOUBLE_EQ(time(wait("root_only", "5") + "," + both("all_ranks", "false"), 4), 8);
  EXPECT_DOUBLE_EQ(time(wait("root_only", "5") + "," + both("uniform", "false"), 4), 13);
  EXPECT_DOUBLE_EQ(time(wait("odd_ranks", "5") + "," + flops("8e9", "root_only"), 2), 8);
}

TEST(Files, GoThroughTheNodesLinkAndTheFileSystems) {
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "all_ranks"), 4), 3);  // as the file system
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "all_ranks"), 2), 6);  // as a node
  EXPECT_DOUBLE_EQ(time(file("pfs_write", "all_ranks"), 4), 6);
  EXPECT_DOUBLE_EQ(time(file("pfs_write", "uniform"), 4), 24);
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "root_only"), 4), 12);
  EXPECT_DOUBLE_EQ(time(file("pfs_write", "odd_ranks"), 1), 0);
  SimgridMachine two = machine();
  two.file_system = {{"a", {4 * kG, 0, true}, {kG, 0, true}},
                     {"b", {kG, 0, false}, {kG, 0, false}}};
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "all_ranks"), 12, two), 1.5);  // half of it from a
  EXPECT_DOUBLE_EQ(time(file("pfs_write", "all_ranks"), 12, two), 6);
  SimgridMachine far = machine();
  far.link.latency_s = 0.0004;
  far.file_system[0].read.latency_s = 0.0006;
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "all_ranks"), 4, far), 0.001 + 3);
  far.file_system[0].read.latency_s = 0.0096;
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "all_ranks"), 4, far), 0.01 + 2 * 0.01 * 3 * kG / 4194304);
}

TEST(BurstBuffers, AreOfANodeOrStriped) {
  SimgridMachine on = machine();
  on.buffer_read_bytes_per_s = 4 * kG;
  on.buffer_write_bytes_per_s = 2 * kG;
  EXPECT_DOUBLE_EQ(time(file("bb_read", "all_ranks"), 3, on), 1);
  EXPECT_DOUBLE_EQ(time(file("bb_write", "uniform"), 3, on), 6);
  on.buffers_striped = true;
  // A third of all on each buffer; each of three nodes sends two thirds of its own away.
  EXPECT_DOUBLE_EQ(time(file("bb_read", "all_ranks"), 3, on), 8 / 3.0);
  EXPECT_DOUBLE_EQ(time(file("bb_write", "uniform"), 1, on), 6);
  // The root alone sends two thirds of all; the even ones two thirds of their halves.
  EXPECT_DOUBLE_EQ(time(file("bb_write", "root_only"), 3, on), 8);
  EXPECT_DOUBLE_EQ(time(file("bb_read", "root_only"), 3, on), 8);
  EXPECT_DOUBLE_EQ(time(file("bb_write", "even_ranks"), 3, on), 4);
  EXPECT_DOUBLE_EQ(time(file("bb_write", "odd_ranks"), 3, on), 8);
  EXPECT_DOUBLE_EQ(time(file("bb_write", "root_only"), 1, on), 6);  // its own buffer
  const std::string vector = R"({"type": "bb_write", "bytes": [3e9, 0, 9e9], "pattern": "vector"})";
  EXPECT_DOUBLE_EQ(time(vector, 3, on), 6);
  // Who sends and who receives meet on links that take both in turn: 2 GB out and 10 / 3 in, ...
  SimgridMachine one_way = on;
  one_way.both_ways = false;
  EXPECT_DOUBLE_EQ(time(vector, 3, one_way), 6 + 1);
  on.flops_per_striped_byte = 2;
  EXPECT_DOUBLE_EQ(time(file("bb_read", "all_ranks"), 3, on), 8);
  EXPECT_DOUBLE_EQ(time(file("bb_write", "root_only"), 3, on), 8);
}

TEST(Networks, ThatAreNotModelledAreRefusedWhereTheyMatter) {
  SimgridMachine torus = machine();
  torus.unknown_network = "TORUS";
  torus.files_use_link = false;
  torus.buffer_write_bytes_per_s = 2 * kG;
  EXPECT_THAT(error_of(bytes("ring"), 2, torus),
              AllOf(HasSubstr("a.json: /phases/0/tasks/0"), HasSubstr("TORUS")));
  EXPECT_DOUBLE_EQ(time(bytes("ring"), 1, torus), 0);
  EXPECT_DOUBLE_EQ(time(bytes("ring", "0"), 2, torus), 0);
  EXPECT_DOUBLE_EQ(time(flops("12e9", "all_ranks"), 4, torus), 3);
  EXPECT_DOUBLE_EQ(time(file("bb_write", "all_ranks"), 3, torus), 2);
  // Files do not pass the nodes' links there.
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "all_ranks"), 2, torus), 3);
  torus.buffers_striped = true;
  EXPECT_THAT(error_of(file("bb_write", "root_only"), 3, torus), HasSubstr("TORUS"));
}

TEST(Gpus, ComputeAndCommunicate) {
  SimgridMachine on = machine();
  on.gpus = 4;
  on.flops_per_gpu_s = 3 * kG;
  on.gpu_bytes_per_s = 2 * kG;
  const std::string compute =
      R"({"type": "gpu", "flops": 24e9, "computation_pattern": "all_ranks"})";
  const auto send = [](const std::string& pattern) {
    return R"({"type": "gpu", "bytes": 24e9, "communication_pattern": ")" + pattern + "\"}";
  };
  EXPECT_DOUBLE_EQ(time(compute, 2, on, 4), 1);
  EXPECT_DOUBLE_EQ(time(compute, 2, on, 2), 2);
  // One GPU a node: as nodes.
  EXPECT_DOUBLE_EQ(time(send("all_to_all"), 4, on, 1), 6);
  // 4 GPUs on 2 nodes, 12 pairs of 2 GB: a pair of GPUs of a node 4 GB; 8 GB from node to node.
  EXPECT_DOUBLE_EQ(time(send("all_to_all"), 2, on, 2), 8);
  // On one node: 12 pairs of 2 GB, both ways between two.
  EXPECT_DOUBLE_EQ(time(send("all_to_all"), 1, on, 4), 2);
  // A ring of 4 on a node: 6 GB to the right, or 3 GB to each side.
  EXPECT_DOUBLE_EQ(time(send("ring_clockwise"), 1, on, 4), 3);
  EXPECT_DOUBLE_EQ(time(send("ring"), 1, on, 4), 3);
  EXPECT_DOUBLE_EQ(time(send("ring"), 1, on, 2), 12);
  EXPECT_DOUBLE_EQ(time(send("ring_counter_clockwise"), 1, on, 2), 12);
  // A ring of 6 on 2 nodes: 4 GB on each of 6 ways, one way in and one out of each node.
  EXPECT_DOUBLE_EQ(time(send("ring_clockwise"), 2, on, 3), 4);
  EXPECT_THAT(error_of(send("gather"), 2, on, 2), HasSubstr("GPUs do not communicate"));
  EXPECT_THAT(error_of(compute, 2, on, 0), HasSubstr("needs so many GPUs"));
  EXPECT_THAT(error_of(compute, 2, on, 5), HasSubstr("needs so many GPUs"));
  on.gpu_bytes_per_s = 0;
  EXPECT_THAT(error_of(send("ring"), 1, on, 2), HasSubstr("gpu_to_gpu_bw"));
}

TEST(Ranks, GoOnBySelfUntilTheyMeet) {
  // The root works 5 s, then the odd ranks; the even ones do nothing.
  EXPECT_DOUBLE_EQ(time(wait("root_only", "5") + "," + wait("odd_ranks", "4"), 2), 5);
  EXPECT_DOUBLE_EQ(
      time(wait("root_only", "5") + "," + wait("odd_ranks", "4", R"(, "synchronized": true)"), 2),
      9);
  EXPECT_DOUBLE_EQ(
      time(wait("root_only", "5") + "," + bytes("ring", "0") + "," + wait("odd_ranks", "4"), 2), 9);
}

TEST(Iterations, Add) {
  const std::string twice = R"(, "iterations": 7)";
  EXPECT_DOUBLE_EQ(time(wait("uniform", "2", twice), 2), 14);
  EXPECT_DOUBLE_EQ(time(wait("uniform", "2", R"(, "iterations": "num_nodes / 2")"), 5), 4);
  EXPECT_DOUBLE_EQ(time(wait("uniform", "2", R"(, "iterations": 0)"), 5), 0);
  EXPECT_DOUBLE_EQ(time(wait("uniform", "2", R"(, "iterations": 1000000)"), 5), 2e6);
  const auto sequence = [](const std::string& tasks, const std::string& times) {
    return R"({"type": "sequence", "iterations": )" + times + R"(, "tasks": [)" + tasks + "]}";
  };
  // Without a meeting the root and the odd rank each do their own, five times.
  const std::string alone = wait("root_only", "5") + "," + wait("odd_ranks", "4");
  EXPECT_DOUBLE_EQ(time(sequence(alone, "5"), 2), 25);
  // Meeting in the middle they wait for each other, but for the first and the last piece.
  const std::string meeting =
      wait("root_only", "5") + "," + wait("odd_ranks", "4", R"(, "synchronized": true)");
  EXPECT_DOUBLE_EQ(time(sequence(meeting, "1"), 2), 9);
  EXPECT_DOUBLE_EQ(time(sequence(meeting, "3"), 2), 5 + 5 + 5 + 4);
  EXPECT_DOUBLE_EQ(time(sequence(sequence(meeting, "3"), "2"), 2), 5 * 6 + 4);
}

TEST(Background, GoesOnBesideWhatFollows) {
  const std::string async = R"(, "async": true)";
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "root_only", async) + "," + wait("uniform", "5"), 4), 12);
  EXPECT_DOUBLE_EQ(time(file("pfs_read", "root_only", async) + "," + wait("uniform", "15"), 4), 15);
  EXPECT_DOUBLE_EQ(time(wait("uniform", "5") + "," + file("pfs_read", "root_only", async), 4), 17);
  EXPECT_DOUBLE_EQ(time(wait("uniform", "5") + "," +
                            file("pfs_read", "root_only", async + R"(, "iterations": 3)"),
                        4),
                   17);
  // A sequence waits for its own.
  const std::string sequence = R"({"type": "sequence", "iterations": 3, "tasks": [)" +
                               wait("uniform", "5") + "," + file("pfs_read", "root_only", async) +
                               "]}";
  EXPECT_DOUBLE_EQ(time(sequence, 4), 3 * 17);
}

TEST(Times, AreErrorsWhereTheyAreImpossible) {
  SimgridMachine none;
  none.nodes = 4;
  EXPECT_THAT(error_of(flops("1", "uniform"), 2, none),
              HasSubstr("a.json: /phases/0/tasks/0: needs speed"));
  EXPECT_THAT(error_of(file("pfs_read", "uniform"), 2, none), HasSubstr("needs a host with pfs"));
  EXPECT_THAT(error_of(file("bb_read", "uniform"), 2, none), HasSubstr("needs burst buffers"));
  EXPECT_THAT(error_of(flops("\"-1\"", "uniform"), 2), HasSubstr("has -1 flops on 2 nodes"));
  EXPECT_THAT(error_of(bytes("ring", "\"0 - work\""), 2), HasSubstr("bytes on 2 nodes"));
  EXPECT_THAT(error_of(wait("uniform", "\"1 / (num_nodes - 2)\""), 2), HasSubstr("finite"));
  EXPECT_THAT(error_of(flops("\"toil\"", "uniform"), 2), HasSubstr("uses toil"));
  EXPECT_THAT(error_of(flops("[1, 2, 3]", "vector"), 2), HasSubstr("vector has 3 numbers for 2"));
  EXPECT_THAT(error_of(bytes("matrix", "[1, 2, 3]"), 2), HasSubstr("matrix has 3 numbers for 2"));
  EXPECT_THAT(error_of(wait("uniform", "1e13"), 2), HasSubstr("takes"));
  SimgridMachine narrow = machine();
  narrow.link.bytes_per_s = 0;
  EXPECT_THAT(error_of(bytes("ring"), 2, narrow), HasSubstr("takes"));
}

TEST(PhaseIterations, AreWholeNumbersOfTheArguments) {
  ElastisimPhase phase;
  phase.iterations = Formula("steps / 2", {});
  EXPECT_EQ(iterations_of(phase, {{"steps", 7}}), 3u);
  EXPECT_THROW(iterations_of(phase, {{"steps", -7}}), InputError);
  EXPECT_THROW(iterations_of(phase, {{"steps", 1e12}}), InputError);
  EXPECT_THROW(iterations_of(phase, {}), InputError);
}

}  // namespace
}  // namespace ductile
