// ESP, the Effective System Performance benchmark (Wong, Oliker, Kramer, Kaltz and Bailey, SC
// 2000), and its malleable and evolving jobs (Prabhakaran, Neumann, Rinke, Wolf, Gupta and Kale,
// IPDPS 2015). docs/esp.md says what is the benchmark's, what is the paper's, and what is ours.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/decimal.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// A row of the table.
struct EspType {
  char letter;
  std::int64_t fraction;  // of the machine, in 1/100,000
  std::int64_t count;
  std::int64_t runtime_s;
};

inline constexpr std::array<EspType, 14> kEspTypes{{
    {'A', 3'125, 75, 267},
    {'B', 6'250, 9, 322},
    {'C', 50'000, 3, 534},
    {'D', 25'000, 3, 616},
    {'E', 50'000, 3, 315},
    {'F', 6'250, 9, 1846},
    {'G', 12'500, 6, 1334},
    {'H', 15'820, 6, 1067},
    {'I', 3'125, 24, 1432},
    {'J', 6'250, 24, 725},
    {'K', 9'570, 15, 487},
    {'L', 12'500, 36, 366},
    {'M', 25'000, 15, 187},
    {'Z', 100'000, 2, 100},
}};

inline constexpr std::uint64_t kEspJobs = 230;

/// A set of types: bit i for row i of the table.
using EspTypeSet = std::uint32_t;
inline constexpr EspTypeSet kAllEspTypes = (EspTypeSet{1} << kEspTypes.size()) - 1;

/// How many jobs the types have.
std::int64_t esp_jobs(EspTypeSet types);
/// "FGH"
std::string to_letters(EspTypeSet types);

/// Which types: those named; or a share of the jobs, for which types are picked.
struct EspTypes {
  EspTypeSet named = 0;
  std::optional<Decimal> share;
};

struct EspModel {
  /// How sizes are rounded: where it is not said, to the nearest with the constraints of paper 003,
  /// so that each job asks for a size that it may have, else up.
  enum class Round : std::uint8_t { by_constraints, up, nearest };
  /// When jobs are submitted: one every `gap`; 50 at once and then one every `gap`, and the two
  /// largest half an hour after all others; in three blocks; in three blocks, with the two largest
  /// among them as privileged jobs.
  enum class Mode : std::uint8_t { uniform30, esp2, esp1_throughput, esp1_multimode };
  /// What a waiting job of type Z does in the modes in which it is privileged: as the mode says
  /// (esp2: barrier; esp1_multimode: priority); nothing else starts; it is only the first in the
  /// queue.
  enum class Premium : std::uint8_t { by_mode, barrier, priority };
  /// Which types make a share: any whose jobs are within 2 % of all jobs of it, drawn for each
  /// seed; or those that come nearest, and of these the ones with most run time. Or no types: the
  /// malleable jobs are drawn one by one.
  enum class Pick : std::uint8_t { random, longest, jobs };
  /// Of an evolving job that is granted more: as in the paper's table; or what is left becomes
  /// faster linearly.
  enum class RunTime : std::uint8_t { table, progress };
  /// Which sizes malleable jobs can have: any; or by type as in the table of paper 003 (Chadha,
  /// John and Gerndt 2020).
  enum class Constraints : std::uint8_t { none, paper_003 };
  /// The smallest size of a malleable job: that which it asks for, or the smallest of its
  /// constraint.
  enum class Min : std::uint8_t { size, constraint };

  Nodes nodes = 120;
  /// 0: sizes are whole nodes. Else the nodes are cores, of which each host has so many: a job has
  /// the same number on each of its hosts, all of them if it needs more than one.
  Nodes cores_per_host = 0;
  Round round = Round::by_constraints;
  Mode mode = Mode::uniform30;
  Premium premium = Premium::by_mode;
  Duration gap = whole_seconds(30);
  EspTypes malleable, evolving;
  Pick pick = Pick::random;
  Constraints constraints = Constraints::none;
  Min min = Min::size;
  /// Largest size of a malleable job over its size; none: the machine, or the largest size up to it
  /// that its constraint allows.
  std::optional<Decimal> max;
  std::optional<Nodes> ask;  // how many more evolving jobs want; none: 1/32 of the machine
  RunTime run_time = RunTime::table;
  /// Malleable jobs have a serial share of their work between these, uniform, by Amdahl's law: at
  /// the size that they ask for they take the time of the table.
  double least_serial = 0, most_serial = 0;
};

inline constexpr std::array<std::string_view, 3> kEspRoundWords{"auto", "up", "nearest"};
inline constexpr std::array<std::string_view, 2> kEspConstraintsWords{"none", "003"};
inline constexpr std::array<std::string_view, 2> kEspMinWords{"size", "constraint"};
inline constexpr std::array<std::string_view, 4> kEspModeWords{"uniform30", "esp2",
                                                               "esp1_throughput", "esp1_multimode"};
inline constexpr std::array<std::string_view, 3> kEspPremiumWords{"auto", "barrier", "priority"};
inline constexpr std::array<std::string_view, 3> kEspPickWords{"random", "longest", "jobs"};
inline constexpr std::array<std::string_view, 2> kEspRunTimeWords{"table", "progress"};

/// "core" is 0, "node:8" is 8. Throws InputError.
Nodes parse_esp_unit(std::string_view text);
/// "FGH", "0.4", "none", "all". Throws InputError, which names `field`.
EspTypes parse_esp_types(std::string_view field, std::string_view text);

/// How many nodes a job of this type has.
Nodes esp_size(const EspModel& model, const EspType& type);
/// The run time in the table of an evolving job whose first request is granted (1230, 1067 and 896
/// s for F, G and H): as if it had had 4 more cores of 128 from the start, in whole seconds.
std::int64_t esp_evolving_runtime_s(const EspType& type);

struct EspSets {
  EspTypeSet malleable = 0, evolving = 0;
};
/// The types of a workload; none for a share that is drawn job by job. Throws InputError if none
/// make the shares.
EspSets esp_sets(const EspModel& model, std::uint64_t seed);

/// What of the mode the jobs cannot say; empty: nothing.
/// Throws InputError for a model that makes no workload.
std::string esp_remark(const EspModel& model);

/// The jobs are numbered in the order of their submission; a job's user is the row of its type,
/// from 1 on. The order depends on the seed alone: it is the same for every machine, mode and set
/// of types. Users request 1.5 times the run time, in whole seconds. Throws InputError.
Workload generate_esp(const EspModel& model, std::uint64_t seed);

}  // namespace ductile
