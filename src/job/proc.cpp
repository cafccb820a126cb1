#include "job/proc.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/text.hpp"
#include "job/socket.hpp"

namespace ductile {

std::vector<pid_t> all_pids() {
  std::vector<pid_t> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const auto pid = parse_number<pid_t>(entry.path().filename().native());
    if (pid) all.push_back(*pid);
  }
  return all;
}

std::string content_of(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t got = read(file.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return content;
    content.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::string proc_folder(pid_t pid) { return "/proc/" + std::to_string(pid) + "/"; }

Stat stat_of(pid_t pid) {
  const std::string text = content_of(proc_folder(pid) + "stat");
  // The name before it may contain anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return {};
  std::string_view rest = std::string_view(text).substr(name_end + 4);
  return {.parent = parse_number<pid_t>(next_part(rest, ' ')).value_or(-1),
          .state = text[name_end + 2]};
}

bool has_ended(pid_t pid) {
  return (kill(pid, 0) != 0 && errno == ESRCH) || stat_of(pid).state == 'Z';
}

}  // namespace ductile
