#include "live/policy_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "scheduling/pass.hpp"
#include "scheduling/record.hpp"
#include "scheduling/snapshot.hpp"

namespace ductile {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPolicyProcess = "policy-process";   // the first word of its call
constexpr auto kToEnd = 2s;                                // after a signal
constexpr auto kOftenEnough = 50ms;                        // is it looked whether it has ended
constexpr std::size_t kMostOutput = std::size_t{4} << 20;  // that is read at once
constexpr std::size_t kLongestSaid = 500;                  // bytes of a line in the log
constexpr std::size_t kLastSaid = 40;                      // lines
constexpr const char* kSaysNothing = "it says what is nothing";

/// The controller dies: this signal comes, and ends the process with all that it has started.
int controller_died() { return SIGRTMAX - 1; }

rlimit data_limit(std::uint64_t memory) {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(memory, limit.rlim_max);
  return limit;
}

/// The innermost "File "x.py", line 3 in f" of what Python says of where it is, of the policy's own
/// file if there is one.
std::string place_said(const std::vector<std::string>& lines, std::string_view policy) {
  policy.remove_prefix(std::min(policy.find(':') + 1, policy.size()));
  const std::string_view file = policy.substr(0, policy.find(':'));
  const auto found = [&](std::string_view name) {
    for (const std::string& line : lines) {
      const auto at = line.find("File \"");
      if (at != std::string::npos && line.find(name) != std::string::npos) return line.substr(at);
    }
    return std::string();
  };
  std::string place = found(file.substr(file.rfind('/') + 1));
  return place.empty() ? found("") : place;
}

/// Its process has the state of the controller's core between two instants alone.
bool is_between_instants(const State& state) {
  return !state.must_wake && (state.handed_out || state.decisions.empty());
}

/// Of this process, as RLIMIT_DATA counts them.
std::uint64_t data_bytes() {
  std::ifstream sizes("/proc/self/statm");
  std::uint64_t pages = 0;
  for (int field = 0; field < 6; ++field) sizes >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// SIGALRM, unless this is over before.
class Alarm {
 public:
  explicit Alarm(Duration time) { set(time); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() { set({}); }

 private:
  static void set(Duration time) {
    constexpr std::int64_t kSecond = 1'000'000;
    itimerval timer{};
    timer.it_value.tv_sec = time.count() / kSecond;
    timer.it_value.tv_usec = time.count() % kSecond;
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

/// In the process of a policy: it ends, and what is in its group.
void end_group() {
  if (getpgrp() == getpid()) kill(0, SIGKILL);
}

/// Before another program is called: what it may not have of the controller.
void become_its_own(pid_t parent, int socket, int output, std::uint64_t memory) {
  prctl(PR_SET_PDEATHSIG, controller_died());
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);  // what it starts ends with it
  dup2(socket, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit data = data_limit(memory);
  if (memory > 0 && setrlimit(RLIMIT_DATA, &data) != 0) {
    constexpr std::string_view what = "its memory cannot be limited\n";
    if (write(STDERR_FILENO, what.data(), what.size()) < 0) _exit(1);
    _exit(1);
  }
}

}  // namespace

// ---- The controller's end -----------------------------------------------------------------------

PolicyProcess::PolicyProcess(std::string policy, Here here, Terms terms)
    : policy_(std::move(policy)),
      here_(std::move(here)),
      owner_(getpid()),
      terms_(std::move(terms)) {}

PolicyProcess::~PolicyProcess() {
  if (getpid() == owner_) kill_it();
}

void PolicyProcess::configure(Terms terms) {
  const std::uint64_t had = std::exchange(terms_, std::move(terms)).memory;
  if (child_ <= 0 || terms_.memory == had) return;
  const rlim_t most = terms_.memory > 0 ? terms_.memory : RLIM_INFINITY;
  const rlimit data{most, most};
  if (prlimit(child_, RLIMIT_DATA, &data, nullptr) == 0) return;
  spdlog::warn("the policy {}: its process keeps its limit of memory until it is started anew: {}",
               policy_, std::strerror(errno));
}

void PolicyProcess::start() {
  started_ = Steady::now();
  unsent_.clear();
  come_.clear();
  said_.clear();
  last_said_.clear();
  sent_ = 0;
  asked_ = 0;
  std::array<int, 2> ends{}, pipe{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  socket_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) return;
  output_ = Descriptor(pipe[0]);
  const Descriptor their_output(pipe[1]);
  set_blocking(socket_, false);
  set_blocking(output_, false);
  const pid_t parent = getpid();
  // This program, also if another one has taken its place by now.
  const char* const arguments[] = {"ductile", kPolicyProcess, policy_.c_str(), nullptr};
  const std::uint64_t memory = terms_.memory;
  child_ = fork();
  if (child_ == 0) {
    // There may be other threads: nothing but system calls.
    become_its_own(parent, theirs.get(), their_output.get(), memory);
    execv("/proc/self/exe", const_cast<char* const*>(arguments));
    _exit(127);
  }
  if (child_ > 0) phase_ = Phase::loading;
}

void PolicyProcess::kill_it() {
  phase_ = Phase::gone;
  if (child_ > 0) {
    const pid_t group = child_;
    kill(-group, SIGKILL);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    while (waitpid(-group, nullptr, WNOHANG) > 0) {  // orphans of it that have come to us
    }
    child_ = -1;
  }
  if (output_) read_output();
  say_output(true);
  socket_.reset();
  output_.reset();
}

std::optional<std::string> PolicyProcess::end_within(Steady::duration patience) {
  for (const auto deadline = Steady::now() + patience;;) {
    siginfo_t ended{};
    if (child_ <= 0) return "it could not be started";
    const int got = waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (got == 0 && ended.si_pid != 0) {
      if (ended.si_code == CLD_EXITED) {
        return fmt::format("its process ended with exit code {}", ended.si_status);
      }
      return fmt::format("its process was ended by signal {} ({})", ended.si_status,
                         strsignal(ended.si_status));
    }
    if (Steady::now() >= deadline) return std::nullopt;
    read_output();
    pollfd nobody{output_.get(), POLLIN, 0};
    poll(&nobody, 1, 10);
  }
}

std::string PolicyProcess::by_end(const std::string& otherwise) {
  std::string why = end_within(kToEnd).value_or(otherwise);
  read_output();
  say_output(true);
  const std::string place = place_said(last_said_, policy_);
  return place.empty() ? why : fmt::format("{}: {}", place, why);
}

/// Python tells where it is when it is ended like this (PYTHONFAULTHANDLER).
std::string PolicyProcess::late(const std::string& why) {
  kill(child_, SIGABRT);
  kill(child_, SIGCONT);  // one that was stopped does not hear the other
  end_within(kToEnd);
  read_output();
  say_output(true);
  const std::string place = place_said(last_said_, policy_);
  return place.empty() ? why : fmt::format("{}: {}", place, why);
}

std::string PolicyProcess::not_loaded() {
  return late(fmt::format("it was not there within {} s", kToLoad.count()));
}

void PolicyProcess::failed(const std::string& why, const std::string& more) {
  kill_it();
  ++account_.failures;
  account_.why = printable(why);
  account_.when_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto now = Steady::now();
  const auto pause = restarts_.after(now - started_);
  restart_ = now + pause;
  spdlog::error("the policy {}: {}", policy_, account_.why);
  std::string_view rest = more;
  for (std::size_t lines = 0; !rest.empty() && lines < kLastSaid; ++lines) {
    spdlog::error("the policy {}: {}", policy_, printable(next_part(rest, '\n')));
  }
  spdlog::error("the policy {}: {} decides until it is started anew, in {} s", policy_,
                terms_.fallback ? terms_.fallback->traits.settings : "nobody",
                std::chrono::duration_cast<std::chrono::seconds>(pause).count());
}

/// Sends as much as is possible at once. False: the other end is closed.
bool PolicyProcess::flush() {
  while (socket_ && sent_ < unsent_.size()) {
    const ssize_t size = ::send(socket_.get(), unsent_.data() + sent_, unsent_.size() - sent_,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    sent_ += static_cast<std::size_t>(size);
  }
  unsent_.clear();
  sent_ = 0;
  return true;
}

/// Reads what has come. False: the other end is closed.
bool PolicyProcess::receive() {
  std::array<char, 65536> buffer;
  while (socket_ && come_.size() <= kLongestPolicyAnswer) {
    const ssize_t size = ::read(socket_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) return false;
    come_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return true;
}

/// What it prints goes to the log: not more than so much, whatever it prints.
void PolicyProcess::read_output() {
  std::array<char, 65536> buffer;
  for (std::size_t all = 0; output_ && all < kMostOutput;) {
    const ssize_t size = ::read(output_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    if (size == 0) {
      output_.reset();
      break;
    }
    all += static_cast<std::size_t>(size);
    said_.append(buffer.data(), static_cast<std::size_t>(size));
    say_output(false);
  }
}

/// Its lines; with `is_all` also one without an end.
void PolicyProcess::say_output(bool is_all) {
  std::string_view rest = said_;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos && rest.size() <= kLongestSaid && !is_all) break;
    const std::string_view line = rest.substr(0, std::min(end, rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.empty()) continue;
    std::string text = printable(line.substr(0, kLongestSaid));
    if (lines_.take(Steady::now())) {
      if (left_out_ > 0) {
        spdlog::warn("the policy {}: {} lines of what it printed are left out", policy_,
                     std::exchange(left_out_, 0));
      }
      spdlog::info("the policy {} printed: {}", policy_, text);
    } else {
      ++left_out_;
    }
    if (last_said_.size() < kLastSaid || text.find("File \"") != std::string::npos) {
      if (last_said_.size() >= 2 * kLastSaid) last_said_.erase(last_said_.begin());
      last_said_.push_back(std::move(text));
    }
  }
  said_.erase(0, said_.size() - rest.size());
  if (is_all && left_out_ > 0) {
    spdlog::warn("the policy {}: {} lines of what it printed are left out", policy_,
                 std::exchange(left_out_, 0));
  }
}

/// Until an answer has come: then nothing; else why there is none.
std::optional<std::string> PolicyProcess::exchange_until(Steady::time_point deadline) {
  while (true) {
    const bool is_there = flush() && receive();
    read_output();
    if (first_policy_answer(come_, asked_)) return std::nullopt;
    if (come_.size() > kLongestPolicyAnswer) return "it decides more than can be";
    if (!is_there) return by_end("its process closed its connection");
    if (const auto how = end_within({})) return by_end(*how);
    const auto now = Steady::now();
    if (now >= deadline) return std::string();
    const auto time = std::min<Steady::duration>(deadline - now, kOftenEnough);
    std::array<pollfd, 2> both{
        pollfd{socket_.get(), static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
        pollfd{output_.get(), POLLIN, 0}};
    poll(both.data(), both.size(),
         static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + 1);
  }
}

std::optional<Traits> PolicyProcess::made(std::chrono::nanoseconds patience) {
  const auto end = started_ + kToLoad;
  if (auto why = exchange_until(std::min(Steady::now() + patience, end))) {
    if (why->empty()) {
      if (Steady::now() < end) return std::nullopt;
      why = not_loaded();
    }
    kill_it();
    throw InputError({.field = "policy " + policy_}, *why,
                     "look at what it does when it is loaded");
  }
  if (auto why = take_ready(*first_policy_answer(come_, asked_))) {
    kill_it();
    throw InputError(*why, "");
  }
  return traits_;
}

void PolicyProcess::begin_later(const Traits& traits, const std::string& why) {
  traits_ = traits;
  std::string_view rest = why;
  const std::string first(next_part(rest, '\n'));
  failed(first, std::string(rest));
}

/// Of one that is loaded; why it may not decide.
std::optional<std::string> PolicyProcess::take_ready(const PolicyAnswer& its) {
  if (its.kind == PolicyAnswer::Kind::failed) return its.text;
  if (its.kind != PolicyAnswer::Kind::ready) return kSaysNothing;
  try {
    const Traits traits = traits_from_record(its.text);
    if (traits_.value_or(traits) != traits) return "its file has changed: send SIGHUP";
    traits_ = traits;
  } catch (const RecordError& error) {
    return fmt::format("{}: {}: {}", kSaysNothing, error.field(), error.what());
  }
  come_.erase(0, its.size);
  phase_ = Phase::loaded;
  return std::nullopt;
}

/// It was started anew: is it there?
void PolicyProcess::take_loading() {
  if (phase_ != Phase::loading) return;
  const bool is_there = receive();
  if (const auto its = first_policy_answer(come_, asked_)) {
    const auto why = take_ready(*its);
    if (!why) return spdlog::info("the policy {} is there again", policy_);
    std::string_view rest = *why;
    const std::string first(next_part(rest, '\n'));
    return failed(first, std::string(rest));
  }
  if (!is_there || end_within({})) return failed(by_end("its process closed its connection"));
  if (Steady::now() > started_ + kToLoad) failed(not_loaded());
}

void PolicyProcess::instant_begins(const Core& core) {
  take_loading();
  if (phase_ != Phase::loaded || !is_between_instants(core.state())) return;
  const std::string state = save(core.state());
  unsent_ += with_size("state", state);
  phase_ = Phase::follows;
}

void PolicyProcess::heard(Time now, const Event& event) {
  if (phase_ == Phase::follows) {
    unsent_ += fmt::format("event {} {}\n", to_record(now), to_record(event));
  }
}

void PolicyProcess::closed(Time now) {
  if (phase_ != Phase::follows) return;
  unsent_ += fmt::format("closed {}\n", to_record(now));
  flush();
}

void PolicyProcess::fall_back(Pass& pass) {
  ++account_.fallbacks;
  if (terms_.fallback) (*terms_.fallback)(pass);
}

void PolicyProcess::decide_in_copy(Pass& pass) {
  try {
    if (!of_copy_) {
      if (terms_.memory > 0) {  // besides what the copy has
        const rlimit data = data_limit(terms_.memory + data_bytes());
        setrlimit(RLIMIT_DATA, &data);
      }
      of_copy_ = here_();
    }
    const Alarm late(terms_.patience);
    of_copy_->schedule(pass);
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    spdlog::error("the policy {}, for an answer: {}", policy_,
                  printable(what.substr(0, what.find('\n'))));
    if (terms_.fallback) terms_.fallback->schedule(pass);
  }
}

void PolicyProcess::decide(Pass& pass) {
  ++account_.passes;
  if (phase_ != Phase::follows) return fall_back(pass);
  receive();
  if (!come_.empty()) {
    failed("it says what nobody asked for");
    return fall_back(pass);
  }
  last_said_.clear();
  unsent_ += fmt::format("pass {} {}\n", to_record(pass.now()), ++asked_);
  if (auto why = exchange_until(Steady::now() + steady(terms_.patience))) {
    if (why->empty()) {
      why = late(fmt::format("its pass took more than {} s", to_seconds(terms_.patience)));
    }
    failed(*why);
    return fall_back(pass);
  }
  const PolicyAnswer its = *first_policy_answer(come_, asked_);
  come_.erase(0, its.size);
  if (its.kind == PolicyAnswer::Kind::failed) {
    std::string_view rest = its.text;
    const std::string first(next_part(rest, '\n'));
    failed(first, std::string(rest));
    return fall_back(pass);
  }
  // Nothing is done before all could be read.
  std::vector<PenCall> calls;
  try {
    if (its.kind != PolicyAnswer::Kind::calls) {
      throw RecordError("answer", "this is none to this pass");
    }
    calls = calls_in(its.text);
  } catch (const RecordError& error) {
    failed(fmt::format("{}: {}: {}", kSaysNothing, error.field(), error.what()));
    return fall_back(pass);
  }
  // Each is whole by itself, and the pen cannot take one back: those before the first that is not
  // possible stand.
  for (std::size_t done = 0; done < calls.size(); ++done) {
    if (pass.call(calls[done])) continue;
    failed(fmt::format("it decided what is not possible: {}{}", to_record(calls[done]),
                       done == 0 ? "" : fmt::format("; the {} before it stand", done)));
    return fall_back(pass);
  }
}

void PolicyProcess::add_to(Poller& poller) {
  if (output_) poller.add(output_, POLLIN, [this] { read_output(); });
  if (phase_ == Phase::loading) poller.add(socket_, POLLIN, [] {});
  if (!unsent_.empty() && socket_) poller.add(socket_, POLLOUT, [this] { flush(); });
}

void PolicyProcess::look() {
  if (output_) read_output();
  take_loading();
  if (phase_ == Phase::gone) {
    if (Steady::now() < restart_) return;
    start();
    if (phase_ == Phase::gone) failed("it could not be started");
  } else if (phase_ != Phase::loading && end_within({})) {
    failed(by_end("it ended"));
  }
}

std::optional<std::chrono::steady_clock::time_point> PolicyProcess::next() const {
  if (phase_ == Phase::gone) return restart_;
  if (phase_ == Phase::loading) return started_ + kToLoad + 1s;
  return std::nullopt;
}

PolicyProcess::Account PolicyProcess::account() const {
  Account its = account_;
  its.decides = phase_ == Phase::loaded || phase_ == Phase::follows;
  its.fallback = terms_.fallback ? terms_.fallback->traits.settings : "";
  return its;
}

// ---- The policy of the controller ---------------------------------------------------------------

namespace {

class PolicyElsewhere final : public Policy {
 public:
  explicit PolicyElsewhere(std::unique_ptr<PolicyProcess> process) : process_(std::move(process)) {}
  void schedule(Pass& pass) const override { process_->decide_in_copy(pass); }
  PolicyProcess* process() const { return process_.get(); }

 private:
  std::unique_ptr<PolicyProcess> process_;
};

}  // namespace

PolicyProcess* process_of(const Policy& policy) {
  const auto* const its = dynamic_cast<const PolicyElsewhere*>(&policy);
  return its ? its->process() : nullptr;
}

namespace {

/// Nobody else's code is run here: not as a member of a portfolio either.
Registry without_outside(Registry registry) {
  registry.outside.clear();
  return registry;
}

}  // namespace

std::shared_ptr<Policy> begin_elsewhere(const Registry& registry, const std::string& settings,
                                        const PolicyProcess::Terms& terms) {
  check_elsewhere(registry, settings);
  auto process = std::make_unique<PolicyProcess>(
      settings, [make = registry.maker(), settings] { return make(settings); }, terms);
  process->start();
  return std::make_shared<PolicyElsewhere>(std::move(process));
}

bool is_made(Policy& policy, std::chrono::nanoseconds patience) {
  const auto traits = process_of(policy)->made(patience);
  if (traits) policy.traits = *traits;
  return traits.has_value();
}

std::shared_ptr<const Policy> make_elsewhere(const Registry& registry, const std::string& settings,
                                             const PolicyProcess::Terms& terms,
                                             const std::optional<Traits>& known) {
  if (!registry.find_outside(settings)) return without_outside(registry).make(settings);
  const std::shared_ptr<Policy> policy = begin_elsewhere(registry, settings, terms);
  try {
    is_made(*policy, PolicyProcess::kToLoad);
  } catch (const InputError& error) {
    if (!known || known->settings != settings) throw;
    process_of(*policy)->begin_later(*known, error.what());
    policy->traits = *known;
  }
  return policy;
}

void check_elsewhere(const Registry& registry, const std::string& settings) {
  if (registry.find_outside(settings)) {
    (void)registry.parameters(settings);
  } else {
    (void)without_outside(registry).make(settings);
  }
}

// ---- Its own end --------------------------------------------------------------------------------

namespace {

/// What the controller sends, from its beginning.
class FromController {
 public:
  explicit FromController(int socket) : socket_(socket) {}

  /// Without its end; nothing: the controller has gone.
  std::optional<std::string> line() {
    while (true) {
      const auto end = come_.find('\n', searched_);
      if (end != std::string::npos) {
        std::string line = come_.substr(0, end);
        come_.erase(0, end + 1);
        searched_ = 0;
        return line;
      }
      searched_ = come_.size();
      if (!more()) return std::nullopt;
    }
  }
  std::optional<std::string> bytes(std::size_t size) {
    while (come_.size() < size) {
      if (!more()) return std::nullopt;
    }
    std::string text = come_.substr(0, size);
    come_.erase(0, size);
    return text;
  }

 private:
  bool more() {
    std::array<char, 65536> buffer;
    ssize_t size = 0;
    do {
      size = ::read(socket_, buffer.data(), buffer.size());
    } while (size < 0 && errno == EINTR);
    if (size <= 0) return false;
    come_.append(buffer.data(), static_cast<std::size_t>(size));
    return true;
  }

  int socket_;
  std::string come_{};
  std::size_t searched_ = 0;
};

int serve_policy(const std::string& settings, const Registry& registry, const Descriptor& socket) {
  std::shared_ptr<const Policy> policy;
  try {
    policy = registry.make(settings);
  } catch (const std::exception& error) {
    send_all(socket, to_policy_answer("failed", 0, error.what()));
    return 1;
  }
  if (!send_all(socket, "ready " + to_record(policy->traits) + "\n")) return 1;
  std::optional<Core> core;
  FromController controller(socket.get());
  while (const auto line = controller.line()) {
    std::string_view rest = *line;
    const std::string_view word = next_part(rest, ' ');
    if (word == "state") {
      const auto text = controller.bytes(parse_number<std::size_t>(rest).value_or(0));
      if (!text) break;
      State state = load(*text);
      state.rules.record = true;
      core.emplace(std::move(state));
      continue;
    }
    const Time now = time_from_record(next_part(rest, ' '));
    if (word == "event") {
      core.value().apply(now, event_from_record(rest));
    } else if (word == "closed") {
      follow(core.value(), now, false, {});
    } else {
      const auto asked = parse_number<std::uint64_t>(rest).value_or(0);
      std::string answer;
      try {
        core.value().close(now, *policy, true);
        for (const PenCall& call : core->pen_calls()) answer += to_record(call) + '\n';
        answer = to_policy_answer("calls", asked, answer);
      } catch (const std::exception& error) {
        answer = to_policy_answer("failed", asked, error.what());
      }
      if (!send_all(socket, answer)) break;
    }
  }
  return 0;
}

}  // namespace

std::optional<int> run_policy_process(int argc, char** argv, const Registry& registry) {
  if (argc != 3 || std::string_view(argv[1]) != kPolicyProcess) return std::nullopt;
  const Descriptor socket(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!peer_of(socket)) {
    std::cerr << "ductile: a controller calls this, for a policy in Python\n";
    return 2;
  }
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  dup2(nothing.get(), STDIN_FILENO);
  prctl(PR_SET_NAME, "ductile-policy");
  signal(controller_died(), [](int) {
    end_group();
    _exit(1);
  });
  // What it prints comes at once, and where it was when it is ended.
  setenv("PYTHONUNBUFFERED", "1", 1);
  setenv("PYTHONFAULTHANDLER", "1", 1);
  int code = 1;
  try {
    code = serve_policy(argv[2], registry, socket);
  } catch (const std::exception& error) {
    std::cerr << "ductile: " << error.what() << '\n';
  }
  std::cout.flush();
  if (code == 0) end_group();  // the controller has gone
  _exit(code);                 // what a policy has begun is not waited for
}

}  // namespace ductile
