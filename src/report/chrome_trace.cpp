#include "report/chrome_trace.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

// Slurm's names.
const char* word(EndState state, bool requeued) {
  if (requeued) return "REQUEUED";
  switch (state) {
    case EndState::completed:
      return "COMPLETED";
    case EndState::failed:
      return "FAILED";
    case EndState::timeout:
      return "TIMEOUT";
    case EndState::cancelled:
      return "CANCELLED";
    case EndState::node_fail:
      return "NODE_FAIL";
  }
  return "";
}

std::int64_t us(Time time) { return time.time_since_epoch().count(); }

// Its nodes, and of those that it shares how many cores it has of each, like "4@0-1".
std::string nodes_json(const Holding& holding) {
  std::string text = fmt::format("\"nodes\": \"{}\"", to_string(holding.nodes));
  const char* separator = ", \"cores\": \"";
  for (const Part& part : holding.parts) {
    text += fmt::format("{}{}@{}", std::exchange(separator, " "), part.has.cores,
                        to_string(part.nodes));
  }
  return holding.parts.empty() ? text : text + '"';
}

}  // namespace

ChromeTrace::ChromeTrace(const std::filesystem::path& path, const Workload& workload)
    : file_(path), workload_(workload) {
  file_.text() +=
      "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
      "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": " +
      json_text(workload.name) + "}}";
}

void ChromeTrace::on_decision(Time now, const Decision& decision, const Core&) {
  if (decision.kind == Decision::Kind::cores) {
    if (const auto at = running_.find(decision.job); at != running_.end()) {
      at->second.slices.push_back({now, decision.after, decision.reason});
    }
    return;
  }
  if (decision.kind == Decision::Kind::resize) {
    if (const auto at = running_.find(decision.job); at != running_.end()) {
      at->second.next = decision.reason;
    }
    return;
  }
  if (decision.kind != Decision::Kind::start) return;
  const auto known = running_.find(decision.job);  // it failed to start before
  if (known == running_.end() && jobs_ == kMostJobs) {
    ++left_out_;
    return;
  }
  Lane& lane = running_[decision.job];
  if (known == running_.end()) {
    ++jobs_;
    if (free_lanes_.empty()) free_lanes_.push(lanes_++);
    lane.number = free_lanes_.top();
    free_lanes_.pop();
  }
  lane.slices.assign(1, Slice{now, decision.after, decision.reason});
}

void ChromeTrace::on_resized(Time now, JobId id, Nodes, const Core& core) {
  const auto at = running_.find(id);
  if (at == running_.end() || core.job(id).holding == at->second.slices.back().nodes) return;
  at->second.slices.push_back({now, core.job(id).holding, at->second.next});
}

void ChromeTrace::on_end(Time now, JobId id, const WorkloadJob&, EndState state, bool requeued,
                         const Core&) {
  close(now, id, word(state, requeued));
}

void ChromeTrace::on_suspended(Time now, JobId id, const WorkloadJob&, const Core&) {
  close(now, id, "SUSPENDED");
}

void ChromeTrace::close(Time now, JobId id, const char* state) {
  const auto at = running_.find(id);
  if (at == running_.end()) return;
  write(now, id, at->second, state);
  free_lanes_.push(at->second.number);
  running_.erase(at);
}

void ChromeTrace::on_finish(Time now, const Core&) {
  std::vector<JobId> left;
  for (const auto& [id, lane] : running_) left.push_back(id);
  std::ranges::sort(left);
  for (const JobId id : left) write(now, id, running_.at(id), "RUNNING");
  running_.clear();
}

void ChromeTrace::write(Time now, JobId id, const Lane& lane, const char* state) {
  const WorkloadJob& job = workload_.jobs[index(id)];
  const Slice& first = lane.slices.front();
  std::string args =
      fmt::format("\"size\": {}, {}, \"state\": \"{}\", \"wait_s\": ", first.nodes.count,
                  nodes_json(first.nodes), state);
  append_seconds(args, first.from - job.submit);
  args += ", \"walltime_s\": ";
  append_seconds(args, job.walltime);
  write_slice(lane.number, fmt::format("job {}", job.name), first.from, now, first.reason, args);
  if (lane.slices.size() < 2) return;
  for (std::size_t i = 0; i < lane.slices.size(); ++i) {
    const Slice& slice = lane.slices[i];
    const Time to = i + 1 < lane.slices.size() ? lane.slices[i + 1].from : now;
    write_slice(lane.number, fmt::format("size {}", slice.nodes.count), slice.from, to,
                slice.reason,
                fmt::format("\"size\": {}, {}", slice.nodes.count, nodes_json(slice.nodes)));
  }
}

void ChromeTrace::write_slice(std::uint32_t lane, const std::string& name, Time from, Time to,
                              const Reason& reason, const std::string& args) {
  fmt::format_to(std::back_inserter(file_.text()),
                 ",\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"ts\": {}, \"dur\": {}, \"name\": "
                 "\"{}\", \"cat\": \"{}\", \"args\": {{{}",
                 lane + 1, us(from), us(to) - us(from), name, ductile::word(reason.why), args);
  if (reason.job != JobId::none) {
    fmt::format_to(std::back_inserter(file_.text()), ", \"for_job\": {}",
                   workload_.jobs[index(reason.job)].name);
  }
  file_.text() += "}}";
  file_.appended();
}

void ChromeTrace::commit(const Series& series) {
  std::string& text = file_.text();
  const auto out = std::back_inserter(text);
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    fmt::format_to(out,
                   ",\n{{\"ph\": \"M\", \"pid\": 1, \"tid\": {0}, \"name\": \"thread_name\", "
                   "\"args\": {{\"name\": \"lane {0}\"}}}}",
                   lane + 1);
  }
  for (const Sample& s : series.samples()) {
    fmt::format_to(out,
                   ",\n{{\"ph\": \"C\", \"pid\": 1, \"ts\": {0}, \"name\": \"nodes\", \"args\": "
                   "{{\"held\": {1}, \"claimed\": {2}, \"out_of_service\": {3}}}}}"
                   ",\n{{\"ph\": \"C\", \"pid\": 1, \"ts\": {0}, \"name\": \"jobs pending\", "
                   "\"args\": {{\"pending\": {4}}}}}",
                   us(s.at), s.held, s.claimed, s.out_of_service, s.pending);
    file_.appended();
  }
  fmt::format_to(out, "\n], \"otherData\": {{\"jobs\": {}, \"starts_left_out\": {}}}}}\n", jobs_,
                 left_out_);
  file_.commit();
}

}  // namespace ductile
