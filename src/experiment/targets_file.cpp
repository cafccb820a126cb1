#include "experiment/targets_file.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "experiment/experiment_file.hpp"
#include "experiment/statement.hpp"
#include "workload/toml_file.hpp"

namespace ductile {
namespace {

class TargetsReader {
 public:
  TargetsReader(const std::string& path, std::string folder) : folder_(std::move(folder)) {
    paper_.file = path;
  }

  PaperTargets read() {
    const toml::table root = read_toml(paper_.file, "give the name of a file of targets");
    const Fields head{{"title", paper_.title},
                      {"source", paper_.source},
                      {"setting", paper_.setting},
                      {"note", paper_.note}};
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      const auto text_field = head.find(name);
      if (text_field != head.end()) {
        text_field->second.get() = text(name, node);
      } else if (name != "experiment" && name != "log" && name != "target" && name != "figure" &&
                 name != "open") {
        fail(node, name, "there is no such field",
             "it has title, source, setting, note, [[experiment]], [[log]], [[target]], "
             "[[figure]] and [[open]]");
      }
    }
    each(root, "experiment", [&](const toml::table& table) { experiment(table); });
    each(root, "log", [&](const toml::table& table) { log(table); });
    each(root, "target", [&](const toml::table& table) { target(table); });
    each(root, "figure", [&](const toml::table& table) { figure(table); });
    each(root, "open", [&](const toml::table& table) {
      OpenPoint& point = paper_.open.emplace_back();
      fill(table, "open", {{"point", point.point}, {"choice", point.choice}}, {});
      need(table, "open", "point", point.point);
      need(table, "open", "choice", point.choice);
    });
    if (paper_.targets.empty()) {
      throw InputError({.file = paper_.file}, "has no target", "write [[target]]");
    }
    return std::move(paper_);
  }

 private:
  using Fields = std::map<std::string, std::reference_wrapper<std::string>>;
  using Lists = std::map<std::string, std::reference_wrapper<std::vector<std::string>>>;

  [[noreturn]] void fail(const toml::node& at, const std::string& field, const std::string& what,
                         const std::string& remedy) const {
    throw InputError({paper_.file, at.source().begin.line, field}, what, remedy);
  }

  std::string text(const std::string& field, const toml::node& node) const {
    if (const auto* value = node.as_string()) return value->get();
    fail(node, field, "is no text", "put it in quotes");
  }

  void each(const toml::table& root, const std::string& name,
            const std::function<void(const toml::table&)>& visit) const {
    const toml::node* const node = root.get(name);
    if (!node) return;
    const toml::array* const list = node->as_array();
    if (!list) fail(*node, name, "is no list of tables", "write [[" + name + "]]");
    for (const toml::node& item : *list) {
      if (!item.is_table()) fail(item, name, "is no table", "write [[" + name + "]]");
      visit(*item.as_table());
    }
  }

  void fill(const toml::table& table, const std::string& what, const Fields& texts,
            const Lists& lists) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (const auto one = texts.find(name); one != texts.end()) {
        one->second.get() = text(name, node);
        if (one->second.get().empty()) fail(node, name, "is empty", "say it, or leave it away");
      } else if (const auto several = lists.find(name); several != lists.end()) {
        const toml::array* const list = node.as_array();
        if (!list) fail(node, name, "is no list", "write " + name + " = [\"...\"]");
        for (const toml::node& item : *list) several->second.get().push_back(text(name, item));
      } else if (what != "target" || name != "ours") {
        std::string known;
        for (const auto& [each, _] : texts) known += (known.empty() ? "" : ", ") + each;
        for (const auto& [each, _] : lists) known += ", " + each;
        fail(node, name, what + " has no such field", "it has " + known);
      }
    }
  }

  void need(const toml::table& table, const std::string& what, const std::string& field,
            const std::string& value) const {
    if (value.empty()) fail(table, what, "has no " + field, "say it");
  }

  void experiment(const toml::table& table) {
    PaperExperiment& its = paper_.experiments.emplace_back();
    its.line = table.source().begin.line;
    fill(table, "experiment", {{"file", its.file}, {"seeds", its.seeds}}, {});
    need(table, "experiment", "file", its.file);
    const std::filesystem::path path = std::filesystem::path(folder_) / its.file;
    if (!std::filesystem::exists(path)) {
      fail(*table.get("file"), "file", path.string() + " is not there",
           "name an experiment in " + folder_);
    }
    for (const Statement& statement : read_experiment(path.string()).statements) {
      statements_.insert(statement.id);
    }
  }

  void log(const toml::table& table) {
    PaperLog& its = paper_.logs.emplace_back();
    its.line = table.source().begin.line;
    fill(table, "log",
         {{"file", its.file},
          {"crc64", its.crc64},
          {"about", its.about},
          {"stand_in", its.stand_in}},
         {});
    need(table, "log", "file", its.file);
    need(table, "log", "crc64", its.crc64);
  }

  void target(const toml::table& table) {
    Target its;
    its.line = table.source().begin.line;
    fill(table, "target",
         {{"id", its.id},
          {"says", its.says},
          {"not_comparable", its.not_comparable},
          {"not_run", its.not_run},
          {"note", its.note}},
         {{"statements", its.statements}, {"mostly", its.mostly}, {"but_one", its.but_one}});
    if (const toml::node* const ours = table.get("ours")) {
      const auto* const value = ours->as_boolean();
      if (!value) fail(*ours, "ours", "is neither true nor false", "write ours = true");
      its.is_ours = value->get();
    }
    need(table, "target", "id", its.id);
    need(table, "target", "says", its.says);
    if (std::ranges::find(paper_.targets, its.id, &Target::id) != paper_.targets.end()) {
      fail(*table.get("id"), "id", "'" + its.id + "' is there twice", "give it once");
    }
    const bool has_reason = !its.not_run.empty() || !its.not_comparable.empty();
    const std::vector<std::string> ids = its.ids();
    if (ids.empty() && !has_reason) {
      fail(table, "target", "'" + its.id + "' has no verdict",
           "name the statements that it consists of, or say why it is not_run or not_comparable");
    }
    if (!ids.empty() && !its.not_run.empty()) {
      fail(*table.get("not_run"), "not_run", "has statements, which are run", "leave one away");
    }
    for (const std::string& id : ids) {
      if (statements_.contains(id)) continue;
      std::vector<std::string> files;
      for (const PaperExperiment& each : paper_.experiments) files.push_back(each.file);
      const char* const field = std::ranges::count(its.statements, id) > 0 ? "statements"
                                : std::ranges::count(its.mostly, id) > 0   ? "mostly"
                                                                           : "but_one";
      fail(*table.get(field), field, "there is no statement '" + id + "'",
           "it has to be one of " + (files.empty() ? "an [[experiment]]" : listed(files)));
    }
    paper_.targets.push_back(std::move(its));
  }

  void figure(const toml::table& table) {
    PaperFigure& its = paper_.figures.emplace_back();
    fill(table, "figure",
         {{"name", its.name},
          {"none", its.none},
          {"experiment", its.experiment},
          {"figure", its.figure}},
         {{"targets", its.targets}, {"variants", its.variants}, {"policies", its.policies}});
    need(table, "figure", "name", its.name);
    if (!its.experiment.empty() || !its.figure.empty()) {
      const auto is_its = [&](const PaperExperiment& each) { return each.file == its.experiment; };
      if (std::ranges::none_of(paper_.experiments, is_its)) {
        fail(table, "experiment", "'" + its.experiment + "' is none of the paper",
             "name the file of an [[experiment]]");
      }
      if (!has_figure(its.figure)) {
        fail(table, "figure", "there is no figure '" + its.figure + "'",
             "use a number of summary.json, as mean_turnaround_s");
      }
      if (its.variants.empty()) fail(table, "figure", "has no variants", "say them");
      if (its.policies.empty()) fail(table, "figure", "has no policies", "say them");
    }
    if (its.targets.empty() == its.none.empty()) {
      fail(table, "figure", "'" + its.name + "' has no targets, or a reason for that besides them",
           "name targets, or say why there are none");
    }
    for (const std::string& id : its.targets) {
      if (std::ranges::find(paper_.targets, id, &Target::id) != paper_.targets.end()) continue;
      fail(*table.get("targets"), "targets", "there is no target '" + id + "'", "name one above");
    }
  }

  PaperTargets paper_;
  const std::string folder_;
  std::set<std::string> statements_;  // of all experiments, by their ids
};

}  // namespace

std::vector<std::string> Target::ids() const {
  std::vector<std::string> all = statements;
  all.insert(all.end(), mostly.begin(), mostly.end());
  all.insert(all.end(), but_one.begin(), but_one.end());
  return all;
}

PaperTargets read_targets(const std::string& path, const std::string& folder) {
  return TargetsReader(path, folder).read();
}

}  // namespace ductile
