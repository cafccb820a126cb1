#include "job/host_watts.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/shell_word.hpp"
#include "job/process.hpp"
#include "job/socket.hpp"

namespace ductile {
namespace {

/// Of a line. More than a file of watts may have.
constexpr std::size_t kLongestWattLine = 512;

/// For a shell on the host. It ends when nobody hears it any more.
std::string reading_script(const std::string& path, std::chrono::milliseconds every) {
  return fmt::format(
      "while printf '%s\\n' \"$(if [ -p {0} ]; then echo it is no file; else head -c 100 -- {0}; "
      "fi 2>&1 | tr '\\n\\r\\0' '   ')\"; do sleep {1:.3f}; "
      "done\n",
      shell_word(path), std::chrono::duration<double>(every).count());
}

}  // namespace

HostWatts::HostWatts(std::string agent, std::chrono::milliseconds every)
    : agent_(std::move(agent)), every_(every) {}

HostWatts::~HostWatts() {
  for (const auto& entry : readers_) end(entry.second);
}

std::optional<std::string> HostWatts::text(const std::string& host, const std::string& path) {
  const auto now = Clock::now();
  const auto found = readers_.find(host);
  if (found != readers_.end()) {
    Reader& reader = found->second;
    hear(reader);
    const bool is_late = now > reader.heard + 3 * every_ + std::chrono::seconds(10);
    if (reader.path == path && !reader.lines.is_closed() && !is_late) return reader.last;
    end(reader);
    readers_.erase(found);
  }
  begin(host, path);
  return std::nullopt;
}

void HostWatts::begin(const std::string& host, const std::string& path) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return;
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  fcntl(theirs.get(), F_SETFL, 0);
  const std::string script = reading_script(path, every_);
  const Descriptor input(memfd_create("watts", MFD_CLOEXEC));
  if (write(input.get(), script.data(), script.size()) < 0) return;
  lseek(input.get(), 0, SEEK_SET);
  try {
    const pid_t pid =
        start_session({agent_, host, "sh"}, environment_with({}), [&]() -> const char* {
          const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
          dup2(input.get(), STDIN_FILENO);
          dup2(theirs.get(), STDOUT_FILENO);
          dup2(nothing, STDERR_FILENO);
          return nullptr;
        });
    readers_.emplace(host, Reader{.path = path,
                                  .pid = pid,
                                  .lines = LineSocket(std::move(ours), kLongestWattLine, 1),
                                  .heard = Clock::now()});
  } catch (const RunError& error) {
    spdlog::warn("what {} draws cannot be read there: {}", host, error.what());
  }
}

// Reaped by whoever reaps the orphans.
void HostWatts::end(const Reader& reader) {
  if (reader.pid > 0) kill(-reader.pid, SIGKILL);
}

void HostWatts::hear(Reader& reader) {
  if (!reader.lines.is_closed()) reader.lines.work();
  while (auto line = reader.lines.next()) {
    reader.last = std::move(line);
    reader.heard = Clock::now();
  }
}

void HostWatts::keep(const std::vector<std::string>& hosts) {
  std::erase_if(readers_, [&](const auto& entry) {
    if (std::ranges::find(hosts, entry.first) != hosts.end()) return false;
    end(entry.second);
    return true;
  });
}

void HostWatts::add_to(Poller& poller) {
  for (auto& entry : readers_) {
    Reader& reader = entry.second;
    if (reader.lines.is_closed()) continue;
    poller.add(reader.lines.descriptor(), POLLIN, [&reader] { hear(reader); });
  }
}

bool HostWatts::on_ended(pid_t pid) {
  const auto found =
      std::ranges::find_if(readers_, [&](const auto& entry) { return entry.second.pid == pid; });
  if (found == readers_.end()) return false;
  found->second.pid = -1;
  found->second.lines.close();
  return true;
}

}  // namespace ductile
