#include "job/report_file.hpp"

#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {

bool reserve(const Descriptor& file, off_t bytes) {
  struct stat found {};
  if (fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return true;
  rlimit limit{};
  const auto end = static_cast<rlim_t>(found.st_size) + static_cast<rlim_t>(bytes);
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && end > limit.rlim_cur) {
    errno = EFBIG;
    return false;
  }
  const bool is_done = fallocate(file.get(), FALLOC_FL_KEEP_SIZE, found.st_size, bytes) == 0;
  return is_done || (errno != ENOSPC && errno != EDQUOT && errno != EFBIG && errno != EIO);
}

void ReportFile::open(const std::string& path, Begin begin) {
  // What was reserved for a file that is empty already stays.
  file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  struct stat found {};
  bool is_open = file_ && fstat(file_.get(), &found) == 0;
  if (is_open && begin == Begin::empty && S_ISREG(found.st_mode) && found.st_size > 0) {
    is_open = ftruncate(file_.get(), 0) == 0;
  }
  if (!is_open) throw InputError("'" + path + "' cannot be written", "");
}

bool ReportFile::write(std::string line, bool is_last) {
  line = (is_torn_ ? "\n" : "") + std::move(line) + "\n";
  if (!is_last && !reserve(file_, static_cast<off_t>(line.size()) + kReportReserve)) return false;
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (rest.size() < line.size()) is_torn_ = !rest.empty();
  return rest.empty();
}

}  // namespace ductile
