#include "experiment/statement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table.hpp"

namespace ductile {
namespace {

constexpr std::array<std::string_view, 4> kMoreIsBetter{"utilization", "utilization_net",
                                                        "efficiency", "throughput_jobs_h"};

Finding::Verdict verdict(const Statement& statement, const Finding& finding) {
  using Verdict = Finding::Verdict;
  using Kind = Statement::Kind;
  constexpr double kNear = 0.1, kWide = 0.25, kAlike_percent = 5;
  const double mean = finding.improvement.mean, half = finding.improvement.half_width;
  const auto met_if = [](bool is_met) { return is_met ? Verdict::met : Verdict::not_met; };
  if (!std::isfinite(mean)) return Verdict::open;
  const bool is_number = statement.percent || statement.kind == Kind::is;
  if (is_number) {
    const double said = statement.percent ? *statement.percent : statement.value;
    const double off = std::abs(mean - said);
    if (off <= kNear * std::abs(said)) return Verdict::met;
    if (!std::isfinite(half) || off > half) return Verdict::not_met;
    return half <= kWide * std::abs(said) ? Verdict::met : Verdict::open;
  }
  if (!std::isfinite(half)) return Verdict::open;
  if (statement.kind == Kind::at_most) return met_if(mean + half <= statement.value);
  if (statement.kind == Kind::at_least) return met_if(mean - half >= statement.value);
  if (statement.direction == Statement::Direction::equal) {
    return met_if(std::abs(mean) + half <= kAlike_percent);
  }
  const bool is_better =
      statement.direction == Statement::Direction::better && statement.kind != Kind::worst;
  return met_if((is_better ? mean : -mean) > half);
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

// Of one figure by seed. Where no seed changes it, they are one run.
bool is_one(const std::vector<double>& values) {
  return std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end();
}

// As that of a run without an interval.
double value_of(const Summary& summary, std::string_view figure) {
  return figure_of(summary, figure).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::vector<double> values_of(std::span<const Summary> runs, std::string_view figure) {
  std::vector<double> values;
  for (const Summary& run : runs) values.push_back(value_of(run, figure));
  return values;
}

MeanInterval interval_of(const std::vector<double>& by_seed, bool are_one) {
  return mean_interval(are_one && !by_seed.empty() ? std::span(by_seed).first(1)
                                                   : std::span(by_seed));
}

// The figure itself.
Finding examine_value(const Statement& statement, std::span<const Summary> runs) {
  Finding finding;
  finding.by_seed = values_of(runs, statement.figure);
  finding.improvement = mean_interval(finding.by_seed);
  finding.runs = finding.improvement.mean;
  finding.verdict = verdict(statement, finding);
  return finding;
}

std::string_view bound_word(Statement::Kind kind) {
  return kind == Statement::Kind::at_most    ? "at most "
         : kind == Statement::Kind::at_least ? "at least "
                                             : "";
}

}  // namespace

std::optional<double> figure_of(const Summary& summary, std::string_view wanted) {
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

bool has_figure(std::string_view wanted) {
  const Summary names;
  bool is_there = false;
  visit_figures(names, [&](std::string_view name, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if (name != wanted) return;
    is_there = !std::is_same_v<Value, std::string>;
  });
  return is_there;
}

bool more_is_better(std::string_view figure) {
  return std::ranges::find(kMoreIsBetter, figure) != kMoreIsBetter.end();
}

std::string_view verdict_word(Finding::Verdict verdict) {
  using Verdict = Finding::Verdict;
  return verdict == Verdict::met ? "met" : verdict == Verdict::not_met ? "not met" : "open";
}

std::string runs_text(const RunsOf& runs) {
  return runs.variant.empty() ? runs.policy : runs.variant + ", " + runs.policy;
}

std::string said_text(const Statement& statement) {
  using Kind = Statement::Kind;
  if (statement.is_of_value()) {
    return fmt::format("{}{:g}", bound_word(statement.kind), statement.value);
  }
  if (statement.kind == Kind::spread) return fmt::format("spread {:g} %", *statement.percent);
  if (statement.kind != Kind::pair) return std::string(word(statement.kind));
  if (statement.percent) return fmt::format("{:g} %", *statement.percent);
  return std::string(word(statement.direction));
}

std::string measured_text(const Statement& statement, const Finding& finding) {
  const MeanInterval& its = finding.improvement;
  if (!std::isfinite(its.mean)) return "-";
  const bool has_width = std::isfinite(its.half_width);
  if (statement.is_of_value()) {
    return has_width ? fmt::format("{:.5g} ± {:.2g}", its.mean, its.half_width)
                     : fmt::format("{:.5g}", its.mean);
  }
  const double mean = std::abs(its.mean) < 0.05 ? 0 : its.mean;  // not "-0.0"
  return has_width ? fmt::format("{:.1f} ± {:.1f} %", mean, its.half_width)
                   : fmt::format("{:.1f} %", mean);
}

Finding examine(const Statement& statement, std::span<const Summary> runs,
                std::span<const Summary> against) {
  if (statement.is_of_value()) return examine_value(statement, runs);
  if (runs.size() != against.size()) throw std::logic_error("statement: other seeds");
  const bool more = more_is_better(statement.figure);
  Finding finding;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double mine = value_of(runs[i], statement.figure);
    const double theirs = value_of(against[i], statement.figure);
    finding.runs += mine / static_cast<double>(runs.size());
    finding.against += theirs / static_cast<double>(runs.size());
    const double better = more ? mine - theirs : theirs - mine;
    finding.by_seed.push_back(better == 0 ? 0 : 100 * better / theirs);
  }
  finding.improvement =
      interval_of(finding.by_seed, is_one(values_of(runs, statement.figure)) &&
                                       is_one(values_of(against, statement.figure)));
  finding.verdict = verdict(statement, finding);
  return finding;
}

Finding examine(const Statement& statement, std::span<const std::span<const Summary>> among) {
  const bool more = more_is_better(statement.figure);
  const std::size_t seeds = among.front().size();
  std::vector<std::vector<double>> values;  // by who, and seed
  std::vector<double> means;
  for (const std::span<const Summary> runs : among) {
    if (runs.size() != seeds) throw std::logic_error("statement: other seeds");
    std::vector<double>& its = values.emplace_back();
    double sum = 0;
    for (const Summary& run : runs) sum += its.emplace_back(value_of(run, statement.figure));
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
  finding.improvement = interval_of(finding.by_seed, std::ranges::all_of(values, is_one));
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
    std::string measured = measured_text(s, f);
    if (!s.is_of_value() && std::isfinite(f.improvement.mean)) {
      measured += fmt::format(" ({:.5g} : {:.5g})", f.runs, f.against);
    }
    std::string of = runs_text(s.runs), against = runs_text(s.against);
    if (!s.among.empty()) {
      const std::string best = runs_text(s.among.at(f.best)),
                        worst = runs_text(s.among.at(f.worst));
      const bool is_spread = s.kind == Statement::Kind::spread;
      const std::string& who = s.kind == Statement::Kind::best ? best : worst;
      if (!is_spread && std::isfinite(f.improvement.mean) && who != of) {
        measured += fmt::format("; {} is {}", word(s.kind), who);
      }
      if (is_spread) of = best;
      against = is_spread ? worst : fmt::format("{} others", s.among.size() - 1);
    }
    rows.push_back({s.id, s.figure, of, against, said_text(s), measured,
                    std::string(verdict_word(f.verdict))});
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
    if (!s.side.empty()) line["otherwise"] = s.side;
    if (s.kind == Statement::Kind::pair) {
      line["runs"] = runs_text(s.runs);
      line["against"] = runs_text(s.against);
      line["direction"] = word(s.direction);
    } else if (s.is_of_value()) {
      line["runs"] = runs_text(s.runs);
      line["says"] = said_text(s);
    } else {
      line["says"] = word(s.kind);
      if (s.kind != Statement::Kind::spread) line["runs"] = runs_text(s.runs);
      line["among"] = nlohmann::ordered_json::array();
      for (const RunsOf& one : s.among) line["among"].push_back(runs_text(one));
      line["best"] = runs_text(s.among.at(f.best));
      line["worst"] = runs_text(s.among.at(f.worst));
    }
    if (s.percent) line["percent"] = *s.percent;
    const std::string unit = s.is_of_value() ? "" : "_percent";
    line[(s.is_of_value() ? "value" : "improvement") + unit] = f.improvement.mean;
    line["half_width" + unit] = f.improvement.half_width;  // null with one seed
    line["seeds"] = f.by_seed.size();
    line["verdict"] = verdict_word(f.verdict);
    text += line.dump() + '\n';
  }
  return text;
}

}  // namespace ductile
