// Workloads made by a model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// The synthetic workload of scaling measurements, of rigid jobs: sizes log-uniform in
/// 1 .. max_size; run times lognormal with median 3600 s and sigma 1, clipped to 60 .. 86,400 s;
/// exponential interarrival times whose mean makes the expected load what is asked for; walltimes
/// of 1.5 times the run time, rounded up. All times in whole seconds, 50 users.
struct RigidModel {
  std::uint64_t jobs = 10'000;
  Nodes nodes = 500;    // of the machine
  Nodes max_size = 64;  // of a job; at most `nodes`
  double load = 0.90;   // offered: work that arrives, as a share of what the machine can do
};

/// A job's size, times and user depend on the seed and its number alone: the first jobs of a longer
/// workload are those of a shorter one, and with another load only the arrivals change. Throws
/// InputError for values that make no workload.
Workload generate_rigid(const RigidModel& model, std::uint64_t seed);

/// A parameter of a model, as the command line and the manual show it.
struct ModelParameter {
  std::string_view name;
  double fallback = 0;  // the default
  double min = 0, max = 0;
  bool whole = false;  // takes whole numbers only
  std::string_view unit;
  std::string_view about;
};

/// A model that can be named.
struct WorkloadModel {
  std::string_view name;
  std::string_view about;
  std::span<const ModelParameter> parameters;
  /// `values`: one for each of `parameters`, in their order and ranges.
  Workload (*generate)(std::span<const double> values, std::uint64_t seed);
};

std::span<const WorkloadModel> workload_models();

/// A model with a value for each of its parameters.
struct ModelChoice {
  const WorkloadModel* model = nullptr;
  std::vector<double> values;

  /// Of the parameter called `name`, which the model has.
  double value(std::string_view name) const;
  /// The whole choice, defaults included, as `parse_model` reads it.
  std::string text() const;
  Workload generate(std::uint64_t seed) const { return model->generate(values, seed); }
};

/// Reads "NAME[:key=value,...]"; what is not given has its default. Throws InputError.
ModelChoice parse_model(std::string_view text);

}  // namespace ductile
