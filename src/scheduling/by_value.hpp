// Building blocks of policies that see nodes as an economy: a node belongs where it buys the most
// work. What is handed out, cut and moved goes by what nodes are worth to the jobs that hold them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/decimal.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/pass.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {

/// What nodes are worth, and which resizes pay.
struct NodeValue {
  /// Of what is left of a job, in seconds, to this power a node is worth less: 0 counts work alone,
  /// 1 counts ends, as many and as early as possible.
  double exponent = 0.7;
  /// Jobs grow in steps of at least this part of their size, and of a node,
  Decimal step = Decimal(0.34);
  /// each of which makes them faster by at least this part.
  double gain = 0.02;
  /// A resize of a running job has to win more than so many times what it costs.
  double pays = 10;
  /// It is taken to cost no less than this, in seconds: who resizes for nothing does it for nothing
  /// much.
  double least_cost_s = 0;

  double cost_s(Duration cost) const { return pays * std::max(to_seconds(cost), least_cost_s); }
};

/// How fast a job is believed to be at its sizes, and how much of it is left: what nodes are worth
/// to it. A value of the moment.
class Worth {
 public:
  Worth(const Pass& pass, JobId id, const NodeValue& rules);

  JobId job() const { return job_; }
  /// Against that at the preferred size.
  double speed(Nodes n) const { return 1 / speedup_->relative_time(n, preferred_); }
  /// So many seconds it needs at n nodes for what is left. Who has run for ten times as long as
  /// what is believed to be left is believed less: a tenth of that counts, and a second at least.
  double left_s(Nodes n) const { return left_s_ / speed(n); }
  /// Of each node, for a change from one size to the other.
  double of_node(Nodes from, Nodes to) const {
    return weight_ * (speed(to) - speed(from)) /
           (static_cast<double>(to) - static_cast<double>(from));
  }
  /// Of each node, for a start.
  double of_start(Nodes n) const { return weight_ * speed(n) / static_cast<double>(n); }

 private:
  JobId job_;
  Nodes preferred_;
  const Speedup* speedup_;
  double left_s_;
  double weight_;
};

/// What nodes are worth to running jobs, looked at once in a pass.
class Worths {
 public:
  Worths(const Pass& pass, const NodeValue& rules) : pass_(&pass), rules_(rules) {}

  const NodeValue& rules() const { return rules_; }
  /// Good until the next call for another job.
  const Worth& of(JobId id);

 private:
  const Pass* pass_;
  NodeValue rules_;
  std::vector<std::optional<Worth>> known_;  // by place in the list of running jobs
};

/// Sorts jobs that can be cut so that those come first that lose the least by each node, if each
/// gave `missing` of them or all it can. For `cuts_for` in turn.
void rank_by_loss(const Pass& pass, std::vector<JobId>& victims, Nodes missing, Worths& worths);

/// What the nodes that cuts give were worth to their jobs, each in the mean.
double loss_by_cuts(const Pass& pass, std::span<const Cut> cuts, Worths& worths);

/// What these cuts cost their jobs together, in time.
Duration cost_of_cuts(const Pass& pass, std::span<const Cut> cuts);

/// Would a waiting job start within so long anyway, at `n` nodes, if nobody were cut?
bool starts_soon_anyway(const Pass& pass, JobId id, Nodes n, Duration within);

/// So many nodes, at most `most`, would running malleable jobs take by steps that are worth more
/// than `value` of each node, and that pay for those that did not start in this pass. O(R S) for R
/// running jobs and S steps.
Nodes wanted_above(const Pass& pass, Worths& worths, double value, Nodes most);

/// How idle nodes are handed out by their value.
struct HandOutByValue {
  Benefit benefit = Benefit::on;
  bool to_starts = true;  // also to jobs that this pass started
  /// What reservations leave. Moldable jobs, which keep what they get, take no more than that; with
  /// `reserved` nobody does.
  Left* left = nullptr;
  bool reserved = false;
  double moldable = 2;  // these grow to at most so many times their preferred size
};

/// Hands out idle nodes to running malleable jobs, and to moldable ones that this pass started: in
/// steps, the one of the highest value first; then that job's next step is offered. A job gets all
/// its steps by one resize. One that did not start in this pass gets them only if the resize pays.
/// O(J S) for J jobs and S steps.
void hand_out_by_value(Pass& pass, Worths& worths, const HandOutByValue& how);

/// Moves nodes between running jobs, up to `moves` times: the job whose next step is worth the most
/// gets it from the one that loses the least by as many nodes, if that is less, if the one wins
/// more than a tenth more time than the other loses, and if that pays for both resizes. O(R) a
/// move.
void rebalance(Pass& pass, Worths& worths, std::uint32_t moves, Benefit benefit);

}  // namespace ductile
