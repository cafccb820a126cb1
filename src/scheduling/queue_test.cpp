#include "scheduling/queue.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/wide.hpp"
#include "scheduling/job.hpp"

namespace ductile {
namespace {

constexpr std::size_t kOrders = kQueueOrderWords.size();

JobSpec random_spec(Draws& draws) {
  JobSpec spec;
  spec.preferred = static_cast<Nodes>(1 + draws.below(20));
  spec.walltime = whole_seconds(static_cast<std::int64_t>(1 + draws.below(30)));
  spec.submitted = Time{whole_seconds(static_cast<std::int64_t>(draws.below(1000)))};
  spec.priority = static_cast<std::int32_t>(draws.below(3));
  spec.user = static_cast<std::uint32_t>(draws.below(20));
  spec.type = draws.chance(0.5) ? JobType::malleable : JobType::rigid;
  spec.cores = static_cast<std::uint16_t>(draws.below(3));
  spec.bound = draws.chance(0.5) ? Bound::compute : Bound::mixed;
  return spec;
}

// In these tests a job of user 3 draws three watts.
Demand demand(const JobSpec& spec) { return {spec.preferred, spec.user * 1000}; }

std::vector<JobId> listed(const Queue& queue) {
  std::vector<JobId> ids;
  queue.for_each([&](JobId id) { ids.push_back(id); });
  return ids;
}

Queue::Need need(const JobSpec& spec) {
  return {spec.preferred, Queue::Need::units(demand(spec).power_mw), spec.walltime};
}

std::function<Queue::Need(JobId)> needs(const JobTable& jobs) {
  return [&jobs](JobId id) { return need(jobs[id].spec); };
}

FreeSteps random_steps(Draws& draws, std::int64_t unit) {
  FreeSteps free;
  free.add(Duration{}, static_cast<std::int64_t>(draws.below(25)) * unit);
  Duration from{};
  for (auto n = draws.below(4); n > 0; --n) {
    from += whole_seconds(static_cast<std::int64_t>(1 + draws.below(10)));
    free.add(from, (static_cast<std::int64_t>(draws.below(25)) - 2) * unit);
  }
  return free;
}

FreeProfile random_free(Draws& draws) {
  FreeProfile free;
  free.nodes = random_steps(draws, 1);
  if (draws.chance(0.5)) free.power = random_steps(draws, 1000);
  return free;
}

Wide area_of(const JobSpec& spec) { return Wide{spec.preferred} * spec.walltime.count(); }

/// Under the order `area`, where the jobs before a number are overdue; not by asking the queue.
bool goes_before_by_area(const JobTable& jobs, std::uint32_t overdue, JobId a, JobId b) {
  const auto place = [&](JobId id) {
    const JobSpec& spec = jobs[id].spec;
    const bool is_overdue = index(id) < overdue;
    return std::tuple(-std::int64_t{spec.priority}, !is_overdue, is_overdue ? 0 : area_of(spec),
                      index(id));
  };
  return place(a) < place(b);
}

TEST(Queue, HoldsTheWaitingInOrderAndFindsTheFirstThatFits) {
  for (std::size_t order = 0; order < kOrders; ++order) {
    Draws draws(order, Stream::test, 0);
    JobTable jobs;
    Queue queue;
    queue.resort(static_cast<QueueOrder>(order), Time{whole_seconds(2000)}, jobs, needs(jobs));
    std::vector<JobId> naive;
    std::uint32_t overdue = 0;
    int turned = 0;
    const auto before = [&](JobId a, JobId b) {
      if (queue.order() == QueueOrder::area) return goes_before_by_area(jobs, overdue, a, b);
      return queue.before(a, jobs[a].spec, b, jobs[b].spec);
    };
    for (int n = 0; n < 1500; ++n) {
      if (draws.chance(n < 900 ? 0.7 : 0.3)) {
        const JobId id = jobs.add();
        jobs[id].spec = random_spec(draws);
        queue.add(id, jobs[id].spec, need(jobs[id].spec));
        naive.insert(std::ranges::upper_bound(naive, id, before), id);
      } else if (!naive.empty()) {
        const auto at = static_cast<std::ptrdiff_t>(draws.below(naive.size()));
        queue.remove(naive[static_cast<std::size_t>(at)],
                     jobs[naive[static_cast<std::size_t>(at)]].spec);
        naive.erase(naive.begin() + at);
      }
      ASSERT_EQ(queue.size(), naive.size());
      ASSERT_EQ(queue.front(), naive.empty() ? JobId::none : naive.front());
      if (n % 50 == 0) {
        ASSERT_EQ(listed(queue), naive) << kQueueOrderWords[order];
        ASSERT_EQ(queue.kinds(jobs), queue.find_kinds(jobs));
        ASSERT_FALSE(Queue(queue).keeps_kinds());
      }

      if (queue.order() == QueueOrder::area && draws.chance(0.05)) {
        overdue += static_cast<std::uint32_t>(draws.below(20));
        const std::vector<JobId> was = naive;
        const bool any = queue.set_overdue(JobId{overdue}, Time{}, jobs, needs(jobs));
        std::ranges::sort(naive, before);
        ASSERT_EQ(listed(queue), naive);
        turned += any ? 1 : 0;
        ASSERT_TRUE(any || naive == was);
      }

      // From any job on, be it in the queue or not.
      const FreeProfile free = random_free(draws);
      JobId from = JobId::none;
      if (jobs.size() > 0 && draws.chance(0.7)) {
        from = JobId{static_cast<std::uint32_t>(draws.below(jobs.size()))};
      }
      const JobSpec* spec = from == JobId::none ? nullptr : &jobs[from].spec;
      const auto begin =
          from == JobId::none ? naive.begin() : std::ranges::upper_bound(naive, from, before);
      const auto fits = std::find_if(begin, naive.end(), [&](JobId id) {
        return free.fits(need(jobs[id].spec).least(), jobs[id].spec.walltime);
      });
      ASSERT_EQ(queue.first_fit(from, spec, free), fits == naive.end() ? JobId::none : *fits);
      if (from != JobId::none) {
        ASSERT_EQ(queue.after(from, *spec), begin == naive.end() ? JobId::none : *begin);
      }
      if (n % 50 == 0) {
        Wide area = 0;
        for (const JobId id : naive) area += area_of(jobs[id].spec);
        ASSERT_EQ(queue.area(), area);
        const JobId any{static_cast<std::uint32_t>(draws.below(jobs.size() + 1))};
        JobId next = JobId::none;
        for (const JobId id : naive) {
          if (id >= any) next = std::min(next, id);
        }
        ASSERT_EQ(queue.submitted_from(any), next);
      }
    }
    if (queue.order() == QueueOrder::area) {
      EXPECT_GT(turned, 20);
    }
  }
}

/// Lanes of some cells, and jobs in them.
struct Lanes {
  std::vector<Cells> cells;
  JobTable jobs;
  Queue queue;
  std::vector<JobId> naive;  // in order
  std::vector<ReachId> reaches;
  std::uint32_t overdue = 0;  // jobs before this one are, under the order `area`

  Lanes(Draws& draws, QueueOrder order, std::size_t lanes, std::size_t of) {
    for (std::size_t i = 0; i < lanes; ++i) {
      cells.push_back(1 + draws.below((Cells{1} << of) - 1));
      reaches.push_back(ReachId{static_cast<std::uint16_t>(i)});
    }
    queue.resort(order, Time{whole_seconds(2000)}, jobs, needs(jobs));
  }
  bool before(JobId a, JobId b) const {
    if (queue.order() == QueueOrder::area) return goes_before_by_area(jobs, overdue, a, b);
    return queue.before(a, jobs[a].spec, b, jobs[b].spec);
  }
  auto is_before() const {
    return [this](JobId a, JobId b) { return before(a, b); };
  }
  /// The next ones become overdue.
  bool turn(Draws& draws) {
    overdue += static_cast<std::uint32_t>(draws.below(40));
    const bool any = queue.set_overdue(JobId{overdue}, Time{}, jobs, needs(jobs));
    std::ranges::sort(naive, is_before());
    return any;
  }
  void add(Draws& draws) {
    const JobId id = jobs.add();
    jobs[id].spec = random_spec(draws);
    jobs[id].spec.lane = LaneId{static_cast<std::uint16_t>(draws.below(cells.size()))};
    queue.add(id, jobs[id].spec, need(jobs[id].spec));
    naive.insert(std::ranges::upper_bound(naive, id, is_before()), id);
  }
  void remove(JobId id) {
    queue.remove(id, jobs[id].spec);
    std::erase(naive, id);
  }
  /// Some of them are searched together from now on.
  void put_together(Draws& draws) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      reaches[i] = ReachId{static_cast<std::uint16_t>(draws.below(i + 1))};
    }
    queue.set_reaches(reaches, jobs);
  }
  ReachId reach_of(JobId id) const { return reaches[index(jobs[id].spec.lane)]; }
  Cells cells_of(JobId id) const { return cells[index(jobs[id].spec.lane)]; }
};

TEST(Queue, HasOneOrderOverItsLanes) {
  for (std::size_t order = 0; order < kOrders; ++order) {
    Draws draws(order, Stream::test, 3);
    Lanes lanes(draws, static_cast<QueueOrder>(order), 5, 4);
    Time now{whole_seconds(2000)};
    for (int n = 0; n < 1500; ++n) {
      if (draws.chance(n < 900 ? 0.7 : 0.3)) {
        lanes.add(draws);
      } else if (!lanes.naive.empty()) {
        lanes.remove(lanes.naive[draws.below(lanes.naive.size())]);
      }
      const auto& naive = lanes.naive;
      ASSERT_EQ(lanes.queue.size(), naive.size());
      ASSERT_EQ(lanes.queue.front(), naive.empty() ? JobId::none : naive.front());
      if (!naive.empty()) {
        ASSERT_EQ(lanes.queue.front_need(), need(lanes.jobs[naive.front()].spec));
      }
      if (n % 50 == 0) {
        ASSERT_EQ(listed(lanes.queue), naive) << kQueueOrderWords[order];
      }
      if (lanes.jobs.size() == 0) continue;
      const JobId from{static_cast<std::uint32_t>(draws.below(lanes.jobs.size()))};
      const JobSpec& spec = lanes.jobs[from].spec;
      const auto begin = std::ranges::upper_bound(naive, from, lanes.is_before());
      ASSERT_EQ(lanes.queue.after(from, spec), begin == naive.end() ? JobId::none : *begin);
      std::vector<bool> open;
      for (std::size_t i = 0; i < lanes.cells.size(); ++i) open.push_back(draws.chance(0.5));
      const auto is_open = [&](JobId id) { return open[index(lanes.reach_of(id))]; };
      const auto next = std::find_if(begin, naive.end(), is_open);
      const auto first = std::ranges::find_if(naive, is_open);
      ASSERT_EQ(lanes.queue.after(from, &spec, open), next == naive.end() ? JobId::none : *next);
      ASSERT_EQ(lanes.queue.after(JobId::none, nullptr, open),
                first == naive.end() ? JobId::none : *first);
      if (n % 100 == 50) lanes.put_together(draws);
      if (n % 100 == 0) {
        if (is_linear(lanes.queue.order())) {
          const std::vector<JobId> before = naive;
          now += whole_seconds(static_cast<std::int64_t>(draws.below(20)));
          const bool any = lanes.queue.advance(now, lanes.jobs);
          std::ranges::sort(lanes.naive, lanes.is_before());
          ASSERT_EQ(any, lanes.naive != before);
        } else if (lanes.queue.order() == QueueOrder::area && draws.chance(0.7)) {
          const std::vector<JobId> before = naive;
          const bool any = lanes.turn(draws);
          ASSERT_TRUE(any || lanes.naive == before);
        } else {
          lanes.queue.renew(needs(lanes.jobs));
        }
        ASSERT_EQ(listed(lanes.queue), lanes.naive);
      }
    }
    EXPECT_LE(lanes.queue.reaches(), 5u);
  }
}

FreeCells random_cells(Draws& draws, std::uint32_t count) {
  FreeCells free;
  for (std::uint32_t cell = 0; cell < count; ++cell) {
    free.cells.push_back(random_steps(draws, 1));
    free.order.insert(free.order.begin() + static_cast<std::ptrdiff_t>(draws.below(cell + 1)),
                      cell);
  }
  if (draws.chance(0.5)) free.all.power = random_steps(draws, 4'096);
  return free;
}

// As a plain walk over all of them would, with what is free then.
TEST(FitSearch, FindsThoseThatFitInOrderWhileRoomFalls) {
  int starts = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws draws(seed, Stream::test, 5);
    Lanes lanes(draws, static_cast<QueueOrder>(seed % kOrders), 1 + seed % 6, 4);
    for (auto n = 20 + draws.below(300); n > 0; --n) lanes.add(draws);
    for (int round = 0; round < 4 && !lanes.naive.empty(); ++round) {
      if (lanes.queue.order() == QueueOrder::area) lanes.turn(draws);
      FreeCells free = random_cells(draws, 4);
      std::vector<std::optional<JobId>> behind(lanes.cells.size());
      for (auto& its : behind) {
        if (draws.chance(0.7)) its = lanes.naive[draws.below(lanes.naive.size())];
        if (draws.chance(0.3)) its = JobId::none;
      }
      FitSearch search(lanes.queue, lanes.jobs, behind, lanes.cells);
      const std::vector<JobId> all = lanes.naive;
      for (const JobId id : all) {
        const JobSpec& spec = lanes.jobs[id].spec;
        const auto& from = behind[index(spec.lane)];
        if (!from || (*from != JobId::none && !lanes.before(*from, id))) continue;
        Demand its = need(spec).least();
        its.cells = lanes.cells_of(id);
        if (!free.fits(its, spec.walltime)) continue;
        ASSERT_EQ(search.next(free), id) << "seed " << seed;
        if (draws.chance(0.3)) {  // the policy does not want it
          ++refused;
          continue;
        }
        const Spread in = free.place(its, spec.walltime);
        free.take(its, in, spec.walltime);
        search.took(in.cells());
        lanes.remove(id);
        ++starts;
      }
      ASSERT_EQ(search.next(free), JobId::none);
    }
  }
  EXPECT_GT(starts, 200);
  EXPECT_GT(refused, 50);
}

/// Ids in the order in which the jobs go.
std::vector<std::uint32_t> order_of(QueueOrder order, Time now, const std::vector<JobSpec>& specs) {
  JobTable jobs;
  Queue queue;
  for (const JobSpec& spec : specs) {
    const JobId id = jobs.add();
    jobs[id].spec = spec;
    queue.add(id, spec, need(spec));
  }
  queue.resort(order, now, jobs, needs(jobs));
  EXPECT_EQ(queue.order(), order);
  EXPECT_EQ(queue.sorted_at(), now);
  std::vector<std::uint32_t> ids;
  for (const JobId id : listed(queue)) ids.push_back(index(id));
  return ids;
}

JobSpec job(Nodes n, std::int64_t walltime_s, std::int64_t submit_s) {
  JobSpec spec;
  spec.preferred = n;
  spec.walltime = whole_seconds(walltime_s);
  spec.submitted = Time{whole_seconds(submit_s)};
  return spec;
}

TEST(Queue, Orders) {
  using Ids = std::vector<std::uint32_t>;
  const std::vector<JobSpec> specs{job(4, 100, 0), job(1, 10, 50), job(8, 10, 60), job(4, 1000, 0)};
  const Time now{whole_seconds(100)};
  EXPECT_EQ(order_of(QueueOrder::fcfs, now, specs), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(order_of(QueueOrder::sjf, now, specs), (Ids{1, 2, 0, 3}));
  EXPECT_EQ(order_of(QueueOrder::ljf, now, specs), (Ids{3, 0, 1, 2}));
  EXPECT_EQ(order_of(QueueOrder::smallest, now, specs), (Ids{1, 0, 3, 2}));
  EXPECT_EQ(order_of(QueueOrder::largest, now, specs), (Ids{2, 0, 3, 1}));
  // (w/r)^3 n: 4, 125, 512, 0.004
  EXPECT_EQ(order_of(QueueOrder::wfp3, now, specs), (Ids{2, 1, 0, 3}));
  // w / (log2(n) r): 0.5, very large, 4/3, 0.05
  EXPECT_EQ(order_of(QueueOrder::unicef, now, specs), (Ids{1, 2, 0, 3}));
  // log10(r) n + 870 log10(s): 8, 1 + 1478, 8 + 1547, 12
  EXPECT_EQ(order_of(QueueOrder::f1, now, specs), (Ids{0, 3, 1, 2}));
  // n r: 400, 10, 80, 4000
  EXPECT_EQ(order_of(QueueOrder::area, now, specs), (Ids{1, 2, 0, 3}));
}

// Overdue jobs go as they came, whatever their area; priority goes before both.
TEST(Queue, OverdueJobsGoFirstUnderArea) {
  using Ids = std::vector<JobId>;
  const JobId a{0}, b{1}, c{2}, d{3}, e{4};
  JobTable jobs;
  Queue queue(QueueOrder::area);
  const auto add = [&](const JobSpec& spec) {
    const JobId id = jobs.add();
    jobs[id].spec = spec;
    queue.add(id, spec, need(spec));
  };
  add(job(4, 1000, 0));
  add(job(8, 10, 1));
  add(job(1, 10, 2));
  add(job(2, 5, 3));  // of the same area
  EXPECT_EQ(listed(queue), (Ids{c, d, b, a}));
  const auto set = [&](JobId before) {
    return queue.set_overdue(before, Time{whole_seconds(9)}, jobs, needs(jobs));
  };
  EXPECT_FALSE(set(a));
  EXPECT_EQ(queue.sorted_at(), Time{whole_seconds(9)});
  EXPECT_TRUE(set(b));
  EXPECT_EQ(listed(queue), (Ids{a, c, d, b}));
  EXPECT_TRUE(set(c));
  EXPECT_EQ(listed(queue), (Ids{a, b, c, d}));
  EXPECT_FALSE(set(c));
  EXPECT_EQ(queue.area(), Wide{4000 + 80 + 10 + 10} * 1'000'000);
  // It comes back, and is overdue still.
  queue.remove(b, jobs[b].spec);
  EXPECT_EQ(queue.submitted_from(b), c);
  queue.add(b, jobs[b].spec, need(jobs[b].spec));
  EXPECT_EQ(listed(queue), (Ids{a, b, c, d}));
  JobSpec urgent = job(8, 10'000, 4);
  urgent.priority = 1;
  add(urgent);
  EXPECT_EQ(listed(queue), (Ids{e, a, b, c, d}));
  // Sorted anew nobody is overdue.
  queue.resort(QueueOrder::area, Time{}, jobs, needs(jobs));
  EXPECT_EQ(listed(queue), (Ids{e, c, d, b, a}));
}

TEST(Queue, PriorityGoesFirstInEveryOrder) {
  std::vector<JobSpec> specs{job(4, 100, 0), job(1, 10, 50), job(8, 10, 60)};
  specs[0].priority = -1;
  specs[2].priority = 1;
  for (std::size_t order = 0; order < kOrders; ++order) {
    EXPECT_EQ(order_of(static_cast<QueueOrder>(order), Time{}, specs),
              (std::vector<std::uint32_t>{2, 1, 0}));
  }
}

TEST(Queue, WhatAJobNeedsIsSaidApartFromItsPlace) {
  JobTable jobs;
  Queue queue(QueueOrder::largest);
  for (const Nodes n : {8u, 4u}) {
    const JobId id = jobs.add();
    jobs[id].spec = job(n, 10, 0);
    queue.add(id, jobs[id].spec, {n == 8 ? 3u : 4u, 0, whole_seconds(10)});
  }
  FreeProfile free;
  free.nodes.add(Duration{}, 3);
  EXPECT_EQ(queue.first_fit(JobId::none, nullptr, free), JobId{0});
  queue.resort(QueueOrder::smallest, Time{}, jobs, [](JobId id) {
    return Queue::Need{index(id) == 0 ? 4u : 2u, 0, whole_seconds(10)};
  });
  EXPECT_EQ(queue.front(), JobId{1});
  EXPECT_EQ(queue.first_fit(JobId::none, nullptr, free), JobId{1});
}

TEST(Queue, ARequeuedJobHasItsPlace) {
  Queue queue;
  const JobSpec spec = job(1, 10, 0);
  for (std::uint32_t i = 0; i < 5; ++i) queue.add(JobId{i}, spec, need(spec));
  queue.remove(JobId{2}, spec);
  EXPECT_EQ(queue.after(JobId{1}, spec), JobId{3});
  EXPECT_EQ(queue.after(JobId{2}, spec), JobId{3});  // gone, and still a place to go on from
  queue.add(JobId{2}, spec, need(spec));
  EXPECT_EQ(queue.after(JobId{1}, spec), JobId{2});
  EXPECT_EQ(queue.after(JobId{4}, spec), JobId::none);
}

TEST(Line, IsComparedExactly) {
  Draws draws(1, Stream::test, 0);
  const auto sign = [](auto a, auto b) { return int{a > b} - int{a < b}; };
  int ties = 0;
  for (int n = 0; n < 200'000; ++n) {
    // Of two products that are close or the same: 2^e m (k t) and 2^e (k m) t, a little off.
    const std::uint64_t m = 1 + draws.below(std::uint64_t{1} << 32), k = 1 + draws.below(1 << 20);
    const std::uint64_t t = draws.below(std::uint64_t{1} << (1 + draws.below(40)));
    const std::uint64_t rate_a = m + draws.below(2), rate_b = k * m + draws.below(2);
    const std::uint64_t time_a = k * t + draws.below(2), time_b = t;
    const double scale = std::ldexp(1.0, static_cast<int>(draws.below(60)) - 55);
    const Time now{whole_seconds(7)};
    const Line a{static_cast<double>(rate_a) * scale,
                 now - Duration{static_cast<std::int64_t>(time_a)}};
    const Line b{static_cast<double>(rate_b) * scale,
                 now - Duration{static_cast<std::int64_t>(time_b)}};
    const int expected = sign(UnsignedWide{rate_a} * time_a, UnsignedWide{rate_b} * time_b);
    ASSERT_EQ(compare(a, b, now), expected)
        << rate_a << ' ' << time_a << ' ' << rate_b << ' ' << time_b;
    ASSERT_EQ(compare(b, a, now), -expected);
    ties += expected == 0 ? 1 : 0;
  }
  EXPECT_GT(ties, 1000);
  const Time now{};
  EXPECT_EQ(compare({2, now - kTick}, {1, now - 2 * kTick}, now), 0);
  EXPECT_EQ(compare({0x1p300, now + kTick}, {0, now - kTick}, now), 0);  // nothing before `since`
  EXPECT_EQ(compare({0x1p-300, now - kTick}, {0x1p300, now}, now), 1);
}

/// Some weights, of which none may be 0, and other rules; factors of four lanes.
Ranking random_ranking(Draws& draws) {
  const auto weight = [&] {
    return draws.chance(0.3) ? 0 : static_cast<std::uint32_t>(draws.below(2000));
  };
  Ranking ranking{{.weight_age = weight(),
                   .weight_fairshare = weight(),
                   .weight_size = weight(),
                   .weight_partition = weight(),
                   .weight_qos = weight(),
                   .max_age = whole_seconds(static_cast<std::int64_t>(draws.below(60))),
                   .favor_small = draws.chance(0.5),
                   .small_relative_to_time = draws.chance(0.5)},
                  25,
                  {}};
  for (int lane = 0; lane < 4; ++lane) {
    ranking.lanes.push_back(
        {static_cast<double>(draws.below(5)) / 4, static_cast<double>(draws.below(5)) / 4});
  }
  return ranking;
}

std::vector<Standing> random_standings(Draws& draws) {
  std::vector<Standing> standings;
  for (std::uint32_t user = 0; user < 20; ++user) {
    if (draws.chance(0.6)) standings.push_back({user, static_cast<double>(draws.below(9)) / 8});
  }
  return standings;
}

// Slurm's documentation put into one place, for one job; not by asking the queue.
double naive_priority(const Ranking& ranking, const std::vector<Standing>& standings,
                      const JobSpec& spec, Time now) {
  const Multifactor& rules = ranking.rules;
  double age = 0;
  if (now > spec.submitted) age = to_seconds(now - spec.submitted);
  age = rules.max_age == Duration{} ? 1 : std::min(age / to_seconds(rules.max_age), 1.0);
  double fairshare = 1;
  for (const Standing& each : standings) {
    if (each.user == spec.user) fairshare = each.value;
  }
  double size = spec.preferred / 25.0;
  if (rules.small_relative_to_time) size /= std::max(to_seconds(spec.walltime) / 60, 1.0);
  if (rules.favor_small) size = 1 - size;
  size = std::min(std::max(size, 0.0), 1.0);
  const double sum = rules.weight_age * age + rules.weight_fairshare * fairshare +
                     rules.weight_size * size +
                     rules.weight_partition * ranking.lanes[index(spec.lane)].partition +
                     rules.weight_qos * ranking.lanes[index(spec.lane)].qos;
  return std::max(std::floor(sum), 1.0);
}

TEST(Queue, GoesByMultifactorPriorities) {
  int moved = 0, kept = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Draws draws(seed, Stream::test, 2);
    const Ranking ranking = random_ranking(draws);
    std::vector<Standing> standings = random_standings(draws);
    Time now{whole_seconds(1000)};
    Queue queue(QueueOrder::multifactor, {now, standings, JobId{}},
                {ranking.rules, ranking.nodes, {}});
    for (std::uint16_t lane = 0; lane < 4; ++lane) {
      queue.set_factors(LaneId{lane}, ranking.lanes[lane]);
    }
    JobTable jobs;
    std::vector<JobId> waiting;
    const bool has_lanes = draws.chance(0.5);
    for (int n = 0; n < 8; ++n) {
      for (auto more = draws.below(9); more > 0; --more) {
        const JobId id = jobs.add();
        jobs[id].spec = random_spec(draws);
        jobs[id].spec.submitted = now - whole_seconds(static_cast<std::int64_t>(draws.below(20)));
        if (has_lanes) jobs[id].spec.lane = LaneId{static_cast<std::uint16_t>(draws.below(4))};
        waiting.push_back(id);
        queue.add(id, jobs[id].spec, need(jobs[id].spec));
      }
      for (auto fewer = draws.below(4); fewer > 0 && !waiting.empty(); --fewer) {
        const std::size_t at = draws.below(waiting.size());
        queue.remove(waiting[at], jobs[waiting[at]].spec);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
      }
      const auto expect_order = [&] {
        std::ranges::sort(waiting, {}, [&](JobId id) {
          const JobSpec& spec = jobs[id].spec;
          return std::tuple(-std::int64_t{spec.priority},
                            -naive_priority(ranking, standings, spec, now), id);
        });
        ASSERT_EQ(listed(queue), waiting) << "seed " << seed;
      };
      expect_order();
      now += whole_seconds(static_cast<std::int64_t>(draws.below(30)));
      if (draws.chance(0.3)) standings = random_standings(draws);
      const std::vector<JobId> before = listed(queue);
      const bool any = queue.advance(now, jobs, standings);
      expect_order();
      ASSERT_EQ(any, listed(queue) != before);
      ++(any ? moved : kept);
      const FreeProfile free = random_free(draws);
      Queue sorted(QueueOrder::multifactor);
      for (const JobId id : waiting) sorted.add(id, jobs[id].spec, need(jobs[id].spec));
      sorted.resort(QueueOrder::multifactor, now, jobs, needs(jobs), standings, ranking);
      ASSERT_EQ(listed(queue), listed(sorted));
      if (has_lanes) continue;
      ASSERT_EQ(queue.first_fit(JobId::none, nullptr, free),
                sorted.first_fit(JobId::none, nullptr, free));
    }
  }
  EXPECT_GT(kept, 1000);
  EXPECT_GT(moved, 1000);
}

TEST(Queue, IsKeptInOrderWhileTimeGoesOn) {
  for (const QueueOrder order : {QueueOrder::wfp3, QueueOrder::unicef, QueueOrder::fairshare}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Draws draws(seed, Stream::test, 1);
      JobTable jobs;
      Queue queue(order);
      std::vector<Standing> standings;
      std::vector<JobId> waiting;
      Time now{whole_seconds(1000)};
      int kept = 0, moved = 0;
      for (int n = 0; n < 300; ++n) {
        for (auto more = draws.below(n < 100 ? 9 : 4); more > 0; --more) {
          const JobId id = jobs.add();
          waiting.push_back(id);
          jobs[id].spec = random_spec(draws);
          jobs[id].spec.submitted = now - whole_seconds(static_cast<std::int64_t>(draws.below(20)));
          queue.add(id, jobs[id].spec, need(jobs[id].spec));
        }
        for (auto fewer = draws.below(4); fewer > 0 && !waiting.empty(); --fewer) {
          const std::size_t at = draws.below(waiting.size());
          queue.remove(waiting[at], jobs[waiting[at]].spec);
          waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
        }
        now +=
            Duration{static_cast<std::int64_t>(draws.below(n % 50 == 0 ? 1'000'000'000 : 50'000))};
        const std::vector<JobId> before = listed(queue);
        if (!is_linear(order) && draws.chance(0.5)) standings = random_standings(draws);
        const bool any = queue.advance(now, jobs, standings);
        ASSERT_EQ(any, listed(queue) != before);
        ++(any ? moved : kept);
        Queue sorted(order);
        for (const JobId id : waiting) sorted.add(id, jobs[id].spec, need(jobs[id].spec));
        sorted.resort(order, now, jobs, needs(jobs), standings);
        ASSERT_EQ(listed(queue), listed(sorted));
        const FreeProfile free = random_free(draws);
        ASSERT_EQ(queue.first_fit(JobId::none, nullptr, free),
                  sorted.first_fit(JobId::none, nullptr, free));
      }
      EXPECT_GT(kept, 10);
      EXPECT_GT(moved, 40);
    }
  }
}

TEST(Queue, OnlySomeOrdersChangeWithTime) {
  for (std::size_t i = 0; i < kOrders; ++i) {
    const auto order = static_cast<QueueOrder>(i);
    EXPECT_EQ(changes_with_time(order), order == QueueOrder::wfp3 || order == QueueOrder::unicef ||
                                            order == QueueOrder::fairshare ||
                                            order == QueueOrder::area ||
                                            order == QueueOrder::multifactor);
  }
}

TEST(Queue, WhatJobsNeedCanBeSaidAnew) {
  JobTable jobs;
  Queue queue(QueueOrder::wfp3);
  Draws draws(3, Stream::test, 0);
  for (int n = 0; n < 200; ++n) {
    const JobId id = jobs.add();
    jobs[id].spec = random_spec(draws);
    queue.add(id, jobs[id].spec, {jobs[id].spec.preferred, 0, whole_seconds(1)});
  }
  queue.advance(Time{whole_seconds(500)}, jobs);
  const std::vector<JobId> before = listed(queue);
  queue.renew(needs(jobs));
  EXPECT_EQ(listed(queue), before);
  queue.for_each([&](JobId id, Queue::Need its) { EXPECT_EQ(its, need(jobs[id].spec)); });
}

// It says never more than what is needed, however much that is.
TEST(Queue, WhatAJobNeedsOfPowerIsRoundedDown) {
  for (const std::int64_t mw : {0L, 1L, 4095L, 4096L, 123'456'789L, 1L << 50}) {
    const Queue::Need its{1, Queue::Need::units(mw), kTick};
    EXPECT_LE(its.least().power_mw, mw);
    EXPECT_GT(its.least().power_mw, std::min(mw, std::int64_t{1} << 43) - 4096);
  }
}

TEST(FreeProfile, AJobNeedsWhatIsFreeUntilItsEnd) {
  FreeProfile free;
  free.nodes.add(Duration{}, 8);
  free.nodes.add(whole_seconds(10), 3);
  EXPECT_TRUE(free.fits({8, 999}, whole_seconds(10)));
  EXPECT_FALSE(free.fits({8, 0}, whole_seconds(10) + kTick));
  EXPECT_TRUE(free.fits({3, 0}, whole_seconds(1000)));
  free.take({5, 0}, whole_seconds(10));  // ends just in time
  EXPECT_EQ(free.nodes.during(whole_seconds(10)), 3);
  EXPECT_EQ(free.nodes.during(whole_seconds(11)), 3);
  free.take({1, 0}, whole_seconds(11));
  EXPECT_EQ(free.nodes.during(whole_seconds(11)), 2);

  free.power.add(Duration{}, 100);
  free.power.add(whole_seconds(5), 60);
  EXPECT_TRUE(free.fits({2, 100}, whole_seconds(5)));
  EXPECT_FALSE(free.fits({2, 61}, whole_seconds(6)));
  EXPECT_FALSE(free.could_fit({2, 101}));
  free.take({1, 70}, whole_seconds(6));
  EXPECT_FALSE(free.fits({1, 0}, whole_seconds(6)));  // more is promised than there will be
  EXPECT_TRUE(free.fits({1, 30}, whole_seconds(4)));
}

}  // namespace
}  // namespace ductile
