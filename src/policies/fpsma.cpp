// First come, first served, for elastic jobs: when the first waiting job does not fit, running ones
// are shrunk for it if that is enough; what stays idle expands them. Nothing passes the first job,
// and nothing is resized while a resize is under way. Chadha, John and Gerndt, HiPC 2020 (paper
// 003), Algorithm 1; FPSMA, "favour previously started malleable applications", is the order of
// Buisson et al. 2007.
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/resizing.hpp"

namespace ductile {
namespace {

class Fpsma final : public Policy {
 public:
  explicit Fpsma(const Parameters& parameters)
      : Policy({.wakes = kAllButAnswers, .answers_requests = true}),
        benefit_(expand_benefit(parameters)),
        tick_(seconds(parameters.number("tick"))) {}

  void schedule(Pass& pass) const override {
    const bool adapting = pass.any_resizing();
    if (!adapting) grant_from_idle(pass);
    start_in_order(pass, {.strict = true});
    if (!adapting) {
      start_in_turn(pass, [&](JobId head) {
        start_by_cuts(pass, head);
        return false;
      });
      hand_out_idle(pass, growable_jobs(pass), {.benefit = benefit_},
                    [&](JobId id) { return key(pass, id); });
    }
    tick(pass, tick_);
  }

 private:
  /// The smaller, the earlier it is expanded and the later it is shrunk.
  static std::int64_t key(const Pass& pass, JobId id) {
    return pass.job(id).started.time_since_epoch().count();
  }

  static void start_by_cuts(Pass& pass, JobId head) {
    const Nodes need = pass.start_need(head).nodes;
    with_cuts(
        pass, need, head, Share::in_turn, [&](JobId id) { return key(pass, id); },
        [&](const Sources& from) {
          return pass.start(head, exactly(need), {Why::in_order}, from);
        });
  }

  Benefit benefit_;
  Duration tick_;
};

}  // namespace

PolicyInfo fpsma() {
  return {.name = "fpsma",
          .summary =
              "first come, first served; expands the job that started earliest first, "
              "shrinks the latest first for the first waiting job",
          .source = "Buisson et al. 2007; Chadha et al. 2020",
          .parameters = {expand_benefit_parameter(), tick_parameter("30")},
          .make = make_policy<Fpsma>};
}

}  // namespace ductile
