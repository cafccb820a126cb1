#include "report/packed.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ductile {
namespace {

// The text is that of Python: base64(zlib.compress(bytes, 6)).
TEST(Packed, IsColumnsOfDifferencesInZlibsFormat) {
  Packed table({"at", "reason"});
  table.add({5, table.word("reason", "in-order")});
  table.add({3, table.word("reason", "backfilled")});
  table.add({1'000'000'000'003, table.word("reason", "in-order")});
  const nlohmann::ordered_json json = table.json();
  EXPECT_EQ(json["rows"], 3);
  EXPECT_EQ(json["columns"].dump(), "[\"at\",\"reason\"]");
  EXPECT_EQ(json["words"].dump(), "{\"reason\":[\"in-order\",\"backfilled\"]}");
  EXPECT_EQ(json["data"], "eJzjYm44sOLULCsGJkYAGFoDlw==");
}

TEST(Packed, MayBeEmpty) {
  const nlohmann::ordered_json json = Packed({"at"}).json();
  EXPECT_EQ(json["rows"], 0);
  EXPECT_EQ(json["data"], "eJwDAAAAAAE=");
}

}  // namespace
}  // namespace ductile
