#include "job/leftovers.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"
#include "job/proc.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

/// Leaves out those that the process uses. It has a file open until it has mapped it, so that who
/// looks in this order finds it.
void leave_out_used(std::vector<std::string>& files, pid_t pid) {
  const std::string folder = proc_folder(pid);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder + "fd", ignored)) {
    const std::string open = fs::read_symlink(entry.path(), ignored);
    std::erase(files, open);
  }
  const std::string maps = content_of(folder + "maps");
  std::erase_if(
      files, [&](const std::string& file) { return maps.find(file + "\n") != std::string::npos; });
}

}  // namespace

std::size_t remove_shared_memory(std::chrono::system_clock::time_point since) {
  constexpr std::string_view kNames[] = {"mpich_shar_tmp", "vader_segment.", "ucx_shm_posix_",
                                         "osc_rdma.", "osc_sm."};
  const std::time_t first = std::chrono::system_clock::to_time_t(since);
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/dev/shm", ignored)) {
    const std::string name = entry.path().filename();
    struct stat found {};
    if (std::ranges::any_of(kNames, [&](auto begin) { return name.starts_with(begin); }) &&
        lstat(entry.path().c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
        found.st_uid == geteuid() && found.st_ctime >= first) {
      files.push_back(entry.path());
    }
  }
  // A process may give a file to another one, and end, between the looks at the two.
  for (int round = 0; round < 2 && !files.empty(); ++round) {
    for (const pid_t pid : all_pids()) leave_out_used(files, pid);
  }
  for (const std::string& file : files) unlink(file.c_str());
  return files.size();
}

std::string session_folder(pid_t mpiexec) {
  const char* const temporary = std::getenv("TMPDIR");
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  // Open MPI takes the name up to the first dot.
  std::string_view rest = host.data();
  const std::string name(next_part(rest, '.'));
  return fs::path(temporary != nullptr ? temporary : "/tmp") /
         ("ompi." + name + "." + std::to_string(geteuid())) / ("pid." + std::to_string(mpiexec));
}

bool remove_session_folder(const std::string& folder) {
  const fs::path path(folder);
  const std::string name = path.filename();
  constexpr std::string_view kBegin = "pid.";
  if (!name.starts_with(kBegin) || !path.parent_path().filename().native().starts_with("ompi.")) {
    return true;
  }
  const auto pid = parse_number<pid_t>(std::string_view(name).substr(kBegin.size()));
  std::error_code ignored;
  if (!pid || !fs::exists(path, ignored)) return true;
  if (!has_ended(*pid)) return false;
  fs::remove_all(path, ignored);
  return true;
}

}  // namespace ductile
