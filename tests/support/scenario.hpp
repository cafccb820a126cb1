// Small schedules as text that anyone can read and write; tests/scenarios/README.md has the format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/size_range.hpp"
#include "base/time.hpp"
#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile::testing {

/// Something the scripted policy does: in the `pass`-th pass of the instant `at`.
struct ScriptLine {
  enum class Verb : std::uint8_t {
    start,
    resize,
    grant,
    deny,
    withdraw,
    reserve,
    tag,
    wake,
    in_order,
    backfill,
    together,
    cancel,
    requeue,
    suspend,
    guest
  };

  Verb verb = Verb::start;
  Time at{};
  std::uint32_t pass = 1;
  std::string text;                                // as written, without the time
  JobId job = JobId::none;                         // whom it is about
  SizeRange size;                                  // start: range; resize: to
  std::vector<Cut> cuts;                           // of a guest: of cores
  std::vector<std::pair<JobId, SizeRange>> gains;  // together
  NodeSet on{};                                    // guest: besides those of who is cut
  bool incoming = false;
  bool strict = false;      // in_order
  std::uint32_t depth = 1;  // backfill
  Reason reason;
  Time time{};  // reserve, wake
};

/// A workload, a world, a policy, and what shall come of them.
struct Scenario {
  struct Expected {
    std::uint64_t line = 0;  // of the file
    std::string text;
  };

  std::string file;
  SimulationSettings settings;  // without the policy
  Workload workload;
  std::string policy;  // as the registry reads it; of a script only its common parameters
  std::vector<std::string> unlike;  // policies under which the same jobs come out differently
  bool scripted = false;
  std::vector<ScriptLine> script;  // by time and pass
  Duration tick{};                 // the script wakes itself this often; 0: only for its lines
  bool show_reservations = false, show_limits = false, show_delays = false;
  std::vector<Expected> expected;

  /// Does it matter which nodes there are?
  bool needs_identities() const {
    const Platform& machine = settings.platform;
    return !settings.node_events.empty() || !settings.bookings.empty() || settings.shares ||
           settings.rules.placement != Placement::first ||
           settings.rules.node_off_after > Duration{} || machine.classes.size() > 1 ||
           !machine.partitions.empty() || !workload.where.empty() ||
           std::ranges::any_of(settings.orders, [](const OperatorOrder& order) {
             return std::holds_alternative<OperatorOrder::Leave>(order.what);
           });
  }
};

/// Throws InputError: "FILE:LINE: what is wrong; what to do".
Scenario parse_scenario(std::string_view text, const std::string& file);
Scenario read_scenario(const std::filesystem::path& file);

/// What happens, a line each, in the words of `expect`.
std::vector<std::string> play(const Scenario& scenario);
/// What happens under another policy, which is not a script.
std::vector<std::string> play_under(Scenario scenario, const std::string& policy);
/// The same without node identities: sizes where nodes were. Node events need identities.
std::vector<std::string> play_without_identities(Scenario scenario);
/// As a line would be written without identities: "nodes=0-2,5" becomes "size=4".
std::string without_identities(const std::string& line);

/// Empty if what happened is what was expected; else both, side by side.
std::string difference(const Scenario& scenario, const std::vector<std::string>& happened);

}  // namespace ductile::testing
