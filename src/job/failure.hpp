// Why a program failed, in a word and in a sentence, from what is left of it: the status of its
// process, and the last that it, or its launcher, has said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ductile {

/// `reason` is one of Slurm's words where there is one: NonZeroExitCode, RaisedSignal:SIGSEGV,
/// MPIAbort, OutOfMemory, JobLaunchFailure; empty if nothing failed. `note` is for people.
/// `was_killed`: the system or the launcher has told of the signal. Else a signal is what an exit
/// code looks like, as shells give it; a program may have chosen it itself.
struct Failure {
  std::string reason{};
  std::string note{};
  bool was_killed = false;
};

/// Is it such a word? Who reads it may not know who wrote it.
bool is_reason(std::string_view word);

/// "SIGSEGV"; nothing if there is no signal of this number.
std::optional<std::string> signal_name(int signal);

/// Of what waitpid() told. `last_words`: the end of stdout and stderr. `is_starved`: the system has
/// killed processes for want of memory meanwhile.
Failure failure_of(int status, std::string_view last_words, bool is_starved);

/// How many processes the system has killed for want of memory: in this process's control group
/// where it counts them, else on this machine. 0 where nobody counts.
std::uint64_t processes_killed_for_memory();

}  // namespace ductile
