#include "report/run_drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/allocations_csv.hpp"
#include "report/corridor_csv.hpp"
#include "report/csv_reader.hpp"
#include "report/nodes_csv.hpp"
#include "report/packed.hpp"
#include "report/resizes_csv.hpp"
#include "report/series.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kNone = -1;
constexpr std::size_t kMostSamples = 1 << 14;

std::int64_t us(Time time) { return time.time_since_epoch().count(); }

// Of jobs.csv what a page shows.
struct JobRow {
  std::uint64_t job = 0;
  std::int64_t submit = 0, start = kNone, end = kNone;
  std::uint64_t size = 0, start_nodes = 0, end_nodes = 0;
  std::int64_t walltime = 0, user = 0, runtime = kNone;
  std::string type{}, state{}, reason{};
};

struct Jobs {
  std::string workload;
  std::vector<JobRow> rows;
};

Jobs read_jobs(const fs::path& path) {
  CsvReader csv(path);
  const std::size_t job = csv.column("job_id"), workload = csv.column("workload_name"),
                    type = csv.column("profile"), submit = csv.column("submission_time"),
                    size = csv.column("requested_number_of_resources"),
                    walltime = csv.column("requested_time"), state = csv.column("final_state"),
                    start = csv.column("starting_time"), end = csv.column("finish_time"),
                    user = csv.column("user"), start_nodes = csv.column("start_nodes"),
                    end_nodes = csv.column("end_nodes"), reason = csv.column("reason"),
                    runtime = csv.column("static_runtime");
  Jobs jobs;
  while (csv.next()) {
    if (jobs.rows.empty()) jobs.workload = csv.text(workload);
    JobRow& row = jobs.rows.emplace_back();
    row.job = csv.number<std::uint64_t>(job);
    row.submit = us(csv.time(submit));
    if (const auto time = csv.find_time(start)) row.start = us(*time);
    if (const auto time = csv.find_time(end); time && row.start != kNone) row.end = us(*time);
    row.size = csv.number<std::uint64_t>(size);
    row.walltime = us(csv.time(walltime));
    if (const auto time = csv.find_time(runtime)) row.runtime = us(*time);
    row.user = csv.number<std::int64_t>(user);
    row.start_nodes = csv.number<std::uint64_t>(start_nodes);
    row.end_nodes = csv.number<std::uint64_t>(end_nodes);
    row.type = csv.text(type);
    row.state = csv.text(state);
    row.reason = csv.text(reason);
  }
  return jobs;
}

std::size_t rows_of(const Allocation& held) {
  return std::max<std::size_t>(held.nodes.parts.size(), 1);
}

// What was held by whom, as rows: one for each interval of nodes with the same cores.
class Bars {
 public:
  using Places = std::unordered_map<std::uint64_t, std::int64_t>;

  explicit Bars(const Places& places) : places_(places) {}

  void add(const Allocation& held) {
    const std::int64_t job = place_of(held.job);
    const std::int64_t whom = held.for_job ? place_of(*held.for_job) : kNone;
    const std::int64_t reason = table_.word("reason", held.reason);
    const auto add_nodes = [&](const NodeSet& nodes, std::uint32_t cores, bool is_guest) {
      for (const Interval& part : nodes.parts) {
        table_.add({job, us(held.from), us(held.until), part.first, part.last, held.size, reason,
                    whom, cores, is_guest ? 1 : 0});
      }
    };
    NodeSet own = held.nodes;
    for (const Allocation::Shared& shared : held.shared) {
      own.erase(shared.nodes);
      add_nodes(difference(shared.nodes, held.guest_nodes), shared.cores, false);
      add_nodes(intersection(shared.nodes, held.guest_nodes), shared.cores, true);
    }
    add_nodes(own, 0, false);
  }
  Json json() const { return table_.json(); }

 private:
  std::int64_t place_of(std::uint64_t job) const {
    const auto at = places_.find(job);
    return at == places_.end() ? kNone : at->second;
  }

  const Places& places_;
  Packed table_{
      {"job", "from", "until", "first", "last", "size", "reason", "for", "cores", "guest"}};
};

// The last state of each of equal intervals, where there are more than can be seen.
std::vector<Sample> thinned(std::vector<Sample> samples) {
  if (samples.size() <= kMostSamples) return samples;
  const Time begin = samples.front().at;
  const Duration step =
      (samples.back().at - begin) / static_cast<std::int64_t>(kMostSamples) + kTick;
  std::vector<Sample> kept;
  for (const Sample& sample : samples) {
    const auto interval = [&](const Sample& its) { return (its.at - begin) / step; };
    if (!kept.empty() && interval(kept.back()) == interval(sample)) kept.pop_back();
    kept.push_back(sample);
  }
  return kept;
}

std::int64_t milliwatts(double watts) {
  return std::isfinite(watts) ? std::llround(watts * 1e3) : kNone;
}

Json series_json(const fs::path& path) {
  const std::vector<Sample> samples = thinned(read_series(path));
  const bool has_power = std::ranges::any_of(samples, &Sample::has_power);
  std::vector<std::string> names = {"at",  "held",    "idle",    "claimed",
                                    "out", "pending", "running", "adaptive"};
  if (has_power) names.insert(names.end(), {"power", "power_cap"});
  Packed table(names);
  for (const Sample& s : samples) {
    if (has_power) {
      table.add({us(s.at), s.held, s.idle, s.claimed, s.out_of_service, s.pending, s.running,
                 s.adaptive, milliwatts(s.power_w), milliwatts(s.power_cap_w)});
    } else {
      table.add({us(s.at), s.held, s.idle, s.claimed, s.out_of_service, s.pending, s.running,
                 s.adaptive});
    }
  }
  return table.json();
}

Json resizes_json(const fs::path& path, const Bars::Places& places) {
  const auto place_of = [&](std::uint64_t job) {
    const auto at = places.find(job);
    return at == places.end() ? kNone : at->second;
  };
  std::vector<ResizeRow> resizes = read_resizes(path);
  std::ranges::stable_sort(resizes, {}, &ResizeRow::at);
  Packed table({"at", "until", "job", "before", "ordered", "after", "reason", "for", "outcome"});
  for (const ResizeRow& row : resizes) {
    const std::int64_t job = place_of(row.job);
    if (job == kNone) continue;
    // One that was never answered took no time.
    table.add({us(row.at), us(row.until.value_or(row.at)), job, row.before, row.ordered, row.after,
               table.word("reason", row.reason), row.for_job ? place_of(*row.for_job) : kNone,
               table.word("outcome", word(row.outcome))});
  }
  return table.json();
}

Json corridor_json(const fs::path& path) {
  Json lines = Json::array();
  for (const CorridorLine& line : read_corridor_csv(path)) {
    Json& json = lines.emplace_back(Json{{"at_s", to_seconds(line.at)}});
    json["low_w"] = line.low_w > 0 ? Json(line.low_w) : Json(nullptr);
    json["high_w"] = std::isfinite(line.high_w) ? Json(line.high_w) : Json(nullptr);
  }
  return lines;
}

void add_nodes(Json& json, const fs::path& path) {
  for (const NodesRow& row : read_nodes(path)) {
    const bool is_reserved = row.state == "reserved";
    for (const Interval& part : row.nodes.parts) {
      Json its{{"from_s", to_seconds(row.from)},
               {"until_s", to_seconds(row.until)},
               {"first", part.first},
               {"last", part.last}};
      its[is_reserved ? "name" : "state"] = is_reserved ? row.reservation : row.state;
      json[is_reserved ? "reservations" : "outages"].push_back(std::move(its));
    }
  }
}

// The choices that changed who rules.
Json choices_json(const fs::path& path) {
  CsvReader csv(path);
  const std::size_t time = csv.column("time"), occasion = csv.column("occasion"),
                    member = csv.column("member"), score = csv.column("score"),
                    ruled = csv.column("ruled"), rules = csv.column("rules");
  Json choices = Json::array();
  std::optional<Json> choice;
  Time at{};
  const auto close = [&] {
    // The first one says who rules from the beginning.
    if (choice && (choices.empty() || (*choice)["ruled"] != (*choice)["rules"])) {
      choices.push_back(*std::move(choice));
    }
    choice.reset();
  };
  while (csv.next()) {
    const Time its = csv.time(time);
    const bool is_new =
        !choice || its != at || (csv.text(ruled) == "1" && choice->contains("ruled"));
    if (is_new) {
      close();
      at = its;
      choice = Json{{"at_s", to_seconds(its)}, {"occasion", csv.text(occasion)}};
      (*choice)["scores"] = Json::array();
    }
    const auto value = parse_number<double>(csv.text(score));
    (*choice)["scores"].push_back(
        Json::array({csv.text(member), value ? Json(*value) : Json(nullptr)}));
    if (csv.text(ruled) == "1") (*choice)["ruled"] = csv.text(member);
    if (csv.text(rules) == "1") (*choice)["rules"] = csv.text(member);
  }
  close();
  return choices;
}

}  // namespace

RunDrawing draw_run(const fs::path& folder, const Summary& summary, std::size_t most_rows) {
  RunDrawing drawing;
  Jobs jobs = read_jobs(folder / "jobs.csv");
  drawing.workload = jobs.workload;
  std::vector<Allocation> held;
  if (const fs::path path = folder / "allocations.csv"; fs::exists(path)) {
    held = read_allocations(path);
  }

  // Jobs that still ran when the run was stopped have only what they held.
  std::unordered_map<std::uint64_t, std::size_t> rows;
  for (const Allocation& each : held) rows[each.job] += rows_of(each);
  std::ranges::sort(jobs.rows, {}, &JobRow::job);
  if (summary.stopped) {
    std::map<std::uint64_t, JobRow> running;
    for (const Allocation& each : held) {
      if (std::ranges::binary_search(jobs.rows, each.job, {}, &JobRow::job)) continue;
      JobRow& row = running.try_emplace(each.job, JobRow{.job = each.job, .start = us(each.from)})
                        .first->second;
      row.submit = row.start;  // it was no later
      row.size = row.start_nodes = row.end_nodes = each.size;
      row.state = "RUNNING";
      row.reason = each.reason;
    }
    for (auto& [job, row] : running) jobs.rows.push_back(std::move(row));
    std::ranges::sort(jobs.rows, {}, &JobRow::job);
  }
  std::size_t shown = 0;
  for (; shown < jobs.rows.size(); ++shown) {
    const auto its = rows.find(jobs.rows[shown].job);
    const std::size_t more = 1 + (its == rows.end() ? 0 : its->second);
    if (drawing.rows + more > most_rows) break;
    drawing.rows += more;
  }
  drawing.jobs = shown;
  drawing.is_whole = shown == jobs.rows.size();
  jobs.rows.resize(shown);

  Packed submitted({"job", "submit", "size", "walltime", "user", "type", "runtime"});
  Packed ran({"start", "end", "reason", "state", "start_nodes", "end_nodes"});
  Bars::Places places;
  for (const JobRow& row : jobs.rows) {
    places.emplace(row.job, static_cast<std::int64_t>(submitted.rows()));
    submitted.add({static_cast<std::int64_t>(row.job), row.submit,
                   static_cast<std::int64_t>(row.size), row.walltime, row.user,
                   submitted.word("type", row.type), row.runtime});
    ran.add({row.start, row.end, ran.word("reason", row.reason), ran.word("state", row.state),
             static_cast<std::int64_t>(row.start_nodes), static_cast<std::int64_t>(row.end_nodes)});
  }
  Bars bars(places);
  std::ranges::stable_sort(held, {}, &Allocation::from);
  for (const Allocation& each : held) {
    if (places.contains(each.job)) bars.add(each);
  }

  drawing.submitted = submitted.json();
  Json& json = drawing.json;
  json["nodes"] = summary.nodes;
  json["makespan_s"] = summary.makespan_s;
  json["jobs"] = ran.json();
  json["allocations"] = bars.json();
  if (const fs::path path = folder / "resizes.csv"; fs::exists(path)) {
    json["resizes"] = resizes_json(path, places);
  }
  if (const fs::path path = folder / "series.csv"; fs::exists(path)) {
    json["series"] = series_json(path);
  }
  if (const fs::path path = folder / "corridor.csv"; fs::exists(path)) {
    json["corridor"] = corridor_json(path);
  }
  if (const fs::path path = folder / "nodes.csv"; fs::exists(path)) add_nodes(json, path);
  if (const fs::path path = folder / "choices.csv"; fs::exists(path)) {
    json["choices"] = choices_json(path);
  }
  return drawing;
}

}  // namespace ductile
