#include "job/standard_input.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ductile {

/// Where a file begins that is the standard input, and has something in it.
std::optional<off_t> StandardInput::begin_of_file() {
  struct stat found {};
  const off_t begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
  if (fstat(STDIN_FILENO, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return begin >= 0 && begin < found.st_size ? std::optional(begin) : std::nullopt;
}

Descriptor StandardInput::of(std::uint32_t generation, std::optional<bool> again) {
  if (isatty(STDIN_FILENO) != 0) return {};
  if (generation == 0) {
    return Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  }
  if (!again && begin_ && !std::exchange(is_told_, true)) {
    output_.say(
        "only the first generation of processes reads standard input; the next ones find it empty, "
        "or find it again, as the program says (ductile_stdin)");
  }
  if (!again.value_or(false) || !begin_) return {};
  Descriptor file(open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC));
  if (!file || lseek(file.get(), *begin_, SEEK_SET) < 0) {
    spdlog::warn("standard input cannot be read again: {}", std::strerror(errno));
    return {};
  }
  return file;
}

bool StandardInput::on_wish_to_read_again() {
  struct stat found {};
  const bool is_stream =
      isatty(STDIN_FILENO) != 0 ||
      (fstat(STDIN_FILENO, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISCHR(found.st_mode));
  if (is_stream && !std::exchange(is_told_, true)) {
    output_.say(
        "standard input is no file and cannot be read again; the next generations of processes "
        "find it empty");
  }
  return begin_.has_value();
}

}  // namespace ductile
