// Changes to a whole workload: its load, which of its jobs adapt and how, what resizes cost, what
// users request. docs/commands/simulate.md is the reference of what each does.
//
// Every draw belongs to a seed, a purpose and a job's name, so that two policies meet the same
// jobs, a larger share contains a smaller one, and no setting moves the draws of another one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/decimal.hpp"
#include "base/ids.hpp"
#include "base/random.hpp"
#include "base/size_range.hpp"
#include "model/speedup.hpp"
#include "workload/flurries.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// A number that may be drawn for each job: `fixed` low; `uniform` in [low, high); `normal` around
/// the middle with a sixth of the width as its deviation, cut off at the ends; `mixed`: one of
/// three bands of equal width, then normal inside it.
struct RandomValue {
  enum class Kind : std::uint8_t { fixed, uniform, normal, mixed };
  Kind kind = Kind::fixed;
  double low = 0, high = 0;

  bool operator==(const RandomValue&) const = default;
  double draw(Draws& draws) const;
};

constexpr RandomValue always(double value) { return {RandomValue::Kind::fixed, value, value}; }
constexpr RandomValue uniform(double low, double high) {
  return {RandomValue::Kind::uniform, low, high};
}

/// Where an error is: what was drawn is believed and the truth is another one, or what was drawn is
/// true and something else is believed.
enum class ErrorIn : std::uint8_t { truth, belief };

/// How applications speed up.
struct ModelSettings {
  /// Where the run time of the input holds: `one` reads it as the work of
  /// a linear job, so that a power law with rho takes n^rho times as long at the size n asked for;
  /// `preferred` as the run time at that size. For the power law only.
  enum class Reference : std::uint8_t { one, preferred };

  Speedup base;  // the kind; and its parameters, where they are not drawn
  /// rho, s, x or, as a factor of the job's size, downey's A.
  std::optional<RandomValue> parameter;
  RandomValue sigma = uniform(0, 2);    // downey's, if `parameter` is drawn
  RandomValue error = always(0);        // added to the parameter; to downey's A before it is scaled
  RandomValue sigma_error = always(0);  // added to downey's sigma
  RandomValue time_error = always(1);   // times the run time at every size, whatever the model
  ErrorIn error_in = ErrorIn::truth;
  Reference reference = Reference::one;
};

/// What evolving jobs ask for (Lina, Ghafoor and Hines, JSSPP 2022).
struct EvolvingSettings {
  /// `remaining`: the next request comes when `left` of what was left at the last one is left;
  /// `absolute`: all of them when `left` of the whole work is left.
  enum class Window : std::uint8_t { remaining, absolute };
  /// Of two shares of jobs, those that are malleable and those that evolve, how many jobs are in
  /// both, which makes them adaptive: as few or as many as there can be, or as chance has it.
  enum class Overlap : std::uint8_t { least, random, most };

  RandomValue count = uniform(1, 5);  // of requests, rounded down
  double expand = 0.8;                // probability that a request is for more nodes
  RandomValue left = uniform(0.3, 0.6);
  Window window = Window::remaining;
  Decimal delta_max{0.5};  // the largest change, as a factor of the job's size; at least one node
  Overlap overlap = Overlap::least;
};

/// A share of the jobs becomes adaptive.
struct AdaptiveShare {
  double share = 0;  // probability that a job is one of them
  /// Smallest and largest size as factors of the size asked for: rounded up, at least 1; rounded
  /// down, at most the machine.
  Decimal min{0.5}, max{5};
  ModelSettings model;
  SizeConstraint constraint;
  RandomValue walltime_factor = always(1);  // these jobs request so much more or less time
  bool scale_rigid = true;                  // jobs outside the share have the model, too
};

/// The cost of resizes, drawn for each job; the ranges are those of the papers that
/// `ReconfigurationCost` names (for b, which they do not give, that of alpha).
struct ReconfigurationSettings {
  RandomValue alpha_s = uniform(0.005, 0.05), beta_s = uniform(0.005, 0.05),
              b_s = uniform(0.005, 0.05);
  RandomValue sync_s = always(0), negotiation_s = always(0);
  double scale = 1;
  double transfer_s = 0;          // as in `ReconfigurationCost`
  RandomValue error = always(1);  // times the cost
  ErrorIn error_in = ErrorIn::truth;
};

/// What users request: as in the input; the run time; the run time times a
/// number from 1 to f + 1; or the run time times 1 to 3, rounded up to a time of a menu.
/// `predicted`: as in the input, and what is believed is predicted while the run goes on.
struct EstimateSettings {
  enum class Kind : std::uint8_t { requested, perfect, factor, menu, predicted };
  Kind kind = Kind::requested;
  double f = 0;

  /// Do jobs get other walltimes?
  bool replace() const { return kind != Kind::requested && kind != Kind::predicted; }
};

/// What jobs are bound by: the probability of each; together they are 1.
struct BoundShares {
  std::array<double, kBoundWords.size()> of{};  // by bound
};

/// All changes, in the order in which they are made.
struct Transform {
  std::optional<FlurrySettings> without_flurries;
  bool shuffle = false;      // other jobs come at the times at which jobs come
  Decimal arrival_scale{1};  // the time between submissions is multiplied
  Decimal speed_factor{1};   // run times and requested times are multiplied
  std::optional<AdaptiveShare> malleable, moldable, evolving;
  EvolvingSettings requests;  // of the jobs that evolve
  /// Of jobs that become adaptive, and if `reconfigure` is set of those that are so in the input.
  ReconfigurationSettings cost;
  bool reconfigure = false;
  EstimateSettings estimates;
  std::optional<BoundShares> bounds;  // of all jobs
  /// > 0, instead of `arrival_scale`: the time between submissions is multiplied so that the work,
  /// as it is after all else, is this share of what the machine can do from the first submission to
  /// the last.
  std::optional<double> load;

  /// Is anything changed?
  bool changes() const;
};

/// Changes the jobs of a workload for a machine of `nodes` (0: of any size).
///
/// A job that is adaptive already keeps its type, sizes and models. What users request, and
/// estimates, belong to the run time as it would be if what is believed were true; the run time
/// itself to what is true. `ErrorIn` says which of both is the other one with its errors. Throws
/// InputError if a time gets out of range, no job is left, or a load is asked for and the machine
/// or the time has no size.
void transform(Workload& workload, const Transform& transform, Nodes nodes, std::uint64_t seed);

/// Multiplies the time between submissions by `factor` > 0: below 1 the load rises. The first
/// submission stays where it is. Throws InputError if a time gets out of range.
void scale_arrivals(Workload& workload, const Decimal& factor);

/// Deals the jobs out anew over the times at which jobs come. Each draws a number, and they come in
/// the order of their numbers; all else of a job stays with it.
void shuffle(Workload& workload, std::uint64_t seed);

/// Numbers users and groups anew, from 1 in the order in which they first come, accounts as
/// a1, a2, ..., and the partitions that jobs ask for as p1, p2, ...
void anonymise(Workload& workload);

}  // namespace ductile
