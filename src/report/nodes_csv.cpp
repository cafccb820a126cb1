#include "report/nodes_csv.hpp"

#include <cstddef>

#include "base/text.hpp"
#include "report/csv_reader.hpp"
#include "scheduling/parts.hpp"

namespace ductile {

void NodesCsv::on_close(Time now, const Core& core) {
  const ductile::State& state = core.state();
  const bool has_any = !state.not_up.empty() || !state.draining.empty() || !state.bookings.empty();
  if (!has_any && members_.empty()) return;
  note(now, {"off", ""}, state.switched_off);
  note(now, {"draining", ""}, state.draining);
  note(now, {"down", ""}, difference(difference(state.not_up, state.switched_off), state.draining));
  std::map<State, NodeSet> reserved;
  for (const auto& [its, members] : members_) {
    if (its.first == "reserved") reserved[its];
  }
  for (const Booking& booking : state.bookings) {
    if (booking.has_begun) reserved[{"reserved", booking.name}] = booking.nodes;
  }
  for (const auto& [its, nodes] : reserved) note(now, its, nodes);
}

void NodesCsv::note(Time now, const State& state, const NodeSet& nodes) {
  const auto at = members_.find(state);
  if (at == members_.end() ? nodes.empty() : at->second.nodes == nodes) return;
  Members& members = at == members_.end() ? members_[state] : at->second;
  close(now, state, members, difference(members.nodes, nodes));
  for_each_node(difference(nodes, members.nodes),
                [&](std::uint32_t node) { members.since[node] = now; });
  members.nodes = nodes;
  if (nodes.empty()) members_.erase(state);
}

void NodesCsv::close(Time now, const State& state, Members& members, const NodeSet& gone) {
  std::map<Time, NodeSet> rows;
  for_each_node(gone, [&](std::uint32_t node) {
    const auto since = members.since.find(node);
    rows[since->second].append(node, node);
    members.since.erase(since);
  });
  for (const auto& [from, nodes] : rows) write(state, from, now, nodes);
}

void NodesCsv::on_finish(Time now, const Core&) {
  for (auto& [state, members] : members_) close(now, state, members, members.nodes);
  members_.clear();
}

void NodesCsv::write(const State& state, Time from, Time until, const NodeSet& nodes) {
  if (from == until) return;
  if (!file_) file_.emplace(path_).text() = "from,until,nodes,state,reservation\n";
  std::string& text = file_->text();
  append_seconds(text, from);
  append_seconds(text += ',', until);
  text.append(",").append(to_string(nodes)).append(",").append(state.first).append(",");
  append_field(text, state.second);
  text += '\n';
  file_->appended();
}

void NodesCsv::commit() {
  if (file_) file_->commit();
}

std::vector<NodesRow> read_nodes(const std::filesystem::path& path) {
  CsvReader rows(path);
  const std::size_t from = rows.column("from"), until = rows.column("until"),
                    nodes = rows.column("nodes"), state = rows.column("state"),
                    reservation = rows.column("reservation");
  std::vector<NodesRow> found;
  while (rows.next()) {
    auto its = parse_node_set(rows.text(nodes));
    if (!its) rows.fail(nodes, "is no set of nodes, as 0-3 7");
    found.push_back({rows.time(from), rows.time(until), *std::move(its),
                     std::string(rows.text(state)), std::string(rows.text(reservation))});
    if (found.back().until < found.back().from) rows.fail(until, "is before the time it began");
  }
  return found;
}

}  // namespace ductile
