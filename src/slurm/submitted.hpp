// What a job of Slurm asks for, as a user of the controller would have written it. What is said
// besides sbatch's own options stands in a comment, where the script in slurmctld has put it;
// docs/formats/slurm-comment.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "live/submission.hpp"
#include "slurm/node_names.hpp"
#include "slurm/slurm.hpp"

namespace ductile {

/// The cluster that a job is for.
struct SlurmMachine {
  const NodeNames& names;
  const std::map<std::string, SlurmNode>& machine;  // nodes of the partition
  const SlurmFacts& facts;
};

/// Never throws: what cannot be read, or cannot be kept here, is told in `unkept`.
Submission submission_of(const SlurmJob& job, const SlurmMachine& machine);

/// Is it a helper, by which a job of the controller grows, and not a user's?
bool is_helper(const SlurmJob& job);
/// What the script in slurmctld has written of it, "ductile:1 ..."; empty: nothing.
std::string line_of(const SlurmJob& job);
/// The sizes that a job can have, in the words of such a line; empty: it is rigid.
std::string sizes_line(const Submission& s);
/// Type, sizes, constraint and model of such a line. Throws InputError.
Submission sizes_said(const std::string& line);
/// Does its user hold it, or an operator?
bool is_held_by_others(const SlurmJob& job);
/// The comment that it is to have so that its user does not hold it; empty: he does not.
std::string released(const SlurmJob& job);

/// Does Slurm say the same of both, whatever the controller knows besides?
bool are_alike(const Submission& a, const Submission& b);

/// What of a waiting job may change, by its user or by what it waits for. Equal ones ask for the
/// same.
struct Fingerprint {
  std::string name{}, line{}, account{}, licenses{}, dependency{}, features{}, gres{};
  std::string reservation{};
  bool is_held = false;  // by somebody else
  Nodes least = 0, most = 0;
  std::uint32_t tasks_per_node = 0, cpus_per_task = 0;
  std::uint64_t memory_mb = 0;
  Duration limit{};
  Time eligible{};
  std::vector<std::string> required{}, excluded{};
  bool operator==(const Fingerprint&) const = default;
};
Fingerprint fingerprint_of(const SlurmJob& job);

}  // namespace ductile
