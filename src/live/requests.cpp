// What users may ask of the controller, and who may ask it; docs/formats/controller.md.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/json_line.hpp"
#include "live/controller.hpp"
#include "live/json_text.hpp"
#include "live/time_slice.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxRequest = std::size_t{4} << 20;
/// Answers that may wait for a client, and for all of a user's.
constexpr std::size_t kMaxAnswers = std::size_t{64} << 20;
/// With so much waiting for it a client is not asked for more.
constexpr std::size_t kManyAnswers = std::size_t{1} << 20;
constexpr std::size_t kMaxClientsOfUser = 1024;
constexpr std::size_t kMaxKey = 255;
constexpr std::uint64_t kUsualHistory = 1000, kMaxHistory = 10'000;

/// What one request may name, and of how many values and fields its JSON may be: to look for a
/// field takes as long as there are fields.
constexpr std::size_t kMaxNames = 10'000, kMaxValues = 100'000, kMaxFields = 1000;
/// How many jobs a user may change at once, one as often as one likes, and how soon one more: each
/// change is in the journal for good.
constexpr int kChangesAtOnce = 20'000;
constexpr auto kChange = std::chrono::milliseconds(50);
/// Of how many jobs that are over an answer to `queue` tells how they ended.
constexpr std::size_t kMaxEnds = 100;

/// Of an array that a world has taken, and that no controller could read again. It stays so.
constexpr const char* kTooManyTasks = "array: it has more than 10000 tasks; submit it in parts";
static_assert(TaskArray::kMost == 10'000);

/// Nobody is let in for so long after there was no descriptor.
constexpr Duration kShortage = whole_seconds(1);

/// What its user did not say: in a reservation, which may be none, no more time than that has.
void set_defaults(Submission& what, const ServeSettings& settings, const Booking* booking) {
  if (what.walltime == Duration{}) {
    what.walltime = settings.default_time;
    if (booking != nullptr && booking->to != kNever) {
      what.walltime = std::min(what.walltime, booking->to - booking->from);
    }
  }
  if (what.memory == 0) what.memory = settings.default_memory;
}

/// How many different lists of nodes (--nodelist, --exclude) the jobs of a user may have.
constexpr std::size_t kMaxLists = 4;
constexpr const char* kNoCells =
    "the lists of nodes of all jobs tell so many sets of nodes apart that there is no room for "
    "another one; use one that another job has, or try again later";

constexpr const char* kForItself = "it would wait for itself";

/// A field of a request; null if it is not there.
const Json& field_of(const Json& request, const char* name) {
  static const Json kNone;
  const auto at = request.find(name);
  return at != request.end() ? *at : kNone;
}

const Json& names_of(const Json& request) {
  static const Json kNone = Json::array();
  const Json& names = field_of(request, "jobs");
  return names.is_null() ? kNone : names;
}

/// What the world keeps with a job: the key with which its user has submitted it, or a random word.
std::string ticket_of(std::uint32_t user, const std::string& key) {
  if (!key.empty()) return fmt::format("{}k{}", user, key);
  static std::random_device random;
  return fmt::format("{}r{:08x}{:08x}", user, random(), random());
}

/// Empty if it has none, or has another user's ticket.
std::string key_of(std::uint32_t user, const std::string& ticket) {
  const std::string before = fmt::format("{}k", user);
  return ticket.starts_with(before) ? ticket.substr(before.size()) : std::string();
}

[[noreturn]] void refuse_jobs() { throw Refused("the cluster takes no jobs now; try again later"); }

/// Of what waits, and becomes another thing elsewhere. `held` and `released` imply `all`.
Change kind_of_change(const Submission& before, const Submission& what) {
  if (what.is_held != before.is_held) return what.is_held ? Change::held : Change::released;
  const bool is_other = what.account != before.account || what.model != before.model ||
                        what.sizes != before.sizes ||
                        Applications::hash_of(what) != Applications::hash_of(before);
  return is_other ? Change::all : Change::some;
}

/// The states as Slurm names them.
std::string_view state_word(const Job& job) {
  if (job.status == Status::held && job.goes_on) return "SUSPENDED";
  if (job.status == Status::held || job.status == Status::pending) return "PENDING";
  if (job.doing == Doing::stopping) return "STOPPING";
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

std::string line_of(const nlohmann::ordered_json& answer) { return JsonText().add(answer).take(); }

std::string_view end_word(std::string_view state) {
  constexpr std::array<std::string_view, 5> kWords{"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED",
                                                   "NODE_FAIL"};
  const auto found = from_word<EndState>(kEndWords, state);
  return found ? kWords[static_cast<std::size_t>(*found)] : "RUNNING";
}

/// May this user have one more connection? If not, that is told. All and each user's are limited,
/// and so are descriptors; for operators, who always get in, another one makes room: that which has
/// asked for nothing for the longest time.
bool Controller::makes_room(std::uint32_t user, bool has_descriptor) {
  const auto is_same = [&](const auto& client) { return client->peer.user == user; };
  const auto same = std::ranges::count_if(clients_, is_same);
  const bool has_many = static_cast<std::size_t>(same) >= kMaxClientsOfUser;
  if (clients_.size() < max_clients_ && !has_many && has_descriptor) return true;
  if (!is_operator(user)) {
    // To look up a name takes a descriptor.
    tell_refusal(
        !has_descriptor ? "no descriptor is left; who is no operator is not let in"
        : has_many
            ? fmt::format("user {} has too many connections; one was refused", name_of_user(user))
            : fmt::format("all {} connections are taken; one of user {} was refused", max_clients_,
                          name_of_user(user)));
    return false;
  }
  // Of others if all are taken, and of this user's own if it has its part.
  const auto can_go = [&](const auto& client) { return has_many ? is_same(client) : true; };
  auto oldest = clients_.end();
  for (auto at = clients_.begin(); at != clients_.end(); ++at) {
    if ((*at)->lines.is_closed() || !can_go(*at)) continue;
    const auto order = [&](const auto& client) {
      return std::tuple(is_operator(*client), client->is_waiting(), client->heard);
    };
    if (oldest == clients_.end() || order(*at) < order(*oldest)) oldest = at;
  }
  if (oldest == clients_.end()) return !has_many && !has_descriptor;
  (*oldest)->lines.close();  // and it is forgotten at the end of this turn
  spdlog::warn("an operator needs a connection; one of user {} was closed",
               name_of_user((*oldest)->peer.user));
  return true;
}

/// Who is refused may try again at once; not each time is told.
void Controller::tell_refusal(const std::string& why) {
  if (refusals_.take(std::chrono::steady_clock::now())) spdlog::warn(why);
}

/// After `accept` has failed: nobody may be there, or there may be no descriptor.
void Controller::wait_for_descriptors() {
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
    // Who waits stays at the door, where it would call for us again and again.
    spdlog::warn("no connection can be taken now: {}", std::strerror(errno));
    accept_at_ = clock_.now() + kShortage;
  }
}

/// A controller that is not root's could run the jobs of others only as its own.
bool Controller::may_come(std::uint32_t user) {
  return geteuid() == 0 || user == geteuid() || user == 0;
}

/// As many as there is time for: others may come as fast as they are let in.
void Controller::accept_clients() {
  bool is_short = false;
  for (const TimeSlice slice(TimeSlice::kPart); !slice.is_over();) {
    if (!spare_) spare_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    auto socket = accept_from(listener_);
    const bool has_descriptor = socket || (errno != EMFILE && errno != ENFILE);
    if (!has_descriptor && spare_) {
      spare_.reset();
      socket = accept_from(listener_);
    }
    if (!socket) {
      wait_for_descriptors();
      break;
    }
    const auto peer = peer_of(*socket);
    if (!peer) continue;
    if (!may_come(peer->user)) continue;
    if (!makes_room(peer->user, has_descriptor)) {
      // It is closed; an operator may be behind it.
      is_short = is_short || !has_descriptor;
      continue;
    }
    std::vector<gid_t> groups = groups_of_peer(*socket);
    let_in(std::move(*socket), *peer, std::move(groups));
  }
  if (is_short) accept_at_ = clock_.now() + kShortage;
}

void Controller::let_in(Descriptor socket, const Owner& peer, std::vector<gid_t> groups) {
  clients_.push_back(std::make_unique<Client>(
      Client{.id = next_client_++,
             .lines = LineSocket(std::move(socket), kMaxRequest, kMaxAnswers,
                                 line_of({{"ok", false},
                                          {"code", 2},
                                          {"error", "a request has at most 4 MiB; ask in parts"}})),
             .peer = peer,
             .groups = std::move(groups),
             .heard = std::chrono::steady_clock::now()}));
}

/// Who has come by TCP, and has shown who it is.
void Controller::on_event(TcpDoor::Event event) {
  if (const auto* refusal = std::get_if<TcpDoor::Refusal>(&event)) return tell_refusal(*refusal);
  auto& guest = std::get<TcpDoor::Guest>(event);
  if (!may_come(guest.peer.user)) return;
  if (makes_room(guest.peer.user, true)) {
    let_in(std::move(guest.socket), guest.peer, std::move(guest.groups));
  }
}

/// Those that have gone, or have nothing to hear and are silent.
void Controller::forget_clients() {
  std::erase_if(clients_, [&](const auto& client) {
    if (!client->lines.is_closed() && !is_idle(*client)) return false;
    for (const std::uint64_t number : client->waits) waiting_.erase({number, client->id});
    return true;
  });
}

/// Each user in turn, as long as there is time; the rest is for the next turn.
void Controller::serve_clients() {
  const auto is_ready = [](const Client& client) {
    return client.lines.has_line() && !client.is_asking && client.lines.unsent() < kManyAnswers;
  };
  ready_.clear();
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = *clients_[(served_ + i) % clients_.size()];
    if (is_ready(client)) ready_.add(client.peer.user, &client);
    // A line that is too long is noticed by who asks for it.
    if (!client.lines.has_line()) client.lines.next();
  }
  for (const TimeSlice slice(TimeSlice::kTurn); !ready_.empty() && !slice.is_over();) {
    const auto [user, client] = ready_.take();
    serve(*client);
    ++served_;
    if (is_ready(*client)) ready_.add(user, client);
  }
  has_requests_ = !ready_.empty();
}

/// One request.
void Controller::serve(Client& client) {
  const auto line = client.lines.next();
  if (!line) return;
  client.heard = std::chrono::steady_clock::now();
  client.is_owed = true;
  answer_to(client, [&] { return on_line(client, *line); });
}

/// Unless that takes longer.
void Controller::answer_to(Client& client, const std::function<std::string()>& request) {
  const std::string answer = answer_of(request);
  if (!client.is_asking) reply(client.id, answer);
}

/// What came of it, in words where it was refused.
std::string Controller::answer_of(const std::function<std::string()>& request) {
  const auto refused = [&](int code, const std::string& why) {
    return line_of({{"ok", false}, {"code", code}, {"error", why}});
  };
  try {
    return request();
  } catch (const InputError& error) {
    return refused(2, printable(error.what()));
  } catch (const Refused& error) {
    return refused(1, printable(error.what()));
  } catch (const Json::exception&) {
    return refused(2, "the request is not as it should be");
  }
}

Client* Controller::find(std::uint64_t client) {
  const auto at =
      std::ranges::lower_bound(clients_, client, {}, [](const auto& each) { return each->id; });
  return at == clients_.end() || (*at)->id != client ? nullptr : at->get();
}

/// If it is still there.
void Controller::reply(std::uint64_t client, std::string answer) {
  Client* const asker = find(client);
  if (asker == nullptr) return;
  asker->is_asking = false;
  // What it tells may be of an instant that is not durable yet.
  if (instant_) {
    outbox_.emplace_back(client, std::move(answer));
  } else {
    send(*asker, answer);
  }
}

// ---- Long requests ------------------------------------------------------------------------------

/// Does the first part at once, and the others after those that others ask; until all is done
/// nothing else of this client is read.
std::string Controller::in_parts(Client& client, bool is_question, Part part) {
  if (auto answer = part()) return std::move(*answer);
  client.is_asking = true;
  long_.add(client.peer.user, {client.id, is_question, std::move(part)});
  return {};
}

/// Parts of long requests, each user's in turn, and then what could not begin, as long as there is
/// time.
void Controller::go_on() {
  const TimeSlice slice(TimeSlice::kTurn);
  while (!long_.empty() && !slice.is_over()) {
    auto [user, request] = long_.take();
    if (!go_on(request)) long_.add(user, std::move(request));
  }
  // Who submits much does not keep changes waiting, nor the other way round.
  while (may_catch_up() && !slice.is_over()) {
    if (!is_busy() && !late_.empty()) catch_up(late_);
    if (!adding_ && !late_submissions_.empty()) catch_up(late_submissions_);
  }
}

/// One part. It was the last one: true.
bool Controller::go_on(LongRequest& request) {
  if (request.is_question && find(request.client) == nullptr) return true;
  std::optional<std::string> done;
  const std::string answer = answer_of([&] {
    done.emplace();  // also if it is refused
    done = request.part();
    return done.value_or("");
  });
  if (!done) return false;
  reply(request.client, answer);
  has_requests_ = true;  // it may have asked more meanwhile
  return true;
}

/// One request that could not begin before.
void Controller::catch_up(Turns<LateRequest>& late) {
  const LateRequest request = late.take().second;
  Client* const client = find(request.client);
  if (client == nullptr) return;
  client->is_asking = false;
  answer_to(*client, [&] { return on_request(*client, parse_request(request.line)); });
  has_requests_ = true;
}

/// While the tasks of an array are added no other job gets a number, while they are changed no
/// other one is, and nothing is done to the array; nor does who submits or changes one now go
/// before those who have waited for that.
bool Controller::must_wait(const Json& request) const {
  const std::string& verb = request["do"].get_ref<const std::string&>();
  if (verb == "submit") return adding_ || !late_submissions_.empty();
  if (verb == "update" && (changing_ || !late_.empty())) return true;
  if (verb == "reserve") return changing_.has_value();  // which has been found possible
  if (!is_busy()) return false;
  static constexpr std::array<std::string_view, 9> kChanges{
      "cancel", "requeue", "hold", "release", "resize", "migrate", "update", "suspend", "resume"};
  if (std::ranges::count(kChanges, verb) == 0) return false;
  const auto is_under_way = [&](const Json& name) {
    const std::uint64_t number = parse_name(name).number;
    if (adding_ && adding_->has(number)) return true;
    if (!changing_) return false;
    const Batch& batch = *changing_->batch;
    return number - batch.number < std::max<std::size_t>(batch.tasks.size(), 1);
  };
  const Json& jobs = names_of(request);
  return is_under_way(field_of(request, "job")) ||
         (jobs.is_array() && std::ranges::any_of(jobs, is_under_way));
}

void Controller::send(Client& client, std::string_view answer) {
  client.is_owed = client.has_part = false;
  client.lines.send(answer);
  keep_to_bounds(client);
}

/// What is written of a long answer goes before the rest is there, unless it may be of an instant
/// that is not durable yet: then it goes with what follows.
void Controller::send_part(std::uint64_t client, JsonText& text) {
  Client* const asker = find(client);
  if (asker == nullptr || instant_) return;
  asker->has_part = true;
  asker->lines.send_part(text.so_far());
  text.clear();
  keep_to_bounds(*asker);
}

/// A user's clients together may let as much wait as one of them.
void Controller::keep_to_bounds(Client& client) const {
  if (client.lines.unsent() == 0) return;
  std::size_t all = 0;
  for (const auto& each : clients_) {
    if (each->peer.user == client.peer.user) all += each->lines.unsent();
  }
  if (all > kMaxAnswers) {
    spdlog::warn("user {} does not read its answers; a connection was closed",
                 name_of_user(client.peer.user));
    client.lines.close();
  }
}

Controller::Json Controller::parse_request(const std::string& line) {
  const JsonExtent extent = extent_of(line);
  if (extent.values >= kMaxValues || extent.fields > kMaxFields) {
    throw InputError(
        fmt::format("a request is of {} values and {} fields at most", kMaxValues, kMaxFields),
        "ask for less at a time");
  }
  Json request = parse_json_line<Json>(line);
  if (!request.is_object() || !request.contains("do") || !request["do"].is_string()) {
    throw InputError("a request is a JSON object with \"do\"", "see docs/formats/controller.md");
  }
  return request;
}

std::string Controller::on_line(Client& client, const std::string& line) {
  const Json request = parse_request(line);
  if (!must_wait(request)) return on_request(client, request);
  client.is_asking = true;
  auto& late = request["do"] == "submit" ? late_submissions_ : late_;
  late.add(client.peer.user, {client.id, line});
  return {};
}

std::string Controller::on_request(Client& client, const Json& request) {
  const std::string verb = request["do"];
  if (verb == "submit") return on_submit(client, request);
  if (verb == "wait") return on_wait(client, request);
  if (verb == "queue") return on_queue(client, request);
  if (verb == "nodes") return on_nodes();
  if (verb == "history") return on_history(client, request);
  if (verb == "explain" || verb == "predict") {
    verb == "explain" ? on_explain(client, request) : on_predict(client, request);
    return {};
  }
  if (verb == "resize") return line_of(on_resize(client, request));
  if (verb == "migrate") return line_of(on_migrate(client, request));
  if (verb == "update") return on_update(client, request);
  if (verb == "drain") return line_of(on_drain(client, request));
  if (verb == "reserve") return line_of(on_reserve(client, request));
  if (verb == "unreserve") return line_of(on_unreserve(client, request));
  if (verb == "reservations") return line_of(on_reservations());
  if (verb == "power") return line_of(on_power(client, request));
  if (verb == "cancel") return on_end(client, request, Ending::cancelled);
  if (verb == "suspend") return on_suspend(client, request);
  if (verb == "resume") return on_resume(client, request);
  if (verb == "requeue") return on_end(client, request, Ending::requeued);
  if (verb == "hold") return on_hold(client, request, true);
  if (verb == "release") return on_hold(client, request, false);
  if (verb == "job") return on_job(client, request);
  throw InputError("there is no request '" + verb + "'", "see docs/formats/controller.md");
}

/// A program in a job, which the world talks to from here on: its connection is closed here.
std::string Controller::on_job(Client& client, const Json& request) {
  if (is_lost_) throw Refused("what runs the jobs is out of reach; try again later");
  if (!world_.adopt(client.lines, client.peer, request)) {
    throw Refused("this controller runs no jobs of Slurm");
  }
  return {};
}

/// The second answer of `submit --wait`, once more: its first connection may have gone.
std::string Controller::on_wait(Client& client, const Json& request) {
  const Json name = request.value("job", Json());
  const auto row = name.is_number_unsigned() ? journal_.job(name) : std::nullopt;
  if (!row) throw InputError("there is no job " + name.dump(), "see `ductile history`");
  if (row->owner.user != client.peer.user && !is_operator(client)) {
    throw Refused(fmt::format("job {} is not yours", row->number));
  }
  if (row->array != 0 && row->array != row->number) {
    throw InputError("one waits for all tasks of an array", fmt::format("name {}", row->array));
  }
  return wait_for(client, line_of({{"ok", true}, {"job", row->number}}), row->number);
}

/// The client hears how this job, or all tasks of this array, ended: with this answer if that is
/// known.
std::string Controller::wait_for(Client& client, std::string answer, std::uint64_t number) {
  if (jobs_.batch(number) == nullptr) return answer + "\n" + outcome(number);
  waiting_.emplace(number, client.id);
  client.waits.insert(number);
  return answer;
}

JobSpec Controller::spec_within_limits(const Submission& what) const {
  if (!what.impossible.empty()) {
    // The core never shows it.
    JobSpec spec;
    spec.priority = what.priority;
    spec.type = what.type;
    spec.walltime = std::max(what.walltime, kTick);
    spec.size = exactly(1);
    spec.preferred = 1;
    return spec;
  }
  JobSpec spec = spec_of(what, machine());
  if (const Booking* const booking = booking_of(what)) {
    const Platform platform = machine();
    const Nodes there =
        intersection(nodes_of(where_of(what, platform), platform), booking->nodes).count();
    if (spec.preferred > there) {
      throw InputError({.field = "nodes"},
                       fmt::format("{} are more than the {} of reservation {} where it may run",
                                   spec.preferred, there, booking->name),
                       "ask for fewer");
    }
    spec.size.max = std::min(spec.size.max, there);
  }
  // Alone a job always runs that was submitted when its user might have more.
  const auto most = std::min<std::uint64_t>(spec.size.max, user_limits().nodes);
  spec.size.max = std::max(static_cast<Nodes>(most), spec.preferred);
  return spec;
}

/// Where it may run, as the core is told it; null: it asks for nothing of the kind.
std::shared_ptr<const Where> Controller::where_within(const Submission& what) const {
  const Platform platform = machine();
  // One that cannot run is never shown.
  const Booking* const booking = booking_of(what);
  if ((platform.classes.empty() && platform.partitions.empty() && what.only.empty() &&
       what.never.empty() && booking == nullptr) ||
      !what.impossible.empty()) {
    return nullptr;
  }
  Where where = where_of(what, platform);
  if (booking != nullptr) where.booking = booking->id;
  return where == Where{} ? nullptr : std::make_shared<const Where>(std::move(where));
}

const Where& Controller::where_of_job(JobId id) const {
  return core_.state().lanes[index(core_.job(id).spec.lane)].where;
}

/// Whose it is, where some partitions are not for everybody.
void Controller::note_user(Submission& what, std::uint32_t user) const {
  const Platform platform = machine();
  const auto is_for_some = [](const Partition& its) { return !its.users.empty(); };
  what.user.reset();
  if (std::ranges::any_of(platform.partitions, is_for_some)) what.user = user;
}

/// What the core is to be told of it, if a user may have that.
JobSpec Controller::spec_of_user(Submission& what) const {
  count_memory_by_node(what, machine());
  set_defaults(what, settings_, booking_of(what));
  const JobSpec spec = spec_within_limits(what);
  const UserLimits limits = user_limits();
  if (spec.preferred > limits.nodes) {
    throw Refused(fmt::format("you may have {} nodes at a time; ask for fewer", limits.nodes));
  }
  for (const Dependency& each : what.dependencies) {
    if (!was_there(each.job)) {
      throw InputError({.field = "dependency"}, fmt::format("there is no job {}", each.job),
                       "see `ductile queue`");
    }
  }
  return spec;
}

/// In its reservation no job has more time than that has.
void Controller::check_time(const Submission& what) const {
  const Booking* const booking = booking_of(what);
  if (booking == nullptr || booking->to == kNever) return;
  const Duration length = booking->to - booking->from;
  if (what.walltime <= length) return;
  throw InputError({.field = "--time"},
                   fmt::format("{} is more than the {} of reservation {}",
                               limit_text(what.walltime), limit_text(length), booking->name),
                   "ask for less");
}

/// Each list of nodes may tell more sets of nodes apart, of which there is only so much room: for a
/// user's, and for all together.
void Controller::check_lists(const Submission& what, std::uint32_t user, const Batch* known) const {
  const NodeLists lists = lists_of(what);
  if (lists.empty()) return;
  if (jobs_.lists_with(user, lists, known) > kMaxLists) {
    throw Refused(
        fmt::format("your jobs may have {} different lists of nodes at a time; use one of those, "
                    "or try again later",
                    kMaxLists));
  }
  const std::shared_ptr<const Where> where = where_within(what);
  if (where && !core_.state().has_room(*where)) throw Refused(kNoCells);
}

std::string Controller::on_submit(Client& client, const Json& request) {
  if (const std::string partition = world_.slurm_partition(); !partition.empty()) {
    return line_of({{"ok", false},
                    {"code", 1},
                    {"error", "jobs are submitted to Slurm here: sbatch --partition=" + partition},
                    {"slurm_partition", partition}});
  }
  const bool waits = request.value("wait", false);
  const std::string key = request.value("key", std::string());
  if (key.size() > kMaxKey) {
    throw InputError({.field = "key"}, "it is too long", fmt::format("at most {} bytes", kMaxKey));
  }
  const auto answer = [&](Json json, std::uint64_t number) {
    return waits ? wait_for(client, line_of(json), number) : line_of(json);
  };
  if (!key.empty()) {
    if (const auto known = journal_.job_of_key(client.peer.user, key)) {
      return answer({{"ok", true}, {"job", *known}, {"known", true}}, *known);
    }
  }
  const std::uint32_t user = client.peer.user;
  const std::string ticket = ticket_of(user, key);
  const auto under_way = submitting_.find(ticket);
  if (under_way != submitting_.end()) {
    under_way->second.askers.push_back({client.id, waits});
    client.is_asking = true;
    return {};
  }
  // Nothing may be wrong once the world has heard of it.
  const auto read = [&] {
    Submission what = submission_from_json(field_of(request, "job"));
    what.groups = client.groups;
    what.given_priority.reset();
    what.impossible.clear();
    what.unkept.clear();
    what.is_stand_in = false;
    check_priority(client, what.priority, {});
    if (what.memory != 0 && what.memory_per_core != 0) {
      throw InputError({.field = "--mem-per-cpu"}, "memory is asked for by the node already",
                       "leave --mem away");
    }
    attach(what, user);
    note_user(what, user);
    spec_of_user(what);
    check_time(what);
    check_lists(what, user, nullptr);
    return what;
  };
  Submission what = read();
  const std::size_t count = std::max(what.array.count(), 1U);
  std::size_t all = jobs_.all().size() + count, same = jobs_.count_of(user) + count;
  for (const auto& [its_ticket, its] : submitting_) {
    all += its.count();
    same += its.owner.user == user ? its.count() : 0;
  }
  if (all > settings_.max_jobs) {
    throw Refused(
        fmt::format("there may be {} jobs at a time; try again later", settings_.max_jobs));
  }
  if (same > settings_.max_jobs_per_user) {
    throw Refused(fmt::format("you may have {} jobs at a time; try again later",
                              settings_.max_jobs_per_user));
  }

  if (is_lost_ || !world_.submit(client.peer, std::move(what), ticket)) refuse_jobs();
  collect();
  const auto* const arrived = heard_.empty() ? nullptr : std::get_if<Arrived>(&heard_.front());
  const bool is_there = arrived != nullptr && arrived->ticket == ticket && !adding_;
  if (!is_there) {
    submitting_[ticket] = {client.peer, read(), {{client.id, waits}}};
    client.is_asking = true;
    return {};
  }
  // It is answered at once, where it is a job.
  WorldEvent first = std::move(heard_.front());
  heard_.pop_front();
  const std::string line = arrive(std::get<Arrived>(first), client.groups);
  return in_parts(client, false, [this, asker = Submitting::Asker{client.id, waits}, line] {
    return added(asker, line);
  });
}

/// The answer, once all is there.
std::optional<std::string> Controller::added(const Submitting::Asker& asker,
                                             const std::string& line) {
  const std::uint64_t first = adding_->first;
  if (!add_tasks()) return std::nullopt;
  Client* const client = asker.waits ? find(asker.client) : nullptr;
  return client != nullptr ? wait_for(*client, line, first) : line;
}

/// It has a number; `added` adds it. What is told to who has submitted it, of whom these groups are
/// known. Throws Refused if another job has the number.
std::string Controller::arrive(Arrived& arrived, const std::optional<std::vector<gid_t>>& groups) {
  arrived.what.booking = BookingId::none;
  make_sound(arrived.what, arrived.owner.user, nullptr);
  arrived.what.groups = groups;
  arrived.what.given_priority.reset();
  const std::uint64_t first = arrived.number;
  const std::size_t count = std::max(arrived.what.array.count(), 1U);
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 62U;
  if (first == 0 || first > kHighest || journal_.knows(first, first + count)) {
    const std::string why =
        fmt::format("the cluster has given the number {} to a job, which {}", first,
                    first == 0 || first > kHighest ? "is none" : "another one has");
    spdlog::error("{}; it is refused", why);
    throw Refused(why);
  }
  open();
  const std::uint32_t user = arrived.owner.user;
  const std::string key = key_of(user, arrived.ticket);
  if (!key.empty() && !journal_.job_of_key(user, key)) journal_.key(user, key, first);
  begin_adding(arrived.owner, std::move(arrived.what),
               std::clamp(arrived.submitted, Time{}, instant()), first);
  spdlog::info("job {}: submitted by {}{}", first, name_of_user(user),
               count > 1 ? fmt::format(", {} tasks", count) : "");
  had_jobs_ = true;
  Json json = {{"ok", true}, {"job", first}};
  if (adding_->row.array != 0) json["tasks"] = count;
  return line_of(json);
}

/// What comes from a world may be anybody's, whatever ticket it has, and perhaps such as cannot run
/// here: that is held, and says why.
void Controller::make_sound(Submission& what, std::uint32_t user, const Batch* known) const {
  what.impossible.clear();
  what.is_stand_in = false;
  const auto hold = [&](const std::string& why) {
    what = stand_in_for(what);
    what.walltime = settings_.default_time;
    what.impossible = why;
  };
  if (what.array.is_too_large()) return hold(kTooManyTasks);
  try {
    // The next controller reads it from the journal.
    what = submission_from_json(Json::parse(line_of(to_json(what))));
  } catch (const std::exception& error) {
    return hold(printable(error.what()));
  }
  set_defaults(what, settings_, booking_named(what.reservation));
  what.impossible = why_impossible(what, user, false, known);
}

/// Empty: it can run here, as things are, and has the reservation that it names. One that was
/// accepted may be larger than what its user may have by now.
std::string Controller::why_impossible(Submission& what, std::uint32_t user, bool is_accepted,
                                       const Batch* known) const {
  if (!what.unkept.empty()) return what.unkept;
  try {
    if (what.booking == BookingId::none) attach(what, user);
    note_user(what, user);
    count_memory_by_node(what, machine());
    const JobSpec spec = spec_within_limits(what);
    if (!is_accepted) {
      check_time(what);
      check_lists(what, user, known);
    }
    if (!is_accepted && spec.preferred > user_limits().nodes) {
      throw InputError({.field = "nodes"}, fmt::format("its user may have {}", user_limits().nodes),
                       "ask for fewer");
    }
    for (const Dependency& each : what.dependencies) {
      if (!was_there(each.job)) {
        throw InputError({.field = "dependency"}, fmt::format("there is no job {}", each.job),
                         "name another one");
      }
    }
  } catch (const InputError& error) {
    return printable(error.what());
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "";
}

/// The machine, or what users may have, is another one than when they were looked at.
void Controller::judge_all_fits() {
  for (const auto& [id, job] : jobs_.all()) unjudged_.insert(job.batch->number);
}

/// As many as there is time for, while nothing else is added or changed.
void Controller::judge_fits() {
  for (const TimeSlice slice(TimeSlice::kTurn); judges_fits() && !slice.is_over();) {
    const std::uint64_t number = *unjudged_.begin();
    unjudged_.erase(unjudged_.begin());
    judge_fit(number);
  }
}

/// What waits, and can no longer run here, is held and says why, until it can (again); and of a job
/// that may be as large as the machine the core knows how large that is.
void Controller::judge_fit(std::uint64_t number) {
  const std::shared_ptr<Batch> batch = jobs_.shared_batch(number);
  if (!batch) return;
  if (batch->what.is_stand_in) return;
  std::vector<JobId> jobs = jobs_named({number, std::nullopt});
  std::erase_if(jobs, [&](JobId id) { return runs(id); });
  if (jobs.empty()) return;
  const std::string before = batch->what.impossible;
  Submission its = batch->what;
  its.impossible.clear();
  const std::uint32_t user = jobs_.at(jobs.front()).row.owner.user;
  std::string why = why_impossible(its, user, before.empty(), batch.get());
  if (why.empty() && !before.empty() && waits_for(number, its.dependencies)) why = kForItself;
  if (const auto next = why.empty() ? where_within(its) : nullptr;
      next && *next != where_of_job(jobs.front()) && !core_.state().has_room(*next)) {
    why = kNoCells;
  }
  const JobSpec spec = why.empty() ? spec_within_limits(its) : core_.job(jobs.front()).spec;
  const std::shared_ptr<const Where> where =
      why.empty() ? where_within(its) : std::make_shared<const Where>(where_of_job(jobs.front()));
  const auto is_known = [&](JobId id) {
    return core_.job(id).spec.size == spec.size && where_of_job(id) == (where ? *where : Where{});
  };
  if (why == before && std::ranges::all_of(jobs, is_known)) return;
  if (why != before) {
    spdlog::info("job {}: {}{}", number,
                 why.empty() ? "it can run here" : "it cannot run here: ", why);
  }
  // At once, so that none begins that does not fit.
  jobs_.set_changing(*batch, true);
  for (const JobId id : jobs) hide(id);
  changing_ = Changing{batch, std::move(jobs), spec, where};
  if (why == before) {
    begin_change();
  } else {
    Submission what = submission_from_json(Json::parse(journal_.submission(number)));
    what.impossible = why;
    what.booking = its.booking;
    begin_change(std::move(what));
  }
  Part part = of_change([this]() -> std::optional<std::string> {
    return change_tasks() ? std::optional<std::string>("") : std::nullopt;
  });
  if (!part()) long_.add(user, {.part = std::move(part)});
}

/// Something that they wait for may have come.
void Controller::judge_those_that_wait_for(std::uint64_t first, std::uint64_t end) {
  for (const std::uint64_t number : jobs_.impossible()) {
    const auto is_among = [&](const Dependency& each) {
      return each.job >= first && each.job < end;
    };
    if (std::ranges::any_of(jobs_.batch(number)->what.dependencies, is_among)) {
      unjudged_.insert(number);
    }
  }
}

/// As `ductile update` does it, but it is so, whoever may wish what.
void Controller::on_changed(Arrived& arrived) {
  const std::optional<JobRow> row = journal_.job_of_id(arrived.was);
  if (!row) {
    spdlog::error("the cluster tells of another job that was number {}, which there never was",
                  index(arrived.was));
    return;
  }
  const std::shared_ptr<Batch> batch =
      jobs_.shared_batch(row->array != 0 ? row->array : row->number);
  if (!batch) return;  // it is over
  const std::vector<JobId> jobs = jobs_named({batch->number, std::nullopt});
  const Submission before = submission_from_json(Json::parse(journal_.submission(batch->number)));
  Submission what = std::move(arrived.what);
  what.type = before.type;
  what.array = before.array;
  what.booking = what.reservation == before.reservation ? before.booking : BookingId::none;
  const std::uint32_t user = jobs_.at(jobs.front()).row.owner.user;
  make_sound(what, user, batch.get());
  what.given_priority = before.given_priority;
  what.groups = before.groups;
  if (before.impossible == kTooManyTasks) {
    what.impossible = kTooManyTasks;
    what.is_stand_in = true;
  }
  if (what.impossible.empty() && waits_for(batch->number, what.dependencies)) {
    what.impossible = kForItself;
  }
  Submission longer = before;
  if (what.impossible.empty()) longer.walltime = what.walltime;
  const bool waits = std::ranges::none_of(jobs, [&](JobId id) { return runs(id); });
  if (!waits) what = longer;
  if (to_json(what) == to_json(before)) return;
  spdlog::info("job {}: it was changed in the cluster{}{}", batch->number,
               what.impossible.empty() ? "" : ", and cannot run here: ", what.impossible);
  // Those that wait while another task runs are as before, but for their limit.
  const JobSpec spec = core_.job(jobs.front()).spec;
  changing_ = Changing{batch, jobs, waits ? spec_within_limits(what) : spec};
  changing_->where = waits ? where_within(what) : nullptr;
  if (waits) {
    jobs_.set_changing(*batch, true);
    changing_->spec.account = account_of(what);
    changing_->kind = kind_of_change(before, what);
  }
  Part part = of_change([this, what = std::move(what), longer = std::move(longer), spec,
                         is_hidden = !waits]() mutable -> std::optional<std::string> {
    try {
      if (!is_hidden && !hide_tasks()) return std::nullopt;
    } catch (const Refused&) {
      // All are over, or one has begun meanwhile.
      if (changing_->jobs.empty()) {
        end_change();
        return "";
      }
      what = std::move(longer);
      changing_->spec = spec;
      changing_->kind = Change::some;
    }
    is_hidden = true;
    if (!changing_->is_begun) begin_change(std::move(what));
    return change_tasks() ? std::optional<std::string>("") : std::nullopt;
  });
  if (!part()) long_.add(user, {.part = std::move(part)});
}

/// Of somebody who waits for his answer, or who has gone, or of another controller's.
void Controller::on_happened(Arrived& arrived) {
  if (arrived.was != JobId::none) return on_changed(arrived);
  std::vector<Submitting::Asker> askers;
  std::optional<std::vector<gid_t>> groups;
  const std::uint32_t user = arrived.owner.user;
  if (const auto its = submitting_.find(arrived.ticket);
      its != submitting_.end() && its->second.owner.user == user) {
    askers = std::move(its->second.askers);
    groups = std::move(its->second.what.groups);
    submitting_.erase(its);
  }
  if (askers.empty()) askers.emplace_back();
  const std::uint64_t first = arrived.number;
  std::string line;
  try {
    line = arrive(arrived, groups);
  } catch (const Refused& refused) {
    for (const auto& [client, waits] : askers) {
      reply(client, answer_of([&]() -> std::string { throw refused; }));
    }
    has_requests_ = true;
    return;
  }
  // The others are told that it is known.
  for (std::size_t i = 1; i < askers.size(); ++i) {
    const auto [client, waits] = askers[i];
    Client* const asker = find(client);
    if (asker == nullptr) continue;
    const std::string known = line_of({{"ok", true}, {"job", first}, {"known", true}});
    reply(client, waits ? wait_for(*asker, known, first) : known);
    has_requests_ = true;  // it may have asked more meanwhile
  }
  if (auto done = added(askers.front(), line)) {
    reply(askers.front().client, std::move(*done));
    has_requests_ = true;
    return;
  }
  long_.add(user, {.client = askers.front().client,
                   .part = [this, asker = askers.front(), line] { return added(asker, line); }});
}

/// The world was out of reach, and what it was told may have been lost.
void Controller::submit_again() {
  for (auto at = submitting_.begin(); at != submitting_.end();) {
    const auto& [ticket, its] = *at;
    if (world_.submit(its.owner, its.what, ticket)) {
      ++at;
      continue;
    }
    for (const auto& [client, waits] : its.askers) {
      reply(client, answer_of([]() -> std::string { refuse_jobs(); }));
    }
    has_requests_ = true;
    at = submitting_.erase(at);
  }
}

/// What the tasks of an array have in common, or a job; `add_tasks` adds them.
void Controller::begin_adding(const Owner& owner, Submission what, Time submitted,
                              std::uint64_t first, std::size_t next) {
  Adding its;
  its.first = first;
  its.next = next;
  its.text = line_of(to_json(what));
  its.asked = what.walltime;
  its.is_kept = JobRegistry::is_conditional(what, user_limits());
  its.spec = spec_within_limits(what);
  its.where = where_within(what);
  its.spec.user = owner.user;
  its.spec.group = owner.group;
  its.spec.account = account_of(what);
  its.spec.submitted = submitted;
  if (settings_.predicts) its.spec.walltime = predictions_.walltime(owner.user, its.asked);
  if (its.spec.type != JobType::rigid || what.watts > 0) its.adaptive = adaptive_spec_of(what);
  its.row = {.owner = owner,
             .name = what.name,
             .type = std::string(word(what.type)),
             .account = what.account,
             .submitted = submitted,
             .held = what.is_held ? Hold::user : Hold::none};
  if (!what.array.empty()) its.row.array = first;
  its.batch = jobs_.shared_batch(first);
  if (!its.batch) its.batch = jobs_.add_batch(first, std::move(what));
  jobs_.expect_more(*its.batch);
  if (its.adaptive) its.learned = learned(owner.user, *its.batch);
  adding_ = std::move(its);
}

/// Its number; written, if it is new.
std::uint32_t Controller::account_of(const Submission& what) {
  const std::size_t known = accounts_.names().size();
  const std::uint32_t number = accounts_.number(what.account);
  if (number <= known) return number;
  open();
  journal_.account(number, what.account);
  return number;
}

/// What the runs before have shown of its application, if that is believed.
std::optional<Speedup> Controller::learned(std::uint32_t user, const Batch& batch) const {
  if (settings_.models == Models::declared) return std::nullopt;
  return model_of(applications_.seen({user, batch.application}),
                  batch.what.processes_per_node(core_.state().platform),
                  settings_.models == Models::guessed);
}

/// As many as there is time for. All of them are there: true.
bool Controller::add_tasks() {
  Adding& its = *adding_;
  open();
  const std::vector<std::uint32_t>& tasks = its.batch->tasks;
  const std::size_t count = std::max<std::size_t>(tasks.size(), 1);
  for (const TimeSlice slice(TimeSlice::kPart); its.next < count;) {
    const JobId id{core_.state().jobs.size()};
    its.row.id = id;
    its.spec.name = its.row.number = its.first + its.next;
    jobs_.expect(id, its.row.number);
    its.row.task = tasks.empty() ? 0 : tasks[its.next];
    tell(event::Submitted{its.spec, its.adaptive, its.where});
    metrics_.submitted(its.spec.type);
    predictions_.submitted(id, its.asked, its.spec.walltime);
    if (its.learned) tell(event::Believed{id, 0, 0, 0, its.learned});
    if (its.is_kept) tell(event::Eligible{id, false});
    journal_.submitted(its.row, its.row.number == its.first ? its.text : "");
    jobs_.add(its.row, its.batch, core_.job(id));
    if (++its.next < count && slice.is_over()) return false;
  }
  jobs_.is_whole(*its.batch);
  judge_those_that_wait_for(its.first, its.end());
  adding_.reset();
  return true;
}

/// Why a job does not run; empty if it does.
std::string_view Controller::reason_of(JobId id) const {
  const Job& job = core_.job(id);
  if (job.status == Status::running) return world_.signs(id).is_silent ? "ResizeUnanswered" : "";
  if (job.status == Status::held) {
    const LiveJob& its = jobs_.at(id);
    // What could not run here, and can now, is not looked at yet.
    const bool is_new = its.wait == Wait::impossible && its.what().impossible.empty();
    return kWaitWords[static_cast<std::size_t>(is_new ? Wait::unknown : its.wait)];
  }
  if (job.claim != ClaimId::none) return "Claim";
  if (core_.state().awaits_booking(job)) return "Reservation";
  const State& state = core_.state();
  const Nodes least = state.smallest(job);
  if (!state.bookings.empty() && state.idle_for(job) < least &&
      state.idle_in(state.usable_cells(job), nullptr) >= least) {
    return "Reservation";
  }
  if (state.exceeds_budget(job)) return "PowerNotAvail";
  if (job.reserved == kNever && !is_first(id)) return "Priority";
  return state.lacks_power_alone(job) ? "PowerNotAvail" : "Resources";
}

/// Is nobody before it in the queue who may run on some of its nodes?
bool Controller::is_first(JobId id) const {
  const State& state = core_.state();
  const Heads now{state.changes, state.next_decision, state.passes, state.jobs.size(), {}};
  if (std::tie(heads_.changes, heads_.decisions, heads_.passes, heads_.jobs) !=
      std::tie(now.changes, now.decisions, now.passes, now.jobs)) {
    heads_ = now;
    Cells taken = 0;
    const Cells all =
        state.cells.size() == kMostCells ? kEveryCell : (Cells{1} << state.cells.size()) - 1;
    for (JobId next = state.queue.front(); next != JobId::none && taken != all;
         next = state.queue.after(next, core_.job(next).spec)) {
      const Cells its = state.usable_cells(core_.job(next));
      if ((its & taken) == 0) heads_.jobs_first.push_back(next);
      taken |= its;
    }
  }
  return std::ranges::find(heads_.jobs_first, id) != heads_.jobs_first.end();
}

Controller::Shown Controller::shown(JobId id) const {
  const Job& job = core_.job(id);
  const bool runs = job.status == Status::running;
  Shown its{
      .reason = reason_of(id), .end = runs ? end_of(id) : kNever, .lost = world_.signs(id).lost};
  if (!runs) return its;
  its.believed_w = believed_w(job);
  its.measured_w = measured_w(id);
  if (job.adaptive != Job::kNoRow && core_.state().adaptive[job.adaptive].mtct > 0) {
    its.mtct = core_.state().adaptive[job.adaptive].mtct;
  }
  return its;
}

/// In which partitions a job wants to run.
std::string Controller::partition_of(const Submission& what) const {
  return what.partition.empty() ? partition_names(0, core_.state().platform) : what.partition;
}

/// As the job was at `now`, when it ran or did not: what has begun since then still waits.
void Controller::write_row(JsonText& text, const LiveJob& live, const Job& job, const Shown& its,
                           Time now, bool runs) const {
  const bool has_begun = !runs && job.status == Status::running;
  const auto if_any = [](bool is_there, auto value) {
    return is_there ? std::optional(value) : std::nullopt;
  };
  const auto wall = [&](Time time) { return to_seconds(clock_.wall(time)); };
  const bool has_task = live.row.array != 0;
  const bool has_partitions = !core_.state().platform.partitions.empty();
  const Time begin = live.what().begin;
  const bool is_over = live.what().booking != BookingId::none && !booking_of(live.what());
  text.begin()
      .add("job", live.row.number)
      .add("array_job", if_any(has_task, live.row.array))
      .add("array_task", if_any(has_task, live.row.task))
      .add("name", live.row.name)
      .add("user", name_of_user(live.row.owner.user))
      .add("account", live.row.account)
      .add("state", runs || !has_begun ? state_word(job) : "PENDING")
      .add("reason", has_begun ? "Resources" : its.reason)
      .add("type", word(job.spec.type))
      .add("nodes", runs ? job.holding.count : job.spec.preferred)
      .add("min_nodes", job.spec.size.min)
      .add("max_nodes", job.spec.size.max)
      .add("nodelist", runs ? to_string(job.holding.nodes) : "")
      .add("priority", job.spec.priority)
      .add("submit_s", wall(live.row.submitted))
      .add("begin_s", if_any(begin != Time{}, to_seconds(begin)))
      .add("dependency", to_text(live.batch->open))
      .add("restarts", live.row.restarts)
      .add("cpus_per_task",
           if_any(live.what().cores_per_process != 0, live.what().cores_per_process))
      .add("memory", if_any(live.what().memory != 0, live.what().memory))
      .add("partition", has_partitions ? std::optional(partition_of(live.what())) : std::nullopt)
      .add("gres", live.what().things)
      .add("asked_nodelist", live.what().only)
      .add("excluded_nodelist", live.what().never)
      .add("reservation", is_over ? "" : live.what().reservation)
      .add("watts", if_any(live.what().watts > 0, live.what().watts))
      .add("least_watts",
           if_any(live.what().watts > 0,
                  live.what().least_watts > 0 ? live.what().least_watts : live.what().watts))
      .add("mtct", runs ? its.mtct : std::nullopt)
      .add("believed_w", runs ? its.believed_w : std::nullopt)
      .add("measured_w", runs ? its.measured_w : std::nullopt)
      .add("start_s", if_any(runs, wall(job.started)))
      .add("elapsed_s", runs ? to_seconds(now - job.started) : 0.0)
      .add("time_limit_s", to_seconds(runs ? its.end - job.started : live.what().walltime))
      .add("planned_start_s", if_any(!runs && job.reserved != kNever, wall(job.reserved)))
      .add("resizes", job.expands + job.shrinks)
      .add("note", its.lost.bytes > 0                ? its.lost.text()
                   : !live.what().impossible.empty() ? live.what().impossible
                                                     : live.row.note)
      .add("lost_output", its.lost.bytes)
      .end();
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

/// How a job, or an array, ended that is asked for by its number; null if that is nobody's
/// business, or not known yet.
Json Controller::end_of_job(const Owner& peer, const JobName& name) const {
  const auto end = name.task ? row_named(name) : journal_.end_of(name.number);
  if (!end || end->state.empty() || (end->owner.user != peer.user && !is_operator(peer.user)))
    return {};
  return {{"job", end->number},
          {"array_job", end->array != 0 ? Json(end->array) : Json()},
          {"array_task", end->array != 0 ? Json(end->task) : Json()},
          {"state", end_word(end->state)},
          {"exit_code", end->exit_code ? Json(*end->exit_code) : Json()},
          {"reason", end->reason},
          {"note", end->note},
          {"lost_output", end->lost_output}};
}

/// What users have used lately, whatever the order: node-seconds, and in proportion to their
/// shares.
Json Controller::uses() const {
  const State& state = core_.state();
  const FairShare rules{.half_life = state.traits.fair_share.half_life};
  const std::vector<Standing> used = state.uses.standings(clock_.now(), rules);
  Json rows = Json::array();
  for (const Standing& each : used) {
    const double share = state.traits.fair_share.share_of(each.user);
    rows.push_back({{"user", name_of_user(each.user)}, {"node_s", each.value}, {"share", share}});
  }
  return rows;
}

/// Who has which nodes is of one moment; of those that wait each is shown as it is when its row is
/// written, and one that has gone by then has none.
std::string Controller::on_queue(Client& client, const Json& request) {
  struct Rows {
    std::vector<ShownLater> running{};
    std::size_t written = 0;                               // of these
    std::vector<std::pair<JobId, std::uint64_t>> order{};  // of those that wait; numbers if named
    std::set<JobName> over{};
    std::size_t next = 0;
    JsonText text{};
    Json ended = Json::array();
  };
  const Json& wanted = names_of(request);
  const bool names = !wanted.empty();
  const auto its = std::make_shared<Rows>();
  std::vector<JobId> shown;
  if (wanted.empty()) {
    for (const auto& [id, job] : jobs_.all()) shown.push_back(id);
  }
  for (const JobName& name : names_in(wanted)) {
    const std::vector<JobId> found = jobs_named(name);
    shown.insert(shown.end(), found.begin(), found.end());
    if (found.empty()) its->over.insert(name);
  }

  // Running ones first, then those that wait, in the order in which they do.
  std::vector<bool> is_shown(core_.state().jobs.size());
  for (const JobId id : shown) is_shown[index(id)] = true;
  const auto take = [&](JobId id) {
    if (!is_shown[index(id)]) return;
    is_shown[index(id)] = false;
    its->order.emplace_back(id, names ? number_of(id) : 0);
  };
  const Time now = clock_.now();
  its->text.begin().add("ok", true).add("now_s", to_seconds(clock_.wall(now)));
  const bool is_of_portfolio = policy_->portfolio() != nullptr;
  its->text.add("policy", core_.traits().settings);
  its->text.add("portfolio", is_of_portfolio ? std::optional(settings_.policy) : std::nullopt);
  its->text.add("lost_since_s", lost_since_s());
  its->text.add("lacks", lacks());
  its->text.add("policy_process", policy_process());
  its->text.begin_list("jobs");
  std::ranges::sort(shown);
  for (const JobId id : shown) {
    if (core_.job(id).status != Status::running || !is_shown[index(id)]) continue;
    is_shown[index(id)] = false;
    its->running.push_back({jobs_.at(id), core_.job(id), this->shown(id)});
  }
  core_.state().queue.for_each(take);
  std::ranges::for_each(shown, take);
  return in_parts(
      client, true,
      [this, its, now, names, id = client.id, peer = client.peer]() -> std::optional<std::string> {
        const TimeSlice slice(TimeSlice::kPart);
        const auto more = [&]() -> std::optional<std::string> {
          if (!names) send_part(id, its->text);  // else it may still be refused
          return std::nullopt;
        };
        for (; its->written < its->running.size(); ++its->written) {
          if (slice.is_over()) return more();
          const ShownLater& row = its->running[its->written];
          write_row(its->text, row.live, row.job, row.more, now, true);
        }
        for (; its->next < its->order.size(); ++its->next) {
          if (slice.is_over()) return more();
          const auto [waits, number] = its->order[its->next];
          if (const LiveJob* const job = jobs_.find(waits)) {
            write_row(its->text, *job, core_.job(waits), this->shown(waits), now, false);
          } else if (names) {
            its->over.insert({number, std::nullopt});
          }
        }
        for (; !its->over.empty() && its->ended.size() < kMaxEnds;
             its->over.erase(its->over.begin())) {
          if (slice.is_over()) return more();
          if (Json end = end_of_job(peer, *its->over.begin()); !end.is_null())
            its->ended.push_back(end);
        }
        its->text.end_list();
        if (names) its->text.add("ended", its->ended);
        its->text.add("uses", uses());
        its->text.add("delays", delays_of(Party::Kind::user));
        its->text.add("account_delays", delays_of(Party::Kind::account));
        return its->text.end().take();
      });
}

namespace {

/// Those that have this node.
Json partitions_with(const Platform& platform, std::uint32_t node) {
  Json names = Json::array();
  for (const Partition& each : platform.partitions) {
    if (each.nodes.contains(node)) names.push_back(each.name);
  }
  return names;
}

}  // namespace

/// How a policy in a process of its own does.
std::optional<Json> Controller::policy_process() const {
  if (process() == nullptr) return std::nullopt;
  const PolicyProcess::Account its = process()->account();
  return Json{{"policy", core_.traits().settings},
              {"decides", its.decides},
              {"fallback", its.fallback},
              {"passes", its.passes},
              {"fallbacks", its.fallbacks},
              {"failures", its.failures},
              {"why", its.failures > 0 ? Json(its.why) : Json()},
              {"failed_s", its.when_s ? Json(*its.when_s) : Json()}};
}

std::string Controller::on_nodes() const {
  const State& state = core_.state();
  // Of each node the one that has begun, or begins next.
  const auto booking_of = [&](std::uint32_t node) {
    const Booking* next = nullptr;
    for (const Booking& each : state.bookings) {
      if (each.nodes.contains(node) && (!next || each.from < next->from)) next = &each;
    }
    return next;
  };
  std::vector<std::uint64_t> holders(state.platform.nodes, 0);
  for (const JobId id : state.running) {
    for (const Interval& part : core_.job(id).holding.nodes.parts) {
      for (std::uint32_t node = part.first; node <= part.last; ++node)
        holders[node] = number_of(id);
    }
  }
  const Platform& machine = state.platform;
  std::vector<const NodeClass*> classes(machine.nodes, nullptr);
  for (const NodeClass& each : machine.classes) {
    for (const Interval& part : each.nodes.parts) {
      for (std::uint32_t node = part.first; node <= part.last; ++node) classes[node] = &each;
    }
  }
  NodeSet claimed;
  for (const Claim& claim : state.claims) claimed.insert(claim.held.nodes);
  JsonText text;
  text.begin().add("ok", true).add("lost_since_s", lost_since_s()).add("lacks", lacks());
  text.add("policy_process", policy_process());
  text.begin_list("nodes");
  for (std::uint32_t node = 0; node < state.platform.nodes; ++node) {
    const Health health = state.health[node];
    const bool is_held = holders[node] != 0;
    std::string_view word = is_held ? "ALLOCATED" : claimed.contains(node) ? "RESERVED" : "IDLE";
    const Booking* const booking = booking_of(node);
    if (booking != nullptr && booking->has_begun && !is_held) {
      word = booking->for_jobs ? "RESERVED" : "MAINT";
    }
    if (health == Health::draining) word = is_held ? "DRAINING" : "DRAINED";
    if (health == Health::down) word = "DOWN";
    if (health == Health::off) word = "POWERED_DOWN";
    const Stranger* const stranger = health_.stranger_on(node);
    if (stranger != nullptr) word = "STRANGER";
    const auto said = node_reasons_.find(node);
    std::string reason = said != node_reasons_.end() ? said->second : std::string();
    if (reason.empty() && health_.by_operators(node) == Health::up &&
        health_.by_world(node) != Health::up) {
      reason = "the cluster says so";
    }
    if (health_.gone().contains(node)) reason = "the cluster no longer has it";
    if (stranger != nullptr) reason = stranger->what + (reason.empty() ? "" : "; " + reason);
    text.begin()
        .add("node", node)
        .add("state", word)
        .add("cores", classes[node] ? classes[node]->has.cores : machine.cores_per_node)
        .add("class", classes[node] ? std::optional(classes[node]->name) : std::nullopt)
        .add("partitions", partitions_with(machine, node))
        .add("memory", classes[node] && classes[node]->has.memory_mb > 0
                           ? std::optional(std::uint64_t{classes[node]->has.memory_mb} << 20)
                           : std::nullopt)
        .add("gres", classes[node] ? things_text(classes[node]->has, machine) : "")
        .add("job", is_held ? std::optional(holders[node]) : std::nullopt)
        .add("reservation", booking != nullptr ? std::optional(booking->name) : std::nullopt)
        .add("reason", reason.empty() ? std::nullopt : std::optional(reason))
        .add("stranger", stranger != nullptr ? std::optional(stranger->what) : std::nullopt)
        .end();
  }
  return text.end_list().end().take();
}

std::string Controller::on_history(Client& client, const Json& request) {
  JobFilter filter;
  if (const Json name = request.value("job", Json()); !name.is_null()) {
    const JobRow job = row_asked_for(name, "see `ductile history`");
    const bool is_array = job.array == job.number && !parse_name(name).task;
    filter.from = index(job.id);
    filter.end = is_array ? journal_.end_of_array(job.number) : filter.from + 1;
    filter.is_newest_first = false;
  } else {
    const Json last = request.value("last", Json(kUsualHistory));
    const Json since = request.value("since_s", Json());
    if (!last.is_number_unsigned() || last.get<std::uint64_t>() > kMaxHistory) {
      throw InputError("\"last\" is a number of jobs", fmt::format("at most {}", kMaxHistory));
    }
    if (!since.is_null() && !(since.is_number() && std::abs(since.get<double>()) < 1e12)) {
      throw InputError("\"since_s\" is a time", "write seconds since the epoch");
    }
    filter.most = last;
    if (!since.is_null()) filter.since = clock_.from_wall(Time(seconds(since.get<double>())));
    filter.end = core_.state().jobs.size();
  }
  if (!is_operator(client)) filter.user = client.peer.user;
  const auto text = std::make_shared<JsonText>();
  text->begin().add("ok", true).begin_list("jobs");
  return in_parts(client, true,
                  [this, text, filter, id = client.id]() mutable -> std::optional<std::string> {
                    for (const TimeSlice slice(TimeSlice::kPart); !filter.is_done();) {
                      for (const JobRow& job : journal_.next_jobs(filter))
                        write_history(*text, job);
                      if (!slice.is_over() || filter.is_done()) continue;
                      send_part(id, *text);
                      return std::nullopt;
                    }
                    return text->end_list().end().take();
                  });
}

void Controller::write_history(JsonText& text, const JobRow& job) const {
  const auto wall = [&](Time time) { return to_seconds(clock_.wall(time)); };
  const auto if_any = [](bool is_there, auto value) {
    return is_there ? std::optional(value) : std::nullopt;
  };
  const std::string_view state = !job.state.empty() ? end_word(job.state)
                                 : job.started      ? "RUNNING"
                                                    : "PENDING";
  text.begin()
      .add("job", job.number)
      .add("array_job", if_any(job.array != 0, job.array))
      .add("array_task", if_any(job.array != 0, job.task))
      .add("name", job.name)
      .add("user", name_of_user(job.owner.user))
      .add("account", job.account)
      .add("type", job.type)
      .add("state", state)
      .add("exit_code", job.exit_code)
      .add("reason", job.reason)
      .add("note", job.note)
      .add("lost_output", job.lost_output)
      .add("restarts", job.restarts)
      .add("submit_s", wall(job.submitted))
      .add("start_s", if_any(job.started.has_value(), wall(job.started.value_or(Time{}))))
      .add("end_s", if_any(job.ended.has_value(), wall(job.ended.value_or(Time{}))))
      .add("node_s", static_cast<double>(job.node_us) / 1e6)
      .begin_list("sizes");
  for (const auto& [time, nodes] : job.sizes) {
    text.begin().add("time_s", wall(time)).add("nodes", nodes).end();
  }
  text.end_list().end();
}

bool Controller::is_operator(std::uint32_t user) const {
  return user == 0 || user == geteuid() ||
         std::ranges::find(settings_.operators, user) != settings_.operators.end();
}

/// A user changes so many jobs. What can be done but once to a job, as to cancel it, is free.
void Controller::charge(const Client& client, std::size_t jobs) {
  if (is_operator(client)) return;
  Allowance& its = changes_.try_emplace(client.peer.user, kChangesAtOnce, kChange).first->second;
  if (its.take(std::chrono::steady_clock::now(), static_cast<int>(jobs))) return;
  throw Refused(
      fmt::format("you have changed more than {} jobs of late; {} a second are left to you",
                  kChangesAtOnce, std::chrono::seconds(1) / kChange));
}

/// Going before others is the operators' to give. What one of them has given to a job is its limit.
void Controller::check_priority(const Client& client, std::int32_t priority,
                                std::optional<std::int32_t> given) const {
  if (priority <= given.value_or(settings_.max_priority) || is_operator(client)) return;
  throw Refused(
      given ? fmt::format("an operator gave it the priority {}, and only operators raise "
                          "that",
                          *given)
            : fmt::format("only operators may give a priority above {}", settings_.max_priority));
}

/// A number, that of an array means all its tasks; or "12_3", a task. The number 0: it is no name.
Controller::JobName Controller::parse_name(const Json& name) {
  if (name.is_number_unsigned()) return {name.get<std::uint64_t>(), std::nullopt};
  if (!name.is_string()) return {};
  const std::string text = name;
  std::string_view rest = text;
  JobName its{parse_number<std::uint64_t>(next_part(rest, '_')).value_or(0), std::nullopt};
  if (!rest.empty()) its.task = parse_number<std::uint32_t>(rest);
  return rest.empty() || its.task ? its : JobName{};
}

std::string Controller::text_of(const JobName& name) {
  return std::to_string(name.number) + (name.task ? fmt::format("_{}", *name.task) : "");
}

/// Nothing if there has never been such a job. Of an array it is that of its first task.
std::optional<JobRow> Controller::row_named(const JobName& name) const {
  return name.task ? journal_.job_of_task(name.number, *name.task) : journal_.job(name.number);
}

/// What somebody asks for who asks for one job.
JobRow Controller::row_asked_for(const Json& job, const char* remedy) const {
  const JobName name = parse_name(job);
  if (name.number == 0) throw InputError("a job is a number, or a task like 12_3", remedy);
  auto row = row_named(name);
  if (!row) throw InputError(fmt::format("there is no job {}", text_of(name)), remedy);
  return *std::move(row);
}

/// Each once, however often it is there.
std::set<Controller::JobName> Controller::names_in(const Json& names) const {
  if (!names.is_array()) throw InputError("\"jobs\" is a list of numbers", "");
  if (names.size() > kMaxNames) {
    throw InputError(fmt::format("{} jobs are named", names.size()),
                     fmt::format("name at most {} at a time; an array is one", kMaxNames));
  }
  std::set<JobName> named;
  for (const Json& each : names) {
    const JobName name = parse_name(each);
    if (name.number == 0)
      throw InputError("a job is a number, or a task like 12_3", "see `ductile queue`");
    const bool is_there = !name.task ? was_there(name.number)
                                     : jobs_.task(name.number, *name.task) != JobId::none ||
                                           journal_.knows_task(name.number, *name.task);
    if (!is_there) {
      throw InputError(fmt::format("there is no job {}", text_of(name)), "see `ductile queue`");
    }
    named.insert(name);
  }
  return named;
}

/// The living jobs of a name.
std::vector<JobId> Controller::jobs_named(const JobName& name) const {
  if (!name.task) {
    const Batch* const batch = jobs_.batch(name.number);
    if (batch != nullptr && !batch->what.array.empty()) return jobs_.tasks(name.number);
  }
  const JobId id =
      name.task ? jobs_.task(name.number, *name.task) : jobs_.numbers().id_of(name.number);
  return jobs_.contains(id) ? std::vector{id} : std::vector<JobId>{};
}

/// All that these names mean, if the client may touch it. All are looked up before anything is
/// done, and none is there twice.
std::vector<JobId> Controller::jobs_of(const Client& client, const Json& names) const {
  if (!names.is_array() || names.empty()) throw InputError("no job is named", "name some");
  std::vector<JobId> jobs;
  for (const JobName& name : names_in(names)) {
    const std::vector<JobId> found = jobs_named(name);
    if (found.empty()) {
      throw Refused(fmt::format("job {} is over", text_of(name)));
    }
    for (const JobId id : found) {
      if (jobs_.at(id).row.owner.user != client.peer.user && !is_operator(client)) {
        throw Refused(fmt::format("job {} is not yours", number_of(id)));
      }
      jobs.push_back(id);
    }
  }
  std::ranges::sort(jobs);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

/// Does the same to all of these that are not over by then, and answers that it is done.
std::string Controller::to_each(Client& client, std::vector<JobId> jobs,
                                std::function<void(JobId)> change) {
  return in_parts(client, false,
                  [this, jobs = std::move(jobs), change = std::move(change),
                   next = std::size_t{0}]() mutable -> std::optional<std::string> {
                    for (const TimeSlice slice(TimeSlice::kPart); next < jobs.size();) {
                      if (jobs_.contains(jobs[next])) change(jobs[next]);
                      if (++next < jobs.size() && slice.is_over()) return std::nullopt;
                    }
                    return line_of({{"ok", true}});
                  });
}

/// The first of these jobs, which are in order, that is wrong as all others of its array that are
/// among them; none if in each array one is right.
JobId Controller::first_of_wrong(const std::vector<JobId>& jobs,
                                 const std::function<bool(JobId)>& is_wrong) const {
  const auto array = [&](JobId id) { return jobs_.at(id).batch->number; };
  for (auto first = jobs.begin(); first != jobs.end();) {
    const auto end =
        std::find_if(first, jobs.end(), [&](JobId id) { return array(id) != array(*first); });
    if (std::all_of(first, end, is_wrong)) return *first;
    first = end;
  }
  return JobId::none;
}

/// Those of these jobs that run, or wait. It is refused if a job does not, or no task of an array.
std::vector<JobId> Controller::those_that(const std::vector<JobId>& jobs, bool run) const {
  const auto is_other = [&](JobId id) { return runs(id) != run; };
  if (const JobId wrong = first_of_wrong(jobs, is_other); wrong != JobId::none) {
    throw Refused(fmt::format("job {} {}", number_of(wrong),
                              run ? "waits already" : "does not wait any more"));
  }
  std::vector<JobId> chosen;
  std::ranges::remove_copy_if(jobs, std::back_inserter(chosen), is_other);
  return chosen;
}

/// Those of these jobs that the client may release. It is refused if a job is held by an operator,
/// or all tasks of an array.
std::vector<JobId> Controller::releasable(const Client& client, std::vector<JobId> jobs) const {
  if (is_operator(client)) return jobs;
  const auto is_kept = [&](JobId id) { return jobs_.at(id).row.held == Hold::admin; };
  if (const JobId wrong = first_of_wrong(jobs, is_kept); wrong != JobId::none) {
    throw Refused(fmt::format("job {} is held by an operator, and only operators release it",
                              number_of(wrong)));
  }
  std::erase_if(jobs, is_kept);
  return jobs;
}

/// What an operator holds of others, only operators release.
std::string Controller::on_hold(Client& client, const Json& request, bool holds) {
  std::vector<JobId> jobs = jobs_of(client, names_of(request));
  charge(client, jobs.size());
  jobs = those_that(jobs, false);
  if (!holds) jobs = releasable(client, std::move(jobs));
  return to_each(client, std::move(jobs), [this, holds, user = client.peer.user](JobId id) {
    LiveJob& job = jobs_.at(id);
    const Hold by = user == job.row.owner.user ? Hold::user : Hold::admin;
    // It may have begun meanwhile, or an operator may hold it.
    if (runs(id) || (holds ? job.row.held >= by : job.row.held == Hold::none)) return;
    if (!holds && job.row.held == Hold::admin && !is_operator(user)) return;
    open();
    if (holds) {
      jobs_.hold(id, by);
      if (core_.job(id).status == Status::pending) tell(event::Eligible{id, false});
    } else {
      jobs_.release(id);
    }
    journal_.changed(job.row);
  });
}

/// Ends jobs; those that wait are over at once.
std::string Controller::on_end(Client& client, const Json& request, Ending why) {
  std::vector<JobId> jobs = jobs_of(client, names_of(request));
  if (why == Ending::requeued) {
    charge(client, jobs.size());
    jobs = those_that(jobs, true);
    // What is being ended for good cannot wait again; of an array, the others can.
    const auto is_ending = [&](JobId id) {
      const std::string& ending = jobs_.at(id).row.ending;
      return !ending.empty() && ending != kEndingWords[static_cast<std::size_t>(why)];
    };
    if (const JobId which = first_of_wrong(jobs, is_ending); which != JobId::none) {
      throw Refused(fmt::format("job {} is being ended ({}), and cannot wait again",
                                number_of(which), jobs_.at(which).row.ending));
    }
  }
  return to_each(client, std::move(jobs), [this, why](JobId id) {
    if (core_.job(id).status == Status::running) {
      end(id, why);
    } else if (why == Ending::cancelled && tell(event::Ended{id, EndState::cancelled, false})) {
      on_over(id, EndState::cancelled, {});
    }
  });
}

/// They leave their nodes, with what they did kept, and wait until they are resumed. What an
/// operator suspends of others, only operators resume.
std::string Controller::on_suspend(Client& client, const Json& request) {
  std::vector<JobId> jobs = jobs_of(client, names_of(request));
  charge(client, jobs.size());
  jobs = those_that(jobs, true);
  for (const JobId id : jobs) {
    const Submission& what = jobs_.at(id).what();
    const bool can = core_.state().world_can_stop(core_.job(id), Stop::suspend);
    if (can && what.keeps_data()) continue;
    throw Refused(fmt::format(
        "job {} cannot be suspended: {}; `ductile requeue` has it begin anew", number_of(id),
        !can && core_.state().capabilities.suspends == Suspends::no ? "no job of this cluster can"
        : !can             ? fmt::format("it is {}, and nobody can keep what it has in memory",
                                         word(core_.job(id).spec.type))
        : what.has_steps() ? "it is a script, of which nobody knows how far it is"
        : what.kind != JobKind::mpi ? "a program of this kind makes no checkpoint"
                                    : "its program is no MPI program that says what its data is"));
  }
  return to_each(client, std::move(jobs), [this, user = client.peer.user](JobId id) {
    LiveJob& job = jobs_.at(id);
    if (!runs(id) || !tell(event::StopOrdered{id, Stop::suspend})) return;
    job.row.held = user == job.row.owner.user ? Hold::user : Hold::admin;
    journal_.changed(job.row);
  });
}

/// It goes on where it was; or it lost its nodes first, and begins anew, but was to be suspended.
bool Controller::was_suspended(JobId id) const {
  const LiveJob& job = jobs_.at(id);
  return core_.job(id).goes_on || (job.row.held != Hold::none && job.row.restarts > 0);
}

/// What is suspended waits in the queue, and what is still to be suspended runs on.
std::string Controller::on_resume(Client& client, const Json& request) {
  std::vector<JobId> jobs = jobs_of(client, names_of(request));
  charge(client, jobs.size());
  const auto is_other = [&](JobId id) {
    return runs(id) ? !core_.state().is_to_be_suspended(id)
                    : core_.job(id).status != Status::held || !was_suspended(id);
  };
  if (const JobId wrong = first_of_wrong(jobs, is_other); wrong != JobId::none) {
    const std::uint64_t number = number_of(wrong);
    if (!runs(wrong) && jobs_.at(wrong).row.held != Hold::none) {
      throw Refused(fmt::format("job {} is not suspended but held; `ductile release {}` lets it go",
                                number, number));
    }
    throw Refused(fmt::format(
        "job {} is not suspended{}", number,
        runs(wrong) ? "" : fmt::format(" by an order, and waits ({})", reason_of(wrong))));
  }
  std::erase_if(jobs, is_other);
  jobs = releasable(client, std::move(jobs));
  return to_each(client, std::move(jobs), [this](JobId id) {
    LiveJob& job = jobs_.at(id);
    open();
    if (runs(id)) {
      if (!tell(event::StopOrdered{id, std::nullopt})) return;
      job.row.held = Hold::none;
    } else {
      jobs_.release(id);
    }
    journal_.changed(job.row);
  });
}

Json Controller::on_resize(const Client& client, const Json& request) {
  const std::vector<JobId> jobs = jobs_of(client, Json::array({request.value("job", Json())}));
  if (jobs.size() != 1) throw InputError("that is an array", "name one of its tasks, like 12_3");
  charge(client, 1);
  const JobId id = jobs.front();
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

/// To other nodes, at the same size.
Json Controller::on_migrate(const Client& client, const Json& request) {
  const std::vector<JobId> jobs = jobs_of(client, Json::array({request.value("job", Json())}));
  if (jobs.size() != 1) throw InputError("that is an array", "name one of its tasks, like 12_3");
  charge(client, 1);
  const JobId id = jobs.front();
  const Job& job = core_.job(id);
  const std::string text = request.value("off", std::string());
  const auto off = parse_node_set(text);
  if (!off || (!off->empty() && off->parts.back().last >= core_.state().platform.nodes)) {
    throw InputError({.field = "off"}, "these are no nodes of this cluster",
                     fmt::format("there are 0 to {}", core_.state().platform.nodes - 1));
  }
  if (request.value("undo", false)) {
    tell(event::MoveOrdered{id, {}});
    return {{"ok", true}};
  }
  const NodeSet leaves =
      off->empty() && job.status == Status::running ? core_.state().settled(job).nodes : *off;
  if (leaves.empty() || !tell(event::MoveOrdered{id, leaves})) {
    throw Refused(
        job.status != Status::running ? fmt::format("job {} does not run", number_of(id))
        : !sizes_while_running(job.spec.type)
            ? fmt::format("job {} is {}, and stays where it is", number_of(id), word(job.spec.type))
        : !core_.state().capabilities.moves
            ? "jobs of this cluster stay where they are"
            : fmt::format("job {} has none of these nodes, or must stay there", number_of(id)));
  }
  return {{"ok", true}};
}

/// Another submission under the same number: all tasks of an array have one.
std::string Controller::on_update(Client& client, const Json& request) {
  constexpr std::array<std::string_view, 18> kFields{
      "name",       "nodes",       "min",       "max",         "time_us",  "priority",
      "dependency", "begin_us",    "partition", "memory",      "gres",     "nodelist",
      "exclude",    "reservation", "watts",     "least_watts", "features", "qos"};
  const std::vector<JobId> jobs = jobs_of(client, Json::array({request.value("job", Json())}));
  const Json set = request.value("set", Json());
  if (!set.is_object() || set.empty()) throw InputError("nothing is to be changed", "");
  for (const auto& [field, value] : set.items()) {
    if (std::ranges::find(kFields, field) == kFields.end()) {
      throw InputError({.field = field}, "it cannot be changed", "change " + listed(kFields));
    }
  }
  charge(client, jobs.size());
  const std::shared_ptr<Batch> shared = jobs_.at(jobs.front()).batch;
  const Batch& batch = *shared;
  if (batch.what.is_stand_in) {
    throw Refused(fmt::format("job {} cannot run here: {}; change it where it was submitted",
                              batch.number, batch.what.impossible));
  }
  if (jobs.size() != batch.left) {
    throw InputError("all tasks of an array are changed together",
                     fmt::format("name {}", batch.number));
  }
  Json json = Json::parse(journal_.submission(batch.number));
  json.update(set);
  Submission what = submission_from_json(json);
  what.impossible.clear();
  if (set.contains("memory")) what.memory_per_core = 0;
  const std::uint32_t owner = jobs_.at(jobs.front()).row.owner.user;
  if (what.priority != batch.what.priority) {
    check_priority(client, what.priority, what.given_priority);
    if (is_operator(client) && client.peer.user != owner) what.given_priority = what.priority;
  }
  if (set.contains("reservation") || what.booking == BookingId::none) attach(what, owner);
  note_user(what, owner);
  const JobSpec spec = spec_of_user(what);
  const std::shared_ptr<const Where> where = where_within(what);
  if (where && *where != where_of_job(jobs.front())) check_lists(what, owner, &batch);
  if (waits_for(batch.number, what.dependencies)) {
    throw InputError({.field = "dependency"}, "the job would wait for itself", "");
  }
  const auto running = std::ranges::find_if(jobs, [&](JobId id) { return runs(id); });
  const bool waits = running == jobs.end();
  if (waits) check_time(what);
  if (!waits && (set.size() > 1 || !set.contains("time_us"))) {
    throw Refused(only_its_limit(*running));
  }
  if (!waits && what.walltime > batch.what.walltime && !is_operator(client)) {
    throw Refused("only operators may raise the limit of a job that runs");
  }
  const std::string told = fmt::format("job {}: updated by {}: {}", batch.number,
                                       name_of_user(client.peer.user), line_of(set));
  changing_ = Changing{shared, jobs, spec, where};
  if (waits) jobs_.set_changing(*shared, true);
  return in_parts(client, false,
                  of_change([this, what = std::move(what), told,
                             is_hidden = !waits]() mutable -> std::optional<std::string> {
                    if (!is_hidden && !hide_tasks()) return std::nullopt;
                    is_hidden = true;
                    if (!changing_->is_begun) {
                      begin_change(std::move(what));
                      untold_.insert(changing_->batch->number);
                      journal_.write_untold(untold_);
                    }
                    if (!change_tasks()) return std::nullopt;
                    spdlog::info("{}", told);
                    return line_of({{"ok", true}});
                  }));
}

/// A part of a change, which is over if that fails: others wait for its end.
Controller::Part Controller::of_change(Part part) {
  return [this, part = std::move(part)] {
    try {
      return part();
    } catch (...) {
      if (changing_) end_change();
      throw;
    }
  };
}

/// Would a job with these dependencies wait for the one of this number?
bool Controller::waits_for(std::uint64_t number,
                           const std::vector<Dependency>& dependencies) const {
  std::set<std::uint64_t> seen;
  std::vector<std::uint64_t> open;
  const auto add = [&](const std::vector<Dependency>& more) {
    for (const Dependency& each : more) {
      const JobId id = jobs_.numbers().id_of(each.job);
      const std::uint64_t batch = jobs_.contains(id) ? jobs_.at(id).batch->number : each.job;
      if (seen.insert(batch).second) open.push_back(batch);
    }
  };
  add(dependencies);
  while (!open.empty() && !seen.contains(number)) {
    const Batch* const batch = jobs_.batch(open.back());
    open.pop_back();
    if (batch != nullptr) add(batch->open);
  }
  return seen.contains(number);
}

std::string Controller::only_its_limit(JobId id) const {
  return fmt::format("job {} runs; only its limit can be changed", number_of(id));
}

void Controller::hide(JobId id) {
  if (!jobs_.contains(id) || core_.job(id).status != Status::pending) return;
  tell(event::Eligible{id, false});
  jobs_.hide(id);
}

/// The policy sees none of those that are to change, as many as there is time for. All: true. It is
/// refused if one begins meanwhile.
bool Controller::hide_tasks() {
  Changing& its = *changing_;
  for (const TimeSlice slice(TimeSlice::kPart); its.next < its.jobs.size();) {
    hide(its.jobs[its.next]);
    if (++its.next < its.jobs.size() && slice.is_over()) return false;
  }
  its.next = 0;
  std::erase_if(its.jobs, [&](JobId id) { return !jobs_.contains(id); });
  const auto running = std::ranges::find_if(its.jobs, [&](JobId id) { return runs(id); });
  if (running != its.jobs.end() || its.jobs.empty()) {
    throw Refused(its.jobs.empty() ? fmt::format("job {} is over", its.batch->number)
                                   : only_its_limit(*running));
  }
  // One may have failed to start meanwhile.
  for (const JobId id : its.jobs) hide(id);
  return true;
}

/// From now on it will be this, whatever happens.
void Controller::begin_change(Submission what) {
  begin_change();
  Batch& batch = *changing_->batch;
  journal_.altered(batch.number, what.name, what.account, line_of(to_json(what)));
  jobs_.alter(batch, std::move(what));
}

/// It asks for the same, and the machine makes another thing of it.
void Controller::begin_change() {
  changing_->is_begun = true;
  open();
  // What was measured was of what they were.
  if (changing_->kind != Change::some) {
    for (const JobId id : changing_->jobs) {
      if (jobs_.contains(id)) learn_from_measurements(id);
    }
  }
  journal_.changing(changing_->batch->number, changing_->kind);
}

/// As many as there is time for. All: true. The policy sees those that wait again when nothing
/// keeps them back, as after their submission.
bool Controller::change_tasks() {
  Changing& its = *changing_;
  open();
  for (const TimeSlice slice(TimeSlice::kPart); its.next < its.jobs.size();) {
    if (jobs_.contains(its.jobs[its.next])) change(its.jobs[its.next], its);
    if (++its.next < its.jobs.size() && slice.is_over()) return false;
  }
  journal_.is_changed();
  end_change();
  return true;
}

void Controller::change(JobId id, const Changing& its) {
  const JobSpec& spec = its.spec;
  const Submission& what = jobs_.at(id).what();
  if (runs(id)) {
    LiveJob& job = jobs_.at(id);
    if (const auto less = predictions_.asked(core_.state(), id, what.walltime)) tell(*less);
    job.asked_until = asked_until(what, job.row.sizes);
    return predictions_.watch(core_.state(), id);
  }
  hide(id);
  jobs_.alter(id, spec);
  const Duration believed = settings_.predicts
                                ? predictions_.walltime(core_.job(id).spec.user, what.walltime)
                                : what.walltime;
  predictions_.forget(id);
  predictions_.submitted(id, what.walltime, believed);
  event::Altered altered{id, spec.priority, believed, spec.size, spec.preferred};
  if (where_of_job(id) != (its.where ? *its.where : Where{})) {
    altered.where = its.where ? its.where : std::make_shared<const Where>();
  }
  const bool is_another = its.kind != Change::some;
  if (is_another) altered.account = spec.account;
  if (is_another || has_other_watts(id, what)) {
    if (core_.job(id).adaptive != Job::kNoRow) altered.adaptive = adaptive_spec_of(what);
  }
  tell(altered);
  tell_watts(id, what);
  if (const auto model = altered.adaptive ? learned(core_.job(id).spec.user, *its.batch)
                                          : std::optional<Speedup>()) {
    tell(event::Believed{id, 0, 0, 0, model});
  }
  if (is_another && its.kind != Change::all) hold_or_release(id, its.kind == Change::held);
}

/// Its user says of it that it draws another power than before, where the core has a row for that.
bool Controller::has_other_watts(JobId id, const Submission& what) const {
  const std::uint32_t row = core_.job(id).adaptive;
  if (row == Job::kNoRow) return false;
  const AdaptiveSpec& its = core_.state().adaptive[row].spec;
  return its.watts_per_node != what.watts || its.least_watts_per_node != what.least_watts;
}

/// And where it has none: of a rigid job that said nothing when it came.
void Controller::tell_watts(JobId id, const Submission& what) {
  const Job& job = core_.job(id);
  if (job.adaptive != Job::kNoRow) return;
  const double busy_w = core_.state().platform.busy_w_with(job.spec.cores);
  const double watts = what.watts > 0 ? what.watts : busy_w;
  if (watts > 0 && job.power_mw != milliwatts(watts)) tell(event::Believed{id, watts, 0, 0});
}

/// Its user wants it elsewhere. What an operator holds here stays so.
void Controller::hold_or_release(JobId id, bool holds) {
  LiveJob& job = jobs_.at(id);
  if (job.row.held == Hold::admin) return;
  if (holds) {
    jobs_.hold(id, Hold::user);
  } else {
    jobs_.release(id);
  }
  journal_.changed(job.row);
}

void Controller::end_change() {
  jobs_.set_changing(*changing_->batch, false);
  changing_.reset();
}

/// It may have ended between the tasks of an array.
void Controller::change_what_is_left() {
  const auto [number, kind] = journal_.changing();
  const std::shared_ptr<Batch> batch = jobs_.shared_batch(number);
  if (!batch) return;
  std::vector<JobId> jobs = jobs_named({number, std::nullopt});
  const auto what = submission_from_json(Json::parse(journal_.submission(number)));
  changing_ =
      Changing{batch, std::move(jobs), spec_within_limits(what), where_within(what), kind, 0, true};
  changing_->spec.account = account_of(what);
  // A limit that is less than the new one is not what was predicted, but the one before.
  if (!settings_.predicts) {
    std::ranges::for_each(changing_->jobs, [&](JobId id) { predictions_.forget(id); });
  }
  jobs_.set_changing(*batch, true);
  long_.add(0, {.part = of_change([this] {
                  return change_tasks() ? std::optional<std::string>("") : std::nullopt;
                })});
}

Json Controller::on_drain(const Client& client, const Json& request) {
  if (!is_operator(client)) throw Refused("only operators may drain nodes");
  const auto nodes = parse_node_set(request.value("nodes", std::string()));
  const auto health = from_word<Health>(kHealthWords, request.value("health", std::string()));
  if (!nodes || nodes->empty() || nodes->parts.back().last >= core_.state().platform.nodes) {
    throw InputError("these are no nodes of this cluster",
                     fmt::format("there are 0 to {}", core_.state().platform.nodes - 1));
  }
  if (!health || *health == Health::off) {
    throw InputError("nodes can be made \"up\", \"draining\" or \"down\"", "");
  }
  const std::string reason = request.value("reason", std::string());
  if (reason.size() > 255 || !is_printable(reason)) {
    throw InputError({.field = "reason"}, "it is too long, or has a control character",
                     "say why in a few words");
  }
  change_nodes(*nodes, *health, reason);
  spdlog::info("nodes {} are {}{}", to_string(*nodes),
               kHealthWords[static_cast<std::size_t>(*health)],
               reason.empty() ? "" : ": " + reason);
  if (*health == Health::up) {
    const std::string why = why_not_up(*nodes);
    if (why.empty()) return {{"ok", true}};
    return {{"ok", true}, {"note", "not all of them are used again: " + why}};
  }
  if (*health != Health::down) return {{"ok", true}};
  for (const JobId id : core_.state().running) {
    if (core_.job(id).holding.nodes.intersects(*nodes)) end_for_its_nodes(id);
  }
  return {{"ok", true}};
}

// ---- Reservations -------------------------------------------------------------------------------

/// Null if there is none.
const Booking* Controller::booking_named(const std::string& name) const {
  const auto& bookings = core_.state().bookings;
  const auto at = std::ranges::find(bookings, name, &Booking::name);
  return at == bookings.end() ? nullptr : &*at;
}

/// That which a job has; null: it has none, or it is over.
const Booking* Controller::booking_of(const Submission& what) const {
  return core_.state().find(what.booking);
}

/// Here alone a job gets the reservation that it names, if it is for its user: that one for good,
/// also when it is over and another one has its name.
void Controller::attach(Submission& what, std::uint32_t user) const {
  what.booking = BookingId::none;
  if (what.reservation.empty()) return;
  const Booking* const booking = booking_named(what.reservation);
  if (booking == nullptr) {
    throw InputError({.field = "reservation"}, "there is no reservation '" + what.reservation + "'",
                     "see `ductile reserve`");
  }
  if (!booking->is_for(user)) {
    throw Refused(
        fmt::format("reservation {} is not for jobs of {}", booking->name, name_of_user(user)));
  }
  what.booking = booking->id;
}

namespace {

std::uint32_t user_named(const std::string& name) {
  constexpr std::uint32_t kNobody = ~0U;  // no user has this number
  const auto number = parse_number<std::uint32_t>(name);
  if (number && *number != kNobody) return *number;
  if (const passwd* const user = getpwnam(name.c_str())) return user->pw_uid;
  throw InputError({.field = "--users"}, "there is no user '" + printable(name) + "'",
                   name == "all" ? "write all alone, or names with commas between them"
                                 : "write names with commas between them");
}

}  // namespace

Json Controller::on_reserve(const Client& client, const Json& request) {
  if (!is_operator(client)) throw Refused("only operators may reserve nodes");
  const State& state = core_.state();
  Booking booking;
  booking.name = request.value("name", std::string());
  if (!is_booking_name(booking.name)) {
    throw InputError({.field = "NAME"}, "it is no name of a reservation",
                     "use up to 63 letters, digits and _-.+");
  }
  if (booking_named(booking.name) != nullptr) {
    throw InputError({.field = "NAME"}, "there is a reservation '" + booking.name + "'",
                     "remove it first, or use another name");
  }
  const auto time = [&](const char* name, const char* field, Time otherwise) {
    const Json its = request.value(name, Json());
    if (its.is_null()) return otherwise;
    constexpr double kLatest = 253'402'300'799;  // of the year 9999
    if (!its.is_number() || its.get<double>() < 0 || its.get<double>() > kLatest) {
      throw InputError({.field = field}, "it is no time", "write seconds since the epoch");
    }
    return clock_.from_wall(Time(seconds(its.get<double>())));
  };
  const Time now = clock_.now();
  booking.from = time("from_s", "--from", now);
  constexpr Duration kAgo = whole_seconds(60);
  if (later(booking.from, kAgo) < now) {
    throw InputError({.field = "--from"}, "it is over", "leave it away to begin now");
  }
  booking.to = time("to_s", "--to", kNever);
  if (booking.to <= std::max(booking.from, now)) {
    throw InputError({.field = "--to"}, "it ends before it begins, or is over", "say a later time");
  }
  constexpr double kMostWatts = 1e9;
  const Json watts = request.value("watts", Json(0));
  if (!watts.is_number() || !(watts.get<double>() >= 0 && watts.get<double>() <= kMostWatts)) {
    throw InputError({.field = "watts"}, "it is no power", "write watts");
  }
  booking.power_mw = std::llround(watts.get<double>() * 1000);
  const std::string nodes = request.value("nodes", std::string());
  const auto count = request.value("count", Json(0U));
  if (!count.is_number_unsigned()) {
    throw InputError({.field = "--count"}, "it is no number of nodes", "");
  }
  if (const auto most = count.get<std::uint64_t>(); most > 0) {
    const auto placed =
        most <= state.platform.nodes && nodes.empty()
            ? place_booking(state, static_cast<Nodes>(most), booking.from, booking.to)
            : std::nullopt;
    if (!placed) {
      throw InputError({.field = "--count"},
                       nodes.empty() ? "there are not so many that are up and not reserved then"
                                     : "nodes are named as well",
                       "say count or nodes");
    }
    booking.nodes = *placed;
  } else if (!nodes.empty()) {
    const auto named = parse_node_set(nodes);
    if (!named || named->empty() || named->parts.back().last >= state.platform.nodes) {
      throw InputError({.field = "--nodes"}, "these are no nodes of this cluster",
                       fmt::format("there are 0 to {}", state.platform.nodes - 1));
    }
    booking.nodes = *named;
  }
  const Json users = request.value("users", Json::array());
  booking.for_jobs = request.value("anybody", false);
  if (!users.is_array() || users.size() > 1000) {
    throw InputError({.field = "--users"}, "it is no list of users", "name at most 1000");
  }
  for (const Json& each : users) {
    if (!each.is_string()) throw InputError({.field = "--users"}, "it is no list of names", "");
    booking.for_jobs = true;
    booking.users.push_back(user_named(each));
  }
  if (booking.nodes.empty() && booking.power_mw == 0) {
    throw InputError({.field = "--nodes"}, "nothing is reserved", "say nodes, count or watts");
  }
  if (booking.for_jobs && (booking.nodes.empty() || booking.power_mw > 0)) {
    throw InputError({.field = "watts"}, "power is reserved for nobody",
                     "reserve nodes for jobs, and watts in another reservation");
  }
  if (booking.power_mw > 0 && state.budget_mw == State::kNoBudget) {
    throw InputError({.field = "watts"}, "there is no power cap of which they could be kept",
                     "set one with `ductile power --cap`");
  }
  for (const Booking& each : state.bookings) {
    if (!each.overlaps(booking.from, booking.to) || !each.nodes.intersects(booking.nodes)) continue;
    throw InputError({.field = "--nodes"},
                     fmt::format("{} are reserved as {} then",
                                 to_string(intersection(each.nodes, booking.nodes)), each.name),
                     "name others, or another time");
  }
  const std::string name = booking.name, what = to_string(booking.nodes);
  if (!tell(event::Booked{std::move(booking)})) {
    throw InputError(
        "there are too many reservations, or partitions and reservations tell too many "
        "sets of nodes apart",
        "remove one, or use the same nodes as another one");
  }
  journal_.write_booked_ahead(booked_ahead_);
  spdlog::info("reservation {}: nodes {}", name, what.empty() ? "none" : what);
  const Booking& made = *booking_named(name);
  return {{"ok", true},
          {"nodes", what},
          {"from_s", to_seconds(clock_.wall(made.from))},
          {"to_s", made.to == kNever ? Json() : Json(to_seconds(clock_.wall(made.to)))}};
}

Json Controller::on_unreserve(const Client& client, const Json& request) {
  if (!is_operator(client)) throw Refused("only operators may remove reservations");
  const std::string name = request.value("name", std::string());
  const Booking* const known = booking_named(name);
  if (known == nullptr) {
    throw InputError("there is no reservation '" + printable(name) + "'", "see `ductile reserve`");
  }
  Booking ended = *known;
  open();
  ended.to = instant();
  tell(event::Booked{std::move(ended)});
  spdlog::info("reservation {} is removed", name);
  return {{"ok", true}};
}

Json Controller::on_reservations() const {
  Json rows = Json::array();
  for (const Booking& each : core_.state().bookings) {
    Json users = Json::array();
    for (const std::uint32_t user : each.users) users.push_back(name_of_user(user));
    Json jobs = Json::array();
    for (const JobId id : core_.state().running) {
      if (core_.job(id).holding.nodes.intersects(each.nodes)) jobs.push_back(number_of(id));
    }
    rows.push_back({{"name", each.name},
                    {"state", each.has_begun ? "ACTIVE" : "INACTIVE"},
                    {"from_s", to_seconds(clock_.wall(each.from))},
                    {"to_s", each.to == kNever ? Json() : Json(to_seconds(clock_.wall(each.to)))},
                    {"nodes", to_string(each.nodes)},
                    {"watts", static_cast<double>(each.power_mw) / 1000},
                    {"for_jobs", each.for_jobs},
                    {"users", std::move(users)},
                    {"jobs", std::move(jobs)}});
  }
  return {{"ok", true}, {"reservations", std::move(rows)}};
}

}  // namespace ductile
