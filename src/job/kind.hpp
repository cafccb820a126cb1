// Kinds of jobs: what their size counts, and by what they are resized.
#pragma once

#include <array>
#include <string_view>

namespace ductile {

enum class JobKind {
  /// Processes of an MPI, replaced by as many as the new size is (resize.hpp).
  mpi,
  /// Any program; it is never resized.
  rigid,
  /// A script that is started once, not once for each process: those are for its steps, which are
  /// programs that it starts by `ductile run`, one after another (script_steps.hpp).
  steps,
  /// One program on so many cores of this host, which it gets and gives back while it runs
  /// (threads_method.hpp).
  threads,
  /// Any program that changes its size itself when it is told (script_method.hpp).
  script,
  /// Any program that can be stopped at a checkpoint and started again (restart_method.hpp).
  restart,
  /// A program of Charm++ that shrinks and expands when it is told by CCS (charm_method.hpp).
  charm,
};

inline constexpr std::array<std::string_view, 7> kJobKindWords = {
    "mpi", "rigid", "steps", "threads", "script", "restart", "charm"};

/// What the size of such a job counts.
constexpr std::string_view unit_of(JobKind kind) {
  switch (kind) {
    case JobKind::mpi:
    case JobKind::rigid:
    case JobKind::steps:
    case JobKind::script:
    case JobKind::restart:
    case JobKind::charm:
      break;
    case JobKind::threads:
      return "cores";
  }
  return "processes";
}

/// Whether it is resized by a method of its own (resize_method.hpp), and starts without an MPI.
constexpr bool has_own_method(JobKind kind) {
  switch (kind) {
    case JobKind::mpi:
    case JobKind::rigid:
    case JobKind::steps:
      break;
    case JobKind::threads:
    case JobKind::script:
    case JobKind::restart:
    case JobKind::charm:
      return true;
  }
  return false;
}

}  // namespace ductile
