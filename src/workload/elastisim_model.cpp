#include "workload/elastisim_model.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace ductile {
namespace {

constexpr int kDeepestSequences = 8;  // sequences in sequences: each is run twice for its time

using Type = ElastisimTask::Type;

constexpr std::array<std::string_view, 9> kTypes{
    "cpu", "gpu", "pfs_read", "pfs_write", "bb_read", "bb_write", "busy_wait", "idle", "sequence"};
constexpr std::array<std::string_view, 6> kVectors{"all_ranks", "root_only", "even_ranks",
                                                   "odd_ranks", "uniform",   "vector"};
constexpr std::array<std::string_view, 8> kMatrices{"all_to_all",
                                                    "gather",
                                                    "scatter",
                                                    "master_worker",
                                                    "ring",
                                                    "ring_clockwise",
                                                    "ring_counter_clockwise",
                                                    "matrix"};

// --- Reading -------------------------------------------------------------------------------------

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <class Kind, std::size_t N>
Kind kind_of(const JsonAt& json, const std::array<std::string_view, N>& words) {
  const std::string text = lower(json.text());
  if (const auto kind = from_word<Kind>(words, text)) return *kind;
  json.fail(fmt::format("there is no '{}'", text), fmt::format("use {}", fmt::join(words, ", ")));
}

Formula formula(const JsonAt& json) {
  if (json.value().is_string()) return {json.text(), json.place()};
  if (json.value().is_number())
    return Formula(json.number(-kMostElastisimAmount, kMostElastisimAmount));
  json.fail("is neither a number nor a formula", "write 12 or \"flops / num_nodes\"");
}

std::vector<double> numbers(const JsonAt& json) {
  std::vector<double> values;
  for (std::size_t i = 0; i < json.size(); ++i) {
    values.push_back(json.item(i).number(0, kMostElastisimAmount));
  }
  return values;
}

class ModelReader {
 public:
  explicit ModelReader(Remarks& remarks) : remarks_(remarks) {}

  ElastisimPhase phase(const JsonAt& json) {
    json.know({"iterations", "scheduling_point", "evolving_request", "barrier", "tasks", "name",
               "final_scheduling_point"},
              remarks_);
    ElastisimPhase phase;
    phase.place = json.place();
    if (json.has("iterations")) phase.iterations = formula(json.at("iterations"));
    phase.scheduling_point = json.boolean("scheduling_point", true);
    if (json.has("evolving_request")) {
      const JsonAt request = json.at("evolving_request");
      phase.evolving_request = formula(request);
      if (request.value().is_number()) {
        ++remarks_
            ["an evolving_request that is a number, not a string, is made, which ElastiSim "
             "26c03fb does not"];
      }
    }
    if (!json.boolean("barrier", true)) {
      ++remarks_["phases with \"barrier\": false wait for all ranks, like those with it"];
    }
    phase.tasks = tasks(json.at("tasks"), 0);
    return phase;
  }
  std::optional<ElastisimPhase> once(const JsonAt& json, const char* name) {
    if (!json.has(name)) return std::nullopt;
    const JsonAt at = json.at(name);
    at.know({"iterations", "tasks", "name"}, remarks_);
    ElastisimPhase phase;
    phase.place = at.place();
    if (at.has("iterations")) {
      phase.iterations = Formula(at.at("iterations").whole(0, kMostElastisimIterations));
    }
    phase.tasks = tasks(at.at("tasks"), 0);
    return phase;
  }

 private:
  std::vector<ElastisimTask> tasks(const JsonAt& json, int depth) {
    if (depth > kDeepestSequences) json.fail("sequences are too deep in each other", "use fewer");
    std::vector<ElastisimTask> list;
    for (std::size_t i = 0; i < json.size(); ++i) list.push_back(task(json.item(i), depth));
    return list;
  }

  ElastisimTask task(const JsonAt& json, int depth) {
    ElastisimTask task;
    task.place = json.place();
    task.type = kind_of<Type>(json.at("type"), kTypes);
    if (json.has("name") && json.at("name").value().is_string()) task.name = json.at("name").text();
    if (json.has("iterations")) task.iterations = formula(json.at("iterations"));
    task.synchronized = json.boolean("synchronized", false);
    switch (task.type) {
      case Type::cpu:
      case Type::gpu:
        json.know({"type", "name", "iterations", "synchronized", "flops", "computation_pattern",
                   "bytes", "communication_pattern", "coupled"},
                  remarks_);
        if (!json.has("flops") && !json.has("bytes")) {
          json.fail("neither computes nor communicates", "give it flops or bytes");
        }
        if (json.has("flops")) load(json, "flops", "computation_pattern", task);
        if (json.has("bytes")) {
          task.sent.kind =
              kind_of<MatrixPattern::Kind>(json.at("communication_pattern"), kMatrices);
          if (task.sent.kind == MatrixPattern::Kind::matrix) {
            task.sent.values = numbers(json.at("bytes"));
            task.bytes = Formula(0);
          } else {
            task.bytes = formula(json.at("bytes"));
          }
        }
        task.coupled = json.boolean("coupled", false) && task.type == Type::cpu;
        break;
      case Type::pfs_read:
      case Type::pfs_write:
      case Type::bb_read:
      case Type::bb_write:
        json.know({"type", "name", "iterations", "synchronized", "bytes", "pattern", "async"},
                  remarks_);
        load(json, "bytes", "pattern", task);
        task.async = json.boolean("async", false);
        break;
      case Type::busy_wait:
      case Type::idle:
        json.know({"type", "name", "iterations", "synchronized", "delay", "pattern"}, remarks_);
        load(json, "delay", "pattern", task);
        break;
      case Type::sequence:
        json.know({"type", "name", "iterations", "synchronized", "tasks"}, remarks_);
        task.tasks = tasks(json.at("tasks"), depth + 1);
        break;
    }
    return task;
  }

  static void load(const JsonAt& json, const char* amount, const char* pattern,
                   ElastisimTask& task) {
    const JsonAt at = json.at(pattern);
    const bool total = at.value().is_string() && lower(at.text()) == "total";
    task.spread.kind =
        total ? VectorPattern::Kind::all_ranks : kind_of<VectorPattern::Kind>(at, kVectors);
    if (task.spread.kind == VectorPattern::Kind::vector) {
      task.spread.values = numbers(json.at(amount));
      task.amount = Formula(0);
    } else {
      task.amount = formula(json.at(amount));
    }
  }

  Remarks& remarks_;
};

}  // namespace

ElastisimModel read_elastisim_model(const JsonAt& json, Remarks& remarks) {
  json.know({"on_init", "on_reconfiguration", "on_expansion", "phases", "name"}, remarks);
  ModelReader reader(remarks);
  ElastisimModel model;
  model.on_init = reader.once(json, "on_init");
  model.on_reconfiguration = reader.once(json, "on_reconfiguration");
  model.on_expansion = reader.once(json, "on_expansion");
  const JsonAt phases = json.at("phases");
  for (std::size_t i = 0; i < phases.size(); ++i) {
    model.phases.push_back(reader.phase(phases.item(i)));
  }
  return model;
}

}  // namespace ductile
