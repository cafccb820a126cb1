#include "scheduling/fair_share.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.hpp"

namespace ductile {

double FairShare::share_of(std::uint32_t user) const {
  const auto at = std::ranges::lower_bound(shares, user, {}, &UserShare::user);
  return at != shares.end() && at->user == user ? at->share : 1;
}

std::vector<UserShare> parse_shares(std::string_view text, const Place& place) {
  std::vector<UserShare> shares;
  const auto fail = [&](std::string_view item) {
    throw InputError(place, "'" + std::string(item) + "' is no user's share",
                     "write like 1001:4+1002:0.5, each user once, each share above 0");
  };
  if (text == "none") return shares;
  for (std::string_view left = text; left.data() != nullptr;) {
    const std::size_t end = left.find('+');
    const std::string_view item = left.substr(0, end);
    left = end == std::string_view::npos ? std::string_view{} : left.substr(end + 1);
    std::string_view rest = item;
    const auto user = parse_number<std::uint32_t>(next_part(rest, ':'));
    const auto share = parse_number<double>(rest);
    if (!user || !share || !(*share > 0 && *share <= 1e9)) fail(item);
    const auto at = std::ranges::lower_bound(shares, *user, {}, &UserShare::user);
    if (at != shares.end() && at->user == *user) fail(item);
    shares.insert(at, {*user, *share});
  }
  return shares;
}

std::string to_text(const std::vector<UserShare>& shares) {
  if (shares.empty()) return "none";
  std::string text;
  for (const UserShare& each : shares) {
    std::string share;
    append_number(share, each.share);
    std::erase(share, '+');  // of "1e+09"
    if (!text.empty()) text += '+';
    append_number(text, each.user);
    text += ':' + share;
  }
  return text;
}

/// The integral of what is held, each moment of it faded since.
double Uses::Use::until(Time now, Duration half_life) const {
  const double passed = to_seconds(now - at);
  const auto held = static_cast<double>(nodes);
  if (half_life == Duration{}) return node_s + held * passed;
  const double rate = std::numbers::ln2 / to_seconds(half_life);
  const double lost = -std::expm1(-rate * passed);  // of what there was, 0 .. 1
  return node_s * (1 - lost) + held * lost / rate;
}

Uses::Use& Uses::use_of(std::uint32_t user, Time at) {
  const auto place = std::ranges::lower_bound(users_, user, {}, &Use::user);
  if (place != users_.end() && place->user == user) return *place;
  return *users_.insert(place, {user, 0, 0, at});
}

void Uses::change(std::uint32_t user, std::int64_t nodes, Time now, Duration half_life) {
  Use& use = use_of(user, now);
  if (now != use.at) {
    use.node_s = use.until(now, half_life);
    use.at = now;
  }
  use.nodes += nodes;
}

void Uses::restore(std::uint32_t user, double node_s, Time at) {
  use_of(user, at) = {user, 0, node_s, at};
}

void Uses::hold(std::uint32_t user, std::int64_t nodes) { use_of(user, {}).nodes += nodes; }

std::int64_t Uses::nodes_of(std::uint32_t user) const {
  const auto at = std::ranges::lower_bound(users_, user, {}, &Use::user);
  return at != users_.end() && at->user == user ? at->nodes : 0;
}

std::vector<Standing> Uses::standings(Time now, const FairShare& rules) const {
  std::vector<Standing> standings;
  standings.reserve(users_.size());
  for (const Use& use : users_) {
    const double node_s = use.until(now, rules.half_life);
    standings.push_back({use.user, node_s / rules.share_of(use.user)});
  }
  return standings;
}

std::vector<Standing> Uses::factors(Time now, const FairShare& rules,
                                    const Multifactor& how) const {
  std::vector<Standing> factors;
  factors.reserve(users_.size());
  double all_used = 0, all_shares = 0;
  for (const Use& use : users_) {
    factors.push_back({use.user, use.until(now, rules.half_life)});
    all_used += factors.back().value;
    all_shares += rules.share_of(use.user);
  }
  for (const UserShare& each : rules.shares) {
    const bool is_there = std::ranges::binary_search(users_, each.user, {}, &Use::user);
    if (!is_there) all_shares += each.share;
  }
  for (Standing& its : factors) {
    const double used = all_used > 0 ? std::clamp(its.value / all_used, 0.0, 1.0) : 0;
    its.value = fairshare_factor(how, used, rules.share_of(its.user) / all_shares);
  }
  return factors;
}

}  // namespace ductile
