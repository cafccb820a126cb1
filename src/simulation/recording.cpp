#include "simulation/recording.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <istream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <lzma.h>

#include "base/error.hpp"
#include "policies/registry.hpp"
#include "scheduling/invariants.hpp"

namespace ductile {
namespace {

constexpr std::string_view kFirstLine = "ductile-log 1";
constexpr std::size_t kLongestLine = std::size_t{1} << 24;

std::uint64_t updated(std::uint64_t checksum, std::string_view line) {
  checksum = lzma_crc64(reinterpret_cast<const std::uint8_t*>(line.data()), line.size(), checksum);
  constexpr std::uint8_t kEnd = '\n';
  return lzma_crc64(&kEnd, 1, checksum);
}

std::string last_line(std::uint64_t lines, std::uint64_t checksum) {
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(checksum));
  return "end " + std::to_string(lines) + ' ' + hex.data();
}

// The lines of a log, one after the other.
class Lines {
 public:
  Lines(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  // False at the end.
  bool next() {
    text_.clear();
    ++number_;
    if (!std::getline(in_, text_)) return false;
    if (text_.size() > kLongestLine) fail("line", "it is too long", "this is no log of ductile");
    return true;
  }
  std::string_view text() const { return text_; }
  // Is the line's end missing?
  bool torn() const { return in_.eof(); }

  [[noreturn]] void fail(const std::string& field, const std::string& what,
                         const std::string& remedy) const {
    throw InputError({name_, number_, field}, what, remedy);
  }
  [[noreturn]] void differs(const std::string& recorded, const std::string& now) const {
    throw RunError(name_ + ":" + std::to_string(number_) + ": the log has\n  " + recorded +
                   "\nbut this build has\n  " + now);
  }
  // What follows `head` and a space; an error if the line does not begin so.
  std::string_view after(std::string_view head) const {
    std::string_view rest = text_;
    if (!rest.starts_with(head) || rest.size() <= head.size() || rest[head.size()] != ' ') {
      fail(std::string(head), "the line is missing here", "record the run again");
    }
    return rest.substr(head.size() + 1);
  }

 private:
  std::istream& in_;
  const std::string& name_;
  std::string text_;
  std::uint64_t number_ = 0;
};

// Nothing of a log is used before all of it was seen to be whole.
void check_whole(std::istream& in, const std::string& name) {
  Lines lines(in, name);
  if (!lines.next() || lines.text() != kFirstLine) {
    lines.fail("", "this is no log of this version",
               "its first line must be '" + std::string(kFirstLine) + "'");
  }
  std::uint64_t count = 0, checksum = 0;
  do {
    if (lines.text().starts_with("end ")) {
      if (lines.text() != last_line(count, checksum)) {
        lines.fail("end", "the log was altered: its checksum differs", "record the run again");
      }
      if (lines.torn()) {
        lines.fail("end", "the log was cut in its last line", "record the run again");
      }
      if (lines.next()) lines.fail("end", "lines follow the end", "record the run again");
      return;
    }
    checksum = updated(checksum, lines.text());
    ++count;
  } while (lines.next());
  lines.fail("end", "the log was cut: its last line is missing", "record the run again");
}

class Replay {
 public:
  Replay(std::istream& in, const std::string& name, const PolicyMaker& make)
      : make_(make), lines_(in, name) {}
  Replayed run();

 private:
  Core make_core();
  Time time(std::string_view& rest) const;
  void event(std::string_view rest);
  void close(std::string_view rest);

  template <class Read>
  auto read(Read function) const {
    try {
      return function();
    } catch (const RecordError& error) {
      lines_.fail(error.field(), error.what(), "record the run again");
    }
  }
  std::shared_ptr<const Policy> policy(std::string_view settings) const {
    try {
      return make_(settings);
    } catch (const InputError& error) {
      lines_.fail("policy", error.what(), "replay the log with the build that recorded it");
    }
  }

  const PolicyMaker& make_;
  Lines lines_;
  std::optional<Core> asks_, folds_;
  Replayed done_;
};

Core Replay::make_core() {
  lines_.next();  // the first line was checked
  const auto header = [&](std::string_view head, auto from) {
    lines_.next();  // at the end of the log its text is empty
    return read([&] { return from(lines_.after(head)); });
  };
  const auto platform = header("platform", platform_from_record);
  const auto capabilities = header("world", capabilities_from_record);
  Rules rules = header("rules", rules_from_record);
  rules.record = true;
  lines_.next();
  done_.policy = std::string(lines_.after("policy"));
  return Core(platform, capabilities, rules, policy(done_.policy));
}

Time Replay::time(std::string_view& rest) const {
  const std::string_view word = rest.substr(0, rest.find(' '));
  const Time value = read([&] { return time_from_record(word); });
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  return value;
}

void Replay::event(std::string_view rest) {
  const Time now = time(rest);
  const bool taken = rest.starts_with("1 ");
  if (!taken && !rest.starts_with("0 ")) {
    lines_.fail("taken", "it is neither 0 nor 1", "record the run again");
  }
  rest.remove_prefix(2);
  const Event event = read([&] {
    return event_from_record(rest, [&](std::string_view settings) { return policy(settings); });
  });
  const bool asks = asks_->apply(now, event);
  const bool folds = folds_->apply(now, event);
  if (asks != taken || folds != taken) {
    lines_.differs(std::string(lines_.text()),
                   asks == taken ? "another answer when folding" : "another answer to the event");
  }
  ++done_.events;
  done_.last = now;
}

void Replay::close(std::string_view rest) {
  const Time now = time(rest);
  if (!rest.empty())
    lines_.fail("end", "'" + std::string(rest) + "' is too much", "record the run again");
  const auto decisions = asks_->close_instant(now);
  std::vector<PenCall> calls;
  for (const PenCall& call : asks_->pen_calls()) {
    lines_.next();
    const std::string text = "P " + to_record(call);
    if (lines_.text() != text) lines_.differs(std::string(lines_.text()), text);
    calls.push_back(read([&] { return pen_call_from_record(lines_.after("P")); }));
  }
  const auto folded = folds_->follow_instant(now, calls);
  if (folded.size() != decisions.size()) {
    lines_.differs(std::to_string(decisions.size()) + " decisions",
                   std::to_string(folded.size()) + " decisions when folding");
  }
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    lines_.next();
    const std::string text = "D " + to_record(decisions[i]);
    if (lines_.text() != text) lines_.differs(std::string(lines_.text()), text);
    if (folded[i] != decisions[i]) lines_.differs(text, "D " + to_record(folded[i]) + " (folded)");
  }
  done_.pen_calls += calls.size();
  done_.decisions += decisions.size();
  ++done_.instants;
  done_.last = now;
}

Replayed Replay::run() {
  asks_.emplace(make_core());
  folds_.emplace(*asks_);
  while (lines_.next() && !lines_.text().starts_with("end ")) {
    if (lines_.text().starts_with("E ")) {
      event(lines_.after("E"));
    } else if (lines_.text().starts_with("C ")) {
      close(lines_.after("C"));
    } else if (lines_.text().starts_with("P ") || lines_.text().starts_with("D ")) {
      lines_.differs(std::string(lines_.text()), "nothing more at this instant");
    } else {
      lines_.fail("record", "there is no record of this kind", "record the run again");
    }
  }
  return done_;
}

}  // namespace

Recorder::Recorder(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".part"), file_(temporary_, std::ios::binary) {
  if (!file_) {
    throw InputError({path_}, "the log cannot be written", "use a folder that you may write to");
  }
}

Recorder::~Recorder() {
  if (!file_.is_open()) return;
  file_.close();
  std::remove(temporary_.c_str());
}

void Recorder::line(const std::string& text) {
  checksum_ = updated(checksum_, text);
  ++lines_;
  file_ << text << '\n';
}

void Recorder::on_begin(const Core& core) {
  const State& state = core.state();
  line(std::string(kFirstLine));
  line("platform " + to_record(state.platform));
  line("world " + to_record(state.capabilities));
  line("rules " + to_record(state.rules));
  line("policy " + core.policy().settings);
}

void Recorder::on_event(Time now, const Event& event, bool taken, const Core&) {
  line("E " + to_record(now) + (taken ? " 1 " : " 0 ") + to_record(event));
}

void Recorder::on_decision(Time, const Decision& decision, const Core&) {
  decisions_ += "D " + to_record(decision) + '\n';
}

void Recorder::on_close(Time now, const Core& core) {
  line("C " + to_record(now));
  for (const PenCall& call : core.pen_calls()) line("P " + to_record(call));
  for (std::string_view rest = decisions_; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    line(std::string(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  decisions_.clear();
}

void Recorder::on_finish(Time, const Core&) {
  file_ << last_line(lines_, checksum_) << '\n';
  file_.close();
  std::error_code error;
  if (file_) std::filesystem::rename(temporary_, path_, error);
  if (!file_ || error) {
    std::remove(temporary_.c_str());
    throw RunError(path_ + ": the log could not be written; is the disk full?");
  }
}

std::string sealed_log(std::string lines) {
  if (!lines.empty() && lines.back() != '\n') lines += '\n';
  std::uint64_t count = 0, checksum = 0;
  for (std::string_view rest = lines; !rest.empty(); ++count) {
    const std::size_t end = rest.find('\n');
    checksum = updated(checksum, rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return lines + last_line(count, checksum) + '\n';
}

Replayed replay(std::istream& in, const std::string& name, const PolicyMaker& make) {
  check_whole(in, name);
  in.clear();
  in.seekg(0);
  try {
    return Replay(in, name, make).run();
  } catch (const InvariantViolation&) {
    throw;  // whatever a log says, this must not happen
  } catch (const std::logic_error& error) {
    throw InputError({name}, std::string("the log contradicts itself: ") + error.what(),
                     "record the run again");
  }
}

Replayed replay(std::istream& in, const std::string& name) {
  return replay(in, name, [](std::string_view settings) { return make_policy(settings); });
}

Replayed replay_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw InputError({path}, "the log cannot be read",
                     "check the name and that you may read the file");
  }
  return replay(in, path);
}

}  // namespace ductile
