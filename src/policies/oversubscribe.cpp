// Oversubscription without an order, as sites do that let two jobs share a node: idle nodes go to
// jobs as under EASY, and a malleable job that cannot start starts at once on the nodes of running
// ones that are alone there, each with half of the cores, no matter who gains by it. Its mates are
// whole jobs, `mates` of them at most, those that started first. What sharing by an order (`sd`) is
// worth shows beside it.
//
// With R running jobs, Q waiting ones and G guests started a pass costs O(Q + G R) besides EASY,
// and O(R log R) for each kind of waiting jobs (nodes, cores, where) that might have mates.
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

#include "policies/registry.hpp"
#include "policies/sharing.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/mates.hpp"

namespace ductile {
namespace {

class Oversubscribe final : public Policy {
 public:
  explicit Oversubscribe(const Parameters& p)
      : Policy({.wakes = kAllButAnswers, .needs = {.parts = true}}),
        sharing_{.mates = static_cast<std::uint32_t>(p.number("mates")), .inside = false} {}

  void schedule(Pass& pass) const override {
    start_and_backfill(pass, {});
    std::optional<MateFinder> finder;
    std::set<std::tuple<Nodes, std::uint32_t, LaneId>> in_vain;  // jobs alike find no mates either
    for (JobId id = pass.first_pending(); id != JobId::none; id = pass.next_pending(id)) {
      if (!finder) finder.emplace(pass, sharing_);
      if (finder->empty()) return;
      const Guest guest = finder->guest(id, finder->efficiencies(id).back());  // anybody's
      if (in_vain.contains({guest.nodes, guest.cores, pass.job(id).spec.lane})) continue;
      if (start_as_guest(pass, *finder, guest)) {
        finder.reset();  // others are alone now
      } else {
        in_vain.insert({guest.nodes, guest.cores, pass.job(id).spec.lane});
      }
    }
  }

 private:
  bool start_as_guest(Pass& pass, MateFinder& finder, const Guest& guest) const {
    if (!finder.may_have_mates(guest, 0)) return false;
    const ChosenMates chosen = finder.choose(
        guest, 0, [&](const Mate& mate) { return to_seconds(pass.job(mate.job).started); });
    if (chosen.was_cut) pass.note_cut_search();
    return !chosen.mates.empty() && finder.start(pass, {guest, chosen});
  }

  Sharing sharing_;
};

}  // namespace

PolicyInfo oversubscribe() {
  return {.name = "oversubscribe",
          .summary = "EASY; a job that cannot start shares nodes of running ones, whoever gains",
          .source = "",
          .parameters = {mates_parameter()},
          .make = make_policy<Oversubscribe>};
}

}  // namespace ductile
