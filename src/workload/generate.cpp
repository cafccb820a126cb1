#include "workload/generate.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <system_error>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/random.hpp"

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
  if (model.jobs >= kMostJobs) throw InputError("jobs: more than 2^32 - 2", "ask for fewer");
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

double value_of(const ModelParameter& parameter, std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  const bool number = error == std::errc{} && next == end;
  if (!number || !(parameter.min <= value && value <= parameter.max) ||
      (parameter.whole && value != std::floor(value))) {
    throw InputError({.field = std::string(parameter.name)},
                     fmt::format("'{}' is not a {}number from {} to {}", text,
                                 parameter.whole ? "whole " : "", parameter.min, parameter.max),
                     fmt::format("the default is {}", parameter.fallback));
  }
  return value;
}

constexpr std::array kRigidParameters = {
    ModelParameter{"jobs", 10'000, 1, 4e9, true, "", "number of jobs"},
    ModelParameter{"nodes", 500, 1, 4e9, true, "nodes", "size of the machine"},
    ModelParameter{"max_size", 64, 1, 4e9, true, "nodes", "largest job"},
    ModelParameter{"load", 0.90, 0.001, 1000, false, "",
                   "offered load: arriving work over the machine's capacity"},
};

Workload generate_rigid_from(std::span<const double> values, std::uint64_t seed) {
  return generate_rigid({.jobs = static_cast<std::uint64_t>(values[0]),
                         .nodes = static_cast<Nodes>(values[1]),
                         .max_size = static_cast<Nodes>(values[2]),
                         .load = values[3]},
                        seed);
}

constexpr std::array kModels = {
    WorkloadModel{"rigid",
                  "rigid jobs: sizes log-uniform, run times lognormal (median 3600 s, sigma 1), "
                  "exponential arrivals, walltime 1.5 times the run time",
                  kRigidParameters, generate_rigid_from},
};

}  // namespace

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

double ModelChoice::value(std::string_view name) const {
  const auto parameter = std::ranges::find(model->parameters, name, &ModelParameter::name);
  return values.at(static_cast<std::size_t>(parameter - model->parameters.begin()));
}

std::string ModelChoice::text() const {
  std::string result(model->name);
  char separator = ':';
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ModelParameter& parameter = model->parameters[i];
    result += separator;
    result += parameter.whole ? fmt::format("{}={:.0f}", parameter.name, values[i])
                              : fmt::format("{}={}", parameter.name, values[i]);
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
    choice.values.push_back(parameter.fallback);
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

}  // namespace ductile
