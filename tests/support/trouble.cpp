#include "support/trouble.hpp"

#include <array>
#include <optional>

#include "base/random.hpp"
#include "support/random_jobs.hpp"

namespace ductile::testing {

Trouble random_trouble(std::uint64_t seed) {
  Trouble t;
  Draws draws(seed, Stream::test, 1);
  const auto nodes = static_cast<Nodes>(2 + draws.below(30));
  const std::uint64_t grain_us = draws.chance(0.5) ? 1 : 1'000'000;
  t.workload.jobs = random_jobs(seed, 5 + draws.below(25), nodes, grain_us);
  for (WorkloadJob& job : t.workload.jobs) {
    const auto type = static_cast<JobType>(draws.below(5));
    if (type == JobType::rigid) continue;
    job.adaptive = static_cast<std::uint32_t>(t.workload.adaptive.size());
    AdaptiveJob& more = t.workload.adaptive.emplace_back();
    more.type = type;
    more.size = {static_cast<Nodes>(1 + draws.below(job.nodes)),
                 static_cast<Nodes>(job.nodes + draws.below(nodes))};
    if (draws.chance(0.3)) more.believed.resize_delay = whole_seconds(3);
    if (job.nodes % 2 == 0 && draws.chance(0.3)) {
      more.believed.constraint.kind = SizeConstraint::Kind::even;
    }
    if (type == JobType::evolving || type == JobType::adaptive) {
      for (double at = draws.uniform(); at < 1; at += 0.05 + draws.uniform()) {
        const auto delta = static_cast<std::int32_t>(draws.below(9)) - 4;
        if (delta == 0) continue;
        more.steps.push_back({.progress = at,
                              .delta = delta,
                              .at_least = static_cast<Nodes>(draws.below(3)),
                              .if_denied = at > 0.6});
      }
    }
  }
  SimulationSettings& settings = t.settings;
  settings.platform.nodes = nodes;
  settings.rules.check = true;
  settings.rules.seed = seed;
  settings.rules.identities = draws.chance(0.7);
  settings.rules.limit = draws.chance(0.5) ? Rules::Limit::fixed : Rules::Limit::scaled;
  settings.kill_overrun = draws.chance(0.3);
  ResizeBehaviour& how = settings.resize;
  if (draws.chance(0.8)) how.delay = {RandomDuration::Kind::uniform, {}, whole_seconds(10)};
  if (draws.chance(0.2)) how.delay = {RandomDuration::Kind::exponential, whole_seconds(10), {}};
  if (draws.chance(0.5)) how.refuse = draws.uniform();
  if (draws.chance(0.3)) how.lose = draws.uniform(0, 0.5);
  if (draws.chance(0.5)) how.partly = draws.uniform();
  if (draws.chance(0.3)) how.repeat = draws.uniform();
  if (draws.chance(0.3)) how.apply_at = ResizeBehaviour::ApplyAt::phase_end;
  how.retry = draws.chance(0.5) ? Duration{} : whole_seconds(8);
  how.timeout = whole_seconds(20);
  if (draws.chance(0.4)) {
    settings.start_delay = {RandomDuration::Kind::uniform, {}, whole_seconds(4)};
    settings.start_failure = draws.uniform(0, 0.5);
    settings.start_retry = whole_seconds(5);
  }
  if (settings.rules.identities && draws.chance(0.6)) {
    Time at{};
    for (std::uint64_t n = draws.below(12); n > 0; --n) {
      at += whole_seconds(static_cast<std::int64_t>(draws.below(40)));
      const auto first = static_cast<std::uint32_t>(draws.below(nodes));
      const auto last = static_cast<std::uint32_t>(first + draws.below(nodes - first));
      settings.node_events.push_back({at, {{{first, last}}}, static_cast<Health>(draws.below(4))});
    }
    settings.node_events.push_back({at + whole_seconds(50), {{{0, nodes - 1}}}, Health::up});
  }
  using OnFailure = SimulationSettings::OnFailure;
  settings.on_failure =
      std::array{OnFailure::requeue, OnFailure::kill, OnFailure::shrink}[draws.below(3)];
  if (draws.chance(0.4)) {
    Time time{};
    for (std::uint64_t n = draws.below(20); n > 0; --n) {
      time += whole_seconds(static_cast<std::int64_t>(draws.below(40)));
      const JobId job{static_cast<std::uint32_t>(draws.below(t.workload.jobs.size()))};
      OperatorOrder order{time, job, OperatorOrder::Resume{}};
      if (draws.chance(0.7)) order.what = draws.chance(0.7) ? Stop::suspend : Stop::requeue;
      if (draws.chance(0.05)) order.what = Stop::cancel;
      settings.orders.push_back(std::move(order));
    }
    // At last all go on, also those whose order is not carried out yet.
    time += whole_seconds(50);
    for (std::uint32_t i = 0; i < t.workload.jobs.size(); ++i) {
      settings.orders.push_back({time, JobId{i}, OperatorOrder::Resume{}});
    }
  }
  return t;
}

}  // namespace ductile::testing
