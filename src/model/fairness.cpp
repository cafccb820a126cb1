#include "model/fairness.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "model/job_spec.hpp"

namespace ductile {
namespace {

constexpr double kLongest = 1e9;  // s
constexpr std::string_view kAccount = "account:";

class FairnessReader {
 public:
  explicit FairnessReader(const Place& place) : place_(place) {}

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
    } else if (const std::size_t dot = key.rfind('.'); dot != std::string_view::npos) {
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
           "use single, target, permitted, also as userNUMBER.single, groupNUMBER.single or "
           "account:NAME.single; interval, decay, depth, own");
    }
  }

  DelayLimits& limits_of(Fairness& fairness, std::string_view who) const {
    const Party party = party_of(fairness, who);
    const auto at = std::ranges::find(fairness.exceptions, party, &Fairness::Exception::party);
    if (at != fairness.exceptions.end()) return at->limits;
    fairness.exceptions.push_back({party, {}});
    return fairness.exceptions.back().limits;
  }

  Party party_of(Fairness& fairness, std::string_view who) const {
    if (who.starts_with(kAccount) && is_account_name(who.substr(kAccount.size()))) {
      Accounts accounts(fairness);
      const std::uint32_t number = accounts.number(who.substr(kAccount.size()));
      if (number > fairness.accounts.size()) fairness.accounts.push_back(accounts.name(number));
      return {Party::Kind::account, number};
    }
    for (const Party::Kind kind : {Party::Kind::user, Party::Kind::group}) {
      const std::string_view word = kPartyWords[static_cast<std::size_t>(kind)];
      if (!who.starts_with(word)) continue;
      if (const auto number = parse_number<std::uint32_t>(who.substr(word.size()))) {
        return {kind, *number};
      }
    }
    fail("'" + std::string(who) + "' is nobody", "write userNUMBER, groupNUMBER or account:NAME");
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

std::array<Party, kPartyWords.size()> parties_of(const JobSpec& job) {
  return {{{Party::Kind::user, job.user},
           {Party::Kind::group, job.group},
           {Party::Kind::account, job.account}}};
}

std::uint32_t Accounts::number(std::string_view name) {
  if (name.empty()) return 0;
  const auto at = std::ranges::find(names_, name);
  const auto place = static_cast<std::uint32_t>(at - names_.begin());
  if (at == names_.end()) names_.emplace_back(name);
  return place + 1;
}

const std::string& Accounts::name(std::uint32_t number) const {
  static const std::string none;
  return number == 0 ? none : names_.at(number - 1);
}

bool is_account_name(std::string_view name) {
  constexpr std::size_t kLongestName = 64;
  constexpr std::string_view kOthers = "_-.";
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [&](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

std::string account_name(std::string_view name, const Place& place) {
  if (!is_account_name(name)) {
    throw InputError(place, "'" + std::string(name) + "' is no name of an account",
                     "use up to 64 letters, digits, '_', '-' and '.'");
  }
  return std::string(name);
}

std::string to_text(const Fairness& fairness) {
  const Fairness usual;
  std::string text(kFairnessWords[static_cast<std::size_t>(fairness.policy)]);
  append_limits(text, "", fairness.everybody);
  for (const auto& [party, limits] : fairness.exceptions) {
    std::string who(kPartyWords[static_cast<std::size_t>(party.kind)]);
    if (party.kind == Party::Kind::account) {
      who.append(":").append(fairness.accounts.at(party.number - 1));
    } else {
      append_number(who, party.number);
    }
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
  FairnessReader reader(place);
  while (!text.empty()) reader.item(fairness, next_part(text, ','));
  refuse_unasked(fairness, place);
  return fairness;
}

}  // namespace ductile
