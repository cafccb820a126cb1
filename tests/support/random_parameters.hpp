// Policies of the registry with parameters that nobody would choose.
#pragma once

#include <string>
#include <vector>

#include "base/random.hpp"
#include "policies/registry.hpp"

namespace ductile::testing {

/// The built-in ones.
inline const std::vector<PolicyInfo>& policies() {
  static const std::vector<PolicyInfo> all = built_in_policies();
  return all;
}

/// "NAME:parameter=value,..." with values drawn from the policy's table: any choice; of numbers
/// the default, the ends of the range, or one between 0 and twice the default; drawn again while
/// the policy refuses them together. Times are those of small runs.
std::string random_parameters(const PolicyInfo& policy, Draws& draws);

}  // namespace ductile::testing
