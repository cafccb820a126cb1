// The report: one HTML page that needs nothing but itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "metrics/summary.hpp"
#include "report/choices.hpp"
#include "report/gantt.hpp"
#include "report/resizes.hpp"
#include "report/series.hpp"
#include "simulation/simulation.hpp"

namespace ductile {

/// What a page shows of a run.
struct RunPage {
  std::string folder;    // where its files are, as seen from the page; empty: beside it
  std::string workload;  // its name
  Summary summary;
  TimeMeans held, pending, adaptive, power_w;
  std::vector<CorridorLine> corridor{};  // of power, by time
  ResizeCounter::ByReason resizes;       // empty where not known
  std::vector<ChoiceMade> choices;       // of a portfolio
  Gantt gantt;
};

/// A table of the main figures over seeds, curves of utilization, of the share that adaptive jobs
/// hold, of waiting jobs and of power with its corridor, who of a portfolio ruled when and why,
/// resizes by reason, Gantt charts of the runs that have one (of the first few, for the first
/// seed), and all figures. The same runs give the same bytes: nothing on it depends on the machine
/// it was made on.
std::string html_page(std::span<const RunPage> runs);

}  // namespace ductile
