// Lending cores, a policy of this project's own after paper 004 (`sd`): backfilling, and a job that
// cannot start now starts inside of running ones if that gains more than it costs them (`Lending`).
//
// A guest that takes most of a node's cores costs its mates no more than one that takes half of
// them for twice the time, and ends earlier: so it is given more than a socket.
//
// With R running jobs, Q waiting ones and G guests started a pass costs O((1 + G) (R + Q)) besides
// the plans of its base, and up to R looks at the plan for each job that might have mates: at those
// that it could repay.
#include <algorithm>
#include <iterator>

#include "policies/lending.hpp"
#include "policies/registry.hpp"
#include "policies/sharing.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/mates.hpp"

namespace ductile {
namespace {

class Lend final : public Policy {
 public:
  explicit Lend(const Parameters& p)
      : Policy({.wakes = kAllButAnswers, .needs = {.parts = true}},
               {.contention = p.choice("learn") == "on", .moves = p.choice("move_on") == "on"}),
        lending_(lending(p)),
        backfill_{.reservation_depth = static_cast<std::uint32_t>(p.number("depth"))},
        tick_(seconds(p.number("tick"))) {}

  void schedule(Pass& pass) const override {
    const auto start_inside = [&](MateFinder& finder, Timeline& plan, JobId id, Time at) {
      return lending_.start_inside(pass, finder, plan, id, at);
    };
    const auto move_on = [&](Timeline& plan) { return move_a_guest_on(pass, plan); };
    GuestStarts guests{.start = start_inside, .free_nodes = lending_.free_nodes};
    if (wants.moves) guests.move_on = move_on;
    while (start_or_share(pass, backfill_, lending_.sharing, guests)) {
    }
    tick(pass, tick_);
  }

 private:
  Lending lending_;
  Backfill backfill_;
  Duration tick_;
};

}  // namespace

PolicyInfo lend() {
  PolicyInfo info{
      .name = "lend",
      .summary =
          "jobs start inside of running ones, which lend them most of their cores, where that "
          "gains more than it costs; smallest work first, until a job is overdue",
      .source = "",
      .parameters = {{.name = "depth",
                      .type = ParameterType::integer,
                      .fallback = "1",
                      .min = 1,
                      .max = Backfill::kUnlimited,
                      .unit = "reservations",
                      .summary = "so many waiting jobs are reserved"}},
      .make = make_policy<Lend>,
      .defaults = {{"order", "area"}, {"slack", "1"}}};
  std::ranges::move(lending_parameters(), std::back_inserter(info.parameters));
  info.parameters.push_back(
      choice_parameter("move_on", kSwitchWords, "off",
                       "guests leave their mates for idle nodes that nobody who waits can use"));
  info.parameters.push_back(
      choice_parameter("learn", kSwitchWords, "off",
                       "what jobs lose by each other is learned from pairs that were seen to "
                       "share nodes, in simulations"));
  info.parameters.push_back(tick_parameter("0"));
  return info;
}

}  // namespace ductile
