// First come, first served, for elastic jobs: when the first waiting job does not fit, running ones
// are shrunk for it if that is enough; what stays idle expands them. Nothing passes the first job,
// and nothing is resized while a resize is under way. Chadha, John and Gerndt, HiPC 2020 (paper
// 003), Algorithm 1.
//
// Who is expanded first, and shrunk last: by `perf_aware` who spends the least time in MPI for his
// time of computation (MTCT), as measured; by `fpsma`, "favour previously started malleable
// applications" of Buisson et al. 2007, who started first; by `perf_gain`, which is ours, who gains
// the most by a node more, as far as what was measured tells.
#include <array>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

/// Who comes first; ties: the smaller id.
using Rank = std::tuple<int, std::int64_t, std::int64_t>;

/// The pass; `Order` has `Rank expand(pass, id)`, `Rank shrink(pass, id)`, and `bool knows(pass,
/// id)`: who it does not know is neither cut nor expanded.
template <class Order>
class Adaptation final : public Policy {
 public:
  explicit Adaptation(const Parameters& parameters)
      : Policy({.wakes = kAllButAnswers, .answers_requests = true}, Order::kWants),
        order_(parameters),
        benefit_(expand_benefit(parameters)),
        tick_(seconds(parameters.number("tick"))) {}

  void schedule(Pass& pass) const override {
    const bool adapting = pass.any_resizing();
    if (!adapting) grant_from_idle(pass);
    start_in_order(pass, {.strict = true});
    if (!adapting) {
      start_in_turn(pass, [&](JobId head) {
        start_by_cuts(pass, head);
        return false;
      });
      expand(pass);
    }
    tick(pass, tick_);
  }

 private:
  void start_by_cuts(Pass& pass, JobId head) const {
    const Nodes need = pass.start_need(head).nodes;
    Victims victims =
        victims_for(pass, need, head, [&](JobId id) { return !order_.knows(pass, id); });
    rank(victims.jobs, [&](JobId id) { return order_.shrink(pass, id); });
    with_cuts(pass, victims, Share::in_turn, head, [&](const Sources& from) {
      return pass.start(head, exactly(need), {Why::in_order}, from);
    });
  }

  void expand(Pass& pass) const {
    std::vector<JobId> jobs = growable_jobs(pass);
    std::erase_if(jobs, [&](JobId id) { return !order_.knows(pass, id); });
    hand_out_idle(pass, std::move(jobs), {.benefit = benefit_},
                  [&](JobId id) { return order_.expand(pass, id); });
  }

  Order order_;
  Benefit benefit_;
  Duration tick_;
};

class StartTime {
 public:
  static constexpr Wants kWants{};
  explicit StartTime(const Parameters&) {}
  bool knows(const Pass&, JobId) const { return true; }
  Rank expand(const Pass& pass, JobId id) const { return {0, started(pass, id), 0}; }
  Rank shrink(const Pass& pass, JobId id) const { return {0, -started(pass, id), 0}; }

 private:
  static std::int64_t started(const Pass& pass, JobId id) {
    return pass.job(id).started.time_since_epoch().count();
  }
};

/// Which way round the values count.
enum class VictimKey : std::uint8_t { mtct, reversed };
constexpr std::array<std::string_view, 2> kKeyWords{"mtct", "reversed"};
/// Where jobs go of which none is known: behind the others, before them, or they are left alone.
enum class Unknown : std::uint8_t { last, first, skip };
constexpr std::array<std::string_view, 3> kUnknownWords{"last", "first", "skip"};

/// What was measured of a job's time in MPI, and where those go of whom nothing was.
class Measured {
 public:
  static constexpr Wants kWants{.mtct = true};
  explicit Measured(const Parameters& parameters)
      : unknown_(chosen<Unknown>(parameters, "unknown", kUnknownWords)) {}

  bool knows(const Pass& pass, JobId id) const {
    return unknown_ != Unknown::skip || pass.mtct(id) > 0;
  }

 protected:
  int group(const Pass& pass, JobId id) const {
    if (pass.mtct(id) > 0) return 0;
    return unknown_ == Unknown::first ? -1 : 1;
  }

 private:
  Unknown unknown_;
};

/// By MTCT, measured since the last resize. Among equals larger jobs are shrunk first and smaller
/// ones expanded first.
class MpiTime : public Measured {
 public:
  explicit MpiTime(const Parameters& parameters)
      : Measured(parameters), key_(chosen<VictimKey>(parameters, "key", kKeyWords)) {}

  Rank expand(const Pass& pass, JobId id) const {
    return {group(pass, id), value(pass, id), std::int64_t{pass.job(id).size()}};
  }
  Rank shrink(const Pass& pass, JobId id) const {
    return {group(pass, id), -value(pass, id), -std::int64_t{pass.job(id).size()}};
  }

 private:
  /// In millionths, as it is told.
  std::int64_t value(const Pass& pass, JobId id) const {
    const std::int64_t millionths = std::llround(pass.mtct(id) * 1e6);
    return key_ == VictimKey::reversed ? -millionths : millionths;
  }

  VictimKey key_;
};

/// What a node is worth to a job.
enum class Gains : std::uint8_t {
  speed,  // how much work it adds each second
  time,   // how much earlier the job ends by it
  share,  // how much of what is left of the job it adds each second
};
constexpr std::array<std::string_view, 3> kGainsWords{"speed", "time", "share"};

/// By what a node more or less does to a job. MTCT m at n nodes says that these are n / (1 + m)
/// times as fast as one; with Amdahl's law, where m grows as n - 1, that tells the speed at any
/// size. Who gains the most by a node more is expanded first, who loses the least by a node less
/// shrunk first.
class MeasuredGain : public Measured {
 public:
  explicit MeasuredGain(const Parameters& parameters)
      : Measured(parameters), by_(chosen<Gains>(parameters, "by", kGainsWords)) {}

  Rank expand(const Pass& pass, JobId id) const {
    const Nodes n = pass.job(id).size();
    return {group(pass, id), -worth(pass, id, n, n + 1), std::int64_t{n}};
  }
  Rank shrink(const Pass& pass, JobId id) const {
    const Nodes n = pass.job(id).size();
    return {group(pass, id), worth(pass, id, n - 1, n), -std::int64_t{n}};
  }

 private:
  /// Of the node between these sizes, in units so small that equal ones are rare.
  std::int64_t worth(const Pass& pass, JobId id, Nodes from, Nodes to) const {
    if (from == 0 || pass.mtct(id) <= 0) return 0;
    const Nodes n = pass.job(id).size();
    const double serial = n > 1 ? pass.mtct(id) / (n - 1) : 0;
    const auto speed = [&](Nodes k) { return k / (1 + serial * (k - 1)); };
    const double left_s = to_seconds(pass.expected_end(id) - pass.now());
    const double more = speed(to) - speed(from);
    const double value = by_ == Gains::speed  ? more
                         : by_ == Gains::time ? left_s * speed(n) * more / speed(from) / speed(to)
                                              : more / (left_s * speed(n));
    return std::llround(std::min(value, 1e6) * 1e12);
  }

  Gains by_;
};

ParameterInfo unknown_parameter() {
  return choice_parameter("unknown", kUnknownWords, "last",
                          "jobs that are not measured: after the others, before them, or neither "
                          "cut nor expanded");
}

}  // namespace

PolicyInfo fpsma() {
  return {.name = "fpsma",
          .summary =
              "first come, first served; expands the job that started earliest first, "
              "shrinks the latest first for the first waiting job",
          .source = "Buisson et al. 2007; Chadha et al. 2020",
          .parameters = {expand_benefit_parameter(), tick_parameter("30")},
          .make = make_policy<Adaptation<StartTime>>};
}

PolicyInfo perf_aware() {
  return {.name = "perf_aware",
          .summary =
              "first come, first served; expands the job first that spends the least of its time "
              "in MPI, and shrinks that which spends the most for the first waiting job",
          .source = "Chadha et al. 2020",
          .parameters = {choice_parameter("key", kKeyWords, "mtct",
                                          "who spends the least time in MPI is expanded first; or "
                                          "who spends the most"),
                         unknown_parameter(), expand_benefit_parameter(), tick_parameter("30")},
          .make = make_policy<Adaptation<MpiTime>>};
}

PolicyInfo perf_gain() {
  return {.name = "perf_gain",
          .summary =
              "first come, first served; expands the job first that gains the most by a node, as "
              "its time in MPI tells, and shrinks that which loses the least",
          .parameters = {choice_parameter("by", kGainsWords, "speed",
                                          "what a node is worth: the work that it adds each "
                                          "second; by how much earlier the job ends; the share of "
                                          "what is left of the job that it adds each second"),
                         unknown_parameter(), expand_benefit_parameter(), tick_parameter("30")},
          .make = make_policy<Adaptation<MeasuredGain>>};
}

}  // namespace ductile
