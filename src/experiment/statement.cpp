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
// Neither more nor less is better: a difference is positive where there is more.
constexpr std::array<std::string_view, 10> kCounts{
    "expands", "shrinks",          "expanded_jobs", "backfilled",   "guests",
    "mates",   "evolving_granted", "expand_share",  "shrink_share", "backfill_share"};
// Of the events of a run, in percent.
constexpr std::array<std::string_view, 3> kShares{"expand_share", "shrink_share", "backfill_share"};

bool is_count(std::string_view figure) {
  return std::ranges::find(kCounts, figure) != kCounts.end();
}

std::optional<double> share_of(const Summary& summary, std::string_view share) {
  const auto all = static_cast<double>(summary.expands + summary.shrinks + summary.backfilled);
  if (all == 0) return std::nullopt;
  const std::uint64_t part = share == kShares[0]   ? summary.expands
                             : share == kShares[1] ? summary.shrinks
                                                   : summary.backfilled;
  return 100 * static_cast<double>(part) / all;
}

// What the paper says of the mean, if that is no number: all of the interval lies in it, or
// nothing.
struct Accepted {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

Finding::Verdict verdict(const Statement& statement, const Finding& finding) {
  using Verdict = Finding::Verdict;
  using Kind = Statement::Kind;
  constexpr double kNear = 0.1, kWide = 0.25, kAlike_percent = 5;
  const double mean = finding.improvement.mean, half = finding.improvement.half_width;
  const auto met_if = [](bool is_met) { return is_met ? Verdict::met : Verdict::not_met; };
  if (!std::isfinite(mean)) return Verdict::open;
  const bool has_interval = std::isfinite(half);
  const bool is_number = statement.percent || statement.kind == Kind::is;
  if (is_number) {
    const double said = statement.percent ? *statement.percent : statement.value;
    const double off = std::abs(mean - said), near = kNear * std::abs(said);
    if (!has_interval) return met_if(off <= near);
    if (off > std::max(near, half)) return Verdict::not_met;
    return half <= kWide * std::abs(said) ? Verdict::met : Verdict::open;
  }
  if (!has_interval) return Verdict::open;
  if (statement.is_of_value() || statement.direction == Statement::Direction::equal) {
    Accepted its{.low = -kAlike_percent, .high = kAlike_percent};
    if (statement.kind == Kind::at_most) its = {.high = statement.value};
    if (statement.kind == Kind::at_least) its = {.low = statement.value};
    if (mean - half >= its.low && mean + half <= its.high) return Verdict::met;
    const bool is_outside = mean + half < its.low || mean - half > its.high;
    return is_outside ? Verdict::not_met : Verdict::open;
  }
  const bool is_worse =
      statement.direction == Statement::Direction::worse || statement.kind == Kind::worst;
  const bool is_denied = statement.direction == Statement::Direction::not_better;
  const double as_said = is_worse ? -mean : mean;
  if (as_said > half) return met_if(!is_denied);
  const bool is_alike = std::abs(mean) + half <= kAlike_percent;
  return as_said <= -half || is_alike ? met_if(is_denied) : Verdict::open;
}

std::string_view word(const Statement& statement) {
  const bool is_better = statement.direction == Statement::Direction::better;
  if (statement.direction == Statement::Direction::equal) return "equal";
  if (statement.direction == Statement::Direction::not_better) {
    return is_count(statement.figure) ? "not more" : "not better";
  }
  if (is_count(statement.figure)) return is_better ? "more" : "fewer";
  return is_better ? "better" : "worse";
}

std::string_view word(Statement::Kind kind) {
  return kind == Statement::Kind::best      ? "best"
         : kind == Statement::Kind::worst   ? "worst"
         : kind == Statement::Kind::highest ? "highest"
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
  if (std::ranges::find(kShares, wanted) != kShares.end()) return share_of(summary, wanted);
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
  if (std::ranges::find(kShares, wanted) != kShares.end()) return true;
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
  return is_count(figure) || std::ranges::find(kMoreIsBetter, figure) != kMoreIsBetter.end();
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
    return fmt::format("{}{:.10g}", bound_word(statement.kind), statement.value);
  }
  if (statement.kind == Kind::spread || statement.kind == Kind::highest) {
    return fmt::format("{} {:g} %", word(statement.kind), *statement.percent);
  }
  if (statement.kind != Kind::pair) return std::string(word(statement.kind));
  if (statement.percent) return fmt::format("{:g} %", *statement.percent);
  std::string text(word(statement));
  if (!statement.against_figure.empty()) text += " than `" + statement.against_figure + "`";
  return text;
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
  const std::string& other =
      statement.against_figure.empty() ? statement.figure : statement.against_figure;
  Finding finding;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double mine = value_of(runs[i], statement.figure);
    const double theirs = value_of(against[i], other);
    finding.runs += mine / static_cast<double>(runs.size());
    finding.against += theirs / static_cast<double>(runs.size());
    const double better = more ? mine - theirs : theirs - mine;
    finding.by_seed.push_back(better == 0 ? 0 : 100 * better / theirs);
  }
  finding.improvement = interval_of(finding.by_seed, is_one(values_of(runs, statement.figure)) &&
                                                         is_one(values_of(against, other)));
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

Finding examine_highest(const Statement& statement, std::span<const std::span<const Summary>> runs,
                        std::span<const std::span<const Summary>> against) {
  Statement pair = statement;
  pair.kind = Statement::Kind::pair;
  Finding highest;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Finding its = examine(pair, runs[i], against[i]);
    its.best = i;
    const bool is_higher = !(its.improvement.mean <= highest.improvement.mean);
    if (std::isfinite(its.improvement.mean) && is_higher) highest = its;
  }
  return highest;
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
      const bool is_highest = s.kind == Statement::Kind::highest;
      const std::string& who = s.kind == Statement::Kind::best ? best : worst;
      if (!is_spread && !is_highest && std::isfinite(f.improvement.mean) && who != of) {
        measured += fmt::format("; {} is {}", word(s.kind), who);
      }
      if (is_spread || is_highest) of = best;
      against = is_spread    ? worst
                : is_highest ? runs_text(s.against_each.at(f.best))
                             : fmt::format("{} others", s.among.size() - 1);
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
      line["direction"] = word(s);
      if (!s.against_figure.empty()) line["against_figure"] = s.against_figure;
    } else if (s.is_of_value()) {
      line["runs"] = runs_text(s.runs);
      line["says"] = said_text(s);
    } else {
      line["says"] = word(s.kind);
      if (!s.runs.policy.empty()) line["runs"] = runs_text(s.runs);
      line["among"] = nlohmann::ordered_json::array();
      for (const RunsOf& one : s.among) line["among"].push_back(runs_text(one));
      line["best"] = runs_text(s.among.at(f.best));
      if (s.kind != Statement::Kind::highest) line["worst"] = runs_text(s.among.at(f.worst));
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
