// The allocation of Slurm in which this process runs, as its environment has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/launcher.hpp"

namespace ductile {

/// The number of the job of Slurm's in which this process runs; nothing if it is in none. A task of
/// an array has one of its own.
std::optional<std::uint64_t> slurm_job();

/// "16(x2),4" as 16, 16, 4, as Slurm writes numbers of its nodes; nothing if it is not that.
std::optional<std::vector<std::uint32_t>> parse_repeated(std::string_view text);

/// The nodes of that job now, and how many processes each takes: as many as its user has said, or
/// as it has CPUs for processes of so many cores (0: as said to Slurm, or one). Asks `squeue` and
/// `scontrol`, which know also what the environment of a job that was resized does not. RunError if
/// this cannot be found out.
std::vector<Host> hosts_of_allocation(std::uint32_t cores);

/// Takes the nodes and numbers of tasks of the allocation out of the environment, which are those
/// of its beginning: srun asks Slurm then, and believes what its command line says.
void forget_allocation();

/// An address of this host that others reach: what its name is resolved to, or 127.0.0.1 where that
/// is not known, or is only of this host.
std::string address_of_this_host();

}  // namespace ductile
