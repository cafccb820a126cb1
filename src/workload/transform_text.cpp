#include "workload/transform_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/decimal.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

// "key=value,..." of an option: each key is taken once, and in the end none may be left.
class Settings {
 public:
  Settings(const std::string& option, std::string_view text) : option_(option) {
    while (!text.empty()) {
      const std::string_view item = next_part(text, ',');
      const std::string_view key = item.substr(0, item.find('='));
      if (key.size() + 1 >= item.size()) {
        throw InputError(place(key), "a value is missing", fmt::format("write {}=VALUE", key));
      }
      if (std::ranges::count(items_, key, &Item::first) > 0) {
        throw InputError(place(key), "given twice", "give it once");
      }
      items_.emplace_back(key, item.substr(key.size() + 1));
    }
  }

  Place place(std::string_view key) const { return {.field = fmt::format("{}: {}", option_, key)}; }

  bool has(std::string_view key) const { return std::ranges::count(items_, key, &Item::first) > 0; }

  std::optional<std::string_view> take(std::string_view key) {
    known_.push_back(key);
    const auto item = std::ranges::find(items_, key, &Item::first);
    if (item == items_.end()) return std::nullopt;
    const std::string_view value = item->second;
    items_.erase(item);
    return value;
  }

  double number(std::string_view key, double fallback, double min, double max) {
    const auto text = take(key);
    return text ? number_of(key, *text, min, max) : fallback;
  }

  Decimal decimal(std::string_view key, const Decimal& fallback, double min, double max) {
    const auto text = take(key);
    if (!text) return fallback;
    const auto value = Decimal::parse(*text);
    if (value && Decimal(min) <= *value && *value <= Decimal(max)) return *value;
    number_of(key, *text, min, max);
    throw InputError(place(key), fmt::format("'{}' has too many digits", *text),
                     fmt::format("write at most {}", Decimal::kMostDigits));
  }

  // "0.1" or "0.1..0.2"
  RandomValue spread(std::string_view key, RandomValue fallback, double min, double max) {
    const auto text = take(key);
    return text ? spread_of(key, *text, min, max) : fallback;
  }

  RandomValue spread_of(std::string_view key, std::string_view text, double min, double max) const {
    const std::size_t dots = text.find("..");
    const double low = number_of(key, text.substr(0, dots), min, max);
    if (dots == std::string_view::npos) return always(low);
    const double high = number_of(key, text.substr(dots + 2), min, max);
    if (high < low) {
      throw InputError(place(key), fmt::format("'{}' is empty", text), "write LEAST..MOST");
    }
    return uniform(low, high);
  }

  template <class Enum, std::size_t Size>
  Enum choice(std::string_view key, const std::array<std::string_view, Size>& words,
              Enum fallback) {
    const auto text = take(key);
    if (!text) return fallback;
    const auto value = from_word<Enum>(words, *text);
    if (!value) {
      throw InputError(place(key), fmt::format("there is no '{}'", *text), "use " + listed(words));
    }
    return *value;
  }

  void finish() const {
    if (items_.empty()) return;
    throw InputError({.field = option_}, fmt::format("there is no '{}'", items_.front().first),
                     "there are " + listed(known_));
  }

 private:
  using Item = std::pair<std::string_view, std::string_view>;

  double number_of(std::string_view key, std::string_view text, double min, double max) const {
    const auto value = parse_number<double>(text);
    if (!value || !(min <= *value && *value <= max)) {
      throw InputError(place(key), fmt::format("'{}' is no number from {} to {}", text, min, max),
                       "correct it");
    }
    return *value;
  }

  const std::string& option_;
  std::vector<Item> items_;
  std::vector<std::string_view> known_;
};

// The bands of scalability of "Performance-driven scheduling for malleable workloads", J.
// Supercomputing 2024: high, medium, low, and all of them.
std::optional<RandomValue> band(std::string_view word) {
  using Kind = RandomValue::Kind;
  if (word == "HS") return RandomValue{Kind::normal, 0, 0.1};
  if (word == "MS") return RandomValue{Kind::normal, 0.1, 0.2};
  if (word == "LS") return RandomValue{Kind::normal, 0.2, 0.3};
  if (word == "SM") return RandomValue{Kind::mixed, 0, 0.3};
  return std::nullopt;
}

// The key of a kind's parameter, and its range.
struct ParameterKey {
  Speedup::Kind kind;
  std::string_view key, error_key;
  double max;
};
constexpr std::array<ParameterKey, 4> kParameterKeys{{
    {Speedup::Kind::powerlaw, "rho", "rho_error", 1},
    {Speedup::Kind::amdahl, "s", "s_error", 1},
    {Speedup::Kind::overhead, "x", "x_error", 1},
    {Speedup::Kind::downey, "A", "A_error", 1e6},
}};
constexpr ParameterKey kSigmaKey{Speedup::Kind::downey, "sigma", "sigma_error", 1e6};

ErrorIn read_error_in(Settings& settings) {
  return settings.choice("error_in", std::array<std::string_view, 2>{"truth", "belief"},
                         ErrorIn::truth);
}

// The error of a parameter that comes from `drawn`: together they have to be possible, too.
RandomValue read_error(Settings& settings, const ParameterKey& parameter,
                       const ModelSettings& model, const RandomValue& drawn) {
  const bool given = settings.has(parameter.error_key);
  const RandomValue error =
      settings.spread(parameter.error_key, always(0), -parameter.max, parameter.max);
  if (given && (model.base.kind != parameter.kind || drawn.low + error.low < 0 ||
                drawn.high + error.high > parameter.max)) {
    throw InputError(settings.place(parameter.error_key),
                     fmt::format("the {} {} would not be from 0 to {}",
                                 model.error_in == ErrorIn::truth ? "true" : "believed",
                                 parameter.key, parameter.max),
                     fmt::format("it is {} + error; give both", parameter.key));
  }
  return error;
}

ModelSettings read_model(Settings& settings) {
  using Kind = Speedup::Kind;
  ModelSettings model;
  const auto text = settings.take("model");
  const bool complete = text && (text->find(':') != std::string_view::npos || *text == "linear");
  if (complete) {
    model.base = parse_speedup(*text, settings.place("model"));
  } else if (text) {
    const auto kind = from_word<Kind>(kSpeedupWords, *text);
    if (!kind || *kind == Kind::table) model.base = parse_speedup(*text, settings.place("model"));
    model.base.kind = *kind;
  }
  bool named = text.has_value();
  for (const ParameterKey& parameter : kParameterKeys) {
    const auto value = settings.take(parameter.key);
    if (!value) continue;
    if (complete || (named && model.base.kind != parameter.kind)) {
      throw InputError(settings.place(parameter.key),
                       fmt::format("does not go with the model {}", to_text(model.base)),
                       "leave one of them away");
    }
    named = true;
    model.base.kind = parameter.kind;
    const auto of_band = parameter.kind == Kind::powerlaw ? band(*value) : std::nullopt;
    model.parameter =
        of_band ? of_band : settings.spread_of(parameter.key, *value, 0, parameter.max);
  }
  model.sigma = settings.spread(kSigmaKey.key, model.sigma, 0, kSigmaKey.max);
  model.error_in = read_error_in(settings);
  for (const ParameterKey& parameter : kParameterKeys) {
    if (parameter.kind == model.base.kind && !complete && !model.parameter) {
      // The papers give a default for one model only (Lina, Ghafoor and Hines, JSSPP 2022).
      if (parameter.kind != Kind::overhead) {
        throw InputError(
            settings.place("model"), fmt::format("'{}' needs its {}", *text, parameter.key),
            fmt::format("write {}=NUMBER or {}=LEAST..MOST", parameter.key, parameter.key));
      }
      model.parameter = uniform(0.005, 0.01);
    }
    const RandomValue error = read_error(settings, parameter, model,
                                         model.parameter.value_or(always(model.base.parameter)));
    if (parameter.kind == model.base.kind) model.error = error;
  }
  model.sigma_error = read_error(settings, kSigmaKey, model,
                                 model.parameter ? model.sigma : always(model.base.sigma));
  model.time_error = settings.spread("time_error", model.time_error, 1e-3, 1e3);
  model.reference = settings.choice("rho_reference", std::array<std::string_view, 2>{"one", "pref"},
                                    ModelSettings::Reference::one);
  return model;
}

// What comes after "SHARE:".
AdaptiveShare read_share(Settings& settings, double how_many) {
  AdaptiveShare share;
  share.share = how_many;
  share.min = settings.decimal("min", share.min, 0, 1);
  share.max = settings.decimal("max", share.max, 1, 1e9);
  share.model = read_model(settings);
  if (const auto text = settings.take("constraint")) {
    share.constraint = parse_constraint(*text, settings.place("constraint"));
  }
  share.walltime_factor = settings.spread("walltime_factor", share.walltime_factor, 1e-3, 1e3);
  share.scale_rigid = settings.choice("rigid", std::array<std::string_view, 2>{"trace", "scaled"},
                                      std::size_t{1}) != 0;
  return share;
}

// Takes "SHARE" or "SHARE:" from the front of `text`.
double read_how_many(const std::string& option, std::string_view& text) {
  const std::string_view number = next_part(text, ':');
  const auto share = parse_number<double>(number);
  if (!share || !(0 <= *share && *share <= 1)) {
    throw InputError({.field = option}, fmt::format("'{}' is no share from 0 to 1", number),
                     "write SHARE[:key=value,...], as 0.4:max=4");
  }
  return *share;
}

// The time that a node needs to send the data, if costs are told in bytes; else 0.
double read_transfer(Settings& settings) {
  constexpr double kData_gb = 10, kBandwidth_gb_s = 12.5;  // 100 Gbit/s
  constexpr double kLeast = 1e-3, kMost = 1e3;
  enum class Mode : std::uint8_t { seconds, bytes };
  const Mode mode = settings.choice(
      "overhead_mode", std::array<std::string_view, 2>{"seconds", "bytes"}, Mode::seconds);
  for (const std::string_view key : {"data_gb", "bandwidth_gb_s"}) {
    if (mode == Mode::seconds && settings.has(key)) {
      throw InputError(settings.place(key), "does not go with costs in seconds",
                       "add overhead_mode=bytes");
    }
  }
  const double data_gb = settings.number("data_gb", kData_gb, kLeast, kMost);
  const double bandwidth_gb_s = settings.number("bandwidth_gb_s", kBandwidth_gb_s, kLeast, kMost);
  return mode == Mode::bytes ? data_gb / bandwidth_gb_s : 0;
}

}  // namespace

AdaptiveShare parse_share(const std::string& option, std::string_view text) {
  const double how_many = read_how_many(option, text);
  Settings settings(option, text);
  AdaptiveShare share = read_share(settings, how_many);
  settings.finish();
  return share;
}

AdaptiveShare parse_evolving(const std::string& option, std::string_view text,
                             EvolvingSettings& requests) {
  const double how_many = read_how_many(option, text);
  Settings settings(option, text);
  AdaptiveShare share = read_share(settings, how_many);

  constexpr double kMostRequests = 1000;
  if (const auto count = settings.take("count")) {
    const RandomValue whole = settings.spread_of("count", *count, 0, kMostRequests);
    if (whole.low != std::floor(whole.low) || whole.high != std::floor(whole.high)) {
      throw InputError(settings.place("count"), fmt::format("'{}' is not whole", *count),
                       "write N or LEAST..MOST");
    }
    requests.count = uniform(whole.low, whole.high + 1);
  }
  requests.expand = settings.number("expand", requests.expand, 0, 1);
  requests.left = settings.spread("left", requests.left, 0, 1);
  requests.window = settings.choice(
      "window", std::array<std::string_view, 2>{"remaining", "absolute"}, requests.window);
  requests.delta_max = settings.decimal("delta_max", requests.delta_max, 0, 1e6);
  requests.overlap = settings.choice(
      "overlap", std::array<std::string_view, 3>{"least", "random", "most"}, requests.overlap);
  settings.finish();
  return share;
}

ReconfigurationSettings parse_reconfiguration(const std::string& option, std::string_view text) {
  const std::string_view word = next_part(text, ':');
  constexpr std::array<std::string_view, 3> kWords{"full", "half", "free"};
  const auto level = from_word<std::size_t>(kWords, word);
  if (!level) {
    throw InputError({.field = option}, fmt::format("there is no '{}'", word),
                     "use " + listed(kWords));
  }
  ReconfigurationSettings cost;
  cost.scale = std::array{1.0, 0.5, 0.0}[*level];
  Settings settings(option, text);
  constexpr double kMost = 1e5;
  cost.alpha_s = settings.spread("alpha", cost.alpha_s, 0, kMost);
  cost.beta_s = settings.spread("beta", cost.beta_s, 0, kMost);
  cost.b_s = settings.spread("b", cost.b_s, 0, kMost);
  cost.sync_s = settings.spread("sync", cost.sync_s, 0, kMost);
  cost.negotiation_s = settings.spread("negotiation", cost.negotiation_s, 0, kMost);
  cost.transfer_s = read_transfer(settings);
  cost.error = settings.spread("error", cost.error, 0, 1000);
  cost.error_in = read_error_in(settings);
  settings.finish();
  constexpr double kMostFixed = 1e6;  // as files may say
  if ((cost.sync_s.high + cost.negotiation_s.high) * cost.error.high > kMostFixed) {
    throw InputError(settings.place("error"), "makes a resize cost more than 10^6 s",
                     "give less for sync, negotiation or error");
  }
  return cost;
}

EstimateSettings parse_estimates(const std::string& option, std::string_view text) {
  using Kind = EstimateSettings::Kind;
  if (text == "requested") return {Kind::requested};
  if (text == "perfect") return {Kind::perfect};
  if (text == "menu") return {Kind::menu};
  if (text == "predicted") return {Kind::predicted};
  if (text.starts_with("f:")) {
    const auto f = parse_number<double>(text.substr(2));
    constexpr double kMost = 1e6;
    if (f && 0 <= *f && *f <= kMost) return {Kind::factor, *f};
  }
  throw InputError({.field = option}, fmt::format("there is no '{}'", text),
                   "use requested, perfect, f:F with F from 0 on, menu or predicted");
}

BoundShares parse_bounds(const std::string& option, std::string_view text) {
  BoundShares shares;
  std::array<bool, kBoundWords.size()> is_named{};
  double sum = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view share = next_part(rest, ',');
    const std::string_view word = next_part(share, ':');
    const auto bound = from_word<std::size_t>(kBoundWords, word);
    if (!bound) {
      throw InputError({.field = option}, fmt::format("there is no '{}'", word),
                       "use " + listed(kBoundWords));
    }
    const auto number = parse_number<double>(share);
    if (!number || !(0 <= *number && *number <= 1) || is_named[*bound]) {
      throw InputError(
          {.field = option},
          fmt::format("{}: '{}' is no share from 0 to 1, or the second one", word, share),
          "name each once, as compute:0.3,memory:0.3,mixed:0.4");
    }
    is_named[*bound] = true;
    sum += shares.of[*bound] = *number;
  }
  constexpr double kNear = 1e-9;  // as decimals they may be 1
  if (std::abs(sum - 1) > kNear) {
    throw InputError({.field = option}, fmt::format("the shares are {} together", sum),
                     "let them be 1, as compute:0.3,memory:0.3,mixed:0.4");
  }
  return shares;
}

FlurrySettings parse_flurry(const std::string& option, std::string_view text) {
  constexpr double kMostJobs = 4e9, kMostDays = 10'000, kDay = 86'400, kLeast = 1e-5;
  FlurrySettings flurry;
  Settings settings(option, text);
  const double jobs = settings.number("jobs", static_cast<double>(flurry.jobs), 1, kMostJobs);
  flurry.jobs = static_cast<std::uint64_t>(std::ceil(jobs));
  flurry.share = settings.number("share", flurry.share, 0, 1);
  flurry.window =
      seconds(kDay * settings.number("days", to_seconds(flurry.window) / kDay, kLeast, kMostDays));
  settings.finish();
  return flurry;
}

}  // namespace ductile
