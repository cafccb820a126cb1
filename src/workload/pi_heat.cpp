#include "workload/pi_heat.hpp"

#include <string>

#include "base/error.hpp"
#include "base/random.hpp"

namespace ductile {

Workload generate_pi_heat(const PiHeatModel& model, std::uint64_t seed) {
  if (model.max_size == 0 || model.max_size > model.nodes) {
    throw InputError({.field = "max_size"}, "it is not between 1 and the machine's nodes",
                     "give a size that the machine has");
  }
  if (model.max_runtime_s < model.min_runtime_s) {
    throw InputError({.field = "max_runtime"}, "it is less than min_runtime", "give at least that");
  }
  Workload workload;
  workload.name = "pi_heat";
  for (std::uint64_t i = 1; i <= model.jobs; ++i) {
    Draws draws(seed, Stream::workload, i);
    WorkloadJob& job = workload.jobs.emplace_back();
    job.name = i;
    job.submit = Time{static_cast<std::int64_t>(i - 1) * model.gap};
    job.nodes = static_cast<Nodes>(1 + draws.below(model.max_size));
    const auto choices = static_cast<std::uint64_t>(model.max_runtime_s - model.min_runtime_s + 1);
    job.runtime = job.walltime =
        whole_seconds(model.min_runtime_s + static_cast<std::int64_t>(draws.below(choices)));
    const bool is_rigid = draws.chance(model.rigid);
    job.user = i % 2 == 1 ? 1 : 2;
    job.group = 1;
    job.adaptive = static_cast<std::uint32_t>(workload.adaptive.size());
    AdaptiveJob& more = workload.adaptive.emplace_back();
    more.type = is_rigid ? JobType::rigid : JobType::malleable;
    more.size = is_rigid ? exactly(job.nodes) : SizeRange{1, model.nodes};
    more.believed.watts_per_node = i % 2 == 1 ? model.pi_w : model.heat_w;
  }
  return workload;
}

}  // namespace ductile
