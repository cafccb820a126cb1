#include "slurm/node_names.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodeNamesTest : public ::testing::Test {
 public:
  std::string path = ::testing::TempDir() + "nodes";
  void SetUp() override { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
};

TEST_F(NodeNamesTest, ANumberIsThatOfOneNodeForGood) {
  {
    NodeNames names(path);
    names.add({"n1", "n2"});
    names.add({"a0", "n2", "n1"});
    EXPECT_EQ(names.name(2), "a0");
  }
  NodeNames again(path);
  EXPECT_EQ(again.count(), 3U);
  again.add({"b0"});
  EXPECT_EQ(again.find("n1"), 0U);
  EXPECT_EQ(again.find("a0"), 2U);
  EXPECT_EQ(again.find("b0"), 3U);
  EXPECT_EQ(again.find("b1"), std::nullopt);
}

TEST_F(NodeNamesTest, NamesAndNumbersAreTheSame) {
  NodeNames names(path);
  names.add({"n1", "n2", "n3", "n4"});
  const NodeSet nodes = names.nodes({"n4", "n2", "unknown"});
  EXPECT_EQ(to_string(nodes), "1 3");
  EXPECT_THAT(names.names(nodes), ElementsAre("n2", "n4"));
}

TEST_F(NodeNamesTest, ADamagedFileIsRefused) {
  for (const char* text : {"n1\n\nn2\n", "n1\nn2\nn1\n", "n1\nn 2\n", "n1\nn\x01\n"}) {
    write(text);
    try {
      const NodeNames names(path);
      FAIL() << text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path + ":"));
    }
  }
}

}  // namespace
}  // namespace ductile
