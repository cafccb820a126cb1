#include "report/nodes_csv.hpp"

#include <cstddef>

#include "base/text.hpp"
#include "report/csv_reader.hpp"

namespace ductile {

void NodesCsv::on_close(Time now, const Core& core) {
  const ductile::State& state = core.state();
  const bool has_any = !state.not_up.empty() || !state.draining.empty() || !state.bookings.empty();
  if (!has_any && since_.empty()) return;
  const NodeSet off = state.those_off(state.not_up);
  note(now, {"off", ""}, off);
  note(now, {"draining", ""}, state.draining);
  note(now, {"down", ""}, difference(difference(state.not_up, off), state.draining));
  std::map<State, NodeSet> reserved;
  for (const auto& [its, since] : since_) {
    if (its.first == "reserved") reserved[its];
  }
  for (const Booking& booking : state.bookings) {
    if (booking.has_begun) reserved[{"reserved", booking.name}] = booking.nodes;
  }
  for (const auto& [its, nodes] : reserved) note(now, its, nodes);
}

void NodesCsv::note(Time now, const State& state, const NodeSet& nodes) {
  NodeSet fresh = nodes;
  if (const auto at = since_.find(state); at != since_.end()) {
    for (auto& [from, its] : at->second) {
      const NodeSet over = difference(its, nodes);
      if (!over.empty()) write(state, from, now, over);
      its.erase(over);
      fresh.erase(its);
    }
    std::erase_if(at->second, [](const auto& each) { return each.second.empty(); });
  }
  if (!fresh.empty()) since_[state][now].insert(fresh);
  if (const auto at = since_.find(state); at != since_.end() && at->second.empty()) {
    since_.erase(at);
  }
}

void NodesCsv::on_finish(Time now, const Core&) {
  for (const auto& [state, since] : since_) {
    for (const auto& [from, nodes] : since) write(state, from, now, nodes);
  }
  since_.clear();
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
