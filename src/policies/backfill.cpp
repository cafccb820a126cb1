// Backfilling with reservations: the first `depth` jobs that cannot start hold one each; others may
// start where they disturb none. Depth 1 is EASY, unlimited depth conservative backfilling.
// Lifka 1995; Mu'alem and Feitelson 2001.
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"

namespace ductile {
namespace {

class Backfilling final : public Policy {
 public:
  explicit Backfilling(const Parameters& parameters)
      : depth_(static_cast<std::uint32_t>(parameters.number("depth"))) {}
  explicit Backfilling(std::uint32_t depth) : depth_(depth) {}

  void schedule(Pass& pass) const override {
    start_and_backfill(pass, {.reservation_depth = depth_});
  }

 private:
  std::uint32_t depth_;
};

}  // namespace

PolicyInfo backfill() {
  return {.name = "backfill",
          .summary = "backfilling with `depth` reservations",
          .source = "Mu'alem and Feitelson 2001",
          .parameters = {{.name = "depth",
                          .type = ParameterType::integer,
                          .fallback = "1",
                          .min = 1,
                          .max = Backfill::kUnlimited,
                          .unit = "reservations",
                          .summary = "how many waiting jobs hold a reservation"}},
          .make = make_policy<Backfilling>};
}

PolicyInfo easy() {
  return {.name = "easy",
          .summary = "backfill:depth=1, only the first waiting job holds a reservation",
          .source = "Lifka 1995",
          .parameters = {},
          .make = [](const Parameters&) -> std::shared_ptr<Policy> {
            return std::make_shared<Backfilling>(1);
          }};
}

PolicyInfo conservative() {
  return {.name = "conservative",
          .summary = "every waiting job holds a reservation",
          .source = "Mu'alem and Feitelson 2001",
          .parameters = {},
          .make = [](const Parameters&) -> std::shared_ptr<Policy> {
            return std::make_shared<Backfilling>(Backfill::kUnlimited);
          }};
}

}  // namespace ductile
