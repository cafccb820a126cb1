// The mark beside the journal: what of it was promised to somebody. SQLite takes a journal whose
// end was lost, by a bit that flipped on the disk or a file of another day, for a whole one: the
// mark does not. Format: docs/formats/journal.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "job/socket.hpp"

namespace ductile {

/// Which journal, and how many transactions it had.
struct Promise {
  std::string journal{};  // its random id
  std::uint64_t commits = 0;
  bool operator==(const Promise&) const = default;
};

/// Why a journal with this cannot be gone on with after what was told of it; empty if it can.
std::string broken_promise(const Promise& has, const std::optional<Promise>& told);
/// What there is to do then.
constexpr const char* kRestore =
    "put back what belongs there; or go on with what is there by `ductile serve --restored`";

/// A file of two slots, which are written in turn: one of them is whole at any time.
class Mark {
 public:
  /// The last promise in the file, of either slot; nothing if there is none, or neither slot is
  /// whole. `is_hurt` becomes true if one of them is not.
  static std::optional<Promise> read(const std::string& path, bool& is_hurt);

  /// Opens or makes it, and writes both slots to the disk. Throws RunError.
  Mark(const std::string& path, const Promise& promise);
  /// After each commit, before anybody hears of it. It is on the disk with the first one that comes
  /// a second after the last that was. Throws RunError, that the commit was made all the same.
  void write(const Promise& promise);

 private:
  void write_slot(const Promise& promise);
  void sync();
  [[noreturn]] void fail() const;

  std::string path_;
  Descriptor file_;
  std::uint64_t slot_ = 0;
  std::chrono::steady_clock::time_point synced_{};
};

}  // namespace ductile
