// What if: a copy of a core, run on in a world where everything goes as the core believes.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"

namespace ductile {

/// What is to be other than it is; nothing, as it is.
struct WhatIf {
  Nodes fewer_nodes = 0;                           // so many drain from now on, the highest ones
  std::shared_ptr<const Policy> policy = nullptr;  // another one
  std::optional<JobSpec> another = std::nullopt;   // one more job is submitted now
};

/// What is believed to become of a job.
struct Forecast {
  JobId job = JobId::none;
  bool runs = false;                  // already
  Nodes nodes = 0;                    // what it has, or will start on; 0: not known
  Time start = kNever, end = kNever;  // kNever: not known
  bool planned = false;               // by a plan, not lived through: see `forecast`
};

/// Runs `core` on under its policy from `now`, or from its own time if that is later: jobs need the
/// time that the core believes (a job past its end: one second more), orders are carried out after
/// the time they are believed to take, nothing fails, nobody submits anything or asks for another
/// size, and held jobs stay held. Jobs that run come first, then those that wait, each in order of
/// their start. Throws InputError if the world cannot do what the policy needs.
///
/// `stop` is asked now and then, for policies whose passes are long. What is not known by then is
/// planned: running jobs end as believed, and each waiting one, in order, gets the earliest place
/// that those before it leave.
std::vector<Forecast> forecast(Core core, const Policy& policy, Time now, const WhatIf& change,
                               const std::function<bool()>& stop = {});

/// How much is lived through, at most.
struct Horizon {
  Time until = kNever;
  std::uint64_t passes = std::numeric_limits<std::uint64_t>::max();  // of the policy
};

/// What came of it.
struct Lived {
  std::vector<Forecast> jobs{};
  Time until{};  // what was to happen later is planned
  std::uint64_t passes = 0;
};

/// The same under `policy`, whoever rules the core: it is told of it if that is another one. The
/// same core gives the same.
Lived look_ahead(Core core, const Policy& policy, Time now, const Horizon& horizon);

}  // namespace ductile
