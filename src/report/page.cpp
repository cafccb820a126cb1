#include "report/page.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/comparison.hpp"
#include "report/html.hpp"
#include "report/job_classes.hpp"
#include "report/jobs_csv.hpp"
#include "report/page_bundle.hpp"
#include "report/run_drawing.hpp"
#include "report/run_folder.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostWhole = 16;  // runs of which all figures are on the page
// Rows of jobs and of what they held, of all runs together: about 25 MB of a page.
constexpr std::size_t kMostRows = 3'000'000;

std::string_view word(Better better) {
  return better == Better::less ? "less" : better == Better::more ? "more" : "";
}

// What a reader must not miss.
std::vector<std::string> notes_of(std::span<const RunPage> runs,
                                  const std::vector<PolicyRuns>& groups) {
  std::vector<std::string> notes;
  const auto stopped =
      std::ranges::count_if(runs, [](const RunPage& run) { return run.summary.stopped; });
  if (stopped > 0 && runs.size() == 1) {
    notes.emplace_back("The run was stopped before its end.");
  } else if (stopped > 0) {
    notes.push_back(
        fmt::format("{} of {} runs were stopped before their end.", stopped, runs.size()));
  }
  if (std::ranges::any_of(runs, [](const RunPage& run) {
        return run.summary.jobs_in_all && *run.summary.jobs_in_all != run.summary.jobs;
      })) {
    notes.push_back(
        "Figures and pictures of jobs are of those that were submitted in a part of the run; what "
        "is drawn over time is whole, with that part marked.");
  }
  // A limit that does not move with the size is none that a job can keep when it is cut.
  std::string who;
  for (const PolicyRuns& group : groups) {
    std::uint64_t by_resizes = 0, killed = 0;
    for (const Summary* summary : group.runs) {
      by_resizes += summary->killed_by_resizes;
      killed += summary->killed;
    }
    if (by_resizes == 0) continue;
    who += fmt::format("{}{} of {} under {}", who.empty() ? "" : ", ", by_resizes, killed,
                       group.policy);
  }
  if (!who.empty()) {
    notes.push_back(fmt::format(
        "Resizes killed jobs: {}. At the size at which they started these would have ended within "
        "their limit. With --limit fixed a job that is cut takes longer and may not; with --limit "
        "scaled its limit moves with its size.",
        who));
  }
  return notes;
}

OrderedJson json_of(const RunPage& run, const std::vector<Column>& columns, bool is_whole) {
  OrderedJson json{
      {"policy", run.summary.policy}, {"seed", run.summary.seed}, {"folder", run.folder}};
  json["files"] = OrderedJson::array();
  for (const std::string_view file : kRunFiles) {
    if (!run.has_links) break;
    const bool is_this_page = run.folder.empty() && file == "report.html";
    // The pages of the runs and their summaries are written after this one is.
    const bool is_to_come = file == "summary.json" || file == "report.html";
    if (!is_this_page && (is_to_come || fs::exists(run.path / file))) json["files"].push_back(file);
  }
  json["values"] = OrderedJson::array();
  for (const Column& column : columns) {
    json["values"].push_back(number_or_null(column.value(run.summary) * base_unit(column).factor));
  }
  if (is_whole) json["figures"] = OrderedJson::parse(figures_json(run.summary));
  return json;
}

OrderedJson json_of(const PolicyRuns& group, const std::vector<Column>& columns,
                    const Summary* first) {
  OrderedJson json{
      {"policy", group.policy}, {"runs", OrderedJson::array()}, {"means", OrderedJson::array()}};
  for (const Summary* summary : group.runs) json["runs"].push_back(summary - first);
  for (const Column& column : columns) {
    std::vector<double> values;
    for (const Summary* summary : group.runs) {
      values.push_back(column.value(*summary) * base_unit(column).factor);
    }
    const MeanInterval interval = mean_interval(values);
    json["means"].push_back(
        OrderedJson::array({number_or_null(interval.mean), number_or_null(interval.half_width)}));
  }
  return json;
}

OrderedJson json_of(const Classes& classes) {
  return {{"bounds", classes.bounds}, {"names", classes.names}};
}

// Six digits that count: more than is shown, and of many users a third of the text.
OrderedJson short_number(double value) {
  return std::isfinite(value) ? OrderedJson(std::stod(fmt::format("{:.6g}", value)))
                              : OrderedJson(nullptr);
}

OrderedJson json_of(const PartEffect& effect) {
  OrderedJson json{{"group", effect.group}, {"jobs", effect.jobs}};
  for (const auto& [name, its] :
       {std::pair{"wait", &effect.wait}, std::pair{"turnaround", &effect.turnaround}}) {
    json[name] = OrderedJson::array();
    for (const double value :
         {its->baseline, its->value, its->difference, its->difference_95.low,
          its->difference_95.high, its->ratio, its->ratio_95.low, its->ratio_95.high}) {
      json[name].push_back(short_number(value));
    }
  }
  return json;
}

OrderedJson json_of(const Comparison& comparison) {
  OrderedJson json{{"baseline", comparison.baseline}, {"method", comparison.method}};
  const auto main = main_figure(comparison);
  json["main"] = main ? OrderedJson(*main) : OrderedJson(nullptr);
  json["rows"] = OrderedJson::array();
  for (const Difference& row : comparison.rows) {
    const PairedComparison& its = row.pairs;
    json["rows"].push_back({{"group", row.group},
                            {"key", row.column.key},
                            {"pairs", its.pairs},
                            {"baseline", number_or_null(its.baseline)},
                            {"value", number_or_null(its.value)},
                            {"difference", number_or_null(its.difference)},
                            {"low", number_or_null(its.difference_95.low)},
                            {"high", number_or_null(its.difference_95.high)},
                            {"ratio", number_or_null(its.ratio)},
                            {"ratio_low", number_or_null(its.ratio_95.low)},
                            {"ratio_high", number_or_null(its.ratio_95.high)},
                            {"p", number_or_null(row.p)},
                            {"verdict", word(row.verdict)}});
  }
  json["classes"] = OrderedJson::array();
  for (const PartEffect& effect : comparison.classes) {
    OrderedJson& its = json["classes"].emplace_back(json_of(effect));
    its["size"] = effect.size_class;
    its["runtime"] = effect.runtime_class;
  }
  json["users"] = OrderedJson::array();
  for (const PartEffect& effect : comparison.users) {
    OrderedJson& its = json["users"].emplace_back(json_of(effect));
    its["user"] = effect.part;
  }
  return json;
}

// Where no script runs, there is the table.
std::string table_of(const std::vector<PolicyRuns>& groups, const std::vector<Column>& columns) {
  std::string html = "<table>\n<tr><th>policy</th>";
  for (const Column& column : columns) {
    html += fmt::format("<th>{}<small> {}</small></th>", column.title, column.unit);
  }
  html += "</tr>\n";
  for (const PolicyRuns& group : groups) {
    html += fmt::format("<tr><td>{}</td>", escaped(group.policy));
    for (const Column& column : columns) {
      html += fmt::format("<td>{}</td>", cell_text(column, group));
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

// Nothing in it ends the element that it is in.
std::string for_script(const OrderedJson& json) {
  const std::string text = json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string html_page(std::span<const RunPage> runs, std::size_t baseline) {
  std::vector<Summary> summaries;
  for (const RunPage& run : runs) summaries.push_back(run.summary);
  const std::vector<PolicyRuns> groups = by_policy(summaries);
  const std::vector<Column> columns = columns_for(summaries);

  OrderedJson data{{"title", ""}, {"workload", ""}, {"notes", notes_of(runs, groups)}};
  data["columns"] = OrderedJson::array();
  for (const Column& column : columns) {
    data["columns"].push_back({{"key", column.key},
                               {"title", column.title},
                               {"unit", base_unit(column).name},
                               {"decimals", column.decimals},
                               {"better", word(column.better)}});
  }
  data["runs"] = OrderedJson::array();
  for (const RunPage& run : runs) {
    data["runs"].push_back(json_of(run, columns, data["runs"].size() < kMostWhole));
  }
  data["groups"] = OrderedJson::array();
  for (const PolicyRuns& group : groups) {
    data["groups"].push_back(json_of(group, columns, summaries.data()));
  }

  // One run of each policy is drawn, that of its first seed.
  data["workloads"] = OrderedJson::array();
  data["drawn"] = OrderedJson::array();
  std::string workload;
  std::size_t rows_left = kMostRows;
  JobsFiles files;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto number = static_cast<std::size_t>(groups[i].runs.front() - summaries.data());
    const RunPage& run = runs[number];
    if (run.path.empty() || !fs::exists(run.path / "jobs.csv")) continue;
    RunDrawing drawing = draw_run(run.path, run.summary, *files.of(run.path / "jobs.csv"),
                                  rows_left / (groups.size() - i));
    rows_left -= std::min(rows_left, drawing.rows);
    if (workload.empty()) workload = drawing.workload;
    if (!drawing.is_whole) {
      data["notes"].push_back(fmt::format("Of {} the page has room for the first {} jobs only.",
                                          run.summary.policy, drawing.jobs));
    }
    auto& workloads = data["workloads"];
    auto place = std::ranges::find(workloads, drawing.submitted);
    if (place == workloads.end()) {
      workloads.push_back(std::move(drawing.submitted));
      place = std::prev(workloads.end());
    }
    OrderedJson& drawn = data["drawn"].emplace_back(OrderedJson{{"group", i}, {"run", number}});
    drawn["workload"] = place - workloads.begin();
    drawn.update(drawing.json);
  }
  JobClasses classes;
  if (const auto& drawn = data["drawn"]; !drawn.empty()) {
    // Of the baseline, or where it is not drawn of the first one that is.
    const auto of_baseline = std::ranges::find(
        drawn, baseline, [](const OrderedJson& its) { return its["group"].get<std::size_t>(); });
    const OrderedJson& its = of_baseline == drawn.end() ? drawn.front() : *of_baseline;
    const RunPage& run = runs[its["run"].get<std::size_t>()];
    classes =
        classes_of(measured_jobs(*files.of(run.path / "jobs.csv"), run.summary), run.summary.nodes);
  }
  data["comparison"] = nullptr;
  if (groups.size() > 1) {
    const Comparison comparison = compare(runs, baseline, std::move(files));
    data["comparison"] = json_of(comparison);
    for (const std::string& note : comparison.notes) data["notes"].push_back(note);
    if (!comparison.classes.empty()) classes = comparison.job_classes;
  }
  data["classes"] = {{"sizes", json_of(classes.sizes)}, {"runtimes", json_of(classes.runtimes)}};

  const RunPage& first = runs.front();
  std::string title =
      groups.size() == 1 ? groups.front().policy : fmt::format("{} policies", groups.size());
  if (!workload.empty()) title += " on " + workload;
  const bool is_one_variant = std::ranges::all_of(
      runs, [&](const RunPage& run) { return run.summary.variant == first.summary.variant; });
  if (is_one_variant && !first.summary.variant.empty()) title += ": " + first.summary.variant;
  data["title"] = title;
  data["workload"] = workload;

  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Ductile: {0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main id=\"page\">\n"
      "<h1>{0}</h1>\n",
      escaped(title), page_style());
  for (const auto& note : data["notes"]) {
    html += fmt::format("<p><strong>{}</strong></p>\n", escaped(note.get<std::string>()));
  }
  html += table_of(groups, columns);
  html += "</main>\n<script type=\"application/json\" id=\"data\">";
  html += for_script(data);
  html += "</script>\n<script>";
  html += page_script();
  return html + "</script>\n" + std::string(kPageEnd);
}

}  // namespace ductile
