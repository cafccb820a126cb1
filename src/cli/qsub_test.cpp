#include "cli/qsub.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using Words = std::vector<std::string>;

struct Read {
  Words options{}, ignored{};
  bool operator==(const Read&) const = default;
};

Read resources(std::string_view list) {
  Read read;
  read.options = options_of_resources(list, read.ignored);
  return read;
}

Read qsub(const Words& words) {
  Read read;
  read.options = options_of_qsub(words, read.ignored);
  return read;
}

TEST(Qsub, ResourcesAreNodesProcessesAndTime) {
  EXPECT_EQ(resources("nodes=2:ppn=8,walltime=3600"),
            (Read{{"--nodes=2", "--ntasks-per-node=8", "--time=1:0:0"}, {}}));
  EXPECT_EQ(resources("walltime=1:30").options, Words{"--time=0:1:30"});
  EXPECT_EQ(resources("walltime=10:20:30").options, Words{"--time=10:20:30"});
  EXPECT_EQ(resources("walltime=2:00:00:01").options, Words{"--time=48:0:1"});
  EXPECT_EQ(resources("select=4:mpiprocs=2:ncpus=2"),
            (Read{{"--nodes=4", "--ntasks-per-node=2"}, {"-l nodes=..:ncpus=2"}}));
  EXPECT_EQ(resources("mem=4gb,nodes=1"), (Read{{"--nodes=1"}, {"-l mem=4gb"}}));
}

TEST(Qsub, WhatIsNoNumberOrTimeIsAnError) {
  for (const char* wrong : {"nodes=host1+host2", "nodes=", "nodes=-1", "nodes=2+3",
                            "walltime=", "walltime=1:", "walltime=:1", "walltime=1:2:3:4:5",
                            "walltime=x", "walltime=-5"}) {
    EXPECT_THROW(resources(wrong), InputError) << wrong;
  }
}

TEST(Qsub, OptionsAreThoseOfSubmit) {
  EXPECT_EQ(
      qsub({"-l", "nodes=2", "-L", "max=6,type=charm++", "-N", "name", "-A", "me"}).options,
      (Words{"--nodes=2", "--malleability=max=6,type=charm++", "--job-name=name", "--account=me"}));
  EXPECT_EQ(qsub({"-lnodes=2:ppn=1", "-o", "host:/a/b", "-e/c", "-j", "oe", "-V", "-h"}).options,
            (Words{"--nodes=2", "--ntasks-per-node=1", "--output=/a/b", "--error=/c", "--hold"}));
  EXPECT_EQ(
      qsub({"-W", "depend=afterok:1.server:2", "-t", "0-3%2", "-p", "-5", "-d", "/d"}).options,
      (Words{"--dependency=afterok:1:2", "--array=0-3%2", "--priority=-5", "--chdir=/d"}));
  EXPECT_EQ(qsub({"-a", "203012311600", "-r", "y"}).options,
            (Words{"--begin=2030-12-31T16:00", "--requeue"}));
  EXPECT_EQ(qsub({"-q", "batch", "-l", "nodes=2:ppn=1:gpus=3"}).options,
            (Words{"--partition=batch", "--nodes=2", "--ntasks-per-node=1", "--gres=gpu:3"}));
  EXPECT_EQ(qsub({"-a", "1630", "-r", "n"}).options, Words{"--begin=16:30"});
}

TEST(Qsub, AttributesAreOneByOne) {
  const Read read = qsub({"-W", "depend=afterok:1.server:2,group_list=x,umask=022"});
  EXPECT_EQ(read.options, Words{"--dependency=afterok:1:2"});
  EXPECT_EQ(read.ignored, (Words{"-W group_list=x", "-W umask=022"}));
  const Read other = qsub({"-W", "group_list=x,depend=afterok:1.server,afterany:2.server"});
  EXPECT_EQ(other.options, Words{"--dependency=afterok:1,afterany:2"});
  EXPECT_EQ(other.ignored, Words{"-W group_list=x"});
}

TEST(Qsub, WhatMeansNothingIsTold) {
  EXPECT_EQ(
      qsub({"-S", "/bin/sh", "-m", "abe", "-I", "word", "-W", "umask=7", "-a", "12", "--long"}),
      (Read{{}, {"-S /bin/sh", "-m abe", "-I", "word", "-W umask=7", "-a 12", "--long"}}));
}

}  // namespace
}  // namespace ductile
