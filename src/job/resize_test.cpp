#include "job/resize.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using Phase = Resize::Phase;

const Resize::Clock::time_point kStart{};

// What was ordered, "old:prepare".
std::vector<std::string> orders(Resize& resize) {
  std::vector<std::string> texts;
  for (const Resize::Order& order : resize.take_orders()) {
    texts.push_back((order.side == Side::old ? "old:" : "new:") +
                    std::string(wire::name_of(order.content)));
  }
  return texts;
}

using Texts = std::vector<std::string>;

struct Step {
  Side side;
  std::uint32_t rank;
  wire::Content content;
};

// From 2 to 3 processes, of which process 1 is 50 probes ahead.
std::vector<Step> whole_resize() {
  using namespace wire;  // NOLINT(google-build-using-namespace)
  return {{Side::fresh, 0, Ready{"a:0"}}, {Side::fresh, 1, Ready{"a:1"}},
          {Side::fresh, 2, Ready{"a:2"}}, {Side::old, 0, At{100}},
          {Side::old, 1, At{150}},        {Side::old, 1, Reached{}},
          {Side::old, 0, Reached{}},      {Side::old, 0, Sent{}},
          {Side::fresh, 0, Taken{10}},    {Side::fresh, 1, Taken{20}},
          {Side::fresh, 2, Taken{30}},    {Side::old, 1, Sent{}},
          {Side::fresh, 0, Running{}},    {Side::fresh, 1, Running{}},
          {Side::fresh, 2, Running{}},    {Side::old, 1, Leaving{}},
          {Side::old, 0, Leaving{}}};
}
constexpr std::size_t kStepsToCommit = 12;

TEST(Resize, IsDoneWhenAllGoOnOrNobodyWaitsForThat) {
  const std::vector<Step> steps = whole_resize();
  for (const bool all : {false, true}) {
    Resize resize(1, 2, 3, {}, kStart);
    resize.stop_waiting();  // too early to mean anything
    for (std::size_t i = 0; i < kStepsToCommit + (all ? 3 : 2); ++i) {
      resize.receive(steps[i].side, steps[i].rank, steps[i].content, kStart);
    }
    EXPECT_EQ(resize.phase(), Phase::committed);
    EXPECT_EQ(resize.is_done(), all);
    EXPECT_EQ(resize.next() == Resize::Clock::time_point::max(), all);
    resize.tick(kStart + Resize::Limits{}.starting);
    EXPECT_EQ(resize.phase(), Phase::committed);
    EXPECT_TRUE(resize.is_done());
    EXPECT_EQ(resize.is_running(), all);
    EXPECT_EQ(resize.next(), Resize::Clock::time_point::max());
  }
}

// The old processes hand over to a file, and there are no others.
TEST(Resize, ToNobodyIsASuspension) {
  using namespace wire;  // NOLINT(google-build-using-namespace)
  Resize resize(1, 2, 0, {}, kStart, std::nullopt, "/folder/keep");
  EXPECT_EQ(resize.phase(), Phase::agreeing);
  EXPECT_EQ(orders(resize), (Texts{"new:take", "old:prepare"}));
  resize.receive(Side::old, 0, At{100}, kStart);
  resize.receive(Side::old, 1, At{150}, kStart);
  EXPECT_EQ(orders(resize), Texts{"old:meet"});
  resize.receive(Side::old, 0, Reached{}, kStart);
  resize.receive(Side::old, 1, Reached{}, kStart);
  const std::vector<Resize::Order> go = resize.take_orders();
  ASSERT_EQ(go.size(), 1u);
  EXPECT_EQ(std::get<Go>(go[0].content).addresses, Texts{"file:/folder/keep"});
  resize.receive(Side::old, 0, Sent{10}, kStart);
  EXPECT_EQ(resize.phase(), Phase::handing_over);
  resize.receive(Side::old, 1, Sent{20}, kStart);
  EXPECT_EQ(resize.phase(), Phase::committed);
  EXPECT_TRUE(resize.is_running());
}

TEST(Resize, GoesThroughItsPhases) {
  Resize resize(1, 2, 3, {}, kStart);
  const std::vector<Step> steps = whole_resize();
  std::size_t at = 0;
  const auto run_to = [&](std::size_t end) {
    for (; at < end; ++at) {
      EXPECT_EQ(orders(resize), Texts{});
      resize.receive(steps[at].side, steps[at].rank, steps[at].content, kStart);
    }
    return orders(resize);
  };
  EXPECT_EQ(run_to(3), (Texts{"new:take", "old:prepare"}));
  EXPECT_EQ(run_to(5), (Texts{"old:meet"}));
  EXPECT_EQ(resize.meeting(), 151u);
  EXPECT_EQ(resize.skew(), 50u);
  EXPECT_EQ(run_to(7), (Texts{"old:go"}));
  EXPECT_EQ(run_to(12), (Texts{"new:commit", "old:commit"}));
  EXPECT_FALSE(resize.is_running());
  EXPECT_EQ(run_to(15), Texts{});
  EXPECT_TRUE(resize.is_running());
  EXPECT_FALSE(resize.is_leaving());
  EXPECT_EQ(run_to(17), Texts{});
  EXPECT_TRUE(resize.is_leaving());
  EXPECT_EQ(resize.bytes(), 60u);
  EXPECT_EQ(resize.strays(), 0u);
}

// A message that comes twice, or that belongs to another phase, side or process, changes nothing.
TEST(Resize, StrayMessagesChangeNothing) {
  const std::vector<Step> steps = whole_resize();
  for (std::size_t at = 0; at <= steps.size(); ++at) {
    for (std::size_t stray = 0; stray < steps.size(); ++stray) {
      if (stray == at) continue;  // in order
      Resize resize(1, 2, 3, {}, kStart);
      for (std::size_t i = 0; i < at; ++i) {
        resize.receive(steps[i].side, steps[i].rank, steps[i].content, kStart);
      }
      const Phase before = resize.phase();
      resize.take_orders();
      const Side other = steps[stray].side == Side::old ? Side::fresh : Side::old;
      resize.receive(other, steps[stray].rank, steps[stray].content, kStart);
      resize.receive(steps[stray].side, 7, steps[stray].content, kStart);
      EXPECT_EQ(resize.strays(), 2u);
      if (stray < at) {
        resize.receive(steps[stray].side, steps[stray].rank, steps[stray].content, kStart);
        EXPECT_EQ(resize.strays(), 3u);
      }
      EXPECT_EQ(resize.phase(), before);
      EXPECT_TRUE(resize.take_orders().empty());
    }
  }
}

// Until the commit a failure of any process, at any time, leaves the old generation the job.
// A process for which there is nothing, as there are more processes than elements, says so before
// the others meet. Nothing else would tell that it is done.
TEST(Resize, NewProcessesWithoutDataAreDoneBeforeTheOthersMeet) {
  for (const std::size_t place : {3U, 4U, 6U}) {
    std::vector<Step> steps = whole_resize();
    const auto done = steps.begin() + 10;
    const Step early = {Side::fresh, done->rank, wire::Taken{}};
    steps.erase(done);
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(place), early);
    Resize resize(1, 2, 3, {}, kStart);
    auto now = kStart;
    for (std::size_t i = 0; i < kStepsToCommit; ++i) {
      resize.receive(steps[i].side, steps[i].rank, steps[i].content, now += 1s);
    }
    EXPECT_EQ(resize.phase(), Phase::committed) << place;
    EXPECT_EQ(resize.strays(), 0u);
    EXPECT_EQ(resize.taken()[early.rank], resize.times().handing_over);
  }
}

TEST(Resize, AbortsBeforeTheCommitAndNeverAfter) {
  const std::vector<Step> steps = whole_resize();
  for (std::size_t at = 0; at <= steps.size(); ++at) {
    for (const Side side : {Side::old, Side::fresh}) {
      Resize resize(1, 2, 3, {}, kStart);
      for (std::size_t i = 0; i < at; ++i) {
        resize.receive(steps[i].side, steps[i].rank, steps[i].content, kStart);
      }
      resize.take_orders();
      resize.receive(side, 1, wire::Failed{"no memory"}, kStart);
      if (at < kStepsToCommit) {
        EXPECT_EQ(resize.phase(), Phase::aborted);
        EXPECT_EQ(resize.reason(),
                  side == Side::old ? "process 1: no memory" : "new process 1: no memory");
        EXPECT_EQ(orders(resize), (Texts{"old:abort", "new:abort"}));
        for (std::size_t i = at; i < steps.size(); ++i) {
          resize.receive(steps[i].side, steps[i].rank, steps[i].content, kStart);
        }
        EXPECT_EQ(resize.phase(), Phase::aborted);
      } else {
        EXPECT_EQ(resize.phase(), Phase::committed);
      }
      EXPECT_TRUE(resize.take_orders().empty());
    }
  }
}

// The old processes stand at probe 151 and say that they can be resized at probe 160.
TEST(Resize, TheProgramMayPostpone) {
  using namespace wire;  // NOLINT(google-build-using-namespace)
  const Resize::Limits limits{.gathering = 3s};
  const std::vector<Step> steps = whole_resize();
  const auto standing = [&] {
    Resize resize(1, 2, 3, limits, kStart);
    for (std::size_t i = 0; i < 7; ++i) {
      resize.receive(steps[i].side, steps[i].rank, steps[i].content, kStart);
    }
    resize.take_orders();
    return resize;
  };
  Resize resize = standing();
  resize.receive(Side::old, 1, Postponed{160}, kStart + 1s);
  EXPECT_EQ(resize.phase(), Phase::gathering);
  EXPECT_EQ(resize.deadline(), kStart + 3s);                       // as before
  EXPECT_EQ(resize.times().stopped, Resize::Clock::time_point{});  // they compute on
  // Process 1 is there before process 0 has said anything; what process 0 says twice is of no use.
  resize.receive(Side::old, 1, Reached{}, kStart + 2s);
  resize.receive(Side::old, 0, Reached{}, kStart + 2s);
  EXPECT_EQ(resize.strays(), 1u);
  resize.receive(Side::old, 0, Postponed{160}, kStart + 2s);
  resize.receive(Side::old, 0, Postponed{160}, kStart + 2s);
  EXPECT_EQ(resize.strays(), 2u);
  EXPECT_EQ(orders(resize), Texts{});
  resize.receive(Side::old, 0, Reached{}, kStart + 2s);
  EXPECT_EQ(orders(resize), Texts{"old:go"});
  resize.receive(Side::old, 0, Postponed{160}, kStart + 2s);  // late
  EXPECT_EQ(resize.phase(), Phase::handing_over);
  EXPECT_EQ(resize.postponements(), 1u);
  EXPECT_EQ(resize.meeting(), 160u);
  EXPECT_EQ(resize.skew(), 50u);
  for (std::size_t i = 7; i < steps.size(); ++i) {
    resize.receive(steps[i].side, steps[i].rank, steps[i].content, kStart);
  }
  EXPECT_TRUE(resize.is_running());

  // Processes that do not do the same.
  Resize other = standing();
  other.receive(Side::old, 0, Postponed{160}, kStart);
  other.receive(Side::old, 1, Postponed{161}, kStart);
  EXPECT_EQ(other.reason(), "process 1 postpones to another probe than the others");
  for (const bool sends_first : {true, false}) {
    Resize mixed = standing();
    if (sends_first) mixed.receive(Side::old, 1, Sent{}, kStart);
    mixed.receive(Side::old, 0, Postponed{160}, kStart);
    if (!sends_first) mixed.receive(Side::old, 1, Sent{}, kStart);
    EXPECT_EQ(mixed.phase(), Phase::aborted);
  }
}

TEST(Resize, EveryPhaseHasItsLimit) {
  const Resize::Limits limits{.starting = 1s, .agreeing = 2s, .gathering = 3s, .handing_over = 4s};
  const struct {
    std::size_t steps;
    std::chrono::seconds limit;
    std::string reason;
  } cases[] = {{2, 1s, "the new generation was not ready in time"},
               {4, 2s, "not all processes said in time where they are"},
               {6, 3s,
                "not all processes came to a probe in time: process 0 is at probe 100 for 3 s; 1 "
                "of 2 wait at probe 151"},
               {11, 4s, "the data was not handed over in time"}};
  for (const auto& [count, limit, reason] : cases) {
    Resize resize(1, 2, 3, limits, kStart);
    const std::vector<Step> steps = whole_resize();
    for (std::size_t i = 0; i < count; ++i) {
      resize.receive(steps[i].side, steps[i].rank, steps[i].content, kStart);
    }
    EXPECT_EQ(resize.deadline(), kStart + limit);
    resize.tick(kStart + limit - 1ms);
    EXPECT_FALSE(resize.is_settled());
    resize.tick(kStart + limit);
    EXPECT_EQ(resize.reason(), reason);
  }
}

// Processes 0 and 2 wait at the meeting point, process 1 does not come.
Resize one_is_missing(std::uint64_t probe_of_1) {
  using namespace wire;  // NOLINT(google-build-using-namespace)
  Resize resize(1, 3, 1, {}, kStart + 100s, kStart);
  resize.receive(Side::fresh, 0, Ready{"a:0"}, kStart + 100s);
  resize.receive(Side::old, 0, At{200}, kStart + 100s);
  resize.receive(Side::old, 1, At{probe_of_1}, kStart + 100s);
  resize.receive(Side::old, 2, At{199}, kStart + 100s);
  resize.receive(Side::old, 0, Reached{}, kStart + 101s);
  resize.receive(Side::old, 2, Reached{}, kStart + 101s);
  resize.take_orders();
  return resize;
}

TEST(Resize, AsksWhoDoesNotComeWhereItIs) {
  Resize resize = one_is_missing(100);
  EXPECT_EQ(resize.next(), kStart + 102s);
  resize.tick(kStart + 102s);
  EXPECT_EQ(orders(resize), (Texts{"old:prepare"}));
  EXPECT_EQ(resize.missing(kStart + 105s),
            "process 1 is at probe 100 for 5 s; 2 of 3 wait at probe 201");
  resize.receive(Side::old, 1, wire::At{150}, kStart + 105s);
  EXPECT_EQ(resize.missing(kStart + 105s), "process 1 is at probe 150; 2 of 3 wait at probe 201");
  EXPECT_EQ(resize.strays(), 0u);
  EXPECT_EQ(resize.phase(), Phase::gathering);
}

// A hundred iterations of a second have to pass; those of a process that goes on do not.
TEST(Resize, GivesUpOnWhoComesToNoFurtherProbe) {
  Resize resize = one_is_missing(99);
  resize.tick(kStart + 190s);
  resize.receive(Side::old, 1, wire::At{100}, kStart + 190s);
  resize.tick(kStart + 230s);
  EXPECT_EQ(resize.phase(), Phase::gathering);
  resize.tick(kStart + 380s);
  EXPECT_EQ(resize.phase(), Phase::aborted);
  EXPECT_EQ(resize.reason(),
            "process 1 is at probe 100 for 190 s; 2 of 3 wait at probe 201; do all processes probe "
            "equally often?");
  // Short iterations.
  Resize other = one_is_missing(199);
  other.tick(kStart + 160s);
  EXPECT_EQ(other.phase(), Phase::aborted);
}

TEST(Resize, WaitsAsLongAsItMayWhereNobodyWaitsForAnother) {
  Resize resize(1, 2, 3, {}, kStart, kStart);
  for (const Step& step : whole_resize()) {
    if (std::holds_alternative<wire::Reached>(step.content)) break;
    resize.receive(step.side, step.rank, step.content, kStart);
  }
  resize.take_orders();
  resize.tick(kStart + 599s);
  EXPECT_EQ(resize.phase(), Phase::gathering);
  EXPECT_EQ(orders(resize), Texts{});
  resize.tick(kStart + 600s);
  EXPECT_EQ(resize.phase(), Phase::aborted);
}

}  // namespace
}  // namespace ductile
