#include "job/job_folder.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/boot_clock.hpp"
#include "job/leftovers.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

/// One that is younger may have no lock yet.
constexpr std::chrono::seconds kYoung{60};
/// One that does not say whose it is stays for so long.
constexpr std::chrono::hours kNobodys{24};
/// The name of a socket in it takes less than the rest of a socket's path.
constexpr std::size_t kLongestParent = 50;

std::string prefix() { return fmt::format("ductile-run.{}.", geteuid()); }

/// Which of the hosts that share a folder has made one in it, in two lines.
constexpr const char* kHostFile = "host";
/// A line for each folder of a launcher's session.
constexpr const char* kSessionsFile = "sessions";

/// Where it may be, the best place first.
std::vector<std::string> parents(JobFolder::Place place) {
  std::vector<std::string> all;
  if (place == JobFolder::Place::memory) all.emplace_back("/dev/shm");
  const char* const temporary = std::getenv("TMPDIR");
  const std::string_view path = temporary == nullptr ? "" : temporary;
  if (path.starts_with('/') && path.size() <= kLongestParent) all.emplace_back(path);
  all.insert(all.end(), {"/tmp", "/dev/shm"});
  return all;
}

struct ThisHost {
  std::string name;
  std::string boot = boot_id();

  ThisHost() {
    std::array<char, 256> text{};
    gethostname(text.data(), text.size() - 1);
    name = text.data();
  }
  /// Nothing if the folder does not say it. The name stays when the machine starts again, the start
  /// is the same in all its containers.
  std::optional<bool> has_made(const std::string& folder) const {
    std::ifstream file(folder + "/" + kHostFile);
    std::string its_name;
    std::string its_boot;
    if (!std::getline(file, its_name) || !std::getline(file, its_boot)) return std::nullopt;
    return its_name == name || (its_boot == boot && !boot.empty());
  }
  /// False if the folder does not take it, with errno.
  bool sign(const std::string& folder) const {
    std::ofstream file(folder + "/" + kHostFile);
    file << name << '\n' << boot << '\n';
    return bool(file.flush());
  }
};

/// False if one of them stays.
bool remove_sessions(const std::string& folder) {
  std::ifstream file(folder + "/" + kSessionsFile);
  bool have_all_gone = true;
  for (std::string session; std::getline(file, session);) {
    if (!remove_session_folder(session)) have_all_gone = false;
  }
  return have_all_gone;
}

/// Held as long as its manager lives, in whatever container.
Descriptor lock(const std::string& folder) {
  Descriptor held(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (held && flock(held.get(), LOCK_EX | LOCK_NB) != 0) held.reset();
  return held;
}

void remove_old_folders(const std::string& parent) {
  const ThisHost host;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string path = entry.path();
    struct stat found {};
    if (!entry.path().filename().native().starts_with(prefix()) ||
        lstat(path.c_str(), &found) != 0 || found.st_uid != geteuid()) {
      continue;
    }
    const auto changed = std::chrono::system_clock::from_time_t(found.st_mtime);
    const auto age = std::chrono::system_clock::now() - changed;
    if (age < kYoung) continue;
    const std::optional<bool> is_of_this_host = host.has_made(path);
    // On some file systems another host's lock is not seen.
    if (!is_of_this_host.value_or(age > kNobodys) || !lock(path)) continue;
    if (is_of_this_host) {
      remove_shared_memory(changed - kYoung);
      // It is all that tells of those that are left.
      if (!remove_sessions(path)) continue;
    }
    fs::remove_all(path, ignored);
  }
}

}  // namespace

JobFolder::JobFolder(Place place) {
  std::string why;
  int error = 0;
  const std::vector<std::string> all = parents(place);
  for (const std::string& where : all) remove_old_folders(where);
  for (const std::string& where : all) {
    path_ = where + "/" + prefix() + "XXXXXX";
    if (mkdtemp(path_.data()) != nullptr) {
      lock_ = lock(path_);
      if (ThisHost().sign(path_)) return;
      error = errno;
      std::error_code ignored;
      fs::remove_all(path_, ignored);
    } else {
      error = errno;
    }
    why += (why.empty() ? "a folder in " : " or ") + where;
  }
  throw std::system_error(error, std::generic_category(), why);
}

void JobFolder::note_session(const std::string& folder) const {
  std::ofstream(path_ + "/" + kSessionsFile, std::ios::app) << folder << '\n';
}

JobFolder::~JobFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace ductile
