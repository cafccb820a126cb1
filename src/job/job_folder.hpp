// A folder for the sockets of one job, which no other user may enter.
#pragma once

#include <string>

#include "job/socket.hpp"

namespace ductile {

/// Goes with this object. What managers that were killed have left, their folders and the shared
/// memory of their programs, is removed when the next one is made.
class JobFolder {
 public:
  /// Below $TMPDIR, or /tmp where that is not short enough for a socket's path. std::system_error
  /// if none can be made.
  JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  ~JobFolder();

  const std::string& path() const { return path_; }

 private:
  std::string path_{};
  Descriptor lock_{};
};

}  // namespace ductile
