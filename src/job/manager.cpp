#include "job/manager.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/boot_clock.hpp"
#include "job/control_clients.hpp"
#include "job/controller_link.hpp"
#include "job/failure.hpp"
#include "job/host_watts.hpp"
#include "job/job_folder.hpp"
#include "job/job_output.hpp"
#include "job/json_line.hpp"
#include "job/leftovers.hpp"
#include "job/measurement.hpp"
#include "job/order.hpp"
#include "job/peers.hpp"
#include "job/poller.hpp"
#include "job/process_table.hpp"
#include "job/program_requests.hpp"
#include "job/report_file.hpp"
#include "job/resize_driver.hpp"
#include "job/resize_method.hpp"
#include "job/script_steps.hpp"
#include "job/standard_input.hpp"
#include "job/step.hpp"

namespace ductile {
namespace {

using Clock = Resize::Clock;
using Json = nlohmann::ordered_json;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// The signals that a job takes come through a descriptor, as long as this lives; a disk or a pipe
/// that takes no more is told by the call that finds it.
class Signals {
 public:
  Signals() {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
      sigaddset(&handled, signal);
    }
    sigprocmask(SIG_BLOCK, &handled, &before_);
    pipe_ = std::signal(SIGPIPE, SIG_IGN);
    file_size_ = std::signal(SIGXFSZ, SIG_IGN);
    descriptor_ = Descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    std::signal(SIGPIPE, pipe_);
    std::signal(SIGXFSZ, file_size_);
  }

  const Descriptor& descriptor() const { return descriptor_; }
  /// The next one; 0 if there is none.
  int take() const {
    signalfd_siginfo info{};
    const ssize_t got = read(descriptor_.get(), &info, sizeof info);
    return got == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  sighandler_t pipe_ = nullptr, file_size_ = nullptr;
  Descriptor descriptor_{};
};

/// The number of a first generation that goes on: any but 0, which begins.
constexpr std::uint32_t kGoesOn = 1;

/// Those on which this process may run.
std::uint32_t own_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return std::thread::hardware_concurrency();
  return static_cast<std::uint32_t>(CPU_COUNT(&cores));
}

class Manager {
 public:
  explicit Manager(const RunSettings& settings);
  RunResult run();

 private:
  // ---- The loop --------------------------------------------------------------------------------
  void open();
  Descriptor socket_for_processes() const;
  bool is_over() const;
  bool measures_mpi() const { return settings_.measure.count() > 0; }
  /// Its processes use libductile-app.
  bool takes_messages() const { return !settings_.is_rigid && !method_; }
  void wait(const Signals& signals);
  void on_signal(int signal);
  void on_time();
  void pass_output();
  void stop(int signal);
  bool clean_up();
  RunResult result();

  // ---- Generations -----------------------------------------------------------------------------
  Generation& current() const { return table_.current(); }
  void start_generation(std::uint32_t size, const std::vector<Host>& hosts);
  void start_again(const ResizeMethod::Target& target);
  void look_after_method();
  bool is_crowded(std::uint32_t size) const;
  void let_yield(bool is_on);
  void on_ended(Generation& generation);
  std::optional<Clock::time_point> may_go_on(Generation& generation) const;

  // ---- What processes and clients say ----------------------------------------------------------
  void on_message(const Peer& peer, const wire::Message& message);
  void on_input(const Peer& peer, const wire::Input& input);
  void on_line(ControlClient& client, const std::string& line);
  void on_order(ControlClient& client, const std::string& line);
  void come_to_controller(Descriptor connection);
  void on_joined(ControlClient& client, const std::string& line);
  void keep_link();
  void order(ControlClient& client, const Order& order);
  Json status() const;

  // ---- What is told ----------------------------------------------------------------------------
  bool report(std::string_view what, const Json& details);
  void report_measurement();
  std::vector<std::string> names_of_nodes() const;
  void report_lost();
  Json lost() const;
  Json how_it_ended() const;

  const RunSettings& settings_;
  Clock::time_point begin_ = Clock::now();
  std::chrono::system_clock::time_point wall_begin_ = std::chrono::system_clock::now();
  std::uint64_t starved_ = processes_killed_for_memory();  // when it began
  NodeSet cpus_ = settings_.cpus;                          // of the next generation
  std::optional<NodeSet> cpus_before_{};                   // the order that is under way
  NodeSet nodes_ = settings_.nodes;
  std::optional<JobFolder> folder_{};
  std::string no_folder_{};  // why there is none

  ReportFile report_{};
  ControlClients clients_{};
  std::optional<ControllerLink> link_{};
  std::string link_told_{};  // why there is none
  ProcessTable table_;
  Peers peers_;
  JobOutput output_;
  StandardInput input_{output_};
  Measurement measurement_;
  std::optional<HostWatts> host_watts_{};   // of hosts of their own
  std::unique_ptr<ResizeMethod> method_{};  // null: the job's processes are replaced, or stay
  ResizeDriver resizes_;
  ProgramRequests requests_;
  ScriptSteps steps_{settings_, clients_, cpus_};

  std::optional<int> exit_code_{};
  int status_ = 0;  // of waitpid, from which it is
  int stop_signal_ = 0;
  std::uint64_t lost_reported_ = 0;  // of the output, in bytes
  Clock::time_point lost_told_{};
};

Manager::Manager(const RunSettings& settings)
    : settings_(settings),
      table_(settings.launcher, settings.resources, settings.patience),
      peers_(table_,
             {.on_message = [this](const Peer& peer, const auto& what) { on_message(peer, what); },
              .on_finishing = [this](const Generation& its) { resizes_.on_finishing(its); },
              .on_gone = [this](const Generation& its,
                                std::uint32_t rank) { resizes_.on_gone(its, rank); }}),
      output_({.keep = settings.keep_output, .pass = settings.pass_output}),
      measurement_(measures_mpi() ? settings.measure : settings.power, settings.power_from,
                   RunSettings{}.power_from, begin_),
      resizes_(
          settings, table_,
          {.start =
               [this](std::uint32_t size, const std::vector<Host>& hosts) {
                 start_generation(size, hosts);
                 let_yield(true);
               },
           .send = [this](const Generation& its,
                          const wire::Message& what) { peers_.send_all(its, what); },
           .report = [this](std::string_view what, const Json& details) { report(what, details); },
           .answer =
               [this](bool ok, const Json& its) {
                 const auto before = std::exchange(cpus_before_, std::nullopt);
                 if (!ok && before) cpus_ = *before;
                 clients_.answer(ok, its);
               },
           .on_commit = [this] { measurement_.forget(); },
           .on_over =
               [this](bool is_committed) {
                 // Whoever won, two generations have shared the cores until now.
                 measurement_.forget();
                 let_yield(is_crowded(current().size));
                 if (is_committed) requests_.close();  // of the generation that has gone
               },
           .deny = [this] { requests_.offer(0); }}),
      requests_(settings, table_, peers_, resizes_, output_,
                [this](std::string_view what, const Json& details) { report(what, details); }) {
  if (settings.watts_from.empty()) return;
  measurement_.read_watts(WattFiles(settings.watts_from));
  if (settings.nodes.empty() && settings.launcher.starter == Starter::mpiexec) {
    host_watts_.emplace(settings.launcher.agent,
                        measures_mpi() ? settings.measure : settings.power);
  }
}

// ---- The loop -----------------------------------------------------------------------------------

RunResult Manager::run() {
  open();
  const Signals signals;
  adopt_orphans();
  try {
    // Before it is: who finds no line here may start the job once more.
    if (!report("started", {{"size", settings_.size}})) {
      throw RunError("'" + settings_.report + "' cannot be written");
    }
    if (!settings_.go_on.empty()) table_.begin_at(kGoesOn);
    start_generation(settings_.kind == JobKind::steps ? 1 : settings_.size,
                     settings_.launcher.hosts);
    while (!is_over()) {
      wait(signals);
      table_.reap([this](Generation& generation) { on_ended(generation); },
                  [this](pid_t pid, int status) {
                    if (host_watts_ && host_watts_->on_ended(pid)) return;
                    if (method_) method_->on_child(pid, exit_code(status));
                  });
      peers_.forget_closed();
      clients_.forget_closed();
      keep_link();
      steps_.look_after();
      on_time();
      pass_output();
      resizes_.conclude();
      look_after_method();
      table_.forget_those_over();
    }
  } catch (...) {
    clean_up();
    throw;
  }
  // Nobody may take its nodes for free then: there is no report of an end in order.
  if (!clean_up()) throw StillRunning("processes of the job cannot be killed, and do not end");
  return result();
}

/// All that others may see of it before there is a process.
void Manager::open() {
  if (!settings_.report.empty()) report_.open(settings_.report);
  if (settings_.launcher.mpi != Mpi::none || has_own_method(settings_.kind)) {
    try {
      folder_.emplace();
      table_.note_sessions_in(&*folder_);
      output_.hold_in(folder_->path());
    } catch (const std::system_error& error) {
      no_folder_ = error.what();
    }
  }
  if (has_own_method(settings_.kind)) {
    if (!folder_) throw RunError("there is no place for the files of the job: " + no_folder_);
    method_ = make_resize_method(settings_, folder_->path(),
                                 {.start = [this](const auto& target) { start_again(target); }});
    resizes_.use(*method_);
  }
  if (takes_messages() || measures_mpi()) peers_.listen(socket_for_processes());
  if (settings_.control_fd >= 0) {
    Descriptor control(settings_.control_fd);
    fcntl(control.get(), F_SETFD, FD_CLOEXEC);
    set_blocking(control, false);
    clients_.listen(std::move(control));
  } else if (!settings_.control.empty()) {
    clients_.listen(listen_unix(settings_.control));
  }
  if (settings_.step_fd >= 0) {
    ControlClient& client = clients_.add_watcher(Descriptor(settings_.step_fd));
    client.is_controller = settings_.in_job.has_value();
  }
  if (settings_.in_job) {
    link_.emplace(settings_.in_job->controller);
    link_->pause(Clock::now());
  }
}

/// Where all is on this host, at a place that no other user reaches.
Descriptor Manager::socket_for_processes() const {
  const bool is_here = settings_.launcher.hosts.empty() &&
                       settings_.launcher.starter == Starter::mpiexec &&
                       settings_.listen == RunSettings{}.listen;
  if (is_here && !folder_) {
    spdlog::warn("there is no place for the sockets of the job, which are of TCP now: {}",
                 no_folder_);
  }
  if (!is_here || !folder_) return listen_tcp(settings_.listen);
  return listen_in_folder(folder_->path() + "/manager");
}

/// The job has ended, and all that it had begun.
bool Manager::is_over() const {
  return exit_code_ && !resizes_.is_busy() && table_.all().size() == 1 && current().is_over() &&
         current().has_been_heard();
}

void Manager::wait(const Signals& signals) {
  Poller poller;
  poller.add(signals.descriptor(), POLLIN, [this, &signals] {
    for (int signal = signals.take(); signal != 0; signal = signals.take()) on_signal(signal);
  });
  peers_.add_to(poller);
  clients_.add_to(
      poller, [this](ControlClient& client, const std::string& line) { on_line(client, line); });
  if (link_) {
    link_->add_to(poller,
                  [this](Descriptor connection) { come_to_controller(std::move(connection)); });
  }
  output_.add_to(poller, table_.all(), [this](const Generation& generation) {
    if (output_.is_full(generation)) resizes_.on_too_much_output(generation);
  });
  const auto now = Clock::now();
  if (method_) method_->add_to(poller);
  if (host_watts_) host_watts_->add_to(poller);
  auto next = std::min(
      {now + std::chrono::seconds(1), measurement_.next(), resizes_.next(), table_.next()});
  if (method_ && !exit_code_) next = std::min(next, method_->next());
  poller.wait(next - now);
}

void Manager::on_signal(int signal) {
  if (signal == SIGCHLD) return;  // the process table sees to it
  if (signal == SIGUSR1 || signal == SIGUSR2) {
    if (!current().status) kill(current().process.pid, signal);
  } else {
    stop(signal);
  }
}

void Manager::on_time() {
  const auto now = Clock::now();
  resizes_.keep_deadlines(now);
  table_.keep_deadlines(
      now, exit_code_.has_value(), [this](Generation& its) { return may_go_on(its); },
      [this](Generation& its) {
        if (!its.is_discarded) return;
        output_.hear_to_the_end(its);
        its.is_muted = true;
      });
  peers_.keep_patience(now);
  if (now >= measurement_.next()) report_measurement();
  report_lost();
  requests_.tell_sizes(now);
  resizes_.begin();
  requests_.consider(exit_code_.has_value());
  resizes_.follow_plan(now);
}

void Manager::pass_output() {
  output_.pass(table_.all(), current().number);
  // The job ends as a program in a pipe does.
  if (output_.has_lost_its_reader() && stop_signal_ == 0) stop(SIGPIPE);
}

void Manager::stop(int signal) {
  const auto now = Clock::now();
  if (stop_signal_ != 0) return table_.stop_now(now);  // asked twice: no more patience
  stop_signal_ = signal;
  spdlog::info("ending the job: {}", strsignal(signal));
  resizes_.on_stop(fmt::format("the job was ended: {}", strsignal(signal)));
  if (method_) method_->on_stop(128 + signal);
  table_.stop(signal, now);
}

/// False if there are processes that cannot be killed.
bool Manager::clean_up() {
  host_watts_.reset();
  const bool all_are_gone = ProcessTable::end_all();
  if (table_.has_killed()) remove_shared_memory(wall_begin_);
  if (!settings_.control.empty()) unlink(settings_.control.c_str());
  return all_are_gone;
}

RunResult Manager::result() {
  output_.pass_rest();
  if (output_.has_lost_its_reader() && stop_signal_ == 0) stop(SIGPIPE);
  if (output_.lost() > 0) {
    spdlog::warn("{} bytes of the output could not be written: {}", output_.lost(),
                 output_.lost_why());
  }
  report("ended", how_it_ended());
  // The job has done its work all the same.
  if (!settings_.trace.empty() && !resizes_.trace().write(settings_.trace)) {
    spdlog::warn("'{}' cannot be written", settings_.trace);
  }
  return {.exit_code = exit_code_.value_or(1),
          .resizes = resizes_.resizes(),
          .aborted = resizes_.aborted(),
          .unplanned = static_cast<std::uint32_t>(resizes_.unplanned()),
          .lost_output = output_.lost(),
          .output = output_.take_kept()};
}

// ---- Generations --------------------------------------------------------------------------------

void Manager::start_generation(std::uint32_t size, const std::vector<Host>& hosts) {
  const std::uint32_t number = table_.next_number();
  const bool is_first = table_.all().empty();
  Variables variables;
  variables.emplace_back("DUCTILE_MPI",
                         kMpiWords[static_cast<std::size_t>(settings_.launcher.mpi)]);
  variables.emplace_back("DUCTILE_MANAGER", takes_messages() ? peers_.address() : "");
  if (settings_.kind == JobKind::steps && !settings_.control.empty()) {
    variables.emplace_back(kStepsVariable, settings_.control);
  }
  if (measures_mpi()) variables.emplace_back("DUCTILE_WATCH", peers_.address());
  if (is_first && !settings_.go_on.empty()) {
    variables.emplace_back(wire::kKeptVariable, settings_.go_on);
  }
  if (settings_.launcher.cores > 0) {
    variables.emplace_back("OMP_NUM_THREADS", std::to_string(settings_.launcher.cores));
  }
  const ResizeMethod::Target target{.size = size, .cpus = cpus_, .hosts = hosts};
  if (method_) {
    const Variables more = method_->variables(target);
    variables.insert(variables.end(), more.begin(), more.end());
  }
  const std::optional<bool> again = is_first ? std::nullopt : current().reads_again;
  Generation& started = table_.start(
      {.size = size,
       .hosts = hosts,
       .marks = {{"DUCTILE_TOKEN", wire::text_of(peers_.token())}},
       .variables = std::move(variables),
       .cpus = method_ ? method_->cpus(target) : cpus_,
       .cores = {.are_chosen = !cpus_.empty(), .are_shared = !is_first || is_crowded(size)},
       .input = input_.of(is_first ? 0 : number, again),
       .given = method_ ? method_->given() : -1,
       .prepare = method_ ? method_->prepare() : nullptr,
       .launcher = method_ ? method_->launcher(target) : std::nullopt});
  if (method_) method_->on_started(started);
}

/// In place of the generation that has ended.
void Manager::start_again(const ResizeMethod::Target& target) {
  const std::uint32_t number = table_.next_number();
  cpus_ = target.cpus;
  start_generation(target.size, target.hosts);
  table_.become_current(number);
}

/// What it has to do while there is no resize; and the job may have ended with one.
void Manager::look_after_method() {
  if (!method_ || exit_code_) return;
  if (!resizes_.is_busy()) method_->look_after(Clock::now());
  const auto code = method_->ended_with();
  if (!code) return;
  exit_code_ = *code;
  status_ = *code << 8;  // as of a program that has ended so
  resizes_.on_exit();
}

/// More processes than cores. The slots of hosts are what there is to know of theirs.
bool Manager::is_crowded(std::uint32_t size) const {
  if (!settings_.launcher.hosts.empty() || settings_.launcher.starter == Starter::srun)
    return false;
  const std::uint32_t cores =
      cpus_.empty() ? own_cores() : static_cast<std::uint32_t>(cpus_.count());
  return cores < std::uint64_t{size} * std::max(settings_.launcher.cores, 1U);
}

/// What Open MPI takes from its launcher at the beginning, while another generation comes and goes.
/// Who asks for it himself has it as he wants.
void Manager::let_yield(bool is_on) {
  if (settings_.launcher.mpi != Mpi::openmpi || user_decides_yield(settings_.launcher)) return;
  peers_.send_all(current(), {current().number, wire::Yield{.on = is_on ? 1U : 0U}});
}

void Manager::on_ended(Generation& generation) {
  Peers::cut_off(generation);
  const int code = exit_code(*generation.status);
  if (resizes_.on_ended(generation, code)) return;
  if (&generation == &current() && !exit_code_) {
    // Launchers differ in what they make of a signal: nothing, or its number.
    const bool is_of_signal =
        stop_signal_ != 0 &&
        (code == 0 || (code == stop_signal_ && settings_.launcher.mpi != Mpi::none));
    exit_code_ = is_of_signal ? 128 + stop_signal_ : code;
    // It was ended because it is not as it should be, and its launcher thinks nothing of it.
    if (code == 0 && generation.is_terminated && stop_signal_ == 0) exit_code_ = 1;
    status_ = *generation.status;
    resizes_.on_exit();
  } else if (&generation != &current() && !generation.is_discarded && code != 0) {
    spdlog::warn("the old generation of {} processes left with exit code {}", generation.size,
                 code);
  }
}

/// An old generation that has left in order may, but whoever ends the job ends it, and so does a
/// limit that its user has set.
std::optional<Clock::time_point> Manager::may_go_on(Generation& generation) const {
  if (!resizes_.has_left(generation) || std::exchange(generation.is_late, true)) {
    return std::nullopt;
  }
  spdlog::warn(
      "the old generation of {} processes has left, but its program works on; its processors are "
      "free, and the resize is over, when it has ended",
      generation.size);
  const auto limit = settings_.limits.leaving;
  return limit ? Clock::now() + *limit : Clock::time_point::max();
}

// ---- What processes say -------------------------------------------------------------------------

void Manager::on_message(const Peer& peer, const wire::Message& message) {
  const bool is_current = *peer.generation == current().number;
  if (peer.is_watch) {
    const auto* measured = std::get_if<wire::Measured>(&message.content);
    if (measured == nullptr || measured->in_mpi > measured->looks) {
      throw wire::ProtocolError("no measurement");
    }
    if (is_current) measurement_.add(*measured);
  } else if (const auto* request = std::get_if<wire::Request>(&message.content)) {
    requests_.on_request(peer, *request);
  } else if (const auto* sizes = std::get_if<wire::Sizes>(&message.content)) {
    requests_.on_sizes(peer, *sizes);
  } else if (const auto* input = std::get_if<wire::Input>(&message.content)) {
    on_input(peer, *input);
  } else if (const auto* iterations = std::get_if<wire::Iterations>(&message.content)) {
    if (is_current) measurement_.add(*iterations);
  } else {
    resizes_.receive(*peer.generation, peer.rank, message);
  }
}

void Manager::on_input(const Peer& peer, const wire::Input& input) {
  if (peer.rank != 0 || input.again > 1) throw wire::ProtocolError("no input that there is");
  Generation* const generation = table_.find(*peer.generation);
  if (generation == nullptr) return;
  const bool was_known = generation->reads_again.value_or(false);
  generation->reads_again = input.again == 1;
  if (input.again != 1 || !input_.on_wish_to_read_again()) return;
  // The next one has begun before that, and would find nothing.
  if (generation == &table_.current() && !was_known) {
    resizes_.give_up("the program has said only now that it reads its standard input again");
  }
}

// ---- What clients say ---------------------------------------------------------------------------

void Manager::on_line(ControlClient& client, const std::string& line) {
  if (client.is_step) return steps_.on_line(line);
  client.is_joined ? on_order(client, line) : on_joined(client, line);
}

/// It was lost, or was not there when the run began: it is told all that it may have missed, and
/// hears how the order goes that is under way.
void Manager::come_to_controller(Descriptor connection) {
  ControlClient& client = clients_.add_watcher(std::move(connection));
  client.is_controller = true;
  client.is_joined = false;
  Json words = words_of_job(*settings_.in_job);
  Json its = status();
  its.erase("ok");
  words.update(its);
  ControlClients::tell(client, words);
  client.awaits_resize = resizes_.is_busy() || resizes_.is_ordered();
  client.id = clients_.heard();
}

/// Whether this is a program of its job; sizes and places are as they are, until it orders others.
void Manager::on_joined(ControlClient& client, const std::string& line) {
  const Json answer = parse_json_line<Json>(line);
  if (answer.is_object() && answer.value("ok", Json()) == true) {
    client.is_joined = true;
    link_told_.clear();
    return spdlog::info("the controller at {} has this job", settings_.in_job->controller);
  }
  const Json why = answer.is_object() ? answer.value("error", Json()) : Json();
  link_told_ = why.is_string() ? std::string(why) : "its answer makes no sense";
  spdlog::info("the controller at {} refuses: {}", settings_.in_job->controller, link_told_);
  client.lines.close();
  link_->pause(Clock::now());
}

/// To the controller, where there is one for this run.
void Manager::keep_link() {
  if (!link_ || clients_.has_controller() || exit_code_) return;
  link_->keep_trying(Clock::now());
  if (link_->why_not().empty() || link_->why_not() == link_told_) return;
  link_told_ = link_->why_not();
  spdlog::info("no controller, and this job goes on without: {}", link_told_);
}

void reply(ControlClient& client, Json answer, const Json& id) {
  if (!id.is_null()) answer["id"] = id;
  ControlClients::tell(client, answer);
}

void Manager::on_order(ControlClient& client, const std::string& line) {
  const auto parsed = parse_order(line);
  if (const auto* bad = std::get_if<BadOrder>(&parsed)) {
    return reply(client, {{"ok", false}, {"error", bad->why}}, bad->id);
  }
  const auto& its = std::get<Order>(parsed);
  switch (its.verb) {
    case Order::Verb::watch:
      client.watches = true;
      return reply(client, status(), its.id);
    case Order::Verb::status:
      return reply(client, status(), its.id);
    case Order::Verb::stop:
      reply(client, {{"ok", true}}, its.id);
      // Who asks again may have been restarted, and have forgotten that it did.
      if (stop_signal_ == 0) stop(SIGTERM);
      return;
    case Order::Verb::nodes:
      nodes_ = its.nodes;
      if (!its.id.is_null()) reply(client, {{"ok", true}}, its.id);
      return;
    case Order::Verb::step:
      return steps_.begin(client, its.id);
    case Order::Verb::withdraw:
      // Who ordered it hears that it was given up, unless it is done already.
      steps_.withdraw();
      resizes_.withdraw();
      if (!its.id.is_null()) reply(client, {{"ok", true}}, its.id);
      return;
    case Order::Verb::suspend:
      if (settings_.kind == JobKind::steps) {
        return reply(client,
                     {{"ok", false}, {"error", "the job is a script, which cannot be kept"}},
                     its.id);
      }
      return order(client, its);
    case Order::Verb::answer:
    case Order::Verb::resize:
      return settings_.kind == JobKind::steps ? steps_.order(client, its, exit_code_.has_value())
                                              : order(client, its);
  }
}

/// To resize the job, or to answer a request of its program.
void Manager::order(ControlClient& client, const Order& order) {
  const bool is_answer = order.verb == Order::Verb::answer;
  if (is_answer) {
    const auto& request = requests_.open();
    if (!request) {
      return reply(client, {{"ok", false}, {"error", "the program has asked for nothing"}},
                   order.id);
    }
    if (order.size < request->at_least || order.size > request->preferred) {
      requests_.close();
      requests_.offer(order.size);
      return reply(client, {{"ok", true}, {"offer", order.size}}, order.id);
    }
  }
  const ResizeDriver::Wish wish{.size = order.size,
                                .is_requested = is_answer,
                                .moves = order.moves,
                                .suspends = order.verb == Order::Verb::suspend,
                                .hosts = order.hosts,
                                .cpus = order.cpus.empty() ? cpus_ : order.cpus};
  if (const auto why = resizes_.objection(wish)) {
    return reply(client, {{"ok", false}, {"error", *why}, {"size", current().size}}, order.id);
  }
  if (is_answer) requests_.close();
  clients_.await(client, order.id);
  cpus_before_ = cpus_;
  if (!order.cpus.empty()) cpus_ = order.cpus;
  resizes_.order(wish);
}

Json Manager::status() const {
  const Generation& now = current();
  const auto& request = requests_.open();
  Json status{{"ok", true},
              {"generation", now.number},
              {"size", now.size},
              {"cpus", to_string(now.cpus)},
              {"hosts", to_text(place(now.hosts, now.size))},
              {"min", std::max(settings_.min, now.sizes.range.min)},
              {"max", std::min(settings_.max, now.sizes.range.max)},
              {"constraint", to_text(now.sizes.constraint)},
              {"rigid", settings_.is_rigid},
              {"connected", now.connected},
              {"request",
               request ? Json({{"at_least", request->at_least}, {"preferred", request->preferred}})
                       : Json()}};
  status.update(measurement_.last());
  status["phase"] = resizes_.phase();
  status["heard"] = clients_.heard();
  status["done"] = clients_.done();
  status.update(lost());
  if (method_) {
    status["connected"] = method_->is_ready() ? now.size : 0;
    status.update(method_->status());
  }
  if (settings_.kind == JobKind::steps) {
    status["rigid"] = false;
    status["size"] = steps_.size();
    status["cpus"] = to_string(cpus_);
    if (steps_.is_ordered()) status["phase"] = word(Resize::Phase::starting);
  }
  return status;
}

// ---- What is told -------------------------------------------------------------------------------

/// False if the file of the report did not get it.
bool Manager::report(std::string_view what, const Json& details) {
  Json json = {{"time_s", seconds(Clock::now() - begin_)}, {"event", what}};
  json.update(details);
  clients_.tell_watchers(json);
  return !report_.is_open() || report_.write(one_line(json), what == "ended");
}

void Manager::report_measurement() {
  const bool reads_watts = measurement_.reads_watts();
  const auto nodes = reads_watts ? names_of_nodes() : std::vector<std::string>();
  WattFiles::Elsewhere elsewhere;
  if (host_watts_ && nodes_.empty() && !current().hosts.empty()) {
    host_watts_->keep(nodes);
    elsewhere = [this](const std::string& host, const std::string& path) {
      return host_watts_->text(host, path);
    };
  }
  const Json measured = measurement_.report(Clock::now(), nodes, elsewhere);
  if (measured.is_null()) return;
  Json details = {{"generation", current().number}, {"size", current().size}};
  details.update(measured);
  if (reads_watts) details["nodes"] = to_string(nodes_);
  report("measured", details);
}

std::string name_of_this_host() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

/// As files of what they draw call them.
std::vector<std::string> Manager::names_of_nodes() const {
  std::vector<std::string> names;
  for (const Interval& part : nodes_.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      names.push_back(std::to_string(node));
    }
  }
  if (!names.empty()) return names;
  if (current().hosts.empty()) return {name_of_this_host()};
  for (const Host& host : place(current().hosts, current().size)) {
    names.push_back(host.name);
  }
  return names;
}

/// Those who watch hear of it once a second at most.
void Manager::report_lost() {
  const auto now = Clock::now();
  if (output_.lost() == lost_reported_ || now < lost_told_ + std::chrono::seconds(1)) return;
  lost_told_ = now;
  lost_reported_ = output_.lost();
  report("output-lost", lost());
}

Json Manager::lost() const {
  if (output_.lost() == 0) return Json::object();
  return {{"lost_output", output_.lost()}, {"lost_why", output_.lost_why()}};
}

Json Manager::how_it_ended() const {
  Json ended = {{"exit_code", exit_code_.value_or(1)},
                {"resizes", resizes_.resizes()},
                {"boot", boot_id()},
                {"boot_s", seconds(boot_time())}};
  // Who was told to end has not failed.
  const auto failure = stop_signal_ == 0 ? failure_of(status_, output_.last_words(),
                                                      processes_killed_for_memory() > starved_)
                                         : Failure{};
  if (!failure.reason.empty()) {
    ended["reason"] = failure.reason;
    ended["note"] = failure.note;
    if (failure.was_killed) ended["was_killed"] = true;
  }
  if (resizes_.is_suspended()) ended["suspended"] = true;
  if (requests_.refused() > 0) ended["refused_requests"] = requests_.refused();
  ended.update(lost());
  return ended;
}

}  // namespace

RunResult run_job(const RunSettings& settings) { return Manager(settings).run(); }

}  // namespace ductile
