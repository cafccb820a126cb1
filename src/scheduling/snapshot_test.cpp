#include "scheduling/snapshot.hpp"

#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"
#include "support/scripted.hpp"

namespace ductile {
namespace {

using testing::at_s;
using ::testing::HasSubstr;
using testing::malleable;
using testing::nodes;
using testing::rigid;
using testing::sized;
using testing::Stage;

/// A state with something in every kind of row.
class Snapshot : public ::testing::Test {
 protected:
  Snapshot() : stage_(setup()) {
    stage_.script->traits = {.settings = "scripted:colour=red",
                             .wakes = kEveryEvent & ~kind_of<event::Believed>(),
                             .answers_requests = true,
                             .order = QueueOrder::fairshare,
                             .fair_share = {.half_life = whole_seconds(100), .shares = {{7, 2.5}}},
                             .overdue = {.slack = 0.1, .grace = whole_seconds(60)},
                             .priority_period = whole_seconds(1),
                             .start_size = StartSize::smallest,
                             .needs = {.resizes_per_job = 1, .power_control = true}};
    stage_.at(10);
    const AdaptiveSpec declared{.speedup = parse_speedup("table:1=20:4=6.5:16=0.1"),
                                .cost = {.alpha_s = 0.1, .scale = 0.3},
                                .constraint = parse_constraint("list:1:2:3:5:6"),
                                .resize_delay = whole_seconds(3)};
    JobSpec first = malleable({1, 6}, 5);
    first.user = 7;
    victim_ = stage_.run(first, 5, declared);
    stage_.tell(event::Believed{victim_, 150.5, 0.1, 1.0 / 3, {}, {}});
    evolves_ = stage_.run(sized(JobType::evolving, {1, 8}, 2, 100));
    runs_ = stage_.run(malleable({1, 4}, 2));
    stage_.tell(event::EvolvingRequested{RequestId{9}, evolves_, 3, 1});
    waits_ = stage_.submit(rigid(8, 100));
    const JobId over = stage_.submit(rigid(1, 10));
    stage_.ended(over);
    claims_ = stage_.submit(rigid(4, 100));
    held_ = JobId{stage_.state().jobs.size()};
    const Where where{.each = {.cores = 2, .memory_mb = 4000}, .never = nodes({{16, 16}})};
    stage_.tell(event::Submitted{rigid(1, 5), {}, std::make_shared<const Where>(where)});
    stage_.tell(event::Eligible{held_, false});
    goes_on_ = stage_.run(malleable({1, 2}, 1));
    EXPECT_TRUE(stage_.tell(event::Suspended{goes_on_, DecisionId::none}));
    stage_.tell(event::NodesChanged{nodes({{12, 13}}), Health::down});
    stage_.tell(event::NodesChanged{nodes({{15, 15}}), Health::draining});
    stage_.tell(event::CorridorChanged{100, 20000.5});
    stage_.tell(event::SizeOrdered{runs_, 3});
    stage_.at(20);
    stage_.pass([&](Pass& p) {
      const Cut cuts[] = {{victim_, 2}};
      EXPECT_TRUE(p.power_off(2, {Why::corridor}));
      EXPECT_TRUE(p.power_off(1, {Why::corridor}));
      const Delay delays[] = {{waits_, whole_seconds(7), at_s(110)}};
      EXPECT_TRUE(p.grant(RequestId{9}, {Why::evolving}, {}, delays));
      EXPECT_TRUE(p.start(claims_, exactly(4), {Why::in_order, victim_, at_s(50)}, {cuts}));
      EXPECT_TRUE(p.reserve(waits_, at_s(110), {Why::resources}));
      EXPECT_TRUE(p.tag(victim_, waits_));
      EXPECT_TRUE(p.wake_by(at_s(77)));
    });
    stage_.at(21);
    stage_.pass([&](Pass& p) { EXPECT_TRUE(p.power_on(1, {Why::corridor})); });
    stage_.at(23);
    stage_.resized(evolves_);
    stage_.tell(event::EvolvingRequested{RequestId{4}, evolves_, 1, 0});
    stage_.tell(event::MoveOrdered{victim_, nodes({{0, 0}})});  // when it has shrunk
    stage_.close();
    stage_.tell(event::StopOrdered{victim_, Stop::suspend});
    stage_.tell(event::Booked{{.name = "repair",
                               .from = stage_.now + whole_seconds(500),
                               .nodes = NodeSet{{{18, 19}}},
                               .power_mw = 5000,
                               .users = {7, 8}}});
    stage_.close();
  }

  static Stage::Setup setup() {
    Stage::Setup setup;
    setup.platform = {.nodes = 20, .cores_per_node = 4, .idle_w = 99.9, .busy_w = 200.1};
    setup.platform.boot_time = whole_seconds(30);
    const Slice has{.cores = 4, .things = {0, 2}, .memory_mb = 8000};
    setup.platform.classes = {{.name = "thin", .nodes = nodes({{0, 11}}), .has = has},
                              {.name = "fat", .nodes = nodes({{12, 19}}), .has = has}};
    setup.platform.classes[1].features = {"ib", "avx512"};
    setup.platform.partitions = {
        {.name = "all", .nodes = nodes({{0, 19}}), .max_nodes = 20, .users = {1, 5, 4000}}};
    setup.platform.qos = {{"urgent", 9}, {"normal", 3}};
    setup.platform.switches = {{.name = "leaf", .nodes = nodes({{0, 9}}), .above = 1},
                               {.name = "root"}};
    setup.platform.things = {"tape", "gpu"};
    setup.can.power_control = setup.can.moves = true;
    setup.can.suspends = Suspends::malleable;
    return setup;
  }
  std::string text() const { return save(stage_.state()); }
  std::string refusal(const std::string& from, const std::string& to) const {
    return refusal_of(replaced(from, to));
  }
  std::string replaced(const std::string& from, const std::string& to) const {
    std::string changed = text();
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in\n" << changed;
    return changed.replace(at, from.size(), to);
  }
  static std::string refusal_of(const std::string& text) {
    return testing::complaint([&] { load(text, "file"); });
  }

  Stage stage_;
  JobId victim_, evolves_, runs_, waits_, claims_, held_, goes_on_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  return text;
}

TEST_F(Snapshot, HasEveryKindOfRowAndIsReadAsItWas) {
  const std::string written = text();
  for (const SnapshotRow& row : snapshot_rows()) {
    EXPECT_THAT("\n" + written, HasSubstr("\n" + std::string(row.kind))) << written;
  }
  EXPECT_EQ(save(load(written)), written);
}

TEST_F(Snapshot, NumbersAreReadAsTheyWere) {
  const State read = load(text());
  EXPECT_EQ(read.platform.idle_w, 99.9);
  EXPECT_EQ(read.adaptive.at(read.jobs[victim_].adaptive).rate, 1.0 / 3);
  EXPECT_EQ(read.adaptive.at(read.jobs[victim_].adaptive).spec,
            stage_.state().adaptive.at(stage_.job(victim_).adaptive).spec);
  EXPECT_EQ(read.jobs[victim_].work_left, stage_.job(victim_).work_left);
  EXPECT_TRUE(read.jobs[goes_on_].goes_on);
  EXPECT_EQ(read.jobs[goes_on_].work_left, stage_.job(goes_on_).work_left);
  EXPECT_EQ(read.budget_mw, 20'000'500);
  EXPECT_EQ(read.jobs[victim_].spec, stage_.job(victim_).spec);
}

TEST_F(Snapshot, JobsThatAreOverAreNotInIt) {
  const State read = load(text());
  EXPECT_EQ(read.jobs.size(), stage_.state().jobs.size());
  EXPECT_TRUE(read.jobs.knows(held_));
  EXPECT_FALSE(read.jobs.knows(JobId{index(waits_) + 1}));
}

TEST_F(Snapshot, AFieldThatIsMissingHasItsDefault) {
  const std::vector<std::string> lines = lines_of(text());
  int read = 0, refused = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t at = lines[i].find('='); at != std::string::npos;
         at = lines[i].find('=', at + 1)) {
      const std::size_t first = lines[i].rfind(' ', at);
      if (lines[i].substr(first, at - first).find_first_of(":,") != std::string::npos) continue;
      std::vector<std::string> fewer = lines;
      fewer[i].erase(first, std::min(lines[i].find(' ', at), lines[i].size()) - first);
      try {
        EXPECT_EQ(save(load(joined(fewer))), joined(fewer)) << lines[i];
        ++read;
      } catch (const InputError& error) {
        // The others say that it cannot have been so.
        EXPECT_THAT(error.what(), HasSubstr("damaged")) << lines[i];
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 60);
  EXPECT_GT(refused, 30);
}

TEST_F(Snapshot, AnotherBuildsRowsAndFieldsAreRefusedByName) {
  EXPECT_EQ(refusal("world", "world colour=red"),
            "file:2: world: colour: there is no such field; read it with the version that wrote "
            "it, or a newer one");
  EXPECT_EQ(refusal("job 1 ", "job 1 twins=2 "),
            "file:16: job 1: twins: there is no such field; read it with the version that wrote "
            "it, or a newer one");
  EXPECT_THAT(refusal("world", "worlds"), HasSubstr("file:2: worlds: there is no such row"));
}

TEST_F(Snapshot, DamageIsToldWithRowAndField) {
  EXPECT_EQ(refusal("nodes=20", "nodes=x20"),
            "file:1: platform: nodes: 'x20' is no number; it is damaged: take an older one");
  EXPECT_THAT(refusal("status=running", "status=walking"), HasSubstr("there is no 'walking'"));
  EXPECT_THAT(refusal("job 1 ", "job 0 "), HasSubstr("job 0: given twice"));
  EXPECT_THAT(refusal("job 1 ", "job 99 "), HasSubstr("job 99: there are not so many jobs"));
  EXPECT_THAT(refusal("job 1 ", "job one "), HasSubstr("'one' is no number"));
  EXPECT_THAT(refusal("platform nodes=20", "platform nodes=20 nodes=20"),
              HasSubstr("platform: nodes: given twice"));
  EXPECT_THAT(refusal("world", "platform"), HasSubstr("platform: given twice"));
  EXPECT_THAT(refusal("passes=", "passes=-"), HasSubstr("state: passes"));
  EXPECT_THAT(refusal("down=12-13", "down=12-20"), HasSubstr("nodes: there are no such nodes"));
  EXPECT_THAT(refusal("down=12-13", "down=15"), HasSubstr("nodes: a node twice"));
  EXPECT_THAT(refusal("job 0 user=7 type=malleable", "job 0 user=7 type=rigid"),
              HasSubstr("damaged"));
  EXPECT_THAT(refusal("running=", "running=5,"), HasSubstr("state: running: not the jobs"));
  EXPECT_THAT(refusal("ordered=", "ordered=1,"), HasSubstr("state: ordered: not the jobs"));
  EXPECT_THAT(refusal("pledges=0:", "pledges=1:"), HasSubstr("damaged"));
  EXPECT_THAT(refusal("pledges=0:", "pledges=0:1:"), HasSubstr("claim 0: pledges"));
  EXPECT_THAT(refusal("claim 0 job=5", "claim 0 job=4"), HasSubstr("claim 0"));
  EXPECT_THAT(refusal("by=user:", "by=users:"), HasSubstr("planned-delay 0: by"));
  EXPECT_THAT(refusal("next_claim=1", "next_claim=0"), HasSubstr("claim 0: number"));
}

TEST_F(Snapshot, ARowThatIsMissingIsNoticed) {
  const std::vector<std::string> lines = lines_of(text());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> fewer = lines;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(refusal_of(joined(fewer)), HasSubstr("damaged")) << lines[i];
  }
  EXPECT_THAT(refusal_of(text().substr(0, 500)), HasSubstr("the last line has no end"));
  EXPECT_THAT(refusal_of(""), HasSubstr("its end is missing"));
  EXPECT_THAT(refusal_of("end 0\n"), HasSubstr("the row 'platform' is missing"));
  EXPECT_THAT(refusal_of(text() + "end 1\n"), HasSubstr("there is more after its end"));
}

TEST_F(Snapshot, IsMadeBetweenInstants) {
  stage_.pass([&](Pass& p) { EXPECT_TRUE(p.withdraw(ClaimId{0}, {})); });
  EXPECT_NO_THROW(text());
  stage_.tell(event::ConfigChanged{stage_.script->traits});
  EXPECT_THROW(text(), std::logic_error);
  stage_.close();
  EXPECT_NO_THROW(text());
}

TEST_F(Snapshot, SaysWhichVersionItNeeds) {
  std::string written = "before\n";
  EXPECT_EQ(save(stage_.state(), written), 11u);  // it has features
  EXPECT_EQ(written, "before\n" + text());
  EXPECT_EQ(load(text()).traits, stage_.core.traits());
  // What there was before is written as it was.
  Stage older;
  older.script->traits = {.settings = "easy", .answers_requests = true};
  older.pass([](Pass&) {});
  EXPECT_EQ(save(older.state(), written), 2u);
  older.script->traits = {.settings = "easy", .start_size = StartSize::smallest};
  older.pass([](Pass&) {});
  EXPECT_EQ(save(older.state(), written), 1u);
  older.script->traits = {.settings = "easy", .overdue = {.grace = Duration{}}};
  older.pass([](Pass&) {});
  EXPECT_EQ(save(older.state(), written), 6u);
}

// What priorities are computed from is kept, so that the order is the same until it is looked at
// anew, and then.
TEST(SnapshotOfAQueue, HasTheSamePriorities) {
  Stage::Setup setup;
  setup.platform.nodes = 8;
  setup.platform.partitions = {{.name = "low", .nodes = nodes({{0, 7}})},
                               {.name = "high", .nodes = nodes({{0, 7}}), .priority = 4}};
  Stage stage(setup);
  stage.script->traits.order = QueueOrder::multifactor;
  stage.script->traits.priority_period = whole_seconds(100);
  stage.script->traits.multifactor = {.weight_age = 100,
                                      .weight_fairshare = 1000,
                                      .weight_size = 10,
                                      .weight_partition = 400,
                                      .max_age = whole_seconds(1000),
                                      .favor_small = true,
                                      .small_relative_to_time = true,
                                      .fairshare_dampening = 2};
  JobSpec spec = rigid(8, 1000);
  spec.user = 1;
  stage.pass([](Pass&) {});
  stage.run(spec);
  const JobId own = stage.submit(spec);  // another one of the user who has used all there was
  spec.user = 2;
  const JobId other = stage.submit(spec);
  spec.user = 1;
  const JobId high = JobId{stage.state().jobs.size()};
  stage.tell(event::Submitted{spec, {}, std::make_shared<const Where>(Where{.partitions = 2})});
  const auto order_of = [](const State& state) {
    std::vector<JobId> order;
    state.queue.for_each([&](JobId id) { order.push_back(id); });
    return order;
  };
  stage.at(150);
  stage.pass([](Pass&) {});
  // Fair share: 1 of user 2; of user 1, alone there, 2^(-1/2).
  ASSERT_EQ(stage.state().sorting.standings.size(), 1u);
  EXPECT_EQ(stage.state().sorting.standings[0].value, std::exp2(-0.5));
  // Partitions: 100 and 400. So 1100, and 707 + 100 and 707 + 400.
  EXPECT_EQ(order_of(stage.state()), (std::vector{high, other, own}));
  stage.at(160);
  stage.pass([](Pass&) {});
  const std::string written = save(stage.state());
  for (const char* field :
       {" weight_age=100 ", " weight_fairshare=1000 ", " weight_size=10 ", " weight_partition=400 ",
        " max_age=1000000000 ", " favor_small=1 ", " small_relative_to_time=1 ",
        " fairshare_dampening=2 ", " priority=4"}) {
    EXPECT_THAT(written, HasSubstr(field));
  }
  const State read = load(written);
  EXPECT_EQ(save(read), written);
  EXPECT_EQ(read.traits, stage.core.traits());
  EXPECT_EQ(read.platform, stage.state().platform);
  EXPECT_EQ(order_of(read), order_of(stage.state()));
  std::string text;
  EXPECT_EQ(save(read, text), 10u);
  std::string damaged = written;
  damaged.replace(damaged.find("dampening=2"), 11, "dampening=0");
  EXPECT_THAT(testing::complaint([&] { load(damaged, "file"); }), HasSubstr("dampening below 1"));
}

// Which jobs are overdue cannot be found from what waits now.
TEST(SnapshotOfAQueue, KnowsWhoIsOverdue) {
  Stage stage;
  stage.script->traits.order = QueueOrder::area;
  stage.script->traits.overdue = {.slack = 0, .grace = whole_seconds(60)};
  const JobId large = stage.submit(rigid(8, 1000));
  const JobId small = stage.submit(rigid(2, 10));
  stage.pass([](Pass&) {});
  EXPECT_EQ(stage.state().queue.front(), small);
  EXPECT_EQ(save(stage.state()).find(" overdue_before="), std::string::npos);
  stage.at(61);
  JobSpec third = rigid(1, 1);
  third.submitted = stage.now;
  stage.submit(third);
  stage.close();
  EXPECT_EQ(stage.state().queue.front(), large);
  const std::string written = save(stage.state());
  EXPECT_THAT(written, HasSubstr(" overdue_slack=0 "));
  EXPECT_THAT(written, HasSubstr(" overdue_grace=60000000 "));
  EXPECT_THAT(written, HasSubstr(" overdue_before=2 "));
  const State read = load(written);
  EXPECT_EQ(save(read), written);
  EXPECT_EQ(read.traits, stage.core.traits());
  EXPECT_EQ(read.sorting.overdue, JobId{2});
  EXPECT_EQ(read.queue.area(), stage.state().queue.area());
  std::vector<JobId> order;
  read.queue.for_each([&](JobId id) { order.push_back(id); });
  EXPECT_EQ(order, (std::vector{large, small, JobId{2}}));
  std::string damaged = written;
  damaged.replace(damaged.find("overdue_before=2"), 16, "overdue_before=4");
  EXPECT_THAT(testing::complaint([&] { load(damaged, "file"); }),
              HasSubstr("jobs that never were are overdue"));
}

TEST(SnapshotFormat, IsWhatThePageSays) {
  std::ifstream page(DUCTILE_SOURCE_DIR "/docs/formats/snapshot.md");
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  for (const SnapshotRow& row : snapshot_rows()) {
    const std::size_t begin = text.find("\n### `" + std::string(row.kind) + "`");
    ASSERT_NE(begin, std::string::npos) << row.kind;
    const std::string section = text.substr(begin + 1, text.find("\n#", begin + 1) - begin - 1);
    std::string told;
    for (const std::string& line : lines_of(section)) {
      if (line.starts_with("| `")) told += line.substr(3, line.find('`', 3) - 3) + " ";
    }
    std::string fields;
    for (const SnapshotRow::Field& field : row.fields) {
      fields += std::string(field.name) + " ";
      EXPECT_GE(field.since, 1u);
      EXPECT_LE(field.since, kSnapshotVersion);
    }
    EXPECT_EQ(told, fields) << row.kind;
  }
}

}  // namespace
}  // namespace ductile
