#include "policies/lending.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "policies/sharing.hpp"
#include "scheduling/blocks.hpp"

namespace ductile {
namespace {

constexpr std::array<std::string_view, 2> kSplitWords{"most", "least_loss"};

/// It should have ended: what it would lose nobody knows.
bool is_overdue(const Pass& pass, const Mate& mate) { return pass.work_left(mate.job).left <= 0; }

/// For how long its nodes come back later than without the guest.
std::pair<Time, Time> later_by(const Pass& pass, const Guest& guest, const Mate& mate) {
  const Time alone = pass.expected_end(mate.job);
  return {alone, std::max({alone, mate.end, later(pass.now(), guest.shared)})};
}

/// Is somebody reserved on its nodes before both have left them?
bool is_reserved(const Pass& pass, Timeline& plan, const Guest& guest, const Mate& mate) {
  const auto [from, to] = later_by(pass, guest, mate);
  return to > from && plan.earliest(pass.demand(mate.job, mate.nodes), to - from, from) > from;
}

/// The same of all mates together, and of the idle nodes that the guest would have besides.
bool disturbs(const Pass& pass, const Timeline& plan, const Guest& guest,
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

}  // namespace

bool Lending::start_inside(Pass& pass, MateFinder& finder, Timeline& plan, JobId id,
                           Time at) const {
  const auto worth = [&](JobId whose, Duration time) {
    const auto walltime = static_cast<double>(pass.job(whose).spec.walltime.count());
    return static_cast<double>(time.count()) / std::pow(walltime, weight);
  };
  const auto lost = [&](const Guest& guest, Duration gain,
                        const Mate& mate) -> std::optional<double> {
    if (is_overdue(pass, mate)) return std::nullopt;
    const double its = worth(mate.job, mate.loss);
    if (worth(id, gain) <= margin * its) return std::nullopt;  // no set with it pays
    if (protects && is_reserved(pass, plan, guest, mate)) return std::nullopt;
    return its;
  };
  const auto pays = [&](const Guest& guest, Duration gain, const ChosenMates& chosen) {
    if (worth(id, gain) <= margin * chosen.penalty) return false;
    return !protects || !disturbs(pass, plan, guest, chosen);
  };
  const auto guests = [&](const Guest& guest) { return worth(id, guest.shared); };
  Terms terms{free_nodes, lost, pays};
  if (sharing.split == Split::least_loss) terms.guests = guests;
  return start_as_guest(pass, finder, plan, id, at, terms);
}

Lending lending(const Parameters& p) {
  return {.sharing = {.factor = p.decimal("sharing_factor"),
                      .mates = static_cast<std::uint32_t>(p.number("mates")),
                      .guests = static_cast<std::uint32_t>(p.number("guests")),
                      .candidates = static_cast<std::uint32_t>(p.number("candidates")),
                      .inside = p.choice("outlive") == "off",
                      .whole_sockets = p.choice("whole_sockets") == "on",
                      .split = chosen<Split>(p, "split", kSplitWords)},
          .weight = p.number("weight"),
          .margin = p.number("margin"),
          .free_nodes = p.choice("free_nodes") == "on",
          .protects = p.choice("protect") == "on"};
}

std::vector<ParameterInfo> lending_parameters() {
  return {sharing_factor_parameter("0.75"),
          choice_parameter("whole_sockets", kSwitchWords, "off",
                           "guests are given whole sockets, where that may be"),
          choice_parameter("split", kSplitWords, "most",
                           "a guest is given as many cores as may be taken, or, if it and its "
                           "mates lose less so, only those that mates cannot use"),
          mates_parameter(),
          guests_parameter(),
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
                           "a guest may be believed to end after its mates")};
}

}  // namespace ductile
