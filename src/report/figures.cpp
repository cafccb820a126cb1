#include "report/figures.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "metrics/statistics.hpp"
#include "report/allocations_csv.hpp"
#include "report/csv_reader.hpp"
#include "report/output_file.hpp"
#include "report/pdf_canvas.hpp"
#include "report/resizes_csv.hpp"
#include "report/series.hpp"
#include "report/svg_canvas.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBars = 20'000;                // that a reader, and his program, can bear
constexpr std::size_t kJobColours = kSeriesColours - 1;  // without black
constexpr std::size_t kBins = 400;                       // of a curve over time
constexpr std::size_t kSteps = 200;                      // of a distribution
constexpr double kBound_s = 10;                          // of the bounded slowdown

struct JobFigure {
  double size = 0, run_s = 0, wait_s = 0, turnaround_s = 0, slowdown = 1;
};

// The runs of one policy: its jobs, of all seeds.
struct PolicyFigures {
  std::string name;
  std::vector<const RunPage*> runs{};
  fs::path folder{};  // of the first run whose files are there; empty: none
  double makespan_s = 0;
  Nodes nodes = 0;
  Time begin{};
  std::vector<JobFigure> jobs{};
};

void add_jobs(PolicyFigures& policy, const fs::path& path, bool is_first) {
  CsvReader rows(path);
  const std::size_t submit = rows.column("submission_time"), start = rows.column("starting_time"),
                    end = rows.column("finish_time"),
                    size = rows.column("requested_number_of_resources");
  const auto runtime = rows.find_column("static_runtime");
  std::optional<Time> first;
  while (rows.next()) {
    const Time came = rows.time(submit);
    first = std::min(first.value_or(came), came);
    const auto began = rows.find_time(start), ended = rows.find_time(end);
    if (!began || !ended) continue;
    JobFigure& job = policy.jobs.emplace_back();
    job.size = rows.number<double>(size);
    job.wait_s = to_seconds(*began - came);
    job.turnaround_s = to_seconds(*ended - came);
    const auto known = runtime ? rows.find_time(*runtime) : std::nullopt;
    job.run_s = known ? to_seconds(*known) : to_seconds(*ended - *began);
    job.slowdown = std::max(1.0, job.turnaround_s / std::max(job.run_s, kBound_s));
  }
  if (is_first) policy.begin = first.value_or(Time{});
}

std::vector<PolicyFigures> read_policies(std::span<const RunPage> runs) {
  std::vector<PolicyFigures> policies;
  for (const RunPage& run : runs) {
    const auto same = std::ranges::find(policies, run.summary.policy, &PolicyFigures::name);
    PolicyFigures& policy = same == policies.end() ? policies.emplace_back() : *same;
    policy.name = run.summary.policy;
    policy.runs.push_back(&run);
    const fs::path jobs = run.path / "jobs.csv";
    if (!fs::exists(jobs)) continue;
    const bool is_first = policy.folder.empty();
    if (is_first) {
      policy.folder = run.path;
      policy.makespan_s = run.summary.makespan_s;
      policy.nodes = run.summary.nodes;
    }
    add_jobs(policy, jobs, is_first);
  }
  return policies;
}

// Between the two values beside its place.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  return low + (high - low) * (place - static_cast<double>(below));
}

std::vector<double> sorted_values(const std::vector<JobFigure>& jobs, double JobFigure::*figure) {
  std::vector<double> values;
  values.reserve(jobs.size());
  for (const JobFigure& job : jobs) values.push_back(job.*figure);
  std::ranges::sort(values);
  return values;
}

// Letters, digits and what else any file system takes.
std::string file_name(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (is_plain || (!result.empty() && result.back() != '_')) result += is_plain ? c : '_';
  }
  return result.substr(0, 80);
}

class Figures {
 public:
  Figures(const fs::path& folder, std::span<const RunPage> runs, const Look& look,
          std::size_t baseline)
      : folder_(folder), look_(look), policies_(read_policies(runs)) {
    if (baseline < policies_.size()) baseline_ = baseline;
  }

  std::size_t write() {
    const bool any = std::ranges::any_of(
        policies_, [](const PolicyFigures& policy) { return !policy.folder.empty(); });
    if (!any) {
      throw InputError("there are no jobs.csv in the folders of these runs",
                       "write the runs anew, with --out");
    }
    make_folder(folder_);
    over_time();
    distribution("wait", "wait", &JobFigure::wait_s);
    distribution("turnaround", "turnaround", &JobFigure::turnaround_s);
    distribution("slowdown", "bounded slowdown", &JobFigure::slowdown);
    by_class();
    main_figures();
    resizes();
    for (const PolicyFigures& policy : policies_) {
      if (!policy.folder.empty()) gantt(policy);
    }
    return written_;
  }

 private:
  void write(const std::string& name, const std::string& title, const Chart& chart,
             std::string rows) {
    SvgCanvas svg(look_.width, chart.height, title);
    chart.draw(svg);
    PdfCanvas pdf(look_.width, chart.height, title);
    chart.draw(pdf);
    write_file(name + ".svg", svg.finish());
    write_file(name + ".pdf", pdf.finish());
    write_file(name + ".csv", std::move(rows));
    ++written_;
  }
  void write_file(const std::string& name, std::string text) const {
    OutputFile file(folder_ / name);
    file.text() = std::move(text);
    file.commit();
  }

  // What is left out of a picture of many policies.
  std::string folded(const std::string& name, std::size_t all, std::size_t most) const {
    if (all <= most) return "";
    return fmt::format("{} more policies are in {}.csv.", all - most, name);
  }

  void curves(const std::string& name, const std::string& title, const Axis& x, Axis y,
              std::vector<Curve> curves, const std::string& columns) {
    if (curves.empty()) return;
    std::string rows = "policy," + columns + "\n";
    for (const Curve& curve : curves) {
      for (const auto& [at, value] : curve.points) {
        append_field(rows, curve.name);
        rows += "," + number_text(at) + "," + number_text(value) + "\n";
      }
    }
    const std::string note = folded(name, curves.size(), kSeriesColours);
    if (curves.size() > kSeriesColours) curves.resize(kSeriesColours);
    const bool is_over_time = x.kind == Axis::Kind::seconds;
    write(name, title,
          (is_over_time ? stacked_chart : line_chart)(look_, x, y, std::move(curves), note),
          std::move(rows));
  }

  // Means over equal intervals, of one run of each policy.
  void over_time() {
    std::vector<Curve> used, waiting, power;
    double most_waiting = 1, most_power = 0, last = 0;
    for (const PolicyFigures& policy : policies_) {
      const fs::path path = policy.folder / "series.csv";
      if (policy.folder.empty() || !fs::exists(path) || policy.makespan_s <= 0) continue;
      const std::vector<Sample> samples = read_series(path);
      if (samples.empty()) continue;
      last = std::max(last, policy.makespan_s);
      const bool has_power = std::ranges::any_of(samples, &Sample::has_power);
      const double step = policy.makespan_s / kBins;
      std::array<std::vector<double>, 3> sums;
      sums.fill(std::vector<double>(kBins));
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const Sample& sample = samples[i];
        double from = std::max(0.0, to_seconds(sample.at - policy.begin));
        const double until = i + 1 < samples.size() ? to_seconds(samples[i + 1].at - policy.begin)
                                                    : policy.makespan_s;
        for (auto bin = static_cast<std::size_t>(from / step); bin < kBins && from < until; ++bin) {
          const double to = std::min(until, step * static_cast<double>(bin + 1));
          const double time = std::max(0.0, to - from);
          sums[0][bin] += time * sample.held;
          sums[1][bin] += time * sample.pending;
          sums[2][bin] += time * sample.power_w;
          from = std::max(from, to);
        }
      }
      const auto curve_of = [&](const std::vector<double>& its, double unit) {
        Curve curve{policy.name};
        for (std::size_t bin = 0; bin < kBins; ++bin) {
          curve.points.emplace_back((static_cast<double>(bin) + 0.5) * step,
                                    its[bin] / step / unit);
        }
        return curve;
      };
      used.push_back(curve_of(sums[0], static_cast<double>(policy.nodes) / 100));
      waiting.push_back(curve_of(sums[1], 1));
      for (const auto& [at, value] : waiting.back().points)
        most_waiting = std::max(most_waiting, value);
      if (!has_power) continue;
      power.push_back(curve_of(sums[2], 1000));
      for (const auto& [at, value] : power.back().points) most_power = std::max(most_power, value);
    }
    const Axis time{.title = "time", .low = 0, .high = last, .kind = Axis::Kind::seconds};
    curves("utilization", "Utilization over time", time, {.title = "nodes in use (%)", .high = 100},
           std::move(used), "time_s,utilization_percent");
    curves("waiting", "Waiting jobs over time", time,
           {.title = "waiting jobs", .high = most_waiting}, std::move(waiting),
           "time_s,waiting_jobs");
    curves("power", "Power over time", time, {.title = "power (kW)", .high = most_power * 1.05},
           std::move(power), "time_s,power_kw");
  }

  // The share of jobs with no more than a value.
  void distribution(const std::string& name, const std::string& title, double JobFigure::*figure) {
    std::vector<Curve> all;
    const bool is_time = figure != &JobFigure::slowdown;
    double most = 10;
    for (const PolicyFigures& policy : policies_) {
      if (policy.jobs.empty()) continue;
      const std::vector<double> values = sorted_values(policy.jobs, figure);
      Curve& curve = all.emplace_back(Curve{policy.name});
      for (std::size_t i = 0; i <= kSteps; ++i) {
        const double share = static_cast<double>(i) / kSteps;
        curve.points.emplace_back(quantile(values, share), share * 100);
      }
      most = std::max(most, values.back());
    }
    const Axis x{.title = is_time ? title + " (less than 1 s: at 1 s)" : title,
                 .low = 1,
                 .high = most,
                 .kind = is_time ? Axis::Kind::log_seconds : Axis::Kind::log};
    curves("cdf-" + name, fmt::format("Distribution of {}", title), x,
           {.title = "jobs (%)", .high = 100}, std::move(all),
           fmt::format("{}{},jobs_percent", name, is_time ? "_s" : ""));
  }

  // Classes parted at the medians of the baseline's jobs, for boxes; by powers, for the heat map.
  void by_class() {
    const PolicyFigures& baseline = policies_[baseline_];
    if (baseline.jobs.empty()) return;
    boxes(baseline);
    heat(baseline);
  }

  static std::string time_text(double seconds) {
    if (seconds < 120) return fmt::format("{:.3g} s", seconds);
    if (seconds < 2 * 3600) return fmt::format("{:.3g} min", seconds / 60);
    if (seconds < 2 * 86400) return fmt::format("{:.3g} h", seconds / 3600);
    return fmt::format("{:.3g} d", seconds / 86400);
  }

  void boxes(const PolicyFigures& baseline) {
    const std::vector<double> sizes = sorted_values(baseline.jobs, &JobFigure::size);
    const std::vector<double> runs = sorted_values(baseline.jobs, &JobFigure::run_s);
    const double size = sizes[sizes.size() / 2], run = runs[runs.size() / 2];
    const auto class_of = [&](const JobFigure& job) {
      return (job.size > size ? 2U : 0U) + (job.run_s > run ? 1U : 0U);
    };
    const std::string nodes = number_text(size), time = time_text(run);
    const std::array<std::string, 4> names{fmt::format("up to {} nodes, {}", nodes, time),
                                           fmt::format("up to {} nodes, longer", nodes),
                                           fmt::format("larger, up to {}", time),
                                           "larger and longer"};
    std::vector<BoxGroup> groups;
    for (const std::string& name : names) groups.push_back({name});
    std::vector<std::string> series;
    std::string rows = "policy,class,jobs,p5,q1,median,q3,p95\n";
    double most = 10;
    for (std::size_t p = 0; p < policies_.size(); ++p) {
      std::array<std::vector<double>, 4> values;
      for (const JobFigure& job : policies_[p].jobs) values[class_of(job)].push_back(job.slowdown);
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (values[k].empty()) continue;
        std::ranges::sort(values[k]);
        const Box box{p,
                      quantile(values[k], 0.05),
                      quantile(values[k], 0.25),
                      quantile(values[k], 0.5),
                      quantile(values[k], 0.75),
                      quantile(values[k], 0.95)};
        append_field(rows, policies_[p].name);
        append_field(rows += ',', names[k]);
        rows += fmt::format(",{}", values[k].size());
        for (const double value : {box.low, box.q1, box.median, box.q3, box.high}) {
          rows += "," + number_text(value);
        }
        rows += '\n';
        if (p >= kSeriesColours) continue;
        most = std::max(most, box.high);
        groups[k].boxes.push_back(box);
      }
      if (p < kSeriesColours) series.push_back(policies_[p].name);
    }
    std::erase_if(groups, [](const BoxGroup& group) { return group.boxes.empty(); });
    const std::string note = "Quartiles; lines from 5 % to 95 % of the jobs. " +
                             folded("slowdown-by-class", policies_.size(), kSeriesColours);
    write("slowdown-by-class", "Bounded slowdown by class of job",
          box_chart(look_,
                    {.title = "bounded slowdown", .low = 1, .high = most, .kind = Axis::Kind::log},
                    series, groups, note),
          std::move(rows));
  }

  void heat(const PolicyFigures& baseline) {
    constexpr std::array<double, 5> kRuns{60, 600, 3600, 6 * 3600, 86400};
    const std::vector<std::string> columns{"<1 min", "<10 min", "<1 h", "<6 h", "<1 d", ">1 d"};
    std::vector<std::string> sizes;
    const double largest = sorted_values(baseline.jobs, &JobFigure::size).back();
    std::vector<double> bounds;
    for (double most = 1;; most *= 4) {
      const double least = most == 1 ? 1 : most / 4 + 1;
      bounds.push_back(most);
      sizes.push_back(least == most ? number_text(most) : fmt::format("{}-{}", least, most));
      if (most >= largest) break;
    }
    using Place = std::pair<std::size_t, std::size_t>;
    struct Mean {
      double sum = 0;
      std::uint64_t jobs = 0;
      double value() const { return sum / static_cast<double>(jobs); }
    };
    const auto means_of = [&](const PolicyFigures& policy) {
      std::map<Place, Mean> means;
      for (const JobFigure& job : policy.jobs) {
        const auto row = std::min<std::ptrdiff_t>(
            std::ranges::lower_bound(bounds, job.size) - bounds.begin(), std::ssize(bounds) - 1);
        const auto column = std::ranges::upper_bound(kRuns, job.run_s) - kRuns.begin();
        Mean& mean = means[{static_cast<std::size_t>(row), static_cast<std::size_t>(column)}];
        mean.sum += job.slowdown;
        ++mean.jobs;
      }
      return means;
    };
    const std::map<Place, Mean> base = means_of(baseline);
    std::vector<Heat> panels;
    std::string rows = "policy,nodes,run_time,jobs,bounded_slowdown,baseline,ratio\n";
    for (const PolicyFigures& policy : policies_) {
      if (&policy == &baseline || policy.jobs.empty()) continue;
      Heat& panel = panels.emplace_back(Heat{policy.name + " / " + baseline.name});
      for (const auto& [place, mean] : means_of(policy)) {
        const auto at = base.find(place);
        if (at == base.end()) continue;
        const double ratio = mean.value() / at->second.value();
        panel.cells.push_back({place.first, place.second, ratio});
        append_field(rows, policy.name);
        rows += fmt::format(",{},{},{},{},{},{}\n", sizes[place.first], columns[place.second],
                            mean.jobs, number_text(mean.value()), number_text(at->second.value()),
                            number_text(ratio));
      }
    }
    if (panels.empty()) return;
    constexpr std::size_t kMostPanels = 6;
    const std::string note =
        "Mean bounded slowdown over that of the baseline; below 1 is better. " +
        folded("slowdown-heat", panels.size(), kMostPanels);
    if (panels.size() > kMostPanels) panels.resize(kMostPanels);
    write("slowdown-heat", "Bounded slowdown against the baseline by size and run time",
          heat_chart(look_, "nodes", sizes, "run time", columns, panels, note), std::move(rows));
  }

  // Dots with intervals over the seeds.
  void main_figures() {
    struct Figure {
      const char* name;
      const char* title;
      Axis::Kind kind;
      double (*value)(const Summary&);
    };
    using Kind = Axis::Kind;
    constexpr std::array<Figure, 5> kFigures{
        {{"mean_wait_s", "mean wait", Kind::seconds,
          [](const Summary& s) { return s.mean_wait_s; }},
         {"mean_turnaround_s", "mean turnaround", Kind::seconds,
          [](const Summary& s) { return s.mean_turnaround_s; }},
         {"mean_bounded_slowdown", "mean bounded slowdown", Kind::plain,
          [](const Summary& s) { return s.mean_bounded_slowdown; }},
         {"utilization_percent", "utilization (%)", Kind::plain,
          [](const Summary& s) { return s.utilization * 100; }},
         {"makespan_s", "makespan", Kind::seconds, [](const Summary& s) { return s.makespan_s; }}}};
    std::vector<std::string> names;
    for (const PolicyFigures& policy : policies_) names.push_back(policy.name);
    std::string rows = "policy,figure,runs,mean,half_width_95\n";
    std::vector<DotPanel> panels;
    for (const Figure& figure : kFigures) {
      DotPanel& panel = panels.emplace_back();
      double least = std::numeric_limits<double>::infinity(), most = 0;
      for (const PolicyFigures& policy : policies_) {
        std::vector<double> values;
        for (const RunPage* run : policy.runs) values.push_back(figure.value(run->summary));
        const MeanInterval interval = mean_interval(values);
        const double half = std::isfinite(interval.half_width) ? interval.half_width : 0;
        panel.values.push_back({interval.mean, half});
        append_field(rows, policy.name);
        rows += fmt::format(",{},{},{},", figure.name, values.size(),
                            std::isfinite(interval.mean) ? number_text(interval.mean) : "");
        rows += (values.size() > 1 ? number_text(half) : "") + "\n";
        if (!std::isfinite(interval.mean)) continue;
        least = std::min(least, interval.mean - half);
        most = std::max(most, interval.mean + half);
      }
      if (!(most > 0)) most = 1;
      if (!std::isfinite(least)) least = 0;
      // From 0 on, unless all are far from it.
      const double room = std::max((most - least) * 0.15, most * 0.02);
      const bool is_far = least > 0.6 * most;
      panel.axis = {figure.title, is_far ? least - room : 0, most + room, figure.kind};
    }
    const bool any = std::ranges::any_of(
        policies_, [](const PolicyFigures& policy) { return policy.runs.size() > 1; });
    write(
        "figures", "Main figures",
        dot_chart(look_, names, panels,
                  any ? "Means over the seeds, with 95 % confidence intervals (Student's t)." : ""),
        std::move(rows));
  }

  // Of one run of each policy.
  void resizes() {
    std::map<std::string, std::map<std::size_t, std::uint64_t>> counts;
    for (std::size_t p = 0; p < policies_.size(); ++p) {
      const fs::path path = policies_[p].folder / "resizes.csv";
      if (policies_[p].folder.empty() || !fs::exists(path)) continue;
      for (const ResizeRow& row : read_resizes(path)) {
        const bool changes =
            row.outcome == ResizeOutcome::done || row.outcome == ResizeOutcome::partly;
        if (changes) ++counts[row.reason][p];
      }
    }
    if (counts.empty()) return;
    // All policies, so that each has the colour that it has elsewhere.
    std::vector<std::string> reasons, series;
    for (const PolicyFigures& policy : policies_) {
      if (series.size() < kSeriesColours) series.push_back(policy.name);
    }
    std::vector<Bar> bars;
    std::string rows = "policy,reason,resizes\n";
    double most = 1;
    for (const auto& [reason, its] : counts) {
      for (const auto& [policy, count] : its) {
        append_field(rows, policies_[policy].name);
        rows += fmt::format(",{},{}\n", reason, count);
        if (policy >= kSeriesColours) continue;
        most = std::max(most, static_cast<double>(count));
        bars.push_back({reasons.size(), policy, static_cast<double>(count)});
      }
      reasons.push_back(reason);
    }
    write("resizes", "Resizes by reason",
          bar_chart(look_, {.title = "resizes carried out", .high = most * 1.05}, reasons, series,
                    bars, folded("resizes", policies_.size(), kSeriesColours)),
          std::move(rows));
  }

  void gantt(const PolicyFigures& policy) {
    const fs::path path = policy.folder / "allocations.csv";
    if (!fs::exists(path) || policy.makespan_s <= 0) return;
    const std::vector<Allocation> held = read_allocations(path);
    std::size_t bars = 0;
    bool are_known = true;
    for (const Allocation& each : held) {
      bars += each.nodes.parts.size();
      are_known = are_known && !each.nodes.empty();
    }
    const Axis x{.title = "time", .low = 0, .high = policy.makespan_s, .kind = Axis::Kind::seconds};
    std::string name = "gantt-" + file_name(policy.name);
    const auto take = [&] {
      std::string key = name;
      std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
      return gantts_.insert(key).second;
    };
    for (int i = 2; !take(); ++i) {
      name = fmt::format("gantt-{}-{}", file_name(policy.name), i);
    }
    const std::string title = "Who had which nodes: " + policy.name;
    if (!are_known || bars > kMostBars || held.empty()) {
      occupancy(policy, held, x, name,
                are_known
                    ? fmt::format("{}: nodes in use. {} bars of jobs are too many for a picture.",
                                  policy.name, bars)
                    : policy.name + ": nodes in use. Which ones is not known.");
      return;
    }
    std::vector<Span> spans;
    std::string rows = "job,from_s,until_s,first_node,last_node\n";
    for (const Allocation& each : held) {
      const double from = to_seconds(each.from - policy.begin),
                   until = to_seconds(each.until - policy.begin);
      for (const Interval& part : each.nodes.parts) {
        spans.push_back({from, until, static_cast<double>(part.first),
                         static_cast<double>(part.last) + 1, each.job % kJobColours});
        rows += fmt::format("{},{},{},{},{}\n", each.job, number_text(from), number_text(until),
                            part.first, part.last);
      }
    }
    const Axis y{.title = "node", .low = 0, .high = static_cast<double>(policy.nodes)};
    write(name, title,
          gantt_chart(look_, x, y, std::move(spans), policy.name + ": colours tell jobs apart."),
          std::move(rows));
  }

  void occupancy(const PolicyFigures& policy, const std::vector<Allocation>& held, const Axis& x,
                 const std::string& name, const std::string& note) {
    constexpr std::size_t kColumns = 1000;
    const double step = policy.makespan_s / kColumns;
    std::vector<double> sums(kColumns);
    for (const Allocation& each : held) {
      double from = std::max(0.0, to_seconds(each.from - policy.begin));
      const double until = to_seconds(each.until - policy.begin);
      for (auto bin = static_cast<std::size_t>(from / step); bin < kColumns && from < until;
           ++bin) {
        const double to = std::min(until, step * static_cast<double>(bin + 1));
        sums[bin] += std::max(0.0, to - from) * each.size;
        from = std::max(from, to);
      }
    }
    std::vector<Span> spans;
    std::string rows = "from_s,until_s,nodes\n";
    double most = static_cast<double>(policy.nodes);
    for (std::size_t i = 0; i < kColumns; ++i) {
      const double from = step * static_cast<double>(i), nodes = sums[i] / step;
      spans.push_back({from, from + step, 0, nodes, 0});
      rows += number_text(from) + "," + number_text(from + step) + "," + number_text(nodes) + "\n";
      most = std::max(most, nodes);
    }
    write(name, "Nodes in use: " + policy.name,
          gantt_chart(look_, x, {.title = "nodes", .low = 0, .high = most}, std::move(spans), note),
          std::move(rows));
  }

  fs::path folder_;
  Look look_;
  std::vector<PolicyFigures> policies_;
  std::size_t baseline_ = 0, written_ = 0;
  std::set<std::string> gantts_;  // names of files, in lower case
};

}  // namespace

std::size_t write_figures(const fs::path& folder, std::span<const RunPage> runs, const Look& look,
                          std::size_t baseline) {
  return Figures(folder, runs, look, baseline).write();
}

}  // namespace ductile
