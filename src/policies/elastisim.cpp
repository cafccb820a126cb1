// What the scheduler of ElastiSim's public example project does (Oezden et al., ICPP 2022): first
// come, first served, each job as large as idle nodes allow; a malleable job takes all idle nodes
// up to its largest size when it reaches a scheduling point, also while jobs wait.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

class ElastiSim final : public Policy {
 public:
  explicit ElastiSim(const Parameters& p)
      : Policy({.start_size = StartSize::smallest}), benefit_(expand_benefit(p)) {}

  void schedule(Pass& pass) const override {
    start(pass);
    expand(pass);
  }

 private:
  // Nothing passes one that has to wait, but in cells that it cannot use.
  static void start(Pass& pass) {
    LanesInTurn lanes(pass);
    for (JobId id = JobId::none; (id = lanes.next(pass, id)) != JobId::none;) {
      const JobSpec& spec = pass.job(id).spec;
      const Nodes least = start_sizes(pass, id).min;
      const Cells cells = lanes.free(pass.open_cells(id));
      const Nodes most = std::min(spec.size.max, idle_in(pass, cells));
      const Nodes n =
          sizes_at_start(spec.type) ? std::max(least, pass.sizes(id).at_most(most)) : least;
      const auto in = place_idle(pass, cells, n);
      const Sources sources{.in = in && !in->empty() ? &*in : nullptr};
      if (in && lanes.has_power(pass, id) && pass.start(id, {least, n}, {Why::in_order}, sources)) {
        continue;
      }
      if (in && !lanes.lacks_power() && start_slower(pass, id, cells)) continue;
      lanes.waits(pass, id);
    }
  }
  static Nodes idle_in(const Pass& pass, Cells cells) {
    if (pass.cell_count() == 1) return cells != 0 ? pass.idle() : 0;
    Nodes sum = 0;
    for (const std::uint32_t cell : pass.cells_in_order()) {
      if ((cells >> cell & 1) != 0) sum += pass.idle_of(cell);
    }
    return sum;
  }

  // Who is expected to reach its scheduling point first is the first to be asked.
  void expand(Pass& pass) const {
    if (pass.idle() == 0) return;
    std::vector<JobId> jobs;
    for (const JobId id : pass.running_malleable()) {
      if (pass.resizable(id) && pass.job(id).size() < pass.job(id).spec.size.max)
        jobs.push_back(id);
    }
    rank(jobs, [&](JobId id) { return pass.expected_release(id); });
    for (const JobId id : jobs) offer(pass, id, pass.idle(id), benefit_, {Why::hand_out});
  }

  Benefit benefit_;
};

}  // namespace

PolicyInfo elastisim() {
  ParameterInfo benefit = expand_benefit_parameter();
  benefit.fallback = "off";
  return {.name = "elastisim",
          .summary =
              "first come, first served, each job as large as idle nodes allow; what is left "
              "expands running malleable jobs: the example scheduler of ElastiSim",
          .source = "ElastiSim's example project, Oezden et al. 2022",
          .parameters = {std::move(benefit)},
          .make = make_policy<ElastiSim>};
}

}  // namespace ductile
