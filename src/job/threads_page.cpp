#include "job/threads_page.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/proc.hpp"
#include "job/threads_page.h"

namespace ductile {
namespace {

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

ThreadsPage::ThreadsPage(std::string path, const std::string& control)
    : path_(std::move(path)),
      file_(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (!file_) throw RunError(fmt::format("'{}': {}", path_, std::strerror(errno)));
  ductile_page page{};
  page.magic = DUCTILE_PAGE_MAGIC;
  page.version = DUCTILE_PAGE_VERSION;
  if (control.size() < sizeof page.control) control.copy(page.control, control.size());
  write_at(0, &page, sizeof page);
}

ThreadsPage::~ThreadsPage() { unlink(path_.c_str()); }

void ThreadsPage::write_at(std::size_t offset, const void* bytes, std::size_t count) const {
  const ssize_t written = pwrite(file_.get(), bytes, count, static_cast<off_t>(offset));
  if (written != static_cast<ssize_t>(count)) {
    throw RunError(fmt::format("'{}' cannot be written: {}", path_, std::strerror(errno)));
  }
}

std::uint32_t ThreadsPage::publish(std::uint32_t cores, const NodeSet& cpus) {
  ductile_page page{};
  page.sequence = sequence_ + 1;
  page.cores = cores;
  for (const Interval& part : cpus.parts) {
    for (std::uint32_t cpu = part.first; cpu <= part.last && cpu < 64 * DUCTILE_PAGE_WORDS; ++cpu) {
      page.cpus[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    }
  }
  changed_ns_ = page.changed_ns = monotonic_ns();
  // Each by a call of its own, so that nobody sees the last one before the others.
  constexpr std::size_t kFields = offsetof(ductile_page, cores);
  constexpr std::size_t kSequence = offsetof(ductile_page, sequence);
  write_at(kSequence, &page.sequence, sizeof page.sequence);
  write_at(kFields, &page.cores, offsetof(ductile_page, control) - kFields);
  page.sequence = sequence_ + 2;
  write_at(kSequence, &page.sequence, sizeof page.sequence);
  sequence_ = page.sequence;
  return sequence_;
}

std::vector<ThreadsPage::Follower> ThreadsPage::followers() const {
  std::array<ductile_page_slot, DUCTILE_PAGE_SLOTS> slots{};
  const ssize_t got = pread(file_.get(), slots.data(), sizeof slots, offsetof(ductile_page, slots));
  if (got != static_cast<ssize_t>(sizeof slots)) return {};
  std::vector<Follower> found;
  for (const ductile_page_slot& slot : slots) {
    if (slot.pid == 0) continue;
    const auto pid = static_cast<pid_t>(slot.pid);
    // It is left as it is: meanwhile it may be another's, who has taken it over.
    if (pid <= 0 || has_ended(pid)) continue;
    const std::uint64_t after = slot.seen_ns - std::min(slot.seen_ns, changed_ns_);
    found.push_back({.pid = pid, .seen = slot.seen, .seen_s = static_cast<double>(after) * 1e-9});
  }
  return found;
}

}  // namespace ductile
