#include "simulation/power_figures.hpp"

#include <algorithm>
#include <cmath>

namespace ductile {

TrueDraw::TrueDraw(const Workload& workload) : workload_(workload) {
  are_known_ = std::ranges::none_of(workload.adaptive, [](const AdaptiveJob& its) {
    return its.watts > 0 && its.watts != its.believed.watts_per_node;
  });
}

std::int64_t TrueDraw::milliwatts(const State& state) const {
  std::int64_t sum = state.power_mw();
  for (const Unanswered& open : state.unanswered) {
    if (open.decision.kind != Decision::Kind::resize) continue;
    const Job& job = state.jobs[open.decision.job];
    if (open.before == job.holding) continue;
    sum -= drawn_mw(state, state.cells, job, job.holding) -
           drawn_mw(state, state.cells, job, open.before);
  }
  if (are_known_) return sum;
  for (const JobId id : state.running) {
    if (watts_of(state, id) == 0) continue;
    const Job& job = state.jobs[id];
    sum += of_job_mw(state, id) - drawn_mw(state, state.cells, job, state.settled(job));
  }
  return sum;
}

std::int64_t TrueDraw::of_job_mw(const State& state, JobId id) const {
  const Job& job = state.jobs[id];
  const Holding& its = state.settled(job);
  const double watts = watts_of(state, id);
  if (watts == 0) return drawn_mw(state, state.cells, job, its);
  Job truly = job;
  truly.power_mw = ductile::milliwatts(watts);
  return drawn_mw(state, state.cells, truly, its);
}

double TrueDraw::watts_of(const State& state, JobId id) const {
  const std::uint32_t row = workload_.jobs[index(id)].adaptive;
  if (are_known_ || row == WorkloadJob::kRigid || state.jobs[id].is_power_measured) return 0;
  return workload_.adaptive[row].watts;
}

void JobEnergies::note(Time now, const State& state) {
  for (const JobId id : state.running) {
    Row& row = rows_[index(id)];
    pass(row, now);
    row.drawn_mw = draw_.of_job_mw(state, id);
  }
}

void JobEnergies::leave(Time now, JobId id) {
  Row& row = rows_[index(id)];
  pass(row, now);
  row.drawn_mw = 0;
}

void JobEnergies::pass(Row& row, Time until) {
  row.energy_nj += Wide{row.drawn_mw} * (until - row.since).count();
  row.since = until;
}

PowerFigures::PowerFigures(const Workload& workload, const PowerCorridor& corridor)
    : draw_(workload), corridor_(corridor) {
  if (!workload.jobs.empty()) since_ = workload.jobs.front().submit;
  const auto& lines = corridor_.lines;
  while (line_ < lines.size() && lines[line_].at <= since_) ++line_;
}

void PowerFigures::note(const Core& core) {
  drawn_mw_ = draw_.milliwatts(core.state());
  cap_mw_ = core.state().power_cap_mw();
  is_held_ = core.state().held > 0;
  budget_ = core.state().rules.budget;
}

void PowerFigures::pass(Time until) {
  const auto& lines = corridor_.lines;
  while (since_ < until) {
    const CorridorLine* const line = line_ > 0 ? &lines[line_ - 1] : nullptr;
    const Time next = line_ < lines.size() ? std::min(until, lines[line_].at) : until;
    add(next - since_, line);
    since_ = next;
    if (line_ < lines.size() && lines[line_].at == next) {
      ++line_;
      end_excursion(sums_);
    }
    if (is_held_) until_idle_ = sums_;
  }
}

void PowerFigures::add(Duration length, const CorridorLine* line) {
  sums_.length += length;
  sums_.energy_nj += Wide{drawn_mw_} * length.count();
  sums_.most_mw = std::max(sums_.most_mw, drawn_mw_);
  sums_.cap_mw = std::min(sums_.cap_mw, cap_mw_);
  if (drawn_mw_ > cap_mw_) sums_.above += length;
  if (line == nullptr) return;
  const std::int64_t low_mw = std::llround(line->low_w * 1000);
  std::int64_t beyond_mw = std::max<std::int64_t>(low_mw - drawn_mw_, 0);
  if (std::isfinite(line->high_w)) {
    beyond_mw = std::max<std::int64_t>(beyond_mw, drawn_mw_ - std::llround(line->high_w * 1000));
  }
  if (beyond_mw == 0) {
    end_excursion(sums_);
    return;
  }
  sums_.is_outside = true;
  sums_.excursion += length;
  sums_.outside += length;
  sums_.outside_nj += Wide{beyond_mw} * length.count();
}

void PowerFigures::end_excursion(Sums& sums) const {
  if (!sums.is_outside) return;
  ++sums.excursions;
  sums.violations += sums.excursion > corridor_.grace ? 1 : 0;
  sums.excursion = {};
  sums.is_outside = false;
}

void PowerFigures::write(Summary& summary, bool is_stopped) const {
  Sums its = is_stopped ? sums_ : until_idle_;
  const bool is_capped = its.cap_mw != State::kNoBudget;
  if (!corridor_.lines.empty()) {
    end_excursion(its);
    summary.corridor_outside_s = to_seconds(its.outside);
    summary.corridor_outside_ws = static_cast<double>(its.outside_nj) / 1e9;
    summary.corridor_excursions = its.excursions;
    summary.corridor_violations = its.violations;
  }
  if (its.most_mw == 0 && !is_capped) return;
  if (budget_ == Budget::bandwidth) {
    constexpr double kMilliwatts = 1e9;  // in all of the bandwidth
    const auto length_us = static_cast<double>(std::max(its.length, kTick).count());
    summary.links_used_mean = static_cast<double>(its.energy_nj) / length_us / kMilliwatts;
    summary.links_used_max = static_cast<double>(its.most_mw) / kMilliwatts;
    return;
  }
  summary.energy_j = static_cast<double>(its.energy_nj) / 1e9;
  summary.max_power_w = static_cast<double>(its.most_mw) / 1e3;
  if (!is_capped) return;
  summary.power_cap_w = static_cast<double>(its.cap_mw) / 1e3;
  summary.above_power_cap_s = to_seconds(its.above);
}

}  // namespace ductile
