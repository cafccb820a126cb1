#include "workload/transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "workload/precedence.hpp"

namespace ductile {
namespace {

// Far from the end of time, so that whatever is added still fits.
constexpr std::int64_t kLatest = 1'000'000'000'000'000'000;  // us, as SWF has them

// What a draw of Stream::adaptive is about.
enum class TransformDraw : std::uint64_t {
  malleable = 1,
  moldable,
  overlap,
  model,
  error,
  walltime,
  cost,
  sigma_error,
  time_error,
  cost_error
};

Draws draws_of(const WorkloadJob& job, std::uint64_t seed, TransformDraw about) {
  return {seed, Stream::adaptive, mixed(job.name) + static_cast<std::uint64_t>(about)};
}

double draw(const RandomValue& spread, const WorkloadJob& job, std::uint64_t seed,
            TransformDraw about) {
  Draws draws = draws_of(job, seed, about);
  return spread.draw(draws);
}

// What is believed of a job, and what is true.
template <class Value>
struct Views {
  Value believed, truth;

  Views(ErrorIn where, const Value& drawn, const Value& off)
      : believed(where == ErrorIn::truth ? drawn : off),
        truth(where == ErrorIn::truth ? off : drawn) {}
};

// `us` is `time` times `factor`.
Duration scaled_to(Wide us, Duration time, double factor, const char* what) {
  if (us > kLatest) {
    throw InputError({.field = what},
                     fmt::format("{} s times {} is too long", to_seconds(time), factor),
                     "use smaller factors, or correct the job");
  }
  // No run time is 0; a requested time is where it is not known.
  return time == Duration{} ? time : std::max(Duration{static_cast<std::int64_t>(us)}, kTick);
}

// By a factor that was written.
Duration scaled(Duration time, const Decimal& factor, const char* what) {
  if (factor == Decimal(1)) return time;
  return scaled_to(factor.round_of(time.count()), time, static_cast<double>(factor), what);
}

// By a factor that was drawn or computed.
Duration scaled(Duration time, double factor, const char* what) {
  if (factor == 1) return time;
  const double us = static_cast<double>(time.count()) * factor;
  const bool fits = us <= static_cast<double>(kLatest);
  return scaled_to(fits ? Wide{std::llround(us)} : Wide{kLatest} + 1, time, factor, what);
}

SizeRange sizes(const AdaptiveShare& share, Nodes asked, Nodes machine) {
  constexpr Nodes kMost = Nodes{1} << 31;
  const Wide most = std::max(machine == 0 ? kMost : machine, asked);
  return {std::max(Nodes{1}, static_cast<Nodes>(share.min.ceil_of(asked))),
          static_cast<Nodes>(std::min(share.max.floor_of(asked), most))};
}

Views<Speedup> models_of(const ModelSettings& settings, const WorkloadJob& job,
                         std::uint64_t seed) {
  Speedup drawn = settings.base;
  double per_parameter = 1;
  if (settings.parameter) {
    Draws draws = draws_of(job, seed, TransformDraw::model);
    drawn.parameter = settings.parameter->draw(draws);
    if (drawn.kind == Speedup::Kind::downey) {
      drawn.sigma = settings.sigma.draw(draws);
      per_parameter = job.nodes;
    }
  }
  Speedup off = drawn;
  off.parameter += draw(settings.error, job, seed, TransformDraw::error);
  off.sigma += draw(settings.sigma_error, job, seed, TransformDraw::sigma_error);
  if (drawn.kind == Speedup::Kind::downey) {
    for (Speedup* speedup : {&drawn, &off}) {
      speedup->parameter = std::max(speedup->parameter * per_parameter, 1.0);
    }
  }
  return {settings.error_in, drawn, off};
}

// How much longer the job runs at the size asked for than the input says.
double stretch(const ModelSettings& settings, const Speedup& speedup, Nodes nodes) {
  const bool at_one = speedup.kind == Speedup::Kind::powerlaw &&
                      settings.reference == ModelSettings::Reference::one;
  return at_one ? std::pow(nodes, speedup.parameter) : 1;
}

// The share that makes a job what it is, and what it is. A rigid job has the first one that there
// is.
struct Chosen {
  JobType type = JobType::rigid;
  const AdaptiveShare* share = nullptr;
};

double share_of(const std::optional<AdaptiveShare>& share) { return share ? share->share : 0; }

Chosen choose(const Transform& transform, const WorkloadJob& job, std::uint64_t seed) {
  using Overlap = EvolvingSettings::Overlap;
  const double m = share_of(transform.malleable), e = share_of(transform.evolving);
  const std::uint64_t bits = draws_of(job, seed, TransformDraw::malleable).bits();
  const bool malleable = unit(bits) < m;
  // Malleable jobs are taken from one end of the line, evolving ones from the other.
  double place = unit(bits), taken = std::max(m, e);
  if (transform.requests.overlap == Overlap::least) {
    place = unit(~bits);
    taken = std::min(m + e, 1.0);
  } else if (transform.requests.overlap == Overlap::random) {
    place = draws_of(job, seed, TransformDraw::overlap).uniform();
    taken = m + e - m * e;
  }
  const bool evolving = place < e;
  if (malleable) {
    return {evolving ? JobType::adaptive : JobType::malleable, &*transform.malleable};
  }
  if (evolving) return {JobType::evolving, &*transform.evolving};
  // Moldable jobs are taken from the rest.
  if (transform.moldable && draws_of(job, seed, TransformDraw::moldable).uniform() * (1 - taken) <
                                transform.moldable->share) {
    return {JobType::moldable, &*transform.moldable};
  }
  for (const auto* share : {&transform.malleable, &transform.moldable, &transform.evolving}) {
    if (*share && (*share)->scale_rigid) return {JobType::rigid, &**share};
  }
  return {};
}

// As if every request were granted.
std::vector<EvolvingStep> steps_of(const EvolvingSettings& settings, const WorkloadJob& job,
                                   const SizeRange& sizes, std::uint64_t seed) {
  Draws draws(seed, Stream::evolving, job.name);
  const auto count = static_cast<std::size_t>(settings.count.draw(draws));
  constexpr Wide kMost = 1'000'000'000;
  const Wide most = std::clamp(settings.delta_max.floor_of(job.nodes), Wide{1}, kMost);
  std::vector<EvolvingStep> steps;
  std::vector<double> left;
  double remaining = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = settings.left.draw(draws);
    remaining = settings.window == EvolvingSettings::Window::remaining ? remaining * share : share;
    left.push_back(remaining);
  }
  std::ranges::sort(left, std::greater<>());
  auto size = std::int64_t{job.nodes};
  for (const double share_left : left) {
    const bool more = draws.chance(settings.expand);
    const auto change =
        static_cast<std::int64_t>(1 + draws.below(static_cast<std::uint64_t>(most)));
    const std::int64_t to = std::clamp(more ? size + change : size - change,
                                       std::int64_t{sizes.min}, std::int64_t{sizes.max});
    if (to == size) continue;  // it is as large or as small as it may be
    steps.push_back({.progress = 1 - share_left, .delta = static_cast<std::int32_t>(to - size)});
    size = to;
  }
  return steps;
}

Views<ReconfigurationCost> costs_of(const ReconfigurationSettings& settings, const WorkloadJob& job,
                                    std::uint64_t seed) {
  Draws draws = draws_of(job, seed, TransformDraw::cost);
  ReconfigurationCost cost;
  cost.alpha_s = settings.alpha_s.draw(draws);
  cost.beta_s = settings.beta_s.draw(draws);
  cost.b_s = settings.b_s.draw(draws);
  cost.fixed_s = settings.sync_s.draw(draws);
  cost.fixed_s += settings.negotiation_s.draw(draws);
  cost.scale = settings.scale;
  cost.transfer_s = settings.transfer_s;
  ReconfigurationCost off = cost;
  const double error = draw(settings.error, job, seed, TransformDraw::cost_error);
  off.scale *= error;
  off.fixed_s *= error;
  return {settings.error_in, cost, off};
}

Duration menu_entry(Duration time) {
  constexpr std::array kMinutes{5, 10, 15, 30, 60, 120, 240, 480, 720};
  for (const int minutes : kMinutes) {
    if (time <= whole_seconds(60 * minutes)) return whole_seconds(60 * minutes);
  }
  constexpr std::int64_t kDay = 86'400'000'000;  // us; from here on, whole days
  return Duration{(time.count() + kDay - 1) / kDay * kDay};
}

Duration estimate(const EstimateSettings& settings, Duration requested, Duration runtime,
                  const WorkloadJob& job, std::uint64_t seed) {
  using Kind = EstimateSettings::Kind;
  Draws draws(seed, Stream::estimates, job.name);
  switch (settings.kind) {
    case Kind::requested:
    case Kind::predicted:
      return requested;
    case Kind::perfect:
      return runtime;
    case Kind::factor:
      return scaled(runtime, draws.uniform(1, settings.f + 1), "estimates");
    case Kind::menu:
      return menu_entry(scaled(runtime, draws.uniform(1, 3), "estimates"));
  }
  return requested;
}

// Is it a rigid job as any other, but for who pays for it and where it may run?
bool is_plain(const AdaptiveJob& more) {
  return more == AdaptiveJob{.type = JobType::rigid,
                             .size = more.size,
                             .account = more.account,
                             .asked = more.asked};
}

// Measured times of phases; what is sent then is sent as much slower.
void scale_times(AdaptiveJob& more, double factor) {
  if (factor == 1) return;
  for (Phase& phase : more.phases) {
    std::vector<Stretches> by_size;
    for (const Stretches& its : phase.stretches.rows()) {
      std::vector<Stretch> stretches(its.rows().begin(), its.rows().end());
      for (Stretch& stretch : stretches) {
        for (Flow& flow : stretch.flows) flow.most /= factor;
      }
      by_size.emplace_back(std::move(stretches));
    }
    phase.stretches = SharedList(std::move(by_size));
    const auto rows = phase.times_s.rows();
    std::vector<double> times_s(rows.begin(), rows.end());
    for (double& time_s : times_s) time_s *= factor;
    phase.times_s = SharedList(std::move(times_s));
  }
}

// Where in the order of bounds its number falls: a share that grows keeps its jobs as far as those
// before it are the same.
Bound bound_of(const BoundShares& shares, const WorkloadJob& job, std::uint64_t seed) {
  const double drawn = Draws(seed, Stream::bounds, job.name).uniform();
  double below = 0;
  for (std::size_t i = 0; i + 1 < shares.of.size(); ++i) {
    below += shares.of[i];
    if (drawn < below) return static_cast<Bound>(i);
  }
  return static_cast<Bound>(shares.of.size() - 1);
}

// One job, all changes but that of its arrival.
void change(Workload& workload, WorkloadJob& job, const Transform& transform, Nodes machine,
            std::uint64_t seed) {
  constexpr const char* kWhat = "run time";
  const bool has_row = job.adaptive != WorkloadJob::kRigid;
  const bool adaptive_already = has_row && !is_plain(workload.adaptive[job.adaptive]);
  bool is_made_adaptive = false;
  job.runtime = scaled(job.runtime, transform.speed_factor, kWhat);
  job.walltime = scaled(job.walltime, transform.speed_factor, kWhat);
  if (has_row) {
    scale_times(workload.adaptive[job.adaptive], static_cast<double>(transform.speed_factor));
  }

  const Chosen chosen = adaptive_already ? Chosen{} : choose(transform, job, seed);
  Duration believed_runtime = job.runtime;
  if (chosen.share) {
    const AdaptiveShare& share = *chosen.share;
    const ModelSettings& settings = share.model;
    const Views<Speedup> models = models_of(settings, job, seed);
    const Views<double> errors(settings.error_in, 1,
                               draw(settings.time_error, job, seed, TransformDraw::time_error));
    const double longer = stretch(settings, models.believed, job.nodes) * errors.believed;
    believed_runtime = scaled(job.runtime, longer, kWhat);
    job.walltime = scaled(job.walltime, longer, kWhat);
    job.runtime =
        scaled(job.runtime, stretch(settings, models.truth, job.nodes) * errors.truth, kWhat);

    const SizeRange range = sizes(share, job.nodes, machine);
    const bool some = range.contains(share.constraint.at_least(range.min));
    if (chosen.type != JobType::rigid && some) {
      AdaptiveJob more{.type = chosen.type, .size = range, .speedup = models.truth};
      more.believed.speedup = models.believed;
      more.believed.constraint = share.constraint;
      if (chosen.type == JobType::evolving || chosen.type == JobType::adaptive) {
        more.steps = steps_of(transform.requests, job, range, seed);
      }
      if (has_row) {
        AdaptiveJob& row = workload.adaptive[job.adaptive];
        more.account = row.account;
        more.asked = row.asked;
        row = std::move(more);
      } else {
        job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
        workload.adaptive.push_back(std::move(more));
      }
      is_made_adaptive = true;
      job.walltime =
          scaled(job.walltime, draw(share.walltime_factor, job, seed, TransformDraw::walltime),
                 "walltime");
    }
  }
  if (is_made_adaptive || (adaptive_already && transform.reconfigure)) {
    const Views<ReconfigurationCost> costs = costs_of(transform.cost, job, seed);
    workload.adaptive[job.adaptive].believed.cost = costs.believed;
    workload.adaptive[job.adaptive].cost = costs.truth;
  }
  if (transform.bounds) job.bound = bound_of(*transform.bounds, job, seed);
  job.walltime = estimate(transform.estimates, job.walltime, believed_runtime, job, seed);
  if (adaptive_already && transform.estimates.replace()) {
    workload.adaptive[job.adaptive].believed.walltime_for = WalltimeFor::preferred_size;
  }
}

// False, and nothing is changed, if the last job would come too late.
bool try_to_scale_arrivals(Workload& workload, const Decimal& factor) {
  if (workload.jobs.empty() || factor == Decimal(1)) return true;
  const Time first = workload.jobs.front().submit;
  const auto gap_us = [&](const WorkloadJob& job) {
    return factor.round_of((job.submit - first).count());
  };
  if (first.time_since_epoch().count() + gap_us(workload.jobs.back()) > kLatest) return false;
  for (WorkloadJob& job : workload.jobs) {
    job.submit = first + Duration{static_cast<std::int64_t>(gap_us(job))};
  }
  return true;
}

// The load is as `WorkloadInfo::offered_load` has it.
void scale_to_load(Workload& workload, double load, Nodes nodes) {
  const Place place{.field = "--load"};
  if (nodes == 0) throw InputError(place, "how large the machine is is not known", "give --nodes");
  double work_node_s = 0;
  for (const WorkloadJob& job : workload.jobs) work_node_s += job.nodes * to_seconds(job.runtime);
  const Duration span = workload.jobs.empty()
                            ? Duration{}
                            : workload.jobs.back().submit - workload.jobs.front().submit;
  if (span == Duration{}) {
    throw InputError(place, "all jobs come at once: no load follows from them",
                     "give a log with jobs that come one after the other");
  }
  const double now = work_node_s / (nodes * to_seconds(span));
  if (!try_to_scale_arrivals(workload, Decimal(now / load))) {
    throw InputError(place,
                     fmt::format("{} is too low: the load is {:.4g}, and the last job would come "
                                 "after more than 10^12 s",
                                 load, now),
                     "use a larger one");
  }
}

}  // namespace

double RandomValue::draw(Draws& draws) const {
  switch (kind) {
    case Kind::fixed:
      return low;
    case Kind::uniform:
      return draws.uniform(low, high);
    case Kind::normal:
      for (;;) {
        const double deviation = draws.normal() / 6;
        if (std::abs(deviation) <= 0.5) return low + (high - low) * (0.5 + deviation);
      }
    case Kind::mixed: {
      const double width = (high - low) / 3;
      const double from = low + width * static_cast<double>(draws.below(3));
      return RandomValue{Kind::normal, from, from + width}.draw(draws);
    }
  }
  return low;
}

bool Transform::changes() const {
  return without_flurries || shuffle || load || arrival_scale != Decimal(1) ||
         speed_factor != Decimal(1) || malleable || moldable || evolving || reconfigure ||
         estimates.replace() || bounds;
}

void transform(Workload& workload, const Transform& transform, Nodes nodes, std::uint64_t seed) {
  if (transform.without_flurries) remove_flurries(workload, *transform.without_flurries);
  if (transform.shuffle) shuffle(workload, seed);
  scale_arrivals(workload, transform.arrival_scale);
  for (WorkloadJob& job : workload.jobs) change(workload, job, transform, nodes, seed);
  // What jobs send takes as much longer, or less; so links are as much slower, or faster.
  const auto factor = static_cast<double>(transform.speed_factor);
  for (double& link : workload.links) link /= factor;
  if (transform.load) scale_to_load(workload, *transform.load, nodes);
}

void shuffle(Workload& workload, std::uint64_t seed) {
  std::vector<WorkloadJob>& jobs = workload.jobs;
  std::vector<Time> times;
  times.reserve(jobs.size());
  for (const WorkloadJob& job : jobs) times.push_back(job.submit);
  std::vector<std::uint32_t> was(jobs.size()), place(jobs.size());
  for (std::uint32_t i = 0; i < was.size(); ++i) was[i] = i;
  std::ranges::stable_sort(
      was, {}, [&](std::uint32_t i) { return Draws(seed, Stream::shuffle, jobs[i].name).bits(); });
  std::vector<WorkloadJob> shuffled;
  shuffled.reserve(jobs.size());
  for (std::uint32_t i = 0; i < was.size(); ++i) {
    place[was[i]] = i;
    shuffled.emplace_back(jobs[was[i]]).submit = times[i];
  }
  jobs = std::move(shuffled);
  renumber_precedences(workload, place);
}

void anonymise(Workload& workload) {
  std::unordered_map<std::uint32_t, std::uint32_t> users, groups;
  const auto renumber = [](auto& numbers, std::uint32_t& number) {
    if (number == 0) return;  // not known
    const auto next = static_cast<std::uint32_t>(numbers.size() + 1);
    number = numbers.try_emplace(number, next).first->second;
  };
  std::vector<std::uint32_t> places(workload.accounts.size());  // new ones plus 1; 0: none yet
  std::uint32_t accounts = 0;
  for (WorkloadJob& job : workload.jobs) {
    renumber(users, job.user);
    renumber(groups, job.group);
    if (job.adaptive == WorkloadJob::kRigid) continue;
    std::uint32_t& account = workload.adaptive[job.adaptive].account;
    if (account == 0) continue;
    std::uint32_t& place = places[account - 1];
    if (place == 0) place = ++accounts;
    account = place;
  }
  workload.accounts.resize(accounts);
  for (std::uint32_t i = 0; i < accounts; ++i) workload.accounts[i] = fmt::format("a{}", i + 1);
  std::unordered_map<std::string, std::size_t> partitions;
  for (AskedWhere& asked : workload.asked) {
    std::string anew;
    for (std::string_view rest = asked.partitions; !rest.empty();) {
      const std::string name(next_part(rest, ','));
      const std::size_t number = partitions.try_emplace(name, partitions.size() + 1).first->second;
      fmt::format_to(std::back_inserter(anew), "{}p{}", anew.empty() ? "" : ",", number);
    }
    asked.partitions = std::move(anew);
  }
}

void scale_arrivals(Workload& workload, const Decimal& factor) {
  if (try_to_scale_arrivals(workload, factor)) return;
  throw InputError({.field = "--arrival-scale"},
                   fmt::format("{} is too large: the last job would come after more than 10^12 s",
                               to_text(factor)),
                   "use a smaller one");
}

}  // namespace ductile
