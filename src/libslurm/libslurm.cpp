#include "libslurm/libslurm.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <sys/wait.h>

// They are in the library, and in no header.
extern "C" char* slurm_job_reason_string(enum job_state_reason reason);
extern "C" void slurm_xfree(void** item);

namespace ductile {
namespace {

constexpr auto kRetryBusy = std::chrono::milliseconds(5);
constexpr auto kMostRetries = std::chrono::seconds(2);

std::string text(const char* given) { return given == nullptr ? "" : given; }
Time wall(std::time_t seconds) { return Time(whole_seconds(std::max<std::time_t>(seconds, 0))); }
/// Of a field that Slurm leaves at a value of its own where nothing is said.
std::uint32_t said(std::uint32_t value) { return value == NO_VAL || value == INFINITE ? 0 : value; }
std::uint32_t said(std::uint16_t value) {
  return value == NO_VAL16 || value == INFINITE16 ? 0 : value;
}
Duration minutes(std::uint32_t value) { return whole_seconds(60 * std::int64_t{said(value)}); }
std::uint32_t in_minutes(Duration duration) {
  return static_cast<std::uint32_t>((duration + whole_seconds(60) - Duration(1)) /
                                    whole_seconds(60));
}

/// A descriptor's texts are not const; slurmctld's messages are made from them, and they stay.
char* mutable_text(const std::string& given) { return const_cast<char*>(given.c_str()); }

/// Whether the other side has heard of it nobody knows.
bool is_of_the_line(int error) {
  return (error >= SLURM_UNEXPECTED_MSG_ERROR && error < SLURM_NO_CHANGE_IN_DATA) ||
         error == ESLURM_IN_STANDBY_MODE || error == SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT ||
         error == SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT || error == ECONNREFUSED ||
         error == ETIMEDOUT || error == EAGAIN || error == EINTR || error == EHOSTUNREACH;
}

[[noreturn]] void fail(std::string_view what) {
  const int error = errno;
  throw SlurmError(fmt::format("{}: {}", what, slurm_strerror(error)), is_of_the_line(error));
}

template <class Message>
using Owned = std::unique_ptr<Message, void (*)(Message*)>;

std::string list_of(const std::vector<std::string>& nodes) {
  return fmt::format("{}", fmt::join(nodes, ","));
}

SlurmJob::State state_of(const slurm_job_info_t& job) {
  const std::uint32_t base = job.job_state & JOB_STATE_BASE;
  if (base == JOB_PENDING) {
    // Requeued, and what it had on its nodes is being cleaned up.
    return (job.job_state & JOB_COMPLETING) != 0 ? SlurmJob::State::completing
                                                 : SlurmJob::State::pending;
  }
  if (base >= JOB_COMPLETE) {
    return (job.job_state & JOB_COMPLETING) != 0 ? SlurmJob::State::completing
                                                 : SlurmJob::State::over;
  }
  if ((job.job_state & JOB_CONFIGURING) != 0) return SlurmJob::State::configuring;
  return base == JOB_SUSPENDED ? SlurmJob::State::suspended : SlurmJob::State::running;
}

EndState end_of(std::uint32_t state) {
  switch (state & JOB_STATE_BASE) {
    case JOB_COMPLETE:
      return EndState::completed;
    case JOB_CANCELLED:
    case JOB_PREEMPTED:
      return EndState::cancelled;
    case JOB_TIMEOUT:
    case JOB_DEADLINE:
      return EndState::timeout;
    case JOB_NODE_FAIL:
    case JOB_BOOT_FAIL:
      return EndState::node_fail;
    default:
      return EndState::failed;
  }
}

/// What is not fulfilled of "afterok:12(unfulfilled),afterany:13(fulfilled)"; a job without this
/// word waits as well.
std::string unfulfilled(std::string_view dependency) {
  std::vector<std::string> left;
  while (!dependency.empty()) {
    const std::size_t end = dependency.find_first_of(",?");
    const std::string_view one = dependency.substr(0, end);
    if (one.find("(fulfilled)") == std::string_view::npos) left.emplace_back(one);
    if (end == std::string_view::npos) break;
    dependency.remove_prefix(end + 1);
  }
  return fmt::format("{}", fmt::join(left, ","));
}

SlurmJob job_of(const slurm_job_info_t& job) {
  SlurmJob its;
  its.number = job.job_id;
  its.array = job.array_job_id;
  its.tasks = text(job.array_task_str);
  if (job.array_job_id != 0 && job.array_task_id != NO_VAL) its.task = job.array_task_id;
  its.owner = {job.user_id, job.group_id};
  its.state = state_of(job);
  its.is_held = job.priority == 0;
  its.is_batch = job.batch_flag != 0;
  its.reason = text(slurm_job_reason_string(static_cast<job_state_reason>(job.state_reason)));
  its.end = end_of(job.job_state);
  const auto status = static_cast<int>(job.exit_code);
  if (WIFEXITED(status)) its.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) its.signal = WTERMSIG(status);
  its.name = text(job.name);
  its.account = text(job.account);
  its.qos = text(job.qos);
  its.partition = text(job.partition);
  its.reservation = text(job.resv_name);
  its.comment = text(job.comment);
  its.admin_comment = text(job.admin_comment);
  its.dependency = unfulfilled(text(job.dependency));
  its.features = text(job.features);
  its.gres = text(job.tres_per_node);
  its.licenses = text(job.licenses);
  its.folder = text(job.work_dir);
  its.least = std::max<std::uint32_t>(said(job.num_nodes), 1);
  its.most = said(job.max_nodes);
  its.tasks_per_node = said(job.ntasks_per_node);
  its.cpus_per_task = said(job.cpus_per_task);
  its.processes = said(job.num_tasks);
  its.cpus = said(job.num_cpus);
  if (job.pn_min_memory != NO_VAL64 && (job.pn_min_memory & MEM_PER_CPU) == 0) {
    its.memory_mb = job.pn_min_memory;
  }
  its.limit = minutes(job.time_limit);
  its.required = names_of_nodes(job.req_nodes);
  its.excluded = names_of_nodes(job.exc_nodes);
  its.is_requeued = job.requeue != 0;
  its.restarts = job.restart_cnt;
  its.submitted = wall(job.submit_time);
  its.eligible = wall(job.eligible_time);
  its.started = wall(job.start_time);
  its.ended = wall(job.end_time);
  if (its.has_nodes()) {
    its.nodes = names_of_nodes(job.nodes);
    its.batch_host = text(job.batch_host);
  }
  return its;
}

Health health_of(std::uint32_t state) {
  constexpr std::uint32_t kGone = NODE_STATE_NO_RESPOND | NODE_STATE_FAIL |
                                  NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN |
                                  NODE_STATE_REBOOT_ISSUED | NODE_STATE_INVALID_REG;
  constexpr std::uint32_t kLeaves = NODE_STATE_DRAIN | NODE_STATE_MAINT | NODE_STATE_RES |
                                    NODE_STATE_REBOOT_REQUESTED | NODE_STATE_POWER_DRAIN;
  const std::uint32_t base = state & NODE_STATE_BASE;
  const bool is_there =
      base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED;
  if (!is_there || (state & kGone) != 0) return Health::down;
  return (state & kLeaves) != 0 ? Health::draining : Health::up;
}

job_desc_msg_t descriptor_of(std::uint64_t number) {
  job_desc_msg_t job;
  slurm_init_job_desc_msg(&job);
  job.job_id = static_cast<std::uint32_t>(number);
  return job;
}

void update(job_desc_msg_t& job, std::string_view what) {
  for (const auto end = std::chrono::steady_clock::now() + kMostRetries;;) {
    if (slurm_update_job(&job) == SLURM_SUCCESS) return;
    // slurmdbd has not yet told of the job's last change.
    if (errno != ESLURM_JOB_SETTING_DB_INX || std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(kRetryBusy);
  }
  fail(fmt::format("job {} cannot be {}", job.job_id, what));
}

Owned<resource_allocation_response_msg_t> allocate(job_desc_msg_t& job, std::uint64_t number) {
  for (const auto end = std::chrono::steady_clock::now() + kMostRetries;;) {
    resource_allocation_response_msg_t* answer = nullptr;
    if (slurm_allocate_resources(&job, &answer) == SLURM_SUCCESS) {
      Owned<resource_allocation_response_msg_t> owned(answer,
                                                      slurm_free_resource_allocation_response_msg);
      if (answer->node_cnt > 0) return owned;
      slurm_kill_job(answer->job_id, SIGKILL, 0);
      throw SlurmError(fmt::format("job {} cannot grow: its nodes are not free", number), false);
    }
    // Nodes that were left a moment ago are busy for a few milliseconds.
    if (errno != ESLURM_NODES_BUSY || std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(kRetryBusy);
  }
  fail(fmt::format("job {} cannot grow", number));
}

}  // namespace

std::vector<std::string> names_of_nodes(const char* list) {
  std::vector<std::string> names;
  if (list == nullptr || *list == '\0') return names;
  hostlist_t hosts = slurm_hostlist_create(list);
  if (hosts == nullptr) return names;
  while (char* const name = slurm_hostlist_shift(hosts)) {
    names.emplace_back(name);
    std::free(name);
  }
  slurm_hostlist_destroy(hosts);
  return names;
}

LibSlurm::LibSlurm(std::string partition) : partition_(std::move(partition)) {
  slurm_init(nullptr);
}

LibSlurm::~LibSlurm() { slurm_fini(); }

SlurmFacts LibSlurm::facts() {
  slurm_conf_t* given = nullptr;
  if (slurm_load_ctl_conf(0, &given) != SLURM_SUCCESS) fail("Slurm does not answer");
  const Owned<slurm_conf_t> conf(given, slurm_free_ctl_conf);
  SlurmFacts facts;
  facts.version = text(conf->version);
  facts.cluster = text(conf->cluster_name);
  facts.keeps_accounts = text(conf->accounting_storage_type) == "accounting_storage/slurmdbd";
  facts.permits_expansion =
      text(conf->sched_params).find("permit_job_expansion") != std::string::npos;
  facts.has_prolog = !text(conf->prolog_slurmctld).empty();
  facts.holds_submissions = text(conf->job_submit_plugins).find("lua") != std::string::npos;
  facts.user = conf->slurm_user_id;
  facts.most_jobs = conf->max_job_cnt;
  facts.remembers = whole_seconds(conf->min_job_age);

  partition_info_msg_t* message = nullptr;
  if (slurm_load_partitions(0, &message, SHOW_ALL) != SLURM_SUCCESS) {
    fail("Slurm's partitions cannot be read");
  }
  const Owned<partition_info_msg_t> partitions(message, slurm_free_partition_info_msg);
  const std::span all(partitions->partition_array, partitions->record_count);
  const auto its = std::ranges::find_if(
      all, [&](const partition_info_t& each) { return text(each.name) == partition_; });
  if (its == all.end()) {
    std::vector<std::string> names;
    for (const partition_info_t& each : all) names.push_back(text(each.name));
    throw SlurmError(
        fmt::format("Slurm has no partition '{}'; it has {}", partition_, fmt::join(names, ", ")),
        false);
  }
  facts.is_exclusive = its->max_share == 0;
  facts.nodes = names_of_nodes(its->nodes);
  facts.max_time = minutes(its->max_time);
  facts.default_time = minutes(its->default_time);
  return facts;
}

std::vector<SlurmNode> LibSlurm::nodes() {
  node_info_msg_t* message = nullptr;
  if (slurm_load_node(0, &message, SHOW_ALL) != SLURM_SUCCESS) fail("Slurm's nodes cannot be read");
  const Owned<node_info_msg_t> owned(message, slurm_free_node_info_msg);
  std::vector<SlurmNode> nodes;
  for (const node_info_t& node : std::span(owned->node_array, owned->record_count)) {
    if (node.name == nullptr) continue;  // a place that was left free
    const double watts = node.energy != nullptr ? said(node.energy->current_watts) : 0;
    nodes.push_back({.name = node.name,
                     .cpus = node.cpus_efctv,
                     .sockets = std::max<std::uint32_t>(node.sockets, 1),
                     .memory_mb = node.real_memory,
                     .features = text(node.features),
                     .gres = text(node.gres),
                     .weight = node.weight,
                     .health = health_of(node.node_state),
                     .watts = watts});
  }
  return nodes;
}

std::optional<std::vector<SlurmJob>> LibSlurm::jobs() {
  job_info_msg_t* message = nullptr;
  if (slurm_load_jobs(jobs_at_, &message, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) {
    if (errno == SLURM_NO_CHANGE_IN_DATA) return std::nullopt;
    fail("Slurm's jobs cannot be read");
  }
  const Owned<job_info_msg_t> owned(message, slurm_free_job_info_msg);
  // Its clock has seconds: what changes in the second of this answer comes with the next one.
  jobs_at_ = owned->last_update - 1;
  std::vector<SlurmJob> jobs;
  jobs.reserve(owned->record_count);
  for (slurm_job_info_t& job : std::span(owned->job_array, owned->record_count)) {
    jobs.push_back(job_of(job));
    // That of 22.05 forgets it when it frees the message; it is nothing then.
    void* comment = std::exchange(job.admin_comment, nullptr);
    slurm_xfree(&comment);
  }
  return jobs;
}

void LibSlurm::start(const SlurmStart& what) {
  job_desc_msg_t job = descriptor_of(what.number);
  const std::string nodes = list_of(what.nodes);
  job.min_nodes = job.max_nodes = static_cast<std::uint32_t>(what.nodes.size());
  job.req_nodes = mutable_text(nodes);
  if (what.processes != 0) job.num_tasks = job.min_cpus = what.processes;
  if (what.limit > Duration{}) job.time_limit = in_minutes(what.limit);
  job.priority = INFINITE;  // a number is refused while it is held
  update(job, "started");
}

void LibSlurm::hold(std::uint64_t number, Nodes least, Nodes most,
                    const std::vector<std::string>& required, const std::string& comment) {
  job_desc_msg_t job = descriptor_of(number);
  const std::string nodes = list_of(required);
  job.priority = 0;
  job.alloc_sid = ALLOC_SID_USER_HOLD;  // the reason is not JobHeldAdmin then
  job.min_nodes = least;
  job.max_nodes = most;
  job.req_nodes = mutable_text(nodes);
  if (!comment.empty()) job.comment = mutable_text(comment);
  update(job, "held");
}

void LibSlurm::release(std::uint64_t number) {
  job_desc_msg_t job = descriptor_of(number);
  job.priority = INFINITE;
  update(job, "released");
}

void LibSlurm::keep(std::uint64_t number, const std::vector<std::string>& nodes) {
  job_desc_msg_t job = descriptor_of(number);
  const std::string list = list_of(nodes);
  job.req_nodes = mutable_text(list);
  update(job, "made smaller");
}

void LibSlurm::grow(const SlurmJob& job, const std::vector<std::string>& nodes, std::uint64_t id) {
  job_desc_msg_t helper;
  slurm_init_job_desc_msg(&helper);
  const std::string name = fmt::format("{}-{}", kHelperName, id);
  const std::string dependency = fmt::format("expand:{}", job.number);
  const std::string list = list_of(nodes);
  std::string environment = "DUCTILE_HELPER=1";
  char* variables[] = {environment.data(), nullptr};
  helper.name = mutable_text(name);
  helper.dependency = mutable_text(dependency);
  helper.req_nodes = mutable_text(list);
  helper.min_nodes = helper.max_nodes = static_cast<std::uint32_t>(nodes.size());
  helper.num_tasks = helper.min_nodes;
  helper.partition = mutable_text(job.partition);
  if (!job.account.empty()) helper.account = mutable_text(job.account);
  if (!job.qos.empty()) helper.qos = mutable_text(job.qos);
  helper.user_id = job.owner.user;
  helper.group_id = job.owner.group;
  helper.shared = JOB_SHARED_NONE;
  helper.immediate = 1;
  helper.time_limit = 1;
  helper.environment = variables;
  helper.env_size = 1;
  const std::string folder = "/";
  helper.work_dir = mutable_text(folder);
  const auto allocated = allocate(helper, job.number);
  job_desc_msg_t merged = descriptor_of(allocated->job_id);
  merged.min_nodes = 0;  // all of its nodes are the job's now
  try {
    update(merged, "given to the job that grows");
  } catch (const SlurmError&) {
    slurm_kill_job(allocated->job_id, SIGKILL, 0);
    throw;
  }
}

void LibSlurm::end(std::uint64_t number, bool requeue) {
  const auto id = static_cast<std::uint32_t>(number);
  if (requeue) {
    // It waits for two minutes then, and is held before they are over.
    if (slurm_requeue(id, 0) == SLURM_SUCCESS) return;
    if (errno == ESLURM_JOB_PENDING) return;
  } else {
    if (slurm_kill_job2(std::to_string(id).c_str(), SIGKILL, 0, nullptr) == SLURM_SUCCESS) return;
    if (errno == ESLURM_ALREADY_DONE || errno == ESLURM_INVALID_JOB_ID) return;
  }
  fail(fmt::format("job {} cannot be {}", number, requeue ? "requeued" : "cancelled"));
}

void LibSlurm::set_limit(std::uint64_t number, Duration limit) {
  job_desc_msg_t job = descriptor_of(number);
  job.time_limit = in_minutes(limit);
  update(job, "given its limit");
}

void LibSlurm::split(std::uint64_t array, std::uint32_t task) {
  job_desc_msg_t job;
  slurm_init_job_desc_msg(&job);
  const std::string name = fmt::format("{}_{}", array, task);
  job.job_id_str = mutable_text(name);
  job.priority = 0;
  job.alloc_sid = ALLOC_SID_USER_HOLD;  // the reason is not JobHeldAdmin then
  job_array_resp_msg_t* answer = nullptr;
  const int result = slurm_update_job2(&job, &answer);
  if (answer != nullptr) slurm_free_job_array_resp(answer);
  if (result != SLURM_SUCCESS) fail(fmt::format("task {} cannot be made a job", name));
}

}  // namespace ductile
