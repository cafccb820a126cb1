#include "live/local_world.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/json_line.hpp"
#include "job/process.hpp"
#include "live/crash.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestLine = std::size_t{1} << 16;
constexpr std::size_t kMostUnsent = std::size_t{1} << 16;

/// A field of what a manager says; managers are ours, but their users can write to their sockets'
/// folder.
std::uint32_t count_in(const Json& json, const char* field) {
  const auto at = json.find(field);
  if (at == json.end() || !at->is_number_unsigned()) return 0;
  const auto value = at->get<std::uint64_t>();
  return value <= 1U << 24 ? static_cast<std::uint32_t>(value) : 0;
}

std::string text_in(const Json& json, const char* field) {
  const auto at = json.find(field);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// The exit code in the last line of a manager's report, if it lived to write it.
std::optional<int> reported_exit(const std::string& path) {
  constexpr std::streamoff kEnd = 1 << 16;  // its user may have made it long
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(size - kEnd, 0));
  std::string line, last;
  while (size > 0 && std::getline(file, line)) last = line;
  const Json json = parse_json_line(last);
  if (!json.is_object() || text_in(json, "event") != "ended") return std::nullopt;
  const auto code = json.find("exit_code");
  if (code == json.end() || !code->is_number_integer()) return std::nullopt;
  return code->get<int>();
}

std::vector<std::uint32_t> own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<std::uint32_t> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<gid_t> groups_of(const Owner& owner) {
  const passwd* const entry = getpwuid(owner.user);
  if (entry == nullptr) return {owner.group};
  int count = 256;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (getgrouplist(entry->pw_name, owner.group, groups.data(), &count) < 0) return {owner.group};
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

void write_file(const std::string& path, const std::string& text, mode_t mode) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  std::string_view rest = text;
  while (file && !rest.empty()) {
    const ssize_t written = write(file.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!file || !rest.empty()) {
    throw RunError(fmt::format("'{}' cannot be written: {}", path, std::strerror(errno)));
  }
}

}  // namespace

/// A job whose manager lives, or has just ended.
struct LocalWorld::Running {
  JobId id = JobId::none;
  std::uint64_t number = 0;
  std::uint32_t per_node = 1;  // processes
  std::string folder{};
  pid_t child = -1;             // its manager, if this process started it and has not seen it end
  std::optional<int> status{};  // of waitpid
  std::optional<LineSocket> control{};
  Holding holding{};
  std::optional<Decision> order{};  // under way
  bool is_lost = false;             // who was to hear of it is no more: its size will tell
  std::optional<RequestId> request{};
  std::optional<EndState> end{};  // somebody ends it
  Time kill_at = kNever;
  bool is_over = false;

  std::string socket() const { return folder + "/control"; }
  std::string report() const { return folder + "/report"; }
  Nodes nodes(std::uint32_t processes) const { return (processes + per_node - 1) / per_node; }
  void say(const Json& json) {
    if (control) control->send(json.dump());
  }
};

LocalWorld::LocalWorld(const Platform& platform, Settings settings)
    : platform_(platform), settings_(std::move(settings)), cpus_(own_cpus()) {
  getrlimit(RLIMIT_NOFILE, &files_);
  fs::create_directories(settings_.folder);
  // Users reach their own job's folder through it, and see no other.
  fs::permissions(settings_.folder,
                  fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  // More virtual cores than real ones: all share all.
  if (std::uint64_t{platform_.nodes} * platform_.cores_per_node > cpus_.size()) cpus_.clear();
}

LocalWorld::~LocalWorld() = default;

Capabilities LocalWorld::capabilities() {
  return {.instant_start = false, .resizes_per_job = Capabilities::kUnlimited};
}

std::string LocalWorld::folder_of(std::uint64_t number) const {
  return settings_.folder + "/" + std::to_string(number);
}

NodeSet LocalWorld::cpus_of(const NodeSet& nodes) const {
  NodeSet cpus;
  if (cpus_.empty()) return cpus;
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      for (std::uint32_t core = 0; core < platform_.cores_per_node; ++core) {
        const std::uint32_t cpu = cpus_[node * platform_.cores_per_node + core];
        cpus.insert(cpu, cpu);
      }
    }
  }
  return cpus;
}

// ---- Decisions ----------------------------------------------------------------------------------

void LocalWorld::carry_out(Time now, const Decision& decision, const JobFacts& job) {
  now_ = now;
  if (decision.kind == Decision::Kind::start) return start(now, decision, job);
  const auto found = running_.find(decision.job);
  if (found == running_.end()) return;  // it has ended, as the core will hear
  Running& its = *found->second;
  if (decision.kind == Decision::Kind::deny) {
    its.request.reset();
    its.say({{"do", "answer"}, {"size", 0}});
  } else if (decision.kind == Decision::Kind::resize) {
    its.order = decision;
    const bool is_grant = decision.request != RequestId::none && its.request == decision.request;
    if (is_grant) its.request.reset();
    Json order = {{"do", is_grant ? "answer" : "resize"},
                  {"size", decision.after.count * its.per_node},
                  {"id", index(decision.id)}};
    if (const NodeSet cpus = cpus_of(decision.after.nodes); !cpus.empty()) {
      order["cpus"] = to_string(cpus);
    }
    its.say(order);
  }
}

void LocalWorld::start(Time now, const Decision& decision, const JobFacts& job) {
  const Submission& what = *job.what;
  auto its = std::make_unique<Running>();
  its->id = decision.job;
  its->number = job.number;
  its->per_node = what.processes_per_node(platform_);
  its->folder = folder_of(job.number);
  its->holding = decision.after;
  const bool changes_user = geteuid() == 0 && job.owner.user != 0;
  try {
    fs::remove_all(its->folder);
    fs::create_directory(its->folder);
    fs::permissions(its->folder, fs::perms::owner_all);
    std::vector<std::string> words = {settings_.program, "run"};
    const auto add = [&](std::initializer_list<std::string> more) {
      words.insert(words.end(), more);
    };
    const bool is_rigid = what.type == JobType::rigid || what.type == JobType::moldable;
    const std::uint32_t size = what.mpi == Mpi::none ? 1 : decision.after.count * its->per_node;
    add({"--kind", is_rigid ? "rigid" : "mpi", "--mpi",
         std::string(kMpiWords[static_cast<std::size_t>(what.mpi)]), "-n", std::to_string(size)});
    // The scheduler knows which sizes are possible.
    if (!is_rigid) add({"--max", std::to_string(platform_.nodes * its->per_node)});
    add({"--evolving", "ask", "--patience", fmt::format("{}", to_seconds(settings_.patience)),
         "--report", its->report(), "--log", its->folder + "/log"});
    if (const NodeSet cpus = cpus_of(decision.after.nodes); !cpus.empty()) {
      add({"--cpus", to_string(cpus)});
    }

    crash_point();
    Descriptor listener = listen_unix(its->socket());
    crash_point();
    set_blocking(listener, false);
    if (what.script.empty()) {
      add({"--control-fd", std::to_string(listener.get()), "--"});
      words.insert(words.end(), what.program.begin(), what.program.end());
    } else {
      const std::string script = its->folder + "/script";
      write_file(script, what.script, 0700);
      if (changes_user && chown(script.c_str(), job.owner.user, job.owner.group) != 0) {
        throw RunError("'" + script + "' cannot be given to its user");
      }
      add({"--control-fd", std::to_string(listener.get()), "--", script});
      words.insert(words.end(), what.program.begin() + 1, what.program.end());
    }
    // The folder last: until then nobody else can put a link in the place of what is in it.
    if (changes_user && (lchown(its->socket().c_str(), job.owner.user, job.owner.group) != 0 ||
                         lchown(its->folder.c_str(), job.owner.user, job.owner.group) != 0)) {
      throw RunError("'" + its->folder + "' cannot be given to its user");
    }

    std::vector<std::string> environment;
    for (const std::string& variable : what.environment) {
      // Those of a job in which this one was submitted.
      if (!variable.starts_with("DUCTILE_")) environment.push_back(variable);
    }
    environment.push_back(fmt::format("DUCTILE_JOB_ID={}", job.number));
    environment.push_back("DUCTILE_JOB_NAME=" + what.name);
    environment.push_back(fmt::format("DUCTILE_JOB_NUM_NODES={}", decision.after.count));
    environment.push_back("DUCTILE_JOB_NODELIST=" + to_string(decision.after.nodes));
    environment.push_back("DUCTILE_SUBMIT_DIR=" + what.folder);

    const std::string output = file_name(what.output, job.number, what.name);
    const std::string error = file_name(what.error, job.number, what.name);
    const std::vector<gid_t> groups = groups_of(job.owner);
    its->child = start_session(words, environment, [&]() -> const char* {
      if (changes_user && (setgroups(groups.size(), groups.data()) != 0 ||
                           setgid(job.owner.group) != 0 || setuid(job.owner.user) != 0)) {
        return "the job cannot run as its user";
      }
      if (chdir(what.folder.c_str()) != 0) return "the job's folder cannot be entered";
      const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
      if (out < 0) return "the job's output file cannot be written";
      const int err = error.empty() || error == output
                          ? out
                          : open(error.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
      if (err < 0) return "the job's error file cannot be written";
      const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
      dup2(null, STDIN_FILENO);
      dup2(out, STDOUT_FILENO);
      dup2(err, STDERR_FILENO);
      if (out > STDERR_FILENO) close(out);
      if (err > STDERR_FILENO && err != out) close(err);
      setrlimit(RLIMIT_NOFILE, &files_);
      fcntl(listener.get(), F_SETFD, 0);  // this one stays
      return nullptr;
    });
  } catch (const NoProcess& error) {
    spdlog::warn("job {} cannot be started now: {}", job.number, error.what());
    return happen(event::StartFailed{decision.job, decision.id, now + settings_.retry});
  } catch (const std::runtime_error& error) {
    forget(job.number);
    happened_.push_back({event::Ended{decision.job, EndState::failed, false}, 1, error.what()});
    return;
  }
  crash_point();
  Running& running = *its;
  running_[decision.job] = std::move(its);
  connect(running);
  crash_point();
  happen(event::Started{decision.job, decision.id, decision.after, std::nullopt});
}

void LocalWorld::end(Time now, JobId id, EndState state) {
  const auto found = running_.find(id);
  if (found == running_.end() || found->second->end) return;
  Running& job = *found->second;
  job.end = state;
  // Its manager needs as long to make an end; after that it is itself in the way.
  job.kill_at = now + settings_.patience + whole_seconds(10);
  job.say({{"do", "stop"}});
}

// ---- After a restart ----------------------------------------------------------------------------

void LocalWorld::take_up(Time now, JobId id, const JobFacts& job, const Holding& held,
                         const Decision* open) {
  now_ = now;
  auto its = std::make_unique<Running>();
  its->id = id;
  its->number = job.number;
  its->per_node = job.what->processes_per_node(platform_);
  its->folder = folder_of(job.number);
  its->holding = held;
  const bool is_starting = open != nullptr && open->kind == Decision::Kind::start;
  if (open != nullptr && !is_starting) its->order = *open;
  its->is_lost = its->order.has_value();
  Running& running = *its;
  if (connect(running)) {
    running_[id] = std::move(its);
    if (is_starting) happen(event::Started{id, open->id, held, std::nullopt});
  } else if (is_starting && !fs::exists(running.report())) {
    happen(event::StartFailed{id, open->id, now});
  } else {
    over(running);
  }
}

void LocalWorld::forget(std::uint64_t number) const {
  std::error_code ignored;
  fs::remove_all(folder_of(number), ignored);
}

// ---- Managers that talk -------------------------------------------------------------------------

/// False if nobody listens.
bool LocalWorld::connect(Running& job) {
  try {
    job.control.emplace(connect_unix(job.socket()), kLongestLine, kMostUnsent);
  } catch (const InputError&) {
    job.control.reset();
    return false;
  }
  crash_point();
  job.say({{"do", "watch"}});
  if (job.end) job.say({{"do", "stop"}});
  return true;
}

void LocalWorld::add_to(Poller& poller) {
  for (const auto& [id, owned] : running_) {
    Running* const job = owned.get();
    if (!job->control) continue;
    poller.add(job->control->descriptor(), job->control->events(), [this, job] { read(*job); });
  }
}

void LocalWorld::read(Running& job) {
  job.control->work();
  while (const auto line = job.control->next()) on_line(job, *line);
  if (job.control->is_closed()) on_closed(job);
}

/// Either it has ended, or it has lost patience with us.
void LocalWorld::on_closed(Running& job) {
  job.control.reset();
  job.is_lost = job.order.has_value();
  if (!connect(job) && job.child < 0) over(job);
}

void LocalWorld::on_line(Running& job, const std::string& line) {
  const Json json = parse_json_line(line);
  if (!json.is_object()) return;
  const std::string event = text_in(json, "event");
  if (event == "requested") {
    on_request(job, count_in(json, "at_least"), count_in(json, "preferred"));
  } else if (event == "resized" || event == "aborted") {
    if (const auto pause = json.find("pause_s"); pause != json.end() && pause->is_number()) {
      pauses_.push_back(pause->get<double>());
    }
    if (job.is_lost) settle(job, count_in(json, "size"));
  } else if (json.contains("phase")) {
    if (job.is_lost && text_in(json, "phase") == "running") settle(job, count_in(json, "size"));
    if (const auto request = json.find("request");
        request != json.end() && request->is_object() && !job.request) {
      on_request(job, count_in(*request, "at_least"), count_in(*request, "preferred"));
    }
  } else if (const auto id = json.find("id"); id != json.end() && job.order && !job.is_lost) {
    if (*id != index(job.order->id)) return;
    if (const std::string why = text_in(json, "error"); !why.empty()) {
      spdlog::info("job {} was not resized: {}", job.number, why);
    }
    settle(job, count_in(json, "size"));
  }
}

/// The order is answered: by its size the job has what it was to have, or else what it had.
void LocalWorld::settle(Running& job, std::uint32_t processes) {
  job.is_lost = false;
  Decision order = std::move(*std::exchange(job.order, std::nullopt));
  const bool is_done = job.nodes(processes) == order.after.count;
  if (is_done) {
    job.holding = std::move(order.after);
    // The manager has forgotten a request of the generation that has gone.
    if (job.request) happen(event::EvolvingWithdrawn{*std::exchange(job.request, std::nullopt)});
  }
  happen(event::Resized{job.id, order.id, job.holding, is_done ? now_ : now_ + settings_.retry});
}

/// The application asks for another size, in processes; a new request replaces an open one.
void LocalWorld::on_request(Running& job, std::uint32_t at_least, std::uint32_t preferred) {
  if (job.request) happen(event::EvolvingWithdrawn{*std::exchange(job.request, std::nullopt)});
  const Nodes now = job.holding.count, wanted = job.nodes(preferred), least = job.nodes(at_least);
  if (wanted == now || wanted == 0) {  // it has what can be given in whole nodes
    job.say({{"do", "answer"}, {"size", 0}});
    return;
  }
  job.request = RequestId{next_request_++};
  const auto delta = static_cast<std::int32_t>(std::int64_t{wanted} - now);
  happen(event::EvolvingRequested{*job.request, job.id, delta, least > now ? least - now : 1});
}

// ---- Ends ---------------------------------------------------------------------------------------

void LocalWorld::look(Time now) {
  now_ = now;
  for (auto& [id, owned] : running_) {
    Running& job = *owned;
    int status = 0;
    if (job.child > 0 && waitpid(job.child, &status, WNOHANG) == job.child) {
      job.child = -1;
      job.status = status;
      if (job.control) read(job);  // what it said last
      if (!job.is_over) over(job);
    }
    // Who was told something may have been gone already.
    if (job.control && job.control->is_closed()) on_closed(job);
    if (now >= job.kill_at && !job.is_over) {
      job.kill_at = kNever;
      if (job.child > 0) kill(job.child, SIGKILL);
    }
  }
  std::erase_if(running_, [](const auto& entry) { return entry.second->is_over; });
}

Time LocalWorld::next() const {
  Time next = kNever;
  for (const auto& [id, job] : running_) {
    if (job->control && job->control->is_closed()) return Time{};
    next = std::min(next, job->kill_at);
  }
  return next;
}

void LocalWorld::over(Running& job) {
  job.is_over = true;
  job.control.reset();
  std::optional<int> code = reported_exit(job.report());
  if (!code && job.status) code = exit_code(*job.status);
  const EndState state = job.end ? *job.end : code == 0 ? EndState::completed : EndState::failed;
  happened_.push_back({event::Ended{job.id, state, false}, code,
                       code ? "" : "its manager was gone, and had left no exit code"});
}

}  // namespace ductile
