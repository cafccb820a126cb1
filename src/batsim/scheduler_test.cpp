#include "batsim/scheduler.hpp"

#include <map>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "batsim/server.hpp"
#include "simulation/recording.hpp"
#include "simulation/replay.hpp"
#include "simulation/simulation.hpp"
#include "support/small_run.hpp"

namespace ductile {
namespace {

// Answers with texts that were written before, then with nothing.
class Said final : public OutsideChannel {
 public:
  Said(std::vector<std::string> answers, std::vector<std::string>& asked)
      : answers_(std::move(answers)), asked_(asked) {}
  std::string ask(const std::string& text) override {
    const std::string now = text.substr(7, text.find(',') - 7);  // {"now":
    const std::size_t next = asked_.size();
    asked_.push_back(text);
    if (next < answers_.size() && !answers_[next].empty()) return answers_[next];
    return R"({"now":)" + now + R"(,"events":[]})";
  }

 private:
  std::vector<std::string> answers_;
  std::vector<std::string>& asked_;
};

class Served final : public OutsideChannel {
 public:
  explicit Served(const std::string& policy) : server_(make_policy(policy), "here") {}
  std::string ask(const std::string& text) override { return server_.answer(text); }

 private:
  BatsimServer server_;
};

struct Starts final : Observer {
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (decision.kind == Decision::Kind::start) {
      of[core.job(decision.job).spec.name].emplace_back(now, to_string(decision.after.nodes));
    }
  }
  std::map<std::uint64_t, std::vector<std::pair<Time, std::string>>> of;
};

struct OutsideRun {
  SimulationCounts counts;
  Starts starts;
  std::vector<std::string> asked;
  std::string complaint;
  Remarks skipped;
};

std::shared_ptr<const Policy> outside() {
  Registry registry;
  registry.policies.push_back(batsim_policy());
  return registry.make("batsim");
}

OutsideRun run_outside(const std::function<std::unique_ptr<OutsideChannel>(OutsideRun&)>& open,
                       SimulationSettings settings = small_settings(),
                       Workload workload = small_workload()) {
  OutsideRun run;
  const auto policy = outside();
  OutsideScheduler& scheduler = dynamic_cast<const BatsimPolicy&>(*policy).scheduler();
  const std::atomic<bool> stop = false;
  scheduler.begin(
      "there", [&] { return open(run); }, std::make_shared<Workload>(workload), stop);
  settings.policy = policy;
  settings.stop = &scheduler.stop();
  settings.rules.check = true;
  std::vector<Observer*> observers{&scheduler, &run.starts};
  run.counts = simulate(workload, settings, observers);
  run.skipped = scheduler.skipped();
  try {
    scheduler.rethrow();
  } catch (const InputError& error) {
    run.complaint = error.what();
  }
  return run;
}

OutsideRun run_with(std::vector<std::string> answers,
                    const SimulationSettings& settings = small_settings()) {
  return run_outside([&](OutsideRun& run) { return std::make_unique<Said>(answers, run.asked); },
                     settings);
}

std::string at(const std::string& now, const std::string& events) {
  return R"({"now":)" + now + R"(,"events":[)" + events + "]}";
}
std::string start(const std::string& when, const std::string& job, const std::string& nodes) {
  return R"({"timestamp":)" + when + R"(,"type":"EXECUTE_JOB","data":{"job_id":")" + job +
         R"(","alloc":")" + nodes + R"("}})";
}
std::string ask_for(const std::string& when, const std::string& type, const std::string& data) {
  return R"({"timestamp":)" + when + R"(,"type":")" + type + R"(","data":)" + data + "}";
}

using Begun = std::vector<std::pair<Time, std::string>>;
Time after_s(double s) { return Time{seconds(s)}; }

TEST(BatsimScheduler, HearsWhatHappensAndIsObeyed) {
  const OutsideRun run =
      run_with({"", at("0", start("0", "w0!1", "1-3")), "", at("2", start("2", "w0!3", "0")),
                at("10", start("10", "w0!2", "0-3"))});
  EXPECT_EQ(run.complaint, "");
  EXPECT_EQ(run.counts.jobs_over, 3u);
  EXPECT_EQ(run.starts.of.at(1), (Begun{{after_s(0), "1-3"}}));
  EXPECT_EQ(run.starts.of.at(2), (Begun{{after_s(10), "0-3"}}));
  EXPECT_EQ(run.starts.of.at(3), (Begun{{after_s(2), "0"}}));
  ASSERT_EQ(run.asked.size(), 7u);
  EXPECT_NE(run.asked[0].find(R"("type":"SIMULATION_BEGINS","data":{"nb_resources":4,)"),
            std::string::npos);
  EXPECT_EQ(run.asked[1],
            R"({"now":0,"events":[{"timestamp":0,"type":"JOB_SUBMITTED","data":{"job_id":"w0!1",)"
            R"("job":{"id":"w0!1","subtime":0,"res":3,"profile":"10","walltime":10,"user":7},)"
            R"("profile":{"type":"delay","delay":10}}}]})");
  EXPECT_NE(run.asked[3].find(R"({"type":"no_more_static_job_to_submit"})"), std::string::npos);
  EXPECT_EQ(run.asked[4],
            R"({"now":10,"events":[{"timestamp":10,"type":"JOB_COMPLETED","data":{"job_id":"w0!1",)"
            R"("job_state":"COMPLETED_SUCCESSFULLY","return_code":0,"alloc":"1-3"}},)"
            R"({"timestamp":10,"type":"JOB_COMPLETED","data":{"job_id":"w0!3",)"
            R"("job_state":"COMPLETED_SUCCESSFULLY","return_code":0,"alloc":"0"}}]})");
  EXPECT_EQ(run.asked[6],
            R"({"now":15,"events":[{"timestamp":15,"type":"SIMULATION_ENDS","data":{}}]})");
}

TEST(BatsimScheduler, IsObeyedWhenItSaysSoAndIsNotAskedBefore) {
  // It thinks from 0 to 5: two submissions wait for that, and are told together.
  const OutsideRun run = run_with({"", at("5", start("4.5", "w0!1", "0-2"))});
  EXPECT_EQ(run.starts.of.at(1), (Begun{{after_s(4.5), "0-2"}}));
  ASSERT_GE(run.asked.size(), 3u);
  EXPECT_EQ(run.asked[2].substr(0, 10), R"({"now":5,")");
  EXPECT_NE(run.asked[2].find(R"("timestamp":1,"type":"JOB_SUBMITTED")"), std::string::npos);
  EXPECT_NE(run.asked[2].find(R"("timestamp":2,"type":"JOB_SUBMITTED")"), std::string::npos);
  EXPECT_EQ(run.counts.jobs_left, 2u);
  EXPECT_EQ(run.complaint, "");
}

TEST(BatsimScheduler, IsCalledKillsAndRejects) {
  const OutsideRun run = run_with({
      "",
      at("0",
         start("0", "w0!1", "0-2") + "," + ask_for("0", "CALL_ME_LATER", R"({"timestamp":4})")),
      at("1", ask_for("1", "REJECT_JOB", R"({"job_id":"w0!2"})")),
      at("2", start("2", "w0!3", "3") + "," + ask_for("2", "SET_JOB_METADATA", "{}")),
      at("4", ask_for("4", "KILL_JOB", R"({"job_ids":["w0!1"]})")),
  });
  EXPECT_EQ(run.complaint, "");
  EXPECT_EQ(run.counts.jobs_over, 3u);
  EXPECT_EQ(run.skipped, (Remarks{{"SET_JOB_METADATA", 1}}));
  ASSERT_GE(run.asked.size(), 6u);
  EXPECT_EQ(run.asked[4],
            R"({"now":4,"events":[{"timestamp":4,"type":"REQUESTED_CALL","data":{}}]})");
  EXPECT_EQ(run.asked[5],
            R"({"now":4,"events":[{"timestamp":4,"type":"JOB_COMPLETED","data":{"job_id":"w0!1",)"
            R"("job_state":"COMPLETED_KILLED","return_code":-1,"alloc":"0-2"}},)"
            R"({"timestamp":4,"type":"JOB_KILLED","data":{"job_ids":["w0!1"],"job_progress":)"
            R"({"w0!1":{"profile":"10","progress":0.400000}}}}]})");
}

TEST(BatsimScheduler, HearsOfWalltimesNodesAndJobsThatWaitAgain) {
  SimulationSettings settings = small_settings();
  settings.kill_overrun = true;
  settings.node_events = {{after_s(3), NodeSet{{{0, 0}}}, Health::down},
                          {after_s(4), NodeSet{{{0, 0}}}, Health::up}};
  const OutsideRun run = run_with(
      {"", at("0", start("0", "w0!1", "0-2")), "", "", "", at("4", start("4", "w0!1#1", "0-2"))},
      settings);
  ASSERT_GE(run.asked.size(), 6u);
  EXPECT_NE(run.asked[4].find(R"({"type":"event_machine_unavailable","resources":"0"})"),
            std::string::npos);
  EXPECT_NE(run.asked[4].find(R"("job_state":"COMPLETED_FAILED")"), std::string::npos);
  EXPECT_NE(run.asked[4].find(R"({"job_id":"w0!1#1")"), std::string::npos);
  EXPECT_NE(run.asked[5].find(R"({"type":"event_machine_available","resources":"0"})"),
            std::string::npos);
  EXPECT_EQ(run.starts.of.at(1), (Begun{{after_s(0), "0-2"}, {after_s(4), "0-2"}}));
}

TEST(BatsimScheduler, WhatIsWrongEndsTheRun) {
  const auto begun = [](const std::string& second) {
    return std::vector<std::string>{"", at("0", start("0", "w0!1", "0-2")), second};
  };
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"what?"}, "there: "},
      {{"", "{}"}, "'now' is missing"},
      {{"", at("0", start("0", "w0!9", "0"))}, "names a job 'w0!9', and none of that name"},
      {{"", at("0", start("0", "w0!1", "0"))},
       "at 0 s the scheduler starts job w0!1 on nodes 0: it asks for 3 nodes, and these are 1"},
      {begun(at("1", start("1", "w0!1", "0-2"))), "starts job w0!1, which does not wait: it runs"},
      {begun(at("1", start("1", "w0!2", "0-3"))), "on nodes 0-3: 0-2 are held by job w0!1"},
      {begun(at("1", ask_for("1", "REJECT_JOB", R"({"job_id":"w0!1"})"))),
       "at 1 s the scheduler rejects job w0!1, which does not wait"},
      {begun(at("1", ask_for("1", "KILL_JOB", R"({"job_ids":["w0!2"]})"))),
       "at 1 s the scheduler kills job w0!2, which waits"},
      {begun(at("0.5", "")), "/now: goes back in time, to 0.5 s from 1 s"},
      {begun(at("1", ask_for("1", "QUERY", R"({"requests":{"consumed_energy":{}}})"))),
       "nobody says what nodes draw"},
  };
  for (const auto& [answers, what] : cases) {
    const OutsideRun run = run_with(answers);
    EXPECT_NE(run.complaint.find(what), std::string::npos) << run.complaint;
    EXPECT_EQ(run.complaint.find("there: "), 0u) << run.complaint;
    EXPECT_TRUE(run.counts.stopped);
    EXPECT_EQ(run.asked.size(), answers.size());
  }
}

TEST(BatsimScheduler, WhoAsksToBeCalledAtOnceForEverIsToldSo) {
  class Restless final : public OutsideChannel {
   public:
    std::string ask(const std::string&) override {
      return at("0", ask_for("0", "CALL_ME_LATER", R"({"timestamp":0})"));
    }
  };
  const OutsideRun run = run_outside([](OutsideRun&) { return std::make_unique<Restless>(); });
  EXPECT_NE(run.complaint.find("never comes to an end at 0 s"), std::string::npos) << run.complaint;
}

TEST(BatsimScheduler, IsToldHowMuchEnergyWasUsed) {
  SimulationSettings settings = small_settings();
  settings.platform.idle_w = 100;
  settings.platform.busy_w = 200;
  const OutsideRun run =
      run_with({"", at("0", start("0", "w0!1", "0-2")), "",
                at("2", ask_for("2", "QUERY", R"({"requests":{"consumed_energy":{}}})"))},
               settings);
  EXPECT_EQ(run.complaint, "");
  ASSERT_GE(run.asked.size(), 5u);
  EXPECT_EQ(run.asked[4], R"({"now":2,"events":[{"timestamp":2,"type":"ANSWER","data":)"
                          R"({"consumed_energy":1400.000000}}]})");
}

TEST(BatsimScheduler, RefusesJobsThatItCannotTellApart) {
  Workload workload = small_workload();
  workload.jobs[1].name = 1;
  BatsimScheduler scheduler;
  const std::atomic<bool> stop = false;
  EXPECT_THROW(scheduler.begin("there", {}, std::make_shared<Workload>(workload), stop),
               InputError);
}

TEST(BatsimScheduler, DecidesInASimulationAlone) {
  SimulationSettings settings = small_settings();
  settings.policy = outside();
  EXPECT_THROW((void)simulate(small_workload(), settings, {}), InputError);
}

TEST(BatsimScheduler, ItsRunIsReplayedWithoutIt) {
  const std::string path = ::testing::TempDir() + "outside.log";
  Workload workload = small_workload();
  const auto policy = outside();
  {
    OutsideScheduler& scheduler = dynamic_cast<const BatsimPolicy&>(*policy).scheduler();
    const std::atomic<bool> stop = false;
    scheduler.begin(
        "there", [] { return std::make_unique<Served>("easy"); },
        std::make_shared<Workload>(workload), stop);
    SimulationSettings settings = small_settings();
    settings.policy = policy;
    settings.rules.record = true;
    Recorder recorder(path);
    std::vector<Observer*> observers{&scheduler, &recorder};
    EXPECT_EQ(simulate(workload, settings, observers).jobs_over, 3u);
    scheduler.rethrow();
  }
  const auto log = open_log_file(path);
  const Replayed done = replay(*log, path, [&](std::string_view) { return outside(); });
  EXPECT_FALSE(done.asked);
  EXPECT_EQ(done.policy, "batsim");
  EXPECT_EQ(done.decisions, 3u);
}

// ---- The other side -----------------------------------------------------------------------------

TEST(BatsimServer, RefusesWhatBatsimCannotDo) {
  EXPECT_THROW(BatsimServer(make_policy("portfolio"), "here"), InputError);
  EXPECT_THROW(BatsimServer(make_policy("sd"), "here"), InputError);
  EXPECT_THROW(BatsimServer(outside(), "here"), InputError);
}

TEST(BatsimServer, NumbersMachinesAsBatsimDoes) {
  BatsimServer server(make_policy("fcfs"), "here");
  BatsimWriter writer;
  writer.add(Time{}, "SIMULATION_BEGINS", R"({"compute_resources":[{"id":2},{"id":4},{"id":5}]})");
  EXPECT_EQ(server.answer(writer.take(Time{})), R"({"now":0,"events":[]})");
  EXPECT_FALSE(server.is_over());
  writer.add(Time{}, "JOB_SUBMITTED", R"({"job_id":"w0!a","job":{"res":2,"walltime":9}})");
  EXPECT_EQ(server.answer(writer.take("0.0000004")),
            R"({"now":4e-07,"events":[{"timestamp":4e-07,"type":"EXECUTE_JOB",)"
            R"("data":{"job_id":"w0!a","alloc":"2 4"}}]})");
  writer.add(Time{}, "JOB_SUBMITTED", R"({"job_id":"w0!b","job":{"res":4,"walltime":9}})");
  EXPECT_EQ(server.answer(writer.take("1")),
            R"({"now":1,"events":[{"timestamp":1,"type":"REJECT_JOB","data":{"job_id":"w0!b"}}]})");
  EXPECT_EQ(server.jobs(), 2u);
  writer.add(after_s(2), "SIMULATION_ENDS", "{}");
  EXPECT_EQ(server.answer(writer.take("2")), R"({"now":2,"events":[]})");
  EXPECT_TRUE(server.is_over());
}

TEST(BatsimServer, NeedsABeginning) {
  BatsimServer server(make_policy("fcfs"), "here");
  BatsimWriter writer;
  writer.add(Time{}, "JOB_SUBMITTED", R"({"job_id":"w0!a","job":{"res":2,"walltime":9}})");
  EXPECT_THROW((void)server.answer(writer.take("0")), InputError);
  EXPECT_THROW((void)server.answer(R"({"now":0,"events":[]})"), InputError);
}

}  // namespace
}  // namespace ductile
