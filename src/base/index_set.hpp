// A set of small numbers, such as those of jobs that wait, that knows which one comes next.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ductile {

/// Numbers from 0 on, a bit each. The bits of a level say which words of the level below are not
/// empty, so that a search skips what is empty: adding, removing and searching cost the logarithm
/// to base 64 of the largest number that was ever in it. Copying copies a few arrays.
class IndexSet {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  void insert(std::uint32_t i) {
    for (std::size_t level = 0;; ++level) {
      if (level == levels_.size()) add_level();
      Words& words = levels_[level];
      if (words.size() <= i / 64) words.resize(i / 64 + 1, 0);
      words[i / 64] |= bit(i);
      if (level + 1 == levels_.size() && words.size() == 1) return;
      i /= 64;
    }
  }

  void erase(std::uint32_t i) {
    for (Words& words : levels_) {
      if (i / 64 >= words.size()) return;
      words[i / 64] &= ~bit(i);
      if (words[i / 64] != 0) return;
      i /= 64;
    }
  }

  /// The smallest number from `i` on; `kNone` if there is none.
  std::uint32_t next(std::uint32_t i) const {
    std::size_t level = 0;
    for (;; ++level, i = i / 64 + 1) {
      if (level == levels_.size() || i / 64 >= levels_[level].size()) return kNone;
      const std::uint64_t rest = levels_[level][i / 64] & (~std::uint64_t{0} << i % 64);
      if (rest == 0) continue;
      i = i / 64 * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
      break;
    }
    for (; level > 0; --level) {
      i = i * 64 + static_cast<std::uint32_t>(std::countr_zero(levels_[level - 1][i]));
    }
    return i;
  }

 private:
  using Words = std::vector<std::uint64_t>;

  static std::uint64_t bit(std::uint32_t i) { return std::uint64_t{1} << i % 64; }
  /// One above the highest: which words of that are not empty.
  void add_level() {
    Words above;
    if (!levels_.empty()) {
      const Words& below = levels_.back();
      above.resize(below.size() / 64 + 1, 0);
      for (std::uint32_t word = 0; word < below.size(); ++word) {
        if (below[word] != 0) above[word / 64] |= bit(word);
      }
    }
    levels_.push_back(std::move(above));
  }

  std::vector<Words> levels_;
};

}  // namespace ductile
