#include "job/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/cgroup.hpp"
#include "job/proc.hpp"

namespace ductile {
namespace {

/// Who waits for a device dies when that answers, which may be never.
constexpr std::chrono::seconds kLongestDeath{5};
/// From one look at those who die to the next.
constexpr std::chrono::milliseconds kLook{1};

/// What a new process tells: the text is one of the program's, and at the same place in both.
struct FailedStep {
  const char* step = nullptr;
  int error = 0;
};

struct Pipe {
  Descriptor read{};
  Descriptor write{};
};

Pipe new_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw NoProcess(std::string("no pipe: ") + std::strerror(errno));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Closes all descriptors above stderr but these two, and lets the program have the first.
void keep_only(int kept, int own) {
  const auto [low, high] = std::minmax({kept, own});
  constexpr int kFirst = STDERR_FILENO + 1;
  const auto close_from = [](int first, unsigned last) {
    if (static_cast<unsigned>(first) <= last) close_range(static_cast<unsigned>(first), last, 0);
  };
  close_from(kFirst, static_cast<unsigned>(low - 1));
  close_from(low + 1, static_cast<unsigned>(high - 1));
  close_from(high + 1, ~0U);
  fcntl(kept, F_SETFD, 0);
}

/// As fork(), but the new process is in the control group of this folder from its beginning: to
/// move it there later takes 15 ms. Negative where that is not possible (before Linux 5.7).
pid_t fork_into(const Descriptor& group) {
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(group.get());
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
}

std::string beginning_of(const std::string& path, std::size_t bytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content(bytes, '\0');
  const ssize_t got = read(file.get(), content.data(), content.size());
  content.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return content;
}

/// What a script names in its first line, if this is one.
std::optional<std::string> interpreter_of(const std::string& path) {
  const std::string content = beginning_of(path, 256);
  std::string_view line = std::string_view(content).substr(0, content.find('\n'));
  if (!line.starts_with("#!")) return std::nullopt;
  const std::size_t begin = std::min(line.find_first_not_of(" \t", 2), line.size());
  line.remove_prefix(begin);
  return printable(line.substr(0, line.find_first_of(" \t")));
}

bool has_all(pid_t pid, const Variables& variables) {
  if (variables.empty()) return true;
  const std::string environment = '\0' + content_of(proc_folder(pid) + "environ");
  return std::ranges::all_of(variables, [&](const auto& variable) {
    std::string entry = '\0' + variable.first + '=' + variable.second + '\0';
    return environment.find(entry) != std::string::npos;
  });
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view value = *entry;
    const std::string name(next_part(value, '='));
    const bool is_replaced = std::ranges::any_of(
        variables, [&](const auto& variable) { return variable.first == name; });
    if (is_replaced) continue;
    if (const auto kept = inherited(name, value)) environment.push_back(name + "=" + *kept);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

NewProcess begin_session(const std::vector<std::string>& words,
                         const std::vector<std::string>& environment,
                         const std::function<const char*()>& prepare, const std::string& group,
                         int keep) {
  // All that needs memory before the fork.
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  };
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> variables = pointers(environment);
  const std::string entrance = group.empty() ? "" : processes_of_cgroup(group);
  const Descriptor folder(group.empty() ? -1
                                        : open(group.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Pipe failure = new_pipe();

  pid_t pid = folder ? fork_into(folder) : -1;
  const bool is_inside = pid >= 0;
  if (!is_inside) pid = fork();
  if (pid < 0) throw NoProcess(std::string("no process: ") + std::strerror(errno));
  if (pid == 0) {
    setsid();
    if (keep >= 0) keep_only(keep, failure.write.get());
    for (const int signal :
         {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
      std::signal(signal, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // Where it cannot be there, it is found by its environment.
    if (!is_inside && !entrance.empty()) enter_cgroup(entrance.c_str());
    FailedStep what{.step = prepare()};
    if (what.step == nullptr) execve(arguments[0], arguments.data(), variables.data());
    what.error = errno;
    [[maybe_unused]] const ssize_t written = write(failure.write.get(), &what, sizeof what);
    _exit(127);
  }
  return {pid, words[0], std::move(failure.read)};
}

bool NewProcess::has_begun() {
  FailedStep what;
  ssize_t got = 0;
  do {
    got = read(failure_.get(), &what, sizeof what);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return false;
  if (got != static_cast<ssize_t>(sizeof what)) return true;
  waitpid(pid_, nullptr, 0);
  std::string why = (what.step != nullptr ? what.step : "'" + program_ + "' cannot be started") +
                    std::string(": ") + std::strerror(what.error);
  if (what.step == nullptr && what.error == ENOENT) {
    if (const auto missing = interpreter_of(program_)) {
      why = "'" + program_ + "' cannot be started: there is no interpreter '" + *missing + "'";
    }
  }
  const bool may_pass =
      what.error == EMFILE || what.error == ENFILE || what.error == ENOMEM || what.error == EAGAIN;
  if (may_pass) throw NoProcess(why);
  throw RunError(why);
}

pid_t start_session(const std::vector<std::string>& words,
                    const std::vector<std::string>& environment,
                    const std::function<const char*()>& prepare, const std::string& group) {
  NewProcess started = begin_session(words, environment, prepare, group);
  started.has_begun();
  return started.pid();
}

Process start_process(const std::vector<std::string>& words, const Variables& variables,
                      const Descriptor& input, const NodeSet& cpus, const std::string& group,
                      const ResourceLimits& limits, int given,
                      const std::function<const char*()>& first) {
  Pipe out = new_pipe();
  Pipe err = new_pipe();
  const pid_t parent = getpid();
  const auto prepare = [&]() -> const char* {
    if (const char* const failed = first ? first() : nullptr) return failed;
    // Entering a name space of users clears it, so that it is set after `first`.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);  // it has gone meanwhile
    keep_to(cpus);
    dup2(input ? input.get() : open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(out.write.get(), STDOUT_FILENO);
    dup2(err.write.get(), STDERR_FILENO);
    set_limits(limits);
    if (given >= 0) fcntl(given, F_SETFD, 0);
    return nullptr;
  };
  const pid_t pid = start_session(words, environment_with(variables), prepare, group);
  set_blocking(out.read, false);
  set_blocking(err.read, false);
  return {.pid = pid, .out = std::move(out.read), .err = std::move(err.read)};
}

void keep_to(const NodeSet& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const Interval& part : cpus.parts) {
    for (std::size_t cpu = part.first; cpu <= part.last && cpu < CPU_SETSIZE; ++cpu) {
      CPU_SET(cpu, &set);
    }
  }
  sched_setaffinity(0, sizeof set, &set);
}

std::vector<Seen> all_processes(const std::string& variable) {
  std::vector<Seen> found;
  for (const pid_t pid : all_pids()) {
    const Stat stat = stat_of(pid);
    if (stat.has_ended()) continue;
    Seen seen{.pid = pid, .parent = stat.parent};
    const std::string environment = '\0' + content_of(proc_folder(pid) + "environ");
    const std::string entry_begin = '\0' + variable + '=';
    if (const std::size_t at = environment.find(entry_begin); at != std::string::npos) {
      seen.value = environment.c_str() + at + entry_begin.size();
    }
    found.push_back(std::move(seen));
  }
  return found;
}

std::vector<pid_t> descendants(const Variables& variables) {
  std::map<pid_t, std::vector<pid_t>> children;
  std::set<pid_t> zombies;
  for (const pid_t pid : all_pids()) {
    const Stat stat = stat_of(pid);
    children[stat.parent].push_back(pid);
    if (stat.has_ended()) zombies.insert(pid);
  }
  std::vector<pid_t> found;
  std::vector<pid_t> open = {getpid()};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (const pid_t child : children[parent]) {
      open.push_back(child);
      if (zombies.count(child) == 0 && has_all(child, variables)) found.push_back(child);
    }
  }
  return found;
}

std::size_t kill_descendants(const Variables& variables) {
  const auto end = std::chrono::steady_clock::now() + kLongestDeath;
  std::set<pid_t> killed;
  for (;;) {
    const std::vector<pid_t> found = descendants(variables);
    if (found.empty() || std::chrono::steady_clock::now() > end) return killed.size();
    for (const pid_t pid : found) {
      killed.insert(pid);
      kill(pid, SIGKILL);
    }
    std::this_thread::sleep_for(kLook);
  }
}

Killed end_descendants() {
  const auto end = std::chrono::steady_clock::now() + kLongestDeath;
  std::set<pid_t> killed;
  for (;;) {
    pid_t pid = 0;
    do {
      pid = waitpid(-1, nullptr, WNOHANG | __WALL);
    } while (pid > 0 || (pid < 0 && errno == EINTR));
    const bool has_children = pid == 0;
    if (!has_children || std::chrono::steady_clock::now() > end) {
      return {.count = killed.size(), .are_gone = !has_children};
    }
    for (const pid_t left : descendants({})) {
      killed.insert(left);
      kill(left, SIGKILL);
    }
    std::this_thread::sleep_for(kLook);
  }
}

int exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace ductile
