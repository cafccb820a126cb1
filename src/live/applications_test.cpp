#include "live/applications.hpp"

#include <gtest/gtest.h>

#include "live/journal.hpp"

namespace ductile {
namespace {

Observed iterations(std::uint64_t count, double each_s) {
  return {.iterations = count, .iteration_time = seconds(each_s * static_cast<double>(count))};
}

Observed runs(std::uint64_t count, int each_s) {
  return {.runs = count, .run_time = count * whole_seconds(each_s)};
}

TEST(Applications, BelieveIterationsBeforeRunsBeforeAGuess) {
  ObservedAt seen;
  EXPECT_FALSE(model_of(seen, 1, true));
  seen[4] += {.looks = 1000, .in_mpi = 500};
  EXPECT_FALSE(model_of(seen, 1, false));
  EXPECT_DOUBLE_EQ(model_of(seen, 1, true)->parameter, 1.0 / 3);
  EXPECT_DOUBLE_EQ(*seen[4].mtct(), 1);
  // Of two sizes the one that was looked at more.
  seen[8] += {.looks = 100, .in_mpi = 0};
  EXPECT_DOUBLE_EQ(model_of(seen, 1, true)->parameter, 1.0 / 3);
  // Runs say that more nodes help nothing.
  seen[4] += runs(3, 10);
  seen[8] += runs(1, 10);
  EXPECT_DOUBLE_EQ(model_of(seen, 1, true)->relative_time(8, 4), 1);
  // And iterations that they are linear.
  seen[2] += iterations(5, 1);
  EXPECT_DOUBLE_EQ(model_of(seen, 1, false)->relative_time(8, 4), 1);
  seen[4] += iterations(50, 0.5);
  EXPECT_NEAR(model_of(seen, 1, false)->relative_time(8, 4), 0.5, 1e-9);
}

TEST(Applications, NeedSomeLooksToTellTheTimeInMpi) {
  EXPECT_FALSE((Observed{.looks = 99, .in_mpi = 1}).mtct());
  EXPECT_DOUBLE_EQ(*(Observed{.looks = 200, .in_mpi = 50}).mtct(), 50.5 / 150.5);
  EXPECT_DOUBLE_EQ(*(Observed{.looks = 200}).mtct(), 0.5 / 200.5);
  EXPECT_DOUBLE_EQ(*(Observed{.looks = 200, .in_mpi = 200}).mtct(), 401);
}

TEST(Applications, SumsOfWhateverIsToldStayNumbers) {
  Observed seen;
  for (int i = 0; i < 100; ++i) seen += {.iteration_time = Duration::max() / 2};
  EXPECT_GT(seen.iteration_time, Duration{});
}

TEST(Applications, AreKnownByWhatIsRunAndForgottenIfThereAreTooMany) {
  Submission what;
  what.program = {"/bin/solver", "input"};
  const Applications::Key key{7, Applications::hash_of(what)};
  Submission other = what;
  other.cores_per_process = 2;
  EXPECT_NE(key.second, Applications::hash_of(other));
  other = what;
  other.program = {"/bin/solver", "inpu", "t"};
  EXPECT_NE(key.second, Applications::hash_of(other));

  Applications known;
  EXPECT_TRUE(known.seen(key).empty());
  EXPECT_FALSE(known.add(key, 2, runs(1, 10)));
  EXPECT_FALSE(known.add(key, 2, runs(1, 20)));
  EXPECT_EQ(known.seen(key).at(2), (Observed{.runs = 2, .run_time = whole_seconds(30)}));
}

// Who has most of them forgets his oldest one, whoever else comes.
TEST(Applications, OneUserMakesNobodyElseForget) {
  using Key = Applications::Key;
  Applications known;
  const Key first{7, 1};
  known.add(first, 2, runs(1, 10));
  for (std::uint64_t i = 1; i < 10'000; ++i) ASSERT_FALSE(known.add({9, i}, 1, runs(1, 1)));
  EXPECT_EQ(known.add({9, 10'000}, 1, runs(1, 1)), (Key{9, 1}));
  EXPECT_TRUE(known.seen({9, 1}).empty());
  EXPECT_EQ(known.add({8, 1}, 1, runs(1, 1)), (Key{9, 2}));
  EXPECT_FALSE(known.add({9, 3}, 1, runs(1, 1)));
  EXPECT_FALSE(known.seen(first).empty());
  EXPECT_FALSE(known.seen({8, 1}).empty());
}

TEST(Measurements, CountWhenThereIsATenthMore) {
  const JobId id{3};
  Measurements its;
  its.add(id, 2, iterations(1, 1));
  ASSERT_TRUE(its.has_news());
  EXPECT_TRUE(its.of(id).empty());  // not written
  EXPECT_EQ(its.take(), (std::map<JobId, std::vector<Nodes>>{{id, {2}}}));
  EXPECT_EQ(its.of(id), (ObservedAt{{2, iterations(1, 1)}}));
  EXPECT_FALSE(its.has_news());

  // A job that runs for ever writes less and less.
  int written = 1;
  for (int i = 0; i < 100'000; ++i) {
    its.add(id, 2, iterations(1, 1));
    if (its.has_news()) written += static_cast<int>(its.take().size());
  }
  EXPECT_LT(written, 130);  // log 1.1 of 100,000, and the first ones
  // A new size is news at once, and so are the first looks.
  its.add(id, 4, iterations(1, 1));
  EXPECT_EQ(its.take().at(id).back(), 4u);
  its.add(id, 2, {.looks = 1});
  EXPECT_TRUE(its.has_news());
  EXPECT_EQ(its.end(id).at(2).iterations, 100'001u);
  EXPECT_FALSE(its.has_news());
  EXPECT_TRUE(its.of(id).empty());
}

// What was written is what was known, to the last bit.
TEST(Measurements, AreInTheJournal) {
  const std::string path = ::testing::TempDir() + "/learned.db";
  const Applications::Key one{7, ~std::uint64_t{0}}, two{7, 5};
  const Observed much = iterations(std::uint64_t{1} << 40, 1e-3);
  {
    Journal journal(path);
    journal.begin();
    journal.took(7, {whole_seconds(1)});
    journal.took(8, {whole_seconds(5), whole_seconds(3)});
    journal.took(7, {whole_seconds(1), whole_seconds(2)});
    journal.seen(one, 4, runs(1, 10));
    journal.seen(two, 1, much);
    journal.seen(one, 2, much);
    journal.seen(one, 4, runs(2, 10));
    journal.measured(1, 2, much);
    journal.measured(1, 4, iterations(3, 1));
    journal.measured(1, 2, iterations(4, 1));
    journal.measured(2, 1, much);
    journal.forget_measured(2);
    journal.commit();
  }
  Journal journal(path);
  std::vector<std::pair<std::uint32_t, Duration>> users;
  journal.each_user([&](std::uint32_t user, Duration took) { users.emplace_back(user, took); });
  EXPECT_EQ(users, (std::vector<std::pair<std::uint32_t, Duration>>{{7, whole_seconds(1)},
                                                                    {7, whole_seconds(2)},
                                                                    {8, whole_seconds(5)},
                                                                    {8, whole_seconds(3)}}));
  std::vector<std::pair<Applications::Key, ObservedAt>> applications;
  const auto read = [&](const Applications::Key& key, Nodes nodes, const Observed& seen) {
    applications.push_back({key, {{nodes, seen}}});
  };
  journal.each_application(read);
  EXPECT_EQ(applications, (std::vector<std::pair<Applications::Key, ObservedAt>>{
                              {one, {{4, runs(2, 10)}}}, {two, {{1, much}}}, {one, {{2, much}}}}));
  ObservedAt measured;
  journal.each_measured([&](std::uint64_t number, Nodes nodes, const Observed& seen) {
    EXPECT_EQ(number, 1u);
    measured[nodes] = seen;
  });
  EXPECT_EQ(measured, (ObservedAt{{2, iterations(4, 1)}, {4, iterations(3, 1)}}));

  journal.begin();
  journal.forget(one);
  journal.commit();
  applications.clear();
  journal.each_application(read);
  EXPECT_EQ(applications.size(), 1u);
}

}  // namespace
}  // namespace ductile
