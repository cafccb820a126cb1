// Building blocks of policies that cut and grow running malleable jobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/function_ref.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/pass.hpp"

namespace ductile {

/// A vessel to pour water into.
struct Vessel {
  std::int64_t level = 0;
  Nodes room = 0;            // how much it can still take
  Cells cells = kEveryCell;  // and from where
};

/// Pours `amount` drop by drop, each into the vessel of the lowest level that has room; ties: the
/// first one. Returns what each gets; if there is too little room, all are full. O(n log range).
std::vector<Nodes> water_fill(std::span<const Vessel> vessels, Nodes amount);
/// The same where there is so much in each of some cells, which are drawn from in this order, and a
/// vessel takes none of other cells. A drop that is poured stays, but may be one of another cell in
/// the end, so that one more finds a place. O((n + drops) log n + drops * sets of cells * cells).
std::vector<Spread> water_fill(std::span<const Vessel> vessels,
                               std::span<const Spread::Part> water);

/// What each of some vessels gets of nodes: of `amount`, or with several cells, of so many in each.
struct Shares {
  std::vector<Nodes> gets;
  std::vector<Spread> by_cell{};  // with several
  /// Of which cells the nodes of one may be; null: of any.
  const Spread* in(std::size_t vessel) const {
    return by_cell.empty() ? nullptr : &by_cell[vessel];
  }
};
Shares shares(const Pass& pass, std::span<const Vessel> vessels, Nodes amount,
              FunctionRef<Nodes(std::uint32_t)> there);

/// How much is taken from, or given to, each of some jobs.
enum class Share : std::uint8_t {
  in_turn,  // all from, or to, the first, before the next
  level,    // one node at a time: take from the largest extra, give to the smallest
  even,     // the same number of nodes, whatever they hold
};

/// Must an expansion bring the believed end of its job forward?
enum class Benefit : std::uint8_t { on, off };

/// Is it to be expanded to `to`? With the rule on only if its believed end comes earlier by that,
/// the cost of the resize and the wait for its nodes included (`Pass::expected_end_after`). Many
/// models know sizes beyond which more nodes make a job slower, and short jobs lose more in a
/// resize than they win. Starts, what an application asks for, and an operator's orders are no
/// expansions.
bool may_expand(const Pass& pass, JobId id, Nodes to, Benefit benefit, const Sources& sources = {});

/// Running jobs that can be given nodes.
std::vector<JobId> growable_jobs(const Pass& pass);
/// Moldable jobs that this pass started, and that could have been started larger: they can be given
/// nodes now or never.
std::vector<JobId> moldable_starts(const Pass& pass);

/// What could be taken from a job for `whom` (`none`: anybody).
inline Nodes extra_for(const Pass& pass, JobId id, JobId whom) {
  return whom == JobId::none ? pass.extra(id) : pass.extra(id, whom);
}

/// Who can be cut so that `need` nodes that a job can use are there, and power for them, besides
/// what is idle and free and what comes and is promised to nobody.
struct Victims {
  std::vector<JobId> jobs;      // in no particular order; empty if nobody needs to be cut
  Nodes missing = 0;            // what they have to give together,
  std::int64_t missing_mw = 0;  // and of power
  bool enough = false;          // can they?
};
/// All running jobs but `whom`, who needs them, can be victims, if he can use what they give and
/// they are not `spared`; those that have refused if the others do not suffice.
Victims victims_for(
    const Pass& pass, Nodes need, JobId whom = JobId::none,
    FunctionRef<bool(JobId)> spared = [](JobId) { return false; });

/// Sorts by `key(id)`, the smallest first; ties: the smaller id.
template <class Key>
void rank(std::vector<JobId>& jobs, Key key) {
  if (jobs.size() < 2) return;
  std::vector<std::pair<decltype(key(jobs[0])), JobId>> ranked;
  ranked.reserve(jobs.size());
  for (const JobId id : jobs) ranked.emplace_back(key(id), id);
  std::ranges::sort(ranked);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] = ranked[i].second;
}

/// Cuts of `victims` that together give back `nodes` healthy ones that `whom` can use, or more if
/// constraints on their sizes leave no choice. Every victim is `cuttable`; their extra nodes
/// suffice. Ties of `level` and `even`: the first. If that gives less than `power_mw` they are cut
/// further, one after the other, until it is enough.
std::vector<Cut> cuts_for(const Pass& pass, std::span<const JobId> victims, Nodes nodes,
                          Share share, JobId whom = JobId::none, std::int64_t power_mw = 0);

/// Calls `take(Sources)`, which starts or grants something and says whether it did. Its sources are
/// nodes that come anyway, and cuts of the victims for what is missing then, by `share` in their
/// order. 6 nodes are needed, 1 idles and 2 come: the cuts give 3. False, without a call, if the
/// victims do not suffice.
template <class Take>
bool with_cuts(const Pass& pass, const Victims& victims, Share share, JobId whom, Take take) {
  if (!victims.enough) return false;
  const std::vector<Cut> cuts =
      cuts_for(pass, victims.jobs, victims.missing, share, whom, victims.missing_mw);
  return take(Sources{cuts, true});
}

/// The same for `need` nodes; the victims with the largest `key(id)` are cut first, `whom` never.
template <class Key, class Take>
bool with_cuts(const Pass& pass, Nodes need, JobId whom, Share share, Key key, Take take) {
  Victims victims = victims_for(pass, need, whom);
  if (victims.enough) rank(victims.jobs, [&](JobId id) { return -key(id); });
  return with_cuts(pass, victims, share, whom, take);
}

/// Goes through the waiting jobs in queue order, of which backfilling has started those that it
/// could, and serves each from what is free (`free_nodes`): at `size` with that, if it suffices; if
/// not `with_cuts(id, free)` may start it with cuts besides. While the head of a partition waits,
/// nobody behind it may delay it on free nodes alone, as reserved at `reserved(head)` nodes. Tries
/// `try_depth` jobs; 0: all; and stops when nothing is free and `nothing_to_cut()` (Lina, Ghafoor
/// and Hines 2022, algorithm 4).
void start_by_cuts(Pass& pass, std::uint32_t try_depth, FunctionRef<Nodes(JobId)> reserved,
                   SizeWith size, FunctionRef<void(JobId, Nodes)> with_cuts,
                   FunctionRef<bool()> nothing_to_cut);

/// What came of nodes that were offered to a job: its constraint has no size so near, or it may not
/// be expanded so far.
enum class Offer : std::uint8_t { taken, too_small, denied };
/// Expands it by up to so many nodes, with what there is in the sources.
Offer offer(Pass& pass, JobId id, Nodes nodes, Benefit benefit, Reason reason,
            const Sources& sources = {});

/// How idle nodes are handed out.
struct HandOut {
  Share share = Share::in_turn;
  Benefit benefit = Benefit::on;
  /// While jobs wait, moldable ones come last, and get what such a plan leaves until they end:
  /// nobody can take it back.
  Backfill plan = {};
};

/// Gives the idle nodes to `jobs`, each `growable`, up to their largest size. What constraints on
/// sizes leave over goes round again. What a job is denied by the rule of `benefit` is offered to
/// the others, and it to that job again only if less is left in the end.
///
/// O(J log R) for J jobs and each round of offers; a plan if one of them is moldable and others
/// wait.
void hand_out_idle(Pass& pass, std::span<const JobId> jobs, const HandOut& how);

/// The same, the smallest `key(id)` first.
template <class Key>
void hand_out_idle(Pass& pass, std::vector<JobId> jobs, const HandOut& how, Key key) {
  if (pass.idle() == 0) return;
  rank(jobs, key);
  hand_out_idle(pass, jobs, how);
}

}  // namespace ductile
