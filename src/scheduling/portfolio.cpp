#include "scheduling/portfolio.hpp"

#include "scheduling/policy.hpp"

namespace ductile {

std::shared_ptr<const Policy> ruling(const std::shared_ptr<const Policy>& policy,
                                     const Traits& traits) {
  if (const Portfolio* portfolio = policy->portfolio()) {
    for (const auto& member : portfolio->members) {
      if (member->traits.settings == traits.settings) return member;
    }
  }
  return policy;
}

}  // namespace ductile
