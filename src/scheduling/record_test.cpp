#include "scheduling/record.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace ductile {
namespace {

constexpr int kRounds = 2000;

Time us(std::int64_t microseconds) { return Time(Duration(microseconds)); }

// --- Random values -------------------------------------------------------------------------------

struct Any {
  Draws draws;
  explicit Any(std::uint64_t seed) : draws(seed, Stream::test, 77) {}

  bool flag() { return draws.chance(0.5); }
  std::uint64_t below(std::uint64_t n) { return draws.below(n); }
  // Short numbers and long ones alike.
  std::uint64_t bits(std::uint64_t most) { return below(std::uint64_t{1} << below(most)); }
  Nodes count() { return static_cast<Nodes>(bits(25)); }
  template <class Id>
  Id id() {
    return draws.chance(0.2) ? Id::none : Id{static_cast<std::underlying_type_t<Id>>(bits(32))};
  }
  Time moment() { return us(static_cast<std::int64_t>(bits(61)) * (flag() ? 1 : -1)); }
  Time time() { return draws.chance(0.2) ? kNever : moment(); }
  Duration duration() { return Duration(static_cast<std::int64_t>(bits(61))); }
  double real(double low, double high) {
    if (draws.chance(0.2)) return low;
    return draws.chance(0.3) ? static_cast<double>(below(static_cast<std::uint64_t>(high)))
                             : draws.uniform(low, high);
  }
  template <class Enum>
  Enum of(Enum last) {
    return static_cast<Enum>(below(static_cast<std::uint64_t>(last) + 1));
  }
  NodeSet nodes() {
    NodeSet set;
    for (auto n = below(5); n > 0; --n) {
      const auto first = static_cast<std::uint32_t>(bits(23));
      set.insert(first, first + static_cast<std::uint32_t>(below(9)));
    }
    return set;
  }
  Holding holding() {
    return {count(), nodes(), list<Part>([&] { return Part{nodes(), slice()}; })};
  }
  Reason reason() { return {.why = of(Why::guest), .job = id<JobId>(), .until = time()}; }
  template <class Row>
  std::vector<Row> list(const std::function<Row()>& one) {
    std::vector<Row> rows;
    for (auto n = below(4); n > 0; --n) rows.push_back(one());
    return rows;
  }

  JobSpec spec() {
    JobSpec spec;
    spec.name = draws.bits();
    spec.user = static_cast<std::uint32_t>(bits(32));
    spec.group = static_cast<std::uint32_t>(bits(32));
    spec.account = static_cast<std::uint32_t>(bits(32));
    if (flag()) {
      spec.cores = static_cast<std::uint16_t>(bits(16));
      spec.ranks = static_cast<std::uint16_t>(bits(15) + 1);
    }
    spec.bound = of(Bound::mixed);
    spec.priority = static_cast<std::int32_t>(bits(31)) * (flag() ? 1 : -1);
    spec.type = of(JobType::adaptive);
    spec.submitted = moment();
    spec.walltime = duration();
    spec.size = {count(), count()};
    spec.preferred = count();
    return spec;
  }
  Speedup speedup() {
    Speedup speedup{.kind = of(Speedup::Kind::table)};
    if (speedup.kind == Speedup::Kind::table) {
      speedup.times =
          SharedList<TimeAt>({{count() + 1, 2 + draws.uniform()}, {1u << 25, 1 + draws.uniform()}});
    } else if (speedup.kind == Speedup::Kind::downey) {
      speedup.parameter = 1 + draws.uniform();
      speedup.sigma = draws.uniform();
    } else if (speedup.kind != Speedup::Kind::linear) {
      speedup.parameter = draws.uniform();
    }
    return speedup;
  }
  SizeConstraint constraint() {
    SizeConstraint constraint{.kind = of(SizeConstraint::Kind::list)};
    if (constraint.kind == SizeConstraint::Kind::multiple) constraint.multiple_of = count() + 1;
    if (constraint.kind == SizeConstraint::Kind::list) {
      constraint.sizes = SharedList<Nodes>({count() + 1, 1u << 25});
    }
    return constraint;
  }
  AdaptiveSpec adaptive() {
    AdaptiveSpec spec;
    spec.speedup = speedup();
    spec.cost = {real(0, 9), real(0, 1e6), real(0, 1), real(0, 100), real(0, 1e3)};
    if (flag()) spec.cost.transfer_s = real(0, 1e6);
    spec.constraint = constraint();
    spec.resize_delay = duration();
    spec.watts_per_node = real(0, 1e6);
    if (flag()) spec.least_watts_per_node = real(1, 1e6);
    spec.walltime_for = of(WalltimeFor::belief);
    return spec;
  }

  Slice slice() {
    Slice slice{static_cast<std::uint16_t>(bits(16)), {}, static_cast<std::uint32_t>(bits(32))};
    for (std::uint16_t& thing : slice.things) thing = static_cast<std::uint16_t>(bits(16));
    return slice;
  }
  std::shared_ptr<const Where> where() {
    if (flag()) return nullptr;
    return std::make_shared<const Where>(
        Where{draws.bits(), slice(), nodes(), nodes(), flag() ? id<BookingId>() : BookingId::none});
  }
  Spread spread() {
    Spread spread;
    for (auto n = below(4); n > 0; --n) {
      const auto cell = static_cast<std::uint32_t>(bits(6));
      if (spread.of(cell) == 0) spread.add(cell, count());
    }
    return spread;
  }
  /// That, with other nodes, is one of a larger machine.
  Platform platform() {
    Platform platform{count(), 1 + static_cast<std::uint32_t>(bits(16)), real(0, 1e6), real(0, 1e6),
                      duration()};
    if (flag()) platform.off_w = real(0, 1e6);
    if (flag()) return platform;
    platform.nodes = Word::kMostNodes;
    const std::string names[] = {"thin", "fat", "with", "where"};
    platform.classes = list<NodeClass>([&] {
      return NodeClass{names[below(4)],
                       nodes(),
                       slice(),
                       static_cast<std::uint16_t>(bits(16)),
                       std::max(real(0.001, 1000), 0.001),
                       real(0, 1e6),
                       real(0, 1e6),
                       duration(),
                       static_cast<std::uint32_t>(bits(32)),
                       flag() ? 0 : real(0, 1e6),
                       list<std::string>([&] { return names[below(4)]; })};
    });
    platform.partitions = list<Partition>([&] {
      return Partition{names[below(4)],
                       nodes(),
                       duration(),
                       flag() ? 1 : static_cast<std::uint32_t>(bits(32)),
                       flag() ? 0 : static_cast<Nodes>(bits(20)),
                       list<std::uint32_t>([&] { return static_cast<std::uint32_t>(bits(32)); })};
    });
    platform.qos = list<Qos>([&] {
      return Qos{names[below(4)], static_cast<std::uint32_t>(bits(32))};
    });
    platform.things = list<std::string>([&] { return names[below(4)]; });
    platform.switches = list<Switch>([&] {
      return Switch{names[below(4)], nodes(),
                    flag() ? kNoSwitch : static_cast<std::uint32_t>(bits(31))};
    });
    for (int i = 0; i < 3 && flag(); ++i)
      platform.steps.push_back({draws.uniform(1e-3, 1), draws.uniform(0, 1)});
    return platform;
  }

  Event event(std::size_t kind) {
    switch (kind) {
      case 0:
        return event::Submitted{spec(), flag() ? std::optional(adaptive()) : std::nullopt, where()};
      case 1:
        return event::Eligible{id<JobId>(), flag()};
      case 2: {
        const auto keep = static_cast<std::uint32_t>(bits(24));
        return event::Started{id<JobId>(), id<DecisionId>(), holding(),
                              flag() ? std::optional(keep) : std::nullopt};
      }
      case 3:
        return event::StartFailed{id<JobId>(), id<DecisionId>(), time()};
      case 4:
        return event::Resized{id<JobId>(), id<DecisionId>(), holding(), time()};
      case 5:
        return event::Ended{id<JobId>(), of(EndState::node_fail), flag()};
      case 6:
        return event::EvolvingRequested{id<RequestId>(), id<JobId>(),
                                        static_cast<std::int32_t>(count()) * (flag() ? 1 : -1),
                                        count()};
      case 7:
        return event::EvolvingWithdrawn{id<RequestId>()};
      case 8:
        return event::NodesChanged{nodes(), of(Health::off)};
      case 9: {
        const double low = real(0, 1e9);
        event::CorridorChanged e{low,
                                 flag() ? std::numeric_limits<double>::infinity() : real(0, 1e12)};
        for (auto more = draws.below(3); more > 0; --more) {
          e.coming.push_back({moment(), real(0, 1e9),
                              flag() ? std::numeric_limits<double>::infinity() : real(0, 1e12)});
        }
        return e;
      }
      case 10:
        return event::Believed{id<JobId>(),
                               real(-1, 1e6),
                               real(-1, 1e12),
                               real(-1, 1e3),
                               flag() ? std::optional(speedup()) : std::nullopt,
                               duration()};
      case 11:
        return event::SizeOrdered{id<JobId>(), count()};
      case 12:
        return event::ConfigChanged{traits(), flag() ? std::optional(choice()) : std::nullopt};
      case 13:
        return event::TimerFired{};
      case 14:
        return event::Altered{id<JobId>(),
                              static_cast<std::int32_t>(count()),
                              duration(),
                              {count(), count()},
                              count(),
                              flag() ? std::optional(count()) : std::nullopt,
                              flag() ? std::optional(adaptive()) : std::nullopt,
                              where()};
      case 15: {
        const Capabilities can{
            flag(), static_cast<std::uint32_t>(bits(32)), flag(), flag(), of(Suspends::all),
            flag()};
        return event::MachineChanged{platform(), can};
      }
      case 16:
        return event::MoveOrdered{id<JobId>(), nodes()};
      case 17:
        return event::Suspended{id<JobId>(), id<DecisionId>(), duration()};
      case 18:
        return event::StopOrdered{id<JobId>(),
                                  flag() ? std::optional(of(Stop::suspend)) : std::nullopt};
      case 20:
        return event::AtPoint{id<JobId>()};
      case 21: {
        event::ContentionLearned learned;
        for (Contention::Row& row : learned.contention.per_mille) {
          for (std::uint16_t& each : row) each = static_cast<std::uint16_t>(1 + below(kPerMille));
        }
        return learned;
      }
      default: {
        Booking booking{.id = id<BookingId>(), .name = flag() ? "repair" : "a.b_c-d+1"};
        booking.from = moment();
        booking.to = time();
        booking.nodes = nodes();
        booking.power_mw = static_cast<std::int64_t>(bits(50));
        booking.for_jobs = flag();
        booking.users = list<std::uint32_t>([&] { return static_cast<std::uint32_t>(bits(32)); });
        return event::Booked{booking};
      }
    }
  }

  Traits traits() {
    Traits traits;
    if (flag()) traits.settings = "easy:order=sjf";
    traits.wakes = static_cast<EventKinds>(draws.bits());
    traits.answers_requests = flag();
    traits.order = of(QueueOrder::multifactor);
    traits.priority_period = duration();
    traits.fair_share.half_life = duration();
    for (std::uint32_t user = 0; flag(); user += 1 + static_cast<std::uint32_t>(bits(10))) {
      traits.fair_share.shares.push_back({user, real(1e-9, 1e9)});
    }
    if (flag()) traits.overdue = {real(0, 1e9), duration()};
    if (flag()) {
      const auto weight = [&] { return static_cast<std::uint32_t>(bits(32)); };
      traits.multifactor = {weight(),   weight(), weight(), weight(),    weight(),
                            duration(), flag(),   flag(),   real(1, 1e9)};
    }
    traits.start_size = of(StartSize::either);
    traits.needs = {static_cast<std::uint32_t>(bits(32)), flag(), flag(), flag()};
    return traits;
  }

  Choice choice() {
    Choice choice{.occasion = of(Occasion::queue),
                  .goal = of(Goal::weighted),
                  .jobs = static_cast<std::uint32_t>(bits(32)),
                  .passes = bits(40)};
    const auto figure = [&] { return real(0, 1e9); };
    do {
      choice.members.push_back({.settings = "easy", .outlook = {}, .score = figure()});
      choice.members.back().outlook = {figure(), figure(), figure()};
    } while (flag());
    choice.ruled = static_cast<std::uint32_t>(draws.below(choice.members.size()));
    choice.chosen = static_cast<std::uint32_t>(draws.below(choice.members.size()));
    return choice;
  }

  PenCall pen_call() {
    PenCall call;
    call.verb = of(PenCall::Verb::frequency);
    call.job = id<JobId>();
    call.other = id<JobId>();
    call.request = id<RequestId>();
    call.claim = id<ClaimId>();
    call.size = {count(), count()};
    call.reason = reason();
    call.cuts = list<Cut>([&] {
      Cut cut{id<JobId>(), count()};
      if (flag()) cut.each = slice();
      return cut;
    });
    call.incoming = flag();
    call.time = time();
    call.delays = list<Delay>([&] { return Delay{id<JobId>(), duration(), moment()}; });
    if (call.verb == PenCall::Verb::carry_out) {
      call.gains = list<Gain>([&] {
        const SizeRange size{count(), count()};
        return Gain{id<JobId>(), size, id<RequestId>(), spread(), nodes()};
      });
    } else {
      call.in = spread();
      call.on = nodes();
      call.step = static_cast<std::uint8_t>(below(kMostSteps + 1));
    }
    return call;
  }
};

// --- Round trips ---------------------------------------------------------------------------------

class EventRecord : public ::testing::TestWithParam<std::size_t> {};

TEST_P(EventRecord, IsReadAsItWasWritten) {
  std::set<std::string> seen;
  for (int round = 0; round < kRounds; ++round) {
    Any any(static_cast<std::uint64_t>(round));
    const Event event = any.event(GetParam());
    const std::string text = to_record(event);
    seen.insert(text);
    const Event again = event_from_record(text);
    ASSERT_EQ(again.index(), GetParam()) << text;
    ASSERT_EQ(to_record(again), text);
    if (const auto* submitted = std::get_if<event::Submitted>(&event)) {
      ASSERT_EQ(std::get<event::Submitted>(again).job, submitted->job) << text;
      ASSERT_EQ(std::get<event::Submitted>(again).adaptive, submitted->adaptive) << text;
      const auto& where = std::get<event::Submitted>(again).where;
      ASSERT_EQ(where != nullptr, submitted->where != nullptr) << text;
      if (where) {
        ASSERT_EQ(*where, *submitted->where) << text;
      }
    }
    if (const auto* changed = std::get_if<event::MachineChanged>(&event)) {
      ASSERT_EQ(std::get<event::MachineChanged>(again).platform, changed->platform) << text;
    }
    if (const auto* changed = std::get_if<event::ConfigChanged>(&event)) {
      ASSERT_EQ(std::get<event::ConfigChanged>(again).traits, changed->traits) << text;
      ASSERT_EQ(std::get<event::ConfigChanged>(again).choice, changed->choice) << text;
    }
    if (const auto* resized = std::get_if<event::Resized>(&event)) {
      ASSERT_EQ(std::get<event::Resized>(again).now, resized->now) << text;
    }
  }
  // Another value gives another text, as far as there are other values.
  const bool is_timer = (kind_of<event::TimerFired>() >> GetParam() & 1) != 0;
  EXPECT_EQ(seen.size() > 1, !is_timer);
}

INSTANTIATE_TEST_SUITE_P(Kind, EventRecord,
                         ::testing::Range<std::size_t>(0, std::variant_size_v<Event>));

TEST(Record, PenCallsAreReadAsTheyWereWritten) {
  for (int round = 0; round < kRounds; ++round) {
    const PenCall call = Any(static_cast<std::uint64_t>(round)).pen_call();
    ASSERT_EQ(pen_call_from_record(to_record(call)), call) << to_record(call);
  }
}

TEST(Record, PlatformWorldAndRulesAreReadAsTheyWereWritten) {
  for (int round = 0; round < kRounds; ++round) {
    Any any(static_cast<std::uint64_t>(round));
    const Platform platform = any.platform();
    EXPECT_EQ(platform_from_record(to_record(platform)), platform) << to_record(platform);

    const Capabilities can{any.flag(),
                           static_cast<std::uint32_t>(any.bits(32)),
                           any.flag(),
                           any.flag(),
                           any.of(Suspends::all),
                           any.flag()};
    const std::string world = to_record(can);
    EXPECT_EQ(capabilities_from_record(world), can) << world;

    Rules rules;
    rules.limit = any.of(Rules::Limit::scaled);
    rules.identities = any.flag();
    rules.seed = any.draws.bits();
    rules.counted_refusals = static_cast<std::uint32_t>(any.bits(2));
    rules.reservations_per_plan = any.flag() ? 0 : static_cast<std::uint32_t>(any.bits(32));
    rules.share = any.of(ShareModel::ideal);
    if (any.flag()) {
      for (Contention::Row& row : rules.contention.per_mille) {
        for (std::uint16_t& each : row) each = static_cast<std::uint16_t>(1 + any.below(kPerMille));
      }
    }
    rules.placement = any.of(Placement::spread);
    rules.budget = any.of(Budget::bandwidth);
    rules.slow_for_power = any.flag();
    rules.fairness.interval = any.duration() % whole_seconds(1'000'000'000) + kTick;
    rules.fairness.decay = any.draws.uniform();
    rules.fairness.policy = Fairness::Policy::both;
    rules.fairness.exceptions = {{{Party::Kind::group, 3}, {.single = whole_seconds(7)}}};
    const std::string text = to_record(rules);
    EXPECT_EQ(to_record(rules_from_record(text)), text);
    EXPECT_EQ(rules_from_record(text).share, rules.share);
    EXPECT_EQ(rules_from_record(text).contention, rules.contention);
    EXPECT_EQ(rules_from_record(text).placement, rules.placement);
    EXPECT_EQ(rules_from_record(text).budget, rules.budget);
    EXPECT_EQ(rules_from_record(text).slow_for_power, rules.slow_for_power);
  }
}

TEST(Record, TimesAreReadAsTheyWereWritten) {
  for (const Time time : {us(0), us(-1), us(1'500'000), us(std::int64_t{1} << 62)}) {
    EXPECT_EQ(time_from_record(to_record(time)), time);
  }
}

// --- What it looks like --------------------------------------------------------------------------

TEST(Record, OfEventsIsReadable) {
  const JobSpec rigid{.name = 17,
                      .user = 3,
                      .group = 4,
                      .priority = -1,
                      .submitted = us(1'500'000),
                      .walltime = whole_seconds(60),
                      .size = exactly(8),
                      .preferred = 8,
                      .account = 6};
  EXPECT_EQ(to_record(event::Submitted{rigid, {}}),
            "submitted 17 3 4 6 -1 rigid 1500000 60000000 8 8 8 0");

  JobSpec malleable = rigid;
  malleable.type = JobType::malleable;
  malleable.size = {2, 16};
  const AdaptiveSpec adaptive{
      .speedup = {.kind = Speedup::Kind::amdahl, .parameter = 0.25},
      .cost = {.alpha_s = 0.5, .beta_s = 2, .b_s = 0.125, .fixed_s = 1, .scale = 0.5},
      .constraint = {.kind = SizeConstraint::Kind::multiple, .multiple_of = 4},
      .resize_delay = whole_seconds(2),
      .watts_per_node = 310.5};
  EXPECT_EQ(to_record(event::Submitted{malleable, adaptive}),
            "submitted 17 3 4 6 -1 malleable 1500000 60000000 2 16 8 1 "
            "amdahl:0.25 0.5 2 0.125 1 0.5 multiple:4 2000000 310.5");
  AdaptiveSpec in_bytes = adaptive;
  in_bytes.cost.transfer_s = 0.75;
  EXPECT_EQ(to_record(event::Submitted{malleable, in_bytes}),
            "submitted 17 3 4 6 -1 malleable 1500000 60000000 2 16 8 1 "
            "amdahl:0.25 0.5 2 0.125 1 0.5:0.75 multiple:4 2000000 310.5");
  AdaptiveSpec absolute = adaptive;
  absolute.walltime_for = WalltimeFor::any_size;
  EXPECT_EQ(to_record(event::Submitted{malleable, absolute}),
            "submitted 17 3 4 6 -1 malleable 1500000 60000000 2 16 8 1 "
            "amdahl:0.25 0.5 2 0.125 1 0.5 multiple:4 2000000 310.5 any_size");

  EXPECT_EQ(to_record(event::Eligible{JobId{5}, true}), "eligible 5 1");
  EXPECT_EQ(to_record(event::Started{JobId{5}, DecisionId{9}, {3, NodeSet{{{0, 1}, {7, 7}}}}, 7u}),
            "started 5 9 3 0-1,7 7");
  EXPECT_EQ(to_record(event::Started{JobId{5}, DecisionId{9}, {}, {}}), "started 5 9 0 - -");
  EXPECT_EQ(to_record(event::StartFailed{JobId{5}, DecisionId{9}, us(30)}), "start-failed 5 9 30");
  EXPECT_EQ(to_record(event::Resized{JobId{5}, DecisionId::none, {2, {}}, kNever, Duration{7}}),
            "resized 5 - 2 - never 7");
  EXPECT_EQ(to_record(event::Ended{JobId{5}, EndState::node_fail, true}), "ended 5 node-fail 1");
  EXPECT_EQ(to_record(event::EvolvingRequested{RequestId{1}, JobId{5}, -4, 2}),
            "requested 1 5 -4 2");
  EXPECT_EQ(to_record(event::EvolvingWithdrawn{RequestId{1}}), "withdrawn 1");
  EXPECT_EQ(to_record(event::NodesChanged{NodeSet{{{4, 6}}}, Health::draining}),
            "nodes 4-6 draining");
  EXPECT_EQ(to_record(event::CorridorChanged{100, std::numeric_limits<double>::infinity()}),
            "corridor 100 inf");
  EXPECT_EQ(to_record(event::Believed{JobId{5}, 250, 0.1, 1, {}}), "believed 5 250 0.1 1 0 0");
  EXPECT_EQ(to_record(event::Believed{JobId{5}, -1, 0, 1, Speedup{Speedup::Kind::amdahl, 0.25}}),
            "believed 5 -1 0 1 0 1 amdahl:0.25");
  EXPECT_EQ(to_record(event::SizeOrdered{JobId{5}, 12}), "ordered 5 12");
  EXPECT_EQ(to_record(event::Altered{JobId{5}, -3, whole_seconds(2), {1, 4}, 2}),
            "altered 5 -3 2000000 1 4 2");
  event::Altered other{JobId{5}, -3, whole_seconds(2), {1, 4}, 2, 7};
  EXPECT_EQ(to_record(other), "altered 5 -3 2000000 1 4 2 7");
  other.adaptive.emplace().speedup = {Speedup::Kind::amdahl, 0.25};
  EXPECT_EQ(to_record(other), "altered 5 -3 2000000 1 4 2 7 amdahl:0.25 0 0 0 0 1 any 0 0");
  other.account.reset();
  EXPECT_EQ(to_record(other), "altered 5 -3 2000000 1 4 2 - amdahl:0.25 0 0 0 0 1 any 0 0");
  EXPECT_EQ(
      to_record(event::MachineChanged{{8, 4, 100, 200.5, whole_seconds(1)}, {false, 2, true}}),
      "machine 8 4 100 200.5 1000000 0 2 1");
  EXPECT_EQ(to_record(event::ConfigChanged{{.settings = "easy:order=sjf",
                                            .wakes = 5,
                                            .order = QueueOrder::sjf,
                                            .fair_share = {.shares = {{7, 0.5}, {9, 1e9}}},
                                            .priority_period = whole_seconds(2)}}),
            "config easy:order=sjf 5 0 sjf 2000000 604800000000 7:0.5+9:1e09 preferred 0 0");
  const Choice choice{.occasion = Occasion::queue,
                      .goal = Goal::longest,
                      .jobs = 7,
                      .passes = 40,
                      .ruled = 0,
                      .chosen = 1,
                      .members = {{"fcfs", {1.5, 2, 3}, 3}, {"easy:order=sjf", {1, 2, 2.5}, 2.5}}};
  const event::ConfigChanged chosen{{.settings = "easy:order=sjf", .order = QueueOrder::sjf},
                                    choice};
  EXPECT_EQ(to_record(chosen),
            "config easy:order=sjf 4294967295 0 sjf 0 604800000000 none preferred 0 0 chosen queue "
            "longest 7 40 0 1 2 fcfs 1.5 2 3 3 easy:order=sjf 1 2 2.5 2.5");
  EXPECT_EQ(to_record(Traits{}), "- 4294967295 0 fcfs 0 604800000000 none preferred 0 0");
  // Behind those of the needs that are written: also where these are not.
  EXPECT_EQ(to_record(Traits{.order = QueueOrder::area, .overdue = {0.75, whole_seconds(60)}}),
            "- 4294967295 0 area 0 604800000000 none preferred 0 0 overdue 0.75 60000000");
  EXPECT_EQ(
      to_record(Traits{.overdue = {2, Duration{}}, .needs = {.suspends = true, .parts = true}}),
      "- 4294967295 0 fcfs 0 604800000000 none preferred 0 0 1 1 overdue 2 0");
  EXPECT_EQ(to_record(Traits{.order = QueueOrder::multifactor,
                             .multifactor = {.weight_age = 1,
                                             .weight_fairshare = 2,
                                             .weight_size = 3,
                                             .weight_partition = 4,
                                             .max_age = whole_seconds(60),
                                             .favor_small = true,
                                             .fairshare_dampening = 2.5}}),
            "- 4294967295 0 multifactor 0 604800000000 none preferred 0 0 "
            "multifactor 1 2 3 4 60000000 1 0 2.5");
  EXPECT_EQ(to_record(event::TimerFired{}), "timer");
}

TEST(Record, OfPenCallsAndDecisionsIsReadable) {
  PenCall call{.verb = PenCall::Verb::start,
               .job = JobId{2},
               .size = {4, 8},
               .reason = {Why::shrunk_for, JobId{2}, us(5)},
               .cuts = {{JobId{0}, 4}, {JobId{1}, 2}},
               .incoming = true};
  EXPECT_EQ(to_record(call), "start 2 - - - 4 8 shrunk-for 2 5 2 0 4 1 2 1 0 0");
  call = {.verb = PenCall::Verb::grant,
          .request = RequestId{3},
          .reason = {Why::evolving},
          .delays = {{JobId{4}, whole_seconds(1), us(7)}}};
  EXPECT_EQ(to_record(call), "grant - - 3 - 0 0 evolving - 0 0 0 0 1 4 1000000 7");
  call = {.verb = PenCall::Verb::carry_out,
          .reason = {Why::corridor},
          .cuts = {{JobId{0}, 4}},
          .gains = {{JobId{1}, {2, 3}}, {JobId{2}, {}, RequestId{5}}}};
  EXPECT_EQ(to_record(call), "carry-out - - - - 0 0 corridor - 0 1 0 4 0 0 0 2 1 2 3 - 2 0 0 5");
  call = {.verb = PenCall::Verb::carry_out,
          .reason = {Why::guest},
          .cuts = {{JobId{0}, 4, Slice{.cores = 6, .memory_mb = 100}}},
          .gains = {{JobId{1}, {4, 4}}}};
  call.gains[0].on.insert(0, 3);
  EXPECT_EQ(to_record(call),
            "carry-out - - - - 0 0 guest - 0 1 0 4 0 0 0 1 1 4 4 - on 0 0-3 each 0 6:100:0:0:0:0");

  Decision decision;
  decision.id = DecisionId{12};
  decision.kind = Decision::Kind::resize;
  decision.job = JobId{3};
  decision.after = {4, NodeSet{{{0, 3}}}};
  decision.request = RequestId{1};
  decision.reason = {Why::hand_out};
  EXPECT_EQ(to_record(decision), "12 resize 3 4 0-3 0 1 hand-out - 0");
  decision.kind = Decision::Kind::start;
  decision.limit = kNever;
  decision.request = RequestId::none;
  EXPECT_EQ(to_record(decision), "12 start 3 4 0-3 never - hand-out - 0");
}

TEST(Record, OfTheRunIsReadable) {
  EXPECT_EQ(to_record(Platform{100, 4, 90, 250.5, whole_seconds(3)}), "100 4 90 250.5 3000000");
  Platform parts{.nodes = 8};
  parts.classes = {{.name = "thin", .nodes = NodeSet{{{0, 3}}}, .has = {.cores = 4}},
                   {.name = "fat",
                    .nodes = NodeSet{{{4, 7}}},
                    .has = {.cores = 8, .things = {2}, .memory_mb = 64000},
                    .sockets = 2,
                    .speed = 1.5,
                    .weight = 3}};
  parts.partitions = {{.name = "all", .nodes = NodeSet{{{0, 7}}}}};
  parts.things = {"gpu"};
  EXPECT_EQ(to_record(parts),
            "8 1 0 0 0 with 2 thin 0-3 4:0:0:0:0:0 1 1 0 0 0 0 "
            "fat 4-7 8:64000:2:0:0:0 2 1.5 0 0 0 3 1 all 0-7 0 1 gpu");
  parts.partitions.push_back({.name = "first", .nodes = NodeSet{{{0, 1}}}, .priority = 50});
  EXPECT_EQ(
      to_record(parts),
      "8 1 0 0 0 with 2 thin 0-3 4:0:0:0:0:0 1 1 0 0 0 0 "
      "fat 4-7 8:64000:2:0:0:0 2 1.5 0 0 0 3 2 all 0-7 0 first 0-1 0 1 gpu priorities 2 1 50");
  EXPECT_EQ(platform_from_record(to_record(parts)), parts);
  Platform wired{.nodes = 8};
  wired.switches = {{.name = "a", .nodes = NodeSet{{{0, 3}}}, .above = 1},
                    {.name = "top", .nodes = {}}};
  EXPECT_EQ(to_record(wired), "8 1 0 0 0 switches 2 a 0-3 1 top - -");
  EXPECT_EQ(platform_from_record(to_record(wired)), wired);
  Platform slowed{.nodes = 8};
  slowed.steps = {{.speed = 0.75, .power = 0.5}};
  EXPECT_EQ(to_record(slowed), "8 1 0 0 0 steps 1 0.75 0.5");
  EXPECT_EQ(platform_from_record(to_record(slowed)), slowed);
  EXPECT_EQ(to_record(Capabilities{}), "1 4294967295 0");
  EXPECT_EQ(to_record(Rules{}), "scaled 0 1 none 1");
}

// --- Every value has its word --------------------------------------------------------------------
//
// A switch without a default does not compile when a value is added and has no case here.

std::string_view expected(Why why) {
  switch (why) {
    case Why::in_order:
      return "in-order";
    case Why::backfilled:
      return "backfilled";
    case Why::shrunk_for:
      return "shrunk-for";
    case Why::dependency_expand:
      return "dependency-expand";
    case Why::hand_out:
      return "hand-out";
    case Why::evolving:
      return "evolving";
    case Why::fairness:
      return "fairness";
    case Why::corridor:
      return "corridor";
    case Why::ordered:
      return "ordered";
    case Why::draining:
      return "draining";
    case Why::booked:
      return "booked";
    case Why::resources:
      return "resources";
    case Why::infeasible:
      return "infeasible";
    case Why::guest:
      return "guest";
    case Why::unused:
      return "unused";
    case Why::needed:
      return "needed";
    case Why::outside:
      return "outside";
  }
  return "";
}

std::string_view expected(Decision::Kind kind) {
  using Kind = Decision::Kind;
  switch (kind) {
    case Kind::start:
      return "start";
    case Kind::resize:
      return "resize";
    case Kind::deny:
      return "deny";
    case Kind::set_limit:
      return "set-limit";
    case Kind::power_on:
      return "power-on";
    case Kind::power_off:
      return "power-off";
    case Kind::reject:
      return "reject";
    case Kind::cores:
      return "cores";
    case Kind::frequency:
      return "frequency";
    case Kind::cancel:
      return "cancel";
    case Kind::requeue:
      return "requeue";
    case Kind::suspend:
      return "suspend";
  }
  return "";
}

std::string_view expected(PenCall::Verb verb) {
  using Verb = PenCall::Verb;
  switch (verb) {
    case Verb::start:
      return "start";
    case Verb::resize:
      return "resize";
    case Verb::grant:
      return "grant";
    case Verb::deny:
      return "deny";
    case Verb::withdraw:
      return "withdraw";
    case Verb::reserve:
      return "reserve";
    case Verb::tag:
      return "tag";
    case Verb::wake_by:
      return "wake-by";
    case Verb::power_on:
      return "power-on";
    case Verb::power_off:
      return "power-off";
    case Verb::carry_out:
      return "carry-out";
    case Verb::cancel:
      return "cancel";
    case Verb::requeue:
      return "requeue";
    case Verb::suspend:
      return "suspend";
    case Verb::reject:
      return "reject";
    case Verb::frequency:
      return "frequency";
  }
  return "";
}

std::string_view expected(JobType type) {
  switch (type) {
    case JobType::rigid:
      return "rigid";
    case JobType::moldable:
      return "moldable";
    case JobType::malleable:
      return "malleable";
    case JobType::evolving:
      return "evolving";
    case JobType::adaptive:
      return "adaptive";
  }
  return "";
}

std::string_view expected(Health health) {
  switch (health) {
    case Health::up:
      return "up";
    case Health::draining:
      return "draining";
    case Health::down:
      return "down";
    case Health::off:
      return "off";
  }
  return "";
}

std::string_view expected(EndState state) {
  switch (state) {
    case EndState::completed:
      return "completed";
    case EndState::failed:
      return "failed";
    case EndState::timeout:
      return "timeout";
    case EndState::cancelled:
      return "cancelled";
    case EndState::node_fail:
      return "node-fail";
  }
  return "";
}

std::string_view expected(Rules::Limit limit) {
  switch (limit) {
    case Rules::Limit::fixed:
      return "fixed";
    case Rules::Limit::scaled:
      return "scaled";
  }
  return "";
}

// Calls `check` for each value that has a case above, until there is none; how many there were.
template <class Enum, class Check>
std::size_t each(Check check) {
  std::size_t i = 0;
  for (; i < 256 && !expected(static_cast<Enum>(i)).empty(); ++i) {
    check(static_cast<Enum>(i), expected(static_cast<Enum>(i)));
  }
  return i;
}

bool has_word(const std::string& record, std::string_view word) {
  return (' ' + record + ' ').find(' ' + std::string(word) + ' ') != std::string::npos;
}

TEST(Words, OfReasonsDecisionsAndVerbsAreComplete) {
  EXPECT_EQ(each<Why>([](Why why, std::string_view text) { EXPECT_EQ(word(why), text); }),
            kWhyWords.size());
  EXPECT_EQ(each<Decision::Kind>(
                [](Decision::Kind kind, std::string_view text) { EXPECT_EQ(word(kind), text); }),
            kDecisionWords.size());
  EXPECT_EQ(each<PenCall::Verb>([](PenCall::Verb verb, std::string_view text) {
              EXPECT_EQ(kVerbWords[static_cast<std::size_t>(verb)], text);
            }),
            kVerbWords.size());
  EXPECT_EQ(std::set<std::string_view>(kWhyWords.begin(), kWhyWords.end()).size(),
            kWhyWords.size());
}

TEST(Words, OfRecordsAreComplete) {
  const auto there = [](const std::string& record, std::string_view word) {
    EXPECT_TRUE(has_word(record, word)) << word << " in: " << record;
  };
  each<JobType>([&](JobType type, std::string_view text) {
    there(to_record(event::Submitted{{.type = type}, {}}), text);
  });
  each<Health>([&](Health health, std::string_view text) {
    there(to_record(event::NodesChanged{NodeSet{{{0, 0}}}, health}), text);
  });
  each<EndState>([&](EndState state, std::string_view text) {
    there(to_record(event::Ended{JobId{0}, state, false}), text);
  });
  each<Rules::Limit>([&](Rules::Limit limit, std::string_view text) {
    there(to_record(Rules{.limit = limit}), text);
  });
}

// --- Errors --------------------------------------------------------------------------------------

// The field that is complained about; "" if the record is read.
std::string complaint(const std::function<void(std::string_view)>& read, const std::string& text) {
  try {
    read(text);
  } catch (const RecordError& error) {
    EXPECT_STRNE(error.what(), "");
    return error.field();
  }
  return "";
}

const auto kEvent = [](std::string_view text) { event_from_record(text); };
const auto kTraits = [](std::string_view text) { traits_from_record(text); };
const auto kClosed = [](std::string_view text) { closed_from_record(text); };
const auto kPenCall = [](std::string_view text) { pen_call_from_record(text); };
const auto kPlatform = [](std::string_view text) { platform_from_record(text); };
const auto kWorld = [](std::string_view text) { capabilities_from_record(text); };
const auto kRules = [](std::string_view text) { rules_from_record(text); };

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) text += ' ' + words[i];
  return text;
}

// Every word of a good record in turn is bad, missing, or one too many: the complaint is about the
// field of that word. The last `later` ones are missing in records of older builds.
void check_fields(const std::function<void(std::string_view)>& read, const std::string& good,
                  const std::vector<std::string>& fields, std::size_t later = 0) {
  ASSERT_EQ(complaint(read, good), "") << good;
  const std::vector<std::string> words = words_of(good);
  ASSERT_EQ(words.size(), fields.size()) << good;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::vector<std::string> bad = words;
    for (const char* instead : {"?", "", "99999999999999999999999", "-x", "neverx", "nan"}) {
      if (fields[i] == "policy") break;  // any word may be a policy's
      bad[i] = instead;
      EXPECT_EQ(complaint(read, joined(bad)), fields[i]) << joined(bad);
    }
    if (i > 0) {
      bad.resize(i);
      const bool is_old = i >= fields.size() - later;
      EXPECT_EQ(complaint(read, joined(bad)), is_old ? "" : fields[i]) << joined(bad);
    }
  }
  EXPECT_EQ(complaint(read, good + " 0"), "end");
  EXPECT_EQ(complaint(read, good + " "), "end");
}

TEST(RecordErrors, NameTheFieldOfAnEvent) {
  check_fields(kEvent,
               "submitted 17 3 4 6 -1 malleable 1500000 60000000 2 16 8 1 "
               "amdahl:0.25 0.5 2 0.125 1 0.5 multiple:4 2000000 310.5 any_size",
               {"event",
                "name",
                "user",
                "group",
                "account",
                "priority",
                "type",
                "submit time",
                "walltime",
                "smallest size",
                "largest size",
                "preferred size",
                "adaptive",
                "model",
                "alpha",
                "beta",
                "b",
                "fixed cost",
                "scale",
                "constraint",
                "resize delay",
                "watts per node",
                "walltime"},
               1);
  check_fields(kEvent, "eligible 5 1", {"event", "job", "eligible"});
  check_fields(kEvent, "started 5 9 3 0-1,7 7",
               {"event", "job", "decision", "nodes", "nodes", "keep"});
  check_fields(kEvent, "start-failed 5 9 30", {"event", "job", "decision", "retry"});
  check_fields(kEvent, "resized 5 9 2 4-5 30 2",
               {"event", "job", "decision", "nodes", "nodes", "retry", "pause"}, 1);
  check_fields(kEvent, "ended 5 timeout 0", {"event", "job", "state", "requeue"});
  check_fields(kEvent, "requested 1 5 -4 2", {"event", "request", "job", "delta", "at least"});
  check_fields(kEvent, "withdrawn 1", {"event", "request"});
  check_fields(kEvent, "nodes 4-6 down", {"event", "nodes", "health"});
  for (const auto& [text, field] : std::vector<std::pair<std::string, std::string>>{
           {"corridor 100 500", ""},
           {"corridor ? 500", "lower bound"},
           {"corridor 100 x", "upper bound"},
           {"corridor 100", "upper bound"},
           {"corridor 100 500 ?", "coming bounds"},
           {"corridor 100 500 1", "time of bounds"},
           {"corridor 100 500 1 never 1 2", "time of bounds"},
           {"corridor 100 500 1 5 -1 7", "coming lower bound"},
           {"corridor 100 500 1 5 1 x", "coming upper bound"},
           {"corridor 100 500 1 5 1 inf", ""},
           {"corridor 100 500 1 5 1 inf 0", "end"}}) {
    EXPECT_EQ(complaint(kEvent, text), field) << text;
  }
  check_fields(kEvent, "believed 5 250 0.1 1 60000000 1 amdahl:0.25",
               {"event", "job", "watts per node", "mtct", "rate", "walltime", "learned", "model"});
  check_fields(kEvent, "ordered 5 12", {"event", "job", "size"});
  check_fields(kEvent, "config easy 5 0 sjf 1000 2000 7:2 smallest 1 0 1 1",
               {"event", "policy", "wakes", "answers requests", "order", "priority period",
                "half-life", "shares", "start size", "resizes needed", "power control needed",
                "suspensions needed", "parts of nodes needed"},
               2);
  check_fields(kEvent, "timer", {"event"});
  check_fields(kEvent, "contention 1:0.95:0.9:0.85:0.8:0.75:0.7:0.65:0.001",
               {"event", "contention"});
  check_fields(kEvent, "suspended 5 9 1000", {"event", "job", "decision", "pause"});
  check_fields(kEvent, "stop 5 suspend", {"event", "job", "how"});
}

TEST(RecordErrors, NameTheFieldOfAPenCall) {
  check_fields(kPenCall, "start 2 1 3 4 4 8 shrunk-for 2 5 1 0 4 1 7 1 5 1000000 7",
               {"verb", "job", "other job", "request", "claim", "smallest size", "largest size",
                "reason", "reason's job", "reason's time", "cuts", "victim", "victim's size",
                "incoming", "time", "delays", "delayed job", "delay", "start without the grant"});
}

TEST(RecordErrors, NameTheFieldOfTheRun) {
  check_fields(kClosed, "1000 1", {"time", "asked"});
  check_fields(kTraits, "easy 5 0 sjf 1000 2000 none smallest 1 0 1 1",
               {"policy", "wakes", "answers requests", "order", "priority period", "half-life",
                "shares", "start size", "resizes needed", "power control needed",
                "suspensions needed", "parts of nodes needed"},
               2);
  check_fields(kPlatform, "100 4 90 250 3000000",
               {"nodes", "cores per node", "idle power", "busy power", "boot time"});
  check_fields(kWorld, "1 4 0 1 all 1 1",
               {"instant start", "resizes per job", "power control", "moves", "suspends",
                "parts of nodes", "instant cores"},
               4);
  check_fields(kRules, "scaled 0 1 none 1 7 2000 ideal 60000000 0.9 compact bandwidth 1",
               {"limit", "identities", "seed", "fairness", "claims take idle nodes",
                "counted refusals", "reservations of a plan", "share model", "nodes off after",
                "contention", "placement", "budget", "slow for power"},
               9);
}

TEST(RecordErrors, KeepArithmeticInItsTypes) {
  const std::string too_late = std::to_string((std::int64_t{1} << 62) + 1);
  const std::string too_long = std::to_string((std::int64_t{1} << 60) + 1);
  EXPECT_EQ(complaint(kEvent, "start-failed 5 9 " + too_late), "retry");
  EXPECT_EQ(complaint(kEvent, "start-failed 5 9 never"), "");
  EXPECT_EQ(complaint(kEvent, "submitted 1 0 0 0 0 rigid never 1 1 1 1 0"), "submit time");
  EXPECT_EQ(complaint(kEvent, "submitted 1 0 0 0 0 rigid 0 " + too_long + " 1 1 1 0"), "walltime");
  EXPECT_EQ(complaint(kEvent, "submitted 1 0 0 0 0 rigid 0 -1 1 1 1 0"), "walltime");
  EXPECT_EQ(complaint(kEvent, "submitted 1 0 0 0 0 rigid 0 1 1 1 16777217 0"), "preferred size");
  EXPECT_EQ(complaint(kEvent, "nodes 16777216 up"), "nodes");
  EXPECT_EQ(complaint(kEvent, "nodes 16777215 up"), "");
  EXPECT_EQ(complaint(kEvent, "nodes 3-1 up"), "nodes");
  EXPECT_EQ(complaint(kEvent, "corridor 0 1e13"), "upper bound");
  EXPECT_EQ(complaint(kEvent, "corridor inf inf"), "lower bound");
  EXPECT_EQ(complaint(kEvent, "corridor 0 -inf"), "upper bound");
  EXPECT_EQ(complaint(kEvent, "requested 1 5 -16777217 0"), "delta");
  EXPECT_EQ(complaint(kEvent, "eligible 5 2"), "eligible");
  EXPECT_EQ(complaint(kEvent, "eligible 4294967296 1"), "job");
  // A list is no longer than the record.
  EXPECT_EQ(complaint(kPenCall, "tag 1 2 - - 0 0 in-order - 0 4000000000 0 0"), "cuts");
  EXPECT_THROW(time_from_record(too_late), RecordError);
  EXPECT_THROW(time_from_record("never"), RecordError);
  EXPECT_THROW(time_from_record("1 "), RecordError);
  EXPECT_THROW(time_from_record(""), RecordError);
  EXPECT_EQ(complaint(kRules, "fixed 1 1 both,interval=0"), "fairness");
}

}  // namespace
}  // namespace ductile
