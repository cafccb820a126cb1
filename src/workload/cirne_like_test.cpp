#include "workload/cirne_like.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/goodness_of_fit.hpp"
#include "workload/info.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The shares of sizes 1 to 128.
std::vector<double> shares_of_sizes(double power_of_two) {
  std::vector<double> shares(128);
  for (int power = 0; power <= 7; ++power) {
    const double width = power == 0 || power == 7 ? 0.5 : 1;
    shares[(1u << power) - 1] += power_of_two * width / 7;
  }
  for (int size = 1; size <= 128; ++size) {
    const double low = std::max(std::log2(size - 0.5), 0.0);
    const double high = std::min(std::log2(size + 0.5), 7.0);
    shares[static_cast<std::size_t>(size) - 1] += (1 - power_of_two) * (high - low) / 7;
  }
  return shares;
}

// 20,000 jobs.
TEST(CirneLike, HasTheDistributionsItSays) {
  const CirneLikeModel model;
  const Workload workload = generate_cirne_like({.jobs = 20'000}, 5);
  std::vector<double> sizes(128), requests, accuracies;
  for (const WorkloadJob& job : workload.jobs) {
    ++sizes.at(job.nodes - 1);
    requests.push_back(to_seconds(job.walltime));
    EXPECT_LE(job.runtime, job.walltime);
    // Of short requests whole seconds are coarse.
    if (requests.back() > 6000) accuracies.push_back(to_seconds(job.runtime) / requests.back());
  }
  expect_shares(sizes, shares_of_sizes(0.75));
  EXPECT_LT(ks_distance(requests, [&](double s) { return model.request_s.share_up_to(s + 0.5); }),
            ks_limit(requests.size()));
  EXPECT_LT(ks_distance(accuracies, [&](double a) { return model.accuracy.share_up_to(a); }),
            ks_limit(accuracies.size()) + 0.001);
  EXPECT_NEAR(describe(workload, 1024).offered_load.value(), model.load, 1e-5);
}

TEST(CirneLike, SaysWhatItIs) {
  EXPECT_THAT(generate_cirne_like({.jobs = 1}, 1).name, HasSubstr("surrogate"));
}

TEST(CirneLike, OthersAreRequestedWhereTheyAreExact) {
  const Workload exact = parse_model("cirne_like:jobs=200,accuracy=1").generate(3);
  for (const WorkloadJob& job : exact.jobs) EXPECT_EQ(job.runtime, job.walltime);
  const Workload small = parse_model("cirne_like:jobs=2000,nodes=49,max_size=16").generate(3);
  const WorkloadInfo info = describe(small, 49);
  EXPECT_EQ(info.size_nodes.min, 1);
  EXPECT_EQ(info.size_nodes.max, 16);
  const Workload odd = parse_model("cirne_like:jobs=2000,max_size=100,power_of_two=1").generate(3);
  EXPECT_EQ(describe(odd, 1024).size_nodes.max, 64);
  EXPECT_EQ(describe(odd, 1024).power_of_two_share, 1);
}

TEST(CirneLike, SaysWhatIsWrong) {
  const auto message = [](const char* text, const char* expected) {
    EXPECT_THAT([&] { parse_model(text).remark(); },
                ThrowsMessage<InputError>(HasSubstr(expected)));
  };
  message("cirne_like:nodes=16", "max_size: 128 is not between 1 and the machine's 16 nodes");
  message("cirne_like:accuracy=2", "accuracy: '2' has '2' where");
  message("cirne_like:accuracy=exponential:0", "where a number from");
}

}  // namespace
}  // namespace ductile
