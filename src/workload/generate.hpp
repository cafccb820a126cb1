// Workloads made by a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// A parameter of a model, as the command line and the manual show it: a number, a whole number,
/// one of some words, or a text that the model reads itself.
struct ModelParameter {
  enum class Kind : std::uint8_t { number, whole, word, text };

  std::string_view name;
  Kind kind = Kind::number;
  std::string_view fallback;  // the default
  double min = 0, max = 0;    // of a number
  std::string_view unit;
  std::string_view about;
  std::span<const std::string_view> words = {};
};

struct ModelChoice;

/// The most of what is counted by 32 bits: jobs, nodes.
inline constexpr double kMostOfModel = 4e9;
/// Throws InputError if there are more jobs than can be numbered.
void check_count_of_jobs(std::uint64_t jobs);

/// A model that can be named. One of its parameters is `nodes`, the size of the machine.
struct WorkloadModel {
  std::string_view name;
  std::string_view about;
  std::span<const ModelParameter> parameters;
  /// How many jobs there will be.
  std::uint64_t (*jobs)(const ModelChoice& choice);
  /// What of that which was asked for a workload cannot say, to be told; empty: nothing. Throws
  /// InputError for values that make no workload, as `generate` does.
  std::string (*remark)(const ModelChoice& choice);
  Workload (*generate)(const ModelChoice& choice, std::uint64_t seed);
};

std::span<const WorkloadModel> workload_models();

/// A model with a value for each of its parameters.
struct ModelChoice {
  const WorkloadModel* model = nullptr;
  std::vector<std::string> values;  // in the order and ranges of the parameters

  /// Of the parameter called `name`, which the model has.
  const std::string& value(std::string_view name) const;
  /// The same of a number.
  double number(std::string_view name) const;
  /// The same of a text that is a number in this range, or the word `none`. Throws InputError.
  std::optional<double> number_or(std::string_view none, std::string_view name, double min,
                                  double max) const;
  /// The same of a word: its place among the words.
  std::size_t word(std::string_view name) const;
  /// The whole choice, defaults included, as `parse_model` reads it.
  std::string text() const;
  std::uint64_t jobs() const { return model->jobs(*this); }
  std::string remark() const { return model->remark(*this); }
  Workload generate(std::uint64_t seed) const { return model->generate(*this, seed); }
};

/// The model whose settings `ModelOf` reads, of which `Check` throws InputError for those that
/// make no workload, and of which a workload says all.
template <auto ModelOf, auto Check, auto Generate>
WorkloadModel checked_model(std::string_view name, std::string_view about,
                            std::span<const ModelParameter> parameters) {
  return {name,
          about,
          parameters,
          [](const ModelChoice& choice) -> std::uint64_t { return ModelOf(choice).jobs; },
          [](const ModelChoice& choice) {
            Check(ModelOf(choice));
            return std::string();
          },
          [](const ModelChoice& choice, std::uint64_t seed) {
            return Generate(ModelOf(choice), seed);
          }};
}

/// Reads "NAME[:key=value,...]"; what is not given has its default. Throws InputError.
ModelChoice parse_model(std::string_view text);
/// The same with these counts, as --jobs and --nodes say them; 0: as `text` does.
ModelChoice parse_model(std::string text, std::uint64_t jobs, Nodes nodes);

}  // namespace ductile
