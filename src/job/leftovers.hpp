// What the processes of a job leave on this host besides files of their own when they are killed:
// an MPI's shared memory, and the folder of its launcher's session.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <sys/types.h>

namespace ductile {

/// Removes the files in /dev/shm that an MPI's killed processes have left: of this user, under the
/// names that MPIs use, changed after `since`, and neither open nor mapped anywhere. A file of a
/// job that is just beginning is one or the other at any time. Returns how many.
std::size_t remove_shared_memory(std::chrono::system_clock::time_point since);

/// Where an mpiexec of Open MPI on this host keeps the files of its session.
std::string session_folder(pid_t mpiexec);
/// Removes such a folder if that mpiexec has gone; nothing that is none. False if it stays, as
/// there is a process with the number of that mpiexec.
bool remove_session_folder(const std::string& folder);

}  // namespace ductile
