#include "report/allocations_csv.hpp"

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/csv_reader.hpp"
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

// Where others hold nodes of it longer than it does.
NodeSet guest_nodes(JobId id, const Holding& held, const State& state) {
  NodeSet found;
  for_each_node(nodes_in(held.parts), [&](std::uint32_t node) {
    const auto at = state.sharers.find(node);
    if (at != state.sharers.end() && at->second.front() != id) found.insert(node, node);
  });
  return found;
}

// "0-3:12 7:4"
void append_shared(std::string& text, const std::vector<Part>& parts) {
  bool is_first = true;
  for (const Part& part : parts) {
    for (const Interval& nodes : part.nodes.parts) {
      fmt::format_to(std::back_inserter(text), "{}{}:{}", is_first ? "" : " ",
                     to_string(NodeSet{{nodes}}), part.has.cores);
      is_first = false;
    }
  }
}

}  // namespace

AllocationsCsv::AllocationsCsv(const std::filesystem::path& path, const Workload& workload)
    : file_(path), workload_(workload) {}

void AllocationsCsv::on_begin(const Core&) {
  file_.text() += "job,from,until,size,nodes,cores,reason,for_job,shared,guest_nodes\n";
}

void AllocationsCsv::on_decision(Time now, const Decision& decision, const Core& core) {
  const bool resizes = decision.kind == Decision::Kind::resize;
  if (!resizes && decision.kind != Decision::Kind::start &&
      decision.kind != Decision::Kind::cores) {
    return;
  }
  note(now, decision.job, decision.reason, core);
  // What it gives up, it holds until it has answered.
  if (resizes) open_.at(decision.job).next = decision.reason;
}

void AllocationsCsv::on_start_failed(Time now, JobId id, const Core& core) { leave(now, id, core); }

void AllocationsCsv::on_resized(Time now, JobId id, Nodes, const Core& core) {
  const auto at = open_.find(id);
  note(now, id, at == open_.end() ? std::nullopt : std::exchange(at->second.next, {}), core);
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
  for (const JobId id : sharing) {
    // Who was a guest may be the first one there now.
    const std::optional<Reason> why = open_.at(id).why;
    note(now, id, why, core);
  }
}

void AllocationsCsv::on_finish(Time now, const Core& core) {
  for (const auto& [id, row] : open_) write(now, id, row, core);
  open_.clear();
}

void AllocationsCsv::note(Time now, JobId id, const std::optional<Reason>& why, const Core& core) {
  const Holding& held = core.job(id).holding;
  if (held.parts.empty()) {
    sharing_.erase(id);
  } else {
    sharing_.insert(id);
  }
  NodeSet as_guest = guest_nodes(id, held, core.state());
  const auto [at, is_new] = open_.try_emplace(id, Open{now, held, as_guest, why});
  Open& row = at->second;
  if (is_new || (row.held == held && row.as_guest == as_guest)) return;
  write(now, id, row, core);
  row = {now, held, std::move(as_guest), why, row.next};
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
  append_job(id);
  append_seconds(text += ',', row.from);
  append_seconds(text += ',', until);
  fmt::format_to(out, ",{},{},", row.held.count, to_string(row.held.nodes));
  if (const auto cores = cores_of(row.held, core.state())) fmt::format_to(out, "{}", *cores);
  fmt::format_to(out, ",{},", row.why ? word(row.why->why) : "node-failure");
  if (row.why && row.why->job != JobId::none) append_job(row.why->job);
  append_shared(text += ',', row.held.parts);
  fmt::format_to(out, ",{}\n", to_string(row.as_guest));
  file_.appended();
}

void AllocationsCsv::append_job(JobId id) {
  append_number(file_.text(), workload_.jobs[index(id)].name);
}

std::vector<Allocation> read_allocations(const std::filesystem::path& path) {
  CsvReader rows(path);
  const std::size_t job = rows.column("job"), from = rows.column("from"),
                    until = rows.column("until"), size = rows.column("size"),
                    nodes = rows.column("nodes"), cores = rows.column("cores"),
                    reason = rows.column("reason"), for_job = rows.column("for_job"),
                    shared = rows.column("shared"), guest_nodes = rows.column("guest_nodes");
  const auto node_set = [&rows](std::string_view text, std::size_t column) {
    if (text.empty()) return NodeSet{};
    auto set = parse_node_set(text);
    if (!set) rows.fail(column, "is no set of nodes, as 0-3 7");
    return *std::move(set);
  };
  std::vector<Allocation> found;
  while (rows.next()) {
    Allocation& row = found.emplace_back();
    row.job = rows.number<std::uint64_t>(job);
    row.from = rows.time(from);
    row.until = rows.time(until);
    if (row.until < row.from) rows.fail(until, "is before the time from which it was held");
    row.size = rows.number<Nodes>(size);
    row.nodes = node_set(rows.text(nodes), nodes);
    if (!rows.text(cores).empty()) row.cores = rows.number<std::uint64_t>(cores);
    row.reason = rows.text(reason);
    if (!rows.text(for_job).empty()) row.for_job = rows.number<std::uint64_t>(for_job);
    for (std::string_view rest = rows.text(shared); !rest.empty();) {
      std::string_view part = next_part(rest, ' ');
      NodeSet its = node_set(next_part(part, ':'), shared);
      const auto its_cores = parse_number<std::uint32_t>(part);
      if (its.empty() || !its_cores)
        rows.fail(shared, "is no list of nodes with cores, as 0-3:12 7:4");
      row.shared.push_back({std::move(its), *its_cores});
    }
    row.guest_nodes = node_set(rows.text(guest_nodes), guest_nodes);
  }
  return found;
}

std::uint64_t cores_per_node(const std::vector<Allocation>& held) {
  std::uint64_t found = 0;
  for (const Allocation& each : held) {
    if (!each.cores || !each.shared.empty() || each.size == 0) continue;
    const std::uint64_t its = *each.cores / each.size;
    if (its * each.size != *each.cores || (found != 0 && found != its)) return 0;
    found = its;
  }
  return found;
}

}  // namespace ductile
