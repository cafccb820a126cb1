#include "simulation/replay.hpp"

#include <algorithm>
#include <fstream>
#include <istream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "scheduling/core.hpp"
#include "scheduling/invariants.hpp"
#include "simulation/recording.hpp"

namespace ductile {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 24;

// The lines of a log, one after the other.
class Lines {
 public:
  Lines(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  // False at the end.
  bool next() {
    if (std::exchange(is_back_, false)) return true;
    text_.clear();
    ++number_;
    if (!std::getline(in_, text_)) return false;
    if (text_.size() > kLongestLine) fail("line", "it is too long", "this is no log of ductile");
    return true;
  }
  // The same line is the next one again.
  void put_back() { is_back_ = true; }
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
  bool is_back_ = false;
};

// Nothing of a log is used before all of it was seen to be whole.
void check_whole(std::istream& in, const std::string& name) {
  Lines lines(in, name);
  if (!lines.next() || lines.text() != kFirstLogLine) {
    std::string_view found = lines.text(), known = kFirstLogLine;
    const bool is_log = next_part(found, ' ') == next_part(known, ' ');
    if (const auto version = parse_number<int>(found); is_log && version) {
      lines.fail("", "it is a log of version " + std::to_string(*version),
                 "this ductile reads version " + std::string(known));
    }
    lines.fail("", "this is no log of this version",
               "its first line must be '" + std::string(kFirstLogLine) + "'");
  }
  LogSeal seal;
  do {
    if (lines.text().starts_with("end ")) {
      if (lines.text() != seal.line()) {
        lines.fail("end", "the log was altered: its checksum differs", "record the run again");
      }
      if (lines.torn()) {
        lines.fail("end", "the log was cut in its last line", "record the run again");
      }
      if (lines.next()) lines.fail("end", "lines follow the end", "record the run again");
      return;
    }
    seal.add(lines.text());
  } while (lines.next());
  lines.fail("end", "the log was cut: its last line is missing", "record the run again");
}

class Replay {
 public:
  // Asks the policies that are made and folds, or folds only.
  Replay(std::istream& in, const std::string& name, const PolicyMaker* make, ReplayWatcher* watcher)
      : make_(make), lines_(in, name), watcher_(watcher) {}
  Replayed run();

 private:
  void make_cores();
  // The core that a watcher sees.
  const Core& seen() const { return asks_ ? *asks_ : *folds_; }
  Time time(std::string_view& rest) const;
  void event(std::string_view rest);
  void close(std::string_view rest);
  // The pen calls of an instant: those that the policy makes when it is asked, or the recorded
  // ones.
  std::vector<PenCall> asked_calls();
  std::vector<PenCall> recorded_calls(bool was_asked);

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
      return (*make_)(settings);
    } catch (const InputError& error) {
      lines_.fail("policy", error.what(),
                  "replay the log with the build that recorded it, or with --fold");
    }
  }

  const PolicyMaker* make_;  // null: folds only
  Lines lines_;
  ReplayWatcher* watcher_;
  std::shared_ptr<const Policy> policy_;
  std::optional<Core> asks_, folds_;
  Replayed done_;
};

void Replay::make_cores() {
  lines_.next();  // the first line was checked
  const auto header = [&](std::string_view head, auto from) {
    lines_.next();  // at the end of the log its text is empty
    return read([&] { return from(lines_.after(head)); });
  };
  const auto platform = header("platform", platform_from_record);
  const auto capabilities = header("world", capabilities_from_record);
  Rules rules = header("rules", rules_from_record);
  rules.record = true;
  const auto traits = header("policy", traits_from_record);
  const auto must_be_able = [&](const Needs& needs) {
    const std::string what = lacking(capabilities, needs);
    if (what.empty()) return;
    lines_.fail("policy", "the world of the log lacks " + what + ", which the policy needs",
                "record the run again");
  };
  must_be_able(traits.needs);
  done_.policy = traits.settings;
  folds_.emplace(platform, capabilities, rules, traits);
  if (make_ == nullptr) return;
  policy_ = policy(traits.settings);
  must_be_able(policy_->traits.needs);
  if (policy_->is_outside) return;
  done_.asked = true;
  asks_.emplace(platform, capabilities, rules, policy_->traits);
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
  const Event event = read([&] { return event_from_record(rest); });
  if (watcher_) watcher_->before_event(now, event, seen());
  bool asks = taken;
  const auto* changed = std::get_if<event::ConfigChanged>(&event);
  if (asks_ && taken && changed) {
    policy_ = policy(changed->traits.settings);
    const Traits& traits = policy_->is_outside ? changed->traits : policy_->traits;
    asks = asks_->apply(now, event::ConfigChanged{traits, changed->choice});
  } else if (asks_) {
    asks = asks_->apply(now, event);
  }
  const bool folds = folds_->apply(now, event);
  if (asks != taken || folds != taken) {
    lines_.differs(std::string(lines_.text()),
                   asks == taken ? "another answer when folding" : "another answer to the event");
  }
  if (watcher_) watcher_->after_event(now, event, taken, seen());
  ++done_.events;
  done_.last = now;
}

void Replay::close(std::string_view rest) {
  const auto [now, was_asked] = read([&] { return closed_from_record(rest); });
  std::span<const Decision> asked;
  const bool can_be_asked = asks_ && !policy_->is_outside;
  if (can_be_asked) {
    asked = asks_->close(now, *policy_);
    const std::string text = "C " + to_record(Closed{now, asks_->was_asked()});
    if (lines_.text() != text) lines_.differs(std::string(lines_.text()), text);
  }
  const std::vector<PenCall> calls = can_be_asked ? asked_calls() : recorded_calls(was_asked);
  if (asks_ && !can_be_asked) asked = follow(*asks_, now, was_asked, calls);
  const auto folded = follow(*folds_, now, was_asked, calls);
  if (asks_ && folded.size() != asked.size()) {
    lines_.differs(std::to_string(asked.size()) + " decisions",
                   std::to_string(folded.size()) + " decisions when folding");
  }
  for (std::size_t i = 0; i < folded.size(); ++i) {
    lines_.next();
    const std::string text = "D " + to_record(asks_ ? asked[i] : folded[i]);
    if (lines_.text() != text) lines_.differs(std::string(lines_.text()), text);
    if (asks_ && folded[i] != asked[i]) {
      lines_.differs(text, "D " + to_record(folded[i]) + " (folded)");
    }
  }
  if (watcher_) watcher_->on_close(now, folded, seen());
  done_.pen_calls += calls.size();
  done_.decisions += folded.size();
  ++done_.instants;
  done_.last = now;
}

std::vector<PenCall> Replay::asked_calls() {
  std::vector<PenCall> calls;
  for (const PenCall& call : asks_->pen_calls()) {
    lines_.next();
    const std::string text = "P " + to_record(call);
    if (lines_.text() != text) lines_.differs(std::string(lines_.text()), text);
    calls.push_back(read([&] { return pen_call_from_record(lines_.after("P")); }));
  }
  return calls;
}

std::vector<PenCall> Replay::recorded_calls(bool was_asked) {
  std::vector<PenCall> calls;
  while (lines_.next() && lines_.text().starts_with("P ")) {
    if (!was_asked) {
      lines_.fail("P", "the policy was not asked at this instant", "record the run again");
    }
    calls.push_back(read([&] { return pen_call_from_record(lines_.after("P")); }));
  }
  lines_.put_back();
  return calls;
}

Replayed Replay::run() {
  make_cores();
  if (watcher_) watcher_->on_begin(seen());
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
  if (watcher_) watcher_->on_finish(done_.last, seen());
  return done_;
}

// What an observer of the run would have been told, from a log that is folded.
class Telling final : public ReplayWatcher {
 public:
  explicit Telling(Observer& observer) : observer_(observer) {}

  void on_begin(const Core& core) override { observer_.on_begin(core); }
  void after_event(Time now, const Event& event, bool taken, const Core& core) override {
    observer_.on_event(now, event, taken, core);
  }
  void on_close(Time now, std::span<const Decision> decisions, const Core& core) override {
    for (const Decision& decision : decisions) observer_.on_decision(now, decision, core);
    observer_.on_close(now, core);
  }
  void on_finish(Time now, const Core& core) override { observer_.on_finish(now, core); }

 private:
  Observer& observer_;
};

Replayed run(std::istream& in, const std::string& name, const PolicyMaker* make,
             ReplayWatcher* watcher) {
  const auto rewind = [&] {
    in.clear();
    in.seekg(0);
  };
  rewind();
  check_whole(in, name);
  rewind();
  try {
    return Replay(in, name, make, watcher).run();
  } catch (const InvariantViolation&) {
    throw;  // whatever a log says, this must not happen
  } catch (const std::logic_error& error) {
    throw InputError({name}, std::string("the log contradicts itself: ") + error.what(),
                     "record the run again");
  }
}

}  // namespace

Replayed replay(std::istream& in, const std::string& name, const PolicyMaker& make,
                ReplayWatcher* watcher) {
  return run(in, name, &make, watcher);
}

Replayed fold(std::istream& in, const std::string& name, Observer& observer) {
  Telling telling(observer);
  return fold(in, name, telling);
}

Replayed fold(std::istream& in, const std::string& name, ReplayWatcher& watcher) {
  return run(in, name, nullptr, &watcher);
}

std::unique_ptr<std::istream> open_log_file(const std::string& path) {
  auto in = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*in) {
    throw InputError({path}, "the log cannot be read",
                     "check the name and that you may read the file");
  }
  return in;
}

}  // namespace ductile
