#include "scheduling/job.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

constexpr std::uint32_t kPage = 1024;

TEST(JobTable, IdsAreDense) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const JobId id = jobs.add();
    EXPECT_EQ(index(id), i);
    jobs[id].spec.name = i;
  }
  EXPECT_EQ(jobs.size(), 3000u);
  EXPECT_EQ(jobs[JobId{2999}].spec.name, 2999u);
  EXPECT_FALSE(jobs.contains(JobId{3000}));
  EXPECT_FALSE(jobs.contains(JobId::none));
}

TEST(JobTable, APageGoesWhenAllItsJobsAreOver) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < 2 * kPage; ++i) jobs.add();
  for (std::uint32_t i = 0; i + 1 < kPage; ++i) jobs.retire(JobId{i});
  EXPECT_TRUE(jobs.contains(JobId{0}));
  jobs.retire(JobId{kPage - 1});
  EXPECT_FALSE(jobs.contains(JobId{0}));
  EXPECT_FALSE(jobs.contains(JobId{kPage - 1}));
  EXPECT_TRUE(jobs.contains(JobId{kPage}));
  EXPECT_EQ(index(jobs.add()), 2 * kPage);  // ids are never used again
}

TEST(JobTable, APageThatIsNotFullStays) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < 10; ++i) jobs.retire(jobs.add());
  EXPECT_TRUE(jobs.contains(JobId{0}));
}

TEST(JobTable, ATableOfThePastHasTheJobsThatAreRevived) {
  JobTable jobs(2 * kPage + 10);
  EXPECT_EQ(jobs.size(), 2 * kPage + 10);
  EXPECT_FALSE(jobs.contains(JobId{5}));
  jobs.revive(JobId{5}).spec.name = 55;
  jobs.revive(JobId{2 * kPage + 3});
  EXPECT_TRUE(jobs.knows(JobId{5}));
  EXPECT_EQ(jobs[JobId{5}].spec.name, 55u);
  for (const std::uint32_t i : {4u, kPage + 5, 2 * kPage + 9}) EXPECT_FALSE(jobs.knows(JobId{i}));
  EXPECT_EQ(index(jobs.add()), 2 * kPage + 10);  // in a page that is there
  EXPECT_TRUE(jobs.knows(JobId{2 * kPage + 10}));
  std::vector<std::uint32_t> seen;
  jobs.for_each([&](JobId id) { seen.push_back(index(id)); });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{5, 2 * kPage + 3, 2 * kPage + 10}));
  // A page goes as it would have gone before.
  jobs[JobId{5}].status = Status::over;
  jobs.retire(JobId{5});
  EXPECT_FALSE(jobs.contains(JobId{5}));
  for (std::uint32_t i = 2 * kPage + 11; i < 3 * kPage; ++i) jobs.retire(jobs.add());
  jobs.retire(JobId{2 * kPage + 3});
  EXPECT_TRUE(jobs.contains(JobId{2 * kPage}));
  jobs.retire(JobId{2 * kPage + 10});
  EXPECT_FALSE(jobs.contains(JobId{2 * kPage}));
}

TEST(JobTable, CopiesAreIndependent) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < kPage + 1; ++i) jobs.add();
  JobTable copy = jobs;
  jobs[JobId{5}].spec.name = 1;
  EXPECT_EQ(copy[JobId{5}].spec.name, 0u);
  for (std::uint32_t i = 0; i < kPage; ++i) jobs.retire(JobId{i});
  EXPECT_FALSE(jobs.contains(JobId{5}));
  EXPECT_TRUE(copy.contains(JobId{5}));
  copy = jobs;
  EXPECT_FALSE(copy.contains(JobId{5}));
  EXPECT_TRUE(copy.contains(JobId{kPage}));
  const JobTable& same = copy;
  copy = same;
  EXPECT_EQ(copy.size(), kPage + 1);
}

TEST(JobTable, TheSizeOfAJobIsWhatItWillHave) {
  Job job;
  job.holding.count = 8;
  job.target = 5;
  EXPECT_EQ(job.size(), 5u);
}

}  // namespace
}  // namespace ductile
