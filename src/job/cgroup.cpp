#include "job/cgroup.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "ductile.";

/// Where the kernel shows the group of this process; nothing if it does not.
std::optional<fs::path> own_group() {
  std::ifstream mounts("/proc/self/mounts");
  std::string line, folder;
  while (std::getline(mounts, line)) {
    std::string_view rest = line;
    next_part(rest, ' ');
    const std::string_view place = next_part(rest, ' ');
    if (next_part(rest, ' ') == "cgroup2") folder = place;
  }
  std::ifstream groups("/proc/self/cgroup");
  while (!folder.empty() && std::getline(groups, line)) {
    if (line.rfind("0::/", 0) == 0 && line.find("/..") == std::string::npos) {
      return fs::path(folder + line.substr(3)).lexically_normal();
    }
  }
  return std::nullopt;
}

/// What a manager that was killed has left. Those with processes cannot be removed.
void remove_old(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (name.rfind(kPrefix, 0) != 0) continue;
    std::string_view rest = std::string_view(name).substr(kPrefix.size());
    const auto pid = parse_number<pid_t>(next_part(rest, '.'));
    if (pid && kill(*pid, 0) != 0) rmdir(entry.path().c_str());
  }
}

}  // namespace

std::optional<Cgroup> Cgroup::make(const std::string& name) {
  const auto parent = own_group();
  if (!parent) return std::nullopt;
  remove_old(*parent);
  const fs::path folder = *parent / (std::string(kPrefix) + std::to_string(getpid()) + "." + name);
  if (mkdir(folder.c_str(), 0755) != 0) return std::nullopt;
  return Cgroup(folder);
}

Cgroup::Cgroup(Cgroup&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(folder_, other.folder_);
  return *this;
}

Cgroup::~Cgroup() {
  if (!folder_.empty()) rmdir(folder_.c_str());
}

std::size_t Cgroup::kill_all() const {
  std::set<pid_t> killed;
  for (;;) {
    std::ifstream procs(this->procs());
    bool is_empty = true;
    pid_t pid = 0;
    while (procs >> pid) {
      if (pid <= 0 || kill(pid, SIGKILL) != 0) continue;  // of another namespace, or just gone
      is_empty = false;
      killed.insert(pid);
    }
    if (is_empty) return killed.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace ductile
