#include "report/allocations_csv.hpp"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "scheduling/parts.hpp"

namespace ductile {
namespace {

// All of them; none where only the number of nodes is known, and they differ.
std::optional<std::uint64_t> cores_of(const Holding& held, const State& state) {
  const Platform& platform = state.platform;
  std::uint64_t cores = 0;
  for (const Part& part : held.parts) {
    cores += std::uint64_t{part.has.cores} * part.nodes.count();
  }
  const NodeSet shared = nodes_in(held.parts);
  if (platform.classes.empty()) {
    return cores + std::uint64_t{held.count - shared.count()} * platform.cores_per_node;
  }
  if (held.nodes.count() != held.count) return std::nullopt;
  for_each_node(difference(held.nodes, shared),
                [&](std::uint32_t node) { cores += state.whole(node).cores; });
  return cores;
}

}  // namespace

AllocationsCsv::AllocationsCsv(const std::filesystem::path& path, const Workload& workload)
    : file_(path), workload_(workload) {}

void AllocationsCsv::on_begin(const Core&) { file_.text() += "job,from,until,size,nodes,cores\n"; }

void AllocationsCsv::on_decision(Time now, const Decision& decision, const Core& core) {
  if (decision.kind == Decision::Kind::start || decision.kind == Decision::Kind::resize ||
      decision.kind == Decision::Kind::cores) {
    note(now, decision.job, core);
  }
}

void AllocationsCsv::on_start_failed(Time now, JobId id, const Core& core) { leave(now, id, core); }

void AllocationsCsv::on_resized(Time now, JobId id, Nodes, const Core& core) {
  note(now, id, core);
}

void AllocationsCsv::on_suspended(Time now, JobId id, const WorkloadJob&, const Core& core) {
  leave(now, id, core);
}

void AllocationsCsv::on_end(Time now, JobId id, const WorkloadJob&, EndState, bool,
                            const Core& core) {
  leave(now, id, core);
}

void AllocationsCsv::on_close(Time now, const Core& core) {
  if (sharing_.empty()) return;
  const std::vector<JobId> sharing(sharing_.begin(), sharing_.end());
  for (const JobId id : sharing) note(now, id, core);
}

void AllocationsCsv::on_finish(Time now, const Core& core) {
  for (const auto& [id, row] : open_) write(now, id, row, core);
  open_.clear();
}

void AllocationsCsv::note(Time now, JobId id, const Core& core) {
  const Holding& held = core.job(id).holding;
  if (held.parts.empty()) {
    sharing_.erase(id);
  } else {
    sharing_.insert(id);
  }
  const auto [at, is_new] = open_.try_emplace(id, Open{now, held});
  if (is_new || at->second.held == held) return;
  write(now, id, at->second, core);
  at->second = {now, held};
}

void AllocationsCsv::leave(Time now, JobId id, const Core& core) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;  // it never ran
  write(now, id, at->second, core);
  open_.erase(at);
  sharing_.erase(id);
}

void AllocationsCsv::write(Time until, JobId id, const Open& row, const Core& core) {
  if (row.from == until) return;
  std::string& text = file_.text();
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{},", workload_.jobs[index(id)].name);
  append_seconds(text, row.from);
  append_seconds(text += ',', until);
  fmt::format_to(out, ",{},{},", row.held.count, to_string(row.held.nodes));
  if (const auto cores = cores_of(row.held, core.state())) fmt::format_to(out, "{}", *cores);
  text += '\n';
  file_.appended();
}

}  // namespace ductile
