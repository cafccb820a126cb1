// `ductile submit` where the controller drives a partition of Slurm: jobs are submitted by sbatch.
#pragma once

#include <string>
#include <vector>

#include "cli/written_job.hpp"
#include "live/submission.hpp"

namespace ductile {

/// The call of sbatch: what it knows itself by its own options, as they are written, and the rest
/// in the comment that packaging/slurm/job_submit.lua reads. A script is submitted from `file`; all
/// else is a command of this kind that `ductile run` starts, called `ductile` there, with
/// `program`, its words. Throws InputError where Slurm has no such thing.
std::vector<std::string> sbatch_words(const Submission& job, const WrittenJob& written,
                                      const std::vector<std::string>& program,
                                      const std::string& partition, const std::string& file,
                                      const std::string& ductile);

/// A script for sbatch: without lines for us, which are in the call already.
std::string script_for_sbatch(const std::string& script);

/// Calls it and prints the job's number. With --wait this process becomes sbatch, and does not
/// return. Throws InputError, and RunError in sbatch's words.
void submit_to_slurm(const Submission& job, const WrittenJob& written,
                     const std::vector<std::string>& program, const std::string& partition,
                     bool json);

}  // namespace ductile
