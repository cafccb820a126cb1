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
};

inline constexpr std::array<std::string_view, 3> kJobKindWords = {"mpi", "rigid", "steps"};

/// What the size of such a job counts.
constexpr std::string_view unit_of(JobKind kind) {
  switch (kind) {
    case JobKind::mpi:
    case JobKind::rigid:
    case JobKind::steps:
      break;
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
  }
  return false;
}

}  // namespace ductile
