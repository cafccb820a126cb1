#include "live/http_child.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/http_listener.hpp"
#include "live/http_token.hpp"

namespace ductile {
namespace {

/// Its descriptor of the socket at which it listens.
constexpr int kInherited = 3;
/// It ends so if its program cannot be executed, as with a shell.
constexpr int kCannotExecute = 127;

}  // namespace

HttpTokenFiles http_token_files(const std::string& given, const std::string& state,
                                bool can_write) {
  const std::string file = given.empty() ? state + "/http-token" : given;
  return {file, can_write ? file + ".write" : ""};
}

HttpChild::HttpChild(const ServeSettings& settings)
    : program_(settings.program), call_{"ductile",     "http",
                                        "--inherited", std::to_string(kInherited),
                                        "--parent",    std::to_string(getpid()),
                                        "--socket",    settings.socket,
                                        "--state",     settings.state} {
  const HttpTokenFiles files =
      http_token_files(settings.http_token, settings.state, settings.http_write);
  token_in(files.read);
  call_.insert(call_.end(), {"--token", files.read});
  if (!files.write.empty()) {
    token_in(files.write);
    call_.emplace_back("--write");
  }
  listener_ = listen_for_http(settings.http, "--http");
  start();
  spdlog::info("answering HTTP at {}; its token is in {}", http_address(listener_), files.read);
}

HttpChild::~HttpChild() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);  // it has nothing to put in order
  waitpid(child_, nullptr, 0);
}

void HttpChild::start() {
  std::vector<char*> call;
  for (std::string& word : call_) call.push_back(word.data());
  call.push_back(nullptr);
  const pid_t parent = getpid();
  started_ = Steady::now();
  child_ = fork();
  if (child_ < 0) {
    spdlog::error("what answers HTTP cannot be started: {}", std::strerror(errno));
    return;
  }
  if (child_ > 0) return;
  // From here on only what may be called between fork and exec.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);  // who ends the controller by the keyboard ends it in order
  if (dup2(listener_.get(), kInherited) < 0) _exit(1);
  if (listener_.get() == kInherited) fcntl(kInherited, F_SETFD, 0);
  close_range(kInherited + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (nice(5) == -1) errno = 0;  // it may be as nice already
  execv(program_.c_str(), call.data());
  _exit(kCannotExecute);
}

void HttpChild::look() {
  const auto now = Steady::now();
  int status = 0;
  if (child_ > 0) {
    if (waitpid(child_, &status, WNOHANG) != child_) return;
    child_ = -1;
    start_at_ = now + restarts_.after(now - started_);
    const bool was_killed = WIFSIGNALED(status);
    const int code = was_killed ? WTERMSIG(status) : WEXITSTATUS(status);
    spdlog::error("what answers HTTP has ended ({} {}), and is started again",
                  was_killed ? "signal" : "exit code", code);
    if (!was_killed && code == kCannotExecute) spdlog::error("{} cannot be executed", program_);
  }
  if (now < start_at_) return;
  start();
  if (child_ < 0) start_at_ = now + restarts_.longest();
}

std::optional<std::chrono::steady_clock::time_point> HttpChild::next() const {
  return child_ > 0 ? std::nullopt : std::optional(start_at_);
}

}  // namespace ductile
