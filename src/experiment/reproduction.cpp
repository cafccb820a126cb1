#include "experiment/reproduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "experiment/markdown.hpp"
#include "experiment/paper_figure.hpp"
#include "report/csv_reader.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

constexpr std::array<std::string_view, 14> kCsvFigures{
    "makespan_s",       "utilization",           "utilization_net",
    "efficiency",       "mean_wait_s",           "mean_turnaround_s",
    "mean_slowdown",    "mean_slowdown_actual",  "expands",
    "shrinks",          "expanded_jobs",         "backfilled",
    "evolving_granted", "reconfiguration_node_s"};

constexpr std::array<std::string_view, 5> kVerdicts{"met", "not met", "open", "not comparable",
                                                    "not run"};

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
  for (const std::string& id : target.ids()) {
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

// Where a statement is looked at; one about several in one variant, too.
std::string variant_of(const Statement& statement) { return runs_of(statement).front().variant; }

std::vector<Judged> judged_of(const std::vector<StatementLine>& lines) {
  std::vector<Judged> judged;
  for (const StatementLine& line : lines) {
    judged.push_back({line.statement().id, variant_of(line.statement()), line.finding().verdict});
  }
  return judged;
}

// The log that a statement needs and that was not there; empty: none.
std::string stood_in_log(const StatementLine& line, const PageInputs& inputs) {
  const Experiment& experiment = line.of->experiment;
  for (const RunsOf& runs : runs_of(line.statement())) {
    const auto variant = std::ranges::find(experiment.variants, runs.variant, &Variant::name);
    if (variant == experiment.variants.end()) continue;
    for (const OptionSetting& option : options_of(experiment, *variant)) {
      if (option.name != "trace") continue;
      const auto log =
          std::ranges::find(inputs.logs, option.values.front(), &PageInputs::Log::file);
      if (log != inputs.logs.end() && log->is_stand_in) return log->file;
    }
  }
  return "";
}

// What is said of a target, and why.
struct Outcome {
  std::string verdict, why;
  std::size_t met = 0, statements = 0;
};

Outcome outcome_of(const Target& target, const std::vector<StatementLine>& lines,
                   const PageInputs& inputs) {
  const std::vector<Judged> judged = judged_of(lines);
  Outcome its{
      std::string(verdict_of(target, judged)),
      target.not_run.empty() ? target.not_comparable : target.not_run,
      static_cast<std::size_t>(std::ranges::count(judged, Finding::Verdict::met, &Judged::verdict)),
      judged.size()};
  for (const StatementLine& line : lines) {
    const std::string log = stood_in_log(line, inputs);
    if (log.empty() || !its.why.empty()) continue;
    its.verdict = "not comparable";
    its.why = log + " was not there";
  }
  return its;
}

std::string against_text(const StatementLine& line) {
  const Statement& s = line.statement();
  if (s.among.empty()) return runs_code(s.against);
  if (s.kind == Statement::Kind::highest) {
    const std::size_t best = line.finding().best;
    return fmt::format("{}; highest of {}: {}", runs_code(s.against_each.at(best)), s.among.size(),
                       runs_code(s.among.at(best)));
  }
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
  if (s.runs.policy.empty() || s.among.empty()) return "";
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

// The sides of choices on which these are looked at.
std::vector<std::string> sides_of(const std::vector<StatementLine>& lines) {
  std::vector<std::string> sides;
  for (const StatementLine& line : lines) {
    for (const std::size_t other : line.others) {
      const std::string& side = line.of->experiment.statements[other].side;
      if (std::ranges::find(sides, side) == sides.end()) sides.push_back(side);
    }
  }
  return sides;
}

// How many of them are met there: who is not looked at there counts as chosen.
std::size_t met_on(const std::vector<StatementLine>& lines, const std::string& side) {
  return static_cast<std::size_t>(std::ranges::count_if(lines, [&](const StatementLine& line) {
    const auto there = std::ranges::find(line.others, side, [&](std::size_t other) {
      return line.of->experiment.statements[other].side;
    });
    const std::size_t number = there == line.others.end() ? line.number : *there;
    return line.of->findings[number].verdict == Finding::Verdict::met;
  }));
}

// So many statements are met on a side.
struct Sides {
  std::size_t met = 0;
  std::string on;
};

// Fields of a CSV file are read back line by line.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
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
                    const std::vector<Reproduced>& all, const PageInputs& inputs, bool ours) {
  append_head(text, {ours ? "comparison" : "target", ours ? "what" : "the paper says",
                     "statements met", "verdict"});
  for (const Target& target : paper.targets) {
    if (target.is_ours != ours) continue;
    const Outcome its = outcome_of(target, lines_of(target, all), inputs);
    append_row(text,
               {target.id, target.says + (target.note.empty() ? "" : " (" + target.note + ")"),
                its.statements == 0 ? "" : fmt::format("{} of {}", its.met, its.statements),
                its.verdict + (its.why.empty() ? "" : ": " + its.why)});
  }
  text += '\n';
}

void append_statements(std::string& text, const PaperTargets& paper,
                       const std::vector<Reproduced>& all, const PageInputs& inputs, bool ours) {
  append_head(text, {"target", "figure", "of", "against", "paper", "here", "verdict",
                     "lowest and highest under the other sides"});
  for (const Target& target : paper.targets) {
    if (target.is_ours != ours) continue;
    for (const StatementLine& line : lines_of(target, all)) {
      const Statement& s = line.statement();
      append_row(text, {target.id, fmt::format("`{}`", s.figure), runs_code(s.runs),
                        against_text(line), said_text(s), here_text(line),
                        stood_in_log(line, inputs).empty()
                            ? std::string(verdict_word(line.finding().verdict))
                            : "not comparable",
                        range_text(line)});
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
                    const std::vector<Reproduced>& all, const PageInputs& inputs) {
  if (paper.figures.empty()) return;
  text += "## The paper's figures and tables\n\n";
  append_head(text, {"there", "here"});
  for (const PaperFigure& figure : paper.figures) {
    std::vector<std::string> words;
    for (const std::string& id : figure.targets) {
      const auto target = std::ranges::find(paper.targets, id, &Target::id);
      words.push_back(
          fmt::format("{} ({})", id, outcome_of(*target, lines_of(*target, all), inputs).verdict));
    }
    std::string here = words.empty() ? "none: " + figure.none : listed(words);
    if (!figure.experiment.empty()) {
      here += fmt::format(". [Drawn]({})", name_of_drawing(inputs.paper, figure));
    }
    append_row(text, {figure.name, here});
  }
  text += '\n';
}

}  // namespace

std::string_view verdict_of(const Target& target, const std::vector<Judged>& judged) {
  using Verdict = Finding::Verdict;
  if (!target.not_run.empty()) return "not run";
  if (!target.not_comparable.empty()) return "not comparable";
  std::vector<Verdict> parts;  // what has to be met
  for (const Judged& each : judged) {
    if (std::ranges::count(target.statements, each.statement) > 0) parts.push_back(each.verdict);
  }
  for (const std::string& id : target.mostly) {
    std::size_t all = 0, met = 0, not_met = 0;
    for (const Judged& each : judged) {
      if (each.statement != id) continue;
      ++all;
      met += each.verdict == Verdict::met ? 1 : 0;
      not_met += each.verdict == Verdict::not_met ? 1 : 0;
    }
    parts.push_back(2 * met > all        ? Verdict::met
                    : 2 * not_met >= all ? Verdict::not_met
                                         : Verdict::open);
  }
  if (!target.but_one.empty()) {
    std::map<std::string, Verdict> variants;
    for (const Judged& each : judged) {
      if (std::ranges::count(target.but_one, each.statement) == 0) continue;
      Verdict& its = variants.try_emplace(each.variant, Verdict::met).first->second;
      if (its == Verdict::not_met || each.verdict == Verdict::met) continue;
      its = each.verdict;
    }
    const auto count = [&](Verdict verdict) {
      return std::ranges::count_if(variants,
                                   [&](const auto& its) { return its.second == verdict; });
    };
    const auto not_met = count(Verdict::not_met), open = count(Verdict::open);
    parts.push_back(not_met > 1 || not_met + open == 0 ? Verdict::not_met
                    : open == 0                        ? Verdict::met
                                                       : Verdict::open);
  }
  if (std::ranges::count(parts, Verdict::not_met) > 0) return "not met";
  if (parts.empty() || std::ranges::count(parts, Verdict::open) > 0) return "open";
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
  for (const std::string_view verdict : kVerdicts) {
    std::size_t its = 0;
    for (const Target& target : paper.targets) {
      if (target.is_ours) continue;
      its += outcome_of(target, lines_of(target, all), inputs).verdict == verdict ? 1 : 0;
    }
    count += its;
    if (its > 0) counts.push_back(fmt::format("{} {}", its, verdict));
  }
  text += fmt::format("Of {} targets: {}. [What these words mean](README.md#verdicts).\n\n", count,
                      listed(counts));
  append_inputs(text, paper, all, inputs);
  text += "## Targets\n\n";
  append_summary(text, paper, all, inputs, false);
  text +=
      "## What was measured\n\nAn improvement of `of` over `against` in percent, where above 0 is "
      "better; or the figure "
      "itself. With its 95 % interval over the seeds.\n\n";
  append_statements(text, paper, all, inputs, false);
  if (std::ranges::any_of(paper.targets, &Target::is_ours)) {
    text += "## Not in the paper\n\n";
    append_summary(text, paper, all, inputs, true);
    append_statements(text, paper, all, inputs, true);
  }
  append_sides(text, paper, all);
  append_figures(text, paper, all, inputs);
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
        // Where one has no value, the mean has none.
        double sum = 0;
        for (const Summary& run : runs) {
          sum += figure_of(run, name).value_or(std::numeric_limits<double>::quiet_NaN());
        }
        text += ',';
        if (!std::isfinite(sum)) continue;
        fmt::format_to(std::back_inserter(text), "{:.8g}", sum / static_cast<double>(runs.size()));
      }
      text += '\n';
    }
  }
  return text;
}

std::string verdicts_csv(const PaperTargets& paper, const std::vector<Reproduced>& all,
                         const PageInputs& inputs) {
  std::string text =
      "target,ours,verdict,why,met,statements,fewest,fewest_on,most,most_on,example,says\n";
  for (const Target& target : paper.targets) {
    const std::vector<StatementLine> lines = lines_of(target, all);
    const Outcome its = outcome_of(target, lines, inputs);
    // How many are met where one choice is made the other way, from fewest to most.
    Sides few{its.met, "as chosen"}, many = few;
    for (const std::string& side : sides_of(lines)) {
      const std::size_t met = met_on(lines, side);
      if (met < few.met) few = {met, side};
      if (met > many.met) many = {met, side};
    }
    const auto failed = std::ranges::find_if(lines, [](const StatementLine& line) {
      return line.finding().verdict == Finding::Verdict::not_met;
    });
    std::string example;
    if (failed != lines.end()) {
      const std::string against = against_text(*failed);
      example = fmt::format("`{}` of {}{}: {} said, {} here", failed->statement().figure,
                            runs_code(failed->statement().runs),
                            against.empty() ? "" : " against " + against,
                            said_text(failed->statement()), here_text(*failed));
      if (const std::string range = range_text(*failed); !range.empty()) example += "; " + range;
    }
    const auto add = [&](const std::string& field) {
      append_field(text, field);
      text += ',';
    };
    add(target.id);
    add(target.is_ours ? "1" : "0");
    add(its.verdict);
    add(its.why);
    text += fmt::format("{},{},{},", its.met, its.statements, few.met);
    add(few.on);
    text += fmt::format("{},", many.met);
    add(many.on);
    add(example);
    append_field(text, in_one_line(target.says));
    text += '\n';
  }
  return text;
}

std::string verdicts_table(const std::vector<PaperVerdicts>& papers) {
  std::string counts, rows;
  std::vector<std::string> head{"paper", "targets"};
  head.insert(head.end(), kVerdicts.begin(), kVerdicts.end());
  append_head(counts, head);
  append_head(rows, {"target", "the paper says", "verdict", "statements met",
                     "under the other sides of the choices"});
  for (const PaperVerdicts& its : papers) {
    CsvReader csv(its.csv);
    const auto column = [&](std::string_view name) { return csv.column(name); };
    std::array<std::size_t, kVerdicts.size()> count{};
    std::size_t all = 0;
    while (csv.next()) {
      const auto text = [&](std::string_view name) { return std::string(csv.text(column(name))); };
      if (text("ours") == "1") continue;
      ++all;
      const std::string verdict = text("verdict");
      const auto known = std::ranges::find(kVerdicts, verdict);
      if (known == kVerdicts.end()) csv.fail(column("verdict"), "is no verdict");
      ++count.at(static_cast<std::size_t>(known - kVerdicts.begin()));
      const std::string statements = text("statements");
      const auto some = [&](std::string_view name) {
        return fmt::format("{} of {} ({})", text(name), statements,
                           text(std::string(name) + "_on"));
      };
      const bool is_not_met = verdict == "not met";
      append_row(rows, {fmt::format("[{}]({}.md) {}", its.paper, its.paper, text("target")),
                        text("says"), verdict + (text("why").empty() ? "" : ": " + text("why")),
                        statements == "0" ? "" : text("met") + " of " + statements,
                        is_not_met ? fmt::format("{} to {}. {}", some("fewest"), some("most"),
                                                 text("example"))
                                   : ""});
    }
    std::vector<std::string> cells{fmt::format("[{}]({}.md)", its.paper, its.paper),
                                   fmt::format("{}", all)};
    for (const std::size_t each : count) cells.push_back(fmt::format("{}", each));
    append_row(counts, cells);
  }
  return counts + "\n" + rows;
}

}  // namespace ductile
