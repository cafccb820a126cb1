#include "job/held_output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

namespace ductile {
namespace {

constexpr std::size_t kMostInMemory = std::size_t{1} << 18;

Descriptor nameless_file(const std::string& folder) {
  Descriptor file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  // Not every file system has such files.
  std::string path = folder + "/output.XXXXXX";
  file = Descriptor(mkostemp(path.data(), O_CLOEXEC));
  if (file) unlink(path.c_str());
  return file;
}

}  // namespace

bool HeldOutput::append(std::string_view text, const std::string& folder) {
  if (read_ == written_ && head_.size() + text.size() <= kMostInMemory) {
    head_ += text;
    return true;
  }
  if (!file_) file_ = nameless_file(folder);
  if (!file_) return false;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t got = pwrite(file_.get(), text.data() + done, text.size() - done,
                               static_cast<off_t>(written_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  written_ += text.size();
  return true;
}

HeldOutput::Taken HeldOutput::take(std::size_t most) {
  Taken taken{.text = head_.substr(0, most)};
  std::string& text = taken.text;
  head_.erase(0, text.size());
  const auto rest = std::min<std::uint64_t>(most - text.size(), written_ - read_);
  if (rest == 0) return taken;
  const std::size_t begin = text.size();
  text.resize(begin + static_cast<std::size_t>(rest));
  for (std::size_t done = 0; done < rest;) {
    const ssize_t got = pread(file_.get(), text.data() + begin + done, rest - done,
                              static_cast<off_t>(read_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {  // a broken disk: what it does not give is gone
      taken.missing = rest - done;
      taken.error = got < 0 ? errno : EIO;
      text.resize(begin + done);
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  read_ += rest;
  if (read_ == written_) {
    file_.reset();
    read_ = written_ = 0;
  }
  return taken;
}

void HeldOutput::clear() { *this = {}; }

}  // namespace ductile
