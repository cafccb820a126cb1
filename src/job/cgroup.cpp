#include "job/cgroup.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"
#include "job/proc.hpp"
#include "job/socket.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

/// Of groups of generations; the manager's number and the generation's follow.
constexpr std::string_view kPrefix = "ductile.";

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

std::set<std::string> enable_controllers(const std::string& group,
                                         const std::set<std::string>& names,
                                         const std::string& own) {
  std::set<std::string> enabled;
  std::ifstream there(group + "/cgroup.controllers");
  const std::string file = group + "/cgroup.subtree_control";
  for (std::string name; there >> name;) {
    if (!names.contains(name)) continue;
    const std::string word = "+" + name;
    bool is_enabled = write_word(file.c_str(), word);
    // A group with processes in it, but for the root of all, has none below it.
    if (!is_enabled && errno == EBUSY && make_cgroup(own)) {
      is_enabled = enter_cgroup(processes_of_cgroup(own).c_str()) && write_word(file.c_str(), word);
    }
    if (is_enabled) enabled.insert(name);
  }
  return enabled;
}

bool limit_cgroup(const std::string& group, const GroupLimits& limits,
                  const std::set<std::string>& controllers) {
  const auto set = [&](const char* controller, const char* file, const std::string& value) {
    return !controllers.contains(controller) ||
           write_word((group + "/" + file).c_str(), value + "\n");
  };
  const auto most = [](std::uint64_t limit) {
    return limit == 0 ? std::string("max") : std::to_string(limit);
  };
  const bool has_cpus = set("cpuset", "cpuset.cpus", limits.cpus);
  const bool has_memory = set("memory", "memory.max", most(limits.memory));
  return set("pids", "pids.max", most(limits.processes)) && has_memory && has_cpus;
}

void remove_cgroup(const std::string& group) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(group, ignored)) {
    if (entry.is_directory(ignored)) remove_cgroup(entry.path());
  }
  rmdir(group.c_str());
}

namespace {

/// What a manager that was killed has left. Those with processes cannot be removed.
void remove_old_groups(const std::string& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::string_view rest = std::string_view(name).substr(kPrefix.size());
    const auto pid = parse_number<pid_t>(next_part(rest, '.'));
    if (pid && has_ended(*pid)) remove_cgroup(entry.path());
  }
}

/// In it and below.
std::size_t count_processes(const std::string& group) {
  std::size_t count = 0;
  std::ifstream processes(processes_of_cgroup(group));
  for (std::string pid; std::getline(processes, pid);) ++count;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(group, ignored)) {
    if (entry.is_directory(ignored)) count += count_processes(entry.path());
  }
  return count;
}

}  // namespace

std::optional<Cgroup> Cgroup::make(const std::string& name) {
  const auto parent = own_cgroup();
  if (!parent) return std::nullopt;
  remove_old_groups(*parent);
  const std::string folder = fmt::format("{}/{}{}.{}", *parent, kPrefix, getpid(), name);
  if (!make_cgroup(folder)) return std::nullopt;
  return Cgroup(folder);
}

Cgroup::~Cgroup() {
  if (!folder_.empty()) remove_cgroup(folder_);
}

std::size_t Cgroup::kill_all() const {
  if (is_empty_cgroup(folder_)) return 0;
  const std::size_t count = count_processes(folder_);
  kill_cgroup(folder_);
  // Who waits for a device dies when that answers, which may be never.
  constexpr auto kLongest = std::chrono::seconds(5);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!is_empty_cgroup(folder_) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return count;
}

}  // namespace ductile
