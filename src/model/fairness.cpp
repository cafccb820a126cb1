#include "model/fairness.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace ductile {
namespace {

constexpr double kLongest = 1e9;  // s

class Reader {
 public:
  explicit Reader(const Place& place) : place_(place) {}

  void item(Fairness& fairness, std::string_view text) {
    item_ = text;
    std::string_view value = text;
    const std::string_view key = next_part(value, '=');
    if (value.empty()) fail("a value is missing", "write " + std::string(key) + "=VALUE");
    if (std::ranges::find(seen_, key) != seen_.end()) fail("given twice", "give it once");
    seen_.push_back(key);
    if (key == "interval") {
      fairness.interval = std::max(seconds(number(value, 1e-6, kLongest)), kTick);
    } else if (key == "decay") {
      fairness.decay = number(value, 0, 1);
    } else if (key == "depth") {
      const auto depth = parse_number<std::uint32_t>(value);
      if (!depth) fail("'" + std::string(value) + "' is no count", "write depth=JOBS");
      fairness.depth = *depth;
    } else if (key == "own") {
      fairness.own_jobs = yes(value);
    } else if (const std::size_t dot = key.find('.'); dot != std::string_view::npos) {
      limit(limits_of(fairness, key.substr(0, dot)), key.substr(dot + 1), value);
    } else {
      limit(fairness.everybody, key, value);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    Place place = place_;
    if (!item_.empty()) {
      place.field.append(place.field.empty() ? "" : ": ").append(item_);
    }
    throw InputError(place, what, remedy);
  }

  double number(std::string_view text, double min, double max) const {
    const auto value = parse_number<double>(text);
    if (!value || *value < min || *value > max) {
      std::string range;
      append_number(range, min);
      range += " to ";
      append_number(range, max);
      fail("'" + std::string(text) + "' is no number from " + range, "correct it");
    }
    return *value;
  }

  bool yes(std::string_view text) const {
    if (text != "yes" && text != "no") {
      fail("'" + std::string(text) + "' is neither yes nor no", "write one of them");
    }
    return text == "yes";
  }

  void limit(DelayLimits& limits, std::string_view key, std::string_view value) const {
    if (key == "single") {
      limits.single = seconds(number(value, 0, kLongest));
    } else if (key == "target") {
      limits.target = seconds(number(value, 0, kLongest));
    } else if (key == "permitted") {
      limits.permitted = yes(value);
    } else {
      fail("there is no '" + std::string(key) + "'",
           "use single, target, permitted, also as userNUMBER.single or groupNUMBER.single; "
           "interval, decay, depth, own");
    }
  }

  DelayLimits& limits_of(Fairness& fairness, std::string_view who) const {
    for (std::size_t kind = 0; kind < kPartyWords.size(); ++kind) {
      if (!who.starts_with(kPartyWords[kind])) continue;
      const auto number = parse_number<std::uint32_t>(who.substr(kPartyWords[kind].size()));
      if (!number) break;
      const Party party{static_cast<Party::Kind>(kind), *number};
      const auto at = std::ranges::find(fairness.exceptions, party, &Fairness::Exception::party);
      if (at != fairness.exceptions.end()) return at->limits;
      fairness.exceptions.push_back({party, {}});
      return fairness.exceptions.back().limits;
    }
    fail("'" + std::string(who) + "' is nobody", "write userNUMBER or groupNUMBER");
  }

  Place place_;
  std::string_view item_;
  std::vector<std::string_view> seen_;
};

void append_limits(std::string& text, const std::string& who, const DelayLimits& limits) {
  const auto add = [&](std::string_view key, const std::string& value) {
    text.append(",").append(who).append(key).append("=").append(value);
  };
  if (limits.single) add("single", seconds_text(*limits.single));
  if (limits.target) add("target", seconds_text(*limits.target));
  if (!limits.permitted) add("permitted", "no");
}

/// A limit that the policy does not ask for would limit nothing, in silence.
void refuse_unasked(const Fairness& fairness, const Place& place) {
  using Policy = Fairness::Policy;
  const auto check = [&](const DelayLimits& limits) {
    const auto asks = [&](Policy one) {
      return fairness.policy == one || fairness.policy == Policy::both;
    };
    const std::string policy(kFairnessWords[static_cast<std::size_t>(fairness.policy)]);
    const auto refuse = [&](const std::string& what) {
      throw InputError(place, what + " has no effect with '" + policy + "'",
                       "begin with single, target or both");
    };
    if (limits.single && !asks(Policy::single)) refuse("a limit 'single'");
    if (limits.target && !asks(Policy::target)) refuse("a limit 'target'");
    if (!limits.permitted && fairness.policy == Policy::none) refuse("'permitted=no'");
  };
  check(fairness.everybody);
  for (const Fairness::Exception& exception : fairness.exceptions) check(exception.limits);
}

}  // namespace

std::string to_text(const Fairness& fairness) {
  const Fairness usual;
  std::string text(kFairnessWords[static_cast<std::size_t>(fairness.policy)]);
  append_limits(text, "", fairness.everybody);
  for (const auto& [party, limits] : fairness.exceptions) {
    std::string who(kPartyWords[static_cast<std::size_t>(party.kind)]);
    append_number(who, party.number);
    append_limits(text, who + ".", limits);
  }
  if (fairness.interval != usual.interval) {
    text += ",interval=";
    append_seconds(text, fairness.interval);
  }
  if (fairness.decay != usual.decay) {
    text += ",decay=";
    append_number(text, fairness.decay);
  }
  if (fairness.depth != usual.depth) {
    text += ",depth=";
    append_number(text, fairness.depth);
  }
  if (fairness.own_jobs) text += ",own=yes";
  return text;
}

Fairness parse_fairness(std::string_view text, const Place& place) {
  Fairness fairness;
  const std::string_view word = next_part(text, ',');
  const auto policy = from_word<Fairness::Policy>(kFairnessWords, word);
  if (!policy) {
    throw InputError(place, "there is no '" + std::string(word) + "'",
                     "begin with one of " + listed(kFairnessWords));
  }
  fairness.policy = *policy;
  Reader reader(place);
  while (!text.empty()) reader.item(fairness, next_part(text, ','));
  refuse_unasked(fairness, place);
  return fairness;
}

}  // namespace ductile
