// Why a job is where it is, from the rows of a journal that are about it: in a journal of a million
// jobs as quickly as in one of ten.
#pragma once

#include <cstdint>

#include "live/journal.hpp"
#include "report/explanation.hpp"

namespace ductile {

/// What was decided about a job, not how it stands; not `is_known` if there is no such job. Throws
/// InputError where a row is damaged.
Explainer look_up(const Journal& journal, std::uint64_t job, Explainer::TimeText clock);

}  // namespace ductile
