#include "workload/cirne_like.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "workload/arrivals.hpp"
#include "workload/lublin.hpp"

namespace ductile {
namespace {

void check_cirne_like(const CirneLikeModel& model) {
  check_count_of_jobs(model.jobs);
  if (model.max_size == 0 || model.max_size > model.nodes) {
    throw InputError(
        {.field = "max_size"},
        fmt::format("{} is not between 1 and the machine's {} nodes", model.max_size, model.nodes),
        "make max_size smaller or give more nodes");
  }
}

}  // namespace

Workload generate_cirne_like(const CirneLikeModel& model, std::uint64_t seed) {
  check_cirne_like(model);
  Workload workload;
  workload.name = "cirne_like, a surrogate for Cirne and Berman 2001";
  workload.jobs.reserve(model.jobs);
  std::vector<double> gaps;
  gaps.reserve(model.jobs);
  const double largest = std::bit_width(model.max_size) - 1;
  for (std::uint64_t i = 1; i <= model.jobs; ++i) {
    Draws draws(seed, Stream::workload, i);
    gaps.push_back(draws.exponential(1));
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = i;
    double x = draws.uniform(0, std::log2(model.max_size));
    if (draws.chance(model.power_of_two)) x = std::min(std::round(x), largest);
    job.nodes = static_cast<Nodes>(std::llround(std::exp2(x)));
    const double request_s = std::clamp(std::round(model.request_s.draw(draws)), 1.0, kLongestRun);
    const double accuracy = std::min(model.accuracy.draw(draws), 1.0);
    job.walltime = whole_seconds(static_cast<std::int64_t>(request_s));
    job.runtime = whole_seconds(std::max(std::llround(request_s * accuracy), 1LL));
    job.group = 1;
  }
  submit_by_poisson(workload.jobs, std::move(gaps),
                    DailyCycle::gamma(kLublinOneType.a_num, kLublinOneType.b_num), model.nodes,
                    model.load);
  return workload;
}

namespace {

constexpr std::array kCirneLikeParameters = {
    ModelParameter{"jobs", ModelParameter::Kind::whole, "5000", 1, kMostOfModel, "",
                   "number of jobs"},
    ModelParameter{"nodes", ModelParameter::Kind::whole, "1024", 1, kMostOfModel, "nodes",
                   "size of the machine"},
    ModelParameter{"load", ModelParameter::Kind::number, "2", 0.001, 1000, "",
                   "offered load; the default gives paper 004's average response under easy"},
    ModelParameter{"max_size", ModelParameter::Kind::whole, "128", 1, kMostOfModel, "nodes",
                   "largest job; sizes are log-uniform from 1 on"},
    ModelParameter{"power_of_two", ModelParameter::Kind::number, "0.75", 0, 1, "",
                   "share of the sizes that is rounded to a power of two"},
    ModelParameter{"request", ModelParameter::Kind::text, "loguniform:60..172800", 0, 0, "s",
                   "requested time: V, uniform:A..B, loguniform:A..B, exponential:MEAN or "
                   "lognormal:MEDIAN:SIGMA; at most 1e8"},
    ModelParameter{"accuracy", ModelParameter::Kind::text, "uniform:0.05..1", 0, 0, "",
                   "run time over requested time, in the same words, at most 1; 1 for workload 2"},
};

CirneLikeModel cirne_like_model_of(const ModelChoice& choice) {
  return {.jobs = static_cast<std::uint64_t>(choice.number("jobs")),
          .nodes = static_cast<Nodes>(choice.number("nodes")),
          .load = choice.number("load"),
          .max_size = static_cast<Nodes>(choice.number("max_size")),
          .power_of_two = choice.number("power_of_two"),
          .request_s = parse_marginal("request", choice.value("request"), 1, kLongestRun),
          .accuracy = parse_marginal("accuracy", choice.value("accuracy"), 0.000001, 1)};
}

}  // namespace

WorkloadModel cirne_like_model() {
  return checked_model<cirne_like_model_of, check_cirne_like, generate_cirne_like>(
      "cirne_like",
      "a surrogate for the model of Cirne and Berman 2001, whose coefficients are not known, "
      "for workloads 1, 2 and 5 of paper 004",
      kCirneLikeParameters);
}

}  // namespace ductile
