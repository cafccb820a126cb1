#include "job/cpuset.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "job/proc.hpp"

namespace ductile {
namespace {

/// Of groups of jobs; the manager's number follows.
constexpr std::string_view kCpusetPrefix = "ductile.";

bool write_file_of_cpuset(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  return static_cast<bool>(file << text << std::flush);
}

bool has_word(std::string list, std::string_view word) {
  std::ranges::replace(list, ',', ' ');
  std::istringstream words(list);
  for (std::string each; words >> each;) {
    if (each == word) return true;
  }
  return false;
}

/// The group of version 1 of this process as a folder.
std::optional<std::string> own_cpuset() {
  std::string path;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // 3:cpuset:/a/b
    std::string_view rest = line;
    next_part(rest, ':');
    if (has_word(std::string(next_part(rest, ':')), "cpuset")) path = rest;
  }
  if (path.empty()) return std::nullopt;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t at = line.find(" - cgroup ");
    if (at == std::string::npos) continue;
    std::istringstream words(line), types(line.substr(at + 3));
    std::string id, parent, device, root, folder, type, source, options;
    if (!(words >> id >> parent >> device >> root >> folder)) continue;
    if (!(types >> type >> source >> options) || !has_word(options, "cpuset")) continue;
    if (root != "/" && path.starts_with(root)) path.erase(0, root.size());
    return folder + (path == "/" ? "" : path);
  }
  return std::nullopt;
}

void remove_old_cpusets(const std::string& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kCpusetPrefix)) continue;
    const auto pid = parse_number<pid_t>(name.substr(kCpusetPrefix.size()));
    if (pid && has_ended(*pid)) rmdir(entry.path().c_str());
  }
}

}  // namespace

std::optional<Cpuset> Cpuset::make(const std::optional<Cgroup>& group) {
  if (group && access((group->folder() + "/cpuset.cpus").c_str(), W_OK) == 0) {
    return Cpuset(group->folder(), false);
  }
  const auto parent = own_cpuset();
  if (!parent || access(parent->c_str(), W_OK) != 0) return std::nullopt;
  remove_old_cpusets(*parent);
  const std::string folder = fmt::format("{}/{}{}", *parent, kCpusetPrefix, getpid());
  if (!make_cgroup(folder)) return std::nullopt;
  Cpuset made(folder, true);
  // Without memory nothing can be in it.
  std::string memory;
  std::ifstream(*parent + "/cpuset.mems") >> memory;
  if (!write_file_of_cpuset(folder + "/cpuset.mems", memory)) return std::nullopt;
  // The groups above see to that; with it each change would have the kernel plan its balance anew.
  write_file_of_cpuset(folder + "/cpuset.sched_load_balance", "0");
  return made;
}

Cpuset::~Cpuset() {
  if (is_own_ && !folder_.empty()) rmdir(folder_.c_str());
}

bool Cpuset::keep_to(const NodeSet& cpus) const {
  std::string list = to_string(cpus);
  std::ranges::replace(list, ' ', ',');
  return write_file_of_cpuset(folder_ + "/cpuset.cpus", list);
}

bool Cpuset::take(pid_t pid) const {
  return !is_own_ || write_file_of_cpuset(processes_of_cgroup(folder_), std::to_string(pid));
}

}  // namespace ductile
