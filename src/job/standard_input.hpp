// The standard input of a job, which one generation after the other may read.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

#include "job/job_output.hpp"
#include "job/socket.hpp"

namespace ductile {

/// What the first generation has read is gone for the others, unless it is a file.
class StandardInput {
 public:
  explicit StandardInput(JobOutput& output) : output_(output) {}

  /// What this generation reads; nothing for one that is to find it empty, and where it is a
  /// terminal, which would stop a process that is not in its foreground. `again`: what the program
  /// has said of it (ductile_stdin).
  Descriptor of(std::uint32_t generation, std::optional<bool> again);
  /// The program says that the next ones read it again. Can they? It is told if not.
  bool on_wish_to_read_again();

 private:
  JobOutput& output_;
  std::optional<off_t> begin_ = begin_of_file();
  bool is_told_ = false;  // that later generations do not read

  static std::optional<off_t> begin_of_file();
};

}  // namespace ductile
