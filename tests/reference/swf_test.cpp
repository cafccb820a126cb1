// Real logs give the jobs that independent programs found in them.
#include "workload/swf.hpp"

#include <cctype>
#include <string>

#include <gtest/gtest.h>

#include "support/reference.hpp"

namespace ductile {
namespace {

class SwfReference : public ::testing::TestWithParam<ReferenceLog> {};

TEST_P(SwfReference, JobsAndSkippedLinesAreAsMany) {
  const std::filesystem::path shared = shared_dir(DUCTILE_SHARED_DIR);
  if (shared.empty()) GTEST_SKIP() << "the reference results are not at hand";
  const auto expected = reference_figures(shared / "reference" / "easy.jsonl");
  const Workload workload = read_reference_log(GetParam(), shared);
  const ReferenceFigures& figures = expected.at({GetParam().name, "easy"});
  EXPECT_EQ(workload.jobs.size(), figures.jobs);
  EXPECT_EQ(workload.skipped.total(), figures.skipped);
}

INSTANTIATE_TEST_SUITE_P(Logs, SwfReference, ::testing::ValuesIn(reference_logs()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::erase_if(name, [](unsigned char c) { return !std::isalnum(c); });
                           return name;
                         });

}  // namespace
}  // namespace ductile
