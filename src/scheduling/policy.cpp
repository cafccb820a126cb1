#include "scheduling/policy.hpp"

#include "scheduling/blocks.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/pass.hpp"

namespace ductile {

void Policy::operator()(Pass& pass) const {
  if (!traits.answers_requests && pass.has_requests()) grant_from_idle(pass);
  schedule(pass);
  pass.drop_old_reservations();
  raise_frequencies(pass);
  switch_nodes(pass);
}

}  // namespace ductile
