#include "scheduling/booking.hpp"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduling/blocks.hpp"
#include "scheduling/core.hpp"
#include "scheduling/record.hpp"
#include "scheduling/snapshot.hpp"

namespace ductile {
namespace {

constexpr Time at_s(std::int64_t second) { return Time{whole_seconds(second)}; }

NodeSet nodes(const char* text) { return *parse_node_set(text); }

/// A machine of 8 nodes of 100 W when they compute.
struct Small {
  explicit Small(double budget_w = 0) : core(platform(), {}, rules(), {}) {
    if (budget_w > 0) core.apply(now, event::CorridorChanged{0, budget_w});
  }
  static Platform platform() { return {.nodes = 8, .busy_w = 100}; }
  static Rules rules() { return {.identities = true, .check = true}; }

  BookingId book(Booking booking) {
    EXPECT_TRUE(core.apply(now, event::Booked{booking}));
    return core.state().bookings.back().id;
  }
  bool can_book(Booking booking) { return Core(core).apply(now, event::Booked{booking}); }
  JobId submit(Nodes n, std::int64_t seconds, BookingId booking = BookingId::none) {
    event::Submitted submitted{
        {.walltime = whole_seconds(seconds), .size = exactly(n), .preferred = n}, {}};
    if (booking != BookingId::none) {
      Where where;
      where.booking = booking;
      submitted.where = std::make_shared<const Where>(where);
    }
    core.apply(now, submitted);
    return JobId{core.state().jobs.size() - 1};
  }
  template <class Write>
  void pass(Write write) {
    core.close(
        now, [&](Pass& its) { write(its); }, true);
  }
  void at(std::int64_t second) {
    now = at_s(second);
    core.apply(now, event::TimerFired{});
    core.close(
        now, [](Pass&) {}, false);
  }

  Time now{};
  Core core;
};

Booking maintenance(std::int64_t from, std::int64_t to, const char* which) {
  return {.name = "repair", .from = at_s(from), .to = at_s(to), .nodes = nodes(which)};
}
Booking course(std::int64_t from, std::int64_t to, const char* which) {
  return {.name = "course",
          .from = at_s(from),
          .to = at_s(to),
          .nodes = nodes(which),
          .for_jobs = true};
}

TEST(Booking, ThePenKeepsOffWhatIsBooked) {
  Small small;
  small.book(maintenance(10, 20, "0-7"));
  const JobId fits = small.submit(2, 10), longer = small.submit(2, 11);
  small.pass([&](Pass& pass) {
    EXPECT_TRUE(pass.fits(fits, 2));
    EXPECT_FALSE(pass.fits(longer, 2));
    EXPECT_EQ(pass.idle(fits), 8u);
    EXPECT_EQ(pass.idle(longer), 0u);
    EXPECT_FALSE(pass.start(longer, exactly(2), {Why::in_order}));
    EXPECT_TRUE(pass.start(fits, exactly(2), {Why::in_order}));
  });
  EXPECT_EQ(small.core.next_wake(), at_s(10));
  small.at(10);
  EXPECT_EQ(small.core.next_wake(), at_s(20));
  small.pass([&](Pass& pass) { EXPECT_FALSE(pass.fits(longer, 2)); });
  small.at(20);
  EXPECT_TRUE(small.core.state().bookings.empty());
  EXPECT_TRUE(small.core.state().cells.is_one());
  small.pass([&](Pass& pass) { EXPECT_TRUE(pass.fits(longer, 2)); });
}

TEST(Booking, PlansGoAroundIt) {
  Small small;
  small.book(maintenance(10, 20, "0-3"));
  const JobId wide = small.submit(6, 5), wider = small.submit(8, 15), narrow = small.submit(4, 30);
  small.pass([&](Pass& pass) { backfill(pass, {.reservation_depth = Backfill::kUnlimited}); });
  EXPECT_EQ(small.core.job(wide).status, Status::running);
  EXPECT_EQ(small.core.job(wider).reserved, at_s(20));
  // On the nodes that are not booked it would be in the way of the one before it.
  EXPECT_EQ(small.core.job(narrow).reserved, at_s(35));
}

TEST(Booking, ItsJobsWaitForItAndUseItsNodesAlone) {
  Small small;
  const BookingId id = small.book(course(10, 30, "6-7"));
  const JobId its = small.submit(2, 20, id), late = small.submit(1, 15, id);
  EXPECT_TRUE(small.core.state().queue.empty());
  small.pass([&](Pass& pass) {
    EXPECT_FALSE(pass.start(its, exactly(2), {Why::in_order}));
    EXPECT_EQ(pass.first_pending(), JobId::none);
  });
  small.at(10);
  const JobId other = small.submit(8, 1);
  small.pass([&](Pass& pass) {
    EXPECT_FALSE(pass.fits(other, 8));
    backfill(pass, {});
  });
  EXPECT_EQ(small.core.job(its).holding.nodes, nodes("6-7"));
  EXPECT_EQ(small.core.job(other).reserved, at_s(30));
  small.now = at_s(16);
  small.core.apply(small.now, event::Ended{its, EndState::completed, false});
  small.pass([&](Pass& pass) {
    EXPECT_FALSE(pass.start(late, exactly(1), {Why::in_order}));  // until 31 s
    backfill(pass, {});
  });
  EXPECT_EQ(small.core.job(late).status, Status::pending);
  small.at(30);
  small.pass([&](Pass& pass) { EXPECT_TRUE(pass.fits(late, 1)); });
}

// As long as the booking, and started a moment after it began.
TEST(Booking, AJobAsLongAsItRunsInIt) {
  Small small;
  const BookingId id = small.book(course(100, 200, "6-7"));
  Booking next = maintenance(200, 300, "6-7");
  small.book(next);
  const JobId whole = small.submit(2, 100, id);
  small.at(101);
  Small later = small;
  small.pass([&](Pass& pass) {
    EXPECT_TRUE(pass.fits(whole, 2));
    backfill(pass, {});
  });
  EXPECT_EQ(small.core.job(whole).holding.nodes, nodes("6-7"));
  EXPECT_EQ(small.core.job(whole).limit, at_s(201));
  later.at(111);  // more than a tenth
  later.pass([&](Pass& pass) {
    EXPECT_FALSE(pass.fits(whole, 2));
    backfill(pass, {});
  });
  EXPECT_EQ(later.core.job(whole).status, Status::pending);
  EXPECT_EQ((Booking{.from = at_s(0), .to = at_s(10'000)}).until(at_s(60)), at_s(10'060));
  EXPECT_EQ((Booking{.from = at_s(0), .to = at_s(10'000)}).until(at_s(61)), at_s(10'000));
  EXPECT_EQ((Booking{.from = at_s(0)}).until(at_s(1)), kNever);
}

// Its end is no later than when it started, however late it is by now.
TEST(Booking, AJobAsLongAsItGrowsAndMovesInIt) {
  for (const bool grows : {true, false}) {
    Core core(Small::platform(), {.moves = true}, Small::rules(), {});
    core.apply({}, event::Booked{course(100, 200, "4-7")});
    event::Submitted submitted{{.type = JobType::malleable,
                                .walltime = whole_seconds(100),
                                .size = {1, 4},
                                .preferred = 2},
                               {}};
    submitted.adaptive.emplace();
    submitted.adaptive->walltime_for = WalltimeFor::any_size;
    Where where;
    where.booking = core.state().bookings.back().id;
    submitted.where = std::make_shared<const Where>(where);
    core.apply({}, submitted);
    const JobId job{0};
    core.close(
        at_s(101), [&](Pass& pass) { EXPECT_TRUE(pass.start(job, exactly(2), {Why::in_order})); },
        true);
    EXPECT_EQ(core.job(job).limit, at_s(201));
    if (grows) {
      core.close(
          at_s(150),
          [&](Pass& pass) { EXPECT_TRUE(pass.resize(job, exactly(4), {Why::hand_out})); }, true);
      EXPECT_EQ(core.job(job).holding.nodes, nodes("4-7"));
    } else {
      core.apply(at_s(150), event::NodesChanged{nodes("4-5"), Health::draining});
      core.close(
          at_s(150), [](Pass&) {}, false);
      EXPECT_EQ(core.job(job).doing, Doing::resizing);
    }
  }
}

// At its smallest size it would take twice as long: it starts no smaller than it has time for.
TEST(Booking, AJobAsLongAsItStartsUnderPoliciesThatStartAtTheSmallestSize) {
  Core core(Small::platform(), {}, Small::rules(), {.start_size = StartSize::smallest});
  core.apply({}, event::Booked{course(100, 200, "6-7")});
  event::Submitted submitted{
      {.type = JobType::malleable, .walltime = whole_seconds(100), .size = {1, 2}, .preferred = 2},
      {}};
  submitted.adaptive.emplace();
  Where where;
  where.booking = core.state().bookings.back().id;
  submitted.where = std::make_shared<const Where>(where);
  core.apply({}, submitted);
  const JobId job{0};
  core.apply(at_s(101), event::TimerFired{});
  core.close(
      at_s(101), [](Pass& pass) { backfill(pass, {}); }, true);
  EXPECT_EQ(core.job(job).holding.nodes, nodes("6-7"));
}

TEST(Booking, WhoWaitsForNodesMustNotRunIntoIt) {
  Small small;
  const JobId victim = [&] {
    event::Submitted submitted{{.type = JobType::malleable,
                                .walltime = whole_seconds(100),
                                .size = {1, 8},
                                .preferred = 8},
                               AdaptiveSpec{}};
    small.core.apply(small.now, submitted);
    return JobId{0};
  }();
  small.pass([&](Pass& pass) { EXPECT_TRUE(pass.start(victim, exactly(8), {Why::in_order})); });
  small.now = at_s(1);
  small.book(maintenance(10, 20, "0-7"));
  const JobId waits = small.submit(4, 5);
  const Cut cuts[] = {{victim, 4}};
  small.pass([&](Pass& pass) {
    EXPECT_EQ(pass.gives(cuts[0], waits), 4u);
    EXPECT_TRUE(pass.start(waits, exactly(4), {Why::in_order}, {cuts}));
  });
  ASSERT_EQ(small.core.state().claims.size(), 1u);
  // The answer comes so late that it would run beyond 10 s.
  small.now = at_s(6);
  const Decision shrink = small.core.unanswered().front();
  small.core.apply(small.now, event::Resized{victim, shrink.id, shrink.after, {}});
  small.pass([](Pass&) {});
  EXPECT_TRUE(small.core.state().claims.empty());
  EXPECT_EQ(small.core.job(waits).status, Status::pending);
}

TEST(Booking, ACapToComeIsKeptFree) {
  Small small(800);
  small.book({.name = "cap", .from = at_s(10), .to = at_s(20), .power_mw = 500'000});
  const JobId first = small.submit(3, 15), second = small.submit(1, 15),
              brief = small.submit(5, 10);
  small.pass([&](Pass& pass) {
    EXPECT_TRUE(pass.start(first, exactly(3), {Why::in_order}));
    EXPECT_FALSE(pass.start(second, exactly(1), {Why::in_order}));
    EXPECT_EQ(pass.powered(second, 1), 0u);
    EXPECT_TRUE(pass.start(brief, exactly(5), {Why::in_order}));
  });
  small.now = at_s(10);
  small.core.apply(small.now, event::Ended{brief, EndState::completed, false});
  small.at(10);
  small.pass([&](Pass& pass) {
    EXPECT_EQ(pass.powered(second, 1), 0u);
    backfill(pass, {});
  });
  EXPECT_EQ(small.core.job(second).reserved, at_s(15));
}

TEST(Booking, CapsToComeAddUpWhileTheyOverlap) {
  Small small(800);
  small.book({.name = "a", .from = at_s(10), .to = at_s(20), .power_mw = 300'000});
  small.book({.name = "b", .from = at_s(15), .to = at_s(30), .power_mw = 300'000});
  const JobId brief = small.submit(8, 10), longer = small.submit(8, 15),
              longest = small.submit(8, 16);
  small.pass([&](Pass& pass) {
    EXPECT_EQ(pass.powered(brief, 8), 8u);
    EXPECT_EQ(pass.powered(longer, 8), 5u);
    EXPECT_EQ(pass.powered(longest, 8), 2u);
  });
}

TEST(Booking, IsRefusedIfItCannotBe) {
  Small small;
  const BookingId id = small.book(course(10, 30, "2-3"));
  Booking other = maintenance(20, 40, "3-4");
  EXPECT_FALSE(small.can_book(other));
  other.from = at_s(30);
  EXPECT_TRUE(small.can_book(other));
  other.name = "course";
  EXPECT_FALSE(small.can_book(other));
  EXPECT_FALSE(small.can_book(maintenance(20, 20, "5")));
  EXPECT_FALSE(small.can_book(maintenance(50, 60, "8")));
  EXPECT_FALSE(small.can_book({.name = "nothing", .from = at_s(5), .to = at_s(6)}));
  EXPECT_FALSE(small.can_book({.name = "a b", .from = at_s(5), .to = at_s(6), .power_mw = 5}));
  Booking unknown = maintenance(50, 60, "5");
  unknown.id = BookingId{7};
  EXPECT_FALSE(small.can_book(unknown));
  Booking longer = course(10, 50, "2-3");
  longer.id = id;
  EXPECT_TRUE(small.can_book(longer));
}

TEST(Booking, ByCountGetsNodesThatAreFreeThen) {
  Small small;
  const JobId brief = small.submit(3, 10), longer = small.submit(3, 100);
  small.pass([&](Pass& pass) {
    EXPECT_TRUE(pass.start(brief, exactly(3), {Why::in_order}));   // 0-2
    EXPECT_TRUE(pass.start(longer, exactly(3), {Why::in_order}));  // 3-5
  });
  const State& state = small.core.state();
  EXPECT_EQ(place_booking(state, 3, at_s(20), at_s(30)), nodes("2,6-7"));
  EXPECT_EQ(place_booking(state, 3, at_s(5), at_s(30)), nodes("5-7"));
  EXPECT_EQ(place_booking(state, 9, at_s(5), at_s(30)), std::nullopt);
  small.book(maintenance(20, 30, "6-7"));
  EXPECT_EQ(place_booking(state, 3, at_s(25), at_s(40)), nodes("0-2"));
  EXPECT_EQ(place_booking(state, 7, at_s(25), at_s(40)), std::nullopt);
  EXPECT_EQ(place_booking(state, 2, at_s(30), at_s(40)), nodes("6-7"));
  small.core.apply(small.now, event::NodesChanged{nodes("7"), Health::down});
  EXPECT_EQ(place_booking(state, 2, at_s(30), at_s(40)), nodes("2,6"));
}

TEST(Booking, SurvivesARestart) {
  Small small;
  Booking booking = course(10, 30, "6-7");
  booking.users = {0, 1002};
  const BookingId id = small.book(booking);
  small.book(maintenance(50, 60, "0-7"));
  small.submit(2, 20, id);
  small.core.close(small.now, [](Pass&) {});
  const std::string text = save(small.core.state());
  const State loaded = load(text);
  EXPECT_EQ(save(loaded), text);
  EXPECT_EQ(loaded.bookings, small.core.state().bookings);
  EXPECT_EQ(loaded.next_booking, 2u);
  EXPECT_TRUE(loaded.queue.empty());
  Core core{State(loaded)};
  core.apply(at_s(10), event::TimerFired{});
  core.close(at_s(10), [](Pass& pass) { backfill(pass, {}); });
  EXPECT_EQ(core.job(JobId{0}).holding.nodes, nodes("6-7"));
}

// Limits are fixed: a start that grew in its pass has the limit of its first size.
TEST(Booking, AClaimThatWouldRunIntoItAtItsFirstSizeIsDissolved) {
  Rules rules = Small::rules();
  rules.limit = Rules::Limit::fixed;
  Core core(Small::platform(), {}, rules, {});
  const auto malleable = [&](SizeRange size, Nodes preferred, std::int64_t seconds) {
    core.apply(Time{}, event::Submitted{{.type = JobType::malleable,
                                         .walltime = whole_seconds(seconds),
                                         .size = size,
                                         .preferred = preferred},
                                        AdaptiveSpec{}});
    return JobId{core.state().jobs.size() - 1};
  };
  const JobId gives = malleable({1, 8}, 8, 1000), gets = malleable({1, 4}, 2, 20);
  core.close(
      Time{}, [&](Pass& pass) { EXPECT_TRUE(pass.start(gives, exactly(8), {Why::in_order})); },
      true);
  core.close(
      at_s(1),
      [&](Pass& pass) {
        const std::vector<Cut> first{{gives, 6}}, more{{gives, 4}};
        EXPECT_TRUE(pass.start(gets, exactly(2), {Why::shrunk_for, gets}, {first}));
        EXPECT_TRUE(pass.resize(gets, exactly(4), {Why::shrunk_for, gets}, {more}));
      },
      true);
  ASSERT_NE(core.job(gets).claim, ClaimId::none);
  core.apply(at_s(2), event::Booked{maintenance(15, 20, "4-7")});
  core.apply(at_s(2), event::Resized{gives, core.job(gives).decision, {4, nodes("0-3")}});
  EXPECT_TRUE(core.close(
                      at_s(2), [](Pass&) {}, true)
                  .empty());
  EXPECT_EQ(core.job(gets).claim, ClaimId::none);
  EXPECT_EQ(core.job(gets).status, Status::pending);
}

}  // namespace
}  // namespace ductile
