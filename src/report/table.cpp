#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace ductile {
namespace {

// Of all users together.
double hours(const Summary& summary, double DelayFigures::*figure) {
  double sum_s = 0;
  for (const auto& [user, its] : summary.delays) sum_s += its.*figure;
  return sum_s / 3600;
}

constexpr std::array kColumns = std::to_array<Column>({
    {"jobs", Better::neither, "jobs", "",
     [](const Summary& s) { return static_cast<double>(s.jobs); }, 0},
    {"jobs_in_all", Better::neither, "of jobs", "",
     [](const Summary& s) { return static_cast<double>(s.jobs_in_all.value_or(0)); }, 0, false},
    {"makespan_s", Better::less, "makespan", "h",
     [](const Summary& s) { return s.makespan_s / 3600; }, 2},
    {"utilization", Better::more, "utilization", "%",
     [](const Summary& s) { return 100 * s.utilization; }, 2},
    {"mean_wait_s", Better::less, "mean wait", "s", [](const Summary& s) { return s.mean_wait_s; },
     1},
    {"median_wait_s", Better::less, "median wait", "s",
     [](const Summary& s) { return s.median_wait_s; }, 1},
    {"p95_wait_s", Better::less, "95 % wait", "s", [](const Summary& s) { return s.p95_wait_s; },
     1},
    {"mean_turnaround_s", Better::less, "mean turnaround", "s",
     [](const Summary& s) { return s.mean_turnaround_s; }, 1},
    {"mean_bounded_slowdown", Better::less, "bounded slowdown", "",
     [](const Summary& s) { return s.mean_bounded_slowdown; }, 3},
    {"backfilled", Better::neither, "backfilled", "",
     [](const Summary& s) { return static_cast<double>(s.backfilled); }, 0},
    {"expands", Better::neither, "expands", "",
     [](const Summary& s) { return static_cast<double>(s.expands); }, 0, false},
    {"shrinks", Better::neither, "shrinks", "",
     [](const Summary& s) { return static_cast<double>(s.shrinks); }, 0, false},
    {"reconfiguration_node_s", Better::less, "resize cost", "node h",
     [](const Summary& s) { return s.reconfiguration_node_s / 3600; }, 2, false},
    {"evolving_granted", Better::more, "granted", "",
     [](const Summary& s) { return static_cast<double>(s.evolving_granted); }, 0, false},
    {"guests", Better::neither, "guests", "",
     [](const Summary& s) { return static_cast<double>(s.guests); }, 0, false},
    {"mates", Better::neither, "mates", "",
     [](const Summary& s) { return static_cast<double>(s.mates); }, 0, false},
    {"evolving_denied", Better::less, "denied", "",
     [](const Summary& s) { return static_cast<double>(s.evolving_denied); }, 0, false},
    {"planned_delays", Better::less, "planned delays", "h",
     [](const Summary& s) { return hours(s, &DelayFigures::delay_s); }, 2, false},
    {"delays", Better::less, "delays", "h",
     [](const Summary& s) { return hours(s, &DelayFigures::suffered_s); }, 2, false},
    {"premium_until", Better::less, "premium until", "%",
     [](const Summary& s) { return 100 * s.premium_until.value_or(0); }, 1, false},
    {"killed", Better::less, "killed", "",
     [](const Summary& s) { return static_cast<double>(s.killed); }, 0, false},
    {"killed_by_resizes", Better::less, "killed by resizes", "",
     [](const Summary& s) { return static_cast<double>(s.killed_by_resizes); }, 0, false},
    {"rejected", Better::less, "rejected", "",
     [](const Summary& s) { return static_cast<double>(s.rejected); }, 0, false},
    {"requeued", Better::less, "requeued", "",
     [](const Summary& s) { return static_cast<double>(s.requeued); }, 0, false},
    {"max_power_w", Better::neither, "highest power", "W",
     [](const Summary& s) { return s.max_power_w.value_or(0); }, 0, false},
    {"above_power_cap_s", Better::less, "above the cap", "s",
     [](const Summary& s) { return s.above_power_cap_s.value_or(0); }, 1, false},
    {"corridor_outside_s", Better::less, "outside the corridor", "s",
     [](const Summary& s) { return s.corridor_outside_s.value_or(0); }, 1, false},
    {"corridor_violations", Better::less, "violations", "",
     [](const Summary& s) { return static_cast<double>(s.corridor_violations.value_or(0)); }, 0,
     false},
    {"mean_hops", Better::less, "mean hops", "",
     [](const Summary& s) { return s.mean_hops.value_or(0); }, 3, false},
    {"dependency_never_satisfied", Better::less, "never satisfied", "",
     [](const Summary& s) { return static_cast<double>(s.dependency_never_satisfied.value_or(0)); },
     0, false},
    {"jobs_left", Better::less, "left", "",
     [](const Summary& s) { return static_cast<double>(s.jobs_left); }, 0, false},
});

// Characters of a UTF-8 text on the screen.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t to, bool right) {
  const std::string blanks(to - std::min(to, width(text)), ' ');
  return right ? blanks + std::string(text) : std::string(text) + blanks;
}

}  // namespace

std::vector<Column> columns_for(std::span<const Summary> summaries) {
  std::vector<Column> columns;
  std::ranges::copy_if(kColumns, std::back_inserter(columns), [&](const Column& column) {
    return column.always || std::ranges::any_of(summaries, [&](const Summary& summary) {
             return column.value(summary) != 0;
           });
  });
  return columns;
}

std::vector<PolicyRuns> by_policy(std::span<const Summary> summaries) {
  std::vector<PolicyRuns> result;
  for (const Summary& summary : summaries) {
    const auto same = std::ranges::find(result, summary.policy, &PolicyRuns::policy);
    PolicyRuns& group = same == result.end() ? result.emplace_back() : *same;
    group.policy = summary.policy;
    group.runs.push_back(&summary);
  }
  return result;
}

std::string cell_text(const Column& column, const PolicyRuns& runs) {
  std::vector<double> values;
  for (const Summary* summary : runs.runs) values.push_back(column.value(*summary));
  const MeanInterval interval = mean_interval(values);
  if (!std::isfinite(interval.mean)) return "-";
  std::string text = fmt::format("{:.{}f}", interval.mean, column.decimals);
  if (std::isfinite(interval.half_width) && interval.half_width > 0) {
    const int decimals = std::max(column.decimals, 1);
    text += fmt::format(" ± {:.{}f}", interval.half_width, decimals);
  }
  return text;
}

std::string aligned_text(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> widest;
  for (const std::vector<std::string>& row : rows) {
    widest.resize(std::max(widest.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widest[i] = std::max(widest[i], width(row[i]));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += padded(row[i], widest[i], i >= left);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string summary_table(std::span<const Summary> summaries) {
  const std::vector<PolicyRuns> groups = by_policy(summaries);
  const std::vector<Column> columns = columns_for(summaries);
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> titles = {"policy"}, units = {""};
  for (const Column& column : columns) {
    titles.emplace_back(column.title);
    units.push_back(column.unit.empty() ? "" : fmt::format("({})", column.unit));
  }
  titles.emplace_back("time taken");
  units.emplace_back("(s)");
  rows.push_back(titles);
  rows.push_back(units);
  const Column taken{"", Better::less, "", "", [](const Summary& s) { return s.simulate_seconds; },
                     3};
  for (const PolicyRuns& group : groups) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(group.policy);
    for (const Column& column : columns) row.push_back(cell_text(column, group));
    row.push_back(cell_text(taken, group));
  }

  return aligned_text(rows);
}

}  // namespace ductile
