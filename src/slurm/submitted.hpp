// What a job of Slurm asks for, as a user of the controller would have written it. What is said
// besides sbatch's own options stands in the job's administrator's comment, where the script in
// slurmctld has put it; docs/formats/slurm-comment.md.
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

/// Never throws: what cannot be is `impossible`, with the reason, and so is what cannot be kept.
Submission submission_of(const SlurmJob& job, const SlurmMachine& machine);

/// An administrator's comment by which its user holds the job, without that; empty if there is
/// none.
std::string released(const std::string& admin_comment);

/// Does Slurm say the same of both, whatever the controller knows besides?
bool are_alike(const Submission& a, const Submission& b);

/// What of a waiting job may change, by its user or by what it waits for. Equal ones ask for the
/// same.
struct Fingerprint {
  std::string name{}, admin_comment{}, comment{}, dependency{}, features{}, gres{}, reservation{};
  Nodes least = 0, most = 0;
  Duration limit{};
  Time eligible{};
  std::vector<std::string> required{}, excluded{};
  bool operator==(const Fingerprint&) const = default;
};
Fingerprint fingerprint_of(const SlurmJob& job);

}  // namespace ductile
