#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/html.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

constexpr std::size_t kMostCurves = 8;
constexpr std::size_t kMostGantts = 4;
constexpr std::size_t kMostColumns = 16;  // of the table of all figures

// ---- Axes ---------------------------------------------------------------------------------------

// 1, 2 or 5 times a power of ten, so that about `count` of them fill `span`.
double nice_step(double span, int count) {
  const double raw = span / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

struct TimeAxis {
  Time begin{}, end{};

  double x(Time time) const {
    return kLeft + kWidth * to_seconds(time - begin) / to_seconds(end - begin);
  }
};

struct TimeUnit {
  double length_s;
  std::string_view name;
};

TimeUnit unit_for(double span_s) {
  if (span_s > 3 * 86'400) return {86'400, "days"};
  if (span_s > 3 * 3600) return {3600, "hours"};
  return {1, "seconds"};
}

std::string duration_text(Duration duration) {
  const double value_s = to_seconds(duration);
  const TimeUnit unit = unit_for(value_s);
  return fmt::format("{:.4g} {}", value_s / unit.length_s, unit.name);
}

void x_axis(std::string& html, const TimeAxis& axis, double height) {
  const double span_s = to_seconds(axis.end - axis.begin);
  const TimeUnit unit = unit_for(span_s);
  const double span = span_s / unit.length_s;
  const double step = nice_step(span, 8);
  for (int i = 0; i * step <= span * 1.0001; ++i) {
    const double x = kLeft + kWidth * (i * step) / span;
    fmt::format_to(std::back_inserter(html),
                   "<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"8\" y2=\"{1}\"/>"
                   "<text x=\"{0}\" y=\"{2}\" text-anchor=\"middle\">{3:.6g}</text>\n",
                   fixed(x), fixed(height + 8), fixed(height + 24), i * step);
  }
  fmt::format_to(
      std::back_inserter(html),
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} after the first submission</text>\n",
      fixed(kLeft + kWidth), fixed(height + 40), unit.name);
}

std::string key(std::string_view colour, std::string_view text) {
  return fmt::format("<span class=\"key\"><i style=\"background: {}\"></i>{}</span>", colour,
                     escaped(text));
}

// ---- Curves -------------------------------------------------------------------------------------

struct Curve {
  const TimeMeans* means;
  double scale;  // of the values, to those of the y axis
  std::string name;
};

// Each interval one horizontal line at its mean.
std::string curve_path(const Curve& curve, const TimeAxis& axis, double height, double top) {
  std::string path;
  const TimeMeans& means = *curve.means;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const Time from = means.begin() + means.step() * static_cast<std::int64_t>(i);
    const Time to = std::min(from + means.step(), means.end());
    const double y = 8 + height * (1 - means.mean(i) * curve.scale / top);
    fmt::format_to(std::back_inserter(path), "{}{} {}H{}", i == 0 ? "M" : "L", fixed(axis.x(from)),
                   fixed(y), fixed(axis.x(to)));
  }
  return path;
}

// The lower bounds, or the upper ones, from line to line.
std::string bound_path(std::span<const CorridorLine> corridor, double CorridorLine::*bound,
                       const TimeAxis& axis, double height, double top) {
  std::string path;
  for (std::size_t i = 0; i < corridor.size(); ++i) {
    const Time from = std::max(corridor[i].at, axis.begin);
    const Time to = i + 1 < corridor.size() ? std::min(corridor[i + 1].at, axis.end) : axis.end;
    const double watts = corridor[i].*bound;
    if (!(from < to) || !std::isfinite(watts)) continue;
    fmt::format_to(std::back_inserter(path), "M{} {}H{}", fixed(axis.x(from)),
                   fixed(8 + height * (1 - watts / top)), fixed(axis.x(to)));
  }
  return path;
}

// `corridor`: dashed lines besides.
void append_curves(std::string& html, std::string_view title, std::span<const Curve> curves,
                   double top, std::string_view y_unit,
                   std::span<const CorridorLine> corridor = {}) {
  TimeAxis axis;
  bool any = false;
  double highest = 0;
  for (const Curve& curve : curves) {
    if (curve.means->size() == 0) continue;
    axis.begin = any ? std::min(axis.begin, curve.means->begin()) : curve.means->begin();
    axis.end = any ? std::max(axis.end, curve.means->end()) : curve.means->end();
    any = true;
    for (std::size_t i = 0; i < curve.means->size(); ++i) {
      highest = std::max(highest, curve.means->mean(i) * curve.scale);
    }
  }
  if (!any) return;
  for (const CorridorLine& line : corridor) {
    highest = std::max(highest, std::isfinite(line.high_w) ? line.high_w : line.low_w);
  }
  constexpr double height = 200;
  if (top <= 0) top = std::max(highest, 1.0);
  html += fmt::format("<h2>{}</h2>\n<figure>\n", escaped(title));
  open_svg(html, height, title);
  x_axis(html, axis, height);
  const double step = nice_step(top, 4);
  for (int i = 0; i * step <= top * 1.0001; ++i) {
    y_label(html, 8 + height * (1 - i * step / top), fmt::format("{:.6g}{}", i * step, y_unit));
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    html += fmt::format("<path class=\"curve\" style=\"stroke: var(--c{})\" d=\"{}\"/>\n", i,
                        curve_path(curves[i], axis, height, top));
  }
  for (const auto bound : {&CorridorLine::low_w, &CorridorLine::high_w}) {
    const std::string path = bound_path(corridor, bound, axis, height, top);
    if (!path.empty()) html += fmt::format("<path class=\"bound\" d=\"{}\"/>\n", path);
  }
  html += "</svg>\n";
  if (curves.size() > 1) {
    html += "<figcaption>";
    for (std::size_t i = 0; i < curves.size(); ++i) {
      html += key(fmt::format("var(--c{})", i), curves[i].name);
    }
    html += "</figcaption>\n";
  }
  html += "</figure>\n";
}

// ---- Who ruled ----------------------------------------------------------------------------------

constexpr std::size_t kMostChoices = 100;  // of those that changed who rules, in a table

std::string seconds_cell(Time time) {
  std::string text;
  append_seconds(text, time);
  return text;
}

// The choices that changed who rules: when, why, and what each member came to.
void append_choices(std::string& html, const RunPage& run) {
  std::vector<const ChoiceMade*> changes;
  for (const ChoiceMade& made : run.choices) {
    if (made.is_change()) changes.push_back(&made);
  }
  const Choice& first = run.choices.front().choice;
  html += fmt::format(
      "<p class=\"soft\">{} choices by {}, {} of them changed who rules; looking ahead lived "
      "through {} passes.</p>\n",
      run.choices.size(), kGoalWords[static_cast<std::size_t>(first.goal)], changes.size(),
      run.summary.look_ahead_passes);
  if (changes.empty()) return;
  html +=
      "<details><summary>Show the changes</summary><div class=\"scroll\"><table>\n<tr>"
      "<th>time<small>s</small></th><th>because of</th><th>jobs</th><th>ruled</th><th>rules</th>"
      "<th>what was seen ahead</th></tr>\n";
  for (const ChoiceMade* made : std::span(changes).first(std::min(changes.size(), kMostChoices))) {
    const Choice& its = made->choice;
    std::string scores;
    for (const Choice::Member& member : its.members) {
      scores += fmt::format("{}{} {:.6g}", scores.empty() ? "" : ", ", escaped(member.settings),
                            member.score);
    }
    html +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    seconds_cell(made->at), kOccasionWords[static_cast<std::size_t>(its.occasion)],
                    its.jobs, escaped(made->ruled()), escaped(made->rules()), scores);
  }
  html += "</table></div>";
  if (changes.size() > kMostChoices) {
    html +=
        fmt::format("<p class=\"soft\">The first {}; choices.csv has them all.</p>", kMostChoices);
  }
  html += "</details>\n";
}

// A band over time: whose turn it was.
void append_reigns(std::string& html, const RunPage& run, const std::string& name) {
  if (run.choices.empty() || run.held.size() == 0) return;
  const TimeAxis axis{run.held.begin(), run.held.end()};
  constexpr double height = 28;
  html += fmt::format("<h2>Who ruled{}</h2>\n<figure>\n",
                      name.empty() ? "" : " under " + escaped(name));
  open_svg(html, height, "which policy ruled when");
  x_axis(html, axis, height);
  const auto place_of = [&](const std::string& policy) {
    const auto& all = run.summary.ruled;
    const auto at = std::ranges::find(all, policy, [](const auto& its) { return its.first; });
    return static_cast<std::size_t>(at - all.begin());
  };
  const auto colour_of = [](std::size_t place) { return fmt::format("var(--c{})", place % 8); };
  const auto draw = [&](const std::string& policy, Time from, Time to) {
    from = std::max(from, axis.begin);
    to = std::min(to, axis.end);
    if (to <= from) return;
    const double width = std::max(0.4, axis.x(to) - axis.x(from));
    fmt::format_to(std::back_inserter(html),
                   "<rect fill=\"{}\" x=\"{}\" y=\"8\" width=\"{}\" height=\"{}\">"
                   "<title>{}, {}</title></rect>\n",
                   colour_of(place_of(policy)), fixed(axis.x(from)), fixed(width), fixed(height),
                   escaped(policy), duration_text(to - from));
  };
  std::string who = run.choices.front().ruled();
  Time since = axis.begin;
  for (const ChoiceMade& made : run.choices) {
    if (made.rules() == who) continue;
    draw(who, since, made.at);
    who = made.rules();
    since = made.at;
  }
  draw(who, since, axis.end);
  html += "</svg>\n<figcaption>";
  for (std::size_t i = 0; i < run.summary.ruled.size(); ++i) {
    const auto& [policy, share] = run.summary.ruled[i];
    html += key(colour_of(i), fmt::format("{} {:.3g} %", policy, 100 * share));
  }
  html += "</figcaption>\n</figure>\n";
  append_choices(html, run);
}

// ---- Gantt --------------------------------------------------------------------------------------

constexpr std::string_view colour(Why why) {
  switch (why) {
    case Why::in_order:
      return "var(--c0)";
    case Why::backfilled:
      return "var(--c1)";
    case Why::hand_out:
      return "var(--c2)";
    case Why::shrunk_for:
      return "var(--c3)";
    case Why::evolving:
      return "var(--c4)";
    case Why::dependency_expand:
      return "var(--c7)";
    case Why::corridor:
      return "var(--c6)";
    default:
      return "var(--c5)";
  }
}

std::string cores_text(const GanttBar& bar) {
  if (bar.cores == 0) return {};
  return fmt::format(", {} of {} cores of each{}", bar.cores, bar.of,
                     bar.is_guest ? " as a guest" : "");
}

void append_gantt(std::string& html, const RunPage& run, const std::string& name) {
  const Gantt& gantt = run.gantt;
  if (gantt.bars.empty() || gantt.end <= gantt.begin) return;
  const TimeAxis axis{gantt.begin, gantt.end};
  const double row = std::clamp(420.0 / gantt.nodes, 1e-9, 16.0);
  const double height = row * gantt.nodes;
  html +=
      fmt::format("<h2>Nodes{}</h2>\n<figure>\n", name.empty() ? "" : " under " + escaped(name));
  open_svg(html, height, "which job has which nodes when");
  x_axis(html, axis, height);
  const double step = std::max(1.0, nice_step(gantt.nodes, 6));
  for (int i = 0; i * step < gantt.nodes; ++i) {
    y_label(html, 8 + row * i * step, fmt::format("{:.6g}", i * step));
  }
  std::set<Why> reasons;
  bool any_shared = false, any_guest = false;
  for (const GanttBar& bar : gantt.bars) {
    reasons.insert(bar.why);
    any_shared |= bar.cores > 0;
    any_guest |= bar.is_guest;
    // Narrower than what a screen can show would be invisible.
    const double width = std::max(0.4, axis.x(bar.to) - axis.x(bar.from));
    const auto rect = [&](double first, double rows) {
      const char* const shape = row * rows < 2 ? ""
                                : bar.is_guest ? " class=\"guest\""
                                               : " class=\"bar\"";
      fmt::format_to(std::back_inserter(html),
                     "<rect{} fill=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">"
                     "<title>job {}: {} {}{}, {}, {}</title></rect>\n",
                     shape, colour(bar.why), fixed(axis.x(bar.from)), fixed(8 + row * first),
                     fixed(width), fixed(row * rows), bar.job, bar.size,
                     bar.size == 1 ? "node" : "nodes", cores_text(bar),
                     duration_text(bar.to - bar.from), word(bar.why));
    };
    if (bar.cores == 0 || row < 2) {  // nobody sees parts of so low a row
      rect(bar.nodes.first, bar.nodes.last - bar.nodes.first + 1);
      continue;
    }
    // Of each node's row as much as it has of the cores: who had it first from above, a guest from
    // below.
    const double share = static_cast<double>(bar.cores) / bar.of;
    for (std::uint32_t node = bar.nodes.first; node <= bar.nodes.last; ++node) {
      rect(bar.is_guest ? node + 1 - share : node, share);
    }
  }
  html += "</svg>\n<figcaption>";
  for (const Why why : reasons) html += key(colour(why), word(why));
  if (any_guest) {
    html += "<span class=\"key\"><i class=\"guest\"></i>on cores of nodes of others</span>";
  }
  if (any_shared) html += "shared nodes are divided as their cores are. ";
  if (!gantt.whole) {
    html += fmt::format("the first {} of the run; a page has room for no more",
                        duration_text(gantt.end - gantt.begin));
  }
  html += "</figcaption>\n</figure>\n";
}

// ---- Tables -------------------------------------------------------------------------------------

// A limit that does not move with the size is none that a job can keep when it is cut.
void append_warning(std::string& html, const std::vector<PolicyRuns>& groups) {
  std::string who;
  for (const PolicyRuns& group : groups) {
    std::uint64_t by_resizes = 0, killed = 0;
    for (const Summary* summary : group.runs) {
      by_resizes += summary->killed_by_resizes;
      killed += summary->killed;
    }
    if (by_resizes == 0) continue;
    who += fmt::format("{}{} of {} under {}", who.empty() ? "" : ", ", by_resizes, killed,
                       escaped(group.policy));
  }
  if (who.empty()) return;
  html += fmt::format(
      "<p><strong>Resizes killed jobs: {}.</strong> At the size at which they started these would "
      "have ended within their limit. With <code>--limit fixed</code> a job that is cut takes "
      "longer "
      "and may not; with <code>--limit scaled</code> its limit moves with its size.</p>\n",
      who);
}

void append_main_table(std::string& html, const std::vector<PolicyRuns>& groups,
                       const std::vector<Column>& columns) {
  html += "<div class=\"scroll\"><table>\n<tr><th>policy</th>";
  for (const Column& column : columns) {
    html += fmt::format("<th>{}<small>{}</small></th>", column.title, column.unit);
  }
  html += "</tr>\n";
  for (const PolicyRuns& group : groups) {
    html += fmt::format("<tr><td>{}</td>", escaped(group.policy));
    for (const Column& column : columns) {
      html += fmt::format("<td>{}</td>", cell_text(column, group));
    }
    html += "</tr>\n";
  }
  html += "</table></div>\n";
}

// Four digits behind the point are enough to read; summary.json has them all.
template <class Value>
std::string value_text(const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return escaped(value);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value ? "yes" : "no";
  } else if constexpr (std::is_same_v<Value, std::optional<double>> ||
                       std::is_same_v<Value, std::optional<std::uint64_t>>) {
    return value ? value_text(*value) : "-";
  } else if constexpr (std::is_floating_point_v<Value>) {
    return std::isfinite(value) ? number_text(std::round(value * 1e4) / 1e4) : "-";
  } else {
    return fmt::format("{}", value);
  }
}

void append_all_figures(std::string& html, std::span<const RunPage> runs) {
  const std::span<const RunPage> shown = runs.first(std::min(runs.size(), kMostColumns));
  std::vector<std::string> rows;
  for (const RunPage& run : shown) {
    std::size_t i = 0;
    visit_figures(run.summary, [&](const char* name, const auto& value) {
      if (i == rows.size()) rows.push_back(fmt::format("<tr><td>{}</td>", name));
      rows[i++] += fmt::format("<td>{}</td>", value_text(value));
    });
  }
  html += "<h2>All figures</h2>\n<details><summary>";
  html += runs.size() == 1 ? "Show" : fmt::format("Show {} of {} runs", shown.size(), runs.size());
  html += "</summary><div class=\"scroll\"><table>\n";
  for (const std::string& row : rows) html += row + "</tr>\n";
  html += "</table></div></details>\n";
}

// What was run, of each run: folded.
void append_identities(std::string& html, std::span<const RunPage> runs) {
  bool any = false;
  for (const RunPage& run : runs.first(std::min(runs.size(), kMostColumns))) {
    const Summary& its = run.summary;
    if (its.run.empty()) continue;
    if (!std::exchange(any, true)) html += "<h2>What was run</h2>\n";
    html += fmt::format("<details><summary>{}, seed {}</summary><pre>{}</pre></details>\n",
                        escaped(its.policy), its.seed, escaped(indented(its.run)));
  }
}

// Of the runs that resized: how often for each reason, and what it cost.
void append_resizes(std::string& html, std::span<const RunPage* const> runs) {
  const auto resized = [](const RunPage* run) { return !run->resizes.empty(); };
  if (std::ranges::none_of(runs, resized)) return;
  html +=
      "<h2>Resizes</h2>\n<div class=\"scroll\"><table>\n<tr><th>policy</th><th>reason</th>"
      "<th>expands</th><th>shrinks</th><th>moves</th><th>nodes gained</th><th>nodes given up</th>"
      "<th>not done</th></tr>\n";
  std::string costs;
  for (const RunPage* run : runs) {
    if (!resized(run)) continue;
    const Summary& summary = run->summary;
    for (const auto& [why, counts] : run->resizes) {
      html += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
          "<td>{}</td></tr>\n",
          escaped(summary.policy), why ? word(*why) : "node failure", counts.expands,
          counts.shrinks, counts.moves, counts.gained, counts.given, counts.not_done);
    }
    const double held_node_s =
        summary.utilization * summary.makespan_s * static_cast<double>(summary.nodes);
    costs += fmt::format(
        "<p class=\"soft\">{}: resizes cost {:.4g} node hours, {:.3g} % of what jobs held.</p>\n",
        escaped(summary.policy), summary.reconfiguration_node_s / 3600,
        held_node_s > 0 ? 100 * summary.reconfiguration_node_s / held_node_s : 0.0);
  }
  html += "</table></div>\n" + costs;
}

void append_links(std::string& html, std::span<const RunPage> runs) {
  html += "<h2>Files</h2>\n";
  for (const RunPage& run : runs) {
    const std::string folder = run.folder.empty() ? "" : run.folder + "/";
    html += "<p>";
    if (!folder.empty()) html += fmt::format("{}: ", escaped(run.folder));
    for (const std::string_view file :
         {"report.html", "jobs.csv", "allocations.csv", "decisions.csv", "choices.csv",
          "series.csv", "summary.json", "trace.json"}) {
      if (folder.empty() && file == "report.html") continue;
      if (file == "choices.csv" && run.summary.choices == 0) continue;
      html += fmt::format("<a href=\"{0}{1}\">{1}</a> ", escaped(folder), file);
    }
    html += "</p>\n";
  }
}

}  // namespace

std::string html_page(std::span<const RunPage> runs) {
  std::vector<Summary> summaries;
  for (const RunPage& run : runs) summaries.push_back(run.summary);
  const std::vector<PolicyRuns> groups = by_policy(summaries);

  // Charts show one run of each policy, that of its first seed.
  std::vector<const RunPage*> charted;
  for (const PolicyRuns& group : groups) {
    charted.push_back(&runs[static_cast<std::size_t>(group.runs.front() - summaries.data())]);
  }

  const RunPage& first = runs.front();
  std::string what =
      groups.size() == 1 ? groups.front().policy : fmt::format("{} policies", groups.size());
  if (!first.workload.empty()) what += " on " + first.workload;
  if (!first.summary.variant.empty()) what += ": " + first.summary.variant;
  std::string html = page_head(what);
  const bool one_workload = std::ranges::all_of(summaries, [&](const Summary& s) {
    return s.nodes == first.summary.nodes && s.jobs == first.summary.jobs;
  });
  if (one_workload) {
    html += fmt::format("<p class=\"soft\">{} nodes; {} jobs ended", first.summary.nodes,
                        first.summary.jobs);
    if (first.summary.skipped > 0) {
      html += fmt::format(", {} lines of the input were skipped", first.summary.skipped);
    }
    html += "</p>\n";
  }
  const auto stopped =
      std::ranges::count_if(runs, [](const RunPage& r) { return r.summary.stopped; });
  if (stopped > 0) {
    html +=
        runs.size() == 1
            ? "<p><strong>The run was stopped before its end.</strong></p>\n"
            : fmt::format("<p><strong>{} of {} runs were stopped before their end.</strong></p>\n",
                          stopped, runs.size());
  }

  append_warning(html, groups);
  html += "<h2>Main figures</h2>\n";
  append_main_table(html, groups, columns_for(summaries));
  if (runs.size() > groups.size()) {
    html +=
        "<p class=\"soft\">Means over seeds, with 95 % confidence intervals (Student's t). The "
        "charts show the first seed.</p>\n";
  }

  std::vector<Curve> held, pending, adaptive, power_w;
  const auto holds_some = [](const TimeMeans& means) {
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (means.mean(i) > 0) return true;
    }
    return false;
  };
  for (const RunPage* run : charted) {
    if (held.size() == kMostCurves) break;
    const double percent = 100.0 / std::max<Nodes>(run->summary.nodes, 1);
    held.push_back({&run->held, percent, run->summary.policy});
    if (holds_some(run->adaptive)) {
      adaptive.push_back({&run->adaptive, percent, run->summary.policy});
    }
    pending.push_back({&run->pending, 1, run->summary.policy});
    if (holds_some(run->power_w)) power_w.push_back({&run->power_w, 1, run->summary.policy});
  }
  append_curves(html, "Utilization", held, 100, " %");
  append_curves(html, "Share held by adaptive jobs", adaptive, 100, " %");
  append_curves(html, "Waiting jobs", pending, 0, "");
  append_curves(html, "Power", power_w, 0, " W",
                charted.empty() ? std::span<const CorridorLine>() : charted.front()->corridor);
  for (const RunPage* run : charted) {
    append_reigns(html, *run, charted.size() == 1 ? "" : run->summary.policy);
  }
  append_resizes(html, charted);
  for (std::size_t i = 0; i < std::min(charted.size(), kMostGantts); ++i) {
    append_gantt(html, *charted[i], charted.size() == 1 ? "" : charted[i]->summary.policy);
  }
  append_all_figures(html, runs);
  append_identities(html, runs);
  append_links(html, runs);
  return html + std::string(kPageEnd);
}

}  // namespace ductile
