// The strategies that DBES was compared with (Prabhakaran et al. 2015, II and V): jobs start at
// their smallest size in queue order, on nodes taken back from expanded jobs where idle ones do not
// suffice; what stays idle expands running jobs; others are backfilled. They differ in who is
// expanded and who is cut.
//
// With R running jobs a pass costs O(R) to see what could be cut for the first waiting job and whom
// idle nodes could go to, O(R log R) where something is cut or handed out, and O(R log R + depth R)
// for each plan. Backfilling makes one, unless nothing but submissions happened. Another one is
// made if idle nodes are left for moldable jobs that start while others wait: nobody can take these
// nodes back, so they get what disturbs no reservation (`HandOut::plan`). Under rules of fairness
// each evolving request costs two.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "policies/expanding.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

enum class Key : std::uint8_t { id, start, deadline };
enum class When : std::uint8_t { last, first };
constexpr std::array<std::string_view, 2> kWhenWords{"last", "first"};

/// Who is expanded first; cuts go the other way round. Ties: the smaller id, both ways.
struct Strategy {
  Key key = Key::id;
  bool latest_first = false;
  Share share = Share::in_turn;
};

class ExpandShrink final : public Policy {
 public:
  ExpandShrink(Strategy strategy, const Parameters& parameters)
      : Policy(
            {.wakes = kAllButAnswers, .answers_requests = true, .start_size = StartSize::smallest}),
        strategy_(strategy),
        backfill_(planned_with(parameters)),
        backfill_first_(chosen<When>(parameters, "backfill", kWhenWords) == When::first),
        benefit_(expand_benefit(parameters)),
        tick_(seconds(parameters.number("tick"))) {}

  void schedule(Pass& pass) const override {
    answer_requests(pass);
    start_or_cut(pass);
    if (!backfill_first_) hand_out(pass, true, pass.pending() == 0);
    backfill(pass, backfill_);
    hand_out(pass, backfill_first_, true);
    tick(pass, tick_);
  }

 private:
  /// The smaller, the earlier it is expanded.
  std::int64_t key(const Pass& pass, JobId id) const {
    const Time time = strategy_.key == Key::start      ? pass.job(id).started
                      : strategy_.key == Key::deadline ? pass.expected_end(id)
                                                       : Time{};
    const std::int64_t value = time.time_since_epoch().count();
    return strategy_.latest_first ? -value : value;
  }

  /// Idle nodes to running malleable jobs, and to moldable ones that start now.
  void hand_out(Pass& pass, bool malleable, bool moldable) const {
    if (pass.idle() == 0) return;
    std::vector<JobId> jobs;
    if (malleable) jobs = growable_jobs(pass);
    if (moldable) {
      const std::vector<JobId> starts = moldable_starts(pass);
      jobs.insert(jobs.end(), starts.begin(), starts.end());
    }
    hand_out_idle(pass, std::move(jobs),
                  {.share = strategy_.share, .benefit = benefit_, .plan = backfill_},
                  [&](JobId id) { return key(pass, id); });
  }

  template <class Take>
  bool take_by_cuts(const Pass& pass, Nodes need, JobId whom, Take take) const {
    return with_cuts(
        pass, need, whom, strategy_.share, [&](JobId id) { return key(pass, id); }, take);
  }

  void answer_requests(Pass& pass) const {
    ductile::answer_requests(pass, [&](const Request& request, Nodes nodes) {
      Grant result = Grant::lacking;
      take_by_cuts(pass, nodes, request.job, [&](const Sources& sources) {
        result = grant_fairly(pass, request, backfill_, sources);
        return result == Grant::done;
      });
      return result;
    });
  }

  void start_or_cut(Pass& pass) const {
    start_in_order(pass);
    start_in_turn(pass, [&](JobId id) {
      const Nodes need = pass.start_need(id).nodes;
      return take_by_cuts(pass, need, id, [&](const Sources& sources) {
        return pass.start(id, exactly(need), {Why::in_order}, sources);
      });
    });
  }

  Strategy strategy_;
  Backfill backfill_;
  bool backfill_first_;
  Benefit benefit_;
  Duration tick_;
};

PolicyInfo info(const std::string& name, const std::string& summary, const std::string& source,
                Strategy strategy) {
  return {.name = name,
          .summary = summary,
          .source = source,
          .parameters = {depth_parameter(),
                         choice_parameter("backfill", kWhenWords, "last",
                                          "backfill after idle nodes were handed out, or before"),
                         profile_parameter(), expand_benefit_parameter(), tick_parameter("0")},
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
