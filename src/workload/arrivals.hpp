// When the jobs of a model arrive: rates that follow the day, and arrivals for a load.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// No job of a model runs longer, or asks for more (s).
inline constexpr double kLongestRun = 1e8;

/// The rate of arrivals in the course of a day, from midnight on, by half-hours.
class DailyCycle {
 public:
  static constexpr std::size_t kBuckets = 48;
  static constexpr double kBucketSeconds = 1800, kDaySeconds = 86'400;

  /// Only how the weights compare counts. Each is above 0.
  explicit DailyCycle(std::span<const double, kBuckets> weights);

  /// The same rate at all times.
  static DailyCycle even();
  /// Twelve hours from `from_s` on have `share` of the arrivals, 0 < share < 1.
  static DailyCycle halves(double share, double from_s);
  /// Lublin and Feitelson 2003: a bucket's weight is that of the gamma distribution of this shape
  /// and scale in half-hours around its number, 11 to 58; number 11 begins at five in the morning.
  static DailyCycle gamma(double shape, double scale);

  /// The rate in a bucket over the mean of all.
  double weight(std::size_t bucket) const { return weights_.at(bucket); }
  /// When so much has come that at the mean rate it would be `amount_s` >= 0. Grows with it.
  double time_of(double amount_s) const;

 private:
  std::array<double, kBuckets> weights_{};
  std::array<double, kBuckets + 1> before_s_{};  // what has come when a bucket begins
};

/// The share of a gamma distribution with this shape and scale up to `x`, at most 500 scales.
double gamma_share(double x, double shape, double scale);

/// The load that jobs offer: their work over what `nodes` do in `span_s`.
double offered_load(std::span<const WorkloadJob> jobs, Nodes nodes, double span_s);

/// Where `load_of` falls through `load`, to a millionth, searched between `least` and `most`, both
/// above 0; or the end that is nearer if it does not there.
double solve_for_load(const std::function<double(double)>& load_of, double load, double least,
                      double most);

/// Jobs are submitted at these times (s, ascending), one for each, rounded down to whole seconds.
/// With a `load` above 0 the time between them is stretched until that is what they offer, to one
/// second of the span; there have to be two jobs and some time between them.
void submit_at(std::vector<WorkloadJob>& jobs, std::vector<double> times_s, Nodes nodes = 0,
               double load = 0);

/// Poisson arrivals for a load: when to submit so many jobs, the rate following the day, if the
/// gaps at the mean rate are `gaps`, exponential of mean 1. Throws InputError if their work is out
/// of range.
void submit_by_poisson(std::vector<WorkloadJob>& jobs, std::vector<double> gaps,
                       const DailyCycle& cycle, Nodes nodes, double load);

}  // namespace ductile
