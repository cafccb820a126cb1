// The strategies that DBES was compared with (Prabhakaran et al. 2015, II and V): jobs start at
// their smallest size in queue order, on nodes taken back from expanded jobs where idle ones do not
// suffice; what stays idle expands running jobs; others are backfilled. They differ in who is
// expanded and who is cut.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

enum class Key : std::uint8_t { id, start, deadline };
enum class When : std::uint8_t { last, first };
constexpr std::array<std::string_view, 2> kWhenWords{"last", "first"};
enum class Holds : std::uint8_t { nmin, n };
constexpr std::array<std::string_view, 2> kHoldsWords{"nmin", "n"};

/// Who is expanded first; cuts go the other way round. Ties: the smaller id, both ways.
struct Strategy {
  Key key = Key::id;
  bool latest_first = false;
  Share share = Share::in_turn;
};

class ExpandShrink final : public Policy {
 public:
  ExpandShrink(Strategy strategy, const Parameters& parameters)
      : strategy_(strategy),
        backfill_{
            .reservation_depth = static_cast<std::uint32_t>(parameters.number("depth")),
            .extra_is_free = chosen<Holds>(parameters, "profile", kHoldsWords) == Holds::nmin},
        backfill_first_(chosen<When>(parameters, "backfill", kWhenWords) == When::first),
        tick_(seconds(parameters.number("tick"))) {
    start_size = StartSize::smallest;
  }

  EventKinds wakes_on() const override { return kAllButAnswers; }

  void schedule(Pass& pass) const override {
    answer_requests(pass);
    start_or_cut(pass);
    if (backfill_first_) backfill(pass, backfill_);
    if (pass.idle() > 0) hand_out(pass);
    if (!backfill_first_) backfill(pass, backfill_);
    tick(pass, tick_);
  }

 private:
  std::vector<JobId> in_order(const Pass& pass, std::vector<JobId> jobs, bool latest_first) const {
    const auto time = [&](JobId id) {
      return strategy_.key == Key::id      ? Time{}
             : strategy_.key == Key::start ? pass.job(id).started
                                           : pass.expected_end(id);
    };
    std::ranges::sort(jobs, [&](JobId a, JobId b) {
      const Time at = time(a), bt = time(b);
      return at != bt ? (at < bt) != latest_first : a < b;
    });
    return jobs;
  }

  /// Cuts that make up for what idle and coming nodes lack of `need`; nothing if that is not
  /// possible. `spared` is no victim.
  std::optional<std::vector<Cut>> cuts(const Pass& pass, Nodes need, JobId spared) const {
    const Nodes there = pass.idle() + pass.incoming();
    if (need <= there) return std::vector<Cut>{};
    const Nodes missing = need - there;
    std::vector<JobId> victims;
    Nodes extra = 0;
    for (const JobId id : pass.running()) {
      if (id == spared || pass.extra(id) == 0 || !pass.cuttable(id)) continue;
      victims.push_back(id);
      extra += pass.extra(id);
    }
    if (extra < missing) return std::nullopt;
    victims = in_order(pass, std::move(victims), !strategy_.latest_first);
    return cuts_for(pass, victims, missing, strategy_.share);
  }

  void answer_requests(Pass& pass) const {
    std::vector<Request> requests = pass.requests();
    std::ranges::stable_sort(requests, [&](const Request& a, const Request& b) {
      return pass.job(a.job).spec.priority > pass.job(b.job).spec.priority;
    });
    for (const Request& request : requests) {
      if (pass.now() < pass.job(request.job).not_before) continue;  // it may be asked later
      if (!grant(pass, request)) pass.deny(request.id, {Why::resources});
    }
  }

  bool grant(Pass& pass, const Request& request) const {
    const Reason reason{Why::evolving, request.job};
    if (request.delta <= 0) return pass.grant(request.id, reason);
    const auto want = static_cast<Nodes>(request.delta);
    if (want <= pass.idle()) return pass.grant(request.id, reason);
    const auto victims = cuts(pass, want, request.job);
    return victims && pass.grant(request.id, reason, {*victims, true});
  }

  void start_or_cut(Pass& pass) const {
    for (JobId id = pass.first_pending(); id != JobId::none; id = pass.first_pending()) {
      const Nodes need = pass.start_need(id).nodes;
      const Reason reason{Why::in_order};
      if (need <= pass.idle()) {
        if (!pass.start(id, exactly(need), reason)) return;
        continue;
      }
      const auto victims = cuts(pass, need, JobId::none);
      if (!victims || !pass.start(id, exactly(need), reason, {*victims, true})) return;
    }
  }

  void hand_out(Pass& pass) const {
    std::vector<JobId> jobs;
    for (const JobId id : pass.running()) {
      if (pass.job(id).size() < pass.job(id).spec.size.max && pass.growable(id)) jobs.push_back(id);
    }
    if (jobs.empty()) return;
    hand_out_idle(pass, in_order(pass, std::move(jobs), strategy_.latest_first), strategy_.share,
                  {Why::hand_out});
  }

  Strategy strategy_;
  Backfill backfill_;
  bool backfill_first_;
  Duration tick_;
};

PolicyInfo info(const std::string& name, const std::string& summary, const std::string& source,
                Strategy strategy) {
  return {.name = name,
          .summary = summary,
          .source = source,
          .parameters = {{.name = "depth",
                          .type = ParameterType::integer,
                          .fallback = "5",
                          .min = 1,
                          .max = Backfill::kUnlimited,
                          .unit = "reservations",
                          .summary = "how many waiting jobs hold a reservation",
                          .source = "001"},
                         choice_parameter("backfill", kWhenWords, "last",
                                          "backfill after idle nodes were handed out, or before"),
                         choice_parameter("profile", kHoldsWords, "nmin",
                                          "what running malleable jobs hold in the plan: their "
                                          "smallest size, or what they have"),
                         tick_parameter("0")},
          .make = [strategy](const Parameters& parameters) -> std::shared_ptr<Policy> {
            return std::make_shared<ExpandShrink>(strategy, parameters);
          }};
}

}  // namespace

PolicyInfo equipartition() {
  return info("equipartition", "evens out what running jobs hold beyond their smallest size",
              "Prabhakaran et al. 2015", {.share = Share::level});
}

PolicyInfo equigrow() {
  return info("equigrow", "splits idle nodes evenly among running jobs, whatever they hold",
              "Buisson et al. 2007", {.share = Share::even});
}

PolicyInfo esf() {
  return info("esf", "expands the job that started earliest first, cuts the latest first",
              "Utrera et al. 2012", {.key = Key::start});
}

PolicyInfo edf() {
  return info("edf", "expands the job of the earliest deadline first, cuts the latest first",
              "Utrera et al. 2012", {.key = Key::deadline});
}

PolicyInfo ldf() {
  return info("ldf", "expands the job of the latest deadline first, cuts the earliest first",
              "Utrera et al. 2012", {.key = Key::deadline, .latest_first = true});
}

}  // namespace ductile
