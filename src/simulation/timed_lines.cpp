#include "simulation/timed_lines.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace ductile {
namespace {

std::vector<std::string_view> split(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find_first_of(kBlank)));
    line.remove_prefix(words.back().size());
  }
}

}  // namespace

TimedLines::TimedLines(const std::string& path, const char* what, const char* remedy)
    : path_(path), in_(path) {
  if (!in_) throw InputError({path}, what, remedy);
}

bool TimedLines::next() {
  constexpr double kLatest_s = 1e12;
  while (std::getline(in_, line_)) {
    ++number_;
    words_ = split(line_);
    if (words_.empty()) continue;
    const auto time_s = parse_number<double>(words_.front());
    if (!time_s || !(*time_s >= 0 && *time_s <= kLatest_s)) {
      refuse("time", words_.front(), "write seconds from 0 to 1e12");
    }
    time_ = Time(seconds(*time_s));
    words_.erase(words_.begin());
    return true;
  }
  if (in_.bad()) throw RunError(path_ + ": reading failed");
  return false;
}

std::string TimedLines::rest(std::size_t i) const {
  std::string text;
  for (; i < size(); ++i) text.append(text.empty() ? "" : " ").append(words_[i]);
  return text;
}

void TimedLines::refuse(const char* field, std::string_view word, const char* remedy) const {
  fail(field, word.empty() ? "is missing" : "'" + printable(word) + "' is not possible", remedy);
}

}  // namespace ductile
