#include "cli/experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/run_identity.hpp"
#include "experiment/experiment_file.hpp"
#include "experiment/run.hpp"
#include "experiment/statement.hpp"
#include "report/output_file.hpp"
#include "report/text.hpp"
#include "simulation/corridor.hpp"
#include "simulation/power_caps.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

// A log that an experiment names: beside the file, or where all logs are.
std::string found_log(const Experiment& experiment, const OptionSetting& option) {
  const fs::path name = option.values.front();
  if (name.is_absolute()) return name;
  const fs::path beside = fs::path(experiment.file).parent_path() / name;
  if (fs::exists(beside)) return beside;
  for (const std::string& folder : traces_folders()) {
    if (fs::exists(folder / name)) return folder / name;
  }
  throw InputError({experiment.file, option.line, option.name},
                   name.string() + " is neither beside the file nor in $DUCTILE_TRACES",
                   "put it there, or give --trace FILE");
}

// Another file that an experiment names: beside it.
std::string found_beside(const Experiment& experiment, const OptionSetting& option) {
  const fs::path beside = fs::path(experiment.file).parent_path() / option.values.front();
  if (fs::exists(beside)) return beside;
  throw InputError({experiment.file, option.line, option.name}, beside.string() + " is not there",
                   "put it beside the file, or give --" + option.name + " FILE");
}

// Does it name a file besides the log?
bool names_file(const OptionSetting& option) {
  if (option.name == "power-cap") return names_file_of_power_caps(option.values.front());
  if (option.name == "corridor") return names_file_of_corridor(option.values.front());
  return option.name == "platform" || option.name == "orders" || option.name == "mtct";
}

// Does it name a folder in which each variant has one of its own?
bool is_folder(const std::string& option) { return option == "out" || option == "figures"; }

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

class ExperimentRun {
 public:
  ExperimentRun(const std::string& file, const CLI::App& given, const IsWanted& is_wanted = {})
      : experiment_(is_wanted ? with_statements(read_experiment(file), is_wanted)
                              : read_experiment(file)),
        given_(given_options(given)) {
    for (const Variant& variant : experiment_.variants) {
      for (const OptionSetting& option : options_of(experiment_, variant)) {
        const Place place{file, option.line, option.name};
        if (option.name == "power-cap" && !names_file(option)) {
          read_power_caps(option.values.front(), place);
        }
        if (option.name == "corridor" && !names_file(option)) {
          read_corridor(option.values.front(), place);
        }
        if (given.get_option_no_throw("--" + option.name)) continue;
        throw InputError({file, option.line, option.name}, "'simulate' has no such option",
                         "see 'ductile simulate --help'");
      }
    }
    std::vector<std::string> names;
    for (const Variant& variant : experiment_.variants) names.push_back(variant.name);
    folders_ = folder_names(names);
    check_files();
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
      const auto own = std::ranges::find(variant.options, option.name, &OptionSetting::name);
      if (option.name == "trace") option.values = {found_log(experiment_, option)};
      if (names_file(option)) {
        option.values = {found_beside(experiment_, option)};
      }
      if (is_folder(option.name) && own == variant.options.end()) inside(option.values, variant);
      add(option.name, option.values);
    }
    for (auto [name, values] : given_) {
      if (is_folder(name)) inside(values, variant);
      add(name, values);
    }
    return texts;
  }

  // Where the results of a variant go: one file for all that share a folder.
  ResultsPlace results(const Variant& variant) const {
    ResultsPlace place{.folder = results_folder(variant),
                       .experiment = fs::path(experiment_.file).filename().string(),
                       .matrices = {}};
    for (std::size_t i = 0; i < experiment_.variants.size(); ++i) {
      const Variant& each = experiment_.variants[i];
      if (results_folder(each) != place.folder) continue;
      place.matrices.push_back(shares_folder(each) ? folders_[i] : "");
    }
    return place;
  }

  template <class Visit>
  void visit(const Variant& variant, const Visit& visit) const {
    try {
      visit(options(variant), variant.name, results(variant));
    } catch (const CLI::ParseError& error) {
      throw InputError({.file = experiment_.file}, error.what(), "correct it");
    }
  }

  void add(const Variant& variant, const std::vector<Summary>& summaries) {
    for (const Summary& summary : summaries) {
      runs_[{variant.name, summary.policy}].push_back(summary);
    }
  }

  const auto& runs() const { return runs_; }

  std::vector<Finding> findings() const {
    std::vector<Finding> findings;
    for (const Statement& statement : experiment_.statements) {
      if (statement.among.empty()) {
        const bool is_alone = statement.is_of_value();
        findings.push_back(examine(statement, of(statement.runs),
                                   of(is_alone ? statement.runs : statement.against)));
        continue;
      }
      std::vector<std::span<const Summary>> among, against;
      for (const RunsOf& runs : statement.among) among.emplace_back(of(runs));
      for (const RunsOf& runs : statement.against_each) against.emplace_back(of(runs));
      const bool is_highest = statement.kind == Statement::Kind::highest;
      findings.push_back(is_highest ? examine_highest(statement, among, against)
                                    : examine(statement, among));
    }
    return findings;
  }

 private:
  // Is its folder one in a folder for all variants?
  bool shares_folder(const Variant& variant) const {
    return experiment_.variants.size() > 1 &&
           (given_.contains("out") ||
            std::ranges::find(variant.options, "out", &OptionSetting::name) ==
                variant.options.end());
  }

  // The value of --out, before it is that of one variant.
  fs::path results_folder(const Variant& variant) const {
    if (const auto given = given_.find("out"); given != given_.end()) return given->second.front();
    for (const OptionSetting& option : options_of(experiment_, variant)) {
      if (option.name == "out" && !option.values.empty()) return option.values.front();
    }
    return {};
  }

  // Of a folder for all variants, that of this one.
  void inside(std::vector<std::string>& out, const Variant& variant) const {
    if (experiment_.variants.size() == 1 || out.empty()) return;
    const auto number = static_cast<std::size_t>(&variant - experiment_.variants.data());
    out.front() = (fs::path(out.front()) / folders_[number]).string();
  }

  // No variant writes where another one has written.
  void check_files() const {
    std::set<fs::path> written;
    for (const Variant& variant : experiment_.variants) {
      for (const std::string& text : options(variant)) {
        const std::string name = text.substr(0, text.find('='));
        if (name != "--out" && name != "--record" && name != "--figures") continue;
        const fs::path path = text.substr(std::min(name.size() + 1, text.size()));
        if (written.insert(fs::absolute(path / "").lexically_normal()).second) continue;
        throw InputError({experiment_.file, 0, name.substr(2)},
                         "several variants would write to " + path.string(),
                         "give each of them a " + name.substr(2) + " of its own");
      }
    }
  }

  // Before hours are spent: will there be runs to compare?
  void check(const Statement& statement) const {
    const Place place{experiment_.file, statement.line, "statement"};
    const std::vector<RunsOf> all = runs_of(statement);
    for (const RunsOf& runs : all) {
      const std::vector<std::string> policies = values(runs.variant, {"policy"}, "easy");
      if (std::ranges::count(policies, runs.policy) > 0) continue;
      throw InputError(place, "there will be no runs of " + runs.policy, "add it to policy");
    }
    const auto seeds = [&](const RunsOf& runs) {
      return values(runs.variant, {"seed", "seeds"}, "1");
    };
    for (const RunsOf& runs : all) {
      if (seeds(runs) == seeds(all.front())) continue;
      throw InputError(place, "compares runs of different seeds", "give all variants the same");
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
  std::vector<std::string> folders_{};  // of the variants, inside --out
  std::map<RunsOf, std::vector<Summary>, RunsOrder> runs_;
};

}  // namespace

void run_experiment(const std::string& file, const CLI::App& given, bool json,
                    const SimulateVariant& simulate) {
  ExperimentRun run(file, given);
  const Experiment& experiment = run.experiment();
  if (!json) {
    for (const std::string& line : {experiment.title, experiment.source, experiment.note}) {
      if (!line.empty()) std::cout << line << '\n';
    }
  }
  for (const Variant& variant : experiment.variants) {
    if (!json) std::cout << '\n' << variant.name << (variant.name.empty() ? "" : ": ");
    run.visit(variant, [&](const auto& options, const auto& name, const auto& results) {
      run.add(variant, simulate(options, name, results));
    });
  }
  if (experiment.statements.empty()) return;
  const std::vector<Finding> findings = run.findings();
  if (json) {
    std::cout << findings_json(experiment.statements, findings) << std::flush;
  } else {
    std::cout << '\n' << findings_table(experiment.statements, findings) << std::flush;
  }
}

Reproduced reproduce_experiment(const std::string& file, const CLI::App& given,
                                const SimulateVariant& simulate, const IsWanted& is_wanted) {
  ExperimentRun run(file, given, is_wanted);
  for (const Variant& variant : run.experiment().variants) {
    run.visit(variant, [&](const auto& options, const auto& name, const auto& results) {
      run.add(variant, simulate(options, name, results));
    });
  }
  return {.experiment = run.experiment(), .findings = run.findings(), .runs = run.runs()};
}

void each_variant(
    const std::string& file, const CLI::App& given,
    const std::function<void(const std::vector<std::string>& options, const std::string& variant,
                             const ResultsPlace& results)>& visit) {
  const ExperimentRun run(file, given);
  for (const Variant& variant : run.experiment().variants) run.visit(variant, visit);
}

}  // namespace ductile
