#include "report/resizes_csv.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/csv_reader.hpp"

namespace ductile {
namespace {

// Did nodes fail that the job had, or was to have? Then the order was given up, and what the job
// holds is no answer to it.
bool has_lost_nodes(const Holding& before, const Holding& ordered, const Holding& after,
                    const State& state) {
  if (state.not_up.empty()) return false;
  bool is_any = false;
  for_each_node(difference(united(before.nodes, ordered.nodes), after.nodes),
                [&](std::uint32_t node) {
                  const Health health = state.health[node];
                  is_any = is_any || health == Health::down || health == Health::off;
                });
  return is_any;
}

ResizeOutcome outcome_of(const Holding& before, const Holding& ordered, const Holding& after) {
  if (after.count == ordered.count && after.nodes == ordered.nodes) return ResizeOutcome::done;
  if (after.count == before.count && after.nodes == before.nodes) return ResizeOutcome::refused;
  return ResizeOutcome::partly;
}

}  // namespace

ResizesCsv::ResizesCsv(const std::filesystem::path& path, const Workload& workload)
    : file_(path), workload_(workload), first_sizes_(workload.jobs.size()) {}

void ResizesCsv::on_begin(const Core&) {
  file_.text() +=
      "time,until,job,type,first_size,before,ordered,after,reason,for_job,outcome,cost_node_s\n";
}

void ResizesCsv::on_decision(Time now, const Decision& decision, const Core& core) {
  const JobId id = decision.job;
  if (decision.kind == Decision::Kind::start) {
    first_sizes_[index(id)] = decision.after.count;
  } else if (decision.kind == Decision::Kind::resize) {
    const Unanswered* const asked = core.state().find(decision.id);
    open_[id] = {now, asked ? asked->before : core.job(id).holding, decision.after,
                 decision.reason};
  }
}

void ResizesCsv::on_paid(Time, JobId id, Wide node_us, const Core&) {
  // A job that is suspended pays, too, and that is no resize.
  if (const auto at = open_.find(id); at != open_.end()) {
    at->second.paid = at->second.paid.value_or(0) + node_us;
  }
}

void ResizesCsv::on_resized(Time now, JobId id, Nodes before, const Core& core) {
  const Holding& after = core.job(id).holding;
  if (const auto at = open_.find(id); at != open_.end()) {
    const Open open = std::move(at->second);
    open_.erase(at);
    if (!has_lost_nodes(open.before, open.ordered, after, core.state())) {
      return write(id, {open.at, now, before, open.ordered.count, after.count, open.reason,
                        outcome_of(open.before, open.ordered, after), open.paid});
    }
    lose(id, open);
  }
  if (after.count < before) {
    write(id, {now, now, before, after.count, after.count, {}, ResizeOutcome::done, {}});
  }
}

void ResizesCsv::on_end(Time, JobId id, const WorkloadJob&, EndState, bool, const Core&) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  lose(id, at->second);
  open_.erase(at);
}

void ResizesCsv::on_finish(Time, const Core&) {
  for (const auto& [id, open] : open_) lose(id, open);
  open_.clear();
}

void ResizesCsv::lose(JobId id, const Open& open) {
  write(id, {open.at,
             {},
             open.before.count,
             open.ordered.count,
             open.before.count,
             open.reason,
             ResizeOutcome::lost,
             open.paid});
}

void ResizesCsv::write(JobId id, const Row& row) {
  const WorkloadJob& job = workload_.jobs[index(id)];
  const JobType type =
      job.adaptive == WorkloadJob::kRigid ? JobType::rigid : workload_.adaptive[job.adaptive].type;
  std::string& text = file_.text();
  append_seconds(text, row.at);
  text += ',';
  if (row.until) append_seconds(text, *row.until);
  fmt::format_to(std::back_inserter(text), ",{},{},{},{},{},{},{},", job.name, word(type),
                 first_sizes_[index(id)], row.before, row.ordered, row.after,
                 row.reason ? word(row.reason->why) : "node-failure");
  if (row.reason && row.reason->job != JobId::none) {
    append_number(text, workload_.jobs[index(row.reason->job)].name);
  }
  text.append(",").append(word(row.outcome)).append(",");
  if (row.paid) append_seconds(text, Duration{static_cast<std::int64_t>(*row.paid)});
  text += '\n';
  file_.appended();
}

std::vector<ResizeRow> read_resizes(const std::filesystem::path& path) {
  CsvReader rows(path);
  const std::size_t time = rows.column("time"), until = rows.column("until"),
                    job = rows.column("job"), type = rows.column("type"),
                    first_size = rows.column("first_size"), before = rows.column("before"),
                    ordered = rows.column("ordered"), after = rows.column("after"),
                    reason = rows.column("reason"), for_job = rows.column("for_job"),
                    outcome = rows.column("outcome"), cost = rows.column("cost_node_s");
  std::vector<ResizeRow> found;
  while (rows.next()) {
    ResizeRow& row = found.emplace_back();
    row.at = rows.time(time);
    row.until = rows.find_time(until);
    if (row.until && *row.until < row.at) rows.fail(until, "is before the order");
    row.job = rows.number<std::uint64_t>(job);
    const auto its_type = from_word<JobType>(kJobTypeWords, rows.text(type));
    if (!its_type) rows.fail(type, "is none of " + listed(kJobTypeWords));
    row.type = *its_type;
    row.first_size = rows.number<Nodes>(first_size);
    row.before = rows.number<Nodes>(before);
    row.ordered = rows.number<Nodes>(ordered);
    row.after = rows.number<Nodes>(after);
    row.reason = rows.text(reason);
    if (row.reason.empty()) rows.fail(reason, "is missing");
    if (!rows.text(for_job).empty()) row.for_job = rows.number<std::uint64_t>(for_job);
    const auto its_outcome = from_word<ResizeOutcome>(kResizeOutcomeWords, rows.text(outcome));
    if (!its_outcome) rows.fail(outcome, "is none of " + listed(kResizeOutcomeWords));
    row.outcome = *its_outcome;
    if (const auto paid = rows.find_time(cost)) row.cost = paid->time_since_epoch();
    if (row.cost && *row.cost < Duration{}) rows.fail(cost, "is below 0");
  }
  return found;
}

}  // namespace ductile
