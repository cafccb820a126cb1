#include "live/http_routes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "live/happenings.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;
using Sources = HttpRoute::Sources;

// ---- Schemas ------------------------------------------------------------------------------------

Json type_of(std::string_view letter) {
  const bool may_be_null = letter.ends_with('?');
  if (may_be_null) letter.remove_suffix(1);
  const std::map<std::string_view, const char*> types{
      {"i", "integer"}, {"n", "number"}, {"s", "string"}, {"b", "boolean"}};
  const auto found = types.find(letter);
  if (found == types.end()) {
    return {{"$ref", "#/components/schemas/" + std::string(letter)}};
  }
  if (may_be_null) return {{"type", Json::array({found->second, "null"})}};
  return {{"type", found->second}};
}

/// "job:i name:s? rows:[Row]": an object with these fields, all of them and no others. A name is
/// that of another schema; `|` before a field: it need not be there.
Json object(std::string_view fields) {
  Json properties = Json::object(), required = Json::array();
  while (!fields.empty()) {
    std::string_view type = next_part(fields, ' ');
    if (type.empty()) continue;
    const bool is_free = type.starts_with('|');
    if (is_free) type.remove_prefix(1);
    const std::string name(next_part(type, ':'));
    if (!is_free) required.push_back(name);
    if (type.starts_with('[')) {
      properties[name] = {{"type", "array"}, {"items", type_of(type.substr(1, type.size() - 2))}};
    } else {
      properties[name] = type_of(type);
    }
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

constexpr std::string_view kJobFields =
    "job:i array_job:i? array_task:i? name:s user:s account:s state:s reason:s type:s nodes:i "
    "min_nodes:i max_nodes:i nodelist:s priority:i submit_s:n begin_s:n? dependency:s restarts:i "
    "cpus_per_task:i? memory:i? partition:s? gres:s asked_nodelist:s excluded_nodelist:s "
    "reservation:s watts:n? least_watts:n? mtct:n? believed_w:n? measured_w:n? start_s:n? "
    "elapsed_s:n time_limit_s:n planned_start_s:n? resizes:i note:s lost_output:i";

Json schemas() {
  Json all;
  all["Error"] = object("status:i error:s remedy:s");
  all["Job"] = object(kJobFields);
  all["WaitingJob"] =
      object(std::string(kJobFields) +
             " predicted_nodes:i? predicted_start_s:n? predicted_end_s:n? planned:b");
  all["Size"] = object("time_s:n nodes:i");
  all["PastJob"] = object(
      "job:i array_job:i? array_task:i? name:s user:s account:s type:s state:s exit_code:i? "
      "reason:s note:s lost_output:i restarts:i submit_s:n start_s:n? end_s:n? node_s:n "
      "sizes:[Size]");
  all["Names"] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  all["Numbers"] = {{"type", "array"}, {"items", {{"type", "integer"}}}};
  all["Node"] = object(
      "node:i state:s cores:i class:s? partitions:Names memory:i? gres:s job:i? reservation:s? "
      "reason:s? stranger:s?");
  all["Prediction"] =
      object("job:i state:s nodes:i? start_s:n? end_s:n? planned:b model:s? mtct:n?");
  all["Explained"] = object("time_s:n what:s reason:s? text:s jobs:Numbers");
  all["Allocation"] = object("job:i name:s user:s type:s state:s nodelist:s from_s:n to_s:n?");
  all["MeasuredJob"] = object("job:i nodes:i believed_w:n measured_w:n");
  all["Happening"] = object("record:i time_s:n job:i? what:s");
  all["Happening"]["additionalProperties"] = true;
  all["Corridor"] = object(
      "low_w:n high_w:n? until_s:n? is_kept:b is_outside:b outside_s:n outside_ws:n excursions:i "
      "violations:i");
  all["Corridor"]["type"] = {"object", "null"};
  all["PolicyProcess"] =
      object("policy:s decides:b fallback:s passes:i fallbacks:i failures:i why:s? failed_s:n?");
  all["PolicyProcess"]["type"] = {"object", "null"};
  all["CountOfNodes"] = object("total:i idle:i allocated:i other:i");
  all["CountOfJobs"] = object("running:i waiting:i");
  all["Page"] = object("rows:[Happening] next:i?");
  all["Done"] = {
      {"type", "object"}, {"properties", {{"ok", {{"type", "boolean"}}}}}, {"required", {"ok"}}};
  return all;
}

// ---- Parameters ---------------------------------------------------------------------------------

std::optional<std::string> given(const HttpCall& call, const std::string& name) {
  const auto found = call.request.query.find(name);
  return found == call.request.query.end() ? std::nullopt : std::optional(found->second);
}

double number(const HttpCall& call, const std::string& name, double fallback, double most) {
  const auto text = given(call, name);
  if (!text) return fallback;
  const auto value = parse_number<double>(*text);
  if (!value || *value < 0 || *value > most) {
    throw HttpError(400, fmt::format("'{}' of {} is no number from 0 to {}", *text, name, most),
                    "see /api/v1/openapi.json");
  }
  return *value;
}

std::uint64_t count(const HttpCall& call, const std::string& name, std::uint64_t fallback,
                    std::uint64_t most) {
  const auto text = given(call, name);
  if (!text) return fallback;
  const auto value = parse_number<std::uint64_t>(*text);
  if (!value || *value > most) {
    throw HttpError(400,
                    fmt::format("'{}' of {} is no whole number from 0 to {}", *text, name, most),
                    "see /api/v1/openapi.json");
  }
  return *value;
}

constexpr std::uint64_t kMostRows = 5000, kUsualRows = 500, kMostHappenings = 1000;
constexpr std::uint64_t kAnyRecord = std::uint64_t{1} << 62;
constexpr double kMostHours = 168;

const HttpRoute::Parameter kLimit{"limit", "integer", "at most so many rows"};
const HttpRoute::Parameter kFrom{"from", "integer", "the first row; `next` of the page before"};
const HttpRoute::Parameter kBefore{"before", "integer",
                                   "only before this record; `next` of the page before"};
const HttpRoute::Parameter kUser{"user", "string", "only jobs of this user"};
const HttpRoute::Parameter kState{"state", "string", "only jobs in this state"};

// ---- Answers ------------------------------------------------------------------------------------

/// Rows of a list that are asked for, page by page.
Json paged(const HttpCall& call, const Json& rows, Json answer) {
  const std::uint64_t from = count(call, "from", 0, kAnyRecord);
  const std::uint64_t limit = count(call, "limit", kUsualRows, kMostRows);
  const auto user = given(call, "user"), state = given(call, "state");
  Json page = Json::array();
  std::uint64_t at = 0;
  answer["next"] = Json();
  for (const Json& row : rows) {
    if ((user && row["user"] != *user) || (state && row["state"] != *state)) continue;
    if (at++ < from) continue;
    if (page.size() == limit) {
      answer["next"] = from + limit;
      break;
    }
    page.push_back(row);
  }
  answer["jobs"] = std::move(page);
  return answer;
}

Json whole(const HttpCall&, const Sources& sources) {
  Json answer = *sources.answers.at(0);
  answer.erase("ok");
  return answer;
}

bool waits(const Json& row) { return row["state"] == "PENDING" || row["state"] == "SUSPENDED"; }

Json cluster(const HttpCall&, const Sources& sources) {
  const Json &queue = *sources.answers.at(0), &nodes = *sources.answers.at(1),
             &power = *sources.answers.at(2);
  std::uint64_t idle = 0, allocated = 0, waiting = 0;
  for (const Json& node : nodes["nodes"]) {
    idle += node["state"] == "IDLE" ? 1 : 0;
    allocated += node["job"].is_number() ? 1 : 0;
  }
  for (const Json& row : queue["jobs"]) waiting += waits(row) ? 1 : 0;
  const std::uint64_t total = nodes["nodes"].size(), jobs = queue["jobs"].size();
  return {{"now_s", queue["now_s"]},
          {"policy", queue["policy"]},
          {"portfolio", queue["portfolio"]},
          {"lost_since_s", queue["lost_since_s"]},
          {"lacks", queue["lacks"]},
          {"nodes",
           {{"total", total},
            {"idle", idle},
            {"allocated", allocated},
            {"other", total - idle - allocated}}},
          {"jobs", {{"running", jobs - waiting}, {"waiting", waiting}}},
          {"drawn_w", power["drawn_w"]},
          {"cap_w", power["cap_w"]},
          {"can_write", sources.can_write},
          {"can_see_journal", access(sources.journal.c_str(), R_OK) == 0}};
}

Json jobs(const HttpCall& call, const Sources& sources) {
  const Json& queue = *sources.answers.at(0);
  return paged(call, queue["jobs"], {{"now_s", queue["now_s"]}});
}

Json waiting_jobs(const HttpCall& call, const Sources& sources) {
  const Json &queue = *sources.answers.at(0), &predicted = *sources.answers.at(1);
  std::map<std::uint64_t, const Json*> fates;
  if (predicted.value("ok", false)) {
    for (const Json& row : predicted["jobs"]) fates[row["job"]] = &row;
  }
  Json rows = Json::array();
  for (const Json& row : queue["jobs"]) {
    if (!waits(row)) continue;
    const auto fate = fates.find(row["job"]);
    const auto its = [&](const char* field) {
      return fate == fates.end() ? Json() : fate->second->value(field, Json());
    };
    Json one = row;
    one["predicted_nodes"] = its("nodes");
    one["predicted_start_s"] = its("start_s");
    one["predicted_end_s"] = its("end_s");
    one["planned"] = fate != fates.end() && fate->second->value("planned", false);
    rows.push_back(std::move(one));
  }
  return paged(call, rows, {{"now_s", queue["now_s"]}, {"policy", queue["policy"]}});
}

Json one_job(const HttpCall&, const Sources& sources) {
  const Json &queue = *sources.answers.at(0), &history = *sources.answers.at(1);
  return {{"now_s", queue["now_s"]}, {"jobs", queue["jobs"]}, {"history", history["jobs"]}};
}

/// So that those who ask within a minute ask the same.
double begin_of(const HttpCall& call) {
  constexpr double kMinute = 60, kUsualHours = 6, kHour = 3600;
  const double hours = number(call, "hours", kUsualHours, kMostHours);
  return std::floor((call.now_s - hours * kHour) / kMinute) * kMinute;
}

Json allocations(const HttpCall& call, const Sources& sources) {
  const double begin = begin_of(call);
  const Happenings happenings(sources.journal);
  Json rows = Json::array();
  for (const Json& job : sources.answers.at(0)->at("jobs")) {
    if (job["sizes"].empty()) continue;
    for (const Json& held : happenings.allocations_of(job["job"])) {
      if (held["to_s"].is_number() && held["to_s"].get<double>() < begin) continue;
      Json row{{"job", job["job"]},
               {"name", job["name"]},
               {"user", job["user"]},
               {"type", job["type"]},
               {"state", job["state"]}};
      row.update(held);
      rows.push_back(std::move(row));
    }
  }
  return {{"now_s", call.now_s}, {"since_s", begin}, {"allocations", std::move(rows)}};
}

template <Happenings::Kind Which>
Json happenings(const HttpCall& call, const Sources& sources) {
  const std::uint64_t before = count(call, "before", kAnyRecord, kAnyRecord);
  const std::uint64_t limit = count(call, "limit", 100, kMostHappenings);
  Happenings::Page page = Happenings(sources.journal).before(before, limit, Which);
  return {{"rows", std::move(page.rows)}, {"next", page.next == 0 ? Json() : Json(page.next)}};
}

// ---- Questions ----------------------------------------------------------------------------------

std::vector<Json> to_cluster(const HttpCall&) {
  return {{{"do", "queue"}}, {{"do", "nodes"}}, {{"do", "power"}}};
}
std::vector<Json> to_queue(const HttpCall&) { return {{{"do", "queue"}}}; }
std::vector<Json> to_waiting(const HttpCall&) { return {{{"do", "queue"}}, {{"do", "predict"}}}; }
std::vector<Json> to_job(const HttpCall& call) {
  return {{{"do", "queue"}, {"jobs", Json::array({call.job})}},
          {{"do", "history"}, {"job", call.job}}};
}
std::vector<Json> to_why(const HttpCall& call) { return {{{"do", "explain"}, {"job", call.job}}}; }
std::vector<Json> to_nodes(const HttpCall&) { return {{{"do", "nodes"}}}; }
std::vector<Json> to_predictions(const HttpCall&) { return {{{"do", "predict"}}}; }
std::vector<Json> to_power(const HttpCall&) { return {{{"do", "power"}}}; }
std::vector<Json> to_history(const HttpCall& call) {
  Json request{{"do", "history"}, {"last", count(call, "limit", kUsualRows, kMostRows)}};
  if (given(call, "since_s")) request["since_s"] = number(call, "since_s", 0, 1e11);
  return {request};
}
std::vector<Json> to_allocations(const HttpCall& call) {
  constexpr std::uint64_t kMostJobs = 2000;
  return {{{"do", "history"}, {"last", kMostJobs}, {"since_s", begin_of(call)}}};
}

Json body_of(const HttpCall& call) {
  constexpr std::size_t kDeepest = 32;
  bool is_too_deep = false;
  Json body = Json::parse(
      call.request.body,
      [&](int depth, Json::parse_event_t, Json&) {
        is_too_deep |= static_cast<std::size_t>(depth) > kDeepest;
        return !is_too_deep;
      },
      false);
  if (!body.is_object() || is_too_deep) {
    throw HttpError(400, "the body is no JSON object", "see /api/v1/openapi.json");
  }
  return body;
}

std::vector<Json> to_submit(const HttpCall& call) {
  Json request{{"do", "submit"}};
  const Json body = body_of(call);
  for (const auto& [name, value] : body.items()) {
    if (name != "job" && name != "key") {
      throw HttpError(400, "there is no field '" + name + "'",
                      "send \"job\", and \"key\" if it may come twice");
    }
    request[name] = value;
  }
  return {request};
}
std::vector<Json> to_resize(const HttpCall& call) {
  const Json body = body_of(call);
  if (body.size() != 1 || !body.contains("nodes")) {
    throw HttpError(400, "it is not said to which size", "send {\"nodes\": 4}; 0 lifts the order");
  }
  return {{{"do", "resize"}, {"job", call.job}, {"nodes", body["nodes"]}}};
}
/// What the last step of the address says, of this job.
std::vector<Json> to_order(const HttpCall& call) {
  return {{{"do", call.request.steps.back()}, {"jobs", Json::array({call.job})}}};
}

Json done(const HttpCall&, const Sources& sources) { return *sources.answers.at(0); }

std::vector<HttpRoute> make_routes() {
  const auto paged_jobs = [](const char* row) {
    return object(fmt::format("now_s:n next:i? jobs:[{}]", row));
  };
  using P = std::vector<HttpRoute::Parameter>;
  std::vector<HttpRoute> all{
      {"GET", "/openapi.json", "this description; needs no token", P{}, Json{{"type", "object"}},
       nullptr, nullptr, HttpRoute::Kind::description},
      {"GET", "/cluster", "how it stands, in a few numbers", P{},
       object("now_s:n policy:s portfolio:s? lost_since_s:n? lacks:s? nodes:CountOfNodes "
              "jobs:CountOfJobs drawn_w:n cap_w:n? can_write:b can_see_journal:b"),
       to_cluster, cluster},
      {"GET", "/jobs",
       "jobs that are not over: those that run, then those that wait, in their order",
       P{kState, kUser, kFrom, kLimit}, paged_jobs("Job"), to_queue, jobs},
      {"GET", "/jobs/{job}",
       "a job, a task (12_3), or all tasks of an array; `jobs`: while it is not over", P{},
       object("now_s:n jobs:[Job] history:[PastJob]"), to_job, one_job},
      {"GET", "/jobs/{job}/why", "what was decided about it, and why it waits", P{},
       object("job:i asked:s state:s history:[Explained] |now:[Explained] |queue_reason:s? "
              "|policy_process:PolicyProcess"),
       to_why, whole},
      {"GET", "/queue", "jobs that wait, in their order, and when they are believed to start",
       P{kState, kUser, kFrom, kLimit}, object("now_s:n policy:s next:i? jobs:[WaitingJob]"),
       to_waiting, waiting_jobs, HttpRoute::Kind::json, Json(), true},
      {"GET", "/history", "jobs that there have been, the newest first",
       P{{"since_s", "number", "only those that were not over then"}, kLimit},
       object("jobs:[PastJob]"), to_history, whole},
      {"GET", "/nodes", "each node as it is now", P{},
       object("lost_since_s:n? lacks:s? policy_process:PolicyProcess nodes:[Node]"), to_nodes,
       whole},
      {"GET", "/allocations", "which job had which nodes when, of at most 2000 jobs",
       P{{"hours", "number", "of the last hours (6), at most 168"}},
       object("now_s:n since_s:n allocations:[Allocation]"), to_allocations, allocations},
      {"GET", "/predictions", "when all jobs will start and end if all goes as believed", P{},
       object("now_s:n policy:s jobs:[Prediction]"), to_predictions, whole},
      {"GET", "/decisions", "what was decided, the newest first", P{kBefore, kLimit},
       type_of("Page"), nullptr, happenings<Happenings::Kind::decisions>},
      {"GET", "/resizes", "decisions to resize and what came of them, the newest first",
       P{kBefore, kLimit}, type_of("Page"), nullptr, happenings<Happenings::Kind::resizes>},
      {"GET", "/outages", "nodes that went and came back, the newest first", P{kBefore, kLimit},
       type_of("Page"), nullptr, happenings<Happenings::Kind::outages>},
      {"GET", "/happenings", "all that has happened, the newest first", P{kBefore, kLimit},
       type_of("Page"), nullptr, happenings<Happenings::Kind::any>},
      {"GET", "/power", "what the machine draws, as believed and as measured", P{},
       object("cap_w:n? reserved_w:n? idle_w:n jobs_w:n promised_w:n? free_w:n? drawn_w:n "
              "measured_w:n measured_jobs:[MeasuredJob] corridor:Corridor |warning:s"),
       to_power, whole},
      {"GET", "/events",
       "server-sent events: all that happens from now on, or after the one that Last-Event-ID "
       "names",
       P{}, type_of("Happening"), nullptr, nullptr, HttpRoute::Kind::stream},
      {"POST", "/jobs", "submits a job, as the user whose controller's interface this is", P{},
       type_of("Done"), to_submit, done, HttpRoute::Kind::json,
       Json{{"type", "object"},
            {"properties", {{"job", {{"type", "object"}}}, {"key", {{"type", "string"}}}}},
            {"required", {"job"}}}},
      {"POST", "/jobs/{job}/resize", "orders it to a size; 0 lifts the order", P{}, type_of("Done"),
       to_resize, done, HttpRoute::Kind::json, object("nodes:i")}};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOrders{{
      {"/jobs/{job}/cancel", "ends it"},
      {"/jobs/{job}/hold", "it does not start"},
      {"/jobs/{job}/release", "it may"},
      {"/jobs/{job}/requeue", "it is ended, and waits again"},
      {"/jobs/{job}/suspend", "it leaves its nodes"},
      {"/jobs/{job}/resume", "it goes on"},
  }};
  for (const auto& [path, summary] : kOrders) {
    all.push_back({"POST", path, summary, P{}, type_of("Done"), to_order, done});
  }
  return all;
}

/// A number, or "12_3".
Json job_in_address(const std::string& text) {
  std::string_view task = text;
  const auto number = parse_number<std::uint64_t>(next_part(task, '_'));
  const bool is_task = text.find('_') != std::string::npos;
  const auto of_array = parse_number<std::uint32_t>(task);
  if (!number || *number == 0 || *number >= kAnyRecord || (is_task && !of_array)) {
    throw HttpError(404, "'" + text + "' is no number of a job", "write it like 12, or 12_3");
  }
  return is_task ? Json(fmt::format("{}_{}", *number, *of_array)) : Json(*number);
}

/// Do these steps lead there? What stands for a job is taken out.
bool leads_to(std::string_view path, const std::vector<std::string>& steps, std::string& job) {
  path.remove_prefix(1);
  for (std::size_t i = 2; i < steps.size(); ++i) {  // api, v1
    const std::string_view step = next_part(path, '/');
    if (step == "{job}") {
      job = steps[i];
    } else if (step.empty() || step != steps[i]) {
      return false;
    }
  }
  return path.empty();
}

}  // namespace

const std::vector<HttpRoute>& http_routes() {
  static const std::vector<HttpRoute> all = make_routes();
  return all;
}

HttpCall http_call(const HttpRequest& request) {
  const bool is_ours =
      request.steps.size() > 2 && request.steps[0] == "api" && request.steps[1] == "v1";
  std::string allowed;
  for (const HttpRoute& route : http_routes()) {
    std::string job;
    if (!is_ours || !leads_to(route.path, request.steps, job)) continue;
    const bool is_stream = route.kind == HttpRoute::Kind::stream;
    const bool is_head = request.method == "HEAD" && route.method == "GET" && !is_stream;
    if (request.method != route.method && !is_head) {
      allowed.append(allowed.empty() ? "" : ", ").append(route.method);
      continue;
    }
    for (const auto& [name, value] : request.query) {
      if (std::ranges::find(route.parameters, name, &HttpRoute::Parameter::name) ==
          route.parameters.end()) {
        throw HttpError(400, "there is no parameter '" + name + "'", "see /api/v1/openapi.json");
      }
    }
    HttpCall call{.request = request, .route = &route};
    if (!job.empty()) call.job = job_in_address(job);
    return call;
  }
  if (!allowed.empty()) {
    throw HttpError(405, request.method + " is not for this address", "use " + allowed);
  }
  throw HttpError(404, "there is nothing at " + request.path, "see /api/v1/openapi.json");
}

Json open_api() {
  Json paths = Json::object();
  const auto content = [](const Json& schema, const char* type = "application/json") {
    return Json{{type, {{"schema", schema}}}};
  };
  const Json failure{{"description", "what is wrong, and what to do"},
                     {"content", content(type_of("Error"))}};
  for (const HttpRoute& route : http_routes()) {
    Json parameters = Json::array();
    if (route.path.find("{job}") != std::string_view::npos) {
      parameters.push_back({{"name", "job"},
                            {"in", "path"},
                            {"required", true},
                            {"description", "number of a job or an array, or a task, 12_3"},
                            {"schema", {{"type", "string"}}}});
    }
    for (const auto& its : route.parameters) {
      parameters.push_back({{"name", its.name},
                            {"in", "query"},
                            {"description", its.what},
                            {"schema", {{"type", its.type}}}});
    }
    const bool is_stream = route.kind == HttpRoute::Kind::stream;
    if (is_stream) {
      parameters.push_back({{"name", "Last-Event-ID"},
                            {"in", "header"},
                            {"description", "the `id` of the last event that was heard"},
                            {"schema", {{"type", "string"}}}});
    }
    Json operation{{"summary", route.summary}};
    if (!parameters.empty()) operation["parameters"] = std::move(parameters);
    if (!route.body.is_null()) {
      operation["requestBody"] = {{"required", true}, {"content", content(route.body)}};
    }
    if (route.kind == HttpRoute::Kind::description) operation["security"] = Json::array();
    if (route.writes()) operation["security"] = Json::array({{{"write", Json::array()}}});
    operation["responses"] = {
        {"200",
         {{"description", "done"},
          {"content",
           content(route.schema, is_stream ? "text/event-stream" : "application/json")}}},
        {"default", failure}};
    std::string method(route.method);
    std::ranges::transform(method, method.begin(),
                           [](char c) { return static_cast<char>(c - 'A' + 'a'); });
    paths[std::string(kHttpRoot) + std::string(route.path)][method] = std::move(operation);
  }
  Json components{{"schemas", schemas()}};
  const Json bearer{{"type", "http"}, {"scheme", "bearer"}};
  components["securitySchemes"] = {{"read", bearer}, {"write", bearer}};
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Ductile"},
            {"version", "1"},
            {"description",
             "The controller of a cluster: jobs, nodes, decisions, predictions. Times are "
             "seconds since the Unix epoch, power is in watts; docs/formats/http.md."}}},
          {"security", Json::array({{{"read", Json::array()}}})},
          {"paths", std::move(paths)},
          {"components", std::move(components)}};
}

}  // namespace ductile
