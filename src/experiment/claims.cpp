#include "experiment/claims.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "report/output_file.hpp"
#include "simulation/checksum.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

// One that has changed is another run.
std::string name_of(const PlannedRun& run) {
  Checksum sum;
  sum.add(run.folder.data(), run.folder.size()).add("", 1);
  sum.add(run.identity.data(), run.identity.size());
  return sum.text();
}

fs::path over_of(const fs::path& claim) { return claim.string() + ".over"; }

[[noreturn]] void fail(const fs::path& path) {
  throw RunError(path.string() + ": cannot be made: " + std::strerror(errno));
}

// False if it is there.
bool make(const fs::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) fail(path);
  const bool is_written = ::write(file, text.data(), text.size()) >= 0;  // for people
  if (::close(file) != 0 || !is_written) fail(path);
  return true;
}

}  // namespace

Claims::Claims(fs::path folder, std::string who, std::chrono::milliseconds patience)
    : folder_(std::move(folder)), who_(std::move(who)), patience_(patience) {
  make_folder(folder_);
  toucher_ = std::jthread([this] { touch_own(); });
}

Claims::~Claims() {
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  ending_.notify_all();
}

void Claims::touch_own() {
  constexpr int kTimes = 5;  // within the patience of others
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, patience_ / kTimes, [&] { return is_ending_; })) {
    for (const std::string& name : own_) {
      utimensat(AT_FDCWD, (folder_ / name).c_str(), nullptr, 0);  // a missed one does no harm
    }
  }
}

bool Claims::take(const PlannedRun& run) {
  const std::string name = name_of(run);
  const fs::path claim = folder_ / name;
  const std::scoped_lock lock(mutex_);
  if (own_.contains(name)) return false;
  others_.insert(name);
  if (fs::exists(over_of(claim))) return false;
  const std::string text = who_ + " " + run.folder + "\n";
  if (!make(claim, text)) {
    if (!is_dead(claim)) return false;
    const fs::path dead = claim.string() + "." + who_;
    std::error_code error;
    fs::rename(claim, dead, error);  // one of those who try
    if (error) return false;
    fs::remove(dead, error);
    if (!make(claim, text)) return false;
  }
  // It may have come to its end between the two looks.
  if (fs::exists(over_of(claim))) {
    fs::remove(claim);
    return false;
  }
  others_.erase(name);
  own_.insert(name);
  return true;
}

bool Claims::is_dead(const fs::path& claim) {
  struct stat now {};
  if (::stat(claim.c_str(), &now) != 0) return false;  // it is let go: the next look takes it
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  const std::int64_t touched_ns = now.st_mtim.tv_sec * kSecond_ns + now.st_mtim.tv_nsec;
  Seen& seen = seen_[claim.filename().string()];
  if (seen.inode != now.st_ino || seen.touched_ns != touched_ns) {
    seen = {now.st_ino, touched_ns, Clock::now()};
    return false;
  }
  return Clock::now() - seen.since >= patience_;
}

void Claims::over(const PlannedRun& run) {
  const std::string name = name_of(run);
  const std::scoped_lock lock(mutex_);
  make(over_of(folder_ / name), who_ + " " + run.folder + "\n");
  std::error_code ignored;
  fs::remove(folder_ / name, ignored);
  own_.erase(name);
}

bool Claims::wait_for_others(const std::atomic<bool>* stop) {
  constexpr int kTimes = 10;
  std::unique_lock lock(mutex_);
  for (;;) {
    std::erase_if(others_,
                  [&](const std::string& name) { return fs::exists(over_of(folder_ / name)); });
    if (others_.empty() || (stop && stop->load())) return false;
    for (const std::string& name : others_) {
      if (!fs::exists(folder_ / name) || is_dead(folder_ / name)) return true;
    }
    ending_.wait_for(lock, patience_ / kTimes);
  }
}

void Claims::set_over(const fs::path& folder, const PlannedRun& run, bool is_over) {
  const fs::path file = over_of(folder / name_of(run));
  std::error_code ignored;
  if (is_over) {
    make(file, "there " + run.folder + "\n");
  } else {
    fs::remove(file, ignored);
  }
}

}  // namespace ductile
