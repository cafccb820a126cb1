#include "job/host_sweep.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job/process.hpp"
#include "job/socket.hpp"

namespace ductile {
namespace {

/// So many hosts at a time.
constexpr std::size_t kMostRunning = 32;

/// For a shell on the host, which reads it from stdin: on a command line others would see the
/// token.
std::string script_for(const Variables& marks) {
  std::string find = "grep -ls '' /proc/[0-9]*/environ";
  for (const auto& [name, value] : marks) {
    find += " | xargs -r grep -lszxF '" + name + "=" + value + "'";
  }
  return "for turn in 1 2 3 4 5; do\n"
         "  left=$(" +
         find +
         ")\n"
         "  [ -n \"$left\" ] || exit 0\n"
         "  for file in $left; do\n"
         "    pid=${file#/proc/}\n"
         "    kill -9 ${pid%/environ} 2>/dev/null\n"
         "  done\n"
         "done\n";
}

}  // namespace

HostSweep::HostSweep(std::string agent, const std::vector<Host>& hosts, const Variables& marks)
    : agent_(std::move(agent)), script_(script_for(marks)) {
  for (const Host& host : hosts) waiting_.push_back(host.name);
  start();
}

void HostSweep::start() {
  while (!waiting_.empty() && running_.size() < kMostRunning) {
    const std::string host = waiting_.front();
    waiting_.pop_front();
    const Descriptor script(memfd_create("sweep", MFD_CLOEXEC));
    if (write(script.get(), script_.data(), script_.size()) < 0) continue;
    lseek(script.get(), 0, SEEK_SET);
    try {
      const pid_t pid =
          start_session({agent_, host, "sh"}, environment_with({}), [&]() -> const char* {
            const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
            dup2(script.get(), STDIN_FILENO);
            dup2(nothing, STDOUT_FILENO);
            dup2(nothing, STDERR_FILENO);
            return nullptr;
          });
      running_.insert({pid, host});
    } catch (const RunError& error) {
      spdlog::warn("what is left on {} could not be looked for: {}", host, error.what());
    }
  }
}

bool HostSweep::on_ended(pid_t pid, int status) {
  const auto found = running_.find({pid, {}});
  if (found == running_.end()) return false;
  if (exit_code(status) != 0) {
    spdlog::warn("what is left on {} could not be looked for: exit code {}", found->host,
                 exit_code(status));
  }
  running_.erase(found);
  start();
  return true;
}

std::vector<std::string> HostSweep::give_up() {
  std::vector<std::string> hosts(waiting_.begin(), waiting_.end());
  for (const Running& one : running_) {
    hosts.push_back(one.host);
    kill(one.pid, SIGKILL);  // reaped by whoever reaps the orphans
  }
  waiting_.clear();
  running_.clear();
  return hosts;
}

}  // namespace ductile
