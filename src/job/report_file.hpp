// The report of a job, a line for each thing that happens. Its last line tells how the job ended,
// and finds room on a disk that has become full meanwhile.
#pragma once

#include <string>

#include <sys/types.h>

#include "job/socket.hpp"

namespace ductile {

/// What a report takes of the disk before there is anything in it: its first and its last line fit.
constexpr off_t kReportReserve = 4096;
/// Takes so much of the disk for what will be written behind the end of this file. False, with
/// errno, if there is no room; true where the file system knows no such thing.
bool reserve(const Descriptor& file, off_t bytes);

class ReportFile {
 public:
  /// Empties it, or goes on at its end. InputError if it cannot be written.
  enum class Begin { empty, at_end };
  void open(const std::string& path, Begin begin = Begin::empty);
  bool is_open() const { return static_cast<bool>(file_); }
  /// Writes a line, the last one or one before it, which is left out where only the last one has
  /// room. False, with errno, if it was not written.
  bool write(std::string line, bool is_last = false);

 private:
  Descriptor file_{};
  bool is_torn_ = false;  // it ends within a line
};

}  // namespace ductile
