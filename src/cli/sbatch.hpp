// Jobs for Slurm itself, by its own commands.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "live/submission.hpp"

namespace ductile {

/// What squeue says of a job; times are in seconds since 1970, whole ones, and 0 where not known.
struct SbatchJob {
  std::string state{};
  double submit_s = 0, start_s = 0, end_s = 0;
  Nodes nodes = 0;
  bool is_over() const;
};

/// As Slurm counts limits: rounded up, and one at least.
Duration whole_minutes(Duration time);

/// The call of sbatch for a rigid or moldable job, which has whole nodes; its time is in
/// whole minutes. `partition`: empty for Slurm's default one. Throws InputError: the job
/// is of another type.
std::vector<std::string> sbatch_call(const Submission& submission, const std::string& partition);

/// The same as a line for a shell.
std::string sbatch_line(const Submission& submission, const std::string& partition);

/// These throw RunError if the command fails or says something else, with what it says.
std::uint64_t call_sbatch(std::vector<std::string> words);  // with --parsable; the job's number
std::map<std::uint64_t, SbatchJob> call_squeue();  // all of this user, also those that are over
Nodes call_sinfo(const std::string& partition);    // nodes that can have jobs

/// Of a line "7|RUNNING|10|12|N/A|4" of squeue. Throws RunError.
std::pair<std::uint64_t, SbatchJob> parse_squeue_line(const std::string& line);

}  // namespace ductile
