#include "job/job_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ductile {
namespace {

/// Output waiting to be passed on; more is left in the pipes.
constexpr std::size_t kMaxWaiting = std::size_t{1} << 20;
/// What a pipe can hold, and what is read of it at once.
constexpr std::size_t kMaxInPipe = std::size_t{1} << 20;
constexpr std::size_t kReadAtOnce = std::size_t{1} << 16;
/// Writing so much to a pipe that has room never blocks.
constexpr std::size_t kPipeChunk = 4096;
/// So much of the end of the output is looked through for why a program has failed.
constexpr std::size_t kLastWords = 8192;

}  // namespace

/// Which of stdout and stderr are files with a name.
std::vector<int> JobOutput::named_files() {
  std::vector<int> files;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat found {};
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink > 0) {
      files.push_back(fd);
    }
  }
  return files;
}

void JobOutput::add_to(Poller& poller, const Generations& generations,
                       const std::function<void(Generation&)>& on_read) {
  const auto add = [&](Generation& generation, Descriptor& pipe) {
    poller.add(pipe, POLLIN, [this, &generation, &pipe, on_read] {
      read(generation, pipe);
      on_read(generation);
    });
  };
  for (const auto& [number, owned] : generations) {
    Generation& generation = *owned;
    if (generation.process.out && has_room_for(generation)) {
      add(generation, generation.process.out);
    }
    if (generation.process.err && err_.size() < kMaxWaiting) {
      add(generation, generation.process.err);
    }
  }
  if (!out_.empty()) poller.add(STDOUT_FILENO, POLLOUT);
  if (!err_.empty()) poller.add(STDERR_FILENO, POLLOUT);
}

/// Who may not be heard yet must not wait for that: others wait for it.
bool JobOutput::has_room_for(const Generation& generation) const {
  if (generation.is_muted) return true;
  return generation.held.size() + out_.size() < (generation.is_heard ? kMaxWaiting : kMostHeld);
}

/// True if there may be more.
bool JobOutput::read(Generation& generation, Descriptor& pipe) {
  std::array<char, kReadAtOnce> bytes;
  const ssize_t got = ::read(pipe.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    pipe.reset();
    return false;
  }
  const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  if (generation.is_muted) return true;
  if (&pipe == &generation.process.err) {
    err_ += text;
  } else if (!generation.held.append(text, settings_.folder)) {
    generation.lost += text.size();
    generation.lost_why = std::strerror(errno);
  }
  if (generation.is_discarded) return true;
  last_words_ += text;
  if (last_words_.size() > kLastWords) last_words_.erase(0, last_words_.size() - kLastWords);
  return true;
}

void JobOutput::hear_to_the_end(Generation& generation) {
  for (Descriptor* const pipe : {&generation.process.out, &generation.process.err}) {
    for (std::size_t i = 0; *pipe && i < kMaxInPipe / kReadAtOnce; ++i) {
      if (!read(generation, *pipe)) break;
    }
  }
}

void JobOutput::mute(Generation& generation) {
  generation.is_muted = true;
  generation.held.clear();
}

void JobOutput::say(std::string_view line) { err_.append("ductile: ").append(line) += '\n'; }

void JobOutput::pass(const Generations& generations, std::uint32_t current) {
  for (const auto& [number, generation] : generations) {
    if (generation->is_discarded) {
      if (generation->process.out || generation->held.empty()) continue;
      if (!std::exchange(generation->is_quoted, true)) say("the new generation had written:");
      pass(generation->held, err_, STDERR_FILENO);
      continue;
    }
    if (number > current) break;
    generation->is_heard = true;
    if (generation->lost > 0) lose(std::exchange(generation->lost, 0), generation->lost_why);
    pass(generation->held, out_, STDOUT_FILENO);
    if (!generation->held.empty() || (generation->process.out && !generation->is_late)) break;
  }
  deliver(STDOUT_FILENO, out_);
  deliver(STDERR_FILENO, err_);
}

/// As much as goes on now, and as much as may wait behind it.
void JobOutput::pass(HeldOutput& held, std::string& to, int fd) {
  while (!held.empty() && to.size() < kMaxWaiting) {
    const auto [text, missing, error] = held.take(kMaxWaiting - to.size());
    if (settings_.keep && fd == STDOUT_FILENO) kept_ += text;
    if (missing > 0 && fd == STDOUT_FILENO) lose(missing, std::strerror(error));
    to += text;
    deliver(fd, to);
  }
}

void JobOutput::pass_rest() {
  while (!out_.empty() || !err_.empty()) {
    std::array<pollfd, 2> waiting{
        {{.fd = out_.empty() ? -1 : STDOUT_FILENO, .events = POLLOUT, .revents = 0},
         {.fd = err_.empty() ? -1 : STDERR_FILENO, .events = POLLOUT, .revents = 0}}};
    poll(waiting.data(), waiting.size(), -1);
    write(STDOUT_FILENO, out_);
    write(STDERR_FILENO, err_);
  }
}

void JobOutput::deliver(int fd, std::string& text) {
  if (settings_.pass) {
    write(fd, text);
  } else {
    text.clear();
  }
}

/// A file that somebody has removed takes all that is written to it, and nobody will read it.
bool JobOutput::is_removed(int fd) const {
  struct stat found {};
  return std::ranges::find(files_, fd) != files_.end() && fstat(fd, &found) == 0 &&
         found.st_nlink == 0;
}

void JobOutput::write(int fd, std::string& text) {
  if (!text.empty() && is_removed(fd)) {
    lose(text.size(), "the file was removed");
    text.clear();
  }
  std::size_t done = 0;
  while (done < text.size()) {
    pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
    if (poll(&waiting, 1, 0) <= 0) break;
    const ssize_t written =
        ::write(fd, text.data() + done, std::min(text.size() - done, kPipeChunk));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) {
      if (errno != EPIPE) {
        lose(text.size() - done, std::strerror(errno));
      } else if (fd == STDOUT_FILENO) {
        has_lost_its_reader_ = true;
      }
      done = text.size();
      break;
    }
    done += static_cast<std::size_t>(written);
  }
  text.erase(0, done);
}

void JobOutput::lose(std::uint64_t bytes, const std::string& why) {
  if (lost_ == 0) spdlog::warn("the output cannot be written: {}; the job goes on", why);
  lost_ += bytes;
  lost_why_ = why;
}

}  // namespace ductile
