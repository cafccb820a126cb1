#include "live/controller.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "live/crash.hpp"
#include "policies/registry.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr auto kIdle = std::chrono::minutes(1);

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

}  // namespace

Controller::Controller(const ServeSettings& settings, const std::function<ServeSettings()>& reload)
    : settings_(settings),
      reload_(reload),
      lock_(lock_state(settings.state)),
      journal_(settings.state + "/journal.db"),
      core_(make_core()),
      accounts_(core_.state().rules.fairness),
      clock_(core_.state().now),
      world_(core_.state().platform, {.folder = settings.state + "/jobs",
                                      .program = settings.program,
                                      .retry = settings.retry,
                                      .patience = settings.patience}) {
  for (const std::string& name : journal_.accounts()) accounts_.number(name);
}

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
    const auto begin = std::chrono::steady_clock::now();
    const auto decisions = core_.close_instant(now_);
    metrics_.passed(std::chrono::steady_clock::now() - begin);
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
  if (const auto* resized = std::get_if<event::Resized>(&happened.event)) count_resize(*resized);
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

void Controller::count_resize(const event::Resized& resized) {
  const Unanswered* const open = core_.state().find(resized.answers);
  if (open) metrics_.resized(open->before, open->decision.after.count, resized.now.count);
}

std::string Controller::metrics() const {
  std::vector<JobId> jobs;
  for (const auto& [id, job] : jobs_) jobs.push_back(id);
  return metrics_.text(core_, jobs, clients_.size());
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
  metrics_.ended(state);
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
        next.state != settings_.state || next.socket != settings_.socket ||
        next.metrics != settings_.metrics) {
      throw InputError("nodes, state, socket and metrics stay while it serves",
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
  if (!settings_.metrics.empty()) {
    metrics_server_ = std::make_unique<MetricsServer>(settings_.metrics);
  }
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
    if (metrics_server_) metrics_server_->add_to(poller, [this] { return metrics(); });
    poller.wait(until_next());

    world_.look(clock_.now());
    for (const Happened& happened : world_.take()) on_happened(happened);
    for (const double pause_s : world_.take_pauses()) metrics_.paused(pause_s);
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

void serve(const ServeSettings& settings, const std::function<ServeSettings()>& reload) {
  Controller(settings, reload).run();
}

}  // namespace ductile
