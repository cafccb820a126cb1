#include "simulation/orders_file.hpp"

#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

std::vector<FileOrder> read_text(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/orders.txt";
  std::ofstream(path) << text;
  return read_orders(path, 8);
}

std::string complaint(const std::string& text) {
  try {
    read_text(text);
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("orders.txt") + 10);
  }
  return "";
}

TEST(OrdersFile, HasFourOrders) {
  const auto orders = read_text(
      "# night\n10 suspend 4\r\n\n10\tresume 4 # again\n20.5 resize 7 8\n30 resize 7 0\n"
      "40 migrate 7\n40 migrate 7 off 0-1 3\n");
  ASSERT_EQ(orders.size(), 6u);
  EXPECT_EQ(orders[0].job, 4u);
  EXPECT_EQ(orders[0].where.line, 2u);
  EXPECT_EQ(orders[0].order.at, Time{whole_seconds(10)});
  EXPECT_EQ(std::get<Stop>(orders[0].order.what), Stop::suspend);
  EXPECT_TRUE(std::holds_alternative<OperatorOrder::Resume>(orders[1].order.what));
  EXPECT_EQ(orders[2].order.at, Time{seconds(20.5)});
  EXPECT_EQ(std::get<OperatorOrder::Resize>(orders[2].order.what).to, 8u);
  EXPECT_EQ(std::get<OperatorOrder::Resize>(orders[3].order.what).to, 0u);
  EXPECT_TRUE(std::get<OperatorOrder::Leave>(orders[4].order.what).off.empty());
  EXPECT_EQ(std::get<OperatorOrder::Leave>(orders[5].order.what).off, (NodeSet{{{0, 1}, {3, 3}}}));
  EXPECT_TRUE(read_text("# nothing\n").empty());
}

TEST(OrdersFile, SaysWhatIsWrong) {
  EXPECT_EQ(complaint("soon suspend 1\n"),
            ":1: time: 'soon' is not possible; write seconds from 0 to 1e12");
  EXPECT_EQ(complaint("5 suspend 1\n4 resume 1\n"),
            ":2: time: is before that of the line before; write the lines by time");
  EXPECT_EQ(complaint("5 stop 1\n"),
            ":1: order: 'stop' is not possible; write suspend, resume, resize or migrate");
  EXPECT_EQ(complaint("5\n"), ":1: order: is missing; write suspend, resume, resize or migrate");
  EXPECT_EQ(complaint("5 suspend x\n"),
            ":1: job: 'x' is not possible; write the number of a job of the workload");
  EXPECT_EQ(complaint("5 resize 1\n"),
            ":1: nodes: is missing; write how many nodes the job shall have");
  EXPECT_EQ(complaint("5 resize 1 9\n"), ":1: nodes: the machine has 8 nodes; write no more");
  EXPECT_EQ(complaint("5 migrate 1 from 2\n"),
            ":1: line: 'from' is not possible; write off and nodes, or nothing");
  EXPECT_EQ(complaint("5 migrate 1 off\n"),
            ":1: nodes: is missing; write node numbers such as 0-3,7");
  EXPECT_EQ(complaint("5 migrate 1 off 8\n"),
            ":1: nodes: the machine has no node 8; its nodes are 0 to 7");
  EXPECT_EQ(complaint("5 resume 1 2\n"), ":1: line: '2' is not possible; leave it away");
  EXPECT_THROW(read_orders("/no/such/file", 8), InputError);
}

TEST(OrdersFile, IsForJobsByTheirNumbers) {
  Workload workload;
  for (const std::uint64_t name : {7, 4, 5, 5}) workload.jobs.push_back({.name = name});
  const auto orders = orders_of(read_text("1 suspend 4\n2 suspend 7\n"), workload);
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].job, JobId{1});
  EXPECT_EQ(orders[1].job, JobId{0});
  EXPECT_THROW(orders_of(read_text("1 suspend 5\n"), workload), InputError);
  try {
    orders_of(read_text("1 suspend 4\n1 suspend 8\n"), workload);
    FAIL();
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.substr(what.find("orders.txt")),
              "orders.txt:2: job: there is no job 8 in the workload; name jobs by their numbers "
              "there");
  }
}

}  // namespace
}  // namespace ductile
