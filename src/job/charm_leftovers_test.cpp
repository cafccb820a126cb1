#include "job/charm_leftovers.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(CharmLeftovers, ReadsTheTableOfTheKernel) {
  const auto connections = parse_tcp_table(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode                                                     \n"
      "   0: 0100007F:10E1 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
      "4711 1 0000000000000000 100 0 0 10 0                     \n"
      "  17: 0100007F:8B89 0100007F:C3D0 01 00000000:0000003C 00:00000000 00000000     0        0 "
      "0 1 0000000000000000 20 0 0 10 -1                     \n");
  ASSERT_EQ(connections.size(), 2u);
  EXPECT_EQ(connections[0].local, "0100007F:10E1");
  EXPECT_EQ(connections[0].inode, 4711u);
  EXPECT_EQ(connections[1].remote, "0100007F:C3D0");
  EXPECT_EQ(connections[1].inode, 0u);
}

}  // namespace
}  // namespace ductile
