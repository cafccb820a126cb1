#include "report/gantt.hpp"

namespace ductile {

void GanttRecorder::on_begin(const Core& core) {
  gantt_.nodes = core.state().platform.nodes;
  if (!workload_.jobs.empty()) gantt_.begin = gantt_.end = workload_.jobs.front().submit;
  over_ = !core.state().rules.identities;
}

void GanttRecorder::on_decision(Time now, const Decision& decision, const Core&) {
  if (over_) return;
  const bool starts = decision.kind == Decision::Kind::start;
  if (!starts && decision.kind != Decision::Kind::resize) return;
  if (!starts) {
    if (const auto at = open_.find(decision.job); at != open_.end()) {
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
  open_[decision.job] = {now, decision.after, decision.reason.why, decision.reason.why};
}

void GanttRecorder::on_resized(Time now, JobId id, Nodes, const Core& core) {
  const auto at = open_.find(id);
  if (at == open_.end() || core.job(id).holding == at->second.nodes) return;
  Open& open = at->second;
  close(now, id, open);
  open = {now, core.job(id).holding, open.next, open.next};
}

void GanttRecorder::on_end(Time now, JobId id, const WorkloadJob&, EndState, bool, const Core&) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  close(now, id, at->second);
  open_.erase(at);
}

void GanttRecorder::on_suspended(Time now, JobId id, const WorkloadJob& job, const Core& core) {
  on_end(now, id, job, EndState::cancelled, true, core);
}

void GanttRecorder::on_finish(Time now, const Core& core) {
  gantt_.nodes = core.state().platform.nodes;
  if (!over_) end_window(now);
}

void GanttRecorder::close(Time now, JobId id, const Open& open) {
  if (now == open.from) return;
  for (const Interval& part : open.nodes.nodes.parts) {
    gantt_.bars.push_back(
        {workload_.jobs[index(id)].name, part, open.from, now, open.why, open.nodes.count});
  }
}

void GanttRecorder::end_window(Time now) {
  for (const auto& [id, open] : open_) close(now, id, open);
  open_.clear();
  gantt_.end = now;
  over_ = true;
}

}  // namespace ductile
