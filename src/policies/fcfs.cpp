// First come, first served: jobs start in queue order; nothing passes the first that does not fit.
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"

namespace ductile {
namespace {

class Fcfs final : public Policy {
 public:
  explicit Fcfs(const Parameters&) {}
  void schedule(Pass& pass) const override { start_in_order(pass, {.strict = true}); }
};

}  // namespace

PolicyInfo fcfs() {
  return {.name = "fcfs",
          .summary = "in queue order, nothing passes the first job that does not fit",
          .source = "",
          .parameters = {},
          .make = make_policy<Fcfs>};
}

}  // namespace ductile
