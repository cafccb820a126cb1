#include "workload/poisson.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "workload/arrivals.hpp"

namespace ductile {

Workload generate_poisson(const PoissonModel& model, std::uint64_t seed) {
  check_count_of_jobs(model.jobs);
  Workload workload;
  workload.name = "poisson";
  workload.jobs.reserve(model.jobs);
  std::vector<double> gaps;
  gaps.reserve(model.jobs);
  for (std::uint64_t i = 1; i <= model.jobs; ++i) {
    Draws draws(seed, Stream::workload, i);
    gaps.push_back(draws.exponential(1));
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = i;
    const double size = std::clamp(model.size.draw(draws), 1.0, static_cast<double>(model.nodes));
    job.nodes = static_cast<Nodes>(std::llround(size));
    job.runtime = job.walltime = whole_seconds(
        std::llround(std::clamp(model.runtime_s.draw(draws), 1.0, model.max_runtime_s)));
    job.group = 1;
  }
  submit_by_poisson(workload.jobs, std::move(gaps), DailyCycle::even(), model.nodes, model.load);
  return workload;
}

namespace {

constexpr std::array kPoissonParameters = {
    ModelParameter{"jobs", ModelParameter::Kind::whole, "10000", 1, kMostOfModel, "",
                   "number of jobs"},
    ModelParameter{"nodes", ModelParameter::Kind::whole, "500", 1, kMostOfModel, "nodes",
                   "size of the machine"},
    ModelParameter{"load", ModelParameter::Kind::number, "0.7", 0.001, 1000, "",
                   "offered load: the work of the jobs over the machine's capacity while they "
                   "arrive"},
    ModelParameter{"size", ModelParameter::Kind::text, "loguniform:1..64", 0, 0, "nodes",
                   "of jobs: V, uniform:A..B, loguniform:A..B, exponential:MEAN or "
                   "lognormal:MEDIAN:SIGMA; at most the machine"},
    ModelParameter{"runtime", ModelParameter::Kind::text, "lognormal:3600:1", 0, 0, "s",
                   "of jobs, in the same words"},
    ModelParameter{"max_runtime", ModelParameter::Kind::number, "604800", 1, kLongestRun, "s",
                   "longer run times are cut to this"},
};

PoissonModel poisson_model_of(const ModelChoice& choice) {
  return {.jobs = static_cast<std::uint64_t>(choice.number("jobs")),
          .nodes = static_cast<Nodes>(choice.number("nodes")),
          .load = choice.number("load"),
          .size = parse_marginal("size", choice.value("size"), 1, kMostOfModel),
          .runtime_s = parse_marginal("runtime", choice.value("runtime"), 1, kLongestRun),
          .max_runtime_s = choice.number("max_runtime")};
}

void check_poisson(const PoissonModel& model) { check_count_of_jobs(model.jobs); }

}  // namespace

WorkloadModel poisson_model() {
  return checked_model<poisson_model_of, check_poisson, generate_poisson>(
      "poisson",
      "rigid jobs with Poisson arrivals, and sizes and run times of distributions that one "
      "chooses; the walltime is the run time",
      kPoissonParameters);
}

}  // namespace ductile
