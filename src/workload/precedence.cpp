#include "workload/precedence.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {
namespace {

// Of one user, so far.
struct Session {
  std::uint32_t last = 0;               // who ended last,
  Time end{};                           //   then
  std::optional<std::uint32_t> before;  // what the present batch waits for; none in the first one
};

// Of each job the rows in which it waits: [first[job], first[job + 1]).
std::vector<std::uint32_t> firsts(const Workload& workload) {
  std::vector<std::uint32_t> first(workload.jobs.size() + 1, 0);
  for (const Precedence& each : workload.precedences) ++first[each.job + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  return first;
}

[[noreturn]] void fail(const Workload& workload, const std::vector<const Precedence*>& circle,
                       const std::string& log, const std::string& beside) {
  using From = Precedence::From;
  std::string names = fmt::format("{}", workload.jobs[circle.front()->job].name);
  const Precedence* at = nullptr;  // one that a line says
  for (const Precedence* each : circle) {
    names += fmt::format(", {}", workload.jobs[each->on].name);
    if (at == nullptr || (at->from == From::session && each->from != From::session)) at = each;
  }
  const bool is_beside = at->from == From::beside;
  throw InputError(
      {is_beside ? beside : log, at->line, is_beside ? "dependency" : "preceding job (field 17)"},
      fmt::format("jobs wait for each other in a circle: {}", names),
      "leave one of these dependencies away");
}

}  // namespace

std::vector<Precedence> session_precedences(const std::vector<WorkloadJob>& jobs,
                                            const std::vector<Time>& ends, Duration longest_think) {
  std::vector<Precedence> rows;
  std::unordered_map<std::uint32_t, Session> sessions;  // by user
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    const WorkloadJob& job = jobs[i];
    if (!job.has_user()) continue;
    const auto [at, is_first] = sessions.try_emplace(job.user, Session{i, ends[i], {}});
    if (is_first) continue;
    Session& its = at->second;
    if (job.submit >= its.end) {
      if (job.submit - its.end >= longest_think) {
        its = {i, ends[i], {}};
        continue;
      }
      its.before = its.last;
    }
    if (its.before) {
      rows.push_back({.job = i,
                      .on = *its.before,
                      .from = Precedence::From::session,
                      .sets_submit = true,
                      .think = job.submit - ends[*its.before]});
    }
    if (ends[i] >= its.end) its.last = i, its.end = ends[i];
  }
  return rows;
}

void make_sessions(Workload& workload) {
  std::vector<Precedence>& rows = workload.precedences;
  std::erase_if(rows, [](const Precedence& row) { return row.from == Precedence::From::session; });
  const auto made = session_precedences(workload.jobs, workload.log_ends, workload.longest_think);
  rows.insert(rows.end(), made.begin(), made.end());
  std::ranges::stable_sort(rows, {}, &Precedence::job);
}

void renumber_precedences(Workload& workload, const std::vector<std::uint32_t>& place) {
  std::erase_if(workload.precedences, [&](Precedence& row) {
    row.job = place[row.job];
    if (row.job == kGone) return true;
    row.on = place[row.on];
    if (row.on == kGone) ++workload.precedences_lost;
    return row.on == kGone;
  });
  std::ranges::stable_sort(workload.precedences, {}, &Precedence::job);
}

void check_precedences(const Workload& workload, const std::string& log,
                       const std::string& beside) {
  const std::vector<Precedence>& rows = workload.precedences;
  const std::vector<std::uint32_t> first = firsts(workload);
  // Depth first, without recursion: `at` is the next row of each job on the way.
  enum class Seen : std::uint8_t { no, on_the_way, done };
  std::vector<Seen> seen(workload.jobs.size(), Seen::no);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> way;  // job, next row
  for (const Precedence& begin : rows) {
    if (seen[begin.job] != Seen::no) continue;
    way.assign(1, {begin.job, first[begin.job]});
    seen[begin.job] = Seen::on_the_way;
    while (!way.empty()) {
      auto& [job, next] = way.back();
      if (next == first[job + 1]) {
        seen[job] = Seen::done;
        way.pop_back();
        continue;
      }
      const std::uint32_t on = rows[next++].on;
      if (seen[on] == Seen::on_the_way) {
        const auto from = std::ranges::find(way, on, [](const auto& its) { return its.first; });
        std::vector<const Precedence*> circle;
        for (auto each = from; each != way.end(); ++each) circle.push_back(&rows[each->second - 1]);
        fail(workload, circle, log, beside);
      }
      if (seen[on] == Seen::no) {
        seen[on] = Seen::on_the_way;
        way.emplace_back(on, first[on]);
      }
    }
  }
}

Time last_arrival(const Workload& workload) {
  const std::vector<WorkloadJob>& jobs = workload.jobs;
  if (jobs.empty()) return {};
  if (workload.precedences.empty()) return jobs.back().submit;
  std::vector<Time> comes(jobs.size());
  std::vector<std::uint32_t> waits_for(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) comes[i] = jobs[i].submit;
  for (const Precedence& row : workload.precedences) {
    ++waits_for[row.job];
    if (row.sets_submit) comes[row.job] = jobs.front().submit;
  }
  std::vector<Precedence> by_on = workload.precedences;
  std::ranges::stable_sort(by_on, {}, &Precedence::on);
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    if (waits_for[i] == 0) ready.push_back(i);
  }
  Time last = jobs.front().submit;
  while (!ready.empty()) {
    const std::uint32_t on = ready.back();
    ready.pop_back();
    last = std::max(last, comes[on]);
    const Time ends = later(comes[on], jobs[on].runtime);
    auto row = std::ranges::lower_bound(by_on, on, {}, &Precedence::on);
    for (; row != by_on.end() && row->on == on; ++row) {
      comes[row->job] = std::max(comes[row->job], later(ends, row->think));
      if (--waits_for[row->job] == 0) ready.push_back(row->job);
    }
  }
  return last;
}

}  // namespace ductile
