#include "job/job_folder.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/process.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

/// One that is younger may have no lock yet.
constexpr std::chrono::seconds kYoung{60};
/// The name of a socket in it takes less than the rest of a socket's path.
constexpr std::size_t kLongestParent = 50;

std::string prefix() { return fmt::format("ductile-run.{}.", geteuid()); }

std::string parent() {
  const char* const temporary = std::getenv("TMPDIR");
  const std::string_view path = temporary == nullptr ? "" : temporary;
  const bool fits = path.starts_with('/') && path.size() <= kLongestParent;
  return fits ? std::string(path) : "/tmp";
}

/// Held as long as its manager lives, in whatever container.
Descriptor lock(const std::string& folder) {
  Descriptor held(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (held && flock(held.get(), LOCK_EX | LOCK_NB) != 0) held.reset();
  return held;
}

void remove_old(const std::string& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string path = entry.path();
    struct stat found {};
    if (!entry.path().filename().native().starts_with(prefix()) ||
        lstat(path.c_str(), &found) != 0 || found.st_uid != geteuid()) {
      continue;
    }
    const auto changed = std::chrono::system_clock::from_time_t(found.st_mtime);
    if (changed > std::chrono::system_clock::now() - kYoung || !lock(path)) continue;
    remove_shared_memory(changed - kYoung);
    fs::remove_all(path, ignored);
  }
}

}  // namespace

JobFolder::JobFolder() {
  const std::string where = parent();
  remove_old(where);
  path_ = where + "/" + prefix() + "XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "a folder in " + where);
  }
  lock_ = lock(path_);
}

JobFolder::~JobFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace ductile
