#include "batsim/protocol.hpp"

#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using Kind = BatsimOrder::Kind;

Time after_s(double s) { return Time{seconds(s)}; }

BatsimReply reply_of(const std::string& events, const std::string& now = "12.5") {
  return parse_batsim_reply(R"({"now":)" + now + R"(,"events":[)" + events + "]}", "there",
                            after_s(10), 8);
}

std::string event(const std::string& type, const std::string& data, const std::string& at = "10") {
  return R"({"timestamp":)" + at + R"(,"type":")" + type + R"(","data":)" + data + "}";
}

std::string complaint_about(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(BatsimReply, IsRead) {
  const BatsimReply reply =
      reply_of(event("EXECUTE_JOB", R"({"job_id":"w0!4","alloc":"0-2 7","mapping":{"0":"0"}})") +
               "," + event("REJECT_JOB", R"({"job_id":"w0!5"})", "10.25") + "," +
               event("KILL_JOB", R"({"job_ids":["w0!1","w0!2"]})", "11") + "," +
               event("CALL_ME_LATER", R"({"timestamp":99.000001})", "11") + "," +
               event("QUERY", R"({"requests":{"consumed_energy":{}}})", "12.5"));
  EXPECT_EQ(reply.now, after_s(12.5));
  const std::vector<BatsimOrder> expected{
      {after_s(10), Kind::execute, {"w0!4"}, NodeSet{{{0, 2}, {7, 7}}}, {}},
      {after_s(10.25), Kind::reject, {"w0!5"}, {}, {}},
      {after_s(11), Kind::kill, {"w0!1", "w0!2"}, {}, {}},
      {after_s(11), Kind::call, {}, {}, after_s(99.000001)},
      {after_s(12.5), Kind::energy, {}, {}, {}}};
  EXPECT_EQ(reply.orders, expected);
  EXPECT_TRUE(reply.skipped.empty());
}

TEST(BatsimReply, LeavesOutAndCountsWhatChangesNoSchedule) {
  const BatsimReply reply =
      reply_of(event("NOTIFY", R"({"type":"registration_finished"})") + "," +
               event("SET_JOB_METADATA", R"({"job_id":"w0!1","metadata":""})") + "," +
               event("NOTIFY", R"({"type":"x"})"));
  EXPECT_TRUE(reply.orders.empty());
  EXPECT_EQ(reply.skipped, (Remarks{{"NOTIFY", 2}, {"SET_JOB_METADATA", 1}}));
}

TEST(BatsimReply, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "there: "},
      {"[]", "there: /: is no object"},
      {"{}", "there: /: 'now' is missing"},
      {R"({"now":10})", "'events' is missing"},
      {R"({"now":"10","events":[]})", "/now: is no number"},
      {R"({"now":9,"events":[]})", "/now: goes back in time, to 9 s from 10 s"},
      {R"({"now":10,"events":{}})", "/events: is no array"},
      {R"({"now":10,"events":[7]})", "/events/0: is no object"},
      {R"({"now":11,"events":[{"timestamp":9,"type":"NOTIFY","data":{}}]})",
       "/events/0/timestamp: 9 s is not from 10 s to 11 s"},
      {R"({"now":11,"events":[{"timestamp":12,"type":"NOTIFY","data":{}}]})",
       "/events/0/timestamp: 12 s is not from 10 s to 11 s"},
      {R"({"now":12,"events":[{"timestamp":11,"type":"NOTIFY","data":{}},)"
       R"({"timestamp":10,"type":"NOTIFY","data":{}}]})",
       "/events/1/timestamp: 10 s is not from 11 s to 12 s"},
  };
  for (const auto& each : cases) {
    const std::string said =
        complaint_about([&] { (void)parse_batsim_reply(each.first, "there", after_s(10), 8); });
    EXPECT_NE(said.find(each.second), std::string::npos) << each.first << "\n" << said;
  }
  const std::vector<std::pair<std::string, std::string>> events{
      {event("EXECUTE_JOB", R"({"alloc":"0"})"), "/events/0/data: 'job_id' is missing"},
      {event("EXECUTE_JOB", R"({"job_id":"w0!1"})"), "/events/0/data: 'alloc' is missing"},
      {event("EXECUTE_JOB", R"({"job_id":4,"alloc":"0"})"), "/job_id: is no string"},
      {event("EXECUTE_JOB", R"({"job_id":"w0!1","alloc":"2-1"})"), "'2-1' is no set of resources"},
      {event("EXECUTE_JOB", R"({"job_id":"w0!1","alloc":""})"), "'' is no set of resources"},
      {event("EXECUTE_JOB", R"({"job_id":"w0!1","alloc":"7-8"})"),
       "there is no resource 8, only 0 to 7"},
      {event("EXECUTE_JOB", R"({"job_id":"w0!1","alloc":"0","storage_mapping":{"a":1}})"),
       "there is no storage here"},
      {event("KILL_JOB", R"({"job_ids":"w0!1"})"), "/job_ids: is no array"},
      {event("CALL_ME_LATER", R"({"timestamp":1e13})"), "/data/timestamp: is no number"},
      {event("QUERY", R"({"requests":{"air_temperature_all":{}}})"),
       "'air_temperature_all' is not answered"},
      {event("REGISTER_JOB", "{}"), "a scheduler cannot submit jobs here"},
      {event("REGISTER_PROFILE", "{}"), "a scheduler cannot submit jobs here"},
      {event("SET_RESOURCE_STATE", "{}"), "a scheduler cannot switch nodes here"},
      {event("CHANGE_JOB_STATE", "{}"), "CHANGE_JOB_STATE is not possible here"},
      {event("EAT", "{}"), "there is no event 'EAT'"},
  };
  for (const auto& each : events) {
    const std::string said = complaint_about([&] { (void)reply_of(each.first); });
    EXPECT_NE(said.find(each.second), std::string::npos) << each.first << "\n" << said;
  }
}

TEST(BatsimMessage, IsRead) {
  BatsimWriter writer;
  EXPECT_TRUE(writer.empty());
  writer.add(Time{}, "SIMULATION_BEGINS", R"({"compute_resources":[{"id":3},{"id":1},{"id":2}]})");
  writer.add(Time{}, "JOB_SUBMITTED",
             R"({"job_id":"w0!7","job":{"res":4,"walltime":60.5,"user":9}})");
  writer.add(Time{}, "JOB_SUBMITTED", R"({"job_id":"w0!8","job":{"res":1,"walltime":-1}})");
  writer.add(after_s(1.5), "JOB_COMPLETED",
             R"({"job_id":"w0!7","job_state":"COMPLETED_WALLTIME_REACHED"})");
  writer.add(after_s(1.5), "NOTIFY", R"({"type":"event_machine_unavailable","resources":"1 2"})");
  writer.add(after_s(1.5), "NOTIFY", R"({"type":"no_more_static_job_to_submit"})");
  writer.add(after_s(1.5), "REQUESTED_CALL", "{}");
  writer.add(after_s(2), "SIMULATION_ENDS", "{}");
  const BatsimMessage message = parse_batsim_message(writer.take(after_s(2.25)), "here");
  EXPECT_TRUE(writer.empty());
  EXPECT_EQ(message.now, after_s(2.25));
  EXPECT_EQ(message.now_text, "2.25");
  ASSERT_EQ(message.news.size(), 8u);
  using News = BatsimNews::Kind;
  EXPECT_EQ(message.news[0].kind, News::begins);
  EXPECT_EQ(message.news[0].nodes, (NodeSet{{{1, 3}}}));
  EXPECT_EQ(message.news[1].kind, News::submitted);
  EXPECT_EQ(message.news[1].job, "w0!7");
  EXPECT_EQ(message.news[1].size, 4u);
  EXPECT_EQ(message.news[1].walltime, seconds(60.5));
  EXPECT_EQ(message.news[1].user, 9u);
  EXPECT_EQ(message.news[2].walltime, Duration{});
  EXPECT_EQ(message.news[3].kind, News::completed);
  EXPECT_FALSE(message.news[3].succeeded);
  EXPECT_EQ(message.news[3].at, after_s(1.5));
  EXPECT_EQ(message.news[4].kind, News::down);
  EXPECT_EQ(message.news[5].kind, News::other);
  EXPECT_EQ(message.news[6].kind, News::called);
  EXPECT_EQ(message.news[7].kind, News::ends);
}

}  // namespace
}  // namespace ductile
