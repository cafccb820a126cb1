// Evolving requests under the rules of fairness (model/fairness.hpp): a block that any policy can
// use.
#pragma once

#include <optional>
#include <vector>

#include "scheduling/blocks.hpp"
#include "scheduling/decision.hpp"
#include "scheduling/pass.hpp"

namespace ductile {

/// How a grant of `nodes` more nodes, partly taken by `cuts`, would delay waiting jobs: the starts
/// of those that can start now, and of the first ones that cannot, planned without the grant and
/// with it, the nodes held until the believed end of the job that asks. Nothing if the rules do not
/// allow it. Empty where `Fairness::Policy::none` asks for no plan.
///
/// Costs two plans, with as many reservations as `Fairness::depth` says and the rules allow.
std::optional<std::vector<Delay>> fair_delays(Pass& pass, const Request& request, Nodes nodes,
                                              Backfill plan, std::span<const Cut> cuts = {});

/// What came of a request.
enum class Grant : std::uint8_t { done, lacking, unfair };

/// Grants what these sources give, if it is enough and fair.
Grant grant_fairly(Pass& pass, const Request& request, Backfill plan, const Sources& sources = {},
                   Why why = Why::evolving);

/// With the reason why it was not granted.
void deny(Pass& pass, const Request& request, Grant why);

/// Evolving requests that can be answered now, in order of arrival. Wakes the policy when those of
/// jobs that are to be left alone for a moment can be.
std::vector<Request> requests_now(Pass& pass);

/// Answers evolving requests in order of arrival: grants every shrink, and growth as far as free
/// nodes go; denies the others.
void grant_from_idle(Pass& pass, Backfill plan = {});

/// Answers evolving requests in order of priority, then of arrival. `grant(request, nodes)` tries
/// to grant one with so many nodes more (0: it wants to shrink): all that it asks for, else the
/// least that it accepts. Else it is denied.
template <class Try>
void answer_requests(Pass& pass, Try grant) {
  std::vector<Request> requests = requests_now(pass);
  std::ranges::stable_sort(requests, [&](const Request& a, const Request& b) {
    return pass.job(a.job).spec.priority > pass.job(b.job).spec.priority;
  });
  for (const Request& request : requests) {
    const auto all = static_cast<Nodes>(std::max(request.delta, 0));
    Grant result = grant(request, all);
    if (result != Grant::done && request.at_least > 0 && request.at_least < all) {
      result = grant(request, request.at_least);
    }
    if (result != Grant::done) deny(pass, request, result);
  }
}

}  // namespace ductile
