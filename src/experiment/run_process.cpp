#include "experiment/run_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

using Json = nlohmann::json;

constexpr int kLookAtStopMs = 100;

// All is said by lines: the number of a run; "at JOBS_OVER JOBS TIME", "done SUMMARY", and one of
// these with its words as JSON.
constexpr std::string_view kAt = "at", kDone = "done";
constexpr std::string_view kInputError = "input", kDefect = "defect", kNoMemory = "memory",
                           kRunError = "run";

bool send_line(int socket, std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t size = send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

// The next one, without its end; nothing: the other side has gone. `is_there` is asked now and
// then, and says that it has not: what it has forked may have its end of the socket, too.
template <class IsThere>
std::optional<std::string> next_line(int socket, std::string& come, IsThere&& is_there) {
  std::array<char, 65536> bytes;
  bool has_gone = false;
  for (std::size_t searched = 0;;) {
    if (const auto end = come.find('\n', searched); end != std::string::npos) {
      std::string line = come.substr(0, end);
      come.erase(0, end + 1);
      return line;
    }
    searched = come.size();
    pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, has_gone ? 0 : kLookAtStopMs) <= 0) {
      if (has_gone) return std::nullopt;
      has_gone = !is_there();  // and what it said before is read
      continue;
    }
    const ssize_t size = recv(socket, bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    come.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

std::string failure(std::string_view kind, const char* what) {
  return fmt::format("{} {}", kind,
                     Json(what).dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string answer(const RunProcess::Work& work, int socket, std::size_t number,
                   const std::atomic<bool>& stop) {
  const auto tell = [socket](std::uint64_t jobs_over, std::uint64_t jobs, Time now) {
    send_line(socket,
              fmt::format("{} {} {} {}", kAt, jobs_over, jobs, now.time_since_epoch().count()));
  };
  try {
    return fmt::format("{} {}", kDone, to_json(work(number, tell, stop)));
  } catch (const InputError& error) {
    return failure(kInputError, error.what());
  } catch (const std::bad_alloc& error) {
    return failure(kNoMemory, error.what());
  } catch (const std::logic_error& error) {
    return failure(kDefect, error.what());
  } catch (const std::exception& error) {
    return failure(kRunError, error.what());
  } catch (...) {
    return failure(kRunError, "the run was ended by an exception of no known type");
  }
}

[[noreturn]] void throw_again(std::string_view kind, const std::string& what) {
  if (kind == kInputError) throw InputError(what, "");
  if (kind == kNoMemory) throw std::bad_alloc();
  if (kind == kDefect) throw std::logic_error(what);
  throw RunError(what);
}

// In the copy.
[[noreturn]] void serve(int socket, pid_t parent, const RunProcess::Work& work,
                        const std::atomic<bool>& stop) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  std::signal(SIGINT, SIG_IGN);  // who has made it says when to stop
  std::signal(SIGTERM, SIG_IGN);
  std::string come;
  while (const auto line = next_line(socket, come, [] { return true; })) {
    const auto number = parse_number<std::size_t>(*line).value_or(0);
    if (!send_line(socket, answer(work, socket, number, stop))) break;
  }
  _exit(0);
}

}  // namespace

std::shared_ptr<std::atomic<bool>> shared_flag() {
  using Flag = std::atomic<bool>;
  void* const both =
      mmap(nullptr, sizeof(Flag), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (both == MAP_FAILED) throw RunError(fmt::format("no memory: {}", std::strerror(errno)));
  return {new (both) Flag(false), [](Flag* flag) { munmap(flag, sizeof *flag); }};
}

RunProcess::RunProcess(pid_t (&fork)(), const Work& work) {
  std::array<int, 2> ends{};
  const pid_t parent = getpid();
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0) {
    socket_ = ends[0];
    child_ = fork();
    if (child_ == 0) serve(ends[1], parent, work, *stop_);
    close(ends[1]);
  }
  if (child_ > 0) return;
  const std::string why = std::strerror(errno);
  if (socket_ >= 0) close(socket_);
  throw RunError("no process can be made for the runs: " + why);
}

RunProcess::~RunProcess() {
  shutdown(socket_, SHUT_RDWR);  // others may have it open
  close(socket_);
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
}

Summary RunProcess::run(std::size_t number, const Tell& tell, const std::atomic<bool>* stop) {
  const auto look = [&] {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) *stop_ = true;
  };
  const auto is_there = [&] {
    look();
    return !has_ended();
  };
  if (child_ <= 0 || !send_line(socket_, std::to_string(number))) fail();
  while (const auto line = next_line(socket_, come_, is_there)) {
    look();
    std::string_view rest = *line;
    const std::string_view word = next_part(rest, ' ');
    if (word == kDone) return parse_summaries(rest, "what a run came to").at(0).summary;
    if (word != kAt) throw_again(word, Json::parse(rest).get<std::string>());
    const auto next = [&] { return parse_number<std::int64_t>(next_part(rest, ' ')).value_or(0); };
    const auto jobs_over = static_cast<std::uint64_t>(next());
    const auto jobs = static_cast<std::uint64_t>(next());
    tell(jobs_over, jobs, Time{Duration{next()}});
  }
  fail();
}

bool RunProcess::has_ended() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child_;
}

void RunProcess::fail() {
  int status = 0;
  const bool has_ended = child_ > 0 && waitpid(child_, &status, 0) == child_;
  child_ = -1;
  if (has_ended && WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    throw RunError(
        fmt::format("the process of a run was ended by signal {} ({})", signal, strsignal(signal)));
  }
  throw RunError(fmt::format("the process of a run has ended with exit code {}",
                             has_ended ? WEXITSTATUS(status) : -1));
}

}  // namespace ductile
