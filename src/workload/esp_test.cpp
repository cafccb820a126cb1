#include "workload/esp.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "workload/generate.hpp"

namespace ductile {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const EspType& type_of(const WorkloadJob& job) { return kEspTypes.at(job.user - 1); }

EspTypeSet named(std::string_view letters) { return parse_esp_types("types", letters).named; }

Workload esp(const std::string& settings, std::uint64_t seed = 1) {
  return parse_model("esp:" + settings).generate(seed);
}

std::vector<Nodes> sizes(const EspModel& model) {
  std::vector<Nodes> sizes;
  for (const EspType& type : kEspTypes) sizes.push_back(esp_size(model, type));
  return sizes;
}

const AdaptiveJob* adaptive(const Workload& workload, const WorkloadJob& job) {
  return job.adaptive == WorkloadJob::kRigid ? nullptr : &workload.adaptive.at(job.adaptive);
}

/// Letter -> what the type's jobs adapt like; types without are left out. All jobs of a type are
/// the same.
std::map<char, AdaptiveJob> by_type(const Workload& workload) {
  std::map<char, AdaptiveJob> found;
  std::set<char> rigid;
  for (const WorkloadJob& job : workload.jobs) {
    const char letter = type_of(job).letter;
    if (const AdaptiveJob* more = adaptive(workload, job)) {
      EXPECT_EQ(found.try_emplace(letter, *more).first->second, *more) << letter;
    } else {
      rigid.insert(letter);
    }
  }
  for (const auto& entry : found) EXPECT_EQ(rigid.count(entry.first), 0u) << entry.first;
  return found;
}

// 230 jobs, and a perfect packing takes 11,003 s, 200 s of which are those of the two largest.
TEST(Esp, TheTable) {
  double work_s = 0, largest_s = 0;
  for (const EspType& type : kEspTypes) {
    const double share = static_cast<double>(type.fraction) / 100'000;
    work_s += share * static_cast<double>(type.count * type.runtime_s);
    if (type.fraction == 100'000) largest_s += static_cast<double>(type.count * type.runtime_s);
  }
  EXPECT_EQ(esp_jobs(kAllEspTypes), 230);
  EXPECT_NEAR(work_s, 11'003, 0.5);
  EXPECT_EQ(largest_s, 200);
}

TEST(Esp, SizesOfMachines) {
  EXPECT_THAT(sizes({.nodes = 120}),
              ElementsAre(4, 8, 60, 30, 60, 8, 15, 19, 4, 8, 12, 15, 30, 120));
  EXPECT_THAT(sizes({.nodes = 32, .round = EspModel::Round::nearest}),
              ElementsAre(1, 2, 16, 8, 16, 2, 4, 5, 1, 2, 3, 4, 8, 32));
  EXPECT_THAT(sizes({.nodes = 32}), ElementsAre(1, 2, 16, 8, 16, 2, 4, 6, 1, 2, 4, 4, 8, 32));
  EXPECT_THAT(sizes({.nodes = 128}),
              ElementsAre(4, 8, 64, 32, 64, 8, 16, 21, 4, 8, 13, 16, 32, 128));
  EXPECT_THAT(sizes({.nodes = 4, .round = EspModel::Round::nearest}),
              ElementsAre(1, 1, 2, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 4));
  EXPECT_THAT(sizes({.nodes = 1}), ::testing::Each(1));
  // As many cores on each host; those of 15 and more need a second one, all of it.
  EXPECT_THAT(sizes({.nodes = 120, .cores_per_host = 8}),
              ElementsAre(4, 8, 64, 32, 64, 8, 16, 24, 4, 8, 16, 16, 32, 120));
  EXPECT_THAT(sizes({.nodes = 120, .cores_per_host = 8, .round = EspModel::Round::nearest}),
              ElementsAre(4, 8, 64, 32, 64, 8, 16, 16, 4, 8, 8, 16, 32, 120));
}

TEST(Esp, JobsAreThoseOfTheTable) {
  const Workload workload = generate_esp({.nodes = 120}, 3);
  std::map<char, std::int64_t> counts;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const WorkloadJob& job = workload.jobs[i];
    const EspType& type = type_of(job);
    ++counts[type.letter];
    EXPECT_EQ(job.name, i + 1);
    EXPECT_EQ(job.submit, Time{whole_seconds(30 * static_cast<std::int64_t>(i))});
    EXPECT_EQ(job.runtime, whole_seconds(type.runtime_s));
    EXPECT_EQ(job.walltime, whole_seconds(type.runtime_s + type.runtime_s / 2));
    EXPECT_EQ(job.nodes, esp_size({.nodes = 120}, type));
  }
  for (const EspType& type : kEspTypes) EXPECT_EQ(counts[type.letter], type.count);
  EXPECT_TRUE(workload.adaptive.empty());
  EXPECT_EQ(workload.name, "esp");
}

std::vector<std::uint32_t> order(const Workload& workload) {
  std::vector<std::uint32_t> users;
  for (const WorkloadJob& job : workload.jobs) users.push_back(job.user);
  return users;
}

TEST(Esp, TheOrderIsThatOfTheSeedAlone) {
  const auto first = order(esp("", 1));
  EXPECT_EQ(order(esp("nodes=32,round=nearest,malleable=0.4,evolving=0.1,gap=7", 1)), first);
  EXPECT_NE(order(esp("", 2)), first);
  auto without_largest = first, esp2 = order(esp("mode=esp2", 1));
  std::erase(without_largest, 14u);
  std::erase(esp2, 14u);
  EXPECT_EQ(esp2, without_largest);
}

// Each job is as often in the first half as in the second.
TEST(Esp, TheOrderIsRandom) {
  std::map<std::uint32_t, int> early;
  constexpr int kOrders = 400;
  for (std::uint64_t seed = 1; seed <= kOrders; ++seed) {
    const auto users = order(generate_esp({}, seed));
    for (std::size_t i = 0; i < kEspJobs / 2; ++i) ++early[users[i]];
  }
  for (std::size_t row = 0; row < kEspTypes.size(); ++row) {
    const auto jobs = static_cast<double>(kOrders * kEspTypes[row].count);
    EXPECT_NEAR(early[static_cast<std::uint32_t>(row + 1)] / jobs, 0.5, 4.5 * 0.5 / std::sqrt(jobs))
        << kEspTypes[row].letter;
  }
}

TEST(Esp, IsTheSameOnEveryMachine) {
  const auto users = order(generate_esp({}, 1));
  EXPECT_THAT(std::vector(users.begin(), users.begin() + 12),
              ElementsAre(9, 3, 1, 9, 9, 1, 12, 1, 13, 8, 12, 12));
}

std::int64_t submit_s(const WorkloadJob& job) {
  return static_cast<std::int64_t>(to_seconds(job.submit));
}

TEST(Esp, Esp2HoldsBackTheLargestJobs) {
  const Workload workload = esp("mode=esp2,gap=20");
  ASSERT_EQ(workload.jobs.size(), kEspJobs);
  for (std::size_t i = 0; i < 228; ++i) {
    const auto later = static_cast<std::int64_t>(std::max<std::size_t>(i, 49) - 49);
    EXPECT_EQ(submit_s(workload.jobs[i]), 20 * later);
    EXPECT_NE(type_of(workload.jobs[i]).letter, 'Z');
  }
  for (std::size_t i = 228; i < 230; ++i) {
    EXPECT_EQ(submit_s(workload.jobs[i]), 20 * 178 + 1800);
    const AdaptiveJob* more = adaptive(workload, workload.jobs[i]);
    ASSERT_NE(more, nullptr);
    EXPECT_EQ(more->priority, 1);
    EXPECT_TRUE(more->barrier);
    EXPECT_EQ(more->type, JobType::rigid);
    EXPECT_EQ(more->size, exactly(120));
  }
  EXPECT_EQ(workload.adaptive.size(), 2u);
}

TEST(Esp, WhetherTheLargestJobsAreABarrierCanBeChosen) {
  const auto is_barrier = [](const std::string& settings) {
    const Workload workload = esp(settings);
    return adaptive(workload, *std::ranges::find(workload.jobs, 14u, &WorkloadJob::user))->barrier;
  };
  EXPECT_TRUE(is_barrier("mode=esp2"));
  EXPECT_FALSE(is_barrier("mode=esp2,premium=priority"));
  EXPECT_FALSE(is_barrier("mode=esp1_multimode"));
  EXPECT_TRUE(is_barrier("mode=esp1_multimode,premium=barrier"));
}

TEST(Esp, BlocksAreTenMinutesApart) {
  const Workload workload = esp("mode=esp1_throughput");
  std::map<std::int64_t, std::uint64_t> jobs, nodes;
  for (const WorkloadJob& job : workload.jobs) {
    ++jobs[submit_s(job)];
    nodes[submit_s(job)] += job.nodes;
    EXPECT_EQ(job.adaptive, WorkloadJob::kRigid);
  }
  EXPECT_EQ(jobs.size(), 3u);
  EXPECT_GE(nodes[0], 240u);
  EXPECT_LT(nodes[0], 240u + 120);
  EXPECT_THAT(jobs[600] - jobs[1200], AnyOf(0, 1));
  EXPECT_TRUE(std::ranges::is_sorted(workload.jobs, {}, &WorkloadJob::submit));
}

TEST(Esp, MultimodePutsTheLargestJobsIntoTheTest) {
  const Workload workload = esp("mode=esp1_multimode,nodes=128");
  EXPECT_TRUE(std::ranges::is_sorted(workload.jobs, {}, &WorkloadJob::submit));
  std::vector<std::int64_t> largest;
  std::set<std::int64_t> others;
  for (const WorkloadJob& job : workload.jobs) {
    const AdaptiveJob* more = adaptive(workload, job);
    EXPECT_EQ(more != nullptr, type_of(job).letter == 'Z');
    if (more) {
      EXPECT_EQ(more->priority, 1);
      EXPECT_FALSE(more->barrier);
      largest.push_back(submit_s(job));
    } else {
      others.insert(submit_s(job));
    }
  }
  EXPECT_THAT(others, ElementsAre(0, 600, 1200));
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_NEAR(static_cast<double>(largest[0]), 11'003 * 0.25, 60);  // sizes are rounded up
  EXPECT_NEAR(static_cast<double>(largest[1]), 11'003 * 0.50, 60);
}

TEST(Esp, MalleableTypesGrowToTheMachine) {
  const auto found = by_type(esp("malleable=FIZ"));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at('F'), (AdaptiveJob{.type = JobType::malleable, .size = {8, 120}}));
  EXPECT_EQ(found.at('I'), (AdaptiveJob{.type = JobType::malleable, .size = {4, 120}}));
  EXPECT_EQ(found.at('Z'), (AdaptiveJob{.type = JobType::malleable, .size = {120, 120}}));
  EXPECT_EQ(by_type(esp("malleable=all")).size(), 14u);

  const auto limited = by_type(esp("malleable=FKC,max=2.3"));
  EXPECT_EQ(limited.at('F').size, (SizeRange{8, 18}));
  EXPECT_EQ(limited.at('K').size, (SizeRange{12, 27}));
  EXPECT_EQ(limited.at('C').size, (SizeRange{60, 120}));
}

TEST(Esp, OnHostsJobsGrowByAsManyCoresAsTheyHaveOnEach) {
  const auto found = by_type(esp("unit=node:8,malleable=AKC"));
  const auto multiple = [](Nodes n) { return SizeConstraint{SizeConstraint::Kind::multiple, n}; };
  EXPECT_EQ(found.at('A').size, (SizeRange{4, 60}));  // 4 cores on each of the 15 hosts
  EXPECT_EQ(found.at('A').believed.constraint, multiple(4));
  EXPECT_EQ(found.at('K').size, (SizeRange{16, 120}));
  EXPECT_EQ(found.at('K').believed.constraint, multiple(8));
  EXPECT_EQ(by_type(esp("unit=node:8,malleable=K,max=1.9")).at('K').size, (SizeRange{16, 24}));
}

TEST(Esp, SetsThatMakeAShare) {
  std::set<EspTypeSet> seen;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const EspSets sets = esp_sets({.malleable = {.share = Decimal(0.4)}}, seed);
    EXPECT_NEAR(static_cast<double>(esp_jobs(sets.malleable)), 0.4 * 230, 4.6);
    EXPECT_EQ(sets.evolving, 0u);
    seen.insert(sets.malleable);
  }
  EXPECT_GT(seen.size(), 80u);
  EspTypeSet all = 0;
  for (const EspTypeSet types : seen) all |= types;
  EXPECT_EQ(all, kAllEspTypes);
}

// Small enough to see that every one of the sets is drawn.
TEST(Esp, AllSetsThatMakeAShareAreDrawn) {
  std::set<EspTypeSet> expected, seen;
  for (EspTypeSet types = 0; types <= kAllEspTypes; ++types) {
    if (esp_jobs(types) <= 6) expected.insert(types);  // 0.01: 2.3 jobs, and 4.6 more or fewer
  }
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    seen.insert(esp_sets({.malleable = {.share = Decimal(0.01)}}, seed).malleable);
  }
  EXPECT_EQ(seen, expected);
}

TEST(Esp, NoneAndAllAreExact) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(esp_sets({.malleable = {.share = Decimal(1)}}, seed).malleable, kAllEspTypes);
    EXPECT_EQ(esp_sets({.malleable = {.share = Decimal(0)}}, seed).malleable, 0u);
  }
}

TEST(Esp, MalleableJobsAreDrawnOneByOne) {
  const auto drawn = [](double share, std::uint64_t seed) {
    const Workload workload =
        generate_esp({.malleable = {.share = Decimal(share)}, .pick = EspModel::Pick::jobs}, seed);
    std::set<std::uint64_t> names;
    for (const WorkloadJob& job : workload.jobs) {
      if (adaptive(workload, job)) names.insert(job.name);
    }
    return names;
  };
  EXPECT_EQ(drawn(0.2, 1).size(), 46u);
  EXPECT_EQ(drawn(0.25, 1).size(), 58u);  // of 57.5
  EXPECT_EQ(drawn(1, 1).size(), 230u);
  EXPECT_TRUE(std::ranges::includes(drawn(0.4, 2), drawn(0.2, 2)));
  EXPECT_NE(drawn(0.2, 1), drawn(0.2, 2));
  // Some jobs of a type, and not others: no set of types.
  const Workload half = esp("malleable=0.5,pick=jobs");
  const auto is_drawn = [&](const WorkloadJob& job) {
    return type_of(job).letter == 'A' && adaptive(half, job);
  };
  const auto of_a = std::ranges::count_if(half.jobs, is_drawn);
  EXPECT_GT(of_a, 20);
  EXPECT_LT(of_a, 55);
  EXPECT_THAT([] { esp("malleable=0.5,evolving=FGH,pick=jobs"); },
              ThrowsMessage<InputError>(HasSubstr("pick: jobs draws malleable jobs alone")));
}

TEST(Esp, SharesOfTwoKindsAreOfDifferentTypes) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const EspSets both =
        esp_sets({.malleable = {.share = Decimal(0.4)}, .evolving = {.share = Decimal(0.1)}}, seed);
    EXPECT_EQ(both.malleable & both.evolving, 0u);
    EXPECT_NEAR(static_cast<double>(esp_jobs(both.malleable)), 92, 4.6);
    EXPECT_NEAR(static_cast<double>(esp_jobs(both.evolving)), 23, 4.6);
    // A large share leaves few types to the other one, and is drawn so that there are some.
    const EspSets tight = esp_sets(
        {.malleable = {.share = Decimal(0.65)}, .evolving = {.share = Decimal(0.33)}}, seed);
    EXPECT_EQ(tight.malleable & tight.evolving, 0u);
    EXPECT_NEAR(static_cast<double>(esp_jobs(tight.malleable)), 149.5, 4.6);
    const EspSets named_too =
        esp_sets({.malleable = {.share = Decimal(0.4)}, .evolving = {.named = named("FGH")}}, seed);
    EXPECT_EQ(named_too.evolving, named("FGH"));
    EXPECT_EQ(named_too.malleable & named("FGH"), 0u);
  }
}

TEST(Esp, TheLongestTypesOfTheNearestSet) {
  const auto picked = [](int percent) {
    const EspTypes share = parse_esp_types("malleable", std::to_string(percent) + "e-2");
    return esp_sets({.malleable = share, .pick = EspModel::Pick::longest}, 1).malleable;
  };
  const auto run_time = [](EspTypeSet types) {
    std::int64_t sum = 0;
    for (std::size_t row = 0; row < kEspTypes.size(); ++row) {
      if ((types >> row & 1) != 0) sum += kEspTypes[row].count * kEspTypes[row].runtime_s;
    }
    return sum;
  };
  for (int percent = 1; percent < 100; ++percent) {
    const auto off = [percent](EspTypeSet types) {
      return std::abs(100 * esp_jobs(types) - percent * 230);
    };
    const EspTypeSet best = picked(percent);
    EXPECT_LE(off(best), 100) << percent;
    for (EspTypeSet types = 1; types <= kAllEspTypes; ++types) {
      ASSERT_GE(off(types), off(best)) << percent;
      if (off(types) > off(best)) continue;
      ASSERT_LE(run_time(types), run_time(best)) << percent;
    }
  }
  EXPECT_EQ(picked(0), 0u);
  EXPECT_EQ(picked(100), kAllEspTypes);
}

// The paper's sets: 41.7 %, 47.0 %, and 9.1 % with 43.0 %.
TEST(Esp, TheSetsOfThePaper) {
  EXPECT_EQ(esp_jobs(named("FGHIKL")), 96);
  EXPECT_EQ(esp_jobs(named("FIJKL")), 108);
  EXPECT_EQ(esp_jobs(named("FGH")), 21);
  EXPECT_EQ(esp_jobs(named("IJKL")), 99);
  EXPECT_EQ(to_letters(named("HGF")), "FGH");
  const Workload workload = esp("malleable=IJKL,evolving=FGH");
  EXPECT_EQ(workload.name, "esp malleable=IJKL evolving=FGH");
  std::map<JobType, int> counts;
  for (const WorkloadJob& job : workload.jobs) {
    const AdaptiveJob* more = adaptive(workload, job);
    ++counts[more ? more->type : JobType::rigid];
  }
  EXPECT_THAT(counts, ElementsAre(std::pair(JobType::rigid, 110), std::pair(JobType::malleable, 99),
                                  std::pair(JobType::evolving, 21)));
}

TEST(Esp, EvolvingRunTimesOfTheTable) {
  EXPECT_EQ(esp_evolving_runtime_s(kEspTypes[5]), 1230);
  EXPECT_EQ(esp_evolving_runtime_s(kEspTypes[6]), 1067);
  EXPECT_EQ(esp_evolving_runtime_s(kEspTypes[7]), 896);
}

// How long the job runs if its first or its second request is granted, by the linear model.
double granted_s(const AdaptiveJob& more, const EspType& type, Nodes size, std::size_t step) {
  const auto run_s = static_cast<double>(type.runtime_s);
  const EvolvingStep& it = more.steps.at(step);
  const double larger = static_cast<double>(size) / (size + static_cast<Nodes>(it.delta));
  return run_s * (it.progress + (1 - it.progress - it.saves) * larger);
}

TEST(Esp, GrantsGiveTheRunTimesOfTheTable) {
  for (const std::string nodes : {"120", "128", "32", "1000"}) {
    const Workload workload = esp("evolving=FGH,nodes=" + nodes);
    for (const WorkloadJob& job : workload.jobs) {
      const AdaptiveJob* more = adaptive(workload, job);
      if (!more) continue;
      const EspType& type = type_of(job);
      const auto more_nodes = static_cast<std::int32_t>((std::stoi(nodes) + 31) / 32);
      EXPECT_EQ(more->type, JobType::evolving);
      EXPECT_EQ(more->size, (SizeRange{job.nodes, job.nodes + static_cast<Nodes>(more_nodes)}));
      ASSERT_EQ(more->steps.size(), 2u);
      EXPECT_EQ(more->steps[0].progress, 0.16);
      EXPECT_EQ(more->steps[1].progress, 0.25);
      EXPECT_FALSE(more->steps[0].if_denied);
      EXPECT_TRUE(more->steps[1].if_denied);
      EXPECT_EQ(more->steps[0].delta, more_nodes);
      const auto table_s = static_cast<double>(esp_evolving_runtime_s(type));
      const auto run_s = static_cast<double>(type.runtime_s);
      EXPECT_NEAR(granted_s(*more, type, job.nodes, 0), table_s, 1e-6);
      EXPECT_NEAR(granted_s(*more, type, job.nodes, 1), 0.25 * run_s + 0.75 * table_s, 1e-6);
    }
  }
}

TEST(Esp, WithProgressWhatIsLeftBecomesFaster) {
  const auto found = by_type(esp("evolving=F,evolving_mode=progress,ask=8"));
  const AdaptiveJob& more = found.at('F');
  EXPECT_EQ(more.size, (SizeRange{8, 16}));
  EXPECT_EQ(more.steps,
            (std::vector<EvolvingStep>{{.progress = 0.16, .delta = 8},
                                       {.progress = 0.25, .delta = 8, .if_denied = true}}));
  EXPECT_NEAR(granted_s(more, kEspTypes[5], 8, 0), 1846 * (0.16 + 0.84 / 2), 1e-9);
}

TEST(Esp, TypesMayBeBoth) {
  const auto found = by_type(esp("evolving=FZ,malleable=FI"));
  EXPECT_EQ(found.at('F').type, JobType::adaptive);
  EXPECT_EQ(found.at('F').size, (SizeRange{8, 120}));
  EXPECT_EQ(found.at('F').steps.size(), 2u);
  EXPECT_EQ(found.at('Z').type, JobType::evolving);
  EXPECT_TRUE(found.at('Z').steps.empty());  // there is no more
  // Of few nodes: no more than the machine, and never anew.
  const auto few = by_type(esp("evolving=CF,nodes=2"));
  EXPECT_EQ(few.at('C').size, (SizeRange{1, 2}));
  EXPECT_GE(few.at('C').steps.at(0).saves, -0.16);
}

TEST(Esp, SaysWhatAWorkloadCannot) {
  EXPECT_EQ(esp_remark({}), "");
  EXPECT_EQ(esp_remark({.mode = EspModel::Mode::esp1_throughput}), "");
  EXPECT_EQ(esp_remark({.mode = EspModel::Mode::esp2}), "");
  EXPECT_THAT(esp_remark({.mode = EspModel::Mode::esp2, .premium = EspModel::Premium::priority}),
              HasSubstr("up to the policy"));
  EXPECT_THAT(esp_remark({.mode = EspModel::Mode::esp1_multimode}),
              HasSubstr("no shutdown and reboot"));
}

TEST(EspErrors, NameTheRemedy) {
  const auto message = [](const std::string& text, const char* expected) {
    EXPECT_THAT([&] { parse_model("esp:" + text).remark(); }, ThrowsMessage<InputError>(expected))
        << text;
    EXPECT_THROW(esp(text), InputError) << text;
  };
  message("unit=host",
          "unit: there is no 'host'; use core, or node:PPN with PPN cores on each host");
  message("unit=node:0",
          "unit: there is no 'node:0'; use core, or node:PPN with PPN cores on each host");
  message(
      "unit=node:7",
      "unit: 120 nodes are no whole number of hosts of 7; give nodes as the number of all cores");
  message(
      "malleable=FFG",
      "malleable: 'FFG' is neither a share from 0 to 1 nor types, each once; write 0.4, FGH (of "
      "A to M and Z), none or all");
  message(
      "evolving=FX",
      "evolving: 'FX' is neither a share from 0 to 1 nor types, each once; write 0.4, FGH (of A "
      "to M and Z), none or all");
  message(
      "malleable=1.5",
      "malleable: '1.5' is neither a share from 0 to 1 nor types, each once; write 0.4, FGH (of "
      "A to M and Z), none or all");
  message(
      "malleable=1,evolving=FGH",
      "malleable: no types have jobs within 2 % of this share; name the types, as malleable=FGH, "
      "or use pick=longest");
  message("malleable=0.9,evolving=0.5",
          "malleable: 0.9 and evolving=0.5 are more than all jobs: types that are drawn are "
          "different ones; make the shares smaller, or name types, as malleable=FGH: those named "
          "for both are adaptive");
  message("premium=barrier",
          "premium: no job is privileged in this mode; leave premium away, or give mode=esp2 or "
          "mode=esp1_multimode");
  message(
      "malleable=all,evolving=0.1",
      "evolving: no types have jobs within 2 % of this share; name the types, as malleable=FGH, "
      "or use pick=longest");
  message("max=0.5",
          "max: '0.5' is no factor from 1 on; write a factor of the size, machine, or "
          "constraint");
  message("max=big",
          "max: 'big' is no factor from 1 on; write a factor of the size, machine, or "
          "constraint");
  message("ask=0,evolving_mode=progress",
          "ask: '0' is no number of nodes; write a whole number from 1 on, or auto");
  message(
      "ask=4",
      "ask: the run times of the table are for 1/32 of the machine more; leave ask away, or give "
      "evolving_mode=progress");
  message("unit=node:8,malleable=FGI,evolving=FG",
          "evolving: FG are malleable as well, and grow by whole hosts; give each type once, or "
          "unit=core");
}

// Table I of paper 003: nearest sizes on 32 nodes, which each job may have, from the smallest to
// the largest that its constraint lets it have.
TEST(Esp, HasTheConstraintsOfPaper003) {
  const Workload workload = generate_esp({.nodes = 32,
                                          .malleable = parse_esp_types("malleable", "all"),
                                          .constraints = EspModel::Constraints::paper_003,
                                          .min = EspModel::Min::constraint},
                                         1);
  std::map<char, std::string> table;
  for (const WorkloadJob& job : workload.jobs) {
    const AdaptiveJob& its = workload.adaptive.at(job.adaptive);
    EXPECT_TRUE(its.believed.constraint.allows(job.nodes));
    table[kEspTypes[job.user - 1].letter] =
        to_text(its.believed.constraint) + " " + std::to_string(its.size.min) + " " +
        std::to_string(job.nodes) + " " + std::to_string(its.size.max);
  }
  EXPECT_EQ(table, (std::map<char, std::string>{{'A', "any 1 1 32"},
                                                {'B', "pof2 1 2 32"},
                                                {'C', "any 1 16 32"},
                                                {'D', "even 2 8 32"},
                                                {'E', "any 1 16 32"},
                                                {'F', "pof2 1 2 32"},
                                                {'G', "even 2 4 32"},
                                                {'H', "odd 1 5 31"},
                                                {'I', "any 1 1 32"},
                                                {'J', "pof2 1 2 32"},
                                                {'K', "any 1 3 32"},
                                                {'L', "even 2 4 32"},
                                                {'M', "any 1 8 32"},
                                                {'Z', "any 1 32 32"}}));
}

}  // namespace
}  // namespace ductile
