// `ductile serve`: what it is told, and how it begins.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "model/fairness.hpp"
#include "model/platform.hpp"
#include "policies/registry.hpp"
#include "scheduling/fair_share.hpp"
#include "scheduling/placement.hpp"
#include "simulation/simulation.hpp"

namespace ductile {

/// What is believed of how jobs that can have several sizes depend on these: what was declared, or
/// what was learned (live/applications.hpp) where something was, instead; or that, and before it
/// what their time in MPI lets guess (`speedup_of_mtct`).
enum class Models : std::uint8_t { declared, learned, guessed };
constexpr std::array<std::string_view, 3> kModelsWords{"declared", "learned", "guessed"};

/// In watts; infinity: any. And who says so.
struct SaidPowerCap {
  double watts = 0;
  Place place{};
};

/// Between which bounds the machine shall draw, from the times on since it is told; no line: none.
struct SaidCorridor {
  std::vector<CorridorLine> lines{};
  Place place{};
};

struct ServeSettings {
  /// No nodes: it is not said how many there are.
  Platform platform{};
  /// Of Slurm, whose jobs these are; empty: this machine is the cluster.
  std::string partition{};
  /// A file that is removed when the controller is there: of Slurm (slurm/watch.hpp); none if
  /// empty.
  std::string hands_over{};
  std::string policy = "easy";
  /// Who decides where a policy in a process of its own does not; how long a pass of that may take,
  /// and how much memory it may have, in bytes; 0: any.
  std::string fallback = "easy";
  Duration policy_timeout = whole_seconds(5);
  std::uint64_t policy_memory = std::uint64_t{4} << 30;
  /// Of users, by their ids, for `order=fairshare`; `with_shares` puts them into the policy.
  std::vector<UserShare> shares{};
  /// Of a new state; one that is taken up keeps its own.
  std::optional<Fairness> fairness{};
  /// Which nodes jobs get; the same.
  std::optional<Placement> placement{};
  /// What the machine may draw. Nothing: as it was, and any at first. What operators have said
  /// since (`ductile power`) stays until another one is told here.
  std::optional<SaidPowerCap> power_cap{};
  /// The same of the power corridor.
  std::optional<SaidCorridor> corridor{};
  /// The policy believes in predicted walltimes (scheduling/runtime_prediction.hpp); jobs have what
  /// they asked for all the same.
  bool predicts = false;
  Models models = Models::declared;
  /// Folder of the journal and the jobs.
  std::string state{};
  /// Where commands find it.
  std::string socket{};
  /// The file of `ductile`, which the jobs' managers run.
  std::string program{};
  /// Limit of a job that gives none.
  Duration default_time = whole_seconds(3600);
  /// A job that refused a resize, or could not be started, is left alone so long.
  Duration retry = whole_seconds(10);
  /// An order to resize that is not answered so long is withdrawn; 0: by how long resizes of the
  /// job took before.
  Duration resize_deadline{};
  /// From SIGTERM to SIGKILL.
  Duration patience = whole_seconds(10);
  /// Where models are learned, the policy wants to know of time in MPI, or what jobs draw is
  /// measured, they report so often what they do, and no more often it is written and believed.
  Duration measure = whole_seconds(10);
  /// Files that say what the nodes of a job draw: %j is its number, %n a node's; and the folder of
  /// the counters of energy of this machine, which are one job's that has all of it. Empty: what
  /// jobs draw is not measured so.
  std::string watts_from{}, power_from{};
  /// A connection that asks for nothing for so long is closed.
  Duration idle = whole_seconds(60);
  /// Users who may do all that root and the controller's own user may.
  std::vector<std::uint32_t> operators{};
  /// Where metrics are answered, "HOST:PORT"; empty: nowhere.
  std::string metrics{};
  /// Where commands find it by TCP, "HOST:PORT"; empty: nowhere. And where munged listens, by which
  /// they show who they are, if not at the usual place.
  std::string listen{}, munge_socket{};
  /// Where it answers HTTP (live/http_api.hpp), "HOST:PORT" or "unix:PATH"; empty: nowhere. The
  /// file of the token for it, http-token in the folder of the state if empty; and whether there is
  /// another one, in a file beside it that ends with .write, by which things can be changed.
  std::string http{}, http_token{};
  bool http_write = false;
  /// Jobs that are not over: of all users, and of each one.
  std::uint64_t max_jobs = 100'000;
  std::uint64_t max_jobs_per_user = ~std::uint64_t{0};
  /// The highest priority that users who are no operators may give.
  std::int32_t max_priority = 0;
  /// What of a user's jobs the policy gets to see at once.
  std::uint64_t max_running_jobs_per_user = ~std::uint64_t{0};
  std::uint64_t max_running_nodes_per_user = ~std::uint64_t{0};
  /// Keep jobs in cgroups where that can be done.
  bool cgroups = true;
  /// What jobs may have of each node that they hold, where cgroups can see to it: bytes, for those
  /// that do not say how many, and processes; 0: any number.
  std::uint64_t default_memory = 0;
  std::uint64_t max_processes_per_node = 0;
  /// Take the journal as it is found, without its mark or behind it: a copy of another day.
  bool restored = false;
  /// End when no job is left, once there was one.
  bool until_idle = false;
};

/// Serves until SIGTERM or SIGINT, or as settings say. Jobs go on without it; served again with the
/// same folder, it takes them up. Its policies are those of `registry`. `reload` is asked for other
/// settings at SIGHUP; if it throws InputError all stays as it is. Throws InputError and RunError.
void serve(const ServeSettings& settings, const Registry& registry,
           const std::function<ServeSettings()>& reload);

}  // namespace ductile
