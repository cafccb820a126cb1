#include "experiment/factorial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "experiment/markdown.hpp"
#include "report/output_file.hpp"

namespace ductile {
namespace {

std::size_t count_of(const Factorial& factorial) {
  std::size_t count = 1;
  for (const Factor& factor : factorial.factors) count *= factor.levels.size();
  return count;
}

// At which level a factor is in a combination.
std::size_t level_of(const Factorial& factorial, std::size_t combination, std::size_t factor) {
  for (std::size_t i = factorial.factors.size(); --i > factor;) {
    combination /= factorial.factors[i].levels.size();
  }
  return combination % factorial.factors[factor].levels.size();
}

// How much a combination counts in an effect: 1 or -1 for each combination that differs from
// another one in these factors alone; nothing, if it has another level of one.
int sign_of(const Factorial& factorial, std::size_t combination,
            const std::vector<FactorLevel>& of) {
  int sign = 1;
  for (const FactorLevel& its : of) {
    const std::size_t level = level_of(factorial, combination, its.factor);
    if (level != its.level && level != 0) return 0;
    if (level == 0) sign = -sign;
  }
  return sign;
}

Effect effect_of(const Factorial& factorial, const std::vector<std::vector<double>>& logs,
                 std::vector<FactorLevel> of, bool more_is_better) {
  std::size_t others = 1;  // combinations of the other factors
  for (std::size_t i = 0; i < factorial.factors.size(); ++i) {
    const bool is_of = std::ranges::find(of, i, &FactorLevel::factor) != of.end();
    others *= is_of ? 1 : factorial.factors[i].levels.size();
  }
  std::vector<double> by_seed(logs.front().size());
  for (std::size_t combination = 0; combination < logs.size(); ++combination) {
    const int sign = sign_of(factorial, combination, of);
    if (sign == 0) continue;
    for (std::size_t seed = 0; seed < by_seed.size(); ++seed) {
      by_seed[seed] += sign * logs[combination][seed] / static_cast<double>(others);
    }
  }
  const MeanInterval its = mean_interval(by_seed);
  const auto percent = [&](double log) {
    return more_is_better ? 100 * std::expm1(log) : 0 - 100 * std::expm1(log);  // not "-0"
  };
  const double one = percent(its.mean - its.half_width), other = percent(its.mean + its.half_width);
  return {std::move(of), percent(its.mean), {std::min(one, other), std::max(one, other)}};
}

std::string name_of(const Factorial& factorial, const FactorLevel& its) {
  const Factor& factor = factorial.factors[its.factor];
  return fmt::format("{}: `{}` for `{}`", factor.name, factor.levels[its.level],
                     factor.levels.front());
}

std::string name_of(const Factorial& factorial, const Effect& effect) {
  std::string text;
  for (const FactorLevel& its : effect.of) {
    text += (text.empty() ? "" : "; ") + name_of(factorial, its);
  }
  return text;
}

std::string percent_text(const Effect& effect) {
  if (!std::isfinite(effect.percent)) return "-";
  const auto number = [](double value) {
    return fmt::format("{:.1f}", std::abs(value) < 0.05 ? 0 : value);
  };
  if (!std::isfinite(effect.percent_95.low)) return number(effect.percent) + " %";
  return fmt::format("{} % ({} to {})", number(effect.percent), number(effect.percent_95.low),
                     number(effect.percent_95.high));
}

double mean_of(std::span<const Summary> runs, const std::string& figure) {
  double sum = 0;
  for (const Summary& run : runs) {
    sum += figure_of(run, figure).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  return sum / static_cast<double>(runs.size());
}

}  // namespace

std::vector<std::string> factorial_policies(const Factorial& factorial) {
  std::vector<std::string> policies;
  for (std::size_t combination = 0; combination < count_of(factorial); ++combination) {
    std::string text = factorial.policy;
    for (std::size_t i = 0; i < factorial.factors.size(); ++i) {
      const Factor& factor = factorial.factors[i];
      text += fmt::format("{}{}={}", text.find(':') == std::string::npos ? ':' : ',',
                          factor.parameter, factor.levels[level_of(factorial, combination, i)]);
    }
    policies.push_back(std::move(text));
  }
  return policies;
}

std::vector<Effect> effects_of(const Factorial& factorial,
                               std::span<const std::span<const Summary>> runs,
                               std::string_view figure) {
  std::vector<std::vector<double>> logs;  // by combination and seed
  for (const std::span<const Summary> its : runs) {
    std::vector<double>& of = logs.emplace_back();
    for (const Summary& run : its) {
      const double value = figure_of(run, figure).value_or(0);
      of.push_back(value > 0 ? std::log(value) : std::numeric_limits<double>::quiet_NaN());
    }
  }
  std::vector<FactorLevel> levels;
  for (std::size_t i = 0; i < factorial.factors.size(); ++i) {
    for (std::size_t k = 1; k < factorial.factors[i].levels.size(); ++k) levels.push_back({i, k});
  }
  const bool more = more_is_better(figure);
  std::vector<Effect> effects;
  for (const FactorLevel& each : levels) {
    effects.push_back(effect_of(factorial, logs, {each}, more));
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (std::size_t k = i + 1; k < levels.size(); ++k) {
      if (levels[i].factor == levels[k].factor) continue;
      effects.push_back(effect_of(factorial, logs, {levels[i], levels[k]}, more));
    }
  }
  return effects;
}

FactorialPage factorial_page(const Experiment& experiment, const SummariesOf& summaries,
                             const std::string& command, const std::string& sum) {
  const Factorial& factorial = *experiment.factorial;
  const std::vector<std::string> policies = factorial_policies(factorial);
  FactorialPage page;
  std::string& text = page.markdown;
  text = fmt::format(
      "<!-- made by `{}`: change the experiment, not this page; inputs {} -->\n# {}\n\n{}\n\n",
      command, sum, experiment.title, experiment.note);
  text += fmt::format(
      "All {} combinations were run, on the same jobs of each seed. A main effect is what a level "
      "changes over all combinations of the others, in percent of the figure: above 0 is better. "
      "An "
      "interaction is what two change together besides. Effects multiply. In brackets the 95 % "
      "interval over the seeds, whose pairs are of the same jobs.\n\n",
      policies.size());
  append_head(text, {"factor", "parameter", "levels, the first of which is compared with"});
  for (const Factor& factor : factorial.factors) {
    std::vector<std::string> levels;
    for (const std::string& level : factor.levels) levels.push_back("`" + level + "`");
    append_row(text, {factor.name, "`" + factor.parameter + "`", listed(levels)});
  }
  page.csv = "figure,variant,seeds,effect,percent,low,high\n";
  for (const std::string& figure : factorial.figures) {
    std::vector<std::vector<Effect>> effects;  // by variant
    std::vector<std::string> names, first{"as the first levels"}, best{"best combination"};
    for (const Variant& variant : experiment.variants) {
      std::vector<std::span<const Summary>> runs;
      for (const std::string& policy : policies) runs.push_back(summaries({variant.name, policy}));
      effects.push_back(effects_of(factorial, runs, figure));
      names.push_back(variant.name);
      std::size_t at = 0;
      for (std::size_t i = 1; i < runs.size(); ++i) {
        const double one = mean_of(runs[i], figure), other = mean_of(runs[at], figure);
        if (more_is_better(figure) ? one > other : one < other) at = i;
      }
      first.push_back(fmt::format("{:.5g}", mean_of(runs.front(), figure)));
      best.push_back(fmt::format("{:.5g}: `{}`", mean_of(runs[at], figure), policies[at]));
      for (const Effect& effect : effects.back()) {
        std::string name;
        for (const FactorLevel& its : effect.of) {
          const Factor& factor = factorial.factors[its.factor];
          name += (name.empty() ? "" : " x ") + factor.parameter + "=" + factor.levels[its.level];
        }
        append_field(page.csv, figure);
        page.csv += ',';
        append_field(page.csv, variant.name);
        page.csv += fmt::format(",{},", runs.front().size());
        append_field(page.csv, name);
        for (const double value : {effect.percent, effect.percent_95.low, effect.percent_95.high}) {
          page.csv += std::isfinite(value) ? fmt::format(",{:.6g}", value) : ",";
        }
        page.csv += '\n';
      }
    }
    const auto append_effects = [&](const std::string& title, std::size_t factors) {
      text += fmt::format("### {}\n\n", title);
      std::vector<std::string> head{"effect"};
      head.insert(head.end(), names.begin(), names.end());
      append_head(text, head);
      for (std::size_t i = 0; i < effects.front().size(); ++i) {
        if (effects.front()[i].of.size() != factors) continue;
        std::vector<std::string> cells{name_of(factorial, effects.front()[i])};
        for (const std::vector<Effect>& its : effects) cells.push_back(percent_text(its[i]));
        append_row(text, cells);
      }
      text += '\n';
    };
    text += fmt::format("\n## `{}`\n\n", figure);
    std::vector<std::string> head{"mean"};
    head.insert(head.end(), names.begin(), names.end());
    append_head(text, head);
    append_row(text, first);
    append_row(text, best);
    text += '\n';
    append_effects("Main effects", 1);
    append_effects("Interactions of pairs", 2);
    text.pop_back();
  }
  return page;
}

}  // namespace ductile
