#include "experiment/reproduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

constexpr std::array<std::string_view, 13> kCsvFigures{
    "makespan_s",        "utilization",      "utilization_net",       "efficiency", "mean_wait_s",
    "mean_turnaround_s", "mean_slowdown",    "mean_slowdown_actual",  "expands",    "shrinks",
    "backfilled",        "evolving_granted", "reconfiguration_node_s"};

void append_row(std::string& text, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) {
    text += "| ";
    for (const char each : cell) {
      if (each == '|') text += '\\';
      text += each == '\n' ? ' ' : each;
    }
    text += ' ';
  }
  text += "|\n";
}

void append_head(std::string& text, const std::vector<std::string>& cells) {
  append_row(text, cells);
  for (std::size_t i = 0; i < cells.size(); ++i) text += "|---";
  text += "|\n";
}

// A policy as code, with the variant in front.
std::string runs_code(const RunsOf& runs) {
  if (runs.policy.empty()) return "";
  return (runs.variant.empty() ? "" : runs.variant + ", ") + "`" + runs.policy + "`";
}

// A statement and what came out, under all sides of the choices.
struct StatementLine {
  const Reproduced* of = nullptr;
  std::size_t number = 0;             // of the statement
  std::vector<std::size_t> others{};  // the same on the other sides of choices

  const Statement& statement() const { return of->experiment.statements[number]; }
  const Finding& finding() const { return of->findings[number]; }
};

std::vector<StatementLine> lines_of(const Target& target, const std::vector<Reproduced>& all) {
  std::vector<StatementLine> lines;
  for (const std::string& id : target.statements) {
    for (const Reproduced& its : all) {
      const std::vector<Statement>& statements = its.experiment.statements;
      for (std::size_t i = 0; i < statements.size(); ++i) {
        if (statements[i].id != id || !statements[i].side.empty()) continue;
        StatementLine& line = lines.emplace_back(StatementLine{&its, i});
        for (std::size_t k = i + 1; k < statements.size(); ++k) {
          if (!statements[k].side.empty() && statements[k].base == i) line.others.push_back(k);
        }
      }
    }
  }
  return lines;
}

std::vector<Finding> findings_of(const std::vector<StatementLine>& lines) {
  std::vector<Finding> findings;
  for (const StatementLine& line : lines) findings.push_back(line.finding());
  return findings;
}

std::string against_text(const StatementLine& line) {
  const Statement& s = line.statement();
  if (s.among.empty()) return runs_code(s.against);
  if (s.kind == Statement::Kind::spread) {
    return fmt::format("{} to {}", runs_code(s.among.at(line.finding().best)),
                       runs_code(s.among.at(line.finding().worst)));
  }
  return fmt::format("{} others", s.among.size() - 1);
}

// Who is best or worst where the paper names another one.
std::string instead_text(const StatementLine& line) {
  const Statement& s = line.statement();
  const Finding& f = line.finding();
  if (s.among.empty() || s.kind == Statement::Kind::spread) return "";
  if (!std::isfinite(f.improvement.mean)) return "";
  const bool is_best = s.kind == Statement::Kind::best;
  const RunsOf& who = s.among.at(is_best ? f.best : f.worst);
  if (who == s.runs) return "";
  return fmt::format("; {} is `{}`", is_best ? "best" : "worst", who.policy);
}

// The lowest and the highest value over the sides of all choices.
std::string range_text(const StatementLine& line) {
  if (line.others.empty()) return "";
  const auto value = [&](std::size_t i) { return line.of->findings[i].improvement.mean; };
  std::size_t low = line.number, high = line.number;
  for (const std::size_t each : line.others) {
    if (!std::isfinite(value(each))) continue;
    if (!(value(each) >= value(low))) low = each;
    if (!(value(each) <= value(high))) high = each;
  }
  const auto named = [&](std::size_t i) {
    const Statement& s = line.of->experiment.statements[i];
    const std::string_view unit = s.is_of_value() ? "" : " %";
    const std::string number =
        s.is_of_value() ? fmt::format("{:.4g}", value(i)) : fmt::format("{:.1f}", value(i));
    return fmt::format("{}{} ({})", number, unit, s.side.empty() ? "as chosen" : s.side);
  };
  return fmt::format("{} to {}", named(low), named(high));
}

std::string here_text(const StatementLine& line) {
  return measured_text(line.statement(), line.finding()) + instead_text(line);
}

// Seeds of the runs, of which all have the same.
std::string seeds_text(const Reproduced& its) {
  std::vector<std::string> texts;
  for (const auto& [_, runs] : its.runs) {
    if (runs.empty()) continue;
    const std::string text = runs.size() == 1
                                 ? fmt::format("{}", runs.front().seed)
                                 : fmt::format("{} to {}", runs.front().seed, runs.back().seed);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return listed(texts);
}

void append_inputs(std::string& text, const PaperTargets& paper, const std::vector<Reproduced>& all,
                   const PageInputs& inputs) {
  text += fmt::format("## What was run\n\nThis page is what `{}` writes{}.\n\n", inputs.command,
                      inputs.is_full ? "" : ", with fewer seeds than `--full` has");
  append_head(text, {"experiment", "what it is", "runs", "seeds"});
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t runs = 0;
    for (const auto& [_, its] : all[i].runs) runs += its.size();
    append_row(text, {fmt::format("`experiments/{}`", paper.experiments[i].file),
                      all[i].experiment.title, fmt::format("{}", runs), seeds_text(all[i])});
  }
  text += '\n';
  for (const PageInputs::Log& log : inputs.logs) {
    text += fmt::format("* `{}`: {}\n", log.file, log.what);
  }
  if (!inputs.logs.empty()) text += '\n';
  for (const Reproduced& its : all) {
    if (!its.experiment.note.empty()) {
      text += fmt::format("{}: {}\n\n", its.experiment.title, its.experiment.note);
    }
  }
  if (!paper.setting.empty()) text += "**The setting.** " + paper.setting + "\n\n";
}

void append_summary(std::string& text, const PaperTargets& paper,
                    const std::vector<Reproduced>& all, bool ours) {
  append_head(text, {ours ? "comparison" : "target", ours ? "what" : "the paper says",
                     "statements met", "verdict"});
  for (const Target& target : paper.targets) {
    if (target.is_ours != ours) continue;
    const std::vector<Finding> findings = findings_of(lines_of(target, all));
    const auto met = std::ranges::count(findings, Finding::Verdict::met, &Finding::verdict);
    std::string verdict(verdict_of(target, findings));
    if (!target.not_run.empty()) verdict += ": " + target.not_run;
    if (!target.not_comparable.empty()) verdict += ": " + target.not_comparable;
    append_row(text,
               {target.id, target.says + (target.note.empty() ? "" : " (" + target.note + ")"),
                findings.empty() ? "" : fmt::format("{} of {}", met, findings.size()), verdict});
  }
  text += '\n';
}

void append_statements(std::string& text, const PaperTargets& paper,
                       const std::vector<Reproduced>& all, bool ours) {
  append_head(text, {"target", "figure", "of", "against", "paper", "here", "verdict",
                     "lowest and highest under the other sides"});
  for (const Target& target : paper.targets) {
    if (target.is_ours != ours) continue;
    for (const StatementLine& line : lines_of(target, all)) {
      const Statement& s = line.statement();
      append_row(text, {target.id, fmt::format("`{}`", s.figure), runs_code(s.runs),
                        against_text(line), said_text(s), here_text(line),
                        std::string(verdict_word(line.finding().verdict)), range_text(line)});
    }
  }
  text += '\n';
}

// What is said of a statement on one side.
std::string side_text(const Reproduced& its, std::size_t number) {
  const Finding& finding = its.findings[number];
  return measured_text(its.experiment.statements[number], finding) + ", " +
         std::string(verdict_word(finding.verdict));
}

// The rows of a target: one for each statement; of many, how many are met.
void append_sides_of(std::string& text, const Target& target, const Reproduced& its,
                     const std::vector<Reproduced>& all) {
  constexpr std::size_t kMany = 6;
  std::vector<StatementLine> lines = lines_of(target, all);
  std::erase_if(lines,
                [&](const StatementLine& line) { return line.of != &its || line.others.empty(); });
  const auto on = [&](const StatementLine& line, const Otherwise& side) {
    const auto at = std::ranges::find(line.others, side.name, [&](std::size_t number) {
      return its.experiment.statements[number].side;
    });
    return at == line.others.end() ? std::optional<std::size_t>() : *at;
  };
  if (lines.size() > kMany) {
    std::vector<std::string> cells{target.id, "", fmt::format("{} statements", lines.size()), ""};
    const auto add = [&](const auto& number_of) {
      std::size_t count = 0, met = 0;
      for (const StatementLine& line : lines) {
        const std::optional<std::size_t> number = number_of(line);
        if (!number) continue;
        ++count;
        met += its.findings[*number].verdict == Finding::Verdict::met ? 1 : 0;
      }
      cells.push_back(count == 0 ? "" : fmt::format("{} of {} met", met, count));
    };
    add([](const StatementLine& line) { return std::optional(line.number); });
    for (const Otherwise& side : its.experiment.otherwise) {
      add([&](const StatementLine& line) { return on(line, side); });
    }
    append_row(text, cells);
    return;
  }
  for (const StatementLine& line : lines) {
    const Statement& s = line.statement();
    const std::string against = against_text(line);
    std::vector<std::string> cells{target.id, fmt::format("`{}`", s.figure),
                                   runs_code(s.runs) + (against.empty() ? "" : " : " + against),
                                   said_text(s), side_text(its, line.number)};
    for (const Otherwise& side : its.experiment.otherwise) {
      const std::optional<std::size_t> number = on(line, side);
      cells.push_back(number ? side_text(its, *number) : "");
    }
    append_row(text, cells);
  }
}

// The statements of each experiment under the other sides of its choices.
void append_sides(std::string& text, const PaperTargets& paper,
                  const std::vector<Reproduced>& all) {
  const auto has_sides = [](const Reproduced& its) { return !its.experiment.otherwise.empty(); };
  if (std::ranges::none_of(all, has_sides)) return;
  text +=
      "## Both sides of each choice\n\nWhat comes out where one choice is made the other way, and "
      "all "
      "others stay.\n\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Reproduced& its = all[i];
    if (!has_sides(its)) continue;
    text += fmt::format("### {}\n\n", its.experiment.title);
    std::vector<std::string> head{"target", "figure", "of", "paper", "as chosen"};
    for (const Otherwise& side : its.experiment.otherwise) {
      text += fmt::format("* *{}*{}{}\n", side.name, side.note.empty() ? "" : ": ", side.note);
      head.push_back(side.name);
    }
    text += '\n';
    append_head(text, head);
    for (const Target& target : paper.targets) append_sides_of(text, target, its, all);
    text += '\n';
  }
}

void append_figures(std::string& text, const PaperTargets& paper,
                    const std::vector<Reproduced>& all) {
  if (paper.figures.empty()) return;
  text += "## The paper's figures and tables\n\n";
  append_head(text, {"there", "here"});
  for (const PaperFigure& figure : paper.figures) {
    std::vector<std::string> words;
    for (const std::string& id : figure.targets) {
      const auto target = std::ranges::find(paper.targets, id, &Target::id);
      words.push_back(
          fmt::format("{} ({})", id, verdict_of(*target, findings_of(lines_of(*target, all)))));
    }
    append_row(text, {figure.name, words.empty() ? "none: " + figure.none : listed(words)});
  }
  text += '\n';
}

}  // namespace

std::string_view verdict_of(const Target& target, const std::vector<Finding>& findings) {
  using Verdict = Finding::Verdict;
  if (!target.not_run.empty()) return "not run";
  if (!target.not_comparable.empty()) return "not comparable";
  const auto are = [](Verdict verdict) {
    return [verdict](const Finding& each) { return each.verdict == verdict; };
  };
  if (std::ranges::any_of(findings, are(Verdict::not_met))) return "not met";
  if (findings.empty() || std::ranges::any_of(findings, are(Verdict::open))) return "open";
  return "met";
}

std::string reproduction_page(const PaperTargets& paper, const std::vector<Reproduced>& all,
                              const PageInputs& inputs) {
  std::string text = fmt::format(
      "<!-- made by `{}`: change the experiments and the targets, not this page; inputs {} -->\n",
      inputs.command, inputs.sum);
  text += fmt::format("# {}: {}\n\n{}\n\n", inputs.paper, paper.title, paper.source);
  if (!paper.note.empty()) text += paper.note + "\n\n";
  std::vector<std::string> counts;
  std::size_t count = 0;
  for (const std::string_view verdict : {"met", "not met", "open", "not comparable", "not run"}) {
    std::size_t its = 0;
    for (const Target& target : paper.targets) {
      if (target.is_ours) continue;
      its += verdict_of(target, findings_of(lines_of(target, all))) == verdict ? 1 : 0;
    }
    count += its;
    if (its > 0) counts.push_back(fmt::format("{} {}", its, verdict));
  }
  text += fmt::format("Of {} targets: {}. [What these words mean](README.md#verdicts).\n\n", count,
                      listed(counts));
  append_inputs(text, paper, all, inputs);
  text += "## Targets\n\n";
  append_summary(text, paper, all, false);
  text +=
      "## What was measured\n\nAn improvement of `of` over `against` in percent, where above 0 is "
      "better; or the figure "
      "itself. With its 95 % interval over the seeds.\n\n";
  append_statements(text, paper, all, false);
  if (std::ranges::any_of(paper.targets, &Target::is_ours)) {
    text += "## Not in the paper\n\n";
    append_summary(text, paper, all, true);
    append_statements(text, paper, all, true);
  }
  append_sides(text, paper, all);
  append_figures(text, paper, all);
  if (!paper.open.empty()) {
    text += "## What the paper leaves open\n\n";
    append_head(text, {"point", "here"});
    for (const OpenPoint& point : paper.open) append_row(text, {point.point, point.choice});
    text += '\n';
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string reproduction_csv(const PaperTargets& paper, const std::vector<Reproduced>& all) {
  std::string text = "experiment,variant,policy,seeds";
  for (const std::string_view name : kCsvFigures) text.append(",").append(name);
  text += '\n';
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [of, runs] : all[i].runs) {
      if (runs.empty()) continue;
      append_field(text, paper.experiments[i].file);
      text += ',';
      append_field(text, of.variant);
      text += ',';
      append_field(text, of.policy);
      text += fmt::format(",{}..{}", runs.front().seed, runs.back().seed);
      for (const std::string_view name : kCsvFigures) {
        double sum = 0;
        for (const Summary& run : runs) sum += figure_of(run, name).value_or(0);
        fmt::format_to(std::back_inserter(text), ",{:.8g}", sum / static_cast<double>(runs.size()));
      }
      text += '\n';
    }
  }
  return text;
}

}  // namespace ductile
