#include "workload/sacct.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

constexpr const char* kColumns =
    "JobID|User|Group|Partition|QOS|State|Submit|Start|End|Timelimit|NNodes|ReqCPUS|AllocCPUS|"
    "ReqMem\n";

SacctInput parse(const std::string& text, const SacctRules& rules = {}) {
  return parse_sacct(text, "jobs.txt", rules);
}

// One job of which only these columns are given.
SwfLine line_of(const std::string& columns, const std::string& fields,
                const SacctRules& rules = {}) {
  const SacctInput input =
      parse("JobID|State|Submit|Start|End|AllocCPUS|" + columns +
                "\n7|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:11:00|8|" +
                fields + "\n",
            rules);
  EXPECT_EQ(input.lines.size(), 1u);
  return input.lines.empty() ? SwfLine{} : input.lines.front();
}

TEST(Sacct, BecomesLinesOfALog) {
  const SacctInput input = parse(
      std::string(kColumns) +
      "12|eve|chem|gpu|high|FAILED|2024-01-01T00:02:00|2024-01-01T00:02:10|2024-01-01T00:03:10|"
      "1-00:00:00|2|8|16|4Gn\n"
      "12.batch||||||2024-01-01T00:02:10|2024-01-01T00:02:10|2024-01-01T00:03:10||1||8|\n"
      "11|bob|phys|cpu|normal|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|"
      "2024-01-01T00:11:00|02:00:00|1|4|4|2000Mc\n"
      "13_1|eve|phys|cpu|normal|CANCELLED by 1000|2024-01-01T00:05:00|Unknown|"
      "2024-01-01T00:06:00|UNLIMITED|1|4|0|8G\n"
      "13_[2-9]|eve|phys|cpu|normal|PENDING|2024-01-01T00:05:00|Unknown|Unknown|UNLIMITED|1|4|0|8G"
      "\n");
  EXPECT_EQ(input.steps, 1u);
  EXPECT_EQ(input.unfinished, 1u);
  EXPECT_THAT(input.remarks, ElementsAre("1 jobs have the limit UNLIMITED, which says no time"));
  std::ostringstream out;
  write_swf_lines(out, input.lines, input.header);
  EXPECT_EQ(out.str(),
            "; Version: 2.2\n"
            "; MaxJobs: 3\n"
            "; MaxRecords: 3\n"
            "; MaxQueues: 2\n"
            "; MaxPartitions: 2\n"
            "; UnixStartTime: 1704067200\n"
            "; Queue: 1 normal\n"
            "; Queue: 2 high\n"
            "; Partition: 1 cpu\n"
            "; Partition: 2 gpu\n"
            "; User: 1 bob\n"
            "; User: 2 eve\n"
            "; Group: 1 phys\n"
            "; Group: 2 chem\n"
            "1 0 60 600 4 -1 -1 4 7200 2048000 1 1 1 -1 1 1 -1 -1\n"
            "2 120 10 60 16 -1 -1 8 86400 524288 0 2 2 -1 2 2 -1 -1\n"
            "3 300 60 -1 -1 -1 -1 4 -1 2097152 5 2 1 -1 1 1 -1 -1\n");
}

TEST(Sacct, NamesNobodyWhereItIsNotTo) {
  const std::string text = std::string(kColumns) +
                           "11|bob|phys|cpu|normal|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:"
                           "00|2024-01-01T00:11:00|02:00:00|1|4|4|\n";
  EXPECT_THAT(parse(text).header.names, HasSubstr("bob"));
  const SacctInput input = parse(text, {.anonymise = true});
  EXPECT_THAT(input.header.names, IsEmpty());
  EXPECT_EQ(input.lines.front().user, 1);
}

TEST(Sacct, TakesWhatThereIs) {
  EXPECT_EQ(line_of("Timelimit", "30:00").requested_time, whole_seconds(1800));
  EXPECT_EQ(line_of("Timelimit", "2-01:00:00").requested_time, whole_seconds(49 * 3600));
  EXPECT_EQ(line_of("TimelimitRaw", "90").requested_time, whole_seconds(5400));
  EXPECT_FALSE(line_of("Timelimit", "Partition_Limit").requested_time);
  EXPECT_EQ(line_of("Elapsed", "00:07:00").runtime, whole_seconds(420));
  EXPECT_EQ(line_of("ElapsedRaw", "421").runtime, whole_seconds(421));
  EXPECT_EQ(line_of("Account", "phys").group, 1);
  EXPECT_EQ(line_of("UID", "1000").user, 1);
  EXPECT_EQ(line_of("ReqMem", "0n").requested_memory_kb, -1);
  EXPECT_EQ(line_of("ReqMem", "16G").requested_memory_kb, 2 << 20);
  EXPECT_EQ(line_of("ReqMem", "1.5Gc").requested_memory_kb, 3 << 19);
  EXPECT_EQ(line_of("NNodes|ReqMem", "2|4Gn?").requested_memory_kb, 1 << 20);
}

TEST(Sacct, CountsCpusOrNodes) {
  EXPECT_EQ(line_of("NNodes", "3").allocated, 8);
  const SacctRules nodes{.count = SacctRules::Count::nodes, .cores_per_node = 48};
  EXPECT_EQ(line_of("NNodes", "3", nodes).allocated, 144);
  EXPECT_EQ(line_of("AllocTRES", "billing=8,cpu=8,mem=2G,node=2", nodes).allocated, 96);
  EXPECT_EQ(line_of("NNodes", "1.5K", {.count = SacctRules::Count::nodes}).allocated, 1536);
}

TEST(Sacct, JobsArriveWhenTheyAreEligible) {
  const SacctInput input = parse(
      "JobID|State|Submit|Eligible|Start|End|NCPUS\n"
      "1|COMPLETED|100|Unknown|110|120|1\n"
      "2|COMPLETED|101|105|110|120|1\n",
      {.from_eligible = true});
  EXPECT_EQ(input.header.unix_start_time, 100);
  EXPECT_EQ(input.lines.at(1).submit, whole_seconds(5));
  EXPECT_EQ(input.lines.at(1).wait, whole_seconds(5));
}

TEST(Sacct, TakesATrailingBar) {
  const SacctInput input = parse("JobID|State|Submit|Start|End|NCPUS|\r\n1|TIMEOUT|1|2|3|4|\r\n\n");
  EXPECT_EQ(input.lines.at(0).runtime, whole_seconds(1));
  EXPECT_EQ(input.lines.at(0).status, 0);
}

TEST(Sacct, TellsOfStatesThatItDoesNotKnow) {
  const SacctInput input = parse("JobID|State|Submit|Start|End|NCPUS\n1|MELTED|1|2|3|4\n");
  EXPECT_EQ(input.lines.at(0).status, -1);
  EXPECT_THAT(input.remarks, ElementsAre("1 jobs ended as 'MELTED': their status is not known"));
}

TEST(Sacct, SaysWhatToCall) {
  const auto refuses = [](const std::string& text, const std::string& words) {
    EXPECT_THAT([&] { parse(text); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("jobs.txt"), HasSubstr(words))));
  };
  refuses("", "is empty; call `TZ=UTC sacct");
  refuses("JobID|State\n", "jobs.txt:1: there is no column Submit; call `TZ=UTC sacct");
  refuses("JobID|State|Submit|Start|End\n", "sizes are not known; call `");
  refuses("JobID|JobID|State|Submit|Start|End|NCPUS\n", "JobID: the column is there twice");
  const std::string columns = "JobID|State|Submit|Start|End|NCPUS|Timelimit|ReqMem\n";
  refuses(columns + "1|COMPLETED|x\n", "jobs.txt:2: has 3 columns, and the first line has 8");
  refuses(columns + "x|COMPLETED|1|2|3|4||\n", "jobs.txt:2: JobID: 'x' is no job");
  refuses(columns + "1|COMPLETED|soon|2|3|4||\n", "jobs.txt:2: Submit: 'soon' is no time");
  refuses(columns + "1|COMPLETED|Unknown|2|3|4||\n", "jobs.txt:2: Submit: is not known");
  refuses(columns + "1|COMPLETED|1|5|3|4||\n", "jobs.txt:2: End: is before the start");
  refuses(columns + "1|COMPLETED|1|2|3|many||\n", "jobs.txt:2: NCPUS: 'many' is no number");
  refuses(columns + "1|COMPLETED|1|2|3|4|long|\n", "jobs.txt:2: Timelimit: 'long' is no");
  refuses(columns + "1|COMPLETED|1|2|3|4||lots\n", "jobs.txt:2: ReqMem: 'lots' is no");
}

TEST(Sacct, AJobThatRanAndIsOverNowIsNotUnfinished) {
  const SacctInput input = parse_sacct(
      "JobID|State|Submit|Start|End|NNodes|AdminComment\n"
      "1|RUNNING|10|12|Unknown|2|ductile:1 type=malleable nodes=2\n"
      "2|PENDING|11|Unknown|Unknown|2|\n"
      "1|COMPLETED|10|12|20|2|ductile:1 type=malleable nodes=2\n",
      "jobs.txt", {.count = SacctRules::Count::nodes});
  EXPECT_EQ(input.unfinished, 1u);
  ASSERT_EQ(input.lines.size(), 1u);
  EXPECT_EQ(input.comments, std::vector<std::string>{"ductile:1 type=malleable nodes=2"});
}

}  // namespace
}  // namespace ductile
