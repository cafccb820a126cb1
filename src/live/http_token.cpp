#include "live/http_token.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/socket.hpp"
#include "job/system_random.hpp"

namespace ductile {
namespace {

constexpr std::size_t kShortestToken = 16, kLongestToken = 512;

void make(const std::string& file) {
  std::array<unsigned char, 32> bytes{};
  fill_with_random(std::as_writable_bytes(std::span(bytes)));
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  text += '\n';
  // It is there as a whole or not at all, whatever happens meanwhile.
  std::string part = file + ".XXXXXX";
  Descriptor made(mkostemp(part.data(), O_CLOEXEC));
  bool is_done = false;
  int why = errno;
  if (made) {
    errno = ENOSPC;  // if less is written than there is
    is_done = write(made.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
              fsync(made.get()) == 0;
    is_done = is_done && ::close(made.release()) == 0;
    is_done = is_done && (link(part.c_str(), file.c_str()) == 0 ||
                          errno == EEXIST);  // somebody else was quicker
    why = errno;
    unlink(part.c_str());
  }
  if (is_done) return;
  throw InputError({file}, std::string("no token can be written: ") + std::strerror(why),
                   "give another file");
}

}  // namespace

std::string token_in(const std::string& file) {
  if (access(file.c_str(), F_OK) != 0 && errno == ENOENT) make(file);
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!opened || fstat(opened.get(), &status) != 0) {
    throw InputError({file}, std::string("the token cannot be read: ") + std::strerror(errno), "");
  }
  if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0 ||
      (status.st_uid != geteuid() && status.st_uid != 0)) {
    throw InputError({file}, "a token is in a file that is yours, and that nobody else may read",
                     "chmod 600 it");
  }
  std::array<char, kLongestToken + 2> bytes{};
  const ssize_t size = read(opened.get(), bytes.data(), bytes.size());
  std::string token(bytes.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  bool is_plain = true;
  for (const char c : token) is_plain = is_plain && c > ' ' && c < 0x7f;
  if (token.size() < kShortestToken || token.size() > kLongestToken || !is_plain) {
    throw InputError({file, 1}, "this is no token: one line of 16 to 512 letters and digits",
                     "remove the file, and one is made");
  }
  return token;
}

}  // namespace ductile
