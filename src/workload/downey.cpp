#include "workload/downey.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "workload/arrivals.hpp"
#include "workload/poisson.hpp"

namespace ductile {
namespace {

void check_downey(const DowneyModel& model) {
  check_count_of_jobs(model.jobs);
  if (model.max_parallelism > model.nodes) {
    throw InputError({.field = "max_parallelism"}, "is more than the machine has nodes",
                     "give less, or auto: as many as the machine");
  }
  if (model.table == DowneyModel::Table::paper002 && model.type != DowneyModel::Type::automatic &&
      model.type != DowneyModel::Type::rigid) {
    throw InputError({.field = "type"}, "the jobs of table=002 have no speedup",
                     "leave type away; `--malleable` and `--evolving` make jobs adaptive");
  }
}

// Of any size up to `most`.
AdaptiveJob adaptive_job(JobType type, Nodes most, const Speedup& speedup) {
  AdaptiveJob job{.type = type, .size = {1, most}, .speedup = speedup};
  job.believed.speedup = speedup;
  return job;
}

}  // namespace

double most_useful_nodes(double a, double sigma) {
  return std::ceil(sigma <= 1 ? 2 * a - 1 : a + a * sigma - sigma);
}

Workload generate_downey(const DowneyModel& model, std::uint64_t seed) {
  check_downey(model);
  if (model.table == DowneyModel::Table::paper002) {
    Workload workload = generate_poisson({.jobs = model.jobs,
                                          .nodes = model.nodes,
                                          .load = model.load,
                                          .size = model.size,
                                          .runtime_s = model.runtime_s,
                                          .max_runtime_s = kLongestRun},
                                         seed);
    workload.name = "downey";
    return workload;
  }
  using Type = DowneyModel::Type;
  const auto machine = static_cast<double>(model.nodes);
  const Marginal parallelism{Marginal::Kind::loguniform, 1,
                             model.max_parallelism == 0 ? machine : model.max_parallelism};
  Workload workload;
  workload.name = "downey";
  workload.jobs.reserve(model.jobs);
  std::vector<double> gaps;
  gaps.reserve(model.jobs);
  for (std::uint64_t i = 1; i <= model.jobs; ++i) {
    Draws draws(seed, Stream::workload, i);
    gaps.push_back(draws.exponential(1));
    const double work = model.work_node_s.draw(draws);
    const double a = parallelism.draw(draws);
    const double sigma = model.sigma.draw(draws);
    const double useful = std::min(most_useful_nodes(a, sigma), machine);
    const double any = std::pow(useful, draws.uniform());
    const double asks = model.ask == DowneyModel::Ask::average  ? a
                        : model.ask == DowneyModel::Ask::useful ? useful
                                                                : any;
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = i;
    job.nodes = static_cast<Nodes>(std::llround(std::clamp(asks, 1.0, useful)));
    const double runtime_s = work / downey_speedup(job.nodes, a, sigma);
    job.runtime = job.walltime =
        whole_seconds(std::llround(std::clamp(runtime_s, 1.0, kLongestRun)));
    job.group = 1;
    if (model.type == Type::rigid) continue;
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    workload.adaptive.push_back(
        adaptive_job(model.type == Type::malleable ? JobType::malleable : JobType::moldable,
                     static_cast<Nodes>(useful),
                     {.kind = Speedup::Kind::downey, .parameter = a, .sigma = sigma}));
  }
  constexpr double kHour = 3600;
  submit_by_poisson(workload.jobs, std::move(gaps),
                    DailyCycle::halves(model.day_share, model.day_from_h * kHour), model.nodes,
                    model.load);
  return workload;
}

namespace {

constexpr std::array kDowneyParameters = {
    ModelParameter{"table", ModelParameter::Kind::word, "1997", 0, 0, "",
                   "1997: jobs have work, an average parallelism and its variation; 002: run times "
                   "and sizes, as paper 002 has them",
                   kDowneyTableWords},
    ModelParameter{"jobs", ModelParameter::Kind::whole, "10000", 1, kMostOfModel, "",
                   "number of jobs"},
    ModelParameter{"nodes", ModelParameter::Kind::whole, "10000", 1, kMostOfModel, "nodes",
                   "size of the machine"},
    ModelParameter{"load", ModelParameter::Kind::number, "0.75", 0.001, 1000, "",
                   "offered load at the sizes asked for, as 002 has it"},
    ModelParameter{"type", ModelParameter::Kind::word, "auto", 0, 0, "",
                   "of the jobs; auto: moldable, with table=002 rigid", kDowneyTypeWords},
    ModelParameter{"work", ModelParameter::Kind::text, "loguniform:100..1000000", 0, 0, "node-s",
                   "of a job of 1997: V, uniform:A..B, loguniform:A..B (as the paper), "
                   "exponential:MEAN or lognormal:MEDIAN:SIGMA; the ends are ours; run times are "
                   "cut to 1e8 s"},
    ModelParameter{"max_parallelism", ModelParameter::Kind::text, "auto", 0, 0, "",
                   "largest average parallelism of 1997, which is log-uniform from 1 on; auto: the "
                   "machine"},
    ModelParameter{"sigma", ModelParameter::Kind::text, "uniform:0..2", 0, 0, "",
                   "variation of the parallelism of 1997, in the words of work"},
    ModelParameter{"ask", ModelParameter::Kind::word, "average", 0, 0, "",
                   "what a job of 1997 asks for: its average parallelism, the most nodes that are "
                   "useful, or any size up to these",
                   kDowneyAskWords},
    ModelParameter{"day_share", ModelParameter::Kind::number, "0.5", 0.01, 0.99, "",
                   "of 1997: which share of the jobs arrives in the twelve hours of the day; 0.5: "
                   "the same rate always"},
    ModelParameter{"day_from", ModelParameter::Kind::number, "8", 0, 23.5, "h",
                   "when these begin, in half-hours"},
    ModelParameter{"runtime", ModelParameter::Kind::text, "loguniform:295.89..20130.2", 0, 0, "s",
                   "of a job of 002, in the words of work"},
    ModelParameter{"size", ModelParameter::Kind::text, "loguniform:1.994..4964.2", 0, 0, "nodes",
                   "of a job of 002, in the words of work"},
};

DowneyModel downey_model_of(const ModelChoice& choice) {
  return {
      .table = static_cast<DowneyModel::Table>(choice.word("table")),
      .jobs = static_cast<std::uint64_t>(choice.number("jobs")),
      .nodes = static_cast<Nodes>(choice.number("nodes")),
      .load = choice.number("load"),
      .type = static_cast<DowneyModel::Type>(choice.word("type")),
      .work_node_s = parse_marginal("work", choice.value("work"), 1, 1e12),
      .max_parallelism = choice.number_or("auto", "max_parallelism", 1, kMostOfModel).value_or(0),
      .sigma = parse_marginal("sigma", choice.value("sigma"), 0, 1000),
      .ask = static_cast<DowneyModel::Ask>(choice.word("ask")),
      .day_share = choice.number("day_share"),
      .day_from_h = choice.number("day_from"),
      .runtime_s = parse_marginal("runtime", choice.value("runtime"), 1, kLongestRun),
      .size = parse_marginal("size", choice.value("size"), 1, kMostOfModel)};
}

}  // namespace

WorkloadModel downey_model() {
  return checked_model<downey_model_of, check_downey, generate_downey>(
      "downey",
      "moldable jobs of Downey 1997, of work and parallelism; with table=002 the rigid jobs "
      "that Lina et al. 2022 call so; the walltime is the run time",
      kDowneyParameters);
}

}  // namespace ductile
