// Lending cores, a policy of this project's own after paper 004 (`sd`): backfilling, and a job that
// cannot start now starts inside of running ones if that gains more than it costs them. What a job
// gains or loses is the change of its believed end over its requested time to the power of
// `weight`: at 0 that is response time, at 1 slowdown.
//
// A guest that takes most of a node's cores costs its mates no more than one that takes half of
// them for twice the time, and ends earlier: so it is given more than a socket.
//
// With R running jobs, Q waiting ones and G guests started a pass costs O((1 + G) (R + Q)) besides
// the plans of its base, and R looks at the plan for each job that might have mates.
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "policies/registry.hpp"
#include "policies/sharing.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/mates.hpp"

namespace ductile {
namespace {

class Lend final : public Policy {
 public:
  explicit Lend(const Parameters& p)
      : Policy({.wakes = kAllButAnswers, .needs = {.parts = true}}),
        sharing_{.factor = p.decimal("sharing_factor"),
                 .mates = static_cast<std::uint32_t>(p.number("mates")),
                 .candidates = static_cast<std::uint32_t>(p.number("candidates")),
                 .inside = p.choice("outlive") == "off",
                 .whole_sockets = p.choice("whole_sockets") == "on"},
        weight_(static_cast<double>(p.decimal("weight"))),
        margin_(static_cast<double>(p.decimal("margin"))),
        free_nodes_(p.choice("free_nodes") == "on"),
        protects_(p.choice("protect") == "on"),
        backfill_{.reservation_depth = static_cast<std::uint32_t>(p.number("depth"))},
        tick_(seconds(p.number("tick"))) {}

  void schedule(Pass& pass) const override {
    const auto start_inside = [&](MateFinder& finder, Timeline& plan, JobId id, Time at) {
      const auto lost = [&](const Guest& guest, const Mate& mate) -> std::optional<double> {
        if (is_overdue(pass, mate)) return std::nullopt;
        if (protects_ && is_reserved(pass, plan, guest, mate)) return std::nullopt;
        return worth(pass, mate.job, mate.loss);
      };
      const auto pays = [&](const Guest& guest, Duration gain, const ChosenMates& chosen) {
        if (worth(pass, id, gain) <= margin_ * chosen.penalty) return false;
        return !protects_ || !disturbs(pass, plan, guest, chosen);
      };
      return start_as_guest(pass, finder, plan, id, at, {free_nodes_, lost, pays});
    };
    while (start_or_share(pass, backfill_, sharing_, start_inside)) {
    }
    tick(pass, tick_);
  }

 private:
  double worth(const Pass& pass, JobId id, Duration time) const {
    const auto walltime = static_cast<double>(pass.job(id).spec.walltime.count());
    return static_cast<double>(time.count()) / std::pow(walltime, weight_);
  }

  /// It should have ended: what it would lose nobody knows.
  static bool is_overdue(const Pass& pass, const Mate& mate) {
    return pass.work_left(mate.job).left <= 0;
  }

  /// For how long its nodes come back later than without the guest.
  static std::pair<Time, Time> later_by(const Pass& pass, const Guest& guest, const Mate& mate) {
    const Time alone = pass.expected_end(mate.job);
    return {alone, std::max({alone, mate.end, later(pass.now(), guest.shared)})};
  }

  /// Is somebody reserved on its nodes before both have left them?
  static bool is_reserved(const Pass& pass, Timeline& plan, const Guest& guest, const Mate& mate) {
    const auto [from, to] = later_by(pass, guest, mate);
    return to > from && plan.earliest(pass.demand(mate.job, mate.nodes), to - from, from) > from;
  }

  /// The same of all mates together, and of the idle nodes that the guest would have besides.
  static bool disturbs(const Pass& pass, const Timeline& plan, const Guest& guest,
                       const ChosenMates& chosen) {
    Timeline rest = plan;
    const auto take = [&](JobId job, Nodes nodes, Time from, Time to) {
      if (nodes == 0 || to <= from) return true;
      const Demand demand = pass.demand(job, nodes);
      Spread in;
      if (rest.earliest(demand, to - from, from, in) > from) return false;
      rest.reserve(from, to, demand, in);
      return true;
    };
    for (const Mate& mate : chosen.mates) {
      const auto [from, to] = later_by(pass, guest, mate);
      if (!take(mate.job, mate.nodes, from, to)) return true;
    }
    const Time end = later(pass.now(), guest.shared);
    return !take(guest.job, guest.nodes - chosen.nodes, pass.now(), end);
  }

  Sharing sharing_;
  double weight_, margin_;
  bool free_nodes_, protects_;
  Backfill backfill_;
  Duration tick_;
};

}  // namespace

PolicyInfo lend() {
  return {
      .name = "lend",
      .summary =
          "jobs start inside of running ones, which lend them most of their cores, where that "
          "gains more than it costs",
      .source = "",
      .parameters =
          {{.name = "depth",
            .type = ParameterType::integer,
            .fallback = "1",
            .min = 1,
            .max = Backfill::kUnlimited,
            .unit = "reservations",
            .summary = "so many waiting jobs are reserved"},
           sharing_factor_parameter("0.75"),
           choice_parameter("whole_sockets", kSwitchWords, "off",
                            "guests are given whole sockets, where that may be"),
           mates_parameter(),
           candidates_parameter("loss"),
           {.name = "weight",
            .type = ParameterType::number,
            .fallback = "1",
            .min = 0,
            .max = 1,
            .summary = "time is judged over the requested time to this power: 0 is response time, "
                       "1 slowdown"},
           {.name = "margin",
            .type = ParameterType::number,
            .fallback = "1",
            .min = 0,
            .max = 100,
            .summary = "a guest has to gain more than so many times what its mates lose"},
           free_nodes_parameter("on"),
           choice_parameter("protect", kSwitchWords, "on",
                            "no mate may be kept longer on nodes that are reserved"),
           choice_parameter("outlive", kSwitchWords, "on",
                            "a guest may be believed to end after its mates"),
           tick_parameter("0")},
      .make = make_policy<Lend>};
}

}  // namespace ductile
