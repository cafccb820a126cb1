#include "workload/simgrid.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Parsed {
  SimgridMachine machine;
  std::vector<std::string> remarks;
};

Parsed parse(const std::string& inside) {
  Parsed parsed;
  const std::string text =
      "<?xml version='1.0'?>\n<platform version=\"4.1\">\n" + inside + "\n</platform>\n";
  parsed.machine = parse_simgrid(text, "p.xml", parsed.remarks);
  return parsed;
}

std::string error_of(const std::string& inside) {
  return testing::complaint([&] { parse(inside); });
}

void expect_path(const NetworkPath& path, double bytes_per_s, double latency_s) {
  EXPECT_DOUBLE_EQ(path.bytes_per_s, bytes_per_s);
  EXPECT_DOUBLE_EQ(path.latency_s, latency_s);
  EXPECT_TRUE(path.shared);
}

const char* const kSite = R"(
<!-- what most platforms look like -->
<zone id="site" routing="Full">
  <zone id="head" routing="Full">
    <host id="batch" speed="0Gf"><prop id="batch_system" value="true"/></host>
  </zone>
  <cluster id="c" prefix="n" radical="100-227" suffix="" speed="100Gf" bw="100Gbps" lat="50us"/>
  <zone id="files" routing="Full">
    <host id="store" speed="0Gf"><prop id="pfs_host" value="true"/></host>
  </zone>
  <link id="r" bandwidth="80GBps" latency="500us"/>
  <link id="w" bandwidth="50GBps" latency="400us"/>
  <zoneRoute src="files" dst="c" gw_src="store" gw_dst="nc_router" symmetrical="NO">
    <link_ctn id="r"/>
  </zoneRoute>
  <zoneRoute src="c" dst="files" gw_src="nc_router" gw_dst="store" symmetrical="NO">
    <link_ctn id="w"/>
  </zoneRoute>
</zone>)";

TEST(Simgrid, ReadsAClusterAndItsFileSystem) {
  const auto [machine, remarks] = parse(kSite);
  EXPECT_EQ(machine.nodes, 128u);
  EXPECT_DOUBLE_EQ(machine.flops_per_s, 100e9);
  expect_path(machine.link, 12.5e9, 50e-6);
  EXPECT_TRUE(machine.both_ways);
  EXPECT_EQ(machine.backbone, NetworkPath{});
  ASSERT_EQ(machine.file_system.size(), 1u);
  EXPECT_EQ(machine.file_system[0].name, "store");
  expect_path(machine.file_system[0].read, 80e9, 500e-6);
  expect_path(machine.file_system[0].write, 50e9, 400e-6);
  EXPECT_EQ(machine.gpus, 0u);
  EXPECT_DOUBLE_EQ(machine.buffer_read_bytes_per_s, 0);
  EXPECT_THAT(remarks, IsEmpty());
}

TEST(Simgrid, ReadsBurstBuffersGpusAndBackbones) {
  const auto [machine, remarks] = parse(R"(
<cluster id="c" radical="0-3,7,10-11" speed="1e9" bw="1GBps" lat="1ms" sharing_policy="SHARED"
         bb_bw="2.5GBps" bb_lat="2us" bb_sharing_policy="FATPIPE">
  <prop id="node_local_bb" value="true"/><prop id="bb_read_bw" value="4GBps"/>
  <prop id="bb_write_bw" value="2GBps"/><prop id="wide_striping" value="true"/>
  <prop id="flops_per_byte" value="3"/>
  <prop id="num_gpus" value="4"/><prop id="flops_per_gpu" value="20Tf"/>
  <prop id="gpu_to_gpu_bw" value="50GBps"/>
</cluster>)");
  EXPECT_EQ(machine.nodes, 7u);
  EXPECT_FALSE(machine.both_ways);
  EXPECT_EQ(machine.backbone, (NetworkPath{2.5e9, 2e-6, false}));
  EXPECT_DOUBLE_EQ(machine.buffer_read_bytes_per_s, 4e9);
  EXPECT_DOUBLE_EQ(machine.buffer_write_bytes_per_s, 2e9);
  EXPECT_TRUE(machine.buffers_striped);
  EXPECT_DOUBLE_EQ(machine.flops_per_striped_byte, 3);
  EXPECT_EQ(machine.gpus, 4u);
  EXPECT_DOUBLE_EQ(machine.flops_per_gpu_s, 20e12);
  EXPECT_DOUBLE_EQ(machine.gpu_bytes_per_s, 50e9);
}

TEST(Simgrid, ReadsUnits) {
  const auto speed = [](const std::string& text) {
    return parse("<host id='h' speed='" + text + "'/>").machine.flops_per_s;
  };
  EXPECT_DOUBLE_EQ(speed("100"), 100);
  EXPECT_DOUBLE_EQ(speed("1.5kf"), 1500);
  EXPECT_DOUBLE_EQ(speed("2Kif"), 2048);
  EXPECT_DOUBLE_EQ(speed("3Tf"), 3e12);
  EXPECT_DOUBLE_EQ(speed("3Gf,1Gf"), 3e9);  // the first of its p-states
  const auto link = [](const std::string& bandwidth, const std::string& latency) {
    return parse("<cluster id='c' radical='0-1' speed='1f' bw='" + bandwidth + "' lat='" + latency +
                 "'/>")
        .machine.link;
  };
  EXPECT_DOUBLE_EQ(link("8Mbps", "1").bytes_per_s, 1e6);
  EXPECT_DOUBLE_EQ(link("8MiBps", "1").bytes_per_s, 8 * 1048576.0);
  EXPECT_DOUBLE_EQ(link("125", "1").bytes_per_s, 125);
  EXPECT_DOUBLE_EQ(link("1Bps", "1m").latency_s, 60);
  EXPECT_DOUBLE_EQ(link("1Bps", "2ns").latency_s, 2e-9);
  EXPECT_DOUBLE_EQ(link("1Bps", "").latency_s, 0);
}

TEST(Simgrid, FindsTheWayThroughZones) {
  // The route is between zones around; the narrowest link of it decides, and it goes both ways.
  const auto [machine, remarks] = parse(R"(
<AS id="all" routing="Full">
  <AS id="left" routing="Full"><cluster id="c" radical="0-1" speed="1f" bw="9Bps" lat="1s"/></AS>
  <AS id="right" routing="Full">
    <host id="a" speed="1f"><prop id="pfs_host" value="true"/></host>
    <host id="b" speed="1f"><prop id="pfs_host" value="true"/></host>
  </AS>
  <link id="x" bandwidth="5Bps" latency="1s" sharing_policy="FATPIPE"/>
  <link id="y" bandwidth="7Bps" latency="2s"/>
  <ASroute src="left" dst="right"><link_ctn id="y"/><link_ctn id="x"/></ASroute>
</AS>)");
  ASSERT_EQ(machine.file_system.size(), 2u);
  EXPECT_EQ(machine.file_system[1].read, (NetworkPath{5, 3, false}));
  EXPECT_EQ(machine.file_system[1].write, (NetworkPath{5, 3, false}));
  EXPECT_THAT(remarks, IsEmpty());
}

TEST(Simgrid, KeepsToTheTargetsOfANode) {
  const std::string hosts = R"(
<host id="a" speed="1f"><prop id="pfs_host" value="true"/></host>
<host id="b" speed="1f"><prop id="pfs_host" value="true"/></host>
<host id="d" speed="1f"><prop id="pfs_host" value="true"/></host>)";
  const auto cluster = [](const std::string& targets) {
    return "<cluster id='c' radical='0-1' speed='1f' bw='9Bps' lat='1s'>"
           "<prop id='pfs_targets' value='" +
           targets + "'/></cluster>";
  };
  const auto names = [&](const std::string& targets) {
    std::vector<std::string> found;
    for (const auto& host : parse(hosts + cluster(targets)).machine.file_system) {
      found.push_back(host.name);
    }
    return found;
  };
  EXPECT_THAT(names("b"), ElementsAre("b"));
  EXPECT_THAT(names("d,a"), ElementsAre("d", "a"));
  EXPECT_THAT(names("d;a;"), ElementsAre("d", "a"));
  EXPECT_THAT(error_of(hosts + cluster("e")), HasSubstr("'e' is no host with pfs_host"));
}

TEST(Simgrid, TakesDifferentNodesAsTheSlowestAndSaysSo) {
  const auto [machine, remarks] = parse(R"(
<cluster id="c" radical="0-9" speed="3Gf" bw="1GBps" lat="1us"/>
<cluster id="d" radical="0-4" speed="2Gf" bw="2GBps" lat="3us"/>
<host id="h" speed="9Gf"><prop id="pfs_targets" value=""/></host>)");
  EXPECT_EQ(machine.nodes, 16u);
  EXPECT_DOUBLE_EQ(machine.flops_per_s, 2e9);
  EXPECT_EQ(machine.link, (NetworkPath{1e9, 3e-6, true}));
  EXPECT_THAT(remarks, Contains(HasSubstr("nodes differ in speed")));
  EXPECT_THAT(remarks, Contains(HasSubstr("nodes differ in their links")));
  EXPECT_THAT(remarks, Contains(HasSubstr("single hosts")));
}

TEST(Simgrid, TellsWhatItDoesNotModel) {
  const auto remarks = parse(R"(
<zone id="z" routing="Full"><prop id="x" value="y"/><router id="r"/>
<cluster id="c" radical="0-9" speed="3Gf" bw="1GBps" lat="1us" core="4"/>
<host id="h" speed="1f"><prop id="pfs_host" value="true"/></host>
<link id="l" bandwidth="1Bps" latency="0"/>
<trace id="t"/><trace id="u"/>
</zone>)")
                           .remarks;
  EXPECT_THAT(remarks, Contains(HasSubstr("several cores")));
  EXPECT_THAT(remarks, Contains(HasSubstr("<trace> is not read (2 times)")));
  EXPECT_THAT(remarks, Contains(HasSubstr("no direct route from h to c")));
  EXPECT_EQ(remarks.size(), 4u);  // and back
}

TEST(Simgrid, KnowsWhichNetworksItDoesNotModel) {
  const auto of = [](const std::string& topology, const std::string& parameters = "") {
    return parse("<cluster id='c' radical='0-15' speed='1f' bw='1Bps' topology='" + topology +
                 "' topo_parameters='" + parameters + "'/>");
  };
  EXPECT_EQ(of("FLAT").machine.unknown_network, "");
  EXPECT_TRUE(of("FLAT").machine.files_use_link);
  for (const char* topology : {"TORUS", "DRAGONFLY", "HYPERCUBE"}) {
    EXPECT_EQ(of(topology, "4,4").machine.unknown_network, topology);
    EXPECT_FALSE(of(topology, "4,4").machine.files_use_link);
  }
  // Four nodes below each switch, and as many cables above it; or fewer.
  for (const char* wide : {"2;4,4;1,2;1,2", "2;4,4;1,4;1,1", "1;16;1;1", "3;2,2,4;1,2,2;1,1,1"}) {
    const auto [machine, remarks] = of("FAT_TREE", wide);
    EXPECT_EQ(machine.unknown_network, "") << wide;
    EXPECT_FALSE(machine.files_use_link);
    EXPECT_THAT(remarks, ElementsAre(HasSubstr("a FAT_TREE is taken as one switch")));
  }
  for (const char* narrow : {"2;4,4;1,2;1,1", "3;2,2,4;1,2,1;1,1,1", "", "2;4,4;1,2", "2;4;1;1",
                             "x", "2;4,4;1,2;1,x", "2;4,4;1,2;1,2;7", ";;;"}) {
    EXPECT_EQ(of("FAT_TREE", narrow).machine.unknown_network, "FAT_TREE") << narrow;
  }
}

TEST(Simgrid, SaysWhatIsWrongAndWhere) {
  const std::string cluster = "<cluster id='c' radical='0-9' speed='3Gf' bw='1GBps' lat='1us'>";
  EXPECT_THAT(error_of("<zone id='z'>"), HasSubstr("p.xml:4: Start-end tags mismatch"));
  EXPECT_THAT(error_of(""), HasSubstr("no compute nodes"));
  EXPECT_THAT(error_of("\n<host id='h' speed='fast'/>"),
              HasSubstr("p.xml:4: speed: 'fast' is not understood; write it as 100Gf"));
  EXPECT_THAT(error_of("<host id='h' speed='1Xf'/>"), HasSubstr("speed"));
  EXPECT_THAT(error_of("<host id='h' speed='-1f'/>"), HasSubstr("speed"));
  EXPECT_THAT(error_of("<host id='h' speed='nan'/>"), HasSubstr("speed"));
  EXPECT_THAT(error_of("<cluster id='c' radical='9-0' speed='1f' bw='1Bps'/>"),
              HasSubstr("upside down"));
  EXPECT_THAT(error_of("<cluster id='c' radical='0-x' speed='1f' bw='1Bps'/>"),
              HasSubstr("radical: '0-x' is no range"));
  EXPECT_THAT(error_of("<cluster id='c' radical='0-20000000' speed='1f' bw='1Bps'/>"),
              HasSubstr("20000001 nodes"));
  EXPECT_THAT(error_of("<cluster id='c' radical='0-1' speed='1f' bw='much'/>"), HasSubstr("bw"));
  EXPECT_THAT(error_of("<cluster id='c' radical='0-1' speed='1f' bw='1Bps' lat='1y'/>"),
              HasSubstr("lat"));
  EXPECT_THAT(error_of(cluster + "<prop id='node_local_bb' value='true'/></cluster>"),
              HasSubstr("bb_read_bw"));
  EXPECT_THAT(error_of(cluster + "<prop id='num_gpus' value='1.5'/></cluster>"),
              HasSubstr("num_gpus"));
  EXPECT_THAT(error_of(cluster + "<prop id='num_gpus' value='2'/></cluster>"),
              HasSubstr("flops_per_gpu"));
  EXPECT_THAT(error_of("<zoneRoute src='a' dst='b'><link_ctn id='l'/></zoneRoute>"),
              HasSubstr("there is no link 'l'"));
  const std::string batch = "<host id='h' speed='1f'><prop id='batch_system' value='true'/></host>";
  EXPECT_THAT(error_of(batch + batch), HasSubstr("given twice"));
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "<zone id='z'>";
  for (int i = 0; i < 200; ++i) deep += "</zone>";
  EXPECT_THAT(error_of(deep), HasSubstr("too deep"));
  std::vector<std::string> remarks;
  EXPECT_THROW(parse_simgrid("<other/>", "p.xml", remarks), InputError);
  EXPECT_THROW(parse_simgrid("", "p.xml", remarks), InputError);
}

TEST(Simgrid, HostsOfBatsimThatOnlyServeAreNoComputeNodes) {
  const Parsed parsed = parse(R"(
<zone id="AS0" routing="Full">
  <cluster id="A" prefix="a" suffix="" radical="0-15" speed="1Gf" bw="1GBps" lat="5us" bb_bw="3GBps"/>
  <cluster id="M" prefix="m" suffix="" radical="0-0" speed="2Gf" bw="1GBps" lat="5us">
    <prop id="role" value="master"/>
  </cluster>
  <cluster id="P" prefix="p" suffix="" radical="0-3" speed="2Gf" bw="1GBps" lat="5us">
    <prop id="role" value="storage"/>
  </cluster>
  <host id="master_host" speed="5Gf"/>
</zone>)");
  EXPECT_EQ(parsed.machine.nodes, 16u);
  EXPECT_DOUBLE_EQ(parsed.machine.flops_per_s, 1e9);
  EXPECT_DOUBLE_EQ(parsed.machine.backbone.bytes_per_s, 3e9);
  EXPECT_THAT(parsed.remarks, IsEmpty());
}

TEST(Simgrid, CabinetsShareTheBackboneOfTheirZone) {
  const Parsed parsed = parse(R"(
<zone id="c" routing="Cluster">
  <cabinet id="c1" prefix="a" suffix="" speed="16.673E9flops" bw="56Gbps" lat="1us" radical="0-9"/>
  <cabinet id="c2" prefix="b" suffix="" speed="16.673E9flops" bw="56Gbps" lat="1us" radical="10-29"/>
  <cabinet id="c3" prefix="master_host" suffix="" speed="3Gf" bw="56Gbps" lat="1us" radical="0-0"/>
  <backbone id="b" bandwidth="2.25GBps" latency="500us"/>
</zone>)");
  EXPECT_EQ(parsed.machine.nodes, 30u);
  EXPECT_DOUBLE_EQ(parsed.machine.flops_per_s, 16.673e9);
  EXPECT_DOUBLE_EQ(parsed.machine.link.bytes_per_s, 7e9);
  expect_path(parsed.machine.backbone, 2.25e9, 500e-6);
  EXPECT_THAT(parsed.remarks, IsEmpty());
}

}  // namespace
}  // namespace ductile
