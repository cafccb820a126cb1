#include "workload/adaptive.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"
#include "workload/platform_file.hpp"
#include "workload/swf.hpp"
#include "workload/transform.hpp"
#include "workload/transform_text.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;

Workload jobs(std::uint64_t count, Nodes nodes = 4) {
  Workload workload;
  for (std::uint64_t i = 1; i <= count; ++i) {
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = i;
    job.submit = Time{whole_seconds(static_cast<std::int64_t>(i))};
    job.runtime = whole_seconds(100);
    job.walltime = whole_seconds(150);
    job.nodes = nodes;
  }
  return workload;
}

Workload parsed(const std::string& lines, std::uint64_t count = 3) {
  Workload workload = jobs(count);
  parse_adaptive("ductile-adaptive 1\n" + lines, "x.adaptive", workload);
  return workload;
}

std::string written(const Workload& workload, std::uint32_t cores_per_node = 1) {
  std::ostringstream out;
  write_adaptive(out, workload, cores_per_node);
  return out.str();
}

TEST(Adaptive, EveryFieldIsReadAndWritten) {
  const std::string line =
      "job 2 type=adaptive size=2..16 priority=-7 account=physics barrier=yes bound=memory "
      "model=powerlaw:0.2 believed_model=powerlaw:0.1 "
      "constraint=list:2:4:16 cost=0.01:0.02:0.03:0.5:1:0.75 believed_cost=0:0:0:2:0.5 "
      "walltime=any_size delay=2.000001 "
      "watts=310.5 request=0.25:+4 request=0.5:-2:1 request=0.5:+1:1:again:saves=-0.25 "
      "request=0.75:+3:again request=0.75:+3:saves=0.125 phase=0.5:10:yes phase=1:1:no:amdahl:0.25";
  const Workload workload = parsed(line);
  EXPECT_EQ(workload.jobs[0].adaptive, WorkloadJob::kRigid);
  ASSERT_EQ(workload.jobs[1].adaptive, 0u);
  EXPECT_EQ(workload.jobs[2].adaptive, WorkloadJob::kRigid);
  EXPECT_EQ(workload.jobs[1].bound, Bound::memory);
  EXPECT_EQ(workload.jobs[2].bound, Bound::mixed);
  const AdaptiveJob expected{
      .type = JobType::adaptive,
      .size = {2, 16},
      .priority = -7,
      .barrier = true,
      .account = 1,
      .believed = {.speedup = {Speedup::Kind::powerlaw, 0.1},
                   .cost = {0, 0, 0, 2, 0.5},
                   .constraint = parse_constraint("list:2:4:16"),
                   .resize_delay = Duration{2'000'001},
                   .watts_per_node = 310.5,
                   .walltime_for = WalltimeFor::any_size},
      .speedup = {Speedup::Kind::powerlaw, 0.2},
      .cost = {0.01, 0.02, 0.03, 0.5, 1, 0.75},
      .steps = {{0.25, 4, 0},
                {0.5, -2, 1},
                {0.5, 1, 1, {}, true, -0.25},
                {0.75, 3, 0, {}, true},
                {0.75, 3, 0, {}, false, 0.125}},
      .phases = {{0.5, {}, 10, true}, {1, {Speedup::Kind::amdahl, 0.25}, 1, false}}};
  EXPECT_EQ(workload.adaptive.at(0), expected);
  EXPECT_EQ(workload.accounts, std::vector<std::string>{"physics"});
  EXPECT_EQ(written(workload), "ductile-adaptive 1\ncores_per_node 1\n" + line + "\n");
}

TEST(Adaptive, WhatIsNotSaidIsPlain) {
  const Workload workload = parsed("# a remark\n\n  job 3\ttype=moldable size=1..8\r\n");
  EXPECT_EQ(workload.adaptive.at(0), (AdaptiveJob{.type = JobType::moldable, .size = {1, 8}}));
  EXPECT_EQ(written(workload),
            "ductile-adaptive 1\ncores_per_node 1\njob 3 type=moldable size=1..8\n");
  EXPECT_EQ(parsed("job 1 size=1..4 type=malleable cost=0:0:0:1:1").adaptive[0].believed.cost,
            (ReconfigurationCost{.fixed_s = 1}));
  EXPECT_TRUE(parsed("").adaptive.empty());
}

// One that is rigid has nothing else to say.
TEST(Adaptive, TheBoundOfAnyJobIsWritten) {
  Workload workload = jobs(2);
  workload.jobs[0].bound = Bound::compute;
  const std::string size = std::to_string(workload.jobs[0].nodes);
  const std::string line = "job 1 type=rigid size=" + size + ".." + size + " bound=compute\n";
  EXPECT_EQ(written(workload), "ductile-adaptive 1\ncores_per_node 1\n" + line);
  EXPECT_EQ(parsed(line).jobs[0].bound, Bound::compute);
}

TEST(Adaptive, DependenciesAreReadAndWritten) {
  const std::string lines =
      "job 1 type=rigid size=4..4 dependency=afterok:2\n"
      "job 3 type=malleable size=2..8 dependency=after:1,afterany:77,afternotok:2\n";
  const Workload workload = parsed(lines);
  using Kind = Dependency::Kind;
  const auto row = [](std::uint32_t job, std::uint32_t on, Kind kind, std::uint64_t line) {
    return Precedence{
        .job = job, .on = on, .kind = kind, .from = Precedence::From::beside, .line = line};
  };
  EXPECT_EQ(workload.precedences,
            (std::vector{row(0, 1, Kind::afterok, 2), row(2, 0, Kind::after, 3),
                         row(2, 1, Kind::afternotok, 3)}));
  EXPECT_EQ(workload.precedences_lost, 1u);
  EXPECT_EQ(written(workload),
            "ductile-adaptive 1\ncores_per_node 1\n"
            "job 1 type=rigid size=4..4 dependency=afterok:2\n"
            "job 3 type=malleable size=2..8 dependency=after:1,afternotok:2\n");
  EXPECT_EQ(testing::complaint([] { parsed("job 1 type=rigid size=4..4 dependency=with:2\n"); }),
            "x.adaptive:2: dependency: there is no dependency 'with', but after, afterany, "
            "afterok, afternotok; write it like afterok:12:13,afterany:14");
}

TEST(Adaptive, JobsThatTheLogDoesNotHaveAreCounted) {
  Workload workload = jobs(2);
  EXPECT_EQ(parse_adaptive("ductile-adaptive 1\njob 1 type=malleable size=1..8\n"
                           "job 7 type=malleable size=1..8\njob 8 type=malleable size=1..8\n",
                           "x", workload),
            2u);
  EXPECT_EQ(workload.adaptive.size(), 1u);
}

// A workload that was made adaptive, written to both files and read again, is the same.
TEST(Adaptive, RoundTripWithTheLogIsExact) {
  Workload workload = jobs(2000, 6);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    workload.jobs[i].submit += Duration{static_cast<std::int64_t>(i * i)};
    workload.jobs[i].user = 7;
  }
  Transform changes{.arrival_scale = Decimal(0.7), .speed_factor = Decimal(0.624)};
  changes.malleable =
      parse_share("-", "0.4:rho=SM,rho_error=0.1,time_error=0.5..2,constraint=list:1:2:5:6:20");
  changes.moldable = parse_share("-", "0.2:A=2,A_error=1,error_in=belief");
  changes.evolving = parse_evolving("-", "0.5:x=0.01,overlap=random", changes.requests);
  changes.cost = parse_reconfiguration("-", "half:sync=0.1..0.2,error=1.5..2,overhead_mode=bytes");
  changes.estimates = {EstimateSettings::Kind::factor, 2};
  transform(workload, changes, 40, 3);

  for (const std::uint32_t cores : {1u, 48u}) {
    std::ostringstream log;
    write_swf(log, workload, {}, cores);
    Workload again =
        parse_swf(log.str(), "log", {.cores_per_node = cores, .extend_walltime = false});
    EXPECT_EQ(parse_adaptive(written(workload, cores), "x", again, {.cores_per_node = cores}), 0u);
    EXPECT_EQ(again.jobs, workload.jobs);
    EXPECT_EQ(again.adaptive, workload.adaptive);
    EXPECT_EQ(written(again, cores), written(workload, cores));
  }
}

TEST(Adaptive, WhatCannotBeSaidIsRefused) {
  Workload workload = parsed("job 1 type=malleable size=1..8");
  workload.jobs[1].name = 1;
  EXPECT_THROW(written(workload), InputError);
  workload = parsed("job 1 type=evolving size=1..8");
  workload.adaptive[0].steps.assign(100'000, {0.123456789, 1, 1});
  EXPECT_THROW(written(workload), InputError);
}

TEST(Adaptive, WhereJobsMayRunIsReadAndWritten) {
  const std::string first = "job 1 type=rigid size=4..4 partition=a,b memory=4G gres=gpu:2,fpga";
  const std::string second = "job 2 type=malleable size=2..8 cores=8 nodelist=0-3,7 exclude=2";
  const std::string third = "job 3 type=rigid size=4..4 partition=a,b memory=4G gres=gpu:2,fpga";
  const std::string lines = first + "\n" + second + "\n" + third + "\n";
  const Workload workload = parsed(lines);
  EXPECT_EQ(workload.asked, (std::vector<AskedWhere>{
                                {.partitions = "a,b", .memory_mb = 4096, .things = "gpu:2,fpga"},
                                {.cores = 8, .only = "0-3,7", .never = "2"}}));
  EXPECT_EQ(workload.adaptive[0].asked, 1u);
  EXPECT_EQ(workload.adaptive[1].asked, 2u);
  EXPECT_EQ(workload.adaptive[2].asked, 1u);
  EXPECT_EQ(written(workload), "ductile-adaptive 1\ncores_per_node 1\n" + lines);
  EXPECT_EQ(parsed("job 1 type=rigid size=4..4 memory=1500").asked.at(0).memory_mb, 1500u);
  EXPECT_TRUE(parsed("job 1 type=rigid size=4..4").asked.empty());
}

TEST(Adaptive, BelongsToTheLogBesideIt) {
  EXPECT_EQ(adaptive_path("a/b.swf.xz"), "a/b.adaptive");
  EXPECT_EQ(adaptive_path("b.swf"), "b.adaptive");
  EXPECT_EQ(adaptive_path("b.log"), "b.log.adaptive");
  const std::string folder = ::testing::TempDir() + "/adaptive_beside";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  EXPECT_EQ(adaptive_beside(folder + "/x.swf.gz"), std::nullopt);
  std::ofstream(folder + "/x.adaptive.xz") << "";
  EXPECT_EQ(adaptive_beside(folder + "/x.swf.gz"), folder + "/x.adaptive.xz");
  std::ofstream(folder + "/x.adaptive") << "ductile-adaptive 1\njob 1 type=rigid size=4..4\n";
  EXPECT_EQ(adaptive_beside(folder + "/x.swf.gz"), folder + "/x.adaptive");
  Workload workload = jobs(1);
  EXPECT_EQ(read_adaptive(folder + "/x.adaptive", workload), 0u);
  EXPECT_EQ(workload.adaptive.size(), 1u);
  EXPECT_THROW(read_adaptive(folder + "/y.adaptive", workload), InputError);
}

std::string error_of(const std::string& bytes, std::uint32_t cores_per_node = 1) {
  Workload workload = jobs(3);
  workload.jobs[2].name = 2;  // twice
  const Workload before = workload;
  try {
    parse_adaptive(bytes, "x.adaptive", workload, {.cores_per_node = cores_per_node});
  } catch (const InputError& error) {
    EXPECT_EQ(workload.jobs, before.jobs);
    EXPECT_TRUE(workload.adaptive.empty());
    return error.what();
  }
  return "";
}

std::string line_error(const std::string& line) { return error_of("ductile-adaptive 1\n" + line); }

TEST(AdaptiveErrors, OfWhereJobsMayRunWhateverThePlatform) {
  for (const auto& [words, what] : std::vector<std::pair<std::string, std::string>>{
           {"partition=", "partition: is empty; leave it away"},
           {"memory=much", "memory: 'much' is no memory; write megabytes, or as in 4G"},
           {"memory=0", "memory: '0' is no memory; write megabytes, or as in 4G"},
           {"cores=0", "cores: '0' is no whole number from 1 to 65536; correct it"},
           {"gres=gpu:0",
            "gres: 'gpu:0' says nothing of what a node has; write it like gpu:2, each "
            "thing once"},
           {"nodelist=x", "nodelist: 'x' are no nodes; write their numbers like 0-3,7"},
           {"exclude=3-1", "exclude: '3-1' are no nodes; write their numbers like 0-3,7"},
           {"gres=gpu gres=gpu", "gres: is given twice; give it once"}}) {
    EXPECT_EQ(line_error("job 1 " + words), "x.adaptive:2: " + what);
  }
  Workload workload = jobs(1);
  try {
    parse_adaptive("ductile-adaptive 1\njob 1 type=rigid size=4..4 exclude=1", "x", workload,
                   {.may_ask = false});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "x:2: exclude: says where the job may run on a platform; give --platform FILE");
  }
}

const Platform& platform() {
  static const Platform made = parse_platform_file(R"(
    class = [{ name = "std", count = 4, cores = 4, memory = "8G" },
             { name = "gpu", count = 2, cores = 8, memory = "4G", gres = { gpu = 2 } }]
    partition = [{ name = "a", classes = ["std"] },
                 { name = "b", classes = ["gpu"], max_time = "10" }, { name = "all" }]
    )",
                                                   "platform")
                                   .platform;
  return made;
}

std::string asked_error(const std::string& words) {
  try {
    parse_asked("ductile-adaptive 1\njob 1 type=rigid size=1..1 " + words, "x", platform());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(AdaptiveErrors, OfWhereJobsMayRunOnAPlatform) {
  EXPECT_EQ(asked_error("gres=gpu:2"), "") << "any partition may be that of the log";
  EXPECT_EQ(asked_error("partition=c"),
            "x:2: partition: there is no partition 'c'; use one of a, b, all");
  EXPECT_EQ(asked_error("memory=9G"),
            "x:2: memory: 9216 MB are more than the 8192 of a node; ask for less");
  EXPECT_EQ(asked_error("cores=9"),
            "x:2: cores: 9 cores are more than the 8 of a node; ask for fewer");
  EXPECT_EQ(asked_error("gres=fpga"), "x:2: gres: no node has a 'fpga'; use one of gpu");
  EXPECT_EQ(asked_error("nodelist=6"), "x:2: nodelist: there is no node 6; there are 0 to 5");
  EXPECT_EQ(asked_error("nodelist=1 exclude=0-1"),
            "x:2: exclude: none of the nodes of nodelist is left; exclude fewer");
  EXPECT_EQ(asked_error("partition=a gres=gpu"),
            "x:2: no node of a has all that is asked of each: gpu; ask for less, or for another "
            "partition");
  EXPECT_EQ(asked_error("memory=8G gres=gpu").substr(0, 20), "x:2: no node of a,b,");
  EXPECT_THROW(
      parse_asked("ductile-adaptive 1\njob 1 type=rigid size=3..3 gres=gpu", "x", platform()),
      InputError);
}

TEST(AdaptiveErrors, NameLineAndField) {
  EXPECT_EQ(error_of(""), "x.adaptive: is empty; the first line is 'ductile-adaptive 1'");
  EXPECT_EQ(error_of("job 1\n"),
            "x.adaptive:1: this is no file of adaptive jobs, or of another version; the first line "
            "is 'ductile-adaptive 1'");
  EXPECT_EQ(line_error("\nwork 1"),
            "x.adaptive:3: 'work' is not understood; lines begin with job or #");
  EXPECT_EQ(line_error("job"),
            "x.adaptive:2: job: '' is no whole number from 0 to 999999999999999999; correct it");
  EXPECT_EQ(line_error("job 1 size=1..8"),
            "x.adaptive:2: type: is missing; write type=malleable, or another one");
  EXPECT_EQ(line_error("job 1 type=malleable"),
            "x.adaptive:2: size: is missing; write size=SMALLEST..LARGEST");
  EXPECT_EQ(line_error("job 1 type=elastic"),
            "x.adaptive:2: type: there is no 'elastic'; use rigid, moldable, malleable, evolving, "
            "adaptive");
  EXPECT_EQ(line_error("job 1 type=rigid type=rigid"),
            "x.adaptive:2: type: is given twice; give it once");
  EXPECT_EQ(
      line_error("job 1 speed=1"),
      "x.adaptive:2: there is no 'speed'; there are type, size, priority, account, barrier, bound, "
      "dependency, model, believed_model, constraint, cost, believed_cost, walltime, delay, watts, "
      "request, phase, partition, memory, memory_per_core, cores, gres, features, nodelist, "
      "exclude, qos");
  EXPECT_EQ(line_error("job 1 bound=io"),
            "x.adaptive:2: bound: there is no 'io'; use compute, memory, mixed");
  EXPECT_EQ(line_error("job 1 account=a,b"),
            "x.adaptive:2: account: 'a,b' is no name of an account; use up to 64 letters, digits, "
            "'_', '-' and '.'");
  EXPECT_EQ(line_error("job 1 barrier=1"),
            "x.adaptive:2: barrier: '1' is neither yes nor no; write one of them");
  EXPECT_EQ(line_error("job 1 type=malleable size=5..8"),
            "x.adaptive:2: size: the job asks for 4 nodes, which is outside; is this the file of "
            "this log, read with the same --cores-per-node and without --clip?");
  EXPECT_EQ(line_error("job 2 type=malleable size=1..8"),
            "x.adaptive:2: job: the log has 2 more than once; number the jobs of the log");
  EXPECT_EQ(line_error("job 1 type=malleable size=1..8\njob 1 type=malleable size=1..8"),
            "x.adaptive:3: job: a second line of 1; say it in one line");
  EXPECT_EQ(line_error("job 1 size=8"),
            "x.adaptive:2: size: '8' is no range; write SMALLEST..LARGEST");
  EXPECT_EQ(line_error("job 1 cost=1:2:3:4"),
            "x.adaptive:2: cost: has fewer than 5 numbers; write ALPHA:BETA:B:FIXED:SCALE or "
            "...:SCALE:TRANSFER");
  EXPECT_EQ(line_error("job 1 cost=1:2:3:4:5:6:7"),
            "x.adaptive:2: cost: has more than 6 numbers; write ALPHA:BETA:B:FIXED:SCALE or "
            "...:SCALE:TRANSFER");
  EXPECT_EQ(line_error("job 1 request=0.5:0"),
            "x.adaptive:2: request: is for no change; write +N or -N nodes");
  EXPECT_EQ(
      line_error("job 1 request=0.5:1 request=0.4:1"),
      "x.adaptive:2: request: comes before the last one; write requests in order of progress");
  EXPECT_EQ(line_error("job 1 request=0.5:1:saves=0.1:again"),
            "x.adaptive:2: request: 'again' is not understood; after DONE:+N come a number, again, "
            "saves=SHARE, in this order");
  EXPECT_EQ(line_error("job 1 request=0.5:1:saves=-0.6"),
            "x.adaptive:2: request: '-0.6' is no number from -0.5 to 1; correct it");
  EXPECT_EQ(line_error("job 1 phase=0.5:1:no phase=0.4:1:no"),
            "x.adaptive:2: phase: ends before the last one; write phases in their order");
  EXPECT_EQ(line_error("job 1 phase=0.5:1"),
            "x.adaptive:2: phase: does not say if it has scheduling points; write yes or no");
  EXPECT_EQ(line_error("job 1 model=fast").substr(0, 50),
            "x.adaptive:2: model: there is no model 'fast'; use");
  EXPECT_EQ(
      error_of("ductile-adaptive 1\ncores_per_node 4\njob 1 type=rigid size=4..4", 8),
      "x.adaptive:3: cores_per_node: sizes are in nodes of 4, those of the log in nodes of 8; "
      "give --cores-per-node 4");
  for (const char* line : {"cores_per_node",
                           "cores_per_node 0",
                           "cores_per_node 1 2",
                           "job -1",
                           "job 1 size=0..8",
                           "job 1 size=8..4",
                           "job 1 type=",
                           "job 1 cost=1:2:x:4:5",
                           "job 1 cost=-1:2:3:4:5",
                           "job 1 cost=1:2:3:4:5:x",
                           "job 1 delay=-1",
                           "job 1 walltime=always",
                           "job 1 watts=x",
                           "job 1 request=2:1",
                           "job 1 request=0.5",
                           "job 1 request=0.5:x",
                           "job 1 request=0.5:1:-1",
                           "job 1 request=0.5:1:2:3",
                           "job 1 request=0.5:1:again:again",
                           "job 1 request=0.5:1:saves=",
                           "job 1 request=0.5:1:saves=2",
                           "job 1 priority=0.5",
                           "job 1 believed_model=x",
                           "job 1 constraint=x",
                           "job 1 believed_cost=1",
                           "job 1 =",
                           "job 1 phase=2:1:no",
                           "job 1 phase=1:0:no",
                           "job 1 phase=1:1:no:x"}) {
    EXPECT_NE(line_error(line), "") << line;
  }
}

// What a user says of watts, and what is drawn; as it was written.
TEST(Adaptive, WattsMayBeARange) {
  for (const auto& [text, least, most, drawn] :
       {std::tuple("170", 0.0, 170.0, 0.0), std::tuple("100..300:250", 100.0, 300.0, 250.0),
        std::tuple("100..300", 100.0, 300.0, 0.0), std::tuple("300..300:300", 0.0, 300.0, 0.0)}) {
    const Workload workload = parsed(std::string("job 2 type=malleable size=1..4 watts=") + text);
    const AdaptiveJob& job = workload.adaptive.at(0);
    EXPECT_EQ(job.believed.least_watts_per_node, least) << text;
    EXPECT_EQ(job.believed.watts_per_node, most) << text;
    EXPECT_EQ(job.watts, drawn) << text;
    Workload again = jobs(3);
    parse_adaptive(written(workload), "x.adaptive", again);
    EXPECT_EQ(again.adaptive, workload.adaptive) << text;
  }
  for (const char* text : {"x", "-1", "300..100", "0..100", "100..200:50", "100..200:300", "1..2e6",
                           "100..", "100..x", "100..200:", "nan..5"}) {
    EXPECT_THROW(parsed(std::string("job 2 type=malleable size=1..4 watts=") + text), InputError)
        << text;
  }
}

TEST(Adaptive, WhatWasMeasuredIsSaidInWords) {
  AdaptiveJob job{.size = {2, 4}};
  job.costs.after_s = SharedList<double>({3, 3, 3});
  job.phases = {{.until = 1, .iterations = 5, .times_s = SharedList<double>({9, 6, 0})}};
  EXPECT_EQ(say_in_words(job), "");
  EXPECT_EQ(job.cost.fixed_s, 3);
  EXPECT_EQ(job.costs, ResizeCosts{});
  EXPECT_TRUE(job.phases.front().times_s.rows().empty());
  EXPECT_EQ(to_text(job.phases.front().speedup), "table:2=9:3=6:4=1e-06");

  job.costs.after_s = SharedList<double>({3, 2, 3});
  EXPECT_THAT(say_in_words(job), HasSubstr("on_reconfiguration"));
  job.costs = {.growth_s = SharedList<double>({0, 1})};
  EXPECT_THAT(say_in_words(job), HasSubstr("on_expansion"));
  job.costs = {};
  job.steps = {{.wanted = SharedList<Nodes>({2, 2, 4}), .iterations = 2}};
  EXPECT_THAT(say_in_words(job), HasSubstr("evolving requests"));
}

}  // namespace
}  // namespace ductile
