#include "report/workload_page.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "report/html.hpp"

namespace ductile {
namespace {

constexpr double kHeight = 200;  // of a plot
constexpr double kTop = 8;
constexpr double kLetter = 6.5;  // width of one in a label, about

void append_bar(std::string& html, double x, double width, double height, std::string_view colour,
                std::string_view label) {
  fmt::format_to(
      std::back_inserter(html),
      "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"var({})\">"
      "<title>{}</title></rect>\n",
      fixed(x), fixed(kTop + kHeight - height), fixed(width), fixed(height), colour,
      escaped(label));
}

void append_histogram(std::string& html, const PageHistogram& histogram) {
  double most = 0;
  for (const HistogramBar& bar : histogram.bars) most = std::max({most, bar.jobs, bar.work});
  if (most == 0) return;
  const double top = std::ceil(most * 10) / 10;  // the next tenth
  fmt::format_to(std::back_inserter(html), "<h2>{}</h2>\n<figure>\n", escaped(histogram.title));
  open_svg(html, kHeight, histogram.title);
  for (const double share : {0.0, top / 2, top}) {
    y_label(html, kTop + kHeight * (1 - share / top), fixed(100 * share) + " %");
  }
  const double room = kWidth / static_cast<double>(histogram.bars.size());
  std::size_t longest = 0;
  for (const HistogramBar& bar : histogram.bars) longest = std::max(longest, bar.label.size());
  // Labels that would run into each other are written below every second bar, or third; a bar says
  // what it is when it is pointed at.
  const auto each = static_cast<std::size_t>(
      std::ceil(std::max(kLetter * static_cast<double>(longest) / room, 1.0)));
  for (std::size_t i = 0; i < histogram.bars.size(); ++i) {
    const HistogramBar& bar = histogram.bars[i];
    const double x = kLeft + room * static_cast<double>(i), width = room * 0.4;
    const auto say = [&](const char* what, double share) {
      return fmt::format("{}: {:.1f} % of the {}", bar.label, 100 * share, what);
    };
    append_bar(html, x + room * 0.1, width, kHeight * bar.jobs / top, "--c0",
               say("jobs", bar.jobs));
    append_bar(html, x + room * 0.5, width, kHeight * bar.work / top, "--c1",
               say("work", bar.work));
    if (i % each != 0) continue;
    fmt::format_to(std::back_inserter(html),
                   "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                   fixed(x + room / 2), fixed(kTop + kHeight + 18), escaped(bar.label));
  }
  html +=
      "</svg>\n<figcaption><span class=\"key\"><i style=\"background:var(--c0)\"></i>share of the "
      "jobs</span><span class=\"key\"><i style=\"background:var(--c1)\"></i>share of the work "
      "(nodes times run time)</span></figcaption>\n</figure>\n";
}

void append_table(std::string& html, const PageTable& table) {
  if (table.rows.empty()) return;
  const auto row = [&](const std::vector<std::string>& cells, const char* tag) {
    html += "<tr>";
    for (const std::string& cell : cells) {
      fmt::format_to(std::back_inserter(html), "<{0}>{1}</{0}>", tag, escaped(cell));
    }
    html += "</tr>\n";
  };
  html += "<div class=\"scroll\"><table>\n";
  if (!table.columns.empty()) row(table.columns, "th");
  for (const auto& cells : table.rows) row(cells, "td");
  html += "</table></div><p></p>\n";
}

}  // namespace

std::string workload_page(const std::string& title,
                          std::span<const std::pair<std::string, std::string>> facts,
                          std::span<const PageHistogram> histograms,
                          std::span<const PageTable> tables) {
  std::string html = page_head(title);
  PageTable all;
  for (const auto& [name, value] : facts) all.rows.push_back({name, value});
  append_table(html, all);
  for (const PageHistogram& histogram : histograms) append_histogram(html, histogram);
  for (const PageTable& table : tables) append_table(html, table);
  return html + std::string(kPageEnd);
}

}  // namespace ductile
