// What a copy of the core costs: it is how one asks what if (docs/architecture.md). Shall stay
// below 5 ms with 1,000 running and 10,000 waiting jobs. And what it costs to save its state, and
// to load it.
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"
#include "scheduling/snapshot.hpp"

namespace ductile {
namespace {

/// Starts whatever fits, in order.
class InOrder final : public Policy {
 public:
  void schedule(Pass& pass) const override {
    for (JobId id = pass.first_pending(); id != JobId::none; id = pass.first_pending()) {
      if (!pass.start(id, exactly(pass.job(id).spec.preferred), {Why::in_order})) return;
    }
  }
};

/// `running` jobs of two nodes each, every fourth of them malleable, and `waiting` ones.
Core full_core(std::int64_t running, std::int64_t waiting, bool identities) {
  Rules rules;
  rules.identities = identities;
  rules.check = false;
  const InOrder policy{};
  Core core(Platform{.nodes = static_cast<Nodes>(2 * running)}, Capabilities{}, rules,
            policy.traits);
  for (std::int64_t i = 0; i < running + waiting; ++i) {
    JobSpec spec;
    spec.name = static_cast<std::uint64_t>(i);
    spec.preferred = 2;
    spec.size = exactly(2);
    spec.walltime = whole_seconds(1000 + i);
    std::optional<AdaptiveSpec> adaptive;
    if (i % 4 == 0) {
      spec.type = JobType::malleable;
      spec.size = {1, 8};
      adaptive.emplace();
    }
    core.apply(Time{}, event::Submitted{spec, adaptive});
  }
  core.close(Time{}, policy);
  return core;
}

void copy(benchmark::State& state) {
  const Core core = full_core(state.range(0), state.range(1), state.range(2) != 0);
  for (auto _ : state) {
    Core imagined = core;
    benchmark::DoNotOptimize(imagined);
  }
}
BENCHMARK(copy)
    ->ArgNames({"running", "waiting", "identities"})
    ->Args({1'000, 10'000, 0})
    ->Args({1'000, 10'000, 1})
    ->Args({10'000, 100'000, 1})
    ->Unit(benchmark::kMillisecond);

void save(benchmark::State& state) {
  const Core core = full_core(state.range(0), state.range(1), true);
  std::string text;
  for (auto _ : state) {
    text.clear();
    ductile::save(core.state(), text);
  }
  state.counters["MB"] = static_cast<double>(text.size()) / 1e6;
}
BENCHMARK(save)
    ->ArgNames({"running", "waiting"})
    ->Args({10'000, 100'000})
    ->Unit(benchmark::kMillisecond);

void load(benchmark::State& state) {
  const std::string text = ductile::save(full_core(state.range(0), state.range(1), true).state());
  for (auto _ : state) {
    State loaded = ductile::load(text);
    benchmark::DoNotOptimize(loaded);
  }
}
BENCHMARK(load)
    ->ArgNames({"running", "waiting"})
    ->Args({10'000, 100'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ductile

BENCHMARK_MAIN();
