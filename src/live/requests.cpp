// What users may ask of the controller, and who may ask it; docs/formats/controller.md.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/json_line.hpp"
#include "live/controller.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxRequest = std::size_t{4} << 20;
constexpr std::size_t kMaxAnswers = std::size_t{64} << 20;
constexpr std::size_t kMaxClients = 4096;
constexpr std::size_t kMaxClientsOfUser = 1024;
constexpr std::uint64_t kMaxHistory = 100'000;

/// The states as Slurm names them.
std::string_view state_word(const Job& job) {
  if (job.status == Status::held || job.status == Status::pending) return "PENDING";
  if (job.doing == Doing::starting) return "CONFIGURING";
  if (job.doing == Doing::resizing) return "RESIZING";
  return "RUNNING";
}

}  // namespace

const std::string& name_of_user(uid_t user) {
  static std::map<uid_t, std::string> names;
  std::string& name = names[user];
  if (name.empty()) {
    const passwd* const entry = getpwuid(user);
    name = entry != nullptr ? entry->pw_name : std::to_string(user);
  }
  return name;
}

std::string_view end_word(std::string_view state) {
  constexpr std::array<std::string_view, 5> kWords{"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED",
                                                   "NODE_FAIL"};
  const auto found = from_word<EndState>(kEndWords, state);
  return found ? kWords[static_cast<std::size_t>(*found)] : "RUNNING";
}

void Controller::accept_clients() {
  while (auto socket = accept_from(listener_)) {
    const auto peer = peer_of(*socket);
    if (!peer) continue;
    const bool is_ours = peer->user == geteuid() || peer->user == 0;
    // A controller that is not root's could run the jobs of others only as its own.
    if (!is_ours && geteuid() != 0) continue;
    const auto same = std::ranges::count_if(
        clients_, [&](const auto& client) { return client->peer.user == peer->user; });
    if (clients_.size() >= kMaxClients || static_cast<std::size_t>(same) >= kMaxClientsOfUser) {
      spdlog::warn("user {} has too many connections; one was refused", name_of_user(peer->user));
      continue;
    }
    clients_.push_back(std::make_unique<Client>(
        Client{.id = next_client_++,
               .lines = LineSocket(std::move(*socket), kMaxRequest, kMaxAnswers),
               .peer = *peer,
               .heard = std::chrono::steady_clock::now()}));
  }
}

void Controller::read_client(Client& client) {
  client.lines.work();
  while (const auto line = client.lines.next()) {
    client.heard = std::chrono::steady_clock::now();
    Json answer;
    try {
      answer = on_request(client, *line);
    } catch (const InputError& error) {
      answer = {{"ok", false}, {"code", 2}, {"error", error.what()}};
    } catch (const Refused& error) {
      answer = {{"ok", false}, {"code", 1}, {"error", error.what()}};
    } catch (const Json::exception&) {
      answer = {{"ok", false}, {"code", 2}, {"error", "the request is not as it should be"}};
    }
    // What it tells may be of an instant that is not durable yet.
    if (is_open_) {
      reply(client, std::move(answer));
    } else {
      client.lines.send(answer.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
}

Json Controller::on_request(Client& client, const std::string& line) {
  const Json request = parse_json_line(line);
  if (!request.is_object() || !request.contains("do") || !request["do"].is_string()) {
    throw InputError("a request is a JSON object with \"do\"", "see docs/formats/controller.md");
  }
  const std::string verb = request["do"];
  if (verb == "submit") return on_submit(client, request);
  if (verb == "queue") return on_queue(request);
  if (verb == "nodes") return on_nodes();
  if (verb == "history") return on_history(client, request);
  if (verb == "resize") return on_resize(client, request);
  if (verb == "drain") return on_drain(client, request);
  if (verb == "cancel") {
    return on_jobs(client, request, [&](JobId id, const Job& job) {
      if (job.status == Status::running) {
        jobs_.at(id).ended = true;
        world_.end(clock_.now(), id, EndState::cancelled);
      } else if (tell(event::Ended{id, EndState::cancelled, false})) {
        on_over(id, EndState::cancelled, std::nullopt, "");
      }
    });
  }
  if (verb == "hold" || verb == "release") {
    const bool yes = verb == "release";
    return on_jobs(client, request, [&](JobId id, const Job& job) {
      if (job.status != Status::pending && job.status != Status::held) {
        throw Refused(fmt::format("job {} does not wait any more", number_of(id)));
      }
      tell(event::Eligible{id, yes});
    });
  }
  throw InputError("there is no request '" + verb + "'", "see docs/formats/controller.md");
}

Json Controller::on_submit(Client& client, const Json& request) {
  LiveJob job;
  // Nothing may be wrong once the core has heard of it.
  const bool waits = request.value("wait", false);
  job.what = submission_from_json(request.value("job", Json()));
  if (job.what.walltime == Duration{}) job.what.walltime = settings_.default_time;
  JobSpec spec = spec_of(job.what, core_.state().platform);
  open();
  const JobId id{core_.state().jobs.size()};
  spec.name = number_of(id);
  spec.user = client.peer.user;
  spec.group = client.peer.group;
  const std::size_t known = accounts_.names().size();
  spec.account = accounts_.number(job.what.account);
  if (spec.account > known) journal_.account(spec.account, job.what.account);
  spec.submitted = now_;
  event::Submitted submitted{spec, std::nullopt};
  if (spec.type != JobType::rigid) submitted.adaptive = adaptive_spec_of(job.what);
  tell(submitted);
  metrics_.submitted(spec.type);
  job.row.number = number_of(id);
  job.row.owner = client.peer;
  job.row.submitted = now_;
  job.row.submission = to_json(job.what).dump(-1, ' ', false, Json::error_handler_t::replace);
  journal_.submitted(job.row);
  spdlog::info("job {}: submitted by {}", job.row.number, name_of_user(client.peer.user));
  const bool is_held = job.what.is_held;
  jobs_.emplace(id, std::move(job));
  had_jobs_ = true;
  if (is_held) tell(event::Eligible{id, false});
  if (waits) {
    waiting_.emplace(id, client.id);
    ++client.waits;
  }
  return {{"ok", true}, {"job", number_of(id)}};
}

Json Controller::row_of(JobId id) const {
  const LiveJob& live = jobs_.at(id);
  const Job& job = core_.job(id);
  const bool runs = job.status == Status::running;
  std::string reason;
  if (!runs) {
    const bool is_first = core_.state().queue.front() == id;
    reason = job.status == Status::held           ? "JobHeldUser"
             : job.claim != ClaimId::none         ? "Claim"
             : is_first || job.reserved != kNever ? "Resources"
                                                  : "Priority";
  }
  const auto seconds_or_null = [](bool has, Time time) {
    return has ? Json(to_seconds(time)) : Json();
  };
  return {{"job", live.row.number},
          {"name", live.what.name},
          {"user", name_of_user(live.row.owner.user)},
          {"account", live.what.account},
          {"state", state_word(job)},
          {"reason", reason},
          {"type", word(job.spec.type)},
          {"nodes", runs ? job.holding.count : job.spec.preferred},
          {"min_nodes", job.spec.size.min},
          {"max_nodes", job.spec.size.max},
          {"nodelist", to_string(job.holding.nodes)},
          {"priority", job.spec.priority},
          {"submit_s", to_seconds(live.row.submitted)},
          {"start_s", seconds_or_null(runs, job.started)},
          {"elapsed_s", runs ? to_seconds(clock_.now() - job.started) : 0.0},
          {"time_limit_s", to_seconds(runs ? end_of(job) - job.started : job.spec.walltime)},
          {"planned_start_s", seconds_or_null(!runs && job.reserved != kNever, job.reserved)},
          {"resizes", job.expands + job.shrinks}};
}

/// What grants did to the jobs of users or of accounts, as in summary.json.
Json Controller::delays_of(Party::Kind kind) const {
  const bool is_account = kind == Party::Kind::account;
  Json rows = Json::array();
  for (const Delays& its : core_.state().delays) {
    const std::uint32_t number = its.party.number;
    if (its.party.kind != kind || (is_account && number == 0)) continue;
    if (its.jobs == 0 && its.caused_s == 0) continue;
    rows.push_back({{is_account ? "account" : "user",
                     is_account ? accounts_.name(number) : name_of_user(number)},
                    {"jobs", its.jobs},
                    {"delay_s", its.planned_s},
                    {"suffered_s", its.suffered_s},
                    {"caused_s", its.caused_s}});
  }
  return rows;
}

Json Controller::on_queue(const Json& request) const {
  Json rows = Json::array();
  // Running ones first, then those that wait, in the order in which they do.
  for (const auto& [id, job] : jobs_) {
    if (core_.job(id).status == Status::running) rows.push_back(row_of(id));
  }
  const State& state = core_.state();
  for (JobId id = state.queue.front(); id != JobId::none;
       id = state.queue.after(id, core_.job(id).spec)) {
    rows.push_back(row_of(id));
  }
  for (const auto& [id, job] : jobs_) {
    const Job& its = core_.job(id);
    const bool waits_elsewhere =
        its.status == Status::held || (its.status == Status::pending && its.claim != ClaimId::none);
    if (waits_elsewhere) rows.push_back(row_of(id));
  }
  const Json wanted = request.value("jobs", Json::array());
  if (!wanted.is_array()) throw InputError("\"jobs\" is a list of numbers", "");
  if (!wanted.empty()) {
    Json chosen = Json::array();
    for (const Json& row : rows) {
      if (std::ranges::find(wanted, row["job"]) != wanted.end()) chosen.push_back(row);
    }
    rows = std::move(chosen);
  }
  return {{"ok", true},
          {"now_s", to_seconds(clock_.now())},
          {"policy", core_.policy().settings},
          {"jobs", std::move(rows)},
          {"delays", delays_of(Party::Kind::user)},
          {"account_delays", delays_of(Party::Kind::account)}};
}

Json Controller::on_nodes() const {
  const State& state = core_.state();
  std::vector<std::uint64_t> holders(state.platform.nodes, 0);
  for (const JobId id : state.running) {
    for (const Interval& part : core_.job(id).holding.nodes.parts) {
      for (std::uint32_t node = part.first; node <= part.last; ++node)
        holders[node] = number_of(id);
    }
  }
  NodeSet claimed;
  for (const Claim& claim : state.claims) claimed.insert(claim.held.nodes);
  Json rows = Json::array();
  for (std::uint32_t node = 0; node < state.platform.nodes; ++node) {
    const Health health = state.health[node];
    const bool is_held = holders[node] != 0;
    std::string_view word = is_held ? "ALLOCATED" : claimed.contains(node) ? "RESERVED" : "IDLE";
    if (health == Health::draining) word = is_held ? "DRAINING" : "DRAINED";
    if (health == Health::down) word = "DOWN";
    if (health == Health::off) word = "POWERED_DOWN";
    rows.push_back({{"node", node},
                    {"state", word},
                    {"cores", state.platform.cores_per_node},
                    {"job", is_held ? Json(holders[node]) : Json()}});
  }
  return {{"ok", true}, {"nodes", std::move(rows)}};
}

Json Controller::on_history(const Client& client, const Json& request) const {
  Json rows = Json::array();
  std::vector<JobRow> jobs;
  if (const Json number = request.value("job", Json()); number.is_number_unsigned()) {
    if (auto job = journal_.job(number)) jobs.push_back(std::move(*job));
    if (jobs.empty()) throw InputError("there is no job " + number.dump(), "");
  } else {
    jobs = journal_.jobs(kMaxHistory);
  }
  for (const JobRow& job : jobs) {
    if (job.owner.user != client.peer.user && !is_operator(client)) continue;
    const Json what = Json::parse(job.submission);
    Json sizes = Json::array();
    for (const auto& [time, nodes] : job.sizes) {
      sizes.push_back({{"time_s", to_seconds(time)}, {"nodes", nodes}});
    }
    rows.push_back(
        {{"job", job.number},
         {"name", what["name"]},
         {"user", name_of_user(job.owner.user)},
         {"account", what.value("account", "")},
         {"type", what["type"]},
         {"state", job.state.empty() ? (job.started ? "RUNNING" : "PENDING") : end_word(job.state)},
         {"exit_code", job.exit_code ? Json(*job.exit_code) : Json()},
         {"note", job.note},
         {"submit_s", to_seconds(job.submitted)},
         {"start_s", job.started ? Json(to_seconds(*job.started)) : Json()},
         {"end_s", job.ended ? Json(to_seconds(*job.ended)) : Json()},
         {"node_s", static_cast<double>(job.node_us) / 1e6},
         {"sizes", std::move(sizes)}});
  }
  return {{"ok", true}, {"jobs", std::move(rows)}};
}

bool Controller::is_operator(const Client& client) const {
  return client.peer.user == 0 || client.peer.user == geteuid() ||
         std::ranges::find(settings_.operators, client.peer.user) != settings_.operators.end();
}

/// The living job of this number, if the client may touch it.
JobId Controller::job_of(const Client& client, const Json& number) const {
  if (!number.is_number_unsigned()) throw InputError("a job is a number", "see `ductile queue`");
  const std::uint64_t wanted = number;
  if (wanted == 0 || wanted > core_.state().jobs.size()) {
    throw InputError(fmt::format("there is no job {}", wanted), "see `ductile queue`");
  }
  const auto found = jobs_.find(id_of(wanted));
  if (found == jobs_.end()) throw Refused(fmt::format("job {} is over", wanted));
  if (found->second.row.owner.user != client.peer.user && !is_operator(client)) {
    throw Refused(fmt::format("job {} is not yours", wanted));
  }
  return found->first;
}

/// The same for each of the jobs asked for. All are looked up before anything is done.
Json Controller::on_jobs(const Client& client, const Json& request,
                         const std::function<void(JobId, const Job&)>& action) {
  const Json wanted = request.value("jobs", Json::array());
  if (!wanted.is_array() || wanted.empty()) throw InputError("no job is named", "name some");
  std::vector<JobId> jobs;
  for (const Json& number : wanted) jobs.push_back(job_of(client, number));
  for (const JobId id : jobs) {
    if (jobs_.contains(id)) action(id, core_.job(id));  // it may be named twice
  }
  return {{"ok", true}};
}

Json Controller::on_resize(const Client& client, const Json& request) {
  const JobId id = job_of(client, request.value("job", Json()));
  const Json size = request.value("nodes", Json());
  if (!size.is_number_unsigned() || size.get<std::uint64_t>() > core_.state().platform.nodes) {
    throw InputError("\"nodes\" is a number of nodes", "0 lifts the order");
  }
  if (!tell(event::SizeOrdered{id, size})) {
    const Job& job = core_.job(id);
    if (job.ordered == size.get<Nodes>()) return {{"ok", true}};
    throw Refused(!sizes_while_running(job.spec.type)
                      ? fmt::format("job {} is {}", number_of(id), word(job.spec.type))
                      : fmt::format("job {} can have {} to {} nodes", number_of(id),
                                    job.spec.size.min, job.spec.size.max));
  }
  return {{"ok", true}};
}

Json Controller::on_drain(const Client& client, const Json& request) {
  if (!is_operator(client)) throw Refused("only operators may drain nodes");
  const auto nodes = parse_node_set(request.value("nodes", std::string()));
  const auto health = from_word<Health>(kHealthWords, request.value("health", std::string()));
  if (!nodes || nodes->empty() || nodes->parts.back().last >= core_.state().platform.nodes) {
    throw InputError("these are no nodes of this cluster",
                     fmt::format("there are 0 to {}", core_.state().platform.nodes - 1));
  }
  if (health != Health::up && health != Health::draining) {
    throw InputError("nodes can be made \"up\" or \"draining\"", "");
  }
  tell(event::NodesChanged{*nodes, *health});
  return {{"ok", true}};
}

}  // namespace ductile
