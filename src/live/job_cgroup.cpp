#include "live/job_cgroup.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/socket.hpp"

namespace ductile {
namespace {

bool write_word(const char* path, std::string_view word) {
  const Descriptor file(open(path, O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), word.data(), word.size()) == static_cast<ssize_t>(word.size());
}

/// Where the hierarchy of version 2 is mounted, and which of its groups is seen there as its root.
struct Mount {
  std::string folder{};
  std::string root{};
};

std::optional<Mount> mount_of_cgroups() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream words(line);
    std::string id, parent, device;
    Mount mount;
    if (words >> id >> parent >> device >> mount.root >> mount.folder) return mount;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> own_cgroup() {
  const auto mount = mount_of_cgroups();
  if (!mount) return std::nullopt;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    std::string path = line.substr(3);
    if (mount->root != "/" && path.starts_with(mount->root)) path.erase(0, mount->root.size());
    const std::string group = mount->folder + (path == "/" ? "" : path);
    // Processes go from this group to new ones below it, so both have to be writable.
    const std::string test = group + "/ductile-test-" + std::to_string(getpid());
    if (access(processes_of_cgroup(group).c_str(), W_OK) != 0 || !make_cgroup(test)) break;
    const bool can_kill = access((test + "/cgroup.kill").c_str(), W_OK) == 0;
    remove_cgroup(test);
    if (can_kill) return group;
  }
  return std::nullopt;
}

bool make_cgroup(const std::string& group) {
  return mkdir(group.c_str(), 0755) == 0 || errno == EEXIST;
}

bool enter_cgroup(const char* processes_file) { return write_word(processes_file, "0"); }

std::string processes_of_cgroup(const std::string& group) { return group + "/cgroup.procs"; }

bool is_empty_cgroup(const std::string& group) {
  std::ifstream events(group + "/cgroup.events");
  for (std::string line; std::getline(events, line);) {
    if (line == "populated 1") return false;
  }
  return true;
}

void kill_cgroup(const std::string& group) { write_word((group + "/cgroup.kill").c_str(), "1"); }

void remove_cgroup(const std::string& group) {
  // A manager that was killed has left those of its generations.
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(group, ignored)) {
    if (entry.is_directory(ignored)) rmdir(entry.path().c_str());
  }
  rmdir(group.c_str());
}

}  // namespace ductile
