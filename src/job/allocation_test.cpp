#include "job/allocation.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace ductile {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Allocation, NumbersOfNodesAreReadAsSlurmWritesThem) {
  EXPECT_EQ(parse_repeated("16(x2),4"), (Numbers{16, 16, 4}));
  EXPECT_EQ(parse_repeated("3"), Numbers{3});
  EXPECT_EQ(parse_repeated(""), Numbers{});
  for (const char* text :
       {"x", "4(2)", "4(x)", "4(x2", "4x2", "-1", "4(x4294967295)", "1(x999999),1(x9)"}) {
    EXPECT_EQ(parse_repeated(text), std::nullopt) << text;
  }
}

TEST(Allocation, AJobOfSlurmsHasANumber) {
  setenv("SLURM_JOB_ID", "77", 1);
  EXPECT_EQ(slurm_job(), 77u);
  setenv("SLURM_JOB_ID", "x", 1);
  EXPECT_EQ(slurm_job(), std::nullopt);
  unsetenv("SLURM_JOB_ID");
  EXPECT_EQ(slurm_job(), std::nullopt);
}

TEST(Allocation, IsForgottenButForItsJob) {
  setenv("SLURM_JOB_ID", "77", 1);
  setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
  forget_allocation();
  EXPECT_EQ(std::getenv("SLURM_JOB_NODELIST"), nullptr);
  EXPECT_EQ(slurm_job(), 77u);
  unsetenv("SLURM_JOB_ID");
}

}  // namespace
}  // namespace ductile
