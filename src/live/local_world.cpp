#include "live/local_world.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/cgroup.hpp"
#include "job/failure.hpp"
#include "job/json_line.hpp"
#include "job/process.hpp"
#include "job/report_file.hpp"
#include "live/crash.hpp"
#include "live/manager_words.hpp"

namespace ductile {
namespace {

/// What is noted of nodes whose cores are not as many on each is this, or above.
constexpr std::uint32_t kNotAlike = std::uint32_t{1} << 31;

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestLine = std::size_t{1} << 16;
constexpr std::size_t kMostUnsent = std::size_t{1} << 16;

constexpr const char* kMark = "DUCTILE_JOB_FOLDER";
constexpr Duration kSweep = std::chrono::milliseconds(20);
constexpr Duration kContact = std::chrono::milliseconds(200);

/// The end of a file that its user may have made long, or have written anything into.
std::string end_of_file(const std::string& path) {
  constexpr off_t kEnd = 1 << 16;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found {};
  if (!file || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  std::string end(static_cast<std::size_t>(std::min(found.st_size, kEnd)), '\0');
  const ssize_t got =
      pread(file.get(), end.data(), end.size(), found.st_size - static_cast<off_t>(end.size()));
  end.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return end;
}

LostOutput lost_in(const Json& json) {
  const auto bytes = json.find("lost_output");
  if (bytes == json.end() || !bytes->is_number_unsigned()) return {};
  return {bytes->get<std::uint64_t>(), words_in(json, "lost_why")};
}

/// The last line of a manager's report, if it lived to write it.
struct ReportedEnd {
  bool is_orderly = false;  // nothing of the job is left
  int exit_code = 0;
  Duration ran{};
  std::string reason{}, note{};
  bool was_killed = false;
  LostOutput lost{};
  std::string boot{};  // when it ended: in which boot of the machine, and
  Duration machine{};  // by its clock (job/boot_clock.hpp)
};

std::optional<ReportedEnd> end_in(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const std::string event = text_in(json, "event");
  if (event != "ended" && event != "failed") return std::nullopt;
  const auto code = json.find("exit_code");
  if (code == json.end() || !code->is_number_integer()) return std::nullopt;
  const auto value = code->get<std::int64_t>();
  if (value < 0 || value > 255) return std::nullopt;
  constexpr double kLongest_s = 1e10;
  ReportedEnd end{.is_orderly = event == "ended",
                  .exit_code = static_cast<int>(value),
                  .ran = seconds(measure_in(json, "time_s", kLongest_s)),
                  .lost = lost_in(json),
                  .boot = text_in(json, "boot"),
                  .machine = seconds(measure_in(json, "boot_s", kLongest_s))};
  if (std::string reason = text_in(json, "reason"); is_reason(reason)) {
    end.reason = std::move(reason);
    end.note = words_in(json, "note");
    const auto killed = json.find("was_killed");
    end.was_killed = killed != json.end() && *killed == true;
  }
  return end;
}

std::optional<ReportedEnd> reported_end(const std::string& path) {
  std::string text = end_of_file(path);
  if (text.empty() || text.back() != '\n') return std::nullopt;
  text.pop_back();
  const std::size_t before = text.rfind('\n');
  return end_in(parse_json_line(std::string_view(text).substr(before + 1)));
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

/// Does this process have these supplementary groups?
bool has_groups(std::vector<gid_t> wanted) {
  std::vector<gid_t> own(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  if (getgroups(static_cast<int>(own.size()), own.data()) < 0) return false;
  std::ranges::sort(own);
  std::ranges::sort(wanted);
  return own == wanted;
}

/// A new file with this text, of this owner if there is one. Its mode is that of a program if it is
/// one. So many bytes are kept free for what will be written to it.
void write_file(const std::string& path, std::string_view text, const Owner* owner, mode_t mode,
                off_t kept = 0) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  bool is_written = file && (kept == 0 || reserve(file, kept));
  while (is_written && !text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    is_written = written > 0;
    if (is_written) text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (is_written && owner != nullptr) {
    is_written = fchown(file.get(), owner->user, owner->group) == 0;
  }
  if (!is_written) {
    throw std::system_error(errno, std::generic_category(), "'" + path + "' cannot be written");
  }
}

/// What this machine has too little of at the moment, and may have more of later.
bool is_passing(const std::error_code& error) {
  for (const int number : {EMFILE, ENFILE, ENOMEM, EAGAIN, ENOSPC, EDQUOT, ENOBUFS}) {
    if (error == std::error_code(number, std::generic_category())) return true;
  }
  return false;
}

/// For a program to write into: never waits for somebody to read, and becomes no terminal of the
/// job.
int open_output(const std::string& path, bool goes_on) {
  const int file =
      open(path.c_str(),
           O_WRONLY | O_CREAT | (goes_on ? 0 : O_TRUNC) | O_APPEND | O_NOCTTY | O_NONBLOCK, 0666);
  if (file >= 0) fcntl(file, F_SETFL, O_APPEND);
  return file;
}

/// Of files that say what its nodes draw; what is left of it is the node, %n. %% stays as it is.
std::string pattern_of_job(const std::string& pattern, const JobNames& names) {
  std::string kept;  // for `file_name`, which knows no %n
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_kept = pattern[i] == '%' && i + 1 < pattern.size() &&
                         (pattern[i + 1] == 'n' || pattern[i + 1] == '%');
    if (!is_kept) {
      kept += pattern[i];
    } else if (pattern[++i] == 'n') {
      kept += "%%n";
    } else {
      kept += "%%%%";
    }
  }
  JobNames safe = names;  // a name may have a % of its own
  safe.name.clear();
  for (const char c : names.name) safe.name.append(c == '%' ? 2 : 1, c);
  return file_name(kept, safe);
}

}  // namespace

/// A job whose manager lives, or has just ended.
struct LocalWorld::Running {
  JobId id = JobId::none;
  std::uint64_t number = 0;
  std::uint32_t per_node = 1;    // processes
  bool had_other_nodes = false;  // when it was started: `per_node` does not follow from these
  std::string folder{};
  pid_t child = -1;  // its manager, if this process started it and has not seen it end
  std::optional<NewProcess> fresh{};          // that, until it is known whether it could be started
  DecisionId start_order = DecisionId::none;  // which is answered then
  std::optional<int> status{};                // of waitpid
  std::optional<LineSocket> control{};
  Holding holding{};
  std::optional<Decision> order{};  // under way
  Duration paused{};                // for it, so far
  bool is_lost = false;             // who was to hear of it is no more: its size will tell
  bool asks = false;                // it may make requests, as far as the core is concerned
  std::optional<Request> request{};
  std::optional<EndState> end{};  // somebody ends it
  bool requeue = false;           // and it waits again
  std::uint64_t memory = 0;       // on each node; 0: all of it
  bool is_measured = false;       // what others tell of themselves does not count
  bool reads_watts = false;       // files say what it draws
  bool said_no_watts = false;     // and that they do not was said
  bool survives = false;          // the loss of its manager: it waits again
  Time kill_at = kNever;
  Time contact_at = kNever;               // nobody could be reached; again then
  std::string group{};                    // its cgroup, if it has one
  Time seen{};                            // it was alive then
  bool is_of_before = false;              // the machine was started again
  bool is_gone = false;                   // its manager
  bool left_nothing = false;              // and it had ended in order
  std::set<pid_t> orphans{};              // that it may have left
  Time gone_at = kNever;                  // and is said to be slow in going
  LostOutput lost{};                      // so far
  std::optional<ReportedEnd> end_told{};  // by its manager, whose report may have found no room
  Time ordered_at{};                      // the resize under way
  Time answer_by = kNever;                // or it is withdrawn
  Duration longest{};                     // that a resize took
  Duration own_limit{};                   // of a resize, as its user says
  bool is_withdrawn = false;              // the resize under way, or the last one
  bool was_taken_up = false;              // and one may have been withdrawn before
  std::uint32_t told_size = 0;            // processes, as it told last, without an order
  std::optional<NodeSet> told_cpus{};     // where they run; older managers do not say
  bool may_resize = false;                // it is not rigid or moldable
  Time back_at = kNever;                  // it is ordered back to its size, or its nodes
  Time not_back_before{};                 // but not again before this
  bool is_over = false;
  std::string started_by{};  // the journal whose decision `start_order` is
  bool is_stranger = false;
  std::string name{}, words{};  // of a stranger

  std::string socket() const { return folder + "/control"; }
  std::string report() const { return folder + "/report"; }
  std::string log() const { return folder + "/log"; }
  std::string script() const { return folder + "/script"; }
  std::string group_file() const { return folder + "/cgroup"; }
  std::string holder() const { return folder + "/holder"; }
  std::string keep() const { return folder + "/keep"; }
  /// Is the order one to other nodes, at the size that it has?
  bool moves() const { return order && order->after.count == holding.count; }
  Nodes nodes(std::uint32_t processes) const { return (processes + per_node - 1) / per_node; }
  void say(const Json& json) {
    if (control) control->send(json.dump());
  }
};

/// Of a job, or of one that is over.
struct LocalWorld::Folder {
  std::uint64_t number = 0;
  bool is_plain = false;  // named by the number alone
  std::string path{};
};

/// Whose a job is, and which nodes it has, as its folder tells.
struct LocalWorld::Holder {
  std::string started_by{};  // the id of a journal, at that time
  DecisionId start = DecisionId::none;
  std::string journal{};    // that had it last
  std::uint32_t cores = 0;  // of each node
  NodeSet nodes{};
  // Processes on each node, where it was started when nodes had other cores; 0: as many as it has
  // by its submission.
  std::uint32_t per_node = 0;
};

LocalWorld::LocalWorld(const Platform& platform, Settings settings)
    : platform_(platform), settings_(std::move(settings)), cpus_(own_cpus()) {
  getrlimit(RLIMIT_NOFILE, &files_);
  std::vector<std::uint32_t> cores(platform_.nodes, platform_.cores_per_node);
  for (const NodeClass& each : platform_.classes) {
    for (const Interval& part : each.nodes.parts) {
      for (std::uint32_t node = part.first; node <= part.last; ++node) {
        cores.at(node) = each.has.cores;
      }
    }
  }
  first_core_ = {0};
  for (const std::uint32_t its : cores) first_core_.push_back(first_core_.back() + its);
  // More virtual cores than real ones: all share all.
  if (first_core_.back() > cpus_.size()) cpus_.clear();
}

void LocalWorld::begin() {
  std::error_code error;
  fs::create_directories(settings_.folder, error);
  if (error) {
    throw InputError(
        fmt::format("the folder '{}' cannot be used: {}", settings_.folder, error.message()),
        "move away what is there, or give another folder with --state");
  }
  // Users reach their own job's folder through it, and see no other.
  fs::permissions(settings_.folder,
                  fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  adopt_orphans();
  struct stat found {};
  if (const auto own = settings_.cgroups ? own_cgroup() : std::nullopt;
      own && stat(settings_.folder.c_str(), &found) == 0) {
    // Not that of another controller of this machine.
    group_ = fmt::format("{}/ductile-{:x}-{:x}", *own, found.st_dev, found.st_ino);
    if (!make_cgroup(group_)) group_.clear();
  }
  spdlog::debug("jobs have {}", group_.empty() ? "no cgroups" : "cgroups below " + group_);
  if (settings_.cgroups) enable_limits();
}

/// The kernel keeps jobs to what they may have, or it is said that it does not.
void LocalWorld::enable_limits() {
  const std::set<std::string> wanted{"cpuset", "memory", "pids"};
  if (!group_.empty()) {
    const std::string above = group_.substr(0, group_.rfind('/'));
    enable_controllers(above, wanted, above + "/ductile-controller");
    controllers_ = enable_controllers(group_, wanted, group_ + "/none");
  }
  std::string missing;
  for (const auto& [name, what] : {std::pair{"memory", "memory"}, std::pair{"cpuset", "processors"},
                                   std::pair{"pids", "number of processes"}}) {
    if (!controllers_.contains(name))
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", what);
  }
  if (missing.empty()) {
    spdlog::info("control groups keep jobs to their memory, processors and number of processes");
  } else {
    spdlog::warn(
        "jobs are not kept to their {}: there are no control groups of version 2 with these "
        "controllers for this process",
        missing);
  }
}

/// What a job may have that holds these nodes.
void LocalWorld::limit(const Running& job, const Holding& holding) const {
  if (job.group.empty() || controllers_.empty()) return;
  GroupLimits limits{.memory = job.memory * holding.count,
                     .processes = settings_.max_processes_per_node * holding.count};
  limits.cpus = to_string(cpus_of(holding.nodes));
  std::ranges::replace(limits.cpus, ' ', ',');
  if (!limit_cgroup(job.group, limits, controllers_)) {
    spdlog::warn("job {}: its limits could not be set: {}", job.number, std::strerror(errno));
  }
}

LocalWorld::~LocalWorld() {
  if (!group_.empty()) remove_cgroup(group_);  // which it can be if no job is left
}

Capabilities LocalWorld::capabilities() {
  return {.instant_start = false,
          .resizes_per_job = Capabilities::kUnlimited,
          .moves = true,
          .suspends = Suspends::malleable};
}

std::string LocalWorld::folder_of(std::uint64_t number) const {
  return settings_.folder + "/" + std::to_string(number);
}

/// What is kept of a job that is suspended, and of one that goes on until it is so again.
std::string LocalWorld::kept_of(std::uint64_t number) const {
  return fmt::format("{}/kept-{}", settings_.folder, number);
}

NodeSet LocalWorld::cpus_of(const NodeSet& nodes) const {
  NodeSet cpus;
  if (cpus_.empty()) return cpus;
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      if (node >= platform_.nodes) continue;  // it is gone, and its job has not ended yet
      for (std::uint64_t core = first_core_[node]; core < first_core_[node + 1]; ++core) {
        const std::uint32_t cpu = cpus_[core];
        cpus.insert(cpu, cpu);
      }
    }
  }
  return cpus;
}

// ---- Decisions ----------------------------------------------------------------------------------

/// Here a job waits in the journal alone.
bool LocalWorld::submit(const Owner& owner, Submission what, const std::string& ticket) {
  const std::uint64_t number = next_number_;
  next_number_ += std::max(what.array.count(), 1U);
  events_.emplace_back(Arrived{number, owner, std::move(what), ticket, now()});
  return true;
}

void LocalWorld::carry_out(const Decision& decision, const JobFacts& job) {
  if (decision.kind == Decision::Kind::start) return start(decision, job);
  const auto found = running_.find(decision.job);
  if (found == running_.end()) return;  // it has ended, as the core will hear
  Running& its = *found->second;
  its.order = decision;
  // Both generations are there until it is answered.
  Holding both = its.holding;
  both.nodes.insert(decision.after.nodes);
  both.count = both.nodes.count();
  limit(its, both);
  note_holder(its, both.nodes);
  its.paused = {};
  its.back_at = kNever;
  expect_answer(its);
  its.is_lost = !its.control;  // nobody hears of it
  if (decision.stops()) return give_order(its, "suspend");
  const bool is_grant =
      decision.request != RequestId::none && its.request && its.request->id == decision.request;
  if (is_grant) its.request.reset();
  give_order(its, is_grant ? "answer" : "resize");
}

void LocalWorld::give_order(Running& job, const char* verb) const {
  const Decision& decision = *job.order;
  if (decision.stops()) return job.say({{"do", "suspend"}, {"id", index(decision.id)}});
  Json order = {
      {"do", verb}, {"size", decision.after.count * job.per_node}, {"id", index(decision.id)}};
  if (job.moves()) order["move"] = true;
  add_cpus(order, decision.after.nodes);
  job.say(order);
}

/// Where the new processes may run.
void LocalWorld::add_cpus(Json& order, const NodeSet& nodes) const {
  if (const NodeSet cpus = cpus_of(nodes); !cpus.empty()) order["cpus"] = to_string(cpus);
}

void LocalWorld::expect_answer(Running& job) const {
  job.is_withdrawn = false;
  job.ordered_at = now();
  constexpr Duration kToTellIt = whole_seconds(10);
  const Duration usual = std::max(patience_with(job.longest), job.own_limit + kToTellIt);
  job.answer_by = later(now(), set_.resize_deadline > Duration{} ? set_.resize_deadline : usual);
}

/// The answer is late. First its manager is told to give it up, and says what came of it; if it
/// says nothing either, the job has the size that it had, and others go on without it.
void LocalWorld::withdraw(Running& job) {
  constexpr Duration kAnswer = whole_seconds(5);
  if (!job.is_withdrawn) {
    spdlog::warn("job {} has not answered an order to resize for {:.0f} s; it is withdrawn",
                 job.number, to_seconds(now() - job.ordered_at));
    events_.emplace_back(Withdrawn{});
    job.is_withdrawn = true;
    job.answer_by = now() + kAnswer;
    job.say({{"do", "withdraw"}});
    return;
  }
  spdlog::warn("the manager of job {} does not answer; its size stays as it was", job.number);
  settle(job, job.holding.count * job.per_node, false);
}

/// It may have been resized after nobody waited for that any more. What fails is tried again, but
/// not at once.
void LocalWorld::keep_to_size(Running& job, std::uint32_t processes) {
  if (job.order || processes == 0) return;
  job.told_size = processes;
  const bool is_away = is_elsewhere(job);
  if (processes == job.holding.count * job.per_node && !is_away) {
    job.was_taken_up = false;
    job.back_at = kNever;
  } else if (job.is_withdrawn || job.was_taken_up || is_away) {
    job.back_at = job.not_back_before;
  }
}

/// Is it on processors that are not those of its nodes, as far as it is known?
bool LocalWorld::is_elsewhere(const Running& job) const {
  if (!job.may_resize || job.end || !job.told_cpus || job.told_cpus->empty()) return false;
  const NodeSet here = cpus_of(job.holding.nodes);
  return !here.empty() && *job.told_cpus != here;
}

/// To the size that it holds, and to these nodes' cores.
void LocalWorld::order_back(Running& job) const {
  const std::uint32_t held = job.holding.count * job.per_node;
  const bool moves = job.told_size == held;
  spdlog::warn("job {} has {} processes{} after all; it is ordered back to {}", job.number,
               job.told_size, moves ? " elsewhere" : "",
               moves ? "its nodes" : std::to_string(held));
  job.not_back_before = later(now(), set_.retry);
  job.back_at = kNever;
  Json order = {{"do", "resize"}, {"size", held}};
  if (moves) order["move"] = true;
  add_cpus(order, job.holding.nodes);
  job.say(order);
}

void LocalWorld::deny(RequestId id) {
  for (const auto& [job, its] : running_) {
    if (!its->request || its->request->id != id) continue;
    its->request.reset();
    its->say({{"do", "answer"}, {"size", 0}});
  }
}

std::unique_ptr<LocalWorld::Running> LocalWorld::running(JobId id, const JobFacts& job,
                                                         std::string folder) const {
  auto its = std::make_unique<Running>();
  its->id = id;
  its->number = job.number;
  its->per_node = job.what->processes_per_node(platform_);
  its->folder = std::move(folder);
  its->asks = job.what->type == JobType::evolving || job.what->type == JobType::adaptive;
  its->survives = job.what->is_requeued;
  its->may_resize = job.what->type != JobType::rigid && job.what->type != JobType::moldable;
  its->own_limit = job.what->answers_within();
  its->is_measured = measures(*job.what);
  its->reads_watts = set_.power > Duration{} && !set_.watts_from.empty();
  its->memory = job.what->memory;
  return its;
}

/// Rigid jobs need no model, and others have none of processes that tell.
bool LocalWorld::measures(const Submission& what) const {
  return set_.measure > Duration{} && what.type != JobType::rigid && what.mpi != Mpi::none &&
         measuring_library(what.mpi);
}

/// All that is in it, before anybody else knows of it.
void LocalWorld::make_folder(Running& its, const JobFacts& job, bool changes_user) {
  const Owner* const owner = changes_user ? &job.owner : nullptr;
  remove_folder(its.folder);
  if (mkdir(its.folder.c_str(), changes_user ? 0711 : 0700) != 0) {
    throw std::system_error(errno, std::generic_category(), "'" + its.folder + "' cannot be made");
  }
  write_file(its.holder(), text_of_holder(its, its.holding.nodes), nullptr, 0600);
  write_file(its.report(), "", owner, 0600, 2 * kReportReserve);
  write_file(its.log(), "", owner, 0600);
  write_file(its.keep(), "", owner, 0600);
  if (!job.what->script.empty()) write_file(its.script(), job.what->script, owner, 0700);
  if (group_.empty()) return;
  its.group = group_ + its.folder.substr(settings_.folder.size());
  // The next controller may have another place for new ones.
  if (make_cgroup(its.group)) {
    write_file(its.group_file(), its.group, nullptr, 0600);
    limit(its, its.holding);
  } else {
    its.group.clear();
  }
}

void LocalWorld::start(const Decision& decision, const JobFacts& job) {
  if (job.end) return happen(event::StartFailed{decision.job, decision.id, now()});
  const Submission& what = *job.what;
  auto its = running(decision.job, job, free_folder(job.number));
  if (its->folder != folder_of(job.number)) moved_[job.number] = its->folder;
  its->holding = decision.after;
  its->start_order = decision.id;
  its->started_by = journal_;
  const bool changes_user = geteuid() == 0 && job.owner.user != 0;
  try {
    make_folder(*its, job, changes_user);
    std::vector<std::string> words = {settings_.program, "run"};
    const auto add = [&](std::initializer_list<std::string> more) {
      words.insert(words.end(), more);
    };
    const JobKind kind = what.kind_of_run();
    const bool is_rigid = what.type == JobType::rigid || what.type == JobType::moldable;
    const bool is_single = kind == JobKind::rigid && what.mpi == Mpi::none;
    const std::uint32_t size = is_single ? 1 : decision.after.count * its->per_node;
    add({"--kind", std::string(kJobKindWords[static_cast<std::size_t>(kind)]), "--mpi",
         std::string(kMpiWords[static_cast<std::size_t>(what.mpi)]), "-n", std::to_string(size)});
    std::ranges::copy(to_words(what.told, kind), std::back_inserter(words));
    // The scheduler knows which sizes are possible.
    if (what.has_threads()) {
      // Virtual nodes may be more than there is.
      if (cpus_.empty()) add({"--oversubscribe"});
      if (is_rigid) add({"--min", std::to_string(size), "--max", std::to_string(size)});
    }
    if (!is_rigid) add({"--max", std::to_string(platform_.nodes * its->per_node)});
    if (its->is_measured) add({"--measure", fmt::format("{}", to_seconds(set_.measure))});
    if (its->reads_watts) {
      if (!its->is_measured) add({"--power", fmt::format("{}", to_seconds(set_.power))});
      add({"--watts-from", pattern_of_job(set_.watts_from, job.names), "--watts-nodes",
           to_string(decision.after.nodes)});
    }
    // Where all share all, all would keep to the same ones.
    if (what.cores_per_process != 0 && !cpus_.empty()) {
      add({"--cores-per-process", std::to_string(what.cores_per_process)});
    }
    add({"--evolving", "ask", "--patience", fmt::format("{}", to_seconds(set_.patience)),
         "--report", its->report(), "--log", its->log()});
    if (const NodeSet cpus = cpus_of(decision.after.nodes); !cpus.empty()) {
      add({"--cpus", to_string(cpus)});
    }
    if (!what.limits.empty()) add({"--limit", to_text(what.limits)});
    if (its->may_resize) add({"--keep", its->keep()});
    if (job.goes_on) add({"--go-on", kept_of(job.number)});

    crash_point();
    Descriptor listener = listen_unix(its->socket());
    crash_point();
    set_blocking(listener, false);
    if (changes_user && lchown(its->socket().c_str(), job.owner.user, job.owner.group) != 0) {
      throw RunError("'" + its->socket() + "' cannot be given to its user");
    }
    add({"--control-fd", std::to_string(listener.get()), "--"});
    words.push_back(what.script.empty() ? what.program.front() : its->script());
    words.insert(words.end(), what.program.begin() + 1, what.program.end());

    std::vector<std::string> environment;
    for (const std::string& variable : what.environment) {
      // Those of a job in which this one was submitted.
      const bool is_of_job =
          variable.starts_with("DUCTILE_") || variable.starts_with("SLURM_ARRAY_") ||
          variable.starts_with("SLURM_CPUS_PER_TASK=") ||
          variable.starts_with("SLURM_SUBMIT_DIR=") || variable.starts_with("PBS_O_WORKDIR=") ||
          (what.cores_per_process != 0 && variable.starts_with("OMP_NUM_THREADS="));
      if (!is_of_job) environment.push_back(variable);
    }
    const auto set = [&](const char* name, const auto& value) {
      environment.push_back(fmt::format("{}={}", name, value));
    };
    set(kMark, its->folder);
    if (what.has_steps()) set("DUCTILE_STEPS", its->socket());
    set("DUCTILE_JOURNAL", journal_);
    set("DUCTILE_JOB_ID", job.number);
    set("DUCTILE_JOB_NAME", what.name);
    set("DUCTILE_JOB_NUM_NODES", decision.after.count);
    set("DUCTILE_JOB_NODELIST", to_string(decision.after.nodes));
    const std::string& called_in = what.called_in.empty() ? what.folder : what.called_in;
    for (const char* name : {"DUCTILE_SUBMIT_DIR", "SLURM_SUBMIT_DIR", "PBS_O_WORKDIR"}) {
      set(name, called_in);
    }
    set("DUCTILE_RESTART_COUNT", job.restarts);
    if (what.cores_per_process != 0) {
      for (const char* name : {"DUCTILE_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"}) {
        set(name, what.cores_per_process);
      }
    }
    if (job.names.is_of_array()) {
      // Slurm's as well: scripts for arrays use little else of it.
      for (const char* system : {"DUCTILE", "SLURM"}) {
        set(fmt::format("{}_ARRAY_JOB_ID", system).c_str(), job.names.array);
        set(fmt::format("{}_ARRAY_TASK_ID", system).c_str(), job.names.task);
        set(fmt::format("{}_ARRAY_TASK_COUNT", system).c_str(), what.array.count());
        set(fmt::format("{}_ARRAY_TASK_MIN", system).c_str(), what.array.min());
        set(fmt::format("{}_ARRAY_TASK_MAX", system).c_str(), what.array.max());
      }
    }

    const std::string output = file_name(what.output, job.names);
    const std::string error = file_name(what.error, job.names);
    const std::string input = what.input.empty() ? "/dev/null" : file_name(what.input, job.names);
    const std::vector<gid_t> groups = what.groups ? *what.groups : groups_of(job.owner);
    const bool changes_groups =
        geteuid() == 0 && (changes_user || getegid() != job.owner.group || !has_groups(groups));
    // Folders and files of users may be far away, and take long to answer: the new process waits
    // for them, not this one.
    const auto prepare = [&]() -> const char* {
      // System calls: glibc's own change all the threads that this process had before it began.
      if ((changes_groups && (syscall(SYS_setgroups, groups.size(), groups.data()) != 0 ||
                              syscall(SYS_setgid, job.owner.group) != 0)) ||
          (changes_user && syscall(SYS_setuid, job.owner.user) != 0)) {
        return "the job cannot run as its user";
      }
      if (what.umask) umask(*what.umask);
      if (chdir(what.folder.c_str()) != 0) return "the job's folder cannot be entered";
      const int out = open_output(output, job.goes_on);
      if (out < 0) return "the job's output file cannot be written";
      const int err = error.empty() || error == output ? out : open_output(error, job.goes_on);
      if (err < 0) return "the job's error file cannot be written";
      const int in = open(input.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
      if (in < 0) return "the job's input file cannot be read";
      dup2(in, STDIN_FILENO);
      dup2(out, STDOUT_FILENO);
      dup2(err, STDERR_FILENO);
      if (out > STDERR_FILENO) close(out);
      if (err > STDERR_FILENO && err != out) close(err);
      setrlimit(RLIMIT_NOFILE, &files_);
      return nullptr;
    };
    its->fresh = begin_session(words, environment, prepare, its->group, listener.get());
    set_blocking(its->fresh->descriptor(), false);
    its->child = its->fresh->pid();
  } catch (const std::runtime_error& error) {
    return not_started(*its, decision.id, error);
  }
  crash_point();
  Running& running = *its;
  running.seen = now();
  running_[decision.job] = std::move(its);
  if (connect(running) != Contact::made) running.contact_at = now();
}

/// It runs, or it could not be started.
void LocalWorld::look_at_start(Running& job) {
  try {
    if (!job.fresh->has_begun()) return;
  } catch (const RunError& error) {
    job.child = -1;
    job.fresh.reset();
    job.control.reset();
    job.is_over = true;
    return not_started(job, job.start_order, error);
  }
  job.fresh.reset();
  crash_point();
  happen(event::Started{job.id, job.start_order, job.holding, std::nullopt});
}

void LocalWorld::not_started(const Running& job, DecisionId order,
                             const std::runtime_error& error) {
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  if (!job.group.empty()) remove_cgroup(job.group);
  clear(job.number);
  const bool may_be_later = dynamic_cast<const NoProcess*>(&error) != nullptr ||
                            (system != nullptr && is_passing(system->code()));
  if (may_be_later && !job.end) {
    spdlog::warn("job {} cannot be started now: {}", job.number, error.what());
    return happen(event::StartFailed{job.id, order, now() + set_.retry});
  }
  events_.emplace_back(
      Told{.event = event::Ended{job.id, job.end.value_or(EndState::failed), job.requeue},
           .exit_code = 1,
           .note = printable(error.what()),
           .reason = "JobLaunchFailure"});
}

void LocalWorld::end(JobId id, EndState state, bool requeue) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  Running& job = *found->second;
  if (job.end) {
    // It is told already; but it may have been meant to wait again.
    if (job.requeue && !requeue) {
      job.end = state;
      job.requeue = false;
    }
    return;
  }
  mark_ended(job, state, requeue);
  job.say({{"do", "stop"}});
}

void LocalWorld::mark_ended(Running& job, EndState state, bool requeue) const {
  job.end = state;
  job.requeue = requeue;
  // Its manager needs as long to make an end; after that it is itself in the way. If it is gone
  // already, what it has left is being killed.
  if (!job.is_gone) job.kill_at = now() + set_.patience + whole_seconds(10);
}

// ---- After a restart ----------------------------------------------------------------------------

void LocalWorld::take_up(const ScheduleClock& clock, const Past& past) {
  clock_ = &clock;
  journal_ = past.journal;
  next_number_ = past.highest + 1;
  next_request_ = past.requests;
  begin();
  std::vector<Folder> folders = folders_of_jobs();
  // Nor is the number of a stranger given again: its files have names with it.
  for (const Folder& folder : folders) next_number_ = std::max(next_number_, folder.number + 1);
  // The folders of those that run are theirs; what else there is comes first.
  std::map<JobId, std::string> ours;
  for (const Known& known : past.jobs) {
    if (!known.runs) continue;
    const auto its = std::ranges::find_if(folders, [&](const Folder& folder) {
      if (folder.number != known.facts.number) return false;
      const auto holder = holder_in(folder.path);
      if (!holder) return folder.is_plain;
      return past.is_ours(holder->started_by) && holder->start == known.start;
    });
    if (its == folders.end()) continue;
    if (!its->is_plain) moved_[its->number] = its->path;
    refuse_other_cores(*its);
    ours[known.id] = its->path;
    folders.erase(its);
  }
  find_strangers(std::move(folders), past);
  remove_kept(past);
  for (const Known& known : past.jobs) {
    if (!known.runs) continue;
    const auto its = ours.find(known.id);
    take_up(known, its != ours.end() ? its->second : free_folder(known.facts.number), past);
  }
}

/// A job that runs keeps its processors, and with other cores on each node they would be those of
/// other nodes.
void LocalWorld::refuse_other_cores(const Folder& folder) const {
  const auto holder = holder_in(folder.path);
  if (!holder || holder->cores == cores_noted(holder->nodes) || !has_manager(folder.path)) return;
  if (!platform_.classes.empty() || holder->cores >= kNotAlike) {
    throw InputError({fs::path(settings_.folder).parent_path()},
                     fmt::format("job {} runs on nodes {}, which are to have other cores now",
                                 where({folder}), to_string(holder->nodes)),
                     "serve the platform that was served then, with more nodes behind the others "
                     "if you like, or wait until it is over");
  }
  throw InputError(
      {fs::path(settings_.folder).parent_path()},
      fmt::format("job {} runs on nodes with {} cores, and they are to have {} now",
                  where({folder}), holder->cores, platform_.cores_per_node),
      fmt::format("serve nodes with {} cores, as many as you like, or wait until it is over",
                  holder->cores));
}

/// The cores of each of these nodes; if not all nodes have as many, a number above for which cores
/// these are.
std::uint32_t LocalWorld::cores_noted(const NodeSet& nodes) const {
  const std::uint64_t all = std::uint64_t{platform_.nodes} * platform_.cores_per_node;
  const auto alike = [&](const NodeClass& its) {
    return its.has.cores == platform_.cores_per_node;
  };
  if (first_core_.back() == all && std::ranges::all_of(platform_.classes, alike)) {
    return platform_.cores_per_node;
  }
  std::uint32_t sum = 0;
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      if (node >= platform_.nodes) return kNotAlike;
      for (const std::uint64_t at : {first_core_[node], first_core_[node + 1]}) {
        sum = (sum ^ static_cast<std::uint32_t>(at)) * 16'777'619U;  // FNV-1a
      }
    }
  }
  return sum | kNotAlike;
}

/// That jobs have here.
std::vector<LocalWorld::Folder> LocalWorld::folders_of_jobs() const {
  std::vector<Folder> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(settings_.folder, error)) {
    const std::string name = entry.path().filename();
    std::string_view rest = name;
    const auto number = parse_number<std::uint64_t>(next_part(rest, '.'));
    const bool is_plain = name.find('.') == std::string::npos;
    if (!number || *number == 0 || (!is_plain && !parse_number<std::uint64_t>(rest))) continue;
    folders.push_back({*number, is_plain, entry.path()});
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw RunError(fmt::format("{} cannot be read: {}", settings_.folder, error.message()));
  }
  std::ranges::sort(folders, {}, [](const Folder& folder) {
    return std::tuple(folder.number, folder.path.size(), folder.path);
  });
  return folders;
}

/// Words on one line: by which journal and decision it was started, which journal had it last, the
/// cores of a node, its nodes; "/" and how many processes each has, if that does not follow.
std::string LocalWorld::text_of_holder(const Running& job, const NodeSet& nodes) const {
  return fmt::format(
      "{} {} {} {} {}{}\n", job.started_by, index(job.start_order), journal_, cores_noted(nodes),
      to_string(nodes),
      job.had_other_nodes || !platform_.classes.empty() ? fmt::format("/{}", job.per_node) : "");
}

std::optional<LocalWorld::Holder> LocalWorld::holder_in(const std::string& folder) {
  const std::string text = end_of_file(folder + "/holder");
  if (text.empty() || text.back() != '\n') return std::nullopt;
  std::string_view rest(text.data(), text.size() - 1);
  Holder holder;
  holder.started_by = next_part(rest, ' ');
  const auto start = parse_number<std::uint32_t>(next_part(rest, ' '));
  holder.journal = next_part(rest, ' ');
  const auto cores = parse_number<std::uint32_t>(next_part(rest, ' '));
  auto nodes = parse_node_set(next_part(rest, '/'));
  const auto per_node = parse_number<std::uint32_t>(rest.empty() ? "0" : rest);
  if (!start || !cores || *cores == 0 || !nodes || nodes->empty() || !per_node) {
    return std::nullopt;
  }
  holder.start = DecisionId{*start};
  holder.cores = *cores;
  holder.nodes = std::move(*nodes);
  holder.per_node = *per_node;
  return holder;
}

/// Who comes after this controller, with another journal, learns of them.
void LocalWorld::note_holder(const Running& job, const NodeSet& nodes) const {
  if (job.started_by.empty()) return;  // of a version that did not say
  const std::string next = job.holder() + ".new";
  try {
    unlink(next.c_str());
    write_file(next, text_of_holder(job, nodes), nullptr, 0600);
    if (rename(next.c_str(), job.holder().c_str()) != 0) {
      throw std::system_error(errno, std::generic_category(), job.holder());
    }
  } catch (const std::system_error& error) {
    // This journal has it all the same.
    spdlog::warn("job {}: its nodes could not be noted: {}", job.number, error.what());
  }
}

/// Its nodes may have had another number of cores.
NodeSet LocalWorld::nodes_of(const Holder& holder) const {
  if (holder.cores == cores_noted(holder.nodes)) return holder.nodes;
  NodeSet nodes;
  if (holder.cores >= kNotAlike || cores_noted(holder.nodes) >= kNotAlike) {
    nodes.insert(0, platform_.nodes - 1);  // any of them
    return nodes;
  }
  const std::uint64_t cores = platform_.cores_per_node;
  for (const Interval& part : holder.nodes.parts) {
    const std::uint64_t first = std::uint64_t{part.first} * holder.cores / cores;
    const std::uint64_t last = ((std::uint64_t{part.last} + 1) * holder.cores - 1) / cores;
    if (first >= platform_.nodes) continue;
    nodes.insert(static_cast<std::uint32_t>(first),
                 static_cast<std::uint32_t>(std::min<std::uint64_t>(last, platform_.nodes - 1)));
  }
  return nodes;
}

/// Jobs that run here and of whose start the journal does not know are of one that is lost, or went
/// on after a copy of it was made. Their nodes must not be given to others.
void LocalWorld::find_strangers(std::vector<Folder> folders, const Past& past) {
  std::vector<Folder> left, unknown;
  std::erase_if(folders, [&](const Folder& folder) {
    if (!has_manager(folder.path)) {
      left.push_back(folder);
    } else if (!holder_in(folder.path)) {
      unknown.push_back(folder);
    } else {
      return false;
    }
    return true;
  });
  if (!unknown.empty()) {
    throw InputError({fs::path(settings_.folder).parent_path()},
                     fmt::format("jobs run here of whose start the journal does not know, and "
                                 "nothing says on which nodes: {}",
                                 where(unknown)),
                     "wait until they are over, or end them by `kill PROCESS`");
  }
  const bool is_none = left.empty() && folders.empty();
  const std::vector<Seen> seen = is_none ? std::vector<Seen>{} : all_processes(kMark);
  // What those whose managers are gone have left must go; most have left nothing.
  for (const Folder& folder : left) {
    const std::string group = end_of_file(folder.path + "/cgroup");
    const bool is_left =
        !is_empty_cgroup(group) || std::ranges::find(seen, folder.path, &Seen::value) != seen.end();
    if (is_left) {
      folders.push_back(folder);
    } else {
      // Of one that waits again it is of a life before, and no sign that it has run in this one.
      remove_folder(folder.path);
    }
  }
  std::set<std::string> there;
  for (const Folder& folder : folders) {
    auto its = std::make_unique<Running>();
    const Holder holder = holder_in(folder.path).value_or(Holder{});
    const auto manager = manager_of(folder.path, seen);
    its->is_stranger = true;
    its->number = folder.number;
    its->folder = folder.path;
    its->group = end_of_file(its->group_file());
    its->holding.nodes = nodes_of(holder);
    its->name = fmt::format("{} {} {}", holder.started_by, index(holder.start),
                            fs::path(folder.path).filename().string());
    its->words =
        fmt::format("job {} of the journal {}{}", folder.number, holder.started_by.substr(0, 8),
                    manager ? fmt::format(", process {}", *manager) : "");
    there.insert(its->name);
    events_.emplace_back(Stranger{.name = its->name,
                                  .nodes = its->holding.nodes,
                                  .what = its->words,
                                  .number = past.is_ours(holder.started_by) ? folder.number : 0});
    strangers_.push_back(std::move(its));
  }
  for (const Stranger& each : past.strangers) {
    if (there.contains(each.name)) continue;
    events_.emplace_back(
        Stranger{.name = each.name, .nodes = each.nodes, .what = each.what, .is_there = false});
  }
  for (const auto& stranger : strangers_) {
    if (connect(*stranger) == Contact::nobody) gone(*stranger);
  }
}

std::string LocalWorld::where(const std::vector<Folder>& folders) const {
  const std::vector<Seen> seen = all_processes(kMark);
  std::vector<std::string> words;
  for (const Folder& folder : folders) {
    const auto manager = manager_of(folder.path, seen);
    words.push_back(manager ? fmt::format("{} (process {})", folder.number, *manager)
                            : std::to_string(folder.number));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

bool LocalWorld::is_strangers(const std::string& folder) const {
  return std::ranges::any_of(strangers_,
                             [&](const auto& stranger) { return stranger->folder == folder; });
}

/// For a job that begins.
std::string LocalWorld::free_folder(std::uint64_t number) const {
  const std::string own = folder_of(number);
  std::string folder = own;
  for (int i = 1; is_strangers(folder); ++i) folder = fmt::format("{}.{}", own, i);
  return folder;
}

void LocalWorld::look_at_stranger(Running& job) {
  if (job.is_gone || job.is_over) return;
  const bool is_closed = job.control && job.control->is_closed();
  if (is_closed || now() >= job.contact_at) {
    if (connect(job) == Contact::nobody) gone(job);
  }
}

/// Was the journal put back since its nodes were noted? Then it has these: it may have fewer than
/// the journal knows of, but with others there might be two jobs on one node.
bool LocalWorld::keep_to_holder(Running& job, const Known& known, const Past& past) {
  const auto holder = holder_in(job.folder);
  if (!holder) return false;
  job.started_by = holder->started_by;
  job.start_order = holder->start;
  Platform as_started = platform_;
  as_started.cores_per_node = holder->cores;
  job.had_other_nodes = holder->per_node != 0 || holder->cores != cores_noted(holder->nodes);
  job.per_node =
      holder->per_node != 0 ? holder->per_node : known.facts.what->processes_per_node(as_started);
  if (holder->journal == past.journal) return false;
  const NodeSet& has = holder->nodes;
  const bool is_resizing = known.open && known.open->kind == Decision::Kind::resize;
  const bool is_known = is_resizing ? has == known.held.nodes || has == known.open->after.nodes ||
                                          has == united(known.held.nodes, known.open->after.nodes)
                                    : !has.empty() && known.held.nodes.contains(has);
  if (!is_known && has_manager(job.folder)) {
    throw InputError(
        {fs::path(settings_.folder).parent_path()},
        fmt::format("job {} has the nodes {}, and {} as far as this journal knows",
                    where({{.number = job.number, .is_plain = true, .path = job.folder}}),
                    to_string(has), to_string(known.held.nodes)),
        "wait until it is over, or end it by `kill PROCESS`");
  }
  if (is_known && !is_resizing) job.holding = {has.count(), has};
  return !is_resizing;
}

void LocalWorld::take_up(const Known& known, const std::string& folder, const Past& past) {
  const JobFacts& job = known.facts;
  auto its = running(known.id, job, folder);
  its->holding = known.held;
  const bool is_put_back = keep_to_holder(*its, known, past);
  its->was_taken_up = its->may_resize;
  its->seen = past.seen;
  its->is_of_before = clock_->is_anew();
  its->group = end_of_file(its->group_file());
  const bool is_starting = known.open && known.open->kind == Decision::Kind::start;
  const bool is_end = known.open && (known.open->kind == Decision::Kind::cancel ||
                                     known.open->kind == Decision::Kind::requeue);
  if (known.open && !is_starting && !is_end) its->order = known.open;
  its->is_lost = its->order.has_value();
  if (its->order) expect_answer(*its);
  its->request = known.request;
  if (job.end) mark_ended(*its, *job.end, job.requeue);
  Running& running = *its;
  const Contact contact = connect(running);
  if (contact == Contact::nobody && is_starting && end_of_file(running.report()).empty()) {
    return happen(event::StartFailed{known.id, known.open->id, now()});
  }
  running_[known.id] = std::move(its);
  if (contact == Contact::nobody) return gone(running);
  if (is_put_back) note_holder(running, running.holding.nodes);
  if (is_starting) {
    happen(event::Started{known.id, known.open->id, running.holding, std::nullopt});
  } else if (!(running.holding == known.held)) {
    happen(event::Resized{known.id, DecisionId::none, running.holding, now()});
  }
}

/// Is there a manager of a job with this folder, whoever has started it?
bool LocalWorld::has_manager(const std::string& folder) {
  Running its;
  its.folder = folder;
  try {
    return static_cast<bool>(connect_unix(its.socket()));
  } catch (const InputError&) {
    return false;
  } catch (const std::system_error&) {
    return true;  // it has too much to do
  }
}

/// Its process, if it can be found among all that have a mark.
std::optional<pid_t> LocalWorld::manager_of(const std::string& folder,
                                            const std::vector<Seen>& all) {
  // All of the job's processes know its folder; the manager is the first of them.
  std::vector<Seen> its;
  std::ranges::copy_if(all, std::back_inserter(its),
                       [&](const Seen& each) { return each.value == folder; });
  const auto manager = std::ranges::find_if(its, [&](const Seen& seen) {
    return std::ranges::find(its, seen.parent, &Seen::pid) == its.end();
  });
  return manager != its.end() ? std::optional(manager->pid) : std::nullopt;
}

/// Of jobs that are over, or have begun anew.
void LocalWorld::remove_kept(const Past& past) const {
  constexpr std::string_view kBegin = "kept-";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(settings_.folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kBegin)) continue;
    const auto number = parse_number<std::uint64_t>(std::string_view(name).substr(kBegin.size()));
    const auto is_his = [&](const Known& known) { return known.facts.number == number; };
    const auto its = std::ranges::find_if(past.jobs, is_his);
    const bool is_needed = its != past.jobs.end() && (its->facts.goes_on || its->runs);
    if (number && !is_needed) unlink(entry.path().c_str());
  }
}

void LocalWorld::forget(std::uint64_t number, bool) {
  clear(number);
  unlink(kept_of(number).c_str());
}

/// A life of the job.
void LocalWorld::clear(std::uint64_t number) {
  const auto moved = moved_.find(number);
  const std::string folder = moved != moved_.end() ? moved->second : folder_of(number);
  if (moved != moved_.end()) moved_.erase(moved);
  if (!is_strangers(folder)) remove_folder(folder);
}

void LocalWorld::remove_folder(const std::string& folder) {
  // Never what is below it: there is nothing, and all in it is known.
  Running its;
  its.folder = folder;
  if (const std::string group = end_of_file(its.group_file()); !group.empty()) remove_cgroup(group);
  for (const std::string& path :
       {its.socket(), its.report(), its.log(), its.script(), its.group_file(), its.holder(),
        its.holder() + ".new", its.keep()}) {
    unlink(path.c_str());
  }
  rmdir(its.folder.c_str());
}

// ---- Managers that talk -------------------------------------------------------------------------

LocalWorld::Contact LocalWorld::connect(Running& job) {
  job.control.reset();
  job.contact_at = kNever;
  try {
    job.control.emplace(connect_unix(job.socket()), kLongestLine, kMostUnsent);
  } catch (const InputError&) {
    return Contact::nobody;
  } catch (const std::system_error& error) {
    // It is not gone; it, or this process, has too much to do.
    spdlog::warn("job {} cannot be reached now: {}", job.number, error.what());
    job.contact_at = now() + kContact;
    return Contact::not_now;
  }
  crash_point();
  if (job.is_stranger) return Contact::made;  // its end is all that counts
  job.say({{"do", "watch"}});
  tell_nodes(job);
  if (job.end) job.say({{"do", "stop"}});
  return Contact::made;
}

void LocalWorld::add_to(Poller& poller) {
  for (const auto& [id, owned] : running_) {
    Running* const job = owned.get();
    if (job->fresh) {
      poller.add(job->fresh->descriptor(), POLLIN, [this, job] {
        if (job->fresh) look_at_start(*job);
      });
    }
    if (!job->control) continue;
    poller.add(job->control->descriptor(), job->control->events(), [this, job] { read(*job); });
  }
  for (const auto& owned : strangers_) {
    Running* const job = owned.get();
    if (!job->control) continue;
    poller.add(job->control->descriptor(), job->control->events(), [job] {
      job->control->work();
      while (job->control->next()) continue;
    });
  }
}

void LocalWorld::read(Running& job) {
  if (!job.control) return;
  job.control->work();
  while (const auto line = job.control->next()) on_line(job, *line);
  if (job.control->is_closed()) on_closed(job);
}

/// Either it has ended, or it has lost patience with us.
void LocalWorld::on_closed(Running& job) {
  job.control.reset();
  job.is_lost = job.order.has_value();
  if (connect(job) == Contact::nobody && job.child < 0) gone(job);
}

void LocalWorld::on_line(Running& job, const std::string& line) {
  const Json json = parse_json_line(line);
  if (!json.is_object()) return;
  const std::string event = text_in(json, "event");
  if (const LostOutput lost = lost_in(json); lost.bytes > 0) job.lost = lost;
  if (auto end = end_in(json)) job.end_told = std::move(end);
  if (json.contains("cpus")) job.told_cpus = parse_node_set(text_in(json, "cpus"));
  if (event == "requested") {
    on_request(job, count_in(json, "at_least"), count_in(json, "preferred"));
  } else if (event == "resized" || event == "aborted") {
    if (const auto pause = json.find("pause_s"); pause != json.end() && pause->is_number()) {
      const double pause_s = pause->get<double>();
      // Whatever a user has put in the manager's place: sums of it stay numbers.
      if (pause_s >= 0 && pause_s <= 1e6) {
        events_.emplace_back(Paused{pause_s});
        if (job.order) job.paused += seconds(pause_s);
      }
    }
    const bool is_done = event == "resized";
    if (job.is_lost) settle(job, count_in(json, "size"), is_done);
    keep_to_size(job, count_in(json, "size"));
  } else if (event == "measured") {
    on_measured(job, json);
  } else if (json.contains("phase")) {
    if (text_in(json, "phase") == "running") {
      if (job.is_lost) on_lost_order(job, json);
      keep_to_size(job, count_in(json, "size"));
    }
    if (const auto request = json.find("request"); request != json.end() && request->is_object()) {
      on_request(job, count_in(*request, "at_least"), count_in(*request, "preferred"));
    } else if (job.request && !job.order) {  // taken back while nobody listened
      happen(event::EvolvingWithdrawn{std::exchange(job.request, std::nullopt)->id});
    }
  } else if (const auto id = json.find("id"); id != json.end() && job.order && !job.is_lost) {
    if (*id != index(job.order->id)) return;
    // It ends now, and its report tells.
    if (job.order->stops() && json.value("ok", Json()) == true) return;
    if (const std::string why = text_in(json, "error"); !why.empty()) {
      spdlog::info("job {} was not {}: {}", job.number,
                   job.order->stops() ? "suspended" : "resized", printable(why));
    }
    settle(job, count_in(json, "size"), json.value("ok", Json()) == true);
    // The one before may have come late, while this one was refused.
    keep_to_size(job, count_in(json, "size"));
  }
}

/// Nothing is under way: was it carried out, did it fail, or did it never come? Then it comes now.
void LocalWorld::on_lost_order(Running& job, const Json& status) {
  const std::uint64_t id = index(job.order->id);
  const auto heard = status.find("heard");  // not told by managers of older versions
  if (heard != status.end() && *heard != id && !job.is_withdrawn) {
    job.is_lost = false;
    give_order(job, "resize");
  } else {
    settle(job, count_in(status, "size"), status.value("done", Json()) == id);
  }
}

/// While a resize is under way two generations share the cores, and what is told of one is not what
/// it does alone.
void LocalWorld::on_measured(Running& job, const Json& json) {
  if (job.order) return;
  const Nodes nodes = job.holding.count;
  Measured its{.job = job.id, .nodes = nodes};
  if (job.reads_watts) its.watts = watts_told(job, json);
  if (job.is_measured && set_.measure > Duration{} &&
      count_in(json, "size") == nodes * job.per_node) {
    its.seen = seen_in(json);
  }
  if (its.watts || its.seen.iterations > 0 || its.seen.looks > 0) events_.emplace_back(its);
}

/// What its files say of the nodes that it has; that they say nothing is logged once.
std::optional<double> LocalWorld::watts_told(Running& job, const Json& json) {
  const auto watts = json.find("watts");
  if (watts == json.end()) return std::nullopt;
  const auto on = parse_node_set(text_in(json, "nodes"));
  if (!on || *on != job.holding.nodes) return std::nullopt;  // it has others since
  constexpr double kMostOfNode = 1e6;
  const double most = kMostOfNode * job.holding.count;
  if (watts->is_number() && watts->get<double>() >= 0 && watts->get<double>() <= most) {
    return watts->get<double>();
  }
  if (!std::exchange(job.said_no_watts, true)) {
    spdlog::warn("job {}: what it draws is not measured: {}", job.number,
                 words_in(json, "why_no_watts"));
  }
  return std::nullopt;
}

void LocalWorld::tell_nodes(Running& job) {
  if (!job.reads_watts) return;
  job.say({{"do", "nodes"}, {"nodes", to_string(job.holding.nodes)}});
}

void LocalWorld::configure(const WorldSettings& settings) {
  const bool has_other_counters =
      settings.power_from != set_.power_from || settings.power != set_.power;
  set_ = settings;
  if (!has_other_counters) return;
  meter_.reset();
  alone_ = JobId::none;
  count_at_ = kNever;
  if (set_.power == Duration{} || set_.power_from.empty()) return;
  meter_.emplace(set_.power_from);
  count_at_ = Time{};  // the clock may come later
}

/// All that this machine has drawn since the last time is of one job, if that has had all nodes
/// since then.
void LocalWorld::look_at_counters() {
  const double joules = meter_->take();
  const Duration passed = now() - counted_at_;
  counted_at_ = now();
  count_at_ = later(now(), set_.power);
  JobId alone = JobId::none;
  for (const auto& [id, job] : running_) {
    if (job->fresh || job->order || job->is_gone || !strangers_.empty()) continue;
    if (job->holding.count == platform_.nodes) alone = id;
  }
  const bool was_alone = std::exchange(alone_, alone) == alone && alone != JobId::none;
  if (!was_alone || passed <= Duration{} || running_.at(alone)->reads_watts) return;
  events_.emplace_back(
      Measured{.job = alone, .nodes = platform_.nodes, .watts = joules / to_seconds(passed)});
}

/// So many nodes, of one that has gone a part of the way from some to others: those that are in
/// both first.
Holding part_of(const Holding& from, const Holding& to, Nodes count) {
  const bool grows = from.count < to.count;
  NodeSet nodes = grows ? from.nodes : to.nodes;
  NodeSet others = difference(grows ? to.nodes : from.nodes, nodes);
  nodes.insert(others.take_lowest(std::min(count - nodes.count(), others.count())));
  return {.count = count, .nodes = std::move(nodes)};
}

/// The order is answered: by its size the job has what it was to have, or a part of it, or else
/// what it had; one to move tells nothing by its size.
void LocalWorld::settle(Running& job, std::uint32_t processes, bool has_moved) {
  crash_point(Moment::resize);
  job.is_lost = false;
  job.answer_by = kNever;
  if (!job.is_withdrawn) job.longest = std::max(job.longest, now() - job.ordered_at);
  const bool moves = job.moves();
  Decision order = std::move(*std::exchange(job.order, std::nullopt));
  const Nodes nodes = job.nodes(processes);
  const bool is_part = !order.stops() && std::min(job.holding.count, order.after.count) < nodes &&
                       nodes < std::max(job.holding.count, order.after.count);
  const bool is_done =
      is_part || (!order.stops() && nodes == order.after.count && (!moves || has_moved));
  if (is_done) {
    job.is_withdrawn = false;
    job.holding = is_part ? part_of(job.holding, order.after, nodes) : std::move(order.after);
    // The manager has forgotten a request of the generation that has gone.
    if (job.request) {
      happen(event::EvolvingWithdrawn{std::exchange(job.request, std::nullopt)->id});
    }
  }
  limit(job, job.holding);
  note_holder(job, job.holding.nodes);
  tell_nodes(job);
  happen(event::Resized{job.id, order.id, job.holding,
                        is_done && !is_part ? now() : now() + set_.retry,
                        std::exchange(job.paused, Duration{})});
}

/// The application asks for another size, in processes; a new request replaces an open one.
void LocalWorld::on_request(Running& job, std::uint32_t at_least, std::uint32_t preferred) {
  const Nodes now = job.holding.count, wanted = job.nodes(preferred), least = job.nodes(at_least);
  const auto delta = static_cast<std::int32_t>(std::int64_t{wanted} - now);
  const Nodes needed = least > now ? least - now : 1;
  if (job.request) {
    // After a restart it tells of one that the core knows.
    if (job.request->delta == delta && job.request->at_least == needed) return;
    happen(event::EvolvingWithdrawn{std::exchange(job.request, std::nullopt)->id});
  }
  if (!job.asks || wanted == now || wanted == 0) {
    // Its size is not its own to choose; or it has what can be given in whole nodes.
    job.say({{"do", "answer"}, {"size", 0}});
    return;
  }
  job.request = Request{RequestId{next_request_++}, job.id, delta, needed};
  happen(event::EvolvingRequested{job.request->id, job.id, delta, needed});
}

// ---- Ends ---------------------------------------------------------------------------------------

/// Managers, and orphans of those that were killed. Other children of this process, which are in
/// its session, are not ours.
void LocalWorld::reap() {
  siginfo_t ended{};
  const auto any_has_ended = [&ended] {
    ended = {};
    return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0;
  };
  const bool look_at_each = any_has_ended();  // a thousand questions otherwise
  int status = 0;
  for (const auto& [id, job] : running_) {
    if (job->fresh) look_at_start(*job);
    if (!look_at_each || job->fresh || job->child < 0) continue;
    if (waitpid(job->child, &status, WNOHANG) != job->child) continue;
    job->child = -1;
    job->status = status;
    if (job->control) read(*job);  // what it said last
    if (!job->is_gone) gone(*job);
  }
  while (look_at_each && any_has_ended() && is_orphan(ended.si_pid)) {
    waitpid(ended.si_pid, nullptr, 0);
    orphans_.erase(ended.si_pid);
    for (const auto& [id, job] : running_) job->orphans.erase(ended.si_pid);
  }
}

/// Of a child of this process: each manager has led a session of its own, which nothing leaves for
/// ours.
bool LocalWorld::is_orphan(pid_t pid) const {
  return getsid(pid) != getsid(0) && std::ranges::none_of(running_, [&](const auto& entry) {
           return entry.second->child == pid;
         });
}

void LocalWorld::look() {
  reap();
  for (auto& [id, owned] : running_) {
    Running& job = *owned;
    if (job.is_gone || job.is_over) continue;
    // Who was told something may have been gone already.
    if (job.control && job.control->is_closed()) on_closed(job);
    if (job.control) job.seen = now();
    if (job.order && now() >= job.answer_by) withdraw(job);
    if (now() >= job.back_at) order_back(job);
    if (now() >= job.contact_at && connect(job) == Contact::nobody && job.child < 0) gone(job);
    if (now() >= job.kill_at && !job.is_gone) {
      spdlog::warn("job {} does not end; it is killed", job.number);
      job.kill_at = kNever;
      if (job.child > 0) kill(job.child, SIGKILL);
      if (!job.group.empty()) kill_cgroup(job.group);
      if (job.child < 0 && job.group.empty()) {
        for (const Seen& seen : all_processes(kMark)) {
          if (seen.value == job.folder) kill(seen.pid, SIGKILL);
        }
      }
    }
  }
  for (const auto& stranger : strangers_) look_at_stranger(*stranger);
  if (meter_ && now() >= count_at_) look_at_counters();
  if (now() >= sweep_at_) sweep();
  std::erase_if(running_, [](const auto& entry) { return entry.second->is_over; });
  std::erase_if(strangers_, [](const auto& stranger) { return stranger->is_over; });
}

Time LocalWorld::next() const {
  Time next = std::min(sweep_at_, count_at_);
  for (const auto& [id, job] : running_) {
    if (job->control && job->control->is_closed()) return Time{};
    next = std::min({next, job->kill_at, job->contact_at, job->answer_by, job->back_at});
  }
  for (const auto& stranger : strangers_) {
    if (stranger->control && stranger->control->is_closed()) return Time{};
    next = std::min(next, stranger->contact_at);
  }
  return next;
}

/// Its manager is no more. If that has left in order, so has the job; else it is over when nothing
/// of it is left.
void LocalWorld::gone(Running& job) {
  job.is_gone = true;
  job.control.reset();
  job.kill_at = job.contact_at = job.answer_by = job.back_at = kNever;
  job.gone_at = now();
  const auto reported = reported_end(job.report());
  const bool is_orderly =
      reported && reported->is_orderly && (!job.status || WIFEXITED(*job.status));
  job.left_nothing = is_orderly && is_empty_cgroup(job.group);
  if (job.left_nothing) return over(job);
  sweep_at_ = now();
}

/// Kills what those have left whose managers are gone.
void LocalWorld::sweep() {
  sweep_at_ = kNever;
  std::vector<Running*> open;
  bool needs_scan = false;
  for (const auto& [id, job] : running_) {
    if (!job->is_gone || job->is_over) continue;
    open.push_back(job.get());
    needs_scan = needs_scan || job->group.empty();
  }
  for (const auto& stranger : strangers_) {
    if (!stranger->is_gone || stranger->is_over) continue;
    open.push_back(stranger.get());
    needs_scan = needs_scan || stranger->group.empty();
  }
  if (open.empty()) return;
  reap();
  std::set<std::string> marks;  // that living processes have
  if (needs_scan) {
    const std::vector<Seen> seen = all_processes(kMark);
    std::set<pid_t> doomed;
    for (const Seen& process : seen) {
      // Of one of these, or of one before them that is slow in going.
      const bool is_left = process.parent == getpid() && is_orphan(process.pid);
      if (is_left && orphans_.insert(process.pid).second) {
        for (Running* const job : open) {
          if (job->group.empty() && !job->is_stranger) job->orphans.insert(process.pid);
        }
      }
      const bool is_marked = std::ranges::any_of(
          open, [&](const Running* job) { return process.value == job->folder; });
      if (is_marked) marks.insert(process.value);
      if (is_left || is_marked) doomed.insert(process.pid);
    }
    // And what they have started: there are more of them than were seen.
    for (std::size_t before = 0; before != doomed.size();) {
      before = doomed.size();
      for (const Seen& process : seen) {
        if (doomed.contains(process.parent)) doomed.insert(process.pid);
      }
    }
    for (const pid_t pid : doomed) kill(pid, SIGKILL);
  }
  for (Running* const job : open) {
    const bool is_empty = is_empty_cgroup(job->group);
    if (!is_empty) kill_cgroup(job->group);
    if (is_empty && job->orphans.empty() && !marks.contains(job->folder)) {
      over(*job);
      continue;
    }
    sweep_at_ = now() + kSweep;
    if (now() - job->gone_at > whole_seconds(10)) {
      job->gone_at = kNever;
      spdlog::warn("job {}: its processes do not go; its nodes stay with it until they do",
                   job->number);
    }
  }
}

/// The last thing that a manager has reported is that the job is suspended: all its data is kept.
bool says_suspended(const std::string& path) {
  std::string text = end_of_file(path);
  if (text.empty() || text.back() != '\n') return false;
  text.pop_back();
  const std::size_t before = text.rfind('\n');
  const Json json = parse_json_line(std::string_view(text).substr(before + 1));
  if (!json.is_object()) return false;
  const std::string event = text_in(json, "event");
  const auto flag = json.find("suspended");
  return event == "suspended" || (event == "ended" && flag != json.end() && *flag == true);
}

/// Has its manager left because it is suspended? Then what it has kept is in its place, or
/// is put there.
bool LocalWorld::is_suspended(Running& job) {
  if (job.end || !says_suspended(job.report())) return false;
  const std::string kept = kept_of(job.number);
  if (rename(job.keep().c_str(), kept.c_str()) == 0) return true;
  // It was put there before, and the journal has not heard of it.
  if (errno == ENOENT && access(kept.c_str(), F_OK) == 0) return true;
  spdlog::error("job {}: what it has kept is gone: {}", job.number, std::strerror(errno));
  return false;
}

void LocalWorld::over(Running& job) {
  job.is_over = true;
  if (!job.is_stranger && is_suspended(job)) {
    DecisionId answers = DecisionId::none;
    if (job.order && job.order->stops()) {
      answers = job.order->id;
    } else if (job.order) {  // that it had withdrawn before, and that came all the same
      happen(event::Resized{job.id, job.order->id, job.holding, now()});
    }
    crash_point(Moment::resize);
    return happen(event::Suspended{job.id, answers, std::exchange(job.paused, Duration{})});
  }
  if (job.is_stranger) {
    remove_folder(job.folder);
    events_.emplace_back(Stranger{
        .name = job.name, .nodes = job.holding.nodes, .what = job.words, .is_there = false});
    return;
  }
  auto reported = reported_end(job.report());
  if (!reported) reported = job.end_told;
  std::optional<int> code;
  if (reported) code = reported->exit_code;
  if (!code && job.status && WIFEXITED(*job.status)) code = exit_code(*job.status);
  const EndState state = job.end ? *job.end : code == 0 ? EndState::completed : EndState::failed;
  const bool waits_again = job.requeue || (job.survives && !code && !job.end);
  Told end{.event = event::Ended{job.id, state, waits_again}, .exit_code = code};
  if (reported) {
    end.ran = reported->ran;
    end.reason = reported->reason;
    end.note = reported->note;
    end.was_killed = reported->was_killed;
    end.lost = reported->lost;
  } else {
    end.lost = job.lost;
  }
  if (!code) {
    const auto signal =
        job.status && WIFSIGNALED(*job.status) ? signal_name(WTERMSIG(*job.status)) : std::nullopt;
    end.note = fmt::format("its manager was gone{}, and had left no exit code",
                           signal ? ", killed by " + *signal : "");
    end.reason = "SystemFailure";
  }
  end.ended =
      when_ended(job, reported ? reported->boot : "", reported ? reported->machine : Duration{});
  events_.emplace_back(std::move(end));
}

/// When all of it had ended, as its manager saw it by the clock of the machine; nothing if that was
/// just now. Reports are their users' own: not before it was seen alive.
std::optional<Time> LocalWorld::when_ended(const Running& job, const std::string& boot,
                                           Duration machine) const {
  const auto reported = clock_->when(boot, machine);
  if (reported && job.left_nothing) return std::clamp(*reported, job.seen, now());
  // All ended with the machine, at the latest. When that was nobody knows.
  if (job.is_of_before) return job.seen;
  return std::nullopt;
}

World::Signs LocalWorld::signs(JobId id) const {
  const auto found = running_.find(id);
  if (found == running_.end()) return {};
  return {found->second->lost, found->second->is_withdrawn};
}

}  // namespace ductile
