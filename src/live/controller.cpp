#include "live/controller.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <pwd.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/json_line.hpp"
#include "job/line_socket.hpp"
#include "job/poller.hpp"
#include "live/crash.hpp"
#include "live/journal.hpp"
#include "live/local_world.hpp"
#include "live/submission.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxRequest = std::size_t{4} << 20;
constexpr std::size_t kMaxAnswers = std::size_t{64} << 20;
constexpr std::size_t kMaxClients = 4096;
constexpr std::size_t kMaxClientsOfUser = 1024;
constexpr auto kIdle = std::chrono::minutes(1);
constexpr std::uint64_t kMaxHistory = 100'000;

/// Jobs are numbered for people from 1, in order of submission, as the core numbers them from 0.
std::uint64_t number_of(JobId id) { return std::uint64_t{index(id)} + 1; }
JobId id_of(std::uint64_t number) { return JobId{static_cast<std::uint32_t>(number - 1)}; }

/// Somebody asked for what is not possible; the answer says so.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Looked up once: it may be a file or a network away.
const std::string& name_of_user(uid_t user) {
  static std::map<uid_t, std::string> names;
  std::string& name = names[user];
  if (name.empty()) {
    const passwd* const entry = getpwuid(user);
    name = entry != nullptr ? entry->pw_name : std::to_string(user);
  }
  return name;
}

/// The states as Slurm names them.
std::string_view state_word(const Job& job) {
  if (job.status == Status::held || job.status == Status::pending) return "PENDING";
  if (job.doing == Doing::starting) return "CONFIGURING";
  if (job.doing == Doing::resizing) return "RESIZING";
  return "RUNNING";
}
std::string_view end_word(std::string_view state) {
  constexpr std::array<std::string_view, 5> kWords{"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED",
                                                   "NODE_FAIL"};
  const auto found = from_word<EndState>(kEndWords, state);
  return found ? kWords[static_cast<std::size_t>(*found)] : "RUNNING";
}

/// The time of schedules: that of the wall when the controller began, and never going back.
class WallClock {
 public:
  /// Not before `least`.
  explicit WallClock(Time least)
      : first_(std::max(least, Time(std::chrono::duration_cast<Duration>(
                                   std::chrono::system_clock::now().time_since_epoch())))) {}
  Time now() const { return first_ + std::chrono::duration_cast<Duration>(Steady::now() - begin_); }

 private:
  using Steady = std::chrono::steady_clock;
  Time first_;
  Steady::time_point begin_ = Steady::now();
};

/// A job that is not over.
struct LiveJob {
  JobRow row{};
  Submission what{};
  Nodes held = 0;      // as the journal has it
  bool ended = false;  // by somebody: its end was asked for
};

struct Client {
  std::uint64_t id = 0;
  LineSocket lines;
  Owner peer{};
  std::chrono::steady_clock::time_point heard{};
  std::size_t waits = 0;  // for so many jobs
  bool has_left = false;  // at the end of what it gets
};

class Controller {
 public:
  Controller(const ServeSettings& settings, const std::function<ServeSettings()>& reload);
  void run();

 private:
  // ---- The core and its journal --------------------------------------------------------------
  Core make_core();
  void recover();
  void open();
  bool tell(const Event& event);
  void settle();
  void note_sizes();
  void note_size(JobId id);
  void on_happened(const Happened& happened);
  void on_over(JobId id, EndState state, std::optional<int> exit_code, const std::string& note);
  static Time end_of(const Job& job);
  void keep_limits();
  Duration until_next() const;
  JobFacts facts(JobId id) const {
    const LiveJob& job = jobs_.at(id);
    return {.number = job.row.number, .owner = job.row.owner, .what = &job.what};
  }

  // ---- Those who ask -------------------------------------------------------------------------
  void accept_clients();
  void read_client(Client& client);
  void reply(const Client& client, Json answer) {
    outbox_.emplace_back(client.id, std::move(answer));
  }
  Json on_request(Client& client, const std::string& line);
  Json on_submit(Client& client, const Json& request);
  Json on_queue(const Json& request) const;
  Json on_nodes() const;
  Json on_history(const Client& client, const Json& request) const;
  Json on_jobs(const Client& client, const Json& request,
               const std::function<void(JobId, const Job&)>& action);
  Json on_resize(const Client& client, const Json& request);
  Json on_drain(const Client& client, const Json& request);
  bool is_operator(const Client& client) const;
  JobId job_of(const Client& client, const Json& number) const;
  Json row_of(JobId id) const;

  void on_signal();
  void reload();

  ServeSettings settings_;
  const std::function<ServeSettings()>& reload_;
  Descriptor lock_{};
  Journal journal_;
  std::map<JobId, Holding> settled_{};  // by the last answer; of the journal as it was found
  std::uint32_t requests_ = 0;          // the next number of one
  Core core_;
  WallClock clock_;
  LocalWorld world_;
  Descriptor signals_{};
  Descriptor listener_{};
  std::map<JobId, LiveJob> jobs_{};  // not over
  std::vector<std::unique_ptr<Client>> clients_{};
  std::uint64_t next_client_ = 1;
  std::multimap<JobId, std::uint64_t> waiting_{};         // clients for the end of a job
  std::vector<std::pair<std::uint64_t, Json>> outbox_{};  // what clients hear once it is durable
  bool is_open_ = false;                                  // an instant
  std::vector<std::uint64_t> over_{};  // what these jobs have left can go once that is durable
  Time now_{};
  bool is_ended_ = false;
  bool had_jobs_ = false;
};

/// Makes the folder of the state if need be, and keeps others from it.
Descriptor lock_state(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string path = folder + "/lock";
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) {
    throw InputError("the folder '" + folder + "' cannot be used: " + std::strerror(errno),
                     "give another one with --state");
  }
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    throw InputError("another controller uses the folder '" + folder + "'",
                     "end it, or give another one with --state");
  }
  return lock;
}

Controller::Controller(const ServeSettings& settings, const std::function<ServeSettings()>& reload)
    : settings_(settings),
      reload_(reload),
      lock_(lock_state(settings.state)),
      journal_(settings.state + "/journal.db"),
      core_(make_core()),
      clock_(core_.state().now),
      world_(core_.state().platform, {.folder = settings.state + "/jobs",
                                      .program = settings.program,
                                      .retry = settings.retry,
                                      .patience = settings.patience}) {}

// ---- The core and its journal -------------------------------------------------------------------

/// A new one, or the one that the journal has.
Core Controller::make_core() {
  Rules rules;
  rules.identities = true;
  rules.record = true;
  rules.fairness = settings_.fairness;
  const auto make = [](std::string_view text) { return make_policy(text); };
  // Before anything is written, so that a policy that cannot be leaves no trace.
  Core core(settings_.platform, LocalWorld::capabilities(), rules, make(settings_.policy));
  if (journal_.is_new()) {
    journal_.write_head(core);
    return core;
  }
  Core folded = journal_.fold(make, [&](const Event& event, const Core& now) {
    if (const auto* started = std::get_if<event::Started>(&event)) {
      settled_[started->job] = now.job(started->job).holding;
    } else if (const auto* resized = std::get_if<event::Resized>(&event)) {
      settled_[resized->job] = resized->now;
    } else if (const auto* asked = std::get_if<event::EvolvingRequested>(&event)) {
      requests_ = std::max(requests_, index(asked->id) + 1);
    } else if (const auto* ended = std::get_if<event::Ended>(&event)) {
      settled_.erase(ended->job);
    }
  });
  const Platform& had = folded.state().platform;
  if (had.nodes != settings_.platform.nodes ||
      had.cores_per_node != settings_.platform.cores_per_node) {
    throw InputError(fmt::format("the folder '{}' is of a cluster of {}x{}", settings_.state,
                                 had.nodes, had.cores_per_node),
                     fmt::format("serve --local {}x{}, or give another folder with --state",
                                 had.nodes, had.cores_per_node));
  }
  return folded;
}

/// Takes up the jobs that were not over, and compares with what there is in the world.
void Controller::recover() {
  world_.requests_from(requests_);
  for (JobRow& row : journal_.living()) {
    LiveJob job;
    job.what = submission_from_json(Json::parse(row.submission));
    job.held = row.sizes.empty() ? 0 : row.sizes.back().second;
    job.row = std::move(row);
    jobs_.emplace(id_of(job.row.number), std::move(job));
  }
  had_jobs_ = !jobs_.empty();

  // Releases before gains: the world tells what ended first.
  const std::vector<Decision> open = core_.unanswered();
  for (const auto& [id, job] : jobs_) {
    if (core_.job(id).status != Status::running) continue;
    const auto decision = std::ranges::find(open, id, &Decision::job);
    const auto before = settled_.find(id);
    world_.take_up(clock_.now(), id, facts(id),
                   before != settled_.end() ? before->second : core_.job(id).holding,
                   decision != open.end() ? &*decision : nullptr);
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(settings_.state + "/jobs", ignored)) {
    const auto number = parse_number<std::uint64_t>(entry.path().filename().native());
    if (number && *number > 0 && !jobs_.contains(id_of(*number))) world_.forget(*number);
  }
  for (const Happened& happened : world_.take()) on_happened(happened);
  if (core_.policy().settings != settings_.policy) {
    spdlog::info("the policy is now {}, and was {}", settings_.policy, core_.policy().settings);
    tell(event::ConfigChanged{make_policy(settings_.policy)});
  }
  settle();
  if (!jobs_.empty()) spdlog::info("{} jobs were taken up", jobs_.size());
}

/// From now on all belongs to one instant, until `settle`.
void Controller::open() {
  if (is_open_) return;
  journal_.begin();
  now_ = clock_.now();
  is_open_ = true;
}

/// The core hears of it, and the journal; nobody else before the instant is closed.
bool Controller::tell(const Event& event) {
  open();
  const bool taken = core_.apply(now_, event);
  crash_point();
  journal_.event(now_, event, taken);
  return taken;
}

/// Closes the instant, and those that follow from it at once.
void Controller::settle() {
  while (is_open_) {
    const auto decisions = core_.close_instant(now_);
    journal_.close(now_, core_, decisions);
    const std::vector<Decision> orders(decisions.begin(), decisions.end());
    for (const Decision& order : orders) {
      if (order.kind == Decision::Kind::reject) {
        on_over(order.job, EndState::cancelled, std::nullopt, "it can never run here");
      }
    }
    note_sizes();
    crash_point();
    journal_.commit();
    crash_point();
    is_open_ = false;

    for (const auto& [id, answer] : std::exchange(outbox_, {})) {
      const auto client = std::ranges::find(clients_, id, [](const auto& c) { return c->id; });
      if (client == clients_.end()) continue;
      (*client)->lines.send(answer.dump(-1, ' ', false, Json::error_handler_t::replace));
      crash_point();
    }
    for (const Decision& order : orders) {
      if (!jobs_.contains(order.job)) continue;
      spdlog::info("job {}: {} {} ({})", number_of(order.job), word(order.kind),
                   order.after.count > 0 ? "nodes " + to_string(order.after.nodes) : "",
                   word(order.reason.why));
      world_.carry_out(now_, order, facts(order.job));
      crash_point();
    }
    for (const std::uint64_t number : std::exchange(over_, {})) world_.forget(number);
    for (const Happened& happened : world_.take()) on_happened(happened);
  }
}

/// What each job holds, for those who are to pay for it.
void Controller::note_sizes() {
  for (const JobId id : core_.state().running) note_size(id);
}

void Controller::note_size(JobId id) {
  LiveJob& job = jobs_.at(id);
  const Job& its = core_.job(id);
  const Nodes held = its.status == Status::running ? its.holding.count : 0;
  if (held == job.held) return;
  job.held = held;
  journal_.held(job.row.number, now_, held);
}

void Controller::on_happened(const Happened& happened) {
  const bool taken = tell(happened.event);
  if (!taken) spdlog::debug("a late event changed nothing");
  if (const auto* started = std::get_if<event::Started>(&happened.event); started && taken) {
    LiveJob& job = jobs_.at(started->job);
    job.row.started = now_;
    journal_.started(job.row.number, now_);
  }
  if (const auto* ended = std::get_if<event::Ended>(&happened.event); ended && taken) {
    on_over(ended->job, ended->state, happened.exit_code, happened.note);
  }
}

/// The job will not come back.
void Controller::on_over(JobId id, EndState state, std::optional<int> exit_code,
                         const std::string& note) {
  LiveJob& job = jobs_.at(id);
  if (job.held > 0) journal_.held(job.row.number, now_, 0);
  job.row.ended = now_;
  job.row.state = kEndWords[static_cast<std::size_t>(state)];
  job.row.exit_code = exit_code;
  job.row.note = note;
  journal_.ended(job.row);
  spdlog::info("job {}: {}{}{}", job.row.number, end_word(job.row.state),
               exit_code ? fmt::format(", exit code {}", *exit_code) : "",
               note.empty() ? "" : ": " + note);
  const auto [first, last] = waiting_.equal_range(id);
  for (auto at = first; at != last; ++at) {
    outbox_.emplace_back(at->second, Json{{"ok", true},
                                          {"job", job.row.number},
                                          {"state", end_word(job.row.state)},
                                          {"exit_code", exit_code ? Json(*exit_code) : Json()},
                                          {"note", note}});
    const auto client =
        std::ranges::find(clients_, at->second, [](const auto& c) { return c->id; });
    if (client != clients_.end()) --(*client)->waits;
  }
  waiting_.erase(first, last);
  over_.push_back(job.row.number);
  jobs_.erase(id);
}

/// When a running job may be ended: at the limit that the core believes in, but not before the time
/// that its user asked for. A job that was grown is believed to be faster, and need not be.
Time Controller::end_of(const Job& job) {
  return std::max(job.limit, later(job.started, job.spec.walltime));
}

/// Jobs whose time is over are ended; the world says when that is done.
void Controller::keep_limits() {
  const Time now = clock_.now();
  for (const JobId id : core_.state().running) {
    LiveJob& job = jobs_.at(id);
    if (job.ended || end_of(core_.job(id)) > now) continue;
    job.ended = true;
    spdlog::info("job {}: its time is over", job.row.number);
    world_.end(now, id, EndState::timeout);
  }
}

Duration Controller::until_next() const {
  Time next = std::min(core_.next_wake(), world_.next());
  for (const JobId id : core_.state().running) {
    if (!jobs_.at(id).ended) next = std::min(next, end_of(core_.job(id)));
  }
  constexpr Duration kLongest = whole_seconds(30);  // idle clients are looked for
  const Time now = clock_.now();
  return next <= now ? Duration{} : std::min(kLongest, next - now);
}

// ---- Those who ask ------------------------------------------------------------------------------

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
  spec.submitted = now_;
  event::Submitted submitted{spec, std::nullopt};
  if (spec.type != JobType::rigid) submitted.adaptive = adaptive_spec_of(job.what);
  tell(submitted);
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
          {"jobs", std::move(rows)}};
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

// ---- The loop -----------------------------------------------------------------------------------

void Controller::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGTERM || signal == SIGINT) is_ended_ = true;
    if (signal == SIGHUP) reload();
  }
}

/// Other settings, if they are right as a whole; else those there are stay.
void Controller::reload() {
  try {
    const ServeSettings next = reload_();
    const Platform& had = settings_.platform;
    if (next.platform.nodes != had.nodes || next.platform.cores_per_node != had.cores_per_node ||
        next.state != settings_.state || next.socket != settings_.socket) {
      throw InputError("nodes, state and socket stay while it serves",
                       "end it, and start it again");
    }
    if (next.policy != settings_.policy && !tell(event::ConfigChanged{make_policy(next.policy)})) {
      throw InputError("this world cannot do what the policy " + next.policy + " needs",
                       "use another policy");
    }
    settings_ = next;
    world_.set(settings_.retry, settings_.patience);
    spdlog::info("the settings were read again; the policy is {}", settings_.policy);
  } catch (const InputError& error) {
    spdlog::error("the settings stay as they are: {}", error.what());
  }
}

void Controller::run() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGCHLD, SIGHUP, SIGINT, SIGTERM}) sigaddset(&handled, signal);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = Descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }

  recover();
  listener_ = listen_unix(settings_.socket, geteuid() == 0);
  spdlog::info("serving {} nodes of {} cores under {} at {}", settings_.platform.nodes,
               settings_.platform.cores_per_node, settings_.policy, settings_.socket);
  while (!is_ended_) {
    Poller poller;
    poller.add(signals_, POLLIN, [this] { on_signal(); });
    poller.add(listener_, POLLIN, [this] { accept_clients(); });
    for (const auto& owned : clients_) {
      Client* const client = owned.get();
      poller.add(client->lines.descriptor(), client->lines.events(),
                 [this, client] { read_client(*client); });
    }
    world_.add_to(poller);
    poller.wait(until_next());

    world_.look(clock_.now());
    for (const Happened& happened : world_.take()) on_happened(happened);
    keep_limits();
    if (core_.next_wake() <= clock_.now()) tell(event::TimerFired{});
    settle();
    const auto idle = std::chrono::steady_clock::now() - kIdle;
    std::erase_if(clients_, [&](const auto& client) {
      return client->lines.is_closed() ||
             (client->waits == 0 && client->lines.is_flushed() && client->heard < idle);
    });
    if (settings_.until_idle && had_jobs_ && jobs_.empty()) {
      is_ended_ = std::ranges::all_of(
          clients_, [](const auto& client) { return client->lines.is_flushed(); });
    }
  }
  unlink(settings_.socket.c_str());
  spdlog::info("ended; {}",
               jobs_.empty() ? "no job is left" : fmt::format("{} jobs are left", jobs_.size()));
}

}  // namespace

void serve(const ServeSettings& settings, const std::function<ServeSettings()>& reload) {
  Controller(settings, reload).run();
}

}  // namespace ductile
