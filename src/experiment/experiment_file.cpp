#include "experiment/experiment_file.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "experiment/factorial.hpp"
#include "experiment/statement.hpp"
#include "workload/toml_file.hpp"

namespace ductile {
namespace {

// More or less of the figure is better or worse by what it is.
constexpr std::array<std::string_view, 6> kDirectionWords{"better", "worse",  "not better",
                                                          "equal",  "higher", "lower"};

class Reader {
 public:
  explicit Reader(std::string path) { experiment_.file = std::move(path); }

  Experiment read() {
    const toml::table root = read_toml(experiment_.file, "give the name of an experiment file");
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      if (name == "title" || name == "source" || name == "note") {
        (name == "title"    ? experiment_.title
         : name == "source" ? experiment_.source
                            : experiment_.note) = text(name, node);
      } else if (name == "variant" || name == "statement" || name == "otherwise" ||
                 name == "factorial" || name == "factor") {
        continue;
      } else {
        experiment_.options.push_back(option(name, node));
      }
    }
    factorial(root);
    for (const toml::table* table : tables(root, "variant")) variant(*table);
    if (experiment_.variants.empty()) experiment_.variants.emplace_back();
    for (const toml::table* table : tables(root, "statement")) statement(*table);
    own_variants_ = experiment_.variants.size();
    own_statements_ = experiment_.statements.size();
    for (const toml::table* table : tables(root, "otherwise")) other_side(*table);
    return std::move(experiment_);
  }

 private:
  [[noreturn]] void fail(const toml::node& at, const std::string& field, const std::string& what,
                         const std::string& remedy) const {
    throw InputError({experiment_.file, at.source().begin.line, field}, what, remedy);
  }

  std::string text(const std::string& field, const toml::node& node) const {
    if (const auto* value = node.as_string()) return value->get();
    fail(node, field, "is no text", "put it in quotes");
  }

  // Options take text, numbers and booleans alike.
  std::string value(const std::string& field, const toml::node& node) const {
    if (const auto* word = node.as_string()) return word->get();
    if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
    if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
    fail(node, field, "is no value of an option", "write text, a number, true, or a list of them");
  }

  OptionSetting option(const std::string& name, const toml::node& node) const {
    OptionSetting setting{name, {}, node.source().begin.line};
    if (const auto* flag = node.as_boolean()) {
      if (!flag->get()) fail(node, name, "false does nothing", "leave it away");
    } else if (const auto* list = node.as_array()) {
      for (const toml::node& item : *list) setting.values.push_back(value(name, item));
      if (setting.values.empty()) fail(node, name, "has no value", "leave it away");
    } else {
      setting.values.push_back(value(name, node));
    }
    return setting;
  }

  std::vector<const toml::table*> tables(const toml::table& root, const std::string& name) const {
    std::vector<const toml::table*> result;
    const toml::node* node = root.get(name);
    if (!node) return result;
    const toml::array* list = node->as_array();
    if (!list) fail(*node, name, "is no list of tables", "write [[" + name + "]]");
    for (const toml::node& item : *list) {
      if (!item.is_table()) fail(item, name, "is no table", "write [[" + name + "]]");
      result.push_back(item.as_table());
    }
    return result;
  }

  void variant(const toml::table& table) {
    Variant variant;
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (name == "name") {
        variant.name = text(name, node);
      } else {
        variant.options.push_back(option(name, node));
      }
    }
    if (variant.name.empty()) fail(table, "variant", "has no name", "write name = \"...\"");
    if (known(variant.name)) {
      fail(table, "variant", "'" + variant.name + "' is there twice",
           "give each a name of its own");
    }
    experiment_.variants.push_back(std::move(variant));
  }

  bool known(const std::string& name) const {
    return std::ranges::find(experiment_.variants, name, &Variant::name) !=
           experiment_.variants.end();
  }

  // One item, or a list of them.
  template <class Read>
  auto each(const std::string& field, const toml::node& node, Read read) const {
    std::vector<decltype(read(field, node))> items;
    if (const toml::array* list = node.as_array()) {
      for (const toml::node& item : *list) items.push_back(read(field, item));
    } else {
      items.push_back(read(field, node));
    }
    if (items.empty()) fail(node, field, "is empty", "say what it is");
    return items;
  }

  // "policy", or a table with policy and variant.
  RunsOf runs_of(const std::string& field, const toml::node& node) const {
    RunsOf runs;
    if (const toml::table* table = node.as_table()) {
      for (const auto& [key, item] : *table) {
        const std::string name(key.str());
        if (name != "policy" && name != "variant") {
          fail(item, field, "there is no '" + name + "'", "it has policy and variant");
        }
        (name == "policy" ? runs.policy : runs.variant) =
            name == "policy" ? text(field, item) : variant_name(field, item);
      }
    } else {
      runs.policy = text(field, node);
    }
    if (runs.policy.empty()) fail(node, field, "names no policy", "write policy = \"...\"");
    return runs;
  }

  std::string variant_name(const std::string& field, const toml::node& node) const {
    std::string name = text(field, node);
    if (!known(name)) {
      fail(node, field, "there is no variant '" + name + "'", "name one of the file's");
    }
    return name;
  }

  std::string statement_id(const std::string& field, const toml::node& node) const {
    std::string id = text(field, node);
    if (std::ranges::find(experiment_.statements, id, &Statement::id) ==
        experiment_.statements.end()) {
      fail(node, field, "there is no statement '" + id + "'", "name one of the file's");
    }
    return id;
  }

  std::string figure(const std::string& field, const toml::node& node) const {
    std::string name = text(field, node);
    if (!has_figure(name)) {
      fail(node, field, "there is no figure '" + name + "'",
           "use a number of summary.json, as mean_turnaround_s");
    }
    return name;
  }

  // All combinations of the factors are policies of the experiment.
  void factorial(const toml::table& root) {
    const std::vector<const toml::table*> factors = tables(root, "factor");
    const toml::node* const node = root.get("factorial");
    if (!node) {
      if (factors.empty()) return;
      fail(*factors.front(), "factor", "there is no [factorial]", "say which policy has it");
    }
    const toml::table* const table = node->as_table();
    if (!table) fail(*node, "factorial", "is no table", "write [factorial]");
    Factorial its;
    for (const auto& [key, item] : *table) {
      const std::string name(key.str());
      if (name == "policy") {
        its.policy = text(name, item);
      } else if (name == "figures") {
        its.figures = each(name, item, [&](const auto& f, const auto& n) { return figure(f, n); });
      } else {
        fail(item, name, "[factorial] has no such field", "it has policy and figures");
      }
    }
    if (its.policy.empty()) fail(*table, "factorial", "has no policy", "say it");
    if (its.figures.empty()) fail(*table, "factorial", "has no figures", "say them");
    for (const toml::table* of : factors) {
      Factor& factor = its.factors.emplace_back();
      for (const auto& [key, item] : *of) {
        const std::string name(key.str());
        if (name == "name" || name == "parameter") {
          (name == "name" ? factor.name : factor.parameter) = text(name, item);
        } else if (name == "levels") {
          factor.levels =
              each(name, item, [&](const auto& f, const auto& n) { return value(f, n); });
        } else {
          fail(item, name, "a factor has no such field", "it has name, parameter and levels");
        }
      }
      if (factor.name.empty()) fail(*of, "factor", "has no name", "say it");
      if (factor.parameter.empty()) fail(*of, "factor", "has no parameter", "say it");
      if (factor.levels.size() < 2) fail(*of, "factor", "has less than two levels", "name two");
    }
    if (its.factors.size() < 2) {
      fail(*table, "factorial", "has less than two factors", "write [[factor]]");
    }
    const auto policy = std::ranges::find(experiment_.options, "policy", &OptionSetting::name);
    OptionSetting& policies = policy != experiment_.options.end()
                                  ? *policy
                                  : experiment_.options.emplace_back(
                                        OptionSetting{"policy", {}, table->source().begin.line});
    for (std::string& combination : factorial_policies(its)) {
      policies.values.push_back(std::move(combination));
    }
    experiment_.factorial = std::move(its);
  }

  // A table of statements: one for each combination of what it lists.
  void statement(const toml::table& table) {
    Statement common;
    common.line = table.source().begin.line;
    std::vector<std::string> figures, variants{experiment_.variants.front().name}, stars{""};
    std::vector<RunsOf> runs, against, among, best, worst;
    std::optional<double> spread, highest;
    std::string_view order;
    const auto read_text = [&](const auto& field, const auto& node) { return text(field, node); };
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (name == "id" || name == "note") {
        (name == "id" ? common.id : common.note) = text(name, node);
      } else if (name == "for") {
        stars = each(name, node, read_text);
        for (const std::string& star : stars) {
          if (star.empty() || star.find('*') != std::string::npos) {
            fail(node, name, "'" + star + "' cannot stand for '*'", "write a word");
          }
        }
      } else if (name == "figure") {
        figures = each(name, node, [&](const auto& f, const auto& n) { return figure(f, n); });
      } else if (name == "variant") {
        variants =
            each(name, node, [&](const auto& f, const auto& n) { return variant_name(f, n); });
      } else if (name == "runs" || name == "against") {
        (name == "runs" ? runs : against) =
            each(name, node, [&](const auto& f, const auto& n) { return runs_of(f, n); });
      } else if (name == "direction") {
        const auto word = std::ranges::find(kDirectionWords, text(name, node));
        if (word == kDirectionWords.end()) {
          fail(node, name, "'" + text(name, node) + "' is no direction",
               "use better, worse, not better, higher, lower or equal");
        }
        order = *word;
      } else if (name == "against_figure") {
        common.against_figure = figure(name, node);
      } else if (name == "percent" || name == "spread" || name == "highest") {
        std::optional<double>& number = name == "percent"  ? common.percent
                                        : name == "spread" ? spread
                                                           : highest;
        number = node.value<double>();
        if (!number) fail(node, name, "is no number", "write the percents as a number");
        if (name == "spread" && !(*number >= 0)) {
          fail(node, name, "is below 0", "it is the way from the best to the worst, in percent");
        }
      } else if (name == "is" || name == "at_most" || name == "at_least") {
        const std::optional<double> value = node.value<double>();
        if (!value) fail(node, name, "is no number", "write it in the unit of the figure");
        if (common.is_of_value()) fail(node, name, "is the second one", "make two statements");
        common.kind = name == "is"        ? Statement::Kind::is
                      : name == "at_most" ? Statement::Kind::at_most
                                          : Statement::Kind::at_least;
        common.value = *value;
      } else if (name == "among") {
        among = each(name, node, [&](const auto& f, const auto& n) { return runs_of(f, n); });
        if (among.size() < 2) fail(node, name, "is one alone", "name all that are compared");
      } else if (name == "best" || name == "worst") {
        (name == "best" ? best : worst) = {runs_of(name, node)};
      } else {
        fail(node, name, "a statement has no such field",
             "it has id, figure, runs, against, against_figure, variant, for, direction, percent, "
             "highest and note, or "
             "among with best, worst and spread instead of runs, against, direction and percent, "
             "or is, at_most or at_least instead of against, direction and percent");
      }
    }
    if (figures.empty()) fail(table, "statement", "has no figure", "say it");
    if (highest) {
      for (const char* other : {"direction", "percent", "against_figure"}) {
        if (const toml::node* node = table.get(other)) {
          fail(*node, other, "does not go with highest", "make two statements of it");
        }
      }
    }
    if (common.is_of_value()) {
      for (const char* other : {"against", "against_figure", "direction", "percent", "highest",
                                "among", "best", "worst"}) {
        if (const toml::node* node = table.get(other)) {
          fail(*node, other, "does not go with is, at_most and at_least",
               "make two statements of it");
        }
      }
      against.emplace_back();
    }
    const bool ranks = !best.empty() || !worst.empty() || spread;
    if (!among.empty() || ranks) {
      for (const char* other :
           {"runs", "against", "against_figure", "direction", "percent", "highest"}) {
        if (const toml::node* node = table.get(other)) {
          fail(*node, other, "does not go with among, best, worst and spread",
               "make two statements of it");
        }
      }
      if (among.empty()) fail(table, "statement", "has no among", "name all that are compared");
      if (!ranks) {
        fail(table, "statement", "does not say what is so among them",
             "say which is best or worst, or the spread");
      }
    } else {
      const char* missing = runs.empty() ? "runs" : against.empty() ? "against" : nullptr;
      if (missing) fail(table, "statement", std::string("has no ") + missing, "say it");
    }
    // Of the highest: one statement of each figure about all pairs.
    std::vector<Statement> highest_of;
    if (highest) {
      for (const std::string& name : figures) {
        Statement& its = highest_of.emplace_back(common);
        its.kind = Statement::Kind::highest;
        its.figure = name;
        its.percent = highest;
      }
    }
    for (const std::string& star : stars) {
      for (const std::string& variant : variants) {
        const auto completed = [&](RunsOf of) {
          if (of.policy.empty()) return of;  // nobody is compared with
          if (of.variant.empty()) of.variant = variant;
          for (auto at = of.policy.find('*'); at != std::string::npos; at = of.policy.find('*')) {
            if (star.empty()) fail(table, "statement", "'*' stands for nothing", "say for = [...]");
            of.policy.replace(at, 1, star);
          }
          return of;
        };
        const auto is_among = [&](const RunsOf& one) {
          return std::ranges::find(common.among, one) != common.among.end();
        };
        common.among.clear();
        for (const RunsOf& one : among) {
          RunsOf its = completed(one);
          if (is_among(its)) {
            fail(table, "among", its.policy + " is there twice", "name each once");
          }
          common.among.push_back(std::move(its));
        }
        for (const std::string& name : figures) {
          common.figure = name;
          for (const auto& [kind, whom] : {std::pair(Statement::Kind::best, &best),
                                           std::pair(Statement::Kind::worst, &worst)}) {
            if (whom->empty()) continue;
            Statement ranked = common;
            ranked.kind = kind;
            ranked.runs = completed(whom->front());
            if (!is_among(ranked.runs)) {
              fail(table, kind == Statement::Kind::best ? "best" : "worst",
                   "'" + ranked.runs.policy + "' is not one of among", "name one of them");
            }
            experiment_.statements.push_back(std::move(ranked));
          }
          if (spread) {
            Statement ranked = common;
            ranked.kind = Statement::Kind::spread;
            ranked.percent = spread;
            experiment_.statements.push_back(std::move(ranked));
          }
          for (const RunsOf& one : runs) {
            for (const RunsOf& other : against) {
              if (highest) {
                Statement& its = *std::ranges::find(highest_of, name, &Statement::figure);
                its.among.push_back(completed(one));
                its.against_each.push_back(completed(other));
                continue;
              }
              common.figure = name;
              common.direction = direction_of(order, name);
              common.runs = completed(one);
              common.against = completed(other);
              experiment_.statements.push_back(common);
            }
          }
        }
      }
    }
    for (Statement& its : highest_of) experiment_.statements.push_back(std::move(its));
  }

  static Statement::Direction direction_of(std::string_view word, const std::string& figure) {
    using Direction = Statement::Direction;
    if (word == "equal") return Direction::equal;
    if (word == "not better") return Direction::not_better;
    const bool is_better = word == "higher"  ? more_is_better(figure)
                           : word == "lower" ? !more_is_better(figure)
                                             : word != "worse";
    return is_better ? Direction::better : Direction::worse;
  }

  // The other side of a choice: the variants that it is for once more, with what it changes, and
  // what is said of them.
  void other_side(const toml::table& table) {
    Otherwise its;
    std::vector<std::string> of, about;  // variants, and statements; none: all
    std::vector<OptionSetting> own;
    std::map<std::string, std::string> added, parameters;  // by option, and by policy
    const auto texts = [&](const std::string& field, const toml::node& node) {
      const toml::table* const all = node.as_table();
      if (!all) fail(node, field, "is no table", "write " + field + " = { NAME = \"...\" }");
      std::map<std::string, std::string> result;
      for (const auto& [key, item] : *all) result[std::string(key.str())] = text(field, item);
      return result;
    };
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (name == "name" || name == "note") {
        (name == "name" ? its.name : its.note) = text(name, node);
      } else if (name == "variants") {
        of = each(name, node, [&](const auto& f, const auto& n) { return variant_name(f, n); });
      } else if (name == "statements") {
        about = each(name, node, [&](const auto& f, const auto& n) { return statement_id(f, n); });
      } else if (name == "add") {
        added = texts(name, node);
      } else if (name == "parameters") {
        parameters = texts(name, node);
      } else {
        own.push_back(option(name, node));
      }
    }
    if (its.name.empty()) fail(table, "otherwise", "has no name", "write name = \"...\"");
    if (own.empty() && added.empty() && parameters.empty()) {
      fail(table, "otherwise", "changes nothing", "give an option, add or parameters");
    }
    const auto with_parameters = [&](const std::string& policy) {
      const std::size_t colon = policy.find(':');
      const auto more = parameters.find(policy.substr(0, colon));
      if (more == parameters.end()) return policy;
      return policy + (colon == std::string::npos ? ":" : ",") + more->second;
    };
    const auto name_of = [&](const std::string& variant) {
      return variant.empty() ? its.name : variant + "; " + its.name;
    };
    const auto is_of = [&](const std::string& variant) {
      return of.empty() || std::ranges::find(of, variant) != of.end();
    };
    for (std::size_t i = 0; i < own_variants_; ++i) {
      const Variant base = experiment_.variants[i];
      if (!is_of(base.name)) continue;
      Variant other{.name = name_of(base.name), .options = own, .side = its.name};
      if (known(other.name)) {
        fail(table, "otherwise", "'" + other.name + "' is there twice", "give it another name");
      }
      for (OptionSetting option : options_of(experiment_, base)) {
        const auto replaced = [&](const OptionSetting& by) {
          return replaces(by.name, option.name);
        };
        if (std::ranges::any_of(own, replaced)) continue;
        const auto more = added.find(option.name);
        for (std::string& value : option.values) {
          if (more != added.end()) value += more->second;
          if (option.name == "policy") value = with_parameters(value);
        }
        other.options.push_back(std::move(option));
      }
      for (const auto& [name, more] : added) {
        if (std::ranges::find(other.options, name, &OptionSetting::name) != other.options.end()) {
          continue;
        }
        fail(table, "add",
             "'" + base.name + "' has no option " + name + " to add '" + more + "' to",
             "name the variants that have it with variants = [...]");
      }
      experiment_.variants.push_back(std::move(other));
    }
    for (std::size_t i = 0; i < own_statements_; ++i) {
      Statement other = experiment_.statements[i];
      bool is_whole = about.empty() || std::ranges::find(about, other.id) != about.end();
      const auto turn = [&](RunsOf& runs) {
        if (runs.policy.empty()) return;
        is_whole = is_whole && is_of(runs.variant);
        runs = {name_of(runs.variant), with_parameters(runs.policy)};
      };
      turn(other.runs);
      turn(other.against);
      std::ranges::for_each(other.among, turn);
      std::ranges::for_each(other.against_each, turn);
      if (!is_whole) continue;
      other.side = its.name;
      other.base = i;
      experiment_.statements.push_back(std::move(other));
    }
    // Several tables may be one side, each for some variants.
    std::vector<Otherwise>& sides = experiment_.otherwise;
    if (std::ranges::find(sides, its.name, &Otherwise::name) == sides.end()) {
      sides.push_back(std::move(its));
    }
  }

  Experiment experiment_;
  std::size_t own_variants_ = 0, own_statements_ = 0;  // without those of other sides
};

}  // namespace

Experiment read_experiment(const std::string& path) { return Reader(path).read(); }

std::vector<RunsOf> runs_of(const Statement& statement) {
  std::vector<RunsOf> all = statement.among;
  all.insert(all.end(), statement.against_each.begin(), statement.against_each.end());
  for (const RunsOf* const one : {&statement.runs, &statement.against}) {
    if (!one->policy.empty()) all.push_back(*one);
  }
  return all;
}

Experiment with_statements(const Experiment& experiment,
                           const std::function<bool(const Statement&)>& is_wanted) {
  Experiment result = experiment;
  result.statements.clear();
  std::vector<std::size_t> places(experiment.statements.size());
  std::map<std::string, std::vector<std::string>> policies;  // by variant
  for (std::size_t i = 0; i < experiment.statements.size(); ++i) {
    const Statement& statement = experiment.statements[i];
    if (!is_wanted(statement)) continue;
    places[i] = result.statements.size();
    Statement& its = result.statements.emplace_back(statement);
    if (!its.side.empty()) its.base = places[its.base];
    for (const RunsOf& runs : runs_of(statement)) {
      std::vector<std::string>& of = policies[runs.variant];
      if (std::ranges::find(of, runs.policy) == of.end()) of.push_back(runs.policy);
    }
  }
  std::erase_if(result.variants,
                [&](const Variant& variant) { return !policies.contains(variant.name); });
  for (Variant& variant : result.variants) {
    std::erase_if(variant.options,
                  [](const OptionSetting& option) { return option.name == "policy"; });
    variant.options.push_back({"policy", policies[variant.name], 0});
  }
  return result;
}

bool replaces(std::string_view option, std::string_view other) {
  const auto one_of = [&](std::initializer_list<std::string_view> group) {
    return std::ranges::count(group, option) > 0 && std::ranges::count(group, other) > 0;
  };
  return option == other || one_of({"trace", "generate", "elastisim"}) ||
         one_of({"seed", "seeds"}) || one_of({"platform", "nodes"}) ||
         one_of({"platform", "cores-per-node"});
}

std::vector<OptionSetting> options_of(const Experiment& experiment, const Variant& variant) {
  std::vector<OptionSetting> options = variant.options;
  for (const OptionSetting& option : experiment.options) {
    const auto replaced = [&](const OptionSetting& own) { return replaces(own.name, option.name); };
    if (std::ranges::none_of(variant.options, replaced)) options.push_back(option);
  }
  return options;
}

}  // namespace ductile
