#include "workload/lublin.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "workload/arrivals.hpp"

namespace ductile {
namespace {

constexpr double kLongestRuntime = 12;  // logarithm of s: two days; longer ones are drawn again
constexpr double kLongestGap = 13;      // the same of gaps: five days

// What a draw is about.
enum class LublinDraw : std::uint64_t { gap = 1, job };

// Of the `number`-th job of a type.
Draws draws_of(std::uint64_t seed, LublinDraw about, std::size_t type, std::uint64_t number) {
  return {seed, Stream::workload, mixed(2 * static_cast<std::uint64_t>(about) + type) ^ number};
}

Nodes draw_size(const LublinTable& table, Nodes machine, Draws& draws) {
  const double u = draws.uniform();
  const bool is_small = draws.chance(table.u_prob);
  const double place = draws.uniform();
  if (u <= table.p_serial) return 1;
  double x = is_small ? table.u_low + place * (table.u_med - table.u_low)
                      : table.u_med + place * (table.u_hi - table.u_med);
  if (u <= table.p_serial + table.p_power_of_two) {
    // Of a machine that is no power of two the largest size is one that it has.
    x = std::min(std::round(x), static_cast<double>(std::bit_width(machine) - 1));
  }
  return std::clamp(static_cast<Nodes>(std::llround(std::exp2(x))), Nodes{1}, machine);
}

Duration draw_runtime(const LublinTable& table, Nodes size, Draws& draws) {
  const double p = std::clamp(table.pa * size + table.pb, 0.0, 1.0);
  for (;;) {
    const bool is_first = draws.chance(p);
    const double x = is_first ? draws.gamma(table.a1, table.b1) : draws.gamma(table.a2, table.b2);
    if (x <= kLongestRuntime) return whole_seconds(static_cast<std::int64_t>(std::exp(x)));
  }
}

// The jobs of one type, made as far as they are asked for, without the times of their submission.
class Jobs {
 public:
  Jobs(const LublinTable& table, Nodes machine, std::size_t type, std::uint64_t seed)
      : table_(table), machine_(machine), type_(type), seed_(seed) {}

  const WorkloadJob& at(std::size_t number) {
    while (jobs_.size() <= number) {
      Draws draws = draws_of(seed_, LublinDraw::job, type_, jobs_.size());
      WorkloadJob& job = jobs_.emplace_back();
      job.nodes = draw_size(table_, machine_, draws);
      job.runtime = job.walltime = draw_runtime(table_, job.nodes, draws);
      job.group = static_cast<std::uint32_t>(type_ + 1);
    }
    return jobs_[number];
  }

 private:
  LublinTable table_;
  Nodes machine_;
  std::size_t type_;
  std::uint64_t seed_;
  std::vector<WorkloadJob> jobs_;
};

// When the jobs of one type come, one after the other.
class Times {
 public:
  Times(const LublinTable& table, std::size_t type, std::uint64_t seed)
      : table_(table),
        cycle_(DailyCycle::gamma(table.a_num, table.b_num)),
        type_(type),
        seed_(seed) {}

  // From the first one on, with these factors of gaps and of b_arr.
  void begin(double gaps, double barr) {
    gaps_ = gaps;
    barr_ = barr;
    number_ = 0;
    amount_s_ = 0;
    next();
  }
  void next() {
    Draws draws = draws_of(seed_, LublinDraw::gap, type_, number_++);
    double x = 0;
    do {
      x = draws.gamma(table_.a_arr * table_.arar, table_.b_arr * barr_);
    } while (x > kLongestGap);
    amount_s_ += gaps_ * std::exp(x);
    time_s_ = cycle_.time_of(amount_s_);
  }
  double time_s() const { return time_s_; }

 private:
  LublinTable table_;
  DailyCycle cycle_;
  std::size_t type_;
  std::uint64_t seed_;
  double gaps_ = 1, barr_ = 1;
  std::uint64_t number_ = 0;
  double amount_s_ = 0, time_s_ = 0;
};

// All jobs, and the times of their submission.
class Mixture {
 public:
  Mixture(const LublinModel& model, std::uint64_t seed) : model_(model) {
    const auto add = [&](const LublinTable& table) {
      const LublinTable its = scaled(table, model);
      const std::size_t type = jobs_.size();
      jobs_.emplace_back(its, model.nodes, type, seed);
      times_.emplace_back(its, type, seed);
    };
    if (model.types == LublinModel::Types::one) {
      add(kLublinOneType);
    } else {
      add(kLublinBatch);
      add(kLublinInteractive);
    }
  }

  // The jobs in order; `times_s` becomes when they are submitted.
  std::vector<WorkloadJob> merged(double gaps, double barr, std::vector<double>& times_s) {
    std::vector<std::size_t> numbers(times_.size());
    for (Times& times : times_) times.begin(gaps, barr);
    std::vector<WorkloadJob> all;
    all.reserve(model_.jobs);
    times_s.clear();
    while (all.size() < model_.jobs) {
      const auto first = std::ranges::min_element(times_, {}, &Times::time_s);
      const auto type = static_cast<std::size_t>(first - times_.begin());
      all.push_back(jobs_[type].at(numbers[type]++));
      all.back().name = all.size();
      times_s.push_back(first->time_s());
      first->next();
    }
    return all;
  }

 private:
  LublinModel model_;
  std::vector<Jobs> jobs_;
  std::vector<Times> times_;
};

}  // namespace

LublinTable scaled(const LublinTable& table, const LublinModel& model) {
  LublinTable result = table;
  const double below = model.below.value_or(table.u_hi - table.u_med);
  const double all = std::log2(model.nodes);
  const bool interactive = table.u_hi < kLublinBatch.u_hi;
  result.u_hi = std::max(interactive ? all - model.interactive_below : all, 0.0);
  result.u_low = std::min(table.u_low, result.u_hi);
  result.u_med = std::clamp(result.u_hi - below, result.u_low, result.u_hi);
  result.u_prob = model.u_prob.value_or(table.u_prob);
  return result;
}

Workload generate_lublin(const LublinModel& model, std::uint64_t seed) {
  check_count_of_jobs(model.jobs);
  Mixture mixture(model, seed);
  std::vector<double> times_s;
  Workload workload;
  workload.name = "lublin";
  workload.jobs = mixture.merged(1, 1, times_s);
  if (model.load && workload.jobs.size() > 1) {
    const bool by_gaps = model.load_by == LublinModel::LoadBy::gaps;
    const auto merge = [&](double factor) {
      workload.jobs = mixture.merged(by_gaps ? factor : 1, by_gaps ? 1 : factor, times_s);
      return offered_load(workload.jobs, model.nodes, times_s.back() - times_s.front());
    };
    // Of b_arr: gaps next to 1 s, and most gaps above five days, which are drawn again.
    const double least = by_gaps ? 1e-9 : 0.01, most = by_gaps ? 1e9 : 3;
    const double factor = solve_for_load(merge, *model.load, least, most);
    const double has = merge(factor);
    // What is left is that the mixture changes by a job.
    constexpr double kNear = 0.05, kFew = 100;
    if (static_cast<double>(model.jobs) >= kFew && std::abs(has / *model.load - 1) > kNear) {
      throw InputError({.field = "load"},
                       fmt::format("{} is out of reach, the nearest is {:.4g}", *model.load, has),
                       by_gaps ? "give another load" : "give another load, or load_by=gaps");
    }
  }
  submit_at(workload.jobs, std::move(times_s), model.nodes, model.load.value_or(0));
  return workload;
}

// ---- as parameters ------------------------------------------------------------------------------

namespace {

constexpr std::array kLublinParameters = {
    ModelParameter{"jobs", ModelParameter::Kind::whole, "10000", 1, kMostOfModel, "",
                   "number of jobs"},
    ModelParameter{"nodes", ModelParameter::Kind::whole, "128", 1, kMostOfModel, "nodes",
                   "size of the machine, and of the largest job"},
    ModelParameter{"types", ModelParameter::Kind::word, "both", 0, 0, "",
                   "batch and interactive jobs, or one type for all", kLublinTypesWords},
    ModelParameter{"load", ModelParameter::Kind::text, "model", 0, 0, "",
                   "offered load, a number; model: as the paper's arrivals give it"},
    ModelParameter{"load_by", ModelParameter::Kind::word, "gaps", 0, 0, "",
                   "what changes for a load: all gaps, before the day shapes them; or barr, the "
                   "scale of their logarithms",
                   kLublinLoadByWords},
    ModelParameter{"below", ModelParameter::Kind::text, "auto", 0, 0, "",
                   "how far Umed is below Uhi, 1.5 to 3.5; auto: as for 128 nodes"},
    ModelParameter{"uprob", ModelParameter::Kind::text, "auto", 0, 0, "",
                   "share of parallel jobs below Umed, 0.7 to 0.95; auto: as for 128 nodes"},
    ModelParameter{"interactive_below", ModelParameter::Kind::number, "1.5", 0, 10, "",
                   "how far the largest interactive job is below the machine, in powers of two; "
                   "1.5 of 128 nodes, which the paper has, for every machine is ours"},
};

LublinModel lublin_model_of(const ModelChoice& choice) {
  return {.jobs = static_cast<std::uint64_t>(choice.number("jobs")),
          .nodes = static_cast<Nodes>(choice.number("nodes")),
          .types = static_cast<LublinModel::Types>(choice.word("types")),
          .load = choice.number_or("model", "load", 0.001, 1000),
          .load_by = static_cast<LublinModel::LoadBy>(choice.word("load_by")),
          .below = choice.number_or("auto", "below", 1.5, 3.5),
          .u_prob = choice.number_or("auto", "uprob", 0.7, 0.95),
          .interactive_below = choice.number("interactive_below")};
}

void check_lublin(const LublinModel& model) { check_count_of_jobs(model.jobs); }

}  // namespace

WorkloadModel lublin_model() {
  return checked_model<lublin_model_of, check_lublin, generate_lublin>(
      "lublin",
      "rigid jobs as Lublin and Feitelson 2003 model them: sizes, run times that go with them, "
      "arrivals that follow the day; the walltime is the run time",
      kLublinParameters);
}

}  // namespace ductile
