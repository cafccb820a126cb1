#include "workload/generate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include <fmt/format.h>

#include "base/decimal.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "workload/cirne_like.hpp"
#include "workload/downey.hpp"
#include "workload/esp.hpp"
#include "workload/lublin.hpp"
#include "workload/pi_heat.hpp"
#include "workload/poisson.hpp"

namespace ductile {
namespace {

constexpr double kMedianRuntime = 3600;  // s
constexpr double kSigma = 1;
constexpr double kMinRuntime = 60;      // s
constexpr double kMaxRuntime = 86'400;  // s
constexpr std::uint64_t kUsers = 50;
constexpr std::uint64_t kMostJobs = index(JobId::none);

// The mean of floor(e^x), x uniform in [0, ln(max_size + 1)): size n has the share
// ln((n + 1) / n) / ln(max_size + 1).
double mean_size(Nodes max_size) {
  // sum of n ln((n + 1) / n) = max_size ln(max_size + 1) - ln(max_size!)
  const double all = std::log1p(max_size);
  return max_size - std::lgamma(max_size + 1.0) / all;
}

// The mean of the clipped lognormal distribution.
double mean_runtime() {
  const auto below = [](double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); };
  const double low = std::log(kMinRuntime / kMedianRuntime) / kSigma;
  const double high = std::log(kMaxRuntime / kMedianRuntime) / kSigma;
  const double mean = kMedianRuntime * std::exp(kSigma * kSigma / 2);
  return kMinRuntime * below(low) + kMaxRuntime * below(-high) +
         mean * (below(high - kSigma) - below(low - kSigma));
}

void check(const RigidModel& model) {
  check_count_of_jobs(model.jobs);
  if (model.max_size == 0) throw InputError("max_size: is 0", "give at least 1");
  if (model.max_size > model.nodes) {
    throw InputError(fmt::format("max_size: {} is larger than the machine of {} nodes",
                                 model.max_size, model.nodes),
                     "make max_size smaller or give more nodes");
  }
  if (!(model.load > 0) || !std::isfinite(model.load)) {
    throw InputError("load: is not above 0", "0.9 is a busy machine, above 1 the queue grows");
  }
}

// "a, b, c" of things with names.
template <class Things>
std::string names_of(const Things& things) {
  std::string names;
  for (const auto& thing : things) names.append(names.empty() ? "" : ", ").append(thing.name);
  return names;
}

// What `text` says, as text() writes it.
std::string value_of(const ModelParameter& parameter, std::string_view text) {
  using Kind = ModelParameter::Kind;
  const Place place{.field = std::string(parameter.name)};
  const std::string advice = fmt::format("the default is {}", parameter.fallback);
  if (parameter.kind == Kind::text) {
    if (text.empty()) throw InputError(place, "a value is missing", advice);
    return std::string(text);
  }
  if (parameter.kind == Kind::word) {
    if (std::ranges::count(parameter.words, text) > 0) return std::string(text);
    throw InputError(place, fmt::format("there is no '{}'", text),
                     "use " + listed(parameter.words) + "; " + advice);
  }
  const bool whole = parameter.kind == Kind::whole;
  const auto value = parse_number<double>(text);
  if (!value || !(parameter.min <= *value && *value <= parameter.max) ||
      (whole && *value != std::floor(*value))) {
    throw InputError(place,
                     fmt::format("'{}' is not a {}number from {} to {}", text,
                                 whole ? "whole " : "", parameter.min, parameter.max),
                     advice);
  }
  return whole ? fmt::format("{:.0f}", *value) : fmt::format("{}", *value);
}

// ---- rigid --------------------------------------------------------------------------------------

constexpr double kMost = kMostOfModel;

constexpr std::array kRigidParameters = {
    ModelParameter{"jobs", ModelParameter::Kind::whole, "10000", 1, kMost, "", "number of jobs"},
    ModelParameter{"nodes", ModelParameter::Kind::whole, "500", 1, kMost, "nodes",
                   "size of the machine"},
    ModelParameter{"max_size", ModelParameter::Kind::whole, "64", 1, kMost, "nodes", "largest job"},
    ModelParameter{"load", ModelParameter::Kind::number, "0.9", 0.001, 1000, "",
                   "offered load: arriving work over the machine's capacity"},
};

RigidModel rigid_model(const ModelChoice& choice) {
  return {.jobs = static_cast<std::uint64_t>(choice.number("jobs")),
          .nodes = static_cast<Nodes>(choice.number("nodes")),
          .max_size = static_cast<Nodes>(choice.number("max_size")),
          .load = choice.number("load")};
}

// ---- esp ----------------------------------------------------------------------------------------

constexpr std::array kEspParameters = {
    ModelParameter{"nodes", ModelParameter::Kind::whole, "120", 1, kMost, "nodes",
                   "size of the machine; with cores for nodes, its cores"},
    ModelParameter{"unit", ModelParameter::Kind::text, "core", 0, 0, "",
                   "core: jobs grow by single nodes; node:PPN: the nodes are cores, PPN on each "
                   "host, and jobs have as many on each of their hosts"},
    ModelParameter{"round", ModelParameter::Kind::word, "auto", 0, 0, "",
                   "how the sizes are rounded; auto: up, with constraints=003 to the nearest",
                   kEspRoundWords},
    ModelParameter{"constraints", ModelParameter::Kind::word, "none", 0, 0, "",
                   "which sizes malleable jobs can have: any, or by type as in paper 003",
                   kEspConstraintsWords},
    ModelParameter{"min", ModelParameter::Kind::word, "size", 0, 0, "",
                   "smallest size of malleable jobs: that which they ask for, or the smallest of "
                   "their constraint",
                   kEspMinWords},
    ModelParameter{"mode", ModelParameter::Kind::word, "uniform30", 0, 0, "",
                   "when jobs are submitted", kEspModeWords},
    ModelParameter{
        "premium", ModelParameter::Kind::word, "auto", 0, 0, "",
        "what jobs of type Z do in esp2 and esp1_multimode: barrier, nothing else starts "
        "while one waits; priority, they are first in the queue; auto: as the mode says",
        kEspPremiumWords},
    ModelParameter{"gap", ModelParameter::Kind::number, "30", 0, 1e6, "s",
                   "between submissions (uniform30, esp2)"},
    ModelParameter{"malleable", ModelParameter::Kind::text, "none", 0, 0, "",
                   "types of malleable jobs, as FGH; a share of the jobs; none or all"},
    ModelParameter{"evolving", ModelParameter::Kind::text, "none", 0, 0, "",
                   "the same of jobs that ask for more"},
    ModelParameter{"pick", ModelParameter::Kind::word, "random", 0, 0, "",
                   "which types make a share: random, any that come within 2 % of the jobs, drawn "
                   "for each seed; longest: those that come nearest, of these the longest; jobs: "
                   "no types, malleable jobs are drawn one by one",
                   kEspPickWords},
    ModelParameter{
        "max", ModelParameter::Kind::text, "machine", 0, 0, "",
        "largest size of malleable jobs: machine, or so many times their size; or as large "
        "as their constraint lets them be, which is the same as machine"},
    ModelParameter{
        "serial", ModelParameter::Kind::text, "0", 0, 0, "",
        "serial share of the work of malleable jobs, by Amdahl's law: a number, or A..B, "
        "uniform; 0: linear"},
    ModelParameter{"ask", ModelParameter::Kind::text, "auto", 0, 0, "nodes",
                   "how many more evolving jobs ask for; auto: 1/32 of the machine"},
    ModelParameter{"evolving_mode", ModelParameter::Kind::word, "table", 0, 0, "",
                   "the run time after a grant: table, that of the table; progress: what is left "
                   "takes less time",
                   kEspRunTimeWords},
};

EspModel esp_model(const ModelChoice& choice) {
  EspModel model{.nodes = static_cast<Nodes>(choice.number("nodes")),
                 .cores_per_host = parse_esp_unit(choice.value("unit")),
                 .round = static_cast<EspModel::Round>(choice.word("round")),
                 .mode = static_cast<EspModel::Mode>(choice.word("mode")),
                 .premium = static_cast<EspModel::Premium>(choice.word("premium")),
                 .gap = seconds(choice.number("gap")),
                 .malleable = parse_esp_types("malleable", choice.value("malleable")),
                 .evolving = parse_esp_types("evolving", choice.value("evolving")),
                 .pick = static_cast<EspModel::Pick>(choice.word("pick")),
                 .constraints = static_cast<EspModel::Constraints>(choice.word("constraints")),
                 .min = static_cast<EspModel::Min>(choice.word("min")),
                 .run_time = static_cast<EspModel::RunTime>(choice.word("evolving_mode"))};
  if (const std::string& max = choice.value("max"); max != "machine" && max != "constraint") {
    model.max = Decimal::parse(max);
    if (!model.max || *model.max < Decimal(1) || Decimal(kMost) < *model.max) {
      throw InputError({.field = "max"}, fmt::format("'{}' is no factor from 1 on", max),
                       "write a factor of the size, machine, or constraint");
    }
  }
  const std::string& serial = choice.value("serial");
  const std::size_t dots = serial.find("..");
  const auto least = parse_number<double>(std::string_view(serial).substr(0, dots));
  const auto most = dots == std::string::npos
                        ? least
                        : parse_number<double>(std::string_view(serial).substr(dots + 2));
  if (!least || !most || *least < 0 || *most < *least || *most > 1) {
    throw InputError({.field = "serial"}, fmt::format("'{}' is no share of the work", serial),
                     "write a number from 0 to 1, or A..B");
  }
  model.least_serial = *least;
  model.most_serial = *most;
  constexpr Nodes kMostAsked = 1'000'000'000;
  if (const std::string& ask = choice.value("ask"); ask != "auto") {
    model.ask = parse_number<Nodes>(ask);
    if (!model.ask || *model.ask == 0 || *model.ask > kMostAsked) {
      throw InputError({.field = "ask"}, fmt::format("'{}' is no number of nodes", ask),
                       "write a whole number from 1 on, or auto");
    }
  }
  return model;
}

// ---- pi_heat ------------------------------------------------------------------------------------

constexpr std::array kPiHeatParameters = {
    ModelParameter{"jobs", ModelParameter::Kind::whole, "20", 1, kMost, "", "number of jobs"},
    ModelParameter{"nodes", ModelParameter::Kind::whole, "14", 1, kMost, "nodes",
                   "size of the machine, and the largest one of elastic jobs"},
    ModelParameter{"max_size", ModelParameter::Kind::whole, "4", 1, kMost, "nodes",
                   "largest size that is asked for; uniform from 1 on"},
    ModelParameter{"gap", ModelParameter::Kind::number, "2", 0, 1e6, "s", "between submissions"},
    ModelParameter{"min_runtime", ModelParameter::Kind::whole, "120", 1, 1e8, "s",
                   "shortest run time at the size asked for; uniform"},
    ModelParameter{"max_runtime", ModelParameter::Kind::whole, "600", 1, 1e8, "s", "longest one"},
    ModelParameter{"pi", ModelParameter::Kind::number, "170", 0, 1e6, "W",
                   "what a node draws that computes Pi: jobs 1, 3, ..."},
    ModelParameter{"heat", ModelParameter::Kind::number, "250", 0, 1e6, "W",
                   "what a node draws that computes heat: jobs 2, 4, ..."},
    ModelParameter{"rigid", ModelParameter::Kind::number, "0", 0, 1, "",
                   "share of jobs that are rigid"},
};

PiHeatModel pi_heat_model(const ModelChoice& choice) {
  return {.jobs = static_cast<std::uint64_t>(choice.number("jobs")),
          .nodes = static_cast<Nodes>(choice.number("nodes")),
          .max_size = static_cast<Nodes>(choice.number("max_size")),
          .gap = seconds(choice.number("gap")),
          .min_runtime_s = static_cast<std::int64_t>(choice.number("min_runtime")),
          .max_runtime_s = static_cast<std::int64_t>(choice.number("max_runtime")),
          .pi_w = choice.number("pi"),
          .heat_w = choice.number("heat"),
          .rigid = choice.number("rigid")};
}

const std::array kModels = {
    WorkloadModel{"rigid",
                  "rigid jobs: sizes log-uniform, run times lognormal (median 3600 s, sigma 1), "
                  "exponential arrivals, walltime 1.5 times the run time",
                  kRigidParameters,
                  [](const ModelChoice& choice) { return rigid_model(choice).jobs; },
                  [](const ModelChoice& choice) {
                    check(rigid_model(choice));
                    return std::string();
                  },
                  [](const ModelChoice& choice, std::uint64_t seed) {
                    return generate_rigid(rigid_model(choice), seed);
                  }},
    WorkloadModel{"esp",
                  "the benchmark ESP: 230 jobs of 14 types in a random order; malleable and "
                  "evolving ones as in Prabhakaran et al. 2015",
                  kEspParameters, [](const ModelChoice&) { return kEspJobs; },
                  [](const ModelChoice& choice) { return esp_remark(esp_model(choice)); },
                  [](const ModelChoice& choice, std::uint64_t seed) {
                    return generate_esp(esp_model(choice), seed);
                  }},
    WorkloadModel{"pi_heat",
                  "elastic jobs that draw little power and much by turns, as in the power "
                  "experiments of Chadha et al. 2020",
                  kPiHeatParameters,
                  [](const ModelChoice& choice) { return pi_heat_model(choice).jobs; },
                  [](const ModelChoice& choice) {
                    PiHeatModel first = pi_heat_model(choice);
                    first.jobs = 1;
                    generate_pi_heat(first, 1);  // throws what it does not like
                    return std::string();
                  },
                  [](const ModelChoice& choice, std::uint64_t seed) {
                    return generate_pi_heat(pi_heat_model(choice), seed);
                  }},
    lublin_model(),
    downey_model(),
    cirne_like_model(),
    poisson_model(),
};

}  // namespace

void check_count_of_jobs(std::uint64_t jobs) {
  if (jobs >= kMostJobs) throw InputError("jobs: more than 2^32 - 2", "ask for fewer");
}

Workload generate_rigid(const RigidModel& model, std::uint64_t seed) {
  check(model);
  Workload workload;
  workload.name = "rigid";
  workload.jobs.reserve(model.jobs);
  const double interarrival =
      mean_size(model.max_size) * mean_runtime() / (model.load * model.nodes);  // s
  const double sizes = std::log1p(model.max_size);
  Duration now{};
  for (std::uint64_t i = 1; i <= model.jobs; ++i) {
    Draws draws(seed, Stream::workload, i);
    WorkloadJob job;
    job.name = i;
    now += seconds(draws.exponential(interarrival));
    job.submit = Time{std::chrono::floor<std::chrono::seconds>(now)};
    job.nodes =
        std::clamp(static_cast<Nodes>(std::exp(draws.uniform() * sizes)), Nodes{1}, model.max_size);
    const double runtime = kMedianRuntime * std::exp(kSigma * draws.normal());
    const std::int64_t whole = std::llround(std::clamp(runtime, kMinRuntime, kMaxRuntime));
    job.runtime = whole_seconds(whole);
    job.walltime = whole_seconds((3 * whole + 1) / 2);
    job.user = static_cast<std::uint32_t>(1 + draws.below(kUsers));
    job.group = 1;
    workload.jobs.push_back(job);
  }
  return workload;
}

std::span<const WorkloadModel> workload_models() { return kModels; }

const std::string& ModelChoice::value(std::string_view name) const {
  const auto parameter = std::ranges::find(model->parameters, name, &ModelParameter::name);
  return values.at(static_cast<std::size_t>(parameter - model->parameters.begin()));
}

double ModelChoice::number(std::string_view name) const {
  return parse_number<double>(value(name)).value();
}

std::optional<double> ModelChoice::number_or(std::string_view none, std::string_view name,
                                             double min, double max) const {
  const std::string& text = value(name);
  if (text == none) return std::nullopt;
  const auto number = parse_number<double>(text);
  if (!number || !(min <= *number && *number <= max)) {
    throw InputError({.field = std::string(name)},
                     fmt::format("'{}' is not a number from {} to {}, or {}", text, min, max, none),
                     "correct it");
  }
  return number;
}

std::size_t ModelChoice::word(std::string_view name) const {
  const auto parameter = std::ranges::find(model->parameters, name, &ModelParameter::name);
  const auto word = std::ranges::find(parameter->words, value(name));
  return static_cast<std::size_t>(word - parameter->words.begin());
}

std::string ModelChoice::text() const {
  std::string result(model->name);
  char separator = ':';
  for (std::size_t i = 0; i < values.size(); ++i) {
    result += fmt::format("{}{}={}", separator, model->parameters[i].name, values[i]);
    separator = ',';
  }
  return result;
}

ModelChoice parse_model(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto model = std::ranges::find(kModels, name, &WorkloadModel::name);
  if (model == kModels.end()) {
    throw InputError(fmt::format("there is no workload model '{}'", name),
                     fmt::format("there are: {}", names_of(kModels)));
  }
  ModelChoice choice{&*model, {}};
  for (const ModelParameter& parameter : model->parameters) {
    choice.values.emplace_back(parameter.fallback);
  }
  std::vector<bool> given(choice.values.size());
  std::string_view rest = text.substr(std::min(name.size() + 1, text.size()));
  while (!rest.empty()) {
    const std::string_view setting = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(setting.size() + 1, rest.size()));
    const std::string_view key = setting.substr(0, setting.find('='));
    const auto parameter = std::ranges::find(model->parameters, key, &ModelParameter::name);
    if (parameter == model->parameters.end()) {
      throw InputError({.field = std::string(name)}, fmt::format("has no parameter '{}'", key),
                       fmt::format("it has: {}", names_of(model->parameters)));
    }
    const auto position = static_cast<std::size_t>(parameter - model->parameters.begin());
    if (given[position]) {
      throw InputError({.field = std::string(name)}, fmt::format("'{}' is given twice", key),
                       "give it once");
    }
    given[position] = true;
    choice.values[position] =
        value_of(*parameter, setting.substr(std::min(key.size() + 1, setting.size())));
  }
  return choice;
}

ModelChoice parse_model(std::string text, std::uint64_t jobs, Nodes nodes) {
  const auto set = [&](const char* name, std::uint64_t value) {
    if (value == 0) return;
    text += fmt::format("{}{}={}", text.find(':') == std::string::npos ? ":" : ",", name, value);
  };
  set("jobs", jobs);
  set("nodes", nodes);
  return parse_model(text);
}

}  // namespace ductile
