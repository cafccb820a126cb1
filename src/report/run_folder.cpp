#include "report/run_folder.hpp"

#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "report/corridor_csv.hpp"
#include "report/output_file.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

// So that it can stand before members that write into it.
const std::filesystem::path& made(const std::filesystem::path& folder) {
  make_folder(folder);
  return folder;
}

std::string csv_text(const std::string& value) { return value; }
std::string csv_text(bool value) { return value ? "true" : "false"; }
std::string csv_text(double value) { return std::isfinite(value) ? number_text(value) : ""; }
template <class Integer>
requires std::is_integral_v<Integer> std::string csv_text(Integer value) {
  return std::to_string(value);
}
template <class Value>
std::string csv_text(const std::optional<Value>& value) {
  return value ? csv_text(*value) : "";
}

// A line for each run: docs/formats/runs.csv.md.
void write_runs(const std::filesystem::path& path, const std::vector<RunPage>& runs) {
  OutputFile file(path);
  std::string& text = file.text();
  text = "folder,variant";
  const auto name_column = [&](const char* name, const auto&) { text.append(",").append(name); };
  visit_figures(runs.front().summary, name_column);
  visit_asked_figures(runs.front().summary, name_column);
  text += '\n';
  for (const RunPage& run : runs) {
    append_field(text, run.folder);
    text += ',';
    append_field(text, run.summary.variant);
    const auto add = [&](const char*, const auto& value) {
      text += ',';
      append_field(text, csv_text(value));
    };
    visit_figures(run.summary, add);
    visit_asked_figures(run.summary, add);
    text += '\n';
    file.appended();
  }
  file.commit();
}

}  // namespace

RunFolder::RunFolder(const std::filesystem::path& folder, const Workload& workload,
                     std::vector<CorridorLine> corridor)
    : folder_(made(folder)),
      corridor_(std::move(corridor)),
      jobs_(folder / "jobs.csv", workload),
      allocations_(folder / "allocations.csv", workload),
      resizes_(folder / "resizes.csv", workload),
      decisions_(folder / "decisions.csv", workload),
      trace_(folder / "trace.json", workload),
      series_(workload),
      nodes_(folder / "nodes.csv") {}

void RunFolder::add_observers(std::vector<Observer*>& observers) {
  observers.insert(observers.end(), {&jobs_, &allocations_, &resizes_, &decisions_, &trace_,
                                     &series_, &nodes_, &choices_});
}

void RunFolder::finish(const Summary& summary) {
  jobs_.commit();
  allocations_.commit();
  resizes_.commit();
  decisions_.commit();
  nodes_.commit();
  trace_.commit(series_);
  write_series(folder_ / "series.csv", series_.samples());
  if (!choices_.made().empty()) write_choices(folder_ / "choices.csv", choices_.made());
  if (!corridor_.empty()) write_corridor_csv(folder_ / "corridor.csv", corridor_);
  const RunPage page{.folder = "", .path = folder_, .summary = summary};
  write_file(folder_ / "report.html", html_page({&page, 1}));
}

void RunFolder::write_summary(const Summary& summary) const {
  write_file(folder_ / "summary.json", to_json(summary) + "\n");
}

void write_comparison(const std::filesystem::path& folder, const std::vector<RunPage>& runs,
                      const std::function<std::string(std::size_t)>& identity) {
  write_runs(folder / "runs.csv", runs);
  write_file(folder / "report.html", html_page(runs));
  OutputFile file(folder / "summary.json");
  file.text() = "{\"runs\": [";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Summary summary = runs[i].summary;
    if (identity) summary.run = identity(i);
    file.text() += (i == 0 ? "\n" : ",\n");
    file.text() += "{\"folder\": " + json_text(runs[i].folder) + ", ";
    file.text() += figures_json(summary).substr(1);
    file.appended();
  }
  file.text() += "\n]}\n";
  file.commit();
}

}  // namespace ductile
