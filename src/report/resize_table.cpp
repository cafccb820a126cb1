#include "report/resize_table.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "report/job_classes.hpp"
#include "report/jobs_csv.hpp"
#include "report/output_file.hpp"
#include "report/resizes_csv.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

// Of a row or a column: its place among the others, and how it is written.
using RankedName = std::pair<std::uint64_t, std::string>;

struct Counts {
  std::string name;         // of the table
  std::string row, column;  // what these are
  std::map<std::pair<RankedName, RankedName>, std::uint64_t> cells{};

  std::uint64_t all() const {
    std::uint64_t sum = 0;
    for (const auto& [key, count] : cells) sum += count;
    return sum;
  }
};

struct Tables {
  explicit Tables(const Summary& first) : policy(first.policy), sizes(size_classes(first.nodes)) {}

  std::string policy;
  Classes sizes;
  std::uint64_t runs = 0, resizes = 0;

  RankedName size_class(Nodes size) const {
    const std::size_t place = sizes.of(size);
    return {place, sizes.names[place]};
  }
  std::array<Counts, 8> tables{{{"reason", "reason", "change"},
                                {"type", "type", "change"},
                                {"first size", "first size", "reason"},
                                {"gave", "shrunk", "for"},
                                {"grew", "grown", "for"},
                                {"gave by type", "shrunk", "for"},
                                {"jobs", "first size", "change"},
                                {"events", "events", "event"}}};
};

struct SizeAndType {
  Nodes size = 0;
  std::string type;
};

std::unordered_map<std::uint64_t, SizeAndType> first_sizes(const fs::path& path) {
  std::unordered_map<std::uint64_t, SizeAndType> sizes;
  for (const JobsCsvRow& row : read_jobs_csv(path).rows) {
    const std::uint64_t first = row.start_nodes > 0 ? row.start_nodes : row.size;
    sizes[row.job] = {static_cast<Nodes>(first), row.type};
  }
  return sizes;
}

void add(Tables& tables, const fs::path& folder, const Summary& summary) {
  const fs::path path = folder / "resizes.csv";
  if (!fs::exists(path)) {
    throw InputError({.file = path.string()}, "is not there", "write the run anew, with --out");
  }
  auto sizes = first_sizes(folder / "jobs.csv");
  const std::vector<ResizeRow> resizes = read_resizes(path);
  // Of jobs that still ran when the run was stopped.
  for (const ResizeRow& row : resizes)
    sizes.try_emplace(row.job, SizeAndType{row.first_size, std::string(word(row.type))});
  ++tables.runs;
  auto& [reason, type, first, gave, grew, gave_types, jobs, events] = tables.tables;
  const std::array<std::pair<RankedName, std::uint64_t>, 3> counted{
      {{{0, "grown"}, summary.expands},
       {{1, "shrunk"}, summary.shrinks},
       {{2, "backfilled"}, summary.backfilled}}};
  for (const auto& [event, count] : counted) {
    if (count > 0) events.cells[{{0, "all"}, event}] += count;
  }
  std::set<std::pair<std::uint64_t, RankedName>> seen;
  for (const ResizeRow& row : resizes) {
    const bool changes = row.outcome == ResizeOutcome::done || row.outcome == ResizeOutcome::partly;
    if (!changes) continue;
    ++tables.resizes;
    const RankedName change = row.after > row.before   ? RankedName{0, "grown"}
                              : row.after < row.before ? RankedName{1, "shrunk"}
                                                       : RankedName{2, "moved"};
    const RankedName own = tables.size_class(row.first_size);
    ++reason.cells[{{0, row.reason}, change}];
    ++type.cells[{{static_cast<std::uint64_t>(row.type), std::string(word(row.type))}, change}];
    ++first.cells[{own, {0, row.reason}}];
    if (seen.emplace(row.job, change).second) ++jobs.cells[{own, change}];
    if (!row.for_job) continue;
    const auto other = sizes.find(*row.for_job);
    if (other == sizes.end()) continue;
    Counts& whom = row.after < row.before ? gave : grew;
    ++whom.cells[{own, tables.size_class(other->second.size)}];
    if (row.after < row.before) {
      ++gave_types.cells[{{0, std::string(word(row.type))}, {0, other->second.type}}];
    }
  }
}

std::string share_text(std::uint64_t count, std::uint64_t all) {
  return fmt::format("{:.1f} %", 100 * static_cast<double>(count) / static_cast<double>(all));
}

std::string text_of(const Counts& counts) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTitles{
      {{"reason", "resizes by reason"},
       {"type", "resizes by type of job"},
       {"first size", "resizes by first size of the job, in nodes"},
       {"gave", "who gave to whom: shrunk jobs \\ jobs that profit, by first size"},
       {"grew", "who grew so that whom could start earlier: grown jobs \\ jobs that profit"},
       {"gave by type", "who gave to whom: shrunk jobs \\ jobs that profit, by type"},
       {"jobs", "jobs that were resized, each once, by first size"},
       {"events", "resizes and backfilled starts"}}};
  const std::uint64_t all = counts.all();
  if (all == 0) return "";
  std::map<RankedName, std::uint64_t> rows, columns;
  for (const auto& [key, count] : counts.cells) {
    rows[key.first] += count;
    columns[key.second] += count;
  }
  std::vector<std::vector<std::string>> lines(1, {counts.row + " \\ " + counts.column});
  for (const auto& [column, count] : columns) lines[0].push_back(column.second);
  lines[0].insert(lines[0].end(), {"all", "count"});
  for (const auto& [row, sum] : rows) {
    std::vector<std::string>& line = lines.emplace_back(1, row.second);
    for (const auto& [column, count] : columns) {
      const auto at = counts.cells.find({row, column});
      line.push_back(at == counts.cells.end() ? "" : share_text(at->second, all));
    }
    line.push_back(share_text(sum, all));
    line.push_back(fmt::format("{}", sum));
  }
  const auto* const title =
      std::ranges::find(kTitles, counts.name, [](const auto& its) { return its.first; });
  return fmt::format("\n{}, of {}\n{}", title->second, all, aligned_text(lines));
}

nlohmann::ordered_json json_of(const Tables& tables) {
  nlohmann::ordered_json json{
      {"policy", tables.policy}, {"runs", tables.runs}, {"resizes", tables.resizes}};
  for (const Counts& counts : tables.tables) {
    auto& rows = json[counts.name] = nlohmann::ordered_json::array();
    for (const auto& [key, count] : counts.cells) {
      rows.push_back({{counts.row, key.first.second},
                      {counts.column, key.second.second},
                      {"count", count},
                      {"share", static_cast<double>(count) / static_cast<double>(counts.all())}});
    }
  }
  return json;
}

}  // namespace

std::string resize_tables(std::span<const RunPage> runs, ResizeFormat format) {
  std::vector<Tables> all;
  for (const RunPage& run : runs) {
    const auto same = std::ranges::find(all, run.summary.policy, &Tables::policy);
    Tables& tables = same == all.end() ? all.emplace_back(run.summary) : *same;
    add(tables, run.path, run.summary);
  }
  std::string text;
  if (format == ResizeFormat::csv) text = "policy,table,row,column,count,share\n";
  for (const Tables& tables : all) {
    if (format == ResizeFormat::json) {
      text += json_of(tables).dump() + '\n';
      continue;
    }
    if (format == ResizeFormat::text) {
      text += fmt::format("{}{}: {} resizes in {} run{}\n", text.empty() ? "" : "\n", tables.policy,
                          tables.resizes, tables.runs, tables.runs == 1 ? "" : "s");
    }
    for (const Counts& counts : tables.tables) {
      if (format == ResizeFormat::text) {
        text += text_of(counts);
        continue;
      }
      for (const auto& [key, count] : counts.cells) {
        append_field(text, tables.policy);
        text +=
            fmt::format(",{},{},{},{},", counts.name, key.first.second, key.second.second, count);
        text += number_text(static_cast<double>(count) / static_cast<double>(counts.all())) + '\n';
      }
    }
  }
  return text;
}

}  // namespace ductile
