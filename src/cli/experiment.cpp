#include "cli/experiment.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.hpp"
#include "experiment/experiment_file.hpp"
#include "experiment/statement.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

// A log that an experiment names: beside the file, or where all logs are.
std::string found_log(const Experiment& experiment, const OptionSetting& option) {
  const fs::path name = option.values.front();
  if (name.is_absolute()) return name;
  const fs::path beside = fs::path(experiment.file).parent_path() / name;
  if (fs::exists(beside)) return beside;
  if (const char* folder = std::getenv("DUCTILE_TRACES"); folder && fs::exists(folder / name)) {
    return folder / name;
  }
  throw InputError({experiment.file, option.line, option.name},
                   name.string() + " is neither beside the file nor in $DUCTILE_TRACES",
                   "put it there, or give --trace FILE");
}

// What the command line says, by option.
std::map<std::string, std::vector<std::string>> given_options(const CLI::App& given) {
  std::map<std::string, std::vector<std::string>> options;
  for (const CLI::Option* option : given.get_options()) {
    if (option->count() > 0 && !option->get_lnames().empty()) {
      options[option->get_lnames().front()] = option->results();
    }
  }
  return options;
}

// A folder's name from that of a variant.
std::string plain(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c < 0x80; }, '_');
  return name;
}

class ExperimentRun {
 public:
  ExperimentRun(const std::string& file, const CLI::App& given)
      : experiment_(read_experiment(file)), given_(given_options(given)) {
    for (const Variant& variant : experiment_.variants) {
      for (const OptionSetting& option : options_of(experiment_, variant)) {
        if (given.get_option_no_throw("--" + option.name)) continue;
        throw InputError({file, option.line, option.name}, "'simulate' has no such option",
                         "see 'ductile simulate --help'");
      }
    }
    for (const Statement& statement : experiment_.statements) check(statement);
  }

  const Experiment& experiment() const { return experiment_; }

  std::vector<std::string> options(const Variant& variant) const {
    std::vector<std::string> texts;
    const auto add = [&](const std::string& name, const std::vector<std::string>& values) {
      if (values.empty()) texts.push_back("--" + name);
      for (const std::string& value : values) {
        texts.push_back(fmt::format("--{}={}", name, value));
      }
    };
    for (OptionSetting option : options_of(experiment_, variant)) {
      const auto replaced = [&](const auto& given) { return replaces(given.first, option.name); };
      if (std::ranges::any_of(given_, replaced)) continue;
      if (option.name == "trace") option.values = {found_log(experiment_, option)};
      add(option.name, option.values);
    }
    for (const auto& [name, values] : given_) {
      const bool folders = name == "out" && experiment_.variants.size() > 1;
      add(name, folders ? std::vector{(fs::path(values.front()) / plain(variant.name)).string()}
                        : values);
    }
    return texts;
  }

  void add(const Variant& variant, const std::vector<Summary>& summaries) {
    for (const Summary& summary : summaries) {
      runs_[{variant.name, summary.policy}].push_back(summary);
    }
  }

  std::vector<Finding> findings() const {
    std::vector<Finding> findings;
    for (const Statement& statement : experiment_.statements) {
      findings.push_back(examine(statement, of(statement.runs), of(statement.against)));
    }
    return findings;
  }

 private:
  struct Less {
    bool operator()(const RunsOf& a, const RunsOf& b) const {
      return std::tie(a.variant, a.policy) < std::tie(b.variant, b.policy);
    }
  };

  // Before hours are spent: will there be runs to compare?
  void check(const Statement& statement) const {
    const Place place{experiment_.file, statement.line, "statement"};
    for (const RunsOf* runs : {&statement.runs, &statement.against}) {
      const std::vector<std::string> policies = values(runs->variant, {"policy"}, "easy");
      if (std::ranges::count(policies, runs->policy) > 0) continue;
      throw InputError(place, "there will be no runs of " + runs->policy, "add it to policy");
    }
    const auto seeds = [&](const RunsOf& runs) {
      return values(runs.variant, {"seed", "seeds"}, "1");
    };
    if (seeds(statement.runs) != seeds(statement.against)) {
      throw InputError(place, "compares runs of different seeds", "give both variants the same");
    }
  }

  // What an option, or one that replaces it, will be in a variant.
  std::vector<std::string> values(const std::string& variant, const std::vector<std::string>& names,
                                  const std::string& fallback) const {
    const auto wanted = [&](const std::string& name) {
      return std::ranges::count(names, name) > 0;
    };
    for (const auto& [name, texts] : given_) {
      if (wanted(name)) return texts;
    }
    const auto at = std::ranges::find(experiment_.variants, variant, &Variant::name);
    for (const OptionSetting& option : options_of(experiment_, *at)) {
      if (wanted(option.name)) return option.values;
    }
    return {fallback};
  }

  const std::vector<Summary>& of(const RunsOf& runs) const { return runs_.at(runs); }

  const Experiment experiment_;
  const std::map<std::string, std::vector<std::string>> given_;
  std::map<RunsOf, std::vector<Summary>, Less> runs_;
};

}  // namespace

void run_experiment(
    const std::string& file, const CLI::App& given, bool json,
    const std::function<std::vector<Summary>(const std::vector<std::string>& options)>& simulate) {
  ExperimentRun run(file, given);
  const Experiment& experiment = run.experiment();
  if (!json) {
    for (const std::string& line : {experiment.title, experiment.source, experiment.note}) {
      if (!line.empty()) std::cout << line << '\n';
    }
  }
  for (const Variant& variant : experiment.variants) {
    if (!json) std::cout << '\n' << variant.name << (variant.name.empty() ? "" : ": ");
    try {
      run.add(variant, simulate(run.options(variant)));
    } catch (const CLI::ParseError& error) {
      throw InputError({.file = experiment.file}, error.what(), "correct it");
    }
  }
  if (experiment.statements.empty()) return;
  const std::vector<Finding> findings = run.findings();
  if (json) {
    std::cout << findings_json(experiment.statements, findings) << std::flush;
  } else {
    std::cout << '\n' << findings_table(experiment.statements, findings) << std::flush;
  }
}

}  // namespace ductile
