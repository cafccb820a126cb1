// What is in a workload, as one HTML page.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ductile {

/// A bar of a histogram: shares of the jobs and of the work, 0 .. 1.
struct HistogramBar {
  std::string label;
  double jobs = 0, work = 0;
};

struct PageHistogram {
  std::string title;
  std::vector<HistogramBar> bars;
};

/// A table: rows of cells below their titles.
struct PageTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Facts, a chart for each histogram, and tables. What has no bars or no rows is left out.
std::string workload_page(const std::string& title,
                          std::span<const std::pair<std::string, std::string>> facts,
                          std::span<const PageHistogram> histograms,
                          std::span<const PageTable> tables);

}  // namespace ductile
