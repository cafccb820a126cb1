#include "job/manager.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/size_range.hpp"
#include "job/allowance.hpp"
#include "job/boot_clock.hpp"
#include "job/cgroup.hpp"
#include "job/failure.hpp"
#include "job/fault.hpp"
#include "job/held_output.hpp"
#include "job/host_sweep.hpp"
#include "job/job_folder.hpp"
#include "job/json_line.hpp"
#include "job/line_socket.hpp"
#include "job/name_of_host.hpp"
#include "job/order.hpp"
#include "job/poller.hpp"
#include "job/power.hpp"
#include "job/process.hpp"
#include "job/protocol.hpp"
#include "job/report_file.hpp"
#include "job/socket.hpp"

namespace ductile {
namespace {

using Clock = Resize::Clock;
using Json = nlohmann::ordered_json;

/// Where steps find the manager of their script.
constexpr const char* kStepsVariable = "DUCTILE_STEPS";
constexpr std::chrono::seconds kHelloPatience{10};
constexpr std::chrono::milliseconds kSweep{100};
constexpr std::size_t kMaxStrangers = 256;
/// Connections taken in one turn: however many come, the rest of the job is looked after.
constexpr int kMostAccepted = 64;
constexpr std::size_t kMaxLine = 4096;
/// Answers that may wait for a client: one that does not read them has only itself to blame.
constexpr std::size_t kMaxAnswers = std::size_t{1} << 16;
constexpr std::size_t kMaxUnsent = std::size_t{64} << 20;
/// Output waiting to be passed on; more is left in the pipes.
constexpr std::size_t kMaxWaitingOutput = std::size_t{1} << 20;
/// Of a generation that may not be heard yet: it is to come to its data meanwhile.
constexpr std::uint64_t kMaxHeldOutput = std::uint64_t{1} << 28;
/// What a pipe can hold, and what is read of it at once.
constexpr std::size_t kMaxInPipe = std::size_t{1} << 20;
constexpr std::size_t kReadAtOnce = std::size_t{1} << 16;
/// Of a program's requests, and of what it says of its sizes: so many at once, then one each
/// second.
constexpr int kAsksAtOnce = 10;
constexpr std::chrono::seconds kAsk{1};
/// Writing so much to a pipe that has room never blocks.
constexpr std::size_t kPipeChunk = 4096;
/// So much of the end of the output is looked through for why a program has failed.
constexpr std::size_t kLastWords = 8192;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Which of stdout and stderr are files with a name.
std::vector<int> named_outputs() {
  std::vector<int> outputs;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat found {};
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink > 0) {
      outputs.push_back(fd);
    }
  }
  return outputs;
}

/// A connection of a process, or of somebody who has yet to say who they are.
struct Peer {
  Descriptor socket{};
  Clock::time_point since{};
  wire::MessageReader reader{};
  std::string unsent{};
  std::optional<std::uint32_t> generation{};  // once it has said so
  std::uint32_t rank = 0;
  bool is_watch = false;  // of libductile-measure
  bool is_finishing = false;
  bool is_refused = false;  // it has been told why, and may still send
  bool is_closed = false;
};

/// A connection to the control socket.
struct Client {
  LineSocket lines;
  bool awaits_resize = false;
  Json id{};             // of the order it awaits, as the client calls it
  bool watches = false;  // wants to hear of everything that happens
  bool is_step = false;  // the step of a script
};

/// The numbers of processes that a program can have, as it says itself.
struct ProgramSizes {
  SizeRange range{1, wire::kMaxProcesses};
  SizeConstraint constraint{};

  bool operator==(const ProgramSizes&) const = default;
  bool allow(std::uint32_t size) const { return range.contains(size) && constraint.allows(size); }
  /// The largest up to `size`; 0 if there is none.
  std::uint32_t at_most(std::uint32_t size) const {
    const std::uint32_t most = constraint.at_most(std::min(size, range.max));
    return most < range.min ? 0 : most;
  }
  /// One near `size` that is not `now`, if there is one.
  std::uint32_t near(std::uint32_t size, std::uint32_t now) const {
    const std::uint32_t below = at_most(size);
    return below > 0 && below != now ? below : constraint.at_least(std::max(size + 1, range.min));
  }
};

struct Generation {
  std::uint32_t number = 0;
  std::uint32_t size = 1;
  Process process{};
  std::optional<Cgroup> group{};
  std::optional<HostSweep> sweep{};  // of its hosts, once it has ended
  ProgramSizes sizes{};
  std::optional<bool> reads_again{};  // the next one all of the input, or nothing, if it said so
  Variables marks{};                  // what its processes have in their environment
  std::vector<Peer*> peers{};
  std::uint32_t connected = 0;
  bool has_begun = false;     // a process has said hello
  Clock::time_point begun{};  // when
  Clock::time_point started = Clock::now();
  bool is_told_slow = false;
  std::uint32_t finishing = 0;  // processes at their end
  std::uint32_t gone = 0;       // processes that have gone before it
  std::optional<int> status{};  // of waitpid, once it has ended
  Clock::time_point ended{};
  /// When it has to have ended: SIGTERM then, SIGKILL at the next. Once it has: when to sweep
  /// again.
  Clock::time_point deadline = Clock::time_point::max();
  bool is_terminated = false;
  bool is_late = false;       // it left long ago, and its program works on
  bool is_discarded = false;  // it never became the job
  bool is_muted = false;      // what it writes is nobody's
  bool is_heard = false;      // what it writes goes on at once
  bool is_quoted = false;     // that it never became the job has been said before its words
  HeldOutput held{};          // output that waits for the generation before to end
  std::uint64_t lost = 0;     // of what was to be held, and is nobody's if this never is the job
  std::string lost_why{};

  /// All of its processes are gone, everywhere.
  bool is_gone() const { return status && (!sweep || sweep->is_done()); }
  bool is_over() const { return is_gone() && !process.out && !process.err; }
  /// All that it wrote has gone on, or is told.
  bool has_been_heard() const { return held.empty() && (lost == 0 || is_discarded); }
};

class Manager {
 public:
  explicit Manager(const RunSettings& settings) : settings_(settings) {}
  RunResult run();

 private:
  // ---- What happens --------------------------------------------------------------------------
  void wait();
  void make_folder();
  Descriptor listen_to_processes();
  void on_signal();
  void reap();
  void on_ended(Generation& generation, int status);
  void accept_peers();
  void read_peer(Peer& peer);
  void refuse(Peer& peer, const wire::ProtocolError& error);
  void on_message(Peer& peer, const wire::Message& message);
  void on_hello(Peer& peer, const wire::Message& message);
  void on_finishing(Peer& peer);
  void tell_finish(Generation& generation);
  void on_leaving_late(Generation& generation);
  void on_closed(Peer& peer);
  void accept_clients();
  void read_client(Client& client);
  void on_order(Client& client, const std::string& line);
  void begin_step(Client& client, const Json& id);
  void order_step(Client& client, const Order& order);
  void on_step(const std::string& line);
  void end_step_order(bool ok, Json details);
  Client* step() const;
  bool read_output(Generation& generation, Descriptor& pipe);
  bool has_room_for(const Generation& generation) const;
  void hold(Generation& generation, std::string_view text);
  void hear_to_the_end(Generation& generation);
  void on_time();
  void tell_slow_start();
  void report_measurement();
  void forget_measured();
  void sweep(Generation& generation);

  // ---- What is done --------------------------------------------------------------------------
  void start_generation(std::uint32_t size);
  bool is_crowded(std::uint32_t size) const;
  void let_yield(const Generation& generation, bool is_on);
  /// Why not, if this size cannot be ordered now.
  std::optional<std::string> objection(std::uint32_t size) const;
  void order(std::uint32_t size);
  void begin_resize();
  std::uint32_t slots() const;
  void on_sizes(const Peer& peer, const wire::Sizes& sizes);
  void tell_sizes();
  void on_input(const Peer& peer, const wire::Input& input);
  Descriptor input_of(std::uint32_t number);
  void on_iterations(const wire::Iterations& iterations);
  void on_request(const Peer& peer, const wire::Request& request);
  void refuse_request(const Peer& peer);
  void consider_request();
  void offer(std::uint32_t size);
  Json status();
  void give_up_resize(const std::string& reason);
  void carry_out();
  void settle();
  void mute(Generation& generation);
  void tell_who_is_missing();
  void conclude_resize();
  void answer(bool ok, const Json& details);
  void send(Peer& peer, const wire::Message& message);
  void flush(Peer& peer);
  void pass_output();
  void pass(HeldOutput& held, std::string& to, int fd);
  void deliver(int fd, std::string& text);
  void write_output(int fd, std::string& text);
  void lose(std::uint64_t bytes, const std::string& why);
  void tell_lost();
  Json lost() const;
  Json how_it_ended() const;
  bool is_removed(int fd) const;
  bool report(std::string_view what, const Json& details);
  void trace_resize();
  void stop(int signal);
  bool clean_up();

  Generation& current() { return *generations_.at(current_); }
  Generation* find(std::uint32_t number) {
    const auto found = generations_.find(number);
    return found == generations_.end() ? nullptr : found->second.get();
  }
  bool is_started() { return current().connected == current().size; }
  /// The job has ended, and all that it had begun.
  bool is_over() {
    return exit_code_ && !resize_ && generations_.size() == 1 && current().is_over() &&
           current().has_been_heard();
  }
  bool is_resizing() const { return resize_ && !resize_->is_settled(); }
  /// The job is not ended, and all processes of the old generation have said that they leave.
  bool is_left_to_itself() const {
    return stop_signal_ == 0 && resize_ && resize_->phase() == Resize::Phase::committed &&
           resize_->is_leaving();
  }

  const RunSettings& settings_;
  NodeSet cpus_ = settings_.cpus;  // of the next generation
  wire::Token token_ = wire::new_token();
  Clock::time_point begin_ = Clock::now();
  std::chrono::system_clock::time_point wall_begin_ = std::chrono::system_clock::now();
  std::uint64_t looks_ = 0;  // of libductile-measure, since the last report
  std::uint64_t looks_in_mpi_ = 0;
  Clock::time_point measured_ = begin_;
  wire::Iterations iterations_{};  // since the last report, as the looks
  std::optional<EnergyMeter> energy_{};
  std::optional<double> mtct_{}, iteration_s_{}, power_w_{};
  bool has_killed_ = false;  // or found dead: processes that have not left in order
  Descriptor signals_{};
  std::unique_ptr<NameOfHost> name_of_host_{};  // looked up when a start is slow
  std::optional<JobFolder> folder_{};
  std::string no_folder_{};  // why there is none
  Descriptor listener_{};
  Descriptor control_{};
  std::vector<std::unique_ptr<Peer>> peers_{};
  std::vector<std::unique_ptr<Client>> clients_{};
  std::map<std::uint32_t, std::unique_ptr<Generation>> generations_{};
  std::uint32_t current_ = 0;
  std::uint32_t next_number_ = 0;
  std::optional<int> exit_code_{};
  int status_ = 0;  // of waitpid, from which it is
  int stop_signal_ = 0;

  std::uint32_t step_size_ = settings_.size;   // what steps may have
  std::optional<std::uint32_t> step_order_{};  // what the step is told to have
  NodeSet step_cpus_{};                        // where it ran before that

  std::optional<std::uint32_t> ordered_{};  // a size, waiting for the program to begin
  Clock::time_point ordered_at_{};
  std::optional<wire::Request> request_{};  // of the program, without an answer
  bool is_requested_ = false;               // the order is the answer to one
  Allowance requests_{kAsksAtOnce, kAsk};
  Allowance sizes_told_{kAsksAtOnce, kAsk};
  std::optional<std::uint32_t> untold_sizes_of_{};  // a generation that has said others since
  std::uint64_t refused_requests_ = 0;
  std::optional<Resize> resize_{};
  std::optional<off_t> input_begin_{};  // where it is a file
  bool is_input_told_ = false;          // that later generations do not read
  bool is_wait_told_ = false;           // that processes wait for others
  std::uint32_t old_ = 0;               // the generation that is resized
  std::optional<Clock::time_point> leaves_freed_{};
  std::size_t planned_ = 0;  // of settings_.plan: how many were ordered
  bool is_planned_ = false;  // the order is one of the plan
  Clock::time_point last_resize_ = begin_;

  std::string out_{};
  std::string err_{};
  std::vector<int> outputs_ = named_outputs();
  std::string last_words_{};                               // the end of stdout and stderr
  std::uint64_t starved_ = processes_killed_for_memory();  // when it began
  std::string lost_why_{};                                 // why the last of the output was lost
  std::uint64_t lost_reported_ = 0;                        // of it, in bytes
  Clock::time_point lost_told_{};
  ReportFile report_{};
  Json trace_ = Json::array();
  RunResult result_{};
};

// ---- Generations --------------------------------------------------------------------------------

void Manager::start_generation(std::uint32_t size) {
  const std::uint32_t number = next_number_++;
  auto generation = std::make_unique<Generation>();
  generation->number = number;
  generation->size = size;
  generation->peers.resize(size);
  generation->marks = {{"DUCTILE_TOKEN", wire::text_of(token_)},
                       {"DUCTILE_GENERATION", std::to_string(number)}};
  Variables variables = generation->marks;
  variables.emplace_back("DUCTILE_MPI",
                         kMpiWords[static_cast<std::size_t>(settings_.launcher.mpi)]);
  variables.emplace_back("DUCTILE_MANAGER", settings_.is_rigid ? "" : local_address(listener_));
  if (settings_.has_steps && !settings_.control.empty()) {
    variables.emplace_back(kStepsVariable, settings_.control);
  }
  if (settings_.measure.count() > 0) {
    variables.emplace_back("DUCTILE_WATCH", local_address(listener_));
  }
  if (settings_.launcher.cores > 0) {
    variables.emplace_back("OMP_NUM_THREADS", std::to_string(settings_.launcher.cores));
  }
  const Cores cores{.are_chosen = !cpus_.empty(), .are_shared = number > 0 || is_crowded(size)};
  const std::vector<std::string> words = command_line(settings_.launcher, size, variables, cores);
  spdlog::debug("generation {}: {}", number, fmt::join(words, " "));
  generation->group = Cgroup::make(std::to_string(number));
  generation->process = start_process(
      words, variables, input_of(number), cpus_,
      generation->group ? generation->group->folder() : std::string(), settings_.resources);
  const bool has_session =
      settings_.launcher.mpi == Mpi::openmpi && settings_.launcher.starter == Starter::mpiexec;
  if (has_session && folder_) folder_->note_session(session_folder(generation->process.pid));
  generations_.emplace(number, std::move(generation));
}

/// What a generation reads. What the first one has read is gone for the others, unless it is a
/// file. A terminal would stop a process that is not in its foreground.
Descriptor Manager::input_of(std::uint32_t number) {
  if (isatty(STDIN_FILENO) != 0) return {};
  if (number == 0) return Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const std::optional<bool> again = current().reads_again;
  if (!again && input_begin_ && !std::exchange(is_input_told_, true)) {
    err_ +=
        "ductile: only the first generation of processes reads standard input; the next ones find "
        "it empty, or find it again, as the program says (ductile_stdin)\n";
  }
  if (!again.value_or(false) || !input_begin_) return {};
  Descriptor file(open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC));
  if (!file || lseek(file.get(), *input_begin_, SEEK_SET) < 0) {
    spdlog::warn("standard input cannot be read again: {}", std::strerror(errno));
    return {};
  }
  return file;
}

/// The place at which a file begins that is the standard input, and has something in it.
std::optional<off_t> begin_of_input() {
  struct stat found {};
  const off_t begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
  if (fstat(STDIN_FILENO, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return begin >= 0 && begin < found.st_size ? std::optional(begin) : std::nullopt;
}

void Manager::on_input(const Peer& peer, const wire::Input& input) {
  if (peer.rank != 0 || input.again > 1) throw wire::ProtocolError("no input that there is");
  Generation* const generation = find(*peer.generation);
  if (generation == nullptr) return;
  generation->reads_again = input.again == 1;
  struct stat found {};
  const bool is_stream =
      isatty(STDIN_FILENO) != 0 ||
      (fstat(STDIN_FILENO, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISCHR(found.st_mode));
  if (input.again == 0 || !is_stream || std::exchange(is_input_told_, true)) return;
  err_ +=
      "ductile: standard input is no file and cannot be read again; the next generations of "
      "processes find it empty\n";
}

/// Those on which this process may run.
std::uint32_t own_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return std::thread::hardware_concurrency();
  return static_cast<std::uint32_t>(CPU_COUNT(&cores));
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
void Manager::let_yield(const Generation& generation, bool is_on) {
  if (settings_.launcher.mpi != Mpi::openmpi || user_decides_yield(settings_.launcher)) return;
  for (Peer* const peer : generation.peers) {
    if (peer != nullptr) send(*peer, {generation.number, wire::Yield{.on = is_on ? 1U : 0U}});
  }
}

void Manager::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    for (const auto& [number, generation] : generations_) {
      if (generation->process.pid == pid && !generation->status) on_ended(*generation, status);
      if (generation->sweep) generation->sweep->on_ended(pid, status);
    }
  }
}

void Manager::on_ended(Generation& generation, int status) {
  generation.status = status;
  generation.ended = Clock::now();
  generation.deadline = generation.ended + kSweep;
  std::size_t left = generation.group ? generation.group->kill_all() : 0;
  left += kill_descendants(generation.marks);
  // Those on other hosts end when the manager has gone, and it is gone for them.
  for (Peer* const peer : generation.peers) {
    if (peer != nullptr) shutdown(peer->socket.get(), SHUT_RDWR);
  }
  if (settings_.launcher.starter == Starter::mpiexec && !settings_.launcher.hosts.empty()) {
    generation.sweep.emplace(settings_.launcher.agent,
                             place(settings_.launcher.hosts, generation.size), generation.marks);
  }
  if (left > 0) spdlog::debug("generation {}: {} left over, killed", generation.number, left);
  const int code = exit_code(status);
  spdlog::debug("generation {} ended with {}", generation.number, code);
  if (settings_.launcher.mpi == Mpi::openmpi && settings_.launcher.starter == Starter::mpiexec)
    remove_session_folder(session_folder(generation.process.pid));
  if (code != 0 || left > 0) has_killed_ = settings_.launcher.mpi != Mpi::none;
  if (is_resizing() && generation.number == resize_->generation()) {
    give_up_resize(fmt::format("the new generation ended with exit code {}", code));
  } else if (generation.number == current_ && !exit_code_) {
    exit_code_ = stop_signal_ != 0 && code == 0 ? 128 + stop_signal_ : code;
    // It was ended because it is not as it should be, and its launcher thinks nothing of it.
    if (code == 0 && generation.is_terminated && stop_signal_ == 0) exit_code_ = 1;
    status_ = status;
    ordered_.reset();
    give_up_resize("the job has ended");
    // Who waits for a resize hears how that went.
    if (!resize_) answer(false, {{"error", "the job has ended"}});
  } else if (generation.number != current_ && !generation.is_discarded && code != 0) {
    spdlog::warn("the old generation of {} processes left with exit code {}", generation.size,
                 code);
  }
}

// ---- Processes that talk ------------------------------------------------------------------------

void Manager::make_folder() {
  if (settings_.launcher.mpi == Mpi::none) return;
  try {
    folder_.emplace();
  } catch (const std::system_error& error) {
    no_folder_ = error.what();
  }
}

/// Where all is on this host, at a place that no other user reaches.
Descriptor Manager::listen_to_processes() {
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

void Manager::accept_peers() {
  for (int i = 0; i < kMostAccepted; ++i) {
    auto socket = accept_from(listener_);
    if (!socket) return;
    const auto is_stranger = [](const auto& peer) { return !peer->generation && !peer->is_closed; };
    const auto strangers = std::ranges::count_if(peers_, is_stranger);
    std::size_t expected = 0;
    for (const auto& [number, generation] : generations_) {
      expected += generation->size - generation->connected;
    }
    // Who belongs here says so at once: the one who has been silent for longest does not.
    if (static_cast<std::size_t>(strangers) >= kMaxStrangers + expected) {
      on_closed(**std::ranges::find_if(peers_, is_stranger));
    }
    auto peer = std::make_unique<Peer>();
    peer->socket = std::move(*socket);
    peer->since = Clock::now();
    peers_.push_back(std::move(peer));
    // What it has said already may show that it is none.
    read_peer(*peers_.back());
  }
}

void Manager::read_peer(Peer& peer) {
  std::array<char, 65536> bytes;
  const ssize_t got = recv(peer.socket.get(), bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return on_closed(peer);
  if (peer.is_refused) return;
  try {
    peer.reader.feed({bytes.data(), static_cast<std::size_t>(got)});
    while (!peer.is_closed) {
      const auto message = peer.reader.next();
      if (!message) return;
      receive_with_faults("manager", *message, [&] { shutdown(peer.socket.get(), SHUT_RDWR); });
      on_message(peer, *message);
    }
  } catch (const wire::ProtocolError& error) {
    if (peer.generation) {
      spdlog::warn("process {} of generation {} sends {}", peer.rank, *peer.generation,
                   error.what());
    } else {
      refuse(peer, error);
    }
    if (!peer.is_refused) on_closed(peer);
  }
}

/// A program may be linked with an older or a newer library: both it and its user are to know.
void Manager::refuse(Peer& peer, const wire::ProtocolError& error) {
  if (dynamic_cast<const wire::OtherVersion*>(&error) == nullptr) {
    return spdlog::warn("a connection was refused: {}", error.what());
  }
  const std::string why = fmt::format(
      "{}; link the program with the libductile-app of this `ductile run`", error.what());
  spdlog::warn("a connection was refused: {}", why);
  // Closed now, with something of it unread, the connection could lose the answer.
  peer.is_refused = true;
  send(peer, {current_, wire::Abort{.reason = why}});
}

void Manager::on_hello(Peer& peer, const wire::Message& message) {
  if (const auto* watch = std::get_if<wire::Watch>(&message.content)) {
    if (!wire::same(watch->token, token_)) throw wire::ProtocolError("a wrong token");
    peer.generation = message.generation;
    peer.is_watch = true;
    return;
  }
  const auto* hello = std::get_if<wire::Hello>(&message.content);
  if (hello == nullptr) throw wire::ProtocolError("a first message that is not 'hello'");
  if (!wire::same(hello->token, token_)) throw wire::ProtocolError("a wrong token");
  Generation* const generation = find(message.generation);
  if (generation == nullptr || generation->status) {
    throw wire::ProtocolError("a generation that is not there");
  }
  if (hello->rank >= generation->size || generation->peers[hello->rank] != nullptr) {
    throw wire::ProtocolError("a rank that is taken");
  }
  // Of the first one it is the truth about its generation; later it is a message gone astray.
  if (hello->size != generation->size && !generation->has_begun) {
    spdlog::error(
        "the program was started with {} processes, but says it has {}; is this the "
        "mpiexec of its MPI?",
        generation->size, hello->size);
    generation->deadline = Clock::now();
  }
  if (hello->size != generation->size) throw wire::ProtocolError("another number of processes");
  if (!std::exchange(generation->has_begun, true)) generation->begun = Clock::now();
  peer.generation = message.generation;
  peer.rank = hello->rank;
  generation->peers[hello->rank] = &peer;
  ++generation->connected;
  send(peer, {message.generation, wire::Welcome{}});
}

void Manager::on_message(Peer& peer, const wire::Message& message) {
  if (!peer.generation) return on_hello(peer, message);
  if (peer.is_watch) {
    const auto* measured = std::get_if<wire::Measured>(&message.content);
    if (measured == nullptr || measured->in_mpi > measured->looks) {
      throw wire::ProtocolError("no measurement");
    }
    if (*peer.generation == current_) {
      looks_ += measured->looks;
      looks_in_mpi_ += measured->in_mpi;
    }
    return;
  }
  spdlog::trace("process {} of generation {}: {} {}", peer.rank, *peer.generation,
                wire::name_of(message.content), message.generation);
  if (std::holds_alternative<wire::Finishing>(message.content)) {
    return on_finishing(peer);
  }
  if (const auto* request = std::get_if<wire::Request>(&message.content)) {
    return on_request(peer, *request);
  }
  if (const auto* sizes = std::get_if<wire::Sizes>(&message.content)) {
    return on_sizes(peer, *sizes);
  }
  if (const auto* input = std::get_if<wire::Input>(&message.content)) {
    return on_input(peer, *input);
  }
  if (const auto* iterations = std::get_if<wire::Iterations>(&message.content)) {
    if (*peer.generation == current_) on_iterations(*iterations);
    return;
  }
  if (!resize_ || message.generation != resize_->generation()) {
    spdlog::debug("a late '{}' of process {} of generation {}", wire::name_of(message.content),
                  peer.rank, *peer.generation);
    return;
  }
  const Side side = *peer.generation == resize_->generation() ? Side::fresh : Side::old;
  resize_->receive(side, peer.rank, message.content, Clock::now());
  carry_out();
}

void Manager::on_finishing(Peer& peer) {
  Generation* const generation = find(*peer.generation);
  if (generation == nullptr || std::exchange(peer.is_finishing, true)) return;
  ++generation->finishing;
  if (generation->number == current_) give_up_resize("the program has come to its end");
  tell_finish(*generation);
}

/// None of this generation needs another any more, if all have come to their end or have gone.
void Manager::tell_finish(Generation& generation) {
  if (generation.finishing + generation.gone != generation.size) return;
  for (Peer* const peer : generation.peers) {
    if (peer != nullptr) send(*peer, {generation.number, wire::Finish{}});
  }
}

void Manager::on_closed(Peer& peer) {
  if (peer.is_closed) return;
  peer.is_closed = true;
  if (!peer.generation || peer.is_watch) return;
  Generation* const generation = find(*peer.generation);
  if (generation == nullptr) return;
  generation->peers[peer.rank] = nullptr;
  --generation->connected;
  if (!peer.is_finishing) {
    ++generation->gone;
    tell_finish(*generation);
  }
  if (is_resizing() && (*peer.generation == old_ || *peer.generation == resize_->generation())) {
    give_up_resize(
        fmt::format("{}process {} has gone", *peer.generation == old_ ? "" : "new ", peer.rank));
  }
}

void Manager::send(Peer& peer, const wire::Message& message) {
  send_with_faults(
      "manager", message,
      [&](const std::string& bytes) {
        peer.unsent += bytes;
        flush(peer);
      },
      [&] { shutdown(peer.socket.get(), SHUT_RDWR); });
}

void Manager::flush(Peer& peer) {
  while (!peer.unsent.empty() && !peer.is_closed) {
    const ssize_t sent =
        ::send(peer.socket.get(), peer.unsent.data(), peer.unsent.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      peer.unsent.erase(0, static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno == EAGAIN && peer.unsent.size() < kMaxUnsent) {
      return;
    } else if (!(sent < 0 && errno == EINTR)) {
      // Its end of the connection tells the rest.
      peer.unsent.clear();
      shutdown(peer.socket.get(), SHUT_RDWR);
    }
  }
  if (peer.is_refused && !peer.is_closed) shutdown(peer.socket.get(), SHUT_WR);
}

// ---- Resizing -----------------------------------------------------------------------------------

std::string not_for_program(const ProgramSizes& sizes, std::uint32_t size) {
  std::string text = fmt::format("the program cannot have {} processes, but ", size);
  text += sizes.range.max == wire::kMaxProcesses
              ? fmt::format("{} or more", sizes.range.min)
              : fmt::format("{} to {}", sizes.range.min, sizes.range.max);
  if (sizes.constraint != SizeConstraint{}) text += ", " + to_text(sizes.constraint);
  return text;
}

std::optional<std::string> Manager::objection(std::uint32_t size) const {
  if (settings_.is_rigid) return "the job is rigid";
  if (size > slots()) return fmt::format("the hosts take {} processes", slots());
  if (size < settings_.min || size > settings_.max) {
    return fmt::format("{} processes are not between {} and {}", size, settings_.min,
                       settings_.max);
  }
  if (exit_code_ || stop_signal_ != 0) return "the job has ended";
  const Generation& now = *generations_.at(current_);
  if (!now.sizes.allow(size)) return not_for_program(now.sizes, size);
  if (size == now.size) return fmt::format("the job has {} processes already", size);
  if (now.finishing > 0) return "the program has come to its end";
  if (resize_ || ordered_) return "a resize is under way";
  return std::nullopt;
}

void Manager::order(std::uint32_t size) {
  ordered_ = size;
  ordered_at_ = Clock::now();
  begin_resize();
}

void Manager::begin_resize() {
  if (!ordered_ || resize_ || !is_started()) return;
  const std::uint32_t size = *std::exchange(ordered_, std::nullopt);
  if (const auto why = objection(size)) {  // which could not be known when it was ordered
    if (std::exchange(is_planned_, false)) ++result_.aborted;
    if (std::exchange(is_requested_, false)) offer(0);
    const Json details = {{"generation", current_},
                          {"from", current().size},
                          {"to", size},
                          {"size", current().size},
                          {"error", *why}};
    // Who ordered it may have gone, and another one in its place waits to hear of it.
    report("aborted", details);
    return answer(false, details);
  }
  old_ = current_;
  leaves_freed_.reset();
  resize_.emplace(next_number_, current().size, size, settings_.limits, Clock::now(),
                  current().begun);
  is_wait_told_ = false;
  spdlog::info("resizing from {} to {} processes", current().size, size);
  try {
    start_generation(size);
    let_yield(current(), true);
  } catch (const RunError& error) {
    give_up_resize(error.what());
  }
}

/// How many processes the hosts take; any number if none are named.
std::uint32_t Manager::slots() const {
  if (settings_.launcher.hosts.empty()) return wire::kMaxProcesses;
  std::uint32_t slots = 0;
  for (const Host& host : settings_.launcher.hosts) slots += host.slots;
  return slots;
}

void Manager::on_sizes(const Peer& peer, const wire::Sizes& sizes) {
  if (peer.rank != 0 || sizes.min == 0 || sizes.min > sizes.max) {
    throw wire::ProtocolError("sizes that make no sense");
  }
  Generation* const generation = find(*peer.generation);
  if (generation == nullptr) return;
  const ProgramSizes before = generation->sizes;
  try {
    generation->sizes = {.range = {sizes.min, sizes.max},
                         .constraint = parse_constraint(sizes.constraint)};
  } catch (const InputError& error) {
    throw wire::ProtocolError(error.what());
  }
  if (generation->sizes == before) return;
  const bool is_new = is_resizing() && generation->number == resize_->generation();
  if (!is_new && generation->number != current_) return;
  untold_sizes_of_ = generation->number;
  tell_sizes();
  // What was ordered before the program had said it.
  const std::uint32_t ordered = is_resizing() ? resize_->new_size() : generation->size;
  if (generation->sizes.allow(ordered)) return;
  if (is_resizing()) return give_up_resize(not_for_program(generation->sizes, ordered));
  spdlog::warn("{}; it has {} all the same", not_for_program(generation->sizes, ordered), ordered);
}

/// The last ones that the program has said. If it says others too often, they come when it may
/// again.
void Manager::tell_sizes() {
  if (!untold_sizes_of_) return;
  const Generation* const speaker = find(*untold_sizes_of_);
  const bool is_new = is_resizing() && *untold_sizes_of_ == resize_->generation();
  if (speaker == nullptr || (!is_new && speaker->number != current_)) {
    return untold_sizes_of_.reset();
  }
  if (!sizes_told_.take(Clock::now())) return;
  untold_sizes_of_.reset();
  report("sizes", {{"generation", speaker->number},
                   {"size", speaker->size},
                   {"min", speaker->sizes.range.min},
                   {"max", speaker->sizes.range.max},
                   {"constraint", to_text(speaker->sizes.constraint)}});
}

void Manager::on_iterations(const wire::Iterations& iterations) {
  iterations_.count += iterations.count;
  iterations_.total_ns += iterations.total_ns;
  iterations_.longest_ns = std::max(iterations_.longest_ns, iterations.longest_ns);
}

void Manager::on_request(const Peer& peer, const wire::Request& request) {
  if (peer.rank != 0 || request.at_least == 0 || request.at_least > request.preferred ||
      request.preferred > wire::kMaxProcesses) {
    throw wire::ProtocolError("a request that makes no sense");
  }
  if (*peer.generation != current_) return;  // it has been resized meanwhile
  if (request_ && request_->at_least == request.at_least &&
      request_->preferred == request.preferred) {
    return;  // asked again, it is the same request
  }
  if (!requests_.take(Clock::now())) return refuse_request(peer);
  request_ = request;
  report("requested", {{"generation", current_},
                       {"size", current().size},
                       {"at_least", request.at_least},
                       {"preferred", request.preferred}});
}

/// It asks too often: this one is not heeded, and nobody else hears of it.
void Manager::refuse_request(const Peer& peer) {
  if (refused_requests_++ == 0) {
    // Among what the program itself says: it is for who wrote it.
    err_ += fmt::format(
        "ductile: the program asks for another number of processes too often; more than {} "
        "requests at once, and then one each second, are denied\n",
        kAsksAtOnce);
  }
  // To one that is open an answer will come.
  Peer* const asking = current().peers[peer.rank];
  if (!request_ && asking != nullptr) send(*asking, {current_, wire::Offer{.size = 0}});
}

/// Answers the program's request, if nobody else is to do it.
void Manager::consider_request() {
  if (!request_ || resize_ || ordered_ || exit_code_ || settings_.evolving == Evolving::ask) return;
  const wire::Request request = *std::exchange(request_, std::nullopt);
  const std::uint32_t best =
      current().sizes.at_most(std::min({request.preferred, settings_.max, slots()}));
  if (settings_.evolving == Evolving::deny || objection(best)) return offer(0);
  if (best < request.at_least) return offer(best > current().size ? best : 0);
  is_requested_ = true;
  order(best);
}

void Manager::offer(std::uint32_t size) {
  report("offered", {{"generation", current_}, {"size", current().size}, {"offer", size}});
  if (Peer* const peer = current().peers[0]) send(*peer, {current_, wire::Offer{.size = size}});
}

void Manager::give_up_resize(const std::string& reason) {
  if (!is_resizing()) return;
  resize_->abort(reason, Clock::now());
  carry_out();
}

void Manager::carry_out() {
  for (const Resize::Order& order : resize_->take_orders()) {
    const Generation* const generation =
        find(order.side == Side::old ? old_ : resize_->generation());
    if (generation == nullptr) continue;
    for (Peer* const peer : generation->peers) {
      if (peer != nullptr) send(*peer, {resize_->generation(), order.content});
    }
  }
  if (resize_->is_settled()) settle();
}

void Manager::settle() {
  const std::uint32_t fresh = resize_->generation();
  const auto now = Clock::now();
  if (resize_->phase() == Resize::Phase::committed) {
    if (current_ == fresh) return conclude_resize();
    current_ = fresh;
    forget_measured();
    current().deadline = Clock::time_point::max();
    if (Generation* const old = find(old_)) old->deadline = now + settings_.patience;
    return conclude_resize();
  }
  if (Generation* const generation = find(fresh); generation && !generation->is_discarded) {
    generation->is_discarded = true;
    // Of one that has failed by itself all words are still to come.
    const bool has_died = generation->gone > 0 || generation->status;
    const bool has_failed = has_died || resize_->is_new_to_blame();
    if (!has_failed) mute(*generation);
    // Those that have come so far hear of it and leave in order, or their launcher ends them;
    // others would wait for ever.
    const bool is_whole = generation->connected == generation->size;
    if (!generation->status) {
      generation->deadline = is_whole || has_died ? now + settings_.patience / 5 : now;
    }
  }
  conclude_resize();
}

/// Launchers complain when they are told to end.
void Manager::mute(Generation& generation) {
  generation.is_muted = true;
  generation.held.clear();
}

void Manager::conclude_resize() {
  if (!resize_) return;
  const Resize::Times& times = resize_->times();
  const bool is_committed = resize_->phase() == Resize::Phase::committed;
  // A resize is over when the nodes of the generation that lost are free, and the winner works.
  const Generation* const loser = find(is_committed ? old_ : resize_->generation());
  const bool is_free = loser == nullptr || loser->is_gone();
  if (is_free && !leaves_freed_) leaves_freed_ = Clock::now();
  if (!is_free || (is_committed && !resize_->is_running() && !exit_code_)) return;
  Json details = {{"generation", is_committed ? resize_->generation() : old_},
                  {"from", resize_->old_size()},
                  {"to", resize_->new_size()}};
  if (is_committed) {
    ++result_.resizes;
    details["size"] = resize_->new_size();
    if (!settings_.launcher.hosts.empty()) {
      Json hosts = Json::object();
      for (const Host& host : place(settings_.launcher.hosts, resize_->new_size())) {
        hosts[host.name] = host.slots;
      }
      details["hosts"] = std::move(hosts);
    }
    details["probe"] = resize_->meeting();
    details["skew"] = resize_->skew();
    if (resize_->postponements() > 0) details["postponed"] = resize_->postponements();
    details["bytes"] = resize_->bytes();
    details["ready_s"] = seconds(times.agreeing - times.starting);
    details["agree_s"] = seconds(times.gathering - times.agreeing);
    details["gather_s"] = seconds(times.handing_over - times.gathering);
    details["hand_over_s"] = seconds(times.settled - times.handing_over);
    if (resize_->is_running()) details["pause_s"] = seconds(times.running - times.stopped);
    details["freed_s"] = seconds(*leaves_freed_ - times.settled);
    spdlog::info("resized from {} to {} processes in {:.3f} s", resize_->old_size(),
                 resize_->new_size(), seconds(Clock::now() - times.starting));
  } else {
    if (is_planned_) ++result_.aborted;
    if (has_killed_) remove_shared_memory(wall_begin_);
    details["size"] = resize_->old_size();
    if (times.stopped != Clock::time_point{}) {
      details["pause_s"] = seconds(times.settled - times.stopped);
    }
    details["error"] = resize_->reason();
    spdlog::warn("the resize from {} to {} processes was given up: {}", resize_->old_size(),
                 resize_->new_size(), resize_->reason());
  }
  if (resize_->strays() > 0) details["strays"] = resize_->strays();
  report(is_committed ? "resized" : "aborted", details);
  trace_resize();
  resize_.reset();
  // Whoever won, two generations have shared the cores until now.
  forget_measured();
  let_yield(current(), is_crowded(current().size));
  is_planned_ = false;
  if (is_committed) request_.reset();  // of the generation that has gone
  if (std::exchange(is_requested_, false) && !is_committed && !exit_code_) offer(0);
  last_resize_ = Clock::now();
  answer(is_committed, details);
}

// ---- Orders -------------------------------------------------------------------------------------

void Manager::accept_clients() {
  while (auto socket = accept_from(control_)) {
    if (!may_order(*socket)) {
      spdlog::warn("an order of another user was refused");
      continue;
    }
    if (clients_.size() >= kMaxStrangers) continue;
    clients_.push_back(
        std::make_unique<Client>(Client{LineSocket(std::move(*socket), kMaxLine, kMaxAnswers)}));
  }
}

void Manager::read_client(Client& client) {
  client.lines.work();
  while (const auto line = client.lines.next()) {
    client.is_step ? on_step(*line) : on_order(client, *line);
  }
}

void tell(Client& client, const Json& json) {
  client.lines.send(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json Manager::status() {
  const Generation& now = current();
  const auto known = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json status{{"ok", true},
              {"generation", now.number},
              {"size", now.size},
              {"min", std::max(settings_.min, now.sizes.range.min)},
              {"max", std::min(settings_.max, now.sizes.range.max)},
              {"constraint", to_text(now.sizes.constraint)},
              {"rigid", settings_.is_rigid},
              {"connected", now.connected},
              {"request", request_ ? Json({{"at_least", request_->at_least},
                                           {"preferred", request_->preferred}})
                                   : Json()},
              {"mtct", known(mtct_)},
              {"iteration_s", known(iteration_s_)},
              {"power_w", known(power_w_)},
              {"phase", resize_    ? word(resize_->phase())
                        : ordered_ ? word(Resize::Phase::starting)
                                   : "running"}};
  status.update(lost());
  if (settings_.has_steps) {
    status["rigid"] = false;
    status["size"] = step_size_;
    if (step_order_) status["phase"] = word(Resize::Phase::starting);
  }
  return status;
}

// ---- Steps of a script --------------------------------------------------------------------------

Client* Manager::step() const {
  const auto found =
      std::ranges::find_if(clients_, [](const auto& client) { return client->is_step; });
  return found == clients_.end() ? nullptr : found->get();
}

void Manager::begin_step(Client& client, const Json& id) {
  Json reply = {{"ok", false}};
  if (!id.is_null()) reply["id"] = id;
  if (!settings_.has_steps) {
    reply["error"] = "the job is no script with steps";
  } else if (step() != nullptr) {
    reply["error"] = "another step of this job runs; they go one after another";
  } else {
    client.is_step = true;
    reply.update({{"ok", true},
                  {"size", step_size_},
                  {"max", settings_.max},
                  {"cores", settings_.step_cores},
                  {"cpus", to_string(cpus_)}});
  }
  tell(client, reply);
}

/// Who has the nodes of a script is its step; between steps nobody has them.
void Manager::order_step(Client& client, const Order& order) {
  Json reply = {{"ok", false}, {"size", step_size_}};
  if (!order.id.is_null()) reply["id"] = order.id;
  if (order.verb == Order::Verb::answer) {
    reply["error"] = "a script asks for nothing";
  } else if (step_order_ || exit_code_) {
    reply["error"] = exit_code_ ? "the job has ended" : "a resize is under way";
  } else if (order.size < settings_.min || order.size > settings_.max) {
    reply["error"] = fmt::format("{} is not between {} and {} processes", order.size, settings_.min,
                                 settings_.max);
  } else {
    step_cpus_ = cpus_;
    if (!order.cpus.empty()) cpus_ = order.cpus;
    client.awaits_resize = true;
    client.id = order.id;
    step_order_ = order.size;
    Client* const its = step();
    if (its == nullptr) return end_step_order(true, Json::object());
    Json passed = {{"do", "resize"}, {"size", order.size}};
    if (!order.cpus.empty()) passed["cpus"] = to_string(order.cpus);
    return tell(*its, passed);
  }
  tell(client, reply);
}

/// What a step tells of itself is for those who watch the job, its answer for who has ordered.
void Manager::on_step(const std::string& line) {
  Json json = parse_json_line(line);
  if (!json.is_object()) return;
  if (const auto event = json.find("event"); event != json.end()) {
    // Of how it began and ended the script makes what it likes.
    if (*event != "resized" && *event != "aborted") return;
    for (const auto& client : clients_) {
      if (client->watches) tell(*client, json);
    }
  } else if (step_order_) {
    const auto ok = json.find("ok");
    end_step_order(ok != json.end() && *ok == true, std::move(json));
  }
}

void Manager::end_step_order(bool ok, Json details) {
  if (ok) {
    step_size_ = *step_order_;
  } else {
    cpus_ = step_cpus_;
  }
  step_order_.reset();
  details["ok"] = ok;
  details["size"] = step_size_;
  details.erase("id");
  answer(ok, details);
}

// ---- Orders -------------------------------------------------------------------------------------

void Manager::on_order(Client& client, const std::string& line) {
  const auto parsed = parse_order(line);
  const auto reply = [&](Json answer, const Json& id) {
    if (!id.is_null()) answer["id"] = id;
    tell(client, answer);
  };
  if (const auto* bad = std::get_if<BadOrder>(&parsed)) {
    return reply({{"ok", false}, {"error", bad->why}}, bad->id);
  }
  const auto& order = std::get<Order>(parsed);
  switch (order.verb) {
    case Order::Verb::watch:
      client.watches = true;
      return reply(status(), order.id);
    case Order::Verb::status:
      return reply(status(), order.id);
    case Order::Verb::stop:
      reply({{"ok", true}}, order.id);
      // Who asks again may have been restarted, and have forgotten that it did.
      if (stop_signal_ == 0) stop(SIGTERM);
      return;
    case Order::Verb::step:
      return begin_step(client, order.id);
    case Order::Verb::withdraw:
      // Who ordered it hears that it was given up, unless it is done already.
      if (step_order_ && step() != nullptr) tell(*step(), {{"do", "withdraw"}});
      give_up_resize("it was withdrawn");
      if (!order.id.is_null()) reply({{"ok", true}}, order.id);
      return;
    case Order::Verb::answer:
      if (settings_.has_steps) break;
      if (!request_) {
        return reply({{"ok", false}, {"error", "the program has asked for nothing"}}, order.id);
      }
      if (order.size < request_->at_least || order.size > request_->preferred) {
        request_.reset();
        offer(order.size);
        return reply({{"ok", true}, {"offer", order.size}}, order.id);
      }
      break;
    case Order::Verb::resize:
      break;
  }
  if (settings_.has_steps) return order_step(client, order);
  if (const auto why = objection(order.size)) {
    return reply({{"ok", false}, {"error", *why}, {"size", current().size}}, order.id);
  }
  if (order.verb == Order::Verb::answer) {
    request_.reset();
    is_requested_ = true;
  }
  client.awaits_resize = true;
  client.id = order.id;
  if (!order.cpus.empty()) cpus_ = order.cpus;
  this->order(order.size);
}

void Manager::answer(bool ok, const Json& details) {
  Json json = {{"ok", ok}};
  json.update(details);
  for (const auto& client : clients_) {
    if (!client->awaits_resize) continue;
    client->awaits_resize = false;
    Json own = json;
    if (!client->id.is_null()) own["id"] = client->id;
    tell(*client, own);
  }
}

/// Who waited for what: a row for the phases of the manager and one for each process.
void Manager::trace_resize() {
  if (settings_.trace.empty()) return;
  const Resize::Times& times = resize_->times();
  const auto span = [&](std::string_view name, std::uint32_t row, Clock::time_point from,
                        Clock::time_point to) {
    if (from == Clock::time_point{} || to == Clock::time_point{}) return;
    trace_.push_back({{"name", name},
                      {"ph", "X"},
                      {"pid", resize_->generation()},
                      {"tid", row},
                      {"ts", seconds(from - begin_) * 1e6},
                      {"dur", seconds(to - from) * 1e6}});
  };
  const auto name = [&](std::string_view what, std::uint32_t row, const std::string& text) {
    trace_.push_back({{"name", what},
                      {"ph", "M"},
                      {"pid", resize_->generation()},
                      {"tid", row},
                      {"args", {{"name", text}}}});
  };
  const bool is_committed = resize_->phase() == Resize::Phase::committed;
  name("process_name", 0,
       fmt::format("{} to {} processes, {}", resize_->old_size(), resize_->new_size(),
                   word(resize_->phase())));
  name("thread_name", 0, "manager");
  // Phases that were entered, each until the next one.
  using Phases = std::vector<std::pair<const char*, Clock::time_point>>;
  const auto spans = [&](std::uint32_t row, const Phases& phases) {
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const bool has_next = i + 1 < phases.size() && phases[i + 1].second != Clock::time_point{};
      span(phases[i].first, row, phases[i].second, has_next ? phases[i + 1].second : times.settled);
    }
  };
  spans(0, {{"starting", times.starting},
            {"agreeing", times.agreeing},
            {"gathering", times.gathering},
            {"handing over", times.handing_over}});
  std::uint32_t row = 1;
  for (std::uint32_t rank = 0; rank < resize_->old_size(); ++rank, ++row) {
    name("thread_name", row, fmt::format("old process {}", rank));
    spans(row, {{"computing", times.starting},
                {"waiting for the others", resize_->reached()[rank]},
                {"handing over", times.handing_over},
                {"waiting for the commit", resize_->sent()[rank]}});
    if (is_committed && leaves_freed_) span("leaving", row, times.settled, *leaves_freed_);
  }
  for (std::uint32_t rank = 0; rank < resize_->new_size(); ++rank, ++row) {
    name("thread_name", row, fmt::format("new process {}", rank));
    spans(row, {{"starting", times.starting},
                {"waiting for data", resize_->ready()[rank]},
                {"taking over", times.handing_over},
                {"waiting for the commit", resize_->taken()[rank]}});
    span("going on", row, times.settled, resize_->running()[rank]);
  }
}

/// False if the file of the report did not get it.
bool Manager::report(std::string_view what, const Json& details) {
  Json json = {{"time_s", seconds(Clock::now() - begin_)}, {"event", what}};
  json.update(details);
  for (const auto& client : clients_) {
    if (client->watches) tell(*client, json);
  }
  if (!report_.is_open()) return true;
  return report_.write(json.dump(-1, ' ', false, Json::error_handler_t::replace), what == "ended");
}

// ---- Output -------------------------------------------------------------------------------------

/// True if there may be more.
bool Manager::read_output(Generation& generation, Descriptor& pipe) {
  std::array<char, kReadAtOnce> bytes;
  const ssize_t got = read(pipe.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    pipe.reset();
    return false;
  }
  const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  if (generation.is_muted) return true;
  if (&pipe == &generation.process.err) {
    err_ += text;
  } else {
    hold(generation, text);
  }
  if (generation.is_discarded) return true;
  last_words_ += text;
  if (last_words_.size() > kLastWords) last_words_.erase(0, last_words_.size() - kLastWords);
  return true;
}

/// Who may not be heard yet must not wait for that: others wait for it.
bool Manager::has_room_for(const Generation& generation) const {
  if (generation.is_muted) return true;
  return generation.held.size() + out_.size() <
         (generation.is_heard ? kMaxWaitingOutput : kMaxHeldOutput);
}

void Manager::hold(Generation& generation, std::string_view text) {
  const std::string folder = folder_ ? folder_->path() : std::string("/tmp");
  if (!generation.held.append(text, folder)) {
    generation.lost += text.size();
    generation.lost_why = std::strerror(errno);
  }
  const bool is_new = is_resizing() && generation.number == resize_->generation();
  if (!is_new || has_room_for(generation)) return;
  resize_->abort(
      fmt::format("the new generation wrote {} MiB before it had its data", kMaxHeldOutput >> 20),
      Clock::now(), Side::fresh);
  carry_out();
}

/// What is in its pipes, before whatever comes then is nobody's.
void Manager::hear_to_the_end(Generation& generation) {
  for (Descriptor* const pipe : {&generation.process.out, &generation.process.err}) {
    for (std::size_t i = 0; *pipe && i < kMaxInPipe / kReadAtOnce; ++i) {
      if (!read_output(generation, *pipe)) break;
    }
  }
}

/// Generation after generation, so that nothing of a new one comes before the last of the old one.
/// What one wrote that never became the job is no output of the job, but may say why.
void Manager::pass_output() {
  for (const auto& [number, generation] : generations_) {
    if (generation->is_discarded) {
      if (generation->process.out || generation->held.empty()) continue;
      if (!std::exchange(generation->is_quoted, true)) {
        err_ += "ductile: the new generation had written:\n";
      }
      pass(generation->held, err_, STDERR_FILENO);
      continue;
    }
    if (number > current_) break;
    generation->is_heard = true;
    if (generation->lost > 0) lose(std::exchange(generation->lost, 0), generation->lost_why);
    pass(generation->held, out_, STDOUT_FILENO);
    if (!generation->held.empty() || (generation->process.out && !generation->is_late)) break;
  }
  deliver(STDOUT_FILENO, out_);
  deliver(STDERR_FILENO, err_);
}

/// As much as goes on now, and as much as may wait behind it.
void Manager::pass(HeldOutput& held, std::string& to, int fd) {
  while (!held.empty() && to.size() < kMaxWaitingOutput) {
    const auto [text, missing, error] = held.take(kMaxWaitingOutput - to.size());
    if (settings_.keep_output && fd == STDOUT_FILENO) result_.output += text;
    if (missing > 0 && fd == STDOUT_FILENO) lose(missing, std::strerror(error));
    to += text;
    deliver(fd, to);
  }
}

void Manager::deliver(int fd, std::string& text) {
  if (settings_.pass_output) {
    write_output(fd, text);
  } else {
    text.clear();
  }
}

/// A file that somebody has removed takes all that is written to it, and nobody will read it.
bool Manager::is_removed(int fd) const {
  struct stat found {};
  return std::ranges::find(outputs_, fd) != outputs_.end() && fstat(fd, &found) == 0 &&
         found.st_nlink == 0;
}

void Manager::write_output(int fd, std::string& text) {
  if (!text.empty() && is_removed(fd)) {
    lose(text.size(), "the file was removed");
    text.clear();
  }
  std::size_t done = 0;
  while (done < text.size()) {
    pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
    if (poll(&waiting, 1, 0) <= 0) break;
    const ssize_t written = write(fd, text.data() + done, std::min(text.size() - done, kPipeChunk));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) {
      if (errno != EPIPE) {
        lose(text.size() - done, std::strerror(errno));
      } else if (stop_signal_ == 0 && fd == STDOUT_FILENO) {
        stop(SIGPIPE);  // nobody reads any more: the job ends as a program in a pipe does
      }
      done = text.size();
      break;
    }
    done += static_cast<std::size_t>(written);
  }
  text.erase(0, done);
}

/// Output that cannot be written, because a disk is full or broken, is no reason to end: it is
/// counted, and told.
void Manager::lose(std::uint64_t bytes, const std::string& why) {
  if (result_.lost_output == 0) {
    spdlog::warn("the output cannot be written: {}; the job goes on", why);
    lost_told_ = {};
  }
  result_.lost_output += bytes;
  lost_why_ = why;
}

/// To those who watch; they hear of it once a second at most.
void Manager::tell_lost() {
  const auto now = Clock::now();
  if (result_.lost_output == lost_reported_ || now < lost_told_ + std::chrono::seconds(1)) return;
  lost_told_ = now;
  lost_reported_ = result_.lost_output;
  report("output-lost", lost());
}

Json Manager::lost() const {
  if (result_.lost_output == 0) return Json::object();
  return {{"lost_output", result_.lost_output}, {"lost_why", lost_why_}};
}

Json Manager::how_it_ended() const {
  Json ended = {{"exit_code", exit_code_.value_or(1)},
                {"resizes", result_.resizes},
                {"boot", boot_id()},
                {"boot_s", seconds(boot_time())}};
  // Who was told to end has not failed.
  const auto failure =
      stop_signal_ == 0 ? failure_of(status_, last_words_, processes_killed_for_memory() > starved_)
                        : Failure{};
  if (!failure.reason.empty()) {
    ended["reason"] = failure.reason;
    ended["note"] = failure.note;
    if (failure.was_killed) ended["was_killed"] = true;
  }
  if (refused_requests_ > 0) ended["refused_requests"] = refused_requests_;
  ended.update(lost());
  return ended;
}

// ---- Signals and time ---------------------------------------------------------------------------

void Manager::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;  // reap() sees to it
    if (signal == SIGUSR1 || signal == SIGUSR2) {
      if (!current().status) kill(current().process.pid, signal);
    } else {
      stop(signal);
    }
  }
}

void Manager::stop(int signal) {
  const auto now = Clock::now();
  if (stop_signal_ != 0) {
    // Asked twice: no more patience.
    for (const auto& [number, generation] : generations_) {
      generation->is_terminated = true;
      generation->deadline = now;
    }
    return;
  }
  stop_signal_ = signal;
  spdlog::info("ending the job: {}", strsignal(signal));
  give_up_resize(fmt::format("the job was ended: {}", strsignal(signal)));
  // Launchers know these three; the rest is ours.
  const bool is_known = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  for (const auto& [number, generation] : generations_) {
    if (generation->status) continue;
    kill(generation->process.pid, is_known ? signal : SIGTERM);
    generation->is_terminated = true;
    generation->deadline = std::min(generation->deadline, now + settings_.patience);
  }
}

/// Somebody still holds the pipes of a generation that has ended: one who was just being started
/// when its like were killed, and had no environment yet to know it by, or who has made itself
/// another one.
void Manager::sweep(Generation& generation) {
  const auto now = Clock::now();
  generation.deadline = Clock::time_point::max();
  if (generation.is_over()) return;
  generation.deadline = now + kSweep;
  if (generation.group) generation.group->kill_all();
  const bool all_have_ended = std::ranges::all_of(
      generations_, [](const auto& entry) { return entry.second->status.has_value(); });
  kill_descendants(exit_code_ && all_have_ended ? Variables{} : generation.marks);
  if (now > generation.ended + settings_.patience) {
    generation.process.out.reset();
    generation.process.err.reset();
    if (generation.sweep && !generation.sweep->is_done()) {
      spdlog::warn("what is left on {} could not be looked for in time",
                   fmt::join(generation.sweep->give_up(), ", "));
    }
  }
}

void Manager::tell_who_is_missing() {
  constexpr std::chrono::seconds kSoon{5};
  const auto now = Clock::now();
  const bool is_long = resize_->phase() == Resize::Phase::gathering &&
                       resize_->reached().count() > 0 && now > resize_->times().stopped + kSoon;
  if (!is_long || std::exchange(is_wait_told_, true)) return;
  spdlog::warn("the resize waits: {}", resize_->missing(now));
}

/// The old generation has left in order. Whatever its program still does is its right: only who
/// ends the job ends it.
void Manager::on_leaving_late(Generation& generation) {
  generation.deadline = Clock::time_point::max();
  generation.is_late = true;
  spdlog::warn(
      "the old generation of {} processes has left, but its program works on; its processors are "
      "free, and the resize is over, when it has ended",
      generation.size);
}

/// MPI time over compute time, iterations and power since the last time, over all processes.
void Manager::report_measurement() {
  const auto now = Clock::now();
  const double interval = seconds(now - measured_);
  measured_ = now;
  if (energy_) power_w_ = energy_->take() / interval;
  const std::uint64_t computing = looks_ - looks_in_mpi_;
  if (looks_ > 0) {
    mtct_.reset();
    if (computing > 0) {
      mtct_ = static_cast<double>(looks_in_mpi_) / static_cast<double>(computing);
    }
  }
  const auto& [count, total_ns, longest_ns] = iterations_;
  if (count > 0) iteration_s_ = 1e-9 * static_cast<double>(total_ns) / count;
  if (looks_ > 0 || count > 0 || energy_) {
    Json details = {{"generation", current_},
                    {"size", current().size},
                    {"looks", looks_},
                    {"in_mpi", looks_in_mpi_},
                    {"mtct", looks_ > 0 && mtct_ ? Json(*mtct_) : Json()},
                    {"iterations", count}};
    if (count > 0) {
      details["iteration_s"] = *iteration_s_;
      details["longest_iteration_s"] = 1e-9 * static_cast<double>(longest_ns);
    }
    if (energy_) details["power_w"] = *power_w_;
    report("measured", details);
  }
  forget_measured();
}

void Manager::forget_measured() {
  looks_ = 0;
  looks_in_mpi_ = 0;
  iterations_ = {};
}

/// On what somebody waits who wants another size.
void Manager::tell_slow_start() {
  const bool is_starting = resize_ && resize_->phase() == Resize::Phase::starting;
  Generation* const generation = is_starting ? find(resize_->generation()) : &current();
  if ((!is_starting && !ordered_) || generation == nullptr || generation->status) return;
  const auto time = Clock::now() - generation->started;
  // A name server that does not answer keeps Open MPI from starting anything.
  if (time > kSlowStart / 2 && !name_of_host_) name_of_host_ = std::make_unique<NameOfHost>();
  if (time < kSlowStart || std::exchange(generation->is_told_slow, true)) return;
  const std::uint32_t size = generation->size;
  const bool have_begun = generation->connected == size;
  std::string what =
      fmt::format("{} of its processes have come to {}",
                  have_begun && is_starting ? resize_->ready().count() : generation->connected,
                  have_begun ? "ductile_join()" : "ductile_init()");
  if (generation->connected == 0 && !name_of_host_->is_known()) {
    what += fmt::format(
        "; the name of this host, {}, is not resolved for seconds, on which {} may wait",
        name_of_host_->name(), settings_.launcher.mpiexec);
  }
  spdlog::warn("the start of {} processes takes more than {} s: {}", size, kSlowStart.count(),
               what);
}

void Manager::on_time() {
  const auto now = Clock::now();
  if (resize_) {
    resize_->tick(now);
    tell_who_is_missing();
    carry_out();
  }
  for (const auto& [number, generation] : generations_) {
    if (now < generation->deadline) continue;
    if (generation->status) {
      sweep(*generation);
    } else if (number == old_ && is_left_to_itself()) {
      on_leaving_late(*generation);
    } else if (!generation->is_terminated) {
      generation->is_terminated = true;
      if (generation->is_discarded) hear_to_the_end(*generation);
      generation->is_muted = generation->is_discarded;
      generation->deadline = now + settings_.patience / 5;
      spdlog::debug("generation {} is told to end", number);
      kill(generation->process.pid, SIGTERM);
    } else {
      generation->deadline = Clock::time_point::max();
      spdlog::debug("generation {} is killed", number);
      kill_descendants(generation->marks);
      kill(generation->process.pid, SIGKILL);
    }
  }
  for (const auto& peer : peers_) {
    if (!peer->generation && !peer->is_closed && now > peer->since + kHelloPatience) {
      if (!peer->is_refused) {
        spdlog::warn("a connection was refused: it did not say who it is");
      }
      on_closed(*peer);
    }
  }
  if (ordered_ && !is_started() && now > ordered_at_ + settings_.limits.starting) {
    const std::uint32_t size = *std::exchange(ordered_, std::nullopt);
    if (std::exchange(is_planned_, false)) ++result_.aborted;
    const Json details = {{"generation", current_},
                          {"from", current().size},
                          {"to", size},
                          {"size", current().size},
                          {"error",
                           "the program does not use libductile-app, or has not called "
                           "ductile_init() yet"}};
    report("aborted", details);
    answer(false, details);
  }
  if (settings_.measure.count() > 0 && now >= measured_ + settings_.measure) report_measurement();
  tell_lost();
  tell_sizes();
  tell_slow_start();
  begin_resize();
  consider_request();
  if (planned_ < settings_.plan.size() && !resize_ && !ordered_ && !exit_code_) {
    const PlannedResize& next = settings_.plan[planned_];
    if (now >= (next.after_previous ? last_resize_ : begin_) + next.time && is_started()) {
      ++planned_;
      // Who lets chance choose does not know what the program can have.
      const std::uint32_t size =
          next.after_previous ? current().sizes.near(next.size, current().size) : next.size;
      if (const auto why = objection(size)) {
        ++result_.aborted;
        spdlog::warn("not resized to {}: {}", size, *why);
      } else {
        is_planned_ = true;
        order(size);
      }
    }
  }
}

// ---- The loop -----------------------------------------------------------------------------------

void Manager::wait() {
  Poller poller;
  poller.add(signals_, POLLIN, [this] { on_signal(); });
  if (listener_) poller.add(listener_, POLLIN, [this] { accept_peers(); });
  if (control_) poller.add(control_, POLLIN, [this] { accept_clients(); });
  for (const auto& owned : peers_) {
    Peer* const peer = owned.get();
    const short events = peer->unsent.empty() ? POLLIN : POLLIN | POLLOUT;
    poller.add(peer->socket, events, [this, peer] {
      flush(*peer);
      read_peer(*peer);
    });
  }
  for (const auto& owned : clients_) {
    Client* const client = owned.get();
    poller.add(client->lines.descriptor(), client->lines.events(),
               [this, client] { read_client(*client); });
  }
  for (const auto& [number, owned] : generations_) {
    Generation* const generation = owned.get();
    if (generation->process.out && has_room_for(*generation)) {
      poller.add(generation->process.out, POLLIN,
                 [this, generation] { read_output(*generation, generation->process.out); });
    }
    if (generation->process.err && err_.size() < kMaxWaitingOutput) {
      poller.add(generation->process.err, POLLIN,
                 [this, generation] { read_output(*generation, generation->process.err); });
    }
  }
  if (!out_.empty()) poller.add(STDOUT_FILENO, POLLOUT);
  if (!err_.empty()) poller.add(STDERR_FILENO, POLLOUT);

  const auto now = Clock::now();
  auto next = now + std::chrono::seconds(1);
  if (settings_.measure.count() > 0) next = std::min(next, measured_ + settings_.measure);
  if (resize_) next = std::min(next, resize_->next());
  for (const auto& [number, generation] : generations_) next = std::min(next, generation->deadline);
  if (planned_ < settings_.plan.size() && !resize_ && !ordered_) {
    const PlannedResize& planned = settings_.plan[planned_];
    const auto time = (planned.after_previous ? last_resize_ : begin_) + planned.time;
    if (time > now) next = std::min(next, time);
  }
  poller.wait(next - now);
}

RunResult Manager::run() {
  if (!settings_.report.empty()) report_.open(settings_.report);
  make_folder();
  if (!settings_.is_rigid || settings_.measure.count() > 0) listener_ = listen_to_processes();
  if (settings_.measure.count() > 0) {
    EnergyMeter meter(settings_.power_from);
    if (meter.is_there()) {
      energy_ = std::move(meter);
    } else if (settings_.power_from != RunSettings{}.power_from) {
      throw InputError("there are no counters of energy in '" + settings_.power_from + "'",
                       "give a folder as /sys/class/powercap is");
    }
  }
  if (settings_.control_fd >= 0) {
    control_ = Descriptor(settings_.control_fd);
    fcntl(control_.get(), F_SETFD, FD_CLOEXEC);
    set_blocking(control_, false);
  } else if (!settings_.control.empty()) {
    control_ = listen_unix(settings_.control);
  }
  if (settings_.step_fd >= 0) {
    clients_.push_back(std::make_unique<Client>(
        Client{.lines = LineSocket(Descriptor(settings_.step_fd), kMaxLine, kMaxAnswers),
               .watches = true}));
  }

  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    sigaddset(&handled, signal);
  }
  sigset_t before;
  sigprocmask(SIG_BLOCK, &handled, &before);
  const auto old_pipe = std::signal(SIGPIPE, SIG_IGN);
  const auto old_file_size = std::signal(SIGXFSZ, SIG_IGN);
  signals_ = Descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  adopt_orphans();

  try {
    // Before it is: who finds no line here may start the job once more.
    if (!report("started", {{"size", settings_.size}})) {
      throw RunError("'" + settings_.report + "' cannot be written");
    }
    input_begin_ = begin_of_input();
    start_generation(settings_.has_steps ? 1 : settings_.size);
    while (!is_over()) {
      wait();
      reap();
      std::erase_if(peers_, [](const auto& peer) { return peer->is_closed; });
      std::erase_if(clients_, [](const auto& client) { return client->lines.is_closed(); });
      // A step that has gone needs no nodes any more.
      if (step_order_ && step() == nullptr) end_step_order(true, Json::object());
      on_time();
      pass_output();
      if (resize_ && resize_->is_settled()) conclude_resize();
      std::erase_if(generations_, [&](const auto& entry) {
        return entry.first != current_ && entry.second->is_over() && entry.second->has_been_heard();
      });
    }
  } catch (...) {
    clean_up();
    throw;
  }
  // Nobody may take its nodes for free then: there is no report of an end in order.
  if (!clean_up()) throw StillRunning("processes of the job cannot be killed, and do not end");
  while (!out_.empty() || !err_.empty()) {
    std::array<pollfd, 2> waiting{
        {{.fd = out_.empty() ? -1 : STDOUT_FILENO, .events = POLLOUT, .revents = 0},
         {.fd = err_.empty() ? -1 : STDERR_FILENO, .events = POLLOUT, .revents = 0}}};
    poll(waiting.data(), waiting.size(), -1);
    write_output(STDOUT_FILENO, out_);
    write_output(STDERR_FILENO, err_);
  }
  if (result_.lost_output > 0) {
    spdlog::warn("{} bytes of the output could not be written: {}", result_.lost_output, lost_why_);
  }
  report("ended", how_it_ended());
  if (!settings_.trace.empty()) {
    std::ofstream file(settings_.trace);
    file << Json({{"traceEvents", trace_}}).dump() << '\n';
    // The job has done its work all the same.
    if (!file.flush()) spdlog::warn("'{}' cannot be written", settings_.trace);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGPIPE, old_pipe);
  std::signal(SIGXFSZ, old_file_size);
  result_.exit_code = exit_code_.value_or(1);
  result_.unplanned = static_cast<std::uint32_t>(settings_.plan.size() - planned_);
  return std::move(result_);
}

/// False if there are processes that cannot be killed.
bool Manager::clean_up() {
  const std::size_t left = kill_descendants({});
  if (left > 0) spdlog::debug("{} left over, killed", left);
  const bool all_are_gone = left == 0 || descendants({}).empty();
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  if (has_killed_) {
    // What was mapped a moment ago counts as in use.
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
    remove_shared_memory(wall_begin_);
  }
  if (!settings_.control.empty()) unlink(settings_.control.c_str());
  return all_are_gone;
}

}  // namespace

RunResult run_job(const RunSettings& settings) { return Manager(settings).run(); }

bool become_step(RunSettings& settings) {
  const char* const path = std::getenv(kStepsVariable);
  if (path == nullptr || *path == '\0') return false;
  Descriptor connection = connect_unix(path);
  unsetenv(kStepsVariable);  // what the step starts is none
  std::string line;
  // Not a byte of what follows the answer.
  if (send_all(connection, "{\"do\": \"step\"}\n")) {
    for (char byte = 0; read(connection.get(), &byte, 1) == 1 && byte != '\n';) line += byte;
  }
  const Json answer = parse_json_line(line);
  if (!answer.is_object() || !answer.value("ok", false)) {
    throw RunError("this is no step of the job: " +
                   (answer.is_object() ? answer.value("error", "it does not say why")
                                       : "its manager does not answer"));
  }
  settings.size = answer.value("size", 1U);
  settings.max = answer.value("max", settings.size);
  settings.cpus = parse_node_set(answer.value("cpus", "")).value_or(NodeSet{});
  settings.launcher.cores = answer.value("cores", 0U);
  settings.evolving = Evolving::deny;
  settings.step_fd = connection.release();
  return true;
}

std::string ask_manager(const std::string& socket, const std::string& order) {
  const Descriptor connection = connect_unix(socket);
  std::string answer;
  if (send_all(connection, order + "\n")) {
    std::array<char, kMaxLine> bytes;
    for (;;) {
      const ssize_t got = recv(connection.get(), bytes.data(), bytes.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      answer.append(bytes.data(), static_cast<std::size_t>(got));
      if (answer.back() == '\n') return answer.substr(0, answer.size() - 1);
    }
  }
  throw RunError("the job ended without an answer");
}

}  // namespace ductile
