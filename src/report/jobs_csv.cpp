#include "report/jobs_csv.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "model/where.hpp"
#include "report/csv_reader.hpp"

namespace ductile {
namespace {

constexpr std::string_view kJobsHeader =
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata,"
    "user,start_nodes,end_nodes,expands,shrinks,restarts,reason,static_runtime";

std::string_view batsim_word(EndState state) {
  switch (state) {
    case EndState::completed:
      return "COMPLETED_SUCCESSFULLY";
    case EndState::failed:
      return "COMPLETED_FAILED";
    case EndState::timeout:
      return "COMPLETED_WALLTIME_REACHED";
    case EndState::cancelled:
    case EndState::node_fail:
      return "COMPLETED_KILLED";
  }
  return "";
}

}  // namespace

JobsCsv::JobsCsv(const std::filesystem::path& path, const Workload& workload)
    : file_(path),
      workload_(workload),
      why_(workload.jobs.size(), Why::infeasible),
      energies_(workload) {
  append_field(workload_field_, workload.name);
}

void JobsCsv::on_begin(const Core& core) {
  file_.text() += kJobsHeader;
  const Platform& platform = core.state().platform;
  const bool is_said = platform.all_idle_w() > 0 || platform.says_what_jobs_draw() ||
                       std::ranges::any_of(workload_.adaptive, [](const AdaptiveJob& its) {
                         return its.watts > 0 || its.believed.watts_per_node > 0;
                       });
  is_power_known_ = is_said && core.state().rules.budget == Budget::power;
  if (!workload_.user_submits.empty()) file_.text() += ",eligible_time";
  if (!platform.partitions.empty()) {
    file_.text() += ",partition";
    // Of those who ask for none, and of those of each row.
    append_field(partition_fields_.emplace_back(","), partition_names(0, platform));
    for (const Where& each : workload_.where) {
      append_field(partition_fields_.emplace_back(","), partition_names(each.partitions, platform));
    }
  }
  if (core.state().rules.slow_for_power) {
    file_.text() += ",frequency_step";
    steps_.resize(workload_.jobs.size());
  }
  file_.text() += '\n';
}

void JobsCsv::end_line(JobId id, const WorkloadJob& job) {
  file_.text() += ',';
  if (job.runtime > Duration{}) append_seconds(file_.text(), job.runtime);
  if (!workload_.user_submits.empty()) append_seconds(file_.text() += ',', job.submit);
  if (!partition_fields_.empty()) file_.text() += partition_fields_.at(job.where);
  if (!steps_.empty()) fmt::format_to(std::back_inserter(file_.text()), ",{}", steps_[index(id)]);
  file_.text() += '\n';
  file_.appended();
}

void JobsCsv::on_decision(Time, const Decision& decision, const Core&) {
  if (decision.kind == Decision::Kind::start || decision.kind == Decision::Kind::reject) {
    why_[index(decision.job)] = decision.reason.why;
    if (!steps_.empty()) steps_[index(decision.job)] = decision.step;
  }
}

void JobsCsv::on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
                     const Core& core) {
  energies_.leave(now, id);
  if (requeued) return;
  std::string& text = file_.text();
  const auto out = std::back_inserter(text);
  const JobType type =
      job.adaptive == WorkloadJob::kRigid ? JobType::rigid : workload_.adaptive[job.adaptive].type;
  fmt::format_to(out, "{},{},{},", job.name, workload_field_, word(type));
  append_seconds(text,
                 workload_.user_submits.empty() ? job.submit : workload_.user_submits[index(id)]);
  fmt::format_to(out, ",{},", job.nodes);
  append_seconds(text, job.walltime);
  // The record of a job that never ran may be gone.
  const Job* record = core.state().jobs.contains(id) ? &core.job(id) : nullptr;
  if (!record || record->status != Status::running) {
    fmt::format_to(out, ",0,REJECTED,,,,,,,,-1,,{},0,0,0,0,0,{}",
                   static_cast<std::int32_t>(job.user), word(why_[index(id)]));
    end_line(id, job);
    return;
  }
  const Duration ran = now - record->started, turnaround = now - job.submit;
  fmt::format_to(out, ",{},{},", state == EndState::completed ? 1 : 0, batsim_word(state));
  append_seconds(text, record->started);
  text += ',';
  append_seconds(text, ran);
  text += ',';
  append_seconds(text, now);
  text += ',';
  append_seconds(text, record->started - job.submit);
  text += ',';
  append_seconds(text, turnaround);
  if (ran > Duration{}) {
    fmt::format_to(out, ",{}", to_seconds(turnaround) / to_seconds(ran));
  } else {
    text += ',';
  }
  // A resize that its end came before has changed nothing.
  const Unanswered* open = core.state().find(record->decision);
  const Nodes size =
      open && open->decision.kind == Decision::Kind::resize ? open->before.count : record->size();
  fmt::format_to(out, ",{},", to_string(record->holding.nodes));
  append_energy(id);
  fmt::format_to(out, ",,{},{},{},{},{},{},{}", static_cast<std::int32_t>(job.user),
                 record->first_size, size, record->expands, record->shrinks, record->restarts,
                 word(why_[index(id)]));
  end_line(id, job);
}

void JobsCsv::on_start_failed(Time now, JobId id, const Core&) { energies_.leave(now, id); }

void JobsCsv::on_suspended(Time now, JobId id, const WorkloadJob&, const Core&) {
  energies_.leave(now, id);
}

void JobsCsv::on_close(Time now, const Core& core) {
  if (is_power_known_) energies_.note(now, core.state());
}

void JobsCsv::append_energy(JobId id) {
  if (!is_power_known_) {
    file_.text() += "-1";
    return;
  }
  // Exactly: it is a whole number of nanojoules.
  const Wide its = energies_.nanojoules(id);
  constexpr std::int64_t kJoule = 1'000'000'000;
  std::string text = fmt::format("{}.{:09}", static_cast<std::int64_t>(its / kJoule),
                                 static_cast<std::int64_t>(its % kJoule));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  file_.text() += text;
}

JobsCsvRows read_jobs_csv(const std::filesystem::path& path) {
  CsvReader csv(path);
  const std::size_t job = csv.column("job_id"), workload = csv.column("workload_name"),
                    type = csv.column("profile"), submit = csv.column("submission_time"),
                    size = csv.column("requested_number_of_resources"),
                    walltime = csv.column("requested_time"), state = csv.column("final_state"),
                    start = csv.column("starting_time"), end = csv.column("finish_time"),
                    waited = csv.column("waiting_time"), turnaround = csv.column("turnaround_time"),
                    user = csv.column("user"), start_nodes = csv.column("start_nodes"),
                    end_nodes = csv.column("end_nodes"), reason = csv.column("reason"),
                    static_runtime = csv.column("static_runtime");
  const auto duration = [&](std::size_t column) { return csv.time(column).time_since_epoch(); };
  JobsCsvRows found;
  while (csv.next()) {
    if (found.rows.empty()) found.workload = csv.text(workload);
    JobsCsvRow& row = found.rows.emplace_back();
    row.job = csv.number<std::uint64_t>(job);
    row.type = csv.text(type);
    row.state = csv.text(state);
    row.reason = csv.text(reason);
    row.submit = csv.time(submit);
    row.start = csv.find_time(start);
    if (row.start) {
      row.end = csv.time(end);
      if (*row.end < *row.start) csv.fail(end, "is before its start");
      row.waited = duration(waited);
      row.turnaround = duration(turnaround);
    }
    row.walltime = duration(walltime);
    if (!csv.text(static_runtime).empty()) row.static_runtime = duration(static_runtime);
    row.size = csv.number<std::uint64_t>(size);
    row.start_nodes = csv.number<std::uint64_t>(start_nodes);
    row.end_nodes = csv.number<std::uint64_t>(end_nodes);
    row.user = csv.number<std::int64_t>(user);
  }
  return found;
}

std::shared_ptr<const JobsCsvRows> JobsFiles::of(const std::filesystem::path& path) {
  Kept its{path, nullptr};
  if (const auto at = std::ranges::find(kept_, path, &Kept::path); at != kept_.end()) {
    its = std::move(*at);
    kept_.erase(at);
  } else {
    JobsCsvRows rows = read_jobs_csv(path);
    std::ranges::sort(rows.rows, {}, &JobsCsvRow::job);
    its.rows = std::make_shared<const JobsCsvRows>(std::move(rows));
    ++read_;
    std::size_t all = its.rows->rows.size();
    for (const Kept& other : kept_) all += other.rows->rows.size();
    while (!kept_.empty() && all > most_rows_) {
      all -= kept_.front().rows->rows.size();
      kept_.erase(kept_.begin());
    }
  }
  return kept_.emplace_back(std::move(its)).rows;
}

std::vector<JobsCsvRow> measured_jobs(const JobsCsvRows& jobs, const Summary& summary) {
  const std::optional<double> from = summary.measured_from_s, until = summary.measured_until_s;
  std::vector<JobsCsvRow> measured;
  std::ranges::copy_if(jobs.rows, std::back_inserter(measured), [&](const JobsCsvRow& row) {
    if (!row.start) return false;
    if (from && row.submit < Time{seconds(*from)}) return false;
    return !until || row.submit < Time{seconds(*until)};
  });
  return measured;
}

}  // namespace ductile
