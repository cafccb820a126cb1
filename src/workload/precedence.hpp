// Which jobs of a workload wait for which others, and how that follows from what users did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// Jobs of one user belong to a session while each is submitted before `longest_think` has passed
/// since all before it in the session had ended. A job that is submitted while another one of the
/// session has not ended belongs to the batch of this one; the first job after that to the next
/// batch. All jobs of a batch are submitted as long after the end of the job of the session that
/// had ended last before the batch as they were. The first batch of a session is submitted when it
/// was. Jobs of unknown users wait for nobody.
///
/// Zakay, Feitelson: On identifying user session boundaries in parallel workload logs, 2012
/// (20 minutes). Shmueli, Feitelson: On simulation and design of parallel-systems schedulers: are
/// we doing the right thing?, 2009 (batches).
///
/// `ends`: when the jobs ended, as the log says, in their order.
std::vector<Precedence> session_precedences(const std::vector<WorkloadJob>& jobs,
                                            const std::vector<Time>& ends, Duration longest_think);

/// The jobs that are there follow each other in sessions, made anew of `Workload::log_ends`.
void make_sessions(Workload& workload);

inline constexpr std::uint32_t kGone = ~std::uint32_t{0};
/// Jobs have other places now, by their old ones: `kGone` is no job any more, what it waited for
/// does not matter, and who waited for it does so no more (`Workload::precedences_lost`).
void renumber_precedences(Workload& workload, const std::vector<std::uint32_t>& place);

/// Throws InputError, which names file and line, if jobs wait for each other in a circle. `beside`
/// is the file beside the log.
void check_precedences(const Workload& workload, const std::string& log, const std::string& beside);

/// When the last job comes if every job runs as soon as it comes. Jobs are in order of submission;
/// those that wait in a circle do not count.
Time last_arrival(const Workload& workload);

}  // namespace ductile
