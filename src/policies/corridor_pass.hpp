// What policies that keep a power corridor share: the problem of a pass, and how a solution of it
// is carried out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduling/pass.hpp"
#include "solver/corridor_solver.hpp"

namespace ductile {

/// Between these the machine shall draw.
struct CorridorBounds {
  std::int64_t low_mw = 0, high_mw = State::kNoBudget;
};

inline CorridorBounds bounds_now(const Pass& pass) {
  return {pass.corridor_low_mw(), pass.corridor_high_mw()};
}

std::vector<JobId> running_by_id(const Pass& pass);

/// Does a waiting job draw more, at this size, than any line, of now or to come as far as is known,
/// lets one draw that runs alone?
bool fits_no_line(const Pass& pass, JobId id, Nodes n);

/// How many nodes a job can have at most: those it has, idle ones, and what others could give. Any
/// number where each job may use each node.
class Reachable {
 public:
  explicit Reachable(const Pass& pass);
  Nodes most(JobId id) const;

 private:
  const Pass& pass_;
  Spread extra_{};  // of running jobs, where there are several cells
};

/// The problem, of no jobs yet. Power is counted above that of idle nodes, so that it does not
/// matter which nodes are on. Nothing if these alone draw more than the upper bound.
std::optional<CorridorProblem> corridor_problem(const Pass& pass, const CorridorBounds& bounds);

/// A job in it, on no more nodes than `most` unless it has them. One that waits has none, which it
/// may keep, and starts at any size that it may choose.
RunningInCorridor in_corridor(const Pass& pass, std::size_t place, JobId id, Nodes most,
                              Pass::NodePower power);

/// What has to be done that jobs have these sizes.
struct SizeChanges {
  std::vector<Cut> cuts{};
  std::vector<Gain> gains{};
};
/// `jobs` as the problem has them; besides `starts` at their preferred sizes, before others.
SizeChanges changes_to(const Pass& pass, std::span<const JobId> jobs, std::span<const Nodes> sizes,
                       std::span<const JobId> starts = {});

/// All of it or nothing. What grows and starts waits until all that are cut have answered.
bool carry_out(Pass& pass, const SizeChanges& changes);

/// If that is not possible, as nodes are not where they are needed: above the upper bound the cuts
/// alone; else what grows and starts, one after the other, as far as nodes idle.
void carry_out_in_part(Pass& pass, const SizeChanges& changes, const CorridorBounds& bounds);

/// All that can be cut: to their smallest sizes.
void cut_to_least(Pass& pass);

}  // namespace ductile
