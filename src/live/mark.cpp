#include "live/mark.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "simulation/checksum.hpp"

namespace ductile {
namespace {

/// Where the second slot begins: a disk that damages a page does not reach both.
constexpr std::uint64_t kDistance = 4096;
/// Bytes of a slot: a line, filled up with spaces.
constexpr std::size_t kSlot = 128;
constexpr std::string_view kMarkBegins = "ductile-mark-1";

std::string slot_of(const Promise& promise) {
  std::string line = fmt::format("{} {} {} ", kMarkBegins, promise.journal, promise.commits);
  line += Checksum().add(line).text();
  line.resize(kSlot - 1, ' ');
  return line + '\n';
}

std::optional<Promise> promise_in(const std::string& slot) {
  std::string_view rest = slot;
  const std::string_view first = next_part(rest, ' ');
  Promise promise;
  promise.journal = next_part(rest, ' ');
  const auto commits = parse_number<std::uint64_t>(next_part(rest, ' '));
  if (first != kMarkBegins || !commits) return std::nullopt;
  promise.commits = *commits;
  // Whatever is not as it was written is not whole.
  return slot_of(promise) == slot ? std::optional(promise) : std::nullopt;
}

}  // namespace

std::string broken_promise(const Promise& has, const std::optional<Promise>& told) {
  if (has.commits == 0 && (!told || told->commits == 0)) return "";
  if (!told) return "its mark, journal.mark, is missing or damaged";
  if (told->journal != has.journal) return "journal.mark is the mark of another journal";
  if (told->commits <= has.commits) return "";
  return fmt::format("its end is lost: it has {} transactions, {} were told to somebody",
                     has.commits, told->commits);
}

std::optional<Promise> Mark::read(const std::string& path, bool& is_hurt) {
  std::ifstream file(path, std::ios::binary);
  std::optional<Promise> last;
  for (const std::uint64_t at : {std::uint64_t{0}, kDistance}) {
    std::string slot(kSlot, '\0');
    file.seekg(static_cast<std::streamoff>(at));
    file.read(slot.data(), static_cast<std::streamsize>(slot.size()));
    const auto promise = promise_in(slot);
    if (!promise) {
      is_hurt = true;
    } else if (!last || promise->commits > last->commits) {
      last = promise;
    }
  }
  return last;
}

Mark::Mark(const std::string& path, const Promise& promise)
    : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {
  if (!file_) throw RunError(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
  for (int slot = 0; slot < 2; ++slot) write_slot(promise);
  sync();
}

void Mark::write(const Promise& promise) {
  write_slot(promise);
  constexpr auto kUnsynced = std::chrono::seconds(1);
  if (std::chrono::steady_clock::now() - synced_ >= kUnsynced) sync();
}

void Mark::write_slot(const Promise& promise) {
  const std::string slot = slot_of(promise);
  const auto at = static_cast<off_t>(slot_++ % 2 * kDistance);
  if (pwrite(file_.get(), slot.data(), slot.size(), at) != static_cast<ssize_t>(slot.size())) {
    fail();
  }
}

void Mark::sync() {
  if (fdatasync(file_.get()) != 0) fail();
  synced_ = std::chrono::steady_clock::now();
}

void Mark::fail() const {
  throw RunError(fmt::format("{} cannot be written: {}; what was asked for last may be done", path_,
                             std::strerror(errno)));
}

}  // namespace ductile
