#include "workload/archive.hpp"

#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Archive, LogsHaveANameAndAFolder) {
  std::set<std::string_view> names;
  for (const ArchivedLog& log : archived_logs()) {
    EXPECT_FALSE(log.name.empty());
    EXPECT_TRUE(log.folder.starts_with("l_")) << log.name;
    EXPECT_TRUE(names.insert(log.name).second) << log.name;
    EXPECT_EQ(log.bytes == 0, log.checksum == 0) << log.name;
    EXPECT_EQ(&archived_log(log.name), &log);
  }
}

TEST(Archive, FindsLogsByTheBeginningOfTheirNames) {
  EXPECT_EQ(archived_log("cea-curie").name, "CEA-Curie-2011-2.1-cln");
  EXPECT_EQ(archived_log("KTH-SP2-1996-2").name, "KTH-SP2-1996-2");
  EXPECT_EQ(url_of(archived_log("RICC")),
            "https://www.cs.huji.ac.il/labs/parallel/workload/l_ricc/RICC-2010-2.swf.gz");
  EXPECT_EQ(url_of(archived_log("RICC"), "http://here/"), "http://here/l_ricc/RICC-2010-2.swf.gz");
  EXPECT_THAT([] { archived_log("KTH"); },
              ThrowsMessage<InputError>(HasSubstr("KTH-SP2-1996-2, KTH-SP2-1996-2.1-cln")));
  EXPECT_THAT([] { archived_log("nowhere"); },
              ThrowsMessage<InputError>(HasSubstr("no log is known as 'nowhere'; there are NASA")));
}

}  // namespace
}  // namespace ductile
