// Which job had which nodes when, over the whole run.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/allocations_csv.hpp"
#include "report/figures.hpp"
#include "report/jobs_csv.hpp"

namespace ductile {
namespace {

constexpr std::size_t kMostGanttBars = 6'000;  // what programs that show vector files bear well
constexpr std::size_t kGanttTimes = 200, kGanttNodes = 50;

struct GanttBar {
  std::uint64_t job;
  double from_s, until_s;
  double low, high;         // nodes; of one that is shared the part that its cores are
  std::uint32_t cores = 0;  // of a shared node
  bool is_guest = false;
};

// Kept light, so that a number can be read on them.
Colour colour_of_type(JobType type) {
  if (type == JobType::rigid) return {186, 186, 186};
  constexpr std::array<std::size_t, 5> kPlaces{4, 5, 0, 2, 1};
  return mixed(kColours[kPlaces[static_cast<std::size_t>(type)]], kWhite, 0.35);
}
Colour colour_of_job(std::uint64_t job) {
  constexpr std::size_t kTones = kColours.size() - 1;  // not black
  return mixed(kColours[(job * 7) % kTones], kWhite, 0.35);
}

std::string gantt_name(std::string_view policy) {
  std::string name = "gantt-";
  for (const char c : policy) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    name += is_plain ? c : '_';
  }
  constexpr std::size_t kMost = 100;
  if (name.size() > kMost) name.resize(kMost);
  return name;
}

/// Where on shared nodes jobs are drawn. Which cores are whose is not told: a job stays where it
/// was if that is free, else it has the lowest place that is.
class SharedNodes {
 public:
  explicit SharedNodes(std::uint64_t cores) : cores_(cores) {}

  /// For rows in the order in which they begin, at the same instant those of guests last.
  std::uint64_t place(const Allocation& row, std::uint32_t node, std::uint32_t cores) {
    std::vector<Share>& there = nodes_[node];
    std::vector<std::uint64_t> tries{0};
    std::erase_if(there, [&](const Share& share) {
      if (share.job == row.job) tries.insert(tries.begin(), share.at);
      return share.job == row.job || share.until <= row.from;
    });
    for (const Share& share : there) tries.push_back(share.at + share.cores);
    const auto is_free = [&](std::uint64_t at) {
      return at + cores <= cores_ && std::ranges::all_of(there, [&](const Share& share) {
               return at + cores <= share.at || share.at + share.cores <= at;
             });
    };
    const auto free = std::ranges::find_if(tries, is_free);
    const std::uint64_t at = free != tries.end() ? *free : 0;
    there.push_back({row.job, row.until, at, cores});
    return at;
  }

 private:
  struct Share {
    std::uint64_t job;
    Time until;
    std::uint64_t at, cores;
  };
  std::uint64_t cores_;
  std::unordered_map<std::uint32_t, std::vector<Share>> nodes_{};
};

std::vector<GanttBar> gantt_bars(const std::vector<Allocation>& rows) {
  std::vector<GanttBar> bars;
  std::vector<const Allocation*> shared;
  for (const Allocation& row : rows) {
    NodeSet whole = row.nodes;
    for (const Allocation::Shared& part : row.shared) whole = difference(whole, part.nodes);
    for (const Interval& part : whole.parts) {
      bars.push_back({row.job, to_seconds(row.from), to_seconds(row.until),
                      static_cast<double>(part.first), static_cast<double>(part.last) + 1});
    }
    if (!row.shared.empty()) shared.push_back(&row);
  }
  std::ranges::stable_sort(shared, {}, [](const Allocation* row) {
    return std::pair(row->from, !row->guest_nodes.empty());
  });
  const std::uint64_t cores = cores_per_node(rows);
  SharedNodes places(cores);
  for (const Allocation* row : shared) {
    for (const Allocation::Shared& part : row->shared) {
      for_each_node(part.nodes, [&](std::uint32_t node) {
        const auto at = static_cast<double>(places.place(*row, node, part.cores));
        const double of = cores > 0 ? static_cast<double>(cores) : at + part.cores;
        bars.push_back({.job = row->job,
                        .from_s = to_seconds(row->from),
                        .until_s = to_seconds(row->until),
                        .low = node + at / of,
                        .high = node + (at + part.cores) / of,
                        .cores = part.cores,
                        .is_guest = row->guest_nodes.contains(node)});
      });
    }
  }
  return bars;
}

struct GanttCell {
  double from_s, until_s, low, high, share;
};

// How much of each patch of time and nodes was held. Where it is not known which nodes, of all.
std::vector<GanttCell> gantt_cells(const std::vector<Allocation>& rows, double from_s,
                                   double until_s, double nodes) {
  const bool are_known =
      std::ranges::all_of(rows, [](const Allocation& row) { return !row.nodes.empty(); });
  const std::size_t node_bins =
      are_known ? std::min<std::size_t>(kGanttNodes, static_cast<std::size_t>(nodes)) : 1;
  const double wide = (until_s - from_s) / kGanttTimes;
  const double high = nodes / static_cast<double>(node_bins);
  std::vector<double> held(kGanttTimes * node_bins, 0.0);
  const auto add = [&](double from, double until, double low, double top) {
    const auto first = static_cast<std::size_t>(std::max(0.0, (from - from_s) / wide));
    const auto lowest = static_cast<std::size_t>(low / high);
    for (std::size_t t = first; t < kGanttTimes; ++t) {
      const double begin = from_s + wide * static_cast<double>(t);
      const double length = std::min(until, begin + wide) - std::max(from, begin);
      if (begin >= until) break;
      if (length <= 0) continue;
      for (std::size_t n = lowest; n < node_bins; ++n) {
        const double bottom = high * static_cast<double>(n);
        if (bottom >= top) break;
        held[t * node_bins + n] += length * (std::min(top, bottom + high) - std::max(low, bottom));
      }
    }
  };
  for (const Allocation& row : rows) {
    const double from = to_seconds(row.from), until = to_seconds(row.until);
    if (!are_known) {
      add(from, until, 0, static_cast<double>(row.size));
      continue;
    }
    for (const Interval& part : difference(row.nodes, row.guest_nodes).parts) {
      add(from, until, part.first, static_cast<double>(part.last) + 1);
    }
  }
  std::vector<GanttCell> cells;
  for (std::size_t n = 0; n < node_bins; ++n) {
    for (std::size_t t = 0; t < kGanttTimes; ++t) {
      // In steps of a twentieth, so that neighbours that are about the same are one rectangle.
      const double share =
          std::min(1.0, std::round(20 * held[t * node_bins + n] / (wide * high)) / 20);
      if (share <= 0) continue;
      const double from = from_s + wide * static_cast<double>(t);
      const double low = high * static_cast<double>(n);
      const bool goes_on = !cells.empty() && cells.back().low == low &&
                           cells.back().share == share &&
                           std::abs(cells.back().until_s - from) < wide / 2;
      if (goes_on) {
        cells.back().until_s = from + wide;
      } else {
        cells.push_back({from, from + wide, low, low + high, share});
      }
    }
  }
  return cells;
}

Figure gantt_figure(const PolicyFiles& policy, const Look& look) {
  const std::vector<Allocation> rows = read_allocations(policy.first / "allocations.csv");
  std::unordered_map<std::uint64_t, JobType> types;
  for (const JobsCsvRow& job : read_jobs_csv(policy.first / "jobs.csv").rows) {
    if (const auto type = from_word<JobType>(kJobTypeWords, job.type)) types[job.job] = *type;
  }
  const auto nodes = std::max(1.0, static_cast<double>(policy.summaries.front().nodes));
  double from_s = 0, until_s = 1;
  if (!rows.empty()) {
    from_s = to_seconds(std::ranges::min(rows, {}, &Allocation::from).from);
    until_s =
        std::max(from_s + 1e-6, to_seconds(std::ranges::max(rows, {}, &Allocation::until).until));
  }
  std::vector<GanttBar> bars = gantt_bars(rows);
  const bool are_known =
      std::ranges::all_of(rows, [](const Allocation& row) { return !row.nodes.empty(); });
  const bool is_occupancy = !are_known || bars.size() > kMostGanttBars;

  Figure figure;
  figure.name = gantt_name(policy.policy);
  std::vector<LegendEntry> entries;
  std::vector<GanttCell> cells;
  if (is_occupancy) {
    cells = gantt_cells(rows, from_s, until_s, nodes);
    figure.caption =
        are_known
            ? fmt::format(
                  "{}: which share of the nodes was held, in patches of time and nodes. A "
                  "bar for each job would be {} of them, too many for such a file.",
                  policy.policy, bars.size())
            : fmt::format("{}: which share of the nodes was held. Which ones was not followed.",
                          policy.policy);
    figure.csv = "from_s,until_s,first_node,last_node,share\n";
    for (const GanttCell& cell : cells) {
      append_number(figure.csv, cell.from_s);
      append_number(figure.csv += ',', cell.until_s);
      append_number(figure.csv += ',', std::floor(cell.low));
      append_number(figure.csv += ',', std::ceil(cell.high) - 1);
      append_number(figure.csv += ',', cell.share);
      figure.csv += '\n';
    }
    for (const double share : {0.25, 0.5, 1.0}) {
      entries.push_back(
          {fmt::format("{:.0f} %", 100 * share), {mixed(kWhite, kColours[0], 0.9 * share)}, true});
    }
  } else {
    std::set<JobType> seen;
    const bool is_shared =
        std::ranges::any_of(bars, [](const GanttBar& bar) { return bar.cores > 0; });
    figure.csv = "job,type,from_s,until_s,first_node,last_node";
    figure.csv += is_shared ? ",cores,guest\n" : "\n";
    for (const GanttBar& bar : bars) {
      const auto type = types.find(bar.job);
      if (type != types.end()) seen.insert(type->second);
      figure.csv += fmt::format("{},{},", bar.job, type == types.end() ? "" : word(type->second));
      append_number(figure.csv, bar.from_s);
      append_number(figure.csv += ',', bar.until_s);
      append_number(figure.csv += ',', std::floor(bar.low));
      append_number(figure.csv += ',', std::ceil(bar.high) - 1);
      if (is_shared) {
        const std::string its = bar.cores > 0 ? fmt::format("{}", bar.cores) : "";
        figure.csv += fmt::format(",{},{}", its, bar.is_guest ? "yes" : "");
      }
      figure.csv += '\n';
    }
    if (seen.size() > 1) {
      for (const JobType type : seen) {
        entries.push_back({std::string(word(type)), {colour_of_type(type)}, true});
      }
    }
    figure.caption = fmt::format(
        "{}: which job had which nodes when, of the first seed; {}. A bar with room has the number "
        "of its job.",
        policy.policy, seen.size() > 1 ? "colours are types of jobs" : "colours tell jobs apart");
    if (is_shared) {
      figure.caption +=
          " Of a node that is shared a job has the part that its cores are; guests are framed in "
          "black.";
    }
  }
  if (is_occupancy) bars.clear();
  const Axis x = time_axis(from_s, until_s, static_cast<std::size_t>(look.width / look.font / 5));
  Axis y = number_axis(nodes, 5);
  y.high = nodes;
  std::erase_if(y.ticks, [nodes](const Tick& tick) { return tick.at > nodes; });
  const double left = look.font * 1.6 + label_width(y, look) + 5;
  const double top =
      look.margin() + (entries.empty() ? 0 : legend(nullptr, look, left, 0, entries));
  const double high = std::clamp(nodes * 2.5, 12 * look.font, 0.6 * look.width);
  figure.height = top + high + 3.6 * look.font;
  figure.draw = [=, bars = std::move(bars), types = std::move(types),
                 cells = std::move(cells)](Canvas& canvas) {
    if (!entries.empty()) legend(&canvas, look, left, look.margin() / 2, entries);
    const Area plot{left, top, look.width - left - 1.2 * look.font, high};
    Panel panel(canvas, look, plot, x, y);
    panel.axes();
    panel.y_title("nodes");
    panel.x_title(with_unit("time", x));
    const auto area_of = [&](double from, double until, double low, double up) {
      const Spot a = panel.at(from, up), b = panel.at(until, low);
      return Area{a.x, a.y, b.x - a.x, b.y - a.y};
    };
    for (const GanttCell& cell : cells) {
      canvas.fill(area_of(cell.from_s, cell.until_s, cell.low, cell.high),
                  mixed(kWhite, kColours[0], 0.9 * cell.share));
    }
    for (const GanttBar& bar : bars) {
      const Area area = area_of(bar.from_s, bar.until_s, bar.low, bar.high);
      const auto type = types.find(bar.job);
      const bool has_type = !entries.empty() && type != types.end();
      const bool is_open = !entries.empty() && type == types.end();  // had not ended
      canvas.fill(area, is_open    ? Colour{228, 228, 228}
                        : has_type ? colour_of_type(type->second)
                                   : colour_of_job(bar.job));
      const double line = std::min({0.4, area.width / 6, area.height / 6});
      if (line > 0.05) {
        canvas.frame(area, {.colour = bar.is_guest ? Colour{} : kWhite, .width = line});
      }
      const std::string number = fmt::format("{}", bar.job);
      const double size = std::min(look.font, 0.8 * area.height);
      if (size < 0.6 * look.font || text_width(number, size) > 0.9 * area.width) continue;
      Lettering how = look.letters(Anchor::middle);
      how.size = size;
      canvas.text({area.left + area.width / 2, area.top + area.height / 2 + 0.35 * size}, number,
                  how);
    }
    // Over what covers them.
    canvas.line({plot.left, plot.top}, {plot.left, plot.bottom()}, {});
    canvas.line({plot.left, plot.bottom()}, {plot.right(), plot.bottom()}, {});
  };
  return figure;
}

}  // namespace

std::vector<Figure> gantt_figures(std::span<const PolicyFiles> policies, const Look& look) {
  std::vector<Figure> figures;
  std::set<std::string> names;
  for (const PolicyFiles& policy : policies) {
    if (policy.first.empty() || !std::filesystem::exists(policy.first / "allocations.csv"))
      continue;
    Figure figure = gantt_figure(policy, look);
    const std::string name = figure.name;
    for (int i = 2; !names.insert(figure.name).second; ++i)
      figure.name = fmt::format("{}-{}", name, i);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace ductile
