#include "experiment/statement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table.hpp"

namespace ductile {
namespace {

// Of all others less is better.
constexpr std::array<std::string_view, 4> kMoreIsBetter{"utilization", "utilization_net",
                                                        "efficiency", "throughput_jobs_h"};

std::optional<double> figure(const Summary& summary, std::string_view wanted) {
  std::optional<double> result;
  visit_figures(summary, [&](std::string_view name, const auto& value) {
    if (name != wanted) return;
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) {
      result = static_cast<double>(value);
    } else if constexpr (!std::is_same_v<Value, std::string>) {
      if (value) result = static_cast<double>(*value);
    }
  });
  return result;
}

Finding::Verdict verdict(const Statement& statement, const Finding& finding) {
  using Verdict = Finding::Verdict;
  using Direction = Statement::Direction;
  constexpr double kPoints = 10, kAlike = 5, kShare = 0.8;
  constexpr std::size_t kSeeds = 10;
  const double mean = finding.improvement.mean, half = finding.improvement.half_width;
  if (!std::isfinite(mean)) return Verdict::open;
  const bool enough = finding.by_seed.size() >= kSeeds;
  if (statement.percent) {
    if (std::abs(mean - *statement.percent) > kPoints) return Verdict::not_met;
    const bool wide = std::isfinite(half) && half >= std::abs(mean);
    if (mean * *statement.percent <= 0 || wide) return Verdict::near;
    return enough ? Verdict::met : Verdict::looks_right;
  }
  if (statement.direction == Direction::equal) {
    if (std::abs(mean) > kAlike) return Verdict::not_met;
    return enough ? Verdict::met : Verdict::looks_right;
  }
  const bool is_better =
      statement.direction == Direction::better && statement.kind != Statement::Kind::worst;
  const double sign = is_better ? 1 : -1;
  const auto agree = static_cast<double>(
      std::ranges::count_if(finding.by_seed, [&](double value) { return value * sign > 0; }));
  const double share = agree / static_cast<double>(finding.by_seed.size());
  if (share < kShare) return Verdict::not_met;
  return std::isfinite(half) && half < std::abs(mean) ? Verdict::met : Verdict::looks_right;
}

std::string_view word(Finding::Verdict verdict) {
  switch (verdict) {
    case Finding::Verdict::met:
      return "met";
    case Finding::Verdict::looks_right:
      return "looks right";
    case Finding::Verdict::near:
      return "near";
    case Finding::Verdict::not_met:
      return "not met";
    case Finding::Verdict::open:
      return "open";
  }
  return "";
}

std::string_view word(Statement::Direction direction) {
  return direction == Statement::Direction::better  ? "better"
         : direction == Statement::Direction::worse ? "worse"
                                                    : "equal";
}

std::string_view word(Statement::Kind kind) {
  return kind == Statement::Kind::best    ? "best"
         : kind == Statement::Kind::worst ? "worst"
                                          : "spread";
}

std::string name(const RunsOf& runs) {
  return runs.variant.empty() ? runs.policy : runs.variant + ", " + runs.policy;
}

}  // namespace

bool has_figure(std::string_view name) { return figure(Summary{}, name).has_value(); }

Finding examine(const Statement& statement, std::span<const Summary> runs,
                std::span<const Summary> against) {
  if (runs.size() != against.size()) throw std::logic_error("statement: other seeds");
  const bool more = std::ranges::find(kMoreIsBetter, statement.figure) != kMoreIsBetter.end();
  Finding finding;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double mine = figure(runs[i], statement.figure).value();
    const double theirs = figure(against[i], statement.figure).value();
    finding.runs += mine / static_cast<double>(runs.size());
    finding.against += theirs / static_cast<double>(runs.size());
    finding.by_seed.push_back(100 * (more ? mine - theirs : theirs - mine) / theirs);
  }
  finding.improvement = mean_interval(finding.by_seed);
  finding.verdict = verdict(statement, finding);
  return finding;
}

Finding examine(const Statement& statement, std::span<const std::span<const Summary>> among) {
  const bool more = std::ranges::find(kMoreIsBetter, statement.figure) != kMoreIsBetter.end();
  const std::size_t seeds = among.front().size();
  std::vector<std::vector<double>> values;  // by who, and seed
  std::vector<double> means;
  for (const std::span<const Summary> runs : among) {
    if (runs.size() != seeds) throw std::logic_error("statement: other seeds");
    std::vector<double>& its = values.emplace_back();
    double sum = 0;
    for (const Summary& run : runs) sum += its.emplace_back(figure(run, statement.figure).value());
    means.push_back(sum / static_cast<double>(seeds));
  }
  const auto is_better = [&](double a, double b) { return more ? a > b : a < b; };
  Finding finding;
  for (std::size_t i = 1; i < means.size(); ++i) {
    if (is_better(means[i], means[finding.best])) finding.best = i;
    if (is_better(means[finding.worst], means[i])) finding.worst = i;
  }
  if (statement.kind == Statement::Kind::spread) {
    finding.runs = means[finding.best];
    finding.against = means[finding.worst];
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      const double best = values[finding.best][seed], worst = values[finding.worst][seed];
      finding.by_seed.push_back(100 * (more ? best - worst : worst - best) / best);
    }
  } else {
    const auto said = static_cast<std::size_t>(std::ranges::find(statement.among, statement.runs) -
                                               statement.among.begin());
    const bool of_best = statement.kind == Statement::Kind::best;
    finding.runs = means.at(said);
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      std::optional<double> other;  // the best or the worst of the others
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i == said) continue;
        const double its = values[i][seed];
        if (!other || is_better(its, *other) == of_best) other = its;
      }
      const double mine = values[said][seed];
      finding.against += *other / static_cast<double>(seeds);
      finding.by_seed.push_back(100 * (more ? mine - *other : *other - mine) / *other);
    }
  }
  finding.improvement = mean_interval(finding.by_seed);
  finding.verdict = verdict(statement, finding);
  return finding;
}

std::string findings_table(std::span<const Statement> statements,
                           std::span<const Finding> findings) {
  std::vector<std::vector<std::string>> rows{
      {"statement", "figure", "of", "against", "paper", "measured improvement", "verdict"}};
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& s = statements[i];
    const Finding& f = findings[i];
    std::string measured = "-";
    if (std::isfinite(f.improvement.mean)) {
      measured = fmt::format("{:.1f}", f.improvement.mean);
      if (std::isfinite(f.improvement.half_width)) {
        measured += fmt::format(" ± {:.1f}", f.improvement.half_width);
      }
      measured += fmt::format(" % ({:.5g} : {:.5g})", f.runs, f.against);
    }
    if (s.kind != Statement::Kind::pair) {
      const std::string best = name(s.among.at(f.best)), worst = name(s.among.at(f.worst));
      const bool is_spread = s.kind == Statement::Kind::spread;
      const std::string& who = s.kind == Statement::Kind::best ? best : worst;
      if (!is_spread && std::isfinite(f.improvement.mean) && who != name(s.runs)) {
        measured += fmt::format("; {} is {}", word(s.kind), who);
      }
      rows.push_back(
          {s.id, s.figure, is_spread ? best : name(s.runs),
           is_spread ? worst : fmt::format("{} others", s.among.size() - 1),
           is_spread ? fmt::format("spread {:g} %", *s.percent) : std::string(word(s.kind)),
           measured, std::string(word(f.verdict))});
      continue;
    }
    rows.push_back({s.id, s.figure, name(s.runs), name(s.against),
                    s.percent ? fmt::format("{:g} %", *s.percent) : std::string(word(s.direction)),
                    measured, std::string(word(f.verdict))});
  }
  return aligned_text(rows, rows.front().size());
}

std::string findings_json(std::span<const Statement> statements,
                          std::span<const Finding> findings) {
  std::string text;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& s = statements[i];
    const Finding& f = findings[i];
    nlohmann::ordered_json line;
    line["statement"] = s.id;
    line["figure"] = s.figure;
    if (s.kind == Statement::Kind::pair) {
      line["runs"] = name(s.runs);
      line["against"] = name(s.against);
      line["direction"] = word(s.direction);
    } else {
      line["says"] = word(s.kind);
      if (s.kind != Statement::Kind::spread) line["runs"] = name(s.runs);
      line["among"] = nlohmann::ordered_json::array();
      for (const RunsOf& one : s.among) line["among"].push_back(name(one));
      line["best"] = name(s.among.at(f.best));
      line["worst"] = name(s.among.at(f.worst));
    }
    if (s.percent) line["percent"] = *s.percent;
    line["improvement_percent"] = f.improvement.mean;
    line["half_width_percent"] = f.improvement.half_width;  // null with one seed
    line["seeds"] = f.by_seed.size();
    line["verdict"] = word(f.verdict);
    text += line.dump() + '\n';
  }
  return text;
}

}  // namespace ductile
