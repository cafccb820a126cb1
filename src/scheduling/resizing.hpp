// Building blocks of policies that cut and grow running malleable jobs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduling/pass.hpp"

namespace ductile {

/// A vessel to pour water into.
struct Vessel {
  std::int64_t level = 0;
  Nodes room = 0;  // how much it can still take
};

/// Pours `amount` drop by drop, each into the vessel of the lowest level that has room; ties: the
/// first one. Returns what each gets; if there is too little room, all are full. O(n log range).
std::vector<Nodes> water_fill(std::span<const Vessel> vessels, Nodes amount);

/// How much is taken from, or given to, each of some jobs.
enum class Share : std::uint8_t {
  in_turn,  // all from, or to, the first, before the next
  level,    // one node at a time: take from the largest extra, give to the smallest
  even,     // the same number of nodes, whatever they hold
};

/// Cuts of `victims` that together give back `nodes` healthy ones, or more if constraints on their
/// sizes leave no choice. Every victim is `cuttable`; their extra nodes suffice. Ties of `level`
/// and `even`: the first.
std::vector<Cut> cuts_for(const Pass& pass, std::span<const JobId> victims, Nodes nodes,
                          Share share);

/// Gives the idle nodes to `jobs`, each `growable`, up to their largest size. What constraints on
/// sizes leave over goes round again.
void hand_out_idle(Pass& pass, std::span<const JobId> jobs, Share share, Reason reason);

}  // namespace ductile
