#include "simulation/checksum.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

// The check value of CRC-64/XZ in the catalogue of CRC algorithms.
TEST(Checksum, IsTheOneOfXz) { EXPECT_EQ(Checksum().add("123456789").text(), "995dc9bbdf1939fa"); }

TEST(Checksum, HasAllItsDigits) { EXPECT_EQ(Checksum().text(), "0000000000000000"); }

TEST(Checksum, DoesNotDependOnTheParts) {
  EXPECT_EQ(Checksum().add("12345").add("").add("6789").value(),
            Checksum().add("123456789").value());
  EXPECT_NE(Checksum().add("123456798").value(), Checksum().add("123456789").value());
}

}  // namespace
}  // namespace ductile
