#include "simulation/replay.hpp"

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "policies/registry.hpp"
#include "simulation/recording.hpp"
#include "support/complaint.hpp"
#include "support/small_log.hpp"

namespace ductile {
namespace {

PolicyMaker maker() {
  return [](std::string_view settings) { return make_policy(settings); };
}

Replayed replay_text(const std::string& text) {
  std::istringstream in(text);
  return replay(in, "run.log", maker());
}

// What an error of this kind says; "" if there is none.
template <class Error>
std::string complaint(const std::string& text) {
  return testing::complaint<Error>([&] { replay_text(text); });
}

TEST(Replay, TellsWhatTheLogHas) {
  const std::string path = ::testing::TempDir() + "/run.log";
  std::ofstream(path) << sealed_log(kSmallLog);
  const Replayed done = replay(*open_log_file(path), path, maker());
  EXPECT_EQ(done.policy, "easy");
  EXPECT_EQ(done.events, 6u);
  EXPECT_EQ(done.instants, 5u);
  EXPECT_EQ(done.pen_calls, 4u);
  EXPECT_EQ(done.decisions, 3u);
  EXPECT_EQ(done.last, Time{whole_seconds(15)});
}

// --- Refused -------------------------------------------------------------------------------------

TEST(ReplayErrors, SayThatALogIsNoneOrNotWhole) {
  const std::string log = sealed_log(kSmallLog);
  const std::string none =
      "run.log:1: this is no log of this version; its first line must be 'ductile-log 3'";
  EXPECT_EQ(complaint<InputError>(""), none);
  EXPECT_EQ(complaint<InputError>("; SWF\n"), none);
  EXPECT_EQ(complaint<InputError>("ductile-log 1\n"),
            "run.log:1: it is a log of version 1; this ductile reads version 3");
  EXPECT_EQ(complaint<InputError>(kSmallLog),
            "run.log:24: end: the log was cut: its last line is missing; record the run again");
  EXPECT_EQ(complaint<InputError>(log.substr(0, log.size() - 1)),
            "run.log:24: end: the log was cut in its last line; record the run again");
  EXPECT_EQ(complaint<InputError>(log + "\n"),
            "run.log:25: end: lines follow the end; record the run again");
  std::string altered = log;
  altered[altered.find("10000000")] = '2';
  EXPECT_EQ(complaint<InputError>(altered),
            "run.log:24: end: the log was altered: its checksum differs; record the run again");
}

TEST(ReplayErrors, OfALineThatIsTooLong) {
  EXPECT_EQ(complaint<InputError>(std::string(kFirstLogLine) + "\n" +
                                  std::string((1 << 24) + 1, 'x') + "\n"),
            "run.log:2: line: it is too long; this is no log of ductile");
}

TEST(ReplayErrors, OfAFileThatIsNotThere) {
  EXPECT_THROW(open_log_file(::testing::TempDir() + "/none.log"), InputError);
}

const std::string kTraits = " 4294967295 0 fcfs 0 604800000000 none preferred 0 0";

// The log with another line in the place of one, and a checksum to it.
std::string with_line(int number, const std::string& line) {
  std::istringstream in(kSmallLog);
  std::string text, old;
  for (int i = 1; std::getline(in, old); ++i) {
    if (i != number) {
      text += old + '\n';
    } else if (!line.empty()) {
      text += line + '\n';
    }
  }
  return sealed_log(text);
}

TEST(ReplayErrors, NameLineAndField) {
  const std::vector<std::pair<std::pair<int, std::string>, std::string>> cases{
      {{2, "platform 4 1 0 0"}, "2: boot time: is missing"},
      {{2, ""}, "2: platform: the line is missing here"},
      {{2, "platform"}, "2: platform: the line is missing here"},
      {{3, "world 1 2 3"}, "3: power control: '3' is out of range"},
      {{4, "rules loose 1 1 1 1"}, "4: limit: there is no 'loose'"},
      {{5, "politics easy"}, "5: policy: the line is missing here"},
      {{5, "policy easy"}, "5: wakes: is missing"},
      {{5, "policy easier" + kTraits}, "5: policy: there is no policy 'easier'; there are "},
      {{5, "policy easy 4294967295 0 fcfs 0 604800000000 none preferred 0 1"},
       "5: policy: the world of the log lacks nodes that can be switched on and off"},
      {{6, "X 0"}, "6: record: there is no record of this kind"},
      {{6, ""}, "6: P"},
      {{6, "E soon 1 timer"}, "6: time: 'soon' is no number"},
      {{6, "E 1x 1 timer"}, "6: time: '1x' is no number"},
      {{6, "E 0 2 timer"}, "6: taken: it is neither 0 nor 1"},
      {{6, "E 0"}, "6: taken: it is neither 0 nor 1"},
      {{6, "E 0 1 asleep"}, "6: event: there is no 'asleep'"},
      {{6, "E 0 1 config easier" + kTraits}, "6: policy: there is no policy 'easier'"},
      {{7, "C 0"}, "7: asked: is missing"},
      {{7, "C 0 1 0"}, "7: end: '0' is too much"},
      {{7, "C 9223372036854775807 1"}, "7: time: '9223372036854775807' is out of range"},
  };
  for (const auto& [altered, message] : cases) {
    const std::string text = with_line(altered.first, altered.second);
    if (message == "6: P") {  // nobody came, so that the policy does nothing
      EXPECT_NE(complaint<RunError>(text), "");
      continue;
    }
    EXPECT_EQ(complaint<InputError>(text).rfind("run.log:" + message, 0), 0u)
        << complaint<InputError>(text);
  }
}

TEST(ReplayErrors, OfAWorldThatContradictsItself) {
  std::string twice = kSmallLog;
  twice.insert(twice.find("C 1000000"), "E 1000000 1 started 1 - 4 0-3 -\n");
  EXPECT_EQ(complaint<InputError>(sealed_log(twice)),
            "run.log: the log contradicts itself: the world gave a job nodes that others hold; "
            "record the run again");
}

TEST(ReplayErrors, NodesThatNobodyCanNameAreNotTaken) {
  std::string log = kSmallLog;
  log.replace(log.find("rules scaled 1"), 14, "rules scaled 0");
  for (std::size_t at = 0; (at = log.find("\nD ", at)) != std::string::npos; ++at) {
    const std::size_t end = log.find('\n', at + 1);
    std::string line = log.substr(at, end - at);
    for (const char* nodes : {" 0-2 ", " 1 3 ", " 0-3 "}) {
      const std::size_t there = line.find(nodes);
      const std::string text = nodes;
      if (there == std::string::npos) continue;
      line.replace(there, text.size(), text == " 1 3 " ? " 1 - " : " - ");
    }
    log.replace(at, end - at, line);
  }
  EXPECT_EQ(replay_text(sealed_log(log)).decisions, 3u);
  log.insert(log.find("C 2000000"), "E 2000000 0 started 2 - 1 3 -\n");
  EXPECT_EQ(replay_text(sealed_log(log)).events, 7u);
}

// --- Other decisions -----------------------------------------------------------------------------

TEST(ReplayErrors, NoticeOtherDecisions) {
  EXPECT_EQ(complaint<RunError>(with_line(9, "D 1 start 0 3 0-2 10000000 - backfilled - 0")),
            "run.log:9: the log has\n"
            "  D 1 start 0 3 0-2 10000000 - backfilled - 0\n"
            "but this build has\n"
            "  D 1 start 0 3 0-2 10000000 - in-order - 0");
  EXPECT_NE(complaint<RunError>(with_line(8, "P start 0 - - - 3 3 backfilled - 0 0 0 0 0")), "");
  EXPECT_NE(complaint<RunError>(with_line(8, "")), "");
  EXPECT_NE(complaint<RunError>(with_line(9, "")), "");
  // The policy was asked, and this build asks it as well.
  EXPECT_EQ(complaint<RunError>(with_line(7, "C 0 0")),
            "run.log:7: the log has\n"
            "  C 0 0\n"
            "but this build has\n"
            "  C 0 1");
  // More than this build does.
  EXPECT_EQ(complaint<RunError>(with_line(10, "D 2 reject 0 0 - 0 - infeasible - 0")),
            "run.log:10: the log has\n"
            "  D 2 reject 0 0 - 0 - infeasible - 0\n"
            "but this build has\n"
            "  nothing more at this instant");
  // An event that was taken, and one that was not.
  EXPECT_EQ(complaint<RunError>(with_line(17, "E 10000000 0 ended 0 completed 0")),
            "run.log:17: the log has\n"
            "  E 10000000 0 ended 0 completed 0\n"
            "but this build has\n"
            "  another answer to the event");
}

TEST(ReplayErrors, NoticeAnotherPolicy) {
  // Without backfilling, job 3 waits.
  EXPECT_NE(complaint<RunError>(with_line(5, "policy fcfs" + kTraits)), "");
  // Another name for the same thing is noticed by nobody.
  EXPECT_EQ(replay_text(with_line(5, "policy backfill:depth=1" + kTraits)).decisions, 3u);
}

TEST(Replay, TakesItsPoliciesFromTheMaker) {
  std::istringstream in(with_line(5, "policy mine" + kTraits));
  std::vector<std::string> asked;
  const Replayed done = replay(in, "run.log", [&](std::string_view settings) {
    asked.emplace_back(settings);
    return make_policy("easy");
  });
  EXPECT_EQ(asked, std::vector<std::string>{"mine"});
  EXPECT_EQ(done.policy, "mine");
}

TEST(Replay, FoldsALogOfAPolicyThatIsNotThere) {
  std::istringstream in(with_line(5, "policy gone" + kTraits));
  ReplayWatcher nobody;
  const Replayed done = fold(in, "run.log", nobody);
  EXPECT_EQ(done.policy, "gone");
  EXPECT_EQ(done.decisions, 3u);
}

TEST(Replay, OfAMachineThatBecomesAnotherOne) {
  EXPECT_EQ(replay_text(sealed_log(kGrowingLog)).decisions, 2u);
  // What the policy that is recorded needs counts, whatever is asked.
  std::string log = kGrowingLog;
  log.replace(log.find("preferred 0 0"), 13, "preferred 1 0");
  log.replace(log.find("C 2000000 1"), 11, "C 2000000 0");
  log.erase(log.find("P start 1 "));
  std::istringstream in(sealed_log(log));
  ReplayWatcher nobody;
  EXPECT_EQ(fold(in, "run.log", nobody).decisions, 1u);
}

TEST(ReplayErrors, OfCallsOfAPolicyThatWasNotAsked) {
  std::istringstream in(with_line(7, "C 0 0"));
  ReplayWatcher nobody;
  try {
    fold(in, "run.log", nobody);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "run.log:8: P: the policy was not asked at this instant; record the run again");
  }
}

}  // namespace
}  // namespace ductile
