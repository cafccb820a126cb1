#include "batsim/protocol.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

// Further on the numbers of JSON do not tell microseconds apart, and nothing is scheduled.
constexpr double kLatestSeconds = 1e12;
constexpr Nodes kMostResources = 100'000'000;

Time time_at(const JsonAt& at) { return Time{seconds(at.number(0, kLatestSeconds))}; }

NodeSet resources_at(const JsonAt& at, Nodes nodes) {
  const auto set = parse_node_set(at.text());
  if (!set || set->empty()) {
    at.fail(fmt::format("'{}' is no set of resources", printable(at.text())),
            "write it as \"0-3 7\"");
  }
  if (set->parts.back().last >= nodes) {
    at.fail(fmt::format("there is no resource {}, only 0 to {}", set->parts.back().last, nodes - 1),
            "take those that SIMULATION_BEGINS named");
  }
  return *set;
}

std::vector<std::string> texts_at(const JsonAt& at) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < at.size(); ++i) texts.push_back(at.item(i).text());
  return texts;
}

// What is wanted, of what can be done here; nothing for what is left out and counted.
std::optional<BatsimOrder> order_at(const JsonAt& event, Nodes nodes, Remarks& skipped) {
  using Kind = BatsimOrder::Kind;
  const std::string type = event.at("type").text();
  const JsonAt data = event.at("data");
  BatsimOrder order;
  if (type == "EXECUTE_JOB") {
    order.kind = Kind::execute;
    order.jobs = {data.at("job_id").text()};
    order.nodes = resources_at(data.at("alloc"), nodes);
    for (const char* const name : {"storage_mapping", "additional_io_job"}) {
      if (data.has(name)) {
        data.at(name).fail("there is no storage here, and no I/O of jobs", "leave it away");
      }
    }
    return order;
  }
  if (type == "REJECT_JOB") {
    order.kind = Kind::reject;
    order.jobs = {data.at("job_id").text()};
    return order;
  }
  if (type == "KILL_JOB") {
    order.kind = Kind::kill;
    order.jobs = texts_at(data.at("job_ids"));
    return order;
  }
  if (type == "CALL_ME_LATER") {
    order.kind = Kind::call;
    order.call = time_at(data.at("timestamp"));
    return order;
  }
  if (type == "QUERY") {
    const JsonAt requests = data.at("requests");
    for (const auto& [name, value] : requests.object().items()) {
      if (name == "consumed_energy") continue;
      requests.fail(fmt::format("'{}' is not answered", printable(name)),
                    "ask for consumed_energy");
    }
    order.kind = Kind::energy;
    return order;
  }
  if (type == "SET_JOB_METADATA" || type == "NOTIFY" || type == "ANSWER") {
    ++skipped[type];
    return std::nullopt;
  }
  if (type == "REGISTER_JOB" || type == "REGISTER_PROFILE") {
    event.at("type").fail(fmt::format("{}: a scheduler cannot submit jobs here", type),
                          "put them into the workload");
  }
  if (type == "SET_RESOURCE_STATE") {
    event.at("type").fail("SET_RESOURCE_STATE: a scheduler cannot switch nodes here",
                          "let it leave them on");
  }
  if (type == "CHANGE_JOB_STATE" || type == "TO_JOB_MSG") {
    event.at("type").fail(fmt::format("{} is not possible here", type), "do without it");
  }
  event.at("type").fail(fmt::format("there is no event '{}'", printable(type)),
                        "write one of Batsim 4's protocol");
}

// The events of a message, checked to come in the order of time, none after its end.
template <class Visit>
Time each_event(const JsonAt& message, Time from, Visit visit) {
  const Time now = time_at(message.at("now"));
  if (now < from) {
    message.at("now").fail(
        fmt::format("goes back in time, to {} s from {} s", seconds_text(now), seconds_text(from)),
        "answer at the time of the question, or later");
  }
  const JsonAt events = message.at("events");
  for (std::size_t i = 0; i < events.size(); ++i) {
    const JsonAt event = events.item(i);
    const Time at = time_at(event.at("timestamp"));
    if (at < from || at > now) {
      event.at("timestamp")
          .fail(fmt::format("{} s is not from {} s to {} s", seconds_text(at), seconds_text(from),
                            seconds_text(now)),
                "put events in the order of time, from the time of the question to 'now'");
    }
    from = at;
    visit(event, at);
  }
  return now;
}

}  // namespace

BatsimReply parse_batsim_reply(std::string_view text, const std::string& from, Time asked,
                               Nodes nodes) {
  const nlohmann::json json = parse_json(text, from);
  BatsimReply reply;
  reply.now = each_event(JsonAt(json, from), asked, [&](const JsonAt& event, Time at) {
    if (auto order = order_at(event, nodes, reply.skipped)) {
      order->at = at;
      reply.orders.push_back(std::move(*order));
    }
  });
  return reply;
}

namespace {

BatsimNews news_at(const JsonAt& event) {
  using Kind = BatsimNews::Kind;
  const std::string type = event.at("type").text();
  BatsimNews news;
  if (type == "SIMULATION_BEGINS") {
    const JsonAt data = event.at("data");
    news.kind = Kind::begins;
    const JsonAt machines = data.at("compute_resources");
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const auto id = static_cast<std::uint32_t>(
          machines.item(i).at("id").whole(0, static_cast<double>(kMostResources)));
      if (news.nodes.contains(id)) machines.item(i).fail("is there twice", "name it once");
      news.nodes.insert(id, id);
    }
    if (news.nodes.empty()) machines.fail("there is none", "simulate a machine of some");
    return news;
  }
  if (type == "SIMULATION_ENDS") {
    news.kind = Kind::ends;
    return news;
  }
  if (type == "REQUESTED_CALL") {
    news.kind = Kind::called;
    return news;
  }
  if (type == "JOB_SUBMITTED") {
    const JsonAt data = event.at("data");
    const JsonAt job = data.at("job");
    news.kind = Kind::submitted;
    news.job = data.at("job_id").text();
    news.size = static_cast<Nodes>(job.at("res").whole(1, static_cast<double>(kMostResources)));
    // As Batsim has it: -1, or nothing, is none.
    const double walltime =
        job.has("walltime") ? job.at("walltime").number(-1, kLatestSeconds) : -1;
    news.walltime = walltime > 0 ? seconds(walltime) : Duration{};
    constexpr double kMostUsers = 4'294'967'295;
    const bool has_user = job.has("user") && job.at("user").value().is_number_unsigned();
    if (has_user) news.user = static_cast<std::uint32_t>(job.at("user").whole(0, kMostUsers));
    return news;
  }
  if (type == "JOB_COMPLETED") {
    const JsonAt data = event.at("data");
    news.kind = Kind::completed;
    news.job = data.at("job_id").text();
    news.succeeded = data.at("job_state").text() == "COMPLETED_SUCCESSFULLY";
    return news;
  }
  if (type == "NOTIFY") {
    const JsonAt data = event.at("data");
    const std::string what = data.at("type").text();
    if (what == "event_machine_available" || what == "event_machine_unavailable") {
      news.kind = what == "event_machine_available" ? Kind::up : Kind::down;
      news.nodes = resources_at(data.at("resources"), kMostResources);
    }
  }
  return news;
}

}  // namespace

BatsimMessage parse_batsim_message(std::string_view text, const std::string& from) {
  const nlohmann::json json = parse_json(text, from);
  BatsimMessage message;
  const JsonAt all(json, from);
  message.now = each_event(all, Time{}, [&](const JsonAt& event, Time at) {
    message.news.push_back(news_at(event));
    message.news.back().at = at;
  });
  message.now_text = all.at("now").value().dump();
  return message;
}

void BatsimWriter::add(std::string_view at, std::string_view type, std::string_view data) {
  if (!events_.empty()) events_ += ',';
  fmt::format_to(std::back_inserter(events_), R"({{"timestamp":{},"type":"{}","data":{}}})", at,
                 type, data);
}

std::string BatsimWriter::take(std::string_view now) {
  return fmt::format(R"({{"now":{},"events":[{}]}})", now, std::exchange(events_, {}));
}

}  // namespace ductile
