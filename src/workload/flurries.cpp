#include "workload/flurries.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>

#include "base/error.hpp"
#include "workload/precedence.hpp"

namespace ductile {
namespace {

// Flurries among the jobs of a user, whose places are `rows`.
void find_among(std::span<const std::uint32_t> rows, const std::vector<WorkloadJob>& jobs,
                const FlurrySettings& settings, std::vector<Flurry>& found) {
  const auto submit = [&](std::uint32_t row) { return jobs[row].submit; };
  std::size_t end = 0;    // behind the last of his jobs in the window
  std::size_t taken = 0;  // so many are in flurries or were passed
  bool is_open = false;   // does the last flurry go on?
  // Of jobs in order: searched, for he may have few among many.
  const auto submitted_before = [&](Time time) {
    return std::ranges::lower_bound(jobs, time, {}, &WorkloadJob::submit) - jobs.begin();
  };
  for (std::size_t begin = 0; begin < rows.size(); ++begin) {
    const Time from = submit(rows[begin]), until = later(from, settings.window);
    while (end < rows.size() && submit(rows[end]) < until) ++end;
    if (end - begin < settings.jobs) continue;
    const double his = static_cast<double>(end - begin);
    const double all = static_cast<double>(submitted_before(until) - submitted_before(from));
    if (his < settings.share * all) continue;
    is_open = is_open && begin < taken;
    if (!is_open) found.push_back({.user = jobs[rows[begin]].user, .first = from});
    is_open = true;
    Flurry& flurry = found.back();
    for (std::size_t i = std::max(begin, taken); i < end; ++i) flurry.rows.push_back(rows[i]);
    taken = end;
    flurry.last = submit(rows[end - 1]);
  }
}

}  // namespace

std::vector<Flurry> find_flurries(const Workload& workload, const FlurrySettings& settings) {
  const std::vector<WorkloadJob>& jobs = workload.jobs;
  std::map<std::uint32_t, std::vector<std::uint32_t>> rows_of;
  for (std::size_t row = 0; row < jobs.size(); ++row) {
    if (jobs[row].has_user()) rows_of[jobs[row].user].push_back(static_cast<std::uint32_t>(row));
  }
  std::vector<Flurry> found;
  for (const auto& [user, rows] : rows_of) {
    if (rows.size() >= settings.jobs) find_among(rows, jobs, settings, found);
  }
  std::ranges::stable_sort(found, {}, &Flurry::first);
  return found;
}

std::uint64_t remove_flurries(Workload& workload, const FlurrySettings& settings) {
  std::vector<bool> is_member(workload.jobs.size());
  std::uint64_t count = 0;
  for (const Flurry& flurry : find_flurries(workload, settings)) {
    for (const std::uint32_t row : flurry.rows) is_member[row] = true;
    count += flurry.rows.size();
  }
  if (count > 0 && count == workload.jobs.size()) {
    throw InputError({.field = "--remove-flurries"}, "all jobs are in flurries",
                     "ask for more jobs or a larger share (--flurry)");
  }
  std::vector<std::uint32_t> place(workload.jobs.size(), kGone);
  for (std::uint32_t row = 0, kept = 0; row < place.size(); ++row) {
    if (!is_member[row]) place[row] = kept++;
  }
  const auto take_out = [&](auto& of_jobs) {
    std::size_t row = 0;
    std::erase_if(of_jobs, [&](const auto&) { return is_member[row++]; });
  };
  take_out(workload.jobs);
  if (workload.log_ends.empty()) {
    renumber_precedences(workload, place);
    return count;
  }
  // Sessions are of the jobs that are left: none is lost with a job of a flurry.
  std::erase_if(workload.precedences,
                [](const Precedence& each) { return each.from == Precedence::From::session; });
  renumber_precedences(workload, place);
  take_out(workload.log_ends);
  make_sessions(workload);
  return count;
}

}  // namespace ductile
