#include "workload/transform.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "workload/info.hpp"
#include "workload/transform_text.hpp"

namespace ductile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Workload jobs_at(std::initializer_list<int> submits_s) {
  Workload workload;
  for (const int submit_s : submits_s) {
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = workload.jobs.size();
    job.submit = Time{whole_seconds(submit_s)};
    job.runtime = whole_seconds(5);
    job.walltime = whole_seconds(60);
    job.nodes = 4;
  }
  return workload;
}

// Jobs of 1 to 64 nodes that run for 1000 s and request 1500.
Workload many(std::uint64_t count = 4000) {
  Workload workload;
  for (std::uint64_t i = 1; i <= count; ++i) {
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = i;
    job.submit = Time{whole_seconds(static_cast<std::int64_t>(i))};
    job.runtime = whole_seconds(1000);
    job.walltime = whole_seconds(1500);
    job.nodes = static_cast<Nodes>(1 + i * 7 % 64);
  }
  return workload;
}

Workload after(Workload workload, const Transform& changes, std::uint64_t seed = 1) {
  transform(workload, changes, 100, seed);
  return workload;
}

const AdaptiveJob* more_of(const Workload& workload, const WorkloadJob& job) {
  return job.adaptive == WorkloadJob::kRigid ? nullptr : &workload.adaptive[job.adaptive];
}

JobType type_of(const Workload& workload, std::size_t i) {
  const AdaptiveJob* more = more_of(workload, workload.jobs[i]);
  return more ? more->type : JobType::rigid;
}

std::map<JobType, double> shares(const Workload& workload) {
  std::map<JobType, double> result;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    result[type_of(workload, i)] += 1.0 / static_cast<double>(workload.jobs.size());
  }
  return result;
}

Transform malleable(const std::string& text) {
  return {.malleable = parse_share("--malleable", text)};
}

Transform evolving(const std::string& text) {
  Transform changes;
  changes.evolving = parse_evolving("--evolving", text, changes.requests);
  return changes;
}

// --- Load ----------------------------------------------------------------------------------------

TEST(Transform, ArrivalsAreScaledAroundTheFirst) {
  Workload workload = jobs_at({100, 110, 110, 140});
  scale_arrivals(workload, Decimal(0.5));
  EXPECT_EQ(workload.jobs[0].submit, Time{whole_seconds(100)});
  EXPECT_EQ(workload.jobs[1].submit, Time{whole_seconds(105)});
  EXPECT_EQ(workload.jobs[2].submit, Time{whole_seconds(105)});
  EXPECT_EQ(workload.jobs[3].submit, Time{whole_seconds(120)});
}

TEST(Transform, TooLargeAScaleIsAnError) {
  Workload workload = jobs_at({0, 2'000'000'000});
  EXPECT_THAT([&] { scale_arrivals(workload, Decimal(1e9)); },
              ThrowsMessage<InputError>(HasSubstr("--arrival-scale: 1000000000 is too large")));
  EXPECT_EQ(workload.jobs, jobs_at({0, 2'000'000'000}).jobs);
  for (WorkloadJob& job : workload.jobs) job.runtime = whole_seconds(100'000'000);
  Transform load;
  load.load = 1e-6;
  EXPECT_THAT([&] { after(workload, load); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("--load: 1e-06 is too low"), HasSubstr("use a larger one"))));
  Workload none;
  scale_arrivals(none, Decimal(1e9));
  EXPECT_THROW(after(jobs_at({0}), {.speed_factor = Decimal(1e18)}), InputError);
}

TEST(Transform, SpeedChangesRunTimesAndRequests) {
  Workload before = jobs_at({7});
  before.links = {312, 624};
  const Workload workload = after(before, {.speed_factor = Decimal(0.624)});
  EXPECT_THAT(workload.links, ElementsAre(500, 1000));
  EXPECT_EQ(workload.jobs[0].runtime, seconds(3.12));
  EXPECT_EQ(workload.jobs[0].walltime, seconds(37.44));
  EXPECT_EQ(workload.jobs[0].submit, Time{whole_seconds(7)});
}

// A job of measured phases whose walltime holds at any size.
TEST(Transform, ChangesMeasuredPhasesAndWhatAWalltimeHoldsFor) {
  const auto changed = [](const Transform& changes) {
    Workload workload;
    workload.jobs.push_back({.name = 1,
                             .runtime = whole_seconds(30),
                             .walltime = whole_seconds(50),
                             .nodes = 3,
                             .adaptive = 0});
    AdaptiveJob& more = workload.adaptive.emplace_back();
    more.size = {2, 3};
    more.phases = {{.iterations = 3, .times_s = SharedList<double>({15, 10})}};
    more.believed.walltime_for = WalltimeFor::any_size;
    transform(workload, changes, 8, 1);
    return workload.adaptive[0];
  };
  const AdaptiveJob faster = changed({.speed_factor = Decimal(0.5)});
  EXPECT_EQ(faster.phases[0].times_s, SharedList<double>({7.5, 5}));
  EXPECT_EQ(faster.believed.walltime_for, WalltimeFor::any_size);
  using Kind = EstimateSettings::Kind;
  EXPECT_EQ(changed({.estimates = {.kind = Kind::predicted}}).believed.walltime_for,
            WalltimeFor::any_size);
  // It is made up, and of the size asked for.
  EXPECT_EQ(changed({.estimates = {.kind = Kind::perfect}}).believed.walltime_for,
            WalltimeFor::preferred_size);
}

TEST(Transform, NothingAskedNothingChanged) {
  EXPECT_FALSE(Transform{}.changes());
  const Workload before = many(100), same = after(before, {});
  EXPECT_EQ(same.jobs, before.jobs);
  EXPECT_TRUE(same.adaptive.empty());
}

// --- Bounds --------------------------------------------------------------------------------------

TEST(Bounds, AreDealtByShares) {
  const Workload workload = after(many(), {.bounds = BoundShares{{0.3, 0.2, 0.5}}});
  std::map<Bound, double> shares;
  for (const WorkloadJob& job : workload.jobs) shares[job.bound] += 1.0 / 4000;
  EXPECT_NEAR(shares[Bound::compute], 0.3, 0.03);
  EXPECT_NEAR(shares[Bound::memory], 0.2, 0.03);
  EXPECT_NEAR(shares[Bound::mixed], 0.5, 0.03);
}

// Each belongs to the seed and to the number of its job, not to the order of jobs or to what else
// is drawn.
TEST(Bounds, AreThoseOfTheirJobs) {
  const Transform bounds{.bounds = BoundShares{{0.3, 0.3, 0.4}}};
  const Workload all = after(many(), bounds);
  Workload reversed = many();
  std::ranges::reverse(reversed.jobs);
  for (const WorkloadJob& job : after(reversed, bounds).jobs) {
    EXPECT_EQ(job.bound, all.jobs[job.name - 1].bound);
  }
  Transform others = bounds;
  others.malleable = AdaptiveShare{.share = 0.5};
  const Workload adaptive = after(many(), others);
  std::uint64_t differ = 0;
  const Workload other_seed = after(many(), bounds, 2);
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    EXPECT_EQ(adaptive.jobs[i].bound, all.jobs[i].bound);
    differ += other_seed.jobs[i].bound != all.jobs[i].bound ? 1 : 0;
  }
  EXPECT_GT(differ, 2000u);
  // What is said of them in the input stays where none are drawn.
  Workload said = many();
  said.jobs[7].bound = Bound::memory;
  EXPECT_EQ(after(said, {.malleable = AdaptiveShare{.share = 1}}).jobs[7].bound, Bound::memory);
}

// --- Estimates -----------------------------------------------------------------------------------

TEST(Estimates, Perfect) {
  const Workload workload = after(many(), {.estimates = {EstimateSettings::Kind::perfect}});
  for (const WorkloadJob& job : workload.jobs) ASSERT_EQ(job.walltime, job.runtime);
}

TEST(Estimates, FactorIsUniformUpToFPlusOne) {
  const Workload workload = after(many(), {.estimates = {EstimateSettings::Kind::factor, 3}});
  double sum = 0, least = 9, most = 0;
  for (const WorkloadJob& job : workload.jobs) {
    const double factor = to_seconds(job.walltime) / to_seconds(job.runtime);
    sum += factor;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_NEAR(sum / 4000, 2.5, 0.05);
  EXPECT_GE(least, 1);
  EXPECT_LT(least, 1.01);
  EXPECT_LE(most, 4);
  EXPECT_GT(most, 3.99);
}

TEST(Estimates, MenuRoundsUpToUsualTimes) {
  Workload before = many();
  for (std::size_t i = 0; i < before.jobs.size(); ++i) {
    before.jobs[i].runtime = seconds(std::pow(1.0035, static_cast<double>(i)));
  }
  const Workload workload = after(before, {.estimates = {EstimateSettings::Kind::menu}});
  std::map<std::int64_t, int> minutes;
  for (const WorkloadJob& job : workload.jobs) {
    ASSERT_GE(job.walltime, job.runtime);
    // Three times as much, and the step of the menu above it.
    ASSERT_LE(job.walltime,
              std::max(whole_seconds(300),
                       std::max(9 * job.runtime, 3 * job.runtime + whole_seconds(86'400))));
    ++minutes[job.walltime.count() / 60'000'000];
  }
  std::vector<std::int64_t> seen;
  for (const auto& [minute, count] : minutes) seen.push_back(minute);
  EXPECT_EQ(std::vector<std::int64_t>(seen.begin(), seen.begin() + 12),
            (std::vector<std::int64_t>{5, 10, 15, 30, 60, 120, 240, 480, 720, 1440, 2880, 4320}));
}

// --- Shares --------------------------------------------------------------------------------------

TEST(Shares, AreWhatWasAskedFor) {
  EXPECT_NEAR(shares(after(many(), malleable("0.4")))[JobType::malleable], 0.4, 0.025);
  EXPECT_EQ(shares(after(many(), malleable("1")))[JobType::rigid], 0);
  EXPECT_EQ(shares(after(many(), malleable("0")))[JobType::malleable], 0);
  Transform both = malleable("0.3");
  both.moldable = parse_share("--moldable", "0.3");
  auto found = shares(after(many(), both));
  EXPECT_NEAR(found[JobType::malleable], 0.3, 0.025);
  EXPECT_NEAR(found[JobType::moldable], 0.3, 0.025);
  both.moldable = parse_share("--moldable", "0.9");  // what is left
  found = shares(after(many(), both));
  EXPECT_NEAR(found[JobType::moldable], 0.7, 0.025);
  EXPECT_EQ(found[JobType::rigid], 0);
}

TEST(Shares, ALargerOneContainsASmallerOne) {
  const Workload small = after(many(), malleable("0.4")), large = after(many(), malleable("0.6"));
  const Workload elsewhere = after(many(), malleable("0.4"), 2);
  int other = 0;
  for (std::size_t i = 0; i < small.jobs.size(); ++i) {
    const AdaptiveJob* few = more_of(small, small.jobs[i]);
    const AdaptiveJob* all = more_of(large, large.jobs[i]);
    if (few) {
      ASSERT_TRUE(all);
      EXPECT_EQ(few->believed, all->believed);  // its costs too
    }
    other += (few != nullptr) != (more_of(elsewhere, elsewhere.jobs[i]) != nullptr) ? 1 : 0;
  }
  EXPECT_GT(other, 1000);  // with another seed, others
}

TEST(Shares, BelongToAJobAndNotToItsPlace) {
  Workload some = many();
  some.jobs.erase(some.jobs.begin(), some.jobs.begin() + 1000);
  const Workload part = after(some, malleable("0.5")), all = after(many(), malleable("0.5"));
  for (std::size_t i = 0; i < part.jobs.size(); ++i) {
    ASSERT_EQ(type_of(part, i), type_of(all, i + 1000));
  }
}

TEST(Shares, OfMalleableAndEvolvingJobsOverlapAsAsked) {
  const auto adaptive = [](const std::string& m, const std::string& e) {
    Transform changes = evolving(e);
    changes.malleable = parse_share("--malleable", m);
    return shares(after(many(), changes));
  };
  auto found = adaptive("0.3", "0.3");  // least
  EXPECT_EQ(found[JobType::adaptive], 0);
  EXPECT_NEAR(found[JobType::malleable], 0.3, 0.025);
  EXPECT_NEAR(found[JobType::evolving], 0.3, 0.025);
  EXPECT_NEAR(adaptive("0.7", "0.6")[JobType::adaptive], 0.3, 0.025);
  EXPECT_EQ(adaptive("0.7", "0.6")[JobType::rigid], 0);
  EXPECT_NEAR(adaptive("1", "1")[JobType::adaptive], 1, 1e-9);
  found = adaptive("0.5", "0.5:overlap=random");
  EXPECT_NEAR(found[JobType::adaptive], 0.25, 0.025);
  EXPECT_NEAR(found[JobType::malleable], 0.25, 0.025);
  found = adaptive("0.5", "0.4:overlap=most");
  EXPECT_NEAR(found[JobType::adaptive], 0.4, 0.025);
  EXPECT_EQ(found[JobType::evolving], 0);
}

TEST(Shares, SizesAreFactorsOfTheSizeAskedFor) {
  const Workload workload = after(many(), malleable("1:min=0.5,max=4"));
  for (const WorkloadJob& job : workload.jobs) {
    const SizeRange size = workload.adaptive[job.adaptive].size;
    EXPECT_EQ(size.min, (job.nodes + 1) / 2);
    EXPECT_EQ(size.max, std::min(4 * job.nodes, 100u));
  }
  const Workload full = after(many(), malleable("1:min=0,max=1e6"));
  for (const AdaptiveJob& more : full.adaptive) EXPECT_EQ(more.size, (SizeRange{1, 100}));
  Workload unlimited = many(3);
  transform(unlimited, malleable("1:min=0.7,max=1.5"), 0, 1);
  EXPECT_EQ(unlimited.adaptive[0].size, (SizeRange{6, 12}));  // of 8
}

TEST(Shares, AJobWithoutAnAllowedSizeStaysRigid) {
  const Workload workload = after(many(), malleable("1:max=1,min=1,constraint=even"));
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const bool even = workload.jobs[i].nodes % 2 == 0;
    ASSERT_EQ(type_of(workload, i), even ? JobType::malleable : JobType::rigid);
  }
  EXPECT_EQ(workload.adaptive[0].believed.constraint, parse_constraint("even"));
}

TEST(Shares, LeaveJobsThatAreAdaptiveAlready) {
  Workload before = many(2);
  before.jobs[0].adaptive = 0;
  before.adaptive.push_back({.type = JobType::moldable, .size = {1, 9}, .cost = {.alpha_s = 3}});
  Transform changes = malleable("1:rho=0.2");
  Workload same = after(before, changes);
  EXPECT_EQ(type_of(same, 0), JobType::moldable);
  EXPECT_EQ(same.adaptive[0].cost.alpha_s, 3);
  EXPECT_EQ(same.jobs[0].runtime, whole_seconds(1000));
  EXPECT_EQ(type_of(same, 1), JobType::malleable);
  changes.reconfigure = true;  // asked for
  same = after(before, changes);
  EXPECT_LT(same.adaptive[0].cost.alpha_s, 0.05);
}

TEST(Shares, TakeJobsThatHaveAnAccountOnly) {
  Workload before = many(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    before.jobs[i].adaptive = i;
    before.adaptive.push_back({.type = JobType::rigid,
                               .size = {before.jobs[i].nodes, before.jobs[i].nodes},
                               .account = i + 1});
  }
  before.adaptive[1].priority = 1;
  before.adaptive[2].barrier = true;
  const Workload same = after(before, malleable("1"));
  EXPECT_EQ(type_of(same, 0), JobType::malleable);
  EXPECT_EQ(more_of(same, same.jobs[0])->account, 1u);
  for (const std::size_t kept : {1u, 2u}) {
    EXPECT_EQ(*more_of(same, same.jobs[kept]), before.adaptive[kept]);
  }
  // Outside the share it stays as it is.
  const Workload none = after(before, malleable("0"));
  EXPECT_EQ(none.adaptive, before.adaptive);
}

// --- Models --------------------------------------------------------------------------------------

TEST(Models, APowerLawIsAnchoredAtOneNodeOrAtTheSizeAskedFor) {
  for (const WorkloadJob& job : after(many(), malleable("1:rho=0.2")).jobs) {
    EXPECT_NEAR(to_seconds(job.runtime), 1000 * std::pow(job.nodes, 0.2), 1e-5);
    EXPECT_NEAR(to_seconds(job.walltime), 1500 * std::pow(job.nodes, 0.2), 1e-5);
  }
  const Workload preferred = after(many(), malleable("1:rho=0.2,rho_reference=pref"));
  EXPECT_EQ(preferred.jobs[5].runtime, whole_seconds(1000));
  EXPECT_EQ(preferred.adaptive[0].speedup, (Speedup{Speedup::Kind::powerlaw, 0.2}));
  EXPECT_EQ(preferred.adaptive[0].believed.speedup, preferred.adaptive[0].speedup);
}

TEST(Models, RigidJobsAreTheSameApplications) {
  const Workload none = after(many(), malleable("0:rho=LS")),
                 all = after(many(), malleable("1:rho=LS"));
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    ASSERT_EQ(none.jobs[i].runtime, all.jobs[i].runtime);
  }
  const Workload trace = after(many(), malleable("0.5:rho=LS,rigid=trace"));
  for (const WorkloadJob& job : trace.jobs) {
    if (job.adaptive == WorkloadJob::kRigid) {
      ASSERT_EQ(job.runtime, whole_seconds(1000));
    }
  }
}

TEST(Models, BandsAreNormalInside) {
  const auto rhos = [](const char* text) {
    std::vector<double> values;
    for (const AdaptiveJob& more : after(many(), malleable(text)).adaptive) {
      values.push_back(more.speedup.parameter);
    }
    return values;
  };
  const auto within = [](const std::vector<double>& values, double low, double high) {
    return std::ranges::count_if(values, [&](double v) { return low <= v && v <= high; });
  };
  EXPECT_EQ(within(rhos("1:rho=HS"), 0, 0.1), 4000);
  EXPECT_EQ(within(rhos("1:rho=MS"), 0.1, 0.2), 4000);
  const std::vector<double> low = rhos("1:rho=LS");
  EXPECT_EQ(within(low, 0.2, 0.3), 4000);
  // A sixth of the width is the deviation: 68 % of the values are one from the middle.
  EXPECT_NEAR(static_cast<double>(within(low, 0.25 - 0.1 / 6, 0.25 + 0.1 / 6)), 0.683 * 4000, 90);
  const std::vector<double> all = rhos("1:rho=SM");
  for (const double from : {0.0, 0.1, 0.2}) {
    EXPECT_NEAR(static_cast<double>(within(all, from, from + 0.1)), 4000 / 3.0, 100);
  }
  EXPECT_EQ(within(rhos("1:rho=0.1..0.4"), 0.1, 0.4), 4000);
  EXPECT_NEAR(static_cast<double>(within(rhos("1:rho=0.1..0.4"), 0.1, 0.2)), 4000 / 3.0, 100);
}

TEST(Models, OfAllKinds) {
  using Kind = Speedup::Kind;
  for (const AdaptiveJob& more : after(many(), malleable("1:model=overhead")).adaptive) {
    ASSERT_EQ(more.speedup.kind, Kind::overhead);
    ASSERT_TRUE(0.005 <= more.speedup.parameter && more.speedup.parameter < 0.01);
  }
  EXPECT_EQ(after(many(), malleable("1:s=0.1")).adaptive[0].speedup, (Speedup{Kind::amdahl, 0.1}));
  const Workload downey = after(many(), malleable("1:A=2,sigma=0.5"));
  for (const WorkloadJob& job : downey.jobs) {
    ASSERT_EQ(downey.adaptive[job.adaptive].speedup, (Speedup{Kind::downey, 2.0 * job.nodes, 0.5}));
  }
  EXPECT_EQ(after(many(), malleable("1:model=table:1=9:8=2")).adaptive[0].speedup,
            parse_speedup("table:1=9:8=2"));
  EXPECT_EQ(after(many(), malleable("1")).adaptive[0].speedup, Speedup{});
}

// The scheduler and the users believe the drawn rho; the world has another one.
TEST(Models, ErrorsAreOfTheTruth) {
  Transform changes = malleable("0.5:rho=0.1,rho_error=0.1");
  changes.estimates.kind = EstimateSettings::Kind::perfect;
  const Workload workload = after(many(), changes);
  for (const WorkloadJob& job : workload.jobs) {
    EXPECT_NEAR(to_seconds(job.walltime), 1000 * std::pow(job.nodes, 0.1), 1e-5);
    EXPECT_NEAR(to_seconds(job.runtime), 1000 * std::pow(job.nodes, 0.2), 1e-5);
  }
  EXPECT_DOUBLE_EQ(workload.adaptive[0].believed.speedup.parameter, 0.1);
  EXPECT_DOUBLE_EQ(workload.adaptive[0].speedup.parameter, 0.2);
}

// The world has the drawn rho; the scheduler and the users believe another one.
TEST(Models, OrOfWhatIsBelieved) {
  Transform changes = malleable("0.5:rho=0.1,rho_error=0.1,error_in=belief");
  changes.estimates.kind = EstimateSettings::Kind::perfect;
  const Workload workload = after(many(), changes);
  for (const WorkloadJob& job : workload.jobs) {
    EXPECT_NEAR(to_seconds(job.walltime), 1000 * std::pow(job.nodes, 0.2), 1e-5);
    EXPECT_NEAR(to_seconds(job.runtime), 1000 * std::pow(job.nodes, 0.1), 1e-5);
  }
  EXPECT_DOUBLE_EQ(workload.adaptive[0].believed.speedup.parameter, 0.2);
  EXPECT_DOUBLE_EQ(workload.adaptive[0].speedup.parameter, 0.1);
}

// Where the truth has an error, scheduler and users see what they see without it; where their
// belief has one, the world is as it is without it.
TEST(Models, AnErrorLeavesTheOtherSideAsItWas) {
  for (const std::string model : {"linear", "rho=SM", "s=0.1..0.2", "x=0.01..0.02", "A=2,sigma=0.5",
                                  "model=table:1=9:8=2,min=0.5"}) {
    std::string with = ",time_error=0.5..2";
    if (model == "rho=SM") with += ",rho_error=0.1..0.2";
    if (model == "s=0.1..0.2") with += ",s_error=0.1";
    if (model == "x=0.01..0.02") with += ",x_error=-0.01";
    if (model == "A=2,sigma=0.5") with += ",A_error=-1..1,sigma_error=0.5";
    const std::string share = "0.5:" + (model == "linear" ? "model=linear" : model);
    for (const auto kind : {EstimateSettings::Kind::requested, EstimateSettings::Kind::menu}) {
      const auto make = [&](const std::string& errors, const std::string& cost) {
        Transform changes = malleable(share + errors);
        changes.cost = parse_reconfiguration("--reconfiguration", "full:sync=1" + cost);
        changes.estimates.kind = kind;
        return after(many(200), changes);
      };
      const Workload plain = make("", ""), truth = make(with, ",error=0.5..2"),
                     belief = make(with + ",error_in=belief", ",error=0.5..2,error_in=belief");
      for (std::size_t i = 0; i < plain.jobs.size(); ++i) {
        ASSERT_EQ(truth.jobs[i].walltime, plain.jobs[i].walltime);
        ASSERT_NE(truth.jobs[i].runtime, plain.jobs[i].runtime);
        ASSERT_EQ(belief.jobs[i].runtime, plain.jobs[i].runtime);
        ASSERT_TRUE(belief.jobs[i].walltime != plain.jobs[i].walltime ||
                    kind == EstimateSettings::Kind::menu);
      }
      for (std::size_t i = 0; i < plain.adaptive.size(); ++i) {
        const AdaptiveJob &same = plain.adaptive[i], &other = truth.adaptive[i],
                          &misled = belief.adaptive[i];
        ASSERT_EQ(same.believed.speedup, same.speedup);
        ASSERT_EQ(same.believed.cost, same.cost);
        ASSERT_EQ(other.believed, same.believed);
        ASSERT_NE(other.cost, same.cost);
        ASSERT_EQ(misled.speedup, same.speedup);
        ASSERT_EQ(misled.cost, same.cost);
        // What one has for the truth, the other believes.
        ASSERT_EQ(misled.believed.speedup, other.speedup);
        ASSERT_EQ(misled.believed.cost, other.cost);
      }
    }
  }
}

TEST(Models, DowneysErrorIsOfTheFactorThatIsDrawn) {
  const Workload factor = after(many(), malleable("1:A=2,sigma=0.5,A_error=-1.5,sigma_error=1"));
  for (const WorkloadJob& job : factor.jobs) {
    const AdaptiveJob& more = factor.adaptive[job.adaptive];
    ASSERT_EQ(more.believed.speedup, (Speedup{Speedup::Kind::downey, 2.0 * job.nodes, 0.5}));
    ASSERT_EQ(more.speedup, (Speedup{Speedup::Kind::downey, std::max(0.5 * job.nodes, 1.0), 1.5}));
  }
  const Workload whole = after(many(), malleable("1:model=downey:64:0.5,A_error=-4"));
  EXPECT_EQ(whole.adaptive[0].speedup, (Speedup{Speedup::Kind::downey, 60, 0.5}));
  EXPECT_EQ(whole.adaptive[0].believed.speedup, (Speedup{Speedup::Kind::downey, 64, 0.5}));
}

TEST(Models, ATimeErrorIsOfEveryModelAndSize) {
  Transform changes = malleable("0.5:max=4,time_error=2");
  Workload workload = after(many(), changes);
  for (const WorkloadJob& job : workload.jobs) {  // rigid ones are the same applications
    ASSERT_EQ(job.runtime, whole_seconds(2000));
    ASSERT_EQ(job.walltime, whole_seconds(1500));
  }
  for (const AdaptiveJob& more : workload.adaptive) ASSERT_EQ(more.speedup, more.believed.speedup);

  changes = malleable("0.5:max=4,time_error=2,error_in=belief,rigid=trace");
  changes.estimates.kind = EstimateSettings::Kind::perfect;  // as far as users know
  workload = after(many(), changes);
  for (const WorkloadJob& job : workload.jobs) {
    const bool rigid = job.adaptive == WorkloadJob::kRigid;
    ASSERT_EQ(job.runtime, whole_seconds(1000));
    ASSERT_EQ(job.walltime, whole_seconds(rigid ? 1000 : 2000));
  }

  const Workload drawn = after(many(), malleable("1:time_error=0.5..1.5"));
  double sum = 0;
  for (const WorkloadJob& job : drawn.jobs) sum += to_seconds(job.runtime);
  EXPECT_NEAR(sum / 4000, 1000, 15);
}

TEST(Models, WalltimesOfTheShareCanBeOthers) {
  const Workload workload = after(many(), malleable("0.5:walltime_factor=2"));
  for (const WorkloadJob& job : workload.jobs) {
    EXPECT_EQ(job.walltime, whole_seconds(job.adaptive == WorkloadJob::kRigid ? 1500 : 3000));
  }
}

// --- Costs ---------------------------------------------------------------------------------------

TEST(Costs, AreDrawnForEachJob) {
  const Workload full = after(many(), malleable("1"));
  double sum = 0;
  for (const AdaptiveJob& more : full.adaptive) {
    for (const double value : {more.cost.alpha_s, more.cost.beta_s, more.cost.b_s}) {
      ASSERT_TRUE(0.005 <= value && value < 0.05);
      sum += value;
    }
    ASSERT_EQ(more.cost.fixed_s, 0);
    ASSERT_EQ(more.cost.scale, 1);
    ASSERT_EQ(more.cost, more.believed.cost);
  }
  EXPECT_NEAR(sum / 12000, 0.0275, 0.0005);

  Transform half = malleable("1");
  half.cost =
      parse_reconfiguration("--reconfiguration", "half:sync=0.015..0.1,negotiation=1,error=2");
  const Workload other = after(many(), half);
  for (std::size_t i = 0; i < other.adaptive.size(); ++i) {
    const ReconfigurationCost &cost = other.adaptive[i].believed.cost,
                              &truth = other.adaptive[i].cost;
    ASSERT_EQ(cost.alpha_s, full.adaptive[i].cost.alpha_s);  // the same draws
    ASSERT_TRUE(1.015 <= cost.fixed_s && cost.fixed_s < 1.1);
    ASSERT_EQ(cost.scale, 0.5);
    ASSERT_NEAR(to_seconds(truth.of(4, 8)), 2 * to_seconds(cost.of(4, 8)), 2e-6);
  }
}

TEST(Costs, InBytes) {
  Transform changes = malleable("1");
  changes.cost = parse_reconfiguration("--reconfiguration", "half:overhead_mode=bytes");
  const Workload bytes = after(many(), changes), plain = after(many(), malleable("1"));
  for (std::size_t i = 0; i < bytes.adaptive.size(); ++i) {
    const AdaptiveJob& more = bytes.adaptive[i];
    ASSERT_EQ(more.cost.alpha_s, plain.adaptive[i].cost.alpha_s);  // the same draws
    ASSERT_EQ(more.cost, more.believed.cost);
    // 10 GB at 12.5 GB/s from each of 4 nodes, half of it.
    ASSERT_NEAR(to_seconds(more.cost.of(4, 8)),
                to_seconds(plain.adaptive[i].cost.of(4, 8)) * 0.5 * 0.8 / 4, 2e-6);
  }
}

TEST(Costs, FreeIsFree) {
  Transform changes = malleable("1");
  changes.cost = parse_reconfiguration("--reconfiguration", "free");
  for (const AdaptiveJob& more : after(many(), changes).adaptive) {
    ASSERT_EQ(more.cost.of(1, 60), Duration{});
  }
}

// --- Evolving jobs -------------------------------------------------------------------------------

TEST(EvolvingJobs, AskOneToFourTimes) {
  const Workload workload = after(many(), evolving("1:min=0,max=1e6"));
  std::map<std::size_t, int> counts;
  double more = 0, requests = 0;
  for (const WorkloadJob& job : workload.jobs) {
    const AdaptiveJob& its = workload.adaptive[job.adaptive];
    ASSERT_EQ(its.type, JobType::evolving);
    ++counts[its.steps.size()];
    double left = 1;
    auto size = std::int64_t{job.nodes};
    for (const EvolvingStep& step : its.steps) {
      ASSERT_NE(step.delta, 0);
      ASSERT_LE(std::abs(step.delta), std::max<std::int64_t>(1, job.nodes / 2));
      size += step.delta;
      ASSERT_TRUE(1 <= size && size <= 100);
      ASSERT_LE(1 - step.progress, 0.6 * left);
      left = 1 - step.progress;
      ASSERT_GE(left, std::pow(0.3, 4));
      requests += 1;
      more += step.delta > 0 ? 1 : 0;
    }
  }
  // Jobs of one node that ask for fewer are left out, so that some ask for less than drawn.
  EXPECT_NEAR(more / requests, 0.8, 0.02);
  for (std::size_t n = 1; n <= 4; ++n) EXPECT_NEAR(counts[n], 1000, 120) << n;
}

TEST(EvolvingJobs, AskWithinTheWindow) {
  const Workload workload = after(many(), evolving("1:count=3,window=absolute,left=0.2..0.4"));
  for (const AdaptiveJob& more : workload.adaptive) {
    double last = 0;
    for (const EvolvingStep& step : more.steps) {
      ASSERT_TRUE(0.6 <= step.progress && step.progress <= 0.8);
      ASSERT_GE(step.progress, last);
      last = step.progress;
    }
  }
}

TEST(EvolvingJobs, StayWithinTheirSizes) {
  const Workload workload =
      after(many(), evolving("1:min=0.9,max=1.1,delta_max=3,count=4,expand=0.5"));
  std::size_t requests = 0;
  for (const WorkloadJob& job : workload.jobs) {
    const AdaptiveJob& its = workload.adaptive[job.adaptive];
    auto size = std::int64_t{job.nodes};
    for (const EvolvingStep& step : its.steps) {
      size += step.delta;
      ASSERT_TRUE(its.size.contains(static_cast<Nodes>(size)));
    }
    requests += its.steps.size();
  }
  EXPECT_GT(requests, 4000u);
}

TEST(EvolvingJobs, AskTheSameWhateverElseIsSet) {
  Transform both = evolving("1");
  both.malleable = parse_share("--malleable", "1:rho=MS");
  const Workload alone = after(many(), evolving("1")), with = after(many(), both);
  for (std::size_t i = 0; i < alone.adaptive.size(); ++i) {
    ASSERT_EQ(with.adaptive[i].type, JobType::adaptive);
    ASSERT_EQ(alone.adaptive[i].steps, with.adaptive[i].steps);
    ASSERT_EQ(alone.adaptive[i].cost, with.adaptive[i].cost);
  }
}

// --- Selections and order ------------------------------------------------------------------------

TEST(Transform, ALoadIsWhatWasAskedFor) {
  for (const double load : {0.3, 0.95, 2.5}) {
    Transform changes = malleable("0.5:rho=LS");
    changes.load = load;
    changes.speed_factor = Decimal(1.7);
    const Workload changed = after(many(), changes);
    EXPECT_NEAR(describe(changed, 100).offered_load.value(), load, 1e-6);
    EXPECT_EQ(changed.jobs.front().submit, many().jobs.front().submit);
  }
  Workload at_once = jobs_at({7, 7});
  EXPECT_THROW(transform(at_once, {.load = 0.5}, 100, 1), InputError);
  Workload spread = jobs_at({7, 8});
  EXPECT_THROW(transform(spread, {.load = 0.5}, 0, 1), InputError);
}

TEST(Transform, AShuffleMovesJobsAndNotTimes) {
  const Workload before = many();
  const Workload changed = after(before, {.shuffle = true}, 3);
  std::vector<std::uint64_t> names;
  std::uint64_t at_home = 0;
  for (std::size_t i = 0; i < before.jobs.size(); ++i) {
    const WorkloadJob& job = changed.jobs[i];
    ASSERT_EQ(job.submit, before.jobs[i].submit);
    ASSERT_EQ(job.nodes, before.jobs[job.name - 1].nodes);
    names.push_back(job.name);
    at_home += job.name == i + 1 ? 1 : 0;
  }
  EXPECT_LT(at_home, 20u);
  std::ranges::sort(names);
  for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(names[i], i + 1);
  EXPECT_EQ(after(before, {.shuffle = true}, 3).jobs, changed.jobs);
  EXPECT_NE(after(before, {.shuffle = true}, 4).jobs, changed.jobs);
}

TEST(Transform, FlurriesGoFirst) {
  Workload workload = jobs_at({0, 1, 2, 3, 1000});
  for (std::size_t i = 0; i < 4; ++i) workload.jobs[i].user = 5;
  Transform changes{.without_flurries = FlurrySettings{.jobs = 4, .share = 1}};
  changes.without_flurries->window = whole_seconds(10);
  EXPECT_TRUE(changes.changes());
  const Workload changed = after(workload, changes);
  ASSERT_EQ(changed.jobs.size(), 1u);
  EXPECT_EQ(changed.jobs.front().name, 5u);
}

// Who waits for whom, by their names.
std::vector<std::pair<std::uint64_t, std::uint64_t>> waits(const Workload& workload) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> names;
  for (const Precedence& row : workload.precedences) {
    names.emplace_back(workload.jobs[row.job].name, workload.jobs[row.on].name);
  }
  EXPECT_TRUE(std::ranges::is_sorted(workload.precedences, {}, &Precedence::job));
  std::ranges::sort(names);
  return names;
}

TEST(Transform, WhoWaitsForWhomStaysWhenJobsMove) {
  Workload workload = many();
  for (std::uint32_t i = 1; i < workload.jobs.size(); i += 3) {
    workload.precedences.push_back({.job = i, .on = i - 1});
  }
  EXPECT_EQ(waits(after(workload, {.shuffle = true}, 3)), waits(workload));
}

TEST(Transform, NobodyWaitsForJobsThatWereTakenOut) {
  Workload workload = jobs_at({0, 1, 2, 3, 1000, 2000});
  for (std::size_t i = 0; i < 4; ++i) workload.jobs[i].user = 5;
  workload.precedences = {{.job = 1, .on = 0}, {.job = 4, .on = 3}, {.job = 5, .on = 4}};
  Transform changes{.without_flurries = FlurrySettings{.jobs = 4, .share = 1}};
  changes.without_flurries->window = whole_seconds(10);
  const Workload changed = after(workload, changes);
  using Names = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(waits(changed), (Names{{6, 5}}));
  EXPECT_EQ(changed.precedences_lost, 1u);
}

TEST(Transform, NumbersPeopleAnew) {
  Workload workload = jobs_at({0, 1, 2, 3});
  const auto people = [&](std::size_t i, std::uint32_t user, std::uint32_t group) {
    workload.jobs[i].user = user;
    workload.jobs[i].group = group;
  };
  people(0, 7, 0);
  people(1, 3, 9);
  people(3, 7, 4);
  workload.accounts = {"unused", "eve", "bob"};
  workload.adaptive = {{.type = JobType::rigid, .account = 3}, {.account = 2}};
  workload.jobs[1].adaptive = 0;
  workload.jobs[2].adaptive = 1;
  workload.asked = {
      {.partitions = "chemistry,gpu", .things = "gpu:1"}, {.only = "0-3"}, {.partitions = "gpu"}};
  anonymise(workload);
  EXPECT_EQ(workload.asked, (std::vector<AskedWhere>{{.partitions = "p1,p2", .things = "gpu:1"},
                                                     {.only = "0-3"},
                                                     {.partitions = "p2"}}));
  std::vector<std::uint32_t> users, groups;
  for (const WorkloadJob& job : workload.jobs) {
    users.push_back(job.user);
    groups.push_back(job.group);
  }
  EXPECT_EQ(users, (std::vector<std::uint32_t>{1, 2, 0, 1}));
  EXPECT_EQ(groups, (std::vector<std::uint32_t>{0, 1, 0, 2}));
  EXPECT_EQ(workload.accounts, (std::vector<std::string>{"a1", "a2"}));
  EXPECT_EQ(workload.adaptive[0].account, 1u);
  EXPECT_EQ(workload.adaptive[1].account, 2u);
}

}  // namespace
}  // namespace ductile
