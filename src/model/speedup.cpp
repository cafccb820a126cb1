#include "model/speedup.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "model/contention.hpp"

namespace ductile {
namespace {

// Nodes at which the linear model would be as fast as this one is at n.
double effective_nodes(const Speedup& speedup, Nodes preferred, Nodes n) {
  return preferred / speedup.relative_time(n, preferred);
}

// A whole number over another one, rounded half up.
Work shared(Work left, std::uint64_t n) {
  const auto narrow = static_cast<std::uint64_t>(left);
  if (narrow != left) return (2 * left + n) / (Work{2} * n);
  const std::uint64_t rest = narrow % n;  // 64 bits are divided much faster than 128
  return narrow / n + (2 * rest >= n ? 1 : 0);
}

// t(n) of a table, which has at least one point.
double measured(std::span<const TimeAt> times, Nodes n) {
  const auto above = std::ranges::lower_bound(times, n, {}, &TimeAt::nodes);
  if (above == times.end()) return times.back().time;
  if (above->nodes == n) return above->time;
  if (above == times.begin()) return above->time * above->nodes / n;
  const TimeAt& below = *(above - 1);
  const double share = std::log(static_cast<double>(n) / below.nodes) /
                       std::log(static_cast<double>(above->nodes) / below.nodes);
  return below.time * std::pow(above->time / below.time, share);
}

}  // namespace

double Speedup::curved_relative_time(Nodes n, Nodes reference) const {
  const double ratio = static_cast<double>(reference) / n;
  switch (kind) {
    case Kind::linear:
      return ratio;
    case Kind::powerlaw:
      return std::pow(ratio, 1 - parameter);
    case Kind::amdahl:
      return (parameter + (1 - parameter) / n) / (parameter + (1 - parameter) / reference);
    case Kind::overhead:
      return (1 - parameter) * ratio + parameter / ratio;
    case Kind::downey:
      return downey_speedup(reference, parameter, sigma) / downey_speedup(n, parameter, sigma);
    case Kind::table:
      return measured(times.rows(), n) / measured(times.rows(), reference);
  }
  return ratio;
}

double downey_speedup(double n, double a, double sigma) {
  if (sigma <= 1) {
    if (n >= 2 * a - 1) return a;
    if (n <= a) return a * n / (a + sigma * (n - 1) / 2);
    return a * n / (sigma * (a - 0.5) + n * (1 - sigma / 2));
  }
  if (n >= a + a * sigma - sigma) return a;
  return n * a * (sigma + 1) / (sigma * (n + a - 1) + a);
}

std::string to_text(const Speedup& speedup) {
  using Kind = Speedup::Kind;
  std::string text(kSpeedupWords[static_cast<std::size_t>(speedup.kind)]);
  const auto add = [&](auto number, char separator = ':') {
    text += separator;
    append_number(text, number);
  };
  if (speedup.kind != Kind::linear && speedup.kind != Kind::table) add(speedup.parameter);
  if (speedup.kind == Kind::downey) add(speedup.sigma);
  for (const TimeAt& point : speedup.times.rows()) {
    add(point.nodes);
    add(point.time, '=');
  }
  return text;
}

Speedup parse_speedup(std::string_view text, const Place& place) {
  using Kind = Speedup::Kind;
  constexpr double kMostNumber = 1e12;
  constexpr const char* kForms =
      "use linear, powerlaw:RHO, amdahl:S, overhead:X, downey:A:SIGMA or table:N=TIME:N=TIME:...";
  const auto fail = [&](const std::string& what) { throw InputError(place, what, kForms); };

  std::string_view rest = text;
  const std::string_view word = next_part(rest, ':');
  const auto kind = from_word<Kind>(kSpeedupWords, word);
  if (!kind) fail("there is no model '" + std::string(word) + "'");
  bool more = word.size() < text.size();  // a part follows, though it may be empty
  const auto part = [&] {
    if (!more) fail("'" + std::string(text) + "' lacks a parameter");
    more = rest.find(':') != std::string_view::npos;
    return next_part(rest, ':');
  };
  const auto number = [&](std::string_view digits, double min, double max) {
    const auto value = parse_number<double>(digits);
    if (!value || !(min <= *value && *value <= max)) {
      std::string range = "' is no number from ";
      append_number(range, min);
      range += " to ";
      append_number(range, max);
      fail("'" + std::string(digits) + range);
    }
    return *value;
  };

  Speedup speedup{.kind = *kind};
  switch (*kind) {
    case Kind::linear:
      break;
    case Kind::powerlaw:
    case Kind::amdahl:
    case Kind::overhead:
      speedup.parameter = number(part(), 0, 1);
      break;
    case Kind::downey:
      speedup.parameter = number(part(), 1, kMostNumber);
      speedup.sigma = number(part(), 0, kMostNumber);
      break;
    case Kind::table: {
      std::vector<TimeAt> times;
      do {
        std::string_view time = part();
        const std::string_view size = next_part(time, '=');
        const auto nodes = parse_number<Nodes>(size);
        if (!nodes || *nodes == 0) fail("'" + std::string(size) + "' is no number of nodes");
        if (!times.empty() && times.back().nodes >= *nodes) fail("the sizes do not ascend");
        times.push_back({*nodes, number(time, 1 / kMostNumber, kMostNumber)});
      } while (more);
      speedup.times = SharedList(std::move(times));
      break;
    }
  }
  if (more) fail("'" + std::string(text) + "' has a parameter too much");
  return speedup;
}

namespace {

// Work of so many microseconds, if that is a whole number; else no work.
struct WholeRate {
  std::uint64_t work = 0;
  std::uint64_t ticks = 1;
};

WholeRate whole_rate(const Speedup& speedup, Nodes preferred, const Crew& crew) {
  if (speedup.kind != Speedup::Kind::linear && crew.nodes != preferred) return {};
  const std::uint64_t all = std::uint64_t{crew.nodes} * crew.cores;
  if (crew.pace.has == crew.pace.of) return {all};
  if (crew.pace.of == all) return {crew.pace.has};
  if (crew.pace.of == all * kPerMille) return {crew.pace.has, kPerMille};
  return {};
}

double rate(const Speedup& speedup, Nodes preferred, const Crew& crew) {
  return effective_nodes(speedup, preferred, crew.nodes) * crew.cores * crew.pace.share();
}

}  // namespace

Work work_done(const Speedup& speedup, Nodes preferred, const Crew& crew, Duration time) {
  const auto [work, ticks] = whole_rate(speedup, preferred, crew);
  if (ticks == 1 && work > 0) return Work{work} * time.count();
  if (work > 0) return shared(Work{work} * time.count(), ticks);
  return rounded(rate(speedup, preferred, crew) * static_cast<double>(time.count()));
}

Duration time_for(const Speedup& speedup, Nodes preferred, const Crew& crew, Work left) {
  constexpr Work kMost = Work{1} << 62;
  left = std::max(left, Work{0});
  const auto [work, ticks] = whole_rate(speedup, preferred, crew);
  const Work its = work > 0 ? shared(left * ticks, work)
                            : rounded(static_cast<double>(left) / rate(speedup, preferred, crew));
  return Duration{static_cast<std::int64_t>(std::clamp(its, Work{1}, kMost))};
}

}  // namespace ductile
