#include "live/submission.hpp"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

Submission sample() {
  Submission s;
  s.name = "solve";
  s.type = JobType::malleable;
  s.nodes = 4;
  s.min = 2;
  s.max = 8;
  s.walltime = whole_seconds(90);
  s.tasks_per_node = 3;
  s.cores_per_process = 2;
  s.memory = std::uint64_t{3} << 30;
  s.priority = -5;
  s.account = "physics";
  s.model = parse_speedup("amdahl:0.25");
  s.sizes = parse_constraint("even");
  s.watts = 250.5;
  s.least_watts = 150;
  s.is_held = true;
  s.dependencies = parse_dependencies("afterok:3,after:4");
  s.begin = Time(whole_seconds(1'900'000'000));
  s.array = parse_array("1-9:2%3");
  s.is_requeued = true;
  s.mpi = Mpi::openmpi;
  s.program = {"/bin/solve", "a b", ""};
  s.folder = "/tmp";
  s.output = "out.%j";
  s.environment = {"A=1", "B="};
  return s;
}

Submission threads_sample() {
  Submission s = sample();
  s.mpi = Mpi::none;
  s.kind = JobKind::threads;
  s.tasks_per_node = s.cores_per_process = 0;
  return s;
}

std::string error_of(const Json& json) {
  return testing::complaint([&] { submission_from_json(json); });
}

TEST(Submission, OfThreadsHasAllCoresOfItsNodes) {
  const Submission s = submission_from_json(to_json(threads_sample()));
  EXPECT_TRUE(s.has_threads());
  EXPECT_FALSE(s.has_steps());
  EXPECT_EQ(s.processes_on(6), 6U);

  const auto with = [](const char* field, const Json& value) {
    Json json = to_json(threads_sample());
    json[field] = value;
    return error_of(json);
  };
  EXPECT_EQ(with("mpi", "mpich"),
            "kind: a job of threads is started without an MPI; say --mpi none");
  EXPECT_EQ(with("tasks_per_node", 2),
            "kind: a job of threads is one process, which has all cores of its nodes; drop "
            "--cpus-per-task and --ntasks-per-node");
  EXPECT_EQ(with("type", "evolving"),
            "type: a job of threads does not ask for another size; say --type malleable");
  EXPECT_EQ(
      with("kind", "steps"),
      "kind: jobs are submitted as mpi, threads, script, restart or charm; use another --kind");
}

TEST(Submission, IsTheSameAfterTheWire) {
  Submission s = sample();
  s.partition = "batch,short";
  s.things = "gpu:2";
  s.only = "0-3";
  s.never = "7";
  s.features = "ib,avx512";
  s.qos = "urgent";
  s.memory_per_core = 1 << 20;
  s.user = 1001;
  s.reservation = "course";
  s.booking = BookingId{7};
  const Json json = to_json(s);
  EXPECT_EQ(to_json(submission_from_json(Json::parse(json.dump()))), json);
}

TEST(Submission, HasBytesAndWhatTheCallHad) {
  Submission s = sample();
  s.name = "caf\xe9";
  s.program = {"/bin/\xff", "\xc3\xa9 is UTF-8, \xc3 is none"};
  s.environment = {"\xe9=\xff", "PLAIN=1"};
  s.folder = "/\xff";
  s.output = "\xff.%j";
  s.error = "\xfe";
  s.script = "#!/bin/sh\n\xff\n";
  s.called_in = "/\xfd";
  s.umask = 027;
  s.limits = parse_limits("core=0:unlimited");
  s.groups = {4, 4'000'000'000};
  s.impossible = "9 are more than the 2 there are";
  s.unkept = "it asks for licences";
  const Submission again = submission_from_json(Json::parse(to_json(s).dump()));
  EXPECT_EQ(again.name, s.name);
  EXPECT_EQ(again.program, s.program);
  EXPECT_EQ(again.environment, s.environment);
  EXPECT_EQ(again.folder, s.folder);
  EXPECT_EQ(again.output, s.output);
  EXPECT_EQ(again.error, s.error);
  EXPECT_EQ(again.script, s.script);
  EXPECT_EQ(again.called_in, s.called_in);
  EXPECT_EQ(again.umask, s.umask);
  EXPECT_EQ(to_text(again.limits), to_text(s.limits));
  EXPECT_EQ(again.groups, s.groups);
  EXPECT_EQ(again.impossible, s.impossible);
  EXPECT_EQ(again.unkept, s.unkept);
  EXPECT_FALSE(again.is_stand_in);
  EXPECT_TRUE(submission_from_json(to_json(stand_in_for(s))).is_stand_in);
  s.groups = std::vector<gid_t>{};  // none is another thing than not known
  EXPECT_TRUE(submission_from_json(to_json(s)).groups);
  EXPECT_FALSE(submission_from_json(to_json(sample())).groups);
}

TEST(Submission, OfAScriptHasSteps) {
  Submission s = sample();
  s.mpi = Mpi::none;
  s.script = "#!/bin/sh\n";
  EXPECT_EQ(error_of(to_json(s)), "");
  EXPECT_TRUE(s.has_steps());
  EXPECT_EQ(s.processes_per_node({.nodes = 4, .cores_per_node = 8}), 3u);
  s.type = JobType::evolving;
  EXPECT_NE(error_of(to_json(s)), "");
  s.type = JobType::moldable;
  EXPECT_FALSE(s.has_steps());
  EXPECT_EQ(s.processes_per_node({.nodes = 4, .cores_per_node = 8}), 1u);
}

TEST(Submission, OfAKindHasItsSettings) {
  Submission s = sample();
  s.mpi = Mpi::none;
  s.kind = JobKind::restart;
  s.told = {.signal = 10,
            .checkpoint = "save \xff",
            .checkpoint_timeout = std::chrono::seconds(7),
            .stopped_exit = 0,
            .restart = "go",
            .settle = std::chrono::milliseconds(200)};
  const Submission again = submission_from_json(Json::parse(to_json(s).dump()));
  EXPECT_EQ(again.kind, s.kind);
  EXPECT_EQ(again.told, s.told);
  EXPECT_EQ(again.kind_of_run(), JobKind::restart);
  EXPECT_TRUE(again.keeps_data());
  EXPECT_FALSE(again.has_steps());
  EXPECT_EQ(again.processes_per_node({.nodes = 4, .cores_per_node = 8}), 3u);
  s.kind = JobKind::script;
  s.told = {};
  EXPECT_FALSE(s.keeps_data());
  EXPECT_EQ(submission_from_json(to_json(s)).told, ScriptSettings{});
  s.mpi = Mpi::mpich;
  EXPECT_EQ(error_of(to_json(s)),
            "kind: a program of this kind is started without an MPI; drop --mpi, or --kind");
  s.mpi = Mpi::none;
  s.type = JobType::adaptive;
  EXPECT_EQ(error_of(to_json(s)),
            "kind: a job of this kind is malleable, not adaptive; drop --type");
  s.type = JobType::malleable;
}

TEST(Submission, OfCharmSaysNothingToCharmrunThatTheRunSays) {
  Submission s = sample();
  s.mpi = Mpi::none;
  s.kind = JobKind::charm;
  s.told = {.ack_timeout = std::chrono::seconds(7)};
  EXPECT_EQ(submission_from_json(to_json(s)).answers_within(), whole_seconds(2 * 7 + 60));
  s.program.emplace_back("+p4");
  EXPECT_EQ(error_of(to_json(s)),
            "PROGRAM: '+p4' is said to charmrun by ductile run; drop it, and say -n for the "
            "processes");
}

TEST(Submission, SaysWhatItDraws) {
  const AdaptiveSpec spec = adaptive_spec_of(sample());
  EXPECT_EQ(spec.watts_per_node, 250.5);
  EXPECT_EQ(spec.least_watts_per_node, 150);
  EXPECT_EQ(parse_watts("250").most, 250);
  EXPECT_EQ(parse_watts("250").least, 0);
  EXPECT_EQ(parse_watts("99.5-250").least, 99.5);
  EXPECT_EQ(parse_watts("99.5-250").most, 250);
  EXPECT_EQ(parse_watts("250-250").least, 250);
  for (const char* text : {"", "0", "-1", "1-", "-", "0-5", "9-5", "1e3", "1e7", "10000000", "inf",
                           "nan", "1-2-3", "1..2", "1 ", "W", "0x10"}) {
    EXPECT_NE(testing::complaint([&] { parse_watts(text); }).find("--watts: "), std::string::npos)
        << text;
  }
}

TEST(Submission, IsChecked) {
  const Json good = to_json(sample());
  const auto with = [&](const char* field, const Json& value) {
    Json json = good;
    json[field] = value;
    return error_of(json);
  };
  EXPECT_EQ(error_of(good), "");
  EXPECT_EQ(with("nodes", 0), "nodes: 0 is out of range; use 1 to 16777216");
  EXPECT_EQ(with("nodes", ~std::uint64_t{0}),
            "nodes: 18446744073709551615 is out of range; use 1 to 16777216");
  EXPECT_EQ(with("nodes", 1.5), "nodes: it is no whole number");
  EXPECT_EQ(with("watts", -1), "watts: -1 is out of range; use 0 to 1000000");
  EXPECT_EQ(with("watts", "much"), "watts: \"much\" is out of range; use 0 to 1000000");
  EXPECT_EQ(with("least_watts", 300),
            "least_watts: 300 are more than the 250.5 at most; write the fewer ones first, as in "
            "--watts 150-250");
  EXPECT_EQ(
      with("type", "rubber"),
      "type: there is no 'rubber'; use one of rigid, moldable, malleable, evolving, adaptive");
  EXPECT_EQ(with("type", "rigid"),
            "min: a rigid job has one size; give a type, such as --type malleable");
  EXPECT_EQ(
      with("mpi", "none"),
      "mpi: a malleable job is a program of an MPI, or a script that runs such ones; say --mpi "
      "mpich or openmpi if it is one");
  for (const Json& hex : {Json("0"), Json("0g"), Json("+1"), Json(1), Json()}) {
    EXPECT_EQ(with("chdir", {{"hex", hex}}), "chdir: it is no text");
  }
  EXPECT_EQ(with("chdir", {{"hex", "2f00"}}), "chdir: it has a byte 0");
  EXPECT_EQ(with("umask", 01000), "umask: 512 is out of range; use 0 to 511");
  EXPECT_EQ(with("limits", "core=2:1").substr(0, 29), "'core=2:1' is no resource lim");
  EXPECT_EQ(with("groups", {-1}), "groups: an entry is no number");
  EXPECT_EQ(with("program", Json::array()), "program: there is none; name a script or a program");
  EXPECT_EQ(with("program", {std::string("a\0b", 3)}), "program: it has a byte 0");
  EXPECT_EQ(with("chdir", "here"), "chdir: 'here' does not begin with '/'; give the whole path");
  EXPECT_EQ(with("script", std::string((1 << 20) + 1, 'x')),
            "script: it is too long; at most 1048576 bytes");
  EXPECT_EQ(with("account", "a b"),
            "account: 'a b' is no name of an account; use up to 64 letters, digits, '_', '-' and "
            "'.'");
  EXPECT_EQ(with("account", ""), "");
  EXPECT_EQ(with("more", 1),
            "job: it has a field that is not known; use the `ductile submit` of this version");
  EXPECT_NE(with("model", "magic"), "");
  EXPECT_EQ(with("gres", "gpu:0"),
            "gres: 'gpu:0' says nothing of what a node has; write it like "
            "gpu:2, each thing once");
  EXPECT_EQ(with("exclude", "2-1"), "exclude: it is no list of nodes; write it like 0-3,7");
  EXPECT_EQ(with("nodelist", "x"), "nodelist: it is no list of nodes; write it like 0-3,7");
  EXPECT_EQ(with("partition", "a\n"), "partition: it is no name");
  EXPECT_EQ(error_of(3), "job: it is no object; use `ductile submit`");
}

TEST(Submission, HasAsManyProcessesAsItsCoresAreFor) {
  const Platform platform{.nodes = 8, .cores_per_node = 6};
  Submission s = sample();
  EXPECT_EQ(s.processes_per_node(platform), 3u);
  EXPECT_NO_THROW(spec_of(s, platform));
  s.tasks_per_node = 4;
  EXPECT_THROW(spec_of(s, platform), InputError);
  s.cores_per_process = 0;  // they share what there is
  EXPECT_NO_THROW(spec_of(s, platform));
  s.tasks_per_node = 0;
  for (const auto& [cores, processes] : {std::pair{0U, 6U}, {1U, 6U}, {4U, 1U}, {6U, 1U}}) {
    s.cores_per_process = cores;
    EXPECT_EQ(s.processes_per_node(platform), processes);
    EXPECT_NO_THROW(spec_of(s, platform));
  }
  s.cores_per_process = 7;
  EXPECT_THROW(spec_of(s, platform), InputError);
}

TEST(Submission, FitsThePlatformOrNot) {
  const Platform platform{.nodes = 6, .cores_per_node = 2};
  Submission s = sample();
  s.cores_per_process = 0;
  EXPECT_EQ(spec_of(s, platform).size, (SizeRange{2, 6}));
  EXPECT_EQ(s.processes_per_node(platform), 3u);
  s.tasks_per_node = 0;
  EXPECT_EQ(s.processes_per_node(platform), 2u);
  s.min = s.max = 0;
  EXPECT_EQ(spec_of(s, platform).size, (SizeRange{1, 6}));
  s.min = 5;
  EXPECT_THROW(spec_of(s, platform), InputError);
  s.min = 0;
  s.nodes = 7;
  EXPECT_THROW(spec_of(s, platform), InputError);
  s = {};
  s.nodes = 3;
  EXPECT_EQ(spec_of(s, platform).size, exactly(3));
  EXPECT_EQ(s.processes_per_node(platform), 1u);
}

TEST(Submission, RunsWhereItAsks) {
  Platform platform{.nodes = 6, .cores_per_node = 2};
  const auto nodes = [](const char* text) { return *parse_node_set(text); };
  platform.classes = {{.name = "std", .nodes = nodes("0-3"), .has = {2, {}, 1024}},
                      {.name = "big", .nodes = nodes("4-5"), .has = {8, {1}, 4096}}};
  platform.partitions = {{.name = "batch", .nodes = nodes("0-4")},
                         {.name = "big", .nodes = nodes("4-5"), .max_walltime = whole_seconds(60)}};
  platform.things = {"gpu"};
  Submission s;
  s.walltime = whole_seconds(60);
  s.type = JobType::malleable;
  s.mpi = Mpi::mpich;
  EXPECT_EQ(where_of(s, platform), Where{});
  EXPECT_EQ(spec_of(s, platform).size, (SizeRange{1, 5}));
  EXPECT_EQ(s.processes_per_node(platform), 2u);
  s.partition = "big";
  EXPECT_EQ(nodes_of(where_of(s, platform), platform), nodes("4-5"));
  EXPECT_EQ(spec_of(s, platform).size, (SizeRange{1, 2}));
  EXPECT_EQ(s.processes_per_node(platform), 8u);
  s.nodes = 3;
  EXPECT_THROW(spec_of(s, platform), InputError);
  s.nodes = 1;
  s.walltime = whole_seconds(61);
  EXPECT_THROW(spec_of(s, platform), InputError);
  s.partition = "batch,big";
  EXPECT_EQ(nodes_of(where_of(s, platform), platform), nodes("0-4"));
  s.memory = (std::uint64_t{1} << 30) + 1;
  EXPECT_EQ(nodes_of(where_of(s, platform), platform), nodes("4"));
  s.memory = 0;
  s.cores_per_process = 3;
  EXPECT_EQ(nodes_of(where_of(s, platform), platform), nodes("4"));
  s.cores_per_process = 0;
  s.things = "gpu";
  EXPECT_EQ(nodes_of(where_of(s, platform), platform), nodes("4"));
  // The memory of these nodes nobody has said.
  s.things.clear();
  s.partition.clear();
  s.memory = std::uint64_t{1} << 50;
  EXPECT_EQ(where_of(s, {.nodes = 4}), Where{});
}

TEST(Submission, HasTheTimeItAskedForAtAllItsSizes) {
  const auto at = [](int s) { return Time(whole_seconds(s)); };
  Submission s = sample();
  s.nodes = 4;
  s.walltime = whole_seconds(100);
  s.model = {};
  using Sizes = std::vector<std::pair<Time, Nodes>>;
  EXPECT_EQ(asked_until(s, Sizes{}), Time{});
  EXPECT_EQ(asked_until(s, Sizes{{at(10), 4}}), at(110));
  EXPECT_EQ(asked_until(s, Sizes{{at(10), 4}, {at(60), 2}}), at(160));
  EXPECT_EQ(asked_until(s, Sizes{{at(10), 4}, {at(60), 2}, {at(80), 8}}), at(100));
  // What it has done before it waited again is lost.
  EXPECT_EQ(asked_until(s, Sizes{{at(10), 4}, {at(60), 0}}), Time{});
  EXPECT_EQ(asked_until(s, Sizes{{at(10), 4}, {at(60), 0}, {at(70), 2}}), at(270));
  // It has more than it asked for.
  EXPECT_EQ(asked_until(s, Sizes{{at(10), 4}, {at(500), 2}}), at(500) + kTick);
  s.model = parse_speedup("amdahl:1");
  EXPECT_EQ(asked_until(s, Sizes{{at(10), 4}, {at(60), 2}}), at(110));
}

TEST(Submission, HasWhatIsLeftOfTheTimeItAskedForAfterASuspension) {
  Submission s = sample();
  s.nodes = 4;
  s.walltime = whole_seconds(100);
  s.model = {};
  using Had = std::vector<TimeHad>;
  EXPECT_EQ(asked_left(s, Had{}, 4), whole_seconds(100));
  EXPECT_EQ(asked_left(s, Had{}, 2), whole_seconds(200));
  EXPECT_EQ(asked_left(s, Had{{4, whole_seconds(60)}}, 4), whole_seconds(40));
  EXPECT_EQ(asked_left(s, Had{{4, whole_seconds(60)}}, 2), whole_seconds(80));
  // Larger it may need no less time.
  EXPECT_EQ(asked_left(s, Had{{4, whole_seconds(60)}}, 8), whole_seconds(40));
  EXPECT_EQ(asked_left(s, Had{{4, whole_seconds(20)}, {2, whole_seconds(80)}}, 4),
            whole_seconds(40));
  EXPECT_LE(asked_left(s, Had{{4, whole_seconds(160)}}, 4), kTick);
}

TEST(Submission, ShowsLimitsAsSlurmDoes) {
  EXPECT_EQ(limit_text(whole_seconds(59)), "00:59");
  EXPECT_EQ(limit_text(whole_seconds(3661)), "01:01:01");
  EXPECT_EQ(limit_text(whole_seconds(86400 + 61)), "1-00:01:01");
}

TEST(Submission, NamesFiles) {
  EXPECT_EQ(file_name("%x-%j.%%.%y%", {.number = 12, .name = "job"}), "job-12.%.%y%");
  EXPECT_EQ(file_name("%A_%a", {.number = 12}), "12_0");
  const JobNames task{.number = 12, .name = "job", .array = 10, .task = 3};
  EXPECT_EQ(file_name("%A_%a %j", task), "10_3 12");
  EXPECT_EQ(task.text(), "10_3");
}

// Whatever a world has, something with as many tasks is taken.
TEST(Submission, HasAStandInThatIsTaken) {
  for (const JobType type : {JobType::rigid, JobType::moldable, JobType::malleable,
                             JobType::evolving, JobType::adaptive}) {
    Submission s;
    s.type = type;
    s.name = "two\nlines";
    s.nodes = 0;
    s.walltime = Duration{-5};
    s.array.tasks.insert(5'000'000, 5'000'002);
    EXPECT_THROW(submission_from_json(to_json(s)), InputError);
    const Submission taken = submission_from_json(to_json(stand_in_for(s)));
    EXPECT_EQ(taken.type, type);
    EXPECT_EQ(taken.array.count(), 3u);
  }
  EXPECT_TRUE(stand_in_for({}).array.empty());
}

TEST(Submission, IsAStandInThoughThatWasNotYetWritten) {
  Submission s = stand_in_for(sample());
  s.impossible = "it is no text";
  Json json = to_json(s);
  json.erase("stand_in");
  EXPECT_TRUE(submission_from_json(json).is_stand_in);
  json["environment"] = Json::array({"A=1"});
  EXPECT_FALSE(submission_from_json(json).is_stand_in);
  json["environment"] = Json::array();
  json.erase("impossible");
  EXPECT_FALSE(submission_from_json(json).is_stand_in);
}

}  // namespace
}  // namespace ductile
