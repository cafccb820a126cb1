// ElastiSim's application models, as written: phases of tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/formula.hpp"
#include "workload/json.hpp"

namespace ductile {

/// How an amount is spread over the ranks of a job, one on each node.
struct VectorPattern {
  enum class Kind : std::uint8_t { all_ranks, root_only, even_ranks, odd_ranks, uniform, vector };
  Kind kind = Kind::all_ranks;
  std::vector<double> values;  // vector: of each rank
};

/// Who sends to whom.
struct MatrixPattern {
  enum class Kind : std::uint8_t {
    all_to_all,
    gather,
    scatter,
    master_worker,
    ring,
    ring_clockwise,
    ring_counter_clockwise,
    matrix
  };
  Kind kind = Kind::all_to_all;
  std::vector<double> values;  // matrix: from each rank to each
};

/// The largest amount of anything, and the most repetitions.
constexpr double kMostElastisimAmount = 1e30;
constexpr double kMostElastisimIterations = 1e9;

struct ElastisimTask {
  enum class Type : std::uint8_t {
    cpu,
    gpu,
    pfs_read,
    pfs_write,
    bb_read,
    bb_write,
    busy_wait,
    idle,
    sequence
  };
  Type type = Type::cpu;
  std::string name;
  Place place;
  Formula iterations = Formula(1);
  bool synchronized = false;
  bool coupled = false;           // cpu: computation and communication end together
  bool async = false;             // files: goes on beside what follows
  std::optional<Formula> amount;  // flops, bytes of a file, or seconds
  VectorPattern spread;
  std::optional<Formula> bytes;  // sent
  MatrixPattern sent;
  std::vector<ElastisimTask> tasks;  // of a sequence
};

struct ElastisimPhase {
  Place place;
  Formula iterations = Formula(1);
  bool scheduling_point = true;             // at the start of each iteration but the job's first
  std::optional<Formula> evolving_request;  // there: how many nodes it wants
  std::vector<ElastisimTask> tasks;
};

struct ElastisimModel {
  std::optional<ElastisimPhase> on_init, on_reconfiguration, on_expansion;
  std::vector<ElastisimPhase> phases;
};

/// Reads an application model. What is not taken as it is, is counted. Throws InputError.
ElastisimModel read_elastisim_model(const JsonAt& json, Remarks& remarks);

}  // namespace ductile
