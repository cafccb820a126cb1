#include "report/gantt.hpp"

#include "scheduling/parts.hpp"

namespace ductile {
namespace {

// Where others hold nodes of it longer than it does.
NodeSet as_guest(JobId id, const NodeSet& nodes, const State& state) {
  NodeSet found;
  for_each_node(nodes, [&](std::uint32_t node) {
    const auto at = state.sharers.find(node);
    if (at != state.sharers.end() && at->second.front() != id) found.insert(node, node);
  });
  return found;
}

}  // namespace

void GanttRecorder::on_begin(const Core& core) {
  gantt_.nodes = core.state().platform.nodes;
  if (!workload_.jobs.empty()) gantt_.begin = gantt_.end = workload_.jobs.front().submit;
  over_ = !core.state().rules.identities;
}

void GanttRecorder::on_decision(Time now, const Decision& decision, const Core& core) {
  if (over_) return;
  if (decision.kind == Decision::Kind::cores) change(now, decision.job, core);
  const bool starts = decision.kind == Decision::Kind::start;
  if (!starts && decision.kind != Decision::Kind::resize) return;
  if (!starts) {
    const auto at = open_.find(decision.job);
    // Other cores of its nodes say nothing of why it has these.
    if (at != open_.end() && decision.reason.why != Why::guest) {
      at->second.next = decision.reason.why;
    }
    return;
  }
  if (starts_ == kMostStarts || gantt_.bars.size() > kMostBars) {
    gantt_.whole = false;
    end_window(now);
    return;
  }
  ++starts_;
  open(now, decision.job, decision.after, decision.reason.why, core);
}

void GanttRecorder::on_resized(Time now, JobId id, Nodes, const Core& core) {
  change(now, id, core);
}

void GanttRecorder::open(Time now, JobId id, const Holding& nodes, Why why, const Core& core) {
  Open& open = open_[id] = {.from = now, .nodes = nodes, .why = why, .next = why};
  if (nodes.parts.empty()) return;
  const NodeSet shared = nodes_in(nodes.parts);
  open.as_guest = as_guest(id, shared, core.state());
  open.of = core.state().whole(shared.parts.front().first).cores;
}

void GanttRecorder::change(Time now, JobId id, const Core& core) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  const Holding& nodes = core.job(id).holding;
  // Who was a guest may be the first one there, with as many cores.
  const bool is_same = nodes == at->second.nodes &&
                       at->second.as_guest == as_guest(id, nodes_in(nodes.parts), core.state());
  if (is_same) return;
  close(now, id, at->second);
  open(now, id, nodes, at->second.next, core);
}

void GanttRecorder::leave(Time now, JobId id) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  close(now, id, at->second);
  open_.erase(at);
}

void GanttRecorder::on_end(Time now, JobId id, const WorkloadJob&, EndState, bool, const Core&) {
  leave(now, id);
}

void GanttRecorder::on_suspended(Time now, JobId id, const WorkloadJob&, const Core&) {
  leave(now, id);
}

void GanttRecorder::on_start_failed(Time now, JobId id, const Core&) { leave(now, id); }

void GanttRecorder::on_finish(Time now, const Core& core) {
  gantt_.nodes = core.state().platform.nodes;
  if (!over_) end_window(now);
}

void GanttRecorder::close(Time now, JobId id, const Open& open) {
  if (now == open.from) return;
  GanttBar bar{.job = workload_.jobs[index(id)].name,
               .from = open.from,
               .to = now,
               .why = open.why,
               .size = open.nodes.count};
  const auto add = [&](const NodeSet& nodes) {
    for (const Interval& part : nodes.parts) {
      bar.nodes = part;
      gantt_.bars.push_back(bar);
    }
  };
  add(difference(open.nodes.nodes, nodes_in(open.nodes.parts)));
  for (const Part& part : open.nodes.parts) {
    bar.cores = part.has.cores;
    bar.of = open.of;
    bar.is_guest = false;
    add(difference(part.nodes, open.as_guest));
    bar.is_guest = true;
    add(intersection(part.nodes, open.as_guest));
  }
}

void GanttRecorder::end_window(Time now) {
  for (const auto& [id, open] : open_) close(now, id, open);
  open_.clear();
  gantt_.end = now;
  over_ = true;
}

}  // namespace ductile
