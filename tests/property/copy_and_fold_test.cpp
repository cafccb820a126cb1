// The core is a regular value, and its journal is enough to get it back.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/fingerprint.hpp"
#include "support/hostile_world.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

constexpr Runs kRuns{.usual = 200, .first = 1};

/// Now and then jobs share nodes.
HostileSettings settings_of(std::uint64_t seed) {
  HostileSettings settings = seed % 5 == 4 ? sharing_settings(seed) : random_settings(seed);
  settings.journal = settings.rules.record = true;
  return settings;
}

/// Tells the core one record; `folds` makes the recorded pen calls instead of asking the policy.
/// Says how it went otherwise than recorded; empty if it went the same way.
std::string tell(Core& core, const Record& record, bool folds) {
  if (record.event) {
    if (core.apply(record.time, *record.event) != record.accepted) return "an event taken or not";
  } else {
    const auto decisions = folds ? follow(core, record.time, record.asked, record.calls)
                                 : core.close(record.time, *record.policy);
    if (!std::ranges::equal(decisions, record.decisions)) return "other decisions";
    if (!std::ranges::equal(core.pen_calls(), record.calls)) return "other pen calls";
    if (core.was_asked() != record.asked) return "a policy asked or not";
  }
  return fingerprint(core.state()) == record.fingerprint ? "" : "another state";
}

TEST(CopyAndFold, FoldingTheJournalGivesTheLiveStateAtEveryRecord) {
  for_seeds(kRuns, [](std::uint64_t seed) {
    HostileWorld world(settings_of(seed));
    world.live();
    Core folded = world.first();
    for (std::size_t i = 0; i < world.journal().size(); ++i) {
      ASSERT_EQ(tell(folded, world.journal()[i], true), "") << "record " << i;
    }
    ASSERT_EQ(difference_of(folded.state(), world.core().state()), "");
    ASSERT_EQ(folded.unanswered(), world.core().unanswered());
    ASSERT_EQ(folded.next_wake(), world.core().next_wake());
  });
}

TEST(CopyAndFold, ACopyInMidRunGoesOnAsTheOriginal) {
  for_seeds(kRuns, [](std::uint64_t seed) {
    HostileWorld world(settings_of(seed));
    world.live();
    const std::vector<Record>& journal = world.journal();
    const std::size_t middle = Draws(seed, Stream::test, 9).below(journal.size());
    Core original = world.first();
    for (std::size_t i = 0; i < middle; ++i) {
      ASSERT_EQ(tell(original, journal[i], false), "") << "record " << i;
    }
    Core copy = original;
    Core assigned = world.first();
    assigned = copy;
    ASSERT_EQ(difference_of(copy.state(), original.state()), "");
    // What happens to one does not happen to the others.
    for (Core* core : {&original, &copy, &assigned}) {
      for (std::size_t i = middle; i < journal.size(); ++i) {
        ASSERT_EQ(tell(*core, journal[i], false), "") << "record " << i;
      }
    }
    ASSERT_EQ(difference_of(copy.state(), world.core().state()), "");
  });
}

TEST(CopyAndFold, ARecordOfOtherEventsIsRefused) {
  Core core = HostileWorld(recorded_settings(1)).first();
  const std::vector<PenCall> calls{{.verb = PenCall::Verb::start, .job = JobId{0}}};
  EXPECT_THROW(follow(core, Time{}, false, calls), std::logic_error);
  core.apply(Time{}, event::CorridorChanged{0, 1000});
  EXPECT_THROW(follow(core, Time{}, true, calls), std::logic_error);
}

/// The decisions of a run, without the nodes.
std::vector<Decision> counts_of(const HostileWorld& world) {
  std::vector<Decision> all;
  for (const Record& record : world.journal()) {
    for (const Decision& decision : record.decisions) {
      all.push_back(decision);
      all.back().after.nodes = {};
    }
  }
  return all;
}

TEST(CopyAndFold, IdentitiesChangeNoDecision) {
  std::size_t decisions = 0;
  const std::uint64_t runs = for_seeds(kRuns, [&](std::uint64_t seed) {
    HostileSettings settings = recorded_settings(seed);
    settings.node_events = settings.takes_from_claims = false;
    settings.capabilities.power_control = settings.capabilities.moves = false;
    settings.rules.identities = true;
    HostileWorld with(settings);
    settings.rules.identities = false;
    HostileWorld without(settings);
    with.live();
    without.live();
    ASSERT_TRUE(counts_of(with) == counts_of(without));
    decisions += counts_of(with).size();
  });
  if (runs > 0) EXPECT_GT(decisions, 30 * runs);
}

}  // namespace
}  // namespace ductile::testing
