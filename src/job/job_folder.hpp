// A folder for the sockets of one job, which no other user may enter.
#pragma once

#include <string>

#include "job/socket.hpp"

namespace ductile {

/// Goes with this object. What managers of this host that were killed have left, their folders,
/// those of their launchers and the shared memory of their programs, is removed when the next one
/// is made.
class JobFolder {
 public:
  enum class Place { temporary, memory };
  /// Below $TMPDIR, or where none can be made there, or its path would be too long for a socket,
  /// or the disk is full, below /tmp or /dev/shm; with `memory` below /dev/shm first.
  /// std::system_error if none can be made.
  explicit JobFolder(Place place = Place::temporary);
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  ~JobFolder();

  const std::string& path() const { return path_; }
  /// The folder of a launcher's session is to go with it, if its manager is killed.
  void note_session(const std::string& folder) const;

 private:
  std::string path_{};
  Descriptor lock_{};
};

}  // namespace ductile
