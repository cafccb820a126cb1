#include "model/job_spec.hpp"

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(JobType, SaysWhoChoosesTheSizeAndWhen) {
  for (const JobType type : {JobType::rigid, JobType::evolving}) {
    EXPECT_FALSE(sizes_at_start(type));
    EXPECT_FALSE(sizes_while_running(type));
  }
  EXPECT_TRUE(sizes_at_start(JobType::moldable));
  EXPECT_FALSE(sizes_while_running(JobType::moldable));
  for (const JobType type : {JobType::malleable, JobType::adaptive}) {
    EXPECT_TRUE(sizes_at_start(type));
    EXPECT_TRUE(sizes_while_running(type));
  }
}

}  // namespace
}  // namespace ductile
