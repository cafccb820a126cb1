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
#include "report/jobs_csv.hpp"
#include "report/nodes_csv.hpp"
#include "report/packed.hpp"
#include "report/resizes_csv.hpp"
#include "report/series.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kNone = -1;
constexpr std::size_t kMostSamples = 1 << 14;

std::int64_t microseconds(Time time) { return time.time_since_epoch().count(); }

std::size_t rows_of(const Allocation& held) {
  return std::max<std::size_t>(held.nodes.parts.size(), 1);
}

// Jobs that still ran at the end, in a run that was stopped or in a controller, have no row of
// their own: only what they held.
void add_running(std::vector<JobsCsvRow>& jobs, const std::vector<Allocation>& held) {
  std::map<std::uint64_t, JobsCsvRow> running;
  for (const Allocation& each : held) {
    if (std::ranges::binary_search(jobs, each.job, {}, &JobsCsvRow::job)) continue;
    const auto [at, is_new] = running.try_emplace(each.job, JobsCsvRow{.job = each.job});
    JobsCsvRow& row = at->second;
    if (!is_new && *row.start <= each.from) continue;
    row.start = each.from;
    row.submit = *row.start;  // it was no later
    row.size = row.start_nodes = row.end_nodes = each.size;
    row.state = "RUNNING";
    row.reason = each.reason;
  }
  for (auto& [job, row] : running) jobs.push_back(std::move(row));
  std::ranges::sort(jobs, {}, &JobsCsvRow::job);
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
        table_.add({job, microseconds(held.from), microseconds(held.until), part.first, part.last,
                    held.size, reason, whom, cores, is_guest ? 1 : 0});
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
  OrderedJson json() const { return table_.json(); }

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

OrderedJson series_json(const fs::path& path) {
  const std::vector<Sample> samples = thinned(read_series(path));
  const bool has_power = std::ranges::any_of(samples, &Sample::has_power);
  std::vector<std::string> names = {"at",  "held",    "idle",    "claimed",
                                    "out", "pending", "running", "adaptive"};
  if (has_power) names.insert(names.end(), {"power", "power_cap"});
  Packed table(names);
  for (const Sample& s : samples) {
    if (has_power) {
      table.add({microseconds(s.at), s.held, s.idle, s.claimed, s.out_of_service, s.pending,
                 s.running, s.adaptive, milliwatts(s.power_w), milliwatts(s.power_cap_w)});
    } else {
      table.add({microseconds(s.at), s.held, s.idle, s.claimed, s.out_of_service, s.pending,
                 s.running, s.adaptive});
    }
  }
  return table.json();
}

OrderedJson resizes_json(const fs::path& path, const Bars::Places& places) {
  const auto place_of = [&](std::uint64_t job) {
    const auto at = places.find(job);
    return at == places.end() ? kNone : at->second;
  };
  std::vector<ResizeRow> resizes = read_resizes(path);
  std::ranges::stable_sort(resizes, {}, &ResizeRow::at);
  Packed table({"at", "until", "job", "before", "ordered", "after", "reason", "for", "outcome",
                "first_size", "cost"});
  for (const ResizeRow& row : resizes) {
    const std::int64_t job = place_of(row.job);
    if (job == kNone) continue;
    // One that was never answered took no time.
    table.add({microseconds(row.at), microseconds(row.until.value_or(row.at)), job, row.before,
               row.ordered, row.after, table.word("reason", row.reason),
               row.for_job ? place_of(*row.for_job) : kNone,
               table.word("outcome", word(row.outcome)), row.first_size,
               row.cost ? row.cost->count() : kNone});
  }
  return table.json();
}

OrderedJson corridor_json(const fs::path& path) {
  OrderedJson lines = OrderedJson::array();
  for (const CorridorLine& line : read_corridor_csv(path)) {
    OrderedJson& json = lines.emplace_back(OrderedJson{{"at_s", to_seconds(line.at)}});
    json["low_w"] = line.low_w > 0 ? OrderedJson(line.low_w) : OrderedJson(nullptr);
    json["high_w"] = std::isfinite(line.high_w) ? OrderedJson(line.high_w) : OrderedJson(nullptr);
  }
  return lines;
}

void add_nodes(OrderedJson& json, const fs::path& path) {
  for (const NodesRow& row : read_nodes(path)) {
    const bool is_reserved = row.state == "reserved";
    for (const Interval& part : row.nodes.parts) {
      OrderedJson its{{"from_s", to_seconds(row.from)},
                      {"until_s", to_seconds(row.until)},
                      {"first", part.first},
                      {"last", part.last}};
      its[is_reserved ? "name" : "state"] = is_reserved ? row.reservation : row.state;
      json[is_reserved ? "reservations" : "outages"].push_back(std::move(its));
    }
  }
}

// The choices that changed who rules.
OrderedJson choices_json(const fs::path& path) {
  CsvReader csv(path);
  const std::size_t time = csv.column("time"), occasion = csv.column("occasion"),
                    member = csv.column("member"), score = csv.column("score"),
                    ruled = csv.column("ruled"), rules = csv.column("rules");
  OrderedJson choices = OrderedJson::array();
  std::optional<OrderedJson> choice;
  Time at{};
  const auto close = [&] {
    // The first one says who rules from the beginning.
    if (choice && (choices.empty() || (*choice)["ruled"] != (*choice)["rules"])) {
      choices.push_back(*std::move(choice));
    }
    choice = std::nullopt;
  };
  while (csv.next()) {
    const Time its = csv.time(time);
    const bool is_new =
        !choice || its != at || (csv.text(ruled) == "1" && choice->contains("ruled"));
    if (is_new) {
      close();
      at = its;
      choice = OrderedJson{{"at_s", to_seconds(its)}, {"occasion", csv.text(occasion)}};
      (*choice)["scores"] = OrderedJson::array();
    }
    const auto value = parse_number<double>(csv.text(score));
    (*choice)["scores"].push_back(
        OrderedJson::array({csv.text(member), value ? OrderedJson(*value) : OrderedJson(nullptr)}));
    if (csv.text(ruled) == "1") (*choice)["ruled"] = csv.text(member);
    if (csv.text(rules) == "1") (*choice)["rules"] = csv.text(member);
  }
  close();
  return choices;
}

}  // namespace

RunDrawing draw_run(const fs::path& folder, const Summary& summary, JobsCsvRows jobs,
                    std::size_t most_rows) {
  RunDrawing drawing;
  drawing.workload = jobs.workload;
  std::vector<Allocation> held;
  if (const fs::path path = folder / "allocations.csv"; fs::exists(path)) {
    held = read_allocations(path);
  }

  add_running(jobs.rows, held);
  std::unordered_map<std::uint64_t, std::size_t> rows;
  for (const Allocation& each : held) rows[each.job] += rows_of(each);
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
  Packed ran({"start", "end", "reason", "state", "start_nodes", "end_nodes", "held_back"});
  Bars::Places places;
  for (const JobsCsvRow& row : jobs.rows) {
    places.emplace(row.job, static_cast<std::int64_t>(submitted.rows()));
    submitted.add({static_cast<std::int64_t>(row.job), microseconds(row.submit),
                   static_cast<std::int64_t>(row.size), row.walltime.count(), row.user,
                   submitted.word("type", row.type),
                   row.static_runtime ? row.static_runtime->count() : kNone});
    ran.add({row.start ? microseconds(*row.start) : kNone, row.end ? microseconds(*row.end) : kNone,
             ran.word("reason", row.reason), ran.word("state", row.state),
             static_cast<std::int64_t>(row.start_nodes), static_cast<std::int64_t>(row.end_nodes),
             row.start ? (*row.start - row.submit - row.waited).count() : 0});
  }
  Bars bars(places);
  std::ranges::stable_sort(held, {}, &Allocation::from);
  for (const Allocation& each : held) {
    if (places.contains(each.job)) bars.add(each);
  }

  drawing.submitted = submitted.json();
  OrderedJson& json = drawing.json;
  json["nodes"] = summary.nodes;
  json["makespan_s"] = summary.makespan_s;
  if (summary.measured_from_s || summary.measured_until_s) {
    const auto or_null = [](const std::optional<double>& at) {
      return at ? OrderedJson(*at) : OrderedJson(nullptr);
    };
    json["measured"] = {{"from_s", or_null(summary.measured_from_s)},
                        {"until_s", or_null(summary.measured_until_s)}};
  }
  json["jobs"] = ran.json();
  json["allocations"] = bars.json();
  json["cores_per_node"] = cores_per_node(held);
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
